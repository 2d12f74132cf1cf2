/* Traces: what an engine did is done again by another one, and each difference, damage and cut is
 * found. */
#include "replay/replay.h"

#include "story/engine_rig.h"

#include "support/check.h"

#include "base/crc32c.h"
#include "replay/recorded.h"

#define STEPS 200

#define FRAME(id, type, payload)                                                                   \
    "{\"arcp\":\"1.1\",\"id\":\"" id "\",\"type\":\"" type "\",\"payload\":" payload "}"
#define HELLO(principal)                                                                           \
    FRAME("h", "session.hello",                                                                    \
          "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-" principal "\"},\"capabilities\":{"     \
          "\"features\":[\"subscribe\"]}}")
#define LOG                                                                                        \
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":\"info\","          \
    "\"message\":\"a word\"}}}"
#define RESULT "{\"type\":\"job.result\",\"payload\":{\"result\":{\"found\":7}}}"

/* Several clients, agents, a cancel, and a restart. */
static arcp_span record_run(recording *r)
{
    static engine_rig rig;
    char frame[256];
    recording_begin(r);
    rig_begin(&rig, NULL);
    rig.prepare = recording_attach;
    rig.prepare_user = r;
    rig_open(&rig);
    rig_client *a = rig_connect(&rig, "a");
    rig_client *b = rig_connect(&rig, "b");
    rig_send(&rig, a, HELLO("alice"));
    rig_send(&rig, b, HELLO("bob"));
    rig_send(&rig, a, FRAME("1", "job.submit", "{\"agent\":\"work\"}"));
    rig_agent *first = rig_agent_last(&rig);
    rig_send(&rig, b, FRAME("1", "job.submit", "{\"agent\":\"echo\"}"));
    rig_agent *second = rig_agent_last(&rig);
    rig_agent_writes(&rig, first, LOG);
    rig_agent_writes(&rig, second, RESULT);
    (void)snprintf(frame, sizeof frame, FRAME("2", "job.cancel", "{\"job_id\":\"%s\"}"),
                   first->job_id);
    rig_send(&rig, a, frame);
    assert_true(first->cancelled);
    rig_agent_exits(&rig, second, false, 0);
    rig_clock(&rig, 31 * ARCP_NS_PER_SEC);
    rig_restart(&rig);
    b = rig_connect(&rig, "b");
    rig_send(&rig, b, HELLO("bob"));
    rig_send(&rig, b, FRAME("3", "job.submit", "{\"agent\":\"nobodys\"}"));
    rig_drop(&rig, b);
    rig_stop(&rig);
    return recording_end(r);
}

static arcp__replay_end replay(arcp_span trace, arcp__replay_result *result)
{
    arcp_error error = {0};
    check_ok(arcp__replay(trace, false, result, &error), &error);
    return result->end;
}

static void expect(arcp_span trace, arcp__replay_end end, size_t offset)
{
    arcp__replay_result result;
    if (replay(trace, &result) != end || result.offset != offset) {
        fail_msg("end %d at %zu, not %d at %zu; expected %.*s; got %.*s", (int)result.end,
                 (size_t)result.offset, (int)end, offset, (int)result.expected.size,
                 result.expected.size == 0 ? "" : result.expected.data, (int)result.got.size,
                 result.got.size == 0 ? "" : result.got.data);
    }
    arcp__replay_result_fini(&result);
}

static void a_run_with_a_restart_is_played_back(void **state)
{
    (void)state;
    recording r;
    arcp__replay_result result;
    const arcp_span trace = record_run(&r);
    expect(trace, ARCP__REPLAY_SAME, trace.size);
    assert_int_equal(replay(trace, &result), ARCP__REPLAY_SAME);
    assert_true(result.calls > 100);
    assert_true(result.outcomes > 100);
    arcp__replay_result_fini(&result);
    arcp_buf_fini(&r.bytes);
}

static void simulations_are_played_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        recording r;
        const arcp_span trace = record_simulation(&r, seed, STEPS);
        expect(trace, ARCP__REPLAY_SAME, trace.size);
        arcp_buf_fini(&r.bytes);
    }
}

/* It is decided on another thread, with budgets that the engine shares. */
static void a_message_of_a_callback_agent_ends_the_replay(void **state)
{
    (void)state;
    static engine_rig rig;
    recording r;
    arcp__replay_result result;
    recording_begin(&r);
    rig_begin(&rig, NULL);
    rig.prepare = recording_attach;
    rig.prepare_user = &r;
    rig_open(&rig);
    rig_client *a = rig_connect(&rig, "a");
    rig_send(&rig, a, HELLO("alice"));
    rig_send(&rig, a, FRAME("1", "job.submit", "{\"agent\":\"work\"}"));
    arcp__engine_agent_message(rig.engine, rig.now, rig_agent_last(&rig)->job,
                               &(arcp__job_message){.is_decided = false});
    rig_run(&rig);
    rig_stop(&rig);
    const arcp_span trace = recording_end(&r);
    assert_int_equal(replay(trace, &result), ARCP__REPLAY_FOREIGN);
    assert_true(result.calls > 10 && result.offset < trace.size);
    arcp__replay_result_fini(&result);
    arcp_buf_fini(&r.bytes);
}

/* ---- what is wrong is found ---- */

#define HEAD_SIZE 12u

/* The records of a trace: calls `each` with its offset, until that returns false. */
static void each_record(arcp_span bytes, bool (*each)(void *user, size_t offset, arcp_span record),
                        void *user)
{
    arcp__recording trace;
    arcp_span identity;
    arcp_span record;
    arcp_error error = {0};
    check_ok(arcp__recording_open(bytes, &trace, &identity, &error), &error);
    for (size_t offset = trace.at; arcp__recording_next(&trace, &record) == ARCP__RECORDING_RECORD;
         offset = trace.at) {
        if (!each(user, offset, record)) {
            return;
        }
    }
}

typedef struct tampering {
    arcp_buf *bytes;
    arcp__call_kind kind;
    const char *word; /* in the record */
    size_t at;        /* of the record that was changed; 0: none */
} tampering;

/* Changes one byte of the word, and makes the checksum right again. */
static bool tamper(void *user, size_t offset, arcp_span record)
{
    tampering *t = user;
    arcp__recording_call call;
    assert_true(arcp__recording_read_call(record, &call));
    const char *found =
        call.kind != t->kind ? NULL : memmem(record.data, record.size, t->word, strlen(t->word));
    if (found == NULL) {
        return true;
    }
    t->at = offset;
    t->bytes->data[found - t->bytes->data] ^= 1;
    const uint32_t sum = arcp__crc32c(0, record.data, record.size);
    for (unsigned i = 0; i < 4; i++) {
        t->bytes->data[offset + 8 + i] = (char)(uint8_t)(sum >> (8 * i));
    }
    return false;
}

static void a_changed_byte_of_an_outcome_is_found(void **state)
{
    static const struct {
        arcp__call_kind kind;
        const char *word;
    } rows[] = {
        {ARCP__CALL_EFFECT, "session.welcome"}, {ARCP__CALL_EFFECT, "job.accepted"},
        {ARCP__CALL_EFFECT, "job.event"},       {ARCP__CALL_EFFECT, "\"type\":\"job.result\""},
        {ARCP__CALL_EFFECT, "job.error"},       {ARCP__CALL_EFFECT, "job.cancel"},
        {ARCP__CALL_BATCH, "s:sess_"},          {ARCP__CALL_BATCH, "\"principal\":\"bob"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        recording r;
        (void)record_run(&r);
        tampering t = {.bytes = &r.bytes, .kind = rows[i].kind, .word = rows[i].word};
        each_record(arcp_buf_span(&r.bytes), tamper, &t);
        if (t.at == 0) {
            fail_msg("no record has %s", rows[i].word);
        }
        expect(arcp_buf_span(&r.bytes), ARCP__REPLAY_DIFFERS, t.at);
        arcp_buf_fini(&r.bytes);
    }
}

/* A changed call has other outcomes. */
static void a_changed_call_is_found(void **state)
{
    (void)state;
    recording r;
    (void)record_run(&r);
    tampering t = {.bytes = &r.bytes, .kind = ARCP__CALL_AGENT_LINE, .word = "a word"};
    each_record(arcp_buf_span(&r.bytes), tamper, &t);
    arcp__replay_result result;
    assert_int_equal(replay(arcp_buf_span(&r.bytes), &result), ARCP__REPLAY_DIFFERS);
    assert_true(result.offset > t.at);
    assert_true(result.expected.size != 0 && result.got.size != 0);
    arcp__replay_result_fini(&result);
    arcp_buf_fini(&r.bytes);
}

static bool damage(void *user, size_t offset, arcp_span record)
{
    const arcp_buf *bytes = user;
    static const size_t places[] = {0, 3, 4, 8, HEAD_SIZE};
    if (offset % 7 != 0) { /* some of them are enough */
        return true;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0] && places[i] < HEAD_SIZE + record.size;
         i++) {
        bytes->data[offset + places[i]] ^= 0x20;
        expect(arcp_buf_span(bytes), ARCP__REPLAY_DAMAGED, offset);
        bytes->data[offset + places[i]] ^= 0x20;
    }
    return true;
}

static void damage_is_named_with_its_place(void **state)
{
    (void)state;
    recording r;
    (void)record_run(&r);
    each_record(arcp_buf_span(&r.bytes), damage, &r.bytes);
    arcp_buf_fini(&r.bytes);
}

static bool cut(void *user, size_t offset, arcp_span record)
{
    const arcp_buf *bytes = user;
    const size_t sizes[] = {1, HEAD_SIZE - 1, HEAD_SIZE, HEAD_SIZE + record.size - 1};
    if (offset % 5 != 0) {
        return true;
    }
    expect(arcp_span_first(arcp_buf_span(bytes), offset), ARCP__REPLAY_SAME, offset);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        expect(arcp_span_first(arcp_buf_span(bytes), offset + sizes[i]), ARCP__REPLAY_CUT, offset);
    }
    return true;
}

static void a_trace_that_is_cut_off_is_played_up_to_there(void **state)
{
    (void)state;
    recording r;
    (void)record_run(&r);
    each_record(arcp_buf_span(&r.bytes), cut, &r.bytes);
    arcp_buf_fini(&r.bytes);
}

static void another_build_is_refused_unless_it_is_asked_for(void **state)
{
    (void)state;
    recording r;
    arcp__replay_result result;
    arcp_error error = {0};
    (void)record_run(&r);
    r.bytes.data[strlen("ARCPTRACE 1 ")] ^= 1;
    assert_int_equal(arcp__replay(arcp_buf_span(&r.bytes), false, &result, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "was recorded by build"));
    arcp__replay_result_fini(&result);
    check_ok(arcp__replay(arcp_buf_span(&r.bytes), true, &result, &error), &error);
    assert_int_equal(result.end, ARCP__REPLAY_SAME);
    arcp__replay_result_fini(&result);
    arcp_buf_fini(&r.bytes);
}

static void a_file_that_is_not_a_trace_is_refused(void **state)
{
    static const char *const texts[] = {"", "ARCPTRACE 2 x\n", "ARCPTRACE 1 x", "{\"kind\":1}\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        arcp__replay_result result;
        arcp_error error = {0};
        assert_int_equal(arcp__replay(arcp_span_cstr(texts[i]), true, &result, &error),
                         ARCP_E_CORRUPT);
        assert_true(error.message[0] != '\0');
        arcp__replay_result_fini(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_with_a_restart_is_played_back),
        cmocka_unit_test(simulations_are_played_back),
        cmocka_unit_test(a_message_of_a_callback_agent_ends_the_replay),
        cmocka_unit_test(a_changed_byte_of_an_outcome_is_found),
        cmocka_unit_test(a_changed_call_is_found),
        cmocka_unit_test(damage_is_named_with_its_place),
        cmocka_unit_test(a_trace_that_is_cut_off_is_played_up_to_there),
        cmocka_unit_test(another_build_is_refused_unless_it_is_asked_for),
        cmocka_unit_test(a_file_that_is_not_a_trace_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
