/* The standard error of agents. It is kept in memory only: the last 64 KiB of an agent that runs,
 * the last 4 KiB of one that has exited, and `bytes_max` of all together, in allocated bytes.
 *
 * When there is more, the agents that have exited lose theirs, the one that exited first before the
 * others. If that is not enough, agents that run and have more than their share, which is the
 * maximum divided by their number, lose their older lines. So none loses what is within its share.
 * Lines are numbered from 1, and counted when they are not kept any more. */
#include "base/utf8.h"
#include "job/job_state.h"

#define RUNNING_MAX 65536u
#define EXITED_MAX  4096u

static size_t bytes_of(const arcp__stderr *kept)
{
    return sizeof *kept + kept->text.capacity;
}

static void drop(arcp__stderrs *all, arcp__stderr *kept)
{
    if (kept->has_exited) {
        DL_DELETE(all->exited, kept);
    } else {
        DL_DELETE(all->running, kept);
        all->running_count--;
    }
    all->bytes -= bytes_of(kept);
    kept->job->facts.errors = NULL;
    arcp_buf_fini(&kept->text);
    arcp__free(kept);
}

/* Keeps the last whole lines of `most` bytes; of a line that is longer, its end. */
static void cut(arcp__stderrs *all, arcp__stderr *kept, size_t most)
{
    const arcp_span text = arcp_buf_span(&kept->text);
    arcp_span tail = arcp_span_from(text, text.size > most ? text.size - most : 0);
    if (tail.size != 0 && tail.size != text.size && tail.data[-1] != '\n') {
        const char *end = memchr(tail.data, '\n', tail.size - 1);
        tail = end != NULL ? arcp_span_from(tail, (size_t)(end - tail.data) + 1) : tail;
        while (tail.size != 0 && ((unsigned char)tail.data[0] & 0xC0u) == 0x80u) {
            tail = arcp_span_from(tail, 1); /* the rest of a character */
        }
    }
    arcp_buf newer = arcp_buf_init();
    arcp_buf_append(&newer, tail); /* without memory none is kept: it is only for people */
    all->bytes -= bytes_of(kept);
    arcp_buf_fini(&kept->text);
    kept->text = newer;
    all->bytes += bytes_of(kept);
}

static void make_room(arcp__stderrs *all)
{
    while (all->bytes > all->bytes_max && all->exited != NULL) {
        drop(all, all->exited);
    }
    const size_t share = all->bytes_max / (all->running_count == 0 ? 1 : all->running_count);
    for (arcp__stderr *kept = all->running; all->bytes > all->bytes_max && kept != NULL;
         kept = kept->next) {
        if (bytes_of(kept) > share) {
            cut(all, kept, share / 2 > sizeof *kept ? share / 2 - sizeof *kept : 0);
        }
    }
}

void arcp__job_stderr_add(arcp__jobs *jobs, arcp__job *job, arcp_span line, bool is_shown)
{
    arcp__stderrs *all = &jobs->errors;
    arcp__stderr *kept = job->facts.errors;
    if (job->principal == NULL) {
        return; /* it was removed */
    }
    job->facts.error_lines++;
    if (kept == NULL) {
        kept = arcp__alloc(sizeof *kept);
        if (kept == NULL) {
            return;
        }
        kept->job = job;
        job->facts.errors = kept;
        DL_APPEND(all->running, kept);
        all->running_count++;
        all->bytes += bytes_of(kept);
    }
    kept->is_shown = is_shown;
    line = arcp_span_first(line, RUNNING_MAX - 1);
    if (kept->text.size + line.size + 1 > RUNNING_MAX) { /* the older half goes */
        cut(all, kept, line.size + 1 > RUNNING_MAX / 2 ? 0 : RUNNING_MAX / 2);
    }
    all->bytes -= bytes_of(kept);
    arcp_buf_append(&kept->text, line);
    arcp_buf_append_byte(&kept->text, '\n');
    if (kept->text.failed) {
        arcp_buf_fini(&kept->text);
    }
    all->bytes += bytes_of(kept);
    make_room(all);
}

void arcp__job_stderr_exited(arcp__jobs *jobs, const arcp__job *job)
{
    arcp__stderrs *all = &jobs->errors;
    arcp__stderr *kept = job->facts.errors;
    if (kept == NULL) {
        return;
    }
    cut(all, kept, EXITED_MAX);
    DL_DELETE(all->running, kept);
    all->running_count--;
    kept->has_exited = true;
    DL_APPEND(all->exited, kept);
    make_room(all);
}

void arcp__job_stderr_drop(arcp__jobs *jobs, const arcp__job *job)
{
    if (job->facts.errors != NULL) {
        drop(&jobs->errors, job->facts.errors);
    }
}
