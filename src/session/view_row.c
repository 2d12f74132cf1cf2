/* A job as a row of x-vendor.arcpd.jobs. It never has a credential. */
#include "session/view.h"

/* The job's own counters: {"USD":{"cap":5,"spent":1.5}}. */
static void write_budget(const arcp__job *job, arcp_json_writer *writer)
{
    const arcp_budget *budget = job->budget;
    for (size_t i = 0; budget != NULL && i < arcp_budget_count(budget); i++) {
        char amount[ARCP_DECIMAL_TEXT_MAX];
        arcp_json_name_span(writer, arcp_budget_currency(budget, i));
        arcp_json_begin_object(writer);
        size_t size = arcp_decimal_format(arcp_budget_initial(budget, i), amount);
        arcp__put_raw(writer, "cap", arcp_span_make(amount, size));
        size = arcp_decimal_format(arcp_budget_spent(budget, i), amount);
        arcp__put_raw(writer, "spent", arcp_span_make(amount, size));
        arcp_json_end_object(writer);
    }
}

/* Costs of currencies that no budget of the job counts: {"EUR":{"spent":2}}. */
static void write_costs(const arcp__job *job, arcp_json_writer *writer)
{
    for (size_t i = 0; i < job->facts.cost_count; i++) {
        const arcp__currency_sum *cost = &job->facts.costs[i];
        char amount[ARCP_DECIMAL_TEXT_MAX];
        if (job->budget != NULL &&
            arcp_budget_counts(job->budget, arcp_span_cstr(cost->currency))) {
            continue;
        }
        const size_t size = arcp_decimal_format(cost->amount, amount);
        arcp__put_object(writer, cost->currency);
        arcp__put_raw(writer, "spent", arcp_span_make(amount, size));
        arcp_json_end_object(writer);
    }
}

/* What its agent does now. */
static void write_running(arcp__sessions *sessions, arcp__job *job, arcp_json_writer *writer)
{
    const arcp__agent_hosts *hosts = sessions->jobs->hosts;
    arcp__agent_usage usage = {0};
    if (hosts->usage != NULL) {
        hosts->usage(hosts->user, job, &usage);
    }
    const struct {
        const char *name;
        uint64_t value;
    } figures[] = {
        {"pid", usage.pid}, {"cpu_ms", usage.cpu_ms}, {"memory_bytes", usage.memory_bytes}};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0] && usage.pid != 0; i++) {
        arcp__put_u64(writer, figures[i].name, figures[i].value);
    }
    const int64_t silent_ns = sessions->context->now.mono_ns - job->live->last_input_ns;
    arcp__put_u64(writer, "silent_for_ms", (uint64_t)(silent_ns / ARCP_NS_PER_MS));
}

static void write_time(arcp_json_writer *writer, const char *name, int64_t wall_ns)
{
    if (wall_ns != 0 && wall_ns != ARCP_TIME_NEVER) {
        arcp__write_timestamp(writer, name, wall_ns);
    }
}

void arcp__view_write_members(arcp__sessions *sessions, arcp__job *job, arcp_json_writer *writer)
{
    const bool has_ended = arcp__job_has_ended(job);
    arcp__put_cstr(writer, "job_id", job->id);
    arcp__put_cstr(writer, "principal", job->principal->name);
    arcp__put_cstr(writer, "agent", job->agent_text);
    arcp__put_cstr(writer, "status", arcp_job_status_name(job->status));
    if (arcp__job_queue_place(job) != 0) {
        arcp__put_cstr(writer, "waits_for", "place");
        arcp__put_u64(writer, "queue_place", arcp__job_queue_place(job));
    }
    arcp__write_timestamp(writer, "created_at", job->created_wall_ns);
    write_time(writer, "started_at", job->facts.started_wall_ns);
    write_time(writer, "ended_at", has_ended ? job->ended_wall_ns : 0);
    arcp__put_word(writer, "code", arcp__job_code(job));
    arcp_json_name(writer, "parent_job_id");
    if (job->parent_id[0] != '\0') {
        arcp_json_write_cstr(writer, job->parent_id);
    } else {
        arcp_json_write_null(writer);
    }
    arcp__put_u64(writer, "children", job->facts.children);
    arcp__put_cstr(writer, "trace_id", job->trace_id);
    if (job->budget != NULL || job->facts.cost_count != 0) {
        arcp__put_object(writer, "budget");
        write_budget(job, writer);
        write_costs(job, writer);
        arcp_json_end_object(writer);
    }
    write_time(writer, "expires_at", job->facts.expires_wall_ns);
    arcp__put_raw(writer, "progress", arcp_span_cstr(job->facts.progress));
    arcp__put_u64(writer, "denials", job->facts.denials);
    if (!has_ended && job->agent_state == ARCP__AGENT_RUNNING) {
        write_running(sessions, job, writer);
    }
}

void arcp__sessions_write_job(arcp__sessions *sessions, arcp__job *job, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__view_write_members(sessions, job, &writer);
    arcp_json_end_object(&writer);
    arcp__context_check_text(sessions->context, out);
}
