/* Executes a program below a filter like that of a container: no namespaces, no mounts, no
 * descriptors of others.
 *
 *   arcp-enforce-container PROGRAM [ARG]... */
#include <err.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NEW_NAMESPACES = 0x7e020080 };

#define LOAD(member)                                                                               \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, member))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE(name)                                                                               \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (name), 0, 1), RETURN(SECCOMP_RET_ERRNO | EPERM)

static struct sock_filter filter[] = {
    LOAD(nr),
    REFUSE(__NR_unshare),
    REFUSE(__NR_setns),
    REFUSE(__NR_mount),
    REFUSE(__NR_umount2),
    REFUSE(__NR_pivot_root),
    REFUSE(__NR_fsopen),
    REFUSE(__NR_fsmount),
    REFUSE(__NR_fspick),
    REFUSE(__NR_fsconfig),
    REFUSE(__NR_open_tree),
    REFUSE(__NR_move_mount),
    REFUSE(__NR_mount_setattr),
    REFUSE(__NR_pidfd_getfd),
    REFUSE(__NR_open_by_handle_at),
    REFUSE(__NR_keyctl),
    REFUSE(__NR_add_key),
    REFUSE(__NR_request_key),
    REFUSE(__NR_bpf),
    REFUSE(__NR_perf_event_open),
    REFUSE(__NR_userfaultfd),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1),
    RETURN(SECCOMP_RET_ERRNO | ENOSYS),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 3),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 0, 1),
    RETURN(SECCOMP_RET_ERRNO | EPERM),
    RETURN(SECCOMP_RET_ALLOW),
};

int main(int argc, char **argv)
{
    const struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    if (argc < 2) {
        errx(125, "usage: arcp-enforce-container PROGRAM [ARG]...");
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        err(125, "the filter");
    }
    (void)execv(argv[1], argv + 1);
    err(125, "%s", argv[1]);
}
