/* SIGUSR1 and `arcp debug dump` on a real arcpd. */
#include "arcpd/host.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define YAML                                                                                       \
    "store: \"memory:\"\nshutdown: {grace_sec: 0}\n"                                               \
    "tokens: [{token: hush5ecret, principal: alice}]\n"                                            \
    "agents:\n  - {name: wait, command: [sh, -c, 'echo begun; exec sleep 1000']}\n"

static void expect(const process *p, const char *word)
{
    if (strstr(p->out.data, word) == NULL) {
        fail_msg("want %s in\n%s\n%s", word, p->out.data, p->err.data);
    }
}

static void the_state_of_a_running_job_is_printed(void **state)
{
    host *place = *state;
    process p;
    char path[160];
    char pid[64];
    struct stat about;
    host_start(place, YAML);
    host_run(place, "hush5ecret", &p, 0, WORDS("submit", "wait", "--detach"));
    /* The response to the submit does not wait for the start of the program. */
    for (int tries = 0; tries < 100; tries++) {
        process_fini(&p);
        host_run(place, NULL, &p, 0, WORDS("debug", "dump"));
        if (strstr(p.out.data, "\"its agent's next line\"") != NULL) {
            break;
        }
    }
    (void)snprintf(pid, sizeof pid, "{\"kind\":\"arcpd\",\"pid\":%d,", (int)place->daemon.pid);
    expect(&p, pid);
    expect(&p, "{\"kind\":\"runtime\"");
    expect(&p, "{\"kind\":\"program\"");
    expect(&p, "\"its agent's next line\"");
    expect(&p, "\"state\":\"away\"");
    expect(&p, "{\"kind\":\"totals\"");
    assert_null(strstr(p.out.data, "hush5ecret"));
    process_fini(&p);
    (void)snprintf(path, sizeof path, "%s/state.jsonl", place->directory);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    /* Each dump replaces the file. */
    host_run(place, NULL, &p, 0, WORDS("debug", "dump"));
    process_fini(&p);
    host_stop(place);
}

/* The pid in a file that a stopped arcpd left must not be signalled. */
static void nothing_is_signalled_where_no_arcpd_runs(void **state)
{
    host *place = *state;
    process p;
    char left[160];
    host_start(place, YAML);
    host_stop(place);
    (void)snprintf(left, sizeof left, "%s/arcpd.pid", place->directory);
    FILE *file = fopen(left, "we");
    assert_non_null(file);
    (void)fprintf(file, "%d\n", (int)getpid()); /* SIGUSR1 would end this test */
    (void)fclose(file);
    host_run(place, NULL, &p, 1, WORDS("debug", "dump"));
    assert_non_null(strstr(p.err.data, "no running arcpd holds "));
    process_fini(&p);
    host_run(place, NULL, &p, 1, WORDS("debug", "dump", "--state-dir", "/nonexistent"));
    assert_non_null(strstr(p.err.data, "/nonexistent/arcpd.pid cannot be read: "));
    process_fini(&p);
    host_run(place, NULL, &p, 2, WORDS("debug", "pump"));
    assert_non_null(strstr(p.err.data, "unknown debug command 'pump' (expected dump)"));
    process_fini(&p);
}

/* The kernel does not name the holder of such a lock, nor one in another PID namespace. */
static void a_holder_without_a_process_id_is_not_signalled(void **state)
{
    const host *place = *state;
    process p;
    char path[160];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void)snprintf(path, sizeof path, "%s/arcpd.pid", place->directory);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
    host_run(place, NULL, &p, 1, WORDS("debug", "dump"));
    assert_non_null(strstr(p.err.data, "runs in another container"));
    process_fini(&p);
    assert_int_equal(close(fd), 0);
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid != 0;
}

/* It may be sent because arcpd takes long to stop. */
static void a_signal_while_arcpd_stops_does_not_kill_it(void **state)
{
    host *place = *state;
    char path[160];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    host_start(place, YAML);
    (void)snprintf(path, sizeof path, "%s/arcpd.pid", place->directory);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    const pid_t pid = place->daemon.pid;
    assert_int_equal(kill(pid, SIGTERM), 0);
    while (lock.l_type != F_UNLCK) { /* until there is no state to write any more */
        lock.l_type = F_WRLCK;
        assert_int_equal(fcntl(fd, F_GETLK, &lock), 0);
    }
    while (!has_ended(pid)) {
        assert_int_equal(kill(pid, SIGUSR1), 0);
    }
    assert_int_equal(close(fd), 0);
    host_stop(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_state_of_a_running_job_is_printed, host_setup,
                                        host_teardown),
        cmocka_unit_test_setup_teardown(nothing_is_signalled_where_no_arcpd_runs, host_setup,
                                        host_teardown),
        cmocka_unit_test_setup_teardown(a_holder_without_a_process_id_is_not_signalled, host_setup,
                                        host_teardown),
        cmocka_unit_test_setup_teardown(a_signal_while_arcpd_stops_does_not_kill_it, host_setup,
                                        host_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
