/* What sandboxes report of jobs. */
#include "hosting/confinement.h"
#include "runtime/runtime_state.h"
#include "json/json.h"

/* Absent directories that one line of a job's log names. */
#define ABSENT_SHOWN_MAX 10

/* A record of a worker that has no effect on the job. */
static void note(arcp_runtime *runtime, arcp__job *job, uint64_t item)
{
    if (item != 0) {
        arcp__engine_agent_noted(arcp__engine_of(job), arcp__input_of(job), job, item);
    }
}

/* The texts of a `denied` record, in this order. Those of the sandbox have no layer. */
enum { CAPABILITY, TARGET, PROGRAM, REASON, LAYER, CODE, TEXTS };

static void take_denied(arcp_runtime *runtime, arcp__job *job, uint64_t item, const arcp_json *json)
{
    static const char *const names[TEXTS] = {"capability", "target", "program",
                                             "reason",     "layer",  "code"};
    const arcp_json_ref denied =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("denied"));
    arcp_buf room[TEXTS];
    arcp_span texts[TEXTS] = {{NULL, 0}};
    arcp__denial denial = {
        .layer = ARCP__DENIAL_BROKER, .code = ARCP_E_PERMISSION_DENIED, .count = 1};
    bool failed = !arcp_json_is(json, denied, ARCP_JSON_OBJECT);
    for (size_t i = 0; i < TEXTS; i++) {
        room[i] = arcp_buf_init();
    }
    for (size_t i = 0; i < TEXTS && !failed; i++) {
        const arcp_json_ref at = arcp_json_member(json, denied, arcp_span_cstr(names[i]));
        if (arcp_json_is(json, at, ARCP_JSON_STRING)) {
            texts[i] = arcp_json_string(json, at, &room[i]);
            failed = room[i].failed;
        }
    }
    if (!failed) {
        (void)arcp_json_u64(json, arcp_json_member(json, denied, ARCP_SPAN_LITERAL("count")),
                            &denial.count);
        (void)arcp_json_u64(json, arcp_json_member(json, denied, ARCP_SPAN_LITERAL("pid")),
                            &denial.pid);
        denial.count = denial.count == 0 ? 1 : denial.count;
        denial.capability = texts[CAPABILITY];
        denial.target = texts[TARGET];
        denial.program = texts[PROGRAM];
        denial.reason = texts[REASON];
        if (arcp_span_equal_cstr(texts[LAYER], arcp__denial_layer_name(ARCP__DENIAL_EGRESS))) {
            denial.layer = ARCP__DENIAL_EGRESS;
        }
        if (arcp_span_equal_cstr(texts[CODE], arcp_status_name(ARCP_E_LEASE_EXPIRED))) {
            denial.code = ARCP_E_LEASE_EXPIRED;
        }
        arcp__engine_agent_denied(arcp__engine_of(job), arcp__input_of(job), job, item, &denial);
    } else {
        note(runtime, job, item);
    }
    for (size_t i = 0; i < TEXTS; i++) {
        arcp_buf_fini(&room[i]);
    }
}

/* What a later git of others would use, and the job has made. */
static void take_planted(arcp_runtime *runtime, arcp__job *job, uint64_t item,
                         const arcp_json *json)
{
    const arcp_json_ref list = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("planted"));
    for (arcp_json_ref at = arcp_json_first(json, list); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, list, at)) {
        arcp_buf room = arcp_buf_init();
        if (arcp_json_is(json, at, ARCP_JSON_STRING)) {
            const arcp_span path = arcp_span_first(arcp_json_string(json, at, &room), 400);
            arcp__runtime_log(runtime, job, ARCP_LOG_WARN,
                              "%.*s: made by the job; git uses it from now on", (int)path.size,
                              path.size == 0 ? "" : path.data);
        }
        arcp_buf_fini(&room);
    }
    note(runtime, job, item);
}

/* Directories of the lease that are absent. A client cannot look at the host: the job's log names
 * them. */
static void take_running(arcp_runtime *runtime, arcp__job *job, uint64_t item,
                         const arcp_json *json)
{
    const arcp_json_ref list = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("absent"));
    arcp_buf text = arcp_buf_init();
    size_t count = 0;
    const bool is_list = arcp_json_is(json, list, ARCP_JSON_ARRAY);
    for (arcp_json_ref at = is_list ? arcp_json_first(json, list) : ARCP_JSON_ABSENT;
         at != ARCP_JSON_ABSENT; at = arcp_json_next(json, list, at)) {
        const arcp_json_ref kind = arcp_json_member(json, at, ARCP_SPAN_LITERAL("expected"));
        const arcp_json_ref path = arcp_json_member(json, at, ARCP_SPAN_LITERAL("path"));
        if (arcp_json_is(json, path, ARCP_JSON_STRING) &&
            arcp_json_string_equals(json, kind, ARCP_SPAN_LITERAL("directory")) &&
            count++ < ABSENT_SHOWN_MAX) {
            arcp_buf room = arcp_buf_init();
            arcp_buf_append_cstr(&text, count == 1 ? "no such directory on this host: " : ", ");
            arcp_buf_append(&text, arcp_span_first(arcp_json_string(json, path, &room), 400));
            arcp_buf_fini(&room);
        }
    }
    if (count > ABSENT_SHOWN_MAX) {
        arcp_buf_append_format(&text, " and %zu more", count - ABSENT_SHOWN_MAX);
    }
    if (count != 0) {
        arcp_buf_append_cstr(&text,
                             "; its line grants nothing to this job, also if it is made later");
    }
    if (count != 0 && !text.failed) {
        arcp__engine_agent_log(arcp__engine_of(job), arcp__input_of(job), job, item, "warn",
                               arcp_buf_span(&text));
    } else {
        note(runtime, job, item);
    }
    arcp_buf_fini(&text);
}

/* A worker has made a sandbox; how long that took is not known here. */
static void count_start(arcp_runtime *runtime, const arcp__job *job)
{
    const arcp__enforcement *enforcement = job->live->enforcement;
    const arcp__job_plan *plan = enforcement == NULL ? NULL : enforcement->plan;
    if (plan != NULL) {
        runtime->hosting.sandboxes.starts[plan->plan->level]++;
    }
}

void arcp__confinement_record(arcp_runtime *runtime, arcp__job *job, uint64_t item,
                              arcp_span record)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp__sandbox_record type = arcp__sandbox_record_type(record);
    if (type > ARCP__SANDBOX_RECORD_PLANTED ||
        arcp_json_scan(&json, record, NULL, NULL) != ARCP_OK) {
        arcp__json_fini(&json);
        note(runtime, job, item);
        return;
    }
    if (type == ARCP__SANDBOX_RECORD_RUNNING && item != 0) {
        count_start(runtime, job);
    }
    if (type == ARCP__SANDBOX_RECORD_DENIED) {
        take_denied(runtime, job, item, &json);
    } else if (type == ARCP__SANDBOX_RECORD_PLANTED) {
        take_planted(runtime, job, item, &json);
    } else {
        take_running(runtime, job, item, &json);
    }
    arcp__json_fini(&json);
}

void arcp__confinement_denied(arcp_runtime *runtime, arcp__job *job,
                              const arcp__network_denial *denial)
{
    const arcp__denial made = {.layer = ARCP__DENIAL_EGRESS,
                               .code = denial->code,
                               .capability = ARCP_SPAN_LITERAL("net.fetch"),
                               .target = denial->target,
                               .reason = denial->reason,
                               .count = denial->count};
    arcp__engine_agent_denied(arcp__engine_of(job), arcp__input_of(job), job, 0, &made);
}
