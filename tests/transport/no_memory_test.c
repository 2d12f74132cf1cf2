/* Each allocation of a complete run fails once: setting up, frames in both directions (small,
 * large, in pieces), pauses, closing. Every failure must be reported to an owner, nothing may hang,
 * and no memory, handle or descriptor may leak. */
#include "support/failing_alloc.h"
#include "transport/loop_support.h"
#include "transport/owner.h"
#include "transport/tls_files.h"

#include <unistd.h>

typedef struct story {
    test_loop test;
    arcp_listener *listener;
    owner a;
    owner b;
    arcp_connector *connector;
    bool over; /* it failed, and the failure was reported */
} story;

static void on_accepted(void *user, arcp_connection *connection)
{
    story *s = user;
    if (s->a.connection != NULL) { /* the previous client was given up */
        owner_release(&s->a);
        s->a = (owner){0};
    }
    owner_take(&s->a, connection);
}

static void on_connected(void *user, arcp_connection *connection)
{
    story *s = user;
    s->connector = NULL;
    owner_take(&s->b, connection);
}

static void on_failed(void *user, const arcp_error *err)
{
    story *s = user;
    assert_true(err->status == ARCP_E_IO || err->status == ARCP_E_NO_MEMORY);
    assert_true(strlen(err->message) > 0);
    s->connector = NULL;
    s->over = true;
}

/* True if it worked; otherwise the error must be about memory. */
static bool worked(story *s, arcp_status status, const arcp_error *err)
{
    if (status == ARCP_OK) {
        return true;
    }
    assert_int_equal(status, ARCP_E_NO_MEMORY);
    assert_int_equal(err->status, ARCP_E_NO_MEMORY);
    s->over = true;
    return false;
}

static void begin_websocket(story *s, bool secure)
{
    arcp_error err = {0};
    arcp_listen_options listen = arcp_listen_options_init();
    const char *const names[] = {"localhost"};
    const char *const origins[] = {"http://localhost"};
    listen.hosts = names;
    listen.host_count = 1;
    listen.origins = origins;
    listen.origin_count = 1;
    listen.certificate_file = test_tls_files.certificate;
    listen.key_file = test_tls_files.key;
    arcp_listener_callbacks accepted = {.accepted = on_accepted, .user = s};
    arcp_status status =
        arcp_listen_websocket(&s->test.loop, secure ? "wss://127.0.0.1:0" : "ws://127.0.0.1:0",
                              &listen, &accepted, &s->listener, &err);
    if (!worked(s, status, &err)) {
        return;
    }
    arcp_connect_options connect = arcp_connect_options_init();
    connect.ca_file = test_tls_files.ca;
    arcp_connect_callbacks connected = {on_connected, on_failed, s};
    status = arcp_connect(&s->test.loop, s->listener->ops->url(s->listener), &connect, &connected,
                          &s->connector, &err);
    if (!worked(s, status, &err)) {
        return;
    }
    run_until(&s->test, s->over || (s->a.connection != NULL && s->b.connection != NULL));
}

static void begin_ws(story *s)
{
    begin_websocket(s, false);
}

static void begin_wss(story *s)
{
    begin_websocket(s, true);
}

static void begin_stdio(story *s)
{
    int forth[2];
    int back[2];
    arcp_error err = {0};
    arcp_connection *connection = NULL;
    assert_int_equal(pipe(forth), 0);
    assert_int_equal(pipe(back), 0);
    if (worked(s, arcp_open_stdio(&s->test.loop, back[0], forth[1], NULL, &connection, &err),
               &err)) {
        owner_take(&s->a, connection);
    } else {
        close(back[0]); /* still ours */
        close(forth[1]);
    }
    if (worked(s, arcp_open_stdio(&s->test.loop, forth[0], back[1], NULL, &connection, &err),
               &err)) {
        owner_take(&s->b, connection);
    } else {
        close(forth[0]);
        close(back[1]);
    }
}

static void begin_files(story *s)
{
    const int input = open_temporary("one\ntwo\n");
    const int output = open_temporary("");
    arcp_error err = {0};
    arcp_connection *connection = NULL;
    if (worked(s, arcp_open_stdio(&s->test.loop, input, output, NULL, &connection, &err), &err)) {
        owner_take(&s->a, connection);
        run_until(&s->test, s->a.messages == 2 || s->a.closed);
        s->over = true; /* there is no peer */
    } else {
        close(input);
        close(output);
    }
}

static void begin_child(story *s)
{
    arcp_error err = {0};
    arcp_connect_callbacks connected = {on_connected, on_failed, s};
    if (worked(s, arcp_connect(&s->test.loop, "stdio:cat", NULL, &connected, &s->connector, &err),
               &err)) {
        run_until(&s->test, s->over || s->b.connection != NULL);
        if (!s->over && owner_send(&s->b, ARCP_SPAN_LITERAL("to the program and back")) == 0) {
            run_until(&s->test, s->b.messages == 1 || s->b.closed);
        }
        s->over = true;
    }
}

static void begin_memory(story *s)
{
    arcp_error err = {0};
    arcp_connection *a = NULL;
    arcp_connection *b = NULL;
    if (worked(s, arcp_memory_pair(&s->test.loop, NULL, &a, &b, &err), &err)) {
        owner_take(&s->a, a);
        owner_take(&s->b, b);
    }
}

/* Sends frames; returns how many were accepted. */
static size_t send_some(owner *from)
{
    static char big[200 * 1024];
    size_t sent = 0;
    memset(big, 'x', sizeof big);
    sent += owner_send(from, ARCP_SPAN_LITERAL("small")) == ARCP_OK;
    sent += owner_send(from, arcp_span_make(big, sizeof big)) == ARCP_OK;
    sent += owner_send(from, ARCP_SPAN_LITERAL("behind it")) == ARCP_OK;
    owner_flush(from);
    return sent;
}

static void middle(story *s)
{
    owner_pause(&s->b);
    const size_t to_b = send_some(&s->a);
    const size_t to_a = send_some(&s->b);
    test_loop_settle(&s->test);
    owner_resume(&s->b);
    run_until(&s->test,
              s->a.closed || s->b.closed || (s->b.messages == to_b && s->a.messages == to_a));
    owner_close(&s->a, ARCP_CLOSE_NORMAL, "done");
    run_until(&s->test, s->a.closed);
    run_until(&s->test, s->b.closed);
}

static void finish(story *s)
{
    if (s->connector != NULL) {
        arcp_connector_cancel(s->connector);
    }
    owner_fini(&s->a);
    owner_fini(&s->b);
    if (s->listener != NULL) {
        s->listener->ops->close(s->listener);
    }
    test_loop_fini(&s->test);
}

static size_t play_story(void (*begin)(story *s), size_t fail_at, bool all)
{
    story s;
    memset(&s, 0, sizeof s);
    test_loop_init(&s.test);
    const size_t before = failing_alloc_count();
    if (fail_at != 0) {
        failing_alloc_arm(fail_at, all ? FAILING_ALLOC_ALL_AFTER : FAILING_ALLOC_ONE);
    }
    begin(&s);
    if (!s.over) {
        middle(&s);
    }
    const size_t count = failing_alloc_count() - before;
    (void)failing_alloc_disarm();
    finish(&s);
    return count;
}

/* Runs once with each single allocation failing, and once with all failing from there on. */
static void sweep(void (*begin)(story *s))
{
    const size_t count = play_story(begin, 0, false);
    assert_true(count > 3);
    for (size_t n = 1; n <= count; n++) {
        play_story(begin, n, false);
        play_story(begin, n, true);
    }
}

static void out_of_memory_a_frame_is_refused_and_the_next_one_is_sent(void **state)
{
    static char big[200 * 1024];
    void (*const begins[])(story * s) = {begin_memory, begin_stdio};
    memset(big, 'x', sizeof big);
    for (size_t i = 0; i < 2; i++) {
        story s;
        memset(&s, 0, sizeof s);
        test_loop_init(&s.test);
        begins[i](&s);
        failing_alloc_arm(1, FAILING_ALLOC_ONE);
        assert_int_equal(owner_send(&s.a, arcp_span_make(big, sizeof big)), ARCP_E_NO_MEMORY);
        assert_true(failing_alloc_disarm());
        owner_send_text(&s.a, "small");
        run_until(&s.test, s.b.messages == 1);
        assert_int_equal(s.b.last_size, strlen("small"));
        finish(&s);
    }
}

static void ws_survives_each_failure(void **state)
{
    sweep(begin_ws);
}

static void wss_survives_each_failure(void **state)
{
    sweep(begin_wss);
}

static void stdio_survives_each_failure(void **state)
{
    sweep(begin_stdio);
}

static void files_survive_each_failure(void **state)
{
    sweep(begin_files);
}

static void programs_survive_each_failure(void **state)
{
    sweep(begin_child);
}

static void memory_survives_each_failure(void **state)
{
    sweep(begin_memory);
}

/* libuv accepts no further peer before the current one is taken. */
static void a_peer_refused_out_of_memory_does_not_block_the_next(void **state)
{
    story s;
    memset(&s, 0, sizeof s);
    test_loop_init(&s.test);
    arcp_error err = {0};
    arcp_listener_callbacks accepted = {.accepted = on_accepted, .user = &s};
    check_ok(
        arcp_listen_websocket(&s.test.loop, "ws://127.0.0.1:0", NULL, &accepted, &s.listener, &err),
        &err);
    for (int i = 0; i < 5; i++) {
        s.over = false;
        arcp_connect_callbacks connected = {on_connected, on_failed, &s};
        check_ok(arcp_connect(&s.test.loop, s.listener->ops->url(s.listener), NULL, &connected,
                              &s.connector, &err),
                 &err);
        /* The client's stream is the next allocation, the server's the one after it. */
        failing_alloc_arm(2, FAILING_ALLOC_ONE);
        run_until(&s.test, s.over);
        (void)failing_alloc_disarm();
    }
    arcp_connect_callbacks connected = {on_connected, on_failed, &s};
    s.over = false;
    check_ok(arcp_connect(&s.test.loop, s.listener->ops->url(s.listener), NULL, &connected,
                          &s.connector, &err),
             &err);
    run_until(&s.test, s.a.connection != NULL && s.b.connection != NULL);
    finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ws_survives_each_failure),
        cmocka_unit_test(wss_survives_each_failure),
        cmocka_unit_test(out_of_memory_a_frame_is_refused_and_the_next_one_is_sent),
        cmocka_unit_test(stdio_survives_each_failure),
        cmocka_unit_test(files_survive_each_failure),
        cmocka_unit_test(programs_survive_each_failure),
        cmocka_unit_test(memory_survives_each_failure),
        cmocka_unit_test(a_peer_refused_out_of_memory_does_not_block_the_next),
    };
    return cmocka_run_group_tests(tests, tls_files_setup, tls_files_teardown);
}
