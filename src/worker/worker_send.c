/* The link of a worker, and the messages that it sends. */
#include <assert.h>

#include "worker/worker_state.h"

/* ---- the link ---- */

void arcp__worker_core_connected(arcp__worker_core *core, int64_t now_ns)
{
    assert(core->link == ARCP__WORKER_LINK_AWAY);
    core->link = ARCP__WORKER_LINK_GREETING;
    core->hello_is_due = true;
    core->pong = 0;
    core->heard_ns = now_ns;
}

void arcp__worker_core_disconnected(arcp__worker_core *core, int64_t now_ns)
{
    arcp__worker_job *job = NULL, *next = NULL;
    core->link = ARCP__WORKER_LINK_AWAY;
    core->hello_is_due = core->ping_is_due = core->usage_is_due = false;
    core->store = NULL;
    HASH_ITER (hh, core->jobs, job, next) {
        arcp__worker_silence(core, job);
        if (job->state == ARCP__WORKER_JOB_REFUSED) {
            arcp__worker_free_job(core, job); /* the runtime starts it again, if it has not heard */
        } else {
            job->is_paused = false;
            arcp__worker_update_reading(core, job);
        }
    }
}

/* ---- hello ---- */

static void fill_row(const arcp__worker_job *job, arcp__worker_job_row *row)
{
    const arcp__worker_stream *items = &job->streams[ARCP__WORKER_STREAM_ITEMS];
    const arcp__worker_stream *output = &job->streams[ARCP__WORKER_STREAM_OUTPUT];
    const arcp__worker_stream *errors = &job->streams[ARCP__WORKER_STREAM_ERRORS];
    *row = (arcp__worker_job_row){
        .job = arcp_span_cstr(job->id),
        .store = arcp_span_cstr(job->store->id),
        .items_first = items->first,
        .items_last = items->next - 1,
        .stored = job->stored,
        .bytes_first = output->first,
        .bytes_last = output->next,
        .errors_first = errors->first,
        .errors_last = errors->next - 1,
        .at = job->at,
        .has_exited = job->state == ARCP__WORKER_JOB_EXITED,
    };
}

static void note_ping(arcp__worker_core *core, int64_t now_ns)
{
    core->last_ping++;
    core->pings_ns[core->last_ping % ARCP__WORKER_PINGS] = now_ns;
}

/* Hello counts as a ping that welcome answers. */
static void make_hello(arcp__worker_core *core, int64_t now_ns, arcp__worker_message *out)
{
    core->hello_is_due = false;
    arcp_buf_clear(&core->rows);
    for (arcp__worker_job *job = core->jobs; job != NULL; job = job->hh.next) {
        job->is_awaited = !job->is_forgotten;
        if (!job->is_forgotten) {
            arcp__worker_job_row row;
            fill_row(job, &row);
            arcp__worker_job_row_write(&row, &core->rows);
        }
    }
    if (core->rows.failed) {
        arcp__worker_fail(core);
    }
    note_ping(core, now_ns);
    *out = (arcp__worker_message){
        .kind = ARCP__WORKER_HELLO, .hello = core->hello, .body = arcp_buf_span(&core->rows)};
    if (core->is_draining) {
        out->hello.drains_ms = 1 + (uint64_t)(now_ns - core->drains_ns) / ARCP_NS_PER_MS;
    }
}

static bool make_exited(arcp__worker_job *job, arcp__worker_message *out)
{
    job->due.exited = false;
    *out = (arcp__worker_message){
        .kind = ARCP__WORKER_EXITED, .exited = job->exited, .body = arcp_buf_span(&job->tail)};
    out->exited.job = arcp_span_cstr(job->id);
    out->exited.items = job->streams[ARCP__WORKER_STREAM_ITEMS].next - 1;
    out->exited.bytes = job->streams[ARCP__WORKER_STREAM_OUTPUT].next;
    out->exited.errors = job->streams[ARCP__WORKER_STREAM_ERRORS].next - 1;
    out->exited.why = job->why;
    out->exited.failed_step = arcp_buf_span(&job->step);
    out->exited.failure = arcp_buf_span(&job->failure);
    return true;
}

static bool make_piece(arcp__worker_core *core, arcp__worker_job *job, arcp__worker_message *out)
{
    const arcp_span id = arcp_span_cstr(job->id);
    arcp__worker_piece piece;
    *out = (arcp__worker_message){.kind = ARCP__WORKER_ITEMS};
    if (arcp__worker_stream_take(&job->streams[ARCP__WORKER_STREAM_ITEMS], &piece)) {
        out->items = (arcp__worker_items){id, piece.first, piece.count, piece.what};
    } else if (arcp__worker_stream_take(&job->streams[ARCP__WORKER_STREAM_OUTPUT], &piece)) {
        out->kind = ARCP__WORKER_OUTPUT;
        out->output = (arcp__worker_output){id, piece.first};
    } else if (arcp__worker_stream_take(&job->streams[ARCP__WORKER_STREAM_ERRORS], &piece)) {
        out->kind = ARCP__WORKER_ERRORS;
        out->errors = (arcp__worker_errors){id, piece.first, piece.count};
    } else {
        return false;
    }
    out->body = piece.bytes;
    arcp__worker_update_reading(core, job);
    return true;
}

static void make_usage(arcp__worker_core *core, arcp__worker_message *out)
{
    const size_t jobs = HASH_COUNT(core->jobs);
    const bool is_full = core->is_draining || jobs >= ARCP__WORKER_JOBS_MAX;
    core->usage_is_due = false;
    arcp_buf_clear(&core->rows);
    for (const arcp__worker_job *job = core->jobs; job != NULL; job = job->hh.next) {
        arcp__worker_usage_row row = {.job = arcp_span_cstr(job->id)};
        if (job->state == ARCP__WORKER_JOB_RUNNING && !job->is_forgotten &&
            arcp__worker_is_ours(core, job)) {
            core->programs.use(core->programs.user, job->program, &row);
            arcp__worker_usage_row_write(&row, &core->rows);
        }
    }
    if (core->rows.failed) {
        arcp__worker_fail(core);
    }
    *out = (arcp__worker_message){.kind = ARCP__WORKER_USAGE,
                                  .usage = {is_full ? 0 : ARCP__WORKER_JOBS_MAX - jobs},
                                  .body = arcp_buf_span(&core->rows)};
}

/* The next message of one job. */
static bool speak(arcp__worker_core *core, arcp__worker_job *job, arcp__worker_message *out)
{
    const arcp_span id = arcp_span_cstr(job->id);
    if (job->state == ARCP__WORKER_JOB_REFUSED) {
        *out = (arcp__worker_message){.kind = ARCP__WORKER_REFUSED,
                                      .refused = {id, job->refusal, arcp_buf_span(&job->tail)}};
        core->refused = job;
        return true;
    }
    if (job->due.started) {
        job->due.started = false;
        *out = (arcp__worker_message){.kind = ARCP__WORKER_STARTED, .started = {id, job->pid}};
        return true;
    }
    if (job->due.got) {
        job->due.got = false;
        *out = (arcp__worker_message){.kind = ARCP__WORKER_GOT, .got = {id, job->at}};
        return true;
    }
    if (make_piece(core, job, out)) {
        return true;
    }
    if (job->log.size != 0) {
        const arcp_span text = arcp_span_first(arcp_buf_span(&job->log), ARCP__WORKER_RUN_BYTES);
        *out = (arcp__worker_message){
            .kind = ARCP__WORKER_LOG, .log = {id, job->log_dropped}, .body = text};
        job->log_dropped = 0;
        core->log_job = job;
        core->log_sent = text.size;
        return true;
    }
    return job->due.exited && make_exited(job, out);
}

void arcp__worker_end_message(arcp__worker_core *core)
{
    if (core->log_job != NULL) {
        arcp_buf_consume(&core->log_job->log, core->log_sent);
        core->log_job = NULL;
    }
    if (core->refused != NULL) {
        arcp__worker_free_job(core, core->refused);
    }
}

bool arcp__worker_core_next(arcp__worker_core *core, int64_t now_ns, arcp__worker_message *out)
{
    arcp__worker_end_message(core);
    if (core->link == ARCP__WORKER_LINK_AWAY || core->has_failed) {
        return false;
    }
    if (core->hello_is_due) {
        make_hello(core, now_ns, out);
        return !core->has_failed;
    }
    if (core->pong != 0) {
        *out = (arcp__worker_message){.kind = ARCP__WORKER_PONG, .pong = {core->pong}};
        core->pong = 0;
        return true;
    }
    if (core->ping_is_due) {
        core->ping_is_due = false;
        note_ping(core, now_ns);
        *out = (arcp__worker_message){.kind = ARCP__WORKER_PING, .ping = {core->last_ping}};
        return true;
    }
    if (core->usage_is_due) {
        make_usage(core, out);
        return !core->has_failed;
    }
    while (core->speaking != NULL) {
        arcp__worker_job *job = core->speaking;
        arcp__worker_silence(core, job);
        if (speak(core, job, out)) {
            if (core->refused != job) {
                arcp__worker_let_speak(core, job); /* behind the others */
            }
            return true;
        }
    }
    return false;
}
