/* The processes that one runtime runs on one loop: how they are started, where they work,
 * and which they are, so that orphans can be told from them. */
#ifndef ARCP_RUNTIME_PROCESS_TABLE_H
#define ARCP_RUNTIME_PROCESS_TABLE_H

#include <uv.h>

#include <arcp/sys/launcher.h>

typedef struct arcp__process_table arcp__process_table;
typedef struct arcp__work_directory arcp__work_directory;

typedef struct arcp__process_table_options {
    uv_loop_t *loop;
    arcp_launcher *launcher;         /* taken over; NULL: the direct one */
    arcp__work_directory *directory; /* taken over; NULL: none, and nothing is noted */
    bool makes_cgroups;              /* one for each process, where that can be done */
    uint32_t kill_after_ms;          /* from SIGTERM to SIGKILL; 0: 5 s */
    uint32_t drain_ms;               /* how long output is read after the end; 0: 1 s */
    uint32_t orphan_ms;              /* from a job's end to looking for orphans; 0: 1 s */
} arcp__process_table_options;

/* On failure nothing was taken over. */
ARCP_MUST_CHECK arcp_status arcp__process_table_new(const arcp__process_table_options *options,
                                                    arcp__process_table **out, arcp_error *err);

/* Ends what still runs, without a word to its owner. Memory, launcher and directory go with
 * the last process, when the loop has seen its end. NULL is accepted. */
void arcp__process_table_free(arcp__process_table *table);

/* Processes that have not been waited for yet. */
size_t arcp__process_table_count(const arcp__process_table *table);

/* For a program that adopts orphans (a child subreaper, or the first process of a
 * container), on SIGCHLD: waits for every child that has ended. Ours are told to their
 * owners as usual; the others are forgotten. */
void arcp__process_table_reap(arcp__process_table *table);

/* For a program that adopts orphans and has no children but agents, when it ends: kills every
 * child, and theirs when they become its own, and waits for them, for at most two seconds. */
void arcp__process_table_end_children(void);

#endif
