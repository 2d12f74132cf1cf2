/* The log: what is on its way out of the engine. Records in streams, batches for the store, effects
 * that wait for these, and lines for the operator.
 *
 * Durable before visible: what an input changes goes into the one batch that is open, and an effect
 * that shows it is handed out when that batch is durable. While a batch is written the next one
 * fills; they commit in order.
 *
 * Nothing here knows a session, a link or a job. An effect goes to a port, a stream has an owner
 * for others to look at, and what a commit brings about is up to whom arcp__log_committed tells of
 * it. */
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
    bool keeps_rows;   /* else nothing restarts from this store: rows and indexes, which only a
                          restart reads, are not written, and put and delete have nothing to do */
    bool has_no_lines; /* LOG effects are not wanted */
    int retry_timer;   /* the kind of the timer that ends a pause after a failed batch */
} arcp__log_options;

/* What stands above the line others read; only src/log changes anything. */
typedef struct arcp__log {
    arcp__context *context;
    arcp__log_options options;
    uint64_t committed_id; /* the last batch that is durable */
    size_t queue_bytes;    /* of all batches that are not durable */
    size_t tail_bytes;     /* of records in memory */
    unsigned failures;     /* of the store in a row; 0: it can write */
    arcp__job_gates gates; /* what follows for the ports of jobs from settings and audit_failing */
    /* ---- */

    bool audit_failing; /* what was decided cannot be recorded */

    arcp__pending_effect *lines; /* they wait for nothing, and go first */
    arcp__pending_effect *ready, *waiting;
    arcp__pending_effect *handed;      /* its text is at the owner's until the next call */
    arcp__pending_effect *handed_line; /* likewise */
    arcp__pending_effect *effect_free;

    arcp__batch *open_batch; /* being filled */
    arcp__batch *batches;    /* taken or to be taken again, oldest first */
    arcp__batch *batch_free;
    uint64_t next_batch_id;
    arcp__timer retry_timer;

    arcp__read *reads;
    uint64_t next_read_id;

    arcp__stream *dying; /* without references: a batch still borrows bytes */
    arcp__stream *tails; /* with records in memory; the one that was quiet longest comes first */
} arcp__log;

/* NULL when out of memory. The context outlives it. */
arcp__log *arcp__log_new(arcp__context *context, const arcp__log_options *options);
/* When no stream is left; NULL is accepted. */
void arcp__log_free(arcp__log *log);

/* The store could not write: nothing that waits for it is shown until it can again. */
bool arcp__log_is_failing(const arcp__log *log);

/* ---- effect.c: what the engine's owner is to do ---- */

typedef enum arcp__effect_kind {
    ARCP__EFFECT_SEND,         /* link_user: send `text`, then call drained when it changed */
    ARCP__EFFECT_CLOSE,        /* link_user: close with close_code and reason `text` */
    ARCP__EFFECT_RESUME_LINK,  /* link_user: it takes frames again, arcp__engine_receive */
    ARCP__EFFECT_ADMIT_LINK,   /* link_user: it has a session; its peer is no stranger any more */
    ARCP__EFFECT_AUTHENTICATE, /* id; `text` is the bearer token (a secret) */
    ARCP__EFFECT_START_AGENT,  /* job: start it; `text` is the job.start line */
    ARCP__EFFECT_AGENT_LINE,   /* job: `text` is a line for the agent, without line feed */
    ARCP__EFFECT_CANCEL_AGENT, /* job: tell it (job.cancel line in `text`), remember it asked */
    ARCP__EFFECT_KILL_AGENT,   /* job: SIGTERM to its group, SIGKILL 5 s later */
    ARCP__EFFECT_PAUSE_AGENT,  /* job: stop reading it */
    ARCP__EFFECT_RESUME_AGENT,
    ARCP__EFFECT_FORGET_AGENT, /* job: over; the pointer is invalid after this effect. Only by
                                  arcp__engine_next_forgotten */
    ARCP__EFFECT_READ,         /* id, `text` = stream, from, count_max, bytes_max */
    ARCP__EFFECT_PROVISION,    /* id: ask the provisioner, arcp__engine_provision_request */
    ARCP__EFFECT_LOG,          /* level, `text` = one line, fields; for the operator */
    ARCP__EFFECT_SPAN          /* `text` = one span that is over, as OTLP's JSON has it */
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
    arcp_span fields; /* LOG: a JSON object, what the line is about; empty: nothing */
    int reason;       /* CANCEL_AGENT: arcp__cancel_reason */
    int64_t grace_ms;
} arcp__effect;

/* Where effects go: the output half of a link, or a job's agent (of which only `waiting` is used).
 * Zero but for `user` at first. What still waits for it is dropped (arcp__port_drop) before its
 * memory goes. */
typedef struct arcp__port {
    void *user;                    /* a link's: in all its effects */
    arcp__pending_effect *waiting; /* effects that were not handed out */
    size_t queued; /* bytes of frames that were made for it and wait in the engine */
    size_t unsent; /* bytes that its owner has of it */
    int64_t last_sent_ns;
    bool is_closed; /* a CLOSE was queued, or it is gone: nothing more is sent to it */
} arcp__port;

/* Queues an effect for a port, or for none (NULL); `text` (may be NULL) is moved from. With
 * `durable` it waits for the batch that is being filled. NULL when out of memory. */
arcp__pending_effect *arcp__effect_push(arcp__log *log, arcp__port *port,
                                        const arcp__effect *effect, arcp_buf *text, bool durable);
/* The next one that waits for nothing; false: none. It lives until it is taken back. */
bool arcp__effect_next(arcp__log *log, arcp__effect *out);
void arcp__effect_take_back(arcp__log *log);
/* Of those that wait for the store, what may go without it. */
void arcp__effect_release(arcp__log *log, bool (*may_go)(const arcp__effect *effect));
/* Whether there is something to be done, or a line. */
bool arcp__effect_is_ready(const arcp__log *log);
/* Drops what waits, wherever it goes. */
void arcp__effect_drop_all(arcp__log *log);

/* Lines wait for nothing. */
void arcp__effect_log(arcp__log *log, arcp__log_level level, const char *format, ...)
    ARCP_PRINTF(3, 4);
/* A line with fields, a JSON object that is moved from. */
void arcp__effect_log_fields(arcp__log *log, arcp__log_level level, const char *message,
                             arcp_buf *fields);
/* The next line; it lives until the next call. */
bool arcp__effect_next_line(arcp__log *log, arcp__effect *out);

/* A frame, which is moved from; nothing is sent to a port that is closed. */
void arcp__port_send(arcp__log *log, arcp__port *port, arcp_buf *frame, bool durable);
/* Queues a CLOSE; nothing follows it. */
void arcp__port_close(arcp__log *log, arcp__port *port, int close_code, const char *reason,
                      bool durable);
/* So many bytes of a frame were handed to its owner. */
void arcp__port_sent(const arcp__log *log, arcp__port *port, size_t bytes);
/* Drops what waits for it. */
void arcp__port_drop(arcp__log *log, arcp__port *port);

/* ---- pages that the store is asked for ---- */

/* The store's answer; borrowed. */
typedef struct arcp__page {
    arcp_status status;
    uint64_t first; /* position of the first record */
    const arcp_span *records;
    size_t count;
} arcp__page;

/* `owner` forgets the read. */
typedef void (*arcp__read_done_fn)(void *user, void *owner, const arcp__page *page);

/* A READ effect for records of a stream (its key). NULL when out of memory. */
arcp__read *arcp__read_ask(arcp__log *log, arcp_span stream, uint64_t from, size_t count_max,
                           size_t bytes_max, arcp__read_done_fn done, void *user, void *owner);
/* It is over, or its answer is for nobody; NULL after that. */
void arcp__read_forget(arcp__log *log, arcp__read **read);
/* Tells whoever asked for it; one that is not under way is ignored. */
void arcp__read_answered(arcp__log *log, uint64_t id, const arcp__page *page);

/* ---- audit.c ---- */
/* Whom a line is about. What is NULL is left out. */
typedef struct arcp__audit_who {
    const char *principal, *session_id, *job_id, *parent_job_id, *agent, *trace_id;
} arcp__audit_who;

/* One line of the audit log. What is NULL, empty or zero is left out. */
typedef struct arcp__audit_line {
    arcp__audit_event event;
    const char *decision; /* allowed, denied, or a word of the event's own */
    arcp__audit_who who;
    const char *peer; /* of a refused stranger: its address */
    uint64_t count;   /* of refusals that this line stands for; 0: it stands for itself */
    arcp_status code; /* of a refusal */
    const char *rule; /* what decided */
    const char *reason;
    arcp_span capability, target, pattern;
    const arcp_lease *lease, *parent_lease; /* their hashes are written */
    struct {
        const char *name;
        arcp_span value;
    } more[6];
    arcp_span dropped; /* JSON */
} arcp__audit_line;
void arcp__audit(arcp__log *log, const arcp__audit_line *line);
/* What was decided cannot be recorded, or can again. */
void arcp__audit_set_failing(arcp__log *log, bool failing);
/* The settings are others. */
void arcp__audit_update_gates(arcp__log *log);
/* INTERNAL_ERROR (retryable) while decisions cannot be recorded and must be. `err` may be NULL. */
arcp_status arcp__audit_check(const arcp__log *log, arcp_error *err);

/* ---- batch.c ---- */
/* How many bytes of one source wait to be durable: of the open batch, and of those before it. Zero
 * is none. */
typedef struct arcp__queued {
    uint64_t open_id, older_id; /* the last batch that has them */
    size_t open_bytes, older_bytes;
} arcp__queued;
/* So many bytes of the source were added to the open batch. */
void arcp__queued_add(const arcp__log *log, arcp__queued *queued, size_t bytes);
/* Never less than there are; all of the older ones count until the last of them is durable. */
size_t arcp__queued_bytes(const arcp__log *log, const arcp__queued *queued);
/* Adds an operation, whose key and value are copied, to the open batch. */
void arcp__batch_add(arcp__log *log, arcp_store_op op);
void arcp__batch_put(arcp__log *log, arcp_store_table table, arcp_span key, arcp_span value);
void arcp__batch_delete(arcp__log *log, arcp_store_table table, arcp_span key);
/* Something waits for the open batch that is no operation of it: it is taken also without one. */
void arcp__batch_touch(arcp__log *log);
/* The id of the batch being filled; effects that wait for it carry it. */
uint64_t arcp__batch_open_id(const arcp__log *log);
/* How much is in it; 0: it is not worth taking. */
size_t arcp__batch_gathered(const arcp__log *log);
/* The open batch, which is filled no more; while the store fails the first of those that are to be
 * written again, when the pause is over. NULL: none. It stays valid until it is committed. */
const arcp_store_batch *arcp__log_take(arcp__log *log);
/* Whether all is durable. */
bool arcp__log_is_durable(const arcp__log *log);
/* What became of a taken batch. */
typedef enum arcp__commit {
    ARCP__COMMIT_DONE,
    ARCP__COMMIT_BEGAN_TO_FAIL, /* the store could write until now */
    ARCP__COMMIT_PENDING        /* it goes again, or those before it are not durable yet */
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
    bool is_gone;     /* after a restart: it was dropped, and an old index still speaks of it */
    uint32_t refs;    /* its job or session, and every run over it */
    void *owner;      /* whose records it has, for others to know; NULL: unknown */
    uint64_t next;    /* the next position */
    uint64_t bytes;   /* of all records ever */
    uint64_t counted; /* after a restart: `bytes` are of what is before this position */
    /* Its newest records are in memory, at least one as long as a batch borrows it. */
    arcp__chunk *oldest, *newest; /* owned list; NULL: none is in memory */
    arcp__chunk *peeked;          /* where the last reader was; NULL: nowhere */
    size_t tail_bytes;            /* of all chunks */
    arcp__stream *older, *newer;  /* all with records in memory, by their last record */
    arcp__stream *next_dying;
};

/* Makes the stream that the store has under prefix + id, with one reference; NULL when out of
 * memory. There is one of a name: whoever it belongs to holds it. */
arcp__stream *arcp__stream_new(arcp__log *log, const char *prefix, arcp_span id);
/* Drops a reference; the last one forgets the stream, in the store too. */
void arcp__stream_unref(arcp__log *log, arcp__stream *stream);
/* Appends one record made of pieces, also to the open batch; its position in *position.
 * False when out of memory: nothing happened. */
bool arcp__stream_append(arcp__log *log, arcp__stream *stream, const arcp_span *pieces,
                         size_t count, uint64_t *position, size_t *bytes);
/* The record at `position` when it is in memory. */
bool arcp__stream_peek(arcp__stream *stream, uint64_t position, arcp_span *record);
/* Forgets records in memory that nobody needs right now. */
void arcp__stream_trim_tail(arcp__log *log, arcp__stream *stream, size_t keep_bytes);

#endif
