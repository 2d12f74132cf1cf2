/* Acts on other processes: those of the host, and the one that started this program. */
#include "enforce/programs/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pid_of(const char *text)
{
    return (pid_t)escape_number(text);
}

/* Not an act: the process that others act on. Has the secret in its memory and open as descriptor
 * 5, and writes its address. */
int escape_victim(char **argv)
{
    static char memory[64];
    (void)snprintf(memory, sizeof memory, "%s", argv[1]);
    const int fd = chdir(argv[0]) != 0 ? -1 : open("outside/secret", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || dup2(fd, 5) != 5 || chdir("outside") != 0) {
        return errno;
    }
    (void)printf("%lx\n", (unsigned long)memory);
    (void)fflush(stdout);
    for (;;) {
        (void)pause();
    }
}

int escape_kill(char **argv)
{
    return escape_result(kill(pid_of(argv[0]), (int)escape_number(argv[1])));
}

/* Signal 0 to every process that may be signalled: kills none. */
int escape_kill_all(char **argv)
{
    (void)argv;
    return escape_result(kill(-1, 0));
}

int escape_queue_signal(char **argv)
{
    const union sigval value = {.sival_int = 0};
    return escape_result(sigqueue(pid_of(argv[0]), SIGTERM, value));
}

int escape_pidfd_signal(char **argv)
{
    const int fd = (int)syscall(__NR_pidfd_open, pid_of(argv[0]), 0);
    return escape_result(fd < 0 ? fd : syscall(__NR_pidfd_send_signal, fd, SIGTERM, NULL, 0));
}

/* The process at the other end of standard input, by a descriptor that the kernel gives for it;
 * whether it could be signalled. */
int escape_signal_peer(char **argv)
{
    enum { PEER_PIDFD = 77 /* SO_PEERPIDFD, Linux 6.5 */ };
    int fd = -1;
    socklen_t size = sizeof fd;
    (void)argv;
    if (getsockopt(STDIN_FILENO, SOL_SOCKET, PEER_PIDFD, &fd, &size) != 0) {
        return errno == ENOPROTOOPT ? escape_unable("the kernel gives no such descriptors") : errno;
    }
    return escape_result(syscall(__NR_pidfd_send_signal, fd, 0, NULL, 0));
}

/* A signal that a descriptor sends when something can be read from it. */
int escape_own_fd_signal(char **argv)
{
    int ends[2];
    if (pipe(ends) != 0 || fcntl(ends[0], F_SETOWN, pid_of(argv[0])) != 0 ||
        fcntl(ends[0], F_SETSIG, SIGTERM) != 0 ||
        fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK) != 0) {
        return errno;
    }
    return escape_result(write(ends[1], "x", 1));
}

/* To a thread by its number, past the calls that name a process. */
int escape_signal_thread(char **argv)
{
    const pid_t pid = pid_of(argv[0]);
    return escape_result(syscall(__NR_tgkill, pid, pid, SIGTERM));
}

int escape_queue_thread_signal(char **argv)
{
    const pid_t pid = pid_of(argv[0]);
    siginfo_t info = {.si_signo = SIGTERM, .si_code = SI_QUEUE};
    return escape_result(syscall(__NR_rt_tgsigqueueinfo, pid, pid, SIGTERM, &info));
}

/* The namespace of a process by its descriptor, without a name in /proc. */
int escape_take_namespace(char **argv)
{
    enum { GET_NETWORK = 0xff04 /* PIDFD_GET_NET_NAMESPACE, Linux 6.11 */ };
    const int fd = (int)syscall(__NR_pidfd_open, pid_of(argv[0]), 0);
    const int number = escape_result(fd < 0 ? fd : ioctl(fd, GET_NETWORK, 0));
    return number == ENOTTY ? escape_unable("the kernel gives no such descriptors") : number;
}

int escape_trace(char **argv)
{
    return escape_result(ptrace(PTRACE_SEIZE, pid_of(argv[0]), NULL, NULL));
}

/* Stops the process, and has it go on with a signal that ends it. */
int escape_attach(char **argv)
{
    const pid_t pid = pid_of(argv[0]);
    int status = 0;
    /* Waits for its end: a signal that it has not met yet would be overtaken by the test's SIGKILL.
     */
    if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) != 0 || waitpid(pid, &status, __WALL) != pid ||
        ptrace(PTRACE_CONT, pid, NULL, SIGTERM) != 0 || waitpid(pid, &status, __WALL) != pid) {
        return errno;
    }
    return escape_result(WIFSIGNALED(status) ? 0 : -1);
}

static int show_memory(pid_t pid, unsigned long address)
{
    char copy[64] = "";
    const struct iovec here = {.iov_base = copy, .iov_len = sizeof copy};
    const struct iovec there = {.iov_base = (void *)address, .iov_len = sizeof copy}; /* NOLINT */
    const ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    (void)fwrite(copy, 1, got < 0 ? 0 : (size_t)got, stdout);
    return escape_result(got);
}

int escape_read_memory(char **argv)
{
    return show_memory(pid_of(argv[0]), strtoul(argv[1], NULL, 16));
}

static int open_of(pid_t pid, const char *name, int flags)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return open(path, flags | O_CLOEXEC);
}

int escape_open_memory(char **argv)
{
    return escape_result(open_of(pid_of(argv[0]), "mem", O_RDWR));
}

static int take(pid_t pid, int number)
{
    const int process = (int)syscall(__NR_pidfd_open, pid, 0);
    return process < 0 ? process : (int)syscall(__NR_pidfd_getfd, process, number, 0);
}

/* The victim has the secret open as descriptor 5. */
int escape_take_fd(char **argv)
{
    const int fd = take(pid_of(argv[0]), 5);
    return fd < 0 || lseek(fd, 0, SEEK_SET) < 0 ? errno : escape_show(fd);
}

int escape_limit(char **argv)
{
    const struct rlimit limit = {.rlim_cur = 0, .rlim_max = 0};
    return escape_result(prlimit(pid_of(argv[0]), RLIMIT_CORE, &limit, NULL));
}

int escape_priority(char **argv)
{
    return escape_result(setpriority(PRIO_PROCESS, (id_t)pid_of(argv[0]), 19));
}

int escape_affinity(char **argv)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    return escape_result(sched_setaffinity(pid_of(argv[0]), sizeof set, &set));
}

int escape_scheduler(char **argv)
{
    const struct sched_param parameters = {.sched_priority = 0};
    return escape_result(sched_setscheduler(pid_of(argv[0]), SCHED_BATCH, &parameters));
}

int escape_io_priority(char **argv)
{
    return escape_result(
        syscall(__NR_ioprio_set, 1 /* a process */, pid_of(argv[0]), 3 << 13 /* idle */));
}

int escape_migrate(char **argv)
{
    const unsigned long node = 1;
    return escape_result(syscall(__NR_migrate_pages, pid_of(argv[0]), 64, &node, &node));
}

int escape_move_memory(char **argv)
{
    void *page = NULL;
    return escape_result(syscall(__NR_move_pages, pid_of(argv[0]), 0, &page, NULL, NULL, 0));
}

/* kcmp tells an order of kernel addresses, so it is closed whatever it is asked. */
int escape_compare(char **argv)
{
    return escape_result(syscall(__NR_kcmp, getpid(), pid_of(argv[0]), 0, 0, 0));
}

/* The process that started this one: inside it is the first of the sandbox. */
int escape_parent_memory(char **argv)
{
    (void)argv;
    return escape_result(open_of(getppid(), "mem", O_RDWR));
}

int escape_parent_fd(char **argv)
{
    (void)argv;
    for (int number = 0; number < 64; number++) {
        if (take(getppid(), number) >= 0) {
            return 0;
        }
    }
    return EPERM;
}

int escape_parent_trace(char **argv)
{
    (void)argv;
    return escape_result(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
}

int escape_parent_environment(char **argv)
{
    (void)argv;
    char byte = 0;
    const int fd = open_of(getppid(), "environ", O_RDONLY);
    return escape_result(fd < 0 ? fd : read(fd, &byte, 1));
}

/* Where the starter's program lies on the host, and a descriptor of it. */
int escape_parent_exe(char **argv)
{
    (void)argv;
    return escape_result(open_of(getppid(), "exe", O_RDONLY));
}

/* A process in a session of its own that ignores what can be ignored, and lives on when the program
 * has ended. It then writes its argument to standard output. */
int escape_survive(char **argv)
{
    int ends[2];
    char byte = 0;
    if (pipe(ends) != 0) {
        return errno;
    }
    (void)fflush(stdout);
    const pid_t first = fork();
    if (first < 0) {
        return errno;
    }
    if (first != 0) {
        (void)close(ends[1]);
        return read(ends[0], &byte, 1) == 1 ? ECHILD : EPIPE; /* the other one is ready, or not */
    }
    (void)setsid();
    for (int number = 1; number < 32; number++) {
        (void)signal(number, SIG_IGN);
    }
    (void)signal(SIGCHLD, SIG_DFL);
    const pid_t parent = getppid();
    if (fork() != 0) {
        _exit(0);
    }
    (void)close(ends[0]);
    if (write(ends[1], "x", 1) != 1) {
        _exit(1);
    }
    (void)close(ends[1]);
    /* The program's end is seen by its process: nothing else says it to a grandchild. */
    while (kill(parent, 0) == 0) {
        (void)sched_yield();
    }
    /* What ends with the program is being killed now. */
    (void)poll(NULL, 0, 300);
    (void)printf("%s\n", argv[0]);
    (void)fflush(stdout);
    _exit(0);
}

/* So many children at the same time; all are gone afterwards. */
int escape_forks(char **argv)
{
    const long wanted = escape_number(argv[0]);
    int ends[2];
    long made = 0;
    int number = 0;
    if (pipe(ends) != 0) {
        return errno;
    }
    while (made < wanted && number == 0) {
        const pid_t child = fork();
        if (child == 0) {
            char byte = 0;
            (void)close(ends[1]);
            _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
        }
        number = child < 0 ? errno : 0;
        made += child > 0 ? 1 : 0;
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
    while (wait(NULL) > 0) {
    }
    return number;
}

static int touch_memory(char **argv)
{
    const size_t size = (size_t)escape_number(argv[0]);
    char *bytes = malloc(size);
    if (bytes == NULL) {
        return ENOMEM;
    }
    for (size_t i = 0; i < size; i += 4096) {
        bytes[i] = (char)i;
    }
    const char sum = bytes[size / 2];
    free(bytes);
    return sum == 1 ? EINVAL : 0;
}

int escape_memory(char **argv)
{
    return escape_in_child(touch_memory, argv);
}

static int crash(char **argv)
{
    (void)argv;
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    const struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    (void)setrlimit(RLIMIT_CORE, &limit);
    (void)signal(SIGQUIT, SIG_DFL); /* a shell's command in the background ignores it */
    (void)kill(getpid(), SIGQUIT);
    return EPERM;
}

/* Done when the kernel says that it has written or piped a dump. */
int escape_core_dump(char **argv)
{
    int status = 0;
    struct rlimit limit;
    if (chdir(argv[0]) != 0 || getrlimit(RLIMIT_CORE, &limit) != 0) {
        return errno;
    }
    if (limit.rlim_max == 0) {
        return escape_unable("who runs the tests may have no dumps");
    }
    const pid_t child = fork();
    if (child == 0) {
        _exit(crash(argv));
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return errno;
    }
    return WIFSIGNALED(status) && WCOREDUMP(status) ? 0 : EPERM;
}
