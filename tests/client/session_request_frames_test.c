/* Requests of the program (src/client/client_requests.c): what is sent, and what is refused before
 * sending. */
#include "client/story.h"

static void a_submit_has_all_its_options_on_one_line(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_submit_options options = arcp_submit_options_init();
    options.agent = ARCP_SPAN_LITERAL("echo@1.0.0");
    options.input = ARCP_SPAN_LITERAL("{ \"n\" : 1.50,\n \"t\":\"a b\" }");
    options.lease = ARCP_SPAN_LITERAL("{\"fs.read\": [\"/srv/**\"]}");
    options.constraints = ARCP_SPAN_LITERAL("{\"expires_at\": \"2030-01-01T00:00:00Z\"}");
    options.idempotency_key = ARCP_SPAN_LITERAL("k1");
    options.max_runtime_sec = 60;
    story_live(&s, DEFAULTS);
    check_ok(story_submit_with(&s, "a", &options, &err), &err);
    const char *frame = story_sent(&s, "job.submit");
    story_check_member(frame, "session_id", "\"sess_1\"");
    story_check_member(frame, "payload",
                       "{\"agent\":\"echo@1.0.0\",\"input\":{\"n\":1.50,\"t\":\"a b\"},"
                       "\"lease_request\":{\"fs.read\":[\"/srv/**\"]},"
                       "\"lease_constraints\":{\"expires_at\":\"2030-01-01T00:00:00Z\"},"
                       "\"idempotency_key\":\"k1\",\"max_runtime_sec\":60}");
    assert_null(strchr(frame, '\n'));
    story_end(&s);
}

static void a_built_lease_is_sent_and_its_features_are_required(void **state)
{
    static const struct {
        const char *lease;
        const char *constraints;
        const char *log; /* without any feature */
    } rows[] = {
        {"{\"fs.read\":[\"/a\"]}", "", ""},
        {"{\"cost.budget\":[\"USD:1\"]}", "", "reply b INVALID_REQUEST\n"},
        {"{\"model.use\":[\"m\"]}", "", "reply b INVALID_REQUEST\n"},
        {"{}", "{\"expires_at\":\"2199-01-01T00:00:00Z\"}", "reply b INVALID_REQUEST\n"},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        const arcp_lease_limits limits = arcp_lease_limits_init();
        arcp_submit_options options = arcp_submit_options_init();
        arcp_client_options bare = DEFAULTS;
        arcp_lease *lease = NULL;
        arcp_error err = {0};
        story s;
        check_ok(arcp_lease_parse(arcp_span_cstr(rows[row].lease),
                                  arcp_span_cstr(rows[row].constraints), &limits, &lease, &err),
                 &err);
        options.agent = ARCP_SPAN_LITERAL("echo");
        options.built = lease;
        story_live(&s, DEFAULTS);
        check_ok(story_submit_with(&s, "a", &options, &err), &err);
        story_check_member(story_sent(&s, "job.submit"), "payload/lease_request", rows[row].lease);
        story_check_member(story_sent(&s, "job.submit"), "payload/lease_constraints",
                           rows[row].constraints);
        story_end(&s);

        bare.features = 0;
        story_live(&s, bare);
        check_ok(story_submit_with(&s, "b", &options, &err), &err);
        story_check_log(&s, rows[row].log);
        story_end(&s);
        arcp_lease_unref(lease);
    }
}

static void a_submit_omits_options_that_are_not_set(void **state)
{
    story s;
    arcp_client_options plain = DEFAULTS;
    plain.no_auto_key = true;
    story_live(&s, plain);
    story_submit(&s, "a", "echo");
    story_check_member(story_sent(&s, "job.submit"), "payload",
                       "{\"agent\":\"echo\",\"input\":{}}");
    story_end(&s);
}

static void a_submit_gets_a_generated_key_so_that_it_can_be_repeated(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_submit(&s, "b", "echo");
    assert_non_null(strstr(story_sent_nth(&s, "job.submit", 1), "\"idempotency_key\":\"auto_"));
    assert_string_not_equal(strstr(story_sent_nth(&s, "job.submit", 1), "auto_"),
                            strstr(story_sent_nth(&s, "job.submit", 2), "auto_"));
    story_end(&s);
}

/* [arcp:11-1] */
static void a_traceparent_sets_the_trace_id_and_is_sent_unchanged(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_submit_options options = arcp_submit_options_init();
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.traceparent =
        ARCP_SPAN_LITERAL("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    options.tracestate = ARCP_SPAN_LITERAL("a=1");
    story_live(&s, DEFAULTS);
    check_ok(story_submit_with(&s, "a", &options, &err), &err);
    const char *frame = story_sent(&s, "job.submit");
    story_check_member(frame, "trace_id", "\"4bf92f3577b34da6a3ce929d0e0e4736\"");
    story_check_member(
        frame, "extensions",
        "{\"x-vendor.opentelemetry.tracecontext\":{\"traceparent\":"
        "\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\",\"tracestate\":\"a=1\"}}");
    story_end(&s);
}

static const struct bad_submit {
    const char *name;
    const char *agent;
    const char *input;
    const char *lease;
    const char *says;
} bad_submits[] = {
    {"no agent", "", "{}", "", "agent"},
    {"an agent outside the grammar", "Bad Name", "{}", "", "Bad Name"},
    {"an input that is not JSON", "echo", "{oops}", "", "input"},
    {"an input with a name twice", "echo", "{\"a\":1,\"a\":2}", "", "input"},
    {"a lease that is not an object", "echo", "{}", "[]", "lease"},
};

static void an_invalid_submit_is_refused_at_once(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    for (size_t row = 0; row < sizeof bad_submits / sizeof bad_submits[0]; row++) {
        const struct bad_submit *bad = &bad_submits[row];
        arcp_submit_options options = arcp_submit_options_init();
        arcp_error err = {0};
        print_message("  %s\n", bad->name);
        options.agent = arcp_span_cstr(bad->agent);
        options.input = arcp_span_cstr(bad->input);
        options.lease = arcp_span_cstr(bad->lease);
        assert_int_equal(story_submit_with(&s, "a", &options, &err), ARCP_E_INVALID_REQUEST);
        assert_non_null(strstr(err.message, bad->says));
    }
    assert_null(story_sent(&s, "job.submit"));
    story_end(&s);
}

/* [arcp:7.4-1] */
static void a_cancel_names_the_job_twice_and_always_has_a_reason(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_cancel(&s, "c", "job_1");
    const char *frame = story_sent(&s, "job.cancel");
    story_check_member(frame, "job_id", "\"job_1\"");
    story_check_member(frame, "payload", "{\"job_id\":\"job_1\"}");
    story_end(&s);
}

/* [arcp:7.6-1] [arcp:7.6-2] */
static void subscriptions_have_a_start_position(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_subscribe_options options = arcp_subscribe_options_init();
    story_live(&s, DEFAULTS);
    story_subscribe(&s, "a", "job_1", false);
    story_check_member(story_sent(&s, "job.subscribe"), "payload",
                       "{\"job_id\":\"job_1\",\"history\":false}");
    story_subscribe(&s, "b", "job_1", true);
    story_check_member(story_sent(&s, "job.subscribe"), "payload",
                       "{\"job_id\":\"job_1\",\"from_event_seq\":0,\"history\":true}");
    options.job_id = ARCP_SPAN_LITERAL("job_1");
    options.history = true;
    options.has_from_event_seq = true;
    options.from_event_seq = 17;
    check_ok(arcp__client_session_request(
                 s.session, s.now,
                 &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_SUBSCRIBE,
                                                    .subscribe = &options,
                                                    .on_reply = story_on_reply(),
                                                    .user = (void *)"c"},
                 NULL, &err),
             &err);
    story_drain(&s);
    story_check_member(story_sent(&s, "job.subscribe"), "payload/from_event_seq", "17");
    check_ok(arcp__client_session_unsubscribe(s.session, s.now, ARCP_SPAN_LITERAL("job_1"), &err),
             &err);
    story_drain(&s);
    story_check_member(story_sent(&s, "job.unsubscribe"), "payload", "{\"job_id\":\"job_1\"}");
    story_end(&s);
}

/* [arcp:6.6-1] */
static void a_listing_sends_its_filters_limit_and_cursor(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_list_options options = arcp_list_options_init();
    options.statuses = (1u << ARCP_JOB_RUNNING) | (1u << ARCP_JOB_TIMED_OUT);
    options.agent = ARCP_SPAN_LITERAL("echo");
    options.created_after = ARCP_SPAN_LITERAL("2026-01-01T00:00:00Z");
    options.created_before = ARCP_SPAN_LITERAL("2026-01-02T00:00:00Z");
    options.limit = 7;
    options.cursor = ARCP_SPAN_LITERAL("c\"1");
    story_live(&s, DEFAULTS);
    check_ok(arcp__client_session_request(
                 s.session, s.now,
                 &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_LIST,
                                                    .list = &options,
                                                    .on_reply = story_on_reply(),
                                                    .user = (void *)"l"},
                 NULL, &err),
             &err);
    story_drain(&s);
    story_check_member(story_sent(&s, "session.list_jobs"), "payload",
                       "{\"filter\":{\"status\":[\"running\",\"timed_out\"],\"agent\":\"echo\","
                       "\"created_after\":\"2026-01-01T00:00:00Z\","
                       "\"created_before\":\"2026-01-02T00:00:00Z\"},\"limit\":7,"
                       "\"cursor\":\"c\\\"1\"}");
    story_end(&s);
}

/* ---- features that were not negotiated ---- */

static const struct unnegotiated {
    const char *name;
    const char *agent;
    const char *lease;
    const char *constraints;
    const char *feature;
} unnegotiated[] = {
    {"a version", "echo@1", "", "", "agent_versions"},
    {"a budget", "echo", "{\"cost.budget\":[\"USD:1\"]}", "", "cost.budget"},
    {"models", "echo", "{\"model.use\":[\"m\"]}", "", "model.use"},
    {"an expiry", "echo", "", "{\"expires_at\":\"2030-01-01T00:00:00Z\"}", "lease_expires_at"},
};

/* [arcp:6.2-4] */
static void features_that_were_not_negotiated_are_not_used(void **state)
{
    for (size_t row = 0; row < sizeof unnegotiated / sizeof unnegotiated[0]; row++) {
        story s;
        arcp_error err = {0};
        arcp_client_options bare = DEFAULTS;
        arcp_submit_options options = arcp_submit_options_init();
        print_message("  %s\n", unnegotiated[row].name);
        bare.features = 0;
        story_live(&s, bare);
        options.agent = arcp_span_cstr(unnegotiated[row].agent);
        options.lease = arcp_span_cstr(unnegotiated[row].lease);
        options.constraints = arcp_span_cstr(unnegotiated[row].constraints);
        check_ok(story_submit_with(&s, "a", &options, &err), &err);
        story_check_log(&s, "reply a INVALID_REQUEST\n");
        assert_null(story_sent(&s, "job.submit"));
        story_end(&s);
    }
}

static void listing_and_subscribing_need_their_features(void **state)
{
    story s;
    arcp_error err = {0};
    arcp_client_options bare = DEFAULTS;
    bare.features = 0;
    story_live(&s, bare);
    story_list(&s, "l");
    story_subscribe(&s, "s", "job_1", true);
    story_check_log(&s, "reply l INVALID_REQUEST\nreply s INVALID_REQUEST\n");
    assert_int_equal(
        arcp__client_session_unsubscribe(s.session, s.now, ARCP_SPAN_LITERAL("j"), &err),
        ARCP_E_CLOSED);
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_submit_has_all_its_options_on_one_line),
        cmocka_unit_test(a_built_lease_is_sent_and_its_features_are_required),
        cmocka_unit_test(a_submit_omits_options_that_are_not_set),
        cmocka_unit_test(a_submit_gets_a_generated_key_so_that_it_can_be_repeated),
        cmocka_unit_test(a_traceparent_sets_the_trace_id_and_is_sent_unchanged),
        cmocka_unit_test(an_invalid_submit_is_refused_at_once),
        cmocka_unit_test(a_cancel_names_the_job_twice_and_always_has_a_reason),
        cmocka_unit_test(subscriptions_have_a_start_position),
        cmocka_unit_test(a_listing_sends_its_filters_limit_and_cursor),
        cmocka_unit_test(features_that_were_not_negotiated_are_not_used),
        cmocka_unit_test(listing_and_subscribing_need_their_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
