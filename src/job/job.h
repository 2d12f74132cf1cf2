/* Jobs: principals, agents, policies and idempotency keys; the life of a job and of its agent (two
 * state machines, drawn below); and ended jobs that are kept.
 *
 * Nothing here knows a session, a request or a link. A session that submits has an arcp__submitter,
 * one that follows a job an arcp__observer: two tables of functions through which jobs report
 * events. All other calls go the other way: sessions call jobs.
 *
 * The status of a job (§7.3), which clients see:
 *
 *     PENDING ── the agent runs ──> RUNNING ── its result ──> SUCCESS
 *        │                             │
 *        └── a failure, a cancel, a deadline ──> ERROR, CANCELLED, TIMED_OUT
 *
 * A job ends once, by whichever comes first: the agent's result or error, its exit, a cancel, a
 * deadline, the lease's expiry, the parent's end, or the runtime's stop.
 *
 * The state of its agent, which only the agent's host knows:
 *
 *     NONE ── START_AGENT is queued ──> STARTING ── it runs ──> RUNNING
 *       │                                ^ │                       │
 *       └ no place (placement.h) ─> QUEUED └── it could not ──> EXITED <── its exit
 *                                     │                            │
 *             the job has ended ──> RELEASED <── the host has freed it
 *
 * A job goes from STARTING back to QUEUED when its worker does not take it.
 *
 * Any output shows that an agent runs, even before its host reports the start. A job may end before
 * its agent exits: the agent is then sent a cancel and, after the grace period, killed. The agent
 * of a job that ends without one goes from NONE or QUEUED to RELEASED. job->live is freed when the
 * job has ended and its agent is RELEASED. */
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
#include "job/agent_host.h"
#include "job/agent_registration.h"
#include "job/job_changes.h"
#include "job/job_facts.h"
#include "job/job_list.h"
#include "job/job_metrics.h"
#include "job/job_number.h"
#include "job/job_observer.h"
#include "job/job_worker.h"
#include "job/placement.h"
#include "log/log.h"

typedef struct arcp__jobs arcp__jobs;
typedef struct arcp__job arcp__job;
typedef struct arcp__job_live arcp__job_live;
typedef struct arcp__principal arcp__principal;
typedef struct arcp__admission arcp__admission;
typedef struct arcp__agent_version arcp__agent_version;
typedef struct arcp__idempotency arcp__idempotency;
typedef struct arcp__policy_row arcp__policy_row;

/* Ended jobs, or keys, that one input removes at most, so that other principals are not delayed. */
#define ARCP__REMOVED_AT_ONCE 256u

/* Bytes of job.accepted payloads of ended jobs in memory, with any store. */
#define ARCP__ENDED_LEASES_MAX 268435456u

/* ---- sessions, as jobs see them (job_observer.h) ---- */

struct arcp__submitter {
    /* Set by its owner. */
    const arcp__submitter_ops *ops;
    const char *session_id;
    arcp__credential_viewer viewer;
    bool delays_children; /* their job.accepted must not come between a submit and its response */
    /* Set by src/job. */
    size_t live_jobs;            /* its jobs that have not ended */
    arcp__admission *admissions; /* oldest first */
    size_t admission_count;
    arcp__admission *waits_for; /* of another submit that is making a job under the same key */
    arcp__submitter *previous_waiter, *next_waiter;
};

/* ---- principals ---- */

/* What is shared among principals (kept.c). */
typedef enum arcp__kept_what {
    ARCP__KEPT_JOBS,   /* ended jobs */
    ARCP__KEPT_BYTES,  /* of their records and of their job.accepted payloads */
    ARCP__KEPT_LEASES, /* of the job.accepted payloads alone */
    ARCP__KEPT_COUNT
} arcp__kept_what;

struct arcp__principal {
    char *name; /* owned */
    UT_hash_handle hh;
    size_t sessions;
    struct arcp__session *oldest_session; /* head of a list that src/session keeps */
    bool is_held;                         /* must not be freed now */
    arcp__token_bucket submits, refusals;
    bool is_idle; /* has nothing left but its token buckets, which are not full */
    arcp__principal *idle_previous, *idle_next;
    size_t running_jobs;
    size_t queued_jobs;                  /* of these, those that wait for a place */
    uint64_t queued_bytes;               /* of their inputs */
    arcp__admission *admissions;         /* counted in running_jobs, though not jobs yet */
    arcp__job *ended_jobs;               /* that are kept, in the order of their ends */
    arcp__timer parts[ARCP__KEPT_COUNT]; /* its part of each share (kept.c) */
    size_t evicted_count;                /* of its jobs, as in arcp__jobs */
    uint64_t evicted_bytes;
    uint64_t stored_bytes; /* of records of all its jobs */
    arcp__queued queued;   /* records and rows of its jobs that are not durable */
    size_t key_count;      /* of its idempotency keys */
    uint64_t key_bytes;    /* of the job.accepted payloads that answer them */
    arcp__job_list jobs;
    arcp__principal_marks marks;
};

/* NULL when out of memory. */
arcp__principal *arcp__principal_get(arcp__jobs *jobs, arcp_span name);
void arcp__principal_maybe_free(arcp__jobs *jobs, arcp__principal *principal);
/* Notes a refused request; returns for how many nanoseconds its link must not be read. */
int64_t arcp__principal_refused(arcp__jobs *jobs, arcp__principal *principal);

/* ---- a job ---- */

typedef enum arcp__agent_state {
    ARCP__AGENT_NONE,
    ARCP__AGENT_QUEUED, /* waits for a place (job_queue.c) */
    ARCP__AGENT_STARTING,
    ARCP__AGENT_RUNNING,
    ARCP__AGENT_EXITED,  /* FORGET_AGENT is queued or being carried out */
    ARCP__AGENT_RELEASED /* no host has it any more */
} arcp__agent_state;

/* What was sent to an agent; each is sent once. */
typedef enum arcp__agent_stop {
    ARCP__AGENT_STOP_NONE,
    ARCP__AGENT_STOP_SENT,  /* CANCEL_AGENT */
    ARCP__AGENT_STOP_KILLED /* KILL_AGENT */
} arcp__agent_stop;

/* The kind of an agent's output so far. */
typedef enum arcp__agent_output {
    ARCP__OUTPUT_LINES, /* or nothing */
    ARCP__OUTPUT_PLAIN, /* raw text: all of it is the result */
    ARCP__OUTPUT_BROKEN /* a line that began with { did not parse: the exit counts as a failure */
} arcp__agent_output;

/* The state of a result in chunks. */
typedef enum arcp__job_chunks {
    ARCP__CHUNKS_NONE,
    ARCP__CHUNKS_OPEN,
    ARCP__CHUNKS_ENDED /* by `more: false` */
} arcp__job_chunks;

/* Which row of a job must be written with the open batch. */
typedef enum arcp__row_due {
    ARCP__ROW_NONE,
    ARCP__ROW_LIVE, /* only what changes while it runs, in a row of its own */
    ARCP__ROW_WHOLE /* the job's row: it has ended */
} arcp__row_due;

/* The row of what changes while a job runs (job_live.c). */
typedef enum arcp__live_row {
    ARCP__LIVE_ROW_NONE,
    ARCP__LIVE_ROW,
    ARCP__LIVE_ROW_OLDER /* as an earlier release wrote it, with its key */
} arcp__live_row;

/* A part of a text that is owned elsewhere. */
typedef struct arcp__piece {
    uint32_t at, size;
} arcp__piece;

/* Read only outside src/job, like arcp__job_live. */
struct arcp__job {
    char id[ARCP__ID_SIZE];
    UT_hash_handle hh;
    arcp__principal *principal;
    size_t places[ARCP__JOB_LISTS]; /* in each list */
    arcp__job_mark mark;
    char session_id[ARCP__ID_SIZE]; /* of the session it runs on */
    char parent_id[ARCP__ID_SIZE];  /* "" for none */
    char trace_id[33];
    char result_id[ARCP__ID_SIZE]; /* "" until the first chunk */
    arcp__job_live *live;          /* owned; NULL: the job has ended and its agent is released */
    char *agent_text;              /* owned: name@version */
    char *accepted;                /* owned JSON object: the job.accepted payload */
    arcp__piece lease;             /* the lease, an object in `accepted` */
    arcp__piece constraints;       /* lease_constraints in `accepted`, or empty */
    arcp_budget *budget;           /* owned: the job's own counters; NULL: it has none */
    arcp_feature_set features;     /* of the submitting session */

    arcp_job_status status;
    arcp_status end_code; /* why it failed; ARCP_OK: it succeeded */
    arcp__agent_state agent_state;
    arcp__agent_stop stop; /* what was sent to the agent */
    arcp__agent_output output;
    arcp__job_chunks chunks;
    const char *over_limit; /* the setting whose limit its output exceeds; NULL: none */
    arcp__job *next_over_limit;
    bool is_over; /* listed: its agent or its `live` is to be released */
    bool cancelling, paused;
    bool is_settled;  /* its host has reported what came of its calls (arcp__agent_hosts.settle) */
    bool result_sent; /* the agent sent its result or error and may now exit by itself */
    bool owner_is_behind; /* its owner has too much to send, so the agent is not read */
    bool is_ahead;        /* listed: too much of its principal is not durable; likewise */
    bool expiry_logged;   /* the lease's expiry was logged */
    bool is_terminal;     /* listed as ended, among all and in its principal */
    bool bytes_counted;   /* its bytes are counted in the shares (kept.c) */
    bool is_evicted;      /* evicted from the shares, kept until its session has sent its records */
    arcp__job *ended_prev, *ended_next;
    arcp__job *own_ended_prev, *own_ended_next;
    uint64_t terminal_bytes; /* of its records and `accepted`, as counted in the shares */
    uint32_t accepted_size;  /* of `accepted` and `facts.start`, as counted there */
    uint32_t pins, depth, live_children;
    uint32_t admissions; /* of children that are not jobs yet */
    arcp__job *next_release, *next_ahead;
    arcp__job *parent;   /* until one of the two ends; pinned */
    arcp__job *children; /* those whose `parent` is this job */
    arcp__job *next_child;

    int64_t created_wall_ns, ended_wall_ns;
    arcp__job_facts facts;
    arcp__timer keep_timer;

    arcp__stream *stream;
    arcp__owner_run *owner_runs;
    size_t owner_run_count, owner_run_capacity;
    arcp__observer *observers;
    arcp__observer *owner; /* of the session it runs on; NULL: that was removed */
    arcp__submitter *submitter;
    uint64_t first_seq, last_seq; /* there, of its first and its terminal record; 0: none yet */

    arcp__row_due row_due;   /* listed */
    arcp__live_row live_row; /* that it has in JOBS, beside its own, until it ends */
    arcp__job *next_due;
    arcp__idempotency *idempotency; /* its idempotency key, until that expires */
};

/* Whether the terminal record was made. */
static inline bool arcp__job_has_ended(const arcp__job *job)
{
    return arcp_job_status_is_terminal(job->status);
}

/* Whether its host has its agent. */
static inline bool arcp__job_has_started(const arcp__job *job)
{
    return job->agent_state == ARCP__AGENT_RUNNING || job->agent_state == ARCP__AGENT_EXITED;
}

arcp__job *arcp__job_find(const arcp__jobs *jobs, arcp_span id);
/* The subject of audit lines about the job. */
arcp__audit_who arcp__job_who(const arcp__job *job);
bool arcp__job_is_visible_to(const arcp__jobs *jobs, const arcp__job *job,
                             const arcp__principal *principal);
/* Writes the member lease and, if the lease has any, lease_constraints. */
void arcp__job_write_lease(const arcp__job *job, arcp_json_writer *writer);
void arcp__job_write_budget(const arcp__job *job, bool current, bool as_text,
                            arcp_json_writer *writer);
/* Logs a line about a job, with its id, agent, principal, session, parent and trace as fields. */
void arcp__job_log(arcp__jobs *jobs, arcp__log_level level, const arcp__job *job,
                   const char *message);
/* Counts bytes of its records that are stored. */
void arcp__job_count_bytes(arcp__job *job, uint64_t bytes);

/* Arms the job's deadlines and starts its agent or, when the agent has no free place, queues it. */
void arcp__job_start(arcp__jobs *jobs, arcp__job *job);
/* Starts the queued jobs for which there is a place, and ends those whose agent is gone. True:
 * there were some. */
bool arcp__jobs_place(arcp__jobs *jobs);
/* For placement.h: whether the host of an offer takes the job, which then belongs there. */
bool arcp__job_fits(void *jobs, void *job, const arcp__place_offer *offer);
/* The place of a queued job among those that wait for its agent, from 1 on; 0: it is not queued. */
size_t arcp__job_queue_place(const arcp__job *job);
/* Of the jobs that have not ended, those that a stop waits for: queued jobs of a durable store are
 * still there after the restart. */
size_t arcp__jobs_left(const arcp__jobs *jobs);
/* `message` is the canceller's text; that of the first cancel is used. */
void arcp__job_cancel(arcp__jobs *jobs, arcp__job *job, const char *message);
/* Ends a job for a principal that may end it, whichever session submitted it: as CANCELLED, once
 * its agent has exited or the grace period is over; without one, at once. */
typedef struct arcp__job_ending {
    const char *by;     /* of another principal's job; NULL: its own principal does */
    const char *reason; /* one line, may be "" */
    uint64_t grace_ms;  /* 0: its agent is killed */
} arcp__job_ending;
void arcp__job_end(arcp__jobs *jobs, arcp__job *job, const arcp__job_ending *order);
/* Ends a job; does nothing when it has ended already. */
void arcp__job_fail_with(arcp__jobs *jobs, arcp__job *job, arcp_status code, const char *message);
/* Those of them that a stop that keeps jobs leaves to their workers. */
size_t arcp__jobs_on_workers(const arcp__jobs *jobs);
/* Agents that a stop waits for: not those of workers that it leaves their jobs to. */
size_t arcp__jobs_agents_left(const arcp__jobs *jobs);
/* The runtime stops: fails the jobs of arcp__jobs_left or, with `queued_only`, those of them that
 * are queued. */
void arcp__jobs_stop(arcp__jobs *jobs, bool queued_only);
void arcp__job_emit_status(arcp__jobs *jobs, arcp__job *job, const char *phase, arcp_span message);
void arcp__job_emit_log(arcp__jobs *jobs, arcp__job *job, const char *level, arcp_span text);

/* ---- observers and owner ---- */

void arcp__job_observe(arcp__job *job, arcp__observer *observer);
/* Makes the submitter the job's owner; its observer gets all records. */
void arcp__job_adopt(arcp__job *job, arcp__submitter *submitter, arcp__observer *observer);
void arcp__job_unobserve(arcp__jobs *jobs, arcp__observer *observer);
/* Says whether the owner has too much to send; while it has, the agent is not read. */
void arcp__job_set_owner_behind(arcp__jobs *jobs, arcp__job *job, bool is_behind);
/* The owner numbered `count` records from `position` on, beginning with `seq`; the job's first
 * record has the number `job_first_seq`. */
void arcp__job_note_owner_run(arcp__jobs *jobs, arcp__job *job, uint64_t job_first_seq,
                              uint64_t seq, uint64_t position, uint64_t count);
/* The first position whose number in the owning session is greater than `owner_seq`. */
uint64_t arcp__job_position_after(const arcp__job *job, uint64_t owner_seq);
/* The number in the owning session of the last record before `position`; 0 when there is none. */
uint64_t arcp__job_owner_seq(const arcp__job *job, uint64_t position);

/* ---- orders and admissions ---- */

/* A job's place in its trace (§11). The ids of its own spans are chosen before the job is made,
 * because spans of that time are their children. */
typedef struct arcp__trace {
    char traceparent[ARCP__TRACEPARENT_SIZE + 1]; /* for the agent, children, the provisioner */
    bool is_recorded;                       /* spans are made; the job's own id is in traceparent */
    char parent_id[ARCP__SPAN_ID_SIZE + 1]; /* the span that requested it; "" for none */
    char session_id[ARCP__SPAN_ID_SIZE + 1]; /* of the session's span; "" for a child */
    int64_t began_wall_ns;
} arcp__trace;
/* Reads the trace that a submit names (§11), or makes a new one, and chooses the job's place in it.
 * The tracestate is borrowed from the context's index. */
void arcp__trace_read(arcp__jobs *jobs, const arcp__envelope *envelope,
                      char trace_id[ARCP__TRACE_ID_SIZE], arcp__trace *out, arcp_span *tracestate);
/* Reads the trace id that a request names; trace_id[0] is '\0' when it names none. */
void arcp__trace_requested(arcp__context *context, const arcp__envelope *envelope,
                           char trace_id[ARCP__TRACE_ID_SIZE]);

typedef struct arcp__job_order {
    /* The request. */
    arcp__submitter *submitter; /* the job runs on it */
    arcp__principal *principal;
    arcp_feature_set features;
    arcp_span requested_agent;
    const arcp_json *json;
    arcp_json_ref requested_input, lease_request, lease_constraints;
    uint64_t max_runtime_sec;
    arcp_span key;              /* idempotency_key; empty for none */
    const uint8_t *fingerprint; /* 32 bytes, of the key's parameters */
    arcp_span trace_id;         /* 32 hex */
    const arcp__trace *trace;
    arcp_span tracestate;
    arcp__job *parent;  /* of a delegation, like the next four */
    arcp_json_ref body; /* the whole delegate body of the agent */
    arcp_span delegate_id, reply_to;
    bool waits_for_end;
    /* What src/job makes of it. */
    const arcp__agent_version *agent;
    arcp_span agent_name;             /* without the version */
    arcp_span input;                  /* compact JSON */
    const arcp_lease *lease;          /* effective */
    arcp__lease_work lease_work;      /* steps that its leases may still take */
    const arcp__admission *admission; /* had to wait: gives the job's id and time; or NULL */
} arcp__job_order;

typedef enum arcp__job_outcome {
    ARCP__JOB_MADE,     /* durable with the open batch; must still be started */
    ARCP__JOB_WAITS,    /* for a credential; the submitter's `ready` is called when that is there */
    ARCP__JOB_SAME_KEY, /* the job was made before under the same key */
    ARCP__JOB_REFUSED
} arcp__job_outcome;
typedef struct arcp__job_answer {
    arcp__job *job;             /* MADE */
    bool is_narrowed;           /* MADE: a policy granted less than was requested */
    arcp__admission *admission; /* WAITS; NULL: memory ran out */
    const char *job_id;         /* SAME_KEY: of the job, which may be removed already */
    arcp_span accepted;         /* SAME_KEY: the payload of the first response */
    arcp_buf details;           /* REFUSED: JSON object or empty; owned by the caller */
} arcp__job_answer;

/* What src/hook has notified of, which it sets. */
typedef struct arcp__job_hooked {
    int64_t next_denial_ns;  /* no notification of a denial before */
    uint64_t spent_percent;  /* of the budget of which most was spent */
    int64_t silent_since_ns; /* the silence that was looked at last, and its length then */
    uint64_t silent_sec;
} arcp__job_hooked;

/* What a job needs only until its end and its agent's release: many ended jobs are kept long. */
struct arcp__job_live {
    arcp__trace trace;
    char *tracestate;     /* owned; NULL for none */
    char *delegate_id;    /* owned; NULL for none */
    char *cwd;            /* owned: absolute; NULL for none */
    bool owns_cwd;        /* it was made for the job and must be removed afterwards */
    char *spent;          /* owned JSON, during a restart: what it had spent */
    char *input;          /* owned JSON; freed when the agent has it */
    char *wait_reply;     /* owned: the id of the parent's waiting delegate line */
    uint64_t wait_item;   /* that line's number; 0: none */
    char *cancel_message; /* owned: what the canceller wrote, as one line; NULL: nothing */
    char *end_message;    /* owned: of the error with which it ends then; NULL: the usual one */
    void *host, *user;    /* of its agent's registration; the host's own, which sets it */
    void *owner;          /* the engine's (arcp__jobs.owner), for the host */
    arcp__enforcement *enforcement;  /* owned; NULL: no host is asked */
    arcp__denials denials;           /* by its sandbox */
    arcp__port agent_port;           /* effects that wait for its agent */
    const arcp_lease *lease;         /* referenced */
    const arcp_authority *authority; /* referenced; any thread may use it */
    struct arcp__purse *purse;       /* referenced, or NULL */
    bool stores_holds;               /* calls through gateways wait for the rows of their holds */
    arcp__credential_slot credential;
    uint64_t max_runtime_sec;
    arcp__timer runtime_timer, expiry_timer, grace_timer, queue_timer;
    arcp__place place;            /* at its agent */
    size_t queued_bytes;          /* of its input, while it is queued */
    bool was_queued;              /* it has the event `queued` */
    bool had_credential;          /* before a restart */
    arcp_decimal reported_before; /* of that credential: arcp__credential_reported */
    char head[128]; /* the constant middle of its records: ..."type":"job.event","trace_id":... */
    size_t head_size;
    arcp__job_port port;          /* how its agent asks the gate and reports events */
    arcp__id_set delegate_ids;    /* of all its children, ended ones included */
    arcp__agent_metrics *metrics; /* where it is counted as running */
    arcp__job_details details;
    arcp__job_hooked hooked;
    int64_t last_input_ns;      /* when its agent last wrote something, or was started */
    arcp__job_numbers *numbers; /* owned; NULL: its host does not number what its agent says */
    uint64_t chunk_next, result_size;
    arcp_buf inline_result, plain_output; /* the first: chunks for a session without result_chunk */
};

/* Makes a job for a client's submit. */
arcp__job_outcome arcp__job_submit(arcp__jobs *jobs, arcp__job_order *order,
                                   arcp__job_answer *answer, arcp_error *err);

/* How a job of the order would be enforced, without making one: writes members of an object
 * (job_explain.c). A lease or agent that a submit refuses is refused with the same error. */
ARCP_MUST_CHECK arcp_status arcp__job_explain(arcp__jobs *jobs, arcp__job_order *order,
                                              arcp_json_writer *writer, arcp_buf *details,
                                              arcp_error *err);

/* Whether the admission only waits for its turn. */
bool arcp__admission_is_ready(const arcp__admission *admission);
/* Its order, which lives as long as the admission. */
const arcp__job_order *arcp__admission_order(const arcp__admission *admission);
/* Makes the job of a ready admission: MADE or REFUSED. */
arcp__job_outcome arcp__job_admit(arcp__jobs *jobs, arcp__admission *admission,
                                  arcp__job_order *order, arcp__job_answer *answer,
                                  arcp_error *err);
void arcp__admission_free(arcp__jobs *jobs, arcp__admission *admission);
/* Makes the job of a delegation that had to wait; frees the admission. */
void arcp__job_admit_child(arcp__jobs *jobs, arcp__admission *admission);
/* The oldest ready delegation; NULL: none. */
arcp__admission *arcp__submitter_ready_child(const arcp__submitter *submitter);
/* Whether another submit is making a job under this key; `ready` is called when it is free. */
bool arcp__submitter_waits_for_key(arcp__submitter *submitter, const arcp__principal *principal,
                                   arcp_span key);
/* Removes the submitter and its admissions. */
void arcp__submitter_fini(arcp__jobs *jobs, arcp__submitter *submitter);

/* ---- for hosts of agents (engine/engine.h) ---- */

void arcp__job_agent_started(arcp__jobs *jobs, arcp__job *job, arcp_status status,
                             arcp_span message);
void arcp__job_agent_message(arcp__jobs *jobs, arcp__job *job, const arcp__job_message *message);
void arcp__job_agent_exited(arcp__jobs *jobs, arcp__job *job, const arcp__agent_exit *exit);
/* The next FORGET_AGENT. Every agent that was started gets one, and it allocates nothing. */
bool arcp__job_next_forgotten(arcp__jobs *jobs, arcp__effect *out);
/* The owner has carried out that effect. */
void arcp__job_forget_done(arcp__jobs *jobs);

/* Appends the fields that log lines have for a job: {"job_id":"...","agent":...}. */
void arcp__job_fields(const arcp__job *job, arcp_buf *out);
/* Live jobs, and orders that are not jobs yet. */
void arcp__jobs_dump(const arcp__jobs *jobs, arcp__dump *dump);

/* ---- all jobs ---- */

struct arcp__jobs {
    /* Set by the owner. */
    arcp__context *context;
    arcp__log *log;
    arcp__credentials *credentials;
    void *user;               /* passed to the ops tables */
    void *owner;              /* of the engine: for the hosts of agents */
    int timer_kind;           /* of the timers for arcp__job_due */
    int worker_timer_kind;    /* of those for arcp__worker_due */
    char *worker_directory;   /* owned; of jobs on workers; NULL: work_directory */
    uint64_t worker_keep_sec; /* for which jobs on workers go on without the engine */
    arcp_span work_directory;
    bool makes_spans, has_no_log, is_recorded;
    bool makes_gateway_keys;             /* for jobs on workers */
    const arcp__agent_hosts *hosts;      /* borrowed */
    arcp_submit_policy_fn submit_policy; /* the embedding program's; or NULL */
    void *submit_policy_user;
    const arcp__job_watch *watch; /* NULL: nothing watches all jobs */
    bool is_restoring;            /* rows of an earlier run are being restored: no job is removed */
    uint64_t ended_leases_max;    /* ARCP__ENDED_LEASES_MAX; less in tests */

    arcp__job *all;          /* by id */
    arcp__job_list in_order; /* the same, in the order of their ids */
    arcp__marks marks;
    size_t running; /* jobs that have not ended, and admissions */
    arcp__stderrs errors;
    arcp__principal *principals;
    arcp__principal *idle; /* those with nothing left but their buckets, oldest first */
    size_t idle_count;
    arcp__agent_version *agents;  /* in order of registration */
    arcp__agent_version *offered; /* by workers; hidden where `agents` has the name */
    arcp__placement placement;    /* of their places */
    bool agents_changed;          /* they were cleared since arcp__jobs_place */
    arcp__worker_entry *workers;  /* owned */
    bool workers_opened;          /* one takes new jobs again, since arcp__jobs_place */
    arcp__policy_row *policies;
    struct arcp__kept_hold *kept_holds;      /* owned; during a restart */
    struct arcp__purse *purses, *due_purses; /* owned, by key; to be written with the open batch */
    size_t policy_count;
    arcp__admission *admissions; /* oldest first */
    arcp__idempotency *keys;
    arcp__idempotency *oldest_key; /* of all in the table */
    size_t key_count;
    uint64_t key_bytes; /* of the job.accepted payloads that answer them */

    arcp__job *forgetting; /* whose FORGET_AGENT the owner carries out until the next call */
    arcp__job *release_first, *release_last; /* to be released; pinned */
    arcp__job *over_limit; /* over a limit, to be ended after this input; pinned */
    arcp__job *due_rows;   /* to be written with the open batch; pinned */
    size_t live_agents;    /* whose START_AGENT was queued and that are not released */
    bool agents_paused;    /* because of the store's queue */
    bool leaves_workers;   /* the runtime stops, and workers go on with their jobs */
    arcp__job *ahead;      /* paused because of their principal's part of it; pinned */

    arcp__job *ended;                   /* that are kept, in the order of their ends */
    arcp__share kept[ARCP__KEPT_COUNT]; /* of `ended`; see kept.c */
    arcp__principal *over_share; /* has more than its share in the store, and ended jobs; or NULL */
    size_t evicted_count;        /* of jobs with is_evicted, which are not in `ended` */
    uint64_t evicted_bytes;      /* of their records */

    arcp_buf body;          /* of the current event */
    arcp_buf features_text; /* `features_written` as a JSON array; empty: not written yet */
    arcp_feature_set features_written;
    arcp__job_metrics metrics;
};

/* How credentials report to jobs; the owner of a slot is a job or an admission. */
extern const arcp__credential_ops arcp__job_credential_ops;

/* Frees everything. No session is left, and nothing more is written. */
void arcp__jobs_fini(arcp__jobs *jobs);
/* Releases all agents that have exited, without telling their hosts. */
void arcp__jobs_forget_agents(arcp__jobs *jobs);
void arcp__job_due(arcp__jobs *jobs, arcp__timer *timer);
/* The wall clock was set: handles expiries that are due now and arms the timers of the others. */
void arcp__jobs_wall_clock_set(arcp__jobs *jobs);
/* Removes some expired keys, then idle principals whose buckets are full. True: there are more. */
bool arcp__jobs_sweep(arcp__jobs *jobs);
/* Pauses or resumes reading all agents, depending on the store's queue. */
void arcp__jobs_update_pressure(arcp__jobs *jobs);
/* A batch is durable: resumes reading agents whose principals have little in the queue again. */
void arcp__jobs_committed(arcp__jobs *jobs);
/* Whether so much of the principal is in the queue that its agents and links are not read. */
bool arcp__principal_is_ahead(const arcp__jobs *jobs, const arcp__principal *principal, bool was);
/* Hands out the cancels and kills of running agents although the store fails. */
void arcp__jobs_release_stops(arcp__jobs *jobs);
/* Ends the jobs that exceeded a limit during this input. */
void arcp__jobs_end_over_limit(arcp__jobs *jobs);
/* Removes some of the oldest ended jobs beyond the limits. No input may be using them. */
void arcp__jobs_evict_oldest(arcp__jobs *jobs);
/* Writes the rows of jobs that ended or spent since the last batch, before the next is taken. */
void arcp__jobs_store_due(arcp__jobs *jobs);
/* The runtime stops: refuses all admissions that wait for a credential. */
void arcp__admissions_refuse(arcp__jobs *jobs, const char *why);

/* ---- restart ---- */

/* Restore a row of JOBS or IDEMPOTENCY from the context's index: ARCP_E_CORRUPT or NO_MEMORY. */
arcp_status arcp__job_restore_row(arcp__jobs *jobs, arcp_span key, arcp_error *err);
arcp_status arcp__idempotency_restore_row(arcp__jobs *jobs, arcp_span key, arcp_error *err);
/* After all rows: sorts the queue, and gives the jobs their authorities and counters, parents
 * before children. */
void arcp__jobs_restore_authorities(arcp__jobs *jobs);
/* job_hold.c. After the budgets were restored: what calls of jobs held when the runtime ended was
 * spent. */
void arcp__holds_spend(arcp__jobs *jobs);
/* After all streams: counts the ended jobs and sorts the keys by expiry. */
void arcp__jobs_restored(arcp__jobs *jobs);
/* After that: ends the jobs that were running, and has those that were queued wait again. */
void arcp__jobs_restarted(arcp__jobs *jobs);

#endif
