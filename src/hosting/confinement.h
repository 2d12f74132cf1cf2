/* The sandboxes of agents that are programs: what the operator's options say about them, the plan
 * of each, and the start of a program by its plan. */
#ifndef ARCP_HOSTING_CONFINEMENT_H
#define ARCP_HOSTING_CONFINEMENT_H

#include "hosting/agent_network.h"
#include "hosting/hosting.h"
#include "launch/sandbox_etc.h"
#include "sandbox/sandbox.h"

/* What arcp_enforce_options say, and what the host can do. Replaced as a whole by a reload: plans
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
    arcp_buf options; /* what it was made of, as an object (agent_row.h) */
};

/* Of what a plan is made, beside the agent's registration. Borrowed for the call. */
typedef struct arcp__plan_request {
    arcp_span job_id; /* or another name that is the only one of its kind here */
    const arcp_lease *lease;
    arcp_span cwd;      /* of an agent without a directory of its own */
    arcp_span endpoint; /* URL that the job's credential is for; empty: none */
    bool is_cold;       /* no warm process is to be used, also where the agent has some */
} arcp__plan_request;

/* The plan of one job. */
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
ARCP_MUST_CHECK arcp_status arcp__confinement_set(arcp__hosting *hosting,
                                                  const arcp_enforce_options *options,
                                                  arcp_error *err);
void arcp__confinement_free(arcp__confinement *confinement); /* NULL is accepted */

/* Compiles the plan of a job of the agent into `out`, which is zero-initialised but for an empty
 * text. As arcp__sandbox_plan_new. `is_shared`: the job runs in a served process, and the plan is
 * only judged. */
ARCP_MUST_CHECK arcp_status arcp__confinement_compile(const arcp__hosting *hosting,
                                                      const arcp__process_agent *agent,
                                                      const arcp__plan_request *request,
                                                      bool is_shared, arcp__job_plan *out,
                                                      arcp_error *err);
void arcp__job_plan_free(arcp__job_plan *plan); /* NULL is accepted */

/* Copies a list of absolute paths in canonical form; NULL: the error says why. */
const char **arcp__confinement_paths(arcp__arena *arena, const char *const *paths, arcp_error *err);

/* Fills in what the operator says about all sandboxes. */
void arcp__confinement_complete(const arcp__hosting *hosting, arcp__sandbox_request *request);

/* Counts a sandbox that was set up, requested then, and one that was not. */
void arcp__confinement_started(arcp__hosting *hosting, arcp__sandbox_level level,
                               int64_t requested_mono_ns);
void arcp__confinement_failed(arcp__hosting *hosting, arcp_span step);

/* ---- agent_row.c ---- */

/* Appends them as an object. ARCP_E_INVALID_REQUEST for text that is not UTF-8, ARCP_E_LIMIT,
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__enforce_options_write(const arcp_enforce_options *options,
                                                        arcp_buf *out, arcp_error *err);

/* ---- confinement_agent.c ---- */

/* Copies what a registration says about its sandbox. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__confinement_register(arcp__process_agent *agent,
                                                       const arcp__agent_row *from,
                                                       arcp_error *err);
/* Looks for what the agent's command needs, unless that was found before, or looked for in the last
 * second. A failure is not an error here: the program may be installed later, and without it a
 * start fails. */
void arcp__confinement_find_command(arcp__process_agent *agent);

/* ---- confinement_start.c ---- */

/* Prepares the /etc of this user's agents, so that the first job does not wait for it. */
void arcp__confinement_warm_etc(arcp__hosting *hosting, const char *user);

/* What the start of a confined process needs, beside its plan. */
typedef struct arcp__confined_start {
    arcp__process_confinement confinement;
    arcp_buf etc;
    arcp__tls_ca *ca; /* NULL: TLS stays closed, or the caller has taken it */
} arcp__confined_start;

/* Prepares the host for the plan of a job with this lease. The result borrows from the plan; call
 * fini in any case. */
ARCP_MUST_CHECK arcp_status arcp__confined_start_init(arcp__confined_start *start,
                                                      arcp__hosting *hosting, const char *user,
                                                      const arcp__job_plan *plan,
                                                      const arcp_lease *lease, arcp_error *err);
void arcp__confined_start_fini(arcp__confined_start *start);

/* Serves the network of the sandbox of a job with this authority; sockets and `ca` (may be NULL) of
 * `options` are owned from now on, and the rest of them is completed. The first one starts the
 * egress thread. ARCP_E_NO_MEMORY, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__confinement_open_network(
    arcp__hosting *hosting, const arcp_authority *authority, const arcp__job_plan *plan,
    arcp__agent_network_options *options, arcp__agent_network_job **out, arcp_error *err);

/* The same for a sandbox whose authority is in the options, too. */
ARCP_MUST_CHECK arcp_status arcp__confinement_serve_network(arcp__hosting *hosting,
                                                            arcp__agent_network_options *options,
                                                            arcp__agent_network_job **out,
                                                            arcp_error *err);

/* HOME, TMPDIR, the proxy of the network, and a mark by which a program knows that it is confined.
 */
void arcp__confined_environment(const arcp__job_plan *plan, arcp__environment *environment);

/* Those of the limits (bits) that a cgroup can hold here, if the settings allow one. */
unsigned arcp__confinement_find_limits(const arcp__hosting *hosting, unsigned wanted);

void arcp__prepared_etcs_free(arcp__hosting *hosting);

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

#endif
