/* The life of one upstream value (§9.8.2, §14).
 *
 *                 DONE                    its job ended, or no job wants it
 *   INTENT  ---------------->  LIVE  ---------------------------------->  REVOKING --> row deleted
 *     |                        (a restart: its job has gone on, and takes it back)      ^
 *     |  REFUSED: row deleted           UNKNOWN, or a restart                           |
 *     +---------------------------------------------------------------------------------+
 *
 * What is durable when, so that no kill -9 leaves a value that is not recorded:
 *   1. INTENT, with the alias of the request, is durable before the upstream is called. After a
 *      kill here the restart revokes the alias, whether the upstream answered or not.
 *   2. LIVE, with the upstream's id and the sealed value, is durable in the batch that makes
 *      the job durable, before either is shown.
 *   3. REVOKING is written with the job's last record; the row is deleted only after the
 *      upstream confirmed the revocation. After a kill in between the value is revoked again,
 *      which upstreams answer like the first time or with "unknown".
 * A request that timed out, or that a killed runtime sent, may still reach the upstream. "Unknown
 * alias" therefore counts as revoked only when the revocation was requested at least
 * credentials.settle_sec after the value.
 *
 * A job has one id for its credential; each attempt to rotate it is another row with its own alias,
 * which is requested once. After a restart only a job that has gone on, or waits in the queue, has
 * its value still; a rotation that was under way is begun again, under another alias. Failed
 * revocations are retried for ever, with growing pauses; after credentials.stuck_after attempts the
 * credential is reported as stuck. */
#include <inttypes.h>
#include <stdio.h>

#include "core/decimal.h"
#include "credential/credential_state.h"
#include "log/log.h"

#define RETRY_FIRST_SEC 1u
#define ROTATE_SEC_MAX  UINT64_C(3153600000) /* a century: an upstream may say any lifetime */

static void audit(arcp__credentials *credentials, const arcp__credential *credential,
                  const char *action, const char *why)
{
    arcp__audit(credentials->log,
                &(arcp__audit_line){.event = ARCP__AUDIT_CREDENTIAL,
                                    .decision = action,
                                    .who = {.principal = credential->principal.data},
                                    .reason = why,
                                    .more = {{"credential_id", arcp_span_cstr(credential->id)},
                                             {"alias", arcp_span_cstr(credential->alias)},
                                             {"provisioner", credential->provisioner},
                                             {"job_id", arcp_span_cstr(credential->job_id)},
                                             {"agent", credential->agent},
                                             {"trace_id", arcp_span_cstr(credential->trace_id)}}});
}

static void forget(arcp__credentials *credentials, arcp__credential *credential)
{
    arcp__batch_delete(credentials->log, ARCP_STORE_CREDENTIALS, arcp_span_cstr(credential->alias));
    arcp__credential_free(credentials, credential);
}

/* ---- revocation ---- */

/* [arcp:9.8.2-6] [arcp:14-15] */
static void mark_stuck(arcp__credentials *credentials, arcp__credential *credential)
{
    if (!credential->is_stuck) {
        credential->is_stuck = true;
        credentials->stuck_count++;
        audit(credentials, credential, "stuck", credential->last_error);
        arcp__effect_log(credentials->log, ARCP__LOG_ERROR,
                         "credential %s (upstream id %s) of job %s cannot be revoked after %" PRIu64
                         " attempts: %s",
                         credential->alias,
                         credential->upstream_id.size == 0 ? "unknown"
                                                           : credential->upstream_id.data,
                         credential->job_id, credential->attempts, credential->last_error);
    }
}

static void plan_attempt(arcp__credentials *credentials, arcp__credential *credential,
                         uint64_t pause_sec)
{
    arcp__context *context = credentials->context;
    credential->next_attempt_wall_ns = context->now.wall_ns + (int64_t)pause_sec * ARCP_NS_PER_SEC;
    arcp__context_arm(context, &credential->timer, credentials->timer_kind, credential,
                      arcp__context_after_sec(context, pause_sec));
}

static uint64_t pause_after(const arcp__credentials *credentials, uint64_t attempts)
{
    const uint64_t most = credentials->context->settings.credentials_retry_max_sec;
    uint64_t pause = RETRY_FIRST_SEC;
    for (uint64_t i = 1; i < attempts && pause < most; i++) {
        pause *= 2;
    }
    return pause < most ? pause : most;
}

static void revoke(arcp__credentials *credentials, arcp__credential *credential)
{
    const arcp__credential_options *options = credentials->options;
    credential->state = ARCP__CREDENTIAL_REVOKING;
    arcp__context_disarm(credentials->context, &credential->timer);
    arcp__context_disarm(credentials->context, &credential->usage_timer);
    credential->next_attempt_wall_ns = 0;
    /* Only the provisioner that issued it can revoke it. */
    const bool is_ours = options->terms != NULL &&
                         arcp_span_equal_cstr(credential->provisioner, options->provisioner);
    if (!is_ours) {
        (void)snprintf(credential->last_error, sizeof credential->last_error,
                       "it was issued by the provisioner \"%s\", which is not configured",
                       credential->provisioner.size == 0 ? "" : credential->provisioner.data);
        credential->attempts += credential->attempts == 0 ? 1 : 0;
        mark_stuck(credentials, credential);
    }
    arcp__credential_store(credentials, credential);
    if (is_ours) {
        arcp__credential_call(credentials, credential, ARCP__PROVISION_REVOKE);
    }
}

void arcp__credential_abandon(arcp__credentials *credentials, arcp__credential *credential)
{
    credential->slot = NULL;
    if (credential->call_id == 0 || credential->verb == ARCP__PROVISION_USAGE ||
        credential->verb == ARCP__PROVISION_KEEP) {
        revoke(credentials, credential);
    }
}

/* [arcp:9.8.2-4] */
void arcp__credential_release(arcp__credentials *credentials, arcp__credential_slot *slot)
{
    arcp__credential *const both[] = {slot->live, slot->replacement};
    slot->live = NULL;
    slot->replacement = NULL;
    for (size_t i = 0; i < 2 && !credentials->context->closing; i++) {
        if (both[i] != NULL) {
            arcp__credential_abandon(credentials, both[i]);
        }
    }
}

void arcp__credential_rotate_at(const arcp__credentials *credentials, arcp__credential *credential,
                                int64_t wall_ns)
{
    const arcp_time now = credentials->context->now;
    const int64_t left_ns = wall_ns > now.wall_ns ? wall_ns - now.wall_ns : 0;
    credential->rotates_wall_ns = wall_ns;
    arcp__context_arm(credentials->context, &credential->timer, credentials->timer_kind, credential,
                      now.mono_ns + left_ns);
}

static void revoke_answered(arcp__credentials *credentials, arcp__credential *credential,
                            const arcp_provision_result *result)
{
    const arcp_settings *settings = &credentials->context->settings;
    const bool was_issued = result->outcome == ARCP_PROVISION_DONE ||
                            credential->sealed.size != 0 || credential->upstream_id.size != 0;
    const int64_t settled_ns =
        credential->requested_wall_ns + (int64_t)settings->credentials_settle_sec * ARCP_NS_PER_SEC;
    if (result->outcome == ARCP_PROVISION_DONE ||
        (result->outcome == ARCP_PROVISION_ABSENT &&
         (was_issued || credential->call_wall_ns >= settled_ns))) {
        audit(credentials, credential, was_issued ? "revoked" : "never_issued", NULL);
        forget(credentials, credential);
        return;
    }
    if (result->outcome == ARCP_PROVISION_ABSENT) {
        /* The request may still be on its way. */
        const int64_t left_ns = settled_ns - credentials->context->now.wall_ns;
        const uint64_t left_sec = left_ns < 0 ? 1 : (uint64_t)(left_ns / ARCP_NS_PER_SEC) + 1;
        const uint64_t most_sec = pause_after(credentials, 4);
        plan_attempt(credentials, credential, left_sec < most_sec ? left_sec : most_sec);
    } else {
        /* [arcp:9.8.2-5] */
        credential->attempts++;
        (void)snprintf(credential->last_error, sizeof credential->last_error, "%s",
                       result->message == NULL ? "the provisioner gave no reason"
                                               : result->message);
        arcp__effect_log(credentials->log, ARCP__LOG_WARN,
                         "credential %s: revoking it failed (attempt %" PRIu64 "): %s",
                         credential->alias, credential->attempts, credential->last_error);
        if (credential->attempts >= settings->credentials_stuck_after) {
            mark_stuck(credentials, credential);
        }
        plan_attempt(credentials, credential, pause_after(credentials, credential->attempts));
    }
    arcp__credential_store(credentials, credential);
}

/* ---- requests ---- */

/* [arcp:9.8-1] */
void arcp__credential_ask(arcp__credentials *credentials, const arcp__credential_spec *spec,
                          arcp__credential_slot *slot)
{
    char id[ARCP__ID_SIZE];
    arcp__credential *const live = slot->live;
    const bool is_first = live == NULL;
    uint64_t generation = 1;
    if (is_first) {
        arcp__context_make_id(credentials->context, "cred_", id);
    } else {
        /* Each attempt has its own alias: the outcome of the previous one may be unknown, and its
         * alias is then still being revoked. */
        memcpy(id, live->id, sizeof id);
        generation = ++live->last_generation;
        arcp__credential_store(credentials, live);
    }
    arcp__credential *credential = arcp__credential_new(credentials, id, generation);
    if (credential == NULL) {
        return;
    }
    (void)snprintf(credential->job_id, sizeof credential->job_id, "%s", spec->job_id);
    (void)snprintf(credential->session_id, sizeof credential->session_id, "%s", spec->session_id);
    (void)snprintf(credential->trace_id, sizeof credential->trace_id, "%.32s", spec->trace_id);
    credential->provisioner = arcp__credential_copy(
        credentials, credential, arcp_span_cstr(credentials->options->provisioner));
    credential->principal =
        arcp__credential_copy(credentials, credential, arcp_span_cstr(spec->principal));
    credential->agent = arcp__credential_copy(credentials, credential, spec->agent_name);
    credential->traceparent = arcp__credential_copy(credentials, credential, spec->traceparent);
    if (!arcp__credential_limit(credentials, credential, spec->lease, spec->budget)) {
        arcp__credential_free(credentials, credential);
        return;
    }
    credential->slot = slot;
    *(is_first ? &slot->live : &slot->replacement) = credential;
    arcp__credential_store(credentials, credential);
    arcp__credential_call(credentials, credential,
                          is_first ? ARCP__PROVISION_ISSUE : ARCP__PROVISION_ROTATE);
    audit(credentials, credential, "asked", is_first ? NULL : "rotation");
}

void arcp__credential_move(arcp__credential_slot *from, arcp__credential_slot *job)
{
    if (from->live != NULL) {
        job->live = from->live;
        job->live->slot = job;
        from->live = NULL;
    }
}

arcp_span arcp__credential_endpoint(const arcp__credential_slot *slot)
{
    return slot->live == NULL ? arcp_span_make(NULL, 0) : slot->live->endpoint;
}

/* [arcp:9.8.2-7] */
void arcp__credential_due(arcp__credentials *credentials, arcp__timer *timer)
{
    arcp__credential *credential = timer->owner;
    arcp__credential_slot *slot = credential->slot;
    if (timer == &credential->usage_timer) {
        arcp__credential_call(credentials, credential, ARCP__PROVISION_USAGE);
    } else if (credential->state == ARCP__CREDENTIAL_REVOKING) {
        arcp__credential_call(credentials, credential, ARCP__PROVISION_REVOKE);
    } else if (slot != NULL && slot->lease != NULL && slot->replacement == NULL) {
        const arcp__credential_spec spec = {
            .job_id = credential->job_id,
            .session_id = credential->session_id,
            .principal = credential->principal.data,
            .trace_id = credential->trace_id,
            .agent_name = credential->agent,
            .traceparent = credential->traceparent,
            .lease = slot->lease,
            .budget = slot->budget,
        };
        arcp__credential_ask(credentials, &spec, slot);
    }
}

/* ---- issued values ---- */

static bool is_clean(arcp_span text, size_t size_max)
{
    bool clean = text.size <= size_max;
    for (size_t i = 0; i < text.size && clean; i++) {
        clean = (unsigned char)text.data[i] >= 0x20 && text.data[i] != 0x7f;
    }
    return clean;
}

/* Two jobs must never have the same value (§9.8.2). [arcp:9.8.2-3] [arcp:14-9] */
static bool is_new(const arcp__credentials *credentials, const arcp__credential *credential)
{
    for (const arcp__credential *other = credentials->all; other != NULL; other = other->hh.next) {
        if (other != credential && other->has_fingerprint &&
            memcmp(other->fingerprint, credential->fingerprint, sizeof other->fingerprint) == 0) {
            return false;
        }
    }
    return true;
}

/* Takes an issued value. Returns why it cannot be used; NULL when it can. */
static const char *take_issued(arcp__credentials *credentials, arcp__credential *credential,
                               const arcp_provision_result *result)
{
    const arcp__credential_options *options = credentials->options;
    const bool id_is_clean = is_clean(result->upstream_id, ARCP_CREDENTIAL_TEXT_MAX);
    if (id_is_clean) {
        credential->upstream_id =
            arcp__credential_copy(credentials, credential, result->upstream_id);
    }
    if (result->value.size == 0 || !is_clean(result->value, ARCP_CREDENTIAL_VALUE_MAX)) {
        return "the upstream's response has no usable value";
    }
    if (result->endpoint.size == 0 || !is_clean(result->endpoint, ARCP_CREDENTIAL_TEXT_MAX) ||
        !is_clean(result->scheme, ARCP_CREDENTIAL_TEXT_MAX) ||
        !is_clean(result->profile, ARCP_CREDENTIAL_TEXT_MAX) || !id_is_clean) {
        return "the upstream's response has no usable endpoint, scheme, profile or id";
    }
    arcp__context_sha256(credentials->context, result->value, credential->fingerprint);
    if (!is_new(credentials, credential)) {
        return "the upstream returned a value that another job already has";
    }
    credential->has_fingerprint = true;
    arcp_buf sealed = arcp_buf_init();
    if (options->seal(options->user, arcp_span_cstr(credential->alias), result->value, &sealed)) {
        credential->sealed = arcp__credential_copy(credentials, credential, arcp_buf_span(&sealed));
    }
    arcp_buf_fini(&sealed);
    if (credential->sealed.size == 0) {
        return "the value could not be sealed";
    }
    credential->scheme = arcp__credential_copy(
        credentials, credential,
        result->scheme.size == 0 ? ARCP_SPAN_LITERAL("bearer") : result->scheme);
    credential->endpoint = arcp__credential_copy(credentials, credential, result->endpoint);
    credential->profile = arcp__credential_copy(credentials, credential, result->profile);
    return NULL;
}

static void issue_failed(arcp__credentials *credentials, arcp__credential *credential,
                         const arcp_provision_result *result, const char *why)
{
    arcp__credential_slot *slot = credential->slot;
    arcp_error error = {0};
    const bool is_known =
        result->outcome != ARCP_PROVISION_DONE &&
        (result->status == ARCP_E_BUDGET_EXHAUSTED || result->status == ARCP_E_PERMISSION_DENIED);
    (void)arcp_error_set(&error, is_known ? result->status : ARCP_E_INTERNAL_ERROR,
                         "no credential could be provisioned: %s", why);
    audit(credentials, credential, "refused", why);
    arcp__effect_log(credentials->log, ARCP__LOG_WARN, "credential %s for job %s: %s",
                     credential->alias, credential->job_id, why);
    credential->slot = NULL;
    if (result->outcome == ARCP_PROVISION_REFUSED) {
        forget(credentials, credential);
    } else {
        revoke(credentials, credential);
    }
    if (slot == NULL) {
        return;
    }
    if (slot->replacement == credential) {
        slot->replacement = NULL;
        plan_attempt(credentials, slot->live, pause_after(credentials, ++slot->live->attempts));
    } else {
        slot->live = NULL;
        credentials->ops->answered(credentials->user, slot->owner, &error);
    }
}

void arcp__credential_plan_usage(arcp__credentials *credentials, arcp__credential *credential)
{
    const uint64_t every = credentials->context->settings.credentials_usage_sec;
    if (every != 0 && credentials->options->can_measure && credential->budget[0] != '\0') {
        arcp__context_arm(credentials->context, &credential->usage_timer, credentials->timer_kind,
                          credential, arcp__context_after_sec(credentials->context, every));
    }
}

/* The job has a new value: those who may see it are notified, then the old one is revoked (§9.8.2).
 * [arcp:9.8.2-9] */
static void rotated(arcp__credentials *credentials, arcp__credential *credential, bool replaced)
{
    arcp__credential_slot *slot = credential->slot;
    arcp__credential *old = slot->live;
    char body[256];
    slot->live = credential;
    slot->replacement = NULL;
    /* `details` is the last member of the body: arcp__credential_reveal_rotated appends to both. */
    const int size =
        snprintf(body, sizeof body,
                 "{\"phase\":\"credential_rotated\",\"message\":\"%s\",\"id\":\"%s\","
                 "\"details\":{\"generation\":%" PRIu64 ",\"id\":\"%s\"}}",
                 credential->id, credential->id, credential->generation, credential->id);
    credentials->ops->rotated(credentials->user, slot->owner, arcp_span_make(body, (size_t)size));
    if (replaced && old->call_id == 0) {
        audit(credentials, old, "revoked", "replaced by the upstream");
        forget(credentials, old);
    } else {
        arcp__credential_abandon(credentials, old);
    }
}

static void issue_answered(arcp__credentials *credentials, arcp__credential *credential,
                           const arcp_provision_result *result)
{
    const char *why = result->message == NULL ? "the upstream refused" : result->message;
    if (result->outcome == ARCP_PROVISION_DONE) {
        why = take_issued(credentials, credential, result);
    }
    if (result->outcome != ARCP_PROVISION_DONE || why != NULL) {
        issue_failed(credentials, credential, result, why);
        return;
    }
    credential->state = ARCP__CREDENTIAL_LIVE;
    audit(credentials, credential, "issued", NULL);
    if (credential->slot == NULL) {
        revoke(credentials, credential);
        return;
    }
    uint64_t every = credentials->context->settings.credentials_rotate_sec;
    /* Rotate after three quarters of the value's own lifetime. */
    const uint64_t before_end = result->lifetime_sec - result->lifetime_sec / 4;
    if (before_end != 0 && (every == 0 || before_end < every)) {
        every = before_end;
    }
    if (every != 0) {
        every = every < ROTATE_SEC_MAX ? every : ROTATE_SEC_MAX;
        arcp__credential_rotate_at(credentials, credential,
                                   credentials->context->now.wall_ns +
                                       (int64_t)every * ARCP_NS_PER_SEC);
    }
    arcp__credential_store(credentials, credential);
    arcp__credential_plan_usage(credentials, credential);
    if (credential->slot->replacement == credential) {
        rotated(credentials, credential, result->replaced);
    } else {
        credentials->ops->answered(credentials->user, credential->slot->owner, NULL);
    }
}

/* ---- spending (§9.6) ----
 *
 * A budget is charged at least what the upstream counted. The agent may report its costs as well;
 * only the part of the upstream's figure beyond these reports is charged. */

/* [arcp:9.6-13] [arcp:14-7] */
static void usage_answered(arcp__credentials *credentials, arcp__credential *credential,
                           const arcp_provision_result *result)
{
    arcp_decimal spent = ARCP_DECIMAL_ZERO;
    if (credential->state == ARCP__CREDENTIAL_REVOKING) {
        arcp__credential_call(credentials, credential, ARCP__PROVISION_REVOKE);
        return;
    }
    arcp__credential_plan_usage(credentials, credential);
    if (credential->slot == NULL || credential->slot->budget == NULL ||
        result->outcome != ARCP_PROVISION_DONE ||
        arcp_decimal_parse_spend(result->spent, &spent, NULL) != ARCP_OK ||
        arcp_decimal_compare(spent, credential->reported) <= 0) {
        return;
    }
    const arcp_decimal more =
        arcp__decimal_of(arcp__decimal_units(spent) - arcp__decimal_units(credential->reported));
    credential->reported = spent;
    credentials->ops->spent(credentials->user, credential->slot->owner,
                            arcp_span_cstr(credentials->options->terms->currency), more);
}

void arcp__credential_note_spend(const arcp__credentials *credentials,
                                 const arcp__credential_slot *slot, arcp_span currency,
                                 arcp_decimal amount)
{
    const arcp_provisioner_terms *terms = credentials->options->terms;
    arcp_decimal sum;
    if (slot->live != NULL && terms != NULL && terms->currency != NULL &&
        arcp_span_equal_cstr(currency, terms->currency) &&
        arcp_decimal_add(slot->live->reported, amount, &sum)) {
        slot->live->reported = sum;
    }
}

arcp_decimal arcp__credential_reported(const arcp__credential_slot *slot)
{
    return slot->live == NULL ? (arcp_decimal)ARCP_DECIMAL_ZERO : slot->live->reported;
}

void arcp__credential_restore_reported(const arcp__credential_slot *slot, arcp_decimal reported)
{
    if (slot->live != NULL) {
        slot->live->reported = reported;
    }
}

/* ---- responses ---- */

void arcp__credential_answered(arcp__credentials *credentials, const arcp_provision_result *result)
{
    arcp__credential *credential = arcp__credential_end_call(credentials, result);
    if (credential == NULL) {
        return;
    }
    switch (credential->verb) {
    case ARCP__PROVISION_ISSUE:
    case ARCP__PROVISION_ROTATE:
        issue_answered(credentials, credential, result);
        break;
    case ARCP__PROVISION_REVOKE:
        revoke_answered(credentials, credential, result);
        break;
    case ARCP__PROVISION_USAGE:
        usage_answered(credentials, credential, result);
        break;
    case ARCP__PROVISION_KEEP:
        arcp__credential_kept(credentials, credential, result);
        break;
    }
}

/* [arcp:9.6-12] */
arcp_status arcp__credential_translate(const arcp__credentials *credentials,
                                       const arcp__credential_slot *slot, const arcp_json *json,
                                       arcp_json_ref error)
{
    static const char *const names[] = {"http_status", "status", "status_code"};
    const arcp__credential_options *options = credentials->options;
    if (slot->live == NULL || options->translate == NULL) {
        return ARCP_OK;
    }
    const arcp_json_ref details = arcp_json_member(json, error, ARCP_SPAN_LITERAL("details"));
    arcp_upstream_error upstream = {.struct_size = sizeof upstream,
                                    .text = arcp_json_raw(json, error)};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && upstream.http_status == 0; i++) {
        uint64_t status = 0;
        if (arcp_json_u64(json, arcp_json_member(json, details, arcp_span_cstr(names[i])),
                          &status) &&
            status < 1000) {
            upstream.http_status = (int)status;
        }
    }
    return options->translate(options->user, &upstream);
}
