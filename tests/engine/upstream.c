#include "engine/upstream.h"

#include "support/check.h"

/* ---- sealing that a reader of the store cannot undo by looking ---- */

static bool fake_seal(void *user, arcp_span alias, arcp_span value, arcp_buf *out)
{
    (void)user;
    arcp_buf_append(out, alias);
    arcp_buf_append_byte(out, ':');
    for (size_t i = 0; i < value.size; i++) {
        arcp_buf_append_format(out, "%02x", (unsigned char)value.data[i] ^ 0x5au);
    }
    return !out->failed;
}

static bool fake_unseal(void *user, arcp_span alias, arcp_span sealed, arcp_buf *out)
{
    (void)user;
    if (!arcp_span_starts_with(sealed, alias) || sealed.size <= alias.size ||
        sealed.data[alias.size] != ':') {
        return false;
    }
    for (size_t i = alias.size + 1; i + 1 < sealed.size; i += 2) {
        const char digits[3] = {sealed.data[i], sealed.data[i + 1], '\0'};
        arcp_buf_append_byte(out, (char)(strtoul(digits, NULL, 16) ^ 0x5au));
    }
    return !out->failed;
}

static arcp_status fake_translate(void *user, const arcp_upstream_error *error)
{
    (void)user;
    const bool is_budget =
        memmem(error->text.data, error->text.size, "budget_exceeded", 15) != NULL;
    return is_budget && (error->http_status == 0 || error->http_status == 400)
               ? ARCP_E_BUDGET_EXHAUSTED
               : ARCP_OK;
}

/* ---- watching for leaks ---- */

static void look(upstream *up, arcp_span text)
{
    if (text.size != 0 && memmem(text.data, text.size, UPSTREAM_VALUE_PREFIX,
                                 strlen(UPSTREAM_VALUE_PREFIX)) != NULL) {
        up->leaked = true;
    }
}

static void on_log(engine_rig *rig, arcp__log_level level, arcp_span text)
{
    upstream *up = rig->upstream;
    if (level == ARCP__LOG_ERROR) {
        (void)snprintf(up->last_error, sizeof up->last_error, "%.*s", (int)text.size, text.data);
    }
    look(up, text);
}

static void on_store(engine_rig *rig, const arcp_store_op *op)
{
    look(rig->upstream, op->key);
    look(rig->upstream, op->value);
}

/* ---- requests ---- */

static void copy(char *to, size_t size, arcp_span from)
{
    assert_true(from.size < size);
    memcpy(to, from.data == NULL ? "" : from.data, from.size);
    to[from.size] = '\0';
}

/* A value is requested under an alias only once, whatever happened to the request. */
static void note_alias(upstream *up, const char *alias)
{
    for (size_t i = 0; i < up->alias_count; i++) {
        if (strcmp(up->aliases[i], alias) == 0) {
            fail_msg("a value was asked for twice under the alias %s", alias);
        }
    }
    assert_true(up->alias_count < UPSTREAM_ALIASES_MAX);
    const size_t size = strlen(alias);
    assert_true(size < sizeof up->aliases[0]);
    memcpy(up->aliases[up->alias_count++], alias, size + 1);
}

static void take_request(engine_rig *rig, uint64_t call_id)
{
    upstream *up = rig->upstream;
    arcp_provision_request request;
    const arcp__provision_verb verb =
        arcp__engine_provision_request(rig->engine, call_id, &request);
    assert_true(up->call_count < UPSTREAM_CALLS_MAX);
    upstream_call *call = &up->calls[up->call_count++];
    *call = (upstream_call){.verb = verb,
                            .call_id = request.call_id,
                            .model_count = request.model_count,
                            .asked_mono_ns = rig->now.mono_ns};
    copy(call->alias, sizeof call->alias, request.alias);
    copy(call->id, sizeof call->id, request.upstream_id);
    copy(call->budget, sizeof call->budget, request.budget);
    copy(call->expires_at, sizeof call->expires_at, request.expires_at);
    copy(up->traceparent, sizeof up->traceparent, request.traceparent);
    arcp__engine_provision_sent(rig->engine);
    if (verb == ARCP__PROVISION_ISSUE || verb == ARCP__PROVISION_ROTATE) {
        note_alias(up, call->alias);
    }
}

static upstream_key *find(upstream *up, const upstream_call *call)
{
    for (size_t i = 0; i < up->key_count; i++) {
        upstream_key *key = &up->keys[i];
        if (call->id[0] != '\0' ? strcmp(key->id, call->id) == 0
                                : strcmp(key->alias, call->alias) == 0) {
            return key;
        }
    }
    return NULL;
}

static void end_key(upstream_key *key)
{
    key->revoked += key->is_live ? 1 : 0;
    key->is_live = false;
}

static void issue(upstream *up, upstream_call *call)
{
    up->issue_calls++;
    if (up->issuing == UPSTREAM_REFUSES || up->issuing == UPSTREAM_IS_EXHAUSTED) {
        call->outcome = ARCP_PROVISION_REFUSED;
        return;
    }
    call->outcome = up->issuing == UPSTREAM_LOSES_ANSWERS || up->issuing == UPSTREAM_FAILS
                        ? ARCP_PROVISION_UNKNOWN
                        : ARCP_PROVISION_DONE;
    if (up->issuing == UPSTREAM_FAILS) {
        return;
    }
    if (call->verb == ARCP__PROVISION_ROTATE && up->replaces) {
        upstream_key *old = find(up, call);
        assert_non_null(old);
        end_key(old);
    }
    assert_true(up->key_count < UPSTREAM_KEYS_MAX);
    call->key = up->key_count++;
    upstream_key *key = &up->keys[call->key];
    *key = (upstream_key){.is_live = true, .model_count = call->model_count};
    (void)snprintf(key->alias, sizeof key->alias, "%s", call->alias);
    (void)snprintf(key->budget, sizeof key->budget, "%s", call->budget);
    (void)snprintf(key->expires_at, sizeof key->expires_at, "%s", call->expires_at);
    (void)snprintf(key->id, sizeof key->id, "up-%zu", call->key);
    (void)snprintf(key->value, sizeof key->value, UPSTREAM_VALUE_PREFIX "%zu",
                   up->issuing == UPSTREAM_SAME_VALUE ? (size_t)0 : call->key);
}

static void revoke(upstream *up, upstream_call *call)
{
    up->revoke_calls++;
    if (up->revoking == UPSTREAM_FAILS || up->revoking == UPSTREAM_REFUSES) {
        call->outcome = ARCP_PROVISION_UNKNOWN;
        return;
    }
    upstream_key *key = find(up, call);
    if (key != NULL) {
        end_key(key);
    }
    call->outcome = key == NULL ? ARCP_PROVISION_ABSENT : ARCP_PROVISION_DONE;
    if (up->revoking == UPSTREAM_LOSES_ANSWERS) {
        call->outcome = ARCP_PROVISION_UNKNOWN;
    }
}

static void process(upstream *up, upstream_call *call)
{
    call->is_processed = true;
    if (call->verb == ARCP__PROVISION_REVOKE) {
        revoke(up, call);
    } else if (call->verb == ARCP__PROVISION_USAGE) {
        up->usage_calls++;
        call->outcome = ARCP_PROVISION_DONE;
    } else if (call->verb == ARCP__PROVISION_KEEP) {
        const upstream_key *key = find(up, call);
        up->keep_calls++;
        call->outcome = key != NULL && key->is_live ? ARCP_PROVISION_DONE : ARCP_PROVISION_ABSENT;
    } else {
        issue(up, call);
    }
}

static void remove_call(upstream *up, size_t index)
{
    up->call_count--;
    memmove(&up->calls[index], &up->calls[index + 1],
            (up->call_count - index) * sizeof up->calls[0]);
}

static void deliver_result(engine_rig *rig, const upstream_call *call)
{
    const upstream *up = rig->upstream;
    arcp_provision_result result = {.struct_size = sizeof result,
                                    .call_id = call->call_id,
                                    .outcome = call->outcome,
                                    .status = up->issuing == UPSTREAM_IS_EXHAUSTED
                                                  ? ARCP_E_BUDGET_EXHAUSTED
                                                  : ARCP_E_INTERNAL_ERROR,
                                    .message = "the upstream is not well"};
    if (call->outcome == ARCP_PROVISION_DONE && call->verb == ARCP__PROVISION_USAGE) {
        result.spent = arcp_span_cstr(up->spent);
    } else if (call->outcome == ARCP_PROVISION_DONE && call->verb != ARCP__PROVISION_REVOKE &&
               call->verb != ARCP__PROVISION_KEEP) {
        const upstream_key *key = &up->keys[call->key];
        result.upstream_id = arcp_span_cstr(key->id);
        result.value = arcp_span_cstr(up->issuing == UPSTREAM_EMPTY_VALUE ? "" : key->value);
        result.endpoint = ARCP_SPAN_LITERAL("https://gateway.example/v1");
        result.profile = ARCP_SPAN_LITERAL("openai");
        result.lifetime_sec = up->lifetime_sec;
        result.replaced = call->verb == ARCP__PROVISION_ROTATE && up->replaces;
    }
    arcp__engine_provisioned(rig->engine, rig->now, &result);
}

/* The runtime gives up the call; the request still arrives later, unless it has been on its way for
 * too long. */
static void time_out(engine_rig *rig, size_t index)
{
    upstream *up = rig->upstream;
    upstream_call given_up = up->calls[index];
    given_up.outcome = ARCP_PROVISION_UNKNOWN;
    up->calls[index].is_orphan = true;
    if (rig->now.mono_ns - given_up.asked_mono_ns >= UPSTREAM_ARRIVES_NS) {
        remove_call(up, index);
    }
    deliver_result(rig, &given_up);
}

/* One step of the oldest call: it reaches the upstream, or its reply is delivered. */
static bool answer_one(engine_rig *rig)
{
    upstream *up = rig->upstream;
    for (size_t i = 0; i < up->call_count; i++) {
        upstream_call *call = &up->calls[i];
        const upstream_mode mode =
            call->verb == ARCP__PROVISION_REVOKE ? up->revoking : up->issuing;
        if (call->is_orphan || mode == UPSTREAM_STALLS) {
            continue;
        }
        if (call->is_processed && mode == UPSTREAM_HOLDS_ANSWERS) {
            continue;
        }
        if (!call->is_processed && mode == UPSTREAM_TIMES_OUT) {
            time_out(rig, i);
        } else if (!call->is_processed) {
            process(up, call);
        } else {
            upstream_call done = *call;
            remove_call(up, i);
            deliver_result(rig, &done);
        }
        return true;
    }
    return false;
}

void upstream_attach(upstream *up, engine_rig *rig)
{
    up->terms.struct_size = sizeof up->terms;
    rig->upstream = up;
    up->rig = rig;
    rig->provision = take_request;
    rig->answer = answer_one;
    rig->logged = on_log;
    rig->stored = on_store;
    rig->credentials = (arcp__credential_options){.provisioner = "rig",
                                                  .terms = &up->terms,
                                                  .can_measure = true,
                                                  .seal = fake_seal,
                                                  .unseal = fake_unseal,
                                                  .translate = fake_translate};
}

void upstream_orphan_calls(upstream *up)
{
    for (size_t i = 0; i < up->call_count; i++) {
        up->calls[i].is_orphan = true;
    }
}

void upstream_deliver_late_orphans(upstream *up, int64_t mono_ns)
{
    for (size_t i = 0; i < up->call_count;) {
        upstream_call *call = &up->calls[i];
        if (!call->is_orphan || mono_ns - call->asked_mono_ns < UPSTREAM_ARRIVES_NS) {
            i++;
            continue;
        }
        const bool is_lost = up->rig->now.mono_ns - call->asked_mono_ns > UPSTREAM_ARRIVES_NS;
        if (!call->is_processed && !is_lost) {
            process(up, call);
        }
        remove_call(up, i);
    }
}

void upstream_deliver_orphans(upstream *up)
{
    upstream_deliver_late_orphans(up, INT64_MAX);
}

void upstream_drop_orphans(upstream *up)
{
    for (size_t i = up->call_count; i > 0; i--) {
        if (up->calls[i - 1].is_orphan) {
            remove_call(up, i - 1);
        }
    }
}

const upstream_key *upstream_find(const upstream *up, const char *alias)
{
    for (size_t i = 0; i < up->key_count; i++) {
        if (strcmp(up->keys[i].alias, alias) == 0) {
            return &up->keys[i];
        }
    }
    return NULL;
}

size_t upstream_live_count(const upstream *up)
{
    size_t count = 0;
    for (size_t i = 0; i < up->key_count; i++) {
        count += up->keys[i].is_live ? 1 : 0;
    }
    return count;
}

void upstream_check_all_revoked(const upstream *up, const char *label)
{
    for (size_t i = 0; i < up->key_count; i++) {
        const upstream_key *key = &up->keys[i];
        if (key->is_live || key->revoked != 1) {
            fail_msg("%s: %s is %s and was revoked %u times", label, key->alias,
                     key->is_live ? "live" : "dead", key->revoked);
        }
    }
    if (up->leaked) {
        fail_msg("%s: a value was stored or logged in the clear", label);
    }
}
