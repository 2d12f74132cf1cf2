#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "launch/proc_stat.h"
#include "process/process_state.h"

#define KILL_AFTER_MS 5000u
#define DRAIN_MS      1000u
#define REAP_AGAIN_MS 100u
#define ORPHAN_MS     1000u /* one search finds the orphans of all jobs that ended meanwhile */

/* ---- turns ---- */

static void on_keep_awake(uv_idle_t *idle)
{
    (void)idle; /* a loop with an active idle handle does not sleep */
}

void arcp__process_table_rest(arcp__agent_process *process)
{
    if (!process->is_resting && !process->is_freed) {
        process->is_resting = true;
        process->table->resting_count++;
        DL_APPEND2(process->table->resting, process, previous_resting, next_resting);
        (void)uv_idle_start(&process->table->keep_awake, on_keep_awake);
    }
}

void arcp__process_table_resume(arcp__agent_process *process)
{
    if (process->is_resting) {
        process->is_resting = false;
        process->table->resting_count--;
        DL_DELETE2(process->table->resting, process, previous_resting, next_resting);
    }
}

static void on_turn(uv_check_t *check)
{
    arcp__process_table *table = check->data;
    arcp__turn_next(&table->turn);
    for (size_t left = table->resting_count;
         left != 0 && table->resting != NULL && !arcp__turn_is_over(&table->turn); left--) {
        arcp__agent_process *process = table->resting;
        arcp__process_table_resume(process);
        arcp__agent_process_continue(process);
    }
    if (table->resting == NULL) {
        (void)uv_idle_stop(&table->keep_awake);
    }
}

/* ---- orphans: processes of a job that left its process group ----
 *
 * A program that detaches itself (setsid, a daemon) leaves the group that is killed with the job.
 * If orphans become our children, we find them by the job's ARCP_JOB_ID in their environment. A
 * process that has cleared its environment is not found in this way; it is killed with its cgroup,
 * where one can be created (launch/cgroups.h), or when arcpd stops. */

static arcp__agent_process *find(const arcp__process_table *table, pid_t pid)
{
    arcp__agent_process *process = NULL;
    DL_FOREACH (table->processes, process) {
        if (process->process != NULL && process->process->pid == pid) {
            return process;
        }
    }
    return NULL;
}

typedef struct orphan_search {
    const arcp__process_table *table;
    size_t killed;
} orphan_search;

static void on_child(void *user, const arcp__proc_stat *child)
{
    orphan_search *search = user;
    const arcp__process_table *table = search->table;
    const arcp__agent_process *process = NULL;
    char job[ARCP__PROCESS_JOB_SIZE];
    if (child->state == 'Z' || find(table, child->pid) != NULL ||
        !arcp__proc_variable(child->pid, "ARCP_JOB_ID", job, sizeof job)) {
        return;
    }
    DL_FOREACH (table->processes, process) {
        if (strcmp(process->job, job) == 0) {
            return; /* another process of the same job still runs */
        }
    }
    for (size_t offset = 0; offset < table->ended.size; offset += ARCP__PROCESS_JOB_SIZE) {
        if (strcmp(table->ended.data + offset, job) == 0) {
            search->killed += kill(child->pid, SIGKILL) == 0 ? 1 : 0;
            return;
        }
    }
}

/* Returns how many were killed. */
static size_t kill_orphans(const arcp__process_table *table)
{
    orphan_search search = {.table = table};
    if (table->ended.size != 0) {
        arcp__proc_each_child(on_child, &search);
    }
    return search.killed;
}

static void on_orphan_timer(uv_timer_t *timer)
{
    arcp__process_table *table = timer->data;
    if (kill_orphans(table) == 0) {
        arcp_buf_clear(&table->ended);
        return;
    }
    /* The children of those that were killed become ours: search again. */
    (void)uv_timer_start(timer, on_orphan_timer, table->orphan_ms, 0);
}

void arcp__process_table_expect_orphans(arcp__process_table *table,
                                        const char job[ARCP__PROCESS_JOB_SIZE])
{
    if (!table->adopts || job[0] == '\0') {
        return;
    }
    /* If this fails, the job's orphans are not searched for. */
    arcp_buf_append(&table->ended, arcp_span_make(job, ARCP__PROCESS_JOB_SIZE));
    if (!table->is_freed && !uv_is_active((uv_handle_t *)&table->orphan_timer)) {
        (void)uv_timer_start(&table->orphan_timer, on_orphan_timer, table->orphan_ms, 0);
    }
}

/* ---- the table ---- */

static void on_starter_closed(void *user)
{
    arcp__process_table_unref(user);
}

arcp_status arcp__process_table_new(const arcp__process_table_options *options,
                                    arcp__process_table **out, arcp_error *err)
{
    arcp__process_table *table = arcp__alloc(sizeof *table);
    if (table == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    int is_subreaper = 0;
    (void)prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper, 0, 0, 0);
    *table = (arcp__process_table){
        .loop = options->loop,
        .launcher = options->launcher,
        .kill_after_ms = options->kill_after_ms == 0 ? KILL_AFTER_MS : options->kill_after_ms,
        .drain_ms = options->drain_ms == 0 ? DRAIN_MS : options->drain_ms,
        .orphan_ms = options->orphan_ms == 0 ? ORPHAN_MS : options->orphan_ms,
        .oom_score_more = options->oom_score_more,
        .refs = 6,
        .adopts = is_subreaper != 0 || getpid() == 1,
        .turn = {.limits = &arcp__turn_of_agents},
        .read_buffer = arcp__alloc(ARCP__READ_BYTES),
    };
    arcp_status status = table->read_buffer == NULL
                             ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                             : ARCP_OK;
    if (status == ARCP_OK && options->work_directory != NULL) {
        status = arcp__work_directory_open(options->work_directory, &table->directory,
                                           &table->swept, err);
    }
    if (status == ARCP_OK && table->launcher == NULL) {
        arcp_sandbox_launcher_options launcher = arcp_sandbox_launcher_options_init();
        launcher.sandbox = options->sandbox;
        status = arcp_launcher_new_sandbox(&launcher, &table->launcher, err);
    }
    if (status == ARCP_OK) {
        table->starter = arcp__starter_new(table->loop, table->launcher,
                                           arcp__agent_process_started, on_starter_closed, table);
        status = table->starter == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                        : ARCP_OK;
    }
    if (status != ARCP_OK) {
        if (options->launcher == NULL) {
            arcp_launcher_free(table->launcher);
        }
        arcp__work_directory_close(table->directory);
        arcp__free(table->read_buffer);
        arcp__free(table);
        return status;
    }
    table->cgroups = options->makes_cgroups ? arcp__cgroups_open() : NULL;
    (void)uv_timer_init(table->loop, &table->orphan_timer);
    (void)uv_timer_init(table->loop, &table->reap_timer);
    (void)uv_check_init(table->loop, &table->turn_check);
    (void)uv_idle_init(table->loop, &table->keep_awake);
    table->orphan_timer.data = table;
    table->reap_timer.data = table;
    table->turn_check.data = table;
    table->keep_awake.data = table;
    (void)uv_check_start(&table->turn_check, on_turn);
    uv_unref((uv_handle_t *)&table->orphan_timer);
    uv_unref((uv_handle_t *)&table->reap_timer);
    uv_unref((uv_handle_t *)&table->turn_check);
    *out = table;
    return ARCP_OK;
}

void arcp__process_table_unref(arcp__process_table *table)
{
    if (--table->refs != 0) {
        return;
    }
    (void)kill_orphans(table);
    arcp_buf_fini(&table->ended);
    arcp__cgroups_close(table->cgroups);
    arcp__starter_free(table->starter);
    arcp_launcher_free(table->launcher);
    arcp__work_directory_close(table->directory);
    arcp__free(table->read_buffer);
    arcp__free(table);
}

static void on_handle_closed(uv_handle_t *handle)
{
    arcp__process_table_unref(handle->data);
}

void arcp__process_table_free(arcp__process_table *table)
{
    if (table == NULL) {
        return;
    }
    table->is_freed = true;
    arcp__agent_process *process = NULL;
    DL_FOREACH (table->processes, process) {
        arcp__agent_process_free(process); /* removes it from the list later */
    }
    uv_close((uv_handle_t *)&table->orphan_timer, on_handle_closed);
    uv_close((uv_handle_t *)&table->reap_timer, on_handle_closed);
    uv_close((uv_handle_t *)&table->turn_check, on_handle_closed);
    uv_close((uv_handle_t *)&table->keep_awake, on_handle_closed);
    arcp__starter_close(table->starter);
    arcp__process_table_unref(table);
}

const char *arcp__process_table_directory(const arcp__process_table *table)
{
    return table->directory == NULL ? NULL : arcp__work_directory_path(table->directory);
}

uint64_t arcp__process_table_number(arcp__process_table *table)
{
    return ++table->last_number;
}

arcp_span arcp__process_table_base(const arcp__process_table *table)
{
    return table->directory == NULL ? ARCP_SPAN_LITERAL("")
                                    : arcp__work_directory_base(table->directory);
}

unsigned arcp__process_table_find_limits(const arcp__process_table *table)
{
    return arcp__cgroups_find_limits(table->cgroups);
}

size_t arcp__process_table_swept(const arcp__process_table *table)
{
    return table->swept;
}

static void on_reap_timer(uv_timer_t *timer)
{
    arcp__process_table_reap(timer->data);
}

void arcp__process_table_reap(arcp__process_table *table)
{
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
            if (errno == EINTR) {
                continue;
            }
            return;
        }
        if (info.si_pid == 0) {
            return;
        }
        arcp__agent_process *process = find(table, info.si_pid);
        if (process == NULL && arcp__starter_is_busy(table->starter)) {
            table->reaps_later = true;
            return;
        }
        if (process == NULL && arcp__children_may_have(info.si_pid)) {
            /* Another table reaps it. waitid would return it again until then. */
            if (!table->is_freed) {
                (void)uv_timer_start(&table->reap_timer, on_reap_timer, REAP_AGAIN_MS, 0);
            }
            return;
        }
        if (process == NULL) {
            (void)waitid(P_PID, (id_t)info.si_pid, &info, WEXITED | WNOHANG);
        } else if (!arcp__agent_process_check(process)) {
            return; /* only its launcher can reap it; waitid would return the same process again */
        }
    }
}

/* ---- ending all children ---- */

#define END_ROUND_NS   2000000
#define END_ROUNDS_MAX 1000

typedef struct children {
    const pid_t *spared;
    size_t count, others;
} children;

static void kill_child(void *user, const arcp__proc_stat *child)
{
    children *all = user;
    for (size_t i = 0; i < all->count; i++) {
        if (child->pid == all->spared[i]) {
            return;
        }
    }
    all->others++;
    if (child->state != 'Z') {
        (void)kill(child->pid, SIGKILL);
    }
}

/* Each round kills one generation, whose children then become ours. */
void arcp__process_table_end_children(const pid_t *spared, size_t count)
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
            return; /* there are no more children */
        }
        children all = {.spared = spared, .count = count};
        arcp__proc_each_child(kill_child, &all);
        if (count != 0 && all.others == 0) {
            return;
        }
        (void)nanosleep(&pause, NULL);
    }
}
