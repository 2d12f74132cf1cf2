/* System calls that the filter closes, with arguments that do no harm where they are open. The call
 * was let through when the answer is anything but EPERM, EACCES or ENOSYS. */
#include "enforce/programs/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A number that Debian 12's headers lack; the same on all machines. */
enum { NR_OPEN_TREE_ATTR = 467 };

typedef struct call {
    const char *name;
    long number;
    long arguments[6];
} call;

#define TEXT(text) ((long)(text)) /* NOLINT: an argument as the kernel gets it */

static char zeros[256];
static int pair[2];

static const call calls[] = {
    {"add_key",
     __NR_add_key,
     {TEXT("user"), TEXT("arcp-escape"), TEXT("x"), 1, KEY_SPEC_PROCESS_KEYRING}},
    {"request_key", __NR_request_key, {TEXT("user"), TEXT("arcp-escape"), 0, 0}},
    {"keyctl", __NR_keyctl, {KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0}},
    {"bpf", __NR_bpf, {-1, TEXT(zeros), sizeof zeros}},
    {"userfaultfd", __NR_userfaultfd, {O_CLOEXEC | 1 /* of user space only */}},
    {"io_uring_setup", __NR_io_uring_setup, {1, TEXT(zeros)}},
    {"io_uring_enter", __NR_io_uring_enter, {-1, 0, 0, 0, 0, 0}},
    {"io_uring_register", __NR_io_uring_register, {-1, 0, 0, 0}},
    {"open_by_handle_at", __NR_open_by_handle_at, {AT_FDCWD, TEXT(zeros), O_RDONLY}},
    {"pidfd_getfd", __NR_pidfd_getfd, {-1, 0, 0}},
    {"process_madvise", __NR_process_madvise, {-1, 0, 0, 0, 0}},
    {"process_vm_writev", __NR_process_vm_writev, {1, 0, 0, 0, 0, 0}},
    {"mount", __NR_mount, {TEXT("none"), TEXT("/proc/self/no"), TEXT("tmpfs"), 0, 0}},
    {"umount2", __NR_umount2, {TEXT("/proc/self/no"), 0}},
    {"pivot_root", __NR_pivot_root, {TEXT("/proc/self/no"), TEXT("/proc/self/no")}},
    {"chroot", __NR_chroot, {TEXT("/")}},
    {"open_tree", __NR_open_tree, {AT_FDCWD, TEXT("/"), 0}},
    {"open_tree_clone", __NR_open_tree, {AT_FDCWD, TEXT("/"), 1}},
    {"open_tree_attr", NR_OPEN_TREE_ATTR, {AT_FDCWD, TEXT("/"), 0, 0, 0}},
    {"move_mount", __NR_move_mount, {AT_FDCWD, TEXT("/"), AT_FDCWD, TEXT("/"), 0}},
    {"fsopen", __NR_fsopen, {TEXT("tmpfs"), 0}},
    {"fsconfig", __NR_fsconfig, {-1, 0, 0, 0, 0}},
    {"fsmount", __NR_fsmount, {-1, 0, 0}},
    {"fspick", __NR_fspick, {AT_FDCWD, TEXT("/"), 0}},
    {"mount_setattr", __NR_mount_setattr, {AT_FDCWD, TEXT("/"), 0, TEXT(zeros), 32}},
    {"setns", __NR_setns, {-1, 0}},
    {"acct", __NR_acct, {TEXT("/proc/self/no")}},
    {"swapon", __NR_swapon, {TEXT("/proc/self/no"), 0}},
    {"swapoff", __NR_swapoff, {TEXT("/proc/self/no")}},
    {"quotactl", __NR_quotactl, {-1, 0, 0, 0}},
    {"reboot", __NR_reboot, {0, 0, 0, 0}},
    {"syslog", __NR_syslog, {3, TEXT(zeros), sizeof zeros}},
    {"init_module", __NR_init_module, {TEXT(zeros), 0, TEXT(zeros)}},
    {"finit_module", __NR_finit_module, {-1, TEXT(zeros), 0}},
    {"delete_module", __NR_delete_module, {TEXT("arcp_escape_none"), O_NONBLOCK}},
    {"kexec_load", __NR_kexec_load, {0, 0, 0, 1}},
    {"perf_event_open", __NR_perf_event_open, {TEXT(zeros), 0, -1, -1, 0}},
    {"fanotify_init", __NR_fanotify_init, {0, O_RDONLY}},
    {"settimeofday", __NR_settimeofday, {0, 0}},
    {"sethostname", __NR_sethostname, {TEXT("x"), -1}},
    {"setdomainname", __NR_setdomainname, {TEXT("x"), -1}},
    {"vhangup", __NR_vhangup, {0}},
    {"unknown", 4000, {0}},
#ifdef __NR_ioperm
    {"ioperm", __NR_ioperm, {0x80, 1, 1}},
    {"iopl", __NR_iopl, {3}},
    {"modify_ldt", __NR_modify_ldt, {0, TEXT(zeros), sizeof zeros}},
#endif
};

static int trace_me(char **argv)
{
    (void)argv;
    return escape_result(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int unshare_user(char **argv)
{
    (void)argv;
    return escape_result(unshare(CLONE_NEWUSER));
}

static int unshare_mounts(char **argv)
{
    (void)argv;
    return escape_result(unshare(CLONE_NEWNS));
}

static int unshare_time(char **argv)
{
    (void)argv;
    return escape_result(unshare(0x80 /* CLONE_NEWTIME */));
}

/* A view of its own, by which what covers a file would be taken away. */
static int mount_in_user_namespace(char **argv)
{
    (void)argv;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        return errno;
    }
    return escape_result(mount("none", "/tmp", "tmpfs", 0, NULL));
}

static int clone_flags(unsigned long flags)
{
    const long child = syscall(__NR_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        _exit(0);
    }
    const int number = escape_result(child);
    return child > 0 && waitpid((pid_t)child, NULL, 0) != child ? errno : number;
}

static int clone_user(char **argv)
{
    (void)argv;
    return clone_flags(CLONE_NEWUSER);
}

static int clone_network(char **argv)
{
    (void)argv;
    return clone_flags(CLONE_NEWUSER | CLONE_NEWNET);
}

static int clone3_plain(char **argv)
{
    (void)argv;
    unsigned long long arguments[11] = {0};
    arguments[4] = SIGCHLD;
    const long child = syscall(__NR_clone3, arguments, sizeof arguments);
    if (child == 0) {
        _exit(0);
    }
    return escape_result(child);
}

static int own_user_namespace(char **argv)
{
    (void)argv;
    const int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    return escape_result(fd < 0 ? fd : setns(fd, 0));
}

/* A filter of the program's own, whose descriptor would answer its calls instead of the broker. */
static int listen_to_itself(char **argv)
{
    enum { NEW_LISTENER = 1 << 3 /* SECCOMP_FILTER_FLAG_NEW_LISTENER */ };
    (void)argv;
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {.len = 1, .filter = code};
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return escape_result(syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, NEW_LISTENER, &program));
}

static const struct {
    const char *name;
    escape_act *act;
} longer[] = {
    {"ptrace_traceme", trace_me},
    {"unshare_user", unshare_user},
    {"unshare_mounts", unshare_mounts},
    {"unshare_time", unshare_time},
    {"mount_in_user_namespace", mount_in_user_namespace},
    {"clone_user", clone_user},
    {"clone_network", clone_network},
    {"clone3", clone3_plain},
    {"setns_own", own_user_namespace},
    {"seccomp_listener", listen_to_itself},
};

int escape_call(char **argv)
{
    for (size_t i = 0; i < sizeof longer / sizeof longer[0]; i++) {
        if (strcmp(longer[i].name, argv[0]) == 0) {
            return escape_in_child(longer[i].act, argv);
        }
    }
    if (pipe(pair) != 0) {
        return errno;
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const call *row = &calls[i];
        if (strcmp(row->name, argv[0]) != 0) {
            continue;
        }
        const long *arguments = row->arguments;
        errno = 0;
        const long result = syscall(row->number, arguments[0], arguments[1], arguments[2],
                                    arguments[3], arguments[4], arguments[5]);
        if (result >= 0 || (errno != EPERM && errno != EACCES && errno != ENOSYS)) {
            (void)printf("%s: %s\n", row->name, result < 0 ? strerror(errno) : "done");
            return 0;
        }
        return errno;
    }
    (void)fprintf(stderr, "arcp-escape: there is no call \"%s\"\n", argv[0]);
    return -ESCAPE_UNABLE;
}

#ifdef __x86_64__
/* getpid by the 32-bit entry, whose numbers are others. */
static int enter_32(char **argv)
{
    (void)argv;
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result) : : "r8", "r9", "r10", "r11", "memory");
    return result > 0 ? 0 : (int)-result;
}

int escape_other_abi(char **argv)
{
    return escape_in_child(enter_32, argv);
}
#else
int escape_other_abi(char **argv)
{
    (void)argv;
    return escape_unable("this machine has one entry to the kernel");
}
#endif
