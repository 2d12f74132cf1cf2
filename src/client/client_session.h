/* A client's side of a session, without I/O, clock or thread.
 *
 * It is told what happened (the transport is up, a frame came, the connection is gone,
 * time passed, the program wants something) and says what should happen next:
 *
 *   1. Call an input with the time.
 *   2. Send every frame of arcp__client_session_next_frame.
 *   3. Do the action of arcp__client_session_take_action.
 *   4. Hand over every item of arcp__client_session_next_item, in order.
 *   5. Wait until arcp__client_session_deadline at the latest, then arcp__client_session_tick.
 *
 * Inputs never call back. One thread at a time. Who drives the session may read its members, and
 * changes none.
 *
 * The session's life, which only arcp__client_enter changes:
 *
 *     IDLE --start--> CONNECTING --transport--> HELLO --welcome--> LIVE --close--> CLOSING
 *                      |      ^                 |   |               ^                 |
 *     no connection,   |      | the time     no |   v a new session |                 |
 *     or postponed     v      | has come   more |  RESUMING ---------+                 |
 *                     WAITING-+                 |                                     |
 *                        ^                      |                                     v
 *                        +----------------------+-- (also from RESUMING, LIVE)     CLOSED
 *
 * CLOSED follows every state: when the program asks, or when no attempt is left. Promises:
 *
 *  - An item that carries an event_seq is handed over exactly once and in order. A number
 *    that was seen is dropped; a number that was skipped cuts the connection, and the
 *    session is resumed from the last one that was handed over. What cannot be kept for
 *    want of memory counts as not received.
 *  - Every request gets exactly one reply: the runtime's, its deadline's, or the session's
 *    end. What was not answered when the connection dropped is sent again after a resume
 *    under the same id, if that cannot do it twice.
 *  - Nothing follows a job's terminal frame.
 *
 * Memory that runs out sets `failed`; arcp__client_end_input looks at it when the input is done,
 * and cuts the connection. What an input does after that must do no harm when it is done again.
 *
 * The files of the session call each other downwards only:
 *
 *     session, receive
 *     handshake, events (and answers about jobs)
 *     over (jobs whose end is not told)
 *     binding (whose answer), requests
 *     job (known, past, gone), frames (what is sent)
 *     items (what is handed over)
 *
 * docs/protocol.md; draft §6-§8. */
#ifndef ARCP_CLIENT_CLIENT_SESSION_H
#define ARCP_CLIENT_CLIENT_SESSION_H

#include <arcp/client.h>
#include <arcp/secret.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/timer_heap.h"
#include "base/ulid.h"
#include "core/trace.h"

#define ARCP__MESSAGE_ID_SIZE (4 + ARCP__ULID_SIZE) /* msg_ and a ULID */
/* Connections in a row that broke (a gap, a frame that is none) without any new event:
 * the runtime cannot give what is missing. */
#define ARCP__BROKEN_MAX 3
/* How often in a row the runtime may drop the connection on a request without having sent anything
 * after it, so that a request that makes the runtime hang up does not do so for ever. */
#define ARCP__REQUEST_VAIN_MAX 5
#define ARCP__CLOSE_WAIT_MS    500
#define ARCP__PAST_BYTES_MAX   (8u << 20) /* outcomes of jobs that are over and not held */

/* The members of an event's body, once the program has asked for them (client_event_body.c). */
typedef struct arcp__client_event_text arcp__client_event_text;

/* Something to hand over: an event for the program, or the reply to a request. Owned by
 * who took it; freed with arcp__client_item_free. The links are the holder's to use. */
typedef struct arcp__client_item {
    struct arcp__client_item *prev, *next;         /* utlist: all of the holder's items */
    struct arcp__client_item *job_prev, *job_next; /* utlist: those of one job */
    bool is_reply;
    bool is_secret;          /* wiped before it is freed */
    arcp_client_event event; /* spans point into bytes; event.job is a held reference */
    arcp_span payload; /* of the frame, in bytes; of a JOB_EVENT without the body, which ... */
    size_t body_at;    /* ... stands here in it */
    arcp_buf whole;    /* the payload with the body, once the program has asked for it */
    arcp__client_event_text *text; /* owned */
    arcp_error error; /* what event.error or reply.error points to, with error_details */
    arcp_buf error_details;
    arcp_reply reply; /* reply.job and reply.page are owned until they are taken */
    arcp_reply_fn on_reply;
    void *reply_user;
    uint64_t floor_seq; /* everything up to here came before this item */
    size_t size;        /* bytes in use */
    char bytes[];
} arcp__client_item;

typedef enum arcp__client_session_action {
    ARCP__SESSION_NOTHING,
    ARCP__SESSION_DIAL,  /* make a transport, then connected or disconnected */
    ARCP__SESSION_CLOSE, /* send what is there, close; then disconnected */
    ARCP__SESSION_ABORT, /* cut; then disconnected */
} arcp__client_session_action;

typedef enum arcp__client_session_state {
    ARCP__SESSION_IDLE,
    ARCP__SESSION_WAITING,    /* for the next attempt */
    ARCP__SESSION_CONNECTING, /* DIAL was asked for */
    ARCP__SESSION_HELLO,      /* hello is out */
    ARCP__SESSION_RESUMING,   /* a session.resume is out, for runtimes that do not read hello's */
    ARCP__SESSION_LIVE,
    ARCP__SESSION_CLOSING,
    ARCP__SESSION_CLOSED
} arcp__client_session_state;

typedef enum arcp__client_request_kind {
    ARCP__CLIENT_ASK_SUBMIT,
    ARCP__CLIENT_ASK_SUBSCRIBE,
    ARCP__CLIENT_ASK_CANCEL,
    ARCP__CLIENT_ASK_LIST,
    ARCP__CLIENT_ASK_PING
} arcp__client_request_kind;

/* What the program asks for; everything is borrowed for the call. */
typedef struct arcp__client_ask {
    arcp__client_request_kind kind;
    union { /* by kind */
        const arcp_submit_options *submit;
        const arcp_subscribe_options *subscribe;
        const arcp_list_options *list;
    };
    arcp_span job_id, reason; /* cancel */
    arcp_reply_fn on_reply;
    void *user;
} arcp__client_ask;

/* Where a request stands. When nobody waits for it any more it is abandoned, in each state.
 *
 *                                  .---- the connection dropped, it can be repeated ---.
 *                                  v                                                   |
 *     (own) WAITING --its time--> UNSENT --------------------- flush --------------> SENT
 *
 * It ends from each state: by its answer, its deadline, or the session's end. But one that is
 * abandoned when it is SENT keeps its place for a while where answers are bound by their order. */
typedef enum arcp__client_request_state {
    ARCP__REQUEST_UNSENT,
    ARCP__REQUEST_WAITING, /* its timer fires before it is sent */
    ARCP__REQUEST_SENT,    /* on this connection, or on one before when it cannot be repeated */
} arcp__client_request_state;

typedef struct arcp__client_request {
    struct arcp__client_request *prev, *next; /* utlist: in the order of asking */
    arcp__client_request_kind kind;
    arcp__client_request_state state;
    char id[ARCP__MESSAGE_ID_SIZE];     /* key of `hh` */
    char trace_id[ARCP__TRACE_ID_SIZE]; /* submit */
    char *job_id;                       /* owned; cancel and subscribe: the job meant */
    arcp_buf payload;                   /* to be sent (again) */
    arcp_buf extensions;                /* JSON object, or empty */
    arcp_feature_set needs;
    bool can_repeat; /* sending it twice does no harm */
    unsigned sends;
    unsigned vain;      /* see ARCP__REQUEST_VAIN_MAX */
    uint64_t sent_at;   /* frames that had been received when it was sent */
    uint64_t early_seq; /* subscribe: of what came before the answer, see client_receive.c */
    bool abandoned;     /* nobody waits, but the answer may still come */
    bool is_passed;     /* abandoned, and its turn is over where answers come in order */
    bool is_own;        /* the client's, about job_id; see client_over.c */
    bool with_history;  /* subscribe */
    int64_t sent_ns;
    arcp__timer timer;
    arcp_reply_fn on_reply;
    void *user;
    arcp_result_sink sink; /* submit and subscribe: for the job */
    bool outcome_only;
    bool is_keyed; /* submit: under a key of the program's own */
    void *job_user;
    arcp__client_item
        *reply_item; /* allocated with the request: a reply cannot fail for want of memory */
    UT_hash_handle hh;
} arcp__client_request;

/* The payload of job.accepted and job.subscribed. */
typedef struct arcp__client_description {
    arcp_span agent, parent_job_id, delegate_id;
    arcp_json_ref lease, lease_constraints, budget; /* objects */
    arcp_json_ref patterns, credentials;            /* arrays; patterns: the lease's cost.budget */
    arcp_json_ref current_status, replayed;         /* any */
    arcp_json_ref subscribed_from;                  /* a whole number */
} arcp__client_description;

/* The members of a frame, read leniently: what has another shape counts as left out. Spans and refs
 * live until the next frame. */
typedef struct arcp__client_message {
    arcp_message_type type;
    bool is_older; /* `type_text` is the name that the type had in an older draft */
    arcp_json_ref version;
    arcp_span type_text, id, session_id, envelope_job_id, envelope_trace_id;
    uint64_t event_seq;    /* 0: none */
    arcp_json_ref payload; /* an object, or ARCP_JSON_ABSENT */
    arcp_span text;        /* of the payload; {} when there is none */
    arcp_span job_id;      /* the payload's, else the envelope's; empty: none */
    /* of all but events */
    arcp_span trace_id;
    arcp_span names[5]; /* of the request that it answers, in the order in which they count */
    union {             /* by type; the largest first */
        arcp__client_description description;
        struct {
            arcp_span session_id, resume_token;
            arcp_json_ref features, resume_window_sec, heartbeat_interval_sec;
        } welcome;
        struct {
            arcp_json_ref value;
            arcp_span text, older; /* of a pong: what it may call it */
        } nonce;
        struct {
            arcp_json_ref rows;
            arcp_span next_cursor;
        } jobs;
        struct {
            arcp_span kind, ts;
            arcp_json_ref body;
        } event;
        struct { /* job.result, job.error */
            arcp_span final_status, summary, result_id, code;
            arcp_json_ref result, older_result; /* any */
            arcp_json_ref result_size;          /* a whole number */
        } end;
    };
} arcp__client_message;

typedef struct arcp__client_session {
    arcp_client_options given; /* spans point into `strings`, and end with a NUL */
    arcp__arena strings;
    arcp_secret *token; /* NULL: none */
    arcp__ulid_source id_source;
    arcp__client_session_state state; /* arcp__client_enter */
    arcp__client_session_action action;
    arcp_time now; /* of the input under way */
    bool failed;   /* memory ran out during it */

    /* the session as the runtime knows it */
    arcp_buf id;               /* empty before the first welcome */
    arcp_buf interim_id;       /* RESUMING: of the session that the runtime began instead */
    arcp_secret *resume_token; /* NULL: none */
    arcp_buf welcome;          /* without the resume token; empty before the first one */
    arcp_feature_set features;
    int64_t resume_window_ns;
    int64_t heartbeat_ns; /* 0: not negotiated */
    bool has_session; /* there is something to resume: the next DIAL is an attempt to come back */
    bool was_live;    /* CONNECTED or RESUMED was handed over once */
    bool is_adopted;  /* it began in another process: there are jobs that are not known here */
    bool tells_requests; /* the runtime names the request in its answers */

    /* the connection */
    char hello_id[ARCP__MESSAGE_ID_SIZE];
    unsigned attempt;     /* since a connection was of any use */
    uint64_t welcomed_at; /* the session's progress at the last welcome */
    int64_t welcome_ns;
    unsigned broken;       /* see ARCP__BROKEN_MAX */
    int64_t wait_until_ns; /* WAITING: the next attempt; HELLO...: the handshake's deadline */
    int64_t give_up_ns;    /* no attempt after this */
    int64_t sent_ns, received_ns, pinged_ns;
    uint64_t frames_received;
    bool reading;
    bool bye_sent;
    arcp_error trouble; /* why this connection will be, or was, lost */
    arcp_error failure; /* why the session ended; ARCP_OK: as the program asked, or not yet */
    arcp_buf trouble_details, failure_details;

    /* numbering */
    uint64_t last_seq;   /* received */
    uint64_t handed_seq; /* handed over */
    uint64_t acked_seq;
    int64_t acked_ns;

    /* requests and jobs */
    arcp__client_request *requests; /* utlist */
    arcp__client_request *unsent;   /* of them: those before it are sent; NULL: all are */
    arcp__client_request *by_id;    /* hash */
    uint64_t finished;              /* requests that were sent and are over */
    arcp__timer_heap timers;
    arcp_job *jobs; /* hash */
    void *owner;    /* what jobs are told as theirs */
    arcp_job *past; /* utlist by past_prev, past_next: the oldest first */
    size_t past_bytes;
    struct arcp__gone_jobs *gone; /* owned; made when the first job goes */

    /* output */
    arcp__client_item *items;  /* utlist */
    arcp__client_item *closed; /* for CLOSED, so that its telling cannot fail */
    arcp_buf frames;           /* 32-bit sizes and frames; secret while a hello is among them */
    size_t frames_taken;

    /* input: the frame under way */
    arcp_json json;
    arcp__client_message in;
    arcp_buf compact; /* it, when it had white space in it; secret: welcomes, credentials */
    arcp_buf scratch; /* its strings that had escapes; secret */
} arcp__client_session;

static inline int64_t arcp__client_ms(int64_t ms)
{
    return ms > INT64_MAX / ARCP_NS_PER_MS ? ARCP_TIME_NEVER : ms * ARCP_NS_PER_MS;
}

/* now + ns, which is not negative, without overflow. The instant may lie before zero. */
static inline int64_t arcp__client_after(int64_t now_ns, int64_t ns)
{
    int64_t sum_ns = 0;
    return __builtin_add_overflow(now_ns, ns, &sum_ns) ? ARCP_TIME_NEVER : sum_ns;
}

/* The instant that lies `ms` after the input under way. */
static inline int64_t arcp__client_in_ms(const arcp__client_session *session, int64_t ms)
{
    return arcp__client_after(session->now.mono_ns, arcp__client_ms(ms));
}

static inline bool arcp__client_session_has(const arcp__client_session *session,
                                            arcp_feature feature)
{
    return (session->features & ARCP_FEATURE_BIT(feature)) != 0;
}

static inline arcp_span arcp__client_session_resume_token(const arcp__client_session *session)
{
    return session->resume_token == NULL ? arcp_span_make(NULL, 0)
                                         : arcp_secret_reveal(session->resume_token);
}

/* The transport stands, and the welcome has not come. */
static inline bool arcp__client_is_handshaking(const arcp__client_session *session)
{
    return session->state == ARCP__SESSION_HELLO || session->state == ARCP__SESSION_RESUMING;
}

/* Grows with every numbered event that came, and every sent request that is over. */
static inline uint64_t arcp__client_progress(const arcp__client_session *session)
{
    return session->last_seq + session->finished;
}

/* ==== the interface of who drives the session ==== */

/* `options` are copied. `owner` is what `random` is called with, and what jobs have as theirs. */
ARCP_MUST_CHECK arcp_status arcp__client_session_new(const arcp_client_options *options,
                                                     arcp__random_fn random, void *owner,
                                                     arcp__client_session **out, arcp_error *err);
/* Drops what was not handed over. Jobs that the program holds stay readable. */
void arcp__client_session_free(arcp__client_session *session);

/* ---- what happened ---- */

void arcp__client_session_start(arcp__client_session *session, arcp_time now);
/* The transport's own handshake is complete. */
void arcp__client_session_connected(arcp__client_session *session, arcp_time now);
void arcp__client_session_receive(arcp__client_session *session, arcp_time now, arcp_span text);
/* The connection is gone, or could not be made. ARCP_E_LIMIT and ARCP_E_INVALID_REQUEST: the
 * runtime closed it because of what it was sent. */
void arcp__client_session_disconnected(arcp__client_session *session, arcp_time now,
                                       const arcp_error *why);
void arcp__client_session_tick(arcp__client_session *session, arcp_time now);
/* Whether frames are being read; while they are not, silence is no sign of death. */
void arcp__client_session_set_reading(arcp__client_session *session, arcp_time now, bool reading);
/* Everything up to event_seq was handed over to the program (the floor_seq of the oldest
 * item that was not, or last_seq). Lower values are ignored. */
void arcp__client_session_handed_over(arcp__client_session *session, arcp_time now,
                                      uint64_t event_seq);
/* Instead of doing a DIAL action: ask again in delay_ms. */
void arcp__client_session_postpone(arcp__client_session *session, arcp_time now, int64_t delay_ms);
/* Another holder of the session got a newer resume token. */
ARCP_MUST_CHECK arcp_status arcp__client_session_set_resume_token(arcp__client_session *session,
                                                                  arcp_span token);

/* Forgets a job that is over and that the program has no handle of; else does nothing. */
void arcp__client_session_reap(arcp_job *job);

/* ---- what the program wants ---- */

/* The reply comes as an item. *out may be NULL; it lives until the reply is handed over. */
ARCP_MUST_CHECK arcp_status arcp__client_session_ask(arcp__client_session *session, arcp_time now,
                                                     const arcp__client_ask *ask,
                                                     arcp__client_request **out, arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__client_session_unsubscribe(arcp__client_session *session,
                                                             arcp_time now, arcp_span job_id,
                                                             arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__client_session_ack(arcp__client_session *session, arcp_time now,
                                                     uint64_t event_seq, arcp_error *err);
void arcp__client_session_close(arcp__client_session *session, arcp_time now);

/* The caller of a request no longer waits: no reply will be handed over. When the request
 * was not sent yet it is dropped; else its answer still finds its place. A request whose
 * reply was handed over does not exist any more. */
void arcp__client_request_abandon(arcp__client_session *session, arcp__client_request *request);

/* ---- what should happen ---- */

/* The next frame to send; lives until the next call of any function here. */
bool arcp__client_session_next_frame(arcp__client_session *session, arcp_span *out);
arcp__client_session_action arcp__client_session_take_action(arcp__client_session *session);
/* The next item, the caller's to free; NULL when there is none. */
arcp__client_item *arcp__client_session_next_item(arcp__client_session *session);
void arcp__client_item_free(arcp__client_item *item); /* NULL is accepted */
/* On the monotonic clock; ARCP_TIME_NEVER when nothing is due. */
int64_t arcp__client_session_deadline(const arcp__client_session *session);

/* ==== between the files of the session ==== */

/* ---- client_items.c ---- */

/* A new event item with room for some texts with `bytes` in all, queued by arcp__client_item_queue.
 * NULL when out of memory. */
ARCP_MUST_CHECK arcp__client_item *arcp__client_item_new(arcp_client_event_type type, arcp_job *job,
                                                         size_t bytes);
/* Copies both into the item's room, one after the other, with a NUL behind. */
arcp_span arcp__client_item_join(arcp__client_item *item, arcp_span first, arcp_span second);
static inline arcp_span arcp__client_item_place(arcp__client_item *item, arcp_span text)
{
    return arcp__client_item_join(item, text, arcp_span_make(NULL, 0));
}
void arcp__client_item_queue(arcp__client_session *session, arcp__client_item *item);
/* Session events. False when out of memory; CLOSED never fails. */
bool arcp__client_tell(arcp__client_session *session, arcp_client_event_type type,
                       const arcp_error *error, int64_t retry_in_ms);
void arcp__client_notice(arcp__client_session *session, const char *format, ...) ARCP_PRINTF(2, 3);
/* The connection cannot be used any more: cut it; what to do then follows from the state. */
void arcp__client_break(arcp__client_session *session, arcp_status status, const char *format, ...)
    ARCP_PRINTF(3, 4);
/* The input is done: cuts the connection when memory ran out for it. */
void arcp__client_end_input(arcp__client_session *session);

/* The page of the session.jobs under way; NULL when out of memory, which is noted. */
ARCP_MUST_CHECK arcp_job_page *arcp__client_job_page_new(arcp__client_session *session);

/* ---- client_frames.c: what a client sends ---- */

void arcp__client_message_id(arcp__client_session *session, char out[ARCP__MESSAGE_ID_SIZE]);
/* What is empty is left out, but an id: then the frame gets a new one. */
typedef struct arcp__client_envelope {
    const char *type;
    arcp_span id, job_id, trace_id, payload, extensions;
} arcp__client_envelope;

/* Each queues a frame. False when out of memory; the queue is as it was then. */
ARCP_MUST_CHECK bool arcp__client_send(arcp__client_session *session, arcp__client_envelope e);
/* session.hello, or the session.resume that asks again. */
ARCP_MUST_CHECK bool arcp__client_send_hello(arcp__client_session *session);
ARCP_MUST_CHECK bool arcp__client_send_resume(arcp__client_session *session);
ARCP_MUST_CHECK bool arcp__client_send_ping(arcp__client_session *session);
void arcp__client_payload_ping(const arcp__client_session *session, const char *nonce,
                               arcp_buf *out);

/* ---- client_job.c: those that are known, and those that were ---- */

/* The record of a job, made when there is none; NULL when out of memory, which is noted. */
ARCP_MUST_CHECK arcp_job *arcp__client_session_job(arcp__client_session *session, arcp_span id);
arcp_job *arcp__client_session_find_job(arcp__client_session *session, arcp_span id);
/* Somebody gets a handle of it again. */
void arcp__client_past_take_back(arcp__client_session *session, arcp_job *job);
/* Makes the job known to the program and releases what was held for it. `by_reply`: the
 * reply that is queued already does. */
void arcp__client_session_announce(arcp__client_session *session, arcp_job *job, bool by_reply);

/* ---- client_requests.c ---- */

/* A request in the tables with its deadline set; nothing is sent. NULL when it cannot be asked. */
arcp__client_request *arcp__client_request_new(arcp__client_session *session,
                                               const arcp__client_ask *ask, arcp_error *err);
void arcp__client_request_free(arcp__client_session *session, arcp__client_request *request);
/* Sends what has not been sent yet, if the session is live. */
void arcp__client_requests_flush(arcp__client_session *session);
/* The connection is gone: what can be repeated counts as not sent. */
void arcp__client_requests_unsend(arcp__client_session *session);
/* The runtime closed the connection because of a frame of ours: what it may have been ends with
 * that, and is not sent again. ARCP_E_LIMIT: a frame was too large. */
void arcp__client_requests_blame(arcp__client_session *session, const arcp_error *why);
/* Ends all requests. */
void arcp__client_requests_fail(arcp__client_session *session, const arcp_error *error);
/* Its deadline has passed. */
void arcp__client_request_expire(arcp__client_session *session, arcp__client_request *request);
/* Queues the reply and frees the request: `result` has an error, a job, a page, or nothing. A page
 * is taken. */
void arcp__client_request_finish(arcp__client_session *session, arcp__client_request *request,
                                 arcp_reply result);
/* The same with an error of the client's own. */
void arcp__client_request_fail(arcp__client_session *session, arcp__client_request *request,
                               arcp_status status, const char *format, ...) ARCP_PRINTF(4, 5);
/* A submit or a subscription waits for its answer: a job that is not known may be its. */
bool arcp__client_requests_wait_for_jobs(const arcp__client_session *session);
/* Announces the jobs whose events wait for a request that is no longer there. */
void arcp__client_session_announce_held(arcp__client_session *session);

/* ---- client_binding.c: which request the frame under way answers ---- */

typedef struct arcp__client_binding {
    arcp__client_request *request; /* NULL: none of ours */
    bool names_request;            /* the frame says which request it answers */
} arcp__client_binding;

arcp__client_request *arcp__client_find_request(arcp__client_session *session, arcp_span id);
/* By request_id, reply_to, correlation_id or echoed id; any kind of request. */
arcp__client_binding arcp__client_bind_by_name(arcp__client_session *session);
/* For an answer of one kind: by name, else trace id, else job id, else order. */
arcp__client_binding arcp__client_bind_reply(arcp__client_session *session,
                                             arcp__client_request_kind kind);
/* The submit that was not sent again and whose trace this is; NULL when there is none. */
arcp__client_request *arcp__client_bind_repeated(arcp__client_session *session);
/* The request of one kind that waits for its answer about the frame's job: a subscribe, or the
 * cancel that a job's end answers where the runtime sends no job.cancelled. NULL when there is
 * none, or the runtime names what it answers. */
arcp__client_request *arcp__client_bind_by_job(arcp__client_session *session,
                                               arcp__client_request_kind kind);
/* The submit under a key of the program's that an answer about a job which exists already may
 * belong to: by trace id, else the oldest; NULL when there is none. */
arcp__client_request *arcp__client_bind_keyed(arcp__client_session *session);
/* For a job.error that names a job: whether it refuses something (`names_request`), and what. */
arcp__client_binding arcp__client_bind_refusal(arcp__client_session *session);
/* For an error that names no request: by job id, else trace id, else the oldest request. */
arcp__client_request *arcp__client_bind_error(arcp__client_session *session);

/* ---- client_over.c: jobs of which the runtime tells nothing more ---- */

/* After a keyed submit was answered with a job that is new to this session. */
void arcp__client_over_probe(arcp__client_session *session, const arcp_job *job);
/* After a job.subscribed with history. */
void arcp__client_over_fence(arcp__client_session *session, const arcp_job *job);
/* What an answer to a request of the client's own tells. */
void arcp__client_over_answered(arcp__client_session *session, const arcp__client_request *request);
/* What silence after one tells: its time has come. Takes the request. */
void arcp__client_over_expire(arcp__client_session *session, arcp__client_request *request);
/* The request was refused: ends it, after what that tells of the job of one of the client's own. */
void arcp__client_over_refused(arcp__client_session *session, arcp__client_request *request,
                               const arcp_error *error);

/* ---- client_handshake.c, client_frames.c, client_events.c ---- */

/* What becomes of the frame under way, by its type. */
typedef void arcp__client_handler(arcp__client_session *session);
arcp__client_handler arcp__client_on_welcome, arcp__client_on_session_error;
arcp__client_handler arcp__client_on_accepted, arcp__client_on_subscribed;
arcp__client_handler arcp__client_on_cancelled, arcp__client_on_jobs, arcp__client_on_pong;
arcp__client_handler arcp__client_on_ping;
arcp__client_handler arcp__client_on_job_event, arcp__client_on_job_end;

/* ---- client_session.c ---- */

/* The only writer of the session's state; until_ns is the new state's deadline. */
void arcp__client_enter(arcp__client_session *session, arcp__client_session_state state,
                        int64_t until_ns);

#endif
