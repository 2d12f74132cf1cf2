/* The life of one upstream value (§9.8.2, §14).
 *
 *                 DONE                    its job ended, or nobody wants it
 *   INTENT  ---------------->  LIVE  ---------------------------------->  REVOKING --> gone
 *     |                                                                      ^
 *     |  REFUSED: gone                  UNKNOWN, or a restart                |
 *     +----------------------------------------------------------------------+
 *
 * What is durable when, so that kill -9 anywhere leaves no value that nobody knows of:
 *   1. INTENT is durable before the upstream is asked, under the alias that it is asked
 *      with. Killed here, the alias is revoked at restart, whether there was an answer or not.
 *   2. LIVE, with the upstream's id and the sealed value, is durable in the batch that makes
 *      the job durable, before anybody sees either.
 *   3. REVOKING is written with the job's last record; the row goes only after the upstream
 *      said that the value is dead. Killed in between, it is revoked again, which upstreams
 *      answer like the first time or with "unknown".
 * A request that was given up on, or that a killed runtime sent, may still reach the
 * upstream: "unknown alias" counts only when the upstream was asked about it
 * credentials.settle_sec after it was asked for the value.
 *
 * A job has one id for its credential; each attempt to rotate it is another row with an alias
 * of its own, which is asked for once. After a restart no id is asked for again. Revocations go on
 * for ever, with growing pauses; after credentials.stuck_after of them the credential is reported
 * as stuck. */
#include "engine/parts.h"

#include <arcp/secret.h>
#include <stdio.h>

#define RETRY_FIRST_SEC 1u

/* ---- taking back ---- */

/* Only the provisioner that issued it can revoke it. */
static bool is_ours(const arcp__engine *engine, const arcp__credential *credential)
{
    return engine->options.credentials.terms != NULL &&
           strcmp(engine->options.credentials.provisioner, credential->provisioner) == 0;
}

/* [arcp:9.8.2-6] [arcp:14-15] */
static void mark_stuck(arcp__engine *engine, arcp__credential *credential)
{
    if (!credential->is_stuck) {
        credential->is_stuck = true;
        engine->stuck_credentials++;
        arcp__credential_audit(engine, credential, "stuck", credential->last_error);
        arcp__effect_log(engine->log, ARCP__LOG_ERROR,
                         "credential %s (upstream id %s) of job %s cannot be revoked after %u "
                         "attempts: %s",
                         credential->alias,
                         credential->upstream_id == NULL || credential->upstream_id[0] == '\0'
                             ? "unknown"
                             : credential->upstream_id,
                         credential->job_id, credential->attempts, credential->last_error);
    }
}

static void forget(arcp__engine *engine, arcp__credential *credential)
{
    arcp__batch_delete(engine->log, ARCP_STORE_CREDENTIALS, arcp_span_cstr(credential->alias));
    arcp__credential_free(engine, credential);
}

static void plan_attempt(arcp__engine *engine, arcp__credential *credential, uint64_t pause_sec)
{
    credential->next_attempt_wall_ns =
        engine->context.now.wall_ns + (int64_t)pause_sec * ARCP_NS_PER_SEC;
    arcp__context_arm(&engine->context, &credential->timer, ARCP__TIMER_CREDENTIAL, credential,
                      arcp__context_after_sec(&engine->context, pause_sec));
}

static uint64_t pause_after(const arcp__engine *engine, uint32_t attempts)
{
    uint64_t most = engine->context.settings.credentials_retry_max_sec;
    uint64_t pause = RETRY_FIRST_SEC;
    for (uint32_t at = 1; at < attempts && pause < most; at++) {
        pause *= 2;
    }
    return pause < most ? pause : most;
}

/* [arcp:9.8.2-5] */
static void attempt_failed(arcp__engine *engine, arcp__credential *credential, const char *why)
{
    credential->attempts++;
    (void)snprintf(credential->last_error, sizeof(credential->last_error), "%s", why);
    arcp__effect_log(engine->log, ARCP__LOG_WARN,
                     "credential %s: revoking it failed (attempt %u): %s", credential->alias,
                     credential->attempts, credential->last_error);
    if (credential->attempts >= engine->context.settings.credentials_stuck_after) {
        mark_stuck(engine, credential);
    }
    plan_attempt(engine, credential, pause_after(engine, credential->attempts));
    arcp__credential_store(engine, credential);
}

static void revoke(arcp__engine *engine, arcp__credential *credential)
{
    credential->state = ARCP__CREDENTIAL_REVOKING;
    arcp__context_disarm(&engine->context, &credential->timer);
    arcp__context_disarm(&engine->context, &credential->usage_timer);
    credential->next_attempt_wall_ns = 0;
    if (!is_ours(engine, credential)) {
        (void)snprintf(credential->last_error, sizeof(credential->last_error),
                       "it was issued by the provisioner \"%s\", which is not configured",
                       credential->provisioner);
        credential->attempts += credential->attempts == 0 ? 1 : 0;
        mark_stuck(engine, credential);
        arcp__credential_store(engine, credential);
        return;
    }
    arcp__credential_store(engine, credential);
    (void)arcp__credential_call(engine, credential, ARCP__PROVISION_REVOKE);
}

void arcp__credential_abandon(arcp__engine *engine, arcp__credential *credential)
{
    credential->admission = NULL;
    credential->job = NULL;
    if (credential->call_id == 0 || credential->verb == ARCP__PROVISION_USAGE) {
        revoke(engine, credential);
    }
    /* Otherwise it is still being asked for: the answer is what revokes it. */
}

void arcp__credential_sweep(arcp__engine *engine)
{
    for (arcp__credential *at = engine->credentials; at != NULL; at = at->hh.next) {
        if (at->state == ARCP__CREDENTIAL_REVOKING && at->call_id == 0 && at->timer.place == 0 &&
            is_ours(engine, at)) {
            (void)arcp__credential_call(engine, at, ARCP__PROVISION_REVOKE);
        }
    }
}

static void revoke_answered(arcp__engine *engine, arcp__credential *credential,
                            const arcp_provision_result *result)
{
    bool is_named = credential->upstream_id != NULL && credential->upstream_id[0] != '\0';
    int64_t settled = credential->asked_wall_ns +
                      (int64_t)engine->context.settings.credentials_settle_sec * ARCP_NS_PER_SEC;
    if (result->outcome == ARCP_PROVISION_DONE ||
        (result->outcome == ARCP_PROVISION_ABSENT && is_named)) {
        arcp__credential_audit(engine, credential, "revoked", NULL);
        forget(engine, credential);
        return;
    }
    if (result->outcome == ARCP_PROVISION_ABSENT) {
        if (credential->sealed != NULL || credential->call_wall_ns >= settled) {
            arcp__credential_audit(engine, credential,
                                   credential->sealed != NULL ? "revoked" : "never_issued", NULL);
            forget(engine, credential);
            return;
        }
        /* The request may still be on its way. */
        int64_t left_ns = settled - engine->context.now.wall_ns;
        uint64_t left_sec = left_ns < 0 ? 1 : (uint64_t)(left_ns / ARCP_NS_PER_SEC) + 1;
        uint64_t most_sec = pause_after(engine, 4);
        plan_attempt(engine, credential, left_sec < most_sec ? left_sec : most_sec);
        arcp__credential_store(engine, credential);
        return;
    }
    attempt_failed(engine, credential,
                   result->message == NULL ? "the provisioner gave no reason" : result->message);
}

/* ---- what was issued ---- */

static bool copy_text(char **to, arcp_span text)
{
    *to = arcp__copy_cstr(text.data, text.size);
    return *to != NULL;
}

static bool is_clean(arcp_span text, size_t size_max)
{
    bool clean = text.size <= size_max;
    for (size_t at = 0; at < text.size && clean; at++) {
        clean = (unsigned char)text.data[at] >= 0x20 && text.data[at] != 0x7f;
    }
    return clean;
}

/* Never the same value for two jobs (§9.8.2). [arcp:9.8.2-3] [arcp:14-9] */
static bool is_new(const arcp__engine *engine, const arcp__credential *credential)
{
    for (const arcp__credential *at = engine->credentials; at != NULL; at = at->hh.next) {
        if (at != credential && at->has_fingerprint &&
            memcmp(at->fingerprint, credential->fingerprint, sizeof(at->fingerprint)) == 0) {
            return false;
        }
    }
    return true;
}

static bool seal(arcp__engine *engine, arcp__credential *credential, arcp_span value)
{
    const arcp__credential_options *options = &engine->options.credentials;
    arcp_buf text = ARCP_BUF_INIT;
    if (options->seal(options->user, arcp_span_cstr(credential->alias), value, &text)) {
        credential->sealed = arcp_buf_take_cstr(&text);
    }
    arcp_buf_fini(&text);
    return credential->sealed != NULL;
}

/* Why the answer cannot be used; NULL when it can. */
static const char *take_issued(arcp__engine *engine, arcp__credential *credential,
                               const arcp_provision_result *result)
{
    if (is_clean(result->upstream_id, ARCP_CREDENTIAL_TEXT_MAX) && result->upstream_id.size != 0) {
        (void)copy_text(&credential->upstream_id, result->upstream_id);
    }
    if (result->value.size == 0 || !is_clean(result->value, ARCP_CREDENTIAL_VALUE_MAX)) {
        return "the upstream's answer has no usable value";
    }
    if (result->endpoint.size == 0 || !is_clean(result->endpoint, ARCP_CREDENTIAL_TEXT_MAX) ||
        !is_clean(result->scheme, ARCP_CREDENTIAL_TEXT_MAX) ||
        !is_clean(result->profile, ARCP_CREDENTIAL_TEXT_MAX) ||
        !is_clean(result->upstream_id, ARCP_CREDENTIAL_TEXT_MAX)) {
        return "the upstream's answer has no usable endpoint, scheme, profile or id";
    }
    arcp__context_sha256(&engine->context, result->value, credential->fingerprint);
    if (!is_new(engine, credential)) {
        return "the upstream gave a value that another job has";
    }
    credential->has_fingerprint = true;
    if (!seal(engine, credential, result->value)) {
        return "the value could not be sealed";
    }
    arcp_span scheme = result->scheme.size == 0 ? ARCP_SPAN_LITERAL("bearer") : result->scheme;
    bool copied = (result->upstream_id.size == 0 || credential->upstream_id != NULL) &&
                  copy_text(&credential->scheme, scheme) &&
                  copy_text(&credential->endpoint, result->endpoint) &&
                  copy_text(&credential->profile, result->profile);
    return copied ? NULL : "out of memory";
}

static void plan_rotation(arcp__engine *engine, arcp__credential *credential, uint64_t lifetime_sec)
{
    uint64_t every = engine->context.settings.credentials_rotate_sec;
    /* In time before it ends by itself. */
    uint64_t before_end = lifetime_sec == 0 ? 0 : lifetime_sec - lifetime_sec / 4;
    if (before_end != 0 && (every == 0 || before_end < every)) {
        every = before_end;
    }
    if (every != 0) {
        arcp__context_arm(&engine->context, &credential->timer, ARCP__TIMER_CREDENTIAL, credential,
                          arcp__context_after_sec(&engine->context, every));
    }
}

static void plan_usage(arcp__engine *engine, arcp__credential *credential)
{
    uint64_t every = engine->context.settings.credentials_usage_sec;
    if (every != 0 && engine->options.credentials.can_measure && credential->budget[0] != '\0') {
        arcp__context_arm(&engine->context, &credential->usage_timer, ARCP__TIMER_CREDENTIAL_USAGE,
                          credential, arcp__context_after_sec(&engine->context, every));
    }
}

static void rotated(arcp__engine *engine, arcp__credential *credential, bool replaced);

static void issue_answered(arcp__engine *engine, arcp__credential *credential,
                           const arcp_provision_result *result)
{
    arcp_error error = {0};
    const char *why = result->message == NULL ? "the upstream refused" : result->message;
    bool done = result->outcome == ARCP_PROVISION_DONE;
    arcp__admission *admission = credential->admission;
    arcp__job *job = credential->job;
    credential->admission = NULL;
    if (done) {
        why = take_issued(engine, credential, result);
        done = why == NULL;
    }
    if (!done) {
        bool known =
            result->outcome != ARCP_PROVISION_DONE && (result->status == ARCP_E_BUDGET_EXHAUSTED ||
                                                       result->status == ARCP_E_PERMISSION_DENIED);
        (void)arcp_error_set(&error, known ? result->status : ARCP_E_INTERNAL_ERROR,
                             "no credential could be provisioned: %s", why);
        arcp__credential_audit(engine, credential, "refused", why);
        arcp__effect_log(engine->log, ARCP__LOG_WARN, "credential %s for job %s: %s",
                         credential->alias, credential->job_id, why);
        if (job != NULL) {
            job->replacement = NULL;
            credential->job = NULL;
            plan_attempt(engine, job->credential, pause_after(engine, ++job->credential->attempts));
        }
        if (result->outcome == ARCP_PROVISION_REFUSED) {
            forget(engine, credential);
        } else {
            revoke(engine, credential);
        }
        if (admission != NULL) {
            admission->credential = NULL;
            arcp__admission_provisioned(engine, admission, &error);
        }
        return;
    }
    credential->state = ARCP__CREDENTIAL_LIVE;
    arcp__credential_audit(engine, credential, "issued", NULL);
    if (admission == NULL && job == NULL) {
        revoke(engine, credential);
        return;
    }
    arcp__credential_store(engine, credential);
    plan_rotation(engine, credential, result->lifetime_sec);
    plan_usage(engine, credential);
    if (admission != NULL) {
        arcp__admission_provisioned(engine, admission, NULL);
    } else {
        rotated(engine, credential, result->replaced);
    }
}

void arcp__credential_give(arcp__credential *credential, arcp__job *job)
{
    credential->job = job;
    job->credential = credential;
}

/* [arcp:9.8.2-4] */
void arcp__credential_job_ended(arcp__engine *engine, arcp__job *job)
{
    arcp__credential *const both[] = {job->credential, job->replacement};
    job->credential = NULL;
    job->replacement = NULL;
    for (size_t at = 0; at < 2; at++) {
        if (both[at] != NULL) {
            arcp__credential_abandon(engine, both[at]);
        }
    }
}

/* ---- rotation ---- */

static void tell_agent(arcp__engine *engine, arcp__job *job)
{
    arcp_buf line = ARCP_BUF_INIT;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &line);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "type");
    arcp_json_write_cstr(&writer, "job.credentials");
    arcp_json_name(&writer, "payload");
    arcp_json_begin_object(&writer);
    arcp__credentials_write(engine, job, &writer);
    arcp_json_end_object(&writer);
    arcp_json_end_object(&writer);
    if (job->agent_state == ARCP__AGENT_RUNNING || job->agent_state == ARCP__AGENT_STARTING) {
        (void)arcp__effect_push(engine->log, &job->live->agent_port,
                                &(arcp__effect){.kind = ARCP__EFFECT_AGENT_LINE, .job = job}, &line,
                                true);
    } else {
        arcp_buf_fini(&line);
    }
}

/* The job has a new value: everybody who may is told, then the old one goes (§9.8.2).
 * [arcp:9.8.2-9] */
static void rotated(arcp__engine *engine, arcp__credential *credential, bool replaced)
{
    arcp__job *job = credential->job;
    arcp__credential *old = job->credential;
    job->credential = credential;
    job->replacement = NULL;
    arcp__credential_emit_rotated(engine, job);
    tell_agent(engine, job);
    old->job = NULL;
    if (replaced && old->call_id == 0) {
        arcp__credential_audit(engine, old, "revoked", "replaced by the upstream");
        forget(engine, old);
    } else {
        arcp__credential_abandon(engine, old);
    }
}

/* [arcp:9.8.2-7] */
static void rotate(arcp__engine *engine, arcp__credential *credential)
{
    arcp__job *job = credential->job;
    arcp__credential_wish wish = {
        .job_id = job->id,
        .principal = job->principal->name,
        .trace_id = job->trace_id,
        .agent_name = arcp_span_cstr(credential->agent),
        .traceparent = arcp_span_cstr(credential->traceparent),
        .lease = job->live->lease,
        .budget = arcp_authority_budget(job->live->authority),
    };
    char budget[ARCP_DECIMAL_TEXT_MAX];
    if (job->replacement != NULL || !arcp__credential_budget(engine, wish.budget, budget)) {
        return; /* one is on its way, or there is nothing left to spend */
    }
    /* Each attempt has an alias of its own: the one before may be in doubt, and its alias is then
     * still being revoked. */
    arcp__credential *fresh =
        arcp__credential_intend(engine, &wish, credential->id, ++credential->asked);
    if (fresh == NULL) {
        plan_attempt(engine, credential, RETRY_FIRST_SEC);
        return;
    }
    fresh->job = job;
    arcp__credential_store(engine, fresh);
    if (!arcp__credential_call(engine, fresh, ARCP__PROVISION_ROTATE)) {
        forget(engine, fresh);
        plan_attempt(engine, credential, RETRY_FIRST_SEC);
        return;
    }
    job->replacement = fresh;
    arcp__credential_audit(engine, fresh, "asked", "rotation");
}

void arcp__credential_due(arcp__engine *engine, arcp__credential *credential)
{
    if (credential->state == ARCP__CREDENTIAL_REVOKING) {
        (void)arcp__credential_call(engine, credential, ARCP__PROVISION_REVOKE);
    } else if (credential->state == ARCP__CREDENTIAL_LIVE && credential->job != NULL) {
        rotate(engine, credential);
    }
}

/* ---- answers ---- */

void arcp__credential_answered(arcp__engine *engine, const arcp_provision_result *result)
{
    arcp__credential *credential = NULL;
    HASH_FIND(hh_call, engine->credential_calls, &result->call_id, sizeof(result->call_id),
              credential);
    if (credential == NULL) {
        return;
    }
    arcp__provision_verb verb = credential->verb;
    arcp__span_call_ended(engine, credential, result->outcome);
    HASH_DELETE(hh_call, engine->credential_calls, credential);
    credential->call_id = 0;
    switch (verb) {
    case ARCP__PROVISION_ISSUE:
    case ARCP__PROVISION_ROTATE:
        issue_answered(engine, credential, result);
        break;
    case ARCP__PROVISION_REVOKE:
        revoke_answered(engine, credential, result);
        break;
    case ARCP__PROVISION_USAGE:
        if (credential->state == ARCP__CREDENTIAL_REVOKING) {
            (void)arcp__credential_call(engine, credential, ARCP__PROVISION_REVOKE);
        } else {
            plan_usage(engine, credential);
            arcp__credential_measured(engine, credential, result);
        }
        break;
    }
}
