/* `arcp submit` with a real arcpd: what the agent gets, what is printed, and where the result is
 * written.
 */
#include "arcp/fixture.h"

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
        cmocka_unit_test(json_is_one_payload_per_line_and_the_end_last),
        cmocka_unit_test(inputs_come_from_the_line_a_file_or_standard_input),
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
