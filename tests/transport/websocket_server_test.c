/* The WebSocket server with peers that violate the protocol (RFC 6455). */
#include "transport/raw_peer.h"
#include "transport/server.h"
#include "transport/websocket_frames.h"

static arcp_listen_options plain(void)
{
    arcp_listen_options options = arcp_listen_options_init();
    options.frame_bytes_max = 1000;
    options.close_timeout_ms = 2 * TEST_PATIENCE_MS; /* tests that need it set it */
    options.admission = server_admission((arcp_admission_limits){0});
    return options;
}

/* A server with one upgraded raw peer. */
typedef struct session {
    server s;
    raw_peer peer;
    owner *owner;
} session;

static void session_open(session *t, arcp_listen_options options)
{
    server_open(&t->s, NULL, options);
    raw_peer_connect(&t->peer, &t->s.test, t->s.url);
    raw_peer_upgrade(&t->peer);
    assert_int_equal(t->s.accepted, 1);
    t->owner = &t->s.owners[0];
}

static void session_close(session *t)
{
    raw_peer_fini(&t->peer);
    server_fini(&t->s);
}

static void send_frame(session *t, unsigned first, const char *payload)
{
    arcp_buf bytes = arcp_buf_init();
    put_text(&bytes, first, true, payload);
    raw_peer_send(&t->peer, arcp_buf_span(&bytes));
    arcp_buf_fini(&bytes);
}

/* The next frame from the server must be exactly this one. */
static void expect_frame(session *t, unsigned first, arcp_span payload)
{
    arcp_buf want = arcp_buf_init();
    put_frame(&want, first, false, payload);
    raw_peer_receive(&t->peer, want.size);
    assert_true(t->peer.received.size >= want.size);
    assert_memory_equal(t->peer.received.data, want.data, want.size);
    arcp_buf_consume(&t->peer.received, want.size);
    arcp_buf_fini(&want);
}

static void expect_close(session *t, unsigned code)
{
    raw_peer_receive(&t->peer, 4);
    assert_true(t->peer.received.size >= 4);
    const unsigned char *bytes = (const unsigned char *)t->peer.received.data;
    assert_int_equal(bytes[0], FIN | CLOSE);
    const size_t size = bytes[1];
    assert_int_equal(bytes[2] << 8 | bytes[3], code);
    raw_peer_receive(&t->peer, size + 2);
    arcp_buf_consume(&t->peer.received, size + 2);
}

/* ---- frames ---- */

static const struct {
    const char *name;
    unsigned first;
    const char *payload; /* NULL: 1001 bytes */
    bool unmasked;
    unsigned code;
} violations[] = {
    {"an unmasked frame", FIN | TEXT, "x", true, 1002},
    {"RSV1", FIN | RSV1 | TEXT, "x", false, 1002},
    {"RSV2", FIN | RSV2 | TEXT, "x", false, 1002},
    {"RSV3", FIN | RSV3 | TEXT, "x", false, 1002},
    {"opcode 3", FIN | 3, "x", false, 1002},
    {"opcode 12", FIN | 12, "x", false, 1002},
    {"a continuation without a beginning", FIN | CONTINUATION, "x", false, 1002},
    {"a fragmented ping", PING, "x", false, 1002},
    {"a close code of one byte", FIN | CLOSE, "\x03", false, 1002},
    {"close code 1005", FIN | CLOSE, "\x03\xed", false, 1002},
    {"close code 1006", FIN | CLOSE, "\x03\xee", false, 1002},
    {"close code 999", FIN | CLOSE, "\x03\xe7", false, 1002},
    {"close code 2999", FIN | CLOSE, "\x0b\xb7", false, 1002},
    {"a close reason that is not UTF-8", FIN | CLOSE, "\x03\xe8\xff", false, 1007},
    {"a binary message", FIN | BINARY, "x", false, 1003},
    {"a message above the limit", FIN | TEXT, NULL, false, 1009},
};

static void each_violation_has_its_close_code(void **state)
{
    for (size_t i = 0; i < sizeof violations / sizeof violations[0]; i++) {
        session t;
        session_open(&t, plain());
        char big[1002] = "";
        memset(big, 'x', 1001);
        const char *payload = violations[i].payload == NULL ? big : violations[i].payload;
        arcp_buf bytes = arcp_buf_init();
        put_text(&bytes, violations[i].first, !violations[i].unmasked, payload);
        put_text(&bytes, FIN | TEXT, true, "never");
        raw_peer_send(&t.peer, arcp_buf_span(&bytes));
        arcp_buf_fini(&bytes);
        expect_close(&t, violations[i].code);
        raw_peer_expect_end(&t.peer); /* the server has closed its half */
        assert_int_equal(t.peer.received.size, 0);
        raw_peer_half_close(&t.peer);
        run_until(&t.s.test, t.owner->closed);
        if (t.owner->code != violations[i].code || t.owner->messages != 0) {
            fail_msg("%s: %d", violations[i].name, t.owner->code);
        }
        session_close(&t);
    }
}

static void a_violating_peer_that_stays_is_cut_and_its_violation_reported(void **state)
{
    session t;
    arcp_listen_options options = plain();
    options.close_timeout_ms = 50;
    session_open(&t, options);
    send_frame(&t, FIN | BINARY, "x");
    run_until(&t.s.test, t.owner->closed);
    assert_int_equal(t.owner->code, ARCP_CLOSE_UNSUPPORTED);
    assert_string_equal(t.owner->reason, "a binary message");
    session_close(&t);
}

/* One byte more than two of these parts, which are all that is taken. */
static void end_with_too_long(session *t, const char *part)
{
    send_frame(t, TEXT, part);
    send_frame(t, CONTINUATION, part);
    send_frame(t, FIN | CONTINUATION, "x");
    expect_close(t, 1009);
    session_close(t);
}

static void a_message_at_the_limit_may_be_fragmented(void **state)
{
    session t;
    session_open(&t, plain());
    char part[501] = "";
    memset(part, 'x', 500);
    send_frame(&t, TEXT, part);
    send_frame(&t, FIN | PING, "between");
    send_frame(&t, FIN | CONTINUATION, part);
    expect_frame(&t, FIN | PONG, ARCP_SPAN_LITERAL("between"));
    run_until(&t.s.test, t.owner->messages == 1);
    assert_int_equal(t.owner->last_size, 1000);
    end_with_too_long(&t, part);
}

/* Its sender is not authenticated yet, and an incomplete message takes memory. */
static void the_first_message_may_have_a_separate_limit(void **state)
{
    (void)state;
    char part[501] = "";
    memset(part, 'x', 500);
    arcp_listen_options options = plain();
    options.first_frame_bytes_max = 500;
    session t;
    session_open(&t, options);
    send_frame(&t, TEXT, part);
    send_frame(&t, FIN | CONTINUATION, "x");
    expect_close(&t, 1009);
    session_close(&t);

    options = plain();
    options.first_frame_bytes_max = 500;
    session_open(&t, options);
    send_frame(&t, FIN | TEXT, part);
    run_until(&t.s.test, t.owner->messages == 1);
    send_frame(&t, TEXT, part);
    send_frame(&t, FIN | CONTINUATION, part);
    run_until(&t.s.test, t.owner->messages == 2);
    assert_int_equal(t.owner->last_size, 1000);
    end_with_too_long(&t, part);
}

static void a_frame_may_arrive_slowly(void **state)
{
    session t;
    session_open(&t, plain());
    arcp_buf bytes = arcp_buf_init();
    put_text(&bytes, TEXT, true, "slow");
    put_text(&bytes, FIN | CONTINUATION, true, "ly");
    for (size_t i = 0; i < bytes.size; i++) {
        raw_peer_send(&t.peer, arcp_span_make(bytes.data + i, 1));
        test_loop_settle(&t.s.test);
    }
    run_until(&t.s.test, t.owner->messages == 1);
    check_span(arcp_buf_span(&t.owner->log), "slowly|");
    arcp_buf_fini(&bytes);
    session_close(&t);
}

static void pings_are_answered_in_order(void **state)
{
    session t;
    session_open(&t, plain());
    for (int i = 0; i < 10; i++) {
        char text[8];
        snprintf(text, sizeof text, "p%d", i);
        send_frame(&t, FIN | PING, text);
    }
    for (int i = 0; i < 10; i++) {
        char text[8];
        snprintf(text, sizeof text, "p%d", i);
        expect_frame(&t, FIN | PONG, arcp_span_cstr(text));
    }
    send_frame(&t, FIN | PONG, "unsolicited"); /* gets no response */
    send_frame(&t, FIN | PING, "");
    expect_frame(&t, FIN | PONG, ARCP_SPAN_LITERAL(""));
    session_close(&t);
}

/* For a peer that pings and reads nothing only one pong is kept. */
static void pongs_do_not_accumulate_for_a_peer_that_does_not_read(void **state)
{
    session t;
    session_open(&t, plain());
    char big[1001] = "";
    memset(big, 'b', 1000);
    while (t.owner->drains < 3 || owner_unsent(t.owner) == 0) {
        for (int i = 0; i < 1000; i++) {
            owner_send_text(t.owner, big);
        }
        owner_flush(t.owner);
        test_loop_settle(&t.s.test);
    }
    const size_t unsent = owner_unsent(t.owner);
    for (int i = 0; i < 2000; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        send_frame(&t, FIN | PING, text);
    }
    test_loop_settle(&t.s.test);
    assert_int_equal(owner_unsent(t.owner), unsent);
    raw_peer_receive(&t.peer, t.owner->accepted + t.owner->accepted / 1000 * 4 + 2 + 4);
    /* All texts, then the pong for the latest ping. */
    assert_int_equal(t.peer.received.size, t.owner->accepted + t.owner->accepted / 1000 * 4 + 6);
    assert_non_null(memmem(t.peer.received.data, t.peer.received.size,
                           "\x8a\x04"
                           "1999",
                           6));
    session_close(&t);
}

/* ---- closing ---- */

static void a_close_is_answered_with_its_code(void **state)
{
    static const unsigned codes[] = {1000, 1001, 1011, 3000, 4999};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        session t;
        session_open(&t, plain());
        arcp_buf bytes = arcp_buf_init();
        put_close(&bytes, true, codes[i], "why not");
        raw_peer_send(&t.peer, arcp_buf_span(&bytes));
        arcp_buf_fini(&bytes);
        expect_close(&t, codes[i]);
        raw_peer_expect_end(&t.peer); /* the server ends TCP first */
        run_until(&t.s.test, t.owner->closed);
        assert_int_equal(t.owner->code, codes[i]);
        assert_string_equal(t.owner->reason, "why not");
        session_close(&t);
    }
}

static void a_close_without_a_code_is_answered_without_one(void **state)
{
    session t;
    session_open(&t, plain());
    send_frame(&t, FIN | CLOSE, "");
    expect_frame(&t, FIN | CLOSE, ARCP_SPAN_LITERAL(""));
    run_until(&t.s.test, t.owner->closed);
    assert_int_equal(t.owner->code, ARCP_CLOSE_NORMAL);
    session_close(&t);
}

static void frames_sent_before_the_close_of_the_peer_are_still_written(void **state)
{
    session t;
    session_open(&t, plain());
    owner_send_text(t.owner, "answer");
    send_frame(&t, FIN | CLOSE, "\x03\xe8");
    expect_frame(&t, FIN | TEXT, ARCP_SPAN_LITERAL("answer"));
    expect_close(&t, 1000);
    session_close(&t);
}

static void our_close_waits_for_the_peers(void **state)
{
    session t;
    session_open(&t, plain());
    owner_close(t.owner, ARCP_CLOSE_GOING_AWAY, "restart");
    expect_frame(&t, FIN | CLOSE, ARCP_SPAN_LITERAL("\x03\xe9restart"));
    send_frame(&t, FIN | TEXT, "sent before it knew");
    test_loop_settle(&t.s.test);
    assert_false(t.owner->closed);
    send_frame(&t, FIN | CLOSE, "\x03\xe9");
    run_until(&t.s.test, t.owner->closed);
    assert_int_equal(t.owner->code, ARCP_CLOSE_GOING_AWAY);
    assert_int_equal(t.owner->messages, 0);
    raw_peer_expect_end(&t.peer);
    session_close(&t);
}

static void a_peer_that_does_not_respond_to_our_close_is_cut(void **state)
{
    session t;
    arcp_listen_options options = plain();
    options.close_timeout_ms = 50;
    session_open(&t, options);
    owner_close(t.owner, ARCP_CLOSE_NORMAL, "");
    expect_close(&t, 1000);
    run_until(&t.s.test, t.owner->closed);
    assert_int_equal(t.owner->code, ARCP_CLOSE_ABNORMAL);
    raw_peer_expect_end(&t.peer);
    session_close(&t);
}

static void an_end_without_a_close_is_abnormal(void **state)
{
    session t;
    session_open(&t, plain());
    send_frame(&t, FIN | TEXT, "last words");
    raw_peer_half_close(&t.peer);
    run_until(&t.s.test, t.owner->closed);
    assert_int_equal(t.owner->messages, 1);
    assert_int_equal(t.owner->code, ARCP_CLOSE_ABNORMAL);
    session_close(&t);
}

static void an_end_inside_a_frame_is_abnormal(void **state)
{
    session t;
    session_open(&t, plain());
    raw_peer_send(&t.peer, ARCP_SPAN_LITERAL("\x81\x85mask12"));
    raw_peer_half_close(&t.peer);
    run_until(&t.s.test, t.owner->closed);
    assert_int_equal(t.owner->messages, 0);
    assert_int_equal(t.owner->code, ARCP_CLOSE_ABNORMAL);
    session_close(&t);
}

static void a_reset_is_abnormal(void **state)
{
    session t;
    session_open(&t, plain());
    raw_peer_reset(&t.peer);
    run_until(&t.s.test, t.owner->closed);
    assert_int_equal(t.owner->code, ARCP_CLOSE_ABNORMAL);
    session_close(&t);
}

static void a_reset_under_load_is_abnormal_once(void **state)
{
    session t;
    session_open(&t, plain());
    char big[1001] = "";
    memset(big, 'b', 1000);
    while (owner_unsent(t.owner) == 0 || t.owner->drains == 0) {
        for (int i = 0; i < 1000; i++) {
            owner_send_text(t.owner, big);
        }
        owner_flush(t.owner);
        test_loop_settle(&t.s.test);
    }
    raw_peer_reset(&t.peer);
    while (!t.owner->closed && owner_send(t.owner, arcp_span_cstr(big)) == ARCP_OK) {
        owner_flush(t.owner);
        test_loop_step(&t.s.test, "the reset is seen");
    }
    run_until(&t.s.test, t.owner->closed);
    assert_int_equal(t.owner->code, ARCP_CLOSE_ABNORMAL);
    session_close(&t);
}

static void bad_text_can_be_closed_by_the_owner(void **state)
{
    session t;
    session_open(&t, plain());
    send_frame(&t, FIN | TEXT, "\xff");
    run_until(&t.s.test, t.owner->messages == 1); /* the transport does not validate it */
    owner_close(t.owner, ARCP_CLOSE_BAD_DATA, "not UTF-8");
    expect_close(&t, 1007);
    session_close(&t);
}

static void a_close_reason_is_cut_to_what_a_frame_holds(void **state)
{
    session t;
    session_open(&t, plain());
    char reason[200] = "";
    for (size_t i = 0; i < 60; i++) {
        memcpy(reason + 3 * i, "\xe2\x82\xac", 3); /* the euro sign: 41 of them fit */
    }
    owner_close(t.owner, ARCP_CLOSE_NORMAL, reason);
    char want[2 + 123];
    memcpy(want, "\x03\xe8", 2);
    memcpy(want + 2, reason, 123);
    expect_frame(&t, FIN | CLOSE, arcp_span_make(want, sizeof want));
    session_close(&t);
}

static void a_code_that_must_not_be_sent_becomes_1011(void **state)
{
    session t;
    session_open(&t, plain());
    owner_close(t.owner, ARCP_CLOSE_ABNORMAL, "");
    expect_close(&t, 1011);
    session_close(&t);
}

/* ---- writing ---- */

static void frames_of_one_turn_are_written_together(void **state)
{
    session t;
    session_open(&t, plain());
    arcp_buf want = arcp_buf_init();
    for (int i = 0; i < 100; i++) {
        char text[32];
        snprintf(text, sizeof text, "{\"n\":%d}", i);
        owner_send_text(t.owner, text);
        put_text(&want, FIN | TEXT, false, text);
    }
    raw_peer_receive(&t.peer, want.size);
    assert_int_equal(t.peer.received.size, want.size);
    assert_memory_equal(t.peer.received.data, want.data, want.size);
    arcp_buf_fini(&want);
    session_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_violation_has_its_close_code),
        cmocka_unit_test(a_violating_peer_that_stays_is_cut_and_its_violation_reported),
        cmocka_unit_test(a_message_at_the_limit_may_be_fragmented),
        cmocka_unit_test(the_first_message_may_have_a_separate_limit),
        cmocka_unit_test(a_frame_may_arrive_slowly),
        cmocka_unit_test(pings_are_answered_in_order),
        cmocka_unit_test(pongs_do_not_accumulate_for_a_peer_that_does_not_read),
        cmocka_unit_test(a_close_is_answered_with_its_code),
        cmocka_unit_test(a_close_without_a_code_is_answered_without_one),
        cmocka_unit_test(frames_sent_before_the_close_of_the_peer_are_still_written),
        cmocka_unit_test(our_close_waits_for_the_peers),
        cmocka_unit_test(a_peer_that_does_not_respond_to_our_close_is_cut),
        cmocka_unit_test(an_end_without_a_close_is_abnormal),
        cmocka_unit_test(an_end_inside_a_frame_is_abnormal),
        cmocka_unit_test(a_reset_is_abnormal),
        cmocka_unit_test(a_reset_under_load_is_abnormal_once),
        cmocka_unit_test(bad_text_can_be_closed_by_the_owner),
        cmocka_unit_test(a_close_reason_is_cut_to_what_a_frame_holds),
        cmocka_unit_test(a_code_that_must_not_be_sent_becomes_1011),
        cmocka_unit_test(frames_of_one_turn_are_written_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
