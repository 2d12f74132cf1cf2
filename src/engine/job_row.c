/* A job's row in the table JOBS: what a restart and a listing need to know of it. It is
 * written when the job is made and when it ends; a listing reads memory. */
#include "engine/parts.h"

#include "json/json_put.h"

/* What most take: one allocation where growing took several. */
#define ROW_BYTES 768u

/* When everything that its session gets of the job has numbers, the row has the first and the
 * last: with them a restart knows what the session's index, once it was acknowledged and
 * trimmed, says no more. */
static void note_numbers(arcp__job *job)
{
    if (job->owner == NULL || job->owner_run_count == 0) {
        return;
    }
    const arcp__owner_run *last = &job->owner_runs[job->owner_run_count - 1];
    if (last->first_position + last->count == job->stream->next) {
        job->last_seq = last->first_seq + last->count - 1;
    }
}

void arcp__job_store(arcp__engine *engine, arcp__job *job)
{
    if (!arcp__batch_keeps_rows(engine->log)) {
        return;
    }
    arcp__job_row row = {.status = arcp_span_cstr(arcp_job_status_name(job->status)),
                         .session_id = arcp_span_cstr(job->session_id),
                         .principal = arcp_span_cstr(job->principal->name),
                         .result_id = arcp_span_cstr(job->result_id),
                         .features = job->features};
    const bool has_ended = arcp__job_has_ended(job);
    if (has_ended) {
        note_numbers(job);
        row.ended_at = job->ended_wall_ns;
        row.records = job->stream->next;
        row.bytes = job->stream->bytes;
        row.first_seq = job->last_seq == 0 ? 0 : job->first_seq;
        row.last_seq = job->last_seq;
    }
    arcp_buf text = arcp__context_take_buf(&engine->context);
    (void)arcp_buf_reserve(&text, ROW_BYTES);
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__encode_row(&writer, &arcp__job_members, &row);
    if (has_ended) {
        arcp__budget_write_spent(job, &writer);
    } else {
        arcp__trace_write_row(&job->live->trace, &writer);
    }
    arcp__put_raw(&writer, "accepted", arcp_span_cstr(job->accepted));
    arcp__idempotency_write_row(job, &writer);
    arcp_json_end_object(&writer);
    arcp__batch_put(engine->log, ARCP_STORE_JOBS, arcp_span_cstr(job->id), arcp_buf_span(&text));
    arcp__context_give_buf(&engine->context, &text);
}

void arcp__job_store_with_batch(arcp__engine *engine, arcp__job *job)
{
    if (job->row_is_due || !arcp__batch_keeps_rows(engine->log)) {
        return;
    }
    job->row_is_due = true;
    job->next_due = engine->due_rows;
    engine->due_rows = job;
    arcp__job_pin(job);
}

void arcp__jobs_store_due(arcp__engine *engine)
{
    while (engine->due_rows != NULL) {
        arcp__job *job = engine->due_rows;
        if (job->principal != NULL &&
            !engine->context.closing) { /* else it was forgotten meanwhile */
            arcp__job_store(engine, job);
        }
        engine->due_rows = job->next_due;
        job->row_is_due = false;
        arcp__job_unpin(job);
    }
}
