/* Agents of workers on other machines: what a hello offers. The engine decides which of these the
 * worker's token allows, and which worker runs a job (job/job_worker_offer.c). */
#include "base/alloc.h"
#include "core/decode.h"
#include "runtime/worker_links.h"

/* The lower one of two limits, of which 0 is none. */
static uint64_t lower(uint64_t one, uint64_t other)
{
    return one == 0 || (other != 0 && other < one) ? other : one;
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

static void copy_id(char out[ARCP__SPAN_ID_MAX + 1], arcp_span id)
{
    memcpy(out, id.size == 0 ? "" : id.data, id.size);
    out[id.size] = '\0';
}

/* The entry of an agent of the worker, which is not registered: the engine decides who may have it.
 * One that the worker has offered before is used again. Entries stay as long as the runtime does.
 */
static arcp_status find_entry(const arcp__joined_worker *worker, const char *name,
                              const char *version, arcp__agent_entry **out, arcp_error *err)
{
    arcp_runtime *runtime = worker->links->runtime;
    arcp__agent_entry *entry = NULL;
    size_t offered = 0;
    LL_FOREACH (runtime->agents, entry) {
        if (entry->ops != &arcp__agent_worker_host) {
            continue;
        }
        if (strcmp(entry->worker, worker->name) == 0 && strcmp(entry->name, name) == 0 &&
            strcmp(entry->version, version) == 0) {
            *out = entry;
            return ARCP_OK;
        }
        offered++;
    }
    if (offered >= ARCP__OFFERED_AGENTS_MAX) {
        return arcp_error_set(
            err, ARCP_E_INVALID_REQUEST,
            "workers have offered %u different agents to this arcpd, and it takes no more",
            ARCP__OFFERED_AGENTS_MAX);
    }
    *out = arcp__worker_entry_new(runtime, worker->name, name, version);
    return *out == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

uint64_t arcp__worker_places(const arcp__worker_hello *hello, const arcp__worker_token *token)
{
    const uint64_t room = lower(token->max_jobs, hello->capacity);
    return room == 0 ? ARCP__WORKER_CAPACITY_MAX : room;
}

arcp_status arcp__worker_write_offers(const arcp__joined_worker *worker,
                                      const arcp__worker_hello *hello, arcp__worker_agent **out,
                                      arcp_error *err)
{
    arcp__worker_agent *agents = arcp__alloc_array(hello->offer_count + 1, sizeof *agents);
    arcp__sandbox_abilities abilities = {{0}};
    if (hello->abilities.size != 0 &&
        arcp__sandbox_abilities_decode(hello->abilities, &abilities, NULL) != ARCP_OK) {
        abilities = (arcp__sandbox_abilities){{0}}; /* of a release that says it otherwise */
    }
    if (agents == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < hello->offer_count; i++) {
        const arcp__worker_offer *offer = &hello->offers[i];
        char name[ARCP__SPAN_ID_MAX + 1];
        char version[ARCP__SPAN_ID_MAX + 1];
        copy_id(name, offer->name);
        copy_id(version, offer->version);
        arcp__agent_entry *entry = NULL;
        const arcp_status status = find_entry(worker, name, version, &entry, err);
        if (status != ARCP_OK) {
            arcp__free(agents);
            return status;
        }
        entry->process.stderr_in_errors = offer->shows_errors;
        entry->process.spec.is_plain = arcp_span_equal_cstr(offer->mode, "plain");
        entry->remote =
            (arcp__remote_sandbox){.is_confined = offer->is_confined,
                                   .is_late = offer->is_late,
                                   .is_shared = arcp_span_equal_cstr(offer->mode, "serve"),
                                   .terminates_tls = offer->terminates_tls,
                                   .abilities = abilities};
        agents[i] = (arcp__worker_agent){.name = offer->name,
                                         .version = offer->version,
                                         .mode = offer->mode,
                                         .cwd = offer->cwd,
                                         .max_jobs = offer->max_jobs,
                                         .host = entry};
        memcpy(agents[i].hash, offer->hash, sizeof agents[i].hash);
    }
    *out = agents;
    return ARCP_OK;
}
