/* Rows of the table JOBS. A job's row is written when the job is made, when its agent is started
 * later, and when it ends; a restart reads it. What changes while the job runs is in a second row
 * (job_live.c), so that a restart finds every counter as the last durable metric left it. */
#include "job/job_state.h"
#include "job/purse.h"

/* the size of most rows, to allocate once */
#define ROW_BYTES        768u
#define OVERDUE_TURN_NS  (10 * ARCP_NS_PER_MS)
#define RECORD_BYTES_MAX (UINT64_C(1) << 50) /* of one job: a larger number is damage */
#define DEPTH_MAX        256u                /* of delegation */

/* The members of type arcp_json_ref are written and read by other functions. */
typedef struct job_row {
    arcp_span status, session_id, principal, result_id;
    int64_t started_at; /* like the following of an ended job; 0: unknown */
    int64_t ended_at;   /* 0: it has not ended */
    arcp_span code;     /* empty: it did not fail */
    uint64_t denials, children;
    uint64_t records, bytes, first_seq, last_seq;
    uint64_t features;
    arcp_json_ref progress, costs, details;
    arcp_json_ref accepted, spent, trace, idempotency;
} job_row;

/* The row contains the payload of job.accepted (id, agent, lease, time, trace, parent)
 * unchanged. */
typedef struct accepted_row {
    arcp_span agent, trace_id, parent_job_id, delegate_id;
    int64_t accepted_at;
    arcp_json_ref lease, lease_constraints;
    int64_t expires_at;
} accepted_row;

#define JOB(member, kind)      ARCP__MEMBER(job_row, member, #member, kind)
#define ACCEPTED(member, kind) ARCP__MEMBER(accepted_row, member, #member, kind)

static const arcp__member job_rows[] = {
    {JOB(status, STRING), .required = true},
    {JOB(session_id, STRING)},
    {JOB(principal, STRING), .required = true},
    {JOB(result_id, STRING)},
    {JOB(started_at, INSTANT)},
    {JOB(ended_at, INSTANT)},
    {JOB(code, STRING)},
    {JOB(denials, COUNT)},
    {JOB(children, COUNT)},
    {JOB(records, COUNT)},
    {JOB(bytes, COUNT)},
    {JOB(first_seq, COUNT)},
    {JOB(last_seq, COUNT)},
    {JOB(features, COUNT)},
    {JOB(progress, OBJECT)},
    {JOB(costs, OBJECT)},
    {JOB(details, OBJECT)},
    {JOB(accepted, OBJECT), .required = true},
    {JOB(spent, OBJECT)},
    {JOB(trace, ANY)},
    {JOB(idempotency, ANY)},
};
static const arcp__members job_members = ARCP__MEMBERS(job_rows);

static const arcp__member constraints_rows[] = {
    {ACCEPTED(expires_at, INSTANT)},
};
static const arcp__members constraints_members = ARCP__MEMBERS(constraints_rows);
static const arcp__member accepted_rows[] = {
    {ACCEPTED(agent, TEXT)},
    {ACCEPTED(trace_id, STRING), .required = true},
    {ACCEPTED(parent_job_id, STRING)},
    {ACCEPTED(delegate_id, TEXT)},
    {ACCEPTED(accepted_at, INSTANT), .required = true},
    {ACCEPTED(lease, ANY)},
    {ACCEPTED(lease_constraints, ANY), .parts = &constraints_members},
};
static const arcp__members accepted_members = ARCP__MEMBERS(accepted_rows);

/* ---- spending ---- */

void arcp__spent_write(const arcp__job *job, arcp_json_writer *writer)
{
    const arcp_budget *budget = job->budget;
    if (budget == NULL) {
        return;
    }
    arcp__put_object(writer, "spent");
    for (size_t i = 0; i < arcp_budget_count(budget); i++) {
        char amount[ARCP_DECIMAL_TEXT_MAX];
        (void)arcp_decimal_format(arcp_budget_spent(budget, i), amount);
        arcp_json_name_span(writer, arcp_budget_currency(budget, i));
        arcp_json_write_cstr(writer, amount);
    }
    arcp_json_end_object(writer);
}

/* Whether a node from `from` up to, but not including, `end` counts the currency. */
static bool is_counted_below(const arcp_budget *from, const arcp_budget *end, arcp_span currency)
{
    for (const arcp_budget *node = from; node != end; node = arcp_budget_parent(node)) {
        for (size_t i = 0; i < arcp_budget_count(node); i++) {
            if (arcp_span_equal(arcp_budget_currency(node, i), currency)) {
                return true;
            }
        }
    }
    return false;
}

void arcp__budget_write_available(const arcp__job *job, arcp_json_writer *writer)
{
    const arcp_budget *budget = arcp_authority_budget(job->live->authority);
    bool any = false;
    for (const arcp_budget *node = budget; node != NULL; node = arcp_budget_parent(node)) {
        for (size_t i = 0; i < arcp_budget_count(node); i++) {
            const arcp_span currency = arcp_budget_currency(node, i);
            arcp_decimal left;
            char amount[ARCP_DECIMAL_TEXT_MAX];
            if (is_counted_below(budget, node, currency) ||
                !arcp_budget_available(budget, currency, &left)) {
                continue;
            }
            if (!any) {
                arcp__put_object(writer, "budget");
                any = true;
            }
            arcp_json_name_span(writer, currency);
            arcp_json_write_raw(writer, arcp_span_make(amount, arcp_decimal_format(left, amount)));
        }
    }
    if (any) {
        arcp_json_end_object(writer);
    }
}

/* ---- writing ---- */

void arcp__job_store(arcp__jobs *jobs, arcp__job *job)
{
    if (!jobs->log->options.keeps_rows) {
        return;
    }
    job_row row = {.status = arcp_span_cstr(arcp_job_status_name(job->status)),
                   .session_id = arcp_span_cstr(job->session_id),
                   .principal = arcp_span_cstr(job->principal->name),
                   .result_id = arcp_span_cstr(job->result_id),
                   .features = job->features};
    const bool has_ended = arcp__job_has_ended(job);
    if (has_ended) {
        /* When all records of the job are numbered in its session, the row stores the first and the
         * last number: a restart needs them once the session's index was acknowledged and
         * trimmed. */
        const size_t count = job->owner == NULL ? 0 : job->owner_run_count;
        const arcp__owner_run *last = count == 0 ? NULL : &job->owner_runs[count - 1];
        if (last != NULL && last->first_position + last->count == job->stream->next) {
            job->last_seq = last->first_seq + last->count - 1;
        }
        const arcp_span code = arcp_span_cstr(arcp__job_code(job));
        row.code = code;
        row.started_at = job->facts.started_wall_ns;
        row.denials = job->facts.denials;
        row.children = job->facts.children;
        row.ended_at = job->ended_wall_ns;
        row.records = job->stream->next;
        row.bytes = job->stream->bytes;
        row.first_seq = job->last_seq == 0 ? 0 : job->first_seq;
        row.last_seq = job->last_seq;
    }
    arcp_buf text = arcp__context_take_buf(jobs->context);
    (void)arcp_buf_reserve(&text, ROW_BYTES);
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__encode_row(&writer, &job_members, &row);
    if (has_ended) {
        arcp__spent_write(job, &writer);
    } else {
        arcp__trace_write_row(&job->live->trace, &writer);
    }
    arcp__job_facts_write_row(&job->facts, &writer);
    arcp__put_raw(&writer, "accepted", arcp_span_cstr(job->accepted));
    arcp__idempotency_write_row(job, &writer);
    arcp_json_end_object(&writer);
    arcp__batch_put(jobs->log, ARCP_STORE_JOBS, arcp_span_cstr(job->id), arcp_buf_span(&text));
    arcp__queued_add(jobs->log, &job->principal->queued, text.size);
    arcp__context_give_buf(jobs->context, &text);
}

void arcp__job_store_with_batch(arcp__jobs *jobs, arcp__job *job, arcp__row_due what)
{
    if (!jobs->log->options.keeps_rows) {
        return;
    }
    if (job->row_due == ARCP__ROW_NONE) {
        LL_PREPEND2(jobs->due_rows, job, next_due);
        arcp__job_pin(job);
    }
    job->row_due = what > job->row_due ? what : job->row_due;
}

void arcp__job_live_changed(arcp__jobs *jobs, arcp__job *job)
{
    if (arcp__job_is_on_worker(job) && !arcp__job_has_ended(job)) {
        arcp__job_store_with_batch(jobs, job, ARCP__ROW_LIVE);
        arcp__batch_touch(jobs->log);
    }
}

void arcp__jobs_store_due(arcp__jobs *jobs)
{
    while (jobs->due_rows != NULL) {
        arcp__job *job = jobs->due_rows;
        const bool is_written = job->principal != NULL && /* else it was forgotten meanwhile */
                                !jobs->context->closing;
        if (is_written && job->row_due == ARCP__ROW_WHOLE) {
            arcp__job_store(jobs, job);
        } else if (is_written) {
            arcp__live_write_row(jobs, job);
        }
        jobs->due_rows = job->next_due;
        job->row_due = ARCP__ROW_NONE;
        arcp__job_unpin(job);
    }
    arcp__purses_store_due(jobs);
}

/* ---- restart ---- */

bool arcp__spent_keep(const arcp_json *row, arcp_json_ref spent, arcp__job *job)
{
    const arcp_span text = arcp_json_raw(row, spent);
    arcp__free(job->live->spent);
    job->live->spent = arcp__copy_cstr(text.data, text.size);
    return job->live->spent != NULL;
}

static bool copy_id(char to[ARCP__ID_SIZE], arcp_span text)
{
    if (text.size >= ARCP__ID_SIZE) {
        return false;
    }
    memcpy(to, text.data == NULL ? "" : text.data, text.size);
    return true;
}

static arcp__piece piece_of(const arcp_json *row, arcp_json_ref whole, arcp_json_ref part)
{
    if (part == ARCP_JSON_ABSENT) {
        return (arcp__piece){0, 0};
    }
    const arcp_span text = arcp_json_raw(row, part);
    return (arcp__piece){.at = (uint32_t)(text.data - arcp_json_raw(row, whole).data),
                         .size = (uint32_t)text.size};
}

/* A row of an earlier release has no code. */
static arcp_status end_code(arcp_job_status status, arcp_span code)
{
    if (code.size != 0 && arcp_status_is_wire_code(code)) {
        return arcp_status_from_wire(code);
    }
    if (status == ARCP_JOB_CANCELLED) {
        return ARCP_E_CANCELLED;
    }
    return status == ARCP_JOB_TIMED_OUT ? ARCP_E_TIMEOUT : ARCP_OK;
}

static void restore_end(arcp__jobs *jobs, const job_row *row, arcp__job *job)
{
    const int64_t now_ns = jobs->context->now.wall_ns;
    job->ended_wall_ns = row->ended_at != 0 ? row->ended_at : now_ns;
    job->principal->running_jobs--;
    jobs->running--;
    job->stream->next = row->records;
    arcp__job_count_bytes(job, row->bytes);
    job->first_seq = row->first_seq;
    job->last_seq = row->last_seq;
    job->end_code = end_code(job->status, row->code);
    job->facts.started_wall_ns = row->started_at;
    job->facts.denials = row->denials;
    job->facts.children = row->children;
    const int64_t keep_ns =
        (int64_t)jobs->context->settings.jobs_keep_terminal_sec * ARCP_NS_PER_SEC;
    const int64_t age_ns = now_ns - job->ended_wall_ns;
    /* Jobs that became due while no runtime ran are removed a limited number at a time. */
    const int64_t turn = 1 + (int64_t)(jobs->kept[ARCP__KEPT_JOBS].total / ARCP__REMOVED_AT_ONCE);
    const int64_t left_ns = keep_ns > age_ns ? keep_ns - age_ns : turn * OVERDUE_TURN_NS;
    arcp__job_keep(jobs, job, jobs->context->now.mono_ns + left_ns);
}

/* A parent that may go on has the names of all its children. False when out of memory. */
static bool keep_delegate_id(const arcp__jobs *jobs, const accepted_row *shown)
{
    arcp__job *parent = arcp__job_find(jobs, shown->parent_job_id);
    return parent == NULL || arcp__job_has_ended(parent) ||
           arcp__id_set_add(&parent->live->delegate_ids, shown->delegate_id);
}

static arcp_status restore_job(arcp__jobs *jobs, arcp_span key, arcp_error *err)
{
    const arcp_json *json = &jobs->context->json;
    arcp_buf *scratch = &jobs->context->scratch;
    job_row row = {0};
    accepted_row shown = {.expires_at = ARCP_TIME_NEVER};
    if (!arcp__decode_row(json, scratch, ARCP_JSON_ROOT, &job_members, &row) ||
        !arcp__decode_row(json, scratch, row.accepted, &accepted_members, &shown) ||
        arcp_job_status_from_wire(row.status) == ARCP_JOB_STATUS_COUNT || key.size == 0 ||
        key.size >= ARCP__ID_SIZE || row.bytes > RECORD_BYTES_MAX || shown.trace_id.size != 32) {
        return arcp__row_damaged("job", key, err);
    }
    arcp__principal *principal = arcp__principal_get(jobs, row.principal);
    arcp__job *job = principal == NULL ? NULL : arcp__job_new(jobs, principal, key);
    if (job == NULL) {
        return arcp__row_out_of_memory(err);
    }
    job->agent_state = ARCP__AGENT_RELEASED;
    job->status = arcp_job_status_from_wire(row.status);
    job->features = (arcp_feature_set)row.features;
    job->created_wall_ns = shown.accepted_at;
    memcpy(job->trace_id, shown.trace_id.data, shown.trace_id.size);
    if (!copy_id(job->session_id, row.session_id) ||
        !copy_id(job->parent_id, shown.parent_job_id) || !copy_id(job->result_id, row.result_id)) {
        return arcp__row_damaged("job", key, err);
    }
    const arcp_span accepted = arcp_json_raw(json, row.accepted);
    job->agent_text = arcp__copy_cstr(shown.agent.data, shown.agent.size);
    job->accepted = arcp__copy_cstr(accepted.data, accepted.size);
    if (job->agent_text == NULL || job->accepted == NULL || !keep_delegate_id(jobs, &shown)) {
        return arcp__row_out_of_memory(err);
    }
    const bool has_ended = arcp__job_has_ended(job);
    arcp_status status = ARCP_OK;
    job->facts.has_details = true; /* there may be some */
    job->facts.expires_wall_ns = shown.expires_at;
    if (!arcp__job_facts_restore(jobs, &job->facts, row.progress, row.costs, row.details)) {
        return arcp__row_out_of_memory(err);
    }
    job->lease = piece_of(json, row.accepted, shown.lease);
    job->constraints = piece_of(json, row.accepted, shown.lease_constraints);
    /* The lease of an ended job is only shown, as it was written, unless it has counters. */
    if (!has_ended || row.spent != ARCP_JSON_ABSENT) {
        arcp_lease_limits limits = arcp_lease_limits_init();
        limits.patterns_max = SIZE_MAX; /* it was accepted under limits that may have changed */
        limits.bytes_max = SIZE_MAX;
        arcp_lease *lease = NULL;
        status =
            arcp_lease_from_json(json, shown.lease, shown.lease_constraints, &limits, &lease, err);
        job->live->lease = lease;
    }
    if (status == ARCP_OK && row.spent != ARCP_JSON_ABSENT &&
        !arcp__spent_keep(json, row.spent, job)) {
        status = arcp__row_out_of_memory(err);
    }
    if (status == ARCP_OK) {
        status = arcp__idempotency_restore_of_job(jobs, json, row.idempotency, job, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp__job_format_head(job);
    arcp__trace_restore(jobs, json, row.trace, job);
    if (has_ended) {
        restore_end(jobs, &row, job);
    }
    return ARCP_OK;
}

/* Rows come in key order: those with a suffix come behind the job's own row. */
arcp_status arcp__job_restore_row(arcp__jobs *jobs, arcp_span key, arcp_error *err)
{
    if (arcp__purse_has_row(key)) {
        return arcp__purse_restore_row(jobs, key, err);
    }
    const char *slash = key.size == 0 ? NULL : memchr(key.data, '/', key.size);
    if (slash == NULL) {
        return restore_job(jobs, key, err);
    }
    const size_t size = (size_t)(slash - key.data);
    const arcp_span suffix = arcp_span_from(key, size);
    arcp__job *job = arcp__job_find(jobs, arcp_span_first(key, size));
    if (job == NULL) {
        return ARCP_OK; /* it was not restored */
    }
    return arcp__live_is_row(suffix) ? arcp__live_restore_row(jobs, job, suffix, key, err)
                                     : arcp__queue_restore_row(jobs, job, suffix, key, err);
}

/* Makes a job's authority below its parent's. A parent's id must be older, so that damaged rows
 * cannot form a cycle. */
static void restore_authority(arcp__jobs *jobs, arcp__job *job, unsigned depth)
{
    arcp__job *parent = arcp__job_find(jobs, arcp_span_cstr(job->parent_id));
    if (job->live->lease == NULL || job->live->authority != NULL) {
        return;
    }
    if (parent != NULL && (strcmp(parent->id, job->id) >= 0 || depth == DEPTH_MAX)) {
        parent = NULL;
    }
    if (parent != NULL) {
        restore_authority(jobs, parent, depth + 1);
    }
    if (arcp__job_make_authority(jobs, job, parent, NULL) != ARCP_OK) {
        arcp__context_no_memory(jobs->context);
    }
}

static void restore_spent(arcp__jobs *jobs, const arcp__job *job)
{
    arcp_json *json = &jobs->context->json;
    const arcp_span text = arcp_span_cstr(job->live->spent);
    const arcp_json_limits limits = {8, 1000000, UINT32_MAX - 1};
    if (arcp_json_scan(json, text, &limits, NULL) != ARCP_OK ||
        !arcp__context_prepare_scratch(jobs->context, text)) {
        arcp__context_no_memory(
            jobs->context); /* it is valid JSON, so only memory can be missing */
        return;
    }
    for (size_t i = 0; i < arcp_budget_count(job->budget); i++) {
        arcp_decimal spent;
        const arcp_json_ref amount =
            arcp_json_member(json, ARCP_JSON_ROOT, arcp_budget_currency(job->budget, i));
        if (arcp_decimal_parse_spend(arcp_json_string(json, amount, &jobs->context->scratch),
                                     &spent, NULL) == ARCP_OK) {
            arcp_budget_restore(job->budget, i, spent);
        }
    }
}

void arcp__jobs_restore_authorities(arcp__jobs *jobs)
{
    arcp__placement_restored(&jobs->placement);
    for (arcp__job *job = jobs->all; job != NULL; job = job->hh.next) {
        restore_authority(jobs, job, 0);
    }
    for (arcp__job *job = jobs->all; job != NULL; job = job->hh.next) {
        if (job->live->spent != NULL && job->budget != NULL) {
            restore_spent(jobs, job);
        }
        if (arcp__job_has_ended(job)) {
            arcp__job_release_live(jobs, job);
        }
    }
}
