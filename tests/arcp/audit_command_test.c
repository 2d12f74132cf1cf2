/* `arcp audit` when a file, or the reader of its output, is missing. */
#include "support/check.h"

#include "store/temp_dir.h"

/* More than a pipe can hold. */
enum { LINES = 3000 };

static void write_log(const char *path)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    for (int i = 0; i < LINES; i++) {
        assert_true(fprintf(file, "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"event\":\"gate\","
                                  "\"decision\":\"deny\"}\n") > 0);
    }
    assert_int_equal(fclose(file), 0);
}

/* Runs the shell line: its standard error, and its exit status. `arcp` is that of this build. */
static int run(const char *line, const char *path, char *errors, size_t size)
{
    char command[1024];
    (void)snprintf(command, sizeof command,
                   "arcp() { " ARCP_BINARY_DIR "/bin/arcp \"$@\"; }; LOG=%s; { %s; } 2>&1", path,
                   line);
    FILE *pipe = popen(command, "re"); /* NOLINT(cert-env33-c): constant arguments */
    assert_non_null(pipe);
    const size_t used = fread(errors, 1, size - 1, pipe);
    errors[used] = '\0';
    return pclose(pipe) >> 8;
}

static const struct row {
    const char *name;
    const char *line;
    int exit_status;
    const char *errors;
} rows[] = {
    {"a file that is not there", "arcp audit verify /nonexistent/log >/dev/null", 1,
     "error: IO: /nonexistent/log cannot be opened: No such file or directory\n"},
    {"a folder", "arcp audit grep /tmp >/dev/null", 1,
     "error: IO: /tmp cannot be read: Is a directory\n"},
    {"an unknown subcommand", "arcp audit look $LOG", 2,
     "arcp audit: unknown audit command 'look' (expected verify or grep)\ntry: arcp audit "
     "--help\n"},
    {"a full disk", "arcp audit grep $LOG >/dev/full", 1,
     "error: standard output: No space left on device\n"},
    {"no message if the reader has closed", "arcp audit grep $LOG | :", 0, ""},
};

static void each_error_is_printed_at_most_once(void **state)
{
    char errors[4096];
    temp_dir *dir = temp_dir_new();
    const char *path = temp_dir_join(dir, "", "audit.jsonl");
    (void)state;
    write_log(path);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        print_message("  %s\n", rows[i].name);
        const int exit_status = run(rows[i].line, path, errors, sizeof errors);
        assert_string_equal(errors, rows[i].errors);
        assert_int_equal(exit_status, rows[i].exit_status);
    }
    temp_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_error_is_printed_at_most_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
