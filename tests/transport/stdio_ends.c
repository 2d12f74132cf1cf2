#include "transport/stdio_ends.h"

#include <unistd.h>

void stdio_init(stdio *s)
{
    memset(s, 0, sizeof *s);
    s->to = s->from = -1;
    test_loop_init(&s->test);
}

void stdio_open_over(stdio *s, int input, int output, size_t frame_bytes_max)
{
    arcp_stdio_options options = arcp_stdio_options_init();
    options.frame_bytes_max = frame_bytes_max;
    options.close_timeout_ms = 2 * TEST_PATIENCE_MS;
    arcp_error err = {0};
    arcp_connection *connection = NULL;
    check_ok(arcp_open_stdio(&s->test.loop, input, output, &options, &connection, &err), &err);
    s->owner.keep = true;
    owner_take(&s->owner, connection);
}

void stdio_open_for(stdio *s, bool wants_input_over)
{
    int in[2];
    int out[2];
    stdio_init(s);
    s->owner.wants_input_over = wants_input_over;
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    s->to = in[1];
    s->from = out[0];
    stdio_open_over(s, in[0], out[1], 100);
}

void stdio_open(stdio *s)
{
    stdio_open_for(s, false);
}

void stdio_close(stdio *s)
{
    owner_fini(&s->owner);
    stdio_hang_up(&s->to);
    stdio_hang_up(&s->from);
    test_loop_fini(&s->test);
}

void stdio_hang_up(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

void stdio_put(const stdio *s, const char *text)
{
    assert_int_equal(write(s->to, text, strlen(text)), (ssize_t)strlen(text));
}

void stdio_expect(const stdio *s, const char *text)
{
    char got[256] = "";
    const ssize_t size = read(s->from, got, sizeof got - 1);
    assert_true(size >= 0);
    assert_string_equal(got, text);
}
