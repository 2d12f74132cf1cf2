/* What the engine remembers. Private to src/engine.
 *
 * Sessions (numbering, replay, their links), jobs (agent, lease, stream of records) and the
 * directory (principals, agents, idempotency keys) still share one struct; docs/decisions/0015
 * says how it is divided. Sessions call jobs; what a job tells sessions goes through two tables of
 * functions (observer.h, submitter.h), its records by mail (mail.h). Records are kept once, in
 * the job's stream; a session holds runs of positions in streams and gives each position its
 * event_seq. What every part needs is in the context (context/context.h), what is on its way out in
 * the log (log/log.h). */
#ifndef ARCP_ENGINE_STATE_H
#define ARCP_ENGINE_STATE_H

#include "base/share.h"
#include "base/token_bucket.h"
#include "engine/refusal.h"
#include "engine/state_job.h"

/* Of ended jobs, and of keys: so many by one input, for others want their turn. */
#define ARCP__FORGOTTEN_AT_ONCE 256u

/* Of job.accepted payloads of ended jobs in memory, wherever the store is. */
#define ARCP__ENDED_LEASES_MAX 268435456u

/* ---- the directory ---- */

/* What is shared among principals: see kept.c. */
typedef enum arcp__kept_what {
    ARCP__KEPT_JOBS,   /* that have ended */
    ARCP__KEPT_BYTES,  /* of their records and of what they were accepted with */
    ARCP__KEPT_LEASES, /* of the latter alone */
    ARCP__KEPT_COUNT
} arcp__kept_what;

struct arcp__principal {
    char *name; /* owned */
    UT_hash_handle hh;
    size_t sessions;
    arcp__session *oldest_session; /* of these */
    bool is_held;                  /* not to be freed just now */
    arcp__token_bucket submits, refusals;
    bool is_staying; /* for these alone */
    arcp__principal *staying_previous, *staying_next;
    size_t running_jobs;
    arcp__admission *admissions;         /* of these, the ones that are not jobs yet */
    arcp__job *ended_jobs;               /* that are kept; the one that ended first comes first */
    arcp__timer parts[ARCP__KEPT_COUNT]; /* of the engine's shares */
    size_t owed_count;                   /* of its jobs that the engine counts so */
    uint64_t owed_bytes;
    uint64_t stored_bytes; /* of records of its jobs, running, kept or owed */
    size_t key_count;      /* that are remembered */
    uint64_t key_bytes;    /* of what they are answered with */
    arcp__job **jobs;      /* owned array in order of id; NULL where one was dropped */
    char newest_job[ARCP__ID_SIZE];
    size_t job_first, job_count, job_capacity;
    size_t job_holes; /* between the first and the last */
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
    UT_hash_handle hh;
    arcp__principal *principal;
    uint8_t fingerprint[32];
    char job_id[ARCP__ID_SIZE];
    int64_t expires_wall_ns;
    arcp__job *job;                   /* whose row has the key; NULL: the job is forgotten */
    char *accepted;                   /* owned, from then on: the payload of the first answer */
    arcp__idempotency *older, *newer; /* by when they were made */
    bool has_row;                     /* in the table IDEMPOTENCY */
    uint32_t accepted_size;           /* of the payload, which the job or the key has */
    uint32_t key_size;
    char key[]; /* principal, line feed, key */
};

typedef struct arcp__policy_row {
    char *principal_glob, *agent_glob; /* owned */
    const arcp_lease *ceiling;         /* referenced, or NULL */
    bool leaves_others_open;
    uint64_t max_lifetime_sec;
} arcp__policy_row;

typedef struct arcp__profile_row {
    char *client_glob, *principal_glob; /* owned */
    const arcp__peer_profile *profile;
} arcp__profile_row;

/* ---- the engine ---- */

typedef enum arcp__timer_kind {
    ARCP__TIMER_HELLO,
    ARCP__TIMER_REST,
    ARCP__TIMER_HEARTBEAT,
    ARCP__TIMER_WINDOW,
    ARCP__TIMER_LONE_REFUSAL,
    ARCP__TIMER_JOB_RUNTIME,
    ARCP__TIMER_JOB_EXPIRY,
    ARCP__TIMER_JOB_GRACE,
    ARCP__TIMER_JOB_KEEP,
    ARCP__TIMER_CREDENTIAL,
    ARCP__TIMER_SWEEP,
    ARCP__TIMER_STORE_RETRY,
    ARCP__TIMER_REFUSALS,
    ARCP__TIMER_SHUTDOWN
} arcp__timer_kind;

struct arcp__engine {
    arcp__engine_options options;
    arcp__context context;
    arcp__log *log;        /* owned */
    int64_t wall_ahead_ns; /* wall minus monotonic clock, when expiries were last looked at */
    arcp__timer sweep_timer, shutdown_timer;
    arcp__timer refusal_timer;
    arcp__refusals *refusals; /* owned; NULL until the first refusal */

    arcp_buf body;
    arcp_buf features_text; /* of `features_written`, as a JSON array; empty: not written yet */
    arcp_feature_set features_written;
    arcp_buf sending;      /* the frame of the SEND effect at hand; may be secret */
    arcp__job *forgetting; /* whose FORGET_AGENT is at the owner's until the next call */
    arcp__job *over_first, *over_last; /* without an agent from now on; pinned */
    arcp__job *over_limit;             /* said too much, and end with the input at hand; pinned */

    arcp__link *links;
    arcp__session *sessions;
    arcp__job *jobs;
    arcp__principal *principals;
    arcp__principal *staying; /* those of which only their buckets are left, the oldest first */
    size_t staying_count;
    arcp__agent *agents;
    arcp__idempotency *keys;
    arcp__idempotency *oldest_key; /* of all that can be found */
    size_t key_count;
    uint64_t key_bytes; /* of what they are answered with */
    arcp__policy_row *policies;
    size_t policy_count;
    arcp_submit_policy_fn submit_policy; /* or NULL */
    void *submit_policy_user;
    arcp__profile_row *profiles;
    size_t profile_count;

    arcp__job *ended_jobs;              /* that are kept; the one that ended first comes first */
    arcp__share kept[ARCP__KEPT_COUNT]; /* of these; see kept.c */
    arcp__principal *over_share;        /* has too much in the store, and ended jobs; or NULL */
    uint64_t ended_leases_max;          /* ARCP__ENDED_LEASES_MAX; less in tests */
    size_t owed_count;                  /* of those that are not listed there any more */
    uint64_t owed_bytes;                /* of these, counted as above */
    arcp__job *due_rows;                /* ended in the open batch; pinned */
    arcp__job *spenders;                /* whose counters changed since the last batch; pinned */
    arcp__credentials credentials;
    arcp__admission *admissions; /* oldest first */
    arcp__session *turns;        /* whose submits or children may have their turn */

    arcp__mail *mail; /* owned array, delivered from mail_first on */
    size_t mail_first, mail_end, mail_capacity;
    arcp__session *outbox;    /* sessions that may have something to send */
    arcp__session *undurable; /* sessions that wait for a batch */

    arcp__metrics metrics;

    uint64_t next_auth_id, next_read_id;
    arcp__read *reads; /* in the order in which they were asked for */
    size_t session_count, connected_count, running_jobs;
    size_t live_agents; /* started, or about to be, and not forgotten */
    uint64_t event_count, denial_count;
    bool agents_paused;            /* because of the store's queue */
    arcp__spent_row *spent_rows;   /* owned list, while a restart is being taken up */
    struct arcp__restore *restore; /* while a restart is being taken up */
    bool stopped;
    bool last_words_are_over;  /* peers had their time to take what was said last */
    bool has_inputs_over;      /* some link's may be */
    arcp__link *next_to_close; /* of a failed engine: the link that is told next; NULL: none */
    bool is_closing_links;     /* next_to_close was set */
};

#endif
