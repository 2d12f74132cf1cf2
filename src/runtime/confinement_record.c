/* What sandboxes report of jobs. */
#include "hosting/confinement.h"
#include "runtime/runtime_state.h"
#include "json/json.h"

/* Absent directories that one line of a job's log names. */
#define ABSENT_SHOWN_MAX 10

/* The texts of a `denied` record, in this order. */
enum { CAPABILITY, TARGET, PROGRAM, TEXTS };

static void take_denied(arcp_runtime *runtime, arcp__job *job, const arcp_json *json)
{
    static const char *const names[TEXTS] = {"capability", "target", "program"};
    const arcp_json_ref denied =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("denied"));
    arcp_buf room[TEXTS] = {arcp_buf_init(), arcp_buf_init(), arcp_buf_init()};
    arcp_span texts[TEXTS] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    arcp__denial denial = {
        .layer = ARCP__DENIAL_BROKER, .code = ARCP_E_PERMISSION_DENIED, .count = 1};
    bool failed = !arcp_json_is(json, denied, ARCP_JSON_OBJECT);
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
        arcp__engine_agent_denied(runtime->engine, arcp__input_now(runtime), job, 0, &denial);
    }
    for (size_t i = 0; i < TEXTS; i++) {
        arcp_buf_fini(&room[i]);
    }
}

/* What a later git of others would use, and the job has made. */
static void take_planted(arcp_runtime *runtime, const arcp__job *job, const arcp_json *json)
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
}

/* Directories of the lease that are absent. A client cannot look at the host: the job's log names
 * them. */
static void take_running(arcp_runtime *runtime, arcp__job *job, const arcp_json *json)
{
    const arcp_json_ref list = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("absent"));
    arcp_buf text = arcp_buf_init();
    size_t count = 0;
    if (!arcp_json_is(json, list, ARCP_JSON_ARRAY)) {
        return;
    }
    for (arcp_json_ref at = arcp_json_first(json, list); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, list, at)) {
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
        arcp__engine_agent_log(runtime->engine, arcp__input_now(runtime), job, 0, "warn",
                               arcp_buf_span(&text));
    }
    arcp_buf_fini(&text);
}

void arcp__confinement_record(arcp_runtime *runtime, arcp__job *job, arcp_span record)
{
    arcp_json json = ARCP__JSON_INIT;
    const arcp__sandbox_record type = arcp__sandbox_record_type(record);
    if (type > ARCP__SANDBOX_RECORD_PLANTED ||
        arcp_json_scan(&json, record, NULL, NULL) != ARCP_OK) {
        arcp__json_fini(&json);
        return;
    }
    if (type == ARCP__SANDBOX_RECORD_DENIED) {
        take_denied(runtime, job, &json);
    } else if (type == ARCP__SANDBOX_RECORD_PLANTED) {
        take_planted(runtime, job, &json);
    } else {
        take_running(runtime, job, &json);
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
    arcp__engine_agent_denied(runtime->engine, arcp__input_now(runtime), job, 0, &made);
}
