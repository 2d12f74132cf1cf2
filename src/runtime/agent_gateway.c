#include "runtime/agent_gateway.h"

#include <assert.h>
#include <stdio.h>

#include <arcp/secret.h>

#include "base/alloc.h"
#include "gateway/gateway_program.h"
#include "hosting/confinement.h"
#include "runtime/runtime_gateway.h"
#include "json/json_put.h"

/* How long the end of a job waits for its calls. They need microseconds, unless the gateway's
 * thread is busy with a large request. */
#define SETTLE_MS_MAX 1000u

struct arcp__agent_gateway {
    arcp_runtime *runtime;
    arcp__job *job;
    arcp__gateway_job *opened;
    arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS]; /* secret */
    UT_hash_handle hh; /* of jobs on workers, by the pointer to the job */
};

/* ---- of the runtime ---- */

arcp_status arcp__runtime_open_gateway(arcp_runtime *runtime, const arcp__gateway_options *options,
                                       arcp_error *err)
{
    arcp__gateway_options own = *options;
    own.wake = &runtime->wake;
    own.gates = arcp__engine_gates(runtime->shards->engine); /* all have the same */
    const arcp_status status = arcp__gateway_new(&own, &runtime->gateway, err);
    if (status == ARCP_OK) {
        runtime->hosting.gateways =
            (arcp__gateway_has(runtime->gateway, ARCP__GATEWAY_LLM) ? ARCP__HOSTING_MODELS : 0U) |
            (arcp__gateway_has(runtime->gateway, ARCP__GATEWAY_MCP) ? ARCP__HOSTING_TOOLS : 0U);
        for (arcp__shard *shard = runtime->shards; shard != arcp__shards_end(runtime); shard++) {
            arcp__engine_set_gateway_keys(shard->engine, true);
        }
    }
    return status;
}

bool arcp__runtime_tool_host(arcp_runtime *runtime, arcp__tool_host *out)
{
    const arcp__confinement *confinement = runtime->hosting.confinement;
    *out = (arcp__tool_host){.bases = NULL};
    if (confinement == NULL) {
        return false;
    }
    arcp__confinement_complete(&runtime->hosting, &out->request);
    out->bases = confinement->bases;
    out->private_hosts = confinement->private_hosts;
    out->private_host_count = confinement->private_host_count;
    out->egress_idle_ms = (uint32_t)(runtime->hosting.enforce.egress_idle_sec * 1000);
    return true;
}

arcp_status arcp__runtime_add_spend(arcp_runtime *runtime, const char *principal_glob,
                                    const arcp_lease *amounts, arcp_error *err)
{
    const arcp__policy policy = {.principal_glob = arcp_span_cstr(principal_glob),
                                 .agent_glob = ARCP_SPAN_LITERAL("*"),
                                 .leaves_others_open = true,
                                 .spend = amounts};
    return arcp__shards_add_policy(runtime, &policy, err);
}

arcp__gateway *arcp__runtime_gateway(const arcp_runtime *runtime)
{
    return runtime->gateway;
}

const char *arcp__runtime_directory(const arcp_runtime *runtime)
{
    return arcp__process_table_directory(runtime->hosting.processes);
}

/* ---- what calls have led to ---- */

static arcp__denial denial_of(const arcp__gateway_denial *denial)
{
    return (arcp__denial){.layer = ARCP__DENIAL_GATEWAY,
                          .code = denial->code,
                          .capability = denial->capability,
                          .target = denial->target,
                          .reason = denial->reason,
                          .count = 1};
}

static void on_message(void *user, const arcp__job_message *message)
{
    const arcp__agent_gateway *gateway = user;
    arcp__engine_agent_message(arcp__engine_of(gateway->job), arcp__input_of(gateway->job),
                               gateway->job, message);
}

static void on_denied(void *user, const arcp__gateway_denial *denial)
{
    const arcp__agent_gateway *gateway = user;
    const arcp__denial made = denial_of(denial);
    arcp__engine_agent_denied(arcp__engine_of(gateway->job), arcp__input_of(gateway->job),
                              gateway->job, 0, &made);
}

static void pass_message(void *user, const arcp__job_message *message)
{
    const arcp__settle_sink *sink = user;
    sink->message(sink->user, message);
}

static void pass_denial(void *user, const arcp__gateway_denial *denial)
{
    const arcp__settle_sink *sink = user;
    const arcp__denial made = denial_of(denial);
    sink->denied(sink->user, &made);
}

/* ---- of a job ---- */

/* `digest`: of the key of a job on a worker; NULL: it is ours. */
static arcp_status open_gateway(arcp_runtime *runtime, arcp__job *job, bool is_confined,
                                const uint8_t *digest, arcp__agent_gateway **out, arcp_error *err)
{
    if (runtime->gateway == NULL) {
        return ARCP_OK;
    }
    arcp__agent_gateway *gateway = arcp__alloc(sizeof *gateway);
    if (gateway == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a job's gateway");
    }
    gateway->runtime = runtime;
    gateway->job = job;
    const arcp__job *top = job;
    while (top->parent != NULL) {
        top = top->parent;
    }
    const arcp__gateway_job_options options = {
        .authority = job->live->authority,
        .job_id = arcp_span_cstr(job->id),
        .principal = arcp_span_cstr(job->principal->name),
        .agent = arcp_span_cstr(job->agent_text),
        .traceparent = arcp_span_cstr(job->live->trace.traceparent),
        .tree_id = arcp_span_cstr(top->id),
        .makes_spans = job->live->trace.is_recorded,
        .has_purse = job->live->purse != NULL,
        .stores_holds = job->live->stores_holds || digest != NULL,
        .digest = digest,
        .is_confined = is_confined,
        .events = {.message = on_message, .denied = on_denied, .user = gateway},
    };
    const arcp_status status =
        arcp__gateway_open(runtime->gateway, &options, gateway->endpoints, &gateway->opened, err);
    if (status != ARCP_OK) {
        arcp__free(gateway);
        return status;
    }
    *out = gateway;
    return ARCP_OK;
}

arcp_status arcp__agent_gateway_open(arcp_runtime *runtime, arcp__job *job, bool is_confined,
                                     arcp__agent_gateway **out, arcp_error *err)
{
    return open_gateway(runtime, job, is_confined, NULL, out, err);
}

/* ---- of a job on a worker ---- */

static bool has_key(const arcp__job *job)
{
    const arcp__job_numbers *numbers = job->live->numbers;
    bool any = false;
    for (size_t i = 0; i < sizeof numbers->gateway_digest; i++) {
        any = any || numbers->gateway_digest[i] != 0;
    }
    return any;
}

arcp__agent_gateway *arcp__worker_gateway_of(const arcp__job *job)
{
    const arcp_runtime *runtime = arcp__shard_of(job)->runtime;
    arcp__agent_gateway *gateway = NULL;
    HASH_FIND_PTR(runtime->worker_gateways, &job, gateway);
    return gateway;
}

arcp_status arcp__worker_gateway_open(arcp_runtime *runtime, arcp__job *job, arcp_error *err)
{
    arcp__agent_gateway *gateway = NULL;
    if (runtime->gateway == NULL || !has_key(job) || arcp__worker_gateway_of(job) != NULL ||
        arcp__job_has_ended(job)) {
        return ARCP_OK;
    }
    arcp_status status =
        open_gateway(runtime, job, true, job->live->numbers->gateway_digest, &gateway, err);
    if (status == ARCP_OK) {
        assert(gateway != NULL);
        /* uthash knows its table. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
        HASH_ADD_PTR(runtime->worker_gateways, job, gateway);
        if (!ARCP__HASH_ADDED(gateway)) {
            arcp__agent_gateway_release(gateway);
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a job's gateway");
        }
    }
    return status;
}

void arcp__worker_gateway_close(arcp__job *job)
{
    arcp__agent_gateway *gateway = arcp__worker_gateway_of(job);
    if (gateway != NULL) {
        HASH_DEL(gateway->runtime->worker_gateways, gateway);
        arcp__agent_gateway_release(gateway);
    }
}

void arcp__worker_gateways_close(arcp_runtime *runtime)
{
    arcp__agent_gateway *gateway = NULL;
    arcp__agent_gateway *next = NULL;
    HASH_ITER (hh, runtime->worker_gateways, gateway, next) {
        HASH_DEL(runtime->worker_gateways, gateway);
        arcp__agent_gateway_release(gateway);
    }
}

const char *arcp__worker_gateways_url(const arcp_runtime *runtime, bool is_local)
{
    return runtime->gateway == NULL ? ""
           : is_local               ? arcp__gateway_local_url(runtime->gateway)
                                    : arcp__gateway_public_url(runtime->gateway);
}

static void hold(void *gateway)
{
    arcp__gateway_hold(gateway);
}

static void drop(void *gateway)
{
    arcp__gateway_drop(gateway);
}

static void serve(void *gateway, unsigned which, int fd)
{
    arcp__gateway_serve(gateway, (arcp__gateway_kind)which, fd);
}

void arcp__agent_gateway_connect(const arcp__agent_gateway *gateway,
                                 arcp__agent_network_options *options)
{
    static const arcp__network_gateway ops = {.hold = hold, .drop = drop, .serve = serve};
    for (unsigned i = 0; gateway != NULL && i < ARCP__GATEWAY_KINDS; i++) {
        options->gateway = gateway->opened;
        options->gateway_ops = &ops;
        options->gateways |= gateway->endpoints[i].url[0] == '\0' ? 0 : 1U << i;
    }
}

void arcp__agent_gateway_cancel(const arcp__agent_gateway *gateway)
{
    if (gateway != NULL) {
        arcp__gateway_close(gateway->opened);
    }
}

void arcp__agent_gateway_revoke(const arcp__agent_gateway *gateway, arcp_status code)
{
    if (gateway != NULL && code == ARCP_E_LEASE_EXPIRED) {
        arcp__gateway_end_calls(gateway->opened);
    }
}

void arcp__agent_gateway_hold_stored(const arcp__agent_gateway *gateway, arcp_span call_id)
{
    if (gateway != NULL) {
        arcp__gateway_hold_stored(gateway->opened, call_id);
    }
}

void arcp__agent_gateway_settle(arcp__agent_gateway *gateway, const arcp__settle_sink *sink)
{
    if (gateway == NULL) {
        return;
    }
    arcp__settle_sink to = *sink;
    const arcp__gateway_events events = {
        .message = pass_message, .denied = pass_denial, .user = &to};
    if (!arcp__gateway_settle(gateway->opened, SETTLE_MS_MAX, &events)) {
        arcp__runtime_log(gateway->runtime, gateway->job, ARCP_LOG_WARN,
                          "the calls of the job to models or tools have not ended within %u ms; "
                          "what they cost is charged, but has no event",
                          SETTLE_MS_MAX);
    }
}

void arcp__agent_gateway_release(arcp__agent_gateway *gateway)
{
    if (gateway != NULL) {
        arcp__gateway_release(gateway->opened);
        arcp_wipe(gateway->endpoints, sizeof gateway->endpoints);
        arcp__free(gateway);
    }
}

void arcp__runtime_settle(void *user, arcp__job *job, const arcp__settle_sink *sink)
{
    const arcp_runtime *runtime = user;
    if (job->live->user != NULL && arcp__host_of(runtime, job)->settle != NULL) {
        arcp__host_of(runtime, job)->settle(job->live->user, sink);
    }
}

/* ---- how its program finds them ---- */

void arcp__agent_gateway_environment(const arcp__agent_gateway *gateway,
                                     arcp__environment *environment)
{
    if (gateway != NULL) {
        arcp__gateway_set_environment(gateway->endpoints, environment);
    }
}

void arcp__agent_gateway_write_clients(const arcp__agent_gateway *gateway, arcp_buf *text,
                                       const char **name, arcp_span *content)
{
    if (gateway != NULL) {
        arcp__gateway_write_clients(gateway->endpoints, text, name, content);
    }
}

void arcp__agent_gateway_write_start(const arcp__agent_gateway *gateway, arcp_span line,
                                     arcp_buf *out)
{
    if (gateway == NULL) {
        arcp_buf_append(out, line);
    } else {
        arcp__gateway_write_start(gateway->endpoints, line, out);
    }
}
