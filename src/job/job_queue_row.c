/* Rows of the table JOBS beside that of a queued job: what is needed to start it (its own row has
 * the rest), and the turn of its principal when that is not the job's own. Both are deleted in the
 * batch in which the job starts or ends, so a job that has them after a restart was never started;
 * one on a worker keeps the first until the worker says that its agent runs.
 * A credential's value is in neither. */
#include "job/job_state.h"

#define START_SUFFIX "/start"
#define TURN_SUFFIX  "/turn"
#define KEY_SIZE     (ARCP__ID_SIZE + sizeof START_SUFFIX)

typedef struct start_row {
    uint64_t order, max_runtime_sec;
    arcp_json_ref input;
    arcp_span traceparent, tracestate;
    bool credential; /* it had one, which a restart revokes */
    bool remote;     /* its agent is one that workers offer */
} start_row;

typedef struct turn_row {
    uint64_t turn;
} turn_row;

#define START(member, kind) ARCP__MEMBER(start_row, member, #member, kind)

static const arcp__member start_rows[] = {
    {START(order, COUNT)}, /* 0: it has a place, and its start was not confirmed yet */
    {START(max_runtime_sec, COUNT)},
    {START(input, ANY)}, /* null counts as absent */
    {START(traceparent, TEXT), .required = true},
    {START(tracestate, TEXT)},
    {START(credential, BOOL)},
    {START(remote, BOOL)},
};
static const arcp__members start_members = ARCP__MEMBERS(start_rows);
static const arcp__member turn_rows[] = {
    {ARCP__MEMBER(turn_row, turn, "turn", POSITIVE), .required = true},
};
static const arcp__members turn_members = ARCP__MEMBERS(turn_rows);

static arcp_span key_of(const arcp__job *job, const char *suffix, char out[KEY_SIZE])
{
    const size_t size = strlen(job->id);
    memcpy(out, job->id, size);
    memcpy(out + size, suffix, strlen(suffix) + 1);
    return arcp_span_cstr(out);
}

void arcp__queue_write_start(arcp__jobs *jobs, const arcp__job *job)
{
    char key[KEY_SIZE];
    const arcp__job_live *live = job->live;
    if (!jobs->log->options.keeps_rows) {
        return;
    }
    const start_row row = {.order = live->place.order,
                           .max_runtime_sec = live->max_runtime_sec,
                           .traceparent = arcp_span_cstr(live->trace.traceparent),
                           .tracestate = arcp_span_cstr(live->tracestate),
                           .credential = live->credential.live != NULL,
                           .remote = live->place.agent->offer == NULL};
    arcp_buf text = arcp__context_take_buf(jobs->context);
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__encode_row(&writer, &start_members, &row);
    arcp__put_raw(&writer, "input", arcp_span_cstr(live->input));
    arcp_json_end_object(&writer);
    arcp__batch_put(jobs->log, ARCP_STORE_JOBS, key_of(job, START_SUFFIX, key),
                    arcp_buf_span(&text));
    arcp__queued_add(jobs->log, &job->principal->queued, text.size);
    arcp__context_give_buf(jobs->context, &text);
}

void arcp__queue_write_turn(arcp__jobs *jobs, const arcp__job *job)
{
    char key[KEY_SIZE];
    const turn_row row = {.turn = job->live->place.turn};
    if (!jobs->log->options.keeps_rows) {
        return;
    }
    arcp_buf text = arcp__context_take_buf(jobs->context);
    arcp__row_format(&turn_members, &row, &text);
    arcp__batch_put(jobs->log, ARCP_STORE_JOBS, key_of(job, TURN_SUFFIX, key),
                    arcp_buf_span(&text));
    arcp__context_give_buf(jobs->context, &text);
}

void arcp__queue_delete_rows(arcp__jobs *jobs, const arcp__job *job)
{
    char key[KEY_SIZE];
    if (!jobs->log->options.keeps_rows) {
        return;
    }
    arcp__batch_delete(jobs->log, ARCP_STORE_JOBS, key_of(job, START_SUFFIX, key));
    arcp__batch_delete(jobs->log, ARCP_STORE_JOBS, key_of(job, TURN_SUFFIX, key));
}

/* ---- restart ---- */

static arcp_status restore_start(arcp__jobs *jobs, arcp__job *job, arcp_span key, arcp_error *err)
{
    const arcp_json *json = &jobs->context->json;
    arcp__job_live *live = job->live;
    start_row row = {0};
    if (!arcp__decode_row(json, &jobs->context->scratch, ARCP_JSON_ROOT, &start_members, &row) ||
        !arcp__traceparent_is_valid(row.traceparent) || live->lease == NULL ||
        (row.order == 0 && !arcp__job_is_on_worker(job))) {
        return arcp__row_damaged("queued job", key, err);
    }
    const arcp_span input =
        row.input == ARCP_JSON_ABSENT ? ARCP_SPAN_LITERAL("null") : arcp_json_raw(json, row.input);
    live->input = arcp__copy_cstr(input.data, input.size);
    arcp__free(live->tracestate);
    live->tracestate =
        row.tracestate.size == 0 ? NULL : arcp__copy_cstr(row.tracestate.data, row.tracestate.size);
    if (arcp__job_is_on_worker(job)) {
        live->place.order = row.order; /* its worker may not take it */
        return live->input == NULL ? arcp__row_out_of_memory(err) : ARCP_OK;
    }
    arcp__place_agent *agent = arcp__placement_agent(&jobs->placement, job->agent_text);
    if (live->input == NULL || (row.tracestate.size != 0 && live->tracestate == NULL) ||
        agent == NULL ||
        arcp__place_restore(&jobs->placement, &live->place, agent,
                            job->parent_id[0] == '\0' ? ARCP__PLACE_SUBMITTED
                                                      : ARCP__PLACE_DELEGATED,
                            job->principal, job, row.order) != ARCP_OK) {
        return arcp__row_out_of_memory(err);
    }
    agent->is_remote = agent->is_remote || row.remote;
    if (!live->trace.is_recorded) {
        memcpy(live->trace.traceparent, row.traceparent.data, row.traceparent.size);
    }
    live->max_runtime_sec = row.max_runtime_sec;
    live->had_credential = row.credential;
    job->agent_state = ARCP__AGENT_QUEUED;
    return ARCP_OK;
}

/* Rows come in key order: these come behind the job's own, and a turn behind the start. */
arcp_status arcp__queue_restore_row(arcp__jobs *jobs, arcp__job *job, arcp_span suffix,
                                    arcp_span key, arcp_error *err)
{
    turn_row row = {0};
    if (arcp__job_has_ended(job)) {
        return ARCP_OK;
    }
    if (arcp_span_equal_cstr(suffix, START_SUFFIX)) {
        return restore_start(jobs, job, key, err);
    }
    if (!arcp__decode_row(&jobs->context->json, &jobs->context->scratch, ARCP_JSON_ROOT,
                          &turn_members, &row)) {
        return arcp__row_damaged("queued job", key, err);
    }
    if (job->live->place.state == ARCP__PLACE_WAITING) {
        arcp__place_set_turn(&jobs->placement, &job->live->place, row.turn);
    }
    return ARCP_OK;
}
