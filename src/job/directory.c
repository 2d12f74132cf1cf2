/* The directory: principals and their jobs, agents and their versions. Each principal has two token
 * buckets, which limit how fast it may submit (limits.submits_per_sec) and be refused
 * (limits.refusals_per_sec).
 *
 * A submit without a token is refused. A refusal without a token is still sent, because each
 * request gets a response, but its link is not read until there is a token: what the peer sends
 * meanwhile costs neither a record nor a log line.
 *
 * Reconnecting does not refill the buckets: an idle principal, which has nothing but its buckets,
 * is kept until both are full. */
#include "job/job_state.h"

/* The most idle principals that are kept; beyond that the one that became idle first is freed. */
#define IDLE_MAX 1024u

/* ---- principals ---- */

/* The principal is in use again, or is being freed. */
static void unlist(arcp__jobs *jobs, arcp__principal *principal)
{
    if (principal->is_idle) {
        principal->is_idle = false;
        DL_DELETE2(jobs->idle, principal, idle_previous, idle_next);
        jobs->idle_count--;
    }
}

arcp__principal *arcp__principal_get(arcp__jobs *jobs, arcp_span name)
{
    arcp__principal *principal = NULL;
    HASH_FIND(hh, jobs->principals, name.data, name.size, principal);
    if (principal != NULL) {
        unlist(jobs, principal);
        return principal;
    }
    principal = arcp__alloc(sizeof *principal);
    if (principal == NULL) {
        arcp__context_no_memory(jobs->context);
        return NULL;
    }
    principal->name = arcp__copy_cstr(name.data, name.size);
    if (principal->name != NULL) {
        HASH_ADD_KEYPTR(hh, jobs->principals, principal->name, name.size, principal);
    }
    if (!ARCP__HASH_ADDED(principal)) {
        arcp__free(principal->name);
        arcp__free(principal);
        arcp__context_no_memory(jobs->context);
        return NULL;
    }
    return principal;
}

static void principal_free(arcp__jobs *jobs, arcp__principal *principal)
{
    unlist(jobs, principal);
    arcp__principal_forget_changes(jobs, principal);
    HASH_DEL(jobs->principals, principal);
    if (jobs->over_share == principal) {
        jobs->over_share = NULL;
    }
    arcp__free(principal->jobs.jobs);
    arcp__free(principal->name);
    arcp__free(principal);
}

/* A principal exists as long as it has a session, a job or a key, and until its buckets are
 * full. */
void arcp__principal_maybe_free(arcp__jobs *jobs, arcp__principal *principal)
{
    const int64_t now_ns = jobs->context->now.mono_ns;
    if (principal->is_held || principal->sessions != 0 || principal->running_jobs != 0 ||
        principal->jobs.first != principal->jobs.count || principal->key_count != 0) {
        return;
    }
    if (jobs->context->closing || (arcp__token_bucket_is_full(&principal->submits, now_ns) &&
                                   arcp__token_bucket_is_full(&principal->refusals, now_ns))) {
        principal_free(jobs, principal);
        return;
    }
    if (!principal->is_idle) {
        principal->is_idle = true;
        DL_APPEND2(jobs->idle, principal, idle_previous, idle_next);
        jobs->idle_count++;
    }
    if (jobs->idle_count > IDLE_MAX) {
        principal_free(jobs, jobs->idle); /* the oldest, not this one, which was just added */
    }
}

void arcp__principals_sweep(arcp__jobs *jobs)
{
    for (arcp__principal *principal = jobs->idle, *next = NULL; principal != NULL;
         principal = next) {
        next = principal->idle_next;
        arcp__principal_maybe_free(jobs, principal);
    }
}

void arcp__principals_free(arcp__jobs *jobs)
{
    while (jobs->principals != NULL) {
        principal_free(jobs, jobs->principals);
    }
}

arcp_status arcp__principal_may_submit(arcp__jobs *jobs, arcp__principal *principal,
                                       arcp_buf *details, arcp_error *err)
{
    const arcp_settings *settings = &jobs->context->settings;
    const arcp__token_rate rate = {settings->limits_submits_per_sec, settings->limits_submit_burst};
    const int64_t now_ns = jobs->context->now.mono_ns;
    const int64_t wait_ns = arcp__token_bucket_wait_ns(&principal->submits, rate, now_ns);
    if (wait_ns == 0) {
        arcp__token_bucket_take(&principal->submits, rate, now_ns);
        return ARCP_OK;
    }
    arcp_buf_append_format(details,
                           "{\"limit\":\"limits.submits_per_sec\",\"retry_after_ms\":%lld}",
                           (long long)((wait_ns + ARCP_NS_PER_MS - 1) / ARCP_NS_PER_MS));
    return arcp_error_set(err, ARCP_E_INTERNAL_ERROR, "too many submits (limits.submits_per_sec)");
}

int64_t arcp__principal_refused(arcp__jobs *jobs, arcp__principal *principal)
{
    const arcp_settings *settings = &jobs->context->settings;
    const arcp__token_rate rate = {settings->limits_refusals_per_sec,
                                   settings->limits_refusal_burst};
    arcp__token_bucket_take(&principal->refusals, rate, jobs->context->now.mono_ns);
    return arcp__token_bucket_wait_ns(&principal->refusals, rate, jobs->context->now.mono_ns);
}

/* ---- agents ---- */

static arcp__agent_version *find_version(arcp__agent_version *list, arcp_span name,
                                         arcp_span version)
{
    arcp__agent_version *entry = list;
    while (entry != NULL && (!arcp_span_equal_cstr(name, entry->name) ||
                             !arcp_span_equal_cstr(version, entry->version))) {
        entry = entry->next;
    }
    return entry;
}

const arcp__agent_version *arcp__agent_default_of(const arcp__agent_version *first)
{
    for (const arcp__agent_version *version = first;
         version != NULL && strcmp(version->name, first->name) == 0; version = version->next) {
        if (version->is_default) {
            return version;
        }
    }
    return first;
}

/* The default version of this name; NULL: the name is unknown. */
static arcp__agent_version *find_default(arcp__agent_version *list, arcp_span name)
{
    arcp__agent_version *first = list;
    while (first != NULL && !arcp_span_equal_cstr(name, first->name)) {
        first = first->next;
    }
    return (arcp__agent_version *)arcp__agent_default_of(first);
}

static void version_free(arcp__agent_version *version)
{
    arcp__free(version->name);
    arcp__free(version->version);
    arcp__free(version->text);
    arcp__free(version->cwd);
    arcp__free(version);
}

/* Makes a version and lists it behind the others of its name. NULL when out of memory. */
static arcp__agent_version *version_new(arcp__jobs *jobs, arcp__agent_version **list,
                                        const arcp__agent_registration *agent, arcp_buf *text)
{
    arcp__agent_version *version = arcp__alloc(sizeof *version);
    if (version == NULL) {
        return NULL;
    }
    version->name = arcp__copy_cstr(agent->name.data, agent->name.size);
    version->version = arcp__copy_cstr(agent->version.data, agent->version.size);
    version->cwd = arcp__copy_cstr(agent->cwd.data, agent->cwd.size);
    version->text = arcp_buf_take_cstr(text);
    version->places =
        version->text == NULL ? NULL : arcp__placement_agent(&jobs->placement, version->text);
    if (version->name == NULL || version->version == NULL || version->cwd == NULL ||
        version->places == NULL) {
        version_free(version);
        return NULL;
    }
    arcp__agent_version *last = NULL; /* of its name, else of all */
    for (arcp__agent_version *entry = *list; entry != NULL; entry = entry->next) {
        if (last == NULL || strcmp(entry->name, version->name) == 0 ||
            strcmp(last->name, version->name) != 0) {
            last = entry;
        }
    }
    arcp__agent_version **place = last == NULL ? list : &last->next;
    version->next = *place;
    *place = version;
    return version;
}

static bool is_worker_name(arcp_span name)
{
    return name.size < ARCP__WORKER_NAME_SIZE &&
           (name.size == 0 || memchr(name.data, '\0', name.size) == NULL);
}

static bool replace_cwd(arcp__agent_version *version, arcp_span cwd)
{
    char *copy = arcp__copy_cstr(cwd.data, cwd.size);
    if (copy != NULL) {
        arcp__free(version->cwd);
        version->cwd = copy;
    }
    return copy != NULL;
}

/* Appends name@version, if that is valid. */
static arcp_status write_text(arcp_span name, arcp_span version, arcp_buf *text, arcp_error *err)
{
    arcp_span read_name;
    arcp_span read_version;
    arcp_buf_append(text, name);
    if (version.size != 0) {
        arcp_buf_append_byte(text, '@');
        arcp_buf_append(text, version);
    }
    const arcp_status status = arcp_buf_status(text);
    return status == ARCP_OK
               ? arcp__agent_name_parse(arcp_buf_span(text), &read_name, &read_version, err)
               : status;
}

arcp_status arcp__agent_register(arcp__jobs *jobs, const arcp__agent_registration *agent,
                                 arcp_error *err)
{
    arcp_buf text = arcp_buf_init();
    arcp_status status = write_text(agent->name, agent->version, &text, err);
    if (status == ARCP_OK && !is_worker_name(agent->worker)) {
        status = arcp_error_set(err, ARCP_E_INVALID_REQUEST, "the name of a worker is too long");
    }
    if (status == ARCP_OK) {
        arcp__agent_version *former_default = find_default(jobs->agents, agent->name);
        arcp__agent_version *version = find_version(jobs->agents, agent->name, agent->version);
        if (version == NULL) {
            version = version_new(jobs, &jobs->agents, agent, &text);
        } else if (!replace_cwd(version, agent->cwd)) {
            version = NULL;
        }
        if (version == NULL) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        } else {
            version->host = agent->host;
            if (agent->is_default && former_default != NULL) {
                former_default->is_default = false;
            }
            version->is_default = version->is_default || agent->is_default;
            version->is_unconfined = agent->is_unconfined;
            version->has_no_cwd = agent->has_no_cwd;
            memset(version->worker, 0, sizeof version->worker);
            memcpy(version->worker, agent->worker.data == NULL ? "" : agent->worker.data,
                   agent->worker.size);
            arcp__placement_offer(&jobs->placement, version->places, version, agent->max_jobs,
                                  agent->refuses);
        }
    }
    arcp_buf_fini(&text);
    return status;
}

void arcp__agents_clear(arcp__jobs *jobs)
{
    while (jobs->agents != NULL) {
        arcp__agent_version *version = jobs->agents;
        jobs->agents = version->next;
        version_free(version);
    }
    arcp__placement_withdraw(&jobs->placement);
    jobs->agents_changed = true;
}

bool arcp__agent_is_ours(const arcp__jobs *jobs, arcp_span name)
{
    return find_default(jobs->agents, name) != NULL;
}

arcp__agent_version *arcp__agent_add_offer(arcp__jobs *jobs, arcp_span name, arcp_span version)
{
    const arcp__agent_registration agent = {.name = name, .version = version};
    arcp_buf text = arcp_buf_init();
    arcp__agent_version *found = NULL;
    if (write_text(name, version, &text, NULL) == ARCP_OK) {
        found = find_version(jobs->offered, name, version);
        found = found == NULL ? version_new(jobs, &jobs->offered, &agent, &text) : found;
    }
    if (found != NULL) {
        found->is_remote = true;
        found->offers++;
    }
    arcp_buf_fini(&text);
    return found;
}

void arcp__agent_drop_offer(arcp__jobs *jobs, arcp__agent_version *agent)
{
    if (--agent->offers == 0) {
        LL_DELETE(jobs->offered, agent);
        version_free(agent);
    }
}

static void each_host(const arcp__job *job, void (*each)(void *user, void *host), void *user)
{
    if (job->live != NULL && job->live->host != NULL) { /* until FORGET_AGENT is done */
        each(user, job->live->host);
    }
}

void arcp__agents_for_each_host(const arcp__jobs *jobs, void (*each)(void *user, void *host),
                                void *user)
{
    for (const arcp__agent_version *version = jobs->agents; version != NULL;
         version = version->next) {
        each(user, version->host);
    }
    for (const arcp__worker_entry *worker = jobs->workers; worker != NULL; worker = worker->next) {
        for (const arcp__worker_offer_entry *offered = worker->offers; offered != NULL;
             offered = offered->next) {
            each(user, offered->host);
        }
    }
    for (const arcp__job *job = jobs->all; job != NULL; job = job->hh.next) {
        each_host(job, each, user);
    }
    /* Some of these are no longer in jobs->all, but their FORGET_AGENT was not handed out yet. */
    for (const arcp__job *job = jobs->release_first; job != NULL; job = job->next_release) {
        each_host(job, each, user);
    }
}

/* [arcp:7.5-1] [arcp:7.5-3] [arcp:7.5-6] */
arcp_status arcp__agent_resolve(const arcp__jobs *jobs, arcp_span text,
                                const arcp__agent_version **version, arcp_error *err)
{
    arcp_span name;
    arcp_span wanted;
    const arcp_status status = arcp__agent_name_parse(text, &name, &wanted, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__agent_version *list = arcp__agent_is_ours(jobs, name) ? jobs->agents : jobs->offered;
    const arcp__agent_version *chosen = find_default(list, name);
    if (chosen == NULL) {
        return arcp_error_set(err, ARCP_E_AGENT_NOT_AVAILABLE, "there is no agent \"%.*s\"",
                              (int)name.size, name.data);
    }
    chosen = wanted.size == 0 ? chosen : find_version(list, name, wanted);
    if (chosen == NULL) {
        return arcp_error_set(err, ARCP_E_AGENT_VERSION_NOT_AVAILABLE,
                              "agent \"%.*s\" has no version \"%.*s\"", (int)name.size, name.data,
                              (int)wanted.size, wanted.data);
    }
    *version = chosen;
    return ARCP_OK;
}

const arcp__agent_version *arcp__agent_next_name(const arcp__jobs *jobs,
                                                 const arcp__agent_version *first)
{
    const arcp__agent_version *next = first == NULL ? jobs->agents : first->next;
    bool is_offered = first != NULL && first->is_remote;
    while (first != NULL && next != NULL && strcmp(next->name, first->name) == 0) {
        next = next->next;
    }
    if (next == NULL && !is_offered) {
        next = jobs->offered;
        is_offered = true;
    }
    while (is_offered && next != NULL && arcp__agent_is_ours(jobs, arcp_span_cstr(next->name))) {
        next = next->next;
    }
    return next;
}

/* Writes all versions of a name. */
static void write_name(const arcp__agent_version *first, bool rich, arcp_json_writer *writer)
{
    bool is_unconfined = false;
    if (rich) {
        arcp_json_begin_object(writer);
        arcp__put_cstr(writer, "name", first->name);
        arcp__put_array(writer, "versions");
    } else {
        arcp_json_write_cstr(writer, first->name);
    }
    for (const arcp__agent_version *version = first;
         version != NULL && strcmp(version->name, first->name) == 0; version = version->next) {
        is_unconfined = is_unconfined || version->is_unconfined;
        if (rich && version->version[0] != '\0') {
            arcp_json_write_cstr(writer, version->version);
        }
    }
    if (rich) {
        arcp_json_end_array(writer);
        arcp__put_word(writer, "default", arcp__agent_default_of(first)->version);
        if (is_unconfined) {
            arcp__put_bool(writer, "x-vendor.arcpd.unconfined", true);
        }
        arcp_json_end_object(writer);
    }
}

/* [arcp:6.2-2] */
void arcp__agents_write(const arcp__jobs *jobs, bool rich, arcp_json_writer *writer)
{
    arcp__put_array(writer, "agents");
    for (const arcp__agent_version *first = arcp__agent_next_name(jobs, NULL); first != NULL;
         first = arcp__agent_next_name(jobs, first)) {
        write_name(first, rich, writer);
    }
    arcp_json_end_array(writer);
}
