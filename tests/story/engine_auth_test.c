/* A hello whose token is verified later: the hello timeout continues, and events in between, such
 * as a disconnect, do no harm. */
#include "story/engine_rig.h"
#include "support/check.h"

#include "base/alloc.h"

static const char hello[] =
    "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"client\":{\"name\":"
    "\"t\",\"version\":\"1\"},\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-alice\"},"
    "\"capabilities\":{\"features\":[\"list_jobs\"]}}}";
static const char list[] =
    "{\"arcp\":\"1.1\",\"id\":\"l\",\"type\":\"session.list_jobs\",\"payload\":{}}";

static void start(engine_rig *rig)
{
    rig_start(rig, NULL);
    rig->hold_questions = true;
}

static void answer(engine_rig *rig, size_t index, arcp_status status, const char *principal)
{
    const arcp__authentication result = {.status = status, .principal = arcp_span_cstr(principal)};
    arcp__engine_authenticated(rig->engine, rig->now, rig->questions[index], &result);
    rig_run(rig);
}

static void expect_frame(rig_client *client, const char *word)
{
    char *frame = rig_take(client);
    assert_non_null(frame);
    if (strstr(frame, word) == NULL) {
        fail_msg("want %s in %s", word, frame);
    }
    arcp__free(frame);
}

static void expect_no_session(engine_rig *rig)
{
    arcp__engine_stats stats = {0};
    arcp__engine_get_stats(rig->engine, &stats);
    assert_int_equal(stats.sessions, 0);
}

static void the_response_opens_the_session_and_frames_sent_meanwhile_are_served(void **state)
{
    static engine_rig rig;
    (void)state;
    start(&rig);
    rig_client *a = rig_connect(&rig, "a");
    rig_send(&rig, a, hello);
    rig_send(&rig, a, list);
    assert_int_equal(rig.question_count, 1);
    assert_null(a->frames);
    rig_clock(&rig, 9 * ARCP_NS_PER_SEC);
    answer(&rig, 0, ARCP_OK, "alice");
    expect_frame(a, "session.welcome");
    expect_frame(a, "session.jobs");
    /* A second answer to the same request is ignored. */
    answer(&rig, 0, ARCP_OK, "bob");
    assert_null(a->frames);
    rig_clock(&rig, 20 * ARCP_NS_PER_SEC);
    assert_int_equal(a->close_code, 0);
    rig_stop(&rig);
}

static void the_hello_timeout_counts_while_the_token_is_verified(void **state)
{
    static engine_rig rig;
    (void)state;
    start(&rig);
    rig_client *a = rig_connect(&rig, "a");
    rig_clock(&rig, 4 * ARCP_NS_PER_SEC);
    rig_send(&rig, a, hello);
    rig_clock(&rig, 5999 * ARCP_NS_PER_MS);
    assert_int_equal(a->close_code, 0);
    rig_clock(&rig, ARCP_NS_PER_MS);
    expect_frame(
        a, "\"code\":\"UNAUTHENTICATED\",\"message\":\"the token was not verified within 10 s\"");
    assert_int_equal(a->close_code, 1008);
    answer(&rig, 0, ARCP_OK, "alice");
    assert_null(a->frames);
    expect_no_session(&rig);
    rig_stop(&rig);
}

static void the_hello_timeout_includes_the_time_before_the_link_was_made(void **state)
{
    static engine_rig rig;
    (void)state;
    start(&rig);
    rig.link.waited_ms = 7000;
    const rig_client *a = rig_connect(&rig, "a");
    rig_clock(&rig, 2999 * ARCP_NS_PER_MS);
    assert_int_equal(a->close_code, 0);
    rig_clock(&rig, ARCP_NS_PER_MS);
    assert_int_equal(a->close_code, 1008);

    rig.link.waited_ms = 11000; /* longer than the timeout: the setting may have changed */
    const rig_client *b = rig_connect(&rig, "b");
    rig_clock(&rig, 0);
    assert_int_equal(b->close_code, 1008);
    rig_stop(&rig);
}

static void a_link_is_admitted_when_its_token_is_accepted(void **state)
{
    static engine_rig rig;
    (void)state;
    start(&rig);
    rig_client *a = rig_connect(&rig, "a");
    rig_send(&rig, a, hello);
    assert_false(a->is_admitted);
    answer(&rig, 0, ARCP_OK, "alice");
    assert_true(a->is_admitted);

    rig_client *b = rig_connect(&rig, "b");
    rig_send(&rig, b, hello);
    answer(&rig, 1, ARCP_E_UNAUTHENTICATED, "");
    assert_false(b->is_admitted);
    rig_stop(&rig);
}

static void a_link_that_closes_meanwhile_is_harmless(void **state)
{
    static engine_rig rig;
    (void)state;
    start(&rig);
    rig_client *a = rig_connect(&rig, "a");
    rig_send(&rig, a, hello);
    rig_drop(&rig, a);
    answer(&rig, 0, ARCP_OK, "alice");
    expect_no_session(&rig);
    /* The request of the next link has another id. */
    a = rig_connect(&rig, "a");
    rig_send(&rig, a, hello);
    answer(&rig, 0, ARCP_OK, "alice");
    assert_null(a->frames);
    answer(&rig, 1, ARCP_E_UNAUTHENTICATED, "");
    expect_frame(a, "\"code\":\"UNAUTHENTICATED\"");
    expect_no_session(&rig);
    rig_stop(&rig);
}

static void nothing_is_executed_for_a_peer_that_is_refused(void **state)
{
    static engine_rig rig;
    (void)state;
    start(&rig);
    rig_client *a = rig_connect(&rig, "a");
    rig_send(&rig, a, hello);
    rig_send(&rig, a,
             "{\"arcp\":\"1.1\",\"id\":\"s\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
             "\"echo\"}}");
    answer(&rig, 0, ARCP_E_UNAUTHENTICATED, "");
    expect_frame(a, "session.error");
    assert_null(a->frames);
    assert_int_equal(a->close_code, 1008);
    assert_int_equal(rig.agent_count, 0);
    rig_stop(&rig);
}

static void a_verifier_that_fails_is_reported_as_internal_error(void **state)
{
    static engine_rig rig;
    (void)state;
    start(&rig);
    rig_client *a = rig_connect(&rig, "a");
    rig_send(&rig, a, hello);
    answer(&rig, 0, ARCP_E_INTERNAL_ERROR, "alice");
    expect_frame(a, "\"code\":\"INTERNAL_ERROR\"");
    assert_int_equal(a->close_code, 1008);
    expect_no_session(&rig);
    a = rig_connect(&rig, "a");
    rig_send(&rig, a, hello);
    answer(&rig, 1, ARCP_OK, ""); /* accepted, but without a principal */
    expect_frame(a, "\"code\":\"UNAUTHENTICATED\"");
    expect_no_session(&rig);
    rig_stop(&rig);
}

static void one_frame_after_an_unanswered_hello_is_accepted(void **state)
{
    static engine_rig rig;
    (void)state;
    start(&rig);
    rig_client *a = rig_connect(&rig, "a");
    rig_send(&rig, a, hello);
    assert_false(a->paused); /* reading continues, so that a disconnect is noticed */
    rig_send(&rig, a, list);
    assert_true(a->paused); /* but a peer cannot send without limit */
    rig_send(&rig, a, list);
    answer(&rig, 0, ARCP_OK, "alice");
    assert_false(a->paused);
    expect_frame(a, "session.welcome");
    expect_frame(a, "session.jobs");
    expect_frame(a, "session.jobs");
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_response_opens_the_session_and_frames_sent_meanwhile_are_served),
        cmocka_unit_test(the_hello_timeout_counts_while_the_token_is_verified),
        cmocka_unit_test(the_hello_timeout_includes_the_time_before_the_link_was_made),
        cmocka_unit_test(a_link_is_admitted_when_its_token_is_accepted),
        cmocka_unit_test(a_link_that_closes_meanwhile_is_harmless),
        cmocka_unit_test(nothing_is_executed_for_a_peer_that_is_refused),
        cmocka_unit_test(a_verifier_that_fails_is_reported_as_internal_error),
        cmocka_unit_test(one_frame_after_an_unanswered_hello_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
