#include "arcp/run_gateways.h"

#include <string.h>
#include <unistd.h>

#include "arcp/command.h"
#include "base/alloc.h"
#include "gateway/gateway_job.h"
#include "gateway/gateway_program.h"
#include "gateway/model_service.h"
#include "gateway/tool.h"

/* How long the end of the command waits for its calls. They need microseconds, unless the gateways'
 * thread is busy with a large request. */
#define SETTLE_MS_MAX 1000u

/* ---- the configuration ---- */

static bool has_capability(const arcp_lease *lease, const char *name)
{
    for (size_t i = 0; i < arcp_lease_capability_count(lease); i++) {
        if (arcp_span_equal_cstr(arcp_lease_capability_name(lease, i), name)) {
            return arcp_lease_pattern_count(lease, i) != 0;
        }
    }
    return false;
}

/* Leaves only the providers that --provider names, in the order of the file. */
static arcp_status choose_providers(arcp__run *run, arcp_error *err)
{
    const arcp__arguments *arguments = &run->program->arguments;
    const size_t given = arguments->counts[ARCP__OPTION_RUN_PROVIDER];
    arcp__run_gateways *gateways = run->gateways;
    const arcp__model_options *all = &gateways->file.setup.models;
    arcp__model_provider_options *chosen =
        arcp__arena_take(&run->arena, (all->provider_count + 1) * sizeof *chosen);
    size_t count = 0;
    if (chosen == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < given; i++) {
        const char *name = arguments->values[ARCP__OPTION_RUN_PROVIDER][i];
        bool is_known = false;
        for (size_t j = 0; j < all->provider_count; j++) {
            is_known = is_known || strcmp(all->providers[j].name, name) == 0;
        }
        if (!is_known) {
            return arcp_error_set(err, ARCP_E_USAGE, "--provider %.64s: %s has no such provider",
                                  name, gateways->file.path.data);
        }
    }
    for (size_t i = 0; i < all->provider_count; i++) {
        bool is_wanted = given == 0;
        for (size_t j = 0; j < given; j++) {
            is_wanted = is_wanted || strcmp(arguments->values[ARCP__OPTION_RUN_PROVIDER][j],
                                            all->providers[i].name) == 0;
        }
        if (is_wanted) {
            chosen[count++] = all->providers[i];
        }
    }
    gateways->used = gateways->file.setup;
    gateways->used.models.providers = chosen;
    gateways->used.models.provider_count = count;
    return ARCP_OK;
}

/* A key that the command has, too, would lead past the gateways. */
static arcp_status check_environment(const arcp__run *run, arcp_error *err)
{
    const arcp__arguments *arguments = &run->program->arguments;
    const arcp__text_list *secrets = &run->gateways->file.variables;
    for (size_t i = 0; i < arguments->counts[ARCP__OPTION_RUN_ENV]; i++) {
        for (size_t j = 0; j < secrets->count; j++) {
            if (strcmp(arguments->values[ARCP__OPTION_RUN_ENV][i], secrets->items[j]) == 0) {
                return arcp_error_set(err, ARCP_E_USAGE,
                                      "--env %.200s: %s takes a secret from this variable, which "
                                      "the command must not have",
                                      secrets->items[j], run->gateways->file.path.data);
            }
        }
    }
    return ARCP_OK;
}

/* What the options ask for must be there; a lease may name more than this user has. */
static arcp_status check_options(const arcp__run *run, arcp_error *err)
{
    const arcp__arguments *arguments = &run->program->arguments;
    const arcp__run_gateways *gateways = run->gateways;
    if (arcp__has(arguments, ARCP__OPTION_RUN_MODEL) && gateways->used.models.provider_count == 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--model: there is no provider: %s has no models.providers (see "
                              "arcp(1), FILES)",
                              gateways->file.path.data);
    }
    if (arcp__has(arguments, ARCP__OPTION_RUN_TOOL) && gateways->used.tools.server_count == 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--tool: there is no server: %s has no tools.servers (see "
                              "arcp(1), FILES)",
                              gateways->file.path.data);
    }
    return check_environment(run, err);
}

static arcp_status read_file(arcp__run *run, arcp_error *err)
{
    run->gateways = arcp__alloc(sizeof *run->gateways);
    return run->gateways == NULL
               ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
               : arcp__setup_file_read(&run->program->arguments, &run->gateways->file, err);
}

arcp_status arcp__run_gateways_read(arcp__run *run, arcp_error *err)
{
    const bool has_models = has_capability(run->lease, "model.use");
    const bool has_tools = has_capability(run->lease, "tool.call");
    if (arcp__has(&run->program->arguments, ARCP__OPTION_RUN_PROVIDER) && !has_models) {
        return arcp_error_set(err, ARCP_E_USAGE, "--provider needs --model");
    }
    /* What net.fetch grants is all but the hosts of providers. */
    if (run->is_learning ||
        (!has_models && !has_tools && !has_capability(run->lease, "net.fetch"))) {
        return ARCP_OK;
    }
    arcp_status status = read_file(run, err);
    if (status == ARCP_OK) {
        status = choose_providers(run, err);
    }
    if (status == ARCP_OK && (has_models || has_tools)) {
        status = check_options(run, err);
    }
    if (status == ARCP_OK) {
        status = arcp__setup_model_hosts(&run->gateways->file.setup,
                                         run->gateways->file.allows_direct_models, &run->arena,
                                         &run->request, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    run->gateways->has[ARCP__GATEWAY_LLM] =
        has_models && run->gateways->used.models.provider_count != 0;
    run->gateways->has[ARCP__GATEWAY_MCP] =
        has_tools && run->gateways->used.tools.server_count != 0;
    return ARCP_OK;
}

static bool has_word(const char *const *words, size_t count, const char *word)
{
    bool is_there = false;
    for (size_t i = 0; i < count; i++) {
        is_there = is_there || strcmp(words[i], word) == 0;
    }
    return is_there;
}

arcp_status arcp__run_gateways_read_tools(arcp__run *run, const char *const *names, size_t count,
                                          arcp_error *err)
{
    arcp_status status = read_file(run, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__run_gateways *gateways = run->gateways;
    const arcp__setup_tools_values *all = &gateways->file.setup.tools;
    arcp__setup_tool_server *chosen =
        arcp__arena_take(&run->arena, (all->server_count + 1) * sizeof *chosen);
    size_t chosen_count = 0;
    if (chosen == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        size_t j = 0;
        while (j < all->server_count && strcmp(all->servers[j].name, names[i]) != 0) {
            j++;
        }
        if (j == all->server_count) {
            return arcp_error_set(err, ARCP_E_USAGE, "%s has no server of tools '%.64s'",
                                  gateways->file.path.data, names[i]);
        }
    }
    for (size_t i = 0; i < all->server_count; i++) {
        if (count == 0 || has_word(names, count, all->servers[i].name)) {
            chosen[chosen_count++] = all->servers[i];
        }
    }
    gateways->used = gateways->file.setup;
    gateways->used.tools.servers = chosen;
    gateways->used.tools.server_count = chosen_count;
    gateways->has[ARCP__GATEWAY_MCP] = chosen_count != 0;
    return ARCP_OK;
}

void arcp__run_gateways_own(arcp__run *run)
{
    const arcp__run_gateways *gateways = run->gateways;
    if (gateways == NULL) {
        return;
    }
    for (size_t i = 0; i < gateways->file.files.count; i++) {
        const char *path =
            arcp__run_path(&run->arena, run->cwd, "config", gateways->file.files.items[i], NULL);
        if (path != NULL) {
            arcp__own_paths_add(&run->own, path, false);
        }
    }
    run->request.has_model_gateway = gateways->has[ARCP__GATEWAY_LLM];
    run->request.has_tool_gateway = gateways->has[ARCP__GATEWAY_MCP];
}

/* Without what is not used, whose keys need not be there. */
static void leave_out(arcp__run_gateways *gateways)
{
    if (!gateways->has[ARCP__GATEWAY_LLM]) {
        gateways->used.models.provider_count = 0;
    }
    if (!gateways->has[ARCP__GATEWAY_MCP]) {
        gateways->used.tools.server_count = 0;
    }
}

arcp_status arcp__run_gateways_make(arcp__run *run, arcp_error *err)
{
    arcp__run_gateways *gateways = run->gateways;
    arcp__tool_host host = {.bases = NULL};
    if (gateways == NULL) {
        return ARCP_OK;
    }
    leave_out(gateways);
    arcp_status status = arcp__setup_client(&gateways->used, &gateways->client, err);
    if (status == ARCP_OK && gateways->has[ARCP__GATEWAY_LLM]) {
        status = arcp__setup_make_models(&gateways->used, &gateways->models, err);
    }
    if (status != ARCP_OK || !gateways->has[ARCP__GATEWAY_MCP]) {
        return status;
    }
    const char *work = arcp__run_temporary(run, err);
    if (work == NULL) {
        return err->status;
    }
    arcp__sandbox_request_defaults(&host.request);
    arcp__own_paths_set(&run->own, &host.request);
    host.request.abilities = run->request.abilities;
    host.request.model_hosts = run->request.model_hosts;
    host.request.model_host_count = run->request.model_host_count;
    return arcp__setup_make_tools(&gateways->used, &host, work, &gateways->tools, err);
}

/* ---- while the command runs ---- */

static void on_wake(uv_async_t *wake)
{
    const arcp__run_gateways *gateways = wake->data;
    arcp__gateway_take(gateways->gateway);
}

static void on_message(void *user, const arcp__job_message *message)
{
    const arcp__run_gateways *gateways = user;
    arcp__run_report_message(gateways->running->report, message);
}

/* Why a call was refused, as one line. The reason of a denial for the budget is its currency. */
static void append_reason(const arcp__gateway_denial *denial, arcp_buf *out)
{
    if (denial->code == ARCP_E_BUDGET_EXHAUSTED && denial->reason.size <= 8) {
        arcp_buf_append_cstr(out, "the budget of ");
        arcp_buf_append(out, denial->reason);
        arcp_buf_append_cstr(out, " does not pay it");
    } else if (denial->code == ARCP_E_LEASE_EXPIRED) {
        arcp_buf_append_cstr(out, "the lease has expired");
    } else {
        arcp_buf_append(out, denial->reason);
    }
}

static void on_denied(void *user, const arcp__gateway_denial *denial)
{
    const arcp__run_gateways *gateways = user;
    const bool is_lacking = denial->code == ARCP_E_PERMISSION_DENIED &&
                            arcp_span_equal_cstr(denial->reason, "NO_MATCH");
    arcp_buf reason = arcp_buf_init();
    append_reason(denial, &reason);
    const arcp__run_refusal refusal = {.capability = denial->capability,
                                       .target = denial->target,
                                       .reason = arcp_buf_cstr(&reason),
                                       .layer = "gateway",
                                       .is_lacking = is_lacking,
                                       .has_no_option = !is_lacking};
    arcp__run_report_refusal(gateways->running->report, &refusal);
    arcp_buf_fini(&reason);
}

arcp_status arcp__run_gateways_start(arcp__run_gateways *gateways, uv_loop_t *loop, arcp_error *err)
{
    static const arcp__job_gates gates;
    gateways->wake.data = gateways;
    gateways->has_wake = uv_async_init(loop, &gateways->wake, on_wake) == 0;
    if (!gateways->has_wake) {
        return arcp_error_set(err, ARCP_E_IO, "the loop cannot be woken");
    }
    arcp__gateway_options options = {.wake = &gateways->wake,
                                     .limits = arcp__setup_limits(&gateways->used),
                                     .gates = &gates,
                                     .client = gateways->client,
                                     .client_options = {.keeps_connections = true}};
    if (gateways->has[ARCP__GATEWAY_LLM]) {
        options.providers[ARCP__GATEWAY_LLM] =
            (arcp__gateway_provider){&arcp__model_service, gateways->models};
    }
    if (gateways->has[ARCP__GATEWAY_MCP]) {
        options.providers[ARCP__GATEWAY_MCP] =
            (arcp__gateway_provider){&arcp__tool_service, gateways->tools};
    }
    return arcp__gateway_new(&options, &gateways->gateway, err);
}

/* The command's own variables first: what it was given stays. */
static arcp_status set_environment(arcp__run *run, const arcp__gateway_endpoint *endpoints,
                                   arcp_error *err)
{
    arcp__environment *environment = &run->gateways->environment;
    arcp__environment_pass(environment, run->env);
    arcp__gateway_set_environment(endpoints, environment);
    if (environment->failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    run->env = (const char **)environment->pairs;
    return ARCP_OK;
}

arcp_status arcp__run_gateways_open(arcp__running *running, arcp_error *err)
{
    arcp__run *run = running->run;
    arcp__run_gateways *gateways = run->gateways;
    arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS];
    if (arcp__run_gateways_bits(run) == 0) {
        return ARCP_OK;
    }
    gateways->running = running;
    arcp_status status = arcp__run_gateways_start(gateways, &running->loop, err);
    const arcp__gateway_job_options job = {
        .authority = running->authority,
        .job_id = ARCP_SPAN_LITERAL("run"),
        .principal = ARCP_SPAN_LITERAL("run"),
        .agent = arcp_span_cstr(run->program->arguments.words[0]),
        .is_confined = true,
        .events = {.message = on_message, .denied = on_denied, .user = gateways}};
    if (status == ARCP_OK) {
        status = arcp__gateway_open(gateways->gateway, &job, endpoints, &gateways->job, err);
    }
    return status == ARCP_OK ? set_environment(run, endpoints, err) : status;
}

unsigned arcp__run_gateways_bits(const arcp__run *run)
{
    unsigned bits = 0;
    for (unsigned i = 0; run->gateways != NULL && i < ARCP__GATEWAY_KINDS; i++) {
        bits |= run->gateways->has[i] ? 1U << i : 0;
    }
    return bits;
}

void arcp__run_gateways_serve(void *user, unsigned kind, int fd)
{
    const arcp__run_gateways *gateways = user;
    arcp__gateway_serve(gateways->job, (arcp__gateway_kind)kind, fd);
}

void arcp__run_gateways_stop(arcp__run_gateways *gateways)
{
    arcp__gateway_free(gateways->gateway);
    gateways->gateway = NULL;
    if (gateways->has_wake) {
        gateways->has_wake = false;
        uv_close((uv_handle_t *)&gateways->wake, NULL);
    }
}

void arcp__run_gateways_end(arcp__running *running)
{
    arcp__run_gateways *gateways = running->run->gateways;
    if (gateways == NULL) {
        return;
    }
    const arcp__gateway_events events = {
        .message = on_message, .denied = on_denied, .user = gateways};
    if (gateways->job != NULL && !arcp__gateway_settle(gateways->job, SETTLE_MS_MAX, &events)) {
        arcp__program_say(running->run->program,
                          "calls to models or tools have not ended within %u ms; what they cost is "
                          "not in the sum",
                          SETTLE_MS_MAX);
    }
    arcp__gateway_release(gateways->job);
    gateways->job = NULL;
    arcp__run_gateways_stop(gateways);
}

void arcp__run_gateways_free(arcp__run *run)
{
    arcp__run_gateways *gateways = run->gateways;
    if (gateways == NULL) {
        return;
    }
    arcp__environment_fini(&gateways->environment);
    arcp__model_config_unref(gateways->models);
    arcp__tool_config_unref(gateways->tools);
    arcp__setup_file_fini(&gateways->file);
    arcp__free(gateways);
    run->gateways = NULL;
}
