/* A job as a row of x-vendor.arcpd.jobs. It never has a credential. */
#include "session/view.h"

/* Writes the member "budget": {"USD":{"cap":5,"spent":1.5}}. */
static void write_budget(const arcp__job *job, arcp_json_writer *writer)
{
    const arcp_budget *budget = job->budget;
    if (budget == NULL) {
        return;
    }
    arcp__put_object(writer, "budget");
    for (size_t i = 0; i < arcp_budget_count(budget); i++) {
        char amount[ARCP_DECIMAL_TEXT_MAX];
        arcp_json_name_span(writer, arcp_budget_currency(budget, i));
        arcp_json_begin_object(writer);
        size_t size = arcp_decimal_format(arcp_budget_initial(budget, i), amount);
        arcp__put_raw(writer, "cap", arcp_span_make(amount, size));
        size = arcp_decimal_format(arcp_budget_spent(budget, i), amount);
        arcp__put_raw(writer, "spent", arcp_span_make(amount, size));
        arcp_json_end_object(writer);
    }
    arcp_json_end_object(writer);
}

void arcp__view_write_job(arcp__sessions *sessions, const arcp__job *job, arcp_buf *out)
{
    arcp_json_writer object = arcp__put_begin(out);
    arcp_json_writer *writer = &object;
    const bool has_ended = arcp__job_has_ended(job);
    arcp__put_cstr(writer, "job_id", job->id);
    arcp__put_cstr(writer, "principal", job->principal->name);
    arcp__put_cstr(writer, "agent", job->agent_text);
    arcp__put_cstr(writer, "status", arcp_job_status_name(job->status));
    if (arcp__job_queue_place(job) != 0) {
        arcp__put_u64(writer, "queue_place", arcp__job_queue_place(job));
    }
    arcp__write_timestamp(writer, "created_at", job->created_wall_ns);
    if (has_ended) {
        arcp__write_timestamp(writer, "ended_at", job->ended_wall_ns);
    }
    if (has_ended && job->end_code != ARCP_OK) {
        arcp__put_cstr(writer, "code", arcp_status_wire_code(job->end_code));
    }
    arcp_json_name(writer, "parent_job_id");
    if (job->parent_id[0] != '\0') {
        arcp_json_write_cstr(writer, job->parent_id);
    } else {
        arcp_json_write_null(writer);
    }
    arcp__put_cstr(writer, "trace_id", job->trace_id);
    write_budget(job, writer);
    arcp_json_end_object(writer);
    arcp__context_check_text(sessions->context, out);
}
