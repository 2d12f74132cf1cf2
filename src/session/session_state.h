/* Shared by the files of src/session, from the bottom up. link.c, session.c, session_answer.c,
 * session_outbox.c and observation.c call each other; the others use what is declared above
 * them. */
#ifndef ARCP_SESSION_SESSION_STATE_H
#define ARCP_SESSION_SESSION_STATE_H

#include <assert.h>

#include "base/alloc.h"
#include "core/decode.h"
#include "core/envelope.h"
#include "core/error_payload.h"
#include "core/role.h"
#include "session/job_filter.h"
#include "session/session.h"
#include "json/json_put.h"

#define ARCP__NOTHING ((arcp_span){NULL, 0})

typedef struct arcp__observation arcp__observation;
typedef struct arcp__request arcp__request;
typedef struct arcp__notification arcp__notification;
typedef struct arcp__cached_request arcp__cached_request;
typedef struct arcp__answer arcp__answer;
typedef struct arcp__view_wait arcp__view_wait;
typedef struct arcp__watch arcp__watch;

/* ---- message.c: clients' messages, the members of each read once into a struct ----
 *
 * The structs borrow from the frame and the context's scratch buffer. A frame that has to wait (a
 * hello while its token is verified, a submit until it is its turn) is kept as bytes and read again
 * by arcp__message_read. */

/* The session to be resumed. */
typedef struct arcp__resume_request {
    arcp_span token;      /* data == NULL: absent */
    arcp_span session_id; /* empty: absent */
    uint64_t last_event_seq;
} arcp__resume_request;

/* session.hello, session.resume */
typedef struct arcp__hello {
    arcp_span client_name, client_version; /* in client{}; texts of bounded length */
    arcp_span flat_client_name, flat_client_version;
    arcp_json_ref auth_scheme;
    arcp_span token;
    arcp_json_ref encodings, features; /* arrays of strings */
    arcp_json_ref resume;
    arcp__resume_request resumed; /* in resume{} */
    arcp_span older_token;        /* in resume{}, as `token` */
    arcp__resume_request flat_resumed;
} arcp__hello;

typedef struct arcp__list_jobs {
    arcp__job_filter_texts filter;
    arcp_span cursor;
    uint64_t limit; /* 0: absent */
} arcp__list_jobs;

typedef struct arcp__submit {
    arcp_span agent;
    arcp_json_ref input, lease_request, lease_constraints;
    arcp_span idempotency_key;
    arcp_json_ref max_runtime_sec; /* a whole number of 1 or more */
} arcp__submit;

/* job.cancel, job.subscribe, job.unsubscribe */
typedef struct arcp__job_request {
    arcp_span job_id;
    arcp_span reason;        /* cancel */
    uint64_t from_event_seq; /* subscribe: 0 for all */
    bool history;            /* subscribe */
} arcp__job_request;

typedef struct arcp__message {
    arcp__envelope envelope;
    union {
        arcp__hello hello;
        arcp_json_ref nonce;         /* session.ping: any value */
        uint64_t last_processed_seq; /* session.ack */
        arcp__list_jobs list_jobs;
        arcp__submit submit;
        arcp__job_request job;
    };
} arcp__message;

/* Reads the payload of the frame in context->json, whose envelope was read. ARCP_E_INVALID_REQUEST
 * names the path of the first invalid member; all valid ones are read in that case, too. */
arcp_status arcp__message_read_payload(arcp__context *context, arcp__message *message,
                                       arcp_error *err);

/* Reads a kept frame again. False when out of memory. */
ARCP_MUST_CHECK bool arcp__message_read(arcp__context *context, arcp_span frame,
                                        arcp__message *out);

/* ---- peer_profile.c: how responses differ for clients that need the form of their own runtime
 * (docs/protocol.md, Peer profiles). A profile is a row of a table; the code checks its members.
 * ---- */

typedef enum arcp__refusal_form {
    ARCP__REFUSE_JOB_ERROR,     /* the default */
    ARCP__REFUSE_SESSION_ERROR, /* session.error with request_id; the session continues */
    /* The same, but only while the client waits for nothing else (a submit, a job's end): this
     * client gives up everything that it waits for at any session.error. */
    ARCP__REFUSE_LONE_SESSION_ERROR,
    ARCP__REFUSE_QUERY_SESSION_ERROR /* the same, for subscribe and list only */
} arcp__refusal_form;

struct arcp__peer_profile {
    const char *name;
    const char *client_glob; /* for hello.client.name; NULL: only by configuration */
    arcp__refusal_form refusals;
    bool mirrors_output;  /* job.result has `output` beside `result` */
    bool stops_as_result; /* cancelled and timed_out are sent as job.result */
    bool repeats_end;     /* the response to a duplicate submit is followed by the job's end */
    bool hides_children;  /* no job.accepted for delegated jobs */
    bool budget_as_text;  /* {"USD": "USD:5"} */
    bool omits_lease;     /* no lease in job.accepted */
    bool refuses_without_job_id;        /* a refused submit has no envelope job_id */
    bool names_refused_job;             /* refusals have a job_id in the payload */
    bool refuses_subscribe_with_job_id; /* a refused subscribe has the job's in the envelope */
    bool accepts_refused_submits;    /* job.error follows job.accepted: the client ignores others */
    bool refuses_hello_as_job_error; /* before the welcome there is no session.error */
};

/* The draft's own form. */
const arcp__peer_profile *arcp__peer_profile_draft(void);
/* Chosen by the configured rules, else by the table; `principal` is NULL while it is not known. */
const arcp__peer_profile *arcp__peer_profile_of(const arcp__sessions *sessions, arcp_span client,
                                                const arcp__principal *principal);

/* ---- runs ---- */

/* `count` records of a stream, numbered from first_seq on in one session. */
typedef struct arcp__run {
    uint64_t first_seq;
    uint64_t first_position;
    arcp__stream *stream; /* referenced */
    uint64_t bytes;
    uint32_t count;
    uint32_t batch; /* the batch with its index record: the lower half of the id */
} arcp__run;

/* ---- links ---- */

typedef enum arcp__link_state {
    ARCP__LINK_NEW,            /* waits for a hello */
    ARCP__LINK_AUTHENTICATING, /* takes one more frame until the verifier answers */
    ARCP__LINK_LEAVING,        /* of a door: takes nothing more */
    ARCP__LINK_OPEN            /* has a session, unless it is closed */
} arcp__link_state;

struct arcp__link {
    arcp__link *previous, *next; /* all links */
    arcp__link *next_ahead;      /* in sessions->ahead */
    arcp__port port;
    arcp__session *session; /* NULL unless OPEN */
    char *preset_principal; /* owned; NULL: authenticate */
    arcp_role preset_role;  /* with it */
    arcp__origin preset_origin;
    bool is_from_door;    /* which has verified a token; else the transport says who it is */
    const char *peer;     /* borrowed until the disconnect; may be NULL */
    bool is_disconnected; /* of a failed engine: its owner has disconnected it */
    arcp__timer hello_timer, throttle_timer;
    const arcp__peer_profile *profile; /* chosen by its hello; NULL before */
    uint64_t auth_id;
    arcp_buf hello;      /* kept while its sender is authenticated */
    arcp_buf next_frame; /* kept likewise: one more frame is read, because only a link that is read
                            notices that its peer closes */
    arcp__link_state state;
    bool is_local, is_encrypted;
    bool has_next_frame;
    bool is_throttled; /* paused until throttle_timer: too many refusals, or too slow frames */
    bool is_full;    /* its unsent responses exceeded the limit and are not yet below half of it */
    bool is_ahead;   /* too many bytes of its principal are not durable */
    bool paused;     /* its owner passes no more frames */
    bool input_over; /* the peer sends nothing more */
};

/* The only function that changes the state. */
static inline void arcp__link_enter(arcp__link *link, arcp__link_state state)
{
    assert(link->state != ARCP__LINK_OPEN);
    link->state = state;
}

/* ---- link_door.c ---- */
/* Removes the token from a hello that is kept; `json` has its frame. */
void arcp__link_blank_token(const arcp_json *json, arcp_span frame, arcp_buf *kept);
/* The link whose token is being verified; NULL: it was closed meanwhile. */
arcp__link *arcp__link_find_authenticating(const arcp__sessions *sessions, uint64_t auth_id);

/* ---- sessions ---- */

/* Drawn in session.h. */
typedef enum arcp__session_state {
    ARCP__SESSION_AWAY,
    ARCP__SESSION_CONNECTED, /* has a link */
    ARCP__SESSION_LOADING    /* its index is being read after a restart */
} arcp__session_state;

struct arcp__session {
    arcp__submitter submitter; /* first */
    char id[ARCP__ID_SIZE];
    UT_hash_handle hh;
    arcp__principal *principal;
    arcp__session *own_previous, *own_next; /* in its principal's list, oldest first */
    arcp__link *link;                       /* NULL while away */
    char *client_name, *client_version;     /* owned */
    const arcp__peer_profile *profile;
    arcp_feature_set features;
    arcp__session_state state;
    uint8_t token_hash[32];
    uint8_t previous_hash[32];
    bool has_previous; /* the previous token is still valid */
    bool is_anonymous;
    arcp_role role;        /* of the link's peer, who authenticated; not stored */
    arcp__origin origin;   /* what it was authenticated by; unknown after a restart; not stored */
    uint8_t page_hash[32]; /* of the browser's key that opened it, or that it was given */
    bool has_page_key;
    bool is_by_page;       /* opened or resumed with a browser's code or key */
    bool closed_by_client; /* by session.close or session.bye, and not resumed since */
    bool in_outbox;        /* listed in sessions->outbox */
    bool back_pressured;

    bool pauses_agents;        /* the agents of its jobs are paused because of its backlog */
    uint64_t welcome_batch_id; /* nothing is replayed before this batch, which has the welcome, is
                                  durable */
    uint64_t next_seq;         /* the next event_seq */
    uint64_t durable_seq;      /* the last number that is committed */
    uint64_t waits_for;        /* the last batch with a change of it; 0: all are durable */
    uint64_t sent_seq;         /* the last number handed to the link */
    uint64_t acked_seq;
    uint64_t floor_seq;   /* the last number that was discarded */
    uint64_t indexed_seq; /* the last number in the index stream */
    uint64_t index_next;  /* next position of the index stream "x:<id>" */
    uint64_t index_first; /* first position of it that is kept */
    uint64_t kept_bytes;
    uint64_t backlog_bytes; /* of records that are numbered but not handed to the link */
    uint64_t refusal_bytes; /* of these: refusals made for the current link */
    arcp__run *runs;        /* owned array; [run_first, run_end) is used */
    size_t run_first, run_end, run_capacity;
    arcp__stream *own; /* records of refusals; made at the first */

    arcp__read *read;    /* under way; NULL: none */
    uint64_t read_seq;   /* event_seq of its first record */
    arcp_buf read_bytes; /* records that were read, each preceded by its u32 length */
    size_t read_at;
    uint64_t read_next_seq; /* event_seq of the record at read_at */

    arcp__observation *observations;
    arcp__observation *outdated; /* of these, those whose rows must be written again */
    arcp__timer heartbeat_timer;
    arcp__timer refusal_timer; /* for the lone_error of its first submit */
    arcp__timer window_timer;  /* AWAY: end of the window; CONNECTED: idle check */
    int64_t last_received_ns, last_activity_ns;
    int64_t last_ping_ns; /* sent by us */
    int64_t created_wall_ns;

    arcp__cached_request *cached_requests; /* hash by id */
    arcp__cached_request *cache_oldest, *cache_newest;
    arcp__cached_request
        *cache_kept; /* the oldest whose response is kept; older ones have none, or got it late */
    size_t cache_count;
    size_t cache_bytes;     /* of their responses */
    arcp__request *submits; /* whose responses must keep their order */
    size_t held_submits;    /* of these: wait for their turn */
    size_t held_bytes;      /* of their frames */
    bool is_scheduled;      /* listed in sessions->scheduled */
    arcp__session *scheduled_previous, *scheduled_next;
    uint64_t refused_seq;  /* number of the refusal record of its last refused submit; 0: none */
    arcp__answer *answers; /* responses that must be sent after that record */

    arcp__token_bucket view_requests; /* how many it may still send (view.h) */
    arcp__view_wait *view_waits;      /* those without a response, oldest first */
    arcp__timer view_timer;           /* to go on with them */
    arcp__watch *watch;               /* owned; NULL: it watches nothing */

    arcp__session *outbox_previous, *outbox_next;
    arcp__session *undurable_previous, *undurable_next;
};

/* The only function that changes the state: from AWAY to another state and back. */
static inline void arcp__session_enter(arcp__session *session, arcp__session_state state)
{
    assert((session->state == ARCP__SESSION_AWAY) != (state == ARCP__SESSION_AWAY));
    session->state = state;
}

struct arcp__cached_request {
    uint64_t hash;
    uint64_t seq;    /* number of the response if it is a record; 0: it is not */
    arcp_buf answer; /* the frame and the record that followed it; empty until it is answered, or
                        when it was too large to keep */
    size_t end_size; /* size of that record; 0: none */
    bool answered;
    bool is_repeatable; /* its response was not kept: handle a duplicate as a new request */
    arcp__cached_request *newer;
    UT_hash_handle hh;
};

/* A request of a session that has no response yet. A submit stays in its session's list until its
 * response was sent. */
struct arcp__request {
    arcp__session *session;
    arcp_message_type type;
    uint64_t hash;
    bool answered;
    arcp_buf frame;       /* the response, while it waits for its turn */
    bool frame_is_record; /* the response is a numbered refusal */
    arcp_buf record;     /* of the refusal; or the session's own record that follows the response */
    arcp_buf lone_error; /* the response in place of these when the client waits for nothing else */
    arcp_buf held;       /* the frame of a submit that waits for its turn; else empty */
    arcp__admission *admission;       /* of a submit whose job waits for a credential; else NULL */
    char revealed_job[ARCP__ID_SIZE]; /* this job's credentials are added to the response when it is
                                         sent */
    bool is_secret;                   /* the response contains credentials and is not kept */
    bool is_repeated;                 /* a duplicate: the first response is sent again */
    char trace_id[ARCP__TRACE_ID_SIZE]; /* as requested; '\0': none */
    arcp__request *prev, *next;         /* submits of its session */
    char id[];                          /* of the envelope */
};

/* A session that gets a job's records. */
struct arcp__observation {
    arcp__observer observer; /* first */
    arcp__session *session;
    arcp__observation *previous, *next; /* of the session, newest first */
    bool may_cancel;                    /* a submitting session */
    bool hide_kinds;                    /* the session lacks a feature: check each record's kind */
    uint64_t next_position;             /* while catching up */
    arcp__read *read;                   /* under way while catching up; NULL: none */
    uint64_t
        first_seq; /* the first event_seq that this session gave to the job's records; 0: none */
    /* Where a restart continues when the index has no run of the job any more. */
    uint64_t kept_position;
    bool has_row;      /* in the table SUBSCRIPTIONS */
    bool row_is_stale; /* kept_position was raised: listed in its session */
    arcp__observation *next_outdated, *previous_outdated;
};

typedef enum arcp__notification_kind {
    ARCP__NOTIFY_RECORD,   /* a new record at `position` */
    ARCP__NOTIFY_CATCH_UP, /* continue to number past records */
    ARCP__NOTIFY_END       /* number the job's end once more, for a duplicate submit */
} arcp__notification_kind;

struct arcp__notification {
    arcp__notification_kind kind;
    arcp__observation *observation; /* NULL: it was removed */
    uint64_t position;
    size_t bytes;
    arcp_feature feature; /* needed to see the record */
};

/* The limits of one page of records that a session or an observation reads. */
#define ARCP__PAGE_BYTES       262144u
#define ARCP__READ_RECORDS_MAX 1024u
typedef struct arcp__profile_row {
    char *client_glob, *principal_glob; /* owned */
    const arcp__peer_profile *profile;
} arcp__profile_row;

#define ARCP__REFUSED_ADDRESSES_MAX 256u

/* ---- refusal.c: which refusals are logged singly, and how many only counted ---- */
/* Counts it; true when it must be logged singly. */
bool arcp__refusal_is_written(arcp__sessions *sessions, const arcp__refusal *refusal);

/* ---- link.c ---- */
/* Whether no third party can read its traffic: a pipe, loopback, or encrypted. */
bool arcp__link_is_private(const arcp__link *link);
/* Sends session.error and closes the link (§12: it is fatal). */
void arcp__link_fail(arcp__sessions *sessions, arcp__link *link, const arcp_error *error,
                     arcp_span details, int close_code);
void arcp__link_close(arcp__sessions *sessions, arcp__link *link, int close_code,
                      const char *reason, bool durable);
/* Pauses the link for so long. */
/* A batch is durable: resumes links that were not read because of their principal's queue. */
void arcp__links_committed(arcp__sessions *sessions);
void arcp__link_throttle(arcp__sessions *sessions, arcp__link *link, int64_t for_ns);
void arcp__session_heartbeat_start(arcp__sessions *sessions, arcp__session *session);
void arcp__session_heartbeat_due(arcp__sessions *sessions, arcp__session *session);

/* ---- session.c ---- */
arcp__session *arcp__session_find(const arcp__sessions *sessions, arcp_span id);
/* The subject of audit lines: a session and the job that it requested something of; NULL: none. */
arcp__audit_who arcp__session_who(const arcp__session *session, const arcp__job *job);
/* An empty `id` stands for a new one. NULL when out of memory. */
arcp__session *arcp__session_new(arcp__sessions *sessions, arcp__principal *principal,
                                 arcp_span id);
/* Removes the session with its observations, runs and rows, and frees it. Its jobs continue. */
void arcp__session_end(arcp__sessions *sessions, arcp__session *session, const char *why);
/* Writes its row into the open batch. */
void arcp__session_store(arcp__sessions *sessions, arcp__session *session);
/* The session loses its link: the resume window begins. */
void arcp__session_detach(arcp__sessions *sessions, arcp__session *session);
void arcp__session_attach(arcp__sessions *sessions, arcp__session *session, arcp__link *link);
void arcp__session_window_due(arcp__sessions *sessions, arcp__session *session);
/* A job that it observes has ended: the window may begin now. */
void arcp__session_job_ended(arcp__sessions *sessions, arcp__session *session);
bool arcp__session_has_live_jobs(const arcp__session *session);
bool arcp__session_has_feature(const arcp__session *session, arcp_feature feature);
/* Makes a frame of this type with this payload, which is moved from. */
arcp_buf arcp__session_frame(const arcp__session *session, const char *type, arcp_span id,
                             arcp_buf *payload);
/* Sends a frame to the session's link, if it has one. */
void arcp__session_send(arcp__sessions *sessions, arcp__session *session, arcp_buf *frame,
                        bool durable);
/* Adds the job's credentials to a response when the session may see them. */
void arcp__session_reveal(arcp__sessions *sessions, const arcp__session *session, arcp_span job_id,
                          arcp_buf *frame);
/* The same, then sends it behind the open batch. */
void arcp__session_send_revealed(arcp__sessions *sessions, arcp__session *session, arcp_span job_id,
                                 arcp_buf *frame);
/* After a restart: starts the window of a session without a link. */
void arcp__session_start_window(arcp__sessions *sessions, arcp__session *session);
/* To be called when its list of submits or its profile has changed. */
void arcp__session_note_submits(arcp__session *session);
/* Lists the session in sessions->scheduled: a submit or a child of it may be handled now. */
void arcp__session_schedule(arcp__sessions *sessions, arcp__session *session);
void arcp__session_unschedule(arcp__sessions *sessions, arcp__session *session);
void arcp__session_free_request(arcp__request *request);

/* ---- session_answer.c ---- */
/* Writes the original payload of job.accepted in the form of a profile; a failure marks `out`. */
void arcp__accepted_format(arcp__sessions *sessions, arcp_span accepted,
                           const arcp__peer_profile *profile, arcp_buf *out);
/* The job.accepted for a job that the session did not just submit. */
void arcp__session_format_accepted(arcp__sessions *sessions, const arcp__session *session,
                                   const arcp__job *job, arcp_buf *frame);
/* Sends a job.accepted, with the job's credentials if the session may see them, or, with `closes`,
 * session.closed, after which the link is closed. The frame waits for the open batch and for
 * refusals of earlier submits. */
void arcp__session_send_in_order(arcp__sessions *sessions, arcp__session *session, arcp_span job_id,
                                 arcp_buf *frame, bool closes);
/* Moves the next such frame whose turn it is to sessions->sending; false: none. */
bool arcp__session_next_answer(arcp__sessions *sessions, arcp__session *session);
void arcp__session_drop_answers(arcp__session *session);

/* ---- session_outbox.c ---- */
/* Numbers `count` records of a stream from `position` on. */
uint64_t arcp__session_number(arcp__sessions *sessions, arcp__session *session,
                              arcp__stream *stream, uint64_t position, uint32_t count,
                              uint64_t bytes);
/* Pauses the agents of its jobs when it has more than limits.unsent_bytes to send, until half of
 * that is left. */
void arcp__session_check_backlog(arcp__sessions *sessions, arcp__session *session);
void arcp__session_wake(arcp__sessions *sessions, arcp__session *session);
void arcp__session_leave_outbox(arcp__sessions *sessions, arcp__session *session);
/* Discards runs up to this number, the oldest first, while more than `bytes_max` bytes are kept. */
void arcp__session_discard_runs(arcp__sessions *sessions, arcp__session *session, uint64_t seq,
                                uint64_t bytes_max);
/* Discards the `count` oldest runs, fewer than there are; observations keep their positions. */
void arcp__session_discard_oldest(arcp__sessions *sessions, arcp__session *session, size_t count);
void arcp__session_drop_runs(arcp__sessions *sessions, arcp__session *session);
void arcp__session_drained(arcp__sessions *sessions, arcp__session *session);
/* Builds the frame of a record for this session. */
void arcp__session_format_frame(arcp__sessions *sessions, const arcp__session *session,
                                uint64_t seq, arcp_span record, arcp_buf *out);
bool arcp__session_push_run(arcp__session *session, const arcp__run *run);
/* The session has new numbers or a waiting response, which become visible when the open batch is
 * durable. */
void arcp__session_mark(arcp__sessions *sessions, arcp__session *session);
/* Undoes that when the session ends. */
void arcp__session_unmark(arcp__sessions *sessions, arcp__session *session);

/* ---- observation.c ---- */
static inline arcp__observation *arcp__observation_of(arcp__observer *observer)
{
    return (arcp__observation *)observer;
}
/* Whether the job belongs to this session. */
static inline bool arcp__observation_is_owner(const arcp__observation *observation)
{
    return observation->observer.job->owner == &observation->observer;
}
/* The number of events that the session has not acknowledged. */
static inline uint64_t arcp__session_lag(const arcp__session *session)
{
    return session->next_seq - 1 - session->acked_seq;
}
arcp__observation *arcp__observation_find(const arcp__session *session, const arcp__job *job);
arcp__observation *arcp__observation_add(arcp__sessions *sessions, arcp__session *session,
                                         arcp__job *job);
/* Makes the session the owner of a job; the records of a new one are numbered as they come. False
 * when out of memory. */
bool arcp__session_adopt(arcp__sessions *sessions, arcp__session *session, arcp__job *job,
                         bool is_new);
/* The session's index has no run of the job below `position` any more. store_moved writes the
 * changed rows, in the batch that trims the index. */
void arcp__observation_moved(arcp__observation *observation, uint64_t position);
/* Writes its row, so that a restart restores it. */
void arcp__observation_store(arcp__sessions *sessions, arcp__observation *observation);
void arcp__observations_store_moved(arcp__sessions *sessions, arcp__session *session);
void arcp__observation_remove(arcp__sessions *sessions, arcp__observation *observation);
/* Numbers the records that the session has not got yet and goes live. */
void arcp__observation_catch_up(arcp__sessions *sessions, arcp__observation *observation);
arcp_status arcp__observation_restore(arcp__sessions *sessions, const arcp_json *json,
                                      arcp_error *err);

/* Queues a message, which is delivered at the end of the input. */
void arcp__notification_queue(arcp__sessions *sessions, const arcp__notification *notification);

/* ---- request.c ---- */
/* False when out of memory. */
bool arcp__cache_add(arcp__sessions *sessions, arcp__session *session, uint64_t hash);
/* NULL: not in the cache. */
arcp__cached_request *arcp__cache_find(const arcp__session *session, uint64_t hash);
/* NULL when out of memory. */
arcp__request *arcp__session_new_request(arcp__sessions *sessions, arcp__session *session,
                                         const arcp__envelope *envelope, uint64_t hash);
/* Answers a request: request_id and reply_to are added to the payload, an object, and the frame
 * waits for the open batch. */
void arcp__request_answer(arcp__sessions *sessions, arcp__request *request, const char *type,
                          arcp_span job_id, arcp_span trace_id, arcp_span payload);
/* Frees a request that has its response; a submit only when that was sent, which may be now. */
void arcp__request_finish(arcp__sessions *sessions, arcp__request *request);
/* Refuses a request in the form of the peer's profile, which may show `subject`: the job concerned,
 * or the agent that a submit names, or none. `details` is a JSON object or empty. */
void arcp__request_refuse(arcp__sessions *sessions, arcp__request *request, const arcp_error *error,
                          arcp_span subject, arcp_span details);
void arcp__request_refuse_with(arcp__sessions *sessions, arcp__request *request, arcp_status status,
                               const char *message);
void arcp__request_refuse_unknown_job(arcp__sessions *sessions, arcp__request *request,
                                      arcp_span job_id);
void arcp__session_settle_refusal(arcp__sessions *sessions, arcp__session *session);

/* ---- session_submit.c, session_subscribe.c, session_list_jobs.c: requests ---- */
void arcp__session_submit(arcp__sessions *sessions, arcp__request *request,
                          const arcp__message *in);
void arcp__session_subscribe(arcp__sessions *sessions, arcp__request *request,
                             const arcp__message *in);
void arcp__session_unsubscribe(arcp__sessions *sessions, arcp__request *request,
                               const arcp__message *in);
void arcp__session_cancel(arcp__sessions *sessions, arcp__request *request,
                          const arcp__message *in);
void arcp__session_list_jobs(arcp__sessions *sessions, arcp__request *request,
                             const arcp__message *in);

/* ---- view.c, view_wait.c: the requests x-vendor.arcpd.* (session/view.h) ---- */
void arcp__view_receive(arcp__sessions *sessions, arcp__session *session,
                        const arcp__envelope *envelope);
void arcp__view_due(arcp__sessions *sessions, arcp__session *session);
/* The session loses its link: drops what it waits for and what it watches. */
void arcp__view_drop(arcp__sessions *sessions, arcp__session *session);
void arcp__watch_end(arcp__sessions *sessions, arcp__session *session);
/* False: the timer is not that of a watch. */
bool arcp__watch_due(arcp__sessions *sessions, arcp__session *session, const arcp__timer *timer);

/* ---- session_receive.c ---- */
/* Handles a frame whose envelope was read. */
void arcp__session_receive(arcp__sessions *sessions, arcp__session *session, arcp__message *in);

/* ---- row.c: the table SESSIONS ---- */
typedef struct arcp__session_row {
    arcp_span session_id, principal;
    bool anonymous;
    arcp_span client, client_version;
    uint64_t features;
    int64_t created_at;
    uint8_t token_hash[32], previous_token_hash[32];
    uint64_t acked_seq;
} arcp__session_row;
extern const arcp__members arcp__session_members;

/* ---- a record of a session's index ---- */
typedef struct arcp__index_record {
    uint64_t seq, count;
    arcp_span stream; /* its key */
    uint64_t position, bytes;
    uint64_t total; /* bytes of the whole stream if the run ends with it; else 0 */
} arcp__index_record;
extern const arcp__members arcp__index_members;

#endif
