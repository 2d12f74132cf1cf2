/* Any single allocation fails: the client reports it, or cuts the connection and resumes; all
 * events are still delivered exactly once and in order. */
#include "support/check.h"

#include "client/client_job.h"
#include "client/client_session.h"
#include "client/story.h"
#include "support/failing_alloc.h"

#define EVENTS 9

/* The frames of the runtime, numbered from 1. */
static const char *const said[EVENTS] = {
    "\"job.event\",\"payload\":{\"kind\":\"status\",\"ts\":\"t\",\"body\":{\"phase\":\"running\"}}",
    "\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"message\":\"\\u00e4\"}}",
    "\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":\"cost.budget.remaining\","
    "\"value\":1.5,\"unit\":\"\\u0055SD\"}}",
    "\"job.event\",\"payload\" : {\"kind\":\"progress\", \"body\":{\"current\":1}}",
    "\"job.event\",\"payload\":{\"kind\":\"status\",\"body\":{\"phase\":\"credential_rotated\","
    "\"value\":\"sk\"}}",
    "\"job.event\",\"payload\":{\"kind\":\"x-vendor.a.b\",\"body\":[1]}",
    "\"job.event\",\"payload\":{\"kind\":\"tool_result\",\"body\":{\"error\":{\"code\":\"X\"}}}",
    "\"job.event\",\"payload\":{\"kind\":\"thought\",\"body\":{\"text\":\"\"}}",
    "\"job.result\",\"payload\":{\"final_status\":\"success\",\"result\":{\"a\":1},"
    "\"summary\":\"\\u0073\"}",
};

typedef struct run {
    arcp__client_session *session;
    arcp_time now;
    uint64_t random;
    char submit_id[40];
    bool is_connected;
    unsigned seen;    /* events of the job, in order */
    bool was_refused; /* the submit failed because memory ran out */
    arcp_job *job;
} run;

static void seeded(void *user, void *out, size_t size)
{
    run *r = user;
    for (size_t i = 0; i < size; i++) {
        r->random = r->random * 6364136223846793005u + 1442695040888963407u;
        ((uint8_t *)out)[i] = (uint8_t)(r->random >> 56);
    }
}

static void on_reply(void *user, arcp_client *client, const arcp_reply *reply)
{
}

static void receive(run *r, const char *frame)
{
    arcp__client_session_receive(r->session, r->now, arcp_span_cstr(frame));
}

static void say(run *r, uint64_t seq)
{
    char frame[512];
    snprintf(frame, sizeof frame,
             "{\"arcp\":\"1.1\",\"id\":\"e\",\"session_id\":\"s\",\"job_id\":\"job_1\","
             "\"event_seq\":%llu,\"type\":%s}",
             (unsigned long long)seq, said[seq - 1]);
    receive(r, frame);
}

static void answer_submit(run *r)
{
    char frame[512];
    snprintf(frame, sizeof frame,
             "{\"arcp\":\"1.1\",\"id\":\"a\",\"type\":\"job.accepted\",\"payload\":{\"request_id\":"
             "\"%s\",\"job_id\":\"job_1\",\"agent\":\"echo@1\",\"lease\":{\"cost.budget\":"
             "[\"USD:2\",\"USD:3\"]},\"budget\":{\"USD\":\"USD:5\"},\"credentials\":[{\"id\":\"c\","
             "\"scheme\":\"bearer\",\"value\":\"v\"}]}}",
             r->submit_id);
    receive(r, frame);
}

/* The runtime: handles a frame. */
static void serve(run *r, arcp_span frame)
{
    char id[40] = "";
    const char *found = memmem(frame.data, frame.size, "\"id\":\"", 6);
    memcpy(id, found + 6, 30);
    if (memmem(frame.data, frame.size, "\"session.hello\"", 15) != NULL) {
        char welcome[512];
        snprintf(welcome, sizeof welcome,
                 "{\"type\":\"session.welcome\",\"session_id\":\"s\",\"payload\":{\"request_id\":"
                 "\"%s\",\"resume_token\":\"rt\",\"resume_window_sec\":600,\"capabilities\":{"
                 "\"features\":[\"ack\",\"subscribe\"],\"agents\":[]}}}",
                 id);
        receive(r, welcome);
        const uint64_t last = r->session->last_seq;
        if (r->submit_id[0] != '\0') {
            answer_submit(r); /* the runtime does not know whether it was received */
            for (uint64_t seq = last + 1; seq <= EVENTS; seq++) {
                say(r, seq);
            }
        }
    } else if (memmem(frame.data, frame.size, "\"job.submit\"", 12) != NULL &&
               r->submit_id[0] == '\0') {
        memcpy(r->submit_id, id, sizeof id);
        answer_submit(r);
        for (uint64_t seq = 1; seq <= EVENTS; seq++) {
            say(r, seq);
        }
    }
}

static void take_item(run *r, arcp__client_item *item)
{
    if (item->is_reply) {
        r->was_refused = item->reply.status != ARCP_OK;
        r->job = item->reply.job;
        item->reply.job = NULL;
    } else if (item->event.type == ARCP_CLIENT_JOB_EVENT ||
               item->event.type == ARCP_CLIENT_JOB_ENDED) {
        assert_int_equal(item->event.event_seq, r->seen + 1);
        r->seen++;
        arcp__client_job_hand_over(item->event.job, item);
    }
    arcp__client_item_free(item);
}

/* One turn of the driver. */
static void turn(run *r)
{
    arcp_span frame = {NULL, 0};
    char copy[1024];
    while (arcp__client_session_next_frame(r->session, &frame)) {
        if (r->is_connected && frame.size < sizeof copy) {
            memcpy(copy, frame.data, frame.size);
            serve(r, arcp_span_make(copy, frame.size));
        }
    }
    for (arcp__client_item *item = arcp__client_session_next_item(r->session); item != NULL;
         item = arcp__client_session_next_item(r->session)) {
        take_item(r, item);
    }
    arcp_error lost = {.status = ARCP_E_IO};
    switch (arcp__client_session_take_action(r->session)) {
    case ARCP__SESSION_DIAL:
        r->is_connected = true;
        arcp__client_session_connected(r->session, r->now);
        break;
    case ARCP__SESSION_CLOSE:
    case ARCP__SESSION_ABORT:
        r->is_connected = false;
        arcp__client_session_disconnected(r->session, r->now, &lost);
        break;
    case ARCP__SESSION_NOTHING:
        r->now.mono_ns += 50 * ARCP_NS_PER_MS;
        arcp__client_session_tick(r->session, r->now);
        break;
    }
}

/* Returns the error of creating the session or the request, else the final status. */
static arcp_status play(run *r)
{
    arcp_client_options options = arcp_client_options_init();
    arcp_submit_options submit = arcp_submit_options_init();
    arcp_error err = {0};
    options.url = ARCP_SPAN_LITERAL("ws://x");
    options.token = ARCP_SPAN_LITERAL("t");
    options.connect_retry_ms = 60000;
    submit.agent = ARCP_SPAN_LITERAL("echo");
    submit.input = ARCP_SPAN_LITERAL("{ \"a\": 1 }");
    submit.traceparent =
        ARCP_SPAN_LITERAL("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    *r = (run){.now = {.wall_ns = ARCP_NS_PER_SEC, .mono_ns = ARCP_NS_PER_SEC}};
    arcp_status status = arcp__client_session_new(&options, seeded, r, &r->session, &err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__client_session_start(r->session, r->now);
    status = arcp__client_session_request(
        r->session, r->now,
        &(const arcp__client_request_args){
            .kind = ARCP__CLIENT_REQUEST_SUBMIT, .submit = &submit, .on_reply = on_reply},
        NULL, &err);
    for (int i = 0; i < 400 && status == ARCP_OK && r->seen < EVENTS && !r->was_refused; i++) {
        turn(r);
    }
    return status;
}

static void clean_up(run *r)
{
    arcp__client_job_drop_handle(r->job);
    arcp__client_session_free(r->session);
    r->session = NULL;
}

static void one_failed_allocation_never_loses_or_repeats_anything(void **state)
{
    run r;
    const size_t before = failing_alloc_live();
    const size_t start = failing_alloc_count();
    assert_int_equal(play(&r), ARCP_OK);
    assert_int_equal(r.seen, EVENTS);
    const size_t whole = failing_alloc_count() - start;
    clean_up(&r);
    assert_int_equal(failing_alloc_live(), before);
    assert_true(whole > 50);
    unsigned survived = 0;
    for (size_t nth = 1; nth <= whole; nth++) {
        failing_alloc_arm(nth, FAILING_ALLOC_ONE);
        const arcp_status status = play(&r);
        assert_true(failing_alloc_disarm());
        if (status == ARCP_OK) {
            /* No error was reported: then everything must have been delivered. */
            if (r.seen != EVENTS) {
                fail_msg("allocation %zu: %u events were delivered; the session is in state %d: %s",
                         nth, r.seen, (int)r.session->state, r.session->failure.message);
            }
            assert_non_null(r.job);
            assert_int_equal(r.job->outcome.status, ARCP_OK);
            check_span(r.job->outcome.result, "{\"a\":1}");
            assert_string_equal(r.job->budgets[0].remaining, "1.5");
            survived++;
        } else {
            assert_int_equal(status, ARCP_E_NO_MEMORY);
        }
        clean_up(&r);
        assert_int_equal(failing_alloc_live(), before);
    }
    /* Most failed allocations are not reported to the caller. */
    assert_true(survived > whole / 2);
}

#define CHUNK(seq, data)                                                                           \
    ARCP_SPAN_LITERAL("{\"result_id\":\"r\",\"chunk_seq\":" seq                                    \
                      ",\"encoding\":\"utf8\",\"more\":true,"                                      \
                      "\"data\":\"" data "\"}")
#define BYTES_100                                                                                  \
    "01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901" \
    "23"                                                                                           \
    "456789"

static void a_result_without_memory_for_a_chunk_has_the_chunks_before_it(void **state)
{
    (void)state;
    const size_t before = failing_alloc_live();
    bool has_failed = true;
    for (size_t nth = 1; has_failed; nth++) {
        arcp_job *job = arcp__client_job_new(ARCP_SPAN_LITERAL("job_1"));
        arcp__client_item *item = arcp__client_item_new(ARCP_CLIENT_JOB_ENDED, job, 0);
        assert_non_null(item);
        arcp__client_result_stream_take(&job->stream, CHUNK("0", "one"));
        failing_alloc_arm(nth, FAILING_ALLOC_ONE);
        arcp__client_result_stream_take(&job->stream, CHUNK("1", BYTES_100 BYTES_100));
        has_failed = failing_alloc_disarm();
        arcp__client_job_hand_over(job, item);
        if (has_failed) {
            assert_int_equal(job->outcome.status, ARCP_E_NO_MEMORY);
            check_span(job->outcome.bytes, "one");
        } else {
            check_span(job->outcome.bytes, "one" BYTES_100 BYTES_100);
        }
        assert_string_equal(job->outcome.bytes.data,
                            has_failed ? "one" : "one" BYTES_100 BYTES_100);
        arcp__client_item_free(item);
        arcp__client_job_drop(job);
        assert_int_equal(failing_alloc_live(), before);
    }
}

static void without_any_memory_nothing_leaks(void **state)
{
    run r;
    const size_t before = failing_alloc_live();
    for (size_t nth = 1; nth <= 120; nth++) {
        failing_alloc_arm(nth, FAILING_ALLOC_ALL_AFTER);
        const arcp_status status = play(&r);
        (void)status;
        clean_up(&r);
        (void)failing_alloc_disarm();
        assert_int_equal(failing_alloc_live(), before);
    }
}

/* A response may be numbered. Its abandoned request has been freed when the job cannot be
 * announced. */
static void a_numbered_response_out_of_memory_does_not_use_a_freed_request(void **state)
{
    const size_t before = failing_alloc_live();
    bool fired = true;
    (void)state;
    for (size_t nth = 1; fired; nth++) {
        story s;
        char frame[512];
        assert_true(nth < 100);
        story_live_plain(&s, DEFAULTS);
        arcp_subscribe_options options = arcp_subscribe_options_init();
        arcp__client_request *request = NULL;
        arcp_error err = {0};
        options.job_id = ARCP_SPAN_LITERAL("job_3");
        check_ok(arcp__client_session_request(
                     s.session, s.now,
                     &(const arcp__client_request_args){.kind = ARCP__CLIENT_REQUEST_SUBSCRIBE,
                                                        .subscribe = &options,
                                                        .on_reply = on_reply},
                     &request, &err),
                 &err);
        story_drain(&s);
        arcp__client_request_abandon(s.session, request);
        const char *id = strstr(s.sent[s.sent_count - 1], "\"id\":\"");
        assert_non_null(id);
        snprintf(frame, sizeof frame,
                 "{\"arcp\":\"1.1\",\"id\":\"x\",\"type\":\"job.subscribed\",\"session_id\":"
                 "\"sess_1\",\"job_id\":\"job_3\",\"event_seq\":1,\"payload\":{\"job_id\":"
                 "\"job_3\",\"request_id\":\"%.30s\",\"current_status\":\"running\","
                 "\"agent\":\"\\u0061\",\"lease\":{}}}",
                 id + 6);
        failing_alloc_arm(nth, FAILING_ALLOC_ONE);
        arcp__client_session_receive(s.session, s.now, arcp_span_cstr(frame));
        fired = failing_alloc_disarm();
        story_drain(&s);
        if (!fired) {
            story_check_log(&s, "added job_3\n");
        }
        story_end(&s);
        assert_int_equal(failing_alloc_live(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_failed_allocation_never_loses_or_repeats_anything),
        cmocka_unit_test(a_result_without_memory_for_a_chunk_has_the_chunks_before_it),
        cmocka_unit_test(without_any_memory_nothing_leaks),
        cmocka_unit_test(a_numbered_response_out_of_memory_does_not_use_a_freed_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
