/* Reads information about processes from /proc. */
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
    uint64_t
        started; /* ticks since boot; with pid and boot id this identifies a process uniquely */
} arcp__proc_stat;

/* False if there is no such process. */
bool arcp__proc_stat_read(pid_t pid, arcp__proc_stat *out);

/* Parses the text of /proc/PID/stat; false if it is malformed. */
bool arcp__proc_stat_parse(const char *text, arcp__proc_stat *out);

/* What a process and those below it use. */
typedef struct arcp__proc_usage {
    uint64_t cpu_ms, memory_bytes;
} arcp__proc_usage;
/* Of 64 processes at most. False if there is no such process. */
bool arcp__proc_usage_read(pid_t pid, arcp__proc_usage *out);
/* Reads one process's part from the text of /proc/PID/stat; false if it is malformed. */
bool arcp__proc_usage_parse(const char *text, long ticks_per_sec, long page_bytes,
                            arcp__proc_usage *out);

typedef void (*arcp__proc_fn)(void *user, const arcp__proc_stat *process);
/* Calls `each` for every process that /proc shows. */
void arcp__proc_each(arcp__proc_fn each, void *user);
/* The same for the children of this process, including adopted orphans. */
void arcp__proc_each_child(arcp__proc_fn each, void *user);

/* The value of a variable in the environment with which the process was started. False if it is not
 * set, does not fit into `out`, or may not be read. */
bool arcp__proc_variable(pid_t pid, const char *name, char *out, size_t size);

/* Whether the current directory of the process is `directory` or below it, even if it was removed.
 */
bool arcp__proc_is_inside(pid_t pid, arcp_span directory);

#endif
