/* Medians over several runs, with ratios against a named baseline of the same run.
 *
 * A bench program lists its cases in order; every case is run `runs` times interleaved
 * with the others (A B C A B C ...), so that a drifting machine drifts for all. Each run
 * calls the function with a number of iterations that takes about 50 ms. Prints a table:
 * case, median, min, max, unit, ratio to its baseline; with --json one object per line.
 * --filter TEXT runs only cases whose name contains TEXT; --runs N (default 7); --quick runs
 * each case once and briefly, a hundredth of its fixed iterations: to see that it works. */
#ifndef ARCP_BENCH_HARNESS_H
#define ARCP_BENCH_HARNESS_H

#include <stddef.h>
#include <stdint.h>

typedef struct bench_case {
    const char *name;
    const char *baseline; /* name of the case it is compared with; NULL: none */
    /* Runs `iterations` of the work; per-iteration time is what is printed. */
    void (*run)(void *state, uint64_t iterations);
    void *state;
    /* 0: print time per iteration (ns, us or ms). Otherwise the run reports a rate:
     * `units_per_iteration` things per iteration, printed as things per second. */
    double units_per_iteration;
    const char *unit;    /* e.g. "events/s"; NULL with time per iteration */
    uint64_t iterations; /* fixed iterations per run; 0: calibrated to about 50 ms */
} bench_case;

/* Runs all cases; the exit status for main. */
int bench_main(int argc, char **argv, const char *title, const bench_case *cases, size_t count);

/* In a run: its value, in place of what its time gives; nanoseconds, or what the unit of a rate
 * says. */
void bench_set_value(double value);

/* Nanoseconds on the monotonic clock. */
int64_t bench_now_ns(void);

/* Keeps a value alive against the optimiser. */
#define bench_keep(value) __asm__ volatile("" : : "g"(value) : "memory")

#endif
