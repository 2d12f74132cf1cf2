#include "bench/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/screen.h"

static const struct percentile {
    unsigned per_mille;
    const char *name;
} percentiles[] = {{500, "p50"}, {900, "p90"}, {990, "p99"}, {1000, "max"}};
#define PERCENTILES (sizeof(percentiles) / sizeof(percentiles[0]))

static double per_second(uint64_t count, int64_t ns)
{
    return ns <= 0 ? 0 : (double)count * 1e9 / (double)ns;
}

static double milliseconds(int64_t ns)
{
    return (double)ns / 1e6;
}

/* How much of one core this process took: near 100 it measures itself. */
static double client_percent(const arcp__load_result *result)
{
    return result->measured_ns <= 0 ? 0
                                    : 100.0 * (double)result->cpu_ns / (double)result->measured_ns;
}

/* ---- the table ---- */

/* 1234567 as 1 234 567. */
static void append_grouped(uint64_t value, char room[32])
{
    char digits[24];
    int size = snprintf(digits, sizeof(digits), "%" PRIu64, value);
    size_t to = 0;
    for (int at = 0; at < size; at++) {
        if (at != 0 && (size - at) % 3 == 0) {
            room[to++] = ' ';
        }
        room[to++] = digits[at];
    }
    room[to] = '\0';
}

static void append_rate(arcp_buf *out, const char *name, uint64_t count, int64_t ns)
{
    char total[32];
    char rate[32];
    append_grouped(count, total);
    append_grouped((uint64_t)(per_second(count, ns) + 0.5), rate);
    arcp_buf_append_format(out, "\n  %-14s %14s %14s/s", name, total, rate);
}

static void append_latency(arcp_buf *out, const char *name, const arcp__samples *samples)
{
    arcp_buf_append_format(out, "\n  %-14s", name);
    for (size_t at = 0; at < PERCENTILES; at++) {
        arcp_buf_append_format(out, " %11.3f",
                               milliseconds(arcp__samples_at(samples, percentiles[at].per_mille)));
    }
}

void arcp__bench_table(const arcp__load_options *options, const arcp__load_result *result,
                       arcp_buf *out)
{
    arcp_buf_append(out, arcp_buf_span(&result->runtime));
    arcp_buf_append_cstr(out, ", agent ");
    arcp__append_safe(out, options->agent, 128);
    arcp_buf_append_format(out, ": %" PRIu32 " session%s, %" PRIu32 " in flight", options->sessions,
                           options->sessions == 1 ? "" : "s", options->in_flight);
    if (options->idle != 0) {
        arcp_buf_append_format(out, ", %" PRIu32 " idle", options->idle);
    }
    if (options->busy_poll) {
        arcp_buf_append_cstr(out, ", busy-polling");
    }
    arcp_buf_append_format(out, "; %.1f s\n", milliseconds(result->measured_ns) / 1000);
    append_rate(out, "jobs", result->jobs, result->measured_ns);
    append_rate(out, "events", result->events, result->measured_ns);
    if (result->result_bytes != 0) {
        append_rate(out, "result bytes", result->result_bytes, result->measured_ns);
    }
    arcp_buf_append_format(out, "\n\n  %-14s", "milliseconds");
    for (size_t at = 0; at < PERCENTILES; at++) {
        arcp_buf_append_format(out, " %11s", percentiles[at].name);
    }
    append_latency(out, "accepted", &result->accepted);
    append_latency(out, "result", &result->ended);
    append_latency(out, "ping", &result->pings);
    arcp_buf_append_format(out, "\n\n  failed %" PRIu64 ", reconnects %" PRIu64, result->failed,
                           result->reconnects);
    if (options->idle != 0) {
        arcp_buf_append_format(out, ", idle sessions lost %" PRIu64, result->idle_lost);
    }
    arcp_buf_append_format(out, "; this program took %.0f %% of a core%s", client_percent(result),
                           result->was_interrupted ? " (interrupted)" : "");
}

/* ---- JSON ---- */

static void write_double(arcp_json_writer *writer, const char *name, double value)
{
    char text[64];
    int size = snprintf(text, sizeof(text), "%.3f", value);
    arcp_json_name(writer, name);
    arcp_json_write_raw(writer, arcp_span_make(text, (size_t)size));
}

static void write_count(arcp_json_writer *writer, const char *name, uint64_t value)
{
    arcp_json_name(writer, name);
    arcp_json_write_u64(writer, value);
}

static void write_latency(arcp_json_writer *writer, const char *name, const arcp__samples *samples)
{
    arcp_json_name(writer, name);
    arcp_json_begin_object(writer);
    write_count(writer, "samples", samples->count);
    for (size_t at = 0; at < PERCENTILES; at++) {
        write_double(writer, percentiles[at].name,
                     milliseconds(arcp__samples_at(samples, percentiles[at].per_mille)));
    }
    arcp_json_end_object(writer);
}

void arcp__bench_json(const arcp__load_options *options, const arcp__load_result *result,
                      arcp_buf *out)
{
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, out);
    arcp_json_begin_object(&writer);
    arcp_json_name(&writer, "runtime");
    arcp_json_write_string(&writer, arcp_buf_span(&result->runtime));
    arcp_json_name(&writer, "agent");
    arcp_json_write_string(&writer, options->agent);
    write_count(&writer, "sessions", options->sessions);
    write_count(&writer, "in_flight", options->in_flight);
    write_count(&writer, "idle_sessions", options->idle);
    arcp_json_name(&writer, "busy_poll");
    arcp_json_write_bool(&writer, options->busy_poll);
    write_double(&writer, "connect_ms", milliseconds(result->connect_ns));
    write_double(&writer, "seconds", milliseconds(result->measured_ns) / 1000);
    write_count(&writer, "jobs", result->jobs);
    write_double(&writer, "jobs_per_sec", per_second(result->jobs, result->measured_ns));
    write_count(&writer, "events", result->events);
    write_double(&writer, "events_per_sec", per_second(result->events, result->measured_ns));
    write_count(&writer, "result_bytes", result->result_bytes);
    write_double(&writer, "result_bytes_per_sec",
                 per_second(result->result_bytes, result->measured_ns));
    write_latency(&writer, "accepted_ms", &result->accepted);
    write_latency(&writer, "result_ms", &result->ended);
    write_latency(&writer, "ping_ms", &result->pings);
    write_count(&writer, "failed", result->failed);
    write_count(&writer, "reconnects", result->reconnects);
    write_count(&writer, "idle_lost", result->idle_lost);
    write_double(&writer, "client_core_percent", client_percent(result));
    arcp_json_name(&writer, "interrupted");
    arcp_json_write_bool(&writer, result->was_interrupted);
    arcp_json_end_object(&writer);
}
