/* The agents that workers offer. An offer counts as long as its worker may come back, so that jobs
 * of its agents wait for it. */
#include <stdio.h>

#include "core/name_glob.h"
#include "job/job_state.h"

static bool is_allowed(const arcp__worker_intro *intro, arcp_span name)
{
    bool is_allowed = intro->allowed_count == 0;
    for (size_t i = 0; i < intro->allowed_count && !is_allowed; i++) {
        is_allowed = arcp__name_glob_matches(intro->allowed[i], name);
    }
    return is_allowed;
}

/* The entry of the offer, if it is offered. */
static arcp__worker_offer_entry *entry_of(const arcp__worker_entry *worker,
                                          const arcp__agent_version *agent)
{
    arcp__worker_offer_entry *entry = worker->offers;
    while (entry != NULL && entry->agent != agent) {
        entry = entry->next;
    }
    return entry;
}

void *arcp__worker_host_of(const arcp__worker_entry *worker, const arcp__agent_version *agent)
{
    const arcp__worker_offer_entry *entry = entry_of(worker, agent);
    return entry == NULL ? agent->host : entry->host;
}

/* A worker of another name with another row for the same name and version; NULL: there is none. */
static const arcp__worker_entry *find_unlike(const arcp__worker_offer_entry *entry)
{
    for (const arcp__place_offer *other = entry->offer->agent->offers; other != NULL;
         other = other->next) {
        const arcp__worker_offer_entry *others = other->owner;
        if (others != NULL && strcmp(others->worker->name, entry->worker->name) != 0 &&
            memcmp(others->hash, entry->hash, sizeof entry->hash) != 0) {
            return others->worker;
        }
    }
    return NULL;
}

static void warn_of_unlike(arcp__jobs *jobs, const arcp__worker_offer_entry *entry)
{
    const arcp__worker_entry *other = find_unlike(entry);
    if (other != NULL) {
        arcp__effect_log(jobs->log, ARCP__LOG_WARN,
                         "the workers \"%s\" and \"%s\" offer the agent \"%.100s\" with different "
                         "rows",
                         entry->worker->name, other->name, entry->agent->text);
    }
}

static void refuse(arcp__jobs *jobs, const arcp__worker_entry *worker,
                   const arcp__worker_agent *agent, const char *why)
{
    const arcp_span name = arcp_span_first(agent->name, 100);
    arcp__effect_log(jobs->log, ARCP__LOG_WARN,
                     "the agent \"%.*s\" that the worker \"%s\" offers is refused: %s",
                     (int)name.size, name.size == 0 ? "" : name.data, worker->name, why);
}

static void add(arcp__jobs *jobs, arcp__worker_entry *worker, const arcp__worker_agent *offered)
{
    arcp__agent_version *agent = arcp__agent_add_offer(jobs, offered->name, offered->version);
    if (agent == NULL) {
        refuse(jobs, worker, offered, "its name or version is not valid");
        return;
    }
    arcp__worker_offer_entry *entry = entry_of(worker, agent);
    if (entry != NULL) {
        arcp__agent_drop_offer(jobs, agent);
        refuse(jobs, worker, offered, "it is offered twice");
        return;
    }
    entry = arcp__alloc(sizeof *entry);
    arcp__place_offer *offer = arcp__placement_offer_of(&worker->place, agent->places);
    if (entry == NULL || offer == NULL) {
        arcp__free(entry);
        arcp__context_no_memory(jobs->context);
        return;
    }
    const arcp_span mode = arcp_span_first(offered->mode, sizeof entry->mode - 1);
    *entry = (arcp__worker_offer_entry){
        .worker = worker, .offer = offer, .agent = agent, .host = offered->host};
    memcpy(entry->mode, mode.data == NULL ? "" : mode.data, mode.size);
    memcpy(entry->hash, offered->hash, sizeof entry->hash);
    if (offered->cwd.size != 0) {
        entry->cwd = arcp__copy_cstr(offered->cwd.data, offered->cwd.size);
        if (entry->cwd == NULL) {
            arcp__context_no_memory(jobs->context);
        }
    }
    LL_APPEND(worker->offers, entry);
    arcp__place_offer_set(&jobs->placement, offer, entry, (size_t)offered->max_jobs);
    warn_of_unlike(jobs, entry);
}

static void clear(arcp__jobs *jobs, arcp__worker_entry *worker)
{
    while (worker->offers != NULL) {
        arcp__worker_offer_entry *entry = worker->offers;
        worker->offers = entry->next;
        arcp__agent_drop_offer(jobs, entry->agent);
        arcp__place_offer_set(&jobs->placement, entry->offer, NULL, 0);
        arcp__free(entry->cwd);
        arcp__free(entry);
    }
}

void arcp__worker_set_offers(arcp__jobs *jobs, arcp__worker_entry *worker,
                             const arcp__worker_intro *intro)
{
    const arcp__worker_agent *refused = NULL; /* the first one */
    size_t refused_count = 0;
    clear(jobs, worker);
    for (size_t i = 0; i < intro->agent_count; i++) {
        if (is_allowed(intro, intro->agents[i].name)) {
            add(jobs, worker, &intro->agents[i]);
        } else if (refused_count++ == 0) {
            refused = &intro->agents[i];
        }
    }
    if (refused != NULL) {
        const arcp_span name = arcp_span_first(refused->name, 100);
        arcp__effect_log(
            jobs->log, ARCP__LOG_WARN,
            "the worker \"%s\" offers %zu agents that its token does not allow: %.*s%s",
            worker->name, refused_count, (int)name.size, name.data,
            refused_count == 1 ? "" : ", ...");
    }
}

void arcp__worker_remove(arcp__jobs *jobs, arcp__worker_entry *worker)
{
    clear(jobs, worker);
    assert(worker->place.offers == NULL); /* its jobs are lost */
    LL_DELETE(jobs->workers, worker);
    arcp__context_disarm(jobs->context, &worker->away_timer);
    arcp__context_disarm(jobs->context, &worker->lost_timer);
    arcp__context_disarm(jobs->context, &worker->busy_timer);
    arcp__free(worker->work);
    arcp__free(worker);
}

void arcp__workers_free(arcp__jobs *jobs)
{
    while (jobs->workers != NULL) {
        arcp__worker_remove(jobs, jobs->workers);
    }
}

/* ---- for operators ---- */

static const arcp__worker_entry *at_index(const arcp__jobs *jobs, size_t index)
{
    const arcp__worker_entry *worker = jobs->workers;
    for (; worker != NULL && index != 0; index--) {
        worker = worker->next;
    }
    return worker;
}

arcp__worker_counts arcp__workers_count(const arcp__jobs *jobs)
{
    arcp__worker_counts counts = {0};
    for (const arcp__worker_entry *worker = jobs->workers; worker != NULL; worker = worker->next) {
        const arcp__place_worker *place = &worker->place;
        if (worker->state != ARCP__WORKER_JOINED) {
            counts.away++;
        } else if (worker->is_draining) {
            counts.draining++;
        } else {
            counts.joined++;
            counts.capacity += place->capacity;
            counts.jobs += place->jobs.held + place->jobs.lent;
        }
    }
    return counts;
}

bool arcp__worker_get_view(const arcp__jobs *jobs, size_t index, arcp__worker_view *out)
{
    const arcp__worker_entry *worker = at_index(jobs, index);
    if (worker == NULL) {
        return false;
    }
    *out = (arcp__worker_view){.name = worker->name,
                               .instance = worker->instance,
                               .version = worker->version,
                               .boot_id = worker->boot_id,
                               .state = worker->state,
                               .is_draining = worker->is_draining,
                               .is_busy = worker->is_busy,
                               .since_wall_ns = worker->since_wall_ns,
                               .drains_wall_ns = worker->drains_wall_ns,
                               .pid = worker->pid,
                               .capacity = worker->place.capacity};
    for (const arcp__job *job = jobs->all; job != NULL; job = job->hh.next) {
        out->jobs += arcp__job_is_of(job, worker) && arcp__job_has_agent(job);
    }
    for (const arcp__worker_offer_entry *entry = worker->offers; entry != NULL;
         entry = entry->next) {
        out->agents++;
    }
    return true;
}

bool arcp__worker_get_agent_view(const arcp__jobs *jobs, size_t index, size_t agent,
                                 arcp__worker_agent_view *out)
{
    const arcp__worker_entry *worker = at_index(jobs, index);
    const arcp__worker_offer_entry *entry = worker == NULL ? NULL : worker->offers;
    for (; entry != NULL && agent != 0; agent--) {
        entry = entry->next;
    }
    if (entry == NULL) {
        return false;
    }
    *out = (arcp__worker_agent_view){
        .agent = entry->agent->text,
        .mode = entry->mode,
        .max_jobs = entry->offer->max_jobs,
        .jobs = entry->offer->jobs.held + entry->offer->jobs.lent,
        .hash = entry->hash,
        .is_hidden = arcp__agent_is_ours(jobs, arcp_span_cstr(entry->agent->name)),
        .is_unlike = find_unlike(entry) != NULL};
    return true;
}
