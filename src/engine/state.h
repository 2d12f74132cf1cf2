/* What the engine remembers. Private to src/engine.
 *
 * Three kinds of actors own the state and touch only their own: a session (numbering,
 * replay, its link), a job (its agent, lease, stream of records), and the directory (who
 * exists: principals, agents, idempotency keys, listings). They reach each other by mail
 * (mail.h), which the engine delivers after the input that caused it; pointers in mail are
 * kept alive by pins. Records are kept once, in the job's stream; a session holds runs of
 * positions in streams and gives each position its event_seq. */
#ifndef ARCP_ENGINE_STATE_H
#define ARCP_ENGINE_STATE_H

#include <arcp/buf.h>
#include <arcp/json.h>
#include <openssl/evp.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/timer_heap.h"
#include "core/denied_calls.h"
#include "core/trace.h"
#include "engine/engine.h"
#include "engine/metrics.h"
#include "engine/peer_profile.h"

#define ARCP__ID_SIZE 32 /* prefix, ULID and NUL: "sess_" + 26 + 1 */

typedef struct arcp__session arcp__session;
typedef struct arcp__principal arcp__principal;
typedef struct arcp__stream arcp__stream;
typedef struct arcp__chunk arcp__chunk;
typedef struct arcp__observation arcp__observation;
typedef struct arcp__request arcp__request;
typedef struct arcp__mail arcp__mail;
typedef struct arcp__batch arcp__batch;
typedef struct arcp__pending_effect arcp__pending_effect;
typedef struct arcp__agent arcp__agent;
typedef struct arcp__idempotency arcp__idempotency;
typedef struct arcp__seen_request arcp__seen_request;
typedef struct arcp__spent_row arcp__spent_row;
typedef struct arcp__admission arcp__admission;

/* ---- streams: records in memory until observers have them ---- */

struct arcp__chunk {
    arcp__chunk *next; /* newer */
    uint64_t first;    /* position of the first record */
    uint64_t batch_id; /* the newest batch that has records of it */
    uint32_t count;
    uint32_t used;
    uint32_t capacity;      /* of bytes */
    uint32_t ends_capacity; /* of ends */
    uint32_t *ends;         /* owned: end offset of each record */
    char bytes[];
};

struct arcp__stream {
    char key[ARCP__ID_SIZE + 2]; /* "j:job_...", "s:sess_..." */
    uint32_t refs;               /* its job or session, and every run over it */
    arcp__job *job;              /* whose records it has, while that is known; else NULL */
    uint64_t next;               /* the next position */
    uint64_t bytes;              /* of all records ever */
    arcp__chunk *oldest;         /* owned list */
    arcp__chunk *newest;
    arcp__chunk *peeked; /* where the last reader was; NULL: nowhere */
    size_t tail_bytes;
    bool is_gone; /* after a restart: it was dropped, and an old index still speaks of it */
    arcp__stream *older_tail, *newer_tail; /* by their last record; while there is a tail */
    arcp__stream *next_dying;
    UT_hash_handle hh;
};

/* `count` records of a stream, numbered first_seq.. in one session. */
typedef struct arcp__run {
    uint64_t first_seq;
    uint64_t first_position;
    arcp__stream *stream; /* referenced */
    uint64_t bytes;
    uint32_t count;
    uint32_t reserved;
} arcp__run;

/* ---- links ---- */

typedef enum arcp__link_state {
    ARCP__LINK_NEW,            /* waits for a hello */
    ARCP__LINK_AUTHENTICATING, /* frames are held until the verifier answers */
    ARCP__LINK_OPEN,           /* has a session */
    ARCP__LINK_CLOSING         /* a CLOSE effect is queued or done */
} arcp__link_state;

struct arcp__link {
    arcp__link *previous, *next; /* all links */
    void *user;
    arcp__session *session; /* while OPEN */
    char *preset_principal; /* owned; NULL: authenticate */
    arcp__timer hello_timer;
    uint64_t auth_id;
    arcp_buf held; /* the hello while authenticating, then frames that came meanwhile */
    size_t hello_size;
    size_t unsent;
    uint32_t refs; /* the owner's, the session's, and queued effects' */
    arcp__link_state state;
    bool is_local, is_encrypted, gone, paused;
    bool must_close; /* memory ran out while serving it */
};

/* ---- sessions ---- */

struct arcp__session {
    char id[ARCP__ID_SIZE];
    UT_hash_handle hh;
    arcp__principal *principal;
    arcp__link *link;                   /* NULL while away */
    char *client_name, *client_version; /* owned */
    const arcp__peer_profile *profile;
    arcp_feature_set features;
    uint8_t token_hash[32];
    uint8_t previous_hash[32];
    bool has_previous; /* the previous token is still good */
    bool is_anonymous;
    bool said_goodbye; /* session.close or session.bye, and nobody resumed it since */
    bool ended;        /* expired or idle: being taken apart */
    bool loading;      /* its runs are being read after a restart */
    bool in_outbox;    /* listed in engine->outbox */
    bool in_dirty;     /* listed in the open batch */
    bool owes_row;     /* it is stored as soon as there is memory */
    bool back_pressured;
    uint32_t pins; /* mail, requests, batches */

    size_t live_jobs;     /* that run on it and have not ended */
    size_t paused_jobs;   /* of those, whose agents are not read because of its backlog */
    uint64_t opens_at;    /* nothing is replayed before this batch, the welcome's, is durable */
    uint64_t next_seq;    /* the next event_seq */
    uint64_t durable_seq; /* up to here committed */
    uint64_t sent_seq;    /* up to here handed to the link */
    uint64_t acked_seq;
    uint64_t floor_seq;   /* up to here forgotten */
    uint64_t indexed_seq; /* up to here written to the index stream */
    uint64_t index_next;  /* next position of the index stream "x:<id>" */
    uint64_t index_first; /* its first position that is kept */
    uint64_t kept_bytes;
    uint64_t backlog_bytes; /* numbered, not yet handed to the link */
    arcp__run *runs;        /* ring without wrap: [run_first, run_end) */
    size_t run_first, run_end, run_capacity;
    arcp__stream *own; /* records of its request errors; made at the first */

    uint64_t read_id;    /* a READ under way; 0: none */
    uint64_t read_seq;   /* its first record is this event_seq */
    arcp_buf read_bytes; /* records that were read, each with its u32 length before it */
    size_t read_at;
    uint64_t read_next_seq; /* event_seq of the record at read_at */

    arcp__observation *observations;
    arcp__observation *outdated; /* of these, whose rows are to be written again */
    arcp__timer heartbeat_timer;
    arcp__timer window_timer; /* away: end of the window; connected: idle check */
    int64_t last_sent_ns, last_received_ns, last_activity_ns;
    int64_t last_ping_ns; /* of ours */
    int64_t created_wall_ns;

    arcp__seen_request *seen; /* hash by id */
    arcp__seen_request *seen_oldest, *seen_newest;
    size_t seen_count;
    arcp__request *submits_first, *submits_last; /* submits whose answers must keep order */
    size_t admissions;                           /* submits and delegations that are not jobs yet */
    size_t held_submits;                         /* of these: not looked at yet */

    arcp__session *outbox_next;
};

struct arcp__seen_request {
    uint64_t hash;
    uint64_t seq;    /* of an answer that is a record; 0: it is none */
    arcp_buf answer; /* the frame; empty while in flight or when it was too large to keep */
    bool answered;
    bool is_repeatable; /* its answer was not kept: ask again */
    arcp__seen_request *newer;
    UT_hash_handle hh;
};

/* One request of a session on its way to an answer. */
struct arcp__request {
    uint32_t refs;
    arcp__session *session; /* pinned */
    arcp__link *link;       /* referenced: the answer goes to the link that asked, or to the
                               session's new one */
    arcp_message_type type;
    uint64_t hash;
    bool answered;
    bool sent;
    arcp_buf frame;                   /* the answer, while it waits for its turn */
    bool frame_is_record;             /* the answer is a sequenced refusal */
    arcp_buf refusal;                 /* its record */
    char revealed_job[ARCP__ID_SIZE]; /* the answer shows this job's credentials when it leaves */
    bool is_secret;                   /* the answer shows credentials itself: it is not kept */
    arcp__request *next_submit;
    char *id; /* owned */
};

/* A session that gets a job's records. */
struct arcp__observation {
    arcp__session *session;
    arcp__job *job;
    arcp__observation *next_of_session, *previous_of_session;
    arcp__observation *next_of_job, *previous_of_job;
    bool may_cancel;        /* a submitting session */
    bool is_live;           /* has all history; gets records as they come */
    bool hide_kinds;        /* the session lacks a feature: look at each record's kind */
    uint64_t next_position; /* while catching up */
    uint64_t read_id;       /* a READ under way for catching up */
    uint64_t first_seq;     /* the first event_seq this session gave the job; 0: none */
    /* Where a restart goes on when the index has no run of the job any more. */
    uint64_t kept_position;
    bool has_row;    /* in the table SUBSCRIPTIONS */
    bool row_is_old; /* kept_position was raised, or memory ran out: listed in its session */
    arcp__observation *next_outdated, *previous_outdated;
};

/* ---- jobs ---- */

/* Where a job stands in its trace (§11). The ids of its own spans are chosen before there is
 * a job: what is done for it meanwhile belongs below them. */
typedef struct arcp__trace {
    char traceparent[ARCP__TRACEPARENT_SIZE + 1]; /* for the agent, children, the provisioner */
    bool is_recorded;                             /* spans are made; its own is in traceparent */
    char parent_id[ARCP__SPAN_ID_SIZE + 1];       /* whoever asked for it; "" for nobody */
    char session_id[ARCP__SPAN_ID_SIZE + 1];      /* of the session's span; "" for a child */
    int64_t began_wall_ns;
} arcp__trace;

typedef enum arcp__agent_state {
    ARCP__AGENT_NONE,     /* not asked to start yet */
    ARCP__AGENT_STARTING, /* START_AGENT was handed out */
    ARCP__AGENT_RUNNING,
    ARCP__AGENT_GONE
} arcp__agent_state;

/* Which positions of the job's stream carry which numbers of the owning session: what
 * from_event_seq and last_event_seq count in. */
typedef struct arcp__owner_run {
    uint64_t first_seq;
    uint64_t first_position;
    uint64_t count;
} arcp__owner_run;

struct arcp__job {
    char id[ARCP__ID_SIZE];
    UT_hash_handle hh;
    arcp__principal *principal;
    char session_id[ARCP__ID_SIZE]; /* of the session it runs on */
    char parent_id[ARCP__ID_SIZE];  /* "" for none */
    char trace_id[33];
    char result_id[ARCP__ID_SIZE]; /* "" until the first chunk */
    arcp__trace trace;
    char *tracestate;  /* owned or NULL */
    char *agent_text;  /* owned: name@version */
    char *delegate_id; /* owned or NULL */
    char *cwd;         /* owned; "" for none */
    bool owns_cwd;
    char *input;    /* owned JSON; freed when the agent has it */
    char *accepted; /* owned JSON object: the job.accepted payload */
    void *host;
    void *user;
    const arcp_lease *lease;
    const arcp_authority *authority;
    arcp_feature_set features; /* of the submitting session */

    arcp_job_status status;
    arcp_status end_code; /* why it ended, unless it succeeded */
    arcp__agent_state agent_state;
    bool ended;     /* the terminal record is out */
    bool forgotten; /* FORGET_AGENT was queued */
    bool cancelling;
    bool said_end;   /* the agent itself ended the job: it is winding down */
    bool owes_end;   /* it ends as soon as there is memory for its last record */
    bool owes_row;   /* likewise its row */
    bool row_is_due; /* its row goes with the open batch; listed in the engine */
    arcp__job *next_due;
    bool told_to_stop; /* CANCEL_AGENT was queued; once is enough */
    bool told_to_die;  /* likewise KILL_AGENT */
    bool paused;
    bool is_paused_by_owner; /* counted in its session's paused_jobs */
    bool expiry_told;        /* the lease's expiry was logged */
    bool bad_line;           /* a line that began with { and did not parse */
    bool chunks_ended;
    bool is_plain_output; /* raw output has come */
    bool kept;            /* counted in the principal's list */
    uint32_t pins;
    uint32_t depth;
    uint32_t live_children;

    arcp__job *next_forgotten;
    arcp__job *parent;   /* while it lives; pinned */
    arcp__job *children; /* live and ended ones that still know us */
    arcp__job *next_child;
    char *wait_reply; /* owned: the id of the parent's waiting delegate line */

    int64_t created_wall_ns;
    int64_t ended_wall_ns;
    uint64_t max_runtime_sec;
    arcp__timer runtime_timer, expiry_timer, grace_timer, keep_timer;

    arcp__stream *stream;
    char head[128]; /* ..."type":"job.event","trace_id":...: the fixed middle of a record */
    size_t head_size;
    arcp__owner_run *owner_runs;
    size_t owner_run_count, owner_run_capacity;
    arcp__observation *observations;
    arcp__observation *owner; /* of the session it runs on; NULL when that is gone */
    /* The numbers there of its first record and of its end, as its row has them; 0: not yet. */
    uint64_t first_seq, last_seq;

    arcp__denied_calls denied;
    bool has_spent_row; /* in the table JOBS, until the job ends */
    bool in_spenders;   /* listed in the engine */
    arcp__job *next_spender;
    arcp__credential *credential;  /* the live one */
    arcp__credential *replacement; /* asked for, to take its place */

    arcp__agent_metrics *metrics; /* where it is counted as running; NULL: nowhere */

    uint64_t chunk_next;
    uint64_t result_size;
    arcp_buf inline_result; /* chunks assembled for a session without result_chunk */
    arcp_buf plain_output;
    arcp__idempotency *idempotency; /* the key that made it, while that is remembered */
};

/* ---- credentials ---- */

typedef enum arcp__credential_state {
    ARCP__CREDENTIAL_INTENT,  /* the upstream was or may be asked under this alias */
    ARCP__CREDENTIAL_LIVE,    /* issued; its job has it, or will */
    ARCP__CREDENTIAL_REVOKING /* to be taken back, until the upstream says that it is dead */
} arcp__credential_state;

/* One value that an upstream was asked for: a row of the table CREDENTIALS until it is dead.
 * A rotation makes another one with the same id. */
struct arcp__credential {
    char alias[ARCP__ID_SIZE + 12]; /* the key of its row: id, for rotations id.N */
    char id[ARCP__ID_SIZE];
    uint32_t generation; /* 1 for the first */
    arcp__credential_state state;
    UT_hash_handle hh;
    char job_id[ARCP__ID_SIZE];
    char trace_id[33];
    char *provisioner, *principal, *agent, *traceparent; /* owned */

    /* What is asked for. */
    char budget[ARCP_DECIMAL_TEXT_MAX]; /* "" for none */
    char expires_at[32];                /* "" for none */
    int64_t expires_wall_ns;
    arcp_span *models; /* owned array of spans into the terms; NULL: no list */
    size_t model_count;

    /* What came. */
    char *upstream_id, *sealed, *scheme, *endpoint, *profile; /* owned; NULL until then */
    char *constraints;                                        /* owned JSON object, or NULL */
    uint8_t fingerprint[32];                                  /* of the value */
    bool has_fingerprint;

    arcp__admission *admission;                        /* that waits for it */
    arcp__job *job;                                    /* whose credential or replacement it is */
    uint64_t call_id;                                  /* under way at the provisioner; 0: none */
    arcp__provision_verb verb;                         /* of that call */
    char call_traceparent[ARCP__TRACEPARENT_SIZE + 1]; /* of that call, from when it is made */
    int64_t call_wall_ns;                              /* likewise */
    UT_hash_handle hh_call;
    arcp__timer timer;                 /* LIVE: rotation; REVOKING: the next attempt */
    arcp__timer usage_timer;           /* LIVE */
    char spent[ARCP_DECIMAL_TEXT_MAX]; /* what the upstream said last; "" for nothing yet */
    arcp_decimal reported;             /* by the agent itself, since the value was issued */

    int64_t intent_wall_ns;
    int64_t next_attempt_wall_ns; /* 0: none is planned */
    uint32_t attempts;
    bool is_stuck;
    char last_error[160];
};

/* A submit or a delegation on its way to a job: it waits for a credential, or for the
 * submits before it to be answered. Counted as a running job unless it is held. */
struct arcp__admission {
    arcp__admission *previous, *next; /* all, oldest first */
    arcp__session *session;           /* pinned */
    arcp__principal *principal;       /* has a running job more, and so stays; NULL: held */
    arcp__request *request;           /* of a submit; referenced */
    arcp__job *parent;                /* of a delegation; pinned */
    arcp__credential *credential;     /* asked for or issued; NULL: none */
    bool is_ready;                    /* nothing more to wait for but its turn */
    arcp_error error;                 /* why it is refused, unless ARCP_OK */
    char job_id[ARCP__ID_SIZE];
    int64_t created_wall_ns;
    bool is_held;            /* a submit that is read again, from `frame`, at its turn */
    const arcp_lease *lease; /* referenced */
    arcp_buf frame;
    arcp_buf input;
    arcp_buf notes; /* what the policies said, for the log */
    char trace_id[33];
    arcp__trace trace;
    char *agent, *agent_name, *tracestate, *key; /* owned */
    uint8_t print[32];                           /* of the key's parameters */
    arcp_feature_set features;
    uint64_t max_runtime_sec;
    /* Of a delegation. */
    char *delegate_id, *reply_to; /* owned; reply_to "" for no reply */
    char *body;                   /* owned: the line's body, for the delegate event */
    bool wait;
};

/* ---- the directory ---- */

struct arcp__principal {
    char *name; /* owned */
    UT_hash_handle hh;
    size_t sessions;
    bool is_held; /* not to be freed just now */
    size_t running_jobs;
    arcp__job **jobs; /* owned array in order of id; NULL where one was dropped */
    char newest_job[ARCP__ID_SIZE];
    size_t job_first, job_count, job_capacity;
};

typedef struct arcp__agent_version {
    char *version; /* owned; "" for none */
    char *text;    /* owned: name@version, or name */
    char *cwd;     /* owned; "" for none */
    void *host;
} arcp__agent_version;

struct arcp__agent {
    char *name; /* owned */
    arcp__agent_version *versions;
    size_t version_count;
    size_t default_version;
    arcp__agent *next; /* in order of registration */
};

struct arcp__idempotency {
    char *key; /* owned: principal, line feed, key */
    size_t key_size;
    uint8_t fingerprint[32];
    char job_id[ARCP__ID_SIZE];
    int64_t expires_wall_ns;
    arcp__job *job; /* whose row has the key; NULL: the job is forgotten */
    char *accepted; /* owned, from then on: the payload of the first answer */
    bool has_row;   /* in the table IDEMPOTENCY */
    UT_hash_handle hh;
    arcp__idempotency *newer;
};

typedef struct arcp__policy_row {
    char *principal_glob, *agent_glob; /* owned */
    const arcp_lease *ceiling;         /* referenced, or NULL */
    uint64_t max_lifetime_sec;
} arcp__policy_row;

typedef struct arcp__profile_row {
    char *client_glob, *principal_glob; /* owned */
    const arcp__peer_profile *profile;
} arcp__profile_row;

/* ---- batches and effects ---- */

typedef struct arcp__durable_mark {
    arcp__session *session; /* pinned */
    uint64_t seq;
} arcp__durable_mark;

struct arcp__batch {
    arcp_store_batch store; /* what the owner sees */
    arcp_store_op *ops;
    size_t op_capacity;
    arcp__arena arena;
    arcp__durable_mark *marks;
    size_t mark_count, mark_capacity;
    arcp__session **dirty; /* sessions with new numbers, pinned */
    size_t dirty_count, dirty_capacity;
    size_t bytes;
    bool taken;
    arcp__batch *next;
};

struct arcp__pending_effect {
    arcp__effect effect;
    uint64_t batch_id; /* wait until this one is durable; 0: now */
    arcp_buf text;     /* owned */
    arcp__pending_effect *next;
};

typedef struct arcp__effect_queue {
    arcp__pending_effect *first, *last;
} arcp__effect_queue;

/* ---- the engine ---- */

typedef enum arcp__timer_kind {
    ARCP__TIMER_HELLO,
    ARCP__TIMER_HEARTBEAT,
    ARCP__TIMER_WINDOW,
    ARCP__TIMER_JOB_RUNTIME,
    ARCP__TIMER_JOB_EXPIRY,
    ARCP__TIMER_JOB_GRACE,
    ARCP__TIMER_JOB_KEEP,
    ARCP__TIMER_CREDENTIAL,
    ARCP__TIMER_CREDENTIAL_USAGE,
    ARCP__TIMER_SWEEP,
    ARCP__TIMER_STORE_RETRY,
    ARCP__TIMER_SHUTDOWN
} arcp__timer_kind;

struct arcp__engine {
    arcp__engine_options options;
    arcp_settings settings;
    arcp_time now;
    int64_t wall_ahead_ns; /* wall minus monotonic clock, when expiries were last looked at */
    arcp__ulid_source ids;
    arcp__timer_heap timers;
    arcp__timer sweep_timer, store_retry_timer, shutdown_timer;

    EVP_MD *sha256;
    EVP_MD_CTX *digest;
    arcp_json json; /* index of the frame or line at hand */
    arcp_buf scratch;
    arcp_buf body;
    arcp_buf sending;                      /* the frame of the SEND effect at hand */
    arcp__pending_effect *handed;          /* its text is at the owner's until the next call */
    arcp__job *forgetting;                 /* freed at the next call */
    arcp__job *forget_first, *forget_last; /* FORGET_AGENT effects that are due */

    arcp__link *links;
    arcp__session *sessions;
    arcp__job *jobs;
    arcp__stream *streams;
    arcp__stream *dying_streams; /* no references, bytes still borrowed by a batch */
    arcp__stream *oldest_tail, *newest_tail;
    arcp__principal *principals;
    arcp__agent *agents;
    arcp__idempotency *keys;
    arcp__idempotency *keys_oldest, *keys_newest;
    arcp__policy_row *policies;
    size_t policy_count;
    arcp_submit_policy_fn submit_policy; /* or NULL */
    void *submit_policy_user;
    arcp__profile_row *profiles;
    size_t profile_count;

    arcp__job *due_rows;                /* ended in the open batch; pinned */
    arcp__job *spenders;                /* whose counters changed since the last batch; pinned */
    arcp__credential *credentials;      /* by alias */
    arcp__credential *credential_calls; /* by call id */
    arcp__admission *admissions;        /* oldest first */
    bool admissions_due;                /* one of them may have its turn */
    uint64_t next_call_id;
    uint64_t stuck_credentials;
    arcp_buf asking;   /* the value in a request to the provisioner */
    arcp_buf revealed; /* a record with a value in it */

    arcp__mail *mail_first, *mail_last, *mail_free;
    arcp__session *outbox; /* sessions that may have something to send */
    arcp__session *outbox_last;

    arcp__effect_queue ready, waiting;
    arcp__pending_effect *effect_free;
    arcp__batch *open_batch;             /* being filled */
    arcp__batch *batches, *batches_last; /* taken or to be taken again, oldest first */
    arcp__batch *batch_free;
    uint64_t next_batch_id;
    uint64_t committed_id;
    size_t queue_bytes; /* of all batches that are not durable */
    bool store_failing;
    unsigned store_failures;
    arcp__metrics metrics;
    bool audit_failing; /* what was decided cannot be recorded */

    uint64_t next_auth_id, next_read_id;
    size_t session_count, connected_count, running_jobs;
    size_t live_agents; /* started, or about to be, and not forgotten */
    size_t tail_bytes;
    uint64_t event_count, denial_count;
    uint64_t spans_lost;           /* there was no memory for them */
    bool agents_paused;            /* because of the store's queue */
    bool out_of_memory;            /* an input could not be carried out; see engine.c */
    bool owes;                     /* something waits for memory; see make_good.c */
    arcp__spent_row *spent_rows;   /* owned list, while a restart is being taken up */
    struct arcp__restore *restore; /* while a restart is being taken up */
    bool restore_failed;           /* there was not even memory to begin it */
    bool stopping, stopped;
    bool closing; /* the engine is being freed */
    bool must_close_links;
    arcp__link *current_link; /* whose input is being handled */
    arcp__job *current_job;
};

#endif
