/* Queues of jobs in a play: agents with max_jobs, which a reload raises, lowers, removes and brings
 * back. No job starts twice, none overtakes another of its principal, none waits while there is
 * room, and a restart leaves all in their order. */
#include "engine/play.h"

#include "support/check.h"

#include "engine/state.h"

/* ---- what the configuration does ---- */

void play_queue_begin(play *p, arcp_settings *settings)
{
    p->rig.max_jobs = 1 + play_pick(p, 3);
    settings->jobs_queue_max = 2 + play_pick(p, 8);
    settings->jobs_queue_per_principal = 1 + play_pick(p, 8);
    settings->jobs_queue_sec = play_one_in(p, 2) ? 20 : 3600;
}

void play_queue_acts(play *p)
{
    const unsigned choice = play_pick(p, 4);
    if (choice == 0) {
        p->rig.lacks_echo = !p->rig.lacks_echo;
    } else if (choice == 1) {
        p->rig.refuses = !p->rig.refuses;
    } else {
        p->rig.max_jobs = play_pick(p, 4);
    }
    p->reloads++;
    rig_reload(&p->rig);
}

void play_queue_calms(play *p)
{
    if (p->temper.queues && p->rig.lacks_echo) {
        p->rig.lacks_echo = false;
        rig_reload(&p->rig);
    }
}

/* ---- no job starts twice ---- */

void play_queue_check_start(play *p, const arcp__job *job)
{
    for (size_t i = 0; i < p->started_count; i++) {
        if (strcmp(p->started[i], job->id) == 0) {
            watch_fail(&p->watch, "the job is started twice", job->id);
        }
    }
    if (p->started_count < PLAY_STARTED_MAX) {
        memcpy(p->started[p->started_count++], job->id, sizeof job->id);
    }
}

/* ---- the queue is what the jobs say ---- */

static void count(const arcp__jobs *jobs, const arcp__place_agent *agent, size_t counts[4],
                  size_t *submitted)
{
    for (const arcp__job *job = jobs->all; job != NULL; job = job->hh.next) {
        const arcp__place *place = job->live == NULL ? NULL : &job->live->place;
        if (place == NULL || place->agent != agent) {
            continue;
        }
        counts[place->state]++;
        *submitted +=
            place->kind == ARCP__PLACE_SUBMITTED && place->state != ARCP__PLACE_WAITING ? 1 : 0;
    }
}

static void check_line(play *p, const arcp__place_line *line)
{
    for (const arcp__place *place = line->first; place != NULL; place = place->next) {
        const arcp__job *job = place->owner;
        if (place->next != NULL && place->next->order < place->order) {
            watch_fail(&p->watch, "a job overtook one of its principal", job->id);
        }
        if (job->agent_state != ARCP__AGENT_QUEUED || job->principal != line->principal ||
            job->status != ARCP_JOB_PENDING) {
            watch_fail(&p->watch, "a job waits that should not", job->id);
        }
    }
    if (line->next != NULL && line->next->first->turn < line->first->turn) {
        watch_fail(&p->watch, "principals do not wait in the order of their turns", "");
    }
}

static void check_agent(play *p, const arcp__place_agent *agent)
{
    const arcp__jobs *jobs = &p->rig.engine->jobs;
    size_t counts[4] = {0};
    size_t submitted = 0;
    count(jobs, agent, counts, &submitted);
    if (counts[ARCP__PLACE_HELD] != agent->jobs.held ||
        counts[ARCP__PLACE_LENT] != agent->jobs.lent ||
        counts[ARCP__PLACE_WAITING] != agent->waiting) {
        watch_fail(&p->watch, "places are counted wrongly", agent->text);
    }
    for (size_t kind = 0; kind < ARCP__PLACE_KINDS; kind++) {
        const arcp__place_line *line = agent->lines[kind];
        const bool is_open =
            agent->offer != NULL && (kind == ARCP__PLACE_DELEGATED || !jobs->context->stopping);
        const size_t taken =
            agent->jobs.held + (kind == ARCP__PLACE_SUBMITTED ? agent->jobs.lent : 0);
        /* Between two effects an agent may be due: it is looked at before the next one. */
        if (line != NULL && is_open && !(p->rig.is_stepping && agent->is_due) &&
            (agent->max_jobs == 0 || taken < agent->max_jobs)) {
            watch_fail(&p->watch, "a job waits though there is room", agent->text);
        }
        for (; line != NULL; line = line->next) {
            check_line(p, line);
        }
    }
    /* More than max_jobs submitted jobs run only after a reload that lowered it. */
    const bool is_over = agent->max_jobs != 0 && submitted > agent->max_jobs;
    if (is_over && p->reloads == 0) {
        watch_fail(&p->watch, "more than max_jobs jobs run", agent->text);
    }
}

void play_queue_check(play *p)
{
    const arcp__engine *engine = p->rig.engine;
    size_t waiting = 0;
    if (engine->context.failed || engine->restore != NULL) {
        return;
    }
    for (const arcp__place_agent *agent = engine->jobs.placement.agents; agent != NULL;
         agent = agent->hh.next) {
        check_agent(p, agent);
        waiting += agent->waiting;
    }
    if (waiting > p->rig.settings.jobs_queue_max) {
        watch_fail(&p->watch, "too many jobs wait", "");
    }
    p->queued_max = waiting > p->queued_max ? waiting : p->queued_max;
}

/* ---- a restart ---- */

/* Notes who waits, and in which order, when all of it is written. */
void play_queue_before_restart(play *p)
{
    p->noted_count = 0;
    if (!play_is_quiet(p) || p->rig.engine->context.failed) {
        return;
    }
    for (const arcp__job *job = p->rig.engine->jobs.all; job != NULL; job = job->hh.next) {
        const size_t number = arcp__job_queue_place(job);
        if (number != 0 && job->parent_id[0] == '\0' && p->noted_count < PLAY_NOTED_MAX) {
            play_noted *noted = &p->noted[p->noted_count++];
            *noted = (play_noted){.number = number};
            memcpy(noted->job_id, job->id, sizeof job->id);
            (void)snprintf(noted->agent, sizeof noted->agent, "%s", job->agent_text);
        }
    }
}

static bool has_started(const play *p, const char *job_id)
{
    for (size_t i = 0; i < p->started_count; i++) {
        if (strcmp(p->started[i], job_id) == 0) {
            return true;
        }
    }
    return false;
}

void play_queue_after_restart(play *p)
{
    for (size_t i = 0; i < p->noted_count; i++) {
        const arcp__job *one =
            arcp__job_find(&p->rig.engine->jobs, arcp_span_cstr(p->noted[i].job_id));
        for (size_t k = 0; k < p->noted_count && one != NULL; k++) {
            const arcp__job *other =
                arcp__job_find(&p->rig.engine->jobs, arcp_span_cstr(p->noted[k].job_id));
            if (other == NULL || p->noted[i].number >= p->noted[k].number ||
                strcmp(p->noted[i].agent, p->noted[k].agent) != 0) {
                continue;
            }
            const size_t first = arcp__job_queue_place(one);
            const size_t second = arcp__job_queue_place(other);
            if ((first != 0 && second != 0 && first > second) ||
                (first != 0 && second == 0 && has_started(p, other->id))) {
                watch_fail(&p->watch, "a restart changed the order of the queue", one->id);
            }
        }
    }
    p->noted_count = 0;
}
