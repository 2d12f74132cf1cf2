/* Carries out the engine's effects and its batches for the store. */
#include "story/engine_rig.h"

#include "support/check.h"

#include <arcp/sys/store.h>

static rig_client *client_of(engine_rig *rig, const void *user)
{
    return &rig->clients[(const rig_client *)user - rig->clients];
}

static rig_agent *agent_by_job(engine_rig *rig, const arcp__job *job)
{
    for (size_t i = rig->agent_count; i > 0; i--) {
        if (rig->agents[i - 1].job == job && !rig->agents[i - 1].forgotten) {
            return &rig->agents[i - 1];
        }
    }
    return NULL;
}

static void start_agent(engine_rig *rig, const arcp__effect *effect)
{
    assert_true(rig->agent_count < RIG_AGENTS_MAX);
    rig_agent *agent = &rig->agents[rig->agent_count++];
    const arcp_span id = arcp_span_cstr(effect->job->id);
    const arcp_span name = arcp_span_cstr(effect->job->agent_text);
    *agent = (rig_agent){.job = effect->job};
    memcpy(agent->job_id, id.data, id.size);
    memcpy(agent->agent, name.data, name.size);
    rig_text_push(&agent->lines, &agent->newest, effect->text);
    if (rig->hold_start) {
        agent->starting = true;
        return;
    }
    arcp__engine_agent_started(rig->engine, rig->now, effect->job,
                               rig->fail_start ? ARCP_E_IO : ARCP_OK,
                               ARCP_SPAN_LITERAL("no such file"));
}

static void authenticate(engine_rig *rig, const arcp__effect *effect)
{
    if (rig->hold_questions) {
        assert_true(rig->question_count < 8);
        rig->questions[rig->question_count++] = effect->id;
        return;
    }
    const arcp_span token = effect->text;
    const arcp_span prefix = ARCP_SPAN_LITERAL("t-"); /* v-: a viewer, o-: an operator */
    static const char kinds[] = "tvo";
    const char *kind = token.size <= prefix.size ? NULL : strchr(kinds, token.data[0]);
    const bool known = kind != NULL && *kind != '\0' && token.data[1] == '-';
    char name[64] = {0};
    const arcp_span principal = arcp_span_first(arcp_span_from(token, prefix.size), 63);
    if (known) {
        memcpy(name, principal.data, principal.size);
    }
    arcp__authentication result = {.status = known ? ARCP_OK : ARCP_E_UNAUTHENTICATED,
                                   .principal = arcp_span_cstr(name),
                                   .is_anonymous = rig->is_anonymous,
                                   .role = known ? (arcp_role)(kind - kinds) : ARCP_ROLE_NONE};
    result.origin.expires_wall_ns = rig->token_expires_wall_ns;
    if (known && !rig->has_unknown_origin) {
        /* Another one for each token, and not its text: no memory may have that. */
        for (size_t i = 0; i < token.size && i < sizeof result.origin.hash; i++) {
            result.origin.hash[i] = (uint8_t)(token.data[i] ^ 0x5a);
        }
    }
    arcp__engine_authenticated(rig->engine, rig->now, effect->id, &result);
}

/* The only line of the audit log is the request. */
static void answer_as_owner(engine_rig *rig, const arcp__effect *effect)
{
    arcp_buf text = arcp_buf_init();
    if (memmem(effect->text.data, effect->text.size, "\"reload\"", 8) != NULL) {
        arcp_buf_append_cstr(&text, "{\"applied\":true,\"problems\":[],\"needs_restart\":[]}");
    } else {
        arcp_buf_append_cstr(&text, "{\"lines\":[");
        arcp_buf_append(&text, effect->text);
        arcp_buf_append_cstr(&text, "],\"next_before\":null,\"chain\":null}");
    }
    assert_false(text.failed);
    arcp__engine_owner_answered(rig->engine, rig->now, effect->id, ARCP_OK, arcp_buf_span(&text));
    arcp_buf_fini(&text);
}

static void close_client(engine_rig *rig, rig_client *client, int code)
{
    arcp__link *link = client->link;
    client->close_code = code;
    client->link = NULL;
    if (link != NULL) {
        arcp__engine_disconnect(rig->engine, rig->now, link);
    }
}

static void take_log(engine_rig *rig, const arcp__effect *effect)
{
    const arcp_span fields = arcp_span_first(effect->fields, sizeof rig->last_fields - 1);
    (void)snprintf(rig->last_fields, sizeof rig->last_fields, "%.*s", (int)fields.size,
                   fields.size == 0 ? "" : fields.data);
    if (rig->logged != NULL) {
        rig->logged(rig, effect->level, effect->text);
    }
    if (effect->level == ARCP__LOG_AUDIT) {
        rig->audits++;
        if (rig->keep_audit) {
            rig_text_push(&rig->audit_records, &rig->newest_audit, effect->text);
        }
        const arcp_span shown = arcp_span_first(effect->text, sizeof rig->last_audit - 1);
        memcpy(rig->last_audit, shown.data, shown.size);
        rig->last_audit[shown.size] = '\0';
    }
}

static void take_frame(engine_rig *rig, const arcp__effect *effect)
{
    rig_client *client = client_of(rig, effect->link_user);
    assert_true(effect->text.size <= rig->settings.limits_frame_bytes);
    rig_text_push(&client->frames, &client->newest, effect->text);
    client->unsent += effect->text.size;
    if (!client->slow) {
        client->unsent = 0;
        arcp__engine_drained(rig->engine, rig->now, client->link, 0);
    }
}

/* The effects about an agent that runs. */
static void tell_agent(rig_agent *agent, const arcp__effect *effect)
{
    assert_non_null(agent);
    if (effect->kind == ARCP__EFFECT_AGENT_LINE || effect->kind == ARCP__EFFECT_CANCEL_AGENT ||
        effect->kind == ARCP__EFFECT_HOLD_STORED) {
        rig_text_push(&agent->lines, &agent->newest, effect->text);
    }
    if (effect->kind == ARCP__EFFECT_CANCEL_AGENT) {
        agent->cancelled = true;
        agent->cancels++;
    } else if (effect->kind == ARCP__EFFECT_KILL_AGENT) {
        agent->killed = true;
        agent->killed_at_once = effect->grace_ms == 0;
        agent->kills++;
    } else if (effect->kind == ARCP__EFFECT_REVOKE_AGENT) {
        agent->revoked = (arcp_status)effect->reason;
        agent->revokes++;
    } else if (effect->kind == ARCP__EFFECT_FORGET_AGENT) {
        agent->forgotten = true;
        agent->forgets++;
    } else if (effect->kind == ARCP__EFFECT_PAUSE_AGENT ||
               effect->kind == ARCP__EFFECT_RESUME_AGENT) {
        agent->paused = effect->kind == ARCP__EFFECT_PAUSE_AGENT;
    }
}

static void perform(engine_rig *rig, const arcp__effect *effect)
{
    arcp_error error = {0};
    switch (effect->kind) {
    case ARCP__EFFECT_SEND:
        take_frame(rig, effect);
        break;
    case ARCP__EFFECT_CLOSE:
        close_client(rig, client_of(rig, effect->link_user), effect->close_code);
        break;
    case ARCP__EFFECT_RESUME_LINK:
        rig_resume(rig, client_of(rig, effect->link_user));
        break;
    case ARCP__EFFECT_ADMIT_LINK:
        client_of(rig, effect->link_user)->is_admitted = true;
        break;
    case ARCP__EFFECT_AUTHENTICATE:
        authenticate(rig, effect);
        break;
    case ARCP__EFFECT_START_AGENT:
        start_agent(rig, effect);
        break;
    case ARCP__EFFECT_AGENT_LINE:
    case ARCP__EFFECT_CANCEL_AGENT:
    case ARCP__EFFECT_KILL_AGENT:
    case ARCP__EFFECT_PAUSE_AGENT:
    case ARCP__EFFECT_RESUME_AGENT:
    case ARCP__EFFECT_REVOKE_AGENT:
    case ARCP__EFFECT_HOLD_STORED:
    case ARCP__EFFECT_FORGET_AGENT:
        assert_non_null(effect->job);
        tell_agent(agent_by_job(rig, effect->job), effect);
        break;
    case ARCP__EFFECT_READ:
        check_ok(rig->store->ops->read(rig->store, effect->id, effect->text, effect->from,
                                       effect->count_max, effect->bytes_max, &error),
                 &error);
        break;
    case ARCP__EFFECT_PROVISION:
        if (rig->provision != NULL) {
            rig->provision(rig, effect->id);
        }
        break;
    case ARCP__EFFECT_LOG:
        take_log(rig, effect);
        break;
    case ARCP__EFFECT_SPAN:
        assert_true(rig->makes_spans);
        rig_text_push(&rig->spans, &rig->newest_span, effect->text);
        break;
    case ARCP__EFFECT_ASK_OWNER:
        answer_as_owner(rig, effect);
        break;
    case ARCP__EFFECT_NOTIFY:
        if (rig->deliver != NULL) {
            rig->deliver(rig, effect);
        }
        break;
    }
}

/* False when the process is killed before this step. */
static bool step(engine_rig *rig)
{
    if (rig->fuse != 0 && --rig->fuse == 0) {
        rig->is_dead = true;
    }
    return !rig->is_dead;
}

static bool submit_batches(engine_rig *rig)
{
    bool any = false;
    if (!step(rig)) {
        return false;
    }
    while (rig->batches_max == 0 || rig->batches_under_way < rig->batches_max) {
        const arcp_store_batch *batch = arcp__engine_take_batch(rig->engine);
        if (batch == NULL) {
            break;
        }
        arcp_error error = {0};
        arcp__effect line;
        any = true;
        while (arcp__engine_next_line(rig->engine, &line)) {
            take_log(rig, &line);
        }
        if (rig->fail_store || rig->store->ops->submit(rig->store, batch, &error) != ARCP_OK) {
            arcp__engine_committed(rig->engine, rig->now, batch->id, ARCP_E_IO);
            break;
        }
        for (size_t i = 0; rig->stored != NULL && i < batch->count; i++) {
            rig->stored(rig, &batch->ops[i]);
        }
        rig->batches_under_way++;
    }
    return any;
}

static void feed(engine_rig *rig)
{
    if (rig->feeds_at == 0 || rig->hold_store || rig->is_dead ||
        arcp__engine_pending_changes(rig->engine) < rig->feeds_at) {
        return;
    }
    if (rig->batches_under_way != 0 && step(rig)) {
        (void)rig->store->ops->poll(rig->store);
    }
    if (rig->batches_under_way == 0) {
        rig->was_fed = submit_batches(rig) || rig->was_fed;
    }
}

static bool is_out_of_steps(const engine_rig *rig)
{
    return rig->is_stepping && rig->effects_left == 0;
}

static bool next_effect(engine_rig *rig, arcp__effect *effect)
{
    if (arcp__engine_next_effect(rig->engine, rig->now, effect)) {
        assert_int_not_equal(effect->kind, ARCP__EFFECT_FORGET_AGENT);
        return true;
    }
    return arcp__engine_next_forgotten(rig->engine, effect);
}

void rig_run(engine_rig *rig)
{
    feed(rig);
    for (bool more = true; more;) {
        arcp__effect effect;
        more = false;
        arcp__engine_tick(rig->engine, rig->now);
        while (!rig->is_dead && !is_out_of_steps(rig) && next_effect(rig, &effect)) {
            rig->effects_left -= rig->is_stepping ? 1 : 0;
            if (rig->on_effect != NULL) {
                rig->on_effect(rig->on_effect_user, &effect);
            }
            if (step(rig)) {
                perform(rig, &effect);
            }
            feed(rig);
            more = true;
        }
        if (is_out_of_steps(rig)) {
            return;
        }
        if (!rig->hold_store && !rig->is_dead) {
            more = submit_batches(rig) || more || rig->was_fed;
            rig->was_fed = false;
            while (step(rig) && rig->store->ops->poll(rig->store)) {
                more = true;
            }
        }
        if (!more && rig->answer != NULL && step(rig)) {
            more = rig->answer(rig);
        }
        if (arcp__engine_has_failed(rig->engine)) {
            more = !arcp__engine_is_finished(rig->engine);
        }
        more = more && !rig->is_dead;
    }
}

/* Stops at every deadline in between. */
void rig_clock(engine_rig *rig, int64_t forward_ns)
{
    const int64_t end = rig->now.mono_ns + forward_ns;
    rig_run(rig);
    for (int64_t next = arcp__engine_deadline(rig->engine); next <= end;
         next = arcp__engine_deadline(rig->engine)) {
        const int64_t step = next > rig->now.mono_ns ? next - rig->now.mono_ns : 0;
        rig->now.mono_ns += step;
        rig->now.wall_ns += step;
        rig_run(rig);
    }
    rig->now.wall_ns += end - rig->now.mono_ns;
    rig->now.mono_ns = end;
    rig_run(rig);
}
