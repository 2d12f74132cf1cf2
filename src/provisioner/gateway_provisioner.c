/* Keys of the gateways as credentials. A key is made and revoked in the call itself; only the
 * completion comes later, in the next turn of the loop. */
#include "provisioner/gateway_provisioner.h"

#include <assert.h>
#include <stdio.h>

#include <arcp/secret.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/hash.h"

/* A completion that is to be delivered. */
typedef struct call {
    struct call *next;
    uint64_t id;
    bool is_refused;
    char key[ARCP__GATEWAY_KEY_MAX]; /* "": none was issued */
} call;

typedef struct gateway_provisioner {
    arcp__upstream_provisioner common;
    arcp__gateway *gateway;
    uv_idle_t turn; /* active while there are calls */
    call *calls;
} gateway_provisioner;

static const char *profile_of(const gateway_provisioner *keys)
{
    const char *profile = keys->common.upstream.profile;
    return profile == NULL ? "openai" : profile;
}

static void deliver(gateway_provisioner *keys, const call *done)
{
    const arcp__upstream *upstream = &keys->common.upstream;
    char endpoint[ARCP__GATEWAY_URL_MAX + 4] = "";
    arcp_provision_result result = arcp_provision_result_init();
    result.call_id = done->id;
    result.outcome = done->is_refused ? ARCP_PROVISION_REFUSED : ARCP_PROVISION_DONE;
    if (done->is_refused) {
        result.status = ARCP_E_INTERNAL_ERROR;
        result.message = "there is no gateway, or no memory for a key";
    } else if (done->key[0] != '\0') {
        const char *profile = profile_of(keys);
        (void)snprintf(endpoint, sizeof endpoint, "%s%s", arcp__gateway_url(keys->gateway),
                       strcmp(profile, "openai") == 0 ? "/v1" : "");
        result.value = arcp_span_cstr(done->key);
        result.endpoint = arcp_span_cstr(endpoint);
        result.scheme = arcp_span_cstr(upstream->scheme);
        result.profile = arcp_span_cstr(profile);
    }
    keys->common.callbacks.done(keys->common.callbacks.user, &result);
}

static void free_call(call *done)
{
    arcp_wipe(done, sizeof *done);
    arcp__free(done);
}

static void on_turn(uv_idle_t *turn)
{
    gateway_provisioner *keys = turn->data;
    call *calls = keys->calls;
    keys->calls = NULL; /* a completion may call again: that is for the next turn */
    (void)uv_idle_stop(turn);
    while (calls != NULL) {
        call *done = calls;
        LL_DELETE(calls, done);
        deliver(keys, done);
        free_call(done);
    }
}

static arcp_status add_call(gateway_provisioner *keys, const arcp_provision_request *request,
                            call **out, arcp_error *err)
{
    call *added = arcp__alloc(sizeof *added);
    if (added == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a key");
    }
    added->id = request->call_id;
    LL_APPEND(keys->calls, added);
    (void)uv_idle_start(&keys->turn, on_turn);
    *out = added;
    return ARCP_OK;
}

static arcp_status issue_key(arcp_provisioner *base, const arcp_provision_request *request,
                             arcp_error *err)
{
    gateway_provisioner *keys = (gateway_provisioner *)base;
    call *added = NULL;
    const arcp_status status = add_call(keys, request, &added, err);
    if (status == ARCP_OK) {
        assert(added != NULL);
        added->is_refused = keys->gateway == NULL ||
                            arcp__gateway_issue(keys->gateway, request->job_id, request->alias,
                                                added->key, err) != ARCP_OK;
    }
    return status;
}

static arcp_status revoke_key(arcp_provisioner *base, const arcp_provision_request *request,
                              arcp_error *err)
{
    gateway_provisioner *keys = (gateway_provisioner *)base;
    call *added = NULL;
    const arcp_status status = add_call(keys, request, &added, err);
    if (status == ARCP_OK && keys->gateway != NULL) {
        arcp__gateway_revoke(keys->gateway, request->job_id, request->alias);
    }
    return status;
}

/* The gateways of this run do not know the key yet. */
static arcp_status keep_key(arcp_provisioner *base, const arcp_provision_request *request,
                            arcp_error *err)
{
    gateway_provisioner *keys = (gateway_provisioner *)base;
    call *added = NULL;
    const arcp_status status = add_call(keys, request, &added, err);
    if (status == ARCP_OK) {
        assert(added != NULL);
        added->is_refused = keys->gateway == NULL || request->value.size == 0 ||
                            arcp__gateway_adopt(keys->gateway, request->job_id, request->alias,
                                                request->value, err) != ARCP_OK;
    }
    return status;
}

static void on_closed(uv_handle_t *turn)
{
    arcp__free(turn->data);
}

static void provisioner_free(arcp_provisioner *base)
{
    gateway_provisioner *keys = (gateway_provisioner *)base;
    while (keys->calls != NULL) {
        call *dropped = keys->calls;
        LL_DELETE(keys->calls, dropped);
        free_call(dropped);
    }
    uv_close((uv_handle_t *)&keys->turn, on_closed);
}

static const arcp_provisioner_ops ops = {
    .struct_size = sizeof(arcp_provisioner_ops),
    .name = "gateway",
    .set_callbacks = arcp__upstream_set_callbacks,
    .issue = issue_key,
    .revoke = revoke_key,
    .translate_error = arcp__upstream_translate,
    .free = provisioner_free,
    .keep = keep_key,
};

arcp_status arcp__gateway_provisioner_new(struct uv_loop_s *loop, const arcp__upstream *upstream,
                                          arcp_provisioner **out, arcp_error *err)
{
    gateway_provisioner *keys = arcp__alloc(sizeof *keys);
    if (keys == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    keys->common.upstream = *upstream;
    keys->common.upstream.terms = arcp_provisioner_terms_init();
    keys->common.upstream.terms.agents = upstream->terms.agents;
    keys->common.upstream.terms.agent_count = upstream->terms.agent_count;
    keys->common.upstream.terms.enforces = ARCP_ENFORCES_LEASE | ARCP_ENFORCES_EXPIRY;
    keys->common.base = (arcp_provisioner){&ops, &keys->common.upstream.terms};
    (void)uv_idle_init(loop, &keys->turn); /* cannot fail */
    keys->turn.data = keys;
    *out = &keys->common.base;
    return ARCP_OK;
}

void arcp__gateway_provisioner_connect(arcp_provisioner *provisioner, arcp__gateway *gateway)
{
    ((gateway_provisioner *)provisioner)->gateway = gateway;
}
