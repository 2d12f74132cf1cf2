/* A process of arcpd's own user, such as an agent without `user:`, cannot read arcpd's memory,
 * which holds tokens, and cannot attach a debugger to it. */
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arcpd/daemon.h"
#include "arcpd/wire.h"
#include "support/check.h"

#define ORDINARY_USER 65534

enum { READS_MEMORY = 1, READS_ENVIRONMENT = 2, TRACES = 4, FAILED = 8 };

static void become_ordinary(void)
{
    if (setgroups(0, NULL) != 0 || setgid(ORDINARY_USER) != 0 || setuid(ORDINARY_USER) != 0) {
        _exit(FAILED);
    }
}

static bool can_open(pid_t pid, const char *name)
{
    char path[64];
    char byte = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    /* To open the memory is enough: nothing is mapped at 0, so it cannot be read there. */
    return file >= 0 && (strcmp(name, "mem") == 0 || read(file, &byte, 1) == 1);
}

/* What another process of the same user can read of `pid`, or do to it. */
static int attack(pid_t pid)
{
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        become_ordinary();
        int got = can_open(pid, "mem") ? READS_MEMORY : 0;
        got |= can_open(pid, "environ") ? READS_ENVIRONMENT : 0;
        got |= ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 ? TRACES : 0; /* until we end */
        _exit(got);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status) & FAILED, 0);
    return WEXITSTATUS(status);
}

/* The same for a program that does not protect itself: what this system permits to processes of one
 * user. */
static int attack_cat(void)
{
    int in[2];
    int out[2];
    int status = 0;
    char byte = 'x';
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        become_ordinary();
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)execlp("cat", "cat", (char *)NULL);
        _exit(FAILED);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    assert_int_equal(write(in[1], &byte, 1), 1);
    assert_int_equal(read(out[0], &byte, 1), 1); /* it is cat by now */
    const int got = attack(child);
    (void)close(in[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    (void)close(out[0]);
    return got;
}

static void a_process_of_the_same_user_cannot_read_arcpds_memory(void **state)
{
    daemon_state d;
    (void)state;
    if (geteuid() != 0 ||
        system("setpriv --version >/dev/null 2>&1") != 0) { /* NOLINT(cert-env33-c): fixed words */
        print_message("needs root, and setpriv\n");
        skip();
    }
    const int permitted = attack_cat();
    if ((permitted & READS_MEMORY) == 0) {
        print_message("processes of one user are kept from each other here anyway\n");
        skip();
    }
    daemon_begin(&d, &(daemon_options){
                         .program = ARCP_SOURCE_DIR "/tests/hostile/agents/ordinary_user.sh",
                         .environment = "ARCPD=" ARCP_BINARY_DIR "/bin/arcpd",
                     });
    daemon_start(&d);
    char path[64];
    struct stat about;
    (void)snprintf(path, sizeof path, "%s/arcp.db", d.directory);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_uid, ORDINARY_USER);
    assert_int_equal(attack(d.pid), 0);
    /* arcpd serves its clients, and public figures in /proc can still be read. */
    wire w;
    wire_session session;
    wire_open(&w, d.port);
    wire_hello(&w, "t-alice", &session);
    wire_close(&w);
    assert_true(daemon_resident_bytes(&d) > 0);
    assert_int_equal(daemon_stop(&d), 0);
    daemon_end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_of_the_same_user_cannot_read_arcpds_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
