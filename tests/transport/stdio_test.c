/* Lines over every kind of descriptor that a shell may connect to standard input and output. */
#include "transport/raw_peer.h"
#include "transport/stdio_ends.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- lines ---- */

static void each_line_is_a_frame(void **state)
{
    stdio s;
    stdio_open(&s);
    stdio_put(&s, "{\"a\":1}\n\n  \n{\"b\":2}\r\npart");
    run_until(&s.test, s.owner.messages == 2);
    stdio_put(&s, "ly\n");
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
    stdio_expect(&s, "{\"a\":1}\n{\"b\":2}\n");
    stdio_close(&s);
}

static void a_frame_with_a_line_feed_is_refused(void **state)
{
    stdio s;
    stdio_open(&s);
    assert_int_equal(owner_send(&s.owner, ARCP_SPAN_LITERAL("")), ARCP_E_INVALID_REQUEST);
    assert_int_equal(owner_send(&s.owner, ARCP_SPAN_LITERAL("{\n}")), ARCP_E_INVALID_REQUEST);
    assert_int_equal(owner_send(&s.owner, ARCP_SPAN_LITERAL("\n")), ARCP_E_INVALID_REQUEST);
    assert_int_equal(owner_unsent(&s.owner), 0);
    owner_send_text(&s.owner, "fine");
    owner_flush(&s.owner);
    stdio_expect(&s, "fine\n");
    stdio_close(&s);
}

static void a_last_line_without_an_end_is_a_frame(void **state)
{
    stdio s;
    stdio_open(&s);
    stdio_put(&s, "one\ntwo");
    stdio_hang_up(&s.to);
    run_until(&s.test, s.owner.closed);
    check_span(arcp_buf_span(&s.owner.log), "one|two|");
    assert_int_equal(s.owner.code, ARCP_CLOSE_NORMAL);
    stdio_close(&s);
}

static void a_line_above_the_limit_closes_the_connection(void **state)
{
    stdio s;
    stdio_open(&s);
    char line[103];
    memset(line, 'x', sizeof line);
    line[100] = '\n';
    line[101] = '\0';
    stdio_put(&s, line);
    run_until(&s.test, s.owner.messages == 1);
    memset(line, 'x', sizeof line);
    line[101] = '\n';
    line[102] = '\0';
    stdio_put(&s, line);
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
    stdio_init(&s);
    assert_int_equal(pipe(in), 0);
    s.to = in[1];
    s.from = open("/dev/null", O_RDONLY | O_CLOEXEC);
    stdio_open_over(&s, in[0], open("/dev/null", O_WRONLY | O_CLOEXEC), 0);
    s.owner.keep = false;
    char *line = malloc(SIZE);
    assert_non_null(line);
    memset(line, 'x', SIZE);
    line[SIZE - 1] = '\n';
    assert_true(fcntl(s.to, F_SETFL, O_NONBLOCK) == 0);
    size_t sent = 0;
    while (sent < SIZE) {
        const ssize_t size = write(s.to, line + sent, SIZE - sent);
        sent += size > 0 ? (size_t)size : 0;
        test_loop_step(&s.test, "the line is read");
    }
    run_until(&s.test, s.owner.messages == 1);
    assert_int_equal(s.owner.last_size, SIZE - 1);
    free(line);
    stdio_close(&s);
}

static void a_reader_that_has_closed_is_abnormal(void **state)
{
    stdio s;
    stdio_open(&s);
    stdio_hang_up(&s.from);
    owner_send_text(&s.owner, "to nobody");
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_ABNORMAL);
    assert_string_equal(s.owner.reason, "broken pipe");
    stdio_close(&s);
}

/* ---- kinds of descriptors ---- */

static void echo(owner *o, arcp_span frame)
{
    assert_int_equal(owner_send(o, frame), ARCP_OK);
}

static void files_can_be_read_and_written(void **state)
{
    stdio s;
    stdio_init(&s);
    const int input = open_temporary("one\ntwo\n\nthree");
    const int output = open_temporary("");
    const int kept = fcntl(output, F_DUPFD_CLOEXEC, 0);
    stdio_open_over(&s, input, output, 100);
    s.owner.on_message = echo;
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_NORMAL);
    char text[64] = "";
    assert_true(pread(kept, text, sizeof text - 1, 0) >= 0);
    assert_string_equal(text, "one\ntwo\nthree\n");
    close(kept);
    stdio_close(&s);
}

static void a_connection_to_a_file_can_be_paused_and_released(void **state)
{
    stdio s;
    stdio_init(&s);
    stdio_open_over(&s, open_temporary("one\ntwo\n"), open_temporary(""), 100);
    owner_pause(&s.owner);
    test_loop_settle(&s.test);
    assert_int_equal(s.owner.messages, 0);
    owner_resume(&s.owner);
    run_until(&s.test, s.owner.messages == 2);
    owner_send_text(&s.owner, "in the thread pool when we go");
    owner_flush(&s.owner);
    stdio_close(&s);
}

/* Blocks the thread pool until the test releases it. */
#define POOL_THREADS 4 /* libuv's default */

static uv_sem_t pool_gate;

static void wait_at_gate(uv_work_t *work)
{
    uv_sem_wait(&pool_gate);
}

static void passed_gate(uv_work_t *work, int status)
{
}

static void data_of_a_file_read_while_paused_is_delivered_at_resume(void **state)
{
    stdio s;
    uv_work_t work[POOL_THREADS];
    stdio_init(&s);
    assert_int_equal(uv_sem_init(&pool_gate, 0), 0);
    for (size_t i = 0; i < POOL_THREADS; i++) {
        assert_int_equal(uv_queue_work(&s.test.loop, &work[i], wait_at_gate, passed_gate), 0);
    }
    stdio_open_over(&s, open_temporary("one\n"), open_temporary(""), 100);
    uv_run(&s.test.loop, UV_RUN_NOWAIT); /* reading has started, and is blocked */
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

static void dev_null_ends_at_once(void **state)
{
    stdio s;
    stdio_init(&s);
    stdio_open_over(&s, open("/dev/null", O_RDONLY | O_CLOEXEC),
                    open("/dev/null", O_WRONLY | O_CLOEXEC), 100);
    owner_send_text(&s.owner, "nobody reads this");
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_NORMAL);
    stdio_close(&s);
}

static void a_full_disk_is_abnormal(void **state)
{
    stdio s;
    int in[2];
    stdio_init(&s);
    assert_int_equal(pipe(in), 0);
    s.to = in[1];
    stdio_open_over(&s, in[0], open("/dev/full", O_WRONLY | O_CLOEXEC), 100);
    owner_send_text(&s.owner, "does not fit");
    run_until(&s.test, s.owner.closed);
    assert_int_equal(s.owner.code, ARCP_CLOSE_ABNORMAL);
    assert_string_equal(s.owner.reason, "no space left on device");
    stdio_close(&s);
}

static void a_terminal_can_be_used(void **state)
{
    stdio s;
    stdio_init(&s);
    s.to = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(s.to >= 0);
    assert_int_equal(grantpt(s.to), 0);
    assert_int_equal(unlockpt(s.to), 0);
    const int terminal = open(ptsname(s.to), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal >= 0);
    stdio_open_over(&s, terminal, terminal, 100);
    stdio_put(&s, "typed\n");
    run_until(&s.test, s.owner.messages == 1);
    check_span(arcp_buf_span(&s.owner.log), "typed|");
    owner_send_text(&s.owner, "shown");
    run_until(&s.test, s.owner.written == 5);
    char shown[64] = "";
    assert_true(read(s.to, shown, sizeof shown - 1) > 0);
    assert_non_null(strstr(shown, "typed")); /* the terminal's echo */
    stdio_close(&s);
}

static void a_tcp_socket_can_be_used(void **state)
{
    stdio s;
    raw_peer peer;
    char url[64];
    stdio_init(&s);
    const int listener = raw_listen(url);
    raw_peer_connect(&peer, &s.test, url);
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    stdio_open_over(&s, fd, fd, 100);
    raw_peer_send_text(&peer, "in\n");
    run_until(&s.test, s.owner.messages == 1);
    owner_send_text(&s.owner, "out");
    raw_peer_expect(&peer, "out\n");
    raw_peer_fini(&peer);
    close(listener);
    stdio_close(&s);
}

static void descriptors_that_cannot_be_used_are_reported(void **state)
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
    const int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(arcp_open_stdio(&test.loop, directory, pair[1], NULL, &connection, &err),
                     ARCP_E_IO);
    close(directory);
    const int datagrams = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(arcp_open_stdio(&test.loop, datagrams, pair[1], NULL, &connection, &err),
                     ARCP_E_IO);
    assert_non_null(strstr(err.message, "is not a pipe, socket, terminal or file"));
    close(datagrams);
    assert_null(connection);
    /* The caller still owns them. */
    assert_int_equal(close(pair[0]), 0);
    assert_int_equal(close(pair[1]), 0);
    test_loop_fini(&test);
}

/* Other processes may share the open file: a terminal, a log. */
static void file_status_flags_are_restored(void **state)
{
    stdio s;
    stdio_init(&s);
    int sockets[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    const int shared = fcntl(sockets[0], F_DUPFD_CLOEXEC, 0);
    stdio_open_over(&s, sockets[0], sockets[0], 100);
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
    stdio_init(&s);
    const int saved_in = fcntl(0, F_DUPFD_CLOEXEC, 3);
    const int saved_out = fcntl(1, F_DUPFD_CLOEXEC, 3);
    int in[2];
    int out[2];
    fflush(stdout);
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    dup2(in[0], 0);
    dup2(out[1], 1);
    stdio_open_over(&s, 0, 1, 100);
    owner_send_text(&s.owner, "out");
    owner_close(&s.owner, ARCP_CLOSE_NORMAL, "");
    run_until(&s.test, s.owner.closed);
    owner_release(&s.owner);
    test_loop_settle(&s.test);
    const bool in_open = fcntl(0, F_GETFD) >= 0;
    const bool out_open = fcntl(1, F_GETFD) >= 0;
    char text[16] = "";
    const bool read_back = read(out[0], text, sizeof text - 1) == 4;
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
        cmocka_unit_test(a_frame_with_a_line_feed_is_refused),
        cmocka_unit_test(a_last_line_without_an_end_is_a_frame),
        cmocka_unit_test(a_line_above_the_limit_closes_the_connection),
        cmocka_unit_test(a_line_of_a_mebibyte_works_by_default),
        cmocka_unit_test(a_reader_that_has_closed_is_abnormal),
        cmocka_unit_test(files_can_be_read_and_written),
        cmocka_unit_test(a_connection_to_a_file_can_be_paused_and_released),
        cmocka_unit_test(data_of_a_file_read_while_paused_is_delivered_at_resume),
        cmocka_unit_test(a_tcp_socket_can_be_used),
        cmocka_unit_test(dev_null_ends_at_once),
        cmocka_unit_test(a_full_disk_is_abnormal),
        cmocka_unit_test(a_terminal_can_be_used),
        cmocka_unit_test(descriptors_that_cannot_be_used_are_reported),
        cmocka_unit_test(file_status_flags_are_restored),
        cmocka_unit_test(standard_input_and_output_stay_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
