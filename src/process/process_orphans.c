/* What a job's processes left behind outside their group.
 *
 * A program that detaches itself (setsid, a daemon) leaves the group that is killed with
 * the job. Where orphans become our children they can still be found: they carry the job's
 * ARCP_JOB_ID in their environment. One that clears its environment is not found by that; a
 * cgroup holds it, where one can be made (launch/cgroups.h), and the end of arcpd ends it. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "launch/proc_stat.h"
#include "process/process_state.h"

static void on_timer(uv_timer_t *timer)
{
    arcp__process_table *table = timer->data;
    if (arcp__process_orphans_look(table) == 0) {
        arcp_buf_clear(&table->ended);
        return;
    }
    /* Their own children become ours when they are gone. */
    (void)uv_timer_start(timer, on_timer, table->orphan_ms, 0);
}

void arcp__process_orphans_expect(arcp__process_table *table,
                                  const char job[ARCP__PROCESS_JOB_SIZE])
{
    if (!table->adopts || job[0] == '\0') {
        return;
    }
    /* Without memory its orphans stay, as they would without us. */
    arcp_buf_append(&table->ended, arcp_span_make(job, ARCP__PROCESS_JOB_SIZE));
    if (!table->is_freed && !uv_is_active((uv_handle_t *)&table->orphan_timer)) {
        (void)uv_timer_start(&table->orphan_timer, on_timer, table->orphan_ms, 0);
    }
}

/* A job may have ended while another process of it runs: that is none of ours to end. */
static bool is_over(const arcp__process_table *table, const char *job)
{
    const arcp__agent_process *process = NULL;
    DL_FOREACH (table->processes, process) {
        if (strcmp(process->job, job) == 0) {
            return false;
        }
    }
    for (size_t at = 0; at < table->ended.size; at += ARCP__PROCESS_JOB_SIZE) {
        if (strcmp(table->ended.data + at, job) == 0) {
            return true;
        }
    }
    return false;
}

typedef struct look {
    const arcp__process_table *table;
    size_t killed;
} look;

static void on_child(void *user, const arcp__proc_stat *child)
{
    look *l = user;
    char job[ARCP__PROCESS_JOB_SIZE];
    if (child->state != 'Z' && arcp__process_table_find(l->table, child->pid) == NULL &&
        arcp__proc_variable(child->pid, "ARCP_JOB_ID", job, sizeof(job)) &&
        is_over(l->table, job) && kill(child->pid, SIGKILL) == 0) {
        l->killed++;
    }
}

size_t arcp__process_orphans_look(const arcp__process_table *table)
{
    look l = {.table = table};
    if (table->ended.size != 0) {
        arcp__proc_each_child(on_child, &l);
    }
    return l.killed;
}

/* ---- at the end of a program that has no other children ---- */

#define END_ROUND_NS   2000000
#define END_ROUNDS_MAX 1000

static void kill_child(void *user, const arcp__proc_stat *child)
{
    (void)user;
    if (child->state != 'Z') {
        (void)kill(child->pid, SIGKILL);
    }
}

/* Each round ends a generation: the children of those that were killed become ours. */
void arcp__process_table_end_children(void)
{
    const struct timespec pause = {.tv_nsec = END_ROUND_NS};
    for (unsigned round = 0; round < END_ROUNDS_MAX; round++) {
        siginfo_t info = {0};
        int result = 0;
        do {
            info.si_pid = 0;
            result = waitid(P_ALL, 0, &info, WEXITED | WNOHANG);
        } while ((result == 0 && info.si_pid != 0) || (result != 0 && errno == EINTR));
        if (result != 0) {
            return; /* there are none any more */
        }
        arcp__proc_each_child(kill_child, NULL);
        (void)nanosleep(&pause, NULL);
    }
}
