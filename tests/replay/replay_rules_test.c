/* A trace is a file that anybody may have edited. Calls that no owner of an engine makes are
 * refused, with the place and the rule, before the engine asserts that they do not come; and edited
 * traces of any kind end the replay in one of its ways. */
#include "replay/replay.h"

#include "support/check.h"

#include "base/alloc.h"
#include "replay/recorded.h"
#include "story/engine_rig.h"

#define STEPS 200u
#define SEED  1u /* a simulation with a restart that reads */
#define EDITS 60u

typedef struct edit {
    arcp_span trace;
    recorded_call *calls;
    size_t count;
    recording r;
} edit;

static void begin(edit *e, uint64_t seed)
{
    e->trace = record_simulation(&e->r, seed, STEPS);
    e->calls = recorded_calls(e->trace, &e->count);
}

static void finish(edit *e)
{
    arcp__free(e->calls);
    arcp_buf_fini(&e->r.bytes);
}

/* The nth call of a kind, from 0. */
static const recorded_call *find(const edit *e, arcp__call_kind kind, size_t nth)
{
    for (size_t i = 0; i < e->count; i++) {
        if (e->calls[i].call.kind == kind && nth-- == 0) {
            return &e->calls[i];
        }
    }
    fail_msg("no call %d in the trace", (int)kind);
    return NULL;
}

/* The trace with a call in place of its bytes from `from` to `to`; NULL: nothing in their place. */
static arcp_buf replaced(const edit *e, size_t from, size_t to, const arcp__recording_call *call)
{
    arcp_buf out = arcp_buf_init();
    arcp_buf_append(&out, arcp_span_first(e->trace, from));
    if (call != NULL) {
        append_call(&out, call);
    }
    arcp_buf_append(&out, arcp_span_from(e->trace, to));
    assert_false(out.failed);
    return out;
}

static arcp__replay_end replay(arcp_span trace, arcp__replay_result *result)
{
    arcp_error error = {0};
    check_ok(arcp__replay(trace, false, result, &error), &error);
    return result->end;
}

/* The replay of the edited trace is refused at this call. */
static void expect_refusal(arcp_buf *trace, size_t at, const char *why)
{
    arcp__replay_result result;
    const arcp__replay_end end = replay(arcp_buf_span(trace), &result);
    if (end != ARCP__REPLAY_DAMAGED || result.offset != at ||
        !arcp_span_equal_cstr(arcp_buf_span(&result.got), why)) {
        fail_msg("end %d at %zu (%.*s), not refused at %zu: %s", (int)end, (size_t)result.offset,
                 (int)result.got.size, result.got.size == 0 ? "" : result.got.data, at, why);
    }
    arcp__replay_result_fini(&result);
    arcp_buf_fini(trace);
}

/* ---- calls in another order ---- */

static void calls_out_of_order_are_refused(void **state)
{
    static const char request[] = "it does not follow the effect that asks for it";
    static const char restored[] = "the engine is restored already";
    static const struct {
        arcp__call_kind kind, before;
        size_t nth; /* of `before` */
        const char *why;
    } rows[] = {
        {ARCP__CALL_TICK, ARCP__CALL_BEGIN, 0, "it does not begin with an engine"},
        {ARCP__CALL_RESTORE_DONE, ARCP__CALL_CONNECT, 0, restored},
        {ARCP__CALL_RESTORE_ROW, ARCP__CALL_CONNECT, 0, restored},
        {ARCP__CALL_RESTORE_ROW, ARCP__CALL_CONNECT, 1, restored},
        {ARCP__CALL_CONNECT, ARCP__CALL_READ_DONE, 0, "the engine is not restored yet"},
        {ARCP__CALL_PROVISION_REQUEST, ARCP__CALL_CONNECT, 0, request},
    };
    (void)state;
    edit e;
    begin(&e, SEED);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const recorded_call *before = find(&e, rows[i].before, rows[i].nth);
        const arcp__recording_call moved = {.kind = rows[i].kind,
                                            .now = before->call.now,
                                            .numbers = {1},
                                            .texts = {ARCP_SPAN_LITERAL("key")}};
        arcp_buf trace = replaced(&e, before->at, before->at, &moved);
        expect_refusal(&trace, before->at, rows[i].why);
    }
    finish(&e);
}

/* A row that cannot be restored leaves an engine that can only be freed. */
static void calls_after_a_row_that_failed_are_refused(void **state)
{
    static engine_rig rig;
    static const arcp__call_kind after[] = {ARCP__CALL_RESTORE_ROW, ARCP__CALL_RESTORE_DONE};
    const arcp__recording_call row = {.kind = ARCP__CALL_RESTORE_ROW,
                                      .numbers = {ARCP_STORE_JOBS},
                                      .texts = {ARCP_SPAN_LITERAL("key"), ARCP_SPAN_LITERAL("{")}};
    const arcp__recording_call result = {.kind = ARCP__CALL_RESULT,
                                         .numbers = {(uint64_t)ARCP_E_CORRUPT}};
    (void)state;
    edit e;
    recording_begin(&e.r);
    rig_begin(&rig, NULL);
    rig.prepare = recording_attach;
    rig.prepare_user = &e.r;
    rig_open(&rig);
    rig_stop(&rig);
    e.trace = recording_end(&e.r);
    e.calls = recorded_calls(e.trace, &e.count);
    for (size_t i = 0; i < sizeof after / sizeof after[0]; i++) {
        arcp_buf trace = arcp_buf_init();
        arcp_buf_append(&trace, arcp_span_first(e.trace, find(&e, ARCP__CALL_RESTORE_DONE, 0)->at));
        append_call(&trace, &row);
        append_call(&trace, &result);
        const size_t at = trace.size;
        append_call(&trace, &(arcp__recording_call){.kind = after[i]});
        expect_refusal(&trace, at, "a row before it could not be restored");
    }
    finish(&e);
}

/* A link whose token is being verified takes one frame more, and then none. */
static void a_frame_for_a_link_that_takes_none_is_refused(void **state)
{
    static engine_rig rig;
    (void)state;
    edit e;
    recording_begin(&e.r);
    rig_begin(&rig, NULL);
    rig.prepare = recording_attach;
    rig.prepare_user = &e.r;
    rig.hold_questions = true;
    rig_open(&rig);
    rig_client *client = rig_connect(&rig, "a");
    rig_send(&rig, client,
             "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{"
             "\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-alice\"}}}");
    rig_send(&rig, client,
             "{\"arcp\":\"1.1\",\"id\":\"p\",\"type\":\"session.ping\",\"payload\":{}}");
    rig_stop(&rig);
    e.trace = recording_end(&e.r);
    e.calls = recorded_calls(e.trace, &e.count);
    const recorded_call *second = find(&e, ARCP__CALL_RECEIVE, 1);
    arcp_buf trace = replaced(&e, second->next, e.trace.size, &second->call);
    expect_refusal(&trace, second->next, "the link takes no frames now");
    finish(&e);
}

/* ---- values ---- */

static void append_settings(arcp_buf *out, const arcp_settings *settings)
{
#define ARCP_SETTING_NUMBER(group, key, initial, minimum, maximum, text)                           \
    append_number(out, settings->group##_##key);
#define ARCP_SETTING_CHOICE(group, key, initial, words, text)                                      \
    append_number(out, settings->group##_##key);
#include <arcp/settings.def>
#undef ARCP_SETTING_NUMBER
#undef ARCP_SETTING_CHOICE
}

/* Behind everything that the simulation did. */
static void expect_at_end(const edit *e, const arcp__recording_call *call, const char *why)
{
    arcp_buf trace = replaced(e, e->trace.size, e->trace.size, call);
    if (why != NULL) {
        expect_refusal(&trace, e->trace.size, why);
        return;
    }
    arcp__replay_result result;
    const arcp__replay_end end = replay(arcp_buf_span(&trace), &result);
    /* What it does is not in the trace, which ends; but it is done. */
    assert_true(end == ARCP__REPLAY_SAME);
    assert_int_equal(result.offset, trace.size);
    arcp__replay_result_fini(&result);
    arcp_buf_fini(&trace);
}

static void a_setting_out_of_its_range_is_refused(void **state)
{
    static const struct {
        uint64_t frame_bytes;
        uint32_t on_expiry;
        size_t more; /* bytes after the settings */
        const char *why;
    } rows[] = {
        {131072, 0, 0, NULL},
        {131071, 0, 0, "a setting is out of its range"},
        {1073741824, 1, 0, NULL},
        {1073741825, 0, 0, "a setting is out of its range"},
        {131072, 2, 0, "a setting is out of its range"},
        {131072, 0, 1, "it has other fields than a call of this build"},
    };
    (void)state;
    edit e;
    begin(&e, SEED);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp_settings settings;
        arcp_buf more = arcp_buf_init();
        arcp__settings_default(&settings);
        settings.limits_frame_bytes = rows[i].frame_bytes;
        settings.lease_on_expiry = rows[i].on_expiry;
        append_settings(&more, &settings);
        arcp_buf_append(&more, arcp_span_make("\0", rows[i].more));
        expect_at_end(&e,
                      &(arcp__recording_call){.kind = ARCP__CALL_SET_SETTINGS,
                                              .more = {.rest = arcp_buf_span(&more)}},
                      rows[i].why);
        arcp_buf_fini(&more);
    }
    finish(&e);
}

#define WALL_NS_MAX (INT64_MAX / 2) /* these three: src/replay/player_rules.c */
#define MONO_NS_MAX (INT64_MAX / 4)
#define TOOK_NS_MAX (UINT64_C(86400) * ARCP_NS_PER_SEC)

static void a_value_out_of_its_range_is_refused(void **state)
{
    static const char time[] = "its time is out of range";
    static const char text[] = "a text is missing";
    static const char denial[] = "its layer or code is out of range";
    const arcp_span word = ARCP_SPAN_LITERAL("word");
    const struct {
        const char *why;
        arcp__recording_call call;
    } rows[] = {
        {NULL, {.kind = ARCP__CALL_SHUTDOWN, .now = {WALL_NS_MAX, MONO_NS_MAX}}},
        {time, {.kind = ARCP__CALL_SHUTDOWN, .now = {WALL_NS_MAX + 1, MONO_NS_MAX}}},
        {time, {.kind = ARCP__CALL_SHUTDOWN, .now = {WALL_NS_MAX, MONO_NS_MAX + 1}}},
        {NULL, {.kind = ARCP__CALL_SHUTDOWN, .now = {-WALL_NS_MAX, 0}}},
        {time, {.kind = ARCP__CALL_SHUTDOWN, .now = {-WALL_NS_MAX - 1, 0}}},
        {time, {.kind = ARCP__CALL_SHUTDOWN, .now = {0, -1}}},
        {NULL, {.kind = ARCP__CALL_REFUSED, .texts = {{NULL, 0}, word, word}}},
        {text, {.kind = ARCP__CALL_REFUSED, .texts = {word, {NULL, 0}, word}}},
        {text, {.kind = ARCP__CALL_REFUSED, .texts = {word, word, {NULL, 0}}}},
        {text, {.kind = ARCP__CALL_AGENT_LOG, .job = 1, .texts = {{NULL, 0}, word}}},
        {"it names a job that there is not",
         {.kind = ARCP__CALL_AGENT_LOG, .job = 100000, .texts = {word, word}}},
        {"it names a link that there is not", {.kind = ARCP__CALL_FRAME_TOOK, .link = 100000}},
        {"it names a link that there is not",
         {.kind = ARCP__CALL_FRAME_TOOK, .link = 100000, .numbers = {TOOK_NS_MAX}}},
        {"its duration is out of range",
         {.kind = ARCP__CALL_FRAME_TOOK, .link = 100000, .numbers = {TOOK_NS_MAX + 1}}},
        {denial, {.kind = ARCP__CALL_AGENT_DENIED, .numbers = {ARCP__DENIAL_LAYER_COUNT}}},
        {denial, {.kind = ARCP__CALL_AGENT_DENIED, .numbers = {0, ARCP_STATUS_COUNT}}},
        {"it names a job that there is not",
         {.kind = ARCP__CALL_AGENT_DENIED,
          .job = 100000,
          .numbers = {ARCP__DENIAL_LAYER_COUNT - 1, ARCP_STATUS_COUNT - 1}}},
    };
    (void)state;
    edit e;
    begin(&e, SEED);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_at_end(&e, &rows[i].call, rows[i].why);
    }
    finish(&e);
}

/* ---- answers of hosts ---- */

#define CONFINED_SEEDS 30u /* hosts confine agents in every third simulation */

static const char *find_text(const edit *e, const char *text)
{
    return memmem(e->trace.data, e->trace.size, text, strlen(text));
}

/* The trace with this text of an answer replaced by one of the same size. */
static void replay_with_answer(const char *text, const char *replacement, const char *why)
{
    edit e;
    begin(&e, 0);
    const char *found = find_text(&e, text);
    for (uint64_t seed = 3; found == NULL && seed <= CONFINED_SEEDS; seed += 3) {
        finish(&e);
        begin(&e, seed);
        found = find_text(&e, text);
    }
    assert_non_null(found);
    assert_int_equal(strlen(text), strlen(replacement));
    arcp__recording at;
    arcp_span identity;
    arcp_span record;
    arcp_buf edited = arcp_buf_init();
    arcp_error error = {0};
    check_ok(arcp__recording_open(e.trace, &at, &identity, &error), &error);
    size_t from = at.at;
    while (arcp__recording_next(&at, &record) == ARCP__RECORDING_RECORD &&
           record.data + record.size <= found) {
        from = at.at;
    }
    arcp__recording_call call;
    assert_true(arcp__recording_read_call(record, &call));
    assert_int_equal(call.kind, ARCP__CALL_ADMIT);
    char *more = arcp__copy_cstr(call.more.rest.data, call.more.rest.size);
    assert_non_null(more);
    memcpy(more + (found - call.more.rest.data), replacement, strlen(replacement));
    call.more.rest = arcp_span_make(more, call.more.rest.size);
    arcp_buf_append(&edited, arcp_span_first(e.trace, from));
    append_call(&edited, &call);
    arcp_buf_append(&edited, arcp_span_from(e.trace, at.at));
    arcp__replay_result result;
    const arcp__replay_end end = replay(arcp_buf_span(&edited), &result);
    assert_int_equal(end, why == NULL ? ARCP__REPLAY_DIFFERS : ARCP__REPLAY_DAMAGED);
    if (why != NULL) {
        check_span(arcp_buf_span(&result.got), why);
    }
    arcp__replay_result_fini(&result);
    arcp_buf_fini(&edited);
    arcp__free(more);
    finish(&e);
}

static void an_answer_that_is_no_json_is_refused(void **state)
{
    static const char lines[] = "[{\"verdict\":\"exact\"}]";
    (void)state;
    replay_with_answer(lines, "[{\"verdict\":\"exact\"}}", "it is no answer of a host");
    replay_with_answer("a line is refused", "a line is REFUSED", NULL); /* and the peer gets that */
}

/* ---- any edit ---- */

static uint64_t random_state;

static uint64_t pick(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

/* Changes one field of a call. */
static void change(arcp__recording_call *call, const arcp__recording_call *other, arcp_buf *more)
{
    switch (pick(8)) {
    case 0:
        call->link = pick(8);
        break;
    case 1:
        call->job = pick(8);
        break;
    case 2:
        call->numbers[pick(ARCP__CALL_NUMBERS)] = pick(2) == 0 ? pick(20) : UINT64_MAX >> pick(64);
        break;
    case 3:
        call->texts[pick(4)] = other->texts[pick(4)];
        break;
    case 4:
        call->texts[pick(4)] = arcp_span_make(NULL, 0);
        break;
    case 5:
        call->kind = (arcp__call_kind)pick(ARCP__CALL_LINK);
        break;
    case 6:
        call->now =
            (arcp_time){(int64_t)(UINT64_MAX >> pick(64)), (int64_t)(UINT64_MAX >> pick(64))};
        break;
    default:
        if (call->more.rest.size != 0) {
            arcp_buf_append(more, call->more.rest);
            more->data[pick(more->size)] = (char)pick(256);
            call->more.rest = arcp_buf_span(more);
        }
        break;
    }
}

/* One call is left out, repeated elsewhere, or changed. */
static arcp_buf edited(const edit *e)
{
    const recorded_call *here = &e->calls[pick(e->count)];
    const recorded_call *other = &e->calls[pick(e->count)];
    arcp_buf more = arcp_buf_init();
    arcp__recording_call call = pick(2) == 0 ? here->call : other->call;
    const uint64_t way = pick(4);
    if (way == 0) {
        return replaced(e, here->at, here->next, NULL);
    }
    call.now = here->call.now;
    if (way != 1) {
        change(&call, &other->call, &more);
    }
    arcp_buf trace = replaced(e, here->at, way == 2 ? here->at + here->text.size : here->at, &call);
    arcp_buf_fini(&more);
    return trace;
}

static void a_replay_of_an_edited_trace_ends(void **state)
{
    unsigned ends[ARCP__REPLAY_DAMAGED + 1] = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        edit e;
        begin(&e, seed);
        random_state = seed;
        for (unsigned i = 0; i < EDITS; i++) {
            arcp__replay_result result;
            arcp_buf trace = edited(&e);
            ends[replay(arcp_buf_span(&trace), &result)]++;
            assert_true(result.offset <= trace.size);
            arcp__replay_result_fini(&result);
            arcp_buf_fini(&trace);
        }
        finish(&e);
    }
    assert_true(ends[ARCP__REPLAY_SAME] != 0);
    assert_true(ends[ARCP__REPLAY_DIFFERS] != 0);
    assert_true(ends[ARCP__REPLAY_DAMAGED] != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_out_of_order_are_refused),
        cmocka_unit_test(calls_after_a_row_that_failed_are_refused),
        cmocka_unit_test(a_frame_for_a_link_that_takes_none_is_refused),
        cmocka_unit_test(a_setting_out_of_its_range_is_refused),
        cmocka_unit_test(a_value_out_of_its_range_is_refused),
        cmocka_unit_test(an_answer_that_is_no_json_is_refused),
        cmocka_unit_test(a_replay_of_an_edited_trace_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
