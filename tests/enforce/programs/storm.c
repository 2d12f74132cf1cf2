/* Calls that a broker answers, with arguments that make no sense: it must answer each, and go on.
 *
 * They are harmless where nothing confines them: calls that change something get only addresses
 * that cannot be read, so that they fail with EFAULT; names that exist are given only to calls that
 * look. What the kernel writes goes to a page that no name is read from. */
#include "enforce/programs/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAGE = 4096, THREADS = 4 };

/* Calls that change something, by the places of their names: bit N is argument N. */
static const struct {
    long number;
    unsigned names;
} changing[] = {
    {__NR_unlinkat, 2}, {__NR_mkdirat, 2},   {__NR_mknodat, 2},  {__NR_fchmodat, 2},
    {__NR_fchownat, 2}, {__NR_truncate, 1},  {__NR_setxattr, 1}, {__NR_renameat2, 10},
    {__NR_linkat, 10},  {__NR_symlinkat, 5},
#ifdef __NR_open
    {__NR_creat, 1},    {__NR_unlink, 1},    {__NR_rmdir, 1},    {__NR_mkdir, 1},
    {__NR_mknod, 1},    {__NR_chmod, 1},     {__NR_chown, 1},    {__NR_rename, 3},
    {__NR_link, 3},     {__NR_symlink, 3},
#endif
};

static const char *const names[] = {
    "",
    "/",
    "..",
    "//",
    "/..",
    "/proc/self/root",
    "/dev/fd/0",
    "a/../../..",
    "file/",
    "file/.",
    "\xff\xfe",
    "a\nb",
    "*",
    "**",
    "[a]",
    "\x1b[2J",
    "/proc/self/exe",
    "/memfd:x (deleted)",
    "/proc/1/root",
    "/dev/null",
    "/root/x",
    "/etc/shadow",
    "/proc/self/cwd/..",
    "x",
};

typedef struct thread {
    pthread_t id;
    unsigned seed;
    char *edge;  /* a page of text without an end, before one that cannot be read */
    char *out;   /* what the kernel writes */
    char *large; /* a name of up to 8191 bytes */
    long end_ms;
} thread;

static long draw(thread *self, long below)
{
    return rand_r(&self->seed) % below;
}

/* An address from which no whole name can be read. */
static const char *unreadable(thread *self)
{
    switch (draw(self, 4)) {
    case 0:
        return NULL;
    case 1:
        return self->edge + 2 * (size_t)PAGE - 1;
    case 2:
        return self->edge + PAGE - draw(self, 64);
    default:
        return self->edge + PAGE + draw(self, 64);
    }
}

static const char *name_of(thread *self)
{
    const long kind = draw(self, 8);
    if (kind == 0) {
        return unreadable(self);
    }
    if (kind == 1) {
        const size_t size = (size_t)draw(self, 2 * PAGE - 1);
        (void)memset(self->large, draw(self, 2) == 0 ? '/' : 'x', size);
        self->large[size] = '\0';
        return self->large;
    }
    return names[(size_t)draw(self, sizeof names / sizeof names[0])];
}

static void change(thread *self)
{
    const size_t i = (size_t)draw(self, sizeof changing / sizeof changing[0]);
    long a[5];
    for (unsigned at = 0; at < 5; at++) {
        const unsigned names_here = changing[i].names;
        const bool is_directory =
            at == 0 || (at == 1 && names_here == 5) || (at == 2 && names_here == 10);
        a[at] = (names_here >> at & 1U) != 0 ? (long)(intptr_t)unreadable(self)
                : is_directory               ? AT_FDCWD
                                             : 0;
    }
    (void)syscall(changing[i].number, a[0], a[1], a[2], a[3], a[4], 0);
}

static void look(thread *self)
{
    const long directories[] = {AT_FDCWD, -1, 0, 100, draw(self, 16)};
    const int at = (int)directories[(size_t)draw(self, 5)];
    const int some = (int)(draw(self, 4) << 8);
    switch (draw(self, 8)) {
    case 0:
        (void)syscall(__NR_newfstatat, at, name_of(self), self->out,
                      some | (draw(self, 2) != 0 ? AT_EMPTY_PATH : 0));
        break;
    case 1:
        (void)syscall(__NR_faccessat, at, name_of(self), (int)draw(self, 8));
        break;
    case 2:
        (void)syscall(__NR_readlinkat, at, name_of(self), self->out, (int)draw(self, PAGE));
        break;
    case 3:
        (void)syscall(__NR_getxattr, name_of(self), name_of(self), self->out,
                      (size_t)draw(self, PAGE));
        break;
    case 4:
        (void)syscall(__NR_statx, at, name_of(self), some, (unsigned)draw(self, 4096), self->out);
        break;
    case 5:
        (void)syscall(__NR_chdir, name_of(self));
        break;
    default: {
        static const int flags[] = {0, O_PATH, O_DIRECTORY, O_NOFOLLOW, O_PATH | O_NOFOLLOW};
        const int fd =
            (int)syscall(__NR_openat, at, name_of(self),
                         O_RDONLY | O_NONBLOCK | O_NOCTTY | flags[(size_t)draw(self, 5)]);
        (void)(fd > 2 ? close(fd) : 0);
    }
    }
}

static void dial(thread *self)
{
    struct sockaddr_un address = {.sun_family = draw(self, 4) == 0 ? AF_UNSPEC : AF_UNIX};
    const char *name = names[(size_t)draw(self, sizeof names / sizeof names[0])];
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    const void *from = draw(self, 3) == 0 ? (const void *)unreadable(self) : &address;
    (void)syscall(__NR_connect, draw(self, 4) == 0 ? draw(self, 200) : fd, from,
                  (unsigned)draw(self, 200));
    (void)(fd >= 0 ? close(fd) : 0);
}

static void *rage(void *user)
{
    thread *self = user;
    while (escape_now_ms() < self->end_ms) {
        const long kind = draw(self, 8);
        if (kind == 0) {
            dial(self);
        } else if (kind < 4) {
            change(self);
        } else {
            look(self);
        }
    }
    return NULL;
}

static char *pages(void)
{
    char *made =
        mmap(NULL, (size_t)2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) {
        exit(ESCAPE_USAGE);
    }
    return made;
}

static void on_alarm(int number)
{
    (void)number;
}

static int storm(char **argv)
{
    static thread threads[THREADS];
    const struct itimerval often = {{.tv_usec = 300}, {.tv_usec = 300}};
    const struct itimerval never = {{0}, {0}};
    const struct sigaction action = {.sa_handler = on_alarm};
    const long end_ms = escape_now_ms() + escape_number(argv[2]);
    if (chdir(argv[0]) != 0) {
        return errno;
    }
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    for (size_t i = 0; i < THREADS; i++) {
        threads[i] = (thread){.seed = (unsigned)(getpid() + (int)i),
                              .edge = pages(),
                              .out = pages(),
                              .large = pages(),
                              .end_ms = end_ms};
        (void)memset(threads[i].edge, 'a', PAGE);
        if (mprotect(threads[i].edge + PAGE, PAGE, PROT_NONE) != 0 ||
            pthread_create(&threads[i].id, NULL, rage, &threads[i]) != 0) {
            return errno;
        }
    }
    for (size_t i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i].id, NULL);
    }
    (void)setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}

/* In the directory argv[0], for argv[2] milliseconds; done when the file argv[1] can be read
 * afterwards. */
int escape_storm(char **argv)
{
    const int number = escape_in_child(storm, argv);
    return number != 0 ? number : escape_show(open(argv[1], O_RDONLY | O_CLOEXEC));
}

/* So many paths that are denied, each another one; nothing is at any of them. */
int escape_denials(char **argv)
{
    char path[64];
    const long count = escape_number(argv[0]);
    for (long i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "/root/%ld", i);
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        (void)(fd < 0 ? 0 : close(fd));
    }
    return escape_show(open(argv[1], O_RDONLY | O_CLOEXEC));
}
