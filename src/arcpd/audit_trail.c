#include "arcpd/arcpd.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/timestamp.h"
#include "core/audit_event.h"
#include "json/json.h"
#include "json/json_put.h"

/* A file that takes longer at one barrier is slow, which is logged at most this often. Only with
 * audit.on_failure: deny the runtime then waits on. */
#define BARRIER_MS_MAX 50
#define QUIET_NS       ((int64_t)60 * ARCP_NS_PER_SEC)

static arcp__audit_settings settings_of(const arcp_settings *settings)
{
    return (arcp__audit_settings){.rotate_bytes = settings->audit_rotate_bytes,
                                  .sync_ms = settings->audit_sync_ms,
                                  .queue_bytes = (size_t)settings->audit_queue_bytes};
}

/* ---- failures ---- */

static void set_failing(arcp__audit_trail *trail, bool failing, const char *message)
{
    if (failing == trail->is_failing) {
        return;
    }
    trail->is_failing = failing;
    if (trail->runtime != NULL) {
        arcp_runtime_set_audit_failing(trail->runtime, failing);
    }
    arcp__logger_format(trail->logger, failing ? ARCP_LOG_ERROR : ARCP_LOG_WARN, "%s", message);
}

static void on_changed(void *user, const char *why)
{
    set_failing(user, why != NULL, why != NULL ? why : "the audit log can be written again");
}

/* ---- the log ---- */

/* With a head that is known outside this machine, as a log that is sent elsewhere makes it,
 * `arcp audit verify` detects a chain that was rewritten. */
static void log_head(const arcp__audit_trail *trail, const char *when, const arcp__audit_head *head)
{
    arcp__logger_format(trail->logger, ARCP_LOG_INFO, "audit log %s, head %llu:%.*s", when,
                        (unsigned long long)head->seq, ARCP__AUDIT_HASH_SIZE, head->hash);
}

/* Daemons that share a state directory use different default files, at most so many. */
#define FILES_MAX 16

arcp_status arcp__audit_trail_open(arcp__audit_trail *trail, uv_loop_t *loop,
                                   const arcp__config *config, const char *directory,
                                   arcp__logger *logger, arcp_error *err)
{
    const char *named = config->audit_path;
    const arcp__audit_settings settings = settings_of(&config->settings);
    if (named != NULL && named[0] == '\0') {
        return ARCP_OK;
    }
    trail->logger = logger;
    trail->must_record = config->settings.audit_on_failure == ARCP__AUDIT_DENY;
    arcp_status status =
        arcp__notice_open(&trail->notice, loop, "the audit log", on_changed, trail, err);
    if (status != ARCP_OK) {
        return status;
    }
    status = ARCP_E_EXISTS;
    for (int i = 1; status == ARCP_E_EXISTS && i <= (named == NULL ? FILES_MAX : 1); i++) {
        char name[32] = "audit.jsonl";
        char path[4096];
        if (i > 1) {
            (void)snprintf(name, sizeof name, "audit-%d.jsonl", i);
        }
        status = arcp__path_in(directory, named == NULL ? name : named, path, sizeof path)
                     ? arcp__audit_log_open(path, &settings, arcp__notice_send, &trail->notice,
                                            &trail->log, err)
                     : arcp_error_set(err, ARCP_E_USAGE, "audit.path is too long");
    }
    if (status != ARCP_OK) {
        arcp__notice_close(&trail->notice);
        return status;
    }
    arcp__audit_stats stats;
    arcp__audit_log_get_stats(trail->log, &stats);
    log_head(trail, "opened", &stats.head);
    return ARCP_OK;
}

void arcp__audit_trail_attach(arcp__audit_trail *trail, arcp_runtime *runtime)
{
    trail->runtime = runtime;
    if (runtime != NULL) {
        arcp_runtime_set_audit_failing(runtime, trail->is_failing);
    }
}

void arcp__audit_trail_append(arcp__audit_trail *trail, const char *record)
{
    arcp__audit_tail_add(&trail->tail, record);
    if (trail->log != NULL && !arcp__audit_log_append(trail->log, arcp_span_cstr(record))) {
        set_failing(trail, true,
                    "audit records are lost: the queue for the audit log is full "
                    "(audit.queue_bytes)");
    }
}

static void log_slow(arcp__audit_trail *trail)
{
    const int64_t now_ns = arcp__clock_ns(CLOCK_MONOTONIC);
    if (now_ns >= trail->quiet_till_ns) {
        trail->quiet_till_ns = now_ns + QUIET_NS;
        arcp__logger_format(trail->logger, ARCP_LOG_WARN,
                            "a write to the audit log takes longer than %d ms: %s", BARRIER_MS_MAX,
                            trail->must_record
                                ? "responses wait for it (audit.on_failure: deny)"
                                : "responses do not wait for it (audit.on_failure: continue)");
    }
}

/* Whether the records are not in the file yet although it can be written. */
static bool is_late(arcp__audit_log *log)
{
    arcp__audit_stats stats;
    if (arcp__audit_log_await(log, BARRIER_MS_MAX)) {
        return false;
    }
    arcp__audit_log_get_stats(log, &stats);
    return !stats.is_failing;
}

void arcp__audit_trail_barrier(void *user, bool must_wait)
{
    arcp__audit_trail *trail = user;
    if (trail->log != NULL && must_wait) {
        /* The records were queued before the commit to the store, which usually takes longer than
         * a write to a file, so there is little left to wait for. */
        bool waits = is_late(trail->log);
        if (waits) {
            log_slow(trail);
        }
        while (waits && trail->must_record) {
            waits = is_late(trail->log);
        }
    } else if (trail->log != NULL) {
        arcp__audit_log_hurry(trail->log);
    }
}

/* Agents that run without a sandbox. */
static size_t count_unconfined(const arcp__config *config)
{
    size_t count = 0;
    for (size_t i = 0; i < config->setup.agent_count; i++) {
        count += config->setup.enforce.is_off || config->setup.agents[i].is_unconfined;
    }
    return count;
}

void arcp__audit_trail_policy(arcp__audit_trail *trail, const char *cause,
                              const arcp__config *config, const arcp_error *refusal)
{
    char ts[ARCP__TIMESTAMP_SIZE];
    char hash[ARCP__AUDIT_HASH_SIZE];
    arcp_buf text = arcp_buf_init();
    arcp_buf printed = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp__timestamp_format(arcp__clock_ns(CLOCK_REALTIME), ts);
    arcp__put_string(&writer, "ts", arcp_span_make(ts, sizeof ts));
    arcp__put_cstr(&writer, "event", arcp__audit_event_name(ARCP__AUDIT_POLICY));
    arcp__put_cstr(&writer, "decision", refusal == NULL ? "applied" : "refused");
    arcp__put_cstr(&writer, "rule", cause);
    if (refusal != NULL) {
        arcp__put_cstr(&writer, "reason", refusal->message);
    } else {
        /* Equal hashes of the printed configuration mean equal rules. */
        arcp__config_print(config, &printed);
        arcp__audit_sha256(arcp_buf_span(&printed), hash);
        arcp__put_string(&writer, "config_sha256", arcp_span_make(hash, sizeof hash));
        arcp__put_u64(&writer, "agents", config->setup.agent_count);
        arcp__put_u64(&writer, "unconfined", count_unconfined(config));
        arcp__put_u64(&writer, "policies", config->policy_count);
    }
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(&text, '\0');
    if (!text.failed) {
        arcp__audit_trail_append(trail, text.data);
    }
    arcp_buf_fini(&printed);
    arcp_buf_fini(&text);
}

void arcp__audit_trail_reload(arcp__audit_trail *trail, const arcp_settings *settings)
{
    trail->must_record = settings->audit_on_failure == ARCP__AUDIT_DENY;
    if (trail->log != NULL) {
        const arcp__audit_settings fresh = settings_of(settings);
        arcp__audit_log_set(trail->log, &fresh);
        arcp__audit_log_reopen(trail->log);
    }
}

void arcp__audit_trail_close(arcp__audit_trail *trail)
{
    arcp__audit_tail_fini(&trail->tail);
    if (trail->log != NULL) {
        arcp__audit_head last;
        arcp__audit_log_close(trail->log, &last);
        trail->log = NULL;
        log_head(trail, "closed", &last);
        arcp__notice_close(&trail->notice);
    }
}
