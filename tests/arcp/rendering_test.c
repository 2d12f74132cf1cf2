/* Output for terminals: one line per event, progress bars, and no control characters from events.
 */
#include "support/check.h"

#include <fcntl.h>
#include <unistd.h>

#include "arcp/command.h"
#include "cli/cli.h"
#include "client/client_job.h"

/* An event as the client delivers it; free its item with arcp__client_item_free. */
static arcp__client_item *event_of(const char *kind, const char *body)
{
    arcp__client_item *item = arcp__client_item_new(ARCP_CLIENT_JOB_EVENT, NULL, 0);
    assert_non_null(item);
    item->event.kind = arcp_event_kind_from_wire(arcp_span_cstr(kind));
    item->event.kind_text = arcp_span_cstr(kind);
    item->event.ts = ARCP_SPAN_LITERAL("2026-01-01T00:00:00.000Z");
    item->event.body = arcp_span_cstr(body);
    return item;
}

static const struct line_row {
    const char *kind;
    const char *body;
    const char *line;
    const char *colored; /* NULL: not checked */
} line_rows[] = {
    {"log", "{\"level\":\"info\",\"message\":\"reading 3 files\"}", "log       reading 3 files",
     "log       reading 3 files"},
    {"log", "{\"level\":\"WARNING\",\"message\":\"slow\"}", "warning   slow",
     "\033[33mwarning\033[0m   slow"},
    {"log", "{\"level\":\"error\",\"message\":\"a\\nb\"}", "error     a\\nb",
     "\033[31merror\033[0m     a\\nb"},
    {"log", "{\"level\":\"debug\",\"message\":\"x\"}", "debug     x", "\033[2mdebug\033[0m     x"},
    {"thought", "{\"text\":\"perhaps\"}", "thought   perhaps", NULL},
    {"tool_call", "{\"tool\":\"fs.read\",\"args\":{\"path\":\"/etc/hosts\"},\"call_id\":\"c\"}",
     "call      fs.read {\"path\":\"/etc/hosts\"}", NULL},
    {"tool_call", "{\"tool\":\"now\",\"args\":{},\"call_id\":\"c\"}", "call      now", NULL},
    {"tool_call", "{\"name\":\"t\",\"arguments\":[1],\"tool_call_id\":\"c\"}", "call      t [1]",
     NULL},
    {"tool_result", "{\"call_id\":\"c\",\"result\":{\"n\":1}}", "returned  {\"n\":1}", NULL},
    {"tool_result",
     "{\"call_id\":\"c\",\"error\":{\"code\":\"PERMISSION_DENIED\",\"message\":\"no\"}}",
     "refused   PERMISSION_DENIED: no", "\033[31mrefused\033[0m   PERMISSION_DENIED: no"},
    {"status", "{\"phase\":\"running\"}", "status    running", NULL},
    {"status", "{\"phase\":\"indexing\",\"message\":\"half way\"}", "status    indexing half way",
     NULL},
    {"status", "{\"phase\":\"credential_rotated\",\"id\":\"cred_1\",\"value\":\"sk-secret\"}",
     "status    credential_rotated cred_1", NULL},
    {"status",
     "{\"phase\":\"denied\",\"message\":\"fs.read /home/you/.ssh/id_ed25519\",\"capability\":"
     "\"fs.read\",\"target\":\"/home/you/.ssh/id_ed25519\",\"layer\":\"broker\",\"program\":"
     "\"python3\",\"pid\":7,\"count\":1}",
     "denied    fs.read /home/you/.ssh/id_ed25519 (python3, broker)",
     "\033[33mdenied\033[0m    fs.read /home/you/.ssh/id_ed25519 (python3, broker)"},
    {"status",
     "{\"phase\":\"denied\",\"message\":\"m\",\"capability\":\"net.fetch\",\"target\":"
     "\"https://a/\\u001b[2J\",\"layer\":\"egress\"}",
     "denied    net.fetch https://a/\\x1b[2J (egress)", NULL},
    {"status", "{\"phase\":\"denied\",\"message\":\"7 more denials\",\"count\":7}",
     "denied    7 more denials", NULL},
    {"status",
     "{\"phase\":\"enforcement\",\"message\":\"1 exact, 1 refused\",\"level\":\"full\",\"lines\":"
     "[{\"verdict\":\"exact\"},{\"verdict\":\"refused\"}]}",
     "enforced  1 exact, 1 refused at level full",
     "\033[33menforced\033[0m  1 exact, 1 refused at level full"},
    {"status", "{\"phase\":\"enforcement\",\"message\":\"999 exact\",\"level\":\"full\"}",
     "enforced  999 exact at level full", NULL},
    {"metric", "{\"name\":\"cost.inference\",\"value\":0.0234,\"unit\":\"USD\"}",
     "metric    cost.inference 0.0234 USD", NULL},
    {"metric", "{\"name\":\"cost.read\",\"value\":25.0e-5,\"unit\":\"USD\"}",
     "metric    cost.read 0.00025 USD", NULL},
    {"metric", "{\"name\":\"rate\",\"value\":25.0e-5,\"unit\":\"Hz\"}", "metric    rate 25.0e-5 Hz",
     NULL},
    {"metric",
     "{\"name\":\"cost.inference\",\"value\":0.0234,\"unit\":\"USD\",\"dimensions\":{\"model\":"
     "\"gpt-x\",\"input_tokens\":1200,\"output_tokens\":34,\"duration_ms\":1290,"
     "\"source\":\"gateway\"}}",
     "model     gpt-x 0.0234 USD, 1200+34 tokens, 1.2 s", NULL},
    {"metric", "{\"name\":\"cost.budget.remaining\",\"value\":1.42,\"unit\":\"USD\"}",
     "budget    USD 1.42 of 5.00", "\033[35mbudget\033[0m    USD 1.42 of 5.00"},
    {"metric", "{\"name\":\"cost.budget.remaining\",\"value\":7,\"unit\":\"EUR\"}",
     "budget    EUR 7", NULL},
    {"artifact_ref",
     "{\"uri\":\"file:///r.md\",\"content_type\":\"text/markdown\",\"byte_size\":12}",
     "artifact  file:///r.md text/markdown 12 bytes", NULL},
    {"delegate", "{\"agent\":\"pdf@1\",\"child_job_id\":\"job_2\"}", "delegate  pdf@1 job_2", NULL},
    {"progress", "{\"current\":47,\"total\":120,\"units\":\"files\",\"message\":\"a.c\"}",
     "progress  47/120 files a.c", NULL},
    {"progress", "{\"current\":1.5}", "progress  1.5", NULL},
    {"x-vendor.acme.thing", "{\"a\":1}", "x-vendor.acme.thing {\"a\":1}", NULL},
    {"trace_span", "[1,2]", "trace_span [1,2]", NULL},
    {"log", "7", "log       7", NULL},
    {"log", "{\"level\":\"info\",\"message\":\"\\u001b]0;owned\\u0007\\u001b[2J\"}",
     "log       \\x1b]0;owned\\x07\\x1b[2J", NULL},
    {"log", "{\"level\":\"info\",\"message\":\"\\u009b31m\"}", "log       \\u009b31m", NULL},
};

/* It had 5.00 USD, and has 1.42. */
static arcp_job *job_with_budget(void)
{
    arcp_job *job = arcp__client_job_new(ARCP_SPAN_LITERAL("job_1"));
    assert_non_null(job);
    job->budgets = arcp__alloc_array(1, sizeof *job->budgets);
    assert_non_null(job->budgets);
    job->budgets[0] = (arcp_job_budget){.currency = "USD", .initial = "5.00", .remaining = "1.42"};
    job->budget_count = 1;
    return job;
}

static void every_kind_has_a_line(void **state)
{
    arcp_job *job = job_with_budget();
    for (size_t row = 0; row < sizeof line_rows / sizeof line_rows[0]; row++) {
        arcp__client_item *item = event_of(line_rows[row].kind, line_rows[row].body);
        arcp__line_style style = {0};
        arcp_buf line = arcp_buf_init();
        arcp__client_job_hold(job);
        item->event.job = job; /* the item drops it */
        assert_true(arcp__event_line(&style, &item->event, &line));
        check_span(arcp_buf_span(&line), line_rows[row].line);
        if (line_rows[row].colored != NULL) {
            style.has_color = true;
            arcp_buf_clear(&line);
            assert_true(arcp__event_line(&style, &item->event, &line));
            check_span(arcp_buf_span(&line), line_rows[row].colored);
        }
        arcp_buf_fini(&line);
        arcp__client_item_free(item);
    }
    arcp__client_job_drop(job);
}

static void a_job_whose_lease_is_enforced_exactly_has_no_line_about_it(void **state)
{
    arcp__client_item *item =
        event_of("status", "{\"phase\":\"enforcement\",\"message\":\"2 exact\",\"level\":\"full\","
                           "\"lines\":[{\"verdict\":\"exact\"},{\"verdict\":\"exact\"}]}");
    arcp__line_style style = {0};
    arcp_buf line = arcp_buf_init();
    assert_false(arcp__event_line(&style, &item->event, &line));
    assert_int_equal(line.size, 0);
    arcp__client_item_free(item);
}

static void chunks_have_no_line(void **state)
{
    arcp__client_item *item = event_of("result_chunk", "{\"data\":\"x\"}");
    arcp__line_style style = {0};
    arcp_buf line = arcp_buf_init();
    assert_false(arcp__event_line(&style, &item->event, &line));
    assert_int_equal(line.size, 0);
    arcp__client_item_free(item);
}

static void lines_begin_with_time_and_depth(void **state)
{
    arcp__client_item *item = event_of("log", "{\"level\":\"info\",\"message\":\"m\"}");
    arcp__line_style style = {.has_times = true, .depth = 2};
    arcp_buf line = arcp_buf_init();
    assert_true(arcp__event_line(&style, &item->event, &line));
    check_span(arcp_buf_span(&line), "2026-01-01T00:00:00.000Z     log       m");
    arcp_buf_fini(&line);
    arcp__client_item_free(item);
}

static void long_texts_are_cut_between_characters(void **state)
{
    arcp_buf out = arcp_buf_init();
    arcp__append_safe(&out, ARCP_SPAN_LITERAL("abc\xc3\xa4xyz"), 4);
    check_span(arcp_buf_span(&out), "abc...");
    arcp_buf_clear(&out);
    arcp__append_safe(&out, ARCP_SPAN_LITERAL("abc\xc3\xa4"), 5);
    check_span(arcp_buf_span(&out), "abc\xc3\xa4");
    arcp_buf_fini(&out);
}

static void characters_that_reverse_or_hide_text_are_escaped(void **state)
{
    arcp_buf out = arcp_buf_init();
    arcp__append_safe(&out,
                      ARCP_SPAN_LITERAL("exe.\xe2\x80\xae"
                                        "fdp \xef\xbb\xbf\xe2\x81\xa9\xc2\x9b "
                                        "\xe2\x80\xa8\xe2\x82\xac"),
                      100);
    check_span(arcp_buf_span(&out), "exe.\\u202efdp \\ufeff\\u2069\\u009b \\u2028\xe2\x82\xac");
    arcp_buf_fini(&out);
}

/* `line` as printed on standard output if that is a terminal. */
static void print_on_terminal(const char *line, char *seen, size_t size)
{
    arcp__program program = {.is_quiet = true};
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    const int other = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    const int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    assert_true(other >= 0 && kept >= 0);
    assert_int_equal(fflush(stdout), 0);
    const bool printed =
        dup2(other, STDOUT_FILENO) >= 0 && arcp__program_print_line(&program, arcp_span_cstr(line));
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    assert_true(printed);
    size_t count = 0;
    while (count == 0 || seen[count - 1] != '\n') { /* a terminal gives a line in pieces, too */
        const ssize_t got = read(terminal, seen + count, size - 1 - count);
        assert_true(got > 0);
        count += (size_t)got;
    }
    seen[count] = '\0';
    (void)close(kept);
    (void)close(other);
    (void)close(terminal);
}

/* The id that `arcp submit --detach` prints is the runtime's choice. */
static void a_line_cannot_control_the_terminal(void **state)
{
    char seen[256];
    print_on_terminal("job_\x1b]0;owned\x07\x1b[2J", seen, sizeof seen);
    assert_string_equal(seen, "job_\\x1b]0;owned\\x07\\x1b[2J\r\n");
    print_on_terminal("{\"a\":\"\xe2\x80\xae\"}", seen, sizeof seen);
    assert_string_equal(seen, "{\"a\":\"\\u202e\"}\r\n");
}

/* A result of many lines; the pieces of a stream end anywhere. */
static void a_result_cannot_control_the_terminal(void **state)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"a\n\tb\r\nc\n", "a\n\tb\r\nc\n"},
        {"\x1b]0;owned\x07", "\\x1b]0;owned\\x07"},
        {"ok\rno", "ok\\x0dno"},
        {"\xc2\x9b\x33\x31m\x7f", "\\u009b31m\\x7f"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"a\x9b\xff\xe2\x82z", "a\\x9b\\xff\\xe2\\x82z"},
        {"end\xf0\x9f\x98", "end\\xf0\\x9f\\x98"},
        {"end\r", "end\\x0d"},
        {"a\xe2\x80\xae"
         "b\xe2\x81\xa6\xe2\x80\x8b\xd8\x9c",
         "a\\u202eb\\u2066\\u200b\\u061c"},
        {"\xe2\x80\x8d\xe2\x80\xaf\xe2\x81\xb0\xd9\x85",
         "\xe2\x80\x8d\xe2\x80\xaf\xe2\x81\xb0\xd9\x85"},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        for (size_t step = 1; step <= 4; step++) {
            arcp_buf out = arcp_buf_init();
            arcp_buf held = arcp_buf_init();
            for (arcp_span left = arcp_span_cstr(rows[row].text); left.size != 0;) {
                const arcp_span piece = arcp_span_first(left, step);
                arcp__append_shown(&out, piece, &held, false);
                left = arcp_span_from(left, piece.size);
            }
            arcp__append_shown(&out, arcp_span_make(NULL, 0), &held, true);
            check_span(arcp_buf_span(&out), rows[row].shown);
            assert_int_equal(held.size, 0);
            arcp_buf_fini(&held);
            arcp_buf_fini(&out);
        }
    }
    (void)state;
}

/* ---- the status area ---- */

static void note(arcp__progress *progress, const char *job, const char *kind, const char *body)
{
    arcp__client_item *item = event_of(kind, body);
    arcp__progress_note(progress, arcp_span_cstr(job), arcp_client_event_body(&item->event));
    arcp__client_item_free(item);
}

static void check_drawing(const arcp__progress *progress, int64_t ms, bool is_utf8, bool has_color,
                          const char *text)
{
    arcp_buf out = arcp_buf_init();
    const arcp__screen screen = {.columns = 80, .is_utf8 = is_utf8, .has_color = has_color};
    arcp__progress_draw(progress, &screen, ms * ARCP_NS_PER_MS, &out);
    check_span(arcp_buf_span(&out), text);
    arcp_buf_fini(&out);
}

static void a_job_without_progress_spins(void **state)
{
    arcp__progress progress = {0};
    arcp__progress_add(&progress, ARCP_SPAN_LITERAL("job_1"), ARCP_SPAN_LITERAL("echo@1"), 0, 0);
    check_drawing(&progress, 0, false, false, "| echo@1 0s");
    check_drawing(&progress, 100, false, false, "/ echo@1 0s");
    check_drawing(&progress, 75000, false, false, "- echo@1 1m15s");
    check_drawing(&progress, 7200000, false, true, "\033[32m|\033[0m echo@1 2h00m");
    check_drawing(&progress, 0, true, false, "\xe2\xa0\x8b echo@1 0s");
    note(&progress, "job_1", "status", "{\"phase\":\"running\"}");
    check_drawing(&progress, 0, false, false, "| echo@1 0s  running");
    note(&progress, "job_1", "status", "{\"phase\":\"denied\",\"message\":\"fs.read /a\"}");
    note(&progress, "job_1", "status", "{\"phase\":\"enforcement\",\"message\":\"1 exact\"}");
    check_drawing(&progress, 0, false, false, "| echo@1 0s  running");
}

static void a_job_with_a_total_has_a_bar(void **state)
{
    arcp__progress progress = {0};
    arcp__progress_add(&progress, ARCP_SPAN_LITERAL("job_1"), ARCP_SPAN_LITERAL("echo"), 0, 0);
    note(&progress, "job_1", "progress",
         "{\"current\":60,\"total\":120,\"units\":\"files\",\"message\":\"a.c\"}");
    check_drawing(&progress, 0, false, false,
                  "[############............]  50% echo 60/120 files  a.c");
    note(&progress, "job_1", "progress", "{\"current\":0,\"total\":120}");
    check_drawing(&progress, 0, false, false, "[........................]   0% echo 0/120");
    note(&progress, "job_1", "progress", "{\"current\":500,\"total\":120}");
    check_drawing(&progress, 0, false, false, "[########################] 100% echo 500/120");
    note(&progress, "job_1", "progress", "{\"current\":3}");
    check_drawing(&progress, 0, false, false, "| echo 3 0s");
}

static void on_a_narrow_terminal_a_bar_is_short(void **state)
{
    arcp__progress progress = {0};
    arcp_buf out = arcp_buf_init();
    arcp__progress_add(&progress, ARCP_SPAN_LITERAL("job_1"), ARCP_SPAN_LITERAL("echo"), 0, 0);
    note(&progress, "job_1", "progress", "{\"current\":60,\"total\":120}");
    const arcp__screen narrow = {.columns = 59};
    arcp__progress_draw(&progress, &narrow, 0, &out);
    check_span(arcp_buf_span(&out), "[####....]  50% echo 60/120");
    const arcp__screen wide = {.columns = 60};
    arcp_buf_clear(&out);
    arcp__progress_draw(&progress, &wide, 0, &out);
    check_span(arcp_buf_span(&out), "[############............]  50% echo 60/120");
    arcp_buf_fini(&out);
}

static void several_jobs_have_a_line_each(void **state)
{
    arcp__progress progress = {0};
    arcp__progress_add(&progress, ARCP_SPAN_LITERAL("job_1"), ARCP_SPAN_LITERAL("a"), 0, 0);
    arcp__progress_add(&progress, ARCP_SPAN_LITERAL("job_2"), ARCP_SPAN_LITERAL("b"), 1, 0);
    arcp__progress_add(&progress, ARCP_SPAN_LITERAL("job_3"), ARCP_SPAN_LITERAL("c"), 2, 0);
    check_drawing(&progress, 0, false, false, "| a 0s\n  | b 0s\n    | c 0s");
    arcp__progress_remove(&progress, ARCP_SPAN_LITERAL("job_2"));
    check_drawing(&progress, 0, false, false, "| a 0s\n    | c 0s");
    note(&progress, "job_2", "progress", "{\"current\":1}");
    for (int job = 0; job < 100; job++) {
        char id[32];
        snprintf(id, sizeof id, "more_%d", job);
        arcp__progress_add(&progress, arcp_span_cstr(id), ARCP_SPAN_LITERAL("x"), 0, 0);
    }
    assert_int_equal(progress.count, ARCP__PROGRESS_JOBS_MAX);
}

/* ---- the screen ---- */

static void read_pipe(int fd, char *out, size_t room)
{
    const ssize_t got = read(fd, out, room - 1);
    assert_true(got >= 0);
    out[got] = '\0';
}

static void a_pipe_gets_only_lines(void **state)
{
    int ends[2];
    char got[256];
    arcp__screen screen;
    assert_int_equal(pipe(ends), 0);
    arcp__screen_init(&screen, ends[1], ARCP__WHEN_AUTO);
    assert_false(screen.is_terminal);
    assert_false(screen.has_color);
    arcp__screen_status(&screen, ARCP_SPAN_LITERAL("| spinning"));
    arcp__screen_line(&screen, ARCP_SPAN_LITERAL("one"));
    arcp__screen_format(&screen, "two %d", 2);
    arcp__screen_fini(&screen);
    read_pipe(ends[0], got, sizeof got);
    assert_string_equal(got, "one\ntwo 2\n");
    close(ends[0]);
    close(ends[1]);
}

static void a_text_that_ran_out_of_memory_is_an_error_and_not_printed(void **state)
{
    int ends[2];
    char got[256];
    arcp__program program = {.is_json = false};
    arcp_buf text = {.failed = true};
    arcp_buf line = {.failed = true};
    assert_int_equal(pipe(ends), 0);
    arcp__screen_init(&program.screen, ends[1], ARCP__WHEN_NEVER);
    assert_false(arcp__program_print_buf(&program, &text));
    assert_false(arcp__program_print_buf_line(&program, &line));
    read_pipe(ends[0], got, sizeof got);
    assert_string_equal(got, "error: out of memory while printing\n"
                             "error: out of memory while printing\n");
    arcp__screen_fini(&program.screen);
    close(ends[0]);
    close(ends[1]);
}

static void on_a_terminal_lines_go_above_the_status_area(void **state)
{
    int ends[2];
    char got[512];
    arcp__screen screen;
    assert_int_equal(pipe(ends), 0);
    arcp__screen_init(&screen, ends[1], ARCP__WHEN_NEVER);
    screen.is_terminal = true;
    screen.columns = 8;
    arcp__screen_status(&screen, ARCP_SPAN_LITERAL("one\nsomething long"));
    read_pipe(ends[0], got, sizeof got);
    assert_string_equal(got, "one\nsomet\033[0m");
    arcp__screen_line(&screen, ARCP_SPAN_LITERAL("line"));
    read_pipe(ends[0], got, sizeof got);
    assert_string_equal(got, "\r\033[K\033[A\r\033[Kline\n");
    arcp__screen_fini(&screen);
    close(ends[0]);
    close(ends[1]);
}

static void no_color_is_honoured(void **state)
{
    arcp__screen screen;
    arcp__screen_init(&screen, STDERR_FILENO, ARCP__WHEN_ALWAYS);
    assert_true(screen.has_color);
    arcp__screen_fini(&screen);
    arcp__screen_init(&screen, STDERR_FILENO, ARCP__WHEN_NEVER);
    assert_false(screen.has_color);
    arcp__screen_fini(&screen);
    assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
    arcp__screen_init(&screen, STDERR_FILENO, ARCP__WHEN_AUTO);
    assert_false(screen.has_color);
    arcp__screen_fini(&screen);
    assert_int_equal(unsetenv("NO_COLOR"), 0);
}

/* ---- exit statuses ---- */

static const struct exit_row {
    arcp_status status;
    int request; /* of a refused request */
    int job;     /* of a job that ended with it */
} exit_rows[] = {
    {ARCP_E_PERMISSION_DENIED, 4, 4},
    {ARCP_E_LEASE_SUBSET_VIOLATION, 4, 4},
    {ARCP_E_LEASE_EXPIRED, 4, 4},
    {ARCP_E_BUDGET_EXHAUSTED, 4, 4},
    {ARCP_E_CANCELLED, 5, 5},
    {ARCP_E_TIMEOUT, 6, 6},
    {ARCP_E_UNAUTHENTICATED, 3, 1},
    {ARCP_E_HEARTBEAT_LOST, 3, 1},
    {ARCP_E_IO, 3, 1},
    {ARCP_E_JOB_NOT_FOUND, 1, 1},
    {ARCP_E_DUPLICATE_KEY, 1, 1},
    {ARCP_E_AGENT_NOT_AVAILABLE, 1, 1},
    {ARCP_E_AGENT_VERSION_NOT_AVAILABLE, 1, 1},
    {ARCP_E_RESUME_WINDOW_EXPIRED, 1, 1},
    {ARCP_E_INVALID_REQUEST, 1, 1},
    {ARCP_E_INTERNAL_ERROR, 1, 1},
    {ARCP_E_USAGE, 2, 1},
    {ARCP_E_NO_MEMORY, 1, 1},
};

static void exit_statuses_follow_the_contract(void **state)
{
    for (size_t row = 0; row < sizeof exit_rows / sizeof exit_rows[0]; row++) {
        arcp_outcome outcome = {.final_status = ARCP_JOB_ERROR, .status = exit_rows[row].status};
        print_message("  %s\n", arcp_status_name(exit_rows[row].status));
        assert_int_equal(arcp__exit_of_status(exit_rows[row].status), exit_rows[row].request);
        assert_int_equal(arcp__exit_of_outcome(&outcome), exit_rows[row].job);
    }
    assert_int_equal(arcp__exit_of_status(ARCP_OK), 0);
}

static void final_statuses_decide_first(void **state)
{
    arcp_outcome outcome = {.final_status = ARCP_JOB_SUCCESS};
    assert_int_equal(arcp__exit_of_outcome(&outcome), 0);
    outcome.status = ARCP_E_CORRUPT;
    assert_int_equal(arcp__exit_of_outcome(&outcome), 1);
    outcome.final_status = ARCP_JOB_CANCELLED;
    assert_int_equal(arcp__exit_of_outcome(&outcome), 5);
    outcome.final_status = ARCP_JOB_TIMED_OUT;
    assert_int_equal(arcp__exit_of_outcome(&outcome), 6);
    assert_int_equal(arcp__exit_of_job_status(ARCP_JOB_SUCCESS), 0);
    assert_int_equal(arcp__exit_of_job_status(ARCP_JOB_ERROR), 1);
}

/* It is the agent's text: made safe, and cut at 200 bytes. */
static void the_closing_line_has_the_summary_of_the_result(void **state)
{
    char summary[202];
    char wanted[256];
    const arcp__closing closing = {.cost_count = 0};
    arcp_outcome outcome = {.final_status = ARCP_JOB_SUCCESS,
                            .payload = ARCP_SPAN_LITERAL("{}"),
                            .summary = ARCP_SPAN_LITERAL("73 files\x1b[2J")};
    arcp_buf out = arcp_buf_init();
    arcp__closing_append(&closing, &outcome, &out);
    check_span(arcp_buf_span(&out), "success: 73 files\\x1b[2J");
    memset(summary, 'x', sizeof summary);
    for (size_t size = 200; size <= 201; size++) {
        arcp_buf_clear(&out);
        outcome.summary = arcp_span_make(summary, size);
        arcp__closing_append(&closing, &outcome, &out);
        (void)snprintf(wanted, sizeof wanted, "success: %.200s%s", summary,
                       size == 200 ? "" : "...");
        check_span(arcp_buf_span(&out), wanted);
    }
    arcp_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_closing_line_has_the_summary_of_the_result),
        cmocka_unit_test(every_kind_has_a_line),
        cmocka_unit_test(a_job_whose_lease_is_enforced_exactly_has_no_line_about_it),
        cmocka_unit_test(chunks_have_no_line),
        cmocka_unit_test(lines_begin_with_time_and_depth),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(characters_that_reverse_or_hide_text_are_escaped),
        cmocka_unit_test(a_line_cannot_control_the_terminal),
        cmocka_unit_test(a_result_cannot_control_the_terminal),
        cmocka_unit_test(a_job_without_progress_spins),
        cmocka_unit_test(a_job_with_a_total_has_a_bar),
        cmocka_unit_test(on_a_narrow_terminal_a_bar_is_short),
        cmocka_unit_test(several_jobs_have_a_line_each),
        cmocka_unit_test(a_pipe_gets_only_lines),
        cmocka_unit_test(a_text_that_ran_out_of_memory_is_an_error_and_not_printed),
        cmocka_unit_test(on_a_terminal_lines_go_above_the_status_area),
        cmocka_unit_test(no_color_is_honoured),
        cmocka_unit_test(exit_statuses_follow_the_contract),
        cmocka_unit_test(final_statuses_decide_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
