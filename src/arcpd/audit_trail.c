#include "arcpd/arcpd.h"

#include <pthread.h>
#include <stdio.h>
#include <uv.h>

#include <arcp/json.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/timestamp.h"
#include "core/audit_event.h"
#include "json/json_put.h"

/* A file that takes longer to write to holds up the runtime for so long at most, each time. */
#define BARRIER_MS_MAX 50

struct arcp__audit_trail {
    arcp__audit_log *log;
    arcp_runtime *runtime;
    void (*say)(void *user, arcp_log_level level, const char *text);
    void *say_user;
    bool is_failing; /* as the runtime was told */
    uv_async_t changed;

    pthread_mutex_t lock; /* for what follows: the log's thread writes it */
    bool fails;
    char message[256];
};

static arcp__audit_settings settings_of(const arcp_settings *settings)
{
    return (arcp__audit_settings){.rotate_bytes = settings->audit_rotate_bytes,
                                  .sync_ms = settings->audit_sync_ms,
                                  .queue_bytes = (size_t)settings->audit_queue_bytes};
}

/* ---- when records cannot be kept ---- */

static void tell(arcp__audit_trail *trail, bool failing, const char *message)
{
    if (failing == trail->is_failing) {
        return;
    }
    trail->is_failing = failing;
    if (trail->runtime != NULL) {
        arcp_runtime_set_audit_failing(trail->runtime, failing);
    }
    trail->say(trail->say_user, failing ? ARCP_LOG_ERROR : ARCP_LOG_WARN, message);
}

/* On the loop's thread. */
static void on_changed(uv_async_t *handle)
{
    arcp__audit_trail *trail = handle->data;
    char message[sizeof(trail->message)];
    (void)pthread_mutex_lock(&trail->lock);
    bool fails = trail->fails;
    memcpy(message, trail->message, sizeof(message));
    (void)pthread_mutex_unlock(&trail->lock);
    tell(trail, fails, fails ? message : "the audit log is written again");
}

/* On the log's thread. */
static void note_change(void *user, const char *message)
{
    arcp__audit_trail *trail = user;
    (void)pthread_mutex_lock(&trail->lock);
    trail->fails = message != NULL;
    (void)snprintf(trail->message, sizeof(trail->message), "%s", message == NULL ? "" : message);
    (void)pthread_mutex_unlock(&trail->lock);
    (void)uv_async_send(&trail->changed);
}

/* ---- the log ---- */

/* One line known elsewhere shows that a chain was not made anew: logs leave the machine. */
static void say_head(const arcp__audit_trail *trail, const char *when, const arcp__audit_head *head)
{
    char text[160];
    (void)snprintf(text, sizeof(text), "audit log %s, head %llu:%.*s", when,
                   (unsigned long long)head->seq, ARCP__AUDIT_HASH_SIZE, head->hash);
    trail->say(trail->say_user, ARCP_LOG_INFO, text);
}

/* Daemons that share a state directory have a default file each. */
#define FILES_MAX 16

static arcp_status find_path(const char *name, const char *directory, char *out, size_t capacity,
                             arcp_error *err)
{
    int size = name[0] == '/' ? snprintf(out, capacity, "%s", name)
                              : snprintf(out, capacity, "%s/%s", directory, name);
    return size < (int)capacity ? ARCP_OK
                                : arcp_error_set(err, ARCP_E_USAGE, "audit.path is too long");
}

static arcp_status open_log(arcp__audit_trail *trail, const arcp__config *config,
                            const char *directory, arcp_error *err)
{
    char path[4096];
    char name[32] = "audit.jsonl";
    arcp__audit_settings settings = settings_of(&config->settings);
    arcp_status status = ARCP_E_EXISTS;
    for (int at = 1; at <= FILES_MAX && status == ARCP_E_EXISTS; at++) {
        if (at > 1) {
            (void)snprintf(name, sizeof(name), "audit-%d.jsonl", at);
        }
        const char *wanted = config->audit_path == NULL ? name : config->audit_path;
        status = find_path(wanted, directory, path, sizeof(path), err);
        if (status == ARCP_OK) {
            status = arcp__audit_log_open(path, &settings, note_change, trail, &trail->log, err);
        }
        if (config->audit_path != NULL) {
            break; /* the operator named one */
        }
    }
    return status;
}

static void on_closed(uv_handle_t *handle)
{
    arcp__audit_trail *trail = handle->data;
    (void)pthread_mutex_destroy(&trail->lock);
    arcp__free(trail);
}

arcp_status arcp__audit_trail_open(struct uv_loop_s *loop, const arcp__config *config,
                                   const char *directory,
                                   void (*log)(void *user, arcp_log_level level, const char *text),
                                   void *log_user, arcp__audit_trail **out, arcp_error *err)
{
    *out = NULL;
    if (config->audit_path != NULL && config->audit_path[0] == '\0') {
        return ARCP_OK;
    }
    arcp__audit_trail *trail = arcp__alloc(sizeof(*trail));
    if (trail == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    trail->say = log;
    trail->say_user = log_user;
    trail->changed.data = trail;
    (void)pthread_mutex_init(&trail->lock, NULL);
    if (uv_async_init(loop, &trail->changed, on_changed) != 0) {
        (void)pthread_mutex_destroy(&trail->lock);
        arcp__free(trail);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "no handle for the audit log");
    }
    uv_unref((uv_handle_t *)&trail->changed);
    arcp_status status = open_log(trail, config, directory, err);
    if (status != ARCP_OK) {
        uv_close((uv_handle_t *)&trail->changed, on_closed);
        return status;
    }
    arcp__audit_stats stats;
    arcp__audit_log_get_stats(trail->log, &stats);
    say_head(trail, "opened", &stats.head);
    *out = trail;
    return ARCP_OK;
}

void arcp__audit_trail_attach(arcp__audit_trail *trail, arcp_runtime *runtime)
{
    if (trail != NULL) {
        trail->runtime = runtime;
        if (runtime != NULL) {
            arcp_runtime_set_audit_failing(runtime, trail->is_failing);
        }
    }
}

void arcp__audit_trail_append(arcp__audit_trail *trail, const char *record)
{
    if (trail != NULL && !arcp__audit_log_append(trail->log, arcp_span_cstr(record))) {
        tell(trail, true, "audit.queue_bytes are waiting for the audit log: records are lost");
    }
}

void arcp__audit_trail_barrier(void *user, bool must_wait)
{
    arcp__audit_trail *trail = user;
    if (trail == NULL) {
        return;
    }
    if (must_wait) {
        /* The commit took longer than a write to a file; where it did not, nearly. */
        (void)arcp__audit_log_await(trail->log, BARRIER_MS_MAX);
    } else {
        arcp__audit_log_hurry(trail->log);
    }
}

static void write_now(arcp_json_writer *writer)
{
    char ts[ARCP__TIMESTAMP_SIZE];
    arcp__timestamp_format(arcp__clock_ns(CLOCK_REALTIME), ts);
    arcp__put_string(writer, "ts", arcp_span_make(ts, sizeof(ts)));
}

/* What the daemon works with, as a hash: two times with one hash had the same rules. */
static void write_config(arcp_json_writer *writer, const arcp__config *config)
{
    char hash[ARCP__AUDIT_HASH_SIZE];
    arcp_buf text = ARCP_BUF_INIT;
    arcp__config_print(config, &text);
    arcp__audit_sha256(arcp_buf_span(&text), hash);
    arcp_buf_fini(&text);
    arcp__put_string(writer, "config_sha256", arcp_span_make(hash, sizeof(hash)));
    arcp__put_u64(writer, "agents", config->agent_count);
    arcp__put_u64(writer, "policies", config->policy_count);
}

void arcp__audit_trail_policy(arcp__audit_trail *trail, const char *cause,
                              const arcp__config *config, const arcp_error *refusal)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_json_writer writer = arcp__put_begin(&text);
    write_now(&writer);
    arcp__put_cstr(&writer, "event", arcp__audit_event_name(ARCP__AUDIT_POLICY));
    arcp__put_cstr(&writer, "decision", refusal == NULL ? "applied" : "refused");
    arcp__put_cstr(&writer, "rule", cause);
    if (refusal != NULL) {
        arcp__put_cstr(&writer, "reason", refusal->message);
    } else {
        write_config(&writer, config);
    }
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(&text, '\0');
    if (!text.failed) {
        arcp__audit_trail_append(trail, text.data);
    }
    arcp_buf_fini(&text);
}

void arcp__audit_trail_reload(arcp__audit_trail *trail, const arcp_settings *settings)
{
    if (trail != NULL) {
        arcp__audit_settings fresh = settings_of(settings);
        arcp__audit_log_set(trail->log, &fresh);
        arcp__audit_log_reopen(trail->log);
    }
}

bool arcp__audit_trail_stats(arcp__audit_trail *trail, arcp__audit_stats *out)
{
    if (trail == NULL) {
        return false;
    }
    arcp__audit_log_get_stats(trail->log, out);
    return true;
}

void arcp__audit_trail_close(arcp__audit_trail *trail)
{
    if (trail != NULL) {
        trail->runtime = NULL;
        arcp__audit_head last;
        arcp__audit_log_close(trail->log, &last);
        say_head(trail, "closed", &last);
        uv_close((uv_handle_t *)&trail->changed, on_closed);
    }
}
