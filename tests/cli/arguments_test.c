/* The command line: valid lines, and the errors for invalid ones. */
#include "support/check.h"

#include "cli/cli.h"

#define WORDS_MAX 12

/* A copy of argv, because a token in it is overwritten. */
typedef struct line {
    char room[512];
    char *argv[WORDS_MAX + 1];
    int argc;
} line;

static void split(line *l, const char *text)
{
    snprintf(l->room, sizeof l->room, "arcp %s", text);
    l->argc = 0;
    for (char *word = strtok(l->room, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_true(l->argc < WORDS_MAX);
        l->argv[l->argc++] = word;
    }
    l->argv[l->argc] = NULL;
}

/* Parses a line that must be valid; the caller frees the arguments. */
static void parse(arcp__arguments *arguments, arcp__command command, line *l, const char *text)
{
    arcp_error err = {0};
    split(l, text);
    check_ok(arcp__arguments_parse(arguments, command, l->argc, l->argv, &err), &err);
}

/* Parses a line that must be refused, and returns the message. */
static arcp_error refuse(arcp__command command, const char *text)
{
    arcp__arguments arguments;
    arcp_error err = {0};
    line l;
    split(&l, text);
    assert_int_equal(arcp__arguments_parse(&arguments, command, l.argc, l.argv, &err),
                     ARCP_E_USAGE);
    arcp__arguments_fini(&arguments);
    return err;
}

static const struct good {
    const char *line;
    arcp__command command;
    arcp__option option;
    const char *value; /* NULL: the option was not given */
    size_t words;
} good_lines[] = {
    {"submit echo", ARCP__COMMAND_SUBMIT, ARCP__OPTION_INPUT, NULL, 1},
    {"submit echo --input {}", ARCP__COMMAND_SUBMIT, ARCP__OPTION_INPUT, "{}", 1},
    {"submit --input={} echo", ARCP__COMMAND_SUBMIT, ARCP__OPTION_INPUT, "{}", 1},
    {"submit --input= echo", ARCP__COMMAND_SUBMIT, ARCP__OPTION_INPUT, "", 1},
    {"submit echo --input -", ARCP__COMMAND_SUBMIT, ARCP__OPTION_INPUT, "-", 1},
    {"--url ws://x submit echo", ARCP__COMMAND_SUBMIT, ARCP__OPTION_URL, "ws://x", 1},
    {"submit echo --url ws://x", ARCP__COMMAND_SUBMIT, ARCP__OPTION_URL, "ws://x", 1},
    {"submit echo --json --json", ARCP__COMMAND_SUBMIT, ARCP__OPTION_JSON, "", 1},
    {"submit --grant a=b echo --grant c=d", ARCP__COMMAND_SUBMIT, ARCP__OPTION_GRANT, "c=d", 1},
    {"submit -- --echo", ARCP__COMMAND_SUBMIT, ARCP__OPTION_INPUT, NULL, 1},
    {"watch job_1 --from-start", ARCP__COMMAND_WATCH, ARCP__OPTION_FROM_START, "", 1},
    {"jobs --status running --status error", ARCP__COMMAND_JOBS, ARCP__OPTION_STATUS, "error", 0},
    {"jobs --since 10m --all", ARCP__COMMAND_JOBS, ARCP__OPTION_SINCE, "10m", 0},
    {"cancel job_1 --reason why", ARCP__COMMAND_CANCEL, ARCP__OPTION_REASON, "why", 1},
    {"agents", ARCP__COMMAND_AGENTS, ARCP__OPTION_JSON, NULL, 0},
    {"ping --quiet", ARCP__COMMAND_PING, ARCP__OPTION_QUIET, "", 0},
    {"--help", ARCP__COMMAND_ANY, ARCP__OPTION_HELP, "", 0},
    {"-h", ARCP__COMMAND_ANY, ARCP__OPTION_HELP, "", 0},
    {"-V", ARCP__COMMAND_ANY, ARCP__OPTION_VERSION, "", 0},
    {"help", ARCP__COMMAND_ANY, ARCP__OPTION_HELP, "", 0},
    {"help submit", ARCP__COMMAND_SUBMIT, ARCP__OPTION_HELP, "", 0},
    {"submit --help", ARCP__COMMAND_SUBMIT, ARCP__OPTION_HELP, "", 0},
    {"", ARCP__COMMAND_ANY, ARCP__OPTION_HELP, NULL, 0},
};

static void valid_command_lines_are_parsed(void **state)
{
    for (size_t row = 0; row < sizeof good_lines / sizeof good_lines[0]; row++) {
        const struct good *good = &good_lines[row];
        arcp__arguments arguments;
        line l;
        print_message("  arcp %s\n", good->line);
        parse(&arguments, ARCP__COMMAND_ANY, &l, good->line);
        assert_int_equal(arguments.command, good->command);
        assert_int_equal(arguments.word_count, good->words);
        if (good->value == NULL) {
            assert_false(arcp__has(&arguments, good->option));
        } else {
            assert_true(arcp__has(&arguments, good->option));
            assert_string_equal(arcp__value(&arguments, good->option), good->value);
        }
        arcp__arguments_fini(&arguments);
    }
}

static const struct bad {
    const char *line;
    const char *says;
} bad_lines[] = {
    {"dance", "unknown command dance"},
    {"sumbit echo", "did you mean submit?"},
    {"ps", "unknown command ps; did you mean jobs?"},
    {"version", "unknown command version; did you mean --version?"},
    {"submit", "AGENT is missing"},
    {"submit echo again", "unexpected argument 'again'"},
    {"agents now", "unexpected argument 'now'"},
    {"submit echo --imput {}", "unknown option --imput; did you mean --input?"},
    {"submit echo --zzz", "unknown option --zzz"},
    {"submit echo -x", "unknown option -x"},
    {"submit echo --input", "--input needs a value: JSON|@FILE|-"},
    {"submit echo --detach=yes", "--detach takes no value"},
    {"submit echo --input 1 --input 2", "--input can be given only once"},
    {"submit echo --status running", "--status is an option of arcp jobs"},
    {"jobs --grant a=b", "--grant is an option of arcp submit"},
    {"--input {} submit echo", "--input is an option of arcp submit"},
    {"watch", "JOB is missing"},
    {"completion", "bash|zsh|fish is missing"},
};

static void invalid_command_lines_are_reported(void **state)
{
    for (size_t row = 0; row < sizeof bad_lines / sizeof bad_lines[0]; row++) {
        print_message("  arcp %s\n", bad_lines[row].line);
        const arcp_error err = refuse(ARCP__COMMAND_ANY, bad_lines[row].line);
        if (strstr(err.message, bad_lines[row].says) == NULL) {
            fail_msg("message: %s", err.message);
        }
    }
}

static void repeated_options_keep_their_order(void **state)
{
    arcp__arguments arguments;
    line l;
    parse(&arguments, ARCP__COMMAND_ANY, &l, "submit --grant a=1 --budget USD:1 --grant b=2 echo");
    assert_int_equal(arguments.counts[ARCP__OPTION_GRANT], 2);
    assert_string_equal(arguments.values[ARCP__OPTION_GRANT][0], "a=1");
    assert_string_equal(arguments.values[ARCP__OPTION_GRANT][1], "b=2");
    assert_int_equal(arguments.counts[ARCP__OPTION_BUDGET], 1);
    arcp__arguments_fini(&arguments);
}

static void a_token_is_erased_from_the_command_line(void **state)
{
    static const char *const lines[] = {"--token s3cret ping", "--token=s3cret ping",
                                        "ping --token s3cret"};
    for (size_t row = 0; row < sizeof lines / sizeof lines[0]; row++) {
        arcp__arguments arguments;
        line l;
        parse(&arguments, ARCP__COMMAND_ANY, &l, lines[row]);
        assert_string_equal(arguments.token, "s3cret");
        for (int word = 0; word < l.argc; word++) {
            assert_null(strstr(l.argv[word], "s3cret"));
        }
        arcp__arguments_fini(&arguments);
    }
}

static void after_its_subcommand_lease_accepts_words_with_one_dash(void **state)
{
    arcp__arguments arguments;
    line l;
    parse(&arguments, ARCP__COMMAND_ANY, &l, "--json lease check --cwd /x {} tool.call -rf --at=y");
    assert_int_equal(arguments.command, ARCP__COMMAND_LEASE);
    assert_int_equal(arguments.word_count, 4);
    assert_string_equal(arguments.words[0], "check");
    assert_string_equal(arguments.words[3], "-rf");
    assert_string_equal(arcp__value(&arguments, ARCP__OPTION_LEASE_CWD), "/x");
    assert_string_equal(arcp__value(&arguments, ARCP__OPTION_LEASE_AT), "y");
    assert_true(arcp__has(&arguments, ARCP__OPTION_JSON));
    arcp__arguments_fini(&arguments);
    assert_string_equal(refuse(ARCP__COMMAND_ANY, "watch job -x").message, "unknown option -x");
}

static void a_program_of_one_command_needs_no_command_name(void **state)
{
    arcp__arguments arguments;
    line l;
    assert_string_equal(refuse(ARCP__COMMAND_BENCH, "--json bench --jobs 3").message,
                        "unexpected argument 'bench'");
    parse(&arguments, ARCP__COMMAND_BENCH, &l, "--json --jobs 3");
    assert_int_equal(arguments.command, ARCP__COMMAND_BENCH);
    assert_string_equal(arcp__value(&arguments, ARCP__OPTION_JOBS), "3");
    arcp__arguments_fini(&arguments);
}

static void the_word_that_names_the_command_is_found(void **state)
{
    static const struct {
        const char *line;
        int at;
    } rows[] = {
        {"", 0},
        {"bench", 1},
        {"dance --now", 1},
        {"--json bench --json", 2},
        {"--url ws://x bench", 3},
        {"--url=ws://x bench", 2},
        {"--token s3cret --quiet -h -V bench", 6},
        {"-- bench", 2},
        {"--", 0},
        {"--json", 0},
        {"--url", 0},
        {"--context help bench", 3},
        {"--sessions 3 bench", 0}, /* an option of the command */
        {"--dance bench", 0},
        {"--json=yes bench", 0},
        {"-x bench", 0},
        {"help bench", 0},
        {"--json help bench", 0},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        line l;
        print_message("  arcp %s\n", rows[row].line);
        split(&l, rows[row].line);
        assert_int_equal(arcp__arguments_command_at(l.argc, l.argv), rows[row].at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_command_lines_are_parsed),
        cmocka_unit_test(invalid_command_lines_are_reported),
        cmocka_unit_test(repeated_options_keep_their_order),
        cmocka_unit_test(a_token_is_erased_from_the_command_line),
        cmocka_unit_test(after_its_subcommand_lease_accepts_words_with_one_dash),
        cmocka_unit_test(a_program_of_one_command_needs_no_command_name),
        cmocka_unit_test(the_word_that_names_the_command_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
