/* A program that prints how it was started, or misbehaves as its arguments say. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void say_descriptors(void)
{
    (void)printf("fds");
    for (int fd = 0; fd < 4096; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            (void)printf(" %d", fd);
        }
    }
    (void)printf("\n");
}

static void say_signals(void)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0) {
            (void)fputs(line, stdout);
        }
    }
    if (status != NULL) {
        (void)fclose(status);
    }
}

static void say_user(void)
{
    gid_t groups[256];
    const int count = getgroups(256, groups);
    uid_t real, effective, saved;
    (void)getresuid(&real, &effective, &saved);
    (void)printf("uids %d %d %d\n", (int)real, (int)effective, (int)saved);
    (void)printf("gid %d groups", (int)getgid());
    for (int i = 0; i < count; i++) {
        (void)printf(" %d", (int)groups[i]);
    }
    (void)printf("\nback %s\n", setuid(0) == 0 ? "open" : "closed");
}

static int describe(void)
{
    int death = 0;
    char cwd[4096];
    struct rlimit pending;
    struct rlimit fsize;
    (void)prctl(PR_GET_PDEATHSIG, &death, 0, 0, 0);
    (void)getrlimit(RLIMIT_FSIZE, &fsize);
    (void)getrlimit(RLIMIT_SIGPENDING, &pending);
    say_descriptors();
    say_signals();
    (void)printf("group %s\n", getpgrp() == getpid() ? "own" : "shared");
    (void)printf("death %d\n", death);
    (void)printf("cwd %s\n", getcwd(cwd, sizeof cwd));
    (void)printf("fsize %llu %llu\n", (unsigned long long)fsize.rlim_cur,
                 (unsigned long long)fsize.rlim_max);
    (void)printf("sigpending %llu\n", (unsigned long long)pending.rlim_cur);
    say_user();
    for (char **word = environ; *word != NULL; word++) {
        (void)printf("env %s\n", *word);
    }
    return 0;
}

/* Prints a line, and ignores SIGTERM. */
static int stubborn(void)
{
    (void)signal(SIGTERM, SIG_IGN);
    (void)printf("stubborn\n");
    (void)fflush(stdout);
    while (pause() == -1) {
    }
    return 0;
}

/* Leaves a child behind that is in a session of its own and keeps standard output open, idly or
 * writing as fast as it can once its parent has ended. Its parent ends when it is out of the group.
 */
static int escape(bool floods)
{
    const pid_t parent = getpid();
    int out[2];
    char byte = 0;
    if (pipe(out) != 0) {
        return 1;
    }
    if (fork() != 0) {
        return read(out[0], &byte, 1) == 1 ? 0 : 1;
    }
    (void)setsid();
    (void)printf("escaped %d\n", (int)getpid());
    (void)fflush(stdout);
    if (write(out[1], &byte, 1) != 1) {
        return 1;
    }
    while (getppid() == parent) {
        (void)poll(NULL, 0, 1);
    }
    while (!floods || printf("flood\n") > 0) {
        if (!floods) {
            (void)pause();
        }
    }
    return 0;
}

static int lines(unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        (void)printf("line %lu\n", i);
    }
    return 0;
}

/* Reads everything, and prints how many bytes that was. */
static int count(void)
{
    unsigned long long bytes = 0;
    char chunk[65536];
    size_t got;
    while ((got = fread(chunk, 1, sizeof chunk, stdin)) > 0) {
        bytes += got;
    }
    (void)printf("read %llu\n", bytes);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "describe") == 0) {
        return describe();
    }
    if (strcmp(what, "stubborn") == 0) {
        return stubborn();
    }
    if (strcmp(what, "escape") == 0) {
        return escape(false);
    }
    if (strcmp(what, "escape-and-flood") == 0) {
        return escape(true);
    }
    if (strcmp(what, "lines") == 0 && argc > 2) {
        return lines(strtoul(argv[2], NULL, 10));
    }
    if (strcmp(what, "count") == 0) {
        return count();
    }
    (void)fprintf(stderr, "probe: what?\n");
    return 64;
}
