/* Acts on objects of the kernel that have names of their own: System V and POSIX shared objects,
 * and terminals. */
#include "enforce/programs/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/vt.h>
#include <mqueue.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

static key_t key_of(const char *text)
{
    return (key_t)escape_number(text);
}

int escape_shared_memory(char **argv)
{
    const int id = shmget(key_of(argv[0]), 0, 0);
    const char *bytes = id < 0 ? NULL : shmat(id, NULL, SHM_RDONLY);
    if (bytes == NULL || (intptr_t)bytes == -1) {
        return errno;
    }
    (void)printf("%.60s\n", bytes);
    return 0;
}

int escape_semaphores(char **argv)
{
    return escape_result(semget(key_of(argv[0]), 0, 0));
}

int escape_system_messages(char **argv)
{
    return escape_result(msgget(key_of(argv[0]), 0));
}

int escape_message_queue(char **argv)
{
    return escape_result(mq_open(argv[0], O_RDONLY));
}

/* A terminal of its own becomes the controlling one, in a process that may have one. */
static int terminal(void)
{
    const int fd = posix_openpt(O_RDWR | O_NOCTTY);
    const char *name = fd < 0 || grantpt(fd) != 0 || unlockpt(fd) != 0 ? NULL : ptsname(fd);
    if (name == NULL || setsid() < 0) {
        return -1;
    }
    return open(name, O_RDWR);
}

static int push(char **argv)
{
    (void)argv;
    const int fd = terminal();
    return escape_result(fd < 0 ? fd : ioctl(fd, TIOCSTI, "x"));
}

/* The kernel reads 32 bits of the request: a filter that compares 64 is passed by this one. */
static int push_high(char **argv)
{
    (void)argv;
    const int fd = terminal();
    return escape_result(fd < 0 ? fd : syscall(__NR_ioctl, fd, (1UL << 32) | TIOCSTI, "x"));
}

static int discipline(char **argv)
{
    (void)argv;
    const int number = 0;
    const int fd = terminal();
    return escape_result(fd < 0 ? fd : ioctl(fd, TIOCSETD, &number));
}

/* The selection of a virtual console; other terminals do not know the request. */
static int selection(char **argv)
{
    (void)argv;
    char argument[16] = {2};
    const int fd = terminal();
    const int number = escape_result(fd < 0 ? fd : ioctl(fd, TIOCLINUX, argument));
    return number == ENOTTY || number == EINVAL ? 0 : number;
}

/* Stops the output of everything that writes to the terminal, until a program continues it. */
static int stop_output(char **argv)
{
    (void)argv;
    const int fd = terminal();
    return escape_result(fd < 0 ? fd : tcflow(fd, TCOOFF));
}

/* No other program can open the terminal then. */
static int exclude(char **argv)
{
    (void)argv;
    const int fd = terminal();
    return escape_result(fd < 0 ? fd : ioctl(fd, TIOCEXCL));
}

int escape_terminal_input(char **argv)
{
    return escape_in_child(push, argv);
}

int escape_terminal_input_high(char **argv)
{
    return escape_in_child(push_high, argv);
}

int escape_terminal_discipline(char **argv)
{
    return escape_in_child(discipline, argv);
}

int escape_terminal_selection(char **argv)
{
    return escape_in_child(selection, argv);
}

int escape_terminal_stop(char **argv)
{
    return escape_in_child(stop_output, argv);
}

int escape_terminal_exclusive(char **argv)
{
    return escape_in_child(exclude, argv);
}
