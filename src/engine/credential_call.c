/* Credentials as objects, and their calls to the provisioner. What the calls mean is in
 * credential.c. */
#include "engine/parts.h"

#include <assert.h>
#include <stdio.h>

void arcp__credential_alias(const char *id, uint32_t generation,
                            char out[ARCP__CREDENTIAL_ALIAS_SIZE])
{
    if (generation == 1) {
        (void)snprintf(out, ARCP__CREDENTIAL_ALIAS_SIZE, "%s", id);
    } else {
        (void)snprintf(out, ARCP__CREDENTIAL_ALIAS_SIZE, "%s.%u", id, generation);
    }
}

arcp__credential *arcp__credential_find(const arcp__engine *engine, const char *alias)
{
    arcp__credential *found = NULL;
    HASH_FIND(hh, engine->credentials, alias, strlen(alias), found);
    return found;
}

arcp__credential *arcp__credential_new(arcp__engine *engine, const char *id, uint32_t generation)
{
    arcp__credential *credential = arcp__alloc(sizeof(*credential));
    if (credential == NULL) {
        arcp__context_no_memory(&engine->context);
        return NULL;
    }
    (void)snprintf(credential->id, sizeof(credential->id), "%s", id);
    credential->generation = generation;
    credential->asked = generation;
    arcp__credential_alias(id, generation, credential->alias);
    credential->asked_wall_ns = engine->context.now.wall_ns;
    assert(arcp__credential_find(engine, credential->alias) == NULL);
    HASH_ADD_KEYPTR(hh, engine->credentials, credential->alias, strlen(credential->alias),
                    credential);
    if (!ARCP__HASH_ADDED(credential)) {
        arcp__free(credential);
        arcp__context_no_memory(&engine->context);
        return NULL;
    }
    return credential;
}

void arcp__credential_free(arcp__engine *engine, arcp__credential *credential)
{
    char *const texts[] = {credential->provisioner, credential->principal,   credential->agent,
                           credential->traceparent, credential->upstream_id, credential->sealed,
                           credential->scheme,      credential->endpoint,    credential->profile,
                           credential->constraints};
    for (size_t at = 0; at < sizeof(texts) / sizeof(texts[0]); at++) {
        arcp__free(texts[at]);
    }
    if (credential->call_id != 0) {
        HASH_DELETE(hh_call, engine->credential_calls, credential);
    }
    engine->stuck_credentials -= credential->is_stuck ? 1 : 0;
    arcp__context_disarm(&engine->context, &credential->timer);
    arcp__context_disarm(&engine->context, &credential->usage_timer);
    HASH_DEL(engine->credentials, credential);
    arcp__free(credential->models);
    arcp__free(credential);
}

void arcp__credential_free_all(arcp__engine *engine)
{
    for (arcp__credential *at = engine->credentials, *next = NULL; at != NULL; at = next) {
        next = at->hh.next;
        arcp__credential_free(engine, at);
    }
    arcp__engine_provision_asked(engine);
    arcp_buf_fini(&engine->asking);
    arcp_buf_fini(&engine->revealed);
}

void arcp__credential_audit(arcp__engine *engine, const arcp__credential *credential,
                            const char *action, const char *why)
{
    arcp__audit(engine->log, &(arcp__audit_line){
                                 .event = ARCP__AUDIT_CREDENTIAL,
                                 .decision = action,
                                 .who = {.principal = credential->principal},
                                 .reason = why,
                                 .more = {{"credential_id", arcp_span_cstr(credential->id)},
                                          {"alias", arcp_span_cstr(credential->alias)},
                                          {"provisioner", arcp_span_cstr(credential->provisioner)},
                                          {"job_id", arcp_span_cstr(credential->job_id)},
                                          {"agent", arcp_span_cstr(credential->agent)},
                                          {"trace_id", arcp_span_cstr(credential->trace_id)}}});
}

/* ---- calls ---- */

bool arcp__credential_call(arcp__engine *engine, arcp__credential *credential,
                           arcp__provision_verb verb)
{
    if (credential->call_id != 0) {
        return false; /* its answer decides what comes next */
    }
    credential->call_id = ++engine->next_call_id;
    credential->verb = verb;
    HASH_ADD(hh_call, engine->credential_calls, call_id, sizeof(credential->call_id), credential);
    if (credential->hh_call.tbl == NULL) {
        credential->call_id = 0;
        arcp__context_no_memory(&engine->context);
        return false;
    }
    arcp__effect effect = {
        .kind = ARCP__EFFECT_PROVISION,
        .provision = {.verb = verb, .credential = credential, .call_id = credential->call_id}};
    /* What is asked for is written down first; what is taken back was written down before. */
    bool durable = verb == ARCP__PROVISION_ISSUE || verb == ARCP__PROVISION_ROTATE;
    arcp__effect_push(engine->log, NULL, &effect, NULL, durable);
    return true;
}

/* The value, for an upstream that revokes or measures by it. */
static arcp_span reveal(arcp__engine *engine, const arcp__credential *credential)
{
    const arcp__credential_options *options = &engine->options.credentials;
    arcp_buf_clear(&engine->asking);
    if (credential->sealed == NULL ||
        !options->unseal(options->user, arcp_span_cstr(credential->alias),
                         arcp_span_cstr(credential->sealed), &engine->asking) ||
        engine->asking.failed) {
        return arcp_span_make(NULL, 0);
    }
    return arcp_buf_span(&engine->asking);
}

static const arcp__credential *replaced_by(const arcp__credential *credential)
{
    return credential->job == NULL ? NULL : credential->job->credential;
}

void arcp__engine_provision_request(arcp__engine *engine, const arcp__effect_provision *asked,
                                    arcp_provision_request *out)
{
    asked->credential->call_wall_ns = engine->context.now.wall_ns;
    if (asked->verb == ARCP__PROVISION_ISSUE || asked->verb == ARCP__PROVISION_ROTATE) {
        asked->credential->asked_wall_ns = engine->context.now.wall_ns;
    }
    arcp__span_call_begins(engine, asked->credential);
    const arcp__credential *credential = asked->credential;
    const arcp__credential *named = credential;
    *out = (arcp_provision_request){
        .struct_size = sizeof(*out),
        .call_id = asked->call_id,
        .alias = arcp_span_cstr(credential->alias),
        .credential_id = arcp_span_cstr(credential->id),
        .job_id = arcp_span_cstr(credential->job_id),
        .principal = arcp_span_cstr(credential->principal),
        .agent = arcp_span_cstr(credential->agent),
        .trace_id = arcp_span_cstr(credential->trace_id),
        .traceparent = arcp_span_cstr(credential->call_traceparent),
        .budget = arcp_span_cstr(credential->budget),
        .models = credential->models,
        .model_count = credential->model_count,
        .has_models = credential->models != NULL,
        .expires_at = arcp_span_cstr(credential->expires_at),
    };
    if (asked->verb == ARCP__PROVISION_ROTATE) {
        named = replaced_by(credential);
    }
    if (named != NULL && asked->verb != ARCP__PROVISION_ISSUE) {
        out->upstream_id = arcp_span_cstr(named->upstream_id);
        out->value = reveal(engine, named);
    }
    if (credential->expires_at[0] != '\0') {
        int64_t left_ns = credential->expires_wall_ns - engine->context.now.wall_ns;
        out->ttl_sec =
            left_ns > ARCP_NS_PER_SEC ? (uint64_t)(left_ns / ARCP_NS_PER_SEC) : UINT64_C(1);
    }
}

void arcp__engine_provision_asked(arcp__engine *engine)
{
    arcp_buf_clear(&engine->asking);
}
