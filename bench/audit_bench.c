/* The cost of the audit log: a real arcpd denies operations of its agents, with a line for each
 * denial and without the log. After the table: the additional share of a second that 10 000
 * decisions take, in elapsed time (from the throughput) and in CPU time of the daemon. */
#include <stdio.h>

#include "arcpd/daemon.h"
#include "arcpd/wire.h"
#include "harness.h"

#define AGENTS    2u
#define DECISIONS 200000u

typedef struct side {
    const char *config;
    daemon_state daemon;
    uint64_t decisions;
    int64_t took_ns;
    uint64_t cpu_ns;
} side;

static side without = {.config = "audit: {path: ''}\n"};
static side with = {.config = "audit: {path: audit.jsonl}\n"};

static void run(void *state, uint64_t iterations)
{
    side *s = state;
    wire w;
    wire_session session;
    if (s->daemon.directory[0] == '\0') {
        daemon_begin(&s->daemon, &(daemon_options){.config = s->config,
                                                   .store = "memory:",
                                                   .agents = {"load=" ARCP_BINARY_DIR
                                                              "/bench/arcp-audit-agent"}});
        daemon_start(&s->daemon);
    }
    wire_open(&w, s->daemon.port);
    wire_hello(&w, "t-alice", &session);
    const uint64_t cpu_ns = daemon_cpu_ns(&s->daemon);
    const int64_t began_ns = bench_now_ns();
    for (unsigned job = 0; job < AGENTS; job++) {
        wire_send(&w,
                  "{\"arcp\":\"1.1\",\"id\":\"s%u\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
                  "\"load\",\"input\":{\"events\":%llu}}}",
                  job, (unsigned long long)(iterations / AGENTS));
    }
    for (unsigned left = AGENTS; left > 0;) {
        const arcp_span frame = wire_await(&w);
        if (wire_is(frame, "job.error")) {
            daemon_fail("%.*s", (int)frame.size, frame.data);
        }
        left -= wire_is(frame, "job.result");
    }
    s->took_ns += bench_now_ns() - began_ns;
    s->cpu_ns += daemon_cpu_ns(&s->daemon) - cpu_ns;
    s->decisions += iterations;
    wire_close(&w);
}

static double share(double more_ns)
{
    return more_ns * 10000.0 / 1e9 * 100.0;
}

static void print_share(void)
{
    if (with.decisions == 0 || without.decisions == 0) {
        return;
    }
    const double clock_ns = (double)with.took_ns / (double)with.decisions -
                            (double)without.took_ns / (double)without.decisions;
    const double cpu_ns = (double)with.cpu_ns / (double)with.decisions -
                          (double)without.cpu_ns / (double)without.decisions;
    printf("10 000 decisions/s cost %.2f %% of the throughput without the log (%.0f ns each), "
           "%.2f %% of a core\n",
           share(clock_ns), clock_ns, share(cpu_ns));
}

int main(int argc, char **argv)
{
    const bench_case cases[] = {
        {"decisions, no audit log", NULL, run, &without, 1, "decisions/s", DECISIONS},
        {"decisions, a line for each", "decisions, no audit log", run, &with, 1, "decisions/s",
         DECISIONS},
    };
    const int status = bench_main(argc, argv, "audit log", cases, sizeof cases / sizeof cases[0]);
    print_share();
    daemon_end(&with.daemon);
    daemon_end(&without.daemon);
    return status;
}
