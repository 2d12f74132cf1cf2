/* `arcp bench`: load, and what it came to. */
#ifndef ARCP_BENCH_BENCH_H
#define ARCP_BENCH_BENCH_H

#include <arcp/client.h>

/* ---- load.c ---- */

/* Load on a runtime: sessions that keep so many jobs in flight, sessions that only stay, and what
 * came of it. Any ARCP runtime will do; what the jobs cost is their agent's matter. */

/* Latencies, every one of them, in nanoseconds. */
typedef struct arcp__samples {
    int64_t *ns; /* owned */
    size_t count, capacity;
} arcp__samples;

typedef struct arcp__load_result {
    arcp_buf runtime;         /* "NAME VERSION" */
    int64_t connect_ns;       /* until every session was there */
    int64_t measured_ns;      /* of the wall clock */
    int64_t cpu_ns;           /* this process took meanwhile; near measured_ns it is the limit */
    uint64_t jobs;            /* ended well while it was measured */
    uint64_t failed;          /* refused or ended otherwise, at any time */
    uint64_t events;          /* received while it was measured, result chunks included */
    uint64_t result_bytes;    /* streamed, decoded */
    uint64_t reconnects;      /* at any time */
    uint64_t idle_lost;       /* idle sessions that ended before the end */
    arcp__samples accepted;   /* submit to job.accepted */
    arcp__samples ended;      /* submit to job.result */
    arcp__samples pings;      /* a session's round trips, ten per second */
    bool was_interrupted;     /* by Ctrl-C: what is here was measured until then */
    arcp_error first_failure; /* of `failed`, or of the run */
} arcp__load_result;

typedef struct arcp__load_options {
    const arcp_client_options *client; /* of every session */
    arcp_span agent;
    arcp_span input;    /* JSON */
    uint32_t sessions;  /* that submit; with `idle` at least 1 */
    uint32_t in_flight; /* jobs at the same time, in all; at least one per session that submits */
    uint32_t idle;      /* sessions that do nothing besides */
    uint64_t jobs;      /* 0: as many as there are in duration_ns */
    int64_t duration_ns;
    int64_t warmup_ns; /* before anything is counted */
    bool busy_poll;    /* never sleeps: its own waking is not in what it measures */
    /* Called ten times a second; may be NULL. */
    void (*tick)(void *user, const char *phase, const arcp__load_result *so_far);
    void *user;
} arcp__load_options;

/* Runs the load on a loop of its own; returns when all is over and every session is closed.
 * *out is to be freed either way. Not ARCP_OK: first_failure says why there is no result. */
ARCP_MUST_CHECK arcp_status arcp__load_run(const arcp__load_options *options,
                                           arcp__load_result *out);
void arcp__load_result_fini(arcp__load_result *result);

/* ---- report.c: latencies, and what `arcp bench` prints: a small table, or one JSON object ---- */

/* False when out of memory: the sample is lost. */
bool arcp__samples_add(arcp__samples *samples, int64_t ns);
/* Sorts them; afterwards they may be asked. */
void arcp__samples_sort(arcp__samples *samples);
/* The smallest sample that is not below `per_mille` thousandths of them; 1000: the largest. 0
 * when there are none. */
int64_t arcp__samples_at(const arcp__samples *samples, unsigned per_mille);
void arcp__samples_fini(arcp__samples *samples);

/* Append the report, without a newline at its end. The samples must be sorted. */
void arcp__bench_table(const arcp__load_options *options, const arcp__load_result *result,
                       arcp_buf *out);
void arcp__bench_json(const arcp__load_options *options, const arcp__load_result *result,
                      arcp_buf *out);

#endif
