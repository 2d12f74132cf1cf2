/* The sandboxes of agents that are programs. A plan is compiled when a job is about to be made (the
 * engine asks, job/agent_host.h), kept by the engine, and carried out when the job's program is
 * started. */
#ifndef ARCP_RUNTIME_CONFINEMENT_H
#define ARCP_RUNTIME_CONFINEMENT_H

#include <arcp/enforce.h>

#include "engine/engine.h"
#include "launch/agent_sandbox.h"
#include "launch/sandbox_etc.h"
#include "process/process.h"
#include "runtime/agent_network.h"
#include "runtime/runtime_state.h"
#include "sandbox/sandbox.h"

/* What the runtime's options say, and what the host can do. Replaced as a whole by a reload: plans
 * have copies of what they need. */
struct arcp__confinement {
    arcp__arena arena;  /* of the lists */
    const char **bases; /* canonical; NULL-terminated; of every agent */
    arcp_span *exempt;  /* NULL: the default */
    size_t exempt_count;
    arcp_span *private_hosts;
    size_t private_host_count;
    arcp_span *model_hosts; /* as arcp__egress_options */
    size_t model_host_count;
    arcp__own_paths own;
    arcp__sandbox_abilities abilities;
    arcp__sandbox_level level;
};

/* The plan of one job, for the engine to keep. */
typedef struct arcp__job_plan {
    arcp__sandbox_plan *plan;
    arcp_buf text; /* the plan as arcp-sandbox reads it */
    char *scratch; /* level landlock: a directory for HOME and TMPDIR; NULL: none */
} arcp__job_plan;

/* A directory that is seen as /etc by agents of one user. */
typedef struct arcp__prepared_etc {
    struct arcp__prepared_etc *next;
    char *user;  /* owned; NULL: ours */
    bool has_ca; /* for sandboxes that trust an authority of their own */
    arcp_buf path;
    int64_t looked_mono_ns; /* when the host's files were last compared with it */
} arcp__prepared_etc;

/* ---- confinement.c ---- */

/* Replaces the confinement by that of `options`; NULL: agents are no longer confined. Runs
 * arcp-sandbox once. ARCP_E_USAGE for a path that is not absolute, or without a work directory;
 * then nothing has changed. */
ARCP_MUST_CHECK arcp_status arcp__confinement_set(arcp_runtime *runtime,
                                                  const arcp_enforce_options *options,
                                                  arcp_error *err);
void arcp__confinement_free(arcp__confinement *confinement); /* NULL is accepted */

/* Compiles the plan of a job of the agent into `out`, which is zero-initialised but for an empty
 * text. As arcp__sandbox_plan_new. `is_shared`: the job runs in a served process, and the plan is
 * only judged. */
ARCP_MUST_CHECK arcp_status arcp__confinement_compile(const arcp_runtime *runtime,
                                                      const arcp__process_agent *agent,
                                                      const arcp__admit_request *request,
                                                      bool is_shared, arcp__job_plan *out,
                                                      arcp_error *err);
void arcp__job_plan_free(arcp__job_plan *plan); /* NULL is accepted */

/* Copies a list of absolute paths in canonical form; NULL: the error says why. */
const char **arcp__confinement_paths(arcp__arena *arena, const char *const *paths, arcp_error *err);

/* The engine's questions; `user` is the runtime. */
arcp__agent_hosts arcp__confinement_hosts(arcp_runtime *runtime);

/* ---- confinement_agent.c ---- */

/* Copies what a registration says about its sandbox. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__confinement_register(arcp__process_agent *agent,
                                                       const arcp_process_agent *from,
                                                       arcp_error *err);
/* Looks for what the agent's command needs, unless that was found before, or looked for in the last
 * second. A failure is not an error here: the program may be installed later, and without it a
 * start fails. */
void arcp__confinement_find_command(arcp__process_agent *agent);

/* ---- confinement_start.c ---- */

/* Prepares the /etc of this user's agents, so that the first job does not wait for it. */
void arcp__confinement_warm_etc(arcp_runtime *runtime, const char *user);

/* What the start of a confined process needs, beside its plan. */
typedef struct arcp__confined_start {
    arcp__process_confinement confinement;
    arcp_buf etc;
    arcp__tls_ca *ca; /* NULL: TLS stays closed, or the caller has taken it */
} arcp__confined_start;

/* Prepares the host for the plan of a job with this lease. The result borrows from the plan; call
 * fini in any case. */
ARCP_MUST_CHECK arcp_status arcp__confined_start_init(arcp__confined_start *start,
                                                      arcp_runtime *runtime, const char *user,
                                                      const arcp__job_plan *plan,
                                                      const arcp_lease *lease, arcp_error *err);
void arcp__confined_start_fini(arcp__confined_start *start);

/* Serves the network of the sandbox of a job; sockets and `ca` (may be NULL) of `options` are owned
 * from now on, and the rest of them is completed. The first one starts the runtime's egress thread.
 * ARCP_E_NO_MEMORY, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__confinement_open_network(arcp_runtime *runtime,
                                                           const arcp__job *job,
                                                           arcp__agent_network_options *options,
                                                           arcp__agent_network_job **out,
                                                           arcp_error *err);

/* The same for a sandbox whose authority is in the options, too. */
ARCP_MUST_CHECK arcp_status arcp__confinement_serve_network(arcp_runtime *runtime,
                                                            arcp__agent_network_options *options,
                                                            arcp__agent_network_job **out,
                                                            arcp_error *err);

/* HOME, TMPDIR, the proxy of the network, and a mark by which a program knows that it is confined.
 */
void arcp__confined_environment(const arcp__job_plan *plan, arcp__environment *environment);

/* Those of the limits (bits) that a cgroup can hold here, if the settings allow one. */
unsigned arcp__confinement_find_limits(const arcp_runtime *runtime, unsigned wanted);

/* A record of the sandbox of a job. */
void arcp__confinement_record(arcp_runtime *runtime, arcp__job *job, arcp_span record);

void arcp__prepared_etcs_free(arcp_runtime *runtime);

/* ---- confinement_warm.c: confined processes that are started before their job ----
 *
 * Such a process is started by a plan without a lease. Jobs whose plan is late can have it. */

/* Has the agent's pool, which is not made yet, start confined processes. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__warm_new(arcp__process_agent *agent,
                                           arcp__process_pool_options *options, arcp_error *err);
void arcp__warm_free(struct arcp__warm *warm); /* NULL is accepted */

/* A waiting process that can have the lease of this plan, which is late; the caller owns it, and
 * gives it the lease. NULL: there is none. Processes that were started by a plan that is out of
 * date are replaced. */
arcp__agent_process *arcp__warm_take(arcp__process_agent *agent, const arcp__job_plan *plan);

/* ---- confinement_status.c ---- */

/* Counts a sandbox that was set up, requested then, and one that was not. */
void arcp__confinement_started(arcp_runtime *runtime, arcp__sandbox_level level,
                               int64_t requested_mono_ns);
void arcp__confinement_failed(arcp_runtime *runtime, const char *step);
void arcp__confinement_write_metrics(const arcp_runtime *runtime, arcp_buf *out);

#endif
