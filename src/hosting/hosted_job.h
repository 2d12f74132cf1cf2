/* One job of an agent that is a program, on this machine: the start of its program, its sandbox,
 * and the network of that. The owner has the job's lines, and the turn of its start
 * (worker/worker_program.h). */
#ifndef ARCP_HOSTING_HOSTED_JOB_H
#define ARCP_HOSTING_HOSTED_JOB_H

#include "hosting/confinement.h"

/* Filled in by the owner up to `user`, else zero-initialised. */
typedef struct arcp__hosted_job {
    arcp__process_agent *agent;
    const arcp__job_plan *plan; /* NULL: not confined, or the sandbox is that of a served process */
    const arcp_authority *authority; /* of its lease */
    void (*denied)(void *user, const arcp__network_denial *denial);
    void *user;

    arcp__agent_process *process;     /* the owner's program has it; NULL: none, or not yet */
    arcp__agent_network_job *network; /* of its sandbox; NULL: none, not yet, or it is closed */
    arcp__tls_ca *ca;                 /* for its network, until that is served; or NULL */
    bool is_cut_off;                  /* it gets no network any more */
    int64_t requested_mono_ns;        /* when its confined program was requested */
} arcp__hosted_job;

/* How its program is started, unless a warm one is taken. */
typedef struct arcp__hosted_start {
    const char *cwd;
    bool owns_cwd;                  /* the directory is the job's own */
    arcp__environment *environment; /* without what its sandbox adds */
    const char *file_name;          /* as in arcp__process_spec */
    arcp_span file_text;
} arcp__hosted_start;

/* Whether a warm process of its agent waits that would do. */
bool arcp__hosted_job_has_warm(const arcp__hosted_job *job);

/* Takes a warm process, or requests the start of one. *lease is what the process is to be given
 * then (arcp__agent_process_lease); empty: nothing. *is_warm: it runs already. */
ARCP_MUST_CHECK arcp_status arcp__hosted_job_begin(arcp__hosted_job *job,
                                                   const arcp__hosted_start *start,
                                                   const arcp__agent_process_callbacks *callbacks,
                                                   bool *is_warm, arcp_span *lease,
                                                   arcp_error *err);

/* Serves the network of its sandbox, or closes the sockets, which it owns from now on. `gateway`
 * has the members of the same name (may be NULL). A failure ends the process. */
void arcp__hosted_job_serve_network(arcp__hosted_job *job, const int *sockets, size_t count,
                                    const char *proxy_secret,
                                    const arcp__agent_network_options *gateway);
/* Closes its network, after what it was denied until now was reported. */
void arcp__hosted_job_cut_off(arcp__hosted_job *job);
/* Its lease grants nothing any more. */
void arcp__hosted_job_revoke(arcp__hosted_job *job);

/* To be called with each record of its sandbox, and when its process has ended, before the owner
 * reports that. */
void arcp__hosted_job_note_record(const arcp__hosted_job *job, arcp_span record);
void arcp__hosted_job_note_end(arcp__hosted_job *job);

/* Before its process is freed. */
void arcp__hosted_job_fini(arcp__hosted_job *job);

#endif
