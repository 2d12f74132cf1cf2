/* Lines over whatever a shell may put at standard input and output. */
#include "transport/loop_support.h"
#include "transport/owner.h"
#include "transport/raw_peer.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* A connection between two ends that the test holds: `to` it, and `from` it. */
typedef struct stdio {
    test_loop test;
    owner owner;
    int to;
    int from;
} stdio;

static void open_over(stdio *s, int input, int output, size_t frame_bytes_max)
{
    arcp_stdio_options options = ARCP_STDIO_OPTIONS_INIT;
    options.frame_bytes_max = frame_bytes_max;
    options.close_timeout_ms = 2 * TEST_PATIENCE_MS;
    arcp_error err = {0};
    arcp_connection *connection = NULL;
    check_ok(arcp_open_stdio(&s->test.loop, input, output, &options, &connection, &err), &err);
    s->owner.keep = true;
    owner_take(&s->owner, connection);
}

static void stdio_open_for(stdio *s, bool wants_input_over)
{
    int in[2];
    int out[2];
    memset(s, 0, sizeof(*s));
    s->owner.wants_input_over = wants_input_over;
    test_loop_init(&s->test);
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    s->to = in[1];
    s->from = out[0];
    open_over(s, in[0], out[1], 100);
}

static void stdio_open(stdio *s)
{
    stdio_open_for(s, false);
}

static void hang_up(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

static void stdio_close(stdio *s)
{
    owner_fini(&s->owner);
    hang_up(&s->to);
    hang_up(&s->from);
    test_loop_fini(&s->test);
}

static void put(const stdio *s, const char *text)
{
    assert_int_equal(write(s->to, text, strlen(text)), (ssize_t)strlen(text));
}

static void expect_output(const stdio *s, const char *text)
{
    char got[256] = "";
    ssize_t size = read(s->from, got, sizeof(got) - 1);
    assert_true(size >= 0);
    assert_string_equal(got, text);
}

/* ---- lines ---- */

static void each_line_is_a_frame(void **state)
{
    stdio s;
    stdio_open(&s);
    put(&s, "{\"a\":1}\n\n  \n{\"b\":2}\r\npart");
    run_until(&s.test, s.owner.messages == 2);
    put(&s, "ly\n");
    run_until(&s.test, s.owner.messages == 3);
    check_span(arcp_buf_span(&s.owner.log), "{\"a\":1}|{\"b\":2}|partly|");
    stdio_close(&s);
}

static void each_frame_is_a_line(void **state)
{
    stdio s;
    stdio_open(&s);
    owner_send_text(&s.owner, "{\"a\":1}");
    owner_send_text(&s.owner, "{\"b\":2}");
    owner_flush(&s.owner);
    run_until(&s.test, s.owner.written == 14);
    expect_output(&s, "{\"a\":1}\n{\"b\":2}\n");
    stdio_close(&s);
}

static void a_frame_that_would_not_be_one_line_is_refused(void **state)
{
    stdio s;
    stdio_open(&s);
    assert_int_equal(owner_send(&s.owner, ARCP_SPAN_LITERAL("")), ARCP_E_INVALID_REQUEST);
    assert_int_equal(owner_send(&s.owner, ARCP_SPAN_LITERAL("{\n}")), ARCP_E_INVALID_REQUEST);
    assert_int_equal(owner_send(&s.owner, ARCP_SPAN_LITERAL("\n")), ARCP_E_INVALID_REQUEST);
    assert_int_equal(owner_unsent(&s.owner), 0);
    owner_send_text(&s.owner, "fine");
    owner_flush(&s.owner);
    expect_output(&s, "fine\n");
    stdio_close(&s);
}

static void a_last_line_without_an_end_is_a_frame(void **state)
{
    stdio s;
    stdio_open(&s);
    put(&s, "one\ntwo");
    hang_up(&s.to);
    run_until(&s.test, s.owner.closed);
    check_span(arcp_buf_span(&s.owner.log), "one|two|");
    assert_int_equal(s.owner.code, ARCP_CLOSE_NORMAL);
    stdio_close(&s);
}

static void a_line_above_the_cap_ends_the_connection(void **state)
{
    stdio s;
    stdio_open(&s);
    char line[103];
    memset(line, 'x', sizeof(line));
    line[100] = '\n';
    line[101] = '\0';
    put(&s, line);
    run_until(&s.test, s.owner.messages == 1);
    memset(line, 'x', sizeof(line));
    line[101] = '\n';
    line[102] = '\0';
    put(&s, line);
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.messages, 1);
    assert_int_equal(s.owner.code, ARCP_CLOSE_TOO_BIG);
    stdio_close(&s);
}

static void a_line_of_a_mebibyte_works_by_default(void **state)
{
    stdio s;
    int in[2];
    enum { SIZE = 1 << 20 };
    memset(&s, 0, sizeof(s));
    test_loop_init(&s.test);
    assert_int_equal(pipe(in), 0);
    s.to = in[1];
    s.from = open("/dev/null", O_RDONLY | O_CLOEXEC);
    open_over(&s, in[0], open("/dev/null", O_WRONLY | O_CLOEXEC), 0);
    s.owner.keep = false;
    char *line = malloc(SIZE);
    assert_non_null(line);
    memset(line, 'x', SIZE);
    line[SIZE - 1] = '\n';
    assert_true(fcntl(s.to, F_SETFL, O_NONBLOCK) == 0);
    size_t sent = 0;
    while (sent < SIZE) {
        ssize_t size = write(s.to, line + sent, SIZE - sent);
        sent += size > 0 ? (size_t)size : 0;
        test_loop_step(&s.test, "the line is read");
    }
    run_until(&s.test, s.owner.messages == 1);
    assert_int_equal(s.owner.last_size, SIZE - 1);
    free(line);
    stdio_close(&s);
}

/* ---- ends ---- */

static void reply(owner *self, arcp_span frame)
{
    assert_int_equal(owner_send(self, ARCP_SPAN_LITERAL("reply")), ARCP_OK);
}

static void the_end_of_the_input_lets_the_output_out(void **state)
{
    stdio s;
    stdio_open(&s);
    s.owner.on_message = reply;
    put(&s, "question");
    hang_up(&s.to);
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_NORMAL);
    expect_output(&s, "reply\n");
    expect_output(&s, ""); /* the end */
    stdio_close(&s);
}

static void an_owner_that_is_told_of_the_end_of_the_input_goes_on_sending(void **state)
{
    stdio s;
    stdio_open_for(&s, true);
    put(&s, "one\ntwo");
    hang_up(&s.to);
    run_until(&s.test, s.owner.input_overs == 1);
    check_span(arcp_buf_span(&s.owner.log), "one|two|");
    owner_send_text(&s.owner, "later");
    owner_flush(&s.owner);
    test_loop_settle(&s.test);
    expect_output(&s, "later\n");
    assert_false(s.owner.closed);
    owner_send_text(&s.owner, "last");
    owner_close(&s.owner, ARCP_CLOSE_NORMAL, "bye");
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_NORMAL);
    assert_string_equal(s.owner.reason, "bye");
    assert_int_equal(s.owner.input_overs, 1);
    expect_output(&s, "last\n");
    expect_output(&s, ""); /* the end */
    stdio_close(&s);
}

static void the_end_of_the_input_is_told_once_and_after_a_pause(void **state)
{
    stdio s;
    stdio_open_for(&s, true);
    owner_pause(&s.owner);
    put(&s, "one\n");
    hang_up(&s.to);
    test_loop_settle(&s.test);
    assert_int_equal(s.owner.input_overs, 0);
    for (int round = 0; round < 2; round++) {
        owner_resume(&s.owner);
        test_loop_settle(&s.test);
        assert_int_equal(s.owner.input_overs, 1);
        assert_int_equal(s.owner.messages, 1);
        owner_pause(&s.owner);
    }
    assert_false(s.owner.closed);
    stdio_close(&s);
}

static void a_reader_that_goes_after_the_end_of_the_input_is_abnormal(void **state)
{
    stdio s;
    stdio_open_for(&s, true);
    hang_up(&s.to);
    run_until(&s.test, s.owner.input_overs == 1);
    hang_up(&s.from);
    owner_send_text(&s.owner, "to nobody");
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_ABNORMAL);
    stdio_close(&s);
}

static void a_line_above_the_cap_at_the_end_of_the_input_ends_the_connection(void **state)
{
    stdio s;
    stdio_open_for(&s, true);
    char line[102];
    memset(line, 'x', sizeof(line));
    line[101] = '\0';
    put(&s, line);
    hang_up(&s.to);
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_TOO_BIG);
    assert_int_equal(s.owner.input_overs, 0);
    stdio_close(&s);
}

static void half_a_socket_can_be_written(void **state)
{
    stdio s;
    int ends[2];
    memset(&s, 0, sizeof(s));
    test_loop_init(&s.test);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    s.to = -1;
    s.from = ends[1];
    s.owner.wants_input_over = true;
    open_over(&s, ends[0], ends[0], 100);
    assert_int_equal(shutdown(s.from, SHUT_WR), 0);
    run_until(&s.test, s.owner.input_overs == 1);
    owner_send_text(&s.owner, "later");
    owner_close(&s.owner, ARCP_CLOSE_NORMAL, "bye");
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_NORMAL);
    expect_output(&s, "later\n");
    expect_output(&s, "");
    stdio_close(&s);
}

static void a_reader_that_is_gone_is_abnormal(void **state)
{
    stdio s;
    stdio_open(&s);
    hang_up(&s.from);
    owner_send_text(&s.owner, "to nobody");
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_ABNORMAL);
    assert_string_equal(s.owner.reason, "broken pipe");
    stdio_close(&s);
}

static void an_end_while_paused_waits_for_the_lines_before_it(void **state)
{
    stdio s;
    stdio_open(&s);
    owner_pause(&s.owner);
    put(&s, "one\ntwo");
    hang_up(&s.to);
    test_loop_settle(&s.test);
    assert_false(s.owner.closed);
    assert_int_equal(s.owner.messages, 0);
    owner_resume(&s.owner);
    run_until(&s.test, s.owner.closed);
    check_span(arcp_buf_span(&s.owner.log), "one|two|");
    stdio_close(&s);
}

/* ---- what descriptors can be ---- */

static void echo(owner *self, arcp_span frame)
{
    assert_int_equal(owner_send(self, frame), ARCP_OK);
}

static void files_can_be_read_and_written(void **state)
{
    stdio s;
    memset(&s, 0, sizeof(s));
    s.from = s.to = -1;
    test_loop_init(&s.test);
    int input = open_temporary("one\ntwo\n\nthree");
    int output = open_temporary("");
    int kept = fcntl(output, F_DUPFD_CLOEXEC, 0);
    open_over(&s, input, output, 100);
    s.owner.on_message = echo;
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_NORMAL);
    char text[64] = "";
    assert_true(pread(kept, text, sizeof(text) - 1, 0) >= 0);
    assert_string_equal(text, "one\ntwo\nthree\n");
    close(kept);
    stdio_close(&s);
}

static void a_file_can_be_paused_and_left(void **state)
{
    stdio s;
    memset(&s, 0, sizeof(s));
    s.from = s.to = -1;
    test_loop_init(&s.test);
    open_over(&s, open_temporary("one\ntwo\n"), open_temporary(""), 100);
    owner_pause(&s.owner);
    test_loop_settle(&s.test);
    assert_int_equal(s.owner.messages, 0);
    owner_resume(&s.owner);
    run_until(&s.test, s.owner.messages == 2);
    owner_send_text(&s.owner, "in the thread pool when we go");
    owner_flush(&s.owner);
    stdio_close(&s);
}

/* The thread pool, held until the test lets it go. */
#define POOL_THREADS 4 /* libuv's default */

static uv_sem_t pool_gate;

static void wait_at_gate(uv_work_t *work)
{
    uv_sem_wait(&pool_gate);
}

static void passed_gate(uv_work_t *work, int status)
{
}

static void what_a_file_gave_while_paused_comes_at_resume(void **state)
{
    stdio s;
    uv_work_t work[POOL_THREADS];
    memset(&s, 0, sizeof(s));
    s.from = s.to = -1;
    test_loop_init(&s.test);
    assert_int_equal(uv_sem_init(&pool_gate, 0), 0);
    for (size_t i = 0; i < POOL_THREADS; i++) {
        assert_int_equal(uv_queue_work(&s.test.loop, &work[i], wait_at_gate, passed_gate), 0);
    }
    open_over(&s, open_temporary("one\n"), open_temporary(""), 100);
    uv_run(&s.test.loop, UV_RUN_NOWAIT); /* reading has begun, behind the gate */
    owner_pause(&s.owner);
    for (size_t i = 0; i < POOL_THREADS; i++) {
        uv_sem_post(&pool_gate);
    }
    while (uv_loop_alive(&s.test.loop)) {
        test_loop_step(&s.test, "the thread pool has read");
    }
    assert_int_equal(s.owner.messages, 0);
    owner_resume(&s.owner);
    run_until(&s.test, s.owner.closed);
    check_span(arcp_buf_span(&s.owner.log), "one|");
    uv_sem_destroy(&pool_gate);
    stdio_close(&s);
}

static void dev_null_is_an_end_at_once(void **state)
{
    stdio s;
    memset(&s, 0, sizeof(s));
    s.from = s.to = -1;
    test_loop_init(&s.test);
    open_over(&s, open("/dev/null", O_RDONLY | O_CLOEXEC), open("/dev/null", O_WRONLY | O_CLOEXEC),
              100);
    owner_send_text(&s.owner, "nobody reads this");
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_NORMAL);
    stdio_close(&s);
}

static void a_disk_that_is_full_is_abnormal(void **state)
{
    stdio s;
    int in[2];
    memset(&s, 0, sizeof(s));
    test_loop_init(&s.test);
    assert_int_equal(pipe(in), 0);
    s.to = in[1];
    s.from = -1;
    open_over(&s, in[0], open("/dev/full", O_WRONLY | O_CLOEXEC), 100);
    owner_send_text(&s.owner, "does not fit");
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_ABNORMAL);
    assert_string_equal(s.owner.reason, "no space left on device");
    stdio_close(&s);
}

static void a_terminal_can_be_used(void **state)
{
    stdio s;
    memset(&s, 0, sizeof(s));
    s.from = -1;
    test_loop_init(&s.test);
    s.to = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(s.to >= 0);
    assert_int_equal(grantpt(s.to), 0);
    assert_int_equal(unlockpt(s.to), 0);
    int terminal = open(ptsname(s.to), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal >= 0);
    open_over(&s, terminal, terminal, 100);
    put(&s, "typed\n");
    run_until(&s.test, s.owner.messages == 1);
    check_span(arcp_buf_span(&s.owner.log), "typed|");
    owner_send_text(&s.owner, "shown");
    run_until(&s.test, s.owner.written == 5);
    char shown[64] = "";
    assert_true(read(s.to, shown, sizeof(shown) - 1) > 0);
    assert_non_null(strstr(shown, "typed")); /* the terminal's echo */
    stdio_close(&s);
}

static void a_tcp_socket_can_be_used(void **state)
{
    stdio s;
    raw_peer peer;
    char url[64];
    memset(&s, 0, sizeof(s));
    s.from = s.to = -1;
    test_loop_init(&s.test);
    int listener = raw_listen(url);
    raw_peer_connect(&peer, &s.test, url);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    open_over(&s, fd, fd, 100);
    raw_peer_send_text(&peer, "in\n");
    run_until(&s.test, s.owner.messages == 1);
    owner_send_text(&s.owner, "out");
    raw_peer_expect(&peer, "out\n");
    raw_peer_fini(&peer);
    close(listener);
    stdio_close(&s);
}

static void what_cannot_be_read_or_written_is_named(void **state)
{
    test_loop test;
    test_loop_init(&test);
    int pair[2];
    arcp_error err = {0};
    arcp_connection *connection = NULL;
    assert_int_equal(pipe(pair), 0);
    assert_int_equal(arcp_open_stdio(&test.loop, 9999, pair[1], NULL, &connection, &err),
                     ARCP_E_IO);
    assert_string_equal(err.message, "file descriptor 9999 is not open");
    assert_int_equal(arcp_open_stdio(&test.loop, pair[1], pair[1], NULL, &connection, &err),
                     ARCP_E_IO);
    assert_non_null(strstr(err.message, "cannot be read"));
    assert_int_equal(arcp_open_stdio(&test.loop, pair[0], pair[0], NULL, &connection, &err),
                     ARCP_E_IO);
    assert_non_null(strstr(err.message, "cannot be written"));
    int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(arcp_open_stdio(&test.loop, directory, pair[1], NULL, &connection, &err),
                     ARCP_E_IO);
    close(directory);
    int datagrams = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(arcp_open_stdio(&test.loop, datagrams, pair[1], NULL, &connection, &err),
                     ARCP_E_IO);
    assert_non_null(strstr(err.message, "is nothing to read or write"));
    close(datagrams);
    assert_null(connection);
    /* They are still the caller's. */
    assert_int_equal(close(pair[0]), 0);
    assert_int_equal(close(pair[1]), 0);
    test_loop_fini(&test);
}

/* Others may share what our descriptors stand for: a terminal, a log. */
static void file_status_flags_are_put_back(void **state)
{
    stdio s;
    memset(&s, 0, sizeof(s));
    s.from = s.to = -1;
    test_loop_init(&s.test);
    int sockets[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    int shared = fcntl(sockets[0], F_DUPFD_CLOEXEC, 0);
    open_over(&s, sockets[0], sockets[0], 100);
    assert_true((fcntl(shared, F_GETFL) & O_NONBLOCK) != 0);
    owner_release(&s.owner);
    test_loop_settle(&s.test);
    assert_true((fcntl(shared, F_GETFL) & O_NONBLOCK) == 0);
    close(shared);
    close(sockets[1]);
    stdio_close(&s);
}

static void standard_input_and_output_stay_open(void **state)
{
    stdio s;
    memset(&s, 0, sizeof(s));
    s.from = s.to = -1;
    test_loop_init(&s.test);
    int saved_in = fcntl(0, F_DUPFD_CLOEXEC, 3);
    int saved_out = fcntl(1, F_DUPFD_CLOEXEC, 3);
    int in[2];
    int out[2];
    fflush(stdout);
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    dup2(in[0], 0);
    dup2(out[1], 1);
    open_over(&s, 0, 1, 100);
    owner_send_text(&s.owner, "out");
    owner_close(&s.owner, ARCP_CLOSE_NORMAL, "");
    run_until(&s.test, s.owner.closed);
    owner_release(&s.owner);
    test_loop_settle(&s.test);
    bool in_open = fcntl(0, F_GETFD) >= 0;
    bool out_open = fcntl(1, F_GETFD) >= 0;
    char text[16] = "";
    bool read_back = read(out[0], text, sizeof(text) - 1) == 4;
    dup2(saved_in, 0);
    dup2(saved_out, 1);
    close(saved_in);
    close(saved_out);
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
    }
    assert_true(in_open && out_open && read_back);
    assert_string_equal(text, "out\n");
    stdio_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_is_a_frame),
        cmocka_unit_test(each_frame_is_a_line),
        cmocka_unit_test(a_frame_that_would_not_be_one_line_is_refused),
        cmocka_unit_test(a_last_line_without_an_end_is_a_frame),
        cmocka_unit_test(a_line_above_the_cap_ends_the_connection),
        cmocka_unit_test(a_line_of_a_mebibyte_works_by_default),
        cmocka_unit_test(the_end_of_the_input_lets_the_output_out),
        cmocka_unit_test(an_owner_that_is_told_of_the_end_of_the_input_goes_on_sending),
        cmocka_unit_test(the_end_of_the_input_is_told_once_and_after_a_pause),
        cmocka_unit_test(a_reader_that_goes_after_the_end_of_the_input_is_abnormal),
        cmocka_unit_test(a_line_above_the_cap_at_the_end_of_the_input_ends_the_connection),
        cmocka_unit_test(half_a_socket_can_be_written),
        cmocka_unit_test(a_reader_that_is_gone_is_abnormal),
        cmocka_unit_test(an_end_while_paused_waits_for_the_lines_before_it),
        cmocka_unit_test(files_can_be_read_and_written),
        cmocka_unit_test(a_file_can_be_paused_and_left),
        cmocka_unit_test(what_a_file_gave_while_paused_comes_at_resume),
        cmocka_unit_test(a_tcp_socket_can_be_used),
        cmocka_unit_test(dev_null_is_an_end_at_once),
        cmocka_unit_test(a_disk_that_is_full_is_abnormal),
        cmocka_unit_test(a_terminal_can_be_used),
        cmocka_unit_test(what_cannot_be_read_or_written_is_named),
        cmocka_unit_test(file_status_flags_are_put_back),
        cmocka_unit_test(standard_input_and_output_stay_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
