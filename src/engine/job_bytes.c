/* How much a job may say: limits.job_bytes of records as they are stored, together with its
 * principal's other jobs limits.principal_bytes, and no event that is too large for a frame.
 *
 * A record that has no room is not stored, nothing follows it, and its job ends as INTERNAL_ERROR
 * with details.limit. It ends when the input has been carried out, because the code that emits a
 * record goes on with the job. That end is stored whatever its size; it is the runtime's own and
 * short, as all are but what an agent says itself. Before a job ends for the others of its
 * principal, those that have ended are forgotten. */
#include "engine/parts.h"

#include <stdio.h>

void arcp__job_note_over(arcp__engine *engine, arcp__job *job, const char *limit)
{
    job->over_limit = limit;
    job->next_over_limit = engine->over_limit;
    engine->over_limit = job;
    arcp__job_pin(job);
}

/* What the principal has in the store, and would have if its ended jobs were forgotten. */
static uint64_t stored_at_least(const arcp__engine *engine, const arcp__principal *principal)
{
    return principal->stored_bytes - arcp__kept_record_bytes(engine, principal);
}

/* Ended jobs go when the input has been carried out. */
static bool has_share(arcp__engine *engine, const arcp__job *job, uint64_t bytes)
{
    const uint64_t limit = engine->context.settings.limits_principal_bytes;
    if (limit == 0 || job->principal->stored_bytes + bytes <= limit) {
        return true;
    }
    engine->over_share = job->principal;
    return stored_at_least(engine, job->principal) + bytes <= limit;
}

void arcp__job_count_bytes(arcp__job *job, uint64_t bytes)
{
    job->stream->bytes += bytes;
    job->principal->stored_bytes += bytes;
}

bool arcp__job_has_room(arcp__engine *engine, arcp__job *job, const arcp_span *pieces, size_t count)
{
    uint64_t bytes = 0;
    for (size_t at = 0; at < count; at++) {
        bytes += pieces[at].size;
    }
    if (job->stream->bytes + bytes > engine->context.settings.limits_job_bytes) {
        arcp__job_note_over(engine, job, "limits.job_bytes");
        return false;
    }
    if (!has_share(engine, job, bytes)) {
        arcp__job_note_over(engine, job, "limits.principal_bytes");
        return false;
    }
    return true;
}

bool arcp__principal_has_room(const arcp__engine *engine, const arcp__principal *principal)
{
    const uint64_t limit = engine->context.settings.limits_principal_bytes;
    return limit == 0 || stored_at_least(engine, principal) < limit;
}

void arcp__job_end_over(arcp__engine *engine, arcp__job *job)
{
    char message[96];
    arcp_buf details = ARCP_BUF_INIT;
    (void)snprintf(message, sizeof(message), "what the job said is more than %s", job->over_limit);
    arcp_buf_append_format(&details, "{\"limit\":\"%s\"}", job->over_limit);
    arcp__job_fail(engine, job, ARCP_E_INTERNAL_ERROR, ARCP_SPAN_LITERAL("INTERNAL_ERROR"),
                   arcp_span_cstr(message), true, arcp__details(&details));
    arcp_buf_fini(&details);
}

void arcp__jobs_end_over(arcp__engine *engine)
{
    while (engine->over_limit != NULL) {
        arcp__job *job = engine->over_limit;
        engine->over_limit = job->next_over_limit;
        if (job->principal != NULL) { /* else it was forgotten meanwhile */
            arcp__job_end_over(engine, job);
        }
        arcp__job_unpin(job);
    }
}
