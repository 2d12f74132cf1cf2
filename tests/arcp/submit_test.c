/* `arcp submit` with a real arcpd: what the agent gets, what is printed, and where the result is
 * written.
 */
#include "arcp/fixture.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_string_result_is_printed_as_it_is(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("submit", "hello"));
    check_output(&p, "hello\n");
    check_errors(&p, "accepted  job_... hello@1.0.0\nstatus    running\nlog       working\n");
    process_fini(&p);
}

static void every_kind_of_event_has_a_line_and_other_results_are_json(void **state)
{
    process p;
    fixture_run(*state, &p, 0,
                WORDS("submit", "events", "--budget", "USD:5.00", "--grant", "tool.call=**"));
    check_output(&p, "{\"n\":1.50}\n");
    check_errors(&p, "accepted  job_... events, USD 5.00\n"
                     "status    running\n"
                     "warning   careful\n"
                     "thought   hm\n"
                     "progress  1/4 files a.c\n"
                     "metric    cost.inference 0.5 USD\n"
                     "budget    USD 4.5 of 5.00\n"
                     "artifact  file:///r.md text/markdown 12 bytes\n"
                     "x-vendor.test.thing {\"a\":1}\n");
    process_fini(&p);
}

static void the_last_line_of_the_agents_standard_error_is_printed(void **state)
{
    process p;
    fixture_run(*state, &p, 1, WORDS("submit", "crash", "--quiet"));
    check_output(&p, "");
    check_errors(&p, "error: INTERNAL_ERROR: the agent ended with exit status 3\n"
                     "       last line of its standard error: no such table: \\x1b[1mjobs\n");
    process_fini(&p);
}

static void json_is_one_payload_per_line_and_the_end_last(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("submit", "hello", "--json", "--quiet"));
    check_output(&p, "{\"kind\":\"status\",\"ts\":\"TIME\",\"body\":{\"phase\":\"running\"}}\n"
                     "{\"kind\":\"log\",\"ts\":\"TIME\",\"body\":{\"level\":\"info\","
                     "\"message\":\"working\"}}\n"
                     "{\"final_status\":\"success\",\"result\":\"hello\",\"completed_at\":\"TIME\","
                     "\"job_id\":\"job_...\"}\n");
    check_errors(&p, "");
    process_fini(&p);
}

/* Creates an input file in the directory of the fixture; `option` names it on the command line. */
static FILE *input_open(const fixture *f, const char *name, char option[100])
{
    snprintf(option, 100, "@%s/%s", f->directory, name);
    FILE *file = fopen(option + 1, "we");
    assert_non_null(file);
    return file;
}

static void inputs_come_from_the_line_a_file_or_standard_input(void **state)
{
    const fixture *f = *state;
    process p;
    char option[100];
    FILE *file = input_open(f, "input.json", option);
    assert_true(fputs("{ \"from\" : \"file\" }", file) >= 0);
    fclose(file);
    fixture_run(f, &p, 0, WORDS("submit", "echo", "--input", option, "--quiet"));
    assert_non_null(strstr(p.out.data, "\"input\":{\"from\":\"file\"}"));
    process_fini(&p);
    fixture_start_with(f, &p, WORDS("submit", "echo", "--input", "-", "--quiet"), NULL, "[1, 2]");
    assert_int_equal(process_finish(&p), 0);
    assert_non_null(strstr(p.out.data, "\"input\":[1,2]"));
    process_fini(&p);
}

static void texts_are_sent_as_strings(void **state)
{
    const fixture *f = *state;
    process p;
    char option[100];
    FILE *file = input_open(f, "input.txt", option);
    assert_true(fputs("two words", file) >= 0);
    fclose(file);
    fixture_run(f, &p, 0, WORDS("submit", "echo", "--input-text", "[1]", "--quiet"));
    assert_non_null(strstr(p.out.data, "\"input\":\"[1]\""));
    process_fini(&p);
    fixture_run(f, &p, 0, WORDS("submit", "echo", "--input-file", option + 1, "--quiet"));
    assert_non_null(strstr(p.out.data, "\"input\":\"two words\""));
    process_fini(&p);
    fixture_start_with(f, &p, WORDS("submit", "echo", "--input-file", "-", "--quiet"), NULL,
                       "from a pipe");
    assert_int_equal(process_finish(&p), 0);
    assert_non_null(strstr(p.out.data, "\"input\":\"from a pipe\""));
    process_fini(&p);
}

static void options_that_contradict_are_refused(void **state)
{
    static const struct {
        const char *words[6];
        const char *err;
    } rows[] = {
        {{"--input", "1", "--input-text", "x"},
         "only one of --input, --input-text and --input-file can be given"},
        {{"--input-file", "-", "--input-text", "x"},
         "only one of --input, --input-text and --input-file can be given"},
        {{"--input-text", "\xff"}, "--input-text: the text is not UTF-8"},
        {{"--input-file", "/proc/none"},
         "--input-file: /proc/none cannot be read: No such file or directory"},
        {{"--timeout", "1h", "--max-runtime", "1"},
         "--timeout and --max-runtime cannot be given together"},
        {{"--timeout", "0s"}, "--timeout: '0s' is not in whole seconds, from 1"},
        {{"--timeout", "1500ms"}, "--timeout: '1500ms' is not in whole seconds, from 1"},
        {{"--timeout", "soon"},
         "--timeout: 'soon' is not a duration (expected 250ms, 90s, 10m, 2h or 1d)"},
        {{"--retry", "often"}, "--retry: 'often' is not a number from 0 to 1000"},
        {{"--retry", "1001"}, "--retry: '1001' is not a number from 0 to 1000"},
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const char *words[9] = {"submit", "echo"};
        char want[256];
        process p;
        for (size_t i = 0; i < 6 && rows[row].words[i] != NULL; i++) {
            words[2 + i] = rows[row].words[i];
        }
        fixture_run(*state, &p, 2, words);
        (void)snprintf(want, sizeof want, "arcp submit: %s\ntry: arcp submit --help\n",
                       rows[row].err);
        check_errors(&p, want);
        process_fini(&p);
    }
}

static void a_timeout_ends_the_job(void **state)
{
    process p;
    fixture_run(*state, &p, 6, WORDS("submit", "wait", "--timeout", "1s", "--quiet"));
    process_fini(&p);
    fixture_run(*state, &p, 6, WORDS("submit", "wait", "--max-runtime", "1000ms", "--quiet"));
    process_fini(&p);
}

#define FAILED(code) "accepted  job_... fail\nstatus    running\nerror: " code ": as asked\n"

static void only_errors_that_may_pass_are_retried(void **state)
{
    process p;
    fixture_run(
        *state, &p, 1,
        WORDS("submit", "fail", "--retry", "1", "--input", "{\"code\":\"INTERNAL_ERROR\"}"));
    check_errors(&p,
                 FAILED("INTERNAL_ERROR") "retrying in 1 s (1 of 1)\n" FAILED("INTERNAL_ERROR"));
    process_fini(&p);
    fixture_run(
        *state, &p, 4,
        WORDS("submit", "fail", "--retry", "1", "--input", "{\"code\":\"PERMISSION_DENIED\"}"));
    check_errors(&p, FAILED("PERMISSION_DENIED"));
    process_fini(&p);
    fixture_run(*state, &p, 1,
                WORDS("submit", "fail", "--retry", "1", "--idempotency-key", "one job", "--input",
                      "{\"code\":\"INTERNAL_ERROR\"}"));
    check_errors(&p, FAILED("INTERNAL_ERROR"));
    process_fini(&p);
}

static void the_pause_before_a_retry_can_be_interrupted(void **state)
{
    process p;
    fixture_start(
        *state, &p,
        WORDS("submit", "fail", "--retry", "9", "--input", "{\"code\":\"INTERNAL_ERROR\"}"));
    process_await(&p, true, "retrying in 4 s (3 of 9)\n");
    process_signal(&p, SIGINT);
    assert_int_equal(process_finish(&p), 1);
    assert_non_null(memmem(p.err.data, p.err.size, "interrupted: not retried\n", 25));
    process_fini(&p);
}

static void a_similar_agent_is_suggested(void **state)
{
    process p;
    fixture_run(*state, &p, 1, WORDS("submit", "helo@2"));
    check_errors(&p, "error: AGENT_NOT_AVAILABLE: there is no agent \"helo\"\n"
                     "       did you mean hello?\n");
    process_fini(&p);
}

/* limits.frame_bytes is 4 MiB. */
static void an_input_that_is_too_large_is_sent_once_and_reported(void **state)
{
    fixture *f = *state;
    process p;
    char option[100];
    FILE *file = input_open(f, "large.json", option);
    assert_int_equal(fprintf(file, "\"%0*d\"", 4300000, 0), 4300002);
    fclose(file);
    fixture_run(f, &p, 1, WORDS("submit", "echo", "--input", option, "--quiet"));
    assert_non_null(memmem(p.err.data, p.err.size, "error: LIMIT: job.submit with 43000", 35));
    assert_non_null(memmem(p.err.data, p.err.size, "limits.frame_bytes", 18));
    process_fini(&p);
    process_await(&f->daemon, true, "closed: 1009 the message is too big\n");
    const char *first = memmem(f->daemon.err.data, f->daemon.err.size, "closed: 1009", 12);
    const size_t rest = f->daemon.err.size - (size_t)(first + 1 - f->daemon.err.data);
    assert_null(memmem(first + 1, rest, "closed: 1009", 12));
}

static void the_lease_and_the_trace_reach_the_agent(void **state)
{
    process p;
    fixture_start_with(
        *state, &p,
        WORDS("submit", "echo", "--grant", "fs.read=/srv/**", "--lease",
              "{\"tool.call\":[\"a.*\"]}", "--expires-at", "2199-01-01T00:00:00Z", "--quiet"),
        (const char *const[]){"TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                              NULL},
        NULL);
    assert_int_equal(process_finish(&p), 0);
    assert_non_null(
        strstr(p.out.data, "\"lease\":{\"tool.call\":[\"a.*\"],\"fs.read\":[\"/srv/**\"]}"));
    assert_non_null(strstr(p.out.data, "\"expires_at\":\"2199-01-01T00:00:00Z\""));
    assert_non_null(strstr(p.out.data, "\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\""));
    process_fini(&p);
}

static void streamed_results_go_straight_to_standard_output(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("submit", "stream", "--quiet"));
    check_stream(p.out.data, p.out.size);
    process_fini(&p);
}

static void results_go_to_a_file_and_replace_what_was_there(void **state)
{
    const fixture *f = *state;
    process p;
    char path[96];
    static char bytes[400000];
    snprintf(path, sizeof path, "%s/result", f->directory);
    fixture_run(f, &p, 0, WORDS("submit", "stream", "--quiet", "--output", path));
    assert_int_equal(p.out.size, 0);
    process_fini(&p);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    check_stream(bytes, fread(bytes, 1, sizeof bytes, file));
    fclose(file);
    fixture_run(f, &p, 0, WORDS("submit", "hello", "--quiet", "--output", path));
    process_fini(&p);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), 5);
    assert_memory_equal(bytes, "hello", 5);
    fclose(file);
    /* A failed job does not change the file. */
    fixture_run(f, &p, 1, WORDS("submit", "nobody", "--quiet", "--output", path));
    process_fini(&p);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_size, 5);
}

static void a_file_that_cannot_take_the_result_is_named(void **state)
{
    process p;
    fixture_run(*state, &p, 1, WORDS("submit", "hello", "--quiet", "--output", "/dev/full"));
    check_errors(&p, "error: /dev/full cannot be written: No space left on device\n");
    process_fini(&p);
}

static void with_json_a_refusal_is_the_last_line(void **state)
{
    process p;
    fixture_run(*state, &p, 1, WORDS("submit", "nobody", "--json", "--quiet"));
    assert_int_equal(strncmp(p.out.data, "{\"code\":\"AGENT_NOT_AVAILABLE\",\"message\":\"", 41),
                     0);
    process_fini(&p);
}

static void a_reader_that_leaves_is_no_crash(void **state)
{
    process p;
    fixture_start(*state, &p, WORDS("submit", "stream", "--quiet"));
    close(p.output);
    p.output = -1;
    assert_int_equal(process_finish(&p), 1);
    process_fini(&p);
}

static void a_key_finds_the_first_job_again(void **state)
{
    process first;
    process second;
    fixture_run(*state, &first, 0, WORDS("submit", "hello", "--idempotency-key", "once"));
    fixture_run(*state, &second, 0, WORDS("submit", "hello", "--idempotency-key", "once"));
    assert_memory_equal(first.err.data, second.err.data, 40);
    check_output(&second, "hello\n");
    process_fini(&second);
    fixture_run(*state, &second, 1,
                WORDS("submit", "hello", "--idempotency-key", "once", "--input", "2"));
    assert_non_null(strstr(second.err.data, "DUPLICATE_KEY"));
    process_fini(&first);
    process_fini(&second);
}

static void delegated_jobs_are_shown_below_their_parent(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("submit", "parent", "--grant", "agent.delegate=hello*"));
    arcp_buf_append_byte(&p.err, '\0');
    arcp_buf_append_byte(&p.out, '\0');
    assert_non_null(strstr(p.err.data, "\n  child     hello@1.0.0 job_"));
    assert_non_null(strstr(p.err.data, "\ndelegate  hello@1.0.0 job_"));
    assert_non_null(strstr(p.err.data, "\n  log       working\n"));
    assert_non_null(strstr(p.err.data, "\n  ended     success\n"));
    assert_non_null(strstr(p.out.data, "\"result\":\"hello\""));
    process_fini(&p);
}

static void delegated_jobs_are_no_part_of_the_json(void **state)
{
    process p;
    fixture_run(*state, &p, 0,
                WORDS("submit", "parent", "--grant", "agent.delegate=hello*", "--json", "--quiet"));
    arcp_buf_append_byte(&p.out, '\0');
    assert_non_null(strstr(p.out.data, "\"kind\":\"delegate\""));
    assert_null(strstr(p.out.data, "working"));
    process_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_string_result_is_printed_as_it_is),
        cmocka_unit_test(every_kind_of_event_has_a_line_and_other_results_are_json),
        cmocka_unit_test(the_last_line_of_the_agents_standard_error_is_printed),
        cmocka_unit_test(json_is_one_payload_per_line_and_the_end_last),
        cmocka_unit_test(inputs_come_from_the_line_a_file_or_standard_input),
        cmocka_unit_test(texts_are_sent_as_strings),
        cmocka_unit_test(options_that_contradict_are_refused),
        cmocka_unit_test(a_timeout_ends_the_job),
        cmocka_unit_test(only_errors_that_may_pass_are_retried),
        cmocka_unit_test(the_pause_before_a_retry_can_be_interrupted),
        cmocka_unit_test(a_similar_agent_is_suggested),
        cmocka_unit_test(an_input_that_is_too_large_is_sent_once_and_reported),
        cmocka_unit_test(the_lease_and_the_trace_reach_the_agent),
        cmocka_unit_test(streamed_results_go_straight_to_standard_output),
        cmocka_unit_test(results_go_to_a_file_and_replace_what_was_there),
        cmocka_unit_test(a_file_that_cannot_take_the_result_is_named),
        cmocka_unit_test(with_json_a_refusal_is_the_last_line),
        cmocka_unit_test(a_reader_that_leaves_is_no_crash),
        cmocka_unit_test(a_key_finds_the_first_job_again),
        cmocka_unit_test(delegated_jobs_are_shown_below_their_parent),
        cmocka_unit_test(delegated_jobs_are_no_part_of_the_json),
    };
    return cmocka_run_group_tests(tests, fixture_begin_bare, fixture_end);
}
