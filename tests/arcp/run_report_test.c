/* What `arcp run` says about records of arcp-sandbox, whose names the command chose. */
#include "support/check.h"

#include <fcntl.h>
#include <unistd.h>

#include "arcp/run.h"

typedef struct fixture {
    arcp__program program;
    arcp__run run;
    arcp__run_report report;
    int screen, file; /* what was written to standard error, and to --report */
} fixture;

static int unnamed_file(void)
{
    char path[] = "/tmp/arcp-report-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    return fd;
}

static int set_up(void **state)
{
    static fixture f;
    static const arcp_span own[] = {{"/home/you/.config/arcp", 22}};
    f = (fixture){.screen = unnamed_file(), .file = unnamed_file()};
    arcp__screen_init(&f.program.screen, f.screen, ARCP__WHEN_NEVER);
    f.run.program = &f.program;
    f.program.arguments.command = ARCP__COMMAND_RUN;
    f.run.request.own = own;
    f.run.request.own_count = 1;
    f.report = (arcp__run_report){.run = &f.run, .file = f.file};
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    arcp__run_report_close(&f->report); /* and the file */
    arcp__screen_fini(&f->program.screen);
    return close(f->screen);
}

static const char *text_of(int fd)
{
    static char text[65536];
    const ssize_t size = pread(fd, text, sizeof text - 1, 0);
    assert_true(size >= 0);
    text[size] = '\0';
    return text;
}

static void record(fixture *f, const char *text)
{
    arcp__run_report_record(&f->report, arcp_span_cstr(text));
}

static void deny(fixture *f, const char *capability, const char *target)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_format(&text, "{\"denied\":{\"capability\":\"%s\",\"target\":", capability);
    arcp_json_quote(arcp_span_cstr(target), &text);
    arcp_buf_append_cstr(&text, ",\"program\":\"cat\",\"pid\":7,\"count\":1}}");
    arcp__run_report_record(&f->report, arcp_buf_span(&text));
    arcp_buf_fini(&text);
}

static void check_suggestions(const fixture *f, const char *want)
{
    arcp_buf text = arcp_buf_init();
    arcp__run_suggest(&f->report, &text);
    check_span(arcp_buf_span(&text), want);
    arcp_buf_fini(&text);
}

static void end_with(fixture *f, arcp__run_end end, int code)
{
    const arcp__run_result result = {.end = end, .code = code, .runtime_ms = 5};
    arcp__run_report_end(&f->report, &result);
}

static void a_denial_is_a_line_once(void **state)
{
    fixture *f = *state;
    deny(f, "fs.read", "/home/you/.ssh/id_ed25519");
    deny(f, "fs.read", "/home/you/.ssh/id_ed25519");
    assert_string_equal(text_of(f->screen), "denied    fs.read /home/you/.ssh/id_ed25519 (cat)\n");
}

static void the_summary_counts_names_and_the_file_attempts(void **state)
{
    fixture *f = *state;
    deny(f, "fs.read", "/d/a");
    record(f, "{\"denied\":{\"capability\":\"fs.read\",\"target\":\"/d/a\",\"count\":41}}");
    record(f, "{\"denied\":{\"capability\":\"\",\"target\":\"\",\"count\":9}}");
    end_with(f, ARCP__RUN_EXITED, 0);
    assert_string_equal(text_of(f->screen), "denied    fs.read /d/a (cat)\n"
                                            "arcp run: 10 denied. To allow: --read /d/a\n");
    assert_non_null(strstr(text_of(f->file), "\"denied\":50,"));
}

static void nothing_is_reported_when_nothing_was_denied(void **state)
{
    fixture *f = *state;
    record(f, "{\"running\":true}");
    end_with(f, ARCP__RUN_EXITED, 0);
    assert_string_equal(text_of(f->screen), "");
}

static void quiet_says_nothing_of_denials_but_the_file_has_them(void **state)
{
    fixture *f = *state;
    f->program.is_quiet = true;
    deny(f, "fs.read", "/a");
    end_with(f, ARCP__RUN_EXITED, 1);
    assert_string_equal(text_of(f->screen), "");
    assert_string_equal(text_of(f->file),
                        "{\"type\":\"denied\",\"record\":{\"denied\":{\"capability\":\"fs.read\","
                        "\"target\":\"/a\",\"program\":\"cat\",\"pid\":7,\"count\":1}}}\n"
                        "{\"type\":\"end\",\"end\":\"exited\",\"exit_status\":1,\"denied\":1,"
                        "\"runtime_ms\":5}\n");
}

static void the_end_of_a_failed_command_mentions_its_environment(void **state)
{
    fixture *f = *state;
    f->run.kept_back = 12;
    end_with(f, ARCP__RUN_EXITED, 1);
    assert_string_equal(text_of(f->screen),
                        "arcp run: 12 variables of the environment were not passed to the command; "
                        "--env NAME passes one\n");
}

static void a_single_variable_is_one(void **state)
{
    fixture *f = *state;
    f->run.kept_back = 1;
    end_with(f, ARCP__RUN_EXITED, 1);
    assert_string_equal(text_of(f->screen),
                        "arcp run: 1 variable of the environment was not passed to the command; "
                        "--env NAME passes one\n");
}

static void that_of_one_that_succeeded_does_not(void **state)
{
    fixture *f = *state;
    f->run.kept_back = 12;
    end_with(f, ARCP__RUN_EXITED, 0);
    assert_string_equal(text_of(f->screen), "");
}

static void names_cannot_move_the_cursor(void **state)
{
    fixture *f = *state;
    /* As the broker sends it, and as one that does not escape would. */
    record(f, "{\"denied\":{\"capability\":\"fs.read\",\"target\":\"/a\\\\x1b[2J\",\"count\":1}}");
    record(f, "{\"denied\":{\"capability\":\"fs.read\",\"target\":\"/b\\u001b[2J\\n\\u202e\","
              "\"program\":\"\\u001bc\",\"count\":1}}");
    assert_string_equal(text_of(f->screen), "denied    fs.read /a\\x1b[2J\n"
                                            "denied    fs.read /b\\x1b[2J\\n\\u202e (\\x1bc)\n");
}

static void options_are_suggested_shortest_first(void **state)
{
    fixture *f = *state;
    deny(f, "fs.read", "/data/long/name");
    deny(f, "fs.write", "/d/out");
    deny(f, "net.fetch", "example.com");
    deny(f, "fs.read", "/d/b");
    check_suggestions(f, " --read /d/b --write /d/out --fetch example.com --read /data/long/name");
}

static void writing_includes_reading(void **state)
{
    fixture *f = *state;
    deny(f, "fs.read", "/d/out");
    deny(f, "fs.write", "/d/out");
    check_suggestions(f, " --write /d/out");
}

static void suggestions_are_quoted_for_the_shell(void **state)
{
    fixture *f = *state;
    deny(f, "fs.read", "/d/a b");
    deny(f, "fs.read", "/d/x;reboot");
    deny(f, "fs.read", "/d/it's $(x)");
    deny(f, "fs.read", "/d/~");
    deny(f, "fs.read", "/d/back\\x5cslash");
    check_suggestions(f, " --read '/d/~' --read '/d/a b' --read '/d/x;reboot' "
                         "--read '/d/it'\\''s $(x)' --read '/d/back\\slash'");
}

static void what_an_option_cannot_name_is_not_suggested(void **state)
{
    fixture *f = *state;
    deny(f, "fs.read", "/home/you/**");     /* would grant all of it */
    deny(f, "fs.read", "/home/you/\\x2a");  /* the same, escaped */
    deny(f, "fs.read", "/a\\x1b[2J");       /* control characters */
    deny(f, "fs.read", "/a\xe2\x80\xae/b"); /* or ones that cannot be seen */
    deny(f, "fs.read", "/not-utf-8-\\xff");
    deny(f, "net.fetch", "--write=/");
    deny(f, "connect", "/run/docker.sock");
    deny(f, "fs.read", "/home/you/.config/arcp/config.yaml"); /* no lease grants it */
    check_suggestions(f, "");
}

static void what_another_option_includes_is_not_suggested(void **state)
{
    fixture *f = *state;
    deny(f, "fs.read", "/d/tree/a");
    deny(f, "fs.read", "/d/tree");
    deny(f, "fs.write", "/d/tree/b");
    deny(f, "fs.write", "/d/out");
    deny(f, "fs.read", "/d/out/x");
    deny(f, "fs.read", "/d/outer");
    check_suggestions(f, " --write /d/out --read /d/tree --read /d/outer --write /d/tree/b");
}

static void what_would_grant_far_too_much_is_not_suggested(void **state)
{
    fixture *f = *state;
    f->run.home = "/home/you";
    f->run.account_home = "/data/homes/you";
    deny(f, "fs.read", "/");
    deny(f, "fs.read", "/srv");
    deny(f, "fs.write", "/home/you");
    deny(f, "fs.read", "/home");
    deny(f, "fs.read", "/data/homes");
    check_suggestions(f, "");
    deny(f, "fs.read", "/home/you/notes");
    deny(f, "fs.read", "/data/homes/your");
    check_suggestions(f, " --read /home/you/notes --read /data/homes/your");
}

/* ---- the network ---- */

static const char *lacking(void)
{
    return arcp_deny_reason_text(ARCP_DENY_NO_MATCH);
}

static void deny_network(fixture *f, const char *target, const char *reason)
{
    const arcp__run_refusal refusal = {.capability = ARCP_SPAN_LITERAL("net.fetch"),
                                       .target = arcp_span_cstr(target),
                                       .reason = reason,
                                       .layer = "egress",
                                       .is_lacking = strcmp(reason, lacking()) == 0};
    arcp__run_report_refusal(&f->report, &refusal);
}

static void a_denial_of_the_network_is_a_line_once(void **state)
{
    fixture *f = *state;
    deny_network(f, "example.com", lacking());
    deny_network(f, "example.com", lacking());
    deny_network(f, "https://intranet/", "the address is not public");
    end_with(f, ARCP__RUN_EXITED, 0);
    assert_string_equal(text_of(f->screen),
                        "denied    net.fetch example.com\n"
                        "denied    net.fetch https://intranet/ (the address is not public)\n"
                        "arcp run: 2 denied. To allow: --fetch intranet --fetch example.com\n");
}

static void the_file_has_the_layer_and_at_the_end_the_count(void **state)
{
    fixture *f = *state;
    deny_network(f, "a", lacking());
    deny_network(f, "b", lacking());
    deny_network(f, "a", lacking());
    end_with(f, ARCP__RUN_EXITED, 0);
#define ROW(name, count)                                                                           \
    "{\"type\":\"denied\",\"record\":{\"denied\":{\"capability\":\"net.fetch\",\"target\":\"" name \
    "\",\"reason\":\"no pattern of the lease matches\",\"layer\":\"egress\",\"count\":" count      \
    "}}}\n"
    assert_string_equal(
        text_of(f->file),
        ROW("a", "1") ROW("b", "1")
            ROW("a", "2") "{\"type\":\"end\",\"end\":\"exited\",\"exit_status\":0,\"denied\":3,"
                          "\"runtime_ms\":5}\n");
#undef ROW
}

static void targets_of_the_network_cannot_move_the_cursor(void **state)
{
    fixture *f = *state;
    deny_network(f, "http://h/\x1b[2J\xff\n", lacking());
    assert_string_equal(text_of(f->screen), "denied    net.fetch http://h/\\x1b[2J\\xff\\x0a\n");
    assert_non_null(strstr(text_of(f->file), "\"target\":\"http://h/\\\\x1b[2J\\\\xff\\\\x0a\""));
    check_suggestions(f, "");
}

static void a_url_inside_tls_is_granted_by_its_host(void **state)
{
    fixture *f = *state;
    deny_network(f, "https://a.example/x/y?z", lacking());
    deny_network(f, "https://b.example:443/", lacking());
    deny_network(f, "https://c.example:8443/", lacking());
    deny_network(f, "wss://d.example/socket", lacking());
    deny_network(f, "a.example", lacking());
    check_suggestions(f, " --fetch a.example --fetch b.example --fetch c.example:8443"
                         " --fetch wss://d.example");
}

static void a_url_of_http_is_granted_alone(void **state)
{
    fixture *f = *state;
    deny_network(f, "http://h:8080/a?b=c&d", lacking());
    deny_network(f, "http://h:8080/b", lacking());
    deny_network(f, "http://h/*", lacking()); /* a star would stand for any name */
    check_suggestions(f, " --fetch http://h:8080/b --fetch 'http://h:8080/a?b=c&d'");
}

static void three_urls_of_a_host_are_granted_by_the_host(void **state)
{
    fixture *f = *state;
    deny_network(f, "http://h:8080/a", lacking());
    deny_network(f, "http://h:808/a", lacking());
    deny_network(f, "http://h:8080/b", lacking());
    deny_network(f, "http://h:8080/c", lacking());
    check_suggestions(f, " --fetch http://h:8080 --fetch http://h:808/a");
}

static void what_the_lease_grants_is_not_suggested(void **state)
{
    fixture *f = *state;
    arcp_error err;
    assert_int_equal(
        arcp_lease_parse(ARCP_SPAN_LITERAL("{\"net.fetch\":[\"https://intranet/**\"]}"),
                         arcp_span_make(NULL, 0), NULL, &f->run.lease, &err),
        ARCP_OK);
    deny_network(f, "https://intranet/", "the address is not public");
    deny_network(f, "https://intranet:8443/", lacking());
    check_suggestions(f, " --fetch intranet:8443");
    arcp_lease_unref(f->run.lease);
}

static void targets_that_are_not_urls_are_not_suggested(void **state)
{
    fixture *f = *state;
    deny_network(f, "user@host", lacking());
    deny_network(f, "$(reboot)", lacking());
    deny_network(f, "-x y", lacking());
    check_suggestions(f, "");
}

static void a_hundred_denials_are_printed(void **state)
{
    fixture *f = *state;
    char name[32];
    for (int i = 1; i <= 102; i++) {
        if (i == 101) {
            assert_null(strstr(text_of(f->screen), "more than"));
        }
        (void)snprintf(name, sizeof name, "/d/%d", i);
        deny(f, "fs.read", name);
    }
    const char *text = text_of(f->screen);
    assert_non_null(strstr(text,
                           "denied    fs.read /d/100 (cat)\n"
                           "arcp run: more than 100 names were denied; the others are counted\n"));
    assert_null(strstr(text, "/d/101"));
    assert_null(strstr(text, "/d/102"));
}

static void more_than_sixteen_are_counted(void **state)
{
    fixture *f = *state;
    for (char name[] = "/d/a"; name[3] < 'a' + 18; name[3]++) {
        deny(f, "fs.read", name);
    }
    arcp_buf text = arcp_buf_init();
    arcp__run_suggest(&f->report, &text);
    assert_non_null(memmem(text.data, text.size, " (and 2 more)", 13));
    arcp_buf_fini(&text);
}

static void denials_beyond_the_limit_are_counted(void **state)
{
    fixture *f = *state;
    char name[32];
    f->program.is_quiet = true;
    for (int i = 0; i <= ARCP__RUN_DENIALS_MAX; i++) {
        (void)snprintf(name, sizeof name, "/%d", i);
        deny(f, "fs.read", name);
    }
    assert_int_equal(f->report.denial_count, ARCP__RUN_DENIALS_MAX);
    assert_int_equal(f->report.more, 1);
}

static void a_step_that_failed_is_named(void **state)
{
    fixture *f = *state;
    record(f, "{\"failed\":\"mount\",\"path\":\"/srv/x\",\"errno\":\"EPERM\"}");
    end_with(f, ARCP__RUN_NOT_STARTED, 125);
    assert_string_equal(text_of(f->screen), "arcp run: mount /srv/x: Operation not permitted\n");
}

static void a_file_that_is_absent_is_named(void **state)
{
    fixture *f = *state;
    record(f, "{\"running\":true,\"absent\":[{\"path\":\"/srv/x\"}],\"links\":[]}");
    assert_string_equal(text_of(f->screen),
                        "absent    /srv/x: the lease names a file, and there is none\n");
}

static void texts_that_are_no_records_are_ignored(void **state)
{
    fixture *f = *state;
    static const char *const texts[] = {
        "",
        "[]",
        "{",
        "{}",
        "\"denied\"",
        "{\"denied\":1}",
        "{\"running\":true,\"absent\":3}",
        "{\"running\":true,\"absent\":[1,{}]}",
        "{\"other\":1}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        record(f, texts[i]);
    }
    assert_int_equal(f->report.denial_count, 0);
    assert_int_equal(f->report.failure.size, 0);
}

#define REPORT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT_TEST(a_denial_is_a_line_once),
        REPORT_TEST(the_summary_counts_names_and_the_file_attempts),
        REPORT_TEST(nothing_is_reported_when_nothing_was_denied),
        REPORT_TEST(quiet_says_nothing_of_denials_but_the_file_has_them),
        REPORT_TEST(the_end_of_a_failed_command_mentions_its_environment),
        REPORT_TEST(a_single_variable_is_one),
        REPORT_TEST(that_of_one_that_succeeded_does_not),
        REPORT_TEST(names_cannot_move_the_cursor),
        REPORT_TEST(options_are_suggested_shortest_first),
        REPORT_TEST(writing_includes_reading),
        REPORT_TEST(suggestions_are_quoted_for_the_shell),
        REPORT_TEST(what_an_option_cannot_name_is_not_suggested),
        REPORT_TEST(what_another_option_includes_is_not_suggested),
        REPORT_TEST(what_would_grant_far_too_much_is_not_suggested),
        REPORT_TEST(a_denial_of_the_network_is_a_line_once),
        REPORT_TEST(the_file_has_the_layer_and_at_the_end_the_count),
        REPORT_TEST(targets_of_the_network_cannot_move_the_cursor),
        REPORT_TEST(a_url_inside_tls_is_granted_by_its_host),
        REPORT_TEST(a_url_of_http_is_granted_alone),
        REPORT_TEST(three_urls_of_a_host_are_granted_by_the_host),
        REPORT_TEST(what_the_lease_grants_is_not_suggested),
        REPORT_TEST(targets_that_are_not_urls_are_not_suggested),
        REPORT_TEST(a_hundred_denials_are_printed),
        REPORT_TEST(more_than_sixteen_are_counted),
        REPORT_TEST(denials_beyond_the_limit_are_counted),
        REPORT_TEST(a_step_that_failed_is_named),
        REPORT_TEST(a_file_that_is_absent_is_named),
        REPORT_TEST(texts_that_are_no_records_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
