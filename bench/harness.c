/* Calibrate each case once, then run all of them in turn, `runs` rounds long. */
#include "harness.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define RUNS_DEFAULT     7
#define RUNS_MAX         1000
#define RUN_TARGET_NS    50000000
#define RUN_TARGET_QUICK 1000000
#define ITERATIONS_MAX   (UINT64_C(1) << 40)
#define QUICK_DIVISOR    100

typedef struct options {
    const char *filter; /* NULL: all cases */
    size_t runs;
    int64_t target_ns; /* how long a calibrated run takes */
    bool quick;        /* one round, and a hundredth of fixed numbers of iterations */
    bool json;
    bool list;
} options;

/* What was measured of one case; every value is in the case's own unit. */
typedef struct outcome {
    bool selected;
    uint64_t iterations;
    double *values; /* one per run */
    double median;
    double min;
    double max;
} outcome;

/* What a run has set. */
static struct {
    double value;
    bool is_set;
} given;

void bench_set_value(double value)
{
    given.value = value;
    given.is_set = true;
}

int64_t bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int usage(const char *program, FILE *out)
{
    fprintf(out,
            "usage: %s [--runs N] [--filter TEXT] [--json] [--quick] [--list]\n"
            "  --runs N       rounds over all cases (default %d); odd numbers have a true median\n"
            "  --filter TEXT  only the cases whose name contains TEXT\n"
            "  --json         one JSON object per case and line\n"
            "  --quick        one short round: shows that it runs, not how fast\n"
            "  --list         print the names of the cases\n",
            program, RUNS_DEFAULT);
    return out == stdout ? 0 : 2;
}

/* Returns -1 to go on, otherwise the exit status. */
static int parse_options(int argc, char **argv, options *out)
{
    *out = (options){.runs = RUNS_DEFAULT, .target_ns = RUN_TARGET_NS};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            out->json = true;
        } else if (strcmp(argv[i], "--list") == 0) {
            out->list = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            out->quick = true;
            out->runs = 1;
            out->target_ns = RUN_TARGET_QUICK;
        } else if (strcmp(argv[i], "--help") == 0) {
            return usage(argv[0], stdout);
        } else if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
            out->filter = argv[++i];
        } else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
            char *end = NULL;
            errno = 0;
            const unsigned long runs = strtoul(argv[++i], &end, 10);
            if (errno != 0 || *end != '\0' || runs == 0 || runs > RUNS_MAX) {
                fprintf(stderr, "%s: --runs takes 1 to %d, not '%s'\n", argv[0], RUNS_MAX, argv[i]);
                return 2;
            }
            out->runs = runs;
        } else {
            fprintf(stderr, "%s: unknown argument '%s'\n", argv[0], argv[i]);
            return usage(argv[0], stderr);
        }
    }
    return -1;
}

static bool is_rate(const bench_case *one)
{
    return one->units_per_iteration > 0;
}

static int64_t time_run(const bench_case *one, uint64_t iterations)
{
    given.is_set = false;
    const int64_t start = bench_now_ns();
    one->run(one->state, iterations);
    const int64_t elapsed = bench_now_ns() - start;
    return elapsed > 0 ? elapsed : 1;
}

/* The number of iterations that takes about target_ns; its runs are the warm-up too. */
static uint64_t calibrate(const bench_case *one, const options *chosen)
{
    const int64_t target_ns = chosen->target_ns;
    if (one->iterations != 0) {
        return chosen->quick ? one->iterations / QUICK_DIVISOR + 1 : one->iterations;
    }
    uint64_t iterations = 1;
    for (;;) {
        const int64_t elapsed = time_run(one, iterations);
        if (elapsed >= target_ns / 2 || iterations >= ITERATIONS_MAX) {
            const double scaled = (double)iterations * (double)target_ns / (double)elapsed;
            return scaled < 1 ? 1 : (uint64_t)scaled;
        }
        /* For short runs the cost of reading the clock distorts the estimate, so grow in steps. */
        const double wanted = (double)target_ns / (double)elapsed;
        iterations *= wanted > 16 ? 16 : 2;
    }
}

static double value_of(const bench_case *one, uint64_t iterations, int64_t elapsed_ns)
{
    const double per_iteration_ns = (double)elapsed_ns / (double)iterations;
    return is_rate(one) ? one->units_per_iteration * 1e9 / per_iteration_ns : per_iteration_ns;
}

static int compare_doubles(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

static void summarise(outcome *result, size_t runs)
{
    qsort(result->values, runs, sizeof(double), compare_doubles);
    result->min = result->values[0];
    result->max = result->values[runs - 1];
    result->median = runs % 2 == 1 ? result->values[runs / 2]
                                   : (result->values[runs / 2 - 1] + result->values[runs / 2]) / 2;
}

static const outcome *find_outcome(const bench_case *cases, const outcome *results, size_t count,
                                   const char *name)
{
    for (size_t i = 0; name != NULL && i < count; i++) {
        if (results[i].selected && strcmp(cases[i].name, name) == 0) {
            return &results[i];
        }
    }
    return NULL;
}

/* "312 ns", "1.25 us", "418 k events/s": three significant digits, short units. */
static void format_value(const bench_case *one, double value, char *text, size_t size)
{
    if (is_rate(one)) {
        const char *unit = one->unit != NULL ? one->unit : "/s";
        const char *factor = "";
        if (value >= 1e9) {
            value /= 1e9;
            factor = "G ";
        } else if (value >= 1e6) {
            value /= 1e6;
            factor = "M ";
        } else if (value >= 1e4) {
            value /= 1e3;
            factor = "k ";
        }
        snprintf(text, size, "%.*f %s%s",
                 value < 10    ? 2
                 : value < 100 ? 1
                               : 0,
                 value, factor, unit);
        return;
    }
    const char *unit = "ns";
    if (value >= 1e9) {
        value /= 1e9;
        unit = "s";
    } else if (value >= 1e6) {
        value /= 1e6;
        unit = "ms";
    } else if (value >= 1e3) {
        value /= 1e3;
        unit = "us";
    }
    snprintf(text, size, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, unit);
}

static void print_json_string(const char *text)
{
    putchar('"');
    for (const unsigned char *byte = (const unsigned char *)text; *byte != '\0'; byte++) {
        if (*byte == '"' || *byte == '\\') {
            printf("\\%c", *byte);
        } else if (*byte < 0x20) {
            printf("\\u%04x", *byte);
        } else {
            putchar(*byte);
        }
    }
    putchar('"');
}

static void print_json(const char *title, const bench_case *one, const outcome *result,
                       const outcome *baseline, size_t runs)
{
    printf("{\"bench\":");
    print_json_string(title);
    printf(",\"case\":");
    print_json_string(one->name);
    printf(",\"unit\":");
    print_json_string(!is_rate(one) ? "ns" : one->unit != NULL ? one->unit : "/s");
    printf(",\"median\":%.6g,\"min\":%.6g,\"max\":%.6g", result->median, result->min, result->max);
    printf(",\"runs\":%zu,\"iterations\":%" PRIu64, runs, result->iterations);
    if (baseline != NULL) {
        printf(",\"baseline\":");
        print_json_string(one->baseline);
        printf(",\"ratio\":%.4g", result->median / baseline->median);
    }
    printf("}\n");
}

static void print_row(const bench_case *one, const outcome *result, const outcome *baseline,
                      int name_width)
{
    char median[64];
    char min[64];
    char max[64];
    format_value(one, result->median, median, sizeof median);
    format_value(one, result->min, min, sizeof min);
    format_value(one, result->max, max, sizeof max);
    printf("%-*s  %18s  %18s  %18s", name_width, one->name, median, min, max);
    if (baseline != NULL) {
        printf("  %.2f x %s", result->median / baseline->median, one->baseline);
    }
    printf("\n");
}

/* Figures can be compared only if the machine is known. */
static void print_machine(void)
{
    char model[128] = "unknown processor";
    FILE *info = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (info != NULL && fgets(line, sizeof line, info) != NULL) {
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
            const char *value = strchr(line, ':') + 1;
            value += strspn(value, " \t");
            snprintf(model, sizeof model, "%.*s", (int)strcspn(value, "\n"), value);
            break;
        }
    }
    if (info != NULL) {
        fclose(info);
    }
    struct utsname system = {0};
    uname(&system);
    printf("machine: %s, %ld cores, %s %s %s\n", model, sysconf(_SC_NPROCESSORS_ONLN),
           system.sysname, system.release, system.machine);
}

static void print_results(const char *title, const bench_case *cases, const outcome *results,
                          size_t count, const options *chosen)
{
    int name_width = 4;
    for (size_t i = 0; i < count; i++) {
        if (results[i].selected && (int)strlen(cases[i].name) > name_width) {
            name_width = (int)strlen(cases[i].name);
        }
    }
    if (!chosen->json) {
        printf("%s (%zu %s)\n", title, chosen->runs, chosen->runs == 1 ? "run" : "runs");
        print_machine();
        printf("%-*s  %18s  %18s  %18s\n", name_width, "case", "median", "min", "max");
    }
    for (size_t i = 0; i < count; i++) {
        if (!results[i].selected) {
            continue;
        }
        const outcome *baseline = find_outcome(cases, results, count, cases[i].baseline);
        if (chosen->json) {
            print_json(title, &cases[i], &results[i], baseline, chosen->runs);
        } else {
            print_row(&cases[i], &results[i], baseline, name_width);
        }
    }
    fflush(stdout);
}

static void measure(const bench_case *cases, outcome *results, size_t count, const options *chosen)
{
    for (size_t i = 0; i < count; i++) {
        if (results[i].selected) {
            results[i].iterations = calibrate(&cases[i], chosen);
        }
    }
    for (size_t run = 0; run < chosen->runs; run++) {
        for (size_t i = 0; i < count; i++) {
            if (results[i].selected) {
                const int64_t elapsed = time_run(&cases[i], results[i].iterations);
                results[i].values[run] = given.is_set
                                             ? given.value
                                             : value_of(&cases[i], results[i].iterations, elapsed);
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (results[i].selected) {
            summarise(&results[i], chosen->runs);
        }
    }
}

int bench_main(int argc, char **argv, const char *title, const bench_case *cases, size_t count)
{
    options chosen;
    const int stop = parse_options(argc, argv, &chosen);
    if (stop >= 0) {
        return stop;
    }
    outcome *results = calloc(count + 1, sizeof *results);
    double *values = calloc((count + 1) * chosen.runs, sizeof *values);
    if (results == NULL || values == NULL) {
        fprintf(stderr, "%s: out of memory\n", argv[0]);
        free(results);
        free(values);
        return 1;
    }
    size_t selected = 0;
    for (size_t i = 0; i < count; i++) {
        results[i].values = values + i * chosen.runs;
        results[i].selected = chosen.filter == NULL || strstr(cases[i].name, chosen.filter) != NULL;
        selected += results[i].selected;
        if (results[i].selected && chosen.list) {
            printf("%s\n", cases[i].name);
        }
    }
    int status = 0;
    if (selected == 0) {
        fprintf(stderr, "%s: no case matches '%s'\n", argv[0],
                chosen.filter != NULL ? chosen.filter : "");
        status = 2;
    } else if (!chosen.list) {
        measure(cases, results, count, &chosen);
        print_results(title, cases, results, count, &chosen);
    }
    free(values);
    free(results);
    return status;
}
