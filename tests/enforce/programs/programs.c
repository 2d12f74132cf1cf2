/* The acts by name. */
#include "enforce/programs/escape.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct act {
    const char *name;
    escape_act *act;
    int arguments;
} acts[] = {
#define ESCAPE_ACT(name, arguments) {#name, escape_##name, arguments},
#include "enforce/programs/acts.def"
#undef ESCAPE_ACT
};

int escape_result(long result)
{
    return result < 0 ? errno : 0;
}

int escape_unable(const char *why)
{
    (void)printf("unable: %s\n", why);
    return -ESCAPE_UNABLE;
}

int escape_show(int fd)
{
    char chunk[4096];
    ssize_t got = 0;
    if (fd < 0) {
        return errno;
    }
    while ((got = read(fd, chunk, sizeof chunk)) > 0) {
        (void)fwrite(chunk, 1, (size_t)got, stdout);
    }
    const int number = got < 0 ? errno : 0;
    (void)close(fd);
    return number;
}

int escape_in_child(escape_act *act, char **argv)
{
    int status = 0;
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child < 0) {
        return errno;
    }
    if (child == 0) {
        const int number = act(argv);
        (void)fflush(stdout);
        _exit(number < 0 ? -number + 128 : number);
    }
    if (waitpid(child, &status, 0) != child) {
        return errno;
    }
    if (!WIFEXITED(status)) {
        return EPERM;
    }
    return WEXITSTATUS(status) == 128 + ESCAPE_UNABLE ? -ESCAPE_UNABLE : WEXITSTATUS(status);
}

long escape_number(const char *text)
{
    char *end = NULL;
    const long number = strtol(text, &end, 0);
    if (end == text || *end != '\0') {
        (void)fprintf(stderr, "arcp-escape: \"%s\" is not a number\n", text);
        exit(ESCAPE_USAGE);
    }
    return number;
}

long escape_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        if (strcmp(acts[i].name, name) != 0 || acts[i].arguments != argc - 2) {
            continue;
        }
        const int number = acts[i].act(argv + 2);
        if (number == 0) {
            return ESCAPE_DONE;
        }
        if (number == -ESCAPE_UNABLE) {
            return ESCAPE_UNABLE;
        }
        (void)printf("denied: %s\n", strerror(number));
        return ESCAPE_DENIED;
    }
    (void)fprintf(stderr, "arcp-escape: there is no act \"%s\" with %d arguments\n", name,
                  argc > 2 ? argc - 2 : 0);
    return ESCAPE_USAGE;
}
