/* `arcp bench`: the load generator and its report. */
#ifndef ARCP_BENCH_BENCH_H
#define ARCP_BENCH_BENCH_H

#include <arcp/client.h>

/* ---- load.c ---- */

/* Puts load on a runtime: sessions that keep a number of jobs in flight, and idle sessions that
 * only stay open. Any ARCP runtime will do; the agent determines what a job costs. */

/* All latencies, in nanoseconds. */
typedef struct arcp__samples {
    int64_t *ns; /* owned */
    size_t count, capacity;
} arcp__samples;

typedef struct arcp__load_result {
    arcp_buf runtime;         /* "NAME VERSION" */
    int64_t connect_ns;       /* until every session was open */
    int64_t measured_ns;      /* of the wall clock */
    int64_t cpu_ns;           /* used meanwhile by this process; near measured_ns: the bottleneck */
    uint64_t jobs;            /* succeeded during the measurement */
    uint64_t failed;          /* refused or ended otherwise, at any time */
    uint64_t events;          /* received during the measurement, result chunks included */
    uint64_t result_bytes;    /* streamed, decoded */
    uint64_t reconnects;      /* at any time */
    uint64_t idle_lost;       /* idle sessions that were closed before the end of the run */
    arcp__samples accepted;   /* submit to job.accepted */
    arcp__samples ended;      /* submit to job.result */
    arcp__samples pings;      /* a session's round trips, ten per second */
    bool was_interrupted;     /* by Ctrl-C: the figures cover the time until then */
    arcp_error first_failure; /* of `failed`, or of the run */
} arcp__load_result;

typedef struct arcp__load_options {
    const arcp_client_options *client; /* of every session */
    arcp_span agent;
    arcp_span input;    /* JSON */
    uint32_t sessions;  /* that submit; sessions + idle is at least 1 */
    uint32_t in_flight; /* jobs in flight, over all sessions; at least one per submitting session */
    uint32_t idle;      /* additional sessions that only stay open */
    uint64_t jobs;      /* to measure; 0: measure for duration_ns instead */
    int64_t duration_ns;
    int64_t warmup_ns; /* before anything is counted */
    bool busy_poll;    /* never sleep, so that latencies exclude the wake-ups of this process */
    /* Called ten times a second; may be NULL. */
    void (*tick)(void *user, const char *phase, const arcp__load_result *so_far);
    void *user;
} arcp__load_options;

/* Runs the load on a loop of its own; returns when every session is closed. The caller frees *out
 * in any case. On failure, first_failure has the reason. */
ARCP_MUST_CHECK arcp_status arcp__load_run(const arcp__load_options *options,
                                           arcp__load_result *out);
void arcp__load_result_fini(arcp__load_result *result);

/* ---- report.c: latencies, and the report: a small table or one JSON object ---- */

/* False when out of memory: the sample is lost. */
bool arcp__samples_add(arcp__samples *samples, int64_t ns);
/* Must be called before arcp__samples_at. */
void arcp__samples_sort(arcp__samples *samples);
/* The percentile in thousandths: the smallest sample that is at least as large as `per_mille`
 * thousandths of all samples; 1000 is the maximum. 0 without samples. */
int64_t arcp__samples_at(const arcp__samples *samples, unsigned per_mille);
void arcp__samples_fini(arcp__samples *samples);

/* Append the report, without a final newline. The samples must be sorted. */
void arcp__bench_table(const arcp__load_options *options, const arcp__load_result *result,
                       arcp_buf *out);
void arcp__bench_json(const arcp__load_options *options, const arcp__load_result *result,
                      arcp_buf *out);

#endif
