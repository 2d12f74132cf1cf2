/* What every transport guarantees (include/arcp/sys/transport.h), tested with all of them. This
 * file has the tests about frames; conformance_close.c has those about closing. */
#include "transport/pair.h"

#include "transport/conformance.h"
#include "transport/tls_files.h"

#define CAP ((size_t)64 * 1024)

static char *filled(size_t size, char byte)
{
    char *data = malloc(size + 1);
    assert_non_null(data);
    memset(data, byte, size);
    data[size] = '\0';
    return data;
}

/* ---- frames ---- */

static void frames_arrive_in_order_both_ways(pair *p)
{
    enum { COUNT = 2000 };
    uint32_t a_sum = 0;
    uint32_t b_sum = 0;
    for (int i = 0; i < COUNT; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"from\":\"a\",\"n\":%d}", i);
        owner_send_text(&p->a, text);
        a_sum = frame_sum(a_sum, arcp_span_cstr(text));
        snprintf(text, sizeof text, "{\"from\":\"b\",\"n\":%d}", i);
        owner_send_text(&p->b, text);
        b_sum = frame_sum(b_sum, arcp_span_cstr(text));
        if (i % 100 == 0) {
            owner_flush(&p->a);
            owner_flush(&p->b);
        }
    }
    run_until(&p->test, p->a.messages == COUNT && p->b.messages == COUNT);
    assert_int_equal(p->b.sum, a_sum);
    assert_int_equal(p->a.sum, b_sum);
}

static void a_frame_that_was_not_flushed_leaves_at_the_end_of_the_turn(pair *p)
{
    owner_send_text(&p->a, "hello");
    assert_int_equal(owner_unsent(&p->a), 5);
    assert_int_equal(p->b.messages, 0);
    run_until(&p->test, p->b.messages == 1);
    assert_int_equal(p->b.last_size, 5);
}

static void a_send_copies_the_frame(pair *p)
{
    char text[] = "before";
    p->b.keep = true;
    owner_send_text(&p->a, text);
    memcpy(text, "after!", 6);
    run_until(&p->test, p->b.messages == 1);
    check_span(arcp_buf_span(&p->b.log), "before|");
}

static void many_small_frames_of_one_flush_arrive_as_they_were(pair *p)
{
    enum { COUNT = 20000 };
    for (int i = 0; i < COUNT; i++) {
        owner_send_text(&p->a, "{\"n\":1}");
    }
    owner_flush(&p->a);
    run_until(&p->test, p->b.messages == COUNT);
    assert_int_equal(p->b.message_bytes, COUNT * 7);
}

static void frames_of_every_size_around_the_borders_arrive(pair *p)
{
    static const size_t sizes[] = {1,    2,    125,   126,   127,   128,   4085,  4086,  4090,
                                   4096, 4097, 16383, 16384, 16385, 65534, 65535, 65536, CAP};
    uint32_t sum = 0;
    const size_t count = sizeof sizes / sizeof sizes[0];
    for (size_t i = 0; i < count; i++) {
        char *data = filled(sizes[i], (char)('a' + i));
        const arcp_span frame = arcp_span_make(data, sizes[i]);
        assert_int_equal(owner_send(&p->a, frame), ARCP_OK);
        sum = frame_sum(sum, frame);
        free(data);
    }
    run_until(&p->test, p->b.messages == count);
    assert_int_equal(p->b.sum, sum);
}

static void a_frame_at_the_cap_arrives(pair *p)
{
    char *data = filled(CAP, 'x');
    assert_int_equal(owner_send(&p->a, arcp_span_make(data, CAP)), ARCP_OK);
    assert_int_equal(owner_send(&p->b, arcp_span_make(data, CAP)), ARCP_OK);
    free(data);
    run_until(&p->test, p->a.messages == 1 && p->b.messages == 1);
    assert_int_equal(p->a.last_size, CAP);
    assert_int_equal(p->b.last_size, CAP);
}

static void a_frame_above_the_cap_ends_the_connection_as_too_big(pair *p)
{
    char *data = filled(CAP + 1, 'x');
    owner_send_text(&p->a, "before");
    assert_int_equal(owner_send(&p->a, arcp_span_make(data, CAP + 1)), ARCP_OK);
    free(data);
    owner_send_text(&p->a, "behind");
    run_until(&p->test, p->a.closed && p->b.closed);
    assert_int_equal(p->b.messages, 1);
    assert_int_equal(p->b.last_size, 6);
    assert_int_equal(p->b.code, ARCP_CLOSE_TOO_BIG);
    if (pair_has_codes(p)) {
        assert_int_equal(p->a.code, ARCP_CLOSE_TOO_BIG);
        assert_true(p->a.closed_by_peer);
        assert_false(p->b.closed_by_peer); /* it closed because of what it received */
    }
}

static void echo(owner *o, arcp_span frame)
{
    assert_int_equal(owner_send(o, frame), ARCP_OK);
    owner_flush(o);
}

static void count_down(owner *o, arcp_span frame)
{
    char digits[16] = "";
    assert_true(frame.size < sizeof digits);
    memcpy(digits, frame.data, frame.size);
    const long left = strtol(digits, NULL, 10);
    if (left > 0) {
        char text[32];
        snprintf(text, sizeof text, "%ld ", left - 1);
        owner_send_text(o, text);
    }
}

static void an_answer_from_inside_a_message_goes_out(pair *p)
{
    p->b.on_message = echo;
    p->a.on_message = count_down;
    owner_send_text(&p->a, "300 ");
    run_until(&p->test, p->a.messages == 301);
    assert_int_equal(p->b.messages, 301);
}

/* ---- counting bytes ---- */

static void written_bytes_are_reported_once_and_add_up(pair *p)
{
    enum { COUNT = 64 };
    char *data = filled(CAP, 'y');
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(owner_send(&p->a, arcp_span_make(data, CAP - (size_t)i)), ARCP_OK);
        if (i % 7 == 0) {
            owner_flush(&p->a);
        }
    }
    free(data);
    run_until(&p->test, p->b.messages == COUNT && p->a.written == p->a.accepted);
    assert_int_equal(owner_unsent(&p->a), 0);
    assert_int_equal(p->b.message_bytes, p->a.accepted);
    test_loop_settle(&p->test);
    assert_int_equal(p->a.written, p->a.accepted);
}

static void a_reader_that_stops_holds_the_sender_back(pair *p)
{
    enum { COUNT = 256 };
    char *data = filled(CAP, 'z');
    uint32_t sum = 0;
    owner_pause(&p->b);
    for (int i = 0; i < COUNT; i++) {
        data[0] = (char)('0' + i % 10);
        assert_int_equal(owner_send(&p->a, arcp_span_make(data, CAP)), ARCP_OK);
        sum = frame_sum(sum, arcp_span_make(data, CAP));
        owner_flush(&p->a);
    }
    free(data);
    test_loop_settle(&p->test);
    assert_int_equal(p->b.messages, 0);
    const size_t held = owner_unsent(&p->a);
    assert_true(held > 0);
    test_loop_settle(&p->test);
    assert_int_equal(owner_unsent(&p->a), held); /* nothing moves */

    owner_resume(&p->b);
    run_until(&p->test, p->b.messages == COUNT && p->a.written == p->a.accepted);
    assert_int_equal(p->b.sum, sum);
    if (p->kind != PAIR_MEMORY) {
        assert_true(p->a.drains > 1); /* progress, not one report at the end */
    }
}

/* ---- pause ---- */

static void pause_now(owner *o, arcp_span frame)
{
    owner_pause(o);
}

static void a_pause_inside_a_message_stops_at_that_message(pair *p)
{
    p->b.keep = true;
    p->b.on_message = pause_now;
    for (int i = 0; i < 5; i++) {
        char text[2] = {(char)('1' + i), '\0'};
        owner_send_text(&p->a, text);
    }
    owner_flush(&p->a);
    for (size_t i = 1; i <= 5; i++) {
        run_until(&p->test, p->b.messages == i);
        test_loop_settle(&p->test);
        assert_int_equal(p->b.messages, i);
        owner_resume(&p->b);
    }
    check_span(arcp_buf_span(&p->b.log), "1|2|3|4|5|");
}

static void a_large_frame_survives_pauses(pair *p)
{
    p->b.on_message = pause_now;
    char *data = filled(CAP, 'q');
    for (int i = 0; i < 3; i++) {
        assert_int_equal(owner_send(&p->a, arcp_span_make(data, CAP)), ARCP_OK);
    }
    free(data);
    for (size_t i = 1; i <= 3; i++) {
        run_until(&p->test, p->b.messages == i);
        assert_int_equal(p->b.last_size, CAP);
        test_loop_settle(&p->test);
        owner_resume(&p->b);
    }
}

static void resume_delivers_later_not_from_inside_the_call(pair *p)
{
    owner_pause(&p->b);
    owner_send_text(&p->a, "one");
    owner_flush(&p->a);
    test_loop_settle(&p->test);
    owner_resume(&p->b); /* the owner checks that no callback is made inside the call */
    assert_int_equal(p->b.messages, 0);
    run_until(&p->test, p->b.messages == 1);
}

static void pause_and_resume_twice_are_as_once(pair *p)
{
    owner_pause(&p->b);
    owner_pause(&p->b);
    owner_resume(&p->b);
    owner_resume(&p->b);
    owner_send_text(&p->a, "one");
    run_until(&p->test, p->b.messages == 1);
}

static void a_paused_end_can_still_send(pair *p)
{
    owner_pause(&p->b);
    owner_send_text(&p->b, "out");
    run_until(&p->test, p->a.messages == 1);
}

/* ---- info ---- */

static void a_connection_says_what_it_is(pair *p)
{
    static const char *const names[PAIR_KIND_COUNT] = {"ws", "wss", "stdio", "stdio", "memory"};
    arcp_connection_info info = arcp_connection_info_init();
    p->a.connection->ops->info(p->a.connection, &info);
    assert_string_equal(info.transport, names[p->kind]);
    assert_int_equal(info.encrypted, p->kind == PAIR_WSS);
    assert_true(info.local);
    if (p->kind == PAIR_WS || p->kind == PAIR_WSS) {
        assert_memory_equal(info.peer, "127.0.0.1:", 10);
    }
}

static void callbacks_may_be_missing(pair *p)
{
    arcp_connection_callbacks none = {0};
    p->b.connection->ops->set_callbacks(p->b.connection, &none);
    owner_send_text(&p->a, "into the void");
    owner_send_text(&p->b, "out of it");
    run_until(&p->test, p->a.messages == 1);
    owner_close(&p->b, ARCP_CLOSE_NORMAL, "");
    run_until(&p->test, p->a.closed);
}

const conformance_case frame_cases[] = {
    CASE(frames_arrive_in_order_both_ways),
    CASE(a_frame_that_was_not_flushed_leaves_at_the_end_of_the_turn),
    CASE(a_send_copies_the_frame),
    CASE(many_small_frames_of_one_flush_arrive_as_they_were),
    CASE(frames_of_every_size_around_the_borders_arrive),
    CASE(a_frame_at_the_cap_arrives),
    CASE(a_frame_above_the_cap_ends_the_connection_as_too_big),
    CASE(an_answer_from_inside_a_message_goes_out),
    CASE(written_bytes_are_reported_once_and_add_up),
    CASE(a_reader_that_stops_holds_the_sender_back),
    CASE(a_pause_inside_a_message_stops_at_that_message),
    CASE(a_large_frame_survives_pauses),
    CASE(resume_delivers_later_not_from_inside_the_call),
    CASE(pause_and_resume_twice_are_as_once),
    CASE(a_paused_end_can_still_send),
    CASE(a_connection_says_what_it_is),
    CASE(callbacks_may_be_missing),
};

/* ---- running ---- */

typedef struct run {
    const conformance_case *test;
    pair_kind kind;
} run;

static void run_case(void **state)
{
    const run *this_run = *state;
    pair p;
    pair_open(&p, this_run->kind, (pair_limits){CAP, this_run->test->close_timeout_ms});
    this_run->test->run(&p);
    pair_close(&p);
}

static size_t add(struct CMUnitTest *tests, run *runs, size_t index, const conformance_case *cases,
                  size_t count)
{
    for (size_t kind = 0; kind < PAIR_KIND_COUNT; kind++) {
        for (size_t i = 0; i < count; i++) {
            char *name = malloc(256);
            assert_non_null(name);
            snprintf(name, 256, "%s: %s", pair_kind_names[kind], cases[i].name);
            for (char *byte = name; *byte != '\0'; byte++) {
                if (*byte == '_') {
                    *byte = ' ';
                }
            }
            runs[index] = (run){&cases[i], (pair_kind)kind};
            tests[index] = (struct CMUnitTest){name, run_case, NULL, NULL, &runs[index]};
            index++;
        }
    }
    return index;
}

int main(void)
{
    static struct CMUnitTest conformance_tests[512];
    static run runs[512];
    const size_t frames = sizeof frame_cases / sizeof frame_cases[0];
    assert_true((frames + close_case_count) * PAIR_KIND_COUNT <= 512);
    size_t count = add(conformance_tests, runs, 0, frame_cases, frames);
    count = add(conformance_tests, runs, count, close_cases, close_case_count);
    const int failed = _cmocka_run_group_tests("transport_conformance", conformance_tests, count,
                                               tls_files_setup, tls_files_teardown);
    for (size_t i = 0; i < count; i++) {
        free((char *)conformance_tests[i].name);
    }
    return failed;
}
