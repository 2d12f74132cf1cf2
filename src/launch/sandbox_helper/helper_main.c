/* arcp-sandbox: started by the sandbox launcher, not by people, but for `arcp-sandbox --probe`,
 * which prints what this host can do.
 *
 * Descriptors 0 to 2 are the program's, 4 holds the orders, 5 the text of the plan in a sealed
 * file, 6 is the control socket (arcp_confinement). This is not a set-user-id program: it has only
 * the rights of its parent. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "launch/launcher_orders.h"
#include "launch/sandbox_helper/helper.h"
#include "launch/sandbox_helper/helper_probe.h"

#define PLAN_BYTES_MAX 16777216
#define STACK_BYTES    ((size_t)256 << 10) /* more than the set-up uses */

/* ---- standard descriptors ---- */

static bool is_local_connection(int fd)
{
    int domain = 0;
    int type = 0;
    socklen_t domain_size = sizeof domain;
    socklen_t type_size = sizeof type;
    struct sockaddr_storage peer;
    socklen_t peer_size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) == 0 && domain == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 &&
           (type == SOCK_STREAM || type == SOCK_SEQPACKET) &&
           getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0;
}

/* A namespace, or a process by its descriptor: regular files by their type only. */
static bool is_handle(int fd)
{
    enum { NAMESPACES = 0x6e736673, PROCESSES = 0x50494446 };
    struct statfs system;
    return fstatfs(fd, &system) != 0 || system.f_type == NAMESPACES || system.f_type == PROCESSES;
}

/* What the program gets is in no mount and under no rule. Through a directory it would reach all of
 * the host's tree, and a socket of the network can be connected again. */
static bool is_accepted(int fd)
{
    struct stat about;
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_PATH) != 0 || fstat(fd, &about) != 0) {
        return false;
    }
    switch (about.st_mode & S_IFMT) {
    case S_IFREG:
        return !is_handle(fd);
    case S_IFIFO:
        return true;
    case S_IFCHR:
        return about.st_rdev == makedev(1, 3) || isatty(fd) == 1;
    case S_IFSOCK:
        return is_local_connection(fd);
    default:
        return false;
    }
}

static void check_descriptors(void)
{
    static const char *const names[] = {"stdin", "stdout", "stderr"};
    arcp__helper_begin(ARCP__HELPER_DESCRIPTORS);
    for (int fd = 0; fd <= 2; fd++) {
        if (!is_accepted(fd)) {
            errno = EBADF;
            arcp__helper_fail(names[fd]);
        }
    }
}

/* ---- plan and user ---- */

const arcp__sandbox_plan *arcp__helper_read_plan(int fd)
{
    const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
    struct stat about;
    arcp__sandbox_plan *plan = NULL;
    arcp_error err = {0};
    errno = EINVAL;
    const int found = fcntl(fd, F_GET_SEALS); /* -1: no file that can be sealed */
    if (found < 0 || (found & seals) != seals || fstat(fd, &about) != 0 || about.st_size <= 0 ||
        about.st_size > PLAN_BYTES_MAX) {
        arcp__helper_fail(NULL);
    }
    const size_t size = (size_t)about.st_size;
    const char *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text == MAP_FAILED) {
        arcp__helper_fail(NULL);
    }
    if (arcp__sandbox_plan_decode(arcp_span_make(text, size), &plan, &err) != ARCP_OK) {
        errno = EINVAL;
        arcp__helper_fail(err.message);
    }
    if (plan->refusal != ARCP__SANDBOX_REFUSAL_NONE || plan->level == ARCP__SANDBOX_LEVEL_NONE) {
        errno = EPERM;
        arcp__helper_fail(NULL);
    }
    (void)close(fd);
    return plan;
}

/* Everything else is done as the user that the program has, so that nothing is there for it that
 * this user may not have. */
static void become_user(const arcp__launch_child *child)
{
    arcp__helper_begin(ARCP__HELPER_USER);
    for (size_t i = 0; i < child->limit_count; i++) {
        /* Only here can a limit be raised. The limits themselves are set when we need none. */
        struct rlimit now;
        const rlim_t hard = child->limits[i].hard == ARCP_LAUNCH_NO_LIMIT
                                ? RLIM_INFINITY
                                : (rlim_t)child->limits[i].hard;
        const __rlimit_resource_t resource = (__rlimit_resource_t)child->limits[i].resource;
        if (getrlimit(resource, &now) == 0 && hard > now.rlim_max) {
            now.rlim_max = hard;
            if (setrlimit(resource, &now) != 0) {
                arcp__helper_fail(NULL);
            }
        }
    }
    if (child->switch_user && !arcp__launch_child_become_user(child)) {
        arcp__helper_fail(NULL);
    }
    /* The change of user took both: /proc/self is root's for a process that cannot be dumped, and
     * its maps could not be written. */
    if (child->switch_user && prctl(PR_SET_DUMPABLE, 1) != 0) {
        arcp__helper_fail(NULL);
    }
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != child->parent) {
        errno = ESRCH;
        arcp__helper_fail(NULL);
    }
}

void arcp__helper_drop_stack(void)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *here = __builtin_frame_address(0);
    char *end = here - (uintptr_t)here % page - page; /* below what this call may need */
    /* ENOMEM: the stack does not reach so far. What is there is given back all the same. */
    (void)madvise(end - STACK_BYTES, STACK_BYTES, MADV_DONTNEED);
}

int main(int argc, char **argv)
{
    static arcp__helper helper;
    if (argc == 2 && strcmp(argv[1], "--probe") == 0) {
        return arcp__helper_probe_main();
    }
    /* One heap for all threads of the broker, which allocate little: each of its own would cost
     * some 12 KB of pages and of their tables. */
    (void)mallopt(M_ARENA_MAX, 1);
    arcp__helper_begin(ARCP__HELPER_ORDERS);
    const int number = arcp__launch_orders_read(&helper.child, &helper.view);
    if (number == EINVAL) {
        (void)fputs("arcp-sandbox is started by arcp, not by hand (but for --probe)\n", stderr);
    }
    if (number != 0 || fcntl(ARCP__LAUNCH_CONTROL_FD, F_SETFD, FD_CLOEXEC) != 0) {
        errno = number != 0 ? number : errno;
        arcp__helper_fail(NULL);
    }
    check_descriptors();
    arcp__helper_begin(ARCP__HELPER_PLAN);
    helper.plan = arcp__helper_read_plan(ARCP__LAUNCH_PLAN_FD);
    helper.operator_uid = getuid();
    become_user(&helper.child);
    helper.uid = getuid();
    helper.gid = getgid();
    arcp__helper_find_sources(&helper);
    arcp__helper_trust(&helper);
    if (helper.plan->has_proxy) {
        arcp__helper_proxy_open(&helper);
    }
    if (helper.plan->level == ARCP__SANDBOX_LEVEL_FULL) {
        arcp__helper_look_for_git(&helper);
    }
    _exit(arcp__helper_monitor(&helper));
}
