/* `hooks:` in the configuration: what is accepted, what is refused with which line and key, and
 * what it makes. */
#include "arcpd/arcpd.h"
#include "arcpd/config.h"
#include "arcpd/hooks.h"
#include "support/check.h"

static arcp_status read_text(const char *text, arcp__config *config, arcp_error *err)
{
    arcp__config_init(config);
    return arcp__config_read_text(config, "f.yaml", arcp_span_cstr(text), err);
}

static void hooks_are_read_and_printed_without_secrets(void **state)
{
    arcp__config config;
    arcp_error error = {0};
    arcp_buf out = arcp_buf_init();
    (void)state;
    check_ok(read_text("hooks:\n"
                       "  - name: pager\n"
                       "    on: [end, stuck]\n"
                       "    agent: survey@*\n"
                       "    principal: ops\n"
                       "    budget_left_percent: 25\n"
                       "    stuck_after_sec: 60\n"
                       "    url: https://hooks.example.com/x\n"
                       "    secret: hunter2\n"
                       "    timeout_ms: 500\n"
                       "  - {name: mail, on: [budget], command: [mail, -s, arcp]}\n",
                       &config, &error),
             &error);
    assert_int_equal(config.hook_count, 2);
    assert_int_equal(config.hooks[0].timeout_ms, 500);
    assert_int_equal(config.hooks[1].budget_left_percent, 10);
    assert_int_equal(config.hooks[1].stuck_after_sec, 600);
    arcp__config_print(&config, &out);
    arcp_buf_append_byte(&out, '\0');
    assert_non_null(strstr(out.data, "url: \"https://hooks.example.com/x\""));
    assert_null(strstr(out.data, "hunter2"));
    arcp_buf_fini(&out);
    arcp__config_fini(&config);
}

#define CA_FILE     "f.yaml:2: hooks[0]: ca_file is an absolute path, for a hook with an https:// url"
#define ENTRY(more) "hooks:\n  - name: n\n    on: [end]\n    " more "\n"

static void a_bad_hook_is_refused_with_line_and_key(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {ENTRY("url: ftp://x"), "f.yaml:2: hooks[0]: a url must begin with http:// or https://"},
        {ENTRY("agent: a"), "f.yaml:2: hooks[0]: needs name, on, and either url or command"},
        {ENTRY("url: http://x\n    command: [y]"),
         "f.yaml:2: hooks[0]: needs name, on, and either url or command"},
        {ENTRY("command: [y]\n    secret: z"), "f.yaml:2: hooks[0]: secret is for a hook with url"},
        {ENTRY("url: http://x\n    ca_file: /y"), CA_FILE},
        {ENTRY("url: https://x\n    ca_file: y"), CA_FILE},
        {ENTRY("command: [y]\n    ca_file: /z"), CA_FILE},
        {ENTRY("budget_left_percent: 100"), "f.yaml:4: hooks[0].budget_left_percent: "},
        {ENTRY("stuck_after_sec: 0"), "f.yaml:4: hooks[0].stuck_after_sec: "},
        {ENTRY("stuck_after_sec: 604801"), "f.yaml:4: hooks[0].stuck_after_sec: "},
        {ENTRY("timeout_ms: 0"), "f.yaml:4: hooks[0].timeout_ms: "},
        {ENTRY("timeout_ms: 300001"), "f.yaml:4: hooks[0].timeout_ms: "},
        {"hooks:\n  - {name: n, url: http://x}\n",
         "f.yaml:2: hooks[0]: needs name, on, and either url or command"},
        {"hooks:\n  - {on: [end], url: http://x}\n",
         "f.yaml:2: hooks[0]: needs name, on, and either url or command"},
        {"hooks:\n  - {name: n/m, on: [end], url: http://x}\n",
         "f.yaml:2: hooks[0].name: must consist of letters, digits, - _ and ."},
        {"hooks:\n  - {name: n, on: [end, start], url: http://x}\n",
         "f.yaml:2: hooks[0]: on: \"start\": must be end, denial, budget or stuck"},
        {"hooks:\n  - {name: n, on: [end], url: http://x}\n"
         "  - {name: n, on: [end], url: http://y}\n",
         "f.yaml:3: hooks[1]: an entry above has the same name"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__config config;
        arcp_error error = {0};
        assert_int_equal(read_text(rows[i].text, &config, &error), ARCP_E_USAGE);
        if (strncmp(error.message, rows[i].message, strlen(rows[i].message)) != 0) {
            fail_msg("%s\n%s", rows[i].text, error.message);
        }
        arcp__config_fini(&config);
    }
}

static void both_ends_of_the_ranges_are_accepted(void **state)
{
    static const char *const rows[] = {
        "budget_left_percent: 0\n    stuck_after_sec: 1\n    timeout_ms: 1",
        "budget_left_percent: 99\n    stuck_after_sec: 604800\n    timeout_ms: 300000",
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        arcp__config config;
        arcp_error error = {0};
        (void)snprintf(text, sizeof text, ENTRY("url: http://x\n    %s"), rows[i]);
        check_ok(read_text(text, &config, &error), &error);
        arcp__config_fini(&config);
    }
}

/* Reads the text, and makes a set of it. */
static arcp_status make(const char *text, arcp__config *config, arcp__hook_set *set,
                        arcp_error *err)
{
    check_ok(read_text(text, config, err), err);
    return arcp__hook_set_make(config, set, err);
}

static void placeholders_are_replaced_and_the_shown_target_has_no_secret(void **state)
{
    static const struct {
        const char *url, *shown;
    } rows[] = {
        {"https://hooks.example.com:8443/services/T0/B0/XyZ?token=1",
         "https://hooks.example.com:8443"},
        {"http://user:pass@hooks.example.com#x", "http://hooks.example.com"},
        {"{env:HOOK_TEST_URL}/y", "https://in.the.environment"},
    };
    (void)state;
    (void)setenv("HOOK_TEST_URL", "https://in.the.environment/x", 1);
    (void)setenv("HOOK_TEST_KEY", "k3y", 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        arcp__config config;
        arcp__hook_set set;
        arcp_error error = {0};
        (void)snprintf(text, sizeof text, ENTRY("url: \"%s\"\n    secret: \"{env:HOOK_TEST_KEY}\""),
                       rows[i].url);
        check_ok(make(text, &config, &set, &error), &error);
        assert_int_equal(set.count, 1);
        assert_string_equal(set.targets[0].shown, rows[i].shown);
        assert_true(arcp_span_equal_cstr(arcp_buf_span(&set.targets[0].secret), "k3y"));
        assert_true(arcp_span_equal_cstr(set.options[0].target, rows[i].shown));
        assert_int_equal(set.options[0].events, 1u << ARCP__HOOK_END);
        arcp__hook_set_fini(&set);
        arcp__config_fini(&config);
    }
}

static void what_a_placeholder_lacks_is_refused_with_the_key(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {ENTRY("url: \"{env:NO_SUCH_HOOK}\""), "hooks[0].url: the environment has no variable"},
        {ENTRY("url: \"{env:HOOK_TEST_FTP}\""), "hooks[0].url: must begin with http://"},
        {ENTRY("url: http://x\n    secret: \"{file:/no/such/file}\""),
         "hooks[0].secret /no/such/file cannot be read"},
        {ENTRY("url: http://x\n    secret: \"{env:HOOK_TEST_EMPTY}\""),
         "hooks[0].secret: is empty"},
    };
    (void)state;
    (void)setenv("HOOK_TEST_FTP", "ftp://x", 1);
    (void)setenv("HOOK_TEST_EMPTY", "", 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__config config;
        arcp__hook_set set;
        arcp_error error = {0};
        assert_int_not_equal(make(rows[i].text, &config, &set, &error), ARCP_OK);
        if (strncmp(error.message, rows[i].message, strlen(rows[i].message)) != 0) {
            fail_msg("%s\n%s", rows[i].text, error.message);
        }
        arcp__config_fini(&config);
    }
}

/* The HMAC is that of Python's hmac module. */
static void a_signature_has_the_time_and_the_hmac_of_both(void **state)
{
    arcp_buf out = arcp_buf_init();
    (void)state;
    assert_true(arcp__hook_sign(ARCP_SPAN_LITERAL("k3y"), 1767225600,
                                ARCP_SPAN_LITERAL("{\"id\":\"ntf_1\"}"), &out));
    assert_true(arcp_span_equal_cstr(
        arcp_buf_span(&out),
        "t=1767225600,v1=7ec1490d808a526de1f365e7a9cdc279ff0f744991a74bd33a5f340452666e51"));
    arcp_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hooks_are_read_and_printed_without_secrets),
        cmocka_unit_test(a_bad_hook_is_refused_with_line_and_key),
        cmocka_unit_test(both_ends_of_the_ranges_are_accepted),
        cmocka_unit_test(placeholders_are_replaced_and_the_shown_target_has_no_secret),
        cmocka_unit_test(what_a_placeholder_lacks_is_refused_with_the_key),
        cmocka_unit_test(a_signature_has_the_time_and_the_hmac_of_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
