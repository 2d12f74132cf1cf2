#include "bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "json/json_put.h"

/* ---- samples ---- */

bool arcp__samples_add(arcp__samples *samples, int64_t ns)
{
    if (samples->count == samples->capacity) {
        const size_t capacity = samples->capacity * 2 + 1024;
        int64_t *grown = arcp__realloc_array(samples->ns, capacity, sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        samples->ns = grown;
        samples->capacity = capacity;
    }
    samples->ns[samples->count++] = ns;
    return true;
}

static int compare(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a;
    const int64_t right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

void arcp__samples_sort(arcp__samples *samples)
{
    if (samples->count > 1) {
        qsort(samples->ns, samples->count, sizeof *samples->ns, compare);
    }
}

int64_t arcp__samples_at(const arcp__samples *samples, unsigned per_mille)
{
    if (samples->count == 0) {
        return 0;
    }
    /* The rank, rounded up: p90 of 10 samples is the ninth. */
    const size_t rank =
        (samples->count / 1000) * per_mille + ((samples->count % 1000) * per_mille + 999) / 1000;
    return samples->ns[rank == 0 ? 0 : rank - 1];
}

void arcp__samples_fini(arcp__samples *samples)
{
    arcp__free(samples->ns);
    *samples = (arcp__samples){0};
}

/* ---- figures ---- */

static const struct percentile {
    unsigned per_mille;
    const char *name;
} percentiles[] = {{500, "p50"}, {900, "p90"}, {990, "p99"}, {1000, "max"}};
#define PERCENTILES (sizeof percentiles / sizeof percentiles[0])

static double per_second(uint64_t count, int64_t ns)
{
    return ns <= 0 ? 0 : (double)count * 1e9 / (double)ns;
}

static double milliseconds(int64_t ns)
{
    return (double)ns / 1e6;
}

/* This process's share of one core; near 100 it is itself the bottleneck. */
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
    const int size = snprintf(digits, sizeof digits, "%" PRIu64, value);
    size_t to = 0;
    for (int i = 0; i < size; i++) {
        if (i != 0 && (size - i) % 3 == 0) {
            room[to++] = ' ';
        }
        room[to++] = digits[i];
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
    for (size_t i = 0; i < PERCENTILES; i++) {
        arcp_buf_append_format(out, " %11.3f",
                               milliseconds(arcp__samples_at(samples, percentiles[i].per_mille)));
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
    for (size_t i = 0; i < PERCENTILES; i++) {
        arcp_buf_append_format(out, " %11s", percentiles[i].name);
    }
    append_latency(out, "accepted", &result->accepted);
    append_latency(out, "result", &result->ended);
    append_latency(out, "ping", &result->pings);
    arcp_buf_append_format(out, "\n\n  failed %" PRIu64 ", reconnects %" PRIu64, result->failed,
                           result->reconnects);
    if (options->idle != 0) {
        arcp_buf_append_format(out, ", idle sessions lost %" PRIu64, result->idle_lost);
    }
    arcp_buf_append_format(out, "; this program used %.0f %% of a core%s", client_percent(result),
                           result->was_interrupted ? " (interrupted)" : "");
}

/* ---- JSON ---- */

static void write_double(arcp_json_writer *writer, const char *name, double value)
{
    char text[64];
    const int size = snprintf(text, sizeof text, "%.3f", value);
    arcp__put_raw(writer, name, arcp_span_make(text, (size_t)size));
}

static void write_latency(arcp_json_writer *writer, const char *name, const arcp__samples *samples)
{
    arcp__put_object(writer, name);
    arcp__put_u64(writer, "samples", samples->count);
    for (size_t i = 0; i < PERCENTILES; i++) {
        write_double(writer, percentiles[i].name,
                     milliseconds(arcp__samples_at(samples, percentiles[i].per_mille)));
    }
    arcp_json_end_object(writer);
}

void arcp__bench_json(const arcp__load_options *options, const arcp__load_result *result,
                      arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_string(&writer, "runtime", arcp_buf_span(&result->runtime));
    arcp__put_string(&writer, "agent", options->agent);
    arcp__put_u64(&writer, "sessions", options->sessions);
    arcp__put_u64(&writer, "in_flight", options->in_flight);
    arcp__put_u64(&writer, "idle_sessions", options->idle);
    arcp__put_bool(&writer, "busy_poll", options->busy_poll);
    write_double(&writer, "connect_ms", milliseconds(result->connect_ns));
    write_double(&writer, "seconds", milliseconds(result->measured_ns) / 1000);
    arcp__put_u64(&writer, "jobs", result->jobs);
    write_double(&writer, "jobs_per_sec", per_second(result->jobs, result->measured_ns));
    arcp__put_u64(&writer, "events", result->events);
    write_double(&writer, "events_per_sec", per_second(result->events, result->measured_ns));
    arcp__put_u64(&writer, "result_bytes", result->result_bytes);
    write_double(&writer, "result_bytes_per_sec",
                 per_second(result->result_bytes, result->measured_ns));
    write_latency(&writer, "accepted_ms", &result->accepted);
    write_latency(&writer, "result_ms", &result->ended);
    write_latency(&writer, "ping_ms", &result->pings);
    arcp__put_u64(&writer, "failed", result->failed);
    arcp__put_u64(&writer, "reconnects", result->reconnects);
    arcp__put_u64(&writer, "idle_lost", result->idle_lost);
    write_double(&writer, "client_core_percent", client_percent(result));
    arcp__put_bool(&writer, "interrupted", result->was_interrupted);
    arcp_json_end_object(&writer);
}
