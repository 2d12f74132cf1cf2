/* Acts on files by their path. */
#include "enforce/programs/escape.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int escape_read(char **argv)
{
    return escape_show(open(argv[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

int escape_list(char **argv)
{
    DIR *directory = opendir(argv[0]);
    if (directory == NULL) {
        return errno;
    }
    for (const struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory)) {
        (void)printf("%s\n", entry->d_name);
    }
    (void)closedir(directory);
    return 0;
}

int escape_stat(char **argv)
{
    struct stat about;
    return escape_result(stat(argv[0], &about));
}

static int put(int fd)
{
    if (fd < 0) {
        return errno;
    }
    const int number = write(fd, "escaped\n", 8) == 8 ? 0 : errno;
    (void)close(fd);
    return number;
}

int escape_write(char **argv)
{
    return put(open(argv[0], O_WRONLY | O_APPEND | O_CLOEXEC));
}

int escape_readwrite(char **argv)
{
    return put(open(argv[0], O_RDWR | O_CLOEXEC));
}

int escape_create(char **argv)
{
    return put(open(argv[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
}

int escape_creat(char **argv)
{
    return put(creat(argv[0], 0644));
}

int escape_truncate(char **argv)
{
    return escape_result(truncate(argv[0], 1));
}

int escape_truncating_open(char **argv)
{
    return escape_result(open(argv[0], O_RDONLY | O_TRUNC | O_CLOEXEC));
}

int escape_unlink(char **argv)
{
    return escape_result(unlink(argv[0]));
}

int escape_mkdir(char **argv)
{
    return escape_result(mkdir(argv[0], 0755));
}

int escape_rmdir(char **argv)
{
    return escape_result(rmdir(argv[0]));
}

int escape_rename(char **argv)
{
    return escape_result(rename(argv[0], argv[1]));
}

int escape_exchange(char **argv)
{
    return escape_result(renameat2(AT_FDCWD, argv[0], AT_FDCWD, argv[1], RENAME_EXCHANGE));
}

int escape_link(char **argv)
{
    return escape_result(link(argv[0], argv[1]));
}

/* A link to what a descriptor has open. */
int escape_link_fd(char **argv)
{
    char path[64];
    const int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return escape_result(linkat(AT_FDCWD, path, AT_FDCWD, argv[1], AT_SYMLINK_FOLLOW));
}

int escape_symlink(char **argv)
{
    return escape_result(symlink(argv[0], argv[1]));
}

int escape_mkfifo(char **argv)
{
    return escape_result(mkfifo(argv[0], 0644));
}

/* /dev/zero by another name. */
int escape_device(char **argv)
{
    return escape_result(mknod(argv[0], S_IFCHR | 0644, makedev(1, 5)));
}

/* What hides a file of a lower layer; making one takes no privilege. */
int escape_whiteout(char **argv)
{
    return escape_result(mknod(argv[0], S_IFCHR | 0644, makedev(0, 0)));
}

static int become(char **argv)
{
    (void)execl(argv[0], argv[0], (char *)NULL);
    return errno;
}

int escape_execute(char **argv)
{
    return escape_in_child(become, argv);
}

int escape_chdir(char **argv)
{
    return escape_result(chdir(argv[0]));
}

int escape_watch(char **argv)
{
    const int fd = inotify_init1(IN_CLOEXEC);
    return escape_result(fd < 0 ? fd : inotify_add_watch(fd, argv[0], IN_ALL_EVENTS));
}

/* Opens for writing and writes nothing: for files of the kernel. */
int escape_open_write(char **argv)
{
    return escape_result(open(argv[0], O_WRONLY | O_CLOEXEC | O_NOCTTY));
}
