/* Credentials as objects, and their calls to the provisioner, each of which is a span
 * (docs/tracing.md). What the calls mean is in credential.c. */
#include <assert.h>
#include <stdio.h>

#include "core/otlp.h"
#include "credential/credential_state.h"
#include "log/log.h"

/* ---- as objects ---- */

char *arcp__credential_copy(arcp__credentials *credentials, arcp_span text)
{
    char *copy = arcp__copy_cstr(text.data, text.size);
    if (copy == NULL) {
        arcp__context_no_memory(credentials->context);
    }
    return copy;
}

void arcp__credential_alias(const char *id, uint32_t generation,
                            char out[ARCP__CREDENTIAL_ALIAS_SIZE])
{
    if (generation == 1) {
        (void)snprintf(out, ARCP__CREDENTIAL_ALIAS_SIZE, "%s", id);
    } else {
        (void)snprintf(out, ARCP__CREDENTIAL_ALIAS_SIZE, "%s.%u", id, generation);
    }
}

arcp__credential *arcp__credential_find(const arcp__credentials *credentials, const char *alias)
{
    arcp__credential *found = NULL;
    HASH_FIND(hh, credentials->all, alias, strlen(alias), found);
    return found;
}

size_t arcp__credentials_count(const arcp__credentials *credentials)
{
    return HASH_COUNT(credentials->all);
}

arcp__credential *arcp__credential_new(arcp__credentials *credentials, const char *id,
                                       uint32_t generation)
{
    arcp__credential *credential = arcp__alloc(sizeof(*credential));
    if (credential == NULL) {
        arcp__context_no_memory(credentials->context);
        return NULL;
    }
    (void)snprintf(credential->id, sizeof(credential->id), "%s", id);
    credential->generation = generation;
    credential->asked = generation;
    arcp__credential_alias(id, generation, credential->alias);
    credential->asked_wall_ns = credentials->context->now.wall_ns;
    assert(arcp__credential_find(credentials, credential->alias) == NULL);
    HASH_ADD_KEYPTR(hh, credentials->all, credential->alias, strlen(credential->alias), credential);
    if (!ARCP__HASH_ADDED(credential)) {
        arcp__free(credential);
        arcp__context_no_memory(credentials->context);
        return NULL;
    }
    return credential;
}

void arcp__credential_free(arcp__credentials *credentials, arcp__credential *credential)
{
    char *const texts[] = {credential->provisioner, credential->principal,   credential->agent,
                           credential->traceparent, credential->upstream_id, credential->sealed,
                           credential->scheme,      credential->endpoint,    credential->profile,
                           credential->constraints};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        arcp__free(texts[i]);
    }
    if (credential->call_id != 0) {
        HASH_DELETE(hh_call, credentials->calls, credential);
    }
    credentials->stuck_count -= credential->is_stuck ? 1 : 0;
    arcp__context_disarm(credentials->context, &credential->timer);
    arcp__context_disarm(credentials->context, &credential->usage_timer);
    HASH_DEL(credentials->all, credential);
    arcp__free(credential->models);
    arcp__free(credential);
}

void arcp__credentials_fini(arcp__credentials *credentials)
{
    for (arcp__credential *at = credentials->all, *next = NULL; at != NULL; at = next) {
        next = at->hh.next;
        arcp__credential_free(credentials, at);
    }
    arcp_buf_fini(&credentials->asking);
}

/* ---- calls ---- */

void arcp__credential_call(arcp__credentials *credentials, arcp__credential *credential,
                           arcp__provision_verb verb)
{
    if (credential->call_id != 0) {
        return; /* its answer decides what comes next */
    }
    credential->call_id = ++credentials->next_call_id;
    credential->verb = verb;
    HASH_ADD(hh_call, credentials->calls, call_id, sizeof(credential->call_id), credential);
    if (credential->hh_call.tbl == NULL) {
        credential->call_id = 0;
        arcp__context_no_memory(credentials->context);
        return;
    }
    /* What is asked for is written down first; what is taken back was written down before. */
    const bool durable = verb == ARCP__PROVISION_ISSUE || verb == ARCP__PROVISION_ROTATE;
    arcp__effect_push(credentials->log, NULL,
                      &(arcp__effect){.kind = ARCP__EFFECT_PROVISION, .id = credential->call_id},
                      NULL, durable);
}

static bool is_recorded(const arcp__credentials *credentials, const arcp__credential *credential)
{
    const arcp_span above = arcp_span_cstr(credential->traceparent);
    return credentials->makes_spans && arcp__traceparent_is_valid(above) &&
           arcp__traceparent_is_sampled(above);
}

arcp__provision_verb arcp__credential_request(arcp__credentials *credentials, uint64_t call_id,
                                              arcp_provision_request *out)
{
    const int64_t now_wall_ns = credentials->context->now.wall_ns;
    arcp__credential *credential = NULL;
    HASH_FIND(hh_call, credentials->calls, &call_id, sizeof(call_id), credential);
    assert(credential != NULL);
    const arcp__provision_verb verb = credential->verb;
    /* Whose value is named. */
    const arcp__credential *named = verb == ARCP__PROVISION_ISSUE ? NULL : credential;
    credential->call_wall_ns = now_wall_ns;
    if (verb == ARCP__PROVISION_ISSUE || verb == ARCP__PROVISION_ROTATE) {
        credential->asked_wall_ns = now_wall_ns;
    }
    if (verb == ARCP__PROVISION_ROTATE) {
        named = credential->slot == NULL ? NULL : credential->slot->live;
    }
    if (is_recorded(credentials, credential)) {
        uint8_t span_id[ARCP__SPAN_ID_SIZE / 2];
        arcp__context_random(credentials->context, span_id, sizeof span_id);
        span_id[0] |= 1; /* never all zero */
        arcp__traceparent_format(credential->traceparent + 3, span_id,
                                 credential->call_traceparent);
    } else {
        (void)snprintf(credential->call_traceparent, sizeof credential->call_traceparent, "%s",
                       arcp__has_text(credential->traceparent) ? credential->traceparent : "");
    }
    *out = (arcp_provision_request){
        .struct_size = sizeof(*out),
        .call_id = call_id,
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
    if (named != NULL) {
        out->upstream_id = arcp_span_cstr(named->upstream_id);
        arcp_buf_clear(&credentials->asking);
        credentials->asking.secret = true;
        if (arcp__has_text(named->sealed) &&
            arcp__credential_unseal(credentials, named, &credentials->asking)) {
            out->value = arcp_buf_span(&credentials->asking);
        }
    }
    if (credential->expires_at[0] != '\0') {
        const int64_t left_ns = credential->expires_wall_ns - now_wall_ns;
        out->ttl_sec =
            left_ns > ARCP_NS_PER_SEC ? (uint64_t)(left_ns / ARCP_NS_PER_SEC) : UINT64_C(1);
    }
    return verb;
}

void arcp__credential_asked(arcp__credentials *credentials)
{
    arcp_buf_clear(&credentials->asking);
}

static void emit_span(arcp__credentials *credentials, const arcp__credential *credential,
                      arcp_provision_outcome outcome)
{
    static const char *const names[] = {
        [ARCP__PROVISION_ISSUE] = "arcp.provision.issue",
        [ARCP__PROVISION_ROTATE] = "arcp.provision.rotate",
        [ARCP__PROVISION_REVOKE] = "arcp.provision.revoke",
        [ARCP__PROVISION_USAGE] = "arcp.provision.usage",
    };
    static const char *const outcomes[] = {
        [ARCP_PROVISION_UNKNOWN] = "unknown",
        [ARCP_PROVISION_DONE] = "done",
        [ARCP_PROVISION_REFUSED] = "refused",
        [ARCP_PROVISION_ABSENT] = "absent",
    };
    if (!is_recorded(credentials, credential) || credential->call_traceparent[0] == '\0') {
        return;
    }
    const bool failed = outcome == ARCP_PROVISION_UNKNOWN || outcome == ARCP_PROVISION_REFUSED;
    const arcp__otlp_attribute attributes[] = {
        {.name = "arcp.session_id", .text = arcp_span_cstr(credential->session_id)},
        {.name = "arcp.job_id", .text = arcp_span_cstr(credential->job_id)},
        {.name = "arcp.agent", .text = arcp_span_cstr(credential->agent)},
        {.name = "arcp.credential_id", .text = arcp_span_cstr(credential->id)},
        {.name = "arcp.provisioner", .text = arcp_span_cstr(credential->provisioner)},
        {.name = "arcp.provision.outcome", .text = arcp_span_cstr(outcomes[outcome])},
    };
    arcp_buf text = ARCP_BUF_INIT;
    arcp__otlp_span_format(
        &(arcp__otlp_span){
            .name = names[credential->verb],
            .kind = ARCP__OTLP_CLIENT,
            .trace_id = arcp_span_make(credential->call_traceparent + 3, ARCP__TRACE_ID_SIZE),
            .span_id = arcp_span_make(credential->call_traceparent + 36, ARCP__SPAN_ID_SIZE),
            .parent_id = arcp_span_make(credential->traceparent + 36, ARCP__SPAN_ID_SIZE),
            .start_wall_ns = credential->call_wall_ns,
            .end_wall_ns = credentials->context->now.wall_ns,
            .attributes = attributes,
            .attribute_count = sizeof attributes / sizeof attributes[0],
            .status = failed ? ARCP__OTLP_ERROR : ARCP__OTLP_UNSET,
            .status_message = failed ? outcomes[outcome] : NULL},
        &text);
    arcp__effect_push(credentials->log, NULL, &(arcp__effect){.kind = ARCP__EFFECT_SPAN}, &text,
                      false);
}

arcp__credential *arcp__credential_end_call(arcp__credentials *credentials, uint64_t call_id,
                                            arcp_provision_outcome outcome)
{
    arcp__credential *credential = NULL;
    HASH_FIND(hh_call, credentials->calls, &call_id, sizeof(call_id), credential);
    if (credential != NULL) {
        emit_span(credentials, credential, outcome);
        HASH_DELETE(hh_call, credentials->calls, credential);
        credential->call_id = 0;
    }
    return credential;
}
