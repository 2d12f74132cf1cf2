/* Jobs: who may run what (principals, agents, policies, keys), the life of a job and of its agent
 * (two state machines, drawn below), and what is kept of a job that has ended.
 *
 * Nothing here knows a session, a request or a link. Who submits has an arcp__submitter, who
 * follows a job an arcp__observer: two tables of functions by which jobs tell what happens.
 * Everything else goes the other way: sessions call jobs.
 *
 * The state of a job (§7.3), which everybody sees:
 *
 *     PENDING ── the agent runs ──> RUNNING ── its result ──> SUCCESS
 *        │                             │
 *        └── a failure, a cancel, a deadline ──> ERROR, CANCELLED, TIMED_OUT
 *
 * A job ends once, with the first that comes of the agent's result or error, its exit, a cancel, a
 * deadline, the lease's expiry, the parent's end, and the runtime's stop.
 *
 * The agent, of which only its host knows:
 *
 *     NONE ── START_AGENT is queued ──> STARTING ── it runs ──> RUNNING
 *                                          │                       │
 *                                          └── it could not ──> GONE <── its exit
 *                                                                  │
 *                     RELEASED <── the host has let go of it ──────┘
 *
 * An agent that says something runs, whether its host told of its start or not. A job may end
 * before its agent is gone: the agent is then told to stop and, after the grace, to die. A job that
 * ends without an agent goes from NONE to RELEASED. What both need is freed when the job has ended
 * and its agent is RELEASED. */
#ifndef ARCP_JOB_JOB_H
#define ARCP_JOB_JOB_H

#include <arcp/submit_policy.h>
#include <arcp/wire.h>

#include "base/hash.h"
#include "base/share.h"
#include "base/token_bucket.h"
#include "context/context.h"
#include "core/capability.h"
#include "core/id_set.h"
#include "core/job_port.h"
#include "core/lease_amount.h"
#include "core/lease_work.h"
#include "core/trace.h"
#include "credential/credential.h"
#include "log/log.h"

typedef struct arcp__jobs arcp__jobs;
typedef struct arcp__job arcp__job;
typedef struct arcp__job_live arcp__job_live;
typedef struct arcp__principal arcp__principal;
typedef struct arcp__admission arcp__admission;
typedef struct arcp__agent_version arcp__agent_version;
typedef struct arcp__agent_metrics arcp__agent_metrics;
typedef struct arcp__idempotency arcp__idempotency;
typedef struct arcp__policy_row arcp__policy_row;
typedef struct arcp__observer arcp__observer;
typedef struct arcp__submitter arcp__submitter;

/* Of ended jobs, and of keys: so many by one input, for others want their turn. */
#define ARCP__FORGOTTEN_AT_ONCE 256u

/* Of job.accepted payloads of ended jobs in memory, wherever the store is. */
#define ARCP__ENDED_LEASES_MAX 268435456u

/* ---- what jobs tell; `user` is the one of arcp__jobs ---- */

typedef struct arcp__observer_ops {
    /* A record was appended to the job's stream at `position`; a session needs `feature` to see it.
     * Only live observers are told. The job must not be changed from inside. */
    void (*record)(void *user, arcp__observer *observer, uint64_t position, size_t bytes,
                   arcp_feature feature);
    /* The job has ended: the record that says so was told before. */
    void (*ended)(void *user, arcp__observer *observer);
    /* The job is being forgotten: the observer leaves it. */
    void (*dropped)(void *user, arcp__observer *observer);
    /* Whether the record with this number was not sent yet. */
    bool (*is_behind)(const arcp__observer *observer, uint64_t seq);
} arcp__observer_ops;

struct arcp__observer {
    const arcp__observer_ops *ops;
    arcp__job *job;
    arcp__observer *previous, *next; /* of the job */
    bool is_live;                    /* has all history; is told of records as they come */
};

typedef struct arcp__submitter_ops {
    /* A job that runs on it has delegated to `child`, which runs on it too. */
    void (*child)(void *user, arcp__submitter *submitter, arcp__job *child);
    /* One of its admissions is ready or gone, or the key that it waits for is free. */
    void (*ready)(void *user, arcp__submitter *submitter);
} arcp__submitter_ops;

struct arcp__submitter {
    /* Of its owner. */
    const arcp__submitter_ops *ops;
    const char *session_id;
    arcp__credential_viewer viewer;
    bool delays_children; /* their job.accepted must not come between a submit and its answer */
    /* Of the jobs. */
    size_t live_jobs;            /* that run on it and have not ended */
    arcp__admission *admissions; /* oldest first */
    size_t admission_count;
    arcp__admission *waits_for; /* another submit's, that makes a job under the same key */
    arcp__submitter *previous_waiter, *next_waiter;
};

/* ---- principals ---- */

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
    struct arcp__session *oldest_session; /* of these; the sessions' own list */
    bool is_held;                         /* not to be freed just now */
    arcp__token_bucket submits, refusals;
    bool is_staying; /* for these alone */
    arcp__principal *staying_previous, *staying_next;
    size_t running_jobs;
    arcp__admission *admissions;         /* of these, the ones that are not jobs yet */
    arcp__job *ended_jobs;               /* that are kept; the one that ended first comes first */
    arcp__timer parts[ARCP__KEPT_COUNT]; /* of the shares of all */
    size_t owed_count;                   /* of its jobs that are counted so among all */
    uint64_t owed_bytes;
    uint64_t stored_bytes; /* of records of its jobs, running, kept or owed */
    arcp__queued queued;   /* of these, what is not durable */
    size_t key_count;      /* that are remembered */
    uint64_t key_bytes;    /* of what they are answered with */
    arcp__job **jobs;      /* owned array in order of id; NULL where one was dropped */
    char newest_job[ARCP__ID_SIZE];
    size_t job_first, job_count, job_capacity, job_holes; /* holes: between first and last */
};

/* NULL when out of memory. */
arcp__principal *arcp__principal_get(arcp__jobs *jobs, arcp_span name);
void arcp__principal_maybe_free(arcp__jobs *jobs, arcp__principal *principal);
/* Something of it was refused: for how long the link that it came over is not to be read. */
int64_t arcp__principal_refused(arcp__jobs *jobs, arcp__principal *principal);

/* ---- agents and policies, as the operator gives them ---- */

typedef struct arcp__agent_registration {
    arcp_span name;
    arcp_span version; /* may be empty */
    bool is_default;
    void *host;    /* comes back in START_AGENT (job->live->host) */
    arcp_span cwd; /* absolute; empty: a directory of its own under work_directory */
} arcp__agent_registration;
/* arcp__engine_register_agent, and so on (engine/engine.h). */
ARCP_MUST_CHECK arcp_status arcp__agent_register(arcp__jobs *jobs,
                                                 const arcp__agent_registration *agent,
                                                 arcp_error *err);
void arcp__agents_clear(arcp__jobs *jobs);
void arcp__agents_visit_hosts(const arcp__jobs *jobs, void (*visit)(void *user, void *host),
                              void *user);
/* The member "agents" of a welcome. */
void arcp__agents_write(const arcp__jobs *jobs, bool rich, arcp_json_writer *writer);

/* A policy row (`policy:` in the configuration file): what sessions whose principal matches
 * and agents whose name matches may get at most. `ceiling` (a reference is taken) may be
 * NULL; its cost.budget and expiry narrow too. What it does not name falls away, unless
 * `leaves_others_open`. */
typedef struct arcp__policy {
    arcp_span principal_glob;
    arcp_span agent_glob;
    const arcp_lease *ceiling;
    bool leaves_others_open;
    uint64_t max_lifetime_sec; /* 0: none */
} arcp__policy;
ARCP_MUST_CHECK arcp_status arcp__policy_add(arcp__jobs *jobs, const arcp__policy *policy,
                                             arcp_error *err);
void arcp__policies_clear(arcp__jobs *jobs);

/* ---- a job ---- */

typedef enum arcp__agent_state {
    ARCP__AGENT_NONE,
    ARCP__AGENT_STARTING,
    ARCP__AGENT_RUNNING,
    ARCP__AGENT_GONE,    /* FORGET_AGENT is due, or at its host */
    ARCP__AGENT_RELEASED /* nobody has it any more */
} arcp__agent_state;

/* What an agent was told; each is told once. */
typedef enum arcp__agent_stop {
    ARCP__AGENT_STOP_NONE,
    ARCP__AGENT_STOP_ASKED, /* CANCEL_AGENT */
    ARCP__AGENT_STOP_KILLED /* KILL_AGENT */
} arcp__agent_stop;

/* What an agent's output has been. */
typedef enum arcp__agent_output {
    ARCP__OUTPUT_LINES, /* or nothing */
    ARCP__OUTPUT_PLAIN, /* raw: all of it is the result */
    ARCP__OUTPUT_BROKEN /* a line that began with { did not parse: the exit is no success */
} arcp__agent_output;

/* The result in chunks. */
typedef enum arcp__job_chunks {
    ARCP__CHUNKS_NONE,
    ARCP__CHUNKS_OPEN,
    ARCP__CHUNKS_ENDED /* by `more: false` */
} arcp__job_chunks;

/* Which row of a job goes with the open batch. */
typedef enum arcp__row_due {
    ARCP__ROW_NONE,
    ARCP__ROW_SPENT, /* what it has spent, beside its row */
    ARCP__ROW_WHOLE  /* its own: it has ended */
} arcp__row_due;

/* Which positions of the job's stream carry which numbers of the owning session: what
 * from_event_seq and last_event_seq count in. */
typedef struct arcp__owner_run {
    uint64_t first_seq;
    uint64_t first_position;
    uint64_t count;
} arcp__owner_run;

/* A part of a text that is owned elsewhere. */
typedef struct arcp__piece {
    uint32_t at, size;
} arcp__piece;

/* Above jobs it is read only, like what it has while it lives. */
struct arcp__job {
    char id[ARCP__ID_SIZE];
    UT_hash_handle hh;
    arcp__principal *principal;
    size_t place;                   /* in the principal's list */
    char session_id[ARCP__ID_SIZE]; /* of the session it runs on */
    char parent_id[ARCP__ID_SIZE];  /* "" for none */
    char trace_id[33];
    char result_id[ARCP__ID_SIZE]; /* "" until the first chunk */
    arcp__job_live *live;          /* owned; NULL: it ended, and no agent has it any more */
    char *agent_text;              /* owned: name@version */
    char *accepted;                /* owned JSON object: the job.accepted payload */
    arcp__piece lease;             /* of it: the lease, as an object */
    arcp__piece constraints;       /* of it: lease_constraints, or nothing */
    arcp_budget *budget;           /* owned: the job's own counters; NULL: it has none */
    arcp_feature_set features;     /* of the submitting session */

    arcp_job_status status;
    arcp_status end_code; /* why it ended, unless it succeeded */
    arcp__agent_state agent_state;
    arcp__agent_stop stop; /* what the agent was told */
    arcp__agent_output output;
    arcp__job_chunks chunks;
    const char *over_limit; /* the setting that it said more than; NULL: none */
    arcp__job *next_over_limit;
    bool is_over; /* listed: its agent is to be forgotten, or it is no longer live */
    bool cancelling;
    bool said_end; /* the agent itself ended the job: it is winding down */
    bool paused;
    bool is_held;     /* not to be read because its owner has too much to send */
    bool is_ahead;    /* listed: or because too much of its principal is not durable */
    bool expiry_told; /* the lease's expiry was logged */
    bool is_terminal; /* listed as ended, among all and in its principal */
    bool is_weighed;  /* its bytes are counted there: see kept.c */
    bool is_owed;     /* counted there: kept for its session only */
    arcp__job *ended_prev, *ended_next;
    arcp__job *own_ended_prev, *own_ended_next;
    uint64_t terminal_bytes; /* of its records and `accepted`, as they are counted there */
    uint32_t accepted_size;  /* of `accepted` alone, likewise */
    uint32_t pins, depth, live_children;
    uint32_t admissions; /* children that are not jobs yet */
    arcp__job *next_over, *next_ahead;
    arcp__job *parent;   /* while it lives; pinned */
    arcp__job *children; /* live and ended ones that still know us */
    arcp__job *next_child;

    int64_t created_wall_ns, ended_wall_ns;
    arcp__timer keep_timer;

    arcp__stream *stream;
    arcp__owner_run *owner_runs;
    size_t owner_run_count, owner_run_capacity;
    arcp__observer *observers;
    arcp__observer *owner;        /* of the session it runs on; NULL when that is gone */
    arcp__submitter *submitter;   /* likewise */
    uint64_t first_seq, last_seq; /* there, of its first record and of its end; 0: not yet */

    arcp__row_due row_due; /* listed */
    bool has_spent_row;    /* in the table JOBS, until the job ends */
    arcp__job *next_due;
    arcp__idempotency *idempotency; /* the key that made it, while that is remembered */
};

/* The terminal record is out. */
static inline bool arcp__job_has_ended(const arcp__job *job)
{
    return arcp_job_status_is_terminal(job->status);
}

arcp__job *arcp__job_find(const arcp__jobs *jobs, arcp_span id);
/* For the audit log. */
arcp__audit_who arcp__job_who(const arcp__job *job);
bool arcp__job_is_visible_to(const arcp__jobs *jobs, const arcp__job *job,
                             const arcp__principal *principal);
/* The members lease and, if it has any, lease_constraints. */
void arcp__job_write_lease(const arcp__job *job, arcp_json_writer *writer);
void arcp__job_write_budget(const arcp__job *job, bool current, bool as_text,
                            arcp_json_writer *writer);
/* A line about a job, with its id, agent, principal, session, parent and trace as fields. */
void arcp__job_log(arcp__jobs *jobs, arcp__log_level level, const arcp__job *job,
                   const char *message);
/* So many bytes more of its records are in the store. */
void arcp__job_count_bytes(arcp__job *job, uint64_t bytes);

/* Queues START_AGENT behind the open batch and arms its deadlines. */
void arcp__job_start(arcp__jobs *jobs, arcp__job *job);
/* `message` is what the canceller wrote; the first one's counts. */
void arcp__job_cancel(arcp__jobs *jobs, arcp__job *job, const char *message);
/* The end of a job, exactly once: later calls do nothing. */
void arcp__job_fail_with(arcp__jobs *jobs, arcp__job *job, arcp_status code, const char *message);
/* Of all that have not ended. */
void arcp__jobs_fail(arcp__jobs *jobs, const char *message);
void arcp__job_emit_status(arcp__jobs *jobs, arcp__job *job, const char *phase, arcp_span message);
void arcp__job_emit_log(arcp__jobs *jobs, arcp__job *job, const char *level, arcp_span text);

/* ---- who follows a job ---- */

void arcp__job_observe(arcp__job *job, arcp__observer *observer);
/* It runs on the submitter, whose observer gets all of it. */
void arcp__job_adopt(arcp__job *job, arcp__submitter *submitter, arcp__observer *observer);
void arcp__job_unobserve(arcp__jobs *jobs, arcp__observer *observer);
/* Its owner has too much to send, or no longer: the agent is not read. */
void arcp__job_hold(arcp__jobs *jobs, arcp__job *job, bool is_held);
/* The owner gave numbers from `seq` on to `count` records; its first number of the job is
 * `job_first_seq`. */
void arcp__job_note_owner_run(arcp__jobs *jobs, arcp__job *job, uint64_t job_first_seq,
                              uint64_t seq, uint64_t position, uint64_t count);
/* The first position whose number in the owning session is above `owner_seq`. */
uint64_t arcp__job_position_after(const arcp__job *job, uint64_t owner_seq);
/* The number below which everything before `position` lies; 0 before the first. */
uint64_t arcp__job_owner_seq(const arcp__job *job, uint64_t position);

/* ---- from an order to a job ---- */

/* Where a job stands in its trace (§11). The ids of its own spans are chosen before there is
 * a job: what is done for it meanwhile belongs below them. */
typedef struct arcp__trace {
    char traceparent[ARCP__TRACEPARENT_SIZE + 1]; /* for the agent, children, the provisioner */
    bool is_recorded;                             /* spans are made; its own is in traceparent */
    char parent_id[ARCP__SPAN_ID_SIZE + 1];       /* whoever asked for it; "" for nobody */
    char session_id[ARCP__SPAN_ID_SIZE + 1];      /* of the session's span; "" for a child */
    int64_t began_wall_ns;
} arcp__trace;
/* The trace that a submit names (§11), or a new one, and where a job of it stands. The
 * tracestate is borrowed from the context's index. */
void arcp__trace_read(arcp__jobs *jobs, const arcp__envelope *envelope,
                      char trace_id[ARCP__TRACE_ID_SIZE], arcp__trace *out, arcp_span *tracestate);
/* The trace that a request names; trace_id[0] is '\0' when it names none. */
void arcp__trace_asked(arcp__context *context, const arcp__envelope *envelope,
                       char trace_id[ARCP__TRACE_ID_SIZE]);

typedef struct arcp__job_order {
    /* What is asked for. */
    arcp__submitter *submitter; /* the job runs on it */
    arcp__principal *principal;
    arcp_feature_set features;
    arcp_span asked_agent;
    const arcp_json *json;
    arcp_json_ref asked_input, lease_request, lease_constraints;
    uint64_t max_runtime_sec;
    arcp_span key;              /* idempotency_key; empty for none */
    const uint8_t *fingerprint; /* 32 bytes, of the key's parameters */
    arcp_span trace_id;         /* 32 hex */
    const arcp__trace *trace;
    arcp_span tracestate;
    arcp__job *parent;  /* of a delegation, like what follows */
    arcp_json_ref body; /* all that the agent said */
    arcp_span delegate_id, reply_to;
    bool waits_for_end;
    /* What becomes of it. */
    const arcp__agent_version *agent;
    arcp_span agent_name;             /* without the version */
    arcp_span input;                  /* compact JSON */
    const arcp_lease *lease;          /* effective */
    arcp__lease_work lease_work;      /* what its leases may still cost */
    const arcp__admission *admission; /* it had to wait: its id and time; NULL: it had not */
} arcp__job_order;

typedef enum arcp__job_outcome {
    ARCP__JOB_MADE,     /* and durable with the open batch; it is still to be started */
    ARCP__JOB_WAITS,    /* for a credential; the submitter is told when that is there */
    ARCP__JOB_SAME_KEY, /* it was made before */
    ARCP__JOB_REFUSED
} arcp__job_outcome;
typedef struct arcp__job_answer {
    arcp__job *job;             /* MADE */
    bool is_narrowed;           /* likewise: a policy gave it less than was asked for */
    arcp__admission *admission; /* WAITS; NULL: memory ran out */
    const char *job_id;         /* SAME_KEY: of the job, which may be forgotten */
    arcp_span accepted;         /* likewise: the payload of the first answer */
    arcp_buf details;           /* REFUSED: JSON object or empty; owned by the caller */
} arcp__job_answer;

/* What was reported to have been spent in one currency. */
typedef struct arcp__currency_sum {
    char currency[ARCP__CURRENCY_BYTES_MAX + 1];
    arcp_decimal amount;
} arcp__currency_sum;

/* What only a job needs that has not ended, or whose agent is winding down. Ended jobs are kept
 * long and are many. */
struct arcp__job_live {
    arcp__trace trace;
    char *tracestate;        /* owned; NULL for none */
    char *delegate_id;       /* owned; NULL for none */
    char *cwd;               /* owned: absolute; NULL for none */
    bool owns_cwd;           /* it was made for the job: to be removed afterwards */
    char *spent;             /* owned JSON, while rows are taken up: what it had spent */
    char *input;             /* owned JSON; freed when the agent has it */
    char *wait_reply;        /* owned: the id of the parent's waiting delegate line */
    char *cancel_message;    /* owned: what the canceller wrote, as one line; NULL: nothing */
    void *host;              /* of its agent's registration */
    void *user;              /* the host's own, which sets it */
    arcp__port agent_port;   /* what waits for its agent */
    const arcp_lease *lease; /* referenced */
    const arcp_authority *authority; /* referenced; any thread may use it */
    arcp__credential_slot credential;
    uint64_t max_runtime_sec;
    arcp__timer runtime_timer, expiry_timer, grace_timer;
    char head[128]; /* ..."type":"job.event","trace_id":...: the fixed middle of a record */
    size_t head_size;
    arcp__job_port port;          /* what its agent asks and says */
    arcp__id_set delegate_ids;    /* of its children, those that ended too */
    arcp__agent_metrics *metrics; /* where it is counted as running; NULL: nowhere */
    arcp__currency_sum *costs;    /* owned; NULL: none */
    size_t cost_count;
    uint64_t chunk_next, result_size;
    arcp_buf inline_result; /* chunks assembled for a session without result_chunk */
    arcp_buf plain_output;
};

/* What a client asks for. */
arcp__job_outcome arcp__job_submit(arcp__jobs *jobs, arcp__job_order *order,
                                   arcp__job_answer *answer, arcp_error *err);

/* An order on its way to a job waits as an admission. Whether nothing is missing but its turn. */
bool arcp__admission_is_ready(const arcp__admission *admission);
/* What it was made of, which lives as long as it. */
const arcp__job_order *arcp__admission_order(const arcp__admission *admission);
/* The job of one that is ready: MADE or REFUSED. */
arcp__job_outcome arcp__job_admit(arcp__jobs *jobs, arcp__admission *admission,
                                  arcp__job_order *order, arcp__job_answer *answer,
                                  arcp_error *err);
void arcp__admission_free(arcp__jobs *jobs, arcp__admission *admission);
/* The turn of a delegation that had to wait; the admission is freed. */
void arcp__job_admit_child(arcp__jobs *jobs, arcp__admission *admission);
/* The oldest delegation that can be made; NULL: none. */
arcp__admission *arcp__submitter_ready_child(const arcp__submitter *submitter);
/* Whether somebody else is making a job under this key: the submitter is told when it is free. */
bool arcp__submitter_waits_for_key(arcp__submitter *submitter, const arcp__principal *principal,
                                   arcp_span key);
/* It is gone, and what waits for it. */
void arcp__submitter_leave(arcp__jobs *jobs, arcp__submitter *submitter);

/* ---- what hosts of agents bring (engine/engine.h), and may ask ---- */

typedef struct arcp__agent_exit {
    bool by_signal;
    int code;              /* exit status, or the signal's number */
    arcp_span stderr_tail; /* empty unless it may be shown */
} arcp__agent_exit;

void arcp__job_agent_started(arcp__jobs *jobs, arcp__job *job, arcp_status status,
                             arcp_span message);
void arcp__job_agent_line(arcp__jobs *jobs, arcp__job *job, arcp_span text);
void arcp__job_agent_says(arcp__jobs *jobs, arcp__job *job, const arcp__job_message *message);
void arcp__job_plain_output(arcp__jobs *jobs, arcp__job *job, arcp_span bytes);
void arcp__job_agent_exited(arcp__jobs *jobs, arcp__job *job, const arcp__agent_exit *exit);
/* The next FORGET_AGENT; every agent that was started gets one, so it needs no memory. */
bool arcp__job_next_forgotten(arcp__jobs *jobs, arcp__effect *out);
/* The owner has carried it out. */
void arcp__job_forgotten_by_owner(arcp__jobs *jobs);

/* Appends what lines of the log have as fields of a job: {"job_id":"...","agent":...}. */
void arcp__job_fields(const arcp__job *job, arcp_buf *out);
/* Live jobs, and orders that are no jobs yet. */
void arcp__jobs_dump(const arcp__jobs *jobs, arcp__dump *dump);
/* ---- all of them ---- */

#define ARCP__METRIC_AGENTS_MAX     64u
#define ARCP__METRIC_CURRENCIES_MAX 16u

struct arcp__agent_metrics {
    char name[64]; /* without version */
    uint64_t live;
    uint64_t ended[ARCP_JOB_STATUS_COUNT];
};

/* What is counted for operators. The number of samples is bounded whatever peers do: agents and
 * currencies beyond a few are counted as "other". */
typedef struct arcp__job_metrics {
    arcp__agent_metrics agents[ARCP__METRIC_AGENTS_MAX + 1]; /* the last one: other */
    size_t agent_count;
    arcp__currency_sum spent[ARCP__METRIC_CURRENCIES_MAX + 1]; /* the last one: other */
    size_t currency_count;
    uint64_t denials[ARCP_STATUS_COUNT][ARCP__CAPABILITY_COUNT];
    uint64_t denial_count, event_count, agent_pauses;
} arcp__job_metrics;

struct arcp__jobs {
    /* Given by the owner. */
    arcp__context *context;
    arcp__log *log;
    arcp__credentials *credentials;
    void *user;     /* of the tables of functions */
    int timer_kind; /* of timers that arcp__job_due takes */
    arcp_span work_directory;
    bool makes_spans, has_no_log;
    arcp_submit_policy_fn submit_policy; /* the embedding program's; or NULL */
    void *submit_policy_user;
    bool is_restoring;         /* rows of an earlier run are taken up: none is forgotten */
    uint64_t ended_leases_max; /* ARCP__ENDED_LEASES_MAX; less in tests */

    arcp__job *all; /* by id */
    size_t running; /* of these, and admissions */
    arcp__principal *principals;
    arcp__principal *staying; /* those of which only their buckets are left, the oldest first */
    size_t staying_count;
    arcp__agent_version *agents; /* in order of registration */
    arcp__policy_row *policies;
    size_t policy_count;
    arcp__admission *admissions; /* oldest first */
    arcp__idempotency *keys;
    arcp__idempotency *oldest_key; /* of all that can be found */
    size_t key_count;
    uint64_t key_bytes; /* of what they are answered with */

    arcp__job *forgetting; /* whose FORGET_AGENT is at the owner's until the next call */
    arcp__job *over_first, *over_last; /* without an agent from now on; pinned */
    arcp__job *over_limit;             /* said too much, and end with the input at hand; pinned */
    arcp__job *due_rows;               /* to be written with the open batch; pinned */
    size_t live_agents;                /* started, or about to be, and not forgotten */
    bool agents_paused;                /* because of the store's queue */
    arcp__job *ahead;                  /* paused because of their principal's part of it; pinned */

    arcp__job *ended;                   /* that are kept; the one that ended first comes first */
    arcp__share kept[ARCP__KEPT_COUNT]; /* of these; see kept.c */
    arcp__principal *over_share;        /* has too much in the store, and ended jobs; or NULL */
    size_t owed_count;                  /* of those that are not listed there any more */
    uint64_t owed_bytes;                /* of these, counted as above */

    arcp_buf body;          /* of the event at hand */
    arcp_buf features_text; /* of `features_written`, as a JSON array; empty: not written yet */
    arcp_feature_set features_written;
    arcp__job_metrics metrics;
};

/* What credentials tell; their owner of a slot is a job or an admission. */
extern const arcp__credential_ops arcp__job_credential_ops;

/* Lets go of everything: no session is left, and the log takes nothing more. */
void arcp__jobs_fini(arcp__jobs *jobs);
/* Nothing is handed to hosts any more. */
void arcp__jobs_forget_agents(arcp__jobs *jobs);
void arcp__job_due(arcp__jobs *jobs, arcp__timer *timer);
/* The wall clock was set: what is due by it now, and when the rest is. */
void arcp__jobs_follow_wall_clock(arcp__jobs *jobs);
/* Keys that have expired go, some at a time, then principals that stayed until their buckets were
 * full. Whether there are more. */
bool arcp__jobs_sweep(arcp__jobs *jobs);
/* No agent is read while the store has too much to write. */
void arcp__jobs_update_pressure(arcp__jobs *jobs);
/* A batch is durable: those that were too far ahead of it are read again. */
void arcp__jobs_committed(arcp__jobs *jobs);
/* While the store fails: what stops agents that run waits for it no longer. */
void arcp__jobs_release_stops(arcp__jobs *jobs);
/* The ends of jobs that said too much by the input at hand. */
void arcp__jobs_end_over(arcp__jobs *jobs);
/* Of more than are kept at most, some at a time, when no input uses them. */
void arcp__jobs_forget_oldest(arcp__jobs *jobs);
/* Before the open batch is taken: rows of what ended or spent since the last one. */
void arcp__jobs_store_due(arcp__jobs *jobs);
/* The runtime stops: what waits for a credential is refused. */
void arcp__admissions_refuse(arcp__jobs *jobs, const char *why);

/* ---- over a restart ---- */

/* A row of JOBS or IDEMPOTENCY, which is in the context's index: ARCP_E_CORRUPT or NO_MEMORY. */
arcp_status arcp__job_restore_row(arcp__jobs *jobs, arcp_span key, arcp_error *err);
arcp_status arcp__idempotency_restore_row(arcp__jobs *jobs, arcp_span key, arcp_error *err);
/* All rows are there: gives the jobs their authorities and counters, parents before children. */
void arcp__jobs_restore_authorities(arcp__jobs *jobs);
/* All streams are known: what is kept and which keys expire next. */
void arcp__jobs_restored(arcp__jobs *jobs);

#endif
