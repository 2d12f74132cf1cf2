/* arcp-agent-exec: becomes an agent of another user. Started by arcpd, not by people.
 *
 *   arcp-agent-exec --parent PID [--user UID:GID:GROUP,...] [--limit RESOURCE:SOFT:HARD]...
 *                   [--cwd DIRECTORY] -- PATH ARGV0 [ARGUMENT]...
 *
 * Descriptor 3 takes the reason when that fails, and closes when it does not; descriptor 4
 * has the environment, NAME=VALUE with a NUL behind each. It is no set-user-id program and
 * has no more rights than who starts it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/launcher_child.h"

#define LIMITS_MAX 64
#define GROUPS_MAX 1024

typedef struct plan {
    arcp__launch_child child;
    arcp_launch_limit limits[LIMITS_MAX];
    gid_t groups[GROUPS_MAX];
} plan;

/* A decimal number up to `end`, which is stepped over when it is not the text's end. */
static bool read_number(const char **text, char end, unsigned long long max,
                        unsigned long long *out)
{
    char *rest = NULL;
    errno = 0;
    if (**text < '0' || **text > '9') {
        return false;
    }
    *out = strtoull(*text, &rest, 10);
    if (errno != 0 || *out > max || (*rest != end && *rest != '\0')) {
        return false;
    }
    *text = rest + (*rest == '\0' ? 0 : 1);
    return end == '\0' || *rest == end;
}

static bool read_user(plan *p, const char *text)
{
    unsigned long long uid = 0;
    unsigned long long gid = 0;
    if (!read_number(&text, ':', UINT32_MAX - 1, &uid) ||
        !read_number(&text, ':', UINT32_MAX - 1, &gid)) {
        return false;
    }
    while (*text != '\0') {
        unsigned long long group = 0;
        const char *next = strchr(text, ',');
        if (p->child.group_count == GROUPS_MAX ||
            !read_number(&text, next == NULL ? '\0' : ',', UINT32_MAX - 1, &group)) {
            return false;
        }
        p->groups[p->child.group_count++] = (gid_t)group;
    }
    p->child.switch_user = true;
    p->child.uid = (uid_t)uid;
    p->child.gid = (gid_t)gid;
    p->child.groups = p->groups;
    return true;
}

static bool read_limit(plan *p, const char *text)
{
    unsigned long long resource = 0;
    unsigned long long soft = 0;
    unsigned long long hard = 0;
    if (p->child.limit_count == LIMITS_MAX || !read_number(&text, ':', 1000, &resource) ||
        !read_number(&text, ':', UINT64_MAX, &soft) ||
        !read_number(&text, '\0', UINT64_MAX, &hard)) {
        return false;
    }
    p->limits[p->child.limit_count++] = (arcp_launch_limit){(int)resource, soft, hard};
    p->child.limits = p->limits;
    return true;
}

static bool read_parent(plan *p, const char *text)
{
    unsigned long long pid = 0;
    bool is_read = read_number(&text, '\0', INT32_MAX, &pid);
    p->child.parent = (pid_t)pid;
    return is_read;
}

static bool read_words(plan *p, int argc, char **argv)
{
    int at = 1;
    for (; at + 1 < argc && strcmp(argv[at], "--") != 0; at += 2) {
        const char *value = argv[at + 1];
        bool is_read = false;
        if (strcmp(argv[at], "--parent") == 0) {
            is_read = read_parent(p, value);
        } else if (strcmp(argv[at], "--user") == 0) {
            is_read = read_user(p, value);
        } else if (strcmp(argv[at], "--limit") == 0) {
            is_read = read_limit(p, value);
        } else if (strcmp(argv[at], "--cwd") == 0) {
            p->child.cwd = value;
            is_read = true;
        }
        if (!is_read) {
            return false;
        }
    }
    if (at + 2 >= argc || strcmp(argv[at], "--") != 0) {
        return false;
    }
    p->child.program = argv[at + 1];
    p->child.argv = argv + at + 2;
    return p->child.parent != 0;
}

/* The pages and the array live until exec. */
static bool read_environment(plan *p)
{
    struct stat about;
    if (fstat(ARCP__LAUNCH_ENV_FD, &about) != 0) {
        return false;
    }
    size_t size = (size_t)about.st_size;
    size_t count = 0;
    char *text = NULL;
    if (size != 0) {
        text = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, ARCP__LAUNCH_ENV_FD, 0);
        if (text == MAP_FAILED || text[size - 1] != '\0') {
            return false;
        }
    }
    for (size_t at = 0; at < size; at++) {
        count += text[at] == '\0' ? 1 : 0;
    }
    char **env = mmap(NULL, (count + 1) * sizeof(*env), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (env == MAP_FAILED) {
        return false;
    }
    for (size_t at = 0; at < count; at++) {
        env[at] = text;
        text += strlen(text) + 1;
    }
    p->child.env = env;
    return close(ARCP__LAUNCH_ENV_FD) == 0;
}

int main(int argc, char **argv)
{
    static plan p;
    p.child.error_fd = ARCP__LAUNCH_ERRORS_FD;
    if (fcntl(ARCP__LAUNCH_ERRORS_FD, F_SETFD, FD_CLOEXEC) != 0 || !read_words(&p, argc, argv)) {
        (void)fputs("arcp-agent-exec is started by arcpd, not by hand\n", stderr);
        errno = EINVAL;
        arcp__launch_child_fail(&p.child, ARCP__LAUNCH_HELPER);
    }
    if (!read_environment(&p)) {
        arcp__launch_child_fail(&p.child, ARCP__LAUNCH_HELPER);
    }
    arcp__launch_child_run(&p.child);
}
