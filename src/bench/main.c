/* arcp-bench, which `arcp bench` runs: a load test against a runtime. */
#include <inttypes.h>
#include <stdio.h>

#include "base/digits.h"
#include "bench/bench.h"
#include "cli/cli.h"

#define SESSIONS_MAX 1000000
#define IN_FLIGHT    8

static const char default_input[] = "{\"events\":100}";

/* A count from `least` to `most`; unchanged when the option was not given. */
static arcp_status read_count(const arcp__arguments *arguments, arcp__option option, uint64_t least,
                              uint64_t most, uint64_t *out, arcp_error *err)
{
    const char *text = arcp__value(arguments, option);
    if (text == NULL) {
        return ARCP_OK;
    }
    uint64_t value = 0;
    if (!arcp__digits_parse(arcp_span_cstr(text), &value) || value < least || value > most) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--%s %s is not a number from %" PRIu64 " to %" PRIu64,
                              arcp__options[option].name, text, least, most);
    }
    *out = value;
    return ARCP_OK;
}

static arcp_status read_counts(const arcp__arguments *arguments, arcp__load_options *load,
                               arcp_error *err)
{
    uint64_t sessions = 1;
    uint64_t in_flight = 0;
    uint64_t idle = 0;
    if (read_count(arguments, ARCP__OPTION_SESSIONS, 0, SESSIONS_MAX, &sessions, err) != ARCP_OK ||
        read_count(arguments, ARCP__OPTION_IN_FLIGHT, 1, SESSIONS_MAX, &in_flight, err) !=
            ARCP_OK ||
        read_count(arguments, ARCP__OPTION_IDLE, 0, SESSIONS_MAX, &idle, err) != ARCP_OK ||
        read_count(arguments, ARCP__OPTION_JOBS, 1, INT64_MAX / 10, &load->jobs, err) != ARCP_OK) {
        return err->status;
    }
    if (sessions == 0 && (idle == 0 || in_flight != 0 || load->jobs != 0)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--sessions 0 needs --idle, and excludes --in-flight and --jobs");
    }
    if (in_flight != 0 && in_flight < sessions) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--in-flight %" PRIu64 " leaves some of the %" PRIu64
                              " sessions without a job; use --idle for idle sessions",
                              in_flight, sessions);
    }
    if (in_flight == 0 && sessions != 0) { /* at least one for each session that submits */
        in_flight = sessions > IN_FLIGHT ? sessions : IN_FLIGHT;
    }
    load->sessions = (uint32_t)sessions;
    load->in_flight = (uint32_t)in_flight;
    load->idle = (uint32_t)idle;
    return ARCP_OK;
}

static arcp_status prepare(arcp__program *program, arcp__load_options *load, arcp_buf *input,
                           arcp_error *err)
{
    const arcp__arguments *arguments = &program->arguments;
    const char *agent = arcp__value(arguments, ARCP__OPTION_BENCH_AGENT);
    const char *given = arcp__value(arguments, ARCP__OPTION_BENCH_INPUT);
    load->duration_ns = 10 * ARCP_NS_PER_SEC;
    load->warmup_ns = ARCP_NS_PER_SEC;
    load->busy_poll = arcp__has(arguments, ARCP__OPTION_BENCH_BUSY_POLL);
    if (read_counts(arguments, load, err) != ARCP_OK ||
        arcp__duration_option(arguments, ARCP__OPTION_DURATION, &load->duration_ns, err) !=
            ARCP_OK ||
        arcp__duration_option(arguments, ARCP__OPTION_WARMUP, &load->warmup_ns, err) != ARCP_OK) {
        return err->status;
    }
    if (load->duration_ns < ARCP_NS_PER_MS) {
        return arcp_error_set(err, ARCP_E_USAGE, "--duration %s must be 1ms or more",
                              arcp__value(arguments, ARCP__OPTION_DURATION));
    }
    if (load->jobs != 0 && arcp__has(arguments, ARCP__OPTION_DURATION)) {
        return arcp_error_set(err, ARCP_E_USAGE, "--jobs and --duration cannot be given together");
    }
    if (arcp__json_text("input", given, true, input, err) != ARCP_OK) {
        return err->status;
    }
    load->agent = arcp_span_cstr(agent != NULL ? agent : "bench");
    load->input = given != NULL ? arcp_buf_span(input) : arcp_span_cstr(default_input);
    return ARCP_OK;
}

static void on_tick(void *user, const char *phase, const arcp__load_result *so_far)
{
    arcp__program *program = user;
    char text[96];
    const int size = snprintf(text, sizeof text, "%s: %" PRIu64 " jobs, %" PRIu64 " events", phase,
                              so_far->jobs, so_far->events);
    if (!program->is_quiet) {
        arcp__screen_status(&program->screen, arcp_span_make(text, (size_t)size));
    }
}

static int report(arcp__program *program, const arcp__load_options *load, arcp__load_result *result)
{
    arcp_buf text = arcp_buf_init();
    arcp__samples_sort(&result->accepted);
    arcp__samples_sort(&result->ended);
    arcp__samples_sort(&result->pings);
    (program->is_json ? arcp__bench_json : arcp__bench_table)(load, result, &text);
    if (!arcp__program_print_buf_line(program, &text)) {
        return ARCP__EXIT_ERROR;
    }
    if (result->failed != 0) {
        arcp__screen_format(&program->screen, "error: %" PRIu64 " jobs failed; the first: %s: %s",
                            result->failed, arcp_status_name(result->first_failure.status),
                            result->first_failure.message);
    }
    return result->failed != 0 || result->idle_lost != 0 ? ARCP__EXIT_ERROR : ARCP__EXIT_SUCCESS;
}

static int bench(arcp__program *program)
{
    arcp_client_options client = arcp_client_options_init();
    arcp__load_options load = {.client = &client, .tick = on_tick, .user = program};
    arcp__load_result result = {0};
    arcp_buf input = arcp_buf_init();
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_ERROR;
    if (prepare(program, &load, &input, &err) != ARCP_OK ||
        arcp__program_options(program, &client, &err) != ARCP_OK) {
        exit_status = arcp__program_usage(program, &err);
    } else {
        const arcp_status status = arcp__load_run(&load, &result);
        arcp__screen_status(&program->screen, arcp_span_make(NULL, 0));
        exit_status = status != ARCP_OK ? arcp__program_fail(program, &result.first_failure)
                                        : report(program, &load, &result);
    }
    arcp__load_result_fini(&result);
    arcp_buf_fini(&input);
    return exit_status;
}

int main(int argc, char **argv)
{
    return arcp__program_main(ARCP__COMMAND_BENCH, bench, argc, argv);
}
