/* What is shown of the program of a job: CPU time, memory, the end of its standard error. */
#include "base/alloc.h"
#include "base/clock.h"
#include "launch/proc_stat.h"
#include "runtime/agent_process_job.h"

typedef arcp__process_job process_job;

/* Bytes of standard error that are kept of a running job, and of all of them. */
#define STDERR_MAX     65536u
#define STDERR_ALL_MAX 67108864u
/* Figures are read again after this time. */
#define USAGE_NS ARCP_NS_PER_SEC

/* ---- standard error ---- */

static void forget_stderr(process_job *pj)
{
    pj->runtime->stderr_bytes -= pj->stderr_kept.size;
    arcp_buf_fini(&pj->stderr_kept);
}

void arcp__process_job_keep_stderr(process_job *pj, arcp_span line)
{
    arcp_buf *kept = &pj->stderr_kept;
    arcp_runtime *runtime = pj->runtime;
    if (kept->size + line.size + 1 > STDERR_MAX) { /* the older half goes */
        const size_t half = STDERR_MAX / 2;
        const size_t keep = line.size + 1 > half ? 0 : half;
        arcp_buf newer = arcp_buf_init();
        const arcp_span all = arcp_buf_span(kept);
        arcp_span tail = arcp_span_from(all, all.size > keep ? all.size - keep : 0);
        const char *end = tail.size == 0 ? NULL : memchr(tail.data, '\n', tail.size);
        tail = end == NULL ? arcp_span_make(NULL, 0)
                           : arcp_span_from(tail, (size_t)(end - tail.data) + 1);
        arcp_buf_append(&newer, tail);
        forget_stderr(pj);
        *kept = newer;
        runtime->stderr_bytes += kept->size;
    }
    const size_t before = kept->size;
    arcp_buf_append(kept, arcp_span_first(line, STDERR_MAX - 1));
    arcp_buf_append_byte(kept, '\n');
    if (kept->failed) { /* it is only for people */
        runtime->stderr_bytes -= before;
        arcp_buf_fini(kept);
        return;
    }
    runtime->stderr_bytes += kept->size - before;
    for (process_job *oldest = runtime->process_jobs;
         runtime->stderr_bytes > STDERR_ALL_MAX && oldest != NULL; oldest = oldest->next) {
        if (oldest != pj) {
            forget_stderr(oldest);
        }
    }
}

void arcp__process_job_drop_stderr(process_job *pj)
{
    forget_stderr(pj);
}

bool arcp__process_job_stderr(void *agent, arcp_buf *out)
{
    const process_job *pj = agent;
    arcp_buf_append(out, arcp_buf_span(&pj->stderr_kept));
    return pj->agent->stderr_in_errors;
}

bool arcp__runtime_stderr(void *user, arcp__job *job, arcp_buf *out)
{
    const arcp__agent_entry *entry = job->live->host;
    (void)user;
    return job->live->user != NULL && entry->ops->stderr_tail != NULL &&
           entry->ops->stderr_tail(job->live->user, out);
}

/* ---- usage ---- */

void arcp__process_job_usage(void *agent, arcp__agent_usage *out)
{
    process_job *pj = agent;
    const int64_t now_ns = arcp__clock_now().mono_ns;
    if (pj->process == NULL || pj->is_starting) {
        return;
    }
    if (pj->usage_mono_ns == 0 || now_ns - pj->usage_mono_ns >= USAGE_NS) {
        arcp__proc_usage usage;
        const int pid = (int)arcp__agent_process_pid(pj->process);
        pj->usage_mono_ns = now_ns;
        pj->usage = (arcp__agent_usage){0};
        if (pid > 0 && arcp__proc_usage_read(pid, &usage)) {
            pj->usage = (arcp__agent_usage){(uint64_t)pid, usage.cpu_ms, usage.memory_bytes};
        }
    }
    *out = pj->usage;
}

void arcp__runtime_usage(void *user, arcp__job *job, arcp__agent_usage *out)
{
    const arcp__agent_entry *entry = job->live->host;
    (void)user;
    if (job->live->user != NULL && entry->ops->usage != NULL) {
        entry->ops->usage(job->live->user, out);
    }
}

uint64_t arcp__runtime_memory_bytes(void *user)
{
    size_t bytes = 0;
    (void)user;
    return uv_resident_set_memory(&bytes) == 0 ? bytes : 0;
}
