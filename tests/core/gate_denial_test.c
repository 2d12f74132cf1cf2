/* The content of a denial: its reason, its details and its message. */
#include "core/gate_rig.h"

#include "support/check.h"

static void check_details(const arcp_authority *authority, const arcp_decision *decision,
                          const char *details, const char *message)
{
    arcp_buf text = arcp_buf_init();
    arcp_decision_format_details(authority, decision, &text);
    check_span(arcp_buf_span(&text), details);
    arcp_buf_clear(&text);
    arcp_decision_format_message(decision, &text);
    check_span(arcp_buf_span(&text), message);
    arcp_buf_fini(&text);
}

static void a_denial_carries_what_a_client_needs_to_know(void **state)
{
    (void)state;
    const arcp_authority *authority = authority_of(
        "{\"fs.read\":[\"/data/**\",\"/x\"],\"cost.budget\":[\"USD:1\"]}", expires_at_100);
    arcp_decision decision = ask(authority, "fs.read", "/data/../etc/passwd");
    check_details(authority, &decision,
                  "{\"capability\":\"fs.read\",\"target\":\"/data/../etc/passwd\",\"canonical\":"
                  "\"/etc/passwd\",\"granted\":[\"/data/**\",\"/x\"],\"reason\":\"NO_MATCH\"}",
                  "fs.read of \"/data/../etc/passwd\" is not covered by the lease");
    decision = ask(authority, "net.fetch", "https://a@b/");
    check_details(authority, &decision,
                  "{\"capability\":\"net.fetch\",\"target\":\"https://a@b/\",\"granted\":[],"
                  "\"reason\":\"USERINFO\"}",
                  "net.fetch of \"https://a@b/\" is refused: the URL contains user information");
    decision = ask(authority, "fs.read", "/\xff\n");
    check_details(authority, &decision,
                  "{\"capability\":\"fs.read\",\"target\":\"/\xef\xbf\xbd\\n\",\"canonical\":"
                  "\"/\xef\xbf\xbd\\n\",\"granted\":[\"/data/**\",\"/x\"],\"reason\":\"NO_MATCH\"}",
                  "fs.read of \"/\xef\xbf\xbd\\n\" is not covered by the lease");
    decision = ask(authority, "bad\nname", "x");
    check_details(authority, &decision,
                  "{\"capability\":\"bad\\nname\",\"target\":\"x\",\"granted\":[],"
                  "\"reason\":\"UNKNOWN_CAPABILITY\"}",
                  "\"bad\\nname\" of \"x\" is refused: there is no such capability");
    const arcp_time late = {100 * SEC, 0};
    decision = ask_at(authority, late, "fs.read", "/x");
    check_details(authority, &decision,
                  "{\"capability\":\"fs.read\",\"target\":\"/x\",\"granted\":[\"/data/**\",\"/x\"],"
                  "\"reason\":\"EXPIRED\",\"expires_at\":\"1970-01-01T00:01:40Z\"}",
                  "fs.read of \"/x\" is refused: the lease has expired");
    spend(authority, "USD", "2");
    decision = ask(authority, "fs.read", "/x");
    check_details(authority, &decision,
                  "{\"capability\":\"fs.read\",\"target\":\"/x\",\"granted\":[\"/data/**\",\"/x\"],"
                  "\"reason\":\"BUDGET\",\"currency\":\"USD\"}",
                  "fs.read of \"/x\" is refused: the budget of \"USD\" is used up");
    arcp_authority_unref(authority);
}

static void details_name_32_patterns_at_most_and_messages_stay_short(void **state)
{
    (void)state;
    arcp_lease_builder *builder = arcp_lease_builder_new();
    assert_non_null(builder);
    for (int i = 0; i < 33; i++) {
        char pattern[16];
        (void)snprintf(pattern, sizeof pattern, "/p%d", i);
        arcp_lease_allow(builder, "fs.read", pattern);
    }
    arcp_lease *lease = NULL;
    arcp_error err = {0};
    check_ok(arcp_lease_build(builder, &lease, &err), &err);
    const arcp_authority_options options = arcp_authority_options_init();
    arcp_authority *authority = NULL;
    check_ok(arcp_authority_new(lease, &options, &authority, &err), &err);
    arcp_lease_unref(lease);
    char target[3000];
    memset(target, 'a', sizeof target - 1);
    target[0] = '/';
    target[sizeof target - 1] = '\0';
    const arcp_decision decision = ask(authority, "fs.read", target);
    arcp_buf text = arcp_buf_init();
    arcp_decision_format_details(authority, &decision, &text);
    arcp_buf_append_byte(&text, '\0');
    assert_non_null(strstr(text.data, "\"/p31\"],\"granted_count\":33"));
    assert_null(strstr(text.data, "/p32"));
    arcp_buf_clear(&text);
    arcp_decision_format_message(&decision, &text);
    assert_in_range(text.size, 200, 256);
    arcp_buf_fini(&text);
    arcp_authority_unref(authority);
}

static void every_reason_has_a_name_and_a_text(void **state)
{
    (void)state;
    for (int i = ARCP_DENY_NONE; i < ARCP_DENY_REASON_COUNT; i++) {
        assert_true(arcp_deny_reason_name((arcp_deny_reason)i)[0] != '\0');
        assert_true(arcp_deny_reason_text((arcp_deny_reason)i)[0] != '\0');
    }
    assert_string_equal(arcp_deny_reason_name(ARCP_DENY_NO_MATCH), "NO_MATCH");
    assert_string_equal(arcp_deny_reason_name(ARCP_DENY_REASON_COUNT), "NONE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_denial_carries_what_a_client_needs_to_know),
        cmocka_unit_test(details_name_32_patterns_at_most_and_messages_stay_short),
        cmocka_unit_test(every_reason_has_a_name_and_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
