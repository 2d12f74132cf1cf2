/* reload, audit, and requests about workers. A reload changes the runtime, which is being driven
 * when it asks: it is due in the loop's next turn, and answers all requests that came until then.
 */
#include "arcpd/state.h"
#include "runtime/runtime_owner.h"
#include "runtime/runtime_worker.h"
#include "json/json.h"
#include "json/json_put.h"

#define ANSWER_BYTES_MAX ((size_t)1 << 20)
#define ENVELOPE_BYTES   1024u

static void answer_no_memory(const arcp__daemon *state, uint64_t id)
{
    arcp__runtime_answer(state->runtime, id, ARCP_E_INTERNAL_ERROR,
                         ARCP_SPAN_LITERAL("out of memory"));
}

/* ---- reload ---- */

static void write_report(const arcp__reload_report *report, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_bool(&writer, "applied", report->is_applied);
    arcp__put_array(&writer, "problems");
    for (size_t i = 0; i < report->problems.count; i++) {
        arcp__problem_write(&writer, report->problems.items[i]);
    }
    arcp_json_end_array(&writer);
    arcp__put_array(&writer, "needs_restart");
    for (size_t i = 0; i < report->restart.count; i++) {
        arcp_json_write_cstr(&writer, report->restart.items[i]);
    }
    arcp_json_end_array(&writer);
    arcp_json_end_object(&writer);
}

static void on_reload_due(uv_timer_t *timer)
{
    arcp__daemon *state = timer->data;
    arcp__reload_report report = {.is_applied = false};
    arcp_buf payload = arcp_buf_init();
    arcp__service_manager_reloading(&state->manager);
    arcp__daemon_reload(state, "operator", &report);
    arcp__service_manager_ready(&state->manager, &state->loop);
    write_report(&report, &payload);
    /* The answers come before the links of roles are closed, which the runtime does when it is
     * driven. */
    for (size_t i = 0; i < state->reload_id_count; i++) {
        if (payload.failed) {
            answer_no_memory(state, state->reload_ids[i]);
        } else {
            arcp__runtime_answer(state->runtime, state->reload_ids[i], ARCP_OK,
                                 arcp_buf_span(&payload));
        }
    }
    state->reload_id_count = 0;
    arcp_buf_fini(&payload);
    arcp__text_list_clear(&report.problems);
    arcp__text_list_clear(&report.restart);
}

static void ask_reload(arcp__daemon *state, uint64_t id)
{
    if (state->reload_id_count == ARCP__RELOADS_ASKED_MAX) {
        arcp__runtime_answer(state->runtime, id, ARCP_E_INTERNAL_ERROR,
                             ARCP_SPAN_LITERAL("too many requests wait for a reload"));
        return;
    }
    state->reload_ids[state->reload_id_count++] = id;
    (void)uv_timer_start(&state->asked_reload, on_reload_due, 0, 0);
}

/* ---- audit ---- */

static void answer_audit(arcp__daemon *state, uint64_t id, arcp_span payload)
{
    const size_t frame_bytes = (size_t)state->config.settings.limits_frame_bytes;
    const size_t bytes_max =
        (frame_bytes < ANSWER_BYTES_MAX ? frame_bytes : ANSWER_BYTES_MAX) - ENVELOPE_BYTES;
    arcp__audit_stats stats;
    arcp_error error = {0};
    arcp_buf out = arcp_buf_init();
    if (state->audit.log != NULL) {
        arcp__audit_log_get_stats(state->audit.log, &stats);
    }
    const arcp_status status =
        arcp__audit_tail_answer(&state->audit.tail, state->audit.log == NULL ? NULL : &stats,
                                payload, bytes_max, &out, &error);
    if (status == ARCP_OK) {
        arcp__runtime_answer(state->runtime, id, ARCP_OK, arcp_buf_span(&out));
    } else {
        answer_no_memory(state, id);
    }
    arcp_buf_fini(&out);
}

/* ---- workers ---- */

static void answer_workers(const arcp__daemon *state, uint64_t id)
{
    arcp_buf out = arcp_buf_init();
    arcp__runtime_write_workers(state->runtime, &out);
    if (out.failed) {
        answer_no_memory(state, id);
    } else {
        arcp__runtime_answer(state->runtime, id, ARCP_OK, arcp_buf_span(&out));
    }
    arcp_buf_fini(&out);
}

typedef arcp_status worker_fn(arcp_runtime *runtime, arcp_span name, arcp_error *err);

static void act_on_worker(const arcp__daemon *state, uint64_t id, const arcp_json *json,
                          arcp_json_ref payload, worker_fn *act)
{
    arcp_error error = {0};
    arcp_buf scratch = arcp_buf_init();
    const arcp_span name = arcp_json_string(
        json, arcp_json_member(json, payload, ARCP_SPAN_LITERAL("name")), &scratch);
    const arcp_status status = act(state->runtime, name, &error);
    arcp__runtime_answer(state->runtime, id, status,
                         status == ARCP_OK ? ARCP_SPAN_LITERAL("{}")
                                           : arcp_span_cstr(error.message));
    arcp_buf_fini(&scratch);
}

/* ---- all requests ---- */

static void on_asked(void *user, uint64_t id, arcp_span request)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp__daemon *state = user;
    arcp_json json = ARCP__JSON_INIT;
    if (arcp_json_scan(&json, request, &limits, NULL) != ARCP_OK) {
        answer_no_memory(state, id); /* the runtime has made it */
        arcp__json_fini(&json);
        return;
    }
    const arcp_json_ref name =
        arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("request"));
    const arcp_json_ref payload =
        arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
    if (arcp_json_string_equals(&json, name, ARCP_SPAN_LITERAL("reload"))) {
        ask_reload(state, id);
    } else if (arcp_json_string_equals(&json, name, ARCP_SPAN_LITERAL("workers"))) {
        answer_workers(state, id);
    } else if (arcp_json_string_equals(&json, name, ARCP_SPAN_LITERAL("drain"))) {
        act_on_worker(state, id, &json, payload, arcp__runtime_drain_worker);
    } else if (arcp_json_string_equals(&json, name, ARCP_SPAN_LITERAL("forget"))) {
        act_on_worker(state, id, &json, payload, arcp__runtime_forget_worker);
    } else {
        answer_audit(state, id, arcp_json_raw(&json, payload));
    }
    arcp__json_fini(&json);
}

void arcp__operator_requests_open(arcp__daemon *state)
{
    (void)uv_timer_init(&state->loop, &state->asked_reload);
    state->asked_reload.data = state;
    uv_unref((uv_handle_t *)&state->asked_reload);
    arcp__runtime_set_owner(state->runtime, on_asked, state);
}

void arcp__operator_requests_close(arcp__daemon *state)
{
    if (state->asked_reload.data != NULL) {
        arcp__runtime_set_owner(state->runtime, NULL, NULL);
        uv_close((uv_handle_t *)&state->asked_reload, NULL);
    }
}
