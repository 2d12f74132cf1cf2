/* What `arcp jobs --follow`, `top` and `events` share: the runtime reports the jobs that change
 * (arcp_client_watch), and a connection that is lost for a time is waited for. */
#include "arcp/operator.h"

arcp_status arcp__live_begin(arcp__live *live, arcp_error *err)
{
    arcp_watch_options options = arcp_watch_options_init();
    if (!arcp__has_view(live->client)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "this runtime does not report what its jobs do (arcpd does, by the "
                              "feature x-vendor.arcpd.view)");
    }
    options.jobs = true;
    options.principal = arcp_span_cstr(live->principals);
    return arcp_client_watch(live->client, &options, ARCP_WAIT_DEFAULT, err);
}

/* Gives the rows of a report to `row`; those of a report that is not whole will be loaded. */
static arcp_status take_report(arcp__live *live, const arcp_client_event *event, bool *loads,
                               arcp_error *err)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp__asked report = {.json = ARCP__JSON_INIT};
    const arcp_json *json = &report.json;
    const arcp_status status = arcp_json_scan(&report.json, event->body, &limits, err);
    if (status == ARCP_OK) {
        const arcp_json_ref jobs =
            arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("jobs"));
        const arcp_json_ref reload =
            arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("reload"));
        *loads = arcp_json_is(json, reload, ARCP_JSON_TRUE);
        arcp_json_ref row = *loads ? ARCP_JSON_ABSENT : arcp_json_first(json, jobs);
        while (row != ARCP_JSON_ABSENT && live->row(live->user, &report, row)) {
            row = arcp_json_next(json, jobs, row);
        }
    }
    arcp__asked_fini(&report);
    return status;
}

arcp_status arcp__live_next(arcp__live *live, int64_t timeout_ms, const arcp_client_event **out,
                            bool *loads, arcp_error *err)
{
    const arcp_client_event *event = NULL;
    arcp_status status = arcp_client_next_event(live->client, timeout_ms, &event, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (event->type == ARCP_CLIENT_JOBS_CHANGED) {
        status = take_report(live, event, loads, err);
    } else if (event->type == ARCP_CLIENT_DISCONNECTED && !live->is_waiting) {
        live->is_waiting = true; /* the attempts that fail next are not reported */
        arcp__program_say(live->program, "waiting: %s", event->error->message);
    } else if (event->type == ARCP_CLIENT_RESUMED) {
        live->is_waiting = false;
        arcp__program_say(live->program, "resumed: the connection was restored");
    } else if (event->type == ARCP_CLIENT_WATCH_ENDED && event->error->status == ARCP_E_LIMIT) {
        arcp__program_say(
            live->program,
            "some changes of jobs were left out: they came faster than they were read");
        *loads = true;
        status = arcp__live_begin(live, err);
    } else if (event->type == ARCP_CLIENT_WATCH_ENDED) {
        status = arcp_error_copy(err, event->error);
    }
    *out = event;
    return status;
}

bool arcp__sees_all(arcp_client *client)
{
    return (arcp_client_features(client) & ARCP_FEATURE_BIT(ARCP_FEATURE_OPERATE)) != 0;
}

bool arcp__has_view(arcp_client *client)
{
    return (arcp_client_features(client) & ARCP_FEATURE_BIT(ARCP_FEATURE_VIEW)) != 0;
}
