/* What /proc says about a process. */
#ifndef ARCP_LAUNCH_PROC_STAT_H
#define ARCP_LAUNCH_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <arcp/span.h>

typedef struct arcp__proc_stat {
    pid_t pid;
    char state; /* 'Z': ended, not yet waited for */
    pid_t parent;
    pid_t group;
    uint64_t started; /* ticks since boot; with pid and boot it names one process for good */
} arcp__proc_stat;

/* False when there is no such process. */
bool arcp__proc_stat_read(pid_t pid, arcp__proc_stat *out);

/* The same from the file's text; false when it is not one. */
bool arcp__proc_stat_parse(const char *text, arcp__proc_stat *out);

typedef void (*arcp__proc_fn)(void *user, const arcp__proc_stat *process);
/* Calls `each` for every process that /proc shows. */
void arcp__proc_each(arcp__proc_fn each, void *user);
/* The same for the children of this process, orphans that it adopted included. */
void arcp__proc_each_child(arcp__proc_fn each, void *user);

/* The value of a variable in its environment, as that was when it started. False when it has
 * none, when it does not fit `out`, or when we may not look. */
bool arcp__proc_variable(pid_t pid, const char *name, char *out, size_t size);

/* Whether its current directory is `directory` or below; removed directories count. */
bool arcp__proc_is_inside(pid_t pid, arcp_span directory);

#endif
