/* Runs a command on the host of a network world, for tests that are scripts.
 *
 *   arcp-enforce-world DIRECTORY SERVER COMMAND [ARG]...
 *
 * SERVER, a command of the shell, serves the world's addresses; COMMAND begins at the same time.
 * Files of the world are made in DIRECTORY. Exit status: that of the command; 77: no world can be
 * made here (it needs root, and virtual interfaces). */
#include <err.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "enforce/world.h"

enum { NOT_RUN = 77 };

int main(int argc, char **argv)
{
    int status = 0;
    network_world world;
    if (argc < 4) {
        errx(2, "usage: arcp-enforce-world DIRECTORY SERVER COMMAND [ARG]...");
    }
    const world_options options = {.directory = argv[1], .token = "secret", .command = argv[2]};
    if (geteuid() != 0) {
        (void)printf("not run: only root can make a network world\n");
        return NOT_RUN;
    }
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        err(1, "a mount namespace");
    }
    if (!world_start(&world, &options)) {
        (void)printf("not run: this kernel has no virtual interfaces\n");
        return NOT_RUN;
    }
    const pid_t child = fork();
    if (child == 0) {
        (void)execvp(argv[3], argv + 3);
        err(127, "%s", argv[3]);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        err(1, "fork");
    }
    world_stop(&world);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
