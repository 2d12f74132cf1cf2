/* Agents of workers on other machines: what a hello offers, within what the worker's token allows.
 * Agents of the configuration hide those of the same name; of several workers that offer the same
 * agent, the first one has it until its link ends. */
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

/* Whether an agent of the configuration has the name, or another worker that has joined this very
 * agent. */
static bool is_taken(const arcp__joined_worker *worker, const arcp__worker_offered *offered)
{
    const arcp_runtime *runtime = worker->links->runtime;
    const arcp__agent_entry *entry = NULL;
    LL_FOREACH (runtime->agents, entry) {
        if (!entry->is_offered || entry->name == NULL || strcmp(entry->name, offered->name) != 0) {
            continue;
        }
        const arcp_span holder = arcp_span_cstr(entry->worker);
        if (holder.size == 0 || (!arcp_span_equal_cstr(holder, worker->name) &&
                                 strcmp(entry->version, offered->version) == 0 &&
                                 arcp__worker_links_named(worker->links, holder) != NULL)) {
            return true;
        }
    }
    return false;
}

static void add(const arcp__joined_worker *worker, const arcp__worker_offered *offered)
{
    arcp_runtime *runtime = worker->links->runtime;
    arcp_error error = {0};
    arcp__agent_entry *entry = arcp__alloc(sizeof *entry);
    arcp_status status = ARCP_E_NO_MEMORY;
    if (entry != NULL) {
        *entry = (arcp__agent_entry){.ops = &arcp__agent_worker_host};
        entry->process.hosting = &runtime->hosting;
        entry->max_jobs = offered->max_jobs;
        entry->process.stderr_in_errors = offered->shows_errors;
        entry->process.spec.is_plain = offered->is_plain;
        memcpy(entry->worker, worker->name, sizeof entry->worker);
        status = arcp__runtime_add_entry(runtime, entry, offered->name, offered->version, false,
                                         NULL, &error);
    }
    if (status != ARCP_OK) {
        arcp__runtime_log(runtime, NULL, ARCP_LOG_WARN, "the agent %s of the worker %s: %s",
                          offered->name, worker->name,
                          status == ARCP_E_NO_MEMORY ? "out of memory" : error.message);
    }
}

void arcp__worker_register_offers(const arcp__joined_worker *worker)
{
    for (size_t i = 0; i < worker->offer_count; i++) {
        if (!is_taken(worker, &worker->offers[i])) {
            add(worker, &worker->offers[i]);
        }
    }
}

void arcp__runtime_offer_workers(arcp_runtime *runtime)
{
    const arcp__worker_links *links = runtime->worker_links;
    for (const arcp__joined_worker *worker = links == NULL ? NULL : links->joined; worker != NULL;
         worker = worker->hh.next) {
        arcp__worker_register_offers(worker);
    }
}
