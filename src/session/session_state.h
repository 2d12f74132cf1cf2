/* What the files about links and sessions share, from the bottom up. link.c, session.c,
 * session_answer.c, session_outbox.c and observation.c call each other; the others use what stands
 * above them. */
#ifndef ARCP_SESSION_SESSION_STATE_H
#define ARCP_SESSION_SESSION_STATE_H

#include <assert.h>

#include "base/alloc.h"
#include "core/decode.h"
#include "core/envelope.h"
#include "core/error_payload.h"
#include "session/session.h"
#include "json/json_put.h"

#define ARCP__NOTHING ((arcp_span){NULL, 0})

typedef struct arcp__observation arcp__observation;
typedef struct arcp__request arcp__request;
typedef struct arcp__mail arcp__mail;
typedef struct arcp__seen_request arcp__seen_request;
typedef struct arcp__answer arcp__answer;

/* ---- message.c: what clients say, each message's members read once into a struct ----
 *
 * The structs borrow from the frame and the context's scratch buffer. A frame that has to wait (a
 * hello while its token is verified, a submit that has not its turn) is kept as its bytes, and read
 * again by arcp__message_read. */

/* What is asked to be resumed. */
typedef struct arcp__resume_request {
    arcp_span token;      /* data == NULL: absent */
    arcp_span session_id; /* empty: absent */
    uint64_t last_event_seq;
} arcp__resume_request;

/* session.hello, session.resume */
typedef struct arcp__hello {
    arcp_span client_name, client_version; /* in client{}, or else beside it; not long */
    arcp_span flat_client_name, flat_client_version;
    arcp_json_ref auth_scheme;
    arcp_span token;
    arcp_json_ref encodings, features; /* arrays of strings */
    arcp_json_ref resume;
    arcp__resume_request resumed; /* in resume{}, or all of it beside that */
    arcp_span older_token;        /* in resume{}, as `token` */
    arcp__resume_request flat_resumed;
} arcp__hello;

typedef struct arcp__list_jobs {
    arcp_json_ref statuses; /* an array of strings */
    arcp_span agent, created_after, created_before, cursor;
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

/* Reads the payload, where the frame is in context->json and the envelope is read.
 * ARCP_E_INVALID_REQUEST: the first member that is not right, by its path; all that are right are
 * read also then. */
arcp_status arcp__message_read_payload(arcp__context *context, arcp__message *message,
                                       arcp_error *err);

/* Reads a frame that was read before. False when memory ran out. */
ARCP_MUST_CHECK bool arcp__message_read(arcp__context *context, arcp_span frame,
                                        arcp__message *out);

/* ---- peer_profile.c: how answers differ for clients that need the form of their own runtime
 * (docs/protocol.md, Peer profiles). A profile is a row of a table; code asks for its traits. ----
 */

typedef enum arcp__refusal_form {
    ARCP__REFUSE_JOB_ERROR,     /* the default */
    ARCP__REFUSE_SESSION_ERROR, /* session.error with request_id; the session goes on */
    /* So only while the session's client waits for nothing else, all of which it gives up at any
     * session.error: a submit, a job's end. */
    ARCP__REFUSE_LONE_SESSION_ERROR,
    ARCP__REFUSE_QUERY_SESSION_ERROR /* the same, for subscribe and list only */
} arcp__refusal_form;

struct arcp__peer_profile {
    const char *name;
    const char *client_glob; /* over hello.client.name; NULL: only by configuration */
    arcp__refusal_form refusals;
    bool mirrors_output;                /* job.result has `output` beside `result` */
    bool stops_as_result;               /* cancelled and timed_out are a job.result */
    bool repeats_end;                   /* a repeated submit is answered with the job's end too */
    bool hides_children;                /* no job.accepted for delegated jobs */
    bool budget_as_text;                /* {"USD": "USD:5"} */
    bool omits_lease;                   /* no lease in job.accepted */
    bool refuses_without_job_id;        /* a refused submit has no envelope job_id */
    bool names_refused_job;             /* refusals have a job_id in the payload */
    bool refuses_subscribe_with_job_id; /* a refused subscribe has the job's in the envelope */
    bool accepts_refused_submits;    /* job.error follows job.accepted: the client drops others */
    bool refuses_hello_as_job_error; /* before the welcome there is no session.error */
};

/* The draft's own form. */
const arcp__peer_profile *arcp__peer_profile_draft(void);
/* By the rules that are set, else by the table; `principal` may be NULL: not known yet. */
const arcp__peer_profile *arcp__peer_profile_of(const arcp__sessions *sessions, arcp_span client,
                                                const arcp__principal *principal);

/* ---- what is remembered ---- */

/* `count` records of a stream, numbered first_seq.. in one session. */
typedef struct arcp__run {
    uint64_t first_seq;
    uint64_t first_position;
    arcp__stream *stream; /* referenced */
    uint64_t bytes;
    uint32_t count;
    uint32_t batch; /* that has its index: the lower half of the id */
} arcp__run;

/* ---- links ---- */

typedef enum arcp__link_state {
    ARCP__LINK_NEW,            /* waits for a hello */
    ARCP__LINK_AUTHENTICATING, /* takes one more frame until the verifier answers */
    ARCP__LINK_OPEN            /* has a session, unless it is closed */
} arcp__link_state;

struct arcp__link {
    arcp__link *previous, *next; /* all links */
    arcp__port port;
    arcp__session *session; /* while OPEN */
    char *preset_principal; /* owned; NULL: authenticate */
    const char *peer;       /* borrowed until it is gone; may be NULL */
    bool is_gone;           /* of a failed engine: its owner has let go of it */
    arcp__timer hello_timer, rest_timer;
    const arcp__peer_profile *profile; /* by its hello; NULL before */
    uint64_t auth_id;
    arcp_buf hello;  /* while its sender is being authenticated */
    arcp_buf behind; /* likewise, the frame behind it: only who is read is known to be there */
    arcp__link_state state;
    bool is_local, is_encrypted;
    bool has_behind;
    bool rests;      /* until its timer: too much of what it sent was refused */
    bool is_full;    /* its answers are over their limit, and not yet down to half of it */
    bool paused;     /* its owner was told to hand over no more frames */
    bool input_over; /* the peer sends nothing more */
};

/* The only one that changes it. */
static inline void arcp__link_enter(arcp__link *link, arcp__link_state state)
{
    assert(link->state != ARCP__LINK_OPEN);
    link->state = state;
}

/* ---- sessions ---- */

/* session.h draws them. */
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
    arcp__session *own_previous, *own_next; /* of its principal, oldest first */
    arcp__link *link;                       /* NULL while away */
    char *client_name, *client_version;     /* owned */
    const arcp__peer_profile *profile;
    arcp_feature_set features;
    arcp__session_state state;
    uint8_t token_hash[32];
    uint8_t previous_hash[32];
    bool has_previous; /* the previous token is still good */
    bool is_anonymous;
    bool said_goodbye; /* session.close or session.bye, and nobody resumed it since */
    bool in_outbox;    /* listed in sessions->outbox */
    bool back_pressured;

    bool holds_agents;    /* the agents of its jobs are not read, because of its backlog */
    uint64_t opens_at;    /* nothing is replayed before this batch, the welcome's, is durable */
    uint64_t next_seq;    /* the next event_seq */
    uint64_t durable_seq; /* up to here committed */
    uint64_t waits_for;   /* the last batch that shows something of it; 0: it is durable */
    uint64_t sent_seq;    /* up to here handed to the link */
    uint64_t acked_seq;
    uint64_t floor_seq;   /* up to here forgotten */
    uint64_t indexed_seq; /* up to here written to the index stream */
    uint64_t index_next;  /* next position of the index stream "x:<id>" */
    uint64_t index_first; /* its first position that is kept */
    uint64_t kept_bytes;
    uint64_t backlog_bytes; /* numbered, not yet handed to the link */
    uint64_t refusal_bytes; /* of these: refusals that were made for the link that is there */
    arcp__run *runs;        /* ring without wrap: [run_first, run_end) */
    size_t run_first, run_end, run_capacity;
    arcp__stream *own; /* records of its request errors; made at the first */

    arcp__read *read;    /* under way; NULL: none */
    uint64_t read_seq;   /* its first record is this event_seq */
    arcp_buf read_bytes; /* records that were read, each with its u32 length before it */
    size_t read_at;
    uint64_t read_next_seq; /* event_seq of the record at read_at */

    arcp__observation *observations;
    arcp__observation *outdated; /* of these, whose rows are to be written again */
    arcp__timer heartbeat_timer;
    arcp__timer refusal_timer; /* of its first submit, which has a lone_error */
    arcp__timer window_timer;  /* away: end of the window; connected: idle check */
    int64_t last_received_ns, last_activity_ns;
    int64_t last_ping_ns; /* of ours */
    int64_t created_wall_ns;

    arcp__seen_request *seen; /* hash by id */
    arcp__seen_request *seen_oldest, *seen_newest;
    arcp__seen_request *seen_kept; /* the ones before it have no answer, or a late one */
    size_t seen_count;
    size_t seen_bytes;      /* of answers */
    arcp__request *submits; /* whose answers must keep order */
    size_t held_submits;    /* of these: they wait for their turn */
    size_t held_bytes;      /* of their frames */
    bool has_turns;         /* listed in sessions->turns */
    arcp__session *turns_previous, *turns_next;
    uint64_t refused_seq;  /* of its last submit that was refused by a record; 0: none */
    arcp__answer *answers; /* that keep their order behind it */

    arcp__session *outbox_previous, *outbox_next;
    arcp__session *undurable_previous, *undurable_next;
};

/* The only one that changes it: from AWAY to the others, and back. */
static inline void arcp__session_enter(arcp__session *session, arcp__session_state state)
{
    assert((session->state == ARCP__SESSION_AWAY) != (state == ARCP__SESSION_AWAY));
    session->state = state;
}

struct arcp__seen_request {
    uint64_t hash;
    uint64_t seq;    /* of an answer that is a record; 0: it is none */
    arcp_buf answer; /* the frame, and behind it the record that followed it; empty while in flight
                        or when it was too large to keep */
    size_t end_size; /* of that record; 0: none */
    bool answered;
    bool is_repeatable; /* its answer was not kept: ask again */
    arcp__seen_request *newer;
    UT_hash_handle hh;
};

/* One request of a session on its way to an answer. A submit is in its session's list until that
 * has left. */
struct arcp__request {
    arcp__session *session;
    arcp_message_type type;
    uint64_t hash;
    bool answered;
    arcp_buf frame;       /* the answer, while it waits for its turn */
    bool frame_is_record; /* the answer is a sequenced refusal */
    arcp_buf record; /* of the refusal; or what follows the answer as the session's own record */
    arcp_buf lone_error; /* the answer in place of these, when the client waits for nothing else */
    arcp_buf held;       /* a submit that waits for its turn: its frame; else empty */
    arcp__admission *admission;         /* a submit whose job waits for a credential; else NULL */
    char revealed_job[ARCP__ID_SIZE];   /* the answer shows this job's credentials when it leaves */
    bool is_secret;                     /* the answer shows credentials itself: it is not kept */
    bool is_repeated;                   /* it was answered before: that answer is sent again */
    char trace_id[ARCP__TRACE_ID_SIZE]; /* that it brought; '\0': none */
    arcp__request *prev, *next;         /* submits of its session */
    char id[];                          /* of the envelope */
};

/* A session that gets a job's records. */
struct arcp__observation {
    arcp__observer observer; /* first */
    arcp__session *session;
    arcp__observation *previous, *next; /* of the session, newest first */
    bool may_cancel;                    /* a submitting session */
    bool hide_kinds;        /* the session lacks a feature: look at each record's kind */
    uint64_t next_position; /* while catching up */
    arcp__read *read;       /* under way for catching up; NULL: none */
    uint64_t first_seq;     /* the first event_seq this session gave the job; 0: none */
    /* Where a restart goes on when the index has no run of the job any more. */
    uint64_t kept_position;
    bool has_row;    /* in the table SUBSCRIPTIONS */
    bool row_is_old; /* kept_position was raised, or memory ran out: listed in its session */
    arcp__observation *next_outdated, *previous_outdated;
};

typedef enum arcp__mail_kind {
    ARCP__MAIL_RECORD,   /* a new record at `position` */
    ARCP__MAIL_CATCH_UP, /* go on numbering history */
    ARCP__MAIL_END       /* number the job's end once more, for a client that has forgotten it */
} arcp__mail_kind;

struct arcp__mail {
    arcp__mail_kind kind;
    arcp__observation *observation; /* NULL: it is gone */
    uint64_t position;
    size_t bytes;
    arcp_feature feature; /* needed to see the record */
};

/* A page of records that a session or an observer asks for. */
#define ARCP__PAGE_BYTES       262144u
#define ARCP__READ_RECORDS_MAX 1024u
typedef struct arcp__profile_row {
    char *client_glob, *principal_glob; /* owned */
    const arcp__peer_profile *profile;
} arcp__profile_row;

#define ARCP__REFUSED_ADDRESSES_MAX 256u

/* ---- refusal.c: which refusals of strangers get a line, and how many did not ---- */
/* Counts it; true when it is to have lines of its own. */
bool arcp__refusal_is_written(arcp__sessions *sessions, const arcp__refusal *refusal);

/* ---- link.c ---- */
/* Nobody else reads it: a pipe, loopback, or encrypted. */
bool arcp__link_is_private(const arcp__link *link);
/* session.error and close (§12: it is fatal). */
void arcp__link_fail(arcp__sessions *sessions, arcp__link *link, const arcp_error *error,
                     arcp_span details, int close_code);
void arcp__link_close(arcp__sessions *sessions, arcp__link *link, int close_code,
                      const char *reason, bool durable);
/* It takes no frames for so long. */
void arcp__link_rest(arcp__sessions *sessions, arcp__link *link, int64_t for_ns);
void arcp__session_heartbeat_start(arcp__sessions *sessions, arcp__session *session);
void arcp__session_heartbeat_due(arcp__sessions *sessions, arcp__session *session);

/* ---- session.c ---- */
arcp__session *arcp__session_find(const arcp__sessions *sessions, arcp_span id);
/* For the audit log: a session that asked, and the job that it asked about; NULL: none. */
arcp__audit_who arcp__session_who(const arcp__session *session, const arcp__job *job);
/* `id` is empty for a fresh one. NULL when out of memory. */
arcp__session *arcp__session_new(arcp__sessions *sessions, arcp__principal *principal,
                                 arcp_span id);
/* Takes the session apart (its observations, runs, rows) and frees it. Its jobs go on. */
void arcp__session_end(arcp__sessions *sessions, arcp__session *session, const char *why);
/* Writes its row into the open batch. */
void arcp__session_store(arcp__sessions *sessions, arcp__session *session);
/* The link is gone or taken away: the window begins. */
void arcp__session_detach(arcp__sessions *sessions, arcp__session *session);
void arcp__session_attach(arcp__sessions *sessions, arcp__session *session, arcp__link *link);
void arcp__session_window_due(arcp__sessions *sessions, arcp__session *session);
/* A job that it observes ended: the window may begin now. */
void arcp__session_job_ended(arcp__sessions *sessions, arcp__session *session);
bool arcp__session_has_live_jobs(const arcp__session *session);
bool arcp__session_has_feature(const arcp__session *session, arcp_feature feature);
/* A frame of this type with this payload, which is moved from. */
arcp_buf arcp__session_frame(const arcp__session *session, const char *type, arcp_span id,
                             arcp_buf *payload);
/* A frame for the session's link, if it has one. */
void arcp__session_send(arcp__sessions *sessions, arcp__session *session, arcp_buf *frame,
                        bool durable);
/* Adds the job's credentials to an answer when the session may see them. */
void arcp__session_reveal(arcp__sessions *sessions, const arcp__session *session, arcp_span job_id,
                          arcp_buf *frame);
/* Sends it, durable. */
void arcp__session_send_revealed(arcp__sessions *sessions, arcp__session *session, arcp_span job_id,
                                 arcp_buf *frame);
/* After a restart: the window of a session that nobody is connected to begins. */
void arcp__session_start_window(arcp__sessions *sessions, arcp__session *session);
/* Its list of submits, or its profile, has changed. */
void arcp__session_note_submits(arcp__session *session);
/* A submit or a child of it may have its turn now. */
void arcp__session_look(arcp__sessions *sessions, arcp__session *session);
void arcp__session_leave_turns(arcp__sessions *sessions, arcp__session *session);
void arcp__session_free_request(arcp__request *request);

/* ---- session_answer.c ---- */
/* The payload of job.accepted, as it was first made, in the form that a profile wants; a
 * failure marks `out`. */
void arcp__accepted_format(arcp__sessions *sessions, arcp_span accepted,
                           const arcp__peer_profile *profile, arcp_buf *out);
/* The frame that tells the session of a job that it did not just ask for. */
void arcp__session_format_accepted(arcp__sessions *sessions, const arcp__session *session,
                                   const arcp__job *job, arcp_buf *frame);
/* A job.accepted for the session's link, with the job's credentials added when the session may see
 * them, or session.closed, behind which the link is closed: durable, and behind the refusals of
 * submits that were made before it. */
void arcp__session_send_in_order(arcp__sessions *sessions, arcp__session *session, arcp_span job_id,
                                 arcp_buf *frame, bool closes);
/* The first one whose turn it is into sessions->sending; false: none. */
bool arcp__session_next_answer(arcp__sessions *sessions, arcp__session *session);
void arcp__session_drop_answers(arcp__session *session);

/* ---- session_outbox.c ---- */
/* Gives `count` records of a stream from `position` on their numbers. */
uint64_t arcp__session_number(arcp__sessions *sessions, arcp__session *session,
                              arcp__stream *stream, uint64_t position, uint32_t count,
                              uint64_t bytes);
/* The agents of its jobs are not read while it has more than limits.unsent_bytes to send, until
 * half of that is sent. */
void arcp__session_weigh_backlog(arcp__sessions *sessions, arcp__session *session);
void arcp__session_wake(arcp__sessions *sessions, arcp__session *session);
void arcp__session_leave_outbox(arcp__sessions *sessions, arcp__session *session);
/* The runs up to this number, the oldest first, while more bytes are kept (0: all of them). */
void arcp__session_forget_runs(arcp__sessions *sessions, arcp__session *session, uint64_t seq,
                               uint64_t bytes_max);
/* The oldest runs, fewer than there are; what they said of their jobs is kept. */
void arcp__session_forget_oldest(arcp__sessions *sessions, arcp__session *session, size_t count);
void arcp__session_drop_runs(arcp__sessions *sessions, arcp__session *session);
void arcp__session_drained(arcp__sessions *sessions, arcp__session *session);
/* Builds the frame of a record for this session. */
void arcp__session_format_frame(arcp__sessions *sessions, const arcp__session *session,
                                uint64_t seq, arcp_span record, arcp_buf *out);
bool arcp__session_push_run(arcp__session *session, const arcp__run *run);
/* The session has new numbers, or an answer that waits: they become visible when the open batch is
 * durable. False when out of memory. */
void arcp__session_mark(arcp__sessions *sessions, arcp__session *session);
/* It ends. */
void arcp__session_unmark(arcp__sessions *sessions, arcp__session *session);

/* ---- observation.c ---- */
static inline arcp__observation *arcp__observation_of(arcp__observer *observer)
{
    return (arcp__observation *)observer;
}
/* Whether the job runs on its session. */
static inline bool arcp__observation_is_owner(const arcp__observation *observation)
{
    return observation->observer.job->owner == &observation->observer;
}
/* Events that were numbered for the session and that it has not acknowledged. */
static inline uint64_t arcp__session_lag(const arcp__session *session)
{
    return session->next_seq - 1 - session->acked_seq;
}
arcp__observation *arcp__observation_find(const arcp__session *session, const arcp__job *job);
arcp__observation *arcp__observation_add(arcp__sessions *sessions, arcp__session *session,
                                         arcp__job *job);
/* The job runs on the session, and is `is_new`: its records are numbered as they come. False when
 * out of memory. */
bool arcp__session_adopt(arcp__sessions *sessions, arcp__session *session, arcp__job *job,
                         bool is_new);
/* The session's index has no run of the job below `position` any more; store_moved writes
 * what that changed for the session's rows, in the batch that trims the index. */
void arcp__observation_moved(arcp__observation *observation, uint64_t position);
/* Its row, so that a restart finds it. */
void arcp__observation_store(arcp__sessions *sessions, arcp__observation *observation);
void arcp__observations_store_moved(arcp__sessions *sessions, arcp__session *session);
void arcp__observation_remove(arcp__sessions *sessions, arcp__observation *observation);
/* Numbers what the session has not got yet, and goes live. */
void arcp__observation_catch_up(arcp__sessions *sessions, arcp__observation *observation);
arcp_status arcp__observation_restore(arcp__sessions *sessions, const arcp_json *json,
                                      arcp_error *err);

/* It is delivered when the input is over. */
void arcp__mail_post(arcp__sessions *sessions, const arcp__mail *mail);

/* ---- request.c ---- */
/* False when out of memory. */
bool arcp__seen_add(arcp__sessions *sessions, arcp__session *session, uint64_t hash);
/* NULL: it was not seen, or so long ago that it is forgotten. */
arcp__seen_request *arcp__seen_find(const arcp__session *session, uint64_t hash);
/* NULL when out of memory. */
arcp__request *arcp__session_new_request(arcp__sessions *sessions, arcp__session *session,
                                         const arcp__envelope *envelope, uint64_t hash);
/* To the payload, an object, request_id and reply_to are added; it waits for the open batch. */
void arcp__request_answer(arcp__sessions *sessions, arcp__request *request, const char *type,
                          arcp_span job_id, arcp_span trace_id, arcp_span payload);
/* A submit is freed when its answer has left, which may be now. */
void arcp__request_finish(arcp__sessions *sessions, arcp__request *request);
/* Or in the form of the peer's profile, which may show `subject`: the job that it is about, or the
 * agent that a submit names, or none. `details`: a JSON object or empty. */
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

/* ---- session_receive.c ---- */
/* A frame of which the envelope is read. */
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
    uint64_t total; /* of all that the stream has, where the run ends with it; else 0 */
} arcp__index_record;
extern const arcp__members arcp__index_members;

#endif
