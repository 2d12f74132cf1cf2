#include "arcpd/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/exposition.h"

static uint64_t file_bytes(const char *path, const char *suffix)
{
    char name[4200];
    struct stat about;
    (void)snprintf(name, sizeof(name), "%s%s", path, suffix);
    return stat(name, &about) == 0 ? (uint64_t)about.st_size : 0;
}

static void write_store(const arcp__status *status, arcp_buf *out)
{
    if (status->store_path[0] != '\0') {
        arcp__exposition_one(
            out, "arcp_store_bytes", "gauge", "Size of the database and its log on disk.",
            file_bytes(status->store_path, "") + file_bytes(status->store_path, "-wal"));
    }
}

static void write_audit(const arcp__status *status, arcp_buf *out)
{
    arcp__audit_stats stats;
    if (!arcp__audit_trail_stats(status->audit, &stats)) {
        return;
    }
    arcp__exposition_one(out, "arcp_audit_lines", "gauge",
                         "Number of the last line in the audit log.", stats.head.seq);
    arcp__exposition_one(out, "arcp_audit_lost_total", "counter",
                         "Audit records dropped because the queue was full.", stats.lost);
    arcp__exposition_one(out, "arcp_audit_queue_bytes", "gauge",
                         "Bytes that wait for the audit log.", stats.queued_bytes);
    arcp__exposition_one(out, "arcp_audit_failing", "gauge",
                         "1 while the audit log cannot be written.", stats.is_failing);
}

static void write_traces(const arcp__status *status, arcp_buf *out)
{
    arcp__span_exporter_stats stats;
    if (!arcp__trace_export_stats(status->traces, &stats)) {
        return;
    }
    arcp__exposition_one(out, "arcp_trace_spans_exported_total", "counter",
                         "Trace spans that the collector accepted.", stats.exported);
    arcp__exposition_one(
        out, "arcp_trace_spans_dropped_total", "counter",
        "Trace spans dropped: the queue was full, the collector refused them, or arcpd stopped.",
        stats.dropped);
    arcp__exposition_one(out, "arcp_trace_queue_bytes", "gauge",
                         "Bytes of spans that wait for the collector.", stats.queued_bytes);
    arcp__exposition_one(out, "arcp_trace_failing", "gauge",
                         "1 while the collector does not accept spans.", stats.is_failing);
}

/* The second number of statm is resident pages. */
static uint64_t resident_bytes(void)
{
    char line[128] = "";
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fgets(line, sizeof(line), file) == NULL) {
            line[0] = '\0';
        }
        (void)fclose(file);
    }
    const char *second = strchr(line, ' ');
    uint64_t pages = second == NULL ? 0 : strtoull(second, NULL, 10);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void write_process(const arcp__status *status, arcp_buf *out)
{
    const char *labels[] = {"version", ARCP_VERSION_STRING, NULL};
    arcp__exposition_family(out, "arcp_build_info", "gauge", "1, with the version as a label.");
    arcp__exposition_u64(out, "arcp_build_info", labels, 1);
    arcp__exposition_one(out, "process_start_time_seconds", "gauge",
                         "When the daemon was started, in seconds since 1970.",
                         (uint64_t)(status->started_wall_ns / ARCP_NS_PER_SEC));
    arcp__exposition_one(out, "arcp_config_last_reload_successful", "gauge",
                         "1 while the configuration in effect is the one that was read last, 0 "
                         "after a reload that was refused.",
                         !status->reload_failed);
    arcp__exposition_one(out, "process_resident_memory_bytes", "gauge", "Resident memory.",
                         resident_bytes());
}

void arcp__status_write_metrics(const arcp__status *status, arcp_buf *out)
{
    if (arcp_runtime_write_metrics(status->runtime, out) != ARCP_OK) {
        return; /* out->failed says so */
    }
    write_store(status, out);
    write_audit(status, out);
    write_traces(status, out);
    write_process(status, out);
}

static void on_metrics(void *user, arcp_buf *out)
{
    arcp__status_write_metrics(user, out);
}

static bool on_ready(void *user, const char **why)
{
    const arcp__status *status = user;
    return arcp_runtime_is_ready(status->runtime, why);
}

arcp_status arcp__status_open(arcp__status *status, uv_loop_t *loop, const arcp__config *config,
                              const char *directory, const arcp_runtime *runtime,
                              arcp__audit_trail *audit, arcp_error *err)
{
    static const char sqlite[] = "sqlite:";
    if (config->http_listen == NULL) {
        return ARCP_OK;
    }
    status->started_wall_ns = arcp__clock_ns(CLOCK_REALTIME);
    status->runtime = runtime;
    status->audit = audit;
    if (config->store == NULL) {
        (void)snprintf(status->store_path, sizeof(status->store_path), "%s/arcp.db", directory);
    } else if (strncmp(config->store, sqlite, sizeof(sqlite) - 1) == 0) {
        (void)snprintf(status->store_path, sizeof(status->store_path), "%s",
                       config->store + sizeof(sqlite) - 1);
    }
    const arcp__status_options options = {.listen = config->http_listen,
                                          .hosts = (const char *const *)config->hosts.items,
                                          .host_count = config->hosts.count};
    const arcp__status_source source = {on_metrics, on_ready, status};
    return arcp__status_server_open(loop, &options, &source, &status->server, err);
}

void arcp__status_close(arcp__status *status)
{
    arcp__status_server_close(status->server);
    status->server = NULL;
}
