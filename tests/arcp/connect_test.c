/* Which runtime `arcp` connects to, with which token, and that the token stays hidden. */
#include "arcp/fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "arcp/temp_tree.h"

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Stores the daemon's token as a user would for another machine. */
static void keep_token(const fixture *f, const char *name, char path[96])
{
    char from[96];
    char token[256];
    snprintf(path, 96, "%s/%s", f->directory, name);
    snprintf(from, sizeof from, "%s/state/arcp/token", f->directory);
    FILE *file = fopen(from, "re");
    assert_non_null(file);
    assert_non_null(fgets(token, sizeof token, file));
    assert_int_equal(fclose(file), 0);
    write_file(path, token);
}

static void contexts_have_url_and_token(void **state)
{
    const fixture *f = *state;
    process p;
    char folder[128];
    char token[96];
    char command[128];
    char text[1024];
    keep_token(f, "prod.token", token);
    snprintf(command, sizeof command, "[cat, %s]", token);
    snprintf(folder, sizeof folder, "%s/.config/arcp/contexts", f->directory);
    temp_tree_add(folder);
    const struct {
        const char *name, *url, *key, *value;
        int exit_status;
    } rows[] = {{"prod", f->url, "token_file", token, 0},
                {"pass", f->url, "token_command", command, 0},
                {"wrong", f->url, "token", "wrong", 3},
                {"nowhere", "ws://127.0.0.1:1/arcp", "token_file", token, 3},
                {"other", NULL, NULL, NULL, 2}};
    assert_int_equal(unsetenv("ARCP_URL"), 0);
    /* A state directory without the token of the daemon. */
    char other[128];
    snprintf(other, sizeof other, "XDG_STATE_HOME=%s/other", f->directory);
    const char *const elsewhere[] = {other, NULL};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        char path[256];
        print_message("  %s\n", rows[row].name);
        if (rows[row].url != NULL) {
            snprintf(path, sizeof path, "%s/%s.yaml", folder, rows[row].name);
            snprintf(text, sizeof text, "url: '%s'\n%s: %s\n", rows[row].url, rows[row].key,
                     rows[row].value);
            write_file(path, text);
        }
        fixture_start_with(f, &p, WORDS("submit", "hello", "--quiet", "--context", rows[row].name),
                           elsewhere, NULL);
        assert_int_equal(process_finish(&p), rows[row].exit_status);
        check_output(&p, rows[row].exit_status == 0 ? "hello\n" : "");
        process_fini(&p);
    }
    assert_int_equal(setenv("ARCP_URL", f->url, 1), 0);
}

/* Here the daemon plays a foreign runtime, named in a copied command. */
static void the_token_of_the_file_is_not_sent_to_another_runtime(void **state)
{
    const fixture *f = *state;
    process p;
    char path[128];
    char token[96];
    char text[512];
    char other[128];
    keep_token(f, "own.token", token);
    snprintf(path, sizeof path, "%s/own.yaml", f->directory);
    snprintf(text, sizeof text, "url: 'wss://own.example/arcp'\ntoken_file: %s\n", token);
    write_file(path, text);
    snprintf(other, sizeof other, "XDG_STATE_HOME=%s/other", f->directory);
    const char *const elsewhere[] = {other, NULL};
    const char *const words[][6] = {{"ping", "--config", path, NULL}, /* ARCP_URL */
                                    {"ping", "--config", path, "--url", f->url, NULL},
                                    {"conformance", "--config", path, f->url, NULL}};
    for (size_t row = 0; row < sizeof words / sizeof words[0]; row++) {
        fixture_start_with(f, &p, words[row], elsewhere, NULL);
        assert_int_equal(process_finish(&p), 3);
        const char *want = "the configuration file has one for wss://own.example/arcp, not for ";
        assert_non_null(memmem(p.err.data, p.err.size, want, strlen(want)));
        process_fini(&p);
    }
}

static void a_runtime_can_be_a_command(void **state)
{
    process p;
    char url[1024];
    snprintf(url, sizeof url,
             "stdio:%s/bin/arcpd --stdio --store memory: --agent 'hello=sh %s/tests/arcp/agents/"
             "hello.sh'",
             ARCP_BINARY_DIR, ARCP_SOURCE_DIR);
    fixture_run(*state, &p, 0, WORDS("submit", "hello", "--quiet", "--url", url));
    check_output(&p, "hello\n");
    process_fini(&p);
}

static void a_token_is_not_visible_in_the_process_list(void **state)
{
    const fixture *f = *state;
    process p;
    char path[96];
    char token[256] = "";
    char line[1024] = "";
    snprintf(path, sizeof path, "%s/state/arcp/token", f->directory);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(token, sizeof token, file));
    fclose(file);
    token[strcspn(token, "\n")] = '\0';
    fixture_start(f, &p, WORDS("submit", "wait", "--token", token));
    process_await(&p, true, "log       waiting\n");
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)p.pid);
    file = fopen(path, "re");
    assert_non_null(file);
    const size_t size = fread(line, 1, sizeof line, file);
    fclose(file);
    assert_non_null(memmem(line, size, "--token", 7));
    assert_null(memmem(line, size, token, strlen(token)));
    process_signal(&p, SIGINT);
    assert_int_equal(process_finish(&p), 5);
    process_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_have_url_and_token),
        cmocka_unit_test(the_token_of_the_file_is_not_sent_to_another_runtime),
        cmocka_unit_test(a_runtime_can_be_a_command),
        cmocka_unit_test(a_token_is_not_visible_in_the_process_list),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
