/* `arcp` on a pseudo-terminal, compared with the expected screens in tests/arcp/transcripts. Ids,
 * times and the frames of spinners are replaced.
 *
 *   ARCP_RENEW_TRANSCRIPTS=1    writes the transcripts instead of comparing; check them afterwards
 */
#include "arcp/fixture.h"

#include <ctype.h>
#include <unistd.h>

#include "arcp/tty_screen.h"

#define COLUMNS 100

static const char *const plain[] = {"TERM=xterm", "NO_COLOR=1", "LC_ALL=C", NULL};
static const char *const colored[] = {"TERM=xterm", "LC_ALL=C", NULL};

/* ---- comparing ---- */

/* Appends `success, N s` for `success, 0.1 s`: how long a job ran differs. */
static void mask_closing(const char *row, size_t size, arcp_buf *out)
{
    for (size_t i = 0; i < size; i++) {
        size_t end = i;
        while (end < size && (isdigit((unsigned char)row[end]) || row[end] == '.')) {
            end++;
        }
        if (end > i && size - end >= 2 && memcmp(row + end, " s", 2) == 0) {
            arcp_buf_append_byte(out, 'N');
            i = end;
        }
        arcp_buf_append_byte(out, row[i]);
    }
    arcp_buf_append_byte(out, '\n');
}

/* Replaces what differs between runs in a row with a spinner: its frame, and its time. */
static void mask_row(const char *row, size_t size, arcp_buf *out)
{
    static const char *const frames[] = {"| ", "/ ", "- ", "\\ "};
    size_t indent = 0;
    bool spins = false;
    while (indent < size && row[indent] == ' ') {
        indent++;
    }
    for (size_t i = 0; i < 4 && size >= indent + 2; i++) {
        spins = spins || memcmp(row + indent, frames[i], 2) == 0;
    }
    for (size_t i = 0; i < size; i++) {
        if (spins && i == indent) {
            arcp_buf_append_byte(out, '*');
        } else if (spins && isdigit((unsigned char)row[i]) && row[i - 1] == ' ') {
            size_t end = i;
            while (end < size && isdigit((unsigned char)row[end])) {
                end++;
            }
            const bool is_seconds = end < size && row[end] == 's';
            arcp_buf_append(out,
                            is_seconds ? ARCP_SPAN_LITERAL("N") : arcp_span_make(row + i, end - i));
            i = end - 1;
        } else {
            arcp_buf_append_byte(out, row[i]);
        }
    }
    arcp_buf_append_byte(out, '\n');
}

static void mask_rows(const arcp_buf *text, arcp_buf *out)
{
    size_t offset = 0;
    while (offset < text->size) {
        const char *end = memchr(text->data + offset, '\n', text->size - offset);
        assert_non_null(end);
        const size_t size = (size_t)(end - text->data) - offset;
        if (memmem(text->data + offset, size, "ended", 5) != NULL) {
            mask_closing(text->data + offset, size, out);
        } else {
            mask_row(text->data + offset, size, out);
        }
        offset += size + 1;
    }
}

static void compare(const char *name, const arcp_buf *got)
{
    char path[256];
    char bytes[16384];
    snprintf(path, sizeof path, "%s/tests/arcp/transcripts/%s.txt", ARCP_SOURCE_DIR, name);
    const bool renews = getenv("ARCP_RENEW_TRANSCRIPTS") != NULL;
    FILE *file = fopen(path, renews ? "we" : "re");
    if (file == NULL) {
        fail_msg("%s cannot be opened", path);
    }
    if (renews) {
        assert_int_equal(fwrite(got->data, 1, got->size, file), got->size);
        assert_int_equal(fclose(file), 0);
        return;
    }
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    if (!arcp_span_equal(arcp_buf_span(got), arcp_span_make(bytes, size))) {
        fail_msg("%s is:\n%.*swant:\n%.*s", name, (int)got->size, got->data, (int)size, bytes);
    }
}

/* Compares the screen as it is after the first `size` bytes. */
static void check_screen_at(const process *p, size_t size, const char *name)
{
    arcp_buf rows = arcp_buf_init();
    arcp_buf masked = arcp_buf_init();
    arcp_buf text = arcp_buf_init();
    tty_render(arcp_span_make(p->out.data, size), COLUMNS, &rows);
    fixture_mask(&rows, &masked);
    mask_rows(&masked, &text);
    compare(name, &text);
    arcp_buf_fini(&rows);
    arcp_buf_fini(&masked);
    arcp_buf_fini(&text);
}

static void check_screen(const process *p, const char *name)
{
    check_screen_at(p, p->out.size, name);
}

/* Waits for the text, and compares the screen as it is when the text is complete. */
static void await_screen(process *p, const char *text, const char *name)
{
    process_await(p, false, text);
    const char *found = memmem(p->out.data, p->out.size, text, strlen(text));
    check_screen_at(p, (size_t)(found - p->out.data) + strlen(text), name);
}

/* Only the last rows, which have the bars. */
static void await_area(process *p, const char *text, unsigned rows, const char *name)
{
    arcp_buf all = arcp_buf_init();
    arcp_buf area = arcp_buf_init();
    process_await(p, false, text);
    const char *found = memmem(p->out.data, p->out.size, text, strlen(text));
    tty_render(arcp_span_make(p->out.data, (size_t)(found - p->out.data) + strlen(text)), COLUMNS,
               &all);
    size_t from = all.size - 1;
    while (from > 0 && (all.data[from - 1] != '\n' || --rows != 0)) {
        from--;
    }
    arcp_buf_append(&area, arcp_span_from(arcp_buf_span(&all), from));
    compare(name, &area);
    arcp_buf_fini(&all);
    arcp_buf_fini(&area);
}

static void start(const fixture *f, process *p, const char *const *environment,
                  const char *const *words)
{
    fixture_start_on_terminal(f, p, words, environment, COLUMNS);
}

static void run(const fixture *f, const char *const *environment, int exit_status, const char *name,
                const char *const *words)
{
    process p;
    start(f, &p, environment, words);
    assert_int_equal(process_finish(&p), exit_status);
    check_screen(&p, name);
    process_fini(&p);
}

/* Like the key press. */
static void press_ctrl_c(process *p)
{
    assert_int_equal(write(p->output, "\003", 1), 1);
}

/* The job's id is in its first line. */
static void job_of(const process *p, char job[64])
{
    const char *found = memmem(p->out.data, p->out.size, "job_", 4);
    assert_non_null(found);
    memcpy(job, found, 30);
    job[30] = '\0';
}

/* ---- submit ---- */

static void submit_shows_events_in_colours_by_kind(void **state)
{
    run(*state, colored, 0, "submit-events",
        WORDS("submit", "events", "--budget", "USD:5.00", "--grant", "tool.call=**"));
}

static void submit_without_colour_has_none(void **state)
{
    run(*state, plain, 0, "submit-events-plain",
        WORDS("submit", "events", "--budget", "USD:5.00", "--grant", "tool.call=**"));
    run(*state, (const char *const[]){"TERM=dumb", "LC_ALL=C", NULL}, 0, "submit-events-dumb",
        WORDS("submit", "events"));
}

static void submit_shows_times_on_demand(void **state)
{
    run(*state, plain, 0, "submit-timestamps", WORDS("submit", "hello", "--timestamps"));
}

static void submit_prints_why_it_was_refused(void **state)
{
    run(*state, colored, 1, "submit-refused", WORDS("submit", "nobody"));
}

static void a_bar_is_below_the_lines_until_the_job_ends(void **state)
{
    process p;
    start(*state, &p, plain, WORDS("submit", "progress"));
    await_screen(&p, "25% progress 1/4 files  a.c", "submit-progress-runs");
    press_ctrl_c(&p);
    assert_int_equal(process_finish(&p), 5);
    check_screen(&p, "submit-progress-cancelled");
    process_fini(&p);
}

static void bars_are_finer_with_utf8(void **state)
{
    process p;
    start(*state, &p, (const char *const[]){"TERM=xterm", "LC_ALL=C.UTF-8", NULL},
          WORDS("submit", "progress"));
    await_screen(&p, "25%\033[0m progress 1/4 files  a.c", "submit-progress-utf8");
    press_ctrl_c(&p);
    assert_int_equal(process_finish(&p), 5);
    process_fini(&p);
}

static void each_child_has_a_bar_below_its_parent(void **state)
{
    process p;
    start(*state, &p, plain, WORDS("submit", "family", "--grant", "agent.delegate=progress"));
    await_area(&p,
               "[############............]  50% family 1/2 parts\r\n"
               "  [######..................]  25% progress 1/4 files  a.c\r\n"
               "  [######..................]  25% progress 1/4 files  a.c",
               3, "submit-family-area");
    press_ctrl_c(&p);
    assert_int_equal(process_finish(&p), 5);
    process_fini(&p);
}

static void a_spinner_turns_without_progress_events(void **state)
{
    static const char *const frames[] = {"| wait ", "/ wait ", "- wait ", "\\ wait "};
    process p;
    start(*state, &p, plain, WORDS("submit", "wait"));
    for (size_t frame = 0; frame < 4; frame++) {
        process_await(&p, false, frames[frame]);
    }
    await_screen(&p, "s  running", "submit-spinner");
    press_ctrl_c(&p);
    assert_int_equal(process_finish(&p), 5);
    check_screen(&p, "submit-spinner-cancelled");
    process_fini(&p);
}

static void ctrl_c_twice_detaches_and_prints_how_to_attach_again(void **state)
{
    process p;
    start(*state, &p, plain, WORDS("submit", "stubborn"));
    process_await(&p, false, "never mind\r\n");
    press_ctrl_c(&p);
    process_await(&p, false, "cancelling the job (press Ctrl-C again");
    press_ctrl_c(&p);
    assert_int_equal(process_finish(&p), 130);
    check_screen(&p, "submit-detached");
    process_fini(&p);
}

/* ---- watch, jobs, cancel ---- */

static void watch_shows_a_job_from_its_start(void **state)
{
    process p;
    char job[64];
    start(*state, &p, plain, WORDS("submit", "events", "--quiet", "--detach"));
    assert_int_equal(process_finish(&p), 0);
    job_of(&p, job);
    check_screen(&p, "submit-detach");
    process_fini(&p);
    run(*state, colored, 0, "watch-from-start", WORDS("watch", job, "--from-start"));
    run(*state, plain, 0, "watch-ended", WORDS("watch", job));
    run(*state, plain, 1, "watch-unknown", WORDS("watch", "job_nowhere"));
}

static void jobs_are_a_table(void **state)
{
    process p;
    char cancelled[64];
    fixture_run(*state, &p, 0, WORDS("submit", "echo", "--quiet"));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("submit", "wait", "--detach", "--quiet"));
    assert_int_equal(sscanf(p.out.data, "%63s", cancelled), 1);
    process_fini(&p);
    run(*state, plain, 0, "cancel", WORDS("cancel", cancelled, "--reason", "enough"));
    run(*state, plain, 5, "watch-cancelled", WORDS("watch", cancelled));
    run(*state, plain, 0, "jobs", WORDS("jobs", "--agent", "echo", "-o", "name"));
    run(*state, plain, 0, "jobs-none", WORDS("jobs", "--agent", "echo", "--status", "error"));
    run(*state, plain, 1, "cancel-unknown", WORDS("cancel", "job_nowhere"));
}

static void a_cancel_in_another_process_is_seen_by_the_submit(void **state)
{
    process submitter;
    char job[64];
    start(*state, &submitter, plain, WORDS("submit", "wait"));
    process_await(&submitter, false, "log       waiting\r\n");
    job_of(&submitter, job);
    run(*state, plain, 0, "cancel", WORDS("cancel", job));
    assert_int_equal(process_finish(&submitter), 5);
    check_screen(&submitter, "submit-cancelled-elsewhere");
    process_fini(&submitter);
}

/* ---- the rest ---- */

static void usage_errors_have_two_lines(void **state)
{
    run(*state, plain, 2, "usage", WORDS("submit", "hello", "--imput", "1"));
    run(*state, plain, 3, "not-connected", WORDS("ping", "--url", "ws://127.0.0.1:1/arcp"));
    run(*state, plain, 3, "not-authenticated", WORDS("ping", "--token", "wrong"));
    run(*state, plain, 0, "agents", WORDS("agents"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submit_shows_events_in_colours_by_kind),
        cmocka_unit_test(submit_without_colour_has_none),
        cmocka_unit_test(submit_shows_times_on_demand),
        cmocka_unit_test(submit_prints_why_it_was_refused),
        cmocka_unit_test(a_bar_is_below_the_lines_until_the_job_ends),
        cmocka_unit_test(bars_are_finer_with_utf8),
        cmocka_unit_test(each_child_has_a_bar_below_its_parent),
        cmocka_unit_test(a_spinner_turns_without_progress_events),
        cmocka_unit_test(ctrl_c_twice_detaches_and_prints_how_to_attach_again),
        cmocka_unit_test(watch_shows_a_job_from_its_start),
        cmocka_unit_test(jobs_are_a_table),
        cmocka_unit_test(a_cancel_in_another_process_is_seen_by_the_submit),
        cmocka_unit_test(usage_errors_have_two_lines),
    };
    return cmocka_run_group_tests(tests, fixture_begin_bare, fixture_end);
}
