/* The client: connect to an ARCP runtime, submit jobs, follow them, resume, subscribe.
 *
 * A program that submits one job and uses its result needs arcp_client_run only. For everything
 * else the client has two forms:
 *
 *  - Blocking. arcp_client_connect starts a loop in a thread of its own, which keeps the session
 *    alive (heartbeats, acknowledgements, reconnecting) whatever the program does. Every function
 *    may be called from any thread; functions that wait take a timeout.
 *  - On the program's own libuv loop. arcp_client_connect_start, and every other function whose
 *    name ends in _start, returns at once and calls back later. The client starts no thread; the
 *    program calls it, and it calls back, on the loop's thread. Such a program must ignore SIGPIPE.
 *
 * When the connection drops, the client reconnects and resumes the session by itself. The program
 * gets every event exactly once and in its job's order, or the client ends with an error
 * (RESUME_WINDOW_EXPIRED when the runtime no longer has the missed events). A gap in the numbering
 * is never passed on. Across jobs the order is the runtime's, with one exception: an event that
 * arrives before the response to its job's submit is passed on after it.
 *
 * Functions copy the spans that the program gives them. Every span that the client gives to the
 * program, also in callbacks, is followed by a NUL and has a pointer even if it is empty, so that
 * its data can be printed with %s. Each function says how long a returned pointer or span is valid.
 *
 * A job may have several handles: give each back with arcp_job_unref. Everything else has a free
 * function. Timeouts are in milliseconds; ARCP_WAIT_DEFAULT stands for the client's
 * request_timeout_ms, ARCP_WAIT_FOREVER for no timeout. Draft §6-§8; docs/errors.md. */
#ifndef ARCP_CLIENT_H
#define ARCP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/buf.h>
#include <arcp/error.h>
#include <arcp/event_body.h>
#include <arcp/lease.h>
#include <arcp/span.h>
#include <arcp/time.h>
#include <arcp/visibility.h>
#include <arcp/wire.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uv_loop_s;
struct arcp_connection;

typedef struct arcp_client arcp_client;
typedef struct arcp_job arcp_job;
typedef struct arcp_job_page arcp_job_page;

#define ARCP_WAIT_DEFAULT INT64_C(-1)
#define ARCP_WAIT_FOREVER INT64_MAX

/* ---- options ---- */

/* The data with which a session is resumed later, also by another process (§6.3). */
typedef struct arcp_session_state {
    arcp_span session_id;
    arcp_span resume_token; /* a secret: with it and a bearer token a client resumes the session */
    uint64_t last_event_seq;
} arcp_session_state;

/* Called by the client, on its loop's thread; must not call the client. */
typedef struct arcp_client_hooks {
    /* Called before each attempt to resume. If another process has used the session meanwhile,
     * append its newer resume token to `resume_token`; if it stays empty, the client uses its own.
     * False postpones the attempt by 100 ms. May be NULL. */
    bool (*before_resume)(void *user, arcp_buf *resume_token);
    /* Called after each welcome, which has a new resume token. `state` is valid during the call.
     * May be NULL. */
    void (*welcomed)(void *user, const arcp_session_state *state);
    void *user;
} arcp_client_hooks;

/* Opens the transport when there is no URL for it (in-memory pairs, tunnels). Called on the
 * loop's thread for every attempt; returns a connection of that loop, which the client takes over,
 * or NULL with the reason in `err`. */
typedef struct arcp_connection *(*arcp_dial_fn)(void *user, struct uv_loop_s *loop,
                                                arcp_error *err);

typedef struct arcp_client_options {
    size_t struct_size;
    arcp_span url; /* ws://, wss://, stdio:COMMAND; not needed when `dial` is set */
    arcp_dial_fn dial;
    void *dial_user;
    arcp_span token;          /* bearer; empty: none */
    arcp_span client_name;    /* empty: "libarcp" */
    arcp_span client_version; /* empty: the library's */
    arcp_feature_set features;
    arcp_session_state resume; /* session_id not empty: begin by resuming this session */
    arcp_client_hooks hooks;
    arcp_span tls_ca_file; /* wss: PEM file of authorities; empty: the system's */

    int64_t connect_timeout_ms; /* one attempt: transport and handshake */
    int64_t connect_retry_ms;   /* retry the first connection for so long; 0: one attempt */
    int64_t request_timeout_ms; /* from a request to its response */
    bool no_reconnect;          /* a dropped connection ends the client */
    int64_t backoff_first_ms;   /* doubled per attempt up to backoff_max_ms, half of it random */
    int64_t backoff_max_ms;
    int64_t give_up_ms; /* stop reconnecting after this time; 0: the runtime's resume window */

    bool manual_ack;     /* acknowledge only by arcp_client_ack */
    uint32_t ack_events; /* otherwise acknowledge after this number of events... */
    int64_t ack_ms;      /* ...or after this time, whichever is first */
    bool no_auto_key;    /* a submit without an idempotency key gets none; then it is not sent again
                          * when the connection drops before its response */
    /* Blocking form only: also queue events of the session, and of jobs that the program has no
     * handle of (delegated children), for arcp_client_next_event. */
    bool observe_all;
    size_t unread_bytes_max; /* with more unread events than this the connection is not read */
    size_t frame_bytes_max;  /* a larger frame from the runtime ends the connection */
} arcp_client_options;

static inline arcp_client_options arcp_client_options_init(void)
{
    arcp_client_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    /* A page_key is a secret for browsers. */
    options.features = ARCP_FEATURES_ALL & ~ARCP_FEATURE_BIT(ARCP_FEATURE_PAGE_KEY);
    options.connect_timeout_ms = 10000;
    options.request_timeout_ms = 30000;
    options.backoff_first_ms = 100;
    options.backoff_max_ms = 10000;
    options.ack_events = 500;
    options.ack_ms = 250;
    options.unread_bytes_max = 16777216;
    options.frame_bytes_max = 16777216;
    return options;
}

/* Where a streamed result is written (§8.4). In every mode the client checks and decodes the chunks
 * in order, and also passes the result_chunk events on. */
typedef enum arcp_result_mode {
    ARCP_RESULT_MEMORY = 0,  /* collected for arcp_outcome.bytes, up to bytes_max */
    ARCP_RESULT_FD = 1,      /* written to fd, which blocks (also if fd is non-blocking) */
    ARCP_RESULT_CALLBACK = 2 /* given to write, chunk by chunk */
} arcp_result_mode;

typedef struct arcp_result_sink {
    arcp_result_mode mode;
    uint64_t bytes_max; /* 0: 64 MiB in memory, else no limit; beyond: ARCP_E_LIMIT */
    int fd;             /* borrowed until the job has ended */
    /* Takes decoded bytes, on the thread that reads the job's events. A failure becomes
     * the outcome's error; write is not called again. */
    arcp_status (*write)(void *user, arcp_span bytes, arcp_error *err);
    void *user;
} arcp_result_sink;

typedef struct arcp_submit_options {
    size_t struct_size;
    arcp_span agent;         /* name or name@version (§7.5) */
    arcp_span input;         /* JSON; empty: {} */
    arcp_span lease;         /* JSON object, the bare map of §9.2; empty: none */
    arcp_span constraints;   /* JSON object {"expires_at": ...}; empty: none */
    const arcp_lease *built; /* instead of lease and constraints; borrowed for the call */
    arcp_span idempotency_key;
    uint64_t max_runtime_sec; /* 0: none */
    arcp_span traceparent;    /* W3C; empty: a new trace */
    arcp_span tracestate;
    arcp_result_sink result;
    bool outcome_only; /* queue no events of the job but its end */
    void *user;        /* arcp_job_user */
} arcp_submit_options;

static inline arcp_submit_options arcp_submit_options_init(void)
{
    arcp_submit_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

typedef struct arcp_subscribe_options {
    size_t struct_size;
    arcp_span job_id;
    bool history;            /* first the events that are kept, then live ones */
    bool has_from_event_seq; /* false, with history: from the first event */
    uint64_t from_event_seq; /* the history begins after it; in the owning session's numbering */
    arcp_result_sink result;
    void *user;
} arcp_subscribe_options;

static inline arcp_subscribe_options arcp_subscribe_options_init(void)
{
    arcp_subscribe_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

typedef struct arcp_list_options {
    size_t struct_size;
    uint32_t statuses;        /* one bit per arcp_job_status; 0: all */
    arcp_span agent;          /* name (all versions) or name@version; empty: all */
    arcp_span created_after;  /* RFC 3339, exclusive; empty: no bound */
    arcp_span created_before; /* RFC 3339, exclusive; empty: no bound */
    uint32_t limit;           /* rows per page; 0: the runtime's default */
    arcp_span cursor;         /* of the previous page; empty: the first page */
} arcp_list_options;

static inline arcp_list_options arcp_list_options_init(void)
{
    arcp_list_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

/* ---- events and outcomes ---- */

typedef enum arcp_client_event_type {
    ARCP_CLIENT_CONNECTED = 0,    /* the session has begun */
    ARCP_CLIENT_DISCONNECTED = 1, /* error says why; the next attempt is in retry_in_ms */
    ARCP_CLIENT_RESUMED = 2,      /* the session continues, no event was lost */
    ARCP_CLIENT_CLOSED = 3,       /* the last event; error is NULL after arcp_client_close */
    ARCP_CLIENT_JOB_ADDED = 4,    /* a job that the program did not submit: a delegated child, or a
                                   * job of a session that was resumed from its state */
    ARCP_CLIENT_JOB_EVENT = 5,    /* kind, ts, body */
    ARCP_CLIENT_JOB_ENDED = 6,    /* the job's last event; arcp_job_outcome says how it ended */
    ARCP_CLIENT_NOTICE = 7,       /* the runtime did something unexpected; error describes it */
    /* After arcp_client_watch (arcp/watch.h); job is NULL, and body is an object of
       docs/reference/messages.md. */
    ARCP_CLIENT_JOBS_CHANGED = 8, /* x-vendor.arcpd.changed: `jobs` has a row for each job that
                                   * began or changed, as it is now, at most 200 in no order.
                                   * `reload`: true: there may be more, ask for the view "jobs" */
    ARCP_CLIENT_FIGURES = 9,      /* x-vendor.arcpd.figures: those of the second that ended `at` */
    ARCP_CLIENT_WATCH_ENDED = 10  /* nothing is watched any more; error says why */
} arcp_client_event_type;

/* Valid until the next call of arcp_job_next_event or arcp_client_next_event for the same job or
 * client (blocking form), or during the callback. */
typedef struct arcp_client_event {
    arcp_client_event_type type;
    arcp_event_kind kind; /* of a JOB_EVENT; UNKNOWN kinds pass through */
    arcp_job *job;        /* NULL for what concerns the session; borrowed */
    uint64_t event_seq;   /* 0: none */
    arcp_span kind_text;
    arcp_span ts;            /* as written; may be empty */
    arcp_span body;          /* JSON; arcp_client_event_body reads that of a JOB_EVENT */
    const arcp_error *error; /* with its details */
    int64_t retry_in_ms;
    struct arcp__client_item *item; /* the client's own */
} arcp_client_event;

/* How a job ended. Valid as long as the job. When a job had ended before and the runtime does not
 * send its end again, status is ARCP_E_CANCELLED, ARCP_E_TIMEOUT or ARCP_E_CLOSED (also for a job
 * that succeeded, because its result is not known), and error says so. */
typedef struct arcp_outcome {
    arcp_job_status final_status;
    arcp_status status;  /* ARCP_OK: success and the result is whole */
    arcp_span result;    /* inline result, JSON; empty when streamed or none */
    arcp_span result_id; /* not empty: the result was streamed */
    arcp_span bytes;     /* streamed into memory: all of it */
    uint64_t streamed_bytes;
    arcp_span summary;
    const arcp_error *error; /* with its details; NULL on success */
    arcp_span payload;       /* of job.result or job.error, on one line */
} arcp_outcome;

/* ---- one job ---- */

/* Runs one job: connects to `url`, submits to `agent` (name or name@version) with `input` (JSON;
 * NULL: {}), waits until the job has ended, and closes. `token` may be NULL. Appends the result to
 * `result` (may be NULL), with a NUL behind it: JSON text, or the bytes of a streamed result. When
 * the job fails, returns its status, and `err` has the runtime's code; otherwise the errors of
 * arcp_client_connect, arcp_client_submit and arcp_job_wait. Blocks. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_run(const char *url, const char *token,
                                                     const char *agent, const char *input,
                                                     arcp_buf *result, arcp_error *err);

/* The same with every option of the connection and of the job (lease, budget, trace...). A job that
 * has not ended in `timeout_ms` is cancelled: ARCP_E_DEADLINE. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_run_with(const arcp_client_options *options,
                                                          const arcp_submit_options *submit,
                                                          int64_t timeout_ms, arcp_buf *result,
                                                          arcp_error *err);

/* ---- the client ---- */

/* Connects, and waits for the welcome (connect_timeout_ms, connect_retry_ms). The caller
 * frees *out. ARCP_E_IO when the transport cannot be opened, ARCP_E_DEADLINE, otherwise the
 * runtime's error (UNAUTHENTICATED, RESUME_WINDOW_EXPIRED...). Blocks. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_connect(const arcp_client_options *options,
                                                         arcp_client **out, arcp_error *err);

/* Called for every event, on the loop's thread, never from inside another function of the client.
 * It may call the client, and free it. */
typedef void (*arcp_client_event_fn)(void *user, arcp_client *client,
                                     const arcp_client_event *event);

/* Connects on the program's loop and returns at once; the event CONNECTED or CLOSED follows.
 * Requests may be started before it. ARCP_E_USAGE for options that cannot work. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_connect_start(const arcp_client_options *options,
                                                               struct uv_loop_s *loop,
                                                               arcp_client_event_fn on_event,
                                                               void *user, arcp_client **out,
                                                               arcp_error *err);

/* Closes the session (session.close, or session.bye for a runtime that does not know it) and
 * disconnects. Jobs continue, and the session can be resumed within its window. Pending requests
 * end with ARCP_E_CLOSED. Blocking form: waits until the connection is closed, at most about 3 s;
 * any thread. On a loop: the event CLOSED follows. May be called twice. */
ARCP_API void arcp_client_close(arcp_client *client);

/* Frees the client, and cuts a connection that is still open. Unread events are discarded; job
 * handles can be read until they are given back. On a loop the memory is freed in a later turn.
 * No other thread may be inside the client. NULL is accepted. */
ARCP_API void arcp_client_free(arcp_client *client);

/* Makes every blocking call of this client that waits now, or else the next one, return
 * ARCP_E_INTERRUPTED at once. A request that was sent is not taken back. arcp_client_close returns
 * early only if it waits already. May be called from a signal handler. */
ARCP_API void arcp_client_interrupt(arcp_client *client);

/* The negotiated features; 0 before the welcome. */
ARCP_API arcp_feature_set arcp_client_features(arcp_client *client);

/* Copies the data for a later resume; last_event_seq is the last event that the program got.
 * The spans point into `storage`, which becomes secret (arcp/buf.h); the caller ends it with
 * arcp_buf_fini. ARCP_E_NOT_FOUND before the welcome. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_session_state(arcp_client *client,
                                                               arcp_buf *storage,
                                                               arcp_session_state *out,
                                                               arcp_error *err);

/* Appends the welcome's payload, without the resume token: runtime, capabilities with the
 * agents. ARCP_E_NOT_FOUND before the welcome. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_welcome(arcp_client *client, arcp_buf *out,
                                                         arcp_error *err);

/* One agent of the runtime's inventory (§6.2). */
typedef struct arcp_agent_row {
    arcp_span name;
    arcp_span default_version; /* empty: none */
    const arcp_span *versions;
    size_t version_count;
    bool is_unconfined; /* arcpd: a version of it runs without a sandbox though others have one */
} arcp_agent_row;

/* Calls `each` for every agent that the welcome names, in its order; the row is valid during
 * the call. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_agents(arcp_client *client,
                                                        void (*each)(void *user,
                                                                     const arcp_agent_row *agent),
                                                        void *user, arcp_error *err);

/* ---- requests, blocking form ---- */

/* Submits and waits for job.accepted. The caller unrefs *out. A refusal returns the runtime's code.
 * After ARCP_E_DEADLINE the job may exist: a submit with the same idempotency key finds it. If the
 * job of that key has already ended in this session, the handle has its outcome, and no event and
 * no chunk follows; ARCP_E_CLOSED when the client no longer keeps the outcome. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_submit(arcp_client *client,
                                                        const arcp_submit_options *options,
                                                        int64_t timeout_ms, arcp_job **out,
                                                        arcp_error *err);

/* Attaches to a job of any session (§7.6). The caller unrefs *out. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_subscribe(arcp_client *client,
                                                           const arcp_subscribe_options *options,
                                                           int64_t timeout_ms, arcp_job **out,
                                                           arcp_error *err);

/* Requests the job's cancellation and waits for the runtime's response; the job's outcome says
 * whether it ended as cancelled. `reason` may be empty. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_cancel(arcp_client *client, arcp_span job_id,
                                                        arcp_span reason, int64_t timeout_ms,
                                                        arcp_error *err);

/* Gets one page of jobs (§6.6). The caller frees *out. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_list(arcp_client *client,
                                                      const arcp_list_options *options,
                                                      int64_t timeout_ms, arcp_job_page **out,
                                                      arcp_error *err);

/* Sends a request x-vendor.arcpd.NAME, such as "job" (docs/protocol.md, The view), and waits for
 * its response, whose payload, a JSON object, is appended to `out`. `payload` is a JSON object, or
 * empty. A runtime that did not agree on the feature x-vendor.arcpd.view is not asked
 * (ARCP_E_INVALID_REQUEST, see arcp_client_features). A refusal returns the runtime's code. After a
 * lost connection the request is sent again. ARCP_E_USAGE for a name that is not lower-case letters
 * and `_`, and for "watch" and "unwatch" (arcp/watch.h). */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_view(arcp_client *client, const char *name,
                                                      arcp_span payload, int64_t timeout_ms,
                                                      arcp_buf *out, arcp_error *err);

/* Sends a ping and waits for its pong; `round_trip_ns` may be NULL. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_ping(arcp_client *client, int64_t timeout_ms,
                                                      int64_t *round_trip_ns, arcp_error *err);

typedef struct arcp_retry_options {
    size_t struct_size;
    uint32_t attempts;  /* in all */
    int64_t first_ms;   /* pause after the first failure */
    int64_t timeout_ms; /* for everything together */
} arcp_retry_options;

static inline arcp_retry_options arcp_retry_options_init(void)
{
    arcp_retry_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.attempts = 3;
    options.first_ms = 1000;
    options.timeout_ms = ARCP_WAIT_FOREVER;
    return options;
}

/* Submits a job, waits until it has ended, and retries after retryable errors (docs/errors.md),
 * under an idempotency key, so that a lost response never starts a second job. The pause doubles
 * (half of it is random), and is at least details.retry_after_ms. A runtime has one job for one
 * key. So with a key in `submit` only the submit is retried, and the job's end is final, however it
 * ended; without a key, a job that ended with a retryable error is followed by another job under
 * another key. ARCP_OK when a job has ended, however it ended; the caller unrefs *out. */
ARCP_API ARCP_MUST_CHECK arcp_status
arcp_client_submit_with_retry(arcp_client *client, const arcp_submit_options *submit,
                              const arcp_retry_options *retry, arcp_job **out, arcp_error *err);

/* The next event of the client, in the order of arrival: of all jobs and, with observe_all, of
 * the session. ARCP_E_DEADLINE when there is none in time; ARCP_E_CLOSED, or the error with which
 * the client ended, when there will be none. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_next_event(arcp_client *client, int64_t timeout_ms,
                                                            const arcp_client_event **out,
                                                            arcp_error *err);

/* The job's next event; ARCP_E_CLOSED after JOB_ENDED. One thread at a time per job. Events of
 * other jobs stay unread: when they exceed four times unread_bytes_max the wait ends with
 * ARCP_E_LIMIT, so read these jobs too, or unref them. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_job_next_event(arcp_job *job, int64_t timeout_ms,
                                                         const arcp_client_event **out,
                                                         arcp_error *err);

/* Waits until the job has ended, and discards its events (a streamed result still goes to its
 * sink). ARCP_OK whatever the outcome; *out is valid as long as the job. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_job_wait(arcp_job *job, int64_t timeout_ms,
                                                   const arcp_outcome **out, arcp_error *err);

/* ---- requests, on a loop ---- */

/* The response to a request, valid during the call. The receiver unrefs `job` and frees `page`. */
typedef struct arcp_reply {
    arcp_status status;
    const arcp_error *error; /* with its details; NULL when status is ARCP_OK */
    arcp_job *job;           /* submit, subscribe */
    arcp_job_page *page;     /* list */
    int64_t round_trip_ns;
    arcp_span payload; /* view: a JSON object */
} arcp_reply;

/* Called exactly once per started request, later, on the loop's thread. */
typedef void (*arcp_reply_fn)(void *user, arcp_client *client, const arcp_reply *reply);

/* The requests of the blocking form, with the same rules, without waiting. A request that cannot
 * be sent at all is returned as an error (ARCP_E_USAGE, ARCP_E_CLOSED, ARCP_E_NO_MEMORY, a
 * malformed lease or agent name); every other error comes with the reply. Options and spans are
 * copied. The loop sends the requests of one turn together; after a callback has stopped the loop,
 * not before uv_run is called again. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_submit_start(arcp_client *client,
                                                              const arcp_submit_options *options,
                                                              arcp_reply_fn on_reply, void *user,
                                                              arcp_error *err);
ARCP_API ARCP_MUST_CHECK arcp_status
arcp_client_subscribe_start(arcp_client *client, const arcp_subscribe_options *options,
                            arcp_reply_fn on_reply, void *user, arcp_error *err);
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_cancel_start(arcp_client *client, arcp_span job_id,
                                                              arcp_span reason,
                                                              arcp_reply_fn on_reply, void *user,
                                                              arcp_error *err);
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_list_start(arcp_client *client,
                                                            const arcp_list_options *options,
                                                            arcp_reply_fn on_reply, void *user,
                                                            arcp_error *err);
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_view_start(arcp_client *client, const char *name,
                                                            arcp_span payload,
                                                            arcp_reply_fn on_reply, void *user,
                                                            arcp_error *err);
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_ping_start(arcp_client *client,
                                                            arcp_reply_fn on_reply, void *user,
                                                            arcp_error *err);

/* ---- either form ---- */

/* Ends a subscription; there is no response. Events that were already sent may still arrive. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_unsubscribe(arcp_client *client, arcp_span job_id,
                                                             arcp_error *err);

/* Acknowledges all events up to `event_seq` now (§6.5). ARCP_E_INVALID_REQUEST for a number that
 * has not been received. Does nothing when acknowledgements were not negotiated, or when the event
 * is acknowledged already. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_client_ack(arcp_client *client, uint64_t event_seq,
                                                     arcp_error *err);

/* ---- jobs ---- */

/* Another handle to the same job. */
ARCP_API arcp_job *arcp_job_ref(arcp_job *job);
/* Gives a handle back, also after the client is freed. The client removes a job when it has ended
 * and has no handle. NULL is accepted. */
ARCP_API void arcp_job_unref(arcp_job *job);

/* Properties of the job. They do not change, and are valid as long as the handle. Empty: not known
 * (some runtimes leave members out). */
ARCP_API arcp_span arcp_job_id(const arcp_job *job);
ARCP_API arcp_span arcp_job_agent(const arcp_job *job);       /* resolved name@version */
ARCP_API arcp_span arcp_job_lease(const arcp_job *job);       /* effective lease, JSON */
ARCP_API arcp_span arcp_job_constraints(const arcp_job *job); /* JSON */
ARCP_API arcp_span arcp_job_trace_id(const arcp_job *job);
ARCP_API arcp_span arcp_job_parent_id(const arcp_job *job);
ARCP_API arcp_span arcp_job_delegate_id(const arcp_job *job);
/* The payload of job.accepted or job.subscribed on one line, without credentials. */
ARCP_API arcp_span arcp_job_descriptor(const arcp_job *job);

/* The pointer `user` of the submit or subscription. The client neither uses nor locks it: one
 * thread at a time. */
ARCP_API void *arcp_job_user(const arcp_job *job);
ARCP_API void arcp_job_set_user(arcp_job *job, void *user);

/* The status as the client has received it; events that report it may still be unread. */
ARCP_API arcp_job_status arcp_job_current_status(arcp_job *job);

/* How the job ended; NULL until the program has got its JOB_ENDED. Valid as long as the job. */
ARCP_API const arcp_outcome *arcp_job_outcome(arcp_job *job);

#define ARCP_CURRENCY_MAX 72

/* One budget counter. Amounts are decimal text as the runtime sent it. */
typedef struct arcp_job_budget {
    char currency[ARCP_CURRENCY_MAX];
    char initial[ARCP_DECIMAL_TEXT_MAX];   /* "" when it is not known */
    char remaining[ARCP_DECIMAL_TEXT_MAX]; /* as last reported; may be negative */
} arcp_job_budget;

/* The budget counter number `index`, from 0; false when there is none. */
ARCP_API bool arcp_job_budget_at(arcp_job *job, size_t index, arcp_job_budget *out);

/* A credential that the runtime issued for the job (§9.8). The spans are valid during the call. */
typedef struct arcp_credential {
    arcp_span id;
    arcp_span value; /* the secret */
    arcp_span endpoint;
    arcp_span profile;     /* may be empty */
    arcp_span constraints; /* JSON; may be empty */
} arcp_credential;

/* Calls `each` for every credential that came with the job, and wipes the client's copies: a second
 * call finds none. Only credentials of scheme "bearer" are kept. Returns their number. */
ARCP_API size_t arcp_job_take_credentials(
    arcp_job *job, void (*each)(void *user, const arcp_credential *credential), void *user);

/* ---- pages of jobs ---- */

/* One row of a listing. Empty spans are members that were left out. */
typedef struct arcp_job_row {
    arcp_span job_id;
    arcp_span agent;
    arcp_span status_text;
    arcp_job_status status; /* ARCP_JOB_STATUS_COUNT for a word that is not known */
    arcp_span created_at;
    arcp_span parent_job_id;
    arcp_span trace_id;
    uint64_t last_event_seq;
    arcp_span json; /* the whole row on one line, without credentials */
} arcp_job_row;

/* Rows of this page, not of the whole listing. */
ARCP_API size_t arcp_job_page_count(const arcp_job_page *page);
/* Row `index` < count; valid as long as the page. */
ARCP_API arcp_job_row arcp_job_page_row(const arcp_job_page *page, size_t index);
/* Empty on the last page; valid as long as the page. */
ARCP_API arcp_span arcp_job_page_next_cursor(const arcp_job_page *page);
ARCP_API void arcp_job_page_free(arcp_job_page *page); /* NULL is accepted */

/* ---- reading events ---- */

/* The frame's payload as JSON on one line; credentials are left out. Empty for events of the
 * session, and when out of memory. Valid as long as the event. */
ARCP_API arcp_span arcp_client_event_payload(const arcp_client_event *event);

/* Reads the body of a JOB_EVENT, once; valid as long as the event. Never NULL: the kind is UNKNOWN
 * when the body is not an object, when its kind has no members above, and when out of memory. */
ARCP_API const arcp_event_body *arcp_client_event_body(const arcp_client_event *event);

#ifdef __cplusplus
}
#endif
#endif
