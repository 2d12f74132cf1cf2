#include "engine/state.h"

#include "core/exposition.h"

static void write_agents(const arcp__job_metrics *metrics, arcp_buf *out)
{
    const size_t last = ARCP__METRIC_AGENTS_MAX;
    arcp__exposition_family(out, "arcp_jobs_running", "gauge",
                            "Jobs that have not ended, by agent.");
    for (size_t at = 0; at <= last; at++) {
        const arcp__agent_metrics *agent = &metrics->agents[at];
        const char *labels[] = {"agent", at == last ? "other" : agent->name, NULL};
        if (at < metrics->agent_count || agent->live != 0) {
            arcp__exposition_u64(out, "arcp_jobs_running", labels, agent->live);
        }
    }
    arcp__exposition_family(out, "arcp_jobs_ended_total", "counter",
                            "Jobs that have ended, by agent and final status.");
    for (size_t at = 0; at <= last; at++) {
        const arcp__agent_metrics *agent = &metrics->agents[at];
        for (size_t status = 0; status < ARCP_JOB_STATUS_COUNT; status++) {
            const char *labels[] = {"agent", at == last ? "other" : agent->name, "status",
                                    arcp_job_status_name((arcp_job_status)status), NULL};
            if (agent->ended[status] != 0) {
                arcp__exposition_u64(out, "arcp_jobs_ended_total", labels, agent->ended[status]);
            }
        }
    }
}

static void write_spent(const arcp__job_metrics *metrics, arcp_buf *out)
{
    arcp__exposition_family(out, "arcp_budget_spent_total", "counter",
                            "What jobs spent of budgets, by currency.");
    for (size_t at = 0; at <= ARCP__METRIC_CURRENCIES_MAX; at++) {
        bool is_other = at == ARCP__METRIC_CURRENCIES_MAX;
        const char *labels[] = {"currency", is_other ? "other" : metrics->spent[at].currency, NULL};
        char text[ARCP_DECIMAL_TEXT_MAX];
        size_t size = arcp_decimal_format(metrics->spent[at].amount, text);
        if (at < metrics->currency_count ||
            (is_other && !arcp_span_equal_cstr(arcp_span_make(text, size), "0"))) {
            arcp__exposition_text(out, "arcp_budget_spent_total", labels,
                                  arcp_span_make(text, size));
        }
    }
}

void arcp__engine_write_metrics(const arcp__engine *engine, arcp_buf *out)
{
    const arcp__session_metrics *metrics = &engine->sessions.metrics;
    const arcp__job_metrics *jobs = &engine->jobs.metrics;
    const struct {
        const char *name, *type, *help;
        uint64_t value;
    } rows[] = {
        {"arcp_sessions", "gauge", "Sessions that can be resumed or are connected.",
         engine->sessions.count},
        {"arcp_sessions_connected", "gauge", "Sessions with a connection.",
         engine->sessions.connected_count},
        {"arcp_sessions_opened_total", "counter", "Sessions that were opened.",
         metrics->sessions_opened},
        {"arcp_sessions_resumed_total", "counter", "Sessions that were resumed.",
         metrics->sessions_resumed},
        {"arcp_authentications_refused_total", "counter", "Tokens that were refused.",
         metrics->authentications_refused},
        {"arcp_refusals_counted_total", "counter",
         "Refused connections and hellos without a line of their own, counted in another one.",
         metrics->refusals_counted},
        {"arcp_jobs_kept", "gauge", "Jobs that have ended and can still be listed.",
         HASH_COUNT(engine->jobs.all) - engine->jobs.running},
        {"arcp_events_total", "counter",
         "Job events recorded (not multiplied by sessions that see them).", jobs->event_count},
        {"arcp_store_queue_bytes", "gauge", "Bytes that wait to be durable.",
         engine->log->queue_bytes},
        {"arcp_store_failing", "gauge", "1 while the store cannot be written.",
         arcp__log_is_failing(engine->log)},
        {"arcp_back_pressure_total", "counter",
         "Times a session fell behind in acknowledging (status back_pressure).",
         metrics->back_pressure},
        {"arcp_agent_pauses_total", "counter",
         "Times the runtime stopped reading an agent because a queue was full.",
         jobs->agent_pauses},
        {"arcp_credentials_outstanding", "gauge",
         "Upstream credentials that are, or may be, valid.",
         arcp__credentials_count(&engine->credentials)},
        {"arcp_credentials_stuck", "gauge",
         "Upstream credentials whose revocation has failed repeatedly.",
         engine->credentials.stuck_count},
    };
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        arcp__exposition_one(out, rows[at].name, rows[at].type, rows[at].help, rows[at].value);
    }
    write_agents(jobs, out);
    arcp__exposition_family(out, "arcp_denials_total", "counter",
                            "Operations that a gate denied, by error code and capability.");
    for (size_t code = 0; code < ARCP_STATUS_COUNT; code++) {
        for (size_t capability = 0; capability < ARCP__CAPABILITY_COUNT; capability++) {
            const char *name = arcp__capability_name((arcp__capability)capability);
            const char *labels[] = {"code", arcp_status_wire_code((arcp_status)code), "capability",
                                    name[0] == '\0' ? "other" : name, NULL};
            if (jobs->denials[code][capability] != 0) {
                arcp__exposition_u64(out, "arcp_denials_total", labels,
                                     jobs->denials[code][capability]);
            }
        }
    }
    arcp__exposition_family(out, "arcp_submits_refused_total", "counter",
                            "Submits that did not become a job, by error code.");
    for (size_t code = 0; code < ARCP_STATUS_COUNT; code++) {
        const char *labels[] = {"code", arcp_status_wire_code((arcp_status)code), NULL};
        if (metrics->submits_refused[code] != 0) {
            arcp__exposition_u64(out, "arcp_submits_refused_total", labels,
                                 metrics->submits_refused[code]);
        }
    }
    write_spent(jobs, out);
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
