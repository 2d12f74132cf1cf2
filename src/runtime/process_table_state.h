/* Private to process_table*.c and agent_process*.c. */
#ifndef ARCP_RUNTIME_PROCESS_TABLE_STATE_H
#define ARCP_RUNTIME_PROCESS_TABLE_STATE_H

#include "runtime/agent_cgroups.h"
#include "runtime/agent_process.h"
#include "runtime/process_table.h"
#include "runtime/turn_share.h"
#include "runtime/work_directory.h"

#define ARCP__READ_BYTES 65536u

/* The job of a process that is gone: what it left outside its group is looked for. */
typedef struct arcp__ended_job {
    struct arcp__ended_job *next;
    char id[ARCP__PROCESS_JOB_SIZE];
} arcp__ended_job;

struct arcp__process_table {
    uv_loop_t *loop;
    arcp_launcher *launcher;         /* owned */
    arcp__work_directory *directory; /* owned or NULL */
    arcp__agent_cgroups *cgroups;    /* owned or NULL */
    uint32_t kill_after_ms, drain_ms, orphan_ms;
    arcp__agent_process *processes; /* not waited for yet */
    size_t count;
    size_t refs;       /* of the owner, of each process, of each handle below */
    char *read_buffer; /* owned; ARCP__READ_BYTES; filled and used within one callback */
    bool adopts;       /* orphans become our children */
    bool is_freed;
    uv_timer_t orphan_timer;
    arcp__ended_job *ended; /* since orphans were last looked for */

    /* A turn ends when the loop has looked for input. Who had its share of one goes on in the next,
     * and the loop does not sleep before. */
    arcp__turn turn;
    uv_check_t turning;
    uv_idle_t waking;
    arcp__agent_process *resting; /* the longest first */
    size_t resting_count;
};

void arcp__process_table_ref(arcp__process_table *table);
void arcp__process_table_unref(arcp__process_table *table);

/* ---- process_table.c ---- */
/* The process is not read, and nothing of it is delivered, until the next turn. */
void arcp__process_table_rest(arcp__agent_process *process);
/* It does not rest (any more). */
void arcp__process_table_resume(arcp__agent_process *process);

/* ---- process_orphans.c ---- */
/* A process of this job is gone: a second later its orphans are looked for and killed. */
void arcp__process_orphans_expect(arcp__process_table *table, const char *job);
/* Looks for them now; returns how many were killed. */
size_t arcp__process_orphans_look(const arcp__process_table *table);
void arcp__process_orphans_forget(arcp__process_table *table);

/* ---- agent_process.c ---- */
/* When it has ended, does what is to be done then. False when it still runs. */
bool arcp__agent_process_check(arcp__agent_process *process);

#endif
