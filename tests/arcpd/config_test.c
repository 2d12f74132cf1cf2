/* What the configuration says of tokens, keys and profiles, and how wrong ones are named. */
#include "support/check.h"

#include "arcpd/config.h"
#include "arcpd/tokens.h"

static arcp_status read_text(arcp__config *config, const char *text, arcp_error *err)
{
    arcp__config_init(config);
    return arcp__config_read_text(config, "test.yaml", arcp_span_cstr(text), err);
}

static char *printed(const char *text)
{
    arcp__config config;
    arcp_error error = {0};
    arcp_buf out = ARCP_BUF_INIT;
    check_ok(read_text(&config, text, &error), &error);
    arcp__config_print(&config, &out);
    arcp__config_fini(&config);
    return arcp_buf_take_cstr(&out);
}

static void what_was_read_is_printed_without_secrets(void **state)
{
    char *text = printed("tokens: [{token: hush-hush, principal: alice}]\n"
                         "jwt:\n"
                         "  - {algorithm: ES256, key_file: /k.pem, key_id: k1, issuer: 'https://i',"
                         " audience: arcp, principal_claim: email, leeway_sec: 3600}\n"
                         "  - {algorithm: HS256, key_file: /s}\n"
                         "peer_profiles: [{principal: 'ci-*', profile: go}]\n"
                         "agents: [{name: a, command: [x], env: {KEY: hush-hush}}]\n");
    (void)state;
    assert_null(strstr(text, "hush-hush"));
    assert_non_null(strstr(text, "  - {token: \"***\", principal: \"alice\"}\n"));
    assert_non_null(strstr(text, "no_auth: false\n"));
    assert_non_null(strstr(text, "jwt:\n"
                                 "  - algorithm: ES256\n"
                                 "    key_file: \"/k.pem\"\n"
                                 "    key_id: \"k1\"\n"
                                 "    issuer: \"https://i\"\n"
                                 "    audience: \"arcp\"\n"
                                 "    principal_claim: \"email\"\n"
                                 "    leeway_sec: 3600\n"
                                 "  - algorithm: HS256\n"
                                 "    key_file: \"/s\"\n"
                                 "    key_id: null\n"
                                 "    issuer: null\n"
                                 "    audience: null\n"
                                 "    principal_claim: null\n"
                                 "    leeway_sec: 60\n"));
    assert_non_null(strstr(text, "  - {client: null, principal: \"ci-*\", profile: \"go\"}\n"));
    /* What is printed can be read again, and comes to the same. */
    char *again = printed(text);
    assert_non_null(strstr(again, "    leeway_sec: 3600\n"));
    arcp_free(text);
    arcp_free(again);
}

static void what_is_wrong_is_named_with_line_and_key(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"jwt: [{algorithm: HS256}]\n", "test.yaml:1: jwt[0]: needs algorithm and key_file"},
        {"jwt: [{key_file: /k}]\n", "test.yaml:1: jwt[0]: needs algorithm and key_file"},
        {"jwt:\n  - {key_file: /k, algorithm: none}\n",
         "test.yaml:2: jwt[0].algorithm: must be HS256, RS256 or ES256"},
        {"jwt:\n  - {key_file: /k, algorithm: RS512}\n",
         "test.yaml:2: jwt[0].algorithm: must be HS256, RS256 or ES256"},
        {"jwt:\n  - {key_file: /k, algorithm: [HS256]}\n",
         "test.yaml:2: jwt[0].algorithm: must be HS256, RS256 or ES256"},
        {"jwt:\n  - {key_file: /k, algorithm: HS256, leeway_sec: 3601}\n",
         "test.yaml:2: jwt[0].leeway_sec: must be a whole number from 0 to 3600"},
        {"jwt:\n  - {key_file: /k, algorithm: HS256, key: abc}\n",
         "test.yaml:2: jwt[0].key: is not a key of the configuration"},
        {"jwt: x\n", "test.yaml:1: jwt: must be a list"},
        {"peer_profiles:\n  - {client: a, profile: cobol}\n",
         "test.yaml:2: peer_profiles[0]: names no profile: draft, ts, go, python, csharp, java, "
         "ruby"},
        {"peer_profiles:\n  - {profile: go}\n",
         "test.yaml:2: peer_profiles[0]: needs profile, and client or principal"},
        {"peer_profiles:\n  - {client: a}\n",
         "test.yaml:2: peer_profiles[0]: needs profile, and client or principal"},
        {"agents:\n  - {name: a, command: [x], cwd: work}\n",
         "test.yaml:2: agents[0].cwd: must be an absolute path, or null for a fresh directory"},
        {"tokens: [{token: '', principal: a}]\n",
         "test.yaml:1: tokens[0]: needs token and principal"},
    };
    (void)state;
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        arcp__config config;
        arcp_error error = {0};
        assert_int_equal(read_text(&config, rows[at].text, &error), ARCP_E_USAGE);
        assert_string_equal(error.message, rows[at].message);
        arcp__config_fini(&config);
    }
}

static void keys_are_tried_when_a_configuration_is_checked(void **state)
{
    arcp__config config;
    arcp_error error = {0};
    (void)state;
    check_ok(read_text(&config, "tokens: [{token: t, principal: a}]\n", &error), &error);
    check_ok(arcp__verifiers_check(&config, &error), &error);
    assert_true(arcp__config_has_tokens(&config));
    arcp__config_fini(&config);
    check_ok(read_text(&config, "jwt: [{algorithm: HS256, key_file: /nowhere/k}]\n", &error),
             &error);
    assert_int_equal(arcp__verifiers_check(&config, &error), ARCP_E_USAGE);
    assert_string_equal(error.message,
                        "key file /nowhere/k cannot be read: No such file or directory");
    assert_true(arcp__config_has_tokens(&config));
    arcp__config_fini(&config);
    check_ok(read_text(&config, "token_file: /nowhere/t\n", &error), &error);
    assert_int_equal(arcp__verifiers_check(&config, &error), ARCP_E_USAGE);
    arcp__config_fini(&config);
    check_ok(read_text(&config, "", &error), &error);
    assert_false(arcp__config_has_tokens(&config));
    arcp__config_fini(&config);
}

static void only_loopback_is_safe_without_tokens(void **state)
{
    static const struct {
        const char *url;
        bool is_loopback;
    } rows[] = {
        {"ws://127.0.0.1:7777/arcp", true},
        {"ws://127.255.0.9:1", true},
        {"wss://localhost:1/arcp", true},
        {"ws://[::1]:7777/arcp", true},
        {"ws://LOCALHOST:1/arcp", true},
        {"ws://0.0.0.0:1", false},
        {"ws://[::]:1", false},
        {"ws://10.0.0.1:1", false},
        {"ws://127.0.0.1.example:1", false},
        {"ws://127.example:1", false},
        {"ws://localhost.example:1", false},
        {"ws://user@127.0.0.1:1", false},
        {"ws://[::1.example]:1", false},
        {"", false},
    };
    (void)state;
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        arcp__config config;
        arcp_error error = {0};
        arcp__config_init(&config);
        check_ok(arcp__text_list_add(&config.listen, rows[at].url, &error), &error);
        arcp_status status = arcp__listen_is_safe(&config, &config.listen, &error);
        if ((status == ARCP_OK) != rows[at].is_loopback) {
            fail_msg("%s", rows[at].url);
        }
        check_ok(arcp__config_add_token(&config, "t=alice", &error), &error);
        check_ok(arcp__listen_is_safe(&config, &config.listen, &error), &error);
        /* A door that is open to everybody has no use for tokens. */
        config.no_auth = true;
        status = arcp__listen_is_safe(&config, &config.listen, &error);
        assert_int_equal(status == ARCP_OK, rows[at].is_loopback);
        arcp__config_fini(&config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_read_is_printed_without_secrets),
        cmocka_unit_test(what_is_wrong_is_named_with_line_and_key),
        cmocka_unit_test(keys_are_tried_when_a_configuration_is_checked),
        cmocka_unit_test(only_loopback_is_safe_without_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
