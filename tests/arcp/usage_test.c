/* Help, completions and the manual agree, because they are generated from one table. */
#include "support/check.h"

#include <sys/wait.h>
#include <unistd.h>

#include "arcp/command.h"
#include "cli/cli.h"
#include "mcp/mcp.h"

static void check_contains(const arcp_buf *text, const char *part)
{
    if (memmem(text->data, text->size, part, strlen(part)) == NULL) {
        fail_msg("\"%s\" is missing in:\n%.*s", part, (int)text->size, text->data);
    }
}

static void the_synopsis_of_submit_is_as_documented(void **state)
{
    arcp_buf text = arcp_buf_init();
    arcp__usage_synopsis(ARCP__COMMAND_SUBMIT, &text);
    check_span(
        arcp_buf_span(&text),
        "arcp submit AGENT [--input JSON|@FILE|-] [--input-text TEXT] [--input-file FILE|-]\n"
        "            [--lease JSON|@FILE] [--grant CAP=PATTERN]... [--budget CUR:AMOUNT]...\n"
        "            [--expires-in DURATION] [--expires-at TIME] [--idempotency-key KEY]\n"
        "            [--max-runtime DURATION] [--timeout DURATION] [--retry N] [--detach] "
        "[--explain]\n"
        "            [--output FILE]\n");
    arcp_buf_fini(&text);
}

static void every_option_is_in_the_help_of_its_command(void **state)
{
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        arcp_buf text = arcp_buf_init();
        char name[64];
        snprintf(name, sizeof name, "--%s", arcp__options[option].name);
        arcp__usage_help(arcp__options[option].command, &text);
        check_contains(&text, name);
        check_contains(&text, arcp__options[option].text);
        arcp_buf_fini(&text);
    }
}

static void a_command_without_a_runtime_has_no_connection_options(void **state)
{
    static const char *const options[] = {"--url",    "--token",      "--context", "--ca-file",
                                          "--config", "--timestamps", "--quiet"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        arcp_buf remote = arcp_buf_init();
        arcp_buf local = arcp_buf_init();
        arcp__usage_help(ARCP__COMMAND_PING, &remote);
        arcp__usage_help(ARCP__COMMAND_AUDIT, &local);
        check_contains(&remote, options[i]);
        check_contains(&local, "--json");
        arcp_buf_append_byte(&local, '\0');
        assert_null(strstr(local.data, options[i]));
        arcp_buf_fini(&remote);
        arcp_buf_fini(&local);
    }
}

static void words_that_an_option_accepts_are_in_its_help(void **state)
{
    arcp_buf text = arcp_buf_init();
    arcp__usage_help(ARCP__COMMAND_RUN, &text);
    check_contains(&text, "(default: under); VERDICT is exact, under or advisory\n");
    check_contains(&text, "WHEN is auto, always or never\n");
    arcp_buf_fini(&text);
}

static void the_help_of_mcp_has_the_rule_for_names(void **state)
{
    arcp_buf text = arcp_buf_init();
    arcp__usage_help(ARCP__COMMAND_MCP, &text);
    check_contains(&text, ARCP__MCP_NAME_RULE);
    arcp_buf_fini(&text);
}

static void the_overview_names_every_command(void **state)
{
    arcp_buf text = arcp_buf_init();
    arcp__usage_help(ARCP__COMMAND_ANY, &text);
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        check_contains(&text, arcp__commands[command].text);
    }
    arcp_buf_fini(&text);
}

static void every_completion_offers_every_option_and_command(void **state)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    for (size_t row = 0; row < 3; row++) {
        arcp_buf text = arcp_buf_init();
        assert_true(arcp__completion_script(shells[row], &text));
        for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
            char name[64];
            snprintf(name, sizeof name, "%s%s", row == 2 ? "-l " : "--",
                     arcp__options[option].name);
            check_contains(&text, name);
        }
        for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
            check_contains(&text, arcp__commands[command].name);
        }
        arcp_buf_fini(&text);
    }
    arcp_buf none = arcp_buf_init();
    assert_false(arcp__completion_script("tcsh", &none));
    assert_int_equal(none.size, 0);
}

/* Runs a shell on the script followed by more lines; returns the exit status. */
static int run_bash(arcp_span script, const char *more)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[0], STDIN_FILENO);
        (void)close(ends[1]);
        (void)execlp("bash", "bash", "--norc", "-s", (char *)NULL);
        _exit(127);
    }
    (void)close(ends[0]);
    assert_int_equal(write(ends[1], script.data, script.size), script.size);
    assert_int_equal(write(ends[1], more, strlen(more)), strlen(more));
    (void)close(ends[1]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const struct completion_row {
    const char *words; /* the last one is being completed */
    const char *expected;
} completion_rows[] = {
    {"arcp su", "submit"},
    {"arcp submit --expi", "--expires-in --expires-at"},
    {"arcp --url x jobs --sta", "--status"},
    {"arcp jobs --status ca", "cancelled"},
    {"arcp jobs --gra", ""},
    {"arcp --color al", "always"},
    {"arcp completion z", "zsh"},
    {"arcp lease ex", "explain"},
    {"arcp lease --at", "--at"},
    {"arcp run --wri", "--write"},
    {"arcp run --read /proc/self/mountin", "/proc/self/mountinfo"},
    {"arcp run --protect st", "strict"},
    {"arcp run /proc/self/mountin", "/proc/self/mountinfo"},
    {"arcp run arcp-no-such-progra", ""},
    {"arcp audit gr", "grep"},
    {"arcp audit verify /proc/self/mountin", "/proc/self/mountinfo"},
    {"arcp audit grep --since 1h /proc/self/mountin", "/proc/self/mountinfo"},
    /* bash begins a word after @. */
    {"arcp lease check @ /proc/self/mountin", "/proc/self/mountinfo"},
    {"arcp submit x --input @ /proc/self/mountin", "/proc/self/mountinfo"},
    {"arcp submit x /proc/self/mountin", ""},
    /* What the runtime has; the script below stands for it. */
    {"arcp submit he", "hello"},
    {"arcp watch job_0", "job_01 job_02"},
    {"arcp cancel job_01", "job_01"},
    {"arcp jobs --agent he", "hello"},
    {"arcp jobs --parent job_02", "job_02"},
    {"arcp jobs --order n", "newest"},
    {"arcp watch --from", "--from-start"},
    {"arcp sessions e", "end"},
    {"arcp sessions end sess", "sess_1"},
    {"arcp hooks r", "retry"},
    {"arcp hooks drop nt", "ntf_1"},
    {"arcp context us", "use"},
    {"arcp context use wo", "work"},
    {"arcp --context w", "work"},
    {"arcp help sess", "sessions"},
    /* An option of a command is completed as that command has it. */
    {"arcp jobs --output y", "yaml"},
    {"arcp jobs -o y", "yaml"},
    {"arcp jobs --output = y", "yaml"},
    {"arcp submit --output /proc/self/mountin", "/proc/self/mountinfo"},
    {"arcp bench --agent he", "hello"},
    {"arcp logs --level w", "warn"},
    /* The value of an option is not the command. */
    {"arcp --context store jobs --sta", "--status"},
    {"arcp --context = store jobs --sta", "--status"},
    {"arcp lease check ch", ""},
};

static void bash_completes(void **state)
{
    arcp_buf script = arcp_buf_init();
    assert_true(arcp__completion_script("bash", &script));
    for (size_t row = 0; row < sizeof completion_rows / sizeof completion_rows[0]; row++) {
        char more[768];
        print_message("  %s\n", completion_rows[row].words);
        snprintf(
            more, sizeof more,
            "timeout() { shift; \"$@\"; }\n"
            "arcp() { echo \"$*\" >&2; case $* in *jobs\\ *) echo job_01 job_02;; agents\\ *) echo "
            "hello;;\n"
            "    *context\\ list*) echo home work;; *sessions*) echo sess_1;; *hooks*) echo "
            "ntf_1;; "
            "esac; }\n"
            "COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]}-1))\n"
            "COMP_LINE=\"${COMP_WORDS[*]}\"; COMP_POINT=${#COMP_LINE}; _arcp\n"
            "[ \"${COMPREPLY[*]}\" = \"%s\" ] || { echo \"got: ${COMPREPLY[*]}\" >&2; exit 9; }\n",
            completion_rows[row].words, completion_rows[row].expected);
        assert_int_equal(run_bash(arcp_buf_span(&script), more), 0);
    }
    arcp_buf_fini(&script);
}

static void read_manual(arcp_buf *page)
{
    char bytes[4096];
    FILE *file = fopen(ARCP_SOURCE_DIR "/man/arcp.1.scd", "re");
    assert_non_null(file);
    for (size_t got = fread(bytes, 1, sizeof bytes, file); got != 0;
         got = fread(bytes, 1, sizeof bytes, file)) {
        arcp_buf_append(page, arcp_span_make(bytes, got));
    }
    fclose(file);
}

static void the_manual_page_has_the_options_of_the_table(void **state)
{
    arcp_buf generated = arcp_buf_init();
    arcp_buf page = arcp_buf_init();
    arcp__usage_manual(&generated);
    read_manual(&page);
    /* To renew it: arcp completion manual */
    if (memmem(page.data, page.size, generated.data, generated.size) == NULL) {
        fail_msg("man/arcp.1.scd does not contain:\n%.*s", (int)generated.size, generated.data);
    }
    arcp_buf_fini(&generated);
    arcp_buf_fini(&page);
}

/* The lines of the synopsis that begin with "*arcp* NAME". */
static arcp_span synopsis_of(const arcp_buf *page, const char *command)
{
    char begin[64];
    snprintf(begin, sizeof begin, "\n*arcp* %s", command);
    const char *found = memmem(page->data, page->size, begin, strlen(begin));
    if (found == NULL) {
        fail_msg("the synopsis has no %s", command);
    }
    const size_t left = page->size - (size_t)(found - page->data);
    const char *end = memmem(found, left, "\n\n", 2);
    assert_non_null(end);
    return arcp_span_make(found, (size_t)(end - found));
}

static void the_manuals_synopsis_has_every_command_and_option(void **state)
{
    arcp_buf page = arcp_buf_init();
    read_manual(&page);
    for (int option = 0; option < ARCP__OPTION_COUNT; option++) {
        const arcp__option_row *row = &arcp__options[option];
        if (row->command == ARCP__COMMAND_ANY) {
            continue;
        }
        char name[64];
        const arcp_span lines = synopsis_of(&page, arcp__commands[row->command].name);
        snprintf(name, sizeof name, "*--%s*", row->name);
        if (memmem(lines.data, lines.size, name, strlen(name)) == NULL) {
            fail_msg("%s is missing in:%.*s", name, (int)lines.size, lines.data);
        }
    }
    for (int command = 1; command < ARCP__COMMAND_COUNT; command++) {
        (void)synopsis_of(&page, arcp__commands[command].name);
    }
    arcp_buf_fini(&page);
}

static void audit_grep_offers_every_event(void **state)
{
    static const char *const names[] = {
#define ARCP_AUDIT_EVENT(id, name, text) name,
#include "core/audit_event.def"
#undef ARCP_AUDIT_EVENT
    };
    arcp_buf all = arcp_buf_init();
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        arcp_buf_append_format(&all, "%s%s", i == 0 ? "" : "|", names[i]);
    }
    arcp_buf_append_byte(&all, '\0');
    assert_string_equal(arcp__options[ARCP__OPTION_AUDIT_EVENT].completes, all.data);
    arcp_buf_fini(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_synopsis_of_submit_is_as_documented),
        cmocka_unit_test(every_option_is_in_the_help_of_its_command),
        cmocka_unit_test(a_command_without_a_runtime_has_no_connection_options),
        cmocka_unit_test(words_that_an_option_accepts_are_in_its_help),
        cmocka_unit_test(the_help_of_mcp_has_the_rule_for_names),
        cmocka_unit_test(the_overview_names_every_command),
        cmocka_unit_test(every_completion_offers_every_option_and_command),
        cmocka_unit_test(audit_grep_offers_every_event),
        cmocka_unit_test(bash_completes),
        cmocka_unit_test(the_manual_page_has_the_options_of_the_table),
        cmocka_unit_test(the_manuals_synopsis_has_every_command_and_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
