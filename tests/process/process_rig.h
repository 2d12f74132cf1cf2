/* One table of processes on one loop, and an owner that remembers its callbacks. */
#ifndef ARCP_TESTS_PROCESS_PROCESS_RIG_H
#define ARCP_TESTS_PROCESS_PROCESS_RIG_H

#include <uv.h>

#include "support/check.h"

#include "process/process.h"
#include "support/process_support.h"

typedef struct process_rig {
    uv_loop_t loop;
    uv_timer_t watchdog;
    bool late;
    size_t descriptors; /* open before there was a loop */
    char base[64];
    const char *run; /* this run's directory, below base */
    arcp__process_table *table;
    arcp__process_spec spec;
    arcp_error error;
} process_rig;

/* The output and the end of one process. */
typedef struct process_owner {
    arcp__agent_process *process;
    size_t starts;
    arcp_status started;
    char why[200];
    arcp_buf lines;  /* of standard output, each with a line feed added */
    arcp_buf output; /* of a plain program, unchanged */
    arcp_buf logs;   /* of standard error, each with a line feed */
    arcp_buf tail;
    size_t line_count;
    size_t longest_output; /* the largest piece */
    size_t refusals;
    arcp_status refused;
    size_t exits;
    arcp_process_exit end;
} process_owner;

/* SIGKILL follows SIGTERM after `kill_after_ms`, output is read `drain_ms` after the end;
 * 0: the defaults. The spec is for /bin/true, with 4096 bytes per line. */
void process_rig_start(process_rig *rig, uint32_t kill_after_ms, uint32_t drain_ms);
/* Frees the table, and fails the test when a handle, a descriptor, a child or a directory
 * is left. */
void process_rig_stop(process_rig *rig);

/* The number of processes that have not been waited for. */
size_t process_rig_running(const process_rig *rig);

/* One round of the loop; fails the test when nothing has happened for a minute. */
void process_rig_step(process_rig *rig, const char *what);
#define run_until(rig, condition)                                                                  \
    do {                                                                                           \
        while (!(condition)) {                                                                     \
            process_rig_step((rig), #condition);                                                   \
        }                                                                                          \
    } while (0)

/* Starts rig->spec with another command and waits until it runs; `owner` gets the callbacks. */
void process_rig_run(process_rig *rig, process_owner *owner, const char *const *argv);
void process_rig_run_shell(process_rig *rig, process_owner *owner, const char *script);
/* The callbacks that write to `owner`. */
arcp__agent_process_callbacks process_owner_callbacks(process_owner *owner);
/* Frees the process, unless it was freed already, and its recorded output. */
void process_owner_fini(process_owner *owner);

#endif
