/* The log: everything that leaves the engine. It has records in streams, batches for the store,
 * effects that wait for batches, and lines for the operator.
 *
 * Durable before visible: what an input changes goes into the one open batch, and an effect that
 * shows the change is handed out when that batch is durable. While a batch is written the next one
 * fills; they commit in order.
 *
 * Nothing here knows a session, a link or a job. An effect goes to a port, a stream has an owner
 * that only other folders interpret, and the caller of arcp__log_committed decides what follows
 * from a commit. */
#ifndef ARCP_LOG_LOG_H
#define ARCP_LOG_LOG_H

#include <arcp/buf.h>
#include <arcp/lease.h>
#include <arcp/sys/store.h>

#include "context/context.h"
#include "context/dump.h"
#include "core/audit_event.h"
#include "core/job_port.h"

typedef struct arcp__pending_effect arcp__pending_effect;
typedef struct arcp__batch arcp__batch;
typedef struct arcp__chunk arcp__chunk;
typedef struct arcp__read arcp__read; /* under way */
typedef struct arcp__stream arcp__stream;

typedef struct arcp__log_options {
    bool keeps_rows; /* false: no restart reads this store, so rows and indexes are not written and
                        put and delete do nothing */
    bool has_no_lines; /* make no LOG effects */
    int retry_timer;   /* the kind of the timer that ends a pause after a failed batch */
} arcp__log_options;

/* Other folders may read the members above the line; only src/log changes any. */
typedef struct arcp__log {
    arcp__context *context;
    arcp__log_options options;
    uint64_t committed_id; /* the last batch that is durable */
    size_t queue_bytes;    /* of all batches that are not durable yet */
    size_t tail_bytes;     /* of records in memory */
    unsigned failures;     /* of the store in a row; 0: it can be written */
    arcp__job_gates gates; /* for the ports of jobs; follow from the settings and audit_failing */
    bool audit_failing;    /* the audit log cannot be written */
    int64_t commit_ns;     /* from taking the last batch that is durable until it was that */
    /* ---- */

    arcp__pending_effect *lines; /* LOG effects: never wait, and go first */
    arcp__pending_effect *ready, *waiting;
    arcp__pending_effect *handed;      /* the owner uses its text until the next call */
    arcp__pending_effect *handed_line; /* the owner uses its text until the next call */
    arcp__pending_effect *free_effects;

    arcp__batch *open_batch; /* being filled */
    arcp__batch *batches;    /* being written or to be written again, oldest first */
    arcp__batch *free_batches;
    uint64_t next_batch_id;
    arcp__timer retry_timer;

    arcp__read *reads;
    uint64_t next_read_id;

    arcp__stream *dying; /* unreferenced, but a batch still borrows their bytes */
    arcp__stream *tails; /* with records in memory; the least recently appended comes first */
} arcp__log;

/* NULL when out of memory. The context outlives it. */
arcp__log *arcp__log_new(arcp__context *context, const arcp__log_options *options);
/* When no stream is left; NULL is accepted. */
void arcp__log_free(arcp__log *log);

/* Whether the store cannot be written: effects that wait for it are held until it can. */
bool arcp__log_is_failing(const arcp__log *log);

/* ---- effect.c: what the engine's owner must do ---- */

typedef enum arcp__effect_kind {
    ARCP__EFFECT_SEND,         /* link_user: send `text`, then call drained when it changed */
    ARCP__EFFECT_CLOSE,        /* link_user: close with close_code and reason `text` */
    ARCP__EFFECT_RESUME_LINK,  /* link_user: it takes frames again, arcp__engine_receive */
    ARCP__EFFECT_ADMIT_LINK,   /* link_user: its peer is authenticated and has a session */
    ARCP__EFFECT_AUTHENTICATE, /* id; `text` is the bearer token (a secret) */
    ARCP__EFFECT_START_AGENT,  /* job: start it; `text` is the job.start line */
    ARCP__EFFECT_AGENT_LINE,   /* job: `text` is a line for the agent, without line feed; `id` is
                                  the number of the item that it answers, 0: none */
    ARCP__EFFECT_CANCEL_AGENT, /* job: send it the job.cancel line in `text`; its exit was requested
                                */
    ARCP__EFFECT_KILL_AGENT,   /* job: SIGTERM to its group, SIGKILL grace_ms later; 0: SIGKILL at
                                  once */
    ARCP__EFFECT_PAUSE_AGENT,  /* job: stop reading it */
    ARCP__EFFECT_RESUME_AGENT,
    ARCP__EFFECT_FORGET_AGENT, /* job: free what belongs to it; the pointer is invalid after this
                                  effect. Only by arcp__engine_next_forgotten */
    ARCP__EFFECT_READ,         /* id, `text` = stream, from, count_max, bytes_max */
    ARCP__EFFECT_PROVISION,    /* id: call the provisioner, arcp__engine_provision_request */
    ARCP__EFFECT_LOG,          /* level, `text` = one line, fields; for the operator */
    ARCP__EFFECT_SPAN,         /* `text` = one finished trace span as OTLP JSON */
    ARCP__EFFECT_REVOKE_AGENT, /* job: what its sandbox grants beyond directories ends now; `reason`
                                  is an arcp_status. Only of confined agents */
    ARCP__EFFECT_ASK_OWNER,    /* id, `text` = an operator's request, {"request", "principal",
                                  "payload"}: arcp__engine_owner_answered */
    ARCP__EFFECT_HOLD_STORED,  /* job: the hold `text` of its call through a gateway is durable */
    ARCP__EFFECT_NOTIFY        /* id, `text` = the name of a hook, a line feed and the body of a
                                  notification: deliver it, then arcp__engine_notified */
} arcp__effect_kind;

typedef enum arcp__log_level {
    ARCP__LOG_DEBUG,
    ARCP__LOG_INFO,
    ARCP__LOG_WARN,
    ARCP__LOG_ERROR,
    ARCP__LOG_AUDIT /* `text` is a JSON object: one decision */
} arcp__log_level;

typedef struct arcp__effect {
    arcp__effect_kind kind;
    void *link_user;
    struct arcp__job *job;
    arcp_span text;
    uint64_t id;
    uint64_t from;
    size_t count_max;
    size_t bytes_max;
    int close_code;
    arcp__log_level level;
    arcp_span fields; /* LOG: a JSON object of fields; empty: none */
    int reason;       /* CANCEL_AGENT: arcp__cancel_reason; REVOKE_AGENT: arcp_status */
    int64_t grace_ms; /* CANCEL_AGENT, KILL_AGENT */
} arcp__effect;

/* Where effects go: the output half of a link, or a job's agent (which uses only `waiting`). It
 * begins as zero, except for `user`. Its owner calls arcp__port_drop before freeing it. */
typedef struct arcp__port {
    void *user;                    /* of a link: passed in all its effects */
    arcp__pending_effect *waiting; /* effects not handed out yet */
    size_t queued;                 /* bytes of its frames that wait in the engine */
    size_t unsent;                 /* bytes of its frames that the owner has not sent yet */
    int64_t last_sent_ns;
    bool is_closed; /* a CLOSE was queued, or the peer is gone: nothing more is sent */
} arcp__port;

/* Queues an effect for a port, or for none (NULL); `text` (may be NULL) is moved from. With
 * `durable` it waits for the batch that is being filled. NULL when out of memory. */
arcp__pending_effect *arcp__effect_push(arcp__log *log, arcp__port *port,
                                        const arcp__effect *effect, arcp_buf *text, bool durable);
/* The next effect that is ready; false: none. It is valid until arcp__effect_recycle. */
bool arcp__effect_next(arcp__log *log, arcp__effect *out);
void arcp__effect_recycle(arcp__log *log);
/* Makes the waiting effects ready for which `may_go` returns true. */
void arcp__effect_release(arcp__log *log, bool (*may_go)(const arcp__effect *effect));
/* Whether an effect is ready, lines included. */
bool arcp__effect_is_ready(const arcp__log *log);
/* Drops all effects. */
void arcp__effect_drop_all(arcp__log *log);

/* Queues a LOG effect, which does not wait for the store. */
void arcp__effect_log(arcp__log *log, arcp__log_level level, const char *format, ...)
    ARCP_PRINTF(3, 4);
/* A line with fields, a JSON object that is moved from. */
void arcp__effect_log_fields(arcp__log *log, arcp__log_level level, const char *message,
                             arcp_buf *fields);
/* The next LOG effect; it is valid until the next call. */
bool arcp__effect_next_line(arcp__log *log, arcp__effect *out);

/* Queues a frame, which is moved from. Does nothing on a closed port. */
void arcp__port_send(arcp__log *log, arcp__port *port, arcp_buf *frame, bool durable);
/* Queues a CLOSE; nothing follows it. */
void arcp__port_close(arcp__log *log, arcp__port *port, int close_code, const char *reason,
                      bool durable);
/* Notes that a frame of this size was handed to the owner. */
void arcp__port_sent(const arcp__log *log, arcp__port *port, size_t bytes);
/* Drops the effects that wait for this port. True: one of this kind was among them. */
bool arcp__port_drop_with(arcp__log *log, arcp__port *port, arcp__effect_kind kind);
void arcp__port_drop(arcp__log *log, arcp__port *port);

/* ---- reads of the store ---- */

/* The result of a read; borrowed. */
typedef struct arcp__page {
    arcp_status status;
    uint64_t first; /* position of the first record */
    const arcp_span *records;
    size_t count;
} arcp__page;

/* Called once; `owner` then ends the read with arcp__read_end. */
typedef void (*arcp__read_done_fn)(void *user, void *owner, const arcp__page *page);

/* Starts to read records of a stream, given by its key (a READ effect). NULL when out of memory. */
arcp__read *arcp__read_start(arcp__log *log, arcp_span stream, uint64_t from, size_t count_max,
                             size_t bytes_max, arcp__read_done_fn done, void *user, void *owner);
/* The same, behind the open batch: the read finds all that was appended so far. */
arcp__read *arcp__read_start_behind(arcp__log *log, arcp_span stream, uint64_t from,
                                    size_t count_max, size_t bytes_max, arcp__read_done_fn done,
                                    void *user, void *owner);
/* Ends a read that is done, or whose result is not wanted any more; sets *read to NULL. */
void arcp__read_end(arcp__log *log, arcp__read **read);
/* Calls the read's `done`; ignored when this read is not under way. */
void arcp__read_answered(arcp__log *log, uint64_t id, const arcp__page *page);

/* ---- audit.c ---- */
/* The subject of a line. A member that is NULL is left out. */
typedef struct arcp__audit_who {
    const char *principal, *session_id, *job_id, *parent_job_id, *agent, *trace_id;
} arcp__audit_who;

/* One line of the audit log. A member that is NULL, empty or zero is left out. */
typedef struct arcp__audit_line {
    arcp__audit_event event;
    const char *decision; /* allowed, denied, or a word of the event's own */
    arcp__audit_who who;
    const char *peer; /* address of a refused peer that is not authenticated */
    uint64_t count;   /* refusals that this line summarises; 0: it is about one */
    arcp_status code; /* of a refusal */
    const char *rule; /* what decided */
    const char *reason;
    arcp_span capability, target, pattern;
    const arcp_lease *lease, *parent_lease; /* the hash of each is written */
    struct {
        const char *name;
        arcp_span value;
    } more[6];
    arcp_span dropped, lines; /* JSON */
} arcp__audit_line;
void arcp__audit(arcp__log *log, const arcp__audit_line *line);
/* Says whether the audit log can be written. */
void arcp__audit_set_failing(arcp__log *log, bool failing);
/* To be called when the settings have changed. */
void arcp__audit_update_gates(arcp__log *log);
/* INTERNAL_ERROR (retryable) while the audit log cannot be written and the settings require it.
 * `err` may be NULL. */
arcp_status arcp__audit_check(const arcp__log *log, arcp_error *err);

/* ---- batch.c ---- */
/* The bytes of one source that are not durable yet: those in the open batch, and those in earlier
 * ones. All zeros: none. */
typedef struct arcp__queued {
    uint64_t open_id, older_id; /* the last batch with some of them */
    size_t open_bytes, older_bytes;
} arcp__queued;
/* Counts bytes of the source that were added to the open batch. */
void arcp__queued_add(const arcp__log *log, arcp__queued *queued, size_t bytes);
/* Never too small: all older bytes count until the last of them is durable. */
size_t arcp__queued_bytes(const arcp__log *log, const arcp__queued *queued);
/* Adds an operation, whose key and value are copied, to the open batch. */
void arcp__batch_add(arcp__log *log, arcp_store_op op);
void arcp__batch_put(arcp__log *log, arcp_store_table table, arcp_span key, arcp_span value);
void arcp__batch_delete(arcp__log *log, arcp_store_table table, arcp_span key);
/* Notes that something other than an operation waits for the open batch, so that it is taken even
 * when it is empty. */
void arcp__batch_touch(arcp__log *log);
/* The id of the open batch, for effects that wait for it. */
uint64_t arcp__batch_open_id(const arcp__log *log);
/* The number of operations and touches in the open batch; 0: there is no need to take it. */
size_t arcp__batch_pending(const arcp__log *log);
/* Another number when something was added to the open batch. */
uint64_t arcp__batch_stamp(const arcp__log *log);
/* Closes the open batch and returns it; while the store fails, returns the first batch to be
 * written again once the pause is over. NULL: none. A batch stays valid until it is committed. */
const arcp_store_batch *arcp__log_take(arcp__log *log);
/* Whether all is durable. */
bool arcp__log_is_durable(const arcp__log *log);
/* What became of a taken batch. */
typedef enum arcp__commit {
    ARCP__COMMIT_DONE,
    ARCP__COMMIT_BEGAN_TO_FAIL, /* the store could be written until now */
    ARCP__COMMIT_PENDING        /* it is written again, or those before it are not durable yet */
} arcp__commit;
arcp__commit arcp__log_committed(arcp__log *log, uint64_t batch_id, arcp_status status);

/* ---- log_dump.c: what waits, for people ---- */
/* The log, its batches and reads. */
void arcp__log_dump(const arcp__log *log, arcp__dump *dump);
/* A batch, when something that goes to the port waits for one. */
void arcp__port_dump_wait(const arcp__port *port, arcp_json_writer *writer);

/* ---- stream.c: records of a job, or a session's own ---- */
struct arcp__stream {
    char key[ARCP__ID_SIZE + 2]; /* "j:job_...", "s:sess_..." */
    bool was_dropped; /* after a restart: the stream was dropped, but an old index still refers to
                         it */
    uint32_t refs;    /* its job or session, and every run over it */
    void *owner; /* the job or session whose records these are, for other folders; NULL: unknown */
    uint64_t next;    /* the next position */
    uint64_t bytes;   /* of all records ever */
    uint64_t counted; /* after a restart: `bytes` counts the records before this position */
    /* The newest records, in memory. A chunk stays at least as long as a batch borrows from it. */
    arcp__chunk *oldest, *newest; /* owned list; NULL: none is in memory */
    arcp__chunk *last_found;      /* chunk of the last lookup; NULL: none */
    size_t tail_bytes;            /* of all chunks */
    arcp__stream *older, *newer;  /* among all with records in memory, by their last append */
    arcp__stream *next_dying;
};

/* Makes the stream whose key in the store is prefix + id, with one reference; NULL when out of
 * memory. There must be only one for a key. */
arcp__stream *arcp__stream_new(arcp__log *log, const char *prefix, arcp_span id);
/* Drops a reference. The last one also drops the stream from the store. */
void arcp__stream_unref(arcp__log *log, arcp__stream *stream);
/* Appends one record made of pieces, also to the open batch; its position in *position. False when
 * out of memory: nothing was appended. */
bool arcp__stream_append(arcp__log *log, arcp__stream *stream, const arcp_span *pieces,
                         size_t count, uint64_t *position, size_t *bytes);
/* Finds the record at `position` if it is in memory. */
bool arcp__stream_find_record(arcp__stream *stream, uint64_t position, arcp_span *record);
/* Frees the oldest chunks, as far as no batch borrows from them, until at most `keep_bytes` are
 * left. */
void arcp__stream_trim_tail(arcp__log *log, arcp__stream *stream, size_t keep_bytes);

#endif
