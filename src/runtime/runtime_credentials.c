/* Calls the provisioner for the engine, and seals credentials. */
#include "base/clock.h"
#include "base/options.h"
#include "runtime/runtime_state.h"
#include "runtime/seal.h"

static bool seal_value(void *user, arcp_span alias, arcp_span value, arcp_buf *out)
{
    const arcp_runtime *runtime = user;
    return arcp__seal_close_value(runtime->seal, alias, value, out);
}

static bool unseal_value(void *user, arcp_span alias, arcp_span sealed, arcp_buf *out)
{
    const arcp_runtime *runtime = user;
    return arcp__seal_open_value(runtime->seal, alias, sealed, out);
}

static arcp_status translate(void *user, const arcp_upstream_error *error)
{
    const arcp_runtime *runtime = user;
    return runtime->provisioner->ops->translate_error(runtime->provisioner, error);
}

/* A provisioner may be foreign code: a result that cannot be read or has an invalid outcome is
 * treated as unknown. */
static void on_done(void *user, const arcp_provision_result *given)
{
    const arcp_runtime *runtime = user;
    arcp__shard *shard = arcp__shard_of_id(runtime, given->call_id);
    arcp_provision_result result = arcp_provision_result_init();
    if (arcp__options_take(&result, given, sizeof result, "arcp_provision_result", NULL) !=
            ARCP_OK ||
        (unsigned)result.outcome > ARCP_PROVISION_ABSENT) {
        result = arcp_provision_result_init();
        result.outcome = ARCP_PROVISION_UNKNOWN;
        result.status = ARCP_E_INTERNAL_ERROR;
        result.message = "the provisioner returned an invalid result";
    }
    result.call_id = arcp__inner_id(runtime, given->call_id);
    arcp__engine_provisioned(shard->engine, arcp__input_now(shard), &result);
}

/* One that was built with an earlier release has no such function. */
static bool can_keep(const arcp_provisioner_ops *ops)
{
    return ops->struct_size >= offsetof(arcp_provisioner_ops, keep) + sizeof ops->keep &&
           ops->keep != NULL;
}

arcp_status arcp__runtime_provisioner_open(arcp_runtime *runtime, const char *key_file,
                                           arcp__credential_options *out, arcp_error *err)
{
    const arcp_provisioner *provisioner = runtime->provisioner;
    runtime->terms = arcp_provisioner_terms_init();
    *out = (arcp__credential_options){.terms = NULL};
    if (provisioner == NULL) {
        return ARCP_OK;
    }
    if (key_file == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "a provisioner needs a credential key file");
    }
    arcp_status status = arcp__options_take(&runtime->terms, provisioner->terms,
                                            sizeof runtime->terms, "arcp_provisioner_terms", err);
    if (status != ARCP_OK) {
        return status;
    }
    status = arcp__seal_open(key_file, &runtime->seal, err);
    if (status != ARCP_OK) {
        return status;
    }
    *out = (arcp__credential_options){
        .provisioner = provisioner->ops->name,
        .terms = &runtime->terms,
        .can_measure = provisioner->ops->usage != NULL,
        .can_keep = can_keep(provisioner->ops),
        .seal = seal_value,
        .unseal = unseal_value,
        .translate = provisioner->ops->translate_error == NULL ? NULL : translate,
        .user = runtime,
    };
    arcp_provisioner_callbacks callbacks = {.done = on_done, .user = runtime};
    runtime->provisioner->ops->set_callbacks(runtime->provisioner, &callbacks);
    const arcp_store_ops *store = runtime->shards->store->ops;
    if (!store->durable) {
        arcp__runtime_log(runtime, NULL, ARCP_LOG_WARN,
                          "credentials are not offered: after a restart the store \"%s\" would not "
                          "know which ones to revoke",
                          store->name);
    }
    return ARCP_OK;
}

void arcp__shard_provision(arcp__shard *shard, uint64_t call_id)
{
    arcp_provisioner *provisioner = shard->runtime->provisioner;
    const arcp_provisioner_ops *ops = provisioner->ops;
    arcp_provision_request request;
    arcp_error error = {0};
    const arcp__provision_verb verb =
        arcp__engine_provision_request(shard->engine, call_id, &request);
    request.call_id = arcp__shard_outer_id(shard, call_id);
    arcp_status status = ARCP_E_USAGE;
    switch (verb) {
    case ARCP__PROVISION_ISSUE:
        status = ops->issue(provisioner, &request, &error);
        break;
    case ARCP__PROVISION_ROTATE:
        status = ops->rotate != NULL ? ops->rotate(provisioner, &request, &error)
                                     : ops->issue(provisioner, &request, &error);
        break;
    case ARCP__PROVISION_REVOKE:
        status = ops->revoke(provisioner, &request, &error);
        break;
    case ARCP__PROVISION_USAGE:
        status = ops->usage(provisioner, &request, &error);
        break;
    case ARCP__PROVISION_KEEP:
        status = ops->keep(provisioner, &request, &error);
        break;
    }
    arcp__engine_provision_sent(shard->engine);
    if (status == ARCP_OK) {
        return;
    }
    const bool is_new = verb == ARCP__PROVISION_ISSUE || verb == ARCP__PROVISION_ROTATE;
    arcp_provision_result result = arcp_provision_result_init();
    result.call_id = call_id;
    result.outcome = is_new ? ARCP_PROVISION_REFUSED : ARCP_PROVISION_UNKNOWN;
    result.status = ARCP_E_INTERNAL_ERROR;
    result.message =
        error.message[0] == '\0' ? "the call to the provisioner failed" : error.message;
    arcp__engine_provisioned(shard->engine, arcp__clock_now(), &result);
}
