/* Each ability is tried by a child that does what a sandbox does; it exits with 0 when that worked.
 * Namespaces end with their child, so nothing is left behind. */
#include "launch/sandbox_helper/helper_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/sandbox_helper/helper_capabilities.h"
#include "launch/sandbox_helper/helper_filter.h"
#include "launch/sandbox_helper/helper_landlock.h"
#include "launch/sandbox_helper/helper_listener.h"
#include "launch/sandbox_helper/helper_route.h"

/* A trial that hangs is ended, and failed. */
#define TRIAL_SEC 5

#define NOBODY 65534

/* One that no host has (RFC 5737). */
#define ANY_ADDRESS 0xc6336401U /* 198.51.100.1 */

/* All that a sandbox has but the network. */
#define NAMESPACES                                                                                 \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* Runs a trial in a child with new namespaces (0: none). */
static bool succeeds(bool (*trial)(void), unsigned long namespaces)
{
    const long child = syscall(SYS_clone, namespaces | SIGCHLD, 0L, 0L, 0L, 0L);
    if (child == 0) {
        (void)alarm(TRIAL_SEC);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        _exit(trial() ? 0 : 1);
    }
    int status = 1;
    pid_t ended = -1;
    while (child > 0 && (ended = waitpid((pid_t)child, &status, 0)) < 0 && errno == EINTR) {
    }
    return ended > 0 && status == 0;
}

/* ---- namespaces ---- */

static bool write_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) {
        (void)close(fd);
    }
    return done;
}

/* The ids from before the namespace, each to itself. */
static uid_t outer_uid;
static gid_t outer_gid;

static bool map_ids(void)
{
    char uids[64];
    char gids[64];
    (void)snprintf(uids, sizeof uids, "%u %u 1", outer_uid, outer_uid);
    (void)snprintf(gids, sizeof gids, "%u %u 1", outer_gid, outer_gid);
    return write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", uids) &&
           write_file("/proc/self/gid_map", gids);
}

/* Some hosts give a user namespace without the capabilities in it. */
static bool has_namespaces(void)
{
    return map_ids() && sethostname("probe", 5) == 0;
}

static bool has_loopback(void)
{
    struct ifreq interface = {.ifr_name = "lo"};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (!map_ids() || fd < 0 || ioctl(fd, SIOCGIFFLAGS, &interface) != 0) {
        return false;
    }
    interface.ifr_flags |= IFF_UP;
    return ioctl(fd, SIOCSIFFLAGS, &interface) == 0;
}

/* Every address leads to listeners in here, on ports that only a privilege of the network gives. */
static bool has_egress(void)
{
    const struct sockaddr_in elsewhere = {
        .sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(ANY_ADDRESS)};
    const int routes = arcp__helper_route_open();
    if (!map_ids() || routes < 0 || arcp__helper_route_start(routes) != 0 ||
        arcp__helper_route_all(routes) != 0) {
        return false;
    }
    const int names = arcp__helper_listener_udp(ARCP__SANDBOX_PORT_DNS);
    const int listener = arcp__helper_listener_tcp(80);
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return names >= 0 && listener >= 0 && client >= 0 &&
           connect(client, (const struct sockaddr *)&elsewhere, sizeof elsewhere) == 0 &&
           arcp__helper_listener_accept(listener) >= 0; /* the time of the trial is limited */
}

static bool is_private(void)
{
    return map_ids() && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* A root of its own, with a part of the host in it that cannot be changed. */
static bool has_mounts(void)
{
    struct mount_attr attributes = {.attr_set =
                                        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    struct statvfs about;
    return is_private() && mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") == 0 &&
           mkdir("/tmp/usr", 0755) == 0 &&
           mount("/usr", "/tmp/usr", NULL, MS_BIND | MS_REC, NULL) == 0 &&
           mount_setattr(AT_FDCWD, "/tmp/usr", AT_RECURSIVE, &attributes, sizeof attributes) == 0 &&
           chdir("/tmp") == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
           umount2(".", MNT_DETACH) == 0 && access("/usr/bin", R_OK) == 0 &&
           statvfs("/usr", &about) == 0 && (about.f_flag & ST_RDONLY) != 0 &&
           (about.f_flag & ST_NOSUID) != 0;
}

static bool has_proc(void)
{
    return is_private() &&
           mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
}

static bool has_pid_max(void)
{
    return has_proc() && write_file("/proc/sys/kernel/pid_max", "400") &&
           write_file("/proc/sys/kernel/ns_last_pid", "300");
}

/* Before Linux 6.14 the file is that of the host, and root may write it: this is tried as a user
 * that is not root outside. */
static bool has_pid_max_as_user(void)
{
    if (geteuid() == 0) {
        outer_uid = NOBODY;
        outer_gid = NOBODY;
        if (syscall(SYS_setgroups, 0, NULL) != 0 ||
            syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY) != 0 ||
            syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) != 0 ||
            prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) {
            return false;
        }
    }
    return geteuid() != 0 && succeeds(has_pid_max, NAMESPACES);
}

/* ---- Landlock and the filter ---- */

static bool has_landlock(void)
{
    const arcp__sandbox_plan nothing = {.level = ARCP__SANDBOX_LEVEL_LANDLOCK};
    arcp__sandbox_abilities abilities = {{0}};
    const char *path;
    abilities.values[ARCP__SANDBOX_ABILITY_LANDLOCK] = arcp__helper_landlock_version();
    return arcp__helper_capabilities_drop() == 0 &&
           arcp__helper_landlock(&nothing, &abilities, 0, &path) == 0 &&
           open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0 && errno == EACCES;
}

/* Of two ports on the loopback interface only one can be connected to. */
static bool has_proxy(void)
{
    const arcp__sandbox_plan nothing = {.level = ARCP__SANDBOX_LEVEL_LANDLOCK};
    arcp__sandbox_abilities abilities = {{0}};
    const char *path;
    uint16_t ports[2];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int proxy = arcp__helper_listener_loopback(&ports[0]);
    const int other = arcp__helper_listener_loopback(&ports[1]);
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    abilities.values[ARCP__SANDBOX_ABILITY_LANDLOCK] = arcp__helper_landlock_version();
    if (proxy < 0 || other < 0 || client < 0 || arcp__helper_capabilities_drop() != 0 ||
        arcp__helper_landlock(&nothing, &abilities, ports[0], &path) != 0) {
        return false;
    }
    to.sin_port = htons(ports[1]);
    if (connect(client, (const struct sockaddr *)&to, sizeof to) == 0 || errno != EACCES) {
        return false;
    }
    to.sin_port = htons(ports[0]);
    return connect(client, (const struct sockaddr *)&to, sizeof to) == 0;
}

static bool has_filter(void)
{
    const arcp__helper_filter what = {.level = ARCP__SANDBOX_LEVEL_FULL};
    return arcp__helper_capabilities_drop() == 0 && arcp__helper_filter_install(&what, NULL) == 0 &&
           syscall(SYS_unshare, 0) != 0 && errno == EPERM && getppid() > 0;
}

/* Opens a file whose descriptor must be the one that the broker below gives. */
static bool is_answered(void)
{
    struct stat about;
    const int fd = open("/arcp-sandbox-probe", O_RDONLY | O_CLOEXEC);
    return fd >= 0 && fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode);
}

static bool answer_one(int listener, int fd)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    struct seccomp_notif asked = {0};
    if (poll(&ready, 1, TRIAL_SEC * 1000) != 1 ||
        ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
        return false;
    }
    struct seccomp_notif_addfd add = {
        .id = asked.id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (uint32_t)fd};
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked.id) == 0 &&
           ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0;
}

static bool has_notifications(void)
{
    const arcp__helper_filter what = {
        .level = ARCP__SANDBOX_LEVEL_FULL, .has_broker = true, .traps_files = true};
    int ends[2];
    int listener = -1;
    if (pipe2(ends, O_CLOEXEC) != 0 || arcp__helper_capabilities_drop() != 0 ||
        arcp__helper_filter_install(&what, &listener) != 0) {
        return false;
    }
    const pid_t child = fork();
    if (child == 0) {
        /* With the listener open here, a call that is not answered would wait for ever; only KILL
         * ends such a wait. */
        (void)close(listener);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        _exit(is_answered() ? 0 : 1);
    }
    int status = 1;
    return child > 0 && answer_one(listener, ends[0]) && waitpid(child, &status, 0) == child &&
           status == 0;
}

/* ---- what a broker reads of a program ---- */

static bool (*with_program)(pid_t program, int fd);
static char memory_of_program[8];

/* Runs with_program beside a confined child that has a pipe as descriptor `fd`. */
static bool has_program(void)
{
    int ready[2];
    int ends[2];
    char byte;
    if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    const pid_t child = fork();
    if (child == 0) {
        memcpy(memory_of_program, "program", sizeof memory_of_program);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (has_landlock() && write(ready[1], "", 1) == 1) {
            (void)pause();
        }
        _exit(1);
    }
    (void)close(ready[1]);
    const bool done = child > 0 && read(ready[0], &byte, 1) == 1 && with_program(child, ends[0]);
    if (child > 0) {
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
    }
    return done;
}

static bool can_read_memory(pid_t program, int fd)
{
    (void)fd;
    char text[sizeof memory_of_program] = "";
    const struct iovec here = {.iov_base = text, .iov_len = sizeof text};
    const struct iovec there = {.iov_base = memory_of_program, .iov_len = sizeof text};
    return process_vm_readv(program, &here, 1, &there, 1, 0) == sizeof text &&
           memcmp(text, "program", sizeof text) == 0;
}

static bool can_take_descriptor(pid_t program, int fd)
{
    struct stat one;
    struct stat other;
    const int process = (int)syscall(SYS_pidfd_open, program, 0);
    const int taken = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
    return taken >= 0 && fstat(taken, &one) == 0 && fstat(fd, &other) == 0 &&
           one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

static bool succeeds_with_program(bool (*trial)(pid_t program, int fd))
{
    with_program = trial;
    return succeeds(has_program, 0);
}

bool arcp__helper_probe(arcp__sandbox_abilities *out)
{
    *out = (arcp__sandbox_abilities){{0}};
    uint32_t *values = out->values;
    outer_uid = geteuid();
    outer_gid = getegid();
    values[ARCP__SANDBOX_ABILITY_USERNS] = succeeds(has_namespaces, NAMESPACES);
    values[ARCP__SANDBOX_ABILITY_MOUNT] = succeeds(has_mounts, NAMESPACES);
    values[ARCP__SANDBOX_ABILITY_NETNS] = succeeds(has_loopback, CLONE_NEWUSER | CLONE_NEWNET);
    values[ARCP__SANDBOX_ABILITY_PROC] = succeeds(has_proc, NAMESPACES);
    values[ARCP__SANDBOX_ABILITY_PID_MAX] = succeeds(has_pid_max_as_user, 0);
    values[ARCP__SANDBOX_ABILITY_LANDLOCK] =
        succeeds(has_landlock, 0) ? arcp__helper_landlock_version() : 0;
    values[ARCP__SANDBOX_ABILITY_SECCOMP] = succeeds(has_filter, 0);
    values[ARCP__SANDBOX_ABILITY_NOTIFY] = succeeds(has_notifications, 0);
    values[ARCP__SANDBOX_ABILITY_VM_READ] = succeeds_with_program(can_read_memory);
    values[ARCP__SANDBOX_ABILITY_PIDFD_GETFD] = succeeds_with_program(can_take_descriptor);
    values[ARCP__SANDBOX_ABILITY_BROKER] = 1; /* of this program */
    values[ARCP__SANDBOX_ABILITY_EGRESS] = succeeds(has_egress, CLONE_NEWUSER | CLONE_NEWNET);
    values[ARCP__SANDBOX_ABILITY_PROXY] = succeeds(has_proxy, 0);
    return arcp__sandbox_abilities_remove(out, getenv("ARCP_SANDBOX_WITHOUT"));
}

int arcp__helper_probe_main(void)
{
    arcp__sandbox_abilities abilities;
    if (!arcp__helper_probe(&abilities)) {
        (void)fprintf(stderr,
                      "arcp-sandbox: ARCP_SANDBOX_WITHOUT \"%s\" names an unknown ability\n",
                      getenv("ARCP_SANDBOX_WITHOUT"));
        return 2;
    }
    arcp_buf text = arcp_buf_init();
    arcp__sandbox_abilities_encode(&abilities, &text);
    const bool written =
        !text.failed && printf("%s\n", arcp_buf_cstr(&text)) > 0 && fflush(stdout) == 0;
    arcp_buf_fini(&text);
    return written ? 0 : 1;
}
