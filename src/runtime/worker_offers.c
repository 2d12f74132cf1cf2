/* Agents of workers on other machines: what a hello offers, within what the worker's token allows.
 * The engine decides which worker runs a job (job/job_worker_offer.c). */
#include "base/alloc.h"
#include "core/agent_name.h"
#include "core/name_glob.h"
#include "runtime/worker_links.h"

static bool is_allowed(const arcp__worker_token *token, arcp_span name)
{
    bool is_allowed = token->agent_count == 0;
    for (size_t i = 0; !is_allowed && i < token->agent_count; i++) {
        is_allowed = arcp__name_glob_matches(token->agents[i], name);
    }
    return is_allowed;
}

/* The lower one of two limits, of which 0 is none. */
static uint64_t lower(uint64_t one, uint64_t other)
{
    return one == 0 || (other != 0 && other < one) ? other : one;
}

bool arcp__worker_take_offers(arcp__joined_worker *worker, const arcp__worker_hello *hello,
                              const arcp__worker_token *token)
{
    arcp_runtime *runtime = worker->links->runtime;
    const uint64_t room = lower(token->max_jobs, hello->capacity);
    worker->places = room == 0 ? ARCP__WORKER_CAPACITY_MAX : room;
    size_t refused = 0;
    arcp_span first_refused = {NULL, 0};
    worker->offers = arcp__alloc_array(hello->offer_count + 1, sizeof *worker->offers);
    if (worker->offers == NULL) {
        return false;
    }
    for (size_t i = 0; i < hello->offer_count; i++) {
        const arcp__worker_offer *from = &hello->offers[i];
        arcp__worker_offered *offered = &worker->offers[worker->offer_count];
        if (!is_allowed(token, from->name) || from->name.size > ARCP__WORKER_ID_MAX ||
            from->version.size > ARCP__WORKER_ID_MAX) {
            first_refused = refused++ == 0 ? from->name : first_refused;
            continue;
        }
        *offered = (arcp__worker_offered){.is_plain = arcp_span_equal_cstr(from->mode, "plain"),
                                          .shows_errors = from->shows_errors,
                                          .max_jobs = (size_t)lower(from->max_jobs, room)};
        memcpy(offered->hash, from->hash, sizeof offered->hash);
        (void)snprintf(offered->mode, sizeof offered->mode, "%.*s", (int)from->mode.size,
                       from->mode.size == 0 ? "" : from->mode.data);
        memcpy(offered->name, from->name.data, from->name.size);
        if (from->version.size != 0) {
            memcpy(offered->version, from->version.data, from->version.size);
        }
        worker->offer_count++;
    }
    if (refused != 0) {
        const arcp_span shown = arcp_span_first(first_refused, 100);
        arcp__runtime_log(runtime, NULL, ARCP_LOG_WARN,
                          "the worker %.*s offers %zu agents that its token does not allow: %.*s%s",
                          (int)hello->name.size, hello->name.data, refused, (int)shown.size,
                          shown.size == 0 ? "" : shown.data, refused == 1 ? "" : ", ...");
    }
    return true;
}

arcp__agent_entry *arcp__worker_entry_new(arcp_runtime *runtime, const char *worker,
                                          const char *name, const char *version)
{
    arcp__agent_entry *entry = arcp__alloc(sizeof *entry);
    char *own_name = arcp__copy_cstr(name, strlen(name));
    char *own_version = arcp__copy_cstr(version, strlen(version));
    if (entry == NULL || own_name == NULL || own_version == NULL) {
        arcp__free(entry);
        arcp__free(own_name);
        arcp__free(own_version);
        return NULL;
    }
    *entry = (arcp__agent_entry){.runtime = runtime,
                                 .ops = &arcp__agent_worker_host,
                                 .name = own_name,
                                 .version = own_version};
    entry->process.hosting = &runtime->hosting;
    (void)snprintf(entry->worker, sizeof entry->worker, "%s", worker);
    LL_PREPEND(runtime->agents, entry);
    return entry;
}

/* The entry of an agent of the worker, which is not registered: the engine decides who may have it.
 * One that the worker has offered before is used again. NULL when out of memory. */
static arcp__agent_entry *entry_of(const arcp__joined_worker *worker,
                                   const arcp__worker_offered *offered)
{
    arcp_runtime *runtime = worker->links->runtime;
    arcp__agent_entry *entry = NULL;
    LL_FOREACH (runtime->agents, entry) {
        if (entry->ops == &arcp__agent_worker_host && strcmp(entry->worker, worker->name) == 0 &&
            strcmp(entry->name, offered->name) == 0 &&
            strcmp(entry->version, offered->version) == 0) {
            return entry;
        }
    }
    return arcp__worker_entry_new(runtime, worker->name, offered->name, offered->version);
}

arcp__worker_agent *arcp__worker_write_offers(const arcp__joined_worker *worker)
{
    arcp__worker_agent *agents = arcp__alloc_array(worker->offer_count + 1, sizeof *agents);
    for (size_t i = 0; agents != NULL && i < worker->offer_count; i++) {
        const arcp__worker_offered *offered = &worker->offers[i];
        arcp__agent_entry *entry = entry_of(worker, offered);
        if (entry == NULL) {
            arcp__free(agents);
            return NULL;
        }
        entry->process.stderr_in_errors = offered->shows_errors;
        entry->process.spec.is_plain = offered->is_plain;
        agents[i] = (arcp__worker_agent){.name = arcp_span_cstr(offered->name),
                                         .version = arcp_span_cstr(offered->version),
                                         .mode = arcp_span_cstr(offered->mode),
                                         .max_jobs = offered->max_jobs,
                                         .host = entry};
        memcpy(agents[i].hash, offered->hash, sizeof agents[i].hash);
    }
    return agents;
}
