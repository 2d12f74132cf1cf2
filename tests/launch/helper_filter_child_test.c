/* Children with a filter that try the calls which it refuses. Each call is made without a filter,
 * too, where the kernel must give another answer: else the row would prove nothing. The calls have
 * arguments that do no harm. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "launch/confined_child.h"

#include "launch/sandbox_helper/helper_capabilities.h"
#include "launch/sandbox_helper/helper_filter.h"

#define BAD     ((long)1) /* a pointer to nothing */
#define GARBAGE 0x5eadbeef00000000L

static char directory[64] = "/tmp/arcp-filter-XXXXXX";
static char file[80];
static char fresh[80];

/* Which filters refuse. */
enum {
    FULL = 1,
    LANDLOCK = 2,
    LANDLOCK_OLD = 4,
    MONITOR = 8,
    BOTH = FULL | LANDLOCK | LANDLOCK_OLD
};

typedef struct forbidden {
    const char *name;
    long number;
    long arguments[6];
    int wanted; /* errno */
    int refuse; /* those of `filters` that refuse */
} forbidden;

#define PATH(text) ((long)(intptr_t)(text))

static const forbidden rows[] = {
    {"ptrace", SYS_ptrace, {3, 0}, EPERM, BOTH | MONITOR},
    {"process_vm_readv", SYS_process_vm_readv, {0}, EPERM, BOTH},
    {"process_vm_writev", SYS_process_vm_writev, {0}, EPERM, BOTH | MONITOR},
    {"process_madvise", SYS_process_madvise, {-1}, EPERM, BOTH | MONITOR},
    {"kcmp", SYS_kcmp, {0, 0, 99}, EPERM, BOTH | MONITOR},
    {"pidfd_getfd", SYS_pidfd_getfd, {-1}, EPERM, BOTH},
    {"bpf", SYS_bpf, {-1, BAD, 8}, EPERM, BOTH | MONITOR},
    {"perf_event_open", SYS_perf_event_open, {BAD}, EPERM, BOTH | MONITOR},
    {"userfaultfd", SYS_userfaultfd, {0xff0}, EPERM, BOTH | MONITOR},
    {"add_key", SYS_add_key, {BAD, BAD}, EPERM, BOTH | MONITOR},
    {"request_key", SYS_request_key, {BAD}, EPERM, BOTH | MONITOR},
    {"keyctl", SYS_keyctl, {-1}, EPERM, BOTH | MONITOR},
    {"kexec_load", SYS_kexec_load, {0, 0, 0, 0xff00}, EPERM, BOTH | MONITOR},
    {"kexec_file_load", SYS_kexec_file_load, {-1, -1, 0, 0, 0xff00}, EPERM, BOTH | MONITOR},
    {"init_module", SYS_init_module, {0, 0, BAD}, EPERM, BOTH | MONITOR},
    {"finit_module", SYS_finit_module, {-1, BAD, 0xff}, EPERM, BOTH | MONITOR},
    {"delete_module", SYS_delete_module, {BAD}, EPERM, BOTH | MONITOR},
    {"acct", SYS_acct, {BAD}, EPERM, BOTH | MONITOR},
    {"swapon", SYS_swapon, {BAD}, EPERM, BOTH | MONITOR},
    {"swapoff", SYS_swapoff, {BAD}, EPERM, BOTH | MONITOR},
    {"quotactl", SYS_quotactl, {-1, BAD}, EPERM, BOTH | MONITOR},
    {"reboot", SYS_reboot, {0}, EPERM, BOTH | MONITOR},
    {"syslog", SYS_syslog, {10}, EPERM, BOTH | MONITOR},
    {"mount", SYS_mount, {BAD, BAD}, EPERM, BOTH | MONITOR},
    {"umount2", SYS_umount2, {BAD}, EPERM, BOTH | MONITOR},
    {"fsopen", SYS_fsopen, {BAD}, EPERM, BOTH | MONITOR},
    {"fsconfig", SYS_fsconfig, {-1, 99}, EPERM, BOTH | MONITOR},
    {"fsmount", SYS_fsmount, {-1, 0xff}, EPERM, BOTH | MONITOR},
    {"fspick", SYS_fspick, {-1, BAD, 0xff00}, EPERM, BOTH | MONITOR},
    {"move_mount", SYS_move_mount, {-1, BAD, -1, BAD, 0xffff}, EPERM, BOTH | MONITOR},
    {"open_tree", SYS_open_tree, {-1, BAD, 0xff}, EPERM, BOTH | MONITOR},
    {"mount_setattr", SYS_mount_setattr, {-1, BAD, 0xff}, EPERM, BOTH | MONITOR},
    {"open_tree_attr", 467, {-1, BAD, 0xff}, EPERM, BOTH | MONITOR},
    {"pivot_root", SYS_pivot_root, {BAD, BAD}, EPERM, BOTH | MONITOR},
    {"chroot", SYS_chroot, {BAD}, EPERM, BOTH | MONITOR},
    {"setns", SYS_setns, {-1}, EPERM, BOTH | MONITOR},
    {"unshare", SYS_unshare, {CLONE_NEWUTS}, EPERM, BOTH | MONITOR},
    {"unshare of nothing", SYS_unshare, {0}, EPERM, BOTH | MONITOR},
    {"open_by_handle_at", SYS_open_by_handle_at, {-1, BAD}, EPERM, BOTH | MONITOR},
    {"clone3", SYS_clone3, {0, 0}, ENOSYS, BOTH | MONITOR},
    {"openat2", SYS_openat2, {AT_FDCWD, BAD, 0, 0}, ENOSYS, BOTH},
    {"io_uring_setup", SYS_io_uring_setup, {0, 0}, ENOSYS, BOTH | MONITOR},
    {"io_uring_enter", SYS_io_uring_enter, {-1}, ENOSYS, BOTH | MONITOR},
    {"io_uring_register", SYS_io_uring_register, {-1, -2}, ENOSYS, BOTH | MONITOR},
    {"execve", SYS_execve, {BAD}, EPERM, MONITOR},
    {"execveat", SYS_execveat, {-1, BAD}, EPERM, MONITOR},

    {"a mode with set-user-id", SYS_fchmodat, {AT_FDCWD, PATH(file), 04755}, EPERM, BOTH | MONITOR},
    {"a mode with set-group-id",
     SYS_fchmodat,
     {AT_FDCWD, PATH(file), 02755},
     EPERM,
     BOTH | MONITOR},
    {"a mode above 32 bits",
     SYS_fchmodat,
     {AT_FDCWD, PATH(file), GARBAGE | 06755},
     EPERM,
     BOTH | MONITOR},
    {"fchmod", SYS_fchmod, {7, 04755}, EPERM, BOTH | MONITOR},
    {"fchmodat2", 452, {AT_FDCWD, PATH(file), 04755, 0}, EPERM, BOTH | MONITOR},
    {"mknodat", SYS_mknodat, {AT_FDCWD, PATH(fresh), S_IFREG | 04755}, EPERM, BOTH | MONITOR},
    {"openat that creates",
     SYS_openat,
     {AT_FDCWD, PATH(fresh), O_CREAT | O_EXCL, 04755},
     EPERM,
     BOTH | MONITOR},
    {"openat of what is there",
     SYS_openat,
     {AT_FDCWD, PATH(file), O_CREAT, 02755},
     EPERM,
     BOTH | MONITOR},
    {"O_TMPFILE",
     SYS_openat,
     {AT_FDCWD, PATH(directory), O_TMPFILE | O_WRONLY, 04700},
     EPERM,
     BOTH | MONITOR},
#ifdef SYS_open
    {"chmod", SYS_chmod, {PATH(file), 04755}, EPERM, BOTH | MONITOR},
    {"mknod", SYS_mknod, {PATH(fresh), S_IFREG | 02755}, EPERM, BOTH | MONITOR},
    {"creat", SYS_creat, {PATH(fresh), 04755}, EPERM, BOTH | MONITOR},
    {"open that creates", SYS_open, {PATH(fresh), O_CREAT, 04755}, EPERM, BOTH | MONITOR},
#endif
    {"TIOCSTI", SYS_ioctl, {-1, TIOCSTI, BAD}, EPERM, BOTH | MONITOR},
    {"TIOCSTI above 32 bits", SYS_ioctl, {-1, GARBAGE | TIOCSTI, BAD}, EPERM, BOTH | MONITOR},
    {"TIOCLINUX", SYS_ioctl, {-1, 0x541c, BAD}, EPERM, BOTH | MONITOR},
    {"TIOCSETD", SYS_ioctl, {-1, TIOCSETD, BAD}, EPERM, BOTH | MONITOR},
    {"FS_IOC_SETFLAGS", SYS_ioctl, {-1, 0x40086602, BAD}, EPERM, LANDLOCK | LANDLOCK_OLD},
    {"FS_IOC_ENABLE_VERITY", SYS_ioctl, {-1, 0x40806685, BAD}, EPERM, LANDLOCK | LANDLOCK_OLD},

    {"a local socket", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, EAFNOSUPPORT, BOTH},
    {"a local datagram socket", SYS_socket, {AF_UNIX, SOCK_DGRAM, 0}, EAFNOSUPPORT, BOTH},
    {"a packet socket", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, EAFNOSUPPORT, BOTH},
    {"a family above 32 bits", SYS_socket, {GARBAGE | AF_PACKET, SOCK_RAW, 0}, EAFNOSUPPORT, BOTH},
    {"a raw socket", SYS_socket, {AF_INET, SOCK_RAW, 1}, EPERM, FULL},
    {"a raw socket above 32 bits", SYS_socket, {AF_INET, GARBAGE | SOCK_RAW, 1}, EPERM, FULL},
    {"SOCK_PACKET of the internet", SYS_socket, {AF_INET, SOCK_PACKET, 0}, EPERM, FULL},
    {"ping", SYS_socket, {AF_INET, SOCK_DGRAM, 1}, EPROTONOSUPPORT, FULL},
    {"multipath TCP", SYS_socket, {AF_INET6, SOCK_STREAM, 262}, EPROTONOSUPPORT, FULL},
    {"TCP", SYS_socket, {AF_INET, SOCK_STREAM, 0}, EACCES, LANDLOCK | LANDLOCK_OLD},
    {"UDP", SYS_socket, {AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0}, EACCES, LANDLOCK | LANDLOCK_OLD},
    {"netlink but routing", SYS_socket, {AF_NETLINK, SOCK_RAW, 4}, EPROTONOSUPPORT, BOTH},
    {"a pair of datagram sockets",
     SYS_socketpair,
     {AF_UNIX, SOCK_DGRAM, 0, BAD},
     EPERM,
     BOTH | MONITOR},
    {"a pair of raw sockets", SYS_socketpair, {AF_UNIX, SOCK_RAW, 0, BAD}, EPERM, BOTH | MONITOR},
    {"a socket of the monitor", SYS_socket, {AF_INET, SOCK_STREAM, 0}, EPERM, MONITOR},
    {"a pair of the monitor", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, BAD}, EPERM, MONITOR},

    {"limits of others", SYS_prlimit64, {1, 99, 0, 0}, EPERM, LANDLOCK | LANDLOCK_OLD},
    {"affinity of others", SYS_sched_setaffinity, {1, 8, BAD}, EPERM, LANDLOCK | LANDLOCK_OLD},
    {"scheduling of others", SYS_sched_setscheduler, {1, 99, BAD}, EPERM, LANDLOCK | LANDLOCK_OLD},
    {"scheduling parameters of others",
     SYS_sched_setparam,
     {1, BAD},
     EPERM,
     LANDLOCK | LANDLOCK_OLD},
    {"scheduling attributes of others",
     SYS_sched_setattr,
     {1, BAD},
     EPERM,
     LANDLOCK | LANDLOCK_OLD},
    {"priority of a user", SYS_setpriority, {9, 0, 0}, EPERM, LANDLOCK | LANDLOCK_OLD},
    {"io priority of others", SYS_ioprio_set, {1, 1, -1}, EPERM, LANDLOCK | LANDLOCK_OLD},
    {"shared memory", SYS_shmget, {0, 0, 0}, EPERM, LANDLOCK | LANDLOCK_OLD},
    {"semaphores", SYS_semget, {0, -1, 0}, EPERM, LANDLOCK | LANDLOCK_OLD},
    {"messages", SYS_msgget, {0x7e57, 0}, EPERM, LANDLOCK | LANDLOCK_OLD},
    {"message queues", SYS_mq_open, {BAD, 0}, EPERM, LANDLOCK | LANDLOCK_OLD},
    {"chown", SYS_fchown, {-1, 0, 0}, EPERM, LANDLOCK | LANDLOCK_OLD},
    {"times", SYS_utimensat, {-1, 0, 0, 0}, EPERM, LANDLOCK | LANDLOCK_OLD},
    {"extended attributes", SYS_fsetxattr, {-1, BAD, 0, 0, 0}, EPERM, LANDLOCK | LANDLOCK_OLD},
    {"a mode", SYS_fchmod, {-1, 0755}, EPERM, LANDLOCK | LANDLOCK_OLD},

    {"a signal", SYS_kill, {0x7ffffff0, 9}, EPERM, LANDLOCK_OLD},
    {"a signal to a thread", SYS_tkill, {0x7ffffff0, 9}, EPERM, LANDLOCK_OLD},
    {"a signal by descriptor", SYS_pidfd_send_signal, {-1, 9}, EPERM, LANDLOCK_OLD},
    {"the owner of SIGIO", SYS_fcntl, {-1, F_SETOWN, 1}, EPERM, LANDLOCK_OLD},
};

static const arcp__helper_filter filters[] = {
    {.level = ARCP__SANDBOX_LEVEL_FULL, .landlock = 7},
    {.level = ARCP__SANDBOX_LEVEL_LANDLOCK, .landlock = 7},
    {.level = ARCP__SANDBOX_LEVEL_LANDLOCK, .landlock = 5},
    {.is_monitor = true},
};

typedef struct trial {
    const forbidden *row;
    const arcp__helper_filter *filter; /* NULL: none */
} trial;

/* The errno of the call, or 0. */
static int try_call(void *user)
{
    const trial *tried = user;
    if (tried->filter != NULL && (arcp__helper_capabilities_drop() != 0 ||
                                  arcp__helper_filter_install(tried->filter, NULL) != 0)) {
        return CHILD_NOT_CONFINED;
    }
    const long *a = tried->row->arguments;
    return syscall(tried->row->number, a[0], a[1], a[2], a[3], a[4], a[5]) < 0 ? errno : 0;
}

static void clear(void)
{
    (void)unlink(fresh);
    assert_int_equal(chmod(file, 0644), 0);
}

static void a_forbidden_call_is_refused_by_the_filter(void **state)
{
    const forbidden *row = *state;
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        const bool refuses = (row->refuse >> i & 1) != 0;
        trial confined = {.row = row, .filter = &filters[i]};
        const int got = child_result(try_call, &confined, false);
        assert_true(got != CHILD_NOT_CONFINED);
        if (refuses) {
            assert_int_equal(got, row->wanted);
            assert_int_equal(child_result(try_call, &confined, geteuid() == 0), row->wanted);
        }
        clear();
    }
    if (geteuid() == 0 && row->refuse != 0) {
        trial bare = {.row = row};
        assert_int_not_equal(child_result(try_call, &bare, false), row->wanted);
        clear();
    }
}

/* ---- what a program may still do ---- */

static int confine(const arcp__helper_filter *what, int *listener)
{
    return arcp__helper_capabilities_drop() == 0 ? arcp__helper_filter_install(what, listener)
                                                 : EPERM;
}

static void *answer_42(void *unused)
{
    (void)unused;
    return (void *)42;
}

static bool can_run_programs(void)
{
    const pid_t child = fork();
    if (child == 0) {
        (void)execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool can_run_threads(void)
{
    pthread_t thread;
    void *result = NULL;
    return pthread_create(&thread, NULL, answer_42, NULL) == 0 &&
           pthread_join(thread, &result) == 0 && result == (void *)42;
}

static bool can_change_files(void)
{
    struct stat about;
    const int fd = open(fresh, O_CREAT | O_EXCL | O_RDWR, 0755);
    return fd >= 0 && write(fd, "x", 1) == 1 && ftruncate(fd, 0) == 0 && close(fd) == 0 &&
           rename(fresh, file) == 0 && stat(file, &about) == 0 && mkdir(fresh, 0700) == 0 &&
           rmdir(fresh) == 0;
}

static bool has_pairs(void)
{
    int ends[2];
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 && close(ends[0]) == 0 &&
           close(ends[1]) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0;
}

/* 0, or the number of the first of these that does not work. */
static int live(void *user)
{
    const arcp__helper_filter *what = user;
    if (confine(what, NULL) != 0) {
        return CHILD_NOT_CONFINED;
    }
    const bool is_full = what->level == ARCP__SANDBOX_LEVEL_FULL;
    const bool works[] = {
        can_run_programs(),
        can_run_threads(),
        can_change_files(),
        has_pairs(),
        socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) >= 0,
        syscall(SYS_prlimit64, 0, 1, NULL, NULL) == 0,
        syscall(SYS_setpriority, 0, 0, 19) == 0,
        kill(0, 0) == 0,
        kill(getpid(), 0) == 0,
        raise(0) == 0 || what->landlock < 6,
        !is_full || chmod(file, 01755) == 0,
        !is_full || socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0) >= 0,
        !is_full || socket(AF_INET6, SOCK_DGRAM, 17) >= 0,
    };
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        if (!works[i]) {
            return (int)i + 1;
        }
    }
    return 0;
}

static void a_program_runs_programs_threads_and_files_with_each_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        arcp__helper_filter what = filters[i];
        assert_int_equal(child_result(live, &what, geteuid() == 0), 0);
        clear();
    }
}

static int make_in_new_namespace(void *user)
{
    const long *flags = user;
    if (confine(&filters[0], NULL) != 0) {
        return CHILD_NOT_CONFINED;
    }
    const long child = syscall(SYS_clone, *flags | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        _exit(0);
    }
    return child > 0 ? 0 : errno;
}

static void a_process_in_a_new_namespace_cannot_be_made(void **state)
{
    (void)state;
    static const long flags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                 CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        long high = GARBAGE | flags[i];
        long low = flags[i];
        assert_int_equal(child_result(make_in_new_namespace, &low, false), EPERM);
        assert_int_equal(child_result(make_in_new_namespace, &high, false), EPERM);
    }
    long none = 0;
    assert_int_equal(child_result(make_in_new_namespace, &none, false), 0);
}

#ifdef __x86_64__
static int call_as_i386(void *user)
{
    if (*(const bool *)user && confine(&filters[0], NULL) != 0) {
        return CHILD_NOT_CONFINED;
    }
    int result = 20; /* getpid */
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return result > 0 ? 0 : 1;
}

static void a_call_of_another_architecture_kills(void **state)
{
    (void)state;
    bool is_confined = true;
    const int status = child_status(call_as_i386, &is_confined, false);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
    is_confined = false;
    assert_int_not_equal(child_status(call_as_i386, &is_confined, false), status);
}
#endif

/* ---- with a broker ---- */

/* Forks a child that opens a file, and answers it: its errno, or a status above 200. */
static int be_asked(int listener)
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(open("/dev/null", O_RDONLY) < 0 ? errno : 0);
    }
    struct seccomp_notif asked = {0};
    struct seccomp_notif_resp answer = {0};
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    int status = 0;
    if (child < 0 || poll(&ready, 1, 20000) != 1 ||
        ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
        return 203;
    }
    answer.id = asked.id;
    answer.error = -EXDEV;
    if (arcp__sandbox_syscall_find(ARCP__SANDBOX_MACHINE_HERE, asked.data.nr) !=
            ARCP__SANDBOX_SYSCALL_OPENAT ||
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0) {
        return 204;
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 205;
}

static int listen_and_answer(void *user)
{
    int listener = -1;
    if (confine(user, &listener) != 0 || listener < 0 || fcntl(listener, F_GETFD) != FD_CLOEXEC) {
        return CHILD_NOT_CONFINED;
    }
    return be_asked(listener);
}

static void a_broker_is_asked_and_its_answer_is_the_calls(void **state)
{
    (void)state;
    arcp__helper_filter what = {
        .level = ARCP__SANDBOX_LEVEL_FULL, .has_broker = true, .traps_files = true};
    assert_int_equal(child_result(listen_and_answer, &what, false), EXDEV);
    assert_int_equal(child_result(listen_and_answer, &what, geteuid() == 0), EXDEV);
    what.level = ARCP__SANDBOX_LEVEL_LANDLOCK;
    assert_int_equal(child_result(listen_and_answer, &what, false), EXDEV);
    what.has_broker = false;
    assert_int_equal(child_result(listen_and_answer, &what, false), CHILD_NOT_CONFINED);
}

static int use_local_sockets(void *user)
{
    int listener = -1;
    if (confine(user, &listener) != 0) {
        return CHILD_NOT_CONFINED;
    }
    static const int types[] = {SOCK_DGRAM, SOCK_RAW, SOCK_DGRAM | SOCK_CLOEXEC};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (socket(AF_UNIX, types[i], 0) >= 0 || errno != EPERM) {
            return 1;
        }
    }
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 &&
                   socket(AF_UNIX, SOCK_SEQPACKET, 0) >= 0
               ? 0
               : 2;
}

static void local_sockets_are_there_when_the_broker_connects_them_and_never_datagrams(void **state)
{
    (void)state;
    arcp__helper_filter what = {
        .level = ARCP__SANDBOX_LEVEL_FULL, .has_broker = true, .traps_connect = true};
    assert_int_equal(child_result(use_local_sockets, &what, false), 0);
    what.level = ARCP__SANDBOX_LEVEL_LANDLOCK;
    assert_int_equal(child_result(use_local_sockets, &what, false), 0);
    what.has_broker = false;
    assert_int_equal(child_result(use_local_sockets, &what, false), 1);
}

/* ---- the monitor ---- */

static int monitor(void *unused)
{
    (void)unused;
    char from[4] = "abc";
    char to[4] = "";
    const struct {
        void *data;
        size_t size;
    } here = {from, sizeof from}, there = {to, sizeof to};
    if (arcp__helper_capabilities_drop() != 0 || arcp__helper_filter_monitor() != 0) {
        return CHILD_NOT_CONFINED;
    }
    const long read = syscall(SYS_process_vm_readv, getpid(), &there, 1, &here, 1, 0);
    if (read != sizeof from || strcmp(to, "abc") != 0) {
        return 1;
    }
    if (syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0) == 0 || errno != EINVAL ||
        syscall(SYS_pidfd_getfd, -1, 0, 0) == 0 || errno != EBADF) {
        return 2;
    }
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    return child < 0 && errno == EPERM && can_run_threads() ? 0 : 3;
}

static void the_monitor_has_threads_but_no_children(void **state)
{
    (void)state;
    assert_int_equal(child_result(monitor, NULL, false), 0);
    assert_int_equal(child_result(monitor, NULL, geteuid() == 0), 0);
}

int main(void)
{
    assert_non_null(mkdtemp(directory));
    (void)snprintf(file, sizeof file, "%s/file", directory);
    (void)snprintf(fresh, sizeof fresh, "%s/fresh", directory);
    const int fd = open(file, O_CREAT | O_EXCL | O_WRONLY, 0644);
    assert_true(fd >= 0 && close(fd) == 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(directory, NOBODY, NOBODY) + chown(file, NOBODY, NOBODY), 0);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_runs_programs_threads_and_files_with_each_filter),
        cmocka_unit_test(a_process_in_a_new_namespace_cannot_be_made),
#ifdef __x86_64__
        cmocka_unit_test(a_call_of_another_architecture_kills),
#endif
        cmocka_unit_test(a_broker_is_asked_and_its_answer_is_the_calls),
        cmocka_unit_test(local_sockets_are_there_when_the_broker_connects_them_and_never_datagrams),
        cmocka_unit_test(the_monitor_has_threads_but_no_children),
    };
    int failed = run_rows(rows, sizeof rows / sizeof *rows, sizeof *rows,
                          a_forbidden_call_is_refused_by_the_filter);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(file);
    (void)rmdir(directory);
    return failed;
}
