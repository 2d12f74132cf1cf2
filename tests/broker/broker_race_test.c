/* A program that changes its memory while a call is decided, and signals during calls. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "broker/broker_fixture.h"
#include "support/check.h"

enum { OPENERS = 3 };

static double seconds = 0.5; /* of each race */
static int signal_opens = 500;

/* ---- a path that flips ---- */

static char flipped[2][256];
static char path[256];
static atomic_bool is_flipping;
static atomic_int granted, secret, refused;

static void *flip(void *user)
{
    (void)user;
    while (atomic_load(&is_flipping)) {
        memcpy(path, flipped[0], sizeof path);
        atomic_signal_fence(memory_order_seq_cst); /* the compiler would leave out the first */
        memcpy(path, flipped[1], sizeof path);
        atomic_signal_fence(memory_order_seq_cst);
    }
    return NULL;
}

static void *open_flipped(void *user)
{
    (void)user;
    while (atomic_load(&is_flipping)) {
        char text[8] = "";
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            atomic_fetch_add(&refused, 1);
            continue;
        }
        const ssize_t got = read(fd, text, sizeof text - 1);
        (void)close(fd);
        atomic_fetch_add(got > 0 && strcmp(text, "secret") == 0 ? &secret : &granted, 1);
    }
    return NULL;
}

static void run_flip(fixture *f, void *user)
{
    const char *const *names = user;
    (void)snprintf(flipped[0], sizeof flipped[0], "%s", fixture_path(f, names[0]));
    (void)snprintf(flipped[1], sizeof flipped[1], "%s", fixture_path(f, names[1]));
    memcpy(path, flipped[0], sizeof path);
    atomic_store(&granted, 0);
    atomic_store(&secret, 0);
    atomic_store(&refused, 0);
    atomic_store(&is_flipping, true);
    pthread_t threads[OPENERS + 1];
    (void)pthread_create(&threads[OPENERS], NULL, flip, NULL);
    for (size_t i = 0; i < OPENERS; i++) {
        (void)pthread_create(&threads[i], NULL, open_flipped, NULL);
    }
    const struct timespec wait = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    (void)nanosleep(&wait, NULL);
    atomic_store(&is_flipping, false);
    for (size_t i = 0; i <= OPENERS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    f->results->values[0] = atomic_load(&granted);
    f->results->values[1] = atomic_load(&secret);
    f->results->values[2] = atomic_load(&refused);
}

static void check_flip(const char *good, const char *bad)
{
    fixture f;
    fixture_init(&f);
    const char *names[] = {good, bad};
    run_flip(&f, names);
    assert_true(f.results->values[1] > 0); /* without the broker the race is won */
    fixture_run(&f, run_flip, names);
    assert_true(f.results->values[0] > 0);
    assert_int_equal(f.results->values[1], 0);
    assert_true(f.results->values[2] > 0);
    fixture_fini(&f);
}

static void a_path_that_flips_is_never_opened_by_the_broker(void **state)
{
    (void)state;
    check_flip("data/a.csv", "outside/key");
}

static void a_path_that_flips_is_never_opened_by_the_kernel(void **state)
{
    (void)state;
    check_flip("tree/file.txt", "outside/key");
}

/* ---- a link that flips ---- */

static void *flip_link(void *user)
{
    (void)user;
    while (atomic_load(&is_flipping)) {
        (void)unlink("data/flip.csv");
        fixture_must(symlink("../outside/key", "data/flip.csv") == 0);
        (void)unlink("data/flip.csv");
        fixture_must(symlink("a.csv", "data/flip.csv") == 0);
    }
    return NULL;
}

static void run_open(fixture *f, void *user)
{
    const char *names[] = {"data/flip.csv", "data/flip.csv"};
    (void)user;
    run_flip(f, names);
}

static void a_link_that_flips_is_never_followed_out(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    pthread_t thread;
    atomic_store(&is_flipping, true);
    assert_int_equal(pthread_create(&thread, NULL, flip_link, NULL), 0);
    fixture_run(&f, run_open, NULL);
    atomic_store(&is_flipping, false);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(f.results->values[0] > 0);
    assert_int_equal(f.results->values[1], 0);
    assert_true(f.results->values[2] > 0);
    fixture_fini(&f);
}

/* ---- signals ---- */

static void on_alarm(int number)
{
    (void)number;
}

static void open_under_signals(fixture *f, void *user)
{
    (void)user;
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval often = {.it_interval = {.tv_usec = 30}, .it_value = {.tv_usec = 30}};
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < signal_opens; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "out/%d.log", i);
        const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        f->results->values[fd >= 0 ? 0 : errno == EEXIST ? 1 : 2]++;
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    const struct itimerval never = {0};
    (void)setitimer(ITIMER_REAL, &never, NULL);
}

static void a_signal_does_not_repeat_a_call(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    fixture_run(&f, open_under_signals, NULL);
    assert_int_equal(f.results->values[0], signal_opens);
    assert_int_equal(f.results->values[1], 0);
    assert_int_equal(f.results->values[2], 0);
    fixture_fini(&f);
}

int main(int argc, char **argv)
{
    if (!fixture_is_possible()) {
        (void)puts("skipped: no user namespace, notifications or Landlock here");
        return 0;
    }
    if (argc > 1) {
        seconds = strtod(argv[1], NULL);
        signal_opens = 5000;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_that_flips_is_never_opened_by_the_broker),
        cmocka_unit_test(a_path_that_flips_is_never_opened_by_the_kernel),
        cmocka_unit_test(a_link_that_flips_is_never_followed_out),
        cmocka_unit_test(a_signal_does_not_repeat_a_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
