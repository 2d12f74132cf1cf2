/* The programs of agents on the machine where this code runs: their registrations with warm and
 * served processes, their sandboxes, and the network of these. The runtime has one, and so has a
 * worker that is a process of its own. It knows jobs by their id only.
 *
 * All functions of this folder are called on the owner's thread. */
#ifndef ARCP_HOSTING_HOSTING_H
#define ARCP_HOSTING_HOSTING_H

#include <arcp/enforce.h>
#include <arcp/gate.h>
#include <uv.h>

#include "base/arena.h"
#include "launch/agent_sandbox.h"
#include "launch/sandbox_record.h"
#include "process/process.h"

typedef struct arcp__confinement arcp__confinement;
typedef struct arcp__prepared_etc arcp__prepared_etc;

typedef enum arcp__hosting_level {
    ARCP__HOSTING_INFO,
    ARCP__HOSTING_WARN,
    ARCP__HOSTING_ERROR
} arcp__hosting_level;

/* The gateways that sandboxes lead to, as bits. */
enum { ARCP__HOSTING_MODELS = 1, ARCP__HOSTING_TOOLS = 2 };

/* Zero-initialised, then filled in by the owner: the process table, `wake` and `log` before
 * anything is called. */
typedef struct arcp__hosting {
    arcp__process_table *processes; /* the owner's */
    uv_async_t *wake;               /* sent when arcp__agent_network_take has to be called */
    void (*log)(void *user, arcp__hosting_level level, const char *text);
    void *user;
    unsigned gateways;
    size_t line_bytes_max;    /* of a line of an agent */
    uint64_t cancel_grace_ms; /* of a job of a served process, after which that is retired */
    struct {
        uint32_t min, tls, cgroup;
        bool hides, is_silent;
        bool outlasts_expiry, outlasts_budget; /* lease.on_expiry and budget.on_exhaustion: deny */
        uint64_t scratch_bytes, pids, egress_idle_sec;
    } enforce; /* the settings of the group enforce; is_silent is not enforce.report */
    struct {
        uint64_t starts[ARCP__SANDBOX_LEVEL_COUNT];
        uint64_t failures[ARCP__SANDBOX_STEP_COUNT];
        uint64_t start_ns_sum, start_count;
    } sandboxes;                         /* counters */
    arcp__confinement *confinement;      /* owned; NULL: agents are not confined */
    arcp__prepared_etc *prepared_etcs;   /* owned; one for each user of agents */
    struct arcp__agent_network *network; /* owned; NULL: no confined agent has had one */
} arcp__hosting;

/* Closes the network of all sandboxes. */
void arcp__hosting_end_network(arcp__hosting *hosting);
/* Frees what it owns; no process of an agent may be left. */
void arcp__hosting_fini(arcp__hosting *hosting);
void arcp__hosting_log(const arcp__hosting *hosting, arcp__hosting_level level, const char *format,
                       ...) ARCP_PRINTF(3, 4);

/* ---- agents ---- */

/* What is registered of an agent that is a program, as arcp_process_agent (arcp/runtime.h), which
 * has the comments. Borrowed. */
typedef struct arcp__agent_row {
    const char *name, *version; /* either may be NULL */
    const char *const *command;
    const char *const *env; /* NAME=VALUE, or NAME to pass ours; NULL-terminated; may be NULL */
    bool env_is_all;        /* `env` has all variables, those of every program, too */
    const char *cwd, *user;
    const arcp_launch_limit *limits;
    size_t limit_count;
    bool is_plain, stderr_in_errors;
    size_t warm;
    bool without_gateways;
    /* Of its sandboxes. */
    bool confine;
    const char *const *base;
    arcp_protect protect;
    arcp_enforce_min min;
    arcp_enforce_tls tls;
    uint32_t pids, cpu_percent;
    uint64_t memory_bytes;
    /* Of its served processes. */
    size_t processes, concurrency;
    uint64_t jobs_per_process, process_memory_bytes;
    const arcp_lease *lease; /* NULL: an empty one */
} arcp__agent_row;

/* What the registration of an agent says about its sandboxes. */
typedef struct arcp__agent_confinement {
    bool is_on;
    bool is_found;          /* what its command needs */
    int64_t looked_mono_ns; /* for that, the last time; 0: not yet */
    arcp_enforce_min min;
    arcp_enforce_tls tls;
    arcp__sandbox_protect protect;
    uint32_t pids;               /* 0: the setting */
    uint64_t memory_bytes;       /* 0: no limit */
    uint32_t cpu_percent;        /* 0: no limit */
    arcp__agent_sandbox sandbox; /* its bases, its directory, and what its command needs */
} arcp__agent_confinement;

/* The registration of a process agent. */
typedef struct arcp__process_agent {
    arcp__hosting *hosting; /* NULL: not initialised */
    arcp__arena arena;      /* holds the strings of `spec`, `env` and `cwd` */
    const char *const *env; /* NULL-terminated */
    bool env_is_all;
    const char *cwd; /* or NULL */
    bool stderr_in_errors;
    bool without_gateways;
    arcp__process_spec spec;  /* common to all its processes */
    arcp__process_pool *pool; /* NULL: no warm processes, or the registration was replaced */
    arcp__environment warm_environment;
    arcp__process_spec warm_spec;
    struct arcp__warm
        *warm; /* owned; of a pool of confined processes; NULL: they are not confined */
    arcp__agent_confinement confinement;
    struct arcp__served_agent *served; /* owned; NULL: each job has a process of its own */
} arcp__process_agent;

/* Copies a row. ARCP_E_USAGE, ARCP_E_NO_MEMORY; then the agent is as it was. */
ARCP_MUST_CHECK arcp_status arcp__process_agent_init(arcp__process_agent *agent,
                                                     arcp__hosting *hosting,
                                                     const arcp__agent_row *row, arcp_error *err);
/* Begins to keep so many warm processes, if the agent can have them, and prepares what its first
 * job would wait for. */
ARCP_MUST_CHECK arcp_status arcp__process_agent_warm(arcp__process_agent *agent, const char *name,
                                                     size_t count, arcp_error *err);
/* Its waiting processes end; no new jobs will use them. */
void arcp__process_agent_cool(arcp__process_agent *agent);
/* Must not be called while one of its processes runs for a job. */
void arcp__process_agent_fini(arcp__process_agent *agent);

/* Whether each job of the agent runs in a sandbox, or its served processes do. */
static inline bool arcp__process_agent_is_confined(const arcp__process_agent *agent)
{
    return agent->hosting->confinement != NULL && agent->confinement.is_on;
}

/* The variables that all its processes have. */
void arcp__process_agent_environment(const arcp__process_agent *agent,
                                     arcp__environment *environment);

#endif
