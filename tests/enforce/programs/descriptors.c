/* Acts that reach files by descriptors, by /proc and by other ways to open. */
#include "enforce/programs/escape.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_again(int fd, int flags)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, flags | O_CLOEXEC);
}

int escape_path_then_read(char **argv)
{
    const int fd = open(argv[0], O_PATH | O_CLOEXEC);
    return fd < 0 ? errno : escape_show(open_again(fd, O_RDONLY));
}

/* A directory by O_PATH, then what is below it or above. */
int escape_path_then_stat(char **argv)
{
    struct stat about;
    const int fd = open(argv[0], O_PATH | O_DIRECTORY | O_CLOEXEC);
    return escape_result(fd < 0 ? fd : fstatat(fd, argv[1], &about, 0));
}

int escape_relative_read(char **argv)
{
    const int fd = open(argv[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? errno : escape_show(openat(fd, argv[1], O_RDONLY | O_CLOEXEC));
}

int escape_relative_stat(char **argv)
{
    struct stat about;
    const int fd = open(argv[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return escape_result(fd < 0 ? fd : fstatat(fd, argv[1], &about, 0));
}

int escape_relative_chmod(char **argv)
{
    const int fd = open(argv[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return escape_result(fd < 0 ? fd : fchmodat(fd, argv[1], 0666, 0));
}

/* A file without a name in the directory, which then gets one. */
int escape_temporary_link(char **argv)
{
    char from[64];
    char to[4096];
    const int fd = open(argv[0], O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0) {
        return errno;
    }
    (void)snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    (void)snprintf(to, sizeof to, "%s/escaped", argv[0]);
    return escape_result(linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW));
}

int escape_temporary_only(char **argv)
{
    return escape_result(open(argv[0], O_TMPFILE | O_RDWR | O_CLOEXEC, 0644));
}

int escape_openat2(char **argv)
{
    struct {
        uint64_t flags, mode, resolve;
    } how = {.flags = O_RDONLY | O_CLOEXEC};
    const int fd = (int)syscall(__NR_openat2, AT_FDCWD, argv[0], &how, sizeof how);
    return escape_show(fd);
}

/* What was opened for reading is opened again for writing. */
int escape_reopen_write(char **argv)
{
    const int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
    const int again = fd < 0 ? -1 : open_again(fd, O_WRONLY | O_APPEND);
    return escape_result(again < 0 ? again : write(again, "escaped\n", 8));
}

/* A lease on a file: a program that opens it for writing waits until it is given up. */
int escape_hold(char **argv)
{
    return escape_result(fcntl(open(argv[0], O_RDONLY | O_CLOEXEC), F_SETLEASE, F_RDLCK));
}

/* The handle of a granted directory's file system, with another file's number: what the program
 * finds by trying. Here the handle of the file itself is taken when its name can be resolved. */
int escape_handle_read(char **argv)
{
    struct {
        struct file_handle head;
        unsigned char bytes[128];
    } handle = {.head = {.handle_bytes = 128}};
    int mount = 0;
    const int directory = open(argv[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0 || name_to_handle_at(AT_FDCWD, argv[1], &handle.head, &mount, 0) != 0) {
        return errno;
    }
    return escape_show(open_by_handle_at(directory, &handle.head, O_RDONLY));
}

/* With memory that only the kernel may read, so that nothing outside sees which name is asked for.
 */
int escape_private_memory_read(char **argv)
{
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return escape_show(open(argv[0], O_RDONLY | O_CLOEXEC));
}

/* From a descriptor that the starter left open. */
int escape_from_fd(char **argv)
{
    const int fd = (int)escape_number(argv[0]);
    return lseek(fd, 0, SEEK_SET) < 0 ? errno : escape_show(dup(fd));
}

/* Done when anything above the three standard ones is open. */
int escape_fd_above_two(char **argv)
{
    (void)argv;
    for (int fd = 3; fd < 4096; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            (void)printf("descriptor %d is open\n", fd);
            return 0;
        }
    }
    return EBADF;
}

/* Small files only: pipes and terminals of other processes are left alone. */
static int read_below(const char *root, const char *path)
{
    char whole[8192];
    struct stat about;
    (void)snprintf(whole, sizeof whole, "%s%s", root, path);
    if (stat(whole, &about) != 0) {
        return errno;
    }
    if (!S_ISREG(about.st_mode) || about.st_size == 0 || about.st_size > 64) {
        return EINVAL;
    }
    return escape_show(open(whole, O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

/* Reads the file through the root, the directory and the descriptors of every process there is. */
int escape_any_process(char **argv)
{
    static const char *const ways[] = {"root", "cwd", "fd/0", "fd/3", "fd/5", "task/1/root"};
    char root[512];
    bool found = false;
    DIR *processes = opendir("/proc");
    if (processes == NULL) {
        return errno;
    }
    for (const struct dirent *entry = readdir(processes); entry != NULL && !found;
         entry = readdir(processes)) {
        /* Not our own: what it can open is the subject of other rows. */
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
            strtol(entry->d_name, NULL, 10) == getpid()) {
            continue;
        }
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            (void)snprintf(root, sizeof root, "/proc/%s/%s", entry->d_name, ways[i]);
            found = read_below(root, argv[0]) == 0 || found;
            (void)(i >= 2 && i < 5 ? read_below(root, "")
                                   : 0); /* the runner looks for the secret */
        }
    }
    (void)closedir(processes);
    return found ? 0 : EACCES;
}

/* The path that another thread changes while it is opened. */
struct flip {
    const char *names[2];
    char path[4096];
    atomic_bool ends;
};

static void *flip_path(void *argument)
{
    struct flip *flip = argument;
    for (unsigned i = 0; !atomic_load(&flip->ends); i++) {
        const char *name = flip->names[i & 1];
        (void)memcpy(flip->path, name, strlen(name) + 1);
    }
    return NULL;
}

/* Opens the path again and again for `ms`, while another thread runs `change`. Shows the content
 * only when it is not that of the granted file. */
static int read_while(struct flip *flip, void *(*change)(void *), const char *path, long ms)
{
    char content[256];
    pthread_t thread;
    const long begin = escape_now_ms();
    bool found = false;
    if (pthread_create(&thread, NULL, change, flip) != 0) {
        return escape_unable("no thread can be started");
    }
    do {
        for (int i = 0; i < 100 && !found; i++) {
            const int fd = open(path, O_RDONLY | O_CLOEXEC);
            const ssize_t got = fd < 0 ? -1 : read(fd, content, sizeof content - 1);
            content[got < 0 ? 0 : got] = '\0';
            (void)(fd < 0 ? 0 : close(fd));
            if (strstr(content, "secret") != NULL) {
                (void)printf("%s\n", content);
                found = true;
            }
        }
    } while (!found && escape_now_ms() - begin < ms);
    atomic_store(&flip->ends, true);
    (void)pthread_join(thread, NULL);
    return found ? 0 : EACCES;
}

/* A path in memory that is granted at some times and not at others, for argv[2] milliseconds. */
int escape_flip_read(char **argv)
{
    static struct flip flip;
    flip.names[0] = argv[0];
    flip.names[1] = argv[1];
    (void)memcpy(flip.path, argv[0], strlen(argv[0]) + 1);
    return read_while(&flip, flip_path, flip.path, escape_number(argv[2]));
}

/* The same for writing. Done when the file that was opened is not that of argv[0]. */
int escape_flip_write(char **argv)
{
    static struct flip flip;
    struct stat granted;
    struct stat opened;
    pthread_t thread;
    const long begin = escape_now_ms();
    bool found = false;
    flip.names[0] = argv[0];
    flip.names[1] = argv[1];
    (void)memcpy(flip.path, argv[0], strlen(argv[0]) + 1);
    if (stat(argv[0], &granted) != 0 || pthread_create(&thread, NULL, flip_path, &flip) != 0) {
        return escape_unable("there is no file or thread to begin with");
    }
    do {
        const int fd = open(flip.path, O_WRONLY | O_CLOEXEC);
        found = fd >= 0 && fstat(fd, &opened) == 0 && opened.st_ino != granted.st_ino;
        (void)(fd < 0 ? 0 : close(fd));
    } while (!found && escape_now_ms() - begin < escape_number(argv[2]));
    atomic_store(&flip.ends, true);
    (void)pthread_join(thread, NULL);
    return found ? 0 : EACCES;
}

static void *flip_link(void *argument)
{
    struct flip *flip = argument;
    char made[4096];
    (void)snprintf(made, sizeof made, "%s.new", flip->path);
    for (unsigned i = 0; !atomic_load(&flip->ends); i++) {
        if (symlink(flip->names[i & 1], made) == 0) {
            (void)rename(made, flip->path);
        }
    }
    return NULL;
}

/* A link argv[0] that leads to a file that is granted at some times, and to another at others, for
 * argv[3] milliseconds. */
int escape_flip_link(char **argv)
{
    static struct flip flip;
    flip.names[0] = argv[1];
    flip.names[1] = argv[2];
    (void)snprintf(flip.path, sizeof flip.path, "%s", argv[0]);
    return read_while(&flip, flip_link, flip.path, escape_number(argv[3]));
}

/* What another program of the host does: gives two files the names of each other, for argv[2]
 * milliseconds or until there is a file argv[3]. */
int escape_exchange_often(char **argv)
{
    const long begin = escape_now_ms();
    const long ms = escape_number(argv[2]);
    while (escape_now_ms() - begin < ms && access(argv[3], F_OK) != 0) {
        if (renameat2(AT_FDCWD, argv[0], AT_FDCWD, argv[1], RENAME_EXCHANGE) != 0) {
            return errno;
        }
    }
    return 0;
}

/* Opens a path again and again while the host does that, until standard input ends; shows what is
 * not the granted file's, and makes the file argv[1]. */
int escape_read_often(char **argv)
{
    char content[256];
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    bool found = false;
    (void)printf("ready\n");
    (void)fflush(stdout);
    while (!found && poll(&input, 1, 0) == 0) {
        const int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
        const ssize_t got = fd < 0 ? -1 : read(fd, content, sizeof content - 1);
        content[got < 0 ? 0 : got] = '\0';
        (void)(fd < 0 ? 0 : close(fd));
        found = strstr(content, "secret") != NULL;
    }
    if (found) {
        (void)close(open(argv[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    (void)printf("%s\n", found ? content : "");
    return found ? 0 : EACCES;
}

/* The way out of a chroot: the current directory lies outside the new root, which is argv[0]. */
int escape_chroot_read(char **argv)
{
    if (chroot(argv[0]) != 0) {
        return errno;
    }
    for (int i = 0; i < 64; i++) {
        if (chdir("..") != 0) {
            return errno;
        }
    }
    return chroot(".") != 0 ? errno : escape_show(open(argv[1], O_RDONLY | O_CLOEXEC));
}
