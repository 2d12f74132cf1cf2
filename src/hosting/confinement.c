#include "hosting/confinement.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "core/target.h"
#include "launch/launch.h"

/* ---- the options ---- */

/* The canonical form of an absolute path, in the arena; NULL: it has none, or memory ran out. */
static const char *canonical(arcp__arena *arena, const char *path, arcp_error *err)
{
    arcp_target_scratch *scratch = arcp__alloc(sizeof *scratch);
    arcp_span found = {NULL, 0};
    if (scratch == NULL) {
        (void)arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        return NULL;
    }
    const arcp_deny_reason reason =
        path[0] != '/'
            ? ARCP_DENY_ESCAPES_BASE
            : arcp__target_canonicalise(ARCP__CAPABILITY_FS_READ, arcp_span_make(NULL, 0),
                                        arcp_span_cstr(path), scratch, &found);
    const char *copy = reason == ARCP_DENY_NONE ? arcp__arena_copy(arena, found).data : NULL;
    arcp__free(scratch);
    if (reason != ARCP_DENY_NONE) {
        (void)arcp_error_set(err, ARCP_E_USAGE, "enforcement: \"%.200s\" is no absolute path",
                             path);
    } else if (copy == NULL) {
        (void)arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return copy;
}

const char **arcp__confinement_paths(arcp__arena *arena, const char *const *paths, arcp_error *err)
{
    size_t count = 0;
    while (paths != NULL && paths[count] != NULL) {
        count++;
    }
    const char **copy = arcp__arena_take(arena, (count + 1) * sizeof *copy);
    if (copy == NULL) {
        (void)arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        copy[i] = canonical(arena, paths[i], err);
        if (copy[i] == NULL) {
            return NULL;
        }
    }
    copy[count] = NULL;
    return copy;
}

static arcp_status take_exempt(arcp__confinement *confinement, const char *const *names,
                               arcp_error *err)
{
    size_t count = 0;
    while (names != NULL && names[count] != NULL) {
        count++;
    }
    if (names == NULL) {
        return ARCP_OK;
    }
    if (count > ARCP__SANDBOX_EXEMPT_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "may_be_advisory: at most %d capabilities",
                              ARCP__SANDBOX_EXEMPT_MAX);
    }
    confinement->exempt =
        arcp__arena_take(&confinement->arena, (count + 1) * sizeof *confinement->exempt);
    for (size_t i = 0; confinement->exempt != NULL && i < count; i++) {
        confinement->exempt[i] = arcp__arena_copy(&confinement->arena, arcp_span_cstr(names[i]));
        if (confinement->exempt[i].data == NULL) {
            confinement->exempt = NULL;
        }
    }
    confinement->exempt_count = count;
    return confinement->exempt == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                       : ARCP_OK;
}

static arcp_status take_private_hosts(arcp__confinement *confinement, const char *const *names,
                                      arcp_error *err)
{
    size_t count = 0;
    while (names != NULL && names[count] != NULL) {
        count++;
    }
    arcp_span *hosts = arcp__arena_take(&confinement->arena, (count + 1) * sizeof *hosts);
    bool failed = hosts == NULL;
    for (size_t i = 0; i < count && !failed; i++) {
        if (!arcp__egress_is_private_host(arcp_span_cstr(names[i]))) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "private_hosts: \"%.200s\" is not the name of a host", names[i]);
        }
        hosts[i] = arcp__arena_copy(&confinement->arena, arcp_span_cstr(names[i]));
        failed = hosts[i].data == NULL;
    }
    confinement->private_hosts = hosts;
    confinement->private_host_count = count;
    return failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

static arcp_status find_abilities(const char *sandbox, arcp__sandbox_abilities *out,
                                  arcp_error *err)
{
    arcp_buf text = arcp_buf_init();
    arcp_status status = arcp__launch_probe(sandbox, &text, err);
    if (status == ARCP_OK) {
        status = arcp__sandbox_abilities_decode(arcp_buf_span(&text), out, err);
    }
    arcp_buf_fini(&text);
    return status;
}

static arcp_status fill(arcp__confinement *confinement, const arcp__hosting *hosting,
                        const arcp_enforce_options *options, arcp_error *err)
{
    const arcp_span work = arcp__process_table_base(hosting->processes);
    if (work.size == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "enforcement needs a work directory");
    }
    confinement->bases = arcp__confinement_paths(&confinement->arena, options->base, err);
    if (confinement->bases == NULL) {
        return err->status;
    }
    const char **own = arcp__confinement_paths(&confinement->arena, options->own, err);
    for (size_t i = 0; own != NULL && own[i] != NULL; i++) {
        const size_t size = strlen(options->own[i]);
        arcp__own_paths_add(&confinement->own, own[i], options->own[i][size - 1] == '/');
    }
    arcp__own_paths_add(&confinement->own, work.data, true);
    arcp_buf etc = arcp_buf_init();
    const arcp_status made =
        arcp__sandbox_etc_directory(arcp__process_table_base(hosting->processes), &etc, err);
    if (made == ARCP_OK) {
        arcp__own_paths_add(&confinement->own, arcp_buf_cstr(&etc), true);
    }
    arcp_buf_fini(&etc);
    if (made != ARCP_OK) {
        return made;
    }
    if (own == NULL) {
        return err->status;
    }
    if (confinement->own.failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_status status = take_exempt(confinement, options->may_be_advisory, err);
    if (status == ARCP_OK) {
        status = take_private_hosts(confinement, options->private_hosts, err);
    }
    if (status == ARCP_OK &&
        !arcp__egress_model_hosts(&confinement->arena, options->model_urls,
                                  &confinement->model_hosts, &confinement->model_host_count)) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return status == ARCP_OK ? find_abilities(options->sandbox, &confinement->abilities, err)
                             : status;
}

/* The jobs of agents will be refused, and why. */
static void warn_of_host(const arcp__hosting *hosting, const arcp__confinement *confinement)
{
    arcp_buf missing = arcp_buf_init();
    for (unsigned i = 0; i < ARCP__SANDBOX_ABILITY_COUNT; i++) {
        if (confinement->abilities.values[i] == 0) {
            arcp_buf_append_format(&missing, "%s%s", missing.size == 0 ? "" : ", ",
                                   arcp__sandbox_ability_name((arcp__sandbox_ability)i));
        }
    }
    arcp__hosting_log(hosting, ARCP__HOSTING_WARN,
                      "this host cannot confine agents, and jobs for them are refused; it lacks %s "
                      "(arcp doctor). With enforce.mode: off agents run without a sandbox",
                      arcp_buf_cstr(&missing) == NULL ? "much" : missing.data);
    arcp_buf_fini(&missing);
}

arcp_status arcp__confinement_set(arcp__hosting *hosting, const arcp_enforce_options *options,
                                  arcp_error *err)
{
    arcp__confinement *confinement = NULL;
    arcp_error why = {0};
    if (options != NULL) {
        confinement = arcp__alloc(sizeof *confinement);
        if (confinement == NULL) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
        arcp_buf options_text = arcp_buf_init();
        arcp_status status = fill(confinement, hosting, options, &why);
        if (status == ARCP_OK) {
            status = arcp__enforce_options_write(options, &options_text, &why);
        }
        if (status != ARCP_OK) {
            arcp_buf_fini(&options_text);
            arcp__confinement_free(confinement);
            return arcp_error_copy(err, &why);
        }
        confinement->options = options_text;
        confinement->level = arcp__sandbox_level_of(&confinement->abilities);
        if (confinement->level == ARCP__SANDBOX_LEVEL_NONE) {
            warn_of_host(hosting, confinement);
        }
    }
    arcp__confinement_free(hosting->confinement);
    hosting->confinement = confinement;
    return ARCP_OK;
}

void arcp__confinement_free(arcp__confinement *confinement)
{
    if (confinement == NULL) {
        return;
    }
    arcp__own_paths_fini(&confinement->own);
    arcp_buf_fini(&confinement->options);
    arcp__arena_fini(&confinement->arena);
    arcp__free(confinement);
}

/* ---- the plan of a job ---- */

void arcp__job_plan_free(arcp__job_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    arcp__sandbox_plan_free(plan->plan);
    arcp_buf_fini(&plan->text);
    arcp__free(plan->scratch);
    arcp__free(plan);
}

static arcp__sandbox_verdict verdict_of(arcp_enforce_min min, uint32_t setting)
{
    /* In the order of the words of the setting enforce.min, and of arcp_enforce_min. */
    static const arcp__sandbox_verdict verdicts[] = {
        ARCP__SANDBOX_VERDICT_EXACT, ARCP__SANDBOX_VERDICT_UNDER, ARCP__SANDBOX_VERDICT_ADVISORY};
    return verdicts[min == ARCP_ENFORCE_MIN_DEFAULT ? setting : (uint32_t)min - 1];
}

/* What the operator says about all sandboxes. */
void arcp__confinement_complete(const arcp__hosting *hosting, arcp__sandbox_request *request)
{
    arcp__confinement *confinement = hosting->confinement;
    arcp__sandbox_request_defaults(request);
    if (confinement->exempt != NULL) {
        request->exempt = confinement->exempt;
        request->exempt_count = confinement->exempt_count;
    }
    arcp__own_paths_follow(&confinement->own);
    arcp__own_paths_set(&confinement->own, request);
    request->abilities = confinement->abilities;
    request->model_hosts = confinement->model_hosts;
    request->model_host_count = confinement->model_host_count;
    request->min = verdict_of(ARCP_ENFORCE_MIN_DEFAULT, hosting->enforce.min);
    /* The words of the setting enforce.tls are in the order of arcp_enforce_tls, from 0. */
    request->tls_terminate = hosting->enforce.tls + 1 == ARCP_ENFORCE_TLS_TERMINATE;
    request->hides = hosting->enforce.hides;
    request->is_silent = hosting->enforce.is_silent;
    request->limits = (arcp__sandbox_limits){.scratch_bytes = hosting->enforce.scratch_bytes,
                                             .pids = (uint32_t)hosting->enforce.pids};
}

/* And about those of an agent. */
static void complete(const arcp__hosting *hosting, const arcp__process_agent *agent,
                     arcp__sandbox_request *request)
{
    arcp__confinement_complete(hosting, request);
    request->protect = agent->confinement.protect;
    request->min = verdict_of(agent->confinement.min, hosting->enforce.min);
    if (agent->confinement.tls != ARCP_ENFORCE_TLS_DEFAULT) {
        request->tls_terminate = agent->confinement.tls == ARCP_ENFORCE_TLS_TERMINATE;
    }
    if (!agent->without_gateways) {
        request->has_model_gateway = (hosting->gateways & ARCP__HOSTING_MODELS) != 0;
        request->has_tool_gateway = (hosting->gateways & ARCP__HOSTING_TOOLS) != 0;
    }
    request->outlasts_expiry = hosting->enforce.outlasts_expiry;
    request->outlasts_budget = hosting->enforce.outlasts_budget;
    request->limits.memory_bytes = agent->confinement.memory_bytes;
    request->limits.cpu_percent = agent->confinement.cpu_percent;
    if (agent->confinement.pids != 0) {
        request->limits.pids = agent->confinement.pids;
    }
    request->limits.by_cgroup = arcp__confinement_find_limits(
        hosting, arcp__sandbox_cgroup_limits(&request->limits, &request->abilities));
}

/* The bases of every agent, and those of this one. NULL when out of memory. */
static const char **join_bases(const char *const *all, const char *const *own)
{
    size_t counts[2] = {0, 0};
    const char *const *const lists[2] = {all, own};
    for (size_t i = 0; i < 2; i++) {
        while (lists[i] != NULL && lists[i][counts[i]] != NULL) {
            counts[i]++;
        }
    }
    const char **joined = arcp__alloc_array(counts[0] + counts[1] + 1, sizeof *joined);
    size_t next = 0;
    for (size_t i = 0; i < 2 && joined != NULL; i++) {
        for (size_t j = 0; j < counts[i]; j++) {
            joined[next++] = lists[i][j];
        }
    }
    return joined;
}

/* The directory for HOME and TMPDIR at level landlock: beside the directories of jobs. */
static char *scratch_path(const arcp__hosting *hosting, arcp_span job_id)
{
    arcp_buf path = arcp_buf_init();
    arcp_buf_append_format(&path, "%s/%.*s.private",
                           arcp__process_table_directory(hosting->processes), (int)job_id.size,
                           job_id.data);
    char *taken = arcp_buf_take_cstr(&path);
    arcp_buf_fini(&path);
    return taken;
}

arcp_status arcp__confinement_compile(const arcp__hosting *hosting,
                                      const arcp__process_agent *agent,
                                      const arcp__plan_request *request, bool is_shared,
                                      arcp__job_plan *out, arcp_error *err)
{
    arcp__agent_sandbox sandbox = agent->confinement.sandbox; /* borrows what was found */
    arcp__agent_sandbox_job job = {
        .lease = request->lease, .fresh = request->cwd, .endpoint = request->endpoint};
    const arcp_span cwd = sandbox.request.cwd;
    complete(hosting, agent, &sandbox.request);
    if (hosting->confinement->own.failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    sandbox.request.cwd = is_shared ? ARCP_SPAN_LITERAL("/") : cwd;
    sandbox.request.is_shared = is_shared;
    sandbox.request.may_be_late = agent->warm != NULL && !request->is_cold;
    if (is_shared) { /* the sandbox leads to no gateway: it does not know whose call it is */
        sandbox.request.has_model_gateway = false;
        sandbox.request.has_tool_gateway = false;
    }
    const char **bases = join_bases(hosting->confinement->bases, sandbox.bases);
    bool failed = bases == NULL;
    if (hosting->confinement->level == ARCP__SANDBOX_LEVEL_LANDLOCK && !is_shared) {
        out->scratch = scratch_path(hosting, request->job_id);
        failed = failed || out->scratch == NULL;
        job.scratch = arcp_span_cstr(out->scratch);
    }
    sandbox.bases = bases;
    arcp_status status = failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                : arcp__agent_sandbox_plan(&sandbox, &job, &out->plan, err);
    arcp__free(bases);
    if (status == ARCP_OK) {
        arcp__sandbox_plan_encode(out->plan, &out->text);
        status =
            out->text.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
    }
    return status;
}

/* ---- counters ---- */

void arcp__confinement_started(arcp__hosting *hosting, arcp__sandbox_level level,
                               int64_t requested_mono_ns)
{
    const int64_t took_ns = arcp__clock_ns(CLOCK_MONOTONIC) - requested_mono_ns;
    hosting->sandboxes.starts[level]++;
    hosting->sandboxes.start_ns_sum += took_ns < 0 ? 0 : (uint64_t)took_ns;
    hosting->sandboxes.start_count++;
}

void arcp__confinement_failed(arcp__hosting *hosting, arcp_span step)
{
    const unsigned number = arcp__sandbox_step_find(step);
    if (number < ARCP__SANDBOX_STEP_COUNT) {
        hosting->sandboxes.failures[number]++;
    }
}
