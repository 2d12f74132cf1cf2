/* The player records the engine that it calls (src/record), and compares what it records with the
 * trace, byte by byte: no recorded difference can go unnoticed. Random bytes and other results of
 * the owner's functions are taken from the trace. */
#include "replay/replay.h"

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "record/record.h"

typedef struct player {
    arcp__recording trace; /* at the outcome that the engine has to produce, or at the next call */
    arcp__recorder *recorder;
    arcp__engine *engine; /* NULL before the first BEGIN */
    arcp__arena arena;    /* what the engine borrows */
    arcp__replay_result *result;
    bool is_over;
    bool is_begun; /* the recorder has written its first line */
} player;

static void end(player *p, arcp__replay_end end, size_t offset)
{
    if (!p->is_over) {
        p->is_over = true;
        p->result->end = end;
        p->result->offset = offset;
    }
}

static void end_damaged(player *p, const char *how)
{
    if (!p->is_over) {
        arcp_buf_append_cstr(&p->result->got, how);
    }
    end(p, ARCP__REPLAY_DAMAGED, p->trace.at);
}

/* The next record, which stays the next one; false: it is over. */
static bool next_record(player *p, arcp_span *record)
{
    arcp__recording ahead = p->trace;
    switch (arcp__recording_next(&ahead, record)) {
    case ARCP__RECORDING_RECORD:
        return true;
    case ARCP__RECORDING_END:
        end(p, ARCP__REPLAY_SAME, p->trace.at);
        break;
    case ARCP__RECORDING_CUT:
        end(p, ARCP__REPLAY_CUT, p->trace.at);
        break;
    case ARCP__RECORDING_DAMAGED:
        end_damaged(p, "a checksum is wrong");
        break;
    }
    return false;
}

/* A call or an outcome of the player's engine: the trace has to have the same. */
static void on_record(void *user, arcp_span bytes)
{
    player *p = user;
    arcp_span expected;
    arcp__recording given = {.bytes = bytes};
    arcp_span record;
    arcp__recording_call call;
    if (!p->is_begun) {
        p->is_begun = true;
        return;
    }
    if (p->is_over || !next_record(p, &expected) ||
        arcp__recording_next(&given, &record) != ARCP__RECORDING_RECORD) {
        return;
    }
    if (!arcp_span_equal(record, expected)) {
        arcp__recording_describe(expected, &p->result->expected);
        arcp__recording_describe(record, &p->result->got);
        end(p, ARCP__REPLAY_DIFFERS, p->trace.at);
        return;
    }
    p->trace.at += bytes.size;
    if (arcp__recording_read_call(record, &call) && arcp__call_is_input(call.kind)) {
        p->result->calls++;
    } else {
        p->result->outcomes++;
    }
}

/* ---- functions that the engine calls ---- */

static bool next_outcome(player *p, arcp__call_kind kind, arcp__recording_call *out)
{
    arcp_span record;
    return !p->is_over && next_record(p, &record) && arcp__recording_read_call(record, out) &&
           out->kind == kind;
}

static void draw(void *user, void *out, size_t size)
{
    arcp__recording_call call;
    memset(out, 0, size);
    if (next_outcome(user, ARCP__CALL_RANDOM, &call) && call.texts[0].size == size && size != 0) {
        memcpy(out, call.texts[0].data, size);
    }
}

static bool copy_outcome(player *p, arcp__call_kind kind, arcp_buf *out)
{
    arcp__recording_call call;
    if (!next_outcome(p, kind, &call)) {
        return false;
    }
    arcp_buf_append(out, call.texts[0]);
    return call.numbers[0] != 0;
}

static bool seal(void *user, arcp_span alias, arcp_span value, arcp_buf *out)
{
    (void)alias;
    (void)value;
    return copy_outcome(user, ARCP__CALL_SEAL, out);
}

static bool unseal(void *user, arcp_span alias, arcp_span sealed, arcp_buf *out)
{
    (void)alias;
    (void)sealed;
    return copy_outcome(user, ARCP__CALL_UNSEAL, out);
}

static arcp_status translate(void *user, const arcp_upstream_error *error)
{
    arcp__recording_call call;
    (void)error;
    return next_outcome(user, ARCP__CALL_TRANSLATE, &call) ? (arcp_status)call.numbers[0] : ARCP_OK;
}

/* ---- calls ---- */

/* A copy with an end of string that lives as long as the player; NULL: there is none. */
static const char *keep(player *p, arcp_span text)
{
    if (text.data == NULL) {
        return NULL;
    }
    char *copy = arcp__arena_take(&p->arena, text.size + 1);
    if (copy != NULL) {
        memcpy(copy, text.data, text.size);
        copy[text.size] = '\0';
    }
    return copy;
}

static void read_settings(arcp__recording_fields *fields, arcp_settings *out)
{
#define ARCP_SETTING_NUMBER(group, key, initial, minimum, maximum, text)                           \
    out->group##_##key = arcp__recording_number(fields);
#define ARCP_SETTING_CHOICE(group, key, initial, words, text)                                      \
    out->group##_##key = (uint32_t)arcp__recording_number(fields);
#include <arcp/settings.def>
#undef ARCP_SETTING_NUMBER
#undef ARCP_SETTING_CHOICE
}

static const char *const *read_cstrs(player *p, arcp__recording_fields *fields, size_t *count)
{
    const uint64_t wanted = arcp__recording_number(fields);
    *count = wanted > fields->rest.size ? 0 : (size_t)wanted; /* a byte each at least */
    const char **texts = arcp__arena_take(&p->arena, (*count + 1) * sizeof *texts);
    for (size_t i = 0; texts != NULL && i < *count; i++) {
        texts[i] = keep(p, arcp__recording_text(fields));
    }
    return texts;
}

static void read_terms(player *p, arcp__recording_fields *fields, arcp__credential_options *out)
{
    arcp_provisioner_terms *terms = arcp__arena_take(&p->arena, sizeof *terms);
    if (terms == NULL) {
        return;
    }
    *terms = (arcp_provisioner_terms){.struct_size = sizeof *terms};
    terms->agents = read_cstrs(p, fields, &terms->agent_count);
    const bool has_models = arcp__recording_number(fields) != 0;
    terms->models = read_cstrs(p, fields, &terms->model_count);
    terms->models = has_models ? terms->models : NULL;
    terms->currency = keep(p, arcp__recording_text(fields));
    terms->enforces = (unsigned)arcp__recording_number(fields);
    out->terms = terms;
}

static void begin(player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    arcp__engine_options options = {.now = call->now, .random = draw, .random_user = p};
    arcp__credential_options *credentials = &options.credentials;
    arcp__engine_free(p->engine);
    p->engine = NULL;
    options.runtime_name = keep(p, arcp__recording_text(&more));
    options.runtime_version = keep(p, arcp__recording_text(&more));
    read_settings(&more, &options.settings);
    options.store_is_durable = arcp__recording_number(&more) != 0;
    options.work_directory = arcp__arena_copy(&p->arena, arcp__recording_text(&more));
    options.makes_spans = arcp__recording_number(&more) != 0;
    options.has_no_log = arcp__recording_number(&more) != 0;
    credentials->provisioner = keep(p, arcp__recording_text(&more));
    credentials->can_measure = arcp__recording_number(&more) != 0;
    credentials->translate = arcp__recording_number(&more) != 0 ? translate : NULL;
    credentials->seal = seal;
    credentials->unseal = unseal;
    credentials->user = p;
    if (arcp__recording_number(&more) != 0) {
        read_terms(p, &more, credentials);
    }
    if (more.is_wrong || more.rest.size != 0) {
        end_damaged(p, "the settings are not those of this build");
        return;
    }
    arcp__recorder_attach(p->recorder, &options);
    if (arcp__engine_new(&options, &p->engine, NULL) != ARCP_OK) {
        end_damaged(p, "the engine cannot be made from it");
    }
}

static void add_policy(player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    arcp_lease_limits limits = arcp_lease_limits_init();
    limits.patterns_max = SIZE_MAX;
    limits.bytes_max = SIZE_MAX;
    arcp_lease *ceiling = NULL;
    arcp__policy policy = {.principal_glob = arcp__recording_text(&more),
                           .agent_glob = arcp__recording_text(&more)};
    policy.leaves_others_open = arcp__recording_number(&more) != 0;
    policy.max_lifetime_sec = arcp__recording_number(&more);
    const arcp_span lease = arcp__recording_text(&more);
    const arcp_span constraints = arcp__recording_text(&more);
    if (lease.size != 0 &&
        arcp_lease_parse(lease, constraints, &limits, &ceiling, NULL) != ARCP_OK) {
        end_damaged(p, "the lease of a policy cannot be read");
        return;
    }
    policy.ceiling = ceiling;
    const arcp_status ignored = arcp__engine_add_policy(p->engine, &policy, NULL);
    (void)ignored; /* it is compared */
    arcp_lease_unref(ceiling);
}

static void add_connection(player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    arcp__link_options options = {.is_local = arcp__recording_number(&more) != 0};
    options.is_encrypted = arcp__recording_number(&more) != 0;
    options.waited_ms = (uint32_t)arcp__recording_number(&more);
    options.principal = arcp__recording_text(&more);
    options.peer = keep(p, arcp__recording_text(&more));
    options.user = arcp__arena_take(&p->arena, 1); /* no other link has this address */
    (void)arcp__engine_connect(p->engine, call->now, &options);
}

static void answer_read(player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    const uint64_t count = call->numbers[3];
    arcp_span *records =
        count > more.rest.size ? NULL : arcp__alloc_array((size_t)count + 1, sizeof *records);
    if (records == NULL) {
        end_damaged(p, "it has fewer records than it says");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        records[i] = arcp__recording_text(&more);
    }
    arcp__engine_read_done(p->engine, call->now, call->numbers[0], (arcp_status)call->numbers[1],
                           call->numbers[2], records, (size_t)count);
    arcp__free(records);
}

static void answer_provision(player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    arcp_provision_result result = {.struct_size = sizeof result};
    result.call_id = arcp__recording_number(&more);
    result.outcome = (arcp_provision_outcome)arcp__recording_number(&more);
    result.status = (arcp_status)arcp__recording_number(&more);
    result.lifetime_sec = arcp__recording_number(&more);
    result.replaced = arcp__recording_number(&more) != 0;
    result.message = keep(p, arcp__recording_text(&more));
    arcp_span *const texts[] = {&result.upstream_id, &result.value,   &result.scheme,
                                &result.endpoint,    &result.profile, &result.spent};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        *texts[i] = arcp__recording_text(&more);
    }
    arcp__engine_provisioned(p->engine, call->now, &result);
}

static void play_link(player *p, const arcp__recording_call *call)
{
    arcp__link *link = arcp__recorder_link(p->recorder, call->link);
    if (link == NULL) {
        end_damaged(p, "it names a link that there is not");
    } else if (call->kind == ARCP__CALL_RECEIVE) {
        (void)arcp__engine_receive(p->engine, call->now, link, call->texts[0]);
    } else if (call->kind == ARCP__CALL_FRAME_TOOK) {
        (void)arcp__engine_frame_took(p->engine, call->now, link, (int64_t)call->numbers[0]);
    } else if (call->kind == ARCP__CALL_TAKES_FRAMES) {
        (void)arcp__engine_takes_frames(p->engine, link);
    } else if (call->kind == ARCP__CALL_DRAINED) {
        arcp__engine_drained(p->engine, call->now, link, (size_t)call->numbers[0]);
    } else if (call->kind == ARCP__CALL_INPUT_OVER) {
        arcp__engine_input_over(p->engine, call->now, link);
    } else {
        arcp__engine_disconnect(p->engine, call->now, link);
    }
}

static void play_job(player *p, const arcp__recording_call *call)
{
    arcp__job *job = arcp__recorder_job(p->recorder, call->job);
    const arcp_span text = call->texts[0];
    if (job == NULL) {
        end_damaged(p, "it names a job that there is not");
    } else if (call->kind == ARCP__CALL_AGENT_STARTED) {
        arcp__engine_agent_started(p->engine, call->now, job, (arcp_status)call->numbers[0], text);
    } else if (call->kind == ARCP__CALL_AGENT_LINE) {
        arcp__engine_agent_line(p->engine, call->now, job, text);
    } else if (call->kind == ARCP__CALL_AGENT_LINE_TOO_LONG) {
        arcp__engine_agent_line_too_long(p->engine, call->now, job);
    } else if (call->kind == ARCP__CALL_AGENT_OUTPUT) {
        arcp__engine_agent_output(p->engine, call->now, job, text);
    } else if (call->kind == ARCP__CALL_AGENT_LOG) {
        arcp__engine_agent_log(p->engine, call->now, job, keep(p, text), call->texts[1]);
    } else {
        const arcp__agent_exit exit = {
            .by_signal = call->numbers[0] != 0, .code = (int)call->numbers[1], .stderr_tail = text};
        arcp__engine_agent_exited(p->engine, call->now, job, &exit);
    }
}

/* Calls that take something out of the engine. */
static void play_pull(player *p, const arcp__recording_call *call)
{
    arcp__effect effect;
    arcp_provision_request request;
    if (call->kind == ARCP__CALL_NEXT_EFFECT) {
        (void)arcp__engine_next_effect(p->engine, call->now, &effect);
    } else if (call->kind == ARCP__CALL_NEXT_LINE) {
        (void)arcp__engine_next_line(p->engine, &effect);
    } else if (call->kind == ARCP__CALL_NEXT_FORGOTTEN) {
        (void)arcp__engine_next_forgotten(p->engine, &effect);
    } else if (call->kind == ARCP__CALL_TAKE_BATCH) {
        (void)arcp__engine_take_batch(p->engine);
    } else {
        (void)arcp__engine_provision_request(p->engine, call->numbers[0], &request);
    }
}

/* The result of each is compared, as an outcome. */
static void play_registration(player *p, const arcp__recording_call *call)
{
    const arcp_span *texts = call->texts;
    arcp_status ignored = ARCP_OK;
    if (call->kind == ARCP__CALL_REGISTER_AGENT) {
        const arcp__agent_registration agent = {.name = texts[0],
                                                .version = texts[1],
                                                .cwd = texts[2],
                                                .is_default = call->numbers[0] != 0};
        ignored = arcp__engine_register_agent(p->engine, &agent, NULL);
    } else if (call->kind == ARCP__CALL_ADD_PEER_PROFILE) {
        const arcp__peer_profile_rule rule = {
            .client_glob = texts[0], .principal_glob = texts[1], .profile = texts[2]};
        ignored = arcp__engine_add_peer_profile(p->engine, &rule, NULL);
    } else {
        ignored = arcp__engine_restore_row(p->engine, (arcp_store_table)call->numbers[0], texts[0],
                                           texts[1], NULL);
    }
    (void)ignored;
}

static void play_settings(player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    arcp_settings settings = {0};
    read_settings(&more, &settings);
    arcp__engine_set_settings(p->engine, &settings);
}

static void play_refusal(player *p, const arcp__recording_call *call)
{
    const arcp__refusal refusal = {.peer = keep(p, call->texts[0]),
                                   .rule = keep(p, call->texts[1]),
                                   .code = (int)call->numbers[0],
                                   .is_audited = call->numbers[1] != 0,
                                   .is_logged = call->numbers[2] != 0,
                                   .is_trouble = call->numbers[3] != 0};
    arcp__engine_refused(p->engine, call->now, &refusal, keep(p, call->texts[2]));
}

static void play_clear(player *p, const arcp__recording_call *call)
{
    if (call->kind == ARCP__CALL_CLEAR_AGENTS) {
        arcp__engine_clear_agents(p->engine);
    } else if (call->kind == ARCP__CALL_CLEAR_POLICIES) {
        arcp__engine_clear_policies(p->engine);
    } else {
        arcp__engine_clear_peer_profiles(p->engine);
    }
}

static void play_time(player *p, const arcp__recording_call *call)
{
    if (call->kind == ARCP__CALL_TICK) {
        arcp__engine_tick(p->engine, call->now);
    } else if (call->kind == ARCP__CALL_SHUTDOWN) {
        arcp__engine_shutdown(p->engine, call->now);
    } else {
        arcp__engine_restore_done(p->engine, call->now);
    }
}

static void play_answer(player *p, const arcp__recording_call *call)
{
    const uint64_t *numbers = call->numbers;
    if (call->kind == ARCP__CALL_AUTHENTICATED) {
        arcp__engine_authenticated(p->engine, call->now, numbers[0], (arcp_status)numbers[1],
                                   call->texts[0], numbers[2] != 0);
    } else if (call->kind == ARCP__CALL_COMMITTED) {
        arcp__engine_committed(p->engine, call->now, numbers[0], (arcp_status)numbers[1]);
    } else if (call->kind == ARCP__CALL_PROVISION_SENT) {
        arcp__engine_provision_sent(p->engine);
    } else {
        arcp__engine_set_audit_failing(p->engine, numbers[0] != 0);
    }
}

static void end_foreign(player *p, const arcp__recording_call *call)
{
    (void)call;
    end(p, ARCP__REPLAY_FOREIGN, p->trace.at);
}

static void (*const calls[ARCP__CALL_LINK])(player *p, const arcp__recording_call *call) = {
    [ARCP__CALL_BEGIN] = begin,
    [ARCP__CALL_SET_SETTINGS] = play_settings,
    [ARCP__CALL_SET_AUDIT_FAILING] = play_answer,
    [ARCP__CALL_REGISTER_AGENT] = play_registration,
    [ARCP__CALL_CLEAR_AGENTS] = play_clear,
    [ARCP__CALL_ADD_POLICY] = add_policy,
    [ARCP__CALL_CLEAR_POLICIES] = play_clear,
    [ARCP__CALL_ADD_PEER_PROFILE] = play_registration,
    [ARCP__CALL_CLEAR_PEER_PROFILES] = play_clear,
    [ARCP__CALL_CONNECT] = add_connection,
    [ARCP__CALL_RECEIVE] = play_link,
    [ARCP__CALL_FRAME_TOOK] = play_link,
    [ARCP__CALL_TAKES_FRAMES] = play_link,
    [ARCP__CALL_DRAINED] = play_link,
    [ARCP__CALL_INPUT_OVER] = play_link,
    [ARCP__CALL_DISCONNECT] = play_link,
    [ARCP__CALL_AUTHENTICATED] = play_answer,
    [ARCP__CALL_REFUSED] = play_refusal,
    [ARCP__CALL_RESTORE_ROW] = play_registration,
    [ARCP__CALL_RESTORE_DONE] = play_time,
    [ARCP__CALL_READ_DONE] = answer_read,
    [ARCP__CALL_TAKE_BATCH] = play_pull,
    [ARCP__CALL_COMMITTED] = play_answer,
    [ARCP__CALL_AGENT_STARTED] = play_job,
    [ARCP__CALL_AGENT_LINE] = play_job,
    [ARCP__CALL_AGENT_LINE_TOO_LONG] = play_job,
    [ARCP__CALL_AGENT_OUTPUT] = play_job,
    [ARCP__CALL_AGENT_LOG] = play_job,
    [ARCP__CALL_AGENT_EXITED] = play_job,
    [ARCP__CALL_PROVISION_REQUEST] = play_pull,
    [ARCP__CALL_PROVISION_SENT] = play_answer,
    [ARCP__CALL_PROVISIONED] = answer_provision,
    [ARCP__CALL_TICK] = play_time,
    [ARCP__CALL_SHUTDOWN] = play_time,
    [ARCP__CALL_NEXT_EFFECT] = play_pull,
    [ARCP__CALL_NEXT_LINE] = play_pull,
    [ARCP__CALL_NEXT_FORGOTTEN] = play_pull,
    [ARCP__CALL_FOREIGN] = end_foreign,
};

/* Plays one call. */
static void play_next(player *p)
{
    arcp_span record;
    arcp__recording_call call;
    const size_t offset = p->trace.at;
    if (!next_record(p, &record)) {
        return;
    }
    if (!arcp__recording_read_call(record, &call)) {
        end_damaged(p, "it is no record that this build knows");
    } else if (!arcp__call_is_input(call.kind)) {
        arcp__recording_describe(record, &p->result->expected);
        arcp_buf_append_cstr(&p->result->got, "nothing");
        end(p, ARCP__REPLAY_DIFFERS, offset);
    } else if (p->engine == NULL && call.kind != ARCP__CALL_BEGIN) {
        end_damaged(p, "it does not begin with an engine");
    } else {
        calls[call.kind](p, &call);
    }
    if (!p->is_over && p->trace.at == offset) { /* else it would be played again and again */
        end_damaged(p, "the engine cannot be called so");
    }
}

arcp_status arcp__replay(arcp_span trace, bool any_build, arcp__replay_result *out, arcp_error *err)
{
    player p = {.result = out};
    arcp_span identity;
    *out = (arcp__replay_result){.end = ARCP__REPLAY_SAME};
    arcp_status status = arcp__recording_open(trace, &p.trace, &identity, err);
    if (status == ARCP_OK && !any_build && !arcp_span_equal_cstr(identity, arcp__build_identity)) {
        status = arcp_error_set(
            err, ARCP_E_USAGE,
            "the trace was recorded by build %.*s, this is %s: play it with that "
            "one, or with --any-build",
            (int)arcp_span_first(identity, 64).size, identity.data, arcp__build_identity);
    }
    if (status == ARCP_OK) {
        p.recorder = arcp__recorder_new(on_record, &p, true);
        status = p.recorder == NULL ? ARCP_E_NO_MEMORY : ARCP_OK;
    }
    while (status == ARCP_OK && !p.is_over) {
        play_next(&p);
        status = arcp__recorder_has_failed(p.recorder) ? ARCP_E_NO_MEMORY : ARCP_OK;
    }
    if (status == ARCP_E_NO_MEMORY || out->expected.failed || out->got.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    p.is_over = true; /* the end of an engine is not recorded */
    arcp__engine_free(p.engine);
    arcp__recorder_free(p.recorder);
    arcp__arena_fini(&p.arena);
    return status;
}

void arcp__replay_result_fini(arcp__replay_result *result)
{
    arcp_buf_fini(&result->expected);
    arcp_buf_fini(&result->got);
}
