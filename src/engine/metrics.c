#include "engine/metrics.h"
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

static void write_hooks(const arcp__hook_metrics *metrics, arcp_buf *out)
{
    const struct {
        const char *outcome;
        uint64_t count;
    } rows[] = {{"made", metrics->made},
                {"delivered", metrics->delivered},
                {"retried", metrics->retried},
                {"failed", metrics->failed},
                {"dropped", metrics->dropped}};
    arcp__exposition_family(out, ARCP__METRIC_NOTIFICATIONS);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *labels[] = {"outcome", rows[i].outcome, NULL};
        if (rows[i].count != 0) {
            arcp__exposition_u64(out, arcp__metric_name(ARCP__METRIC_NOTIFICATIONS), labels,
                                 rows[i].count);
        }
    }
}

void arcp__engine_add_metrics(const arcp__engine *engine, arcp__metric_sums *sums)
{
    const arcp__session_metrics *session = &engine->sessions.metrics;
    const arcp__schedule_metrics *schedule = &engine->schedules.metrics;
    const arcp__hook_metrics *hook = &engine->hooks.metrics;
    sums->sessions += engine->sessions.count;
    sums->connected += engine->sessions.connected_count;
    sums->kept += HASH_COUNT(engine->jobs.all) - engine->jobs.running;
    sums->queue_bytes += engine->log->queue_bytes;
    sums->is_failing = sums->is_failing != 0 || arcp__log_is_failing(engine->log);
    sums->outstanding += arcp__credentials_count(&engine->credentials);
    sums->stuck += engine->credentials.stuck_count;
    sums->outbox_waiting += arcp__notification_count(&engine->hooks) - engine->hooks.failed_count;
    sums->outbox_failed += engine->hooks.failed_count;
    for (size_t code = 0; code < ARCP_STATUS_COUNT; code++) {
        sums->session.submits_refused[code] += session->submits_refused[code];
    }
    sums->session.sessions_opened += session->sessions_opened;
    sums->session.sessions_resumed += session->sessions_resumed;
    sums->session.authentications_refused += session->authentications_refused;
    sums->session.refusals_counted += session->refusals_counted;
    sums->session.back_pressure += session->back_pressure;
    arcp__job_metrics_add(&sums->job, &engine->jobs.metrics);
    sums->schedule.submitted += schedule->submitted;
    sums->schedule.refused += schedule->refused;
    sums->schedule.overlapped += schedule->overlapped;
    sums->schedule.missed += schedule->missed;
    sums->hook.made += hook->made;
    sums->hook.delivered += hook->delivered;
    sums->hook.retried += hook->retried;
    sums->hook.failed += hook->failed;
    sums->hook.dropped += hook->dropped;
}

void arcp__engine_write_metrics(const arcp__engine *engine, arcp_buf *out)
{
    arcp__metric_sums sums = {.sessions = 0};
    arcp__engine_add_metrics(engine, &sums);
    arcp__metric_sums_write(&sums, out);
}

void arcp__metric_sums_write(const arcp__metric_sums *sums, arcp_buf *out)
{
    const arcp__session_metrics *metrics = &sums->session;
    const arcp__job_metrics *jobs = &sums->job;
    const struct {
        arcp__metric metric;
        uint64_t value;
    } rows[] = {
        {ARCP__METRIC_SESSIONS, sums->sessions},
        {ARCP__METRIC_SESSIONS_CONNECTED, sums->connected},
        {ARCP__METRIC_SESSIONS_OPENED, metrics->sessions_opened},
        {ARCP__METRIC_SESSIONS_RESUMED, metrics->sessions_resumed},
        {ARCP__METRIC_AUTHENTICATIONS_REFUSED, metrics->authentications_refused},
        {ARCP__METRIC_REFUSALS_COUNTED, metrics->refusals_counted},
        {ARCP__METRIC_JOBS_KEPT, sums->kept},
        {ARCP__METRIC_EVENTS, jobs->event_count},
        {ARCP__METRIC_STORE_QUEUE_BYTES, sums->queue_bytes},
        {ARCP__METRIC_STORE_FAILING, sums->is_failing},
        {ARCP__METRIC_BACK_PRESSURE, metrics->back_pressure},
        {ARCP__METRIC_AGENT_PAUSES, jobs->agent_pauses},
        {ARCP__METRIC_CREDENTIALS_OUTSTANDING, sums->outstanding},
        {ARCP__METRIC_CREDENTIALS_STUCK, sums->stuck},
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
    write_schedules(&sums->schedule, out);
    write_hooks(&sums->hook, out);
    arcp__exposition_one(out, ARCP__METRIC_OUTBOX_WAITING, sums->outbox_waiting);
    arcp__exposition_one(out, ARCP__METRIC_OUTBOX_FAILED, sums->outbox_failed);
}

bool arcp__engine_is_ready(const arcp__engine *engine, const char **why)
{
    const char *reason = NULL;
    if (engine->context.failed) {
        reason = engine->context.fenced ? "the store was taken over, or has lost commits"
                                        : "out of memory";
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
