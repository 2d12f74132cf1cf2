/* A link over a socket pair: its other end is this test, which reads and writes bytes. */
#include "support/check.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "worker/worker_link.h"

typedef struct rig {
    uv_loop_t loop;
    arcp__worker_link *link;
    int fd; /* the other end; -1: closed */
    bool refuses;
    size_t rooms, ends;
    char why[200]; /* of the end; "": none */
    arcp_buf got;  /* the heads and bodies that came */
} rig;

static arcp_status on_message(void *user, const arcp__worker_message *message, arcp_error *err)
{
    rig *r = user;
    arcp__worker_message_write(message, &r->got);
    return r->refuses ? arcp_error_set(err, ARCP_E_INVALID_REQUEST, "not this one") : ARCP_OK;
}

static void on_room(void *user)
{
    ((rig *)user)->rooms++;
}

static void on_ended(void *user, const char *why)
{
    rig *r = user;
    r->ends++;
    (void)snprintf(r->why, sizeof r->why, "%s", why == NULL ? "" : why);
}

static void open_link(rig *r, arcp__worker_side ours)
{
    const arcp__worker_link_events events = {
        .message = on_message, .has_room = on_room, .ended = on_ended, .user = r};
    int pair[2];
    arcp_error error = {0};
    *r = (rig){.fd = -1};
    assert_int_equal(uv_loop_init(&r->loop), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    r->fd = pair[1];
    check_ok(arcp__worker_link_new(&r->loop, pair[0], ours, &events, &r->link, &error), &error);
}

static void close_link(rig *r)
{
    arcp__worker_link_close(r->link);
    if (r->fd >= 0) {
        (void)close(r->fd);
    }
    (void)uv_run(&r->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&r->loop), 0);
    arcp_buf_fini(&r->got);
}

static void put(const rig *r, arcp_span bytes)
{
    assert_int_equal(write(r->fd, bytes.data, bytes.size), (ssize_t)bytes.size);
}

/* A message with its size. */
static arcp_buf frame_of(const char *text)
{
    arcp_buf frame = arcp_buf_init();
    const size_t size = strlen(text);
    for (unsigned i = 0; i < 4; i++) {
        arcp_buf_append_byte(&frame, (char)(unsigned char)(size >> (24 - 8 * i)));
    }
    arcp_buf_append_cstr(&frame, text);
    return frame;
}

static void put_message(const rig *r, const char *text)
{
    arcp_buf frame = frame_of(text);
    put(r, arcp_buf_span(&frame));
    arcp_buf_fini(&frame);
}

static void check_got(rig *r, const char *text)
{
    check_span(arcp_buf_span(&r->got), text);
    arcp_buf_clear(&r->got);
}

#define PING_1 "{\"type\":\"ping\",\"number\":1}\n"
#define PING_2 "{\"type\":\"ping\",\"number\":2}\n"

/* ---- messages ---- */

static void messages_come_in_order_however_their_bytes_do(void **state)
{
    rig r;
    (void)state;
    open_link(&r, ARCP__WORKER_SIDE_WORKER);
    arcp_buf frame = frame_of(PING_1);
    for (size_t i = 0; i + 1 < frame.size; i++) {
        put(&r, arcp_span_make(frame.data + i, 1));
        (void)uv_run(&r.loop, UV_RUN_NOWAIT);
    }
    check_got(&r, "");
    arcp_buf second = frame_of(PING_2);
    arcp_buf_append(&second, arcp_buf_span(&frame));
    put(&r, arcp_span_from(arcp_buf_span(&frame), frame.size - 1));
    put(&r, arcp_buf_span(&second));
    (void)uv_run(&r.loop, UV_RUN_NOWAIT);
    check_got(&r, PING_1 PING_2 PING_1);
    arcp_buf_fini(&frame);
    arcp_buf_fini(&second);
    close_link(&r);
}

static void what_is_sent_arrives_with_its_size(void **state)
{
    rig r;
    char bytes[200];
    (void)state;
    open_link(&r, ARCP__WORKER_SIDE_RUNTIME);
    const arcp__worker_message ping = {.kind = ARCP__WORKER_PING, .ping = {1}};
    arcp__worker_link_send(r.link, &ping);
    (void)uv_run(&r.loop, UV_RUN_NOWAIT);
    arcp_buf frame = frame_of(PING_1);
    assert_int_equal(read(r.fd, bytes, sizeof bytes), (ssize_t)frame.size);
    assert_memory_equal(bytes, frame.data, frame.size);
    arcp_buf_fini(&frame);
    close_link(&r);
}

/* Sends until the link takes no more, and reads everything. */
static void a_link_has_room_again_when_its_bytes_are_written(void **state)
{
    static char text[60000];
    static char bytes[65536];
    rig r;
    (void)state;
    open_link(&r, ARCP__WORKER_SIDE_WORKER);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\n';
    const arcp__worker_message items = {
        .kind = ARCP__WORKER_ITEMS,
        .items = {ARCP_SPAN_LITERAL("j"), 1, 1, ARCP__WORKER_ITEM_LINE},
        .body = {text, sizeof text}};
    size_t sent = 0;
    for (; arcp__worker_link_has_room(r.link); sent++) {
        arcp__worker_link_send(r.link, &items);
    }
    assert_in_range(sent * sizeof text, ARCP__WORKER_LINK_QUEUED_MAX,
                    ARCP__WORKER_LINK_QUEUED_MAX + sizeof text);
    (void)uv_run(&r.loop, UV_RUN_NOWAIT);
    assert_int_equal(r.rooms, 0); /* a socket takes less than that */
    size_t left = 0;
    while (r.rooms == 0) {
        const ssize_t size = read(r.fd, bytes, sizeof bytes);
        left += size > 0 ? (size_t)size : 0;
        (void)uv_run(&r.loop, UV_RUN_NOWAIT);
    }
    assert_true(arcp__worker_link_has_room(r.link));
    assert_true(left > sent * sizeof text / 2);
    close_link(&r);
}

/* ---- the end ---- */

static void run_to_end(rig *r, const char *why)
{
    (void)uv_run(&r->loop, UV_RUN_NOWAIT);
    (void)uv_run(&r->loop, UV_RUN_NOWAIT);
    assert_int_equal(r->ends, 1);
    assert_non_null(strstr(r->why, why));
}

static void the_other_side_can_close_it(void **state)
{
    rig r;
    (void)state;
    open_link(&r, ARCP__WORKER_SIDE_WORKER);
    put_message(&r, PING_1);
    (void)close(r.fd);
    r.fd = -1;
    run_to_end(&r, "");
    assert_string_equal(r.why, "");
    check_got(&r, PING_1);
    close_link(&r);
}

static void a_message_that_its_owner_refuses_ends_it(void **state)
{
    rig r;
    (void)state;
    open_link(&r, ARCP__WORKER_SIDE_WORKER);
    r.refuses = true;
    put_message(&r, PING_1);
    put_message(&r, PING_2);
    run_to_end(&r, "not this one");
    check_got(&r, PING_1);
    close_link(&r);
}

static void what_is_sent_after_its_end_is_dropped(void **state)
{
    rig r;
    (void)state;
    open_link(&r, ARCP__WORKER_SIDE_RUNTIME);
    (void)close(r.fd);
    r.fd = -1;
    run_to_end(&r, "");
    const arcp__worker_message ping = {.kind = ARCP__WORKER_PING, .ping = {1}};
    arcp__worker_link_send(r.link, &ping);
    (void)uv_run(&r.loop, UV_RUN_NOWAIT);
    assert_int_equal(r.ends, 1);
    close_link(&r);
}

typedef struct hostile_row {
    const char *name;
    const char *bytes;
    size_t size;
    const char *why;
} hostile_row;

#define BYTES(text) text, sizeof(text) - 1

/* To a worker, whose lines have at most ARCP__WORKER_BODY_MAX bytes: 64 KiB, a line feed, and one
 * such line with its line feed. */
static const hostile_row hostile_rows[] = {
    {"a size above the limit", BYTES("\x00\x11\x00\x03"), "a message of 1114115 bytes exceeds"},
    {"the largest size", BYTES("\xff\xff\xff\xff"), "exceeds"},
    {"an empty message", BYTES("\x00\x00\x00\x00"), "without a line feed"},
    {"no line feed", BYTES("\x00\x00\x00\x02{}"), "without a line feed"},
    {"no JSON", BYTES("\x00\x00\x00\x02x\n"), ""},
    {"no type", BYTES("\x00\x00\x00\x03{}\n"), "unknown type"},
    {"a message of a worker", BYTES("\x00\x00\x00\x1b{\"type\":\"hello\",\"v\":[1,1]}\n"),
     "this side must not send it"},
};

static void hostile_bytes_end_it(void **state)
{
    const hostile_row *row = *state;
    rig r;
    open_link(&r, ARCP__WORKER_SIDE_WORKER);
    put(&r, arcp_span_make(row->bytes, row->size));
    run_to_end(&r, row->why);
    assert_true(r.why[0] != '\0');
    check_got(&r, "");
    close_link(&r);
}

/* The size that is just not too large is waited for. */
static void the_largest_message_is_awaited(void **state)
{
    rig r;
    (void)state;
    open_link(&r, ARCP__WORKER_SIDE_WORKER);
    put(&r, ARCP_SPAN_LITERAL("\x00\x11\x00\x02"));
    (void)uv_run(&r.loop, UV_RUN_NOWAIT);
    assert_int_equal(r.ends, 0);
    arcp__worker_link_set_line_bytes(r.link, ARCP__WORKER_BODY_MAX + 7);
    close_link(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_in_order_however_their_bytes_do),
        cmocka_unit_test(what_is_sent_arrives_with_its_size),
        cmocka_unit_test(a_link_has_room_again_when_its_bytes_are_written),
        cmocka_unit_test(the_other_side_can_close_it),
        cmocka_unit_test(a_message_that_its_owner_refuses_ends_it),
        cmocka_unit_test(what_is_sent_after_its_end_is_dropped),
        cmocka_unit_test(the_largest_message_is_awaited),
    };
    const int failed = run_rows(hostile_rows, sizeof hostile_rows / sizeof hostile_rows[0],
                                sizeof hostile_rows[0], hostile_bytes_end_it);
    return cmocka_run_group_tests(tests, NULL, NULL) + failed;
}
