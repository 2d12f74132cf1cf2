/* What the engine remembers: jobs, and what is to become a job. state.h has
 * the whole picture. */
#ifndef ARCP_ENGINE_STATE_JOB_H
#define ARCP_ENGINE_STATE_JOB_H

#include "credential/credential.h"
#include <assert.h>

#include "engine/job_lifecycle.h"
#include "engine/state_session.h"

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

/* What an agent reported to have spent in one currency. */
typedef struct arcp__job_cost {
    struct arcp__job_cost *next;
    arcp_decimal amount;
    char currency[]; /* ends with NUL */
} arcp__job_cost;

/* What only a job needs that has not ended, or whose agent is winding down. Ended jobs are kept
 * long and are many. */
typedef struct arcp__job_live {
    arcp__trace trace;
    char *tracestate;  /* owned; NULL for none */
    char *delegate_id; /* owned; NULL for none */
    char *cwd;         /* owned; NULL for none */
    bool owns_cwd;
    char *input;          /* owned JSON; freed when the agent has it */
    char *wait_reply;     /* owned: the id of the parent's waiting delegate line */
    char *cancel_message; /* owned: what the canceller wrote, as one line; NULL: nothing */
    void *host;
    void *user;
    arcp__port agent_port;           /* what waits for its agent */
    const arcp_lease *lease;         /* referenced */
    const arcp_authority *authority; /* referenced */
    arcp__credential_slot credential;
    uint64_t max_runtime_sec;
    arcp__timer runtime_timer, expiry_timer, grace_timer;
    char head[128]; /* ..."type":"job.event","trace_id":...: the fixed middle of a record */
    size_t head_size;
    arcp__job_port port;          /* what its agent asks and says */
    arcp__id_set delegate_ids;    /* of its children, those that ended too */
    arcp__agent_metrics *metrics; /* where it is counted as running; NULL: nowhere */
    arcp__job_cost *costs;        /* owned */
    size_t cost_count;
    uint64_t chunk_next;
    uint64_t result_size;
    arcp_buf inline_result; /* chunks assembled for a session without result_chunk */
    arcp_buf plain_output;
} arcp__job_live;

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
    arcp__agent_stop stop;  /* what the agent was told */
    const char *over_limit; /* the setting that it said more than; NULL: none */
    arcp__job *next_over_limit;
    bool is_over; /* listed in the engine: to be handed out, or no longer live */
    bool cancelling;
    bool said_end;   /* the agent itself ended the job: it is winding down */
    bool row_is_due; /* its row goes with the open batch; listed in the engine */
    arcp__job *next_due;
    bool paused;
    bool is_held;     /* not to be read because its owner has too much to send */
    bool expiry_told; /* the lease's expiry was logged */
    bool bad_line;    /* a line that began with { and did not parse */
    bool chunks_ended;
    bool is_plain_output; /* raw output has come */
    bool is_terminal;     /* listed as ended, in the engine and in its principal */
    bool is_weighed;      /* its bytes are counted there: see kept.c */
    bool is_owed;         /* counted there: kept for its session only */
    arcp__job *ended_prev, *ended_next;
    arcp__job *own_ended_prev, *own_ended_next;
    uint64_t terminal_bytes; /* of its records and `accepted`, as they are counted there */
    uint32_t accepted_size;  /* of `accepted` alone, likewise */
    uint32_t pins;
    uint32_t depth;
    uint32_t live_children;
    uint32_t admissions; /* children that are not jobs yet */

    arcp__job *next_over;
    arcp__job *parent;   /* while it lives; pinned */
    arcp__job *children; /* live and ended ones that still know us */
    arcp__job *next_child;

    int64_t created_wall_ns;
    int64_t ended_wall_ns;
    arcp__timer keep_timer;

    arcp__stream *stream;
    arcp__owner_run *owner_runs;
    size_t owner_run_count, owner_run_capacity;
    arcp__observer *observers;
    /* Of the session it runs on; NULL when that is gone. */
    arcp__observer *owner;
    arcp__submitter *submitter;
    /* The numbers there of its first record and of its end, as its row has them; 0: not yet. */
    uint64_t first_seq, last_seq;

    bool has_spent_row; /* in the table JOBS, until the job ends */
    bool in_spenders;   /* listed in the engine */
    arcp__job *next_spender;

    arcp__idempotency *idempotency; /* the key that made it, while that is remembered */
};

/* ---- what is to become a job ---- */

/* An order on its way to a job (admission.c). Counted as a running job. */
struct arcp__admission {
    arcp__admission *previous, *next;           /* all, oldest first */
    arcp__admission *own_previous, *own_next;   /* of its submitter, likewise */
    arcp__admission *peer_previous, *peer_next; /* of its principal, likewise */
    arcp__submitter *submitter;
    arcp__submitter *key_waiters;     /* whose next submit has the same key */
    arcp__principal *principal;       /* has a running job more, and so stays */
    arcp__job *parent;                /* of a delegation; pinned */
    arcp__credential_slot credential; /* asked for or issued; or empty */
    bool is_ready;                    /* nothing more to wait for but its turn */
    bool waits_for_end;               /* of a delegation */
    arcp_error error;                 /* why it is refused, unless ARCP_OK */
    char job_id[ARCP__ID_SIZE];
    int64_t created_wall_ns;
    const arcp_lease *lease; /* referenced */
    arcp_buf input;
    arcp_buf notes; /* what the policies said, for the log */
    char trace_id[33];
    arcp__trace trace;
    char *agent, *agent_name, *tracestate, *key; /* owned */
    uint8_t print[32];                           /* of the key's parameters */
    arcp_feature_set features;
    uint64_t max_runtime_sec;
    char *delegate_id, *reply_to; /* owned; reply_to "" for no reply */
    char *body;                   /* owned: of a delegation, for its event */
};

/* The terminal record is out. */
static inline bool arcp__job_has_ended(const arcp__job *job)
{
    return arcp_job_status_is_terminal(job->status);
}

/* Its agent runs, or is to start. */
static inline bool arcp__job_has_agent(const arcp__job *job)
{
    return job->agent_state == ARCP__AGENT_STARTING || job->agent_state == ARCP__AGENT_RUNNING;
}

/* The only two that change a state (job_lifecycle.h); a transition must be legal. */
static inline void arcp__job_enter(arcp__job *job, arcp_job_status status)
{
    assert(arcp__job_status_may_become(job->status, status));
    job->status = status;
}

static inline void arcp__agent_enter(arcp__job *job, arcp__agent_state state)
{
    assert(arcp__agent_state_may_become(job->agent_state, state));
    job->agent_state = state;
}

#endif
