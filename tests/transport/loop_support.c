#include "transport/loop_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

int open_fd_count(void)
{
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    int count = 0;
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

int open_temporary(const char *text)
{
    char path[] = "/tmp/arcp-stdio-XXXXXX";
    const int fd = mkostemp(path, O_CLOEXEC);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void on_watchdog(uv_timer_t *timer)
{
    test_loop *test = timer->data;
    test->late = true;
}

void test_loop_init(test_loop *test)
{
    signal(SIGPIPE, SIG_IGN);
    memset(test, 0, sizeof *test);
    /* After the first loop of a process, libuv keeps some descriptors open. */
    assert_int_equal(uv_loop_init(&test->loop), 0);
    assert_int_equal(uv_loop_close(&test->loop), 0);
    test->fds_before = open_fd_count();
    assert_int_equal(uv_loop_init(&test->loop), 0);
    assert_int_equal(uv_timer_init(&test->loop, &test->watchdog), 0);
    test->watchdog.data = test;
    uv_unref((uv_handle_t *)&test->watchdog);
}

void test_loop_step(test_loop *test, const char *what)
{
    test->late = false;
    uv_timer_start(&test->watchdog, on_watchdog, TEST_PATIENCE_MS, 0);
    uv_ref((uv_handle_t *)&test->watchdog);
    uv_run(&test->loop, UV_RUN_ONCE);
    uv_unref((uv_handle_t *)&test->watchdog);
    uv_timer_stop(&test->watchdog);
    if (test->late) {
        fail_msg("timed out waiting for: %s", what);
    }
}

void test_loop_settle(test_loop *test)
{
    /* The kernel moves bytes between sockets of one machine at once: a few rounds in a row
     * without waiting see everything that was under way. */
    for (int quiet = 0; quiet < 8; quiet++) {
        uv_run(&test->loop, UV_RUN_NOWAIT);
    }
}

static void on_walk(uv_handle_t *handle, void *user)
{
    print_message("left over: %s%s\n", uv_handle_type_name(uv_handle_get_type(handle)),
                  uv_is_closing(handle) ? " (closing)" : "");
}

void test_loop_fini(test_loop *test)
{
    uv_timer_start(&test->watchdog, on_watchdog, TEST_PATIENCE_MS, 0);
    uv_unref((uv_handle_t *)&test->watchdog);
    while (uv_run(&test->loop, UV_RUN_ONCE) != 0 && !test->late) {
    }
    uv_close((uv_handle_t *)&test->watchdog, NULL);
    uv_run(&test->loop, UV_RUN_DEFAULT);
    const int closed = uv_loop_close(&test->loop);
    if (closed != 0) {
        uv_walk(&test->loop, on_walk, NULL);
    }
    assert_int_equal(closed, 0);
    assert_int_equal(open_fd_count(), test->fds_before);
}
