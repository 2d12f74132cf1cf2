/* Jobs whose agent is gone, or never was: what they needed while they were live is freed, after
 * their owner was told to forget the agent. */
#include "engine/parts.h"

static void release_if_over(arcp__engine *engine, arcp__job *job)
{
    if (arcp__job_has_ended(job)) {
        arcp__job_release_live(engine, job);
    }
}

static arcp__job *pop_over(arcp__engine *engine)
{
    arcp__job *job = engine->over_first;
    engine->over_first = job->next_over;
    if (engine->over_first == NULL) {
        engine->over_last = NULL;
    }
    job->is_over = false;
    return job;
}

/* Ends an agent's time with its job. Every started agent gets this, so it needs no memory. */
bool arcp__job_next_forgotten(arcp__engine *engine, arcp__effect *out)
{
    while (engine->over_first != NULL) {
        arcp__job *job = pop_over(engine);
        if (job->agent_state == ARCP__AGENT_GONE) {
            engine->forgetting = job;
            *out = (arcp__effect){.kind = ARCP__EFFECT_FORGET_AGENT, .job = job};
            arcp__job_unpin(job); /* the list's: the agent's own is still there */
            return true;
        }
        release_if_over(engine, job);
        arcp__job_unpin(job);
    }
    return false;
}

void arcp__job_agent_over(arcp__engine *engine, arcp__job *job)
{
    if (job->is_over) {
        return;
    }
    arcp__job_pin(job);
    job->is_over = true;
    job->next_over = NULL;
    if (engine->over_last == NULL) {
        engine->over_first = job;
    } else {
        engine->over_last->next_over = job;
    }
    engine->over_last = job;
}

void arcp__job_forgotten_by_owner(arcp__engine *engine)
{
    arcp__job *job = engine->forgetting;
    if (job == NULL) {
        return;
    }
    engine->forgetting = NULL;
    arcp__agent_enter(job, ARCP__AGENT_RELEASED);
    job->live->host = NULL;
    release_if_over(engine, job);
    arcp__job_unpin(job); /* the agent's pin */
}

void arcp__jobs_forget_agents(arcp__engine *engine)
{
    arcp__effect none;
    do {
        arcp__job_forgotten_by_owner(engine);
    } while (arcp__job_next_forgotten(engine, &none));
}
