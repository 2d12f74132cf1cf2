#include "engine/state.h"

#include "core/exposition.h"

static void write_agents(const arcp__job_metrics *metrics, arcp_buf *out)
{
    const size_t last = ARCP__METRIC_AGENTS_MAX;
    arcp__exposition_family(out, ARCP__METRIC_JOBS_RUNNING);
    for (size_t i = 0; i <= last; i++) {
        const arcp__agent_metrics *agent = &metrics->agents[i];
        const char *labels[] = {"agent", i == last ? "other" : agent->name, NULL};
        if (i < metrics->agent_count || agent->live != 0) {
            arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_JOBS_RUNNING), labels,
                                 agent->live);
        }
    }
    arcp__exposition_family(out, ARCP__METRIC_JOBS_QUEUED);
    for (size_t i = 0; i <= last; i++) {
        const arcp__agent_metrics *agent = &metrics->agents[i];
        const char *labels[] = {"agent", i == last ? "other" : agent->name, NULL};
        if (agent->queued != 0) {
            arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_JOBS_QUEUED), labels,
                                 agent->queued);
        }
    }
    arcp__exposition_family(out, ARCP__METRIC_JOBS_ENDED);
    for (size_t i = 0; i <= last; i++) {
        const arcp__agent_metrics *agent = &metrics->agents[i];
        for (size_t status = 0; status < ARCP_JOB_STATUS_COUNT; status++) {
            const char *labels[] = {"agent", i == last ? "other" : agent->name, "status",
                                    arcp_job_status_name((arcp_job_status)status), NULL};
            if (agent->ended[status] != 0) {
                arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_JOBS_ENDED), labels,
                                     agent->ended[status]);
            }
        }
    }
}

static void write_spent(const arcp__job_metrics *metrics, arcp_buf *out)
{
    arcp__exposition_family(out, ARCP__METRIC_BUDGET_SPENT);
    for (size_t i = 0; i <= ARCP__METRIC_CURRENCIES_MAX; i++) {
        const bool is_other = i == ARCP__METRIC_CURRENCIES_MAX;
        const char *labels[] = {"currency", is_other ? "other" : metrics->spent[i].currency, NULL};
        char text[ARCP_DECIMAL_TEXT_MAX];
        const size_t size = arcp_decimal_format(metrics->spent[i].amount, text);
        if (i < metrics->currency_count ||
            (is_other && !arcp_span_equal_cstr(arcp_span_make(text, size), "0"))) {
            arcp__exposition_text(out, arcp__metric_name(ARCP__METRIC_BUDGET_SPENT), labels,
                                  arcp_span_make(text, size));
        }
    }
}

static void write_enforced(const arcp__job_metrics *metrics, arcp_buf *out)
{
    arcp__exposition_family(out, ARCP__METRIC_ENFORCEMENT_DENIALS);
    for (size_t layer = 0; layer < ARCP__DENIAL_LAYER_COUNT; layer++) {
        for (size_t capability = 0; capability < ARCP__CAPABILITY_COUNT; capability++) {
            const char *name = arcp__capability_name((arcp__capability)capability);
            const char *labels[] = {"capability", name[0] == '\0' ? "other" : name, "layer",
                                    arcp__denial_layer_name((arcp__denial_layer)layer), NULL};
            if (metrics->enforced[layer][capability] != 0) {
                arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_ENFORCEMENT_DENIALS),
                                     labels, metrics->enforced[layer][capability]);
            }
        }
    }
}

static void write_schedules(const arcp__schedule_metrics *metrics, arcp_buf *out)
{
    const struct {
        const char *outcome;
        uint64_t count;
    } rows[] = {{"submitted", metrics->submitted},
                {"refused", metrics->refused},
                {"overlapped", metrics->overlapped},
                {"missed", metrics->missed}};
    arcp__exposition_family(out, ARCP__METRIC_SCHEDULE_DUE);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *labels[] = {"outcome", rows[i].outcome, NULL};
        if (rows[i].count != 0) {
            arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_SCHEDULE_DUE), labels,
                                 rows[i].count);
        }
    }
}

static void write_hooks(const arcp__hooks *hooks, arcp_buf *out)
{
    const struct {
        const char *outcome;
        uint64_t count;
    } rows[] = {{"made", hooks->metrics.made},
                {"delivered", hooks->metrics.delivered},
                {"retried", hooks->metrics.retried},
                {"failed", hooks->metrics.failed},
                {"dropped", hooks->metrics.dropped}};
    arcp__exposition_family(out, ARCP__METRIC_NOTIFICATIONS);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *labels[] = {"outcome", rows[i].outcome, NULL};
        if (rows[i].count != 0) {
            arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_NOTIFICATIONS), labels,
                                 rows[i].count);
        }
    }
    arcp__exposition_one(out, ARCP__METRIC_OUTBOX_WAITING,
                         arcp__notification_count(hooks) - hooks->failed_count);
    arcp__exposition_one(out, ARCP__METRIC_OUTBOX_FAILED, hooks->failed_count);
}

void arcp__engine_write_metrics(const arcp__engine *engine, arcp_buf *out)
{
    const arcp__session_metrics *metrics = &engine->sessions.metrics;
    const arcp__job_metrics *jobs = &engine->jobs.metrics;
    const struct {
        arcp__metric metric;
        uint64_t value;
    } rows[] = {
        {ARCP__METRIC_SESSIONS, engine->sessions.count},
        {ARCP__METRIC_SESSIONS_CONNECTED, engine->sessions.connected_count},
        {ARCP__METRIC_SESSIONS_OPENED, metrics->sessions_opened},
        {ARCP__METRIC_SESSIONS_RESUMED, metrics->sessions_resumed},
        {ARCP__METRIC_AUTHENTICATIONS_REFUSED, metrics->authentications_refused},
        {ARCP__METRIC_REFUSALS_COUNTED, metrics->refusals_counted},
        {ARCP__METRIC_JOBS_KEPT, HASH_COUNT(engine->jobs.all) - engine->jobs.running},
        {ARCP__METRIC_EVENTS, jobs->event_count},
        {ARCP__METRIC_STORE_QUEUE_BYTES, engine->log->queue_bytes},
        {ARCP__METRIC_STORE_FAILING, arcp__log_is_failing(engine->log)},
        {ARCP__METRIC_BACK_PRESSURE, metrics->back_pressure},
        {ARCP__METRIC_AGENT_PAUSES, jobs->agent_pauses},
        {ARCP__METRIC_CREDENTIALS_OUTSTANDING, arcp__credentials_count(&engine->credentials)},
        {ARCP__METRIC_CREDENTIALS_STUCK, engine->credentials.stuck_count},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__exposition_one(out, rows[i].metric, rows[i].value);
    }
    write_agents(jobs, out);
    arcp__exposition_family(out, ARCP__METRIC_DENIALS);
    for (size_t code = 0; code < ARCP_STATUS_COUNT; code++) {
        for (size_t capability = 0; capability < ARCP__CAPABILITY_COUNT; capability++) {
            const char *name = arcp__capability_name((arcp__capability)capability);
            const char *labels[] = {"code", arcp_status_wire_code((arcp_status)code), "capability",
                                    name[0] == '\0' ? "other" : name, NULL};
            if (jobs->denials[code][capability] != 0) {
                arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_DENIALS), labels,
                                     jobs->denials[code][capability]);
            }
        }
    }
    write_enforced(jobs, out);
    arcp__exposition_family(out, ARCP__METRIC_SUBMITS_REFUSED);
    for (size_t code = 0; code < ARCP_STATUS_COUNT; code++) {
        const char *labels[] = {"code", arcp_status_wire_code((arcp_status)code), NULL};
        if (metrics->submits_refused[code] != 0) {
            arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_SUBMITS_REFUSED), labels,
                                 metrics->submits_refused[code]);
        }
    }
    write_spent(jobs, out);
    write_schedules(&engine->schedules.metrics, out);
    write_hooks(&engine->hooks, out);
}

bool arcp__engine_is_ready(const arcp__engine *engine, const char **why)
{
    const char *reason = NULL;
    if (engine->context.failed) {
        reason = "out of memory";
    } else if (arcp__log_is_failing(engine->log)) {
        reason = "the store cannot be written";
    } else if (engine->context.stopping) {
        reason = "stopping";
    } else if (arcp__audit_check(engine->log, NULL) != ARCP_OK) {
        reason = "the audit log cannot be written";
    }
    *why = reason;
    return reason == NULL;
}
