/* RFC 6455 §5 to §8 for a reader: what a peer may send, and the close code for what it must not
 * send. Every row is fed in one piece, byte by byte, and in pieces of seven bytes. */
#include "transport/websocket_frames.h"

#include "transport/websocket_frame.h"

#define CAP 300

typedef struct frame {
    unsigned first;   /* FIN, RSV and opcode */
    const char *text; /* the payload; NULL: `xs` times "x" */
    unsigned xs;
    bool other_mask; /* masked although it must not be, or the opposite */
} frame;

typedef struct row {
    const char *name;
    frame frames[8];
    const char *want; /* one word per event */
} row;

/* m(text) p(ping) o(pong) c(code,reason) w(code) */
static void note(arcp_buf *log, const arcp__websocket_event *event)
{
    switch (event->type) {
    case ARCP__WEBSOCKET_NOTHING:
        return;
    case ARCP__WEBSOCKET_MESSAGE:
    case ARCP__WEBSOCKET_PINGED:
    case ARCP__WEBSOCKET_PONGED:
        arcp_buf_append_cstr(log, event->type == ARCP__WEBSOCKET_MESSAGE  ? "m("
                                  : event->type == ARCP__WEBSOCKET_PINGED ? "p("
                                                                          : "o(");
        if (event->data.size > 40) {
            arcp_buf_append_format(log, "%zu bytes", event->data.size);
        } else {
            arcp_buf_append(log, event->data);
        }
        arcp_buf_append_cstr(log, ") ");
        return;
    case ARCP__WEBSOCKET_CLOSED:
        arcp_buf_append_format(log, "c(%u,", event->code);
        arcp_buf_append(log, event->data);
        arcp_buf_append_cstr(log, ") ");
        return;
    case ARCP__WEBSOCKET_WRONG:
        assert_true(strlen(event->why) > 0);
        arcp_buf_append_format(log, "w(%u) ", event->code);
        return;
    }
}

static void read_in_pieces(arcp__websocket_role role, arcp_span bytes, size_t piece, arcp_buf *log)
{
    arcp__websocket_pool *pool = arcp__websocket_pool_new(role);
    assert_non_null(pool);
    arcp__websocket_reader reader;
    arcp__websocket_reader_init(&reader, pool, CAP, 0);
    while (bytes.size > 0) {
        arcp_span input = arcp_span_first(bytes, piece);
        bytes = arcp_span_from(bytes, input.size);
        arcp__websocket_event event;
        do {
            event = arcp__websocket_reader_next(&reader, &input);
            note(log, &event);
        } while (event.type != ARCP__WEBSOCKET_NOTHING);
        assert_int_equal(input.size, 0);
    }
    arcp__websocket_reader_fini(&reader);
    arcp__websocket_pool_unref(pool);
}

static void put_row(arcp__websocket_role role, const row *this_row, arcp_buf *out)
{
    for (const frame *f = this_row->frames; f->text != NULL || f->xs > 0; f++) {
        static char xs[CAP + 1];
        memset(xs, 'x', sizeof xs);
        const arcp_span payload =
            f->text != NULL ? arcp_span_cstr(f->text) : arcp_span_make(xs, f->xs);
        const bool masked = (role == ARCP__WEBSOCKET_SERVER) != f->other_mask;
        put_frame(out, f->first, masked, payload);
    }
}

static void check_bytes(arcp__websocket_role role, const char *name, arcp_span bytes,
                        const char *want)
{
    static const size_t pieces[] = {100000, 1, 7};
    for (size_t i = 0; i < 3; i++) {
        arcp_buf log = arcp_buf_init();
        read_in_pieces(role, bytes, pieces[i], &log);
        if (!arcp_span_equal_cstr(arcp_buf_span(&log), want)) {
            fail_msg("%s, in pieces of %zu: got \"%.*s\", want \"%s\"", name, pieces[i],
                     (int)log.size, log.size == 0 ? "" : log.data, want);
        }
        arcp_buf_fini(&log);
    }
}

static void check_rows(arcp__websocket_role role, const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        arcp_buf bytes = arcp_buf_init();
        put_row(role, &rows[i], &bytes);
        check_bytes(role, rows[i].name, arcp_buf_span(&bytes), rows[i].want);
        arcp_buf_fini(&bytes);
    }
}

#define F(first, text)                                                                             \
    {                                                                                              \
        (first), (text), 0, false                                                                  \
    }
#define X(first, xs)                                                                               \
    {                                                                                              \
        (first), NULL, (xs), false                                                                 \
    }
#define W(first, text)                                                                             \
    {                                                                                              \
        (first), (text), 0, true                                                                   \
    } /* the opposite masking */

static const row server_rows[] = {
    {"a text", {F(FIN | TEXT, "hello")}, "m(hello) "},
    {"an empty text", {F(FIN | TEXT, "")}, "m() "},
    {"two texts", {F(FIN | TEXT, "a"), F(FIN | TEXT, "b")}, "m(a) m(b) "},
    {"a text with a 16-bit length", {X(FIN | TEXT, 126)}, "m(126 bytes) "},
    {"a text at the limit", {X(FIN | TEXT, CAP)}, "m(300 bytes) "},
    {"a text above the limit", {X(FIN | TEXT, CAP + 1)}, "w(1009) "},
    {"a text in three fragments",
     {F(TEXT, "ab"), F(CONTINUATION, "cd"), F(FIN | CONTINUATION, "ef")},
     "m(abcdef) "},
    {"fragments, some of them empty",
     {F(TEXT, ""), F(CONTINUATION, ""), F(FIN | CONTINUATION, "x")},
     "m(x) "},
    {"fragments, all of them empty",
     {F(TEXT, ""), F(CONTINUATION, ""), F(FIN | CONTINUATION, "")},
     "m() "},
    {"two fragmented texts",
     {F(TEXT, "a"), F(FIN | CONTINUATION, "b"), F(TEXT, "c"), F(FIN | CONTINUATION, "d")},
     "m(ab) m(cd) "},
    {"a ping between fragments",
     {F(TEXT, "ab"), F(FIN | PING, "?"), F(FIN | CONTINUATION, "cd")},
     "p(?) m(abcd) "},
    {"many controls between fragments",
     {F(TEXT, "a"), F(FIN | PING, "1"), F(FIN | PONG, "2"), F(CONTINUATION, "b"), F(FIN | PING, ""),
      F(FIN | CONTINUATION, "c"), F(FIN | TEXT, "d")},
     "p(1) o(2) p() m(abc) m(d) "},
    {"fragments that add up to the cap",
     {X(TEXT, 200), X(FIN | CONTINUATION, 100)},
     "m(300 bytes) "},
    {"fragments that add up to more", {X(TEXT, 200), X(FIN | CONTINUATION, 101)}, "w(1009) "},
    {"fragments without end",
     {X(TEXT, 100), X(CONTINUATION, 100), X(CONTINUATION, 100), F(CONTINUATION, "x")},
     "w(1009) "},
    {"a ping of the maximum size", {X(FIN | PING, 125)}, "p(125 bytes) "},
    {"a ping above the maximum size", {X(FIN | PING, 126)}, "w(1002) "},
    {"a fragmented ping", {F(PING, "x")}, "w(1002) "},
    {"a fragmented close", {F(CLOSE, "")}, "w(1002) "},
    {"an unsolicited pong", {F(FIN | PONG, "x")}, "o(x) "},
    {"RSV1", {F(FIN | RSV1 | TEXT, "x")}, "w(1002) "},
    {"RSV2", {F(FIN | RSV2 | TEXT, "x")}, "w(1002) "},
    {"RSV3", {F(FIN | RSV3 | TEXT, "x")}, "w(1002) "},
    {"RSV1 on a ping", {F(FIN | RSV1 | PING, "x")}, "w(1002) "},
    {"RSV3 on a continuation", {F(TEXT, "x"), F(FIN | RSV3 | CONTINUATION, "x")}, "w(1002) "},
    {"opcode 3", {F(FIN | 0x3, "x")}, "w(1002) "},
    {"opcode 7", {F(FIN | 0x7, "")}, "w(1002) "},
    {"opcode 11", {F(FIN | 0xb, "x")}, "w(1002) "},
    {"opcode 15", {F(FIN | 0xf, "")}, "w(1002) "},
    {"a continuation first", {F(FIN | CONTINUATION, "x")}, "w(1002) "},
    {"an open continuation first", {F(CONTINUATION, "x")}, "w(1002) "},
    {"a continuation behind a whole text",
     {F(FIN | TEXT, "a"), F(FIN | CONTINUATION, "x")},
     "m(a) w(1002) "},
    {"a text inside a fragmented one", {F(TEXT, "a"), F(FIN | TEXT, "b")}, "w(1002) "},
    {"a binary inside a fragmented text", {F(TEXT, "a"), F(FIN | BINARY, "b")}, "w(1002) "},
    {"a binary", {F(FIN | BINARY, "x")}, "w(1003) "},
    {"an empty binary", {F(FIN | BINARY, "")}, "w(1003) "},
    {"a fragmented binary", {F(BINARY, "x")}, "w(1003) "},
    {"a text behind an error", {F(FIN | BINARY, "x"), F(FIN | TEXT, "never")}, "w(1003) "},
    {"an unmasked text", {W(FIN | TEXT, "x")}, "w(1002) "},
    {"an unmasked empty text", {W(FIN | TEXT, "")}, "w(1002) "},
    {"an unmasked ping", {W(FIN | PING, "x")}, "w(1002) "},
    {"an unmasked second text", {F(FIN | TEXT, "a"), W(FIN | TEXT, "x")}, "m(a) w(1002) "},
    {"a close without a code", {F(FIN | CLOSE, "")}, "c(1005,) "},
    {"a close code of one byte", {F(FIN | CLOSE, "\x03")}, "w(1002) "},
    {"a close", {F(FIN | CLOSE, "\x03\xe8")}, "c(1000,) "},
    {"a close with a reason", {F(FIN | CLOSE, "\x03\xe9going")}, "c(1001,going) "},
    {"a close with an invalid code", {F(FIN | CLOSE, "\x03\xee")}, "w(1002) "},
    {"a close with a long reason", {X(FIN | CLOSE, 126)}, "w(1002) "},
    {"a close reason that is not UTF-8",
     {F(FIN | CLOSE, "\x03\xe8"
                     "a\xff")},
     "w(1007) "},
    {"a close reason that is cut",
     {F(FIN | CLOSE, "\x03\xe8"
                     "a\xe2\x82")},
     "w(1007) "},
    {"a close inside a fragmented text", {F(TEXT, "a"), F(FIN | CLOSE, "\x03\xe8")}, "c(1000,) "},
    {"frames behind a close",
     {F(FIN | CLOSE, "\x03\xe8"), F(FIN | TEXT, "never"), F(FIN | PING, "never")},
     "c(1000,) "},
};

static void frames_from_a_client_are_delivered_or_refused(void **state)
{
    check_rows(ARCP__WEBSOCKET_SERVER, server_rows, sizeof server_rows / sizeof server_rows[0]);
}

static const row client_rows[] = {
    {"a text", {F(FIN | TEXT, "hello")}, "m(hello) "},
    {"fragments with a ping",
     {F(TEXT, "a"), F(FIN | PING, "?"), F(FIN | CONTINUATION, "b")},
     "p(?) m(ab) "},
    {"a masked text", {W(FIN | TEXT, "x")}, "w(1002) "},
    {"a masked close", {W(FIN | CLOSE, "\x03\xe8")}, "w(1002) "},
    {"a close with a private code", {F(FIN | CLOSE, "\x0f\xa0ours")}, "c(4000,ours) "},
    {"a text above the limit", {X(FIN | TEXT, CAP + 1)}, "w(1009) "},
};

static void frames_from_a_server_are_delivered_or_refused(void **state)
{
    check_rows(ARCP__WEBSOCKET_CLIENT, client_rows, sizeof client_rows / sizeof client_rows[0]);
}

static void lengths_must_have_the_shortest_form(void **state)
{
    static const struct {
        const char *name;
        arcp_span bytes;
        const char *want;
    } rows[] = {
        {"16 bits for 125", {"\x81\xfe\x00\x7dmask", 8}, "w(1002) "},
        {"64 bits for 65535", {"\x81\xff\0\0\0\0\0\0\xff\xffmask", 14}, "w(1002) "},
        {"the top bit", {"\x81\xff\x80\0\0\0\0\0\0\0mask", 14}, "w(1002) "},
        {"2^63 - 1", {"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xffmaskx", 15}, "w(1009) "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_bytes(ARCP__WEBSOCKET_SERVER, rows[i].name, rows[i].bytes, rows[i].want);
    }
}

static void a_close_reason_may_fill_the_control_frame(void **state)
{
    arcp_buf bytes = arcp_buf_init();
    arcp_buf log = arcp_buf_init();
    char reason[124] = "";
    memset(reason, 'r', 123);
    put_close(&bytes, true, 1000, reason);
    read_in_pieces(ARCP__WEBSOCKET_SERVER, arcp_buf_span(&bytes), 1, &log);
    assert_int_equal(log.size, strlen("c(1000,) ") + 123);
    arcp_buf_fini(&bytes);
    arcp_buf_fini(&log);
}

/* Cases 7.7 and 7.9 of Autobahn, and the IANA registry. */
static void only_close_codes_that_may_be_sent_are_valid(void **state)
{
    static const struct {
        unsigned from, to;
        bool valid;
    } rows[] = {
        {0, 999, false},     {1000, 1003, true}, {1004, 1006, false},  {1007, 1014, true},
        {1015, 2999, false}, {3000, 4999, true}, {5000, 65535, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (unsigned code = rows[i].from; code <= rows[i].to; code++) {
            if (arcp__websocket_close_code_is_valid(code) != rows[i].valid) {
                fail_msg("code %u", code);
            }
        }
    }
}

/* Idle connections have neither a decoder nor a buffer. */
static void an_idle_reader_holds_no_memory(void **state)
{
    arcp__websocket_pool *pool = arcp__websocket_pool_new(ARCP__WEBSOCKET_SERVER);
    arcp__websocket_reader reader;
    arcp__websocket_reader_init(&reader, pool, 1 << 20, 0);
    arcp_buf bytes = arcp_buf_init();
    put_text(&bytes, TEXT, true, "in");
    put_text(&bytes, FIN | PING, true, "?");
    put_text(&bytes, FIN | CONTINUATION, true, " pieces");
    arcp_span input = arcp_buf_span(&bytes);
    arcp__websocket_event event;
    do {
        event = arcp__websocket_reader_next(&reader, &input);
    } while (event.type != ARCP__WEBSOCKET_NOTHING);
    assert_null(reader.decoder);
    assert_null(reader.message.data);
    assert_int_equal(reader.message.capacity, 0);
    arcp_buf_fini(&bytes);
    arcp__websocket_reader_fini(&reader);
    arcp__websocket_pool_unref(pool);
}

/* A reader that is stopped between two messages continues with the second one. */
static void messages_are_read_one_at_a_time(void **state)
{
    arcp__websocket_pool *pool = arcp__websocket_pool_new(ARCP__WEBSOCKET_SERVER);
    arcp__websocket_reader reader;
    arcp__websocket_reader_init(&reader, pool, CAP, 0);
    arcp_buf bytes = arcp_buf_init();
    put_text(&bytes, FIN | TEXT, true, "a");
    put_text(&bytes, FIN | TEXT, true, "b");
    arcp_span input = arcp_buf_span(&bytes);
    const arcp__websocket_event first = arcp__websocket_reader_next(&reader, &input);
    assert_int_equal(first.type, ARCP__WEBSOCKET_MESSAGE);
    check_span(first.data, "a");
    arcp_span no_more = {NULL, 0};
    const arcp__websocket_event second =
        arcp__websocket_reader_next(&reader, input.size == 0 ? &no_more : &input);
    assert_int_equal(second.type, ARCP__WEBSOCKET_MESSAGE);
    check_span(second.data, "b");
    arcp_buf_fini(&bytes);
    arcp__websocket_reader_fini(&reader);
    arcp__websocket_pool_unref(pool);
}

static void a_reader_may_be_freed_in_the_middle_of_a_frame(void **state)
{
    arcp__websocket_pool *pool = arcp__websocket_pool_new(ARCP__WEBSOCKET_SERVER);
    arcp_buf bytes = arcp_buf_init();
    put_text(&bytes, FIN | TEXT, true, "hello");
    for (size_t size = 0; size <= bytes.size; size++) {
        arcp__websocket_reader reader;
        arcp__websocket_reader_init(&reader, pool, CAP, 0);
        arcp_span input = arcp_span_first(arcp_buf_span(&bytes), size);
        (void)arcp__websocket_reader_next(&reader, &input);
        arcp__websocket_reader_fini(&reader);
    }
    /* The next reader from the pool starts clean. */
    arcp_buf log = arcp_buf_init();
    arcp__websocket_reader reader;
    arcp__websocket_reader_init(&reader, pool, CAP, 0);
    arcp_span input = arcp_buf_span(&bytes);
    arcp__websocket_event event = arcp__websocket_reader_next(&reader, &input);
    note(&log, &event);
    check_span(arcp_buf_span(&log), "m(hello) ");
    arcp__websocket_reader_fini(&reader);
    arcp_buf_fini(&log);
    arcp_buf_fini(&bytes);
    arcp__websocket_pool_unref(pool);
}

/* ---- the encoder ---- */

static void an_encoded_frame_matches_the_examples_of_the_rfc(void **state)
{
    arcp__websocket_pool *pool = arcp__websocket_pool_new(ARCP__WEBSOCKET_SERVER);
    static const size_t sizes[] = {0, 1, 125, 126, 127, 65535, 65536, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *text = malloc(sizes[i] + 1);
        assert_non_null(text);
        memset(text, 'e', sizes[i] + 1);
        arcp_buf got = arcp_buf_init();
        arcp_buf want = arcp_buf_init();
        const arcp_span payload = arcp_span_make(text, sizes[i]);
        assert_true(arcp__websocket_frame_append(pool, ARCP__WEBSOCKET_TEXT, payload, &got));
        put_frame(&want, FIN | TEXT, false, payload);
        assert_true(arcp_span_equal(arcp_buf_span(&got), arcp_buf_span(&want)));
        arcp_buf_fini(&got);
        arcp_buf_fini(&want);
        free(text);
    }
    arcp__websocket_pool_unref(pool);
}

static void a_client_masks_each_frame_with_another_key(void **state)
{
    arcp__websocket_pool *pool = arcp__websocket_pool_new(ARCP__WEBSOCKET_CLIENT);
    arcp_buf bytes = arcp_buf_init();
    enum { COUNT = 200 };
    for (int i = 0; i < COUNT; i++) {
        assert_true(arcp__websocket_frame_append(pool, ARCP__WEBSOCKET_TEXT,
                                                 ARCP_SPAN_LITERAL("ab"), &bytes));
    }
    assert_int_equal(bytes.size, COUNT * 8);
    int same = 0;
    for (size_t i = 1; i < COUNT; i++) {
        same += memcmp(bytes.data + 8 * i + 2, bytes.data + 8 * (i - 1) + 2, 4) == 0;
    }
    assert_int_equal(same, 0);
    arcp_buf log = arcp_buf_init();
    read_in_pieces(ARCP__WEBSOCKET_SERVER, arcp_span_first(arcp_buf_span(&bytes), 16), 100, &log);
    check_span(arcp_buf_span(&log), "m(ab) m(ab) ");
    arcp_buf_fini(&log);
    arcp_buf_fini(&bytes);
    arcp__websocket_pool_unref(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_from_a_client_are_delivered_or_refused),
        cmocka_unit_test(frames_from_a_server_are_delivered_or_refused),
        cmocka_unit_test(lengths_must_have_the_shortest_form),
        cmocka_unit_test(a_close_reason_may_fill_the_control_frame),
        cmocka_unit_test(only_close_codes_that_may_be_sent_are_valid),
        cmocka_unit_test(an_idle_reader_holds_no_memory),
        cmocka_unit_test(messages_are_read_one_at_a_time),
        cmocka_unit_test(a_reader_may_be_freed_in_the_middle_of_a_frame),
        cmocka_unit_test(an_encoded_frame_matches_the_examples_of_the_rfc),
        cmocka_unit_test(a_client_masks_each_frame_with_another_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
