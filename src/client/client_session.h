/* The client's side of a session, without I/O, clock or thread.
 *
 * Its owner reports what happened (the transport is connected, a frame was received, the connection
 * was lost, time has passed, the program makes a request) and carries out what the session returns:
 *
 *   1. Call an input function with the current time.
 *   2. Send every frame of arcp__client_session_next_frame.
 *   3. Carry out the action of arcp__client_session_take_action.
 *   4. Deliver every item of arcp__client_session_next_item to the program, in order.
 *   5. Wait until arcp__client_session_deadline at the latest, then call arcp__client_session_tick.
 *
 * Input functions call no callbacks. Not thread-safe. The owner may read the members, but must not
 * change them.
 *
 * The states of the session, which only arcp__client_enter changes:
 *
 *     IDLE --start--> CONNECTING --transport--> HELLO --welcome--> LIVE --close--> CLOSING
 *                      |      ^                 |   |               ^                 |
 *     no connection,   |      | the time     no |   v a new session |                 |
 *     or postponed     v      | has come   more |  RESUMING ---------+                 |
 *                     WAITING-+                 |                                     |
 *                        ^                      |                                     v
 *                        +----------------------+-- (also from RESUMING, LIVE)     CLOSED
 *
 * CLOSED can follow every state: when the program closes, or when no attempt is left. Guarantees:
 *
 *  - An item with an event_seq is delivered exactly once and in order. A repeated number is
 * dropped; after a gap the connection is cut and the session is resumed from the last number
 * received. A frame that cannot be stored because memory ran out counts as not received.
 *  - Every request gets exactly one reply: from the runtime, at its deadline, or at the session's
 * end. A request without a response when the connection is lost is sent again after the resume,
 * with the same id, if repeating it is safe.
 *  - Nothing follows a job's terminal frame.
 *
 * When memory runs out, `failed` is set; arcp__client_end_input checks it after the input and cuts
 * the connection. What an input does after `failed` is set must be harmless when the input is
 * repeated.
 *
 * The files of the session call each other only downwards:
 *
 *     session, receive
 *     handshake, events (and responses about jobs)
 *     silent (jobs whose end is not reported)
 *     binding (matching responses to requests), requests
 *     job (current, kept and removed jobs), frames (sending)
 *     items (delivery)
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
#include "client/client_watch.h"
#include "core/trace.h"
#include "json/json.h"

/* For JSON of the program, and of frames that were read before. */
#define ARCP__CLIENT_JSON_LIMITS ((arcp_json_limits){64, 10000, UINT32_MAX})

#define ARCP__MESSAGE_ID_SIZE (4 + ARCP__ULID_SIZE) /* msg_ and a ULID */
/* The number of connections in a row that may break (because of a gap or an invalid frame) without
 * any new event: then the runtime cannot send what is missing. */
#define ARCP__BROKEN_MAX 3
/* How often in a row the runtime may close the connection after a request without having sent
 * anything after it: such a request may be the reason, and must not be sent again for ever. */
#define ARCP__REQUEST_DROPS_MAX 5
#define ARCP__CLOSE_WAIT_MS     500
#define ARCP__KEPT_BYTES_MAX                                                                       \
    (8u << 20) /* for outcomes of jobs that are over and without a handle */

/* The members of an event's body, as soon as the program has asked for them (client_event_body.c).
 */
typedef struct arcp__client_event_text arcp__client_event_text;

/* Something to deliver to the program: an event, or the reply to a request. Owned by the caller of
 * arcp__client_session_next_item, who may use the links and frees it with arcp__client_item_free.
 */
typedef struct arcp__client_item {
    struct arcp__client_item *prev, *next;         /* utlist: all items of the owner */
    struct arcp__client_item *job_prev, *job_next; /* utlist: the items of one job */
    bool is_reply;
    bool is_secret;          /* wiped before it is freed */
    arcp_client_event event; /* spans point into bytes; event.job is a held reference */
    arcp_span payload;       /* of the frame, in bytes; that of a JOB_EVENT lacks its body */
    size_t body_at;          /* where the body belongs in it */
    char *whole; /* owned; the payload with the body, once the program has asked for it */
    arcp__client_event_text *text; /* owned */
    arcp_error error; /* what event.error or reply.error points to, with error_details */
    arcp_buf error_details;
    arcp_reply reply;       /* reply.job and reply.page are owned until they are taken */
    arcp_buf reply_payload; /* of a view */
    arcp_reply_fn on_reply;
    void *reply_user;
    uint64_t floor_seq; /* all events up to this number come before this item */
    size_t size;        /* bytes in use */
    char bytes[];
} arcp__client_item;

typedef enum arcp__client_session_action {
    ARCP__SESSION_NOTHING,
    ARCP__SESSION_DIAL,  /* connect; then call connected or disconnected */
    ARCP__SESSION_CLOSE, /* send the queued frames and close; then call disconnected */
    ARCP__SESSION_ABORT, /* cut the connection; then call disconnected */
} arcp__client_session_action;

typedef enum arcp__client_session_state {
    ARCP__SESSION_IDLE,
    ARCP__SESSION_WAITING,    /* for the next attempt */
    ARCP__SESSION_CONNECTING, /* DIAL was returned */
    ARCP__SESSION_HELLO,      /* hello was sent */
    ARCP__SESSION_RESUMING,   /* session.resume was sent: the runtime ignored the hello's resume */
    ARCP__SESSION_LIVE,
    ARCP__SESSION_CLOSING,
    ARCP__SESSION_CLOSED
} arcp__client_session_state;

typedef enum arcp__client_request_kind {
    ARCP__CLIENT_REQUEST_SUBMIT,
    ARCP__CLIENT_REQUEST_SUBSCRIBE,
    ARCP__CLIENT_REQUEST_CANCEL,
    ARCP__CLIENT_REQUEST_LIST,
    ARCP__CLIENT_REQUEST_VIEW,
    ARCP__CLIENT_REQUEST_WATCH,
    ARCP__CLIENT_REQUEST_UNWATCH,
    ARCP__CLIENT_REQUEST_PING
} arcp__client_request_kind;

/* A request of the program; everything is borrowed for the call. */
typedef struct arcp__client_request_args {
    arcp__client_request_kind kind;
    union { /* by kind */
        const arcp_submit_options *submit;
        const arcp_subscribe_options *subscribe;
        const arcp_list_options *list;
        const arcp_watch_options *watch;
    };
    arcp_span job_id, reason; /* cancel */
    const char *view;         /* view: name of the request */
    arcp_span payload;        /* view: a JSON object, or empty */
    arcp_reply_fn on_reply;
    void *user;
} arcp__client_request_args;

/* The state of a request. In any state it may be abandoned: then no call waits for its reply.
 *
 *                                  .---- the connection dropped, it can be repeated ---.
 *                                  v                                                   |
 *     (own) WAITING --its time--> UNSENT --------------------- flush --------------> SENT
 *
 * It can end in any state: with its response, at its deadline, or at the session's end. But if
 * responses are matched by their order, a request abandoned in SENT keeps its place for a while. */
typedef enum arcp__client_request_state {
    ARCP__REQUEST_UNSENT,
    ARCP__REQUEST_WAITING, /* not to be sent before its timer fires */
    ARCP__REQUEST_SENT,    /* on this connection, or on an earlier one if it cannot be repeated */
} arcp__client_request_state;

typedef struct arcp__client_request {
    struct arcp__client_request *prev, *next; /* utlist: in the order of creation */
    arcp__client_request_kind kind;
    arcp__client_request_state state;
    char id[ARCP__MESSAGE_ID_SIZE];     /* key of `hh` */
    char trace_id[ARCP__TRACE_ID_SIZE]; /* submit */
    char *job_id;                       /* owned; cancel and subscribe: the job meant */
    char view_type[48];                 /* view: type of the message */
    arcp_buf payload;                   /* to be sent (again) */
    arcp_buf extensions;                /* JSON object, or empty */
    arcp_feature_set needs;
    bool can_repeat; /* sending it twice does no harm */
    unsigned sends;
    unsigned drops;     /* see ARCP__REQUEST_DROPS_MAX */
    uint64_t sent_at;   /* frames that had been received when it was sent */
    uint64_t early_seq; /* subscribe: the last number received before the response, see
                           client_receive.c */
    bool abandoned;     /* no caller waits, but a response may still arrive */
    bool is_overtaken;  /* abandoned, and a later request was answered first (responses in order) */
    bool is_internal;   /* made by the client itself, about job_id; see client_silent.c */
    bool is_rewatch;    /* made by the client itself after a resume; see client_watch.c */
    char *principals;   /* owned; a watch of jobs: whose ("" for the own ones); otherwise NULL */
    bool with_history;  /* subscribe */
    int64_t sent_ns;
    arcp__timer timer;
    arcp_reply_fn on_reply;
    void *user;
    arcp_result_sink sink; /* submit and subscribe: for the job */
    bool outcome_only;
    bool is_keyed; /* submit: the program chose the idempotency key */
    void *job_user;
    arcp__client_item *reply_item; /* allocated with the request, so that a reply cannot fail */
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

/* The members of a frame, read leniently: a member of another type counts as missing. Spans and
 * refs are valid until the next frame. */
typedef struct arcp__client_message {
    arcp_message_type type;
    bool is_older; /* `type_text` is an older name of the type */
    arcp_json_ref version;
    arcp_span type_text, id, session_id, envelope_job_id, envelope_trace_id;
    uint64_t event_seq;    /* 0: none */
    arcp_json_ref payload; /* an object, or ARCP_JSON_ABSENT */
    arcp_span text;        /* of the payload; {} if there is none */
    arcp_span job_id;      /* the payload's, else the envelope's; empty: none */
    /* of all types except events */
    arcp_span trace_id;
    arcp_span names[5]; /* ids of the request that it answers, in order of precedence */
    union {             /* by type; the largest first */
        arcp__client_description description;
        struct {
            arcp_span session_id, resume_token;
            arcp_json_ref features, resume_window_sec, heartbeat_interval_sec;
        } welcome;
        struct {
            arcp_json_ref value;
            arcp_span text, older; /* of a pong: under two names */
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
    arcp_time now; /* of the current input */
    bool failed;   /* memory ran out during the current input */

    /* the session as the runtime knows it */
    arcp_buf id;               /* empty before the first welcome */
    arcp_buf interim_id;       /* RESUMING: id of the session that the runtime began instead */
    arcp_secret *resume_token; /* NULL: none */
    arcp_buf welcome;          /* without the resume token; empty before the first one */
    arcp_feature_set features;
    int64_t resume_window_ns;
    int64_t heartbeat_ns; /* 0: not negotiated */
    bool has_session;     /* there is a session to resume at the next DIAL */
    bool was_live;        /* CONNECTED or RESUMED was delivered before */
    bool is_adopted;      /* begun by another process: it may have jobs that are unknown here */
    bool names_requests;  /* the runtime names the request in its responses */

    /* the connection */
    char hello_id[ARCP__MESSAGE_ID_SIZE];
    unsigned attempt;     /* number since the last useful connection */
    uint64_t welcomed_at; /* the session's progress at the last welcome */
    int64_t welcome_ns;
    unsigned broken;       /* see ARCP__BROKEN_MAX */
    int64_t wait_until_ns; /* WAITING: the next attempt; otherwise the state's deadline */
    int64_t give_up_ns;    /* no attempt after this */
    int64_t sent_ns, received_ns, pinged_ns;
    uint64_t frames_received;
    bool reading;
    bool bye_sent;
    arcp_error connection_error; /* why this connection will be, or was, lost */
    arcp_error failure; /* why the session ended; ARCP_OK: as the program asked, or not yet */
    arcp_buf connection_error_details, failure_details;

    arcp__client_watch watch;

    /* numbering */
    uint64_t last_seq;   /* received */
    uint64_t handed_seq; /* delivered to the program */
    uint64_t acked_seq;
    int64_t acked_ns;

    /* requests and jobs */
    arcp__client_request *requests; /* utlist */
    arcp__client_request *unsent;   /* the first one that may be unsent; NULL: all are sent */
    arcp__client_request *by_id;    /* hash */
    uint64_t finished;              /* number of requests that were sent and have ended */
    arcp__timer_heap timers;
    arcp_job *jobs; /* hash */
    void *owner;    /* of the jobs: the arcp_client */
    arcp_job *kept; /* kept jobs: utlist by kept_prev, kept_next; oldest first */
    size_t kept_bytes;
    struct arcp__removed_jobs *removed; /* owned; allocated when the first job is removed */

    /* output */
    arcp__client_item *items;  /* utlist */
    arcp__client_item *closed; /* allocated in advance, so that CLOSED can always be delivered */
    arcp_buf frames;           /* 32-bit sizes and frames; secret while a hello is among them */
    size_t frames_taken;

    /* input: the current frame */
    arcp_json json;
    arcp__client_message in;
    arcp_buf compact; /* the frame without white space, if it had any; may hold secrets */
    arcp_buf scratch; /* its unescaped strings; may hold secrets */
} arcp__client_session;

static inline int64_t arcp__client_ms(int64_t ms)
{
    return ms > INT64_MAX / ARCP_NS_PER_MS ? ARCP_TIME_NEVER : ms * ARCP_NS_PER_MS;
}

/* now + ns without overflow; ns is not negative, now may be. */
static inline int64_t arcp__client_after(int64_t now_ns, int64_t ns)
{
    int64_t sum_ns = 0;
    return __builtin_add_overflow(now_ns, ns, &sum_ns) ? ARCP_TIME_NEVER : sum_ns;
}

/* The instant `ms` after the current input. */
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

/* Whether the transport is connected and the welcome has not been received. */
static inline bool arcp__client_is_handshaking(const arcp__client_session *session)
{
    return session->state == ARCP__SESSION_HELLO || session->state == ARCP__SESSION_RESUMING;
}

/* Grows with every numbered frame received, and every sent request that ends. */
static inline uint64_t arcp__client_progress(const arcp__client_session *session)
{
    return session->last_seq + session->finished;
}

/* ==== the interface for the owner of the session ==== */

/* `options` are copied. `owner` is passed to `random`, and is the owner of jobs. */
ARCP_MUST_CHECK arcp_status arcp__client_session_new(const arcp_client_options *options,
                                                     arcp__random_fn random, void *owner,
                                                     arcp__client_session **out, arcp_error *err);
/* Frees undelivered items. Jobs of which the program has handles stay readable. */
void arcp__client_session_free(arcp__client_session *session);

/* ---- what happened ---- */

void arcp__client_session_start(arcp__client_session *session, arcp_time now);
/* The transport is connected. */
void arcp__client_session_connected(arcp__client_session *session, arcp_time now);
void arcp__client_session_receive(arcp__client_session *session, arcp_time now, arcp_span text);
/* The connection was lost, or could not be established. ARCP_E_LIMIT and ARCP_E_INVALID_REQUEST:
 * the runtime closed it because of a frame that we sent. */
void arcp__client_session_disconnected(arcp__client_session *session, arcp_time now,
                                       const arcp_error *why);
void arcp__client_session_tick(arcp__client_session *session, arcp_time now);
/* Whether frames are being read; while they are not, a missing heartbeat means nothing. */
void arcp__client_session_set_reading(arcp__client_session *session, arcp_time now, bool reading);
/* All events up to event_seq were delivered to the program (the floor_seq of the oldest undelivered
 * item, or last_seq). Lower values are ignored. */
void arcp__client_session_handed_over(arcp__client_session *session, arcp_time now,
                                      uint64_t event_seq);
/* Instead of carrying out a DIAL action: returns it again in delay_ms. */
void arcp__client_session_postpone(arcp__client_session *session, arcp_time now, int64_t delay_ms);
/* Another process that uses the session has got a newer resume token. */
ARCP_MUST_CHECK arcp_status arcp__client_session_set_resume_token(arcp__client_session *session,
                                                                  arcp_span token);

/* Keeps or removes a job if it is over and the program has no handle of it. */
void arcp__client_session_reap(arcp_job *job);

/* ---- requests of the program ---- */

/* The reply is delivered as an item. `out` may be NULL; *out is valid until the reply is delivered.
 */
ARCP_MUST_CHECK arcp_status arcp__client_session_request(arcp__client_session *session,
                                                         arcp_time now,
                                                         const arcp__client_request_args *args,
                                                         arcp__client_request **out,
                                                         arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__client_session_unsubscribe(arcp__client_session *session,
                                                             arcp_time now, arcp_span job_id,
                                                             arcp_error *err);
ARCP_MUST_CHECK arcp_status arcp__client_session_ack(arcp__client_session *session, arcp_time now,
                                                     uint64_t event_seq, arcp_error *err);
void arcp__client_session_close(arcp__client_session *session, arcp_time now);

/* Gives up a request: no reply will be delivered. An unsent request is freed; the response to a
 * sent one is still recognised. Must not be called after the reply was delivered. */
void arcp__client_request_abandon(arcp__client_session *session, arcp__client_request *request);

/* ---- what should happen ---- */

/* The next frame to send; valid until the next call of any function here. */
bool arcp__client_session_next_frame(arcp__client_session *session, arcp_span *out);
arcp__client_session_action arcp__client_session_take_action(arcp__client_session *session);
/* The next item, which the caller frees; NULL when there is none. */
arcp__client_item *arcp__client_session_next_item(arcp__client_session *session);
void arcp__client_item_free(arcp__client_item *item); /* NULL is accepted */
/* On the monotonic clock; ARCP_TIME_NEVER when nothing is due. */
int64_t arcp__client_session_deadline(const arcp__client_session *session);

/* ==== between the files of the session ==== */

/* ---- client_items.c ---- */

/* A new event item with space for up to four texts of `bytes` bytes in total, to be queued by
 * arcp__client_item_queue. NULL when out of memory. */
ARCP_MUST_CHECK arcp__client_item *arcp__client_item_new(arcp_client_event_type type, arcp_job *job,
                                                         size_t bytes);
/* Copies both into the item, one after the other, with a NUL behind. */
arcp_span arcp__client_item_join(arcp__client_item *item, arcp_span first, arcp_span second);
static inline arcp_span arcp__client_item_place(arcp__client_item *item, arcp_span text)
{
    return arcp__client_item_join(item, text, arcp_span_make(NULL, 0));
}
void arcp__client_item_queue(arcp__client_session *session, arcp__client_item *item);
/* Appends a text with a NUL behind it, for which there must be space: the span stays valid. */
arcp_span arcp__client_append_text(arcp_buf *out, arcp_span text);
/* Queues a session event. False when out of memory; CLOSED never fails. */
bool arcp__client_notify(arcp__client_session *session, arcp_client_event_type type,
                         const arcp_error *error, int64_t retry_in_ms);
void arcp__client_notice(arcp__client_session *session, const char *format, ...) ARCP_PRINTF(2, 3);
/* Gives up the connection because of an error: the next action is ABORT. */
void arcp__client_break(arcp__client_session *session, arcp_status status, const char *format, ...)
    ARCP_PRINTF(3, 4);
/* Ends an input: cuts the connection if memory ran out during it. */
void arcp__client_end_input(arcp__client_session *session);

/* The page of the current session.jobs; NULL when out of memory (sets session->failed). */
ARCP_MUST_CHECK arcp_job_page *arcp__client_job_page_new(arcp__client_session *session);

/* ---- client_frames.c: sending ---- */

void arcp__client_message_id(arcp__client_session *session, char out[ARCP__MESSAGE_ID_SIZE]);
/* Empty members are omitted, except the id: then the frame gets a new one. */
typedef struct arcp__client_envelope {
    const char *type;
    arcp_span id, job_id, trace_id, payload, extensions;
} arcp__client_envelope;

/* Each queues a frame. False when out of memory; then the queue is unchanged. */
ARCP_MUST_CHECK bool arcp__client_send(arcp__client_session *session, arcp__client_envelope e);
/* session.hello, and the session.resume after it. */
ARCP_MUST_CHECK bool arcp__client_send_hello(arcp__client_session *session);
ARCP_MUST_CHECK bool arcp__client_send_resume(arcp__client_session *session);
ARCP_MUST_CHECK bool arcp__client_send_ping(arcp__client_session *session);
void arcp__client_payload_ping(const arcp__client_session *session, const char *nonce,
                               arcp_buf *out);

/* ---- client_job.c: current, kept and removed jobs ---- */

/* The record of a job, created if there is none; NULL when out of memory (sets session->failed). */
ARCP_MUST_CHECK arcp_job *arcp__client_session_job(arcp__client_session *session, arcp_span id);
arcp_job *arcp__client_session_find_job(arcp__client_session *session, arcp_span id);
/* Ends the keeping of a job, because the program gets a handle of it again. */
void arcp__client_kept_take_back(arcp__client_session *session, arcp_job *job);
/* Announces the job to the program and queues its held events. `by_reply`: the queued reply
 * announces it. */
void arcp__client_session_announce(arcp__client_session *session, arcp_job *job, bool by_reply);

/* ---- client_requests.c ---- */

/* Creates a request and sets its deadline; sends nothing. NULL on failure. */
arcp__client_request *arcp__client_request_new(arcp__client_session *session,
                                               const arcp__client_request_args *args,
                                               arcp_error *err);
void arcp__client_request_free(arcp__client_session *session, arcp__client_request *request);
/* Checks the options of a submit, and writes the payload (client_submit.c). */
arcp_status arcp__client_submit_prepare(arcp__client_session *session,
                                        arcp__client_request *request,
                                        const arcp_submit_options *given, arcp_error *err);
/* Checks a view, and writes its type and payload (client_view.c). */
arcp_status arcp__client_view_prepare(arcp__client_request *request,
                                      const arcp__client_request_args *args, arcp_error *err);
/* Sends the unsent requests, if the session is live. */
void arcp__client_requests_flush(arcp__client_session *session);
/* The connection was lost: marks requests that can be repeated as unsent. */
void arcp__client_requests_unsend(arcp__client_session *session);
/* The runtime closed the connection because of a frame that we sent: ends the requests that may
 * have caused it, so that they are not sent again. ARCP_E_LIMIT: a frame was too large. */
void arcp__client_requests_blame(arcp__client_session *session, const arcp_error *why);
/* Ends all requests. */
void arcp__client_requests_fail(arcp__client_session *session, const arcp_error *error);
/* The deadline of a request has passed. */
void arcp__client_request_expire(arcp__client_session *session, arcp__client_request *request);
/* Queues the reply and frees the request: `result` has an error, a job, a page, or nothing. Takes
 * ownership of a page. */
void arcp__client_request_finish(arcp__client_session *session, arcp__client_request *request,
                                 arcp_reply result);
/* The same with a local error. */
void arcp__client_request_fail(arcp__client_session *session, arcp__client_request *request,
                               arcp_status status, const char *format, ...) ARCP_PRINTF(4, 5);
/* Whether a submit or a subscription waits for its response: then an unknown job may belong to it.
 */
bool arcp__client_requests_wait_for_jobs(const arcp__client_session *session);
/* Announces the jobs with held events if no request is waiting for a job any more. */
void arcp__client_session_announce_held(arcp__client_session *session);

/* ---- client_binding.c: finds the request that the current frame answers ---- */

typedef struct arcp__client_binding {
    arcp__client_request *request; /* NULL: none of ours */
    bool names_request;            /* the frame names the request that it answers */
} arcp__client_binding;

arcp__client_request *arcp__client_find_request(arcp__client_session *session, arcp_span id);
/* By request_id, reply_to, correlation_id or echoed id; any kind of request. */
arcp__client_binding arcp__client_bind_by_name(arcp__client_session *session);
/* For a response to one kind of request: by name, else by job id, trace id, or order. */
arcp__client_binding arcp__client_bind_reply(arcp__client_session *session,
                                             arcp__client_request_kind kind);
/* The submit with this trace that was not sent again; NULL when there is none. */
arcp__client_request *arcp__client_bind_repeated(arcp__client_session *session);
/* The request of one kind that waits for a response about the frame's job: a subscribe, or the
 * cancel that is answered by the job's end if the runtime sends no job.cancelled. NULL when there
 * is none, or if the runtime names requests. */
arcp__client_request *arcp__client_bind_by_job(arcp__client_session *session,
                                               arcp__client_request_kind kind);
/* The submit with a key of the program to which a response about an existing job may belong: by
 * trace id, else the oldest; NULL when there is none. */
arcp__client_request *arcp__client_bind_keyed(arcp__client_session *session);
/* For a job.error that names a job: whether it refuses a request (`names_request`), and which. */
arcp__client_binding arcp__client_bind_refusal(arcp__client_session *session);
/* For an error that names no request: by job id, else trace id, else the oldest request. */
arcp__client_request *arcp__client_bind_error(arcp__client_session *session);

/* ---- client_silent.c: jobs about which the runtime sends nothing more ---- */

/* To be called after the response to a keyed submit, for a job that is new to this session. */
void arcp__client_silent_probe(arcp__client_session *session, const arcp_job *job);
/* To be called after a job.subscribed with history. */
void arcp__client_silent_fence(arcp__client_session *session, const arcp_job *job);
/* A fence was answered. */
void arcp__client_silent_answered(arcp__client_session *session,
                                  const arcp__client_request *request);
/* The timer of a probe or fence has fired. May free the request. */
void arcp__client_silent_expire(arcp__client_session *session, arcp__client_request *request);
/* A request was refused: ends it; if it was a probe, this may also end its job. */
void arcp__client_silent_refused(arcp__client_session *session, arcp__client_request *request,
                                 const arcp_error *error);

/* ---- client_handshake.c, client_frames.c, client_events.c ---- */

/* Handlers of the current frame, by type. */
typedef void arcp__client_handler(arcp__client_session *session);
arcp__client_handler arcp__client_on_welcome, arcp__client_on_session_error;
arcp__client_handler arcp__client_on_accepted, arcp__client_on_subscribed;
arcp__client_handler arcp__client_on_cancelled, arcp__client_on_jobs, arcp__client_on_pong,
    arcp__client_on_vendor;
arcp__client_handler arcp__client_on_ping;
arcp__client_handler arcp__client_on_job_event, arcp__client_on_job_end;

/* ---- client_session.c ---- */

/* The only writer of the session's state; until_ns is the new state's deadline. */
void arcp__client_enter(arcp__client_session *session, arcp__client_session_state state,
                        int64_t until_ns);

#endif
