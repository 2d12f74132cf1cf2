/* How many bytes a job may store, and the end of one that stores more. */
#include "support/check.h"

#include <stdio.h>

#include "base/alloc.h"
#include "engine/frames.h"
#include "engine/state.h"
#include "story/engine_rig.h"

#define SAY_X                                                                                      \
    "{\"type\":\"job.event\",\"id\":\"r\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":"      \
    "\"info\",\"message\":\"x\"}}}"
#define DONE "{\"type\":\"job.result\",\"payload\":{\"result\":\"done\"}}"

static engine_rig rig;
static rig_client *client;

static void begin(void)
{
    memset(&rig, 0, sizeof rig);
    rig_start(&rig, NULL);
    client = rig_connect(&rig, "a");
    rig_send(&rig, client, HELLO_WITH("\"cost.budget\",\"result_chunk\",\"ack\""));
}

static void limit(uint64_t bytes)
{
    rig.settings.limits_job_bytes = bytes;
    arcp__engine_set_settings(rig.engine, &rig.settings);
}

static rig_agent *submit_with(const char *payload)
{
    static unsigned requests;
    char frame[512];
    (void)snprintf(frame, sizeof frame, FRAME("s%u", "job.submit", "%s"), requests++, payload);
    rig_send(&rig, client, frame);
    return rig_agent_last(&rig);
}

static rig_agent *submit(void)
{
    return submit_with("{\"agent\":\"echo\"}");
}

/* The newest frame; earlier ones are discarded. The caller frees it. */
static char *last_frame(void)
{
    char *last = NULL;
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        arcp__free(last);
        last = frame;
    }
    assert_non_null(last);
    return last;
}

static void assert_last(const char *part)
{
    char *frame = last_frame();
    if (strstr(frame, part) == NULL) {
        fail_msg("%s is not in %s", part, frame);
    }
    arcp__free(frame);
}

static void assert_over(void)
{
    char *frame = last_frame();
    assert_non_null(strstr(frame, "\"type\":\"job.error\""));
    assert_non_null(strstr(frame, "\"code\":\"INTERNAL_ERROR\""));
    assert_non_null(strstr(frame, "\"retryable\":true"));
    assert_non_null(strstr(frame, "\"details\":{\"limit\":\"limits.job_bytes\"}"));
    arcp__free(frame);
}

/* The bytes of a job with these events. */
static uint64_t bytes_of(const char *payload, const char *const *lines, size_t count)
{
    begin();
    rig_agent *agent = submit_with(payload);
    for (size_t i = 0; i < count; i++) {
        rig_agent_writes(&rig, agent, lines[i]);
    }
    const uint64_t bytes = agent->job->stream->bytes;
    rig_stop(&rig);
    return bytes;
}

static uint64_t bytes_of_events(unsigned count)
{
    static const char *const lines[] = {SAY_X, SAY_X, SAY_X, SAY_X};
    return bytes_of("{\"agent\":\"echo\"}", lines, count);
}

static void a_job_ends_at_the_first_record_beyond_the_limit(void **state)
{
    (void)state;
    const uint64_t three = bytes_of_events(3);
    for (unsigned missing = 0; missing <= 1; missing++) {
        begin();
        limit(three - missing);
        rig_agent *agent = submit();
        for (unsigned count = 0; count < 3 - missing; count++) {
            rig_agent_writes(&rig, agent, SAY_X);
            assert_last("\"kind\":\"log\"");
        }
        assert_false(agent->cancelled);
        const uint64_t before = agent->job->stream->bytes;
        rig_agent_writes(&rig, agent, SAY_X);
        assert_over();
        assert_true(agent->cancelled);
        assert_in_range(agent->job->stream->bytes, before + 1, before + 600); /* its end */
        rig_stop(&rig);
    }
}

static void a_line_beyond_the_limit_gets_no_reply(void **state)
{
    (void)state;
    const uint64_t one = bytes_of_events(1);
    begin();
    limit(one);
    rig_agent *agent = submit();
    rig_agent_writes(&rig, agent, SAY_X);
    rig_agent_writes(&rig, agent, SAY_X);
    unsigned replies = 0;
    for (char *line = rig_agent_take(agent); line != NULL; line = rig_agent_take(agent)) {
        replies += strstr(line, "\"type\":\"reply\"") != NULL ? 1 : 0;
        arcp__free(line);
    }
    assert_int_equal(replies, 1);
    rig_stop(&rig);
}

static void it_ends_also_while_its_owner_is_disconnected(void **state)
{
    (void)state;
    const uint64_t two = bytes_of_events(2);
    begin();
    limit(two);
    rig_agent *agent = submit();
    rig_drop(&rig, client);
    for (unsigned count = 0; count < 3; count++) {
        rig_agent_writes(&rig, agent, SAY_X);
    }
    assert_true(arcp__job_has_ended(agent->job));
    assert_true(agent->cancelled);
    assert_int_equal(rig.engine->jobs.running, 0);
    rig_stop(&rig);
}

static void plain_output_and_lines_that_are_no_json_are_counted(void **state)
{
    static char text[4096];
    (void)state;
    begin();
    limit(65536);
    rig_agent *agent = submit();
    memset(text, 'x', sizeof text - 1);
    for (unsigned count = 0; count < 20 && !agent->cancelled; count++) {
        rig_agent_writes(&rig, agent, text);
    }
    assert_over();
    assert_in_range(agent->job->stream->bytes, 60000, 65536 + 600);
    agent = submit();
    for (unsigned count = 0; count < 40 && !agent->cancelled; count++) {
        arcp__engine_agent_output(rig.engine, rig.now, agent->job, 0,
                                  arcp_span_make(text, sizeof text - 1));
        rig_run(&rig);
    }
    assert_over();
    assert_in_range(agent->job->stream->bytes, 200, 65536 + 600);
    rig_stop(&rig);
}

static void a_result_is_counted_too(void **state)
{
    static const char *const lines[] = {DONE};
    (void)state;
    const uint64_t bytes = bytes_of("{\"agent\":\"echo\"}", lines, 1);
    for (unsigned missing = 0; missing <= 1; missing++) {
        begin();
        limit(bytes - missing);
        rig_agent *agent = submit();
        rig_agent_writes(&rig, agent, DONE);
        if (missing == 0) {
            assert_last("\"type\":\"job.result\"");
            assert_int_equal(agent->job->stream->bytes, bytes);
        } else {
            assert_over();
        }
        rig_agent_exits(&rig, agent, false, 0);
        assert_true(agent->forgotten);
        rig_stop(&rig);
    }
}

static void plain_output_that_becomes_the_result_is_counted_too(void **state)
{
    static char text[32768];
    (void)state;
    begin();
    limit(16384);
    rig_agent *agent = submit();
    memset(text, 'x', sizeof text);
    arcp__engine_agent_output(rig.engine, rig.now, agent->job, 0, arcp_span_make(text, 10000));
    rig_agent_exits(&rig, agent, false, 0);
    assert_last("\"type\":\"job.result\"");
    agent = submit();
    arcp__engine_agent_output(rig.engine, rig.now, agent->job, 0,
                              arcp_span_make(text, sizeof text));
    rig_agent_exits(&rig, agent, false, 0);
    assert_over();
    assert_true(agent->forgotten);
    rig_stop(&rig);
}

/* As much as an agent may write in a line. */
static void an_agents_own_error_is_counted_too(void **state)
{
    static char line[8192];
    (void)state;
    begin();
    limit(4096);
    memset(line, 'x', sizeof line - 1);
    static const char head[] =
        "{\"type\":\"job.error\",\"payload\":{\"code\":\"TIMEOUT\",\"message\":\"";
    memcpy(line, head, sizeof head - 1);
    memcpy(line + sizeof line - 5, "\"}}", 4);
    rig_agent *agent = submit();
    rig_agent_writes(&rig, agent, line);
    assert_over();
    agent = submit();
    rig_agent_writes(
        &rig, agent,
        "{\"type\":\"job.error\",\"payload\":{\"code\":\"TIMEOUT\",\"message\":\"m\"}}");
    assert_last("\"code\":\"TIMEOUT\"");
    rig_stop(&rig);
}

/* A job at its limit still ends with the cause of its end. */
static void the_runtimes_terminal_record_always_fits(void **state)
{
    (void)state;
    const uint64_t one = bytes_of_events(1);
    begin();
    limit(one);
    rig_agent *agent = submit_with("{\"agent\":\"echo\",\"max_runtime_sec\":5}");
    rig_agent_writes(&rig, agent, SAY_X);
    assert_last("\"kind\":\"log\"");
    rig_clock(&rig, 5 * ARCP_NS_PER_SEC);
    assert_last("\"code\":\"TIMEOUT\"");
    rig_stop(&rig);
}

static void children_are_counted_on_their_own(void **state)
{
    (void)state;
    begin();
    limit(2000);
    rig_agent *parent =
        submit_with("{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"**\"]}}");
    rig_agent_writes(&rig, parent, "{\"type\":\"delegate\",\"payload\":{\"agent\":\"work\"}}");
    rig_agent *child = rig_agent_last(&rig);
    assert_ptr_not_equal(child, parent);
    const uint64_t before = parent->job->stream->bytes;
    for (unsigned count = 0; count < 20 && !child->cancelled; count++) {
        rig_agent_writes(&rig, child, SAY_X);
    }
    assert_over();
    assert_int_equal(parent->job->stream->bytes, before);
    rig_agent_writes(&rig, parent, SAY_X);
    assert_last("\"kind\":\"log\"");
    rig_stop(&rig);
}

/* The reports in a parent come from the costs of its children. */
static void a_parent_that_its_children_fill_ends(void **state)
{
    (void)state;
    begin();
    rig_agent *parent = submit_with("{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":"
                                    "[\"**\"],\"cost.budget\":[\"USD:100\"]}}");
    rig_agent_writes(&rig, parent, "{\"type\":\"delegate\",\"payload\":{\"agent\":\"work\"}}");
    rig_agent *child = rig_agent_last(&rig);
    limit(parent->job->stream->bytes + 300);
    for (unsigned count = 0; count < 8 && !parent->cancelled; count++) {
        rig_agent_writes(&rig, child,
                         "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{"
                         "\"name\":\"cost.x\",\"value\":6,\"unit\":\"USD\"}}}");
    }
    assert_true(arcp__job_has_ended(parent->job));
    assert_true(child->cancelled);
    rig_stop(&rig);
}

static void a_cancelled_job_that_exceeds_the_limit_is_cancelled(void **state)
{
    char frame[256];
    (void)state;
    const uint64_t one = bytes_of_events(1);
    begin();
    limit(one);
    rig_agent *agent = submit();
    (void)snprintf(frame, sizeof frame, FRAME("c", "job.cancel", "{\"job_id\":\"%s\"}"),
                   agent->job_id);
    rig_send(&rig, client, frame);
    rig_agent_writes(&rig, agent, SAY_X);
    rig_agent_writes(&rig, agent, SAY_X);
    assert_last("\"code\":\"CANCELLED\"");
    rig_stop(&rig);
}

/* ---- the share of a principal ---- */

static void share(uint64_t bytes)
{
    rig.settings.limits_principal_bytes = bytes;
    arcp__engine_set_settings(rig.engine, &rig.settings);
}

static void the_jobs_of_a_principal_have_a_limit_together(void **state)
{
    (void)state;
    const uint64_t two = bytes_of_events(2);
    for (unsigned missing = 0; missing <= 1; missing++) {
        begin();
        share(2 * two - missing);
        rig_agent *first = submit();
        rig_agent *second = submit();
        for (unsigned count = 0; count < 2; count++) {
            rig_agent_writes(&rig, first, SAY_X);
            rig_agent_writes(&rig, second, SAY_X);
        }
        assert_false(first->cancelled);
        assert_int_equal(second->cancelled, missing == 1);
        if (missing == 1) {
            assert_last("\"details\":{\"limit\":\"limits.principal_bytes\"}");
        } else {
            assert_int_equal(first->job->principal->stored_bytes, 2 * two);
        }
        rig_stop(&rig);
    }
}

static void another_principal_has_its_own_limit(void **state)
{
    (void)state;
    const uint64_t two = bytes_of_events(2);
    begin();
    share(two);
    rig_agent *first = submit();
    rig_agent_writes(&rig, first, SAY_X);
    rig_agent_writes(&rig, first, SAY_X);
    client = rig_connect(&rig, "b");
    rig_send(&rig, client, HELLO_OF("bob", ""));
    rig_agent *second = submit();
    rig_agent_writes(&rig, second, SAY_X);
    rig_agent_writes(&rig, second, SAY_X);
    assert_false(first->cancelled);
    assert_false(second->cancelled);
    rig_stop(&rig);
}

static void ended_jobs_are_removed_before_a_running_job_ends(void **state)
{
    (void)state;
    const uint64_t three = bytes_of_events(3);
    begin();
    share(2 * three);
    for (unsigned count = 0; count < 2; count++) {
        rig_agent *agent = submit();
        rig_agent_writes(&rig, agent, SAY_X);
        rig_agent_writes(&rig, agent, DONE);
        rig_agent_exits(&rig, agent, false, 0);
    }
    arcp__free(last_frame()); /* nothing waits for the client */
    rig_agent *agent = submit();
    for (unsigned count = 0; count < 3; count++) {
        rig_agent_writes(&rig, agent, SAY_X);
        arcp__free(last_frame());
    }
    assert_false(agent->cancelled);
    assert_int_equal(HASH_COUNT(rig.engine->jobs.all), 2); /* the older of the two was removed */
    for (unsigned count = 0; count < 20 && !agent->cancelled; count++) {
        rig_agent_writes(&rig, agent, SAY_X);
        assert_true(agent->job->principal->stored_bytes <= 2 * three + 600);
    }
    assert_last("\"details\":{\"limit\":\"limits.principal_bytes\"}");
    assert_int_equal(HASH_COUNT(rig.engine->jobs.all), 1);
    rig_stop(&rig);
}

static void submits_are_refused_while_running_jobs_fill_the_share(void **state)
{
    (void)state;
    const uint64_t two = bytes_of_events(2);
    begin();
    rig_agent *agent = submit();
    rig_agent_writes(&rig, agent, SAY_X);
    rig_agent_writes(&rig, agent, SAY_X);
    share(two + 1);
    (void)submit();
    arcp__free(last_frame());
    rig_agent_exits(&rig, rig_agent_last(&rig), true, 9);
    share(two);
    const size_t running = rig.engine->jobs.running;
    rig_send(&rig, client, FRAME("no", "job.submit", "{\"agent\":\"echo\"}"));
    assert_last("\"details\":{\"limit\":\"limits.principal_bytes\"}");
    assert_int_equal(rig.engine->jobs.running, running);
    share(0); /* no limit */
    rig_send(&rig, client, FRAME("yes", "job.submit", "{\"agent\":\"echo\"}"));
    assert_int_equal(rig.engine->jobs.running, running + 1);
    rig_stop(&rig);
}

/* ---- after a restart ---- */

/* `acknowledged`: the session's index is trimmed. */
static void check_restart(bool acknowledged, bool catches_up)
{
    begin();
    rig_agent *agent = submit();
    rig_agent_writes(&rig, agent, SAY_X);
    for (unsigned count = 0; count < 10; count++) {
        rig_agent_writes(&rig, agent, SAY_X);
        rig_agent_writes(&rig, agent, "a line of another length");
    }
    if (acknowledged) {
        rig_send(&rig, client, FRAME("k", "session.ack", "{\"last_processed_seq\":15}"));
    }
    if (catches_up) {
        char frame[200];
        rig_client *other = rig_connect(&rig, "o");
        rig_send(&rig, other, HELLO_WITH("\"subscribe\""));
        (void)snprintf(frame, sizeof frame,
                       FRAME("u", "job.subscribe", "{\"job_id\":\"%s\",\"history\":true}"),
                       agent->job_id);
        rig_send(&rig, other, frame);
    }
    const uint64_t before = agent->job->stream->bytes;
    rig_restart(&rig);
    assert_int_equal(HASH_COUNT(rig.engine->jobs.all), 1);
    const arcp__job *job = rig.engine->jobs.all;
    assert_true(arcp__job_has_ended(job));
    assert_in_range(job->stream->bytes, before + 300, before + 600); /* its end */
    assert_int_equal(job->principal->stored_bytes, job->stream->bytes);
    const uint64_t all = job->stream->bytes;
    rig_restart(&rig);
    assert_int_equal(rig.engine->jobs.all->stream->bytes, all);
    rig_stop(&rig);
}

static void the_records_of_a_job_count_after_a_restart(void **state)
{
    (void)state;
    check_restart(false, false);
    check_restart(true, false);
    check_restart(false, true);
    check_restart(true, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_ends_at_the_first_record_beyond_the_limit),
        cmocka_unit_test(a_line_beyond_the_limit_gets_no_reply),
        cmocka_unit_test(it_ends_also_while_its_owner_is_disconnected),
        cmocka_unit_test(plain_output_and_lines_that_are_no_json_are_counted),
        cmocka_unit_test(a_result_is_counted_too),
        cmocka_unit_test(plain_output_that_becomes_the_result_is_counted_too),
        cmocka_unit_test(an_agents_own_error_is_counted_too),
        cmocka_unit_test(the_runtimes_terminal_record_always_fits),
        cmocka_unit_test(children_are_counted_on_their_own),
        cmocka_unit_test(a_parent_that_its_children_fill_ends),
        cmocka_unit_test(a_cancelled_job_that_exceeds_the_limit_is_cancelled),
        cmocka_unit_test(the_jobs_of_a_principal_have_a_limit_together),
        cmocka_unit_test(another_principal_has_its_own_limit),
        cmocka_unit_test(ended_jobs_are_removed_before_a_running_job_ends),
        cmocka_unit_test(submits_are_refused_while_running_jobs_fill_the_share),
        cmocka_unit_test(the_records_of_a_job_count_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
