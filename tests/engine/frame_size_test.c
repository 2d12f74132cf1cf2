/* No frame is larger than limits.frame_bytes, whatever peers and agents send: the rig checks each
 * one. What does not fit is refused, ends its job, or is sent in parts. */
#include <stdlib.h>

#include "base/alloc.h"
#include "engine/frames.h"
#include "engine/state.h"
#include "session/session_state.h"
#include "story/engine_rig.h"
#include "support/check.h"

#define SMALL      131072u /* the least that limits.frame_bytes may be */
#define PAGE_BYTES 1048576u
#define FEATURES   "\"list_jobs\",\"subscribe\",\"result_chunk\",\"progress\""

static engine_rig rig;
static char text[4 * 1048576 + 4096];

static void set_frame_bytes(uint64_t bytes)
{
    rig.settings.limits_frame_bytes = bytes;
    arcp__engine_set_settings(rig.engine, &rig.settings);
}

static rig_client *begin(uint64_t frame_bytes)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.limits_jobs_per_session = 1000;
    settings.limits_lease_bytes = 4194304;
    settings.limits_frame_bytes = frame_bytes;
    rig_start(&rig, &settings);
    rig_client *client = rig_connect(&rig, "a");
    rig_send(&rig, client, HELLO_WITH(FEATURES));
    arcp__free(rig_take(client));
    return client;
}

/* The newest frame; the others are dropped. The caller frees it. */
static char *last_frame(rig_client *client)
{
    char *last = NULL;
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        arcp__free(last);
        last = frame;
    }
    assert_non_null(last);
    return last;
}

static void expect_last(rig_client *client, const char *word, const char *other)
{
    char *frame = last_frame(client);
    if (strstr(frame, word) == NULL || strstr(frame, other) == NULL) {
        fail_msg("want %s and %s in %.400s", word, other, frame);
    }
    arcp__free(frame);
}

static void begin_text(const char *begin)
{
    (void)snprintf(text, sizeof text, "%s", begin);
}

static void add(const char *more)
{
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s", more);
}

static void add_many(char c, size_t count)
{
    const size_t size = strlen(text);
    assert_true(size + count < sizeof text);
    memset(text + size, c, count);
    text[size + count] = '\0';
}

/* A submit whose lease has so many bytes of patterns. */
static void submit(rig_client *client, const char *id, size_t bytes)
{
    begin_text("{\"arcp\":\"1.1\",\"id\":\"");
    add(id);
    add("\",\"type\":\"job.submit\",\"payload\":{\"agent\":\"echo\",\"lease_request\":{");
    add("\"agent.delegate\":[\"**\"],\"x-vendor.t.cap\":[");
    for (size_t left = bytes; left != 0;) {
        const size_t size = left < 4000 ? left : 4000;
        add(left == bytes ? "\"" : ",\"");
        add_many('p', size);
        add("\"");
        left -= size;
    }
    add("]}}}");
    rig_send(&rig, client, text);
}

static unsigned count_of(const char *haystack, const char *word)
{
    unsigned count = 0;
    for (const char *found = strstr(haystack, word); found != NULL;
         found = strstr(found + 1, word)) {
        count++;
    }
    return count;
}

/* Reads all pages and returns their number. Every job comes once, in order. */
static unsigned read_pages(rig_client *client, unsigned jobs, size_t bytes_max)
{
    char cursor[64] = "";
    char newest[64] = "";
    unsigned pages = 0;
    unsigned seen = 0;
    do {
        char ask[256];
        (void)snprintf(
            ask, sizeof ask,
            "{\"arcp\":\"1.1\",\"id\":\"l%u\",\"type\":\"session.list_jobs\",\"payload\":"
            "{\"limit\":1000%s%s%s}}",
            pages, cursor[0] == '\0' ? "" : ",\"cursor\":\"", cursor,
            cursor[0] == '\0' ? "" : "\"");
        rig_send(&rig, client, ask);
        char *page = last_frame(client);
        assert_true(strlen(page) <= bytes_max);
        for (const char *found = strstr(page, "{\"job_id\":\""); found != NULL;
             found = strstr(found + 1, "{\"job_id\":\"")) {
            assert_true(strncmp(found + 11, newest, 30) > 0);
            memcpy(newest, found + 11, 30);
            seen++;
        }
        const char *next = strstr(page, "\"next_cursor\":\"");
        (void)snprintf(cursor, sizeof cursor, "%.30s", next == NULL ? "" : next + 15);
        arcp__free(page);
        pages++;
    } while (cursor[0] != '\0' && pages <= jobs);
    assert_int_equal(seen, jobs);
    return pages;
}

static void a_page_ends_at_a_mebibyte(void **state)
{
    (void)state;
    rig_client *client = begin(4194304);
    for (unsigned i = 0; i < 120; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "s%u", i);
        submit(client, id, 20000);
    }
    assert_int_equal(read_pages(client, 120, PAGE_BYTES + 1024), 3);
    rig_stop(&rig);
}

static void a_page_fits_a_small_frame(void **state)
{
    (void)state;
    rig_client *client = begin(SMALL);
    for (unsigned i = 0; i < 20; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "s%u", i);
        submit(client, id, 20000);
    }
    assert_int_equal(read_pages(client, 20, SMALL), 4); /* six on each */
    rig_stop(&rig);
}

/* Repeated requests get the newest responses again; no request is executed twice. */
static void responses_are_cached_up_to_a_size(void **state)
{
    enum { JOBS = 230 };
    char id[16];
    (void)state;
    rig_client *client = begin(4194304);
    for (unsigned i = 0; i < JOBS; i++) {
        (void)snprintf(id, sizeof id, "s%u", i);
        submit(client, id, 20000);
    }
    const arcp__session *session = client->link->session;
    assert_in_range(session->cache_bytes, 4194304 - 22000, 4194304);
    arcp__free(last_frame(client));
    submit(client, "s0", 20000);
    assert_null(client->frames);
    submit(client, id, 20000);
    expect_last(client, "\"job.accepted\"", "ppp");
    assert_int_equal(rig.agent_count, JOBS);
    rig_stop(&rig);
}

static void a_job_larger_than_a_page_has_a_page_of_its_own(void **state)
{
    (void)state;
    rig_client *client = begin(4194304);
    submit(client, "small", 100);
    submit(client, "large", PAGE_BYTES + 100000);
    submit(client, "small2", 100);
    assert_int_equal(read_pages(client, 3, PAGE_BYTES + 110000), 3);
    rig_stop(&rig);
}

static void a_lease_that_cannot_be_sent_back_is_refused(void **state)
{
    (void)state;
    rig_client *client = begin(SMALL);
    const size_t room = SMALL - ARCP__FRAME_HEAD_MAX - ARCP__CREDENTIALS_MAX;
    submit(client, "a", 42000);
    expect_last(client, "\"running\"", "status");
    const size_t around = strlen(rig.engine->jobs.all->accepted) - 42000;
    submit(client, "b", room - around);
    expect_last(client, "\"running\"", "status");
    submit(client, "c", room - around + 1);
    expect_last(client, "\"INVALID_REQUEST\"", "limits.frame_bytes");
    assert_int_equal(rig.agent_count, 2);
    rig_stop(&rig);
}

static void a_job_from_a_time_of_larger_frames_is_listed_without_its_lease(void **state)
{
    char frame[256];
    (void)state;
    rig_client *client = begin(4194304);
    submit(client, "large", 200000);
    submit(client, "small", 100);
    set_frame_bytes(SMALL);
    assert_int_equal(read_pages(client, 2, SMALL), 1);
    rig_send(&rig, client, FRAME("l", "session.list_jobs", "{}"));
    char *page = last_frame(client);
    assert_int_equal(count_of(page, "\"lease\":"), 1);
    arcp__free(page);
    rig_client *other = rig_connect(&rig, "b");
    rig_send(&rig, other, HELLO_WITH(FEATURES));
    (void)snprintf(frame, sizeof frame, FRAME("u", "job.subscribe", "{\"job_id\":\"%s\"}"),
                   rig.agents[0].job_id);
    rig_send(&rig, other, frame);
    expect_last(other, "\"INTERNAL_ERROR\"", "{\"limit\":\"limits.frame_bytes\"}");
    rig_stop(&rig);
}

static void an_event_that_fits_no_frame_ends_its_job(void **state)
{
    const size_t room = SMALL - ARCP__FRAME_HEAD_MAX;
    (void)state;
    rig_client *client = begin(SMALL);
    for (unsigned over = 0; over < 2; over++) {
        submit(client, over == 0 ? "a" : "b", 10);
        begin_text(
            "{\"type\":\"job.event\",\"payload\":{\"kind\":\"thought\",\"body\":{\"text\":\"");
        add_many('t', room - strlen("{\"text\":\"\"}") + over);
        add("\"}}}");
        rig_agent_writes(&rig, rig_agent_last(&rig), text);
        if (over == 0) {
            expect_last(client, "\"thought\"", "ttt");
        } else {
            expect_last(client, "\"INTERNAL_ERROR\"", "{\"limit\":\"limits.frame_bytes\"}");
        }
    }
    rig_stop(&rig);
}

static void a_long_line_of_a_log_is_cut(void **state)
{
    (void)state;
    rig_client *client = begin(SMALL);
    submit(client, "a", 10);
    begin_text("");
    add_many('\t', SMALL); /* each needs two in JSON */
    rig_agent_writes(&rig, rig_agent_last(&rig), text);
    expect_last(client, "\"log\"", "\\t\\t\\t");
    rig_agent_writes(&rig, rig_agent_last(&rig), "{\"type\":\"job.result\",\"payload\":{}}");
    expect_last(client, "\"job.result\"", "success");
    rig_stop(&rig);
}

static void a_result_that_fits_no_frame_is_an_error(void **state)
{
    (void)state;
    rig_client *client = begin(SMALL);
    submit(client, "a", 10);
    begin_text("{\"type\":\"job.result\",\"payload\":{\"result\":\"");
    add_many('r', SMALL);
    add("\"}}");
    rig_agent_writes(&rig, rig_agent_last(&rig), text);
    expect_last(client, "\"INTERNAL_ERROR\"", "{\"limit\":\"limits.frame_bytes\"}");
    rig_stop(&rig);
}

static void an_error_that_fits_no_frame_keeps_its_code(void **state)
{
    (void)state;
    rig_client *client = begin(SMALL);
    submit(client, "a", 10);
    begin_text("{\"type\":\"job.error\",\"payload\":{\"code\":\"TIMEOUT\",\"message\":\"");
    add_many('m', 70000);
    add("\",\"details\":{\"more\":\"");
    add_many('d', 70000);
    add("\"}}}");
    rig_agent_writes(&rig, rig_agent_last(&rig), text);
    expect_last(client, "\"TIMEOUT\"", "{\"limit\":\"limits.frame_bytes\"}");
    rig_stop(&rig);
}

static void output_is_cut_into_chunks_that_fit_however_it_is_escaped(void **state)
{
    static char bytes[300000];
    (void)state;
    rig_client *client = begin(SMALL);
    submit(client, "a", 10);
    memset(bytes, 1, sizeof bytes); /* each needs six in JSON */
    arcp__engine_agent_output(rig.engine, rig.now, rig_agent_last(&rig)->job, 0,
                              arcp_span_make(bytes, sizeof bytes));
    rig_run(&rig);
    rig_agent_exits(&rig, rig_agent_last(&rig), false, 0);
    expect_last(client, "\"job.result\"", "\"result_size\":300000");
    rig_stop(&rig);
}

static void text_of_a_peer_is_repeated_up_to_a_size(void **state)
{
    (void)state;
    rig_client *client = begin(SMALL);
    for (unsigned over = 0; over < 2; over++) {
        begin_text(
            "{\"arcp\":\"1.1\",\"id\":\"p\",\"type\":\"session.ping\",\"payload\":{\"nonce\":\"");
        add_many('n', ARCP__REPEATED_MAX - 2 + over);
        add("\"}}");
        rig_send(&rig, client, text);
        expect_last(client, over == 0 ? "session.pong" : "\"INVALID_REQUEST\"", "nonce");
    }
    begin_text("{\"arcp\":\"1.1\",\"id\":\"c\",\"type\":\"job.cancel\",\"payload\":{\"job_id\":\"");
    add_many('j', SMALL - 100);
    add("\"}}");
    rig_send(&rig, client, text);
    expect_last(client, "\"JOB_NOT_FOUND\"", "jjj");
    submit(client, "a", 10);
    begin_text("{\"arcp\":\"1.1\",\"id\":\"d\",\"type\":\"job.cancel\",\"payload\":{\"job_id\":\"");
    add(rig_agent_last(&rig)->job_id);
    add("\",\"reason\":\"");
    add_many('r', SMALL - 200);
    add("\"}}");
    rig_send(&rig, client, text);
    expect_last(client, "job.cancelled", "rrr");
    rig_stop(&rig);
}

static void a_frame_has_a_size_limit(void **state)
{
    (void)state;
    rig_client *client = begin(SMALL);
    for (unsigned over = 0; over < 2; over++) {
        begin_text(
            "{\"arcp\":\"1.1\",\"id\":\"x\",\"type\":\"x-vendor.a.b\",\"payload\":{\"n\":\"");
        add_many('n', SMALL - strlen(text) - strlen("\"}}") + over);
        add("\"}}");
        assert_int_equal(client->close_code, 0);
        rig_send(&rig, client, text);
    }
    assert_int_equal(client->close_code, 1009);
    rig_stop(&rig);
}

static void ids_that_need_many_bytes_fit(void **state)
{
    (void)state;
    rig_client *client = begin(SMALL);
    begin_text("{\"arcp\":\"1.1\",\"id\":\"");
    for (unsigned i = 0; i < ARCP__ENVELOPE_ID_MAX; i++) {
        add("\\u0001");
    }
    add("\",\"type\":\"job.submit\",\"payload\":{\"agent\":\"none\"}}");
    rig_send(&rig, client, text);
    expect_last(client, "\"AGENT_NOT_AVAILABLE\"", "\\u0001");
    rig_stop(&rig);
}

static void a_list_of_agents_that_fits_no_frame_refuses_the_hello(void **state)
{
    arcp_error error = {0};
    (void)state;
    (void)begin(SMALL);
    for (unsigned i = 0; i < 1500; i++) {
        char name[128];
        (void)snprintf(name, sizeof name, "agent-%0100u", i);
        arcp__agent_registration agent = {.name = arcp_span_cstr(name)};
        check_ok(arcp__engine_register_agent(rig.engine, &agent, &error), &error);
    }
    rig_client *late = rig_connect(&rig, "late");
    rig_send(&rig, late, HELLO_WITH(FEATURES));
    assert_int_equal(late->close_code, 1011);
    expect_last(late, "\"INTERNAL_ERROR\"", "list of agents");
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_ends_at_a_mebibyte),
        cmocka_unit_test(a_page_fits_a_small_frame),
        cmocka_unit_test(responses_are_cached_up_to_a_size),
        cmocka_unit_test(a_job_larger_than_a_page_has_a_page_of_its_own),
        cmocka_unit_test(a_lease_that_cannot_be_sent_back_is_refused),
        cmocka_unit_test(a_job_from_a_time_of_larger_frames_is_listed_without_its_lease),
        cmocka_unit_test(an_event_that_fits_no_frame_ends_its_job),
        cmocka_unit_test(a_long_line_of_a_log_is_cut),
        cmocka_unit_test(a_result_that_fits_no_frame_is_an_error),
        cmocka_unit_test(an_error_that_fits_no_frame_keeps_its_code),
        cmocka_unit_test(output_is_cut_into_chunks_that_fit_however_it_is_escaped),
        cmocka_unit_test(text_of_a_peer_is_repeated_up_to_a_size),
        cmocka_unit_test(a_frame_has_a_size_limit),
        cmocka_unit_test(ids_that_need_many_bytes_fit),
        cmocka_unit_test(a_list_of_agents_that_fits_no_frame_refuses_the_hello),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
