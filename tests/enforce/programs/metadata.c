/* Acts on a file's mode, times, owner and attributes, for which no right to write is asked. */
#include "enforce/programs/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* Numbers that Debian 12's headers lack; the same on all machines. */
enum { NR_FCHMODAT2 = 452, NR_SETXATTRAT = 463, NR_FILE_SETATTR = 469 };

static const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
static const char attribute[] = "user.escaped";

int escape_chmod(char **argv)
{
    return escape_result(chmod(argv[0], (mode_t)escape_number(argv[1])));
}

int escape_fchmod(char **argv)
{
    const int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
    return escape_result(fd < 0 ? fd : fchmod(fd, (mode_t)escape_number(argv[1])));
}

int escape_fchmodat2(char **argv)
{
    return escape_result(syscall(NR_FCHMODAT2, AT_FDCWD, argv[0], escape_number(argv[1]), 0));
}

/* By a descriptor that was opened with O_PATH. */
int escape_fchmod_path(char **argv)
{
    char path[64];
    const int fd = open(argv[0], O_PATH | O_CLOEXEC);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return escape_result(fd < 0 ? fd : chmod(path, (mode_t)escape_number(argv[1])));
}

/* To the owner that it has: the right is asked all the same, and the time of the change is set. */
int escape_chown(char **argv)
{
    return escape_result(chown(argv[0], geteuid(), getegid()));
}

int escape_fchown(char **argv)
{
    const int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
    return escape_result(fd < 0 ? fd : fchown(fd, geteuid(), getegid()));
}

int escape_utimes(char **argv)
{
    return escape_result(utimensat(AT_FDCWD, argv[0], long_ago, 0));
}

int escape_futimes(char **argv)
{
    const int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
    return escape_result(fd < 0 ? fd : futimens(fd, long_ago));
}

int escape_setxattr(char **argv)
{
    return escape_result(setxattr(argv[0], attribute, "x", 1, 0));
}

int escape_fsetxattr(char **argv)
{
    const int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
    return escape_result(fd < 0 ? fd : fsetxattr(fd, attribute, "x", 1, 0));
}

int escape_setxattrat(char **argv)
{
    struct {
        uint64_t value;
        uint32_t size, flags;
    } arguments = {.value = (uintptr_t) "x", .size = 1};
    return escape_result(
        syscall(NR_SETXATTRAT, AT_FDCWD, argv[0], 0, attribute, &arguments, sizeof arguments));
}

int escape_set_flags(char **argv)
{
    int flags = 0;
    const int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0) {
        return errno;
    }
    flags |= FS_NODUMP_FL;
    return escape_result(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

int escape_file_setattr(char **argv)
{
    struct {
        uint64_t flags;
        uint32_t extent_bytes, extents, project, cow_bytes;
    } arguments = {.flags = 0x80 /* no dump */};
    return escape_result(
        syscall(NR_FILE_SETATTR, AT_FDCWD, argv[0], &arguments, sizeof arguments, 0));
}

int escape_create_mode(char **argv)
{
    return escape_result(
        open(argv[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)escape_number(argv[1])));
}

int escape_creat_mode(char **argv)
{
#ifdef __NR_creat
    return escape_result(syscall(__NR_creat, argv[0], escape_number(argv[1])));
#else
    return escape_unable("this machine has no creat");
#endif
}

int escape_openat2_mode(char **argv)
{
    struct {
        uint64_t flags, mode, resolve;
    } how = {.flags = O_WRONLY | O_CREAT | O_EXCL, .mode = (uint64_t)escape_number(argv[1])};
    return escape_result(syscall(__NR_openat2, AT_FDCWD, argv[0], &how, sizeof how));
}

int escape_mknod_mode(char **argv)
{
    return escape_result(mknod(argv[0], S_IFREG | (mode_t)escape_number(argv[1]), 0));
}

/* For a copy of this program that is set-user-id root. */
int escape_effective_root(char **argv)
{
    (void)argv;
    return geteuid() == 0 && getuid() != 0 ? 0 : EPERM;
}
