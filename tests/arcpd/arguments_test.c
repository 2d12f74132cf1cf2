/* arcpd's command line: errors name the offending option, and options override the file. */
#include "support/check.h"

#include "arcpd/arcpd.h"

/* A command line, written as words with '|' between them, where it can be changed. */
typedef struct line {
    char text[256];
    char *words[13];
    int count;
} line;

static void line_make(line *l, const char *text)
{
    *l = (line){.count = 0};
    assert_true(strlen(text) < sizeof l->text);
    (void)snprintf(l->text, sizeof l->text, "%s", text);
    for (char *word = l->text; word != NULL;) {
        char *end = strchr(word, '|');
        assert_true(l->count < 12);
        l->words[l->count++] = word;
        word = end == NULL ? NULL : end + 1;
        if (end != NULL) {
            *end = '\0';
        }
    }
}

static arcp_status look(const char *text, line *l, arcp__arguments *out, arcp_error *err)
{
    line_make(l, text);
    return arcp__arguments_read(l->count, l->words, out, err);
}

static void a_wrong_command_line_is_refused_by_name_of_the_offending_option(void **state)
{
    static const struct {
        const char *line, *message;
    } rows[] = {
        {"arcpd|--lisen|x", "unknown option --lisen"},
        {"arcpd|--tokem=hush-hush", "unknown option --tokem"},
        {"arcpd|--listen", "--listen needs a value"},
        {"arcpd|--stdio|--check-config", "--check-config needs a value"},
        {"arcpd|--stdio=yes", "--stdio takes no value"},
        {"arcpd|--help=me", "--help takes no value"},
        {"arcpd|--version=2", "--version takes no value"},
        {"arcpd|-x", "unknown option -x"},
        {"arcpd|-xyz", "unknown option -x"},
        {"arcpd|--stdio|-xh", "unknown option -x"},
        {"arcpd|--token=hush-hush=alice|-xh", "unknown option -x"},
        {"arcpd|serve", "unexpected argument serve"},
        {"arcpd|--stdio|--|--stdio", "unexpected argument --stdio"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__arguments arguments;
        arcp_error error = {0};
        line l;
        assert_int_equal(look(rows[i].line, &l, &arguments, &error), ARCP_E_USAGE);
        assert_string_equal(error.message, rows[i].message);
    }
}

static void options_that_choose_what_arcpd_does_are_read_before_the_configuration(void **state)
{
    arcp__arguments arguments;
    arcp_error error = {0};
    line l;
    (void)state;
    check_ok(look("arcpd|--stdio|-h|--nonsense", &l, &arguments, &error), &error);
    assert_true(arguments.wants_help);
    check_ok(look("arcpd|--version", &l, &arguments, &error), &error);
    assert_true(arguments.wants_version && !arguments.wants_help);
    check_ok(look("arcpd|--stdio|--check-config|a.yaml", &l, &arguments, &error), &error);
    assert_true(arguments.only_checks);
    assert_string_equal(arguments.config_path, "a.yaml");
    check_ok(look("arcpd|--config=b.yaml", &l, &arguments, &error), &error);
    assert_false(arguments.only_checks);
    assert_string_equal(arguments.config_path, "b.yaml");
}

static void options_override_the_file_and_the_first_listen_replaces_its_list(void **state)
{
    arcp__config config;
    arcp_error error = {0};
    (void)state;
    line l;
    line_make(&l, "arcpd|--listen|ws://127.0.0.1:1|--listen|ws://[::1]:1|--token|t=1=alice|"
                  "--token=t2=bob smith role=operator|--log-level=debug|"
                  "--workers-local=external|--agent|a@2=run 'this one'");
    arcp__config_init(&config);
    check_ok(arcp__text_list_add(&config.listen, "ws://127.0.0.1:9", &error), &error);
    check_ok(arcp__arguments_apply(l.count, l.words, &config, &error), &error);
    assert_int_equal(config.listen.count, 2);
    assert_string_equal(config.listen.items[0], "ws://127.0.0.1:1");
    assert_string_equal(config.listen.items[1], "ws://[::1]:1");
    assert_string_equal(config.tokens[0].token, "t=1");
    assert_string_equal(config.tokens[0].principal, "alice");
    assert_int_equal(config.tokens[0].role, ARCP_ROLE_NONE);
    assert_string_equal(config.tokens[1].token, "t2");
    assert_string_equal(config.tokens[1].principal, "bob smith");
    assert_int_equal(config.tokens[1].role, ARCP_ROLE_OPERATOR);
    assert_string_equal(config.setup.agents[0].name, "a");
    assert_string_equal(config.setup.agents[0].version, "2");
    assert_string_equal(config.setup.agents[0].command.items[1], "this one");
    assert_int_equal(config.log_level, 0);
    assert_int_equal(config.workers_local, ARCP__WORKER_EXTERNAL);
    arcp__config_fini(&config);
}

static void an_option_with_a_wrong_value_is_named_and_a_token_is_not_shown(void **state)
{
    static const struct {
        const char *line, *message;
    } rows[] = {
        {"arcpd|--token|hush-hush",
         "--token must be TOKEN=PRINCIPAL or 'TOKEN=PRINCIPAL role=ROLE'"},
        {"arcpd|--token|=alice", "--token must be TOKEN=PRINCIPAL or 'TOKEN=PRINCIPAL role=ROLE'"},
        {"arcpd|--token|hush-hush role=viewer",
         "--token must be TOKEN=PRINCIPAL or 'TOKEN=PRINCIPAL role=ROLE'"},
        {"arcpd|--token|hush-hush=alice role=root", "--token: the role must be viewer or operator"},
        {"arcpd|--token|hush-hush=",
         "--token must be TOKEN=PRINCIPAL or 'TOKEN=PRINCIPAL role=ROLE'"},
        {"arcpd|--agent|foo", "--agent foo: must be NAME[@VERSION]=COMMAND"},
        {"arcpd|--agent|=x", "--agent =x: must be NAME[@VERSION]=COMMAND"},
        {"arcpd|--agent|a=", "--agent a=: must be NAME[@VERSION]=COMMAND"},
        {"arcpd|--workers-local|here", "--workers-local here: must be none, spawn or external"},
        {"arcpd|--log-level|loud", "--log-level loud: must be debug, info, warn or error"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__config config;
        arcp_error error = {0};
        line l;
        line_make(&l, rows[i].line);
        arcp__config_init(&config);
        const arcp_status status = arcp__arguments_apply(l.count, l.words, &config, &error);
        assert_int_equal(status, ARCP_E_USAGE);
        assert_string_equal(error.message, rows[i].message);
        arcp__config_fini(&config);
    }
}

static void tokens_are_wiped_from_argv(void **state)
{
    line l;
    line_make(&l, "arcpd|--token=hush-hush=alice|--token|hush-hush=bob|--token-file=/etc/tokens");
    char **copy = arcp__arguments_copy(l.count, l.words);
    (void)state;
    assert_non_null(copy);
    arcp__arguments_wipe(l.count, l.words);
    assert_string_equal(l.words[1], "--token=");
    assert_string_equal(l.words[3], "");
    assert_string_equal(l.words[4], "--token-file=/etc/tokens");
    assert_string_equal(copy[1], "--token=hush-hush=alice");
    assert_string_equal(copy[3], "hush-hush=bob");
    arcp__arguments_free(l.count, copy);
    arcp__arguments_free(0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_command_line_is_refused_by_name_of_the_offending_option),
        cmocka_unit_test(options_that_choose_what_arcpd_does_are_read_before_the_configuration),
        cmocka_unit_test(options_override_the_file_and_the_first_listen_replaces_its_list),
        cmocka_unit_test(an_option_with_a_wrong_value_is_named_and_a_token_is_not_shown),
        cmocka_unit_test(tokens_are_wiped_from_argv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
