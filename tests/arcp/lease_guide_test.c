/* Runs the examples of the lease guides and compares the output with that in the pages. */
#include "support/check.h"

#include <unistd.h>

#include "arcp/command.h"

enum { WORDS_MAX = 12, TEXT_MAX = 4096 };

static const char prompt[] = "$ arcp lease ";

/* Splits a command line at spaces; single quotes keep a word together. */
static int split(char *line, char *words[WORDS_MAX])
{
    int count = 0;
    for (char *rest = line; *rest != '\0' && count < WORDS_MAX - 1;) {
        const bool quoted = *rest == '\'';
        rest += quoted;
        words[count++] = rest;
        rest += strcspn(rest, quoted ? "'" : " ");
        if (*rest != '\0') {
            *rest++ = '\0';
        }
        rest += strspn(rest, " ");
    }
    words[count] = NULL;
    return count;
}

/* Runs a command line; appends both streams and the status to `out` in the form of the pages. */
static void run(char *line, char out[TEXT_MAX])
{
    char *words[WORDS_MAX + 2] = {(char *)"arcp", (char *)"lease"};
    const int count = 2 + split(line, words + 2);
    FILE *file = tmpfile();
    assert_non_null(file);
    (void)fflush(stdout);
    (void)fflush(stderr);
    const int saved_out = dup(STDOUT_FILENO);
    const int saved_err = dup(STDERR_FILENO);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    const int status = arcp__main(count, words);
    (void)fflush(stdout);
    (void)fflush(stderr);
    assert_true(dup2(saved_out, STDOUT_FILENO) >= 0);
    assert_true(dup2(saved_err, STDERR_FILENO) >= 0);
    (void)close(saved_out);
    (void)close(saved_err);
    rewind(file);
    const size_t size = fread(out, 1, TEXT_MAX - 64, file);
    (void)fclose(file);
    out[size] = '\0';
    if (status != 0) {
        (void)snprintf(out + size, 64, "(exit status %d)\n", status);
    }
}

/* Reads the text after a command, up to the next one, an empty line or the end of the block. */
static void read_expected(FILE *page, char want[TEXT_MAX])
{
    char line[TEXT_MAX];
    size_t size = 0;
    want[0] = '\0';
    while (fgets(line, sizeof line, page) != NULL && line[0] != '\n' &&
           strncmp(line, "```", 3) != 0) {
        size += (size_t)snprintf(want + size, TEXT_MAX - size, "%s", line);
        assert_true(size < TEXT_MAX);
    }
}

static void check_page(const char *name, int least)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/docs/%s", ARCP_SOURCE_DIR, name);
    FILE *page = fopen(path, "r");
    assert_non_null(page);
    static char line[TEXT_MAX];
    static char command[TEXT_MAX];
    static char want[TEXT_MAX];
    static char got[TEXT_MAX];
    int examples = 0;
    while (fgets(line, sizeof line, page) != NULL) {
        if (strncmp(line, prompt, sizeof prompt - 1) != 0) {
            continue;
        }
        line[strcspn(line, "\n")] = '\0';
        (void)snprintf(command, sizeof command, "%s", line + sizeof prompt - 1);
        print_message("  %s\n", command);
        read_expected(page, want);
        run(command, got);
        assert_string_equal(got, want);
        examples++;
    }
    (void)fclose(page);
    assert_true(examples >= least);
}

static void the_output_in_the_guide_is_correct(void **state)
{
    (void)state;
    check_page("leases.md", 20);
}

static void the_output_in_the_page_about_threats_is_correct(void **state)
{
    (void)state;
    check_page("lease-threats.md", 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_output_in_the_guide_is_correct),
        cmocka_unit_test(the_output_in_the_page_about_threats_is_correct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
