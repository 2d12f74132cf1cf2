/* Agents and policies, as configured by the operator. */
#ifndef ARCP_JOB_AGENT_REGISTRATION_H
#define ARCP_JOB_AGENT_REGISTRATION_H

#include <stdbool.h>
#include <stdint.h>

#include <arcp/error.h>
#include <arcp/lease.h>

#include "json/json.h"

struct arcp__jobs;
struct arcp__agent_version;

typedef struct arcp__agent_registration {
    arcp_span name;
    arcp_span version;              /* may be empty */
    bool is_default, is_unconfined; /* is_unconfined: though the runtime confines agents; shown */
    void *host;                     /* passed on in START_AGENT (job->live->host) */
    arcp_span cwd; /* absolute; empty: a directory of its own under work_directory */
    arcp_span
        worker; /* that runs its jobs, by name (job_worker.h); empty: they end with the engine */
    size_t max_jobs;          /* that run at the same time; 0: no limit */
    bool refuses, has_no_cwd; /* jobs beyond max_jobs, else they wait; its jobs have cwd: null */
} arcp__agent_registration;
/* See arcp__engine_register_agent and the functions below it (engine/engine.h). */
ARCP_MUST_CHECK arcp_status arcp__agent_register(struct arcp__jobs *jobs,
                                                 const arcp__agent_registration *agent,
                                                 arcp_error *err);
void arcp__agents_clear(struct arcp__jobs *jobs);
void arcp__agents_for_each_host(const struct arcp__jobs *jobs, void (*each)(void *user, void *host),
                                void *user);
/* Writes the member "agents" of session.welcome. */
void arcp__agents_write(const struct arcp__jobs *jobs, bool rich, arcp_json_writer *writer);

/* Agents by name, each as the first of its versions: registered ones, then those of
 * workers. `first` NULL: the first of all. NULL: there is no other. Valid until the engine's next
 * input. */
const struct arcp__agent_version *arcp__agent_next_name(const struct arcp__jobs *jobs,
                                                        const struct arcp__agent_version *first);
const char *arcp__agent_name_of(const struct arcp__agent_version *first);
/* Appends its row for operators: {name, versions, ended}. */
void arcp__agent_write_row(const struct arcp__jobs *jobs, const struct arcp__agent_version *first,
                           arcp_buf *out);

/* A policy row (`policy:` in the configuration file): the most that jobs whose principal and agent
 * match may get. `ceiling` (a reference is taken) may be NULL; its cost.budget and expiry narrow,
 * too. Capabilities that it does not name are removed, unless `leaves_others_open`. */
typedef struct arcp__policy {
    arcp_span principal_glob;
    arcp_span agent_glob;
    const arcp_lease *ceiling;
    bool leaves_others_open;
    uint64_t max_lifetime_sec; /* 0: none */
    const arcp_lease *spend;   /* what a principal may spend on a day (purse.h); NULL: none */
} arcp__policy;
ARCP_MUST_CHECK arcp_status arcp__policy_add(struct arcp__jobs *jobs, const arcp__policy *policy,
                                             arcp_error *err);
void arcp__policies_clear(struct arcp__jobs *jobs);

#endif
