/* `credentials:` in the configuration: what is accepted, what is refused with which
 * message, and that nothing secret is printed. */
#include "arcpd/arcpd.h"
#include "arcpd/config.h"

#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"

#define HTTP                                                                                       \
    "credentials:\n"                                                                               \
    "  provisioner: http\n"                                                                        \
    "  endpoint: https://gw.example/v1\n"                                                          \
    "  models: [a, b]\n"                                                                           \
    "  currency: USD\n"                                                                            \
    "  enforces: [budget, models]\n"                                                               \
    "  rotate_sec: 60\n"                                                                           \
    "  errors: [{status: 400, contains: budget_exceeded, code: BUDGET_EXHAUSTED}]\n"               \
    "  http:\n"                                                                                    \
    "    issue:\n"                                                                                 \
    "      url: https://gw.example/key/generate\n"                                                 \
    "      headers: {Authorization: Bearer sk-master}\n"                                           \
    "      body: {key_alias: \"{alias}\", n: 5, s: \"5\", t: true, l: [\"{models}\", null]}\n"     \
    "      response: {value: /key}\n"                                                              \
    "    revoke: {url: \"https://gw.example/key/delete\", body: {key_aliases: [\"{alias}\"]}}\n"

static arcp_status read_text(const char *text, arcp__config *config, arcp_error *err)
{
    arcp__config_init(config);
    return arcp__config_read_text(config, "f.yaml", arcp_span_cstr(text), err);
}

static void an_upstream_is_described_by_templates(void **state)
{
    arcp__config config;
    arcp_error error = {0};
    (void)state;
    check_ok(read_text(HTTP, &config, &error), &error);
    const arcp__config_credentials *credentials = &config.credentials;
    const arcp__http_request *issue = &credentials->http.requests[ARCP__HTTP_ISSUE];
    assert_int_equal(credentials->kind, ARCP__PROVISIONER_HTTP);
    assert_int_equal(credentials->upstream.terms.enforces,
                     ARCP_ENFORCES_BUDGET | ARCP_ENFORCES_MODELS);
    assert_string_equal(issue->body, "{\"key_alias\":\"{alias}\",\"n\":5,\"s\":\"5\",\"t\":true,"
                                     "\"l\":[\"{models}\",null]}");
    assert_string_equal(issue->headers[0], "Authorization: Bearer sk-master");
    assert_string_equal(issue->pointers[ARCP__HTTP_VALUE], "/key");
    assert_int_equal(credentials->upstream.error_rules[0].code, ARCP_E_BUDGET_EXHAUSTED);
    assert_int_equal(config.settings.credentials_rotate_sec, 60);
    arcp__config_fini(&config);
}

static void nothing_secret_is_printed(void **state)
{
    static const char pool[] = "credentials:\n  provisioner: static\n  endpoint: https://e\n"
                               "  values: [sk-one, sk-two]\n";
    const char *const texts[] = {HTTP, pool};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        arcp__config config;
        arcp_error error = {0};
        arcp_buf out = arcp_buf_init();
        check_ok(read_text(texts[i], &config, &error), &error);
        arcp__config_print(&config, &out);
        arcp_buf_append_byte(&out, '\0');
        assert_null(strstr(out.data, "sk-"));
        assert_non_null(strstr(out.data, "***"));
        /* It is YAML, and one group. */
        const char *group = strstr(out.data, "\ncredentials:");
        assert_non_null(group);
        assert_null(strstr(group + 1, "\ncredentials:"));
        arcp_buf_fini(&out);
        arcp__config_fini(&config);
    }
}

static const struct {
    const char *text;
    const char *message;
} wrong[] = {
    {"credentials: {provisioner: magic}",
     "f.yaml:1: credentials.provisioner: must be none, static, http or gateway"},
    {"credentials: {provisioner: gateway, profile: mistral}",
     "f.yaml:1: credentials: provisioner: gateway needs the profile openai or anthropic"},
    {"credentials:\n  provisioner: static\n",
     "f.yaml:2: credentials: provisioner: static needs values or values_file"},
    {"credentials: {provisioner: static, values: [a]}",
     "f.yaml:1: credentials: provisioner: static needs an endpoint"},
    {"credentials: {provisioner: http}",
     "f.yaml:1: credentials: provisioner: http needs http.issue.url and http.revoke.url"},
    {"credentials: {provisioner: http, http: {issue: {url: 'http://a'}}}",
     "f.yaml:1: credentials: provisioner: http needs http.issue.url and http.revoke.url"},
    {"credentials: {provisioner: http, http: {issue: {url: 'http://a'}, revoke: {url: "
     "'http://a'}}}",
     "f.yaml:1: credentials: provisioner: http needs http.issue.response.value"},
    {"credentials: {provisioner: http, http: {issue: {url: 'http://a', response: {value: /v}}, "
     "revoke: {url: 'http://a'}}}",
     "f.yaml:1: credentials: provisioner: http needs an endpoint, or "
     "http.issue.response.endpoint"},
    {"credentials: {provisioner: http, endpoint: e, http: {issue: {url: 'http://a', response: "
     "{value: /v}}, revoke: {url: 'http://a'}, usage: {url: 'http://a'}}}",
     "f.yaml:1: credentials: http.usage needs response.spent"},
    {"credentials:\n  http:\n    issue: {url: ftp://x}\n",
     "f.yaml:3: credentials.http.issue.url: must begin with https:// or http://"},
    {"credentials: {http: {issue: {response: {value: key}}}}",
     "f.yaml:1: credentials.http.issue.response.value: must be a JSON pointer such as /key"},
    {"credentials: {http: {issue: {body: text}}}",
     "f.yaml:1: credentials.http.issue.body: must be a mapping or a list: it is sent as JSON"},
    {"credentials: {http: {issue: {body: &b [*b]}}}",
     "f.yaml:1: credentials.http.issue.body: is nested deeper than 32 levels"},
    {"credentials: {http: {issue: {body: &b {b: *b}}}}",
     "f.yaml:1: credentials.http.issue.body.b.b."},
    {"credentials: {http: {issue: {body: {a: {? [b] : c}}}}}",
     "f.yaml:1: credentials.http.issue.body.a: a key must be a word"},
    {"credentials: {http: {issue: {body: {a: 1, a: 2}}}}",
     "f.yaml:1: credentials.http.issue.body.a: occurs twice"},
    {"credentials: {http: {timeout_ms: 3600001}}",
     "f.yaml:1: credentials.http.timeout_ms: must be a whole number from 0 to 3600000"},
    {"credentials: {http: {connections: 1001}}",
     "f.yaml:1: credentials.http.connections: must be a whole number from 0 to 1000"},
    {"credentials: {http: {gone: 404}}", "f.yaml:1: credentials.http.gone: must be a list"},
    {"credentials:\n  http:\n    gone: [404,\n      gone]\n",
     "f.yaml:4: credentials.http.gone[1]: must be a whole number"},
    {"credentials: {http: {gone: [100, 99]}}",
     "f.yaml:1: credentials.http.gone[1]: must be an HTTP status, 100 to 599"},
    {"credentials: {http: {gone: [599, 600]}}",
     "f.yaml:1: credentials.http.gone[1]: must be an HTTP status, 100 to 599"},
    {"credentials: {errors: [{code: TIMEOUT, status: 99}]}",
     "f.yaml:1: credentials.errors[0].status: must be an HTTP status, 100 to 599"},
    {"credentials: {errors: [{code: TIMEOUT, status: 600}]}",
     "f.yaml:1: credentials.errors[0].status: must be an HTTP status, 100 to 599"},
    {"credentials: {enforces: [magic]}",
     "f.yaml:1: credentials.enforces: must be a list of budget, models and expiry"},
    {"credentials: {enforces: [budget]}",
     "f.yaml:1: credentials: enforces: budget needs a currency"},
    {"credentials: {enforces: [models]}", "f.yaml:1: credentials: enforces: models needs models"},
    {"credentials: {errors: [{status: 400}]}", "f.yaml:1: credentials.errors[0]: needs a code"},
    {"credentials: {errors: [{status: 400, code: NO}]}",
     "f.yaml:1: credentials.errors[0].code: must be an error code such as BUDGET_EXHAUSTED"},
    {"credentials: {errors: [{code: TIMEOUT}]}",
     "f.yaml:1: credentials.errors[0]: needs a status, or contains"},
    {"credentials: {stuck_after: 0}", "f.yaml:1: credentials.stuck_after is \"0\", must be "},
    {"credentials: {magic: 1}", "f.yaml:1: credentials.magic: "},
};

static void errors_name_the_key_and_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        arcp__config config;
        arcp_error error = {0};
        assert_int_equal(read_text(wrong[i].text, &config, &error), ARCP_E_USAGE);
        if (strncmp(error.message, wrong[i].message, strlen(wrong[i].message)) != 0) {
            fail_msg("%s: got \"%s\", want \"%s\"", wrong[i].text, error.message, wrong[i].message);
        }
        arcp__config_fini(&config);
    }
}

static void a_body_has_at_most_32_levels(void **state)
{
    (void)state;
    for (unsigned levels = 32; levels <= 33; levels++) {
        char list[80] = "";
        char text[256];
        arcp__config config;
        arcp_error error = {0};
        memset(list, '[', levels);
        memset(list + levels, ']', levels);
        snprintf(text, sizeof text, "credentials: {http: {issue: {body: %s}}}", list);
        assert_int_equal(read_text(text, &config, &error), levels == 32 ? ARCP_OK : ARCP_E_USAGE);
        const char *body = config.credentials.http.requests[ARCP__HTTP_ISSUE].body;
        if (levels == 32) {
            assert_string_equal(body, list);
        } else {
            assert_null(body);
        }
        arcp__config_fini(&config);
    }
}

static void aliases_do_not_make_a_short_file_a_long_body(void **state)
{
    arcp_buf text = arcp_buf_init();
    arcp__config config;
    arcp_error error = {0};
    (void)state;
    arcp_buf_append_cstr(&text, "credentials: {http: {issue: {body: {l0: &l0 [x]");
    for (unsigned i = 1; i <= 20; i++) { /* each is eight times the one before */
        arcp_buf_append_format(&text, ", l%u: &l%u [", i, i);
        for (unsigned copy = 0; copy < 8; copy++) {
            arcp_buf_append_format(&text, "%s*l%u", copy == 0 ? "" : ", ", i - 1);
        }
        arcp_buf_append_byte(&text, ']');
    }
    arcp_buf_append(&text, arcp_span_cstr("}}}}"));
    arcp_buf_append_byte(&text, '\0');
    assert_int_equal(read_text(text.data, &config, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, ": makes the body longer than 1048576 bytes"));
    arcp_buf_fini(&text);
    arcp__config_fini(&config);
}

static void append_many(arcp_buf *text, const char *piece, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        arcp_buf_append_cstr(text, piece);
    }
}

static void a_body_has_at_most_a_mebibyte(void **state)
{
    const size_t longest = 1048576 - strlen("{\"l\":\"\"}");
    (void)state;
    for (size_t size = longest; size <= longest + 1; size++) {
        arcp_buf text = arcp_buf_init();
        arcp__config config;
        arcp_error error = {0};
        arcp_buf_append_cstr(&text, "credentials: {http: {issue: {body: {l: ");
        append_many(&text, "x", size);
        arcp_buf_append(&text, ARCP_SPAN_LITERAL("}}}}\0"));
        assert_int_equal(read_text(text.data, &config, &error),
                         size == longest ? ARCP_OK : ARCP_E_USAGE);
        assert_int_equal(config.credentials.http.requests[ARCP__HTTP_ISSUE].body != NULL,
                         size == longest);
        arcp_buf_fini(&text);
        arcp__config_fini(&config);
    }
}

/* 64 MiB would be written if only lists and mappings were measured. */
static void aliases_of_one_long_text_are_measured(void **state)
{
    arcp_buf text = arcp_buf_init();
    arcp__config config;
    arcp_error error = {0};
    (void)state;
    arcp_buf_append_cstr(&text, "credentials: {http: {issue: {body: [&a ");
    append_many(&text, "x", 65536);
    append_many(&text, ", *a", 1024);
    arcp_buf_append(&text, ARCP_SPAN_LITERAL("]}}}\0"));
    assert_int_equal(read_text(text.data, &config, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, ": makes the body longer than 1048576 bytes"));
    arcp_buf_fini(&text);
    arcp__config_fini(&config);
}

static void at_most_32_statuses_mean_not_known(void **state)
{
    (void)state;
    for (size_t count = ARCP__GONE_MAX; count <= ARCP__GONE_MAX + 1; count++) {
        arcp_buf text = arcp_buf_init();
        arcp__config config;
        arcp_error error = {0};
        arcp_buf_append_cstr(&text, HTTP "    gone: [404");
        for (size_t i = 1; i < count; i++) {
            arcp_buf_append_cstr(&text, ", 410");
        }
        arcp_buf_append(&text, ARCP_SPAN_LITERAL("]\n"));
        arcp_buf_append_byte(&text, '\0');
        if (count == ARCP__GONE_MAX) {
            check_ok(read_text(text.data, &config, &error), &error);
            assert_int_equal(config.credentials.http.gone_count, ARCP__GONE_MAX);
        } else {
            assert_int_equal(read_text(text.data, &config, &error), ARCP_E_USAGE);
            assert_non_null(strstr(error.message, "http.gone[32]: must have at most 32 statuses"));
        }
        arcp_buf_fini(&text);
        arcp__config_fini(&config);
    }
}

static void zero_is_the_default_of_a_request_s_time_and_connections(void **state)
{
    arcp__config config;
    arcp_error error = {0};
    (void)state;
    check_ok(read_text("credentials: {http: {timeout_ms: 0, connections: 0}}", &config, &error),
             &error);
    assert_int_equal(config.credentials.http.timeout_ms, 10000);
    assert_int_equal(config.credentials.http.connections, 8);
    arcp__config_fini(&config);
}

static void the_printed_configuration_has_the_values_in_use(void **state)
{
    arcp__config config;
    arcp_error error = {0};
    arcp_buf out = arcp_buf_init();
    (void)state;
    check_ok(read_text(HTTP, &config, &error), &error);
    arcp__config_print(&config, &out);
    arcp_buf_append_byte(&out, '\0');
    assert_non_null(strstr(out.data, "\n    timeout_ms: 10000\n    connections: 8\n"));
    assert_non_null(strstr(out.data, "\n    gone: [404, 410]\n"));
    arcp_buf_fini(&out);
    arcp__config_fini(&config);
}

static void check_not_opened(const char *text, const char *message)
{
    arcp__config config;
    arcp__credentials credentials = {.module = NULL};
    arcp_provisioner *provisioner = NULL;
    arcp_error error = {0};
    check_ok(read_text(text, &config, &error), &error);
    assert_int_equal(
        arcp__credentials_open(&credentials, &config.credentials, NULL, "/", &provisioner, &error),
        ARCP_E_USAGE);
    assert_string_equal(error.message, message);
    assert_null(provisioner);
    arcp__credentials_close(&credentials);
    arcp__config_fini(&config);
}

static void a_values_file_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    check_not_opened("credentials: {provisioner: static, endpoint: e, values_file: /}",
                     "credentials.values_file: /: Is a directory");
}

/* ---- files ---- */

#define ISSUE(more)                                                                                \
    "credentials:\n  provisioner: http\n  endpoint: https://e\n  http:\n"                          \
    "    revoke: {url: \"https://e\"}\n"                                                           \
    "    issue:\n      response: {value: /v}\n" more

/* The @ is the file. */
static void files_that_others_can_change_or_read_are_refused(void **state)
{
    static const struct {
        const char *yaml, *key;
        bool is_secret;
    } rows[] = {
        {ISSUE("      url: https://e\n    ca_file: @\n"), "credentials.http.ca_file", false},
        {ISSUE("      url: \"https://e/{env:HOME}{file:@}\"\n"), "credentials.http.issue", true},
        {ISSUE("      url: https://e\n      headers: {A: a, B: \"b {file:@}\"}\n"),
         "credentials.http.issue", true},
        {ISSUE("      url: https://e\n      body: {a: {b: \"{file:/dev/null}{file:@}\"}}\n"),
         "credentials.http.issue", true},
        {"tracing: {otlp: {endpoint: \"http://h\", ca_file: @}}\n", "tracing.otlp.ca_file", false},
        {"tracing: {otlp: {endpoint: \"http://h\", headers: {A: \"{file:@}\"}}}\n",
         "tracing.otlp.headers", true},
    };
    char path[] = "/tmp/arcp-config-XXXXXX";
    const int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const mode_t modes[] = {0600, 0644, 0646};
        for (size_t j = 0; j < 3; j++) {
            arcp__config config;
            arcp_error error = {0};
            char yaml[512];
            const char *at = strchr(rows[i].yaml, '@');
            (void)snprintf(yaml, sizeof yaml, "%.*s%s%s", (int)(at - rows[i].yaml), rows[i].yaml,
                           path, at + 1);
            assert_int_equal(fchmod(fd, modes[j]), 0);
            check_ok(read_text(yaml, &config, &error), &error);
            const arcp_status status = arcp__config_check(&config, &error);
            const char *want = j == 2                        ? "can be changed by other users"
                               : j == 1 && rows[i].is_secret ? "is a secret but world-readable"
                                                             : "";
            assert_int_equal(status, want[0] == '\0' ? ARCP_OK : ARCP_E_USAGE);
            if (strstr(error.message, want) == NULL ||
                (want[0] != '\0' && strstr(error.message, rows[i].key) == NULL)) {
                fail_msg("%s: want \"%s\" in \"%s\"", rows[i].key, want, error.message);
            }
            arcp__config_fini(&config);
        }
    }
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(path), 0);
}

/* ---- keys of the gateways ---- */

#define MODELS                                                                                     \
    "models: {providers: [{name: p, dialect: openai, url: \"http://127.0.0.1:1/v1\", "             \
    "price: free, models: [m]}]}\n"
#define AGENTS "agents: [{name: a, command: [a]}, {name: shut, gateways: false, command: [a]}]\n"

static void the_gateways_keys_need_gateways(void **state)
{
    static const struct {
        const char *yaml, *problem;
    } rows[] = {
        {"credentials: {provisioner: gateway}\n" MODELS, NULL},
        {"credentials: {provisioner: gateway, profile: anthropic}\n"
         "tools: {servers: [{name: s, command: [s]}]}\n",
         NULL},
        {"credentials: {provisioner: gateway}\n",
         "f.yaml:1: credentials: provisioner: gateway needs models.providers or tools.servers"},
        {"credentials: {provisioner: gateway}\n" MODELS AGENTS,
         "f.yaml:1: credentials: provisioner: gateway has no key for \"shut\", which has "
         "gateways: false: agents must name the others"},
        {"credentials: {provisioner: gateway, agents: [a, s*]}\n" MODELS AGENTS,
         "f.yaml:1: credentials: provisioner: gateway has no key for \"shut\", which has "
         "gateways: false: agents must name the others"},
        {"credentials: {provisioner: gateway, agents: [a]}\n" MODELS AGENTS, NULL},
        {MODELS AGENTS, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__config config;
        arcp_error error = {0};
        check_ok(read_text(rows[i].yaml, &config, &error), &error);
        if (rows[i].problem == NULL) {
            check_ok(arcp__config_check(&config, &error), &error);
        } else {
            assert_int_equal(arcp__config_check(&config, &error), ARCP_E_USAGE);
            assert_string_equal(error.message, rows[i].problem);
        }
        arcp__config_fini(&config);
    }
}

static void limits_of_an_upstream_are_not_printed_for_the_gateways(void **state)
{
    arcp__config config;
    arcp_error error = {0};
    arcp_buf out = arcp_buf_init();
    (void)state;
    check_ok(read_text("credentials: {provisioner: gateway, currency: USD}\n", &config, &error),
             &error);
    arcp__config_print(&config, &out);
    arcp_buf_append_byte(&out, '\0');
    char *group = strstr(out.data, "\ncredentials:");
    assert_non_null(group);
    *strstr(group, "\naudit:") = '\0';
    assert_non_null(strstr(group, "  provisioner: gateway\n"));
    assert_non_null(strstr(group, "  profile:"));
    assert_null(strstr(group, "  endpoint:"));
    assert_null(strstr(group, "  currency:"));
    assert_null(strstr(group, "  enforces:"));
    arcp_buf_fini(&out);
    arcp__config_fini(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gateways_keys_need_gateways),
        cmocka_unit_test(limits_of_an_upstream_are_not_printed_for_the_gateways),
        cmocka_unit_test(files_that_others_can_change_or_read_are_refused),
        cmocka_unit_test(an_upstream_is_described_by_templates),
        cmocka_unit_test(nothing_secret_is_printed),
        cmocka_unit_test(errors_name_the_key_and_its_place),
        cmocka_unit_test(a_values_file_that_cannot_be_read_is_an_error),
        cmocka_unit_test(at_most_32_statuses_mean_not_known),
        cmocka_unit_test(zero_is_the_default_of_a_request_s_time_and_connections),
        cmocka_unit_test(the_printed_configuration_has_the_values_in_use),
        cmocka_unit_test(a_body_has_at_most_32_levels),
        cmocka_unit_test(aliases_do_not_make_a_short_file_a_long_body),
        cmocka_unit_test(a_body_has_at_most_a_mebibyte),
        cmocka_unit_test(aliases_of_one_long_text_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
