/* The row <job>/live of a job that has not ended, beside its own: what changes while it runs. It is
 * written at most once per batch, in the batch with the change, and deleted with the job's end. The
 * row of a job that is not on a worker says only what the job has spent and which line of a parent
 * on a worker waits for its end; without either there is no row. */
#include "job/job_state.h"

#define LIVE_SUFFIX  "/live"
#define SPENT_SUFFIX "/spent" /* of releases before it */
#define KEY_SIZE     (ARCP__ID_SIZE + sizeof SPENT_SUFFIX)

/* The members of type arcp_json_ref are written and read by other functions. */
typedef struct live_row {
    uint64_t item, bytes, errors;
    arcp_json_ref open, denied, spent;
    arcp_span worker, instance, boot;
    int64_t running; /* since when its agent runs; 0: it does not */
    uint64_t max_runtime_sec;
    arcp_span traceparent, tracestate;
    arcp_span cwd, seen_cwd; /* on the host; as its program sees it, if that is another one */
    bool owns_cwd;
    bool bad_line;
    bool credential;      /* it has one */
    arcp_span reported;   /* what its agent has said that it spent since that was issued */
    bool confined;        /* in a sandbox */
    bool revoked;         /* which was notified that the lease grants nothing any more */
    int64_t cancel_until; /* 0: it is not being cancelled */
    arcp_span cancel_message, end_message;
    arcp_span result_id; /* empty: no chunk */
    uint64_t chunk_next, result_size;
    bool result_ended;
    arcp_span wait_reply; /* of its parent's line; empty: the parent does not wait */
    uint64_t wait_item;
    uint8_t gateway_digest[32];
} live_row;

#define LIVE(member, name, kind) ARCP__MEMBER(live_row, member, name, kind)

static const arcp__member cancel_rows[] = {
    {LIVE(cancel_until, "until", INSTANT)},
    {LIVE(cancel_message, "message", TEXT)},
    {LIVE(end_message, "end_message", TEXT)},
};
static const arcp__members cancel_members = ARCP__MEMBERS(cancel_rows);
static const arcp__member result_rows[] = {
    {LIVE(result_id, "id", STRING)},
    {LIVE(chunk_next, "next", COUNT)},
    {LIVE(result_size, "size", COUNT)},
    {LIVE(result_ended, "ended", BOOL)},
};
static const arcp__members result_members = ARCP__MEMBERS(result_rows);
static const arcp__member wait_rows[] = {
    {LIVE(wait_reply, "re", TEXT)},
    {LIVE(wait_item, "for", COUNT)},
};
static const arcp__members wait_members = ARCP__MEMBERS(wait_rows);
static const arcp__member live_rows[] = {
    {LIVE(item, "item", COUNT)},
    {LIVE(bytes, "bytes", COUNT)},
    {LIVE(errors, "errors", COUNT)},
    {LIVE(open, "open", ARRAY)},
    {LIVE(worker, "worker", STRING)},
    {LIVE(instance, "instance", STRING)},
    {LIVE(boot, "boot", STRING)},
    {LIVE(running, "running", INSTANT)},
    {LIVE(max_runtime_sec, "max_runtime_sec", COUNT)},
    {LIVE(traceparent, "traceparent", TEXT)},
    {LIVE(tracestate, "tracestate", TEXT)},
    {LIVE(cwd, "cwd", TEXT)},
    {LIVE(seen_cwd, "seen_cwd", TEXT)},
    {LIVE(owns_cwd, "owns_cwd", BOOL)},
    {LIVE(bad_line, "bad_line", BOOL)},
    {LIVE(credential, "credential", BOOL)},
    {LIVE(reported, "reported", TEXT)},
    {LIVE(gateway_digest, "gateway_key", HASH)}, /* SHA-256 of its key for the gateways */
    {LIVE(confined, "confined", BOOL)},
    {LIVE(revoked, "revoked", BOOL)},
    {LIVE(denied, "denied", ARRAY)},
    {LIVE(spent, "spent", OBJECT)},
    {ARCP__CHECKED("cancel", OBJECT), .parts = &cancel_members},
    {ARCP__CHECKED("result", OBJECT), .parts = &result_members},
    {ARCP__CHECKED("wait", OBJECT), .parts = &wait_members},
};
static const arcp__members live_members = ARCP__MEMBERS(live_rows);

static arcp_span key_of(const arcp__job *job, const char *suffix, char out[KEY_SIZE])
{
    const size_t size = strlen(job->id);
    memcpy(out, job->id, size);
    memcpy(out + size, suffix, strlen(suffix) + 1);
    return arcp_span_cstr(out);
}

/* ---- writing ---- */

static void write_part(arcp_json_writer *writer, const char *name, const arcp__members *members,
                       const live_row *row)
{
    arcp__put_object(writer, name);
    arcp__encode_row(writer, members, row);
    arcp_json_end_object(writer);
}

static void write_open(const arcp__job_numbers *numbers, arcp_json_writer *writer)
{
    bool any = false;
    for (size_t i = 0; i < numbers->open_count; i++) {
        if (numbers->open[i].done_id == 0) {
            if (!any) {
                arcp__put_array(writer, "open");
                any = true;
            }
            arcp_json_write_u64(writer, numbers->open[i].number);
        }
    }
    if (any) {
        arcp_json_end_array(writer);
    }
}

/* The oldest comes first. */
static void write_denied(const arcp__denied_calls *denied, arcp_json_writer *writer)
{
    const size_t first = denied->count == ARCP__DENIED_CALLS_MAX ? denied->next : 0;
    if (denied->count == 0) {
        return;
    }
    arcp__put_array(writer, "denied");
    for (size_t i = 0; i < denied->count; i++) {
        arcp_json_write_u64(writer, denied->hashes[(first + i) % denied->count]);
    }
    arcp_json_end_array(writer);
}

/* What a restart needs to go on with a job on a worker. */
static void write_run(const arcp__jobs *jobs, const arcp__job *job, arcp_json_writer *writer)
{
    const arcp__job_live *live = job->live;
    const arcp__job_numbers *numbers = live->numbers;
    char reported[ARCP_DECIMAL_TEXT_MAX];
    live_row row = {.item = numbers->item,
                    .bytes = numbers->bytes,
                    .errors = numbers->errors,
                    .worker = arcp_span_cstr(numbers->worker),
                    .instance = arcp_span_cstr(numbers->instance),
                    .boot = arcp_span_cstr(numbers->boot_id),
                    .max_runtime_sec = live->max_runtime_sec,
                    .traceparent = arcp_span_cstr(live->trace.traceparent),
                    .tracestate = arcp_span_cstr(live->tracestate),
                    .cwd = arcp_span_cstr(live->cwd),
                    .owns_cwd = live->owns_cwd,
                    .bad_line = job->output == ARCP__OUTPUT_BROKEN,
                    .credential = live->credential.live != NULL,
                    .confined = live->enforcement != NULL && live->enforcement->is_confined,
                    .revoked = live->enforcement != NULL && live->enforcement->is_revoked,
                    .result_id = arcp_span_cstr(job->result_id),
                    .chunk_next = live->chunk_next,
                    .result_size = live->result_size,
                    .result_ended = job->chunks == ARCP__CHUNKS_ENDED};
    memcpy(row.gateway_digest, numbers->gateway_digest, sizeof row.gateway_digest);
    if (live->enforcement != NULL) {
        row.seen_cwd = arcp_buf_span(&live->enforcement->texts[ARCP__ADMIT_CWD]);
    }
    const arcp_decimal said = arcp__credential_reported(&live->credential);
    if (arcp_decimal_compare(said, (arcp_decimal)ARCP_DECIMAL_ZERO) != 0) {
        row.reported = arcp_span_make(reported, arcp_decimal_format(said, reported));
    }
    row.running = job->status == ARCP_JOB_RUNNING ? job->facts.started_wall_ns : 0;
    arcp__encode_row(writer, &live_members, &row);
    write_open(numbers, writer);
    write_denied(&live->port.denied, writer);
    if (row.result_id.size != 0) {
        write_part(writer, "result", &result_members, &row);
    }
    if (job->cancelling) {
        const arcp_time now = jobs->context->now;
        row.cancel_until = live->grace_timer.place == 0
                               ? now.wall_ns
                               : now.wall_ns + (live->grace_timer.at_ns - now.mono_ns);
        row.cancel_message = arcp_span_cstr(live->cancel_message);
        row.end_message = arcp_span_cstr(live->end_message);
        write_part(writer, "cancel", &cancel_members, &row);
    }
}

void arcp__live_write_row(arcp__jobs *jobs, arcp__job *job)
{
    char key[KEY_SIZE];
    arcp_buf text = arcp__context_take_buf(jobs->context);
    arcp_json_writer writer = arcp__put_begin(&text);
    if (arcp__job_is_on_worker(job)) {
        write_run(jobs, job, &writer);
    }
    if (job->live->wait_reply != NULL && job->live->wait_item != 0) {
        const live_row row = {.wait_reply = arcp_span_cstr(job->live->wait_reply),
                              .wait_item = job->live->wait_item};
        write_part(&writer, "wait", &wait_members, &row);
    }
    arcp__spent_write(job, &writer);
    arcp_json_end_object(&writer);
    arcp__batch_put(jobs->log, ARCP_STORE_JOBS, key_of(job, LIVE_SUFFIX, key),
                    arcp_buf_span(&text));
    job->live_row = ARCP__LIVE_ROW;
    arcp__context_give_buf(jobs->context, &text);
}

void arcp__live_delete_row(arcp__jobs *jobs, arcp__job *job)
{
    if (job->live_row != ARCP__LIVE_ROW_NONE) {
        char key[KEY_SIZE];
        arcp__batch_delete(
            jobs->log, ARCP_STORE_JOBS,
            key_of(job, job->live_row == ARCP__LIVE_ROW ? LIVE_SUFFIX : SPENT_SUFFIX, key));
        job->live_row = ARCP__LIVE_ROW_NONE;
    }
}

/* ---- restart ---- */

static bool copy_text(char **to, arcp_span text)
{
    *to = text.size == 0 ? NULL : arcp__copy_cstr(text.data, text.size);
    return *to != NULL || text.size == 0;
}

static bool copy_name(char to[ARCP__WORKER_NAME_SIZE], arcp_span text)
{
    if (text.size >= ARCP__WORKER_NAME_SIZE) {
        return false;
    }
    memcpy(to, text.data == NULL ? "" : text.data, text.size);
    return true;
}

/* False when out of memory. */
static bool restore_lists(const arcp_json *json, const live_row *row, arcp__job *job)
{
    arcp__job_numbers *numbers = job->live->numbers;
    arcp__denied_calls *denied = &job->live->port.denied;
    uint64_t number = 0;
    for (arcp_json_ref at = arcp_json_first(json, row->open); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, row->open, at)) {
        if (arcp_json_u64(json, at, &number) && !arcp__item_add_open(numbers, number)) {
            return false;
        }
    }
    for (arcp_json_ref at = arcp_json_first(json, row->denied); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, row->denied, at)) {
        if (arcp_json_u64(json, at, &number) && !arcp__denied_calls_add_hash(denied, number)) {
            return false;
        }
    }
    return true;
}

static arcp_status restore_run(const arcp__jobs *jobs, const live_row *row, arcp__job *job,
                               arcp_span key, arcp_error *err)
{
    const arcp_json *json = &jobs->context->json;
    arcp__job_live *live = job->live;
    arcp__job_numbers *numbers = arcp__alloc(sizeof *numbers);
    live->numbers = numbers;
    live->enforcement = row->confined ? arcp__alloc(sizeof *live->enforcement) : NULL;
    if (numbers == NULL || (row->confined && live->enforcement == NULL)) {
        return arcp__row_out_of_memory(err);
    }
    if (row->confined) {
        *live->enforcement = (arcp__enforcement){
            .hosts = jobs->hosts, .is_confined = true, .is_revoked = row->revoked};
        arcp_buf_append(&live->enforcement->texts[ARCP__ADMIT_CWD], row->seen_cwd);
    }
    arcp__numbers_restore(numbers, row->item, row->bytes, row->errors);
    if (!copy_name(numbers->worker, row->worker) || !copy_name(numbers->instance, row->instance) ||
        !copy_name(numbers->boot_id, row->boot) || row->result_id.size >= ARCP__ID_SIZE ||
        row->bytes > INT64_MAX) {
        return arcp__row_damaged("live", key, err);
    }
    if (!restore_lists(json, row, job) || !copy_text(&live->cancel_message, row->cancel_message) ||
        !copy_text(&live->end_message, row->end_message) ||
        !copy_text(&live->tracestate, row->tracestate) || !copy_text(&live->cwd, row->cwd) ||
        (row->confined && live->enforcement->texts[ARCP__ADMIT_CWD].failed)) {
        return arcp__row_out_of_memory(err);
    }
    if (!live->trace.is_recorded && arcp__traceparent_is_valid(row->traceparent)) {
        memcpy(live->trace.traceparent, row->traceparent.data, row->traceparent.size);
    }
    memcpy(numbers->gateway_digest, row->gateway_digest, sizeof numbers->gateway_digest);
    live->max_runtime_sec = row->max_runtime_sec;
    live->owns_cwd = row->owns_cwd;
    live->had_credential = row->credential;
    if (row->reported.size != 0 &&
        arcp_decimal_parse_spend(row->reported, &live->reported_before, NULL) != ARCP_OK) {
        return arcp__row_damaged("live", key, err);
    }
    job->facts.started_wall_ns = row->running;
    job->output = row->bad_line ? ARCP__OUTPUT_BROKEN : ARCP__OUTPUT_LINES;
    job->cancelling = row->cancel_until != 0;
    numbers->cancel_until_ns = row->cancel_until;
    if (row->result_id.size != 0) {
        memcpy(job->result_id, row->result_id.data, row->result_id.size);
        job->result_id[row->result_id.size] = '\0';
        job->chunks = row->result_ended ? ARCP__CHUNKS_ENDED : ARCP__CHUNKS_OPEN;
        live->chunk_next = row->chunk_next;
        live->result_size = row->result_size;
    }
    return ARCP_OK;
}

bool arcp__live_is_row(arcp_span suffix)
{
    return arcp_span_equal_cstr(suffix, LIVE_SUFFIX) || arcp_span_equal_cstr(suffix, SPENT_SUFFIX);
}

arcp_status arcp__live_restore_row(arcp__jobs *jobs, arcp__job *job, arcp_span suffix,
                                   arcp_span key, arcp_error *err)
{
    const arcp_json *json = &jobs->context->json;
    live_row row = {0};
    if (arcp__job_has_ended(job) || job->live->lease == NULL) {
        return ARCP_OK;
    }
    if (!arcp__decode_row(json, &jobs->context->scratch, ARCP_JSON_ROOT, &live_members, &row)) {
        return arcp__row_damaged("live", key, err);
    }
    job->live_row =
        arcp_span_equal_cstr(suffix, LIVE_SUFFIX) ? ARCP__LIVE_ROW : ARCP__LIVE_ROW_OLDER;
    job->live->wait_item = row.wait_item;
    if ((row.spent != ARCP_JSON_ABSENT && !arcp__spent_keep(json, row.spent, job)) ||
        !copy_text(&job->live->wait_reply, row.wait_reply)) {
        return arcp__row_out_of_memory(err);
    }
    return row.worker.size == 0 ? ARCP_OK : restore_run(jobs, &row, job, key, err);
}
