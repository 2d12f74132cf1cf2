/* URL and token of the runtime: precedence of the sources, and errors with file, line and key. */
#include "support/check.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcp/temp_tree.h"
#include "cli/cli.h"

typedef struct place {
    char home[64];
    char config[128];
} place;

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A file in the directory of contexts. */
static void write_beside(const place *p, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/.config/arcp/contexts", p->home);
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/.config/arcp/contexts/%s", p->home, name);
    write_text(path, text);
}

static void write_context(const place *p, const char *name, const char *text)
{
    char file[64];
    snprintf(file, sizeof file, "%s.yaml", name);
    write_beside(p, file, text);
}

static void write_current(const place *p, const char *text)
{
    write_beside(p, "current", text);
}

/* A temporary home, and an environment without ARCP_*. */
static int set_up(void **state)
{
    static place p;
    static const char *const names[] = {"ARCP_URL",        "ARCP_TOKEN",     "ARCP_CONTEXT",
                                        "XDG_CONFIG_HOME", "XDG_STATE_HOME", "STATE_DIRECTORY"};
    char path[160];
    temp_tree_make(p.home, sizeof p.home);
    assert_int_equal(setenv("HOME", p.home, 1), 0);
    for (size_t row = 0; row < sizeof names / sizeof names[0]; row++) {
        assert_int_equal(unsetenv(names[row]), 0);
    }
    snprintf(path, sizeof path, "%s/.config", p.home);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/.config/arcp", p.home);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(p.config, sizeof p.config, "%s/.config/arcp/config.yaml", p.home);
    *state = &p;
    return 0;
}

static int tear_down(void **state)
{
    const place *p = *state;
    return temp_tree_remove(p->home);
}

static arcp_status find(const char *url, char *token, const char *context, arcp__target *target,
                        arcp_error *err)
{
    arcp__arguments arguments = {.command = ARCP__COMMAND_PING, .token = token};
    const char *urls[] = {url};
    const char *contexts[] = {context};
    if (url != NULL) {
        arguments.values[ARCP__OPTION_URL] = urls;
        arguments.counts[ARCP__OPTION_URL] = 1;
    }
    if (context != NULL) {
        arguments.values[ARCP__OPTION_CONTEXT] = contexts;
        arguments.counts[ARCP__OPTION_CONTEXT] = 1;
    }
    return arcp__target_find(&arguments, target, err);
}

static void check_target(const char *url, char *token, const char *context, const char *want_url,
                         const char *want_token)
{
    arcp__target target;
    arcp_error err = {0};
    check_ok(find(url, token, context, &target, &err), &err);
    assert_string_equal(target.url, want_url);
    if (want_token == NULL) {
        assert_null(target.token);
    } else {
        assert_non_null(target.token);
        check_span(arcp_secret_reveal(target.token), want_token);
    }
    arcp__target_fini(&target);
}

static void by_default_the_local_daemon_is_used(void **state)
{
    check_target(NULL, NULL, NULL, ARCP__DEFAULT_URL, NULL);
}

static void the_daemons_token_is_found_in_its_state_directory(void **state)
{
    const place *p = *state;
    char path[160];
    static const char *const folders[] = {".local/state/arcp", "xdg/arcp", "sys"};
    for (size_t row = 0; row < 3; row++) {
        snprintf(path, sizeof path, "%s/%s", p->home, folders[row]);
        temp_tree_add(path);
    }
    snprintf(path, sizeof path, "%s/.local/state/arcp/token", p->home);
    write_text(path, "from-home\n");
    check_target(NULL, NULL, NULL, ARCP__DEFAULT_URL, "from-home");

    snprintf(path, sizeof path, "%s/xdg/arcp/token", p->home);
    write_text(path, "from-xdg\n");
    snprintf(path, sizeof path, "%s/xdg", p->home);
    setenv("XDG_STATE_HOME", path, 1);
    check_target(NULL, NULL, NULL, ARCP__DEFAULT_URL, "from-xdg");

    snprintf(path, sizeof path, "%s/sys/token", p->home);
    write_text(path, "from-system\n");
    snprintf(path, sizeof path, "%s/sys", p->home);
    setenv("STATE_DIRECTORY", path, 1);
    check_target(NULL, NULL, NULL, ARCP__DEFAULT_URL, "from-system");
    check_target("ws://localhost:9/arcp", NULL, NULL, "ws://localhost:9/arcp", "from-system");
    check_target("stdio:arcpd --stdio", NULL, NULL, "stdio:arcpd --stdio", "from-system");
    /* Other users must not be able to read it. */
    check_target("wss://example.org/arcp", NULL, NULL, "wss://example.org/arcp", NULL);

    /* As in arcpd, a relative path is ignored. */
    setenv("STATE_DIRECTORY", "sys", 1);
    check_target(NULL, NULL, NULL, ARCP__DEFAULT_URL, "from-xdg");
    setenv("XDG_STATE_HOME", "xdg", 1);
    check_target(NULL, NULL, NULL, ARCP__DEFAULT_URL, "from-home");
}

static void options_override_the_environment_which_overrides_the_file(void **state)
{
    const place *p = *state;
    char token[] = "from-option";
    write_text(p->config, "url: ws://file\ntoken: from-file\n");
    check_target(NULL, NULL, NULL, "ws://file", "from-file");
    setenv("ARCP_URL", "ws://environment", 1);
    setenv("ARCP_TOKEN", "from-environment", 1);
    check_target(NULL, NULL, NULL, "ws://environment", "from-environment");
    check_target("ws://option", token, NULL, "ws://option", "from-option");
    setenv("ARCP_URL", "", 1);
    setenv("ARCP_TOKEN", "", 1);
    check_target(NULL, NULL, NULL, "ws://file", "from-file");
}

static void check_ca_file(const char *option, const char *context, const char *want)
{
    arcp__arguments arguments = {0};
    arcp__target target;
    arcp_error err = {0};
    const char *files[] = {option};
    const char *contexts[] = {context};
    if (option != NULL) {
        arguments.values[ARCP__OPTION_CA_FILE] = files;
        arguments.counts[ARCP__OPTION_CA_FILE] = 1;
    }
    if (context != NULL) {
        arguments.values[ARCP__OPTION_CONTEXT] = contexts;
        arguments.counts[ARCP__OPTION_CONTEXT] = 1;
    }
    check_ok(arcp__target_find(&arguments, &target, &err), &err);
    if (want == NULL) {
        assert_null(target.ca_file);
    } else {
        assert_string_equal(target.ca_file, want);
    }
    arcp__target_fini(&target);
}

static void authorities_come_from_the_option_the_environment_or_the_file(void **state)
{
    const place *p = *state;
    check_ca_file(NULL, NULL, NULL);
    write_text(p->config, "ca_file: /file.pem\n");
    write_context(p, "own", "ca_file: /context.pem\n");
    check_ca_file(NULL, NULL, "/file.pem");
    check_ca_file(NULL, "own", "/context.pem");
    setenv("ARCP_CA_FILE", "/environment.pem", 1);
    check_ca_file(NULL, NULL, "/environment.pem");
    check_ca_file(NULL, "own", "/context.pem");
    check_ca_file("/option.pem", "own", "/option.pem");
    unsetenv("ARCP_CA_FILE");
}

/* --url and --token; --context; the environment; the context that is named there or current; the
 * configuration file. */
static void a_context_overrides_the_file_and_the_environment_the_current_context(void **state)
{
    const place *p = *state;
    char token[] = "from-option";
    write_text(p->config, "url: ws://file\ntoken: top\n");
    write_context(p, "test", "url: ws://test\ntoken: t\n");
    write_context(p, "prod", "url: wss://prod\n");
    write_context(p, "same", "token: other\n");
    check_target(NULL, NULL, NULL, "ws://file", "top");
    check_target(NULL, NULL, "same", "ws://file", "other");
    /* The file's token belongs to the file's runtime. */
    check_target(NULL, NULL, "prod", "wss://prod", NULL);
    write_current(p, "test\n");
    check_target(NULL, NULL, NULL, "ws://test", "t");
    setenv("ARCP_CONTEXT", "same", 1);
    check_target(NULL, NULL, NULL, "ws://file", "other");
    check_target(NULL, NULL, "prod", "wss://prod", NULL);
    check_target(NULL, NULL, "default", "ws://file", "top");
    setenv("ARCP_CONTEXT", "default", 1);
    check_target(NULL, NULL, NULL, "ws://file", "top");
    setenv("ARCP_CONTEXT", "", 1);
    check_target(NULL, NULL, NULL, "ws://test", "t");
    setenv("ARCP_URL", "ws://environment", 1);
    setenv("ARCP_TOKEN", "from-environment", 1);
    check_target(NULL, NULL, NULL, "ws://environment", "from-environment");
    check_target("ws://option", token, "prod", "ws://option", "from-option");
    check_target(NULL, NULL, "test", "ws://test", "t");
    check_target("ws://other", NULL, "test", "ws://other", "from-environment");
    check_target(NULL, NULL, "prod", "wss://prod", "from-environment");
    check_target(NULL, NULL, "default", "ws://environment", "from-environment");
}

static void a_context_that_cannot_be_used_is_refused(void **state)
{
    static const struct {
        const char *name, *says;
    } rows[] = {
        {"nowhere", "there is no context nowhere (there are a.b-c_1, bad)"},
        {"bad", "/contexts/bad.yaml:1: models: is not a key of the configuration"},
        {"../config", "'../config' is not the name of a context"},
        {".x", "'.x' is not the name of a context"},
        {"", "'' is not the name of a context"},
        {"a23456789b23456789c23456789d23456789e23456789f23456789g23456789xyzab",
         "is not the name of a context"},
    };
    const place *p = *state;
    write_context(p, "bad", "models: {}\n");
    write_context(p, "a.b-c_1", "url: ws://x\n");
    write_beside(p, "a b.yaml", "url: ws://x\n"); /* no name */
    write_beside(p, "README", "");
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        arcp__target target;
        arcp_error err = {0};
        print_message("  %s\n", rows[row].name);
        assert_int_equal(find(NULL, NULL, rows[row].name, &target, &err), ARCP_E_USAGE);
        if (strstr(err.message, rows[row].says) == NULL) {
            fail_msg("message: %s", err.message);
        }
        arcp__target_fini(&target);
    }
    check_target(NULL, NULL, "a.b-c_1", "ws://x", NULL);
}

/* A URL may come from anywhere: a copied command, a .env file. The token is only for its own URL.
 */
static void a_token_of_the_file_is_only_for_the_url_beside_it(void **state)
{
    const place *p = *state;
    char token[] = "given";
    write_text(p->config, "url: wss://own.example/arcp\ntoken: secret\n");
    write_context(p, "other", "url: ws://127.0.0.1:9/arcp\ntoken: theirs\n");
    check_target("ws://evil.example/arcp", NULL, NULL, "ws://evil.example/arcp", NULL);
    check_target("wss://own.example/else", NULL, NULL, "wss://own.example/else", "secret");
    check_target("wss://own.example/arcp", NULL, "other", "wss://own.example/arcp", "secret");
    check_target("ws://evil.example/arcp", NULL, "other", "ws://evil.example/arcp", NULL);
    check_target("ws://127.0.0.1:9/x", NULL, "other", "ws://127.0.0.1:9/x", "theirs");
    setenv("ARCP_URL", "ws://evil.example/arcp", 1);
    check_target(NULL, NULL, NULL, "ws://evil.example/arcp", NULL);
    check_target(NULL, NULL, "other", "ws://127.0.0.1:9/arcp", "theirs");
    setenv("ARCP_CONTEXT", "other", 1);
    check_target(NULL, NULL, NULL, "ws://evil.example/arcp", NULL);
    unsetenv("ARCP_CONTEXT");
    check_target(NULL, token, NULL, "ws://evil.example/arcp", "given");
    setenv("ARCP_TOKEN", "named", 1);
    check_target(NULL, NULL, NULL, "ws://evil.example/arcp", "named");
}

static void a_token_without_a_url_is_for_the_default_url(void **state)
{
    const place *p = *state;
    write_text(p->config, "token: secret\n");
    check_target(NULL, NULL, NULL, ARCP__DEFAULT_URL, "secret");
    check_target("ws://evil.example/arcp", NULL, NULL, "ws://evil.example/arcp", NULL);
}

static void a_missing_token_is_explained(void **state)
{
    const place *p = *state;
    arcp__target target;
    arcp_error err = {0};
    write_text(p->config, "url: wss://own.example/arcp\ntoken: secret\n");
    check_ok(find("ws://evil.example/arcp", NULL, NULL, &target, &err), &err);
    assert_string_equal(target.no_token,
                        "no token was sent: neither --token nor ARCP_TOKEN is set; the "
                        "configuration file has one for wss://own.example/arcp, not for "
                        "ws://evil.example/arcp; the token of this user's arcpd is for loopback "
                        "URLs only");
    arcp__target_fini(&target);
    write_text(p->config, "url: ws://127.0.0.1:9/arcp\n");
    check_ok(find(NULL, NULL, NULL, &target, &err), &err);
    assert_string_equal(target.no_token,
                        "no token was sent: neither --token nor ARCP_TOKEN is set; the "
                        "configuration file has none; this user's arcpd has written none");
    arcp__target_fini(&target);
}

static const struct runtime_row {
    const char *name;
    const char *a;
    const char *b;
    bool is_same;
} runtime_rows[] = {
    {"another path", "wss://h/arcp", "wss://h/other", true},
    {"another spelling of the host", "wss://Example.ORG/arcp", "wss://example.org./arcp", true},
    {"the scheme's port", "wss://h/arcp", "wss://h:443/arcp", true},
    {"another port", "wss://h:443/arcp", "wss://h:444/arcp", false},
    {"without TLS", "wss://h:443/arcp", "ws://h:443/arcp", false},
    {"another host", "wss://h/arcp", "wss://h.example/arcp", false},
    {"user information", "wss://h/arcp", "wss://h@evil.example/arcp", false},
    {"a name and its address", "ws://localhost:1/", "ws://127.0.0.1:1/", false},
    {"one command", "stdio:arcpd --stdio", "stdio:arcpd --stdio", true},
    {"another command", "stdio:arcpd --stdio", "stdio:evil --stdio", false},
    {"an invalid URL", "h", "i", false},
};

static void a_runtime_is_a_scheme_a_host_and_a_port(void **state)
{
    for (size_t row = 0; row < sizeof runtime_rows / sizeof runtime_rows[0]; row++) {
        const struct runtime_row *r = &runtime_rows[row];
        print_message("  %s\n", r->name);
        assert_int_equal(arcp__url_is_same_runtime(r->a, r->b), r->is_same);
        assert_int_equal(arcp__url_is_same_runtime(r->b, r->a), r->is_same);
    }
}

static void tokens_come_from_files_and_commands(void **state)
{
    const place *p = *state;
    char path[160];
    char text[256];
    snprintf(path, sizeof path, "%s/token", p->home);
    write_text(path, "  kept-inside \t\r\nsecond line\n");
    write_text(p->config, "token_file: ~/token\n");
    check_target(NULL, NULL, NULL, ARCP__DEFAULT_URL, "  kept-inside");
    snprintf(text, sizeof text, "token_command: [printf, 'a b\\n$HOME']\n");
    write_text(p->config, text);
    check_target(NULL, NULL, NULL, ARCP__DEFAULT_URL, "a b");
}

#define TOKEN_BYTES_MAX 65536 /* src/cli/config.c */

static void the_longest_token_is_accepted(void **state)
{
    static char token[TOKEN_BYTES_MAX + 1];
    const place *p = *state;
    char path[160];
    memset(token, 'x', TOKEN_BYTES_MAX);
    snprintf(path, sizeof path, "%s/token", p->home);
    write_text(path, token);
    write_text(p->config, "token_file: ~/token\n");
    check_target(NULL, NULL, NULL, ARCP__DEFAULT_URL, token);
}

static const struct fault {
    const char *name;
    const char *text;
    const char *says; /* after the path */
} faults[] = {
    {"an unknown key", "url: ws://x\ntokne: t\n", ":2: tokne: is not a key of the configuration"},
    {"a key twice", "url: a\nurl: b\n", ":2: url: occurs twice"},
    {"a list for a string", "url: [a]\n", ":1: url: must be a string"},
    {"an empty string", "url: ''\n", ":1: url: must be a string"},
    {"a string for a list", "token_command: pass show\n", ":1: token_command: must be a list"},
    {"an empty list", "token_command: []\n", ":1: token_command: must be a list"},
    {"a program without a name", "token_command: ['', x]\n", ":1: token_command: must be a list"},
    {"a path that is empty", "ca_file: ''\n", ":1: ca_file: must be a string"},
    {"a word that is not a string", "token_command: [a, [b]]\n",
     ":1: token_command[1]: must be a string"},
    {"a file that is not a map", "- a\n", ":1: must be a map"},
    {"no YAML", "url: 'a\n", ":2: found unexpected end of stream"},
    {"a token file that is not there", "token_file: /nonexistent/token\n",
     "/nonexistent/token cannot be read"},
    {"a command that fails", "token_command: [sh, -c, 'exit 3']\n", "sh failed (status 3)"},
    {"a token file that is a folder", "token_file: /tmp\n",
     "the token file /tmp cannot be read: Is a directory"},
    {"a token file that is a device", "token_file: /dev/zero\n",
     "the token file /dev/zero cannot be read: it is longer than 65536 bytes"},
    {"a command that is not there", "token_command: [/nonexistent/pass]\n",
     "token_command: /nonexistent/pass failed"}, /* (status 127, ...) under valgrind */
    {"a command that finds no program", "token_command: [sh, -c, /nonexistent/pass]\n",
     "token_command: sh failed (status 127, the program was not found)"},
    {"a command with too much output", "token_command: [head, -c, '65537', /dev/zero]\n",
     "token_command: cannot read the output of head: it is longer than 65536 bytes"},
    /* It must not inherit our ignored signals. */
    {"a command that a closed pipe ends", "token_command: [sh, -c, 'kill -s PIPE $$; echo t']\n",
     "sh failed (signal 13)"},
    {"a command without output", "token_command: ['true']\n", "true provided no token"},
};

static void errors_name_file_line_and_key(void **state)
{
    const place *p = *state;
    for (size_t row = 0; row < sizeof faults / sizeof faults[0]; row++) {
        arcp__target target;
        arcp_error err = {0};
        print_message("  %s\n", faults[row].name);
        write_text(p->config, faults[row].text);
        assert_int_equal(find(NULL, NULL, NULL, &target, &err), ARCP_E_USAGE);
        if (strstr(err.message, faults[row].says) == NULL) {
            fail_msg("message: %s", err.message);
        }
        if (faults[row].says[0] == ':') {
            assert_non_null(strstr(err.message, "config.yaml:"));
        }
        arcp__target_fini(&target);
    }
}

static void a_file_that_was_named_must_exist(void **state)
{
    arcp__config_level level;
    arcp_error err = {0};
    assert_int_equal(arcp__config_file_read("/nonexistent/x.yaml", false, &level, &err),
                     ARCP_E_USAGE);
    check_ok(arcp__config_file_read("/nonexistent/x.yaml", true, &level, &err), &err);
    assert_int_equal(arcp__config_file_read("/tmp", true, &level, &err), ARCP_E_USAGE);
    assert_string_equal(err.message, "/tmp: cannot be read: Is a directory");
    assert_int_equal(arcp__context_file_read("/nonexistent/x.yaml", &level, &err), ARCP_E_USAGE);
}

/* Those of `arcp run`, which reads them itself: a mistake in them is no concern of others. */
static void groups_of_other_commands_are_left_alone(void **state)
{
    const place *p = *state;
    arcp__target target;
    arcp_error err = {0};
    write_text(p->config, "url: ws://one.example/arcp\ntoken: t\n"
                          "models: {providers: 3}\ntools: []\ngateways: {no_such_key: 1}\n");
    assert_int_equal(find(NULL, NULL, NULL, &target, &err), ARCP_OK);
    assert_string_equal(target.url, "ws://one.example/arcp");
    arcp__target_fini(&target);
}

static void an_empty_file_sets_nothing(void **state)
{
    const place *p = *state;
    write_text(p->config, "# nothing yet\n");
    check_target(NULL, NULL, NULL, ARCP__DEFAULT_URL, NULL);
}

static const struct url_row {
    const char *url;
    bool is_local;
} url_rows[] = {
    {"ws://127.0.0.1:7777/arcp", true},
    {"ws://127.8.9.1/arcp", true},
    {"ws://localhost/arcp", true},
    {"wss://localhost:1", true},
    {"ws://[::1]:7777/arcp", true},
    {"stdio:ssh host arcpd --stdio", true},
    {"ws://127.0.0.1.example.org/arcp", false},
    {"ws://localhost.example.org/arcp", false},
    {"ws://localhost@example.org/arcp", false},
    {"ws://127.0.0.1@example.org/", false},
    {"ws://[::1].example.org/", false},
    {"WSS://LocalHost:7777", true},
    {"ws://127.0.0.1/a@b", true},
    {"ws://10.0.0.1/arcp", false},
    {"ws://127.0.0.1:65536/arcp", false},
    {"http://127.0.0.1/arcp", false},
    {"memory:127.0.0.1", false},
    {"wss://example.org/127.0.0.1", false},
    {"ws://example.org#127.0.0.1", false},
    {"localhost", false},
    {"", false},
};

static void only_this_machine_is_local(void **state)
{
    for (size_t row = 0; row < sizeof url_rows / sizeof url_rows[0]; row++) {
        print_message("  %s\n", url_rows[row].url);
        assert_int_equal(arcp__url_is_local(arcp_span_cstr(url_rows[row].url)),
                         url_rows[row].is_local);
    }
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN); /* as arcp does */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(by_default_the_local_daemon_is_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_daemons_token_is_found_in_its_state_directory, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(options_override_the_environment_which_overrides_the_file,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            authorities_come_from_the_option_the_environment_or_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_context_overrides_the_file_and_the_environment_the_current_context, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(a_context_that_cannot_be_used_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_token_of_the_file_is_only_for_the_url_beside_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_token_without_a_url_is_for_the_default_url, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_missing_token_is_explained, set_up, tear_down),
        cmocka_unit_test(a_runtime_is_a_scheme_a_host_and_a_port),
        cmocka_unit_test_setup_teardown(tokens_come_from_files_and_commands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_longest_token_is_accepted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_name_file_line_and_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_was_named_must_exist, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_of_other_commands_are_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_file_sets_nothing, set_up, tear_down),
        cmocka_unit_test(only_this_machine_is_local),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
