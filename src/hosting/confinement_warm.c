/* Warm processes of confined agents. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "hosting/confinement.h"

struct arcp__warm {
    arcp__process_agent *agent;
    arcp_lease *nothing;  /* a reference: an empty lease */
    arcp__job_plan *plan; /* of the waiting processes; NULL: none was started yet */
    /* Of the process that is being started. */
    arcp__confined_start start;
    arcp__environment environment;
    int64_t requested_mono_ns;
};

/* The plan by which a process would be started now, in the directory; NULL: the error says why. */
static arcp__job_plan *compile(struct arcp__warm *warm, arcp_span directory, arcp_error *err)
{
    char id[64];
    const arcp__hosting *hosting = warm->agent->hosting;
    arcp__job_plan *plan = arcp__alloc(sizeof *plan);
    if (plan == NULL) {
        (void)arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        return NULL;
    }
    plan->text = arcp_buf_init();
    (void)snprintf(id, sizeof id, "warm-%llu",
                   (unsigned long long)arcp__process_table_number(hosting->processes));
    const arcp__plan_request request = {
        .job_id = arcp_span_cstr(id), .lease = warm->nothing, .cwd = directory};
    arcp_status status =
        hosting->confinement == NULL
            ? arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "agents are not confined any more")
            : arcp__confinement_compile(hosting, warm->agent, &request, false, plan, err);
    if (status == ARCP_OK && !plan->plan->is_late) {
        status = arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                                "this host cannot confine a process before its job (arcp doctor)");
    }
    if (status != ARCP_OK) {
        arcp__job_plan_free(plan);
        return NULL;
    }
    return plan;
}

/* Whether a process that was started by the plan that is kept is like one that is started now. */
static bool is_current(const struct arcp__warm *warm, const arcp__job_plan *now)
{
    return arcp__sandbox_plan_takes(warm->plan->plan, now->plan);
}

/* Keeps the plan; processes of another kind do not wait any longer. */
static void replace_plan(struct arcp__warm *warm, arcp__job_plan *plan)
{
    if (warm->plan != NULL && !is_current(warm, plan)) {
        arcp__process_pool_renew(warm->agent->pool);
    }
    arcp__job_plan_free(warm->plan);
    warm->plan = plan;
}

/* ---- for the pool; `user` is the agent ---- */

static arcp_status confine(void *user, arcp__process_spec *spec, arcp_error *err)
{
    const arcp__process_agent *agent = user;
    struct arcp__warm *warm = agent->warm;
    arcp__job_plan *plan = compile(warm, arcp_span_cstr(spec->cwd), err);
    if (plan == NULL) {
        return err->status;
    }
    replace_plan(warm, plan);
    arcp__process_agent_environment(agent, &warm->environment);
    arcp__confined_environment(plan, &warm->environment);
    arcp_status status = arcp__confined_start_init(&warm->start, agent->hosting, agent->spec.user,
                                                   plan, warm->nothing, err);
    if (status == ARCP_OK && warm->environment.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    spec->confinement = &warm->start.confinement;
    spec->env = (const char *const *)warm->environment.pairs;
    warm->requested_mono_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    return status;
}

static void confined(void *user)
{
    struct arcp__warm *warm = ((arcp__process_agent *)user)->warm;
    arcp__confined_start_fini(&warm->start);
    warm->start = (arcp__confined_start){.etc = arcp_buf_init()};
    arcp__environment_fini(&warm->environment);
}

static void running(void *user)
{
    const arcp__process_agent *agent = user;
    const struct arcp__warm *warm = agent->warm;
    arcp__confinement_started(agent->hosting, warm->plan->plan->level, warm->requested_mono_ns);
}

arcp_status arcp__warm_new(arcp__process_agent *agent, arcp__process_pool_options *options,
                           arcp_error *err)
{
    arcp_lease_builder *builder = arcp_lease_builder_new();
    struct arcp__warm *warm = arcp__alloc(sizeof *warm);
    if (builder == NULL || warm == NULL) {
        arcp_lease_builder_free(builder);
        arcp__free(warm);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    *warm = (struct arcp__warm){.agent = agent, .start = {.etc = arcp_buf_init()}};
    const arcp_status status = arcp_lease_build(builder, &warm->nothing, err);
    if (status != ARCP_OK) {
        arcp__free(warm);
        return status;
    }
    agent->warm = warm;
    options->confine = confine;
    options->confined = confined;
    options->running = running;
    return ARCP_OK;
}

void arcp__warm_free(struct arcp__warm *warm)
{
    if (warm == NULL) {
        return;
    }
    arcp_lease_unref(warm->nothing);
    arcp__job_plan_free(warm->plan);
    arcp__confined_start_fini(&warm->start);
    arcp__environment_fini(&warm->environment);
    arcp__free(warm);
}

/* ---- for jobs ---- */

arcp__agent_process *arcp__warm_take(arcp__process_agent *agent, const arcp__job_plan *plan)
{
    struct arcp__warm *warm = agent->warm;
    arcp__job_plan *now = NULL;
    if (agent->pool == NULL || warm == NULL || warm->plan == NULL ||
        arcp__process_pool_waiting(agent->pool) == 0) {
        return NULL;
    }
    /* A link of the configuration can lead elsewhere since, or a command be found that was absent.
     */
    char directory[4096];
    const int written = snprintf(directory, sizeof directory, "%s/warm",
                                 arcp__process_table_directory(agent->hosting->processes));
    if (written > 0 && (size_t)written < sizeof directory) {
        now = compile(warm, arcp_span_cstr(directory), NULL);
    }
    if (now == NULL) {
        return NULL;
    }
    const bool was_current = is_current(warm, now);
    if (was_current) {
        arcp__job_plan_free(now);
    } else {
        replace_plan(warm, now);
    }
    return was_current && arcp__sandbox_plan_takes(warm->plan->plan, plan->plan)
               ? arcp__process_pool_take(agent->pool)
               : NULL;
}
