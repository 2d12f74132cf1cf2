/* Tokens, keys and profiles in the configuration, and the errors for invalid ones. */
#include "support/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "arcpd/arcpd.h"
#include "arcpd/config.h"

static arcp_status read_text(arcp__config *config, const char *text, arcp_error *err)
{
    arcp__config_init(config);
    return arcp__config_read_text(config, "test.yaml", arcp_span_cstr(text), err);
}

static char *printed(const char *text)
{
    arcp__config config;
    arcp_error error = {0};
    arcp_buf out = arcp_buf_init();
    check_ok(read_text(&config, text, &error), &error);
    arcp__config_print(&config, &out);
    arcp__config_fini(&config);
    return arcp_buf_take_cstr(&out);
}

static void the_configuration_is_printed_without_secrets(void **state)
{
    char *text = printed("tokens: [{token: hush-hush, principal: alice}]\n"
                         "jwt:\n"
                         "  - {algorithm: ES256, key_file: /k.pem, key_id: k1, issuer: 'https://i',"
                         " audience: arcp, principal_claim: email, leeway_sec: 3600}\n"
                         "  - {algorithm: HS256, key_file: /s}\n"
                         "peer_profiles: [{principal: 'ci-*', profile: go}]\n"
                         "policy:\n  - {max_lease: {}}\n  - {max_budget: ['USD:1']}\n"
                         "  - {agent: a, max_lease: {fs.read: [/a]}, max_budget: ['USD:2']}\n"
                         "agents: [{name: a, command: [x], env: {KEY: hush-hush}}]\n");
    (void)state;
    assert_null(strstr(text, "hush-hush"));
    assert_non_null(strstr(text, "  - {token: \"***\", principal: \"alice\", role: none}\n"));
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
    assert_non_null(
        strstr(text, "policy:\n"
                     "  - {principal: \"*\", agent: \"*\", max_lease: {}, max_lifetime_sec: 0}\n"
                     "  - {principal: \"*\", agent: \"*\", max_budget: [\"USD:1\"], "
                     "max_lifetime_sec: 0}\n"
                     "  - {principal: \"*\", agent: \"a\", max_lease: {\"fs.read\":[\"/a\"],"
                     "\"cost.budget\":[\"USD:2\"]}, max_lifetime_sec: 0}\n"));
    assert_non_null(strstr(text, "  - {client: null, principal: \"ci-*\", profile: \"go\"}\n"));
    /* The printed configuration can be read again, and has the same values. */
    char *again = printed(text);
    assert_string_equal(again, text);
    arcp_free(text);
    arcp_free(again);
}

static const struct {
    const char *text, *message;
} wrong[] = {
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
     "test.yaml:2: peer_profiles[0]: unknown profile: must be one of draft, ts, go, python, "
     "csharp, java, "
     "ruby"},
    {"peer_profiles:\n  - {profile: go}\n",
     "test.yaml:2: peer_profiles[0]: needs profile, and client or principal"},
    {"peer_profiles:\n  - {client: a}\n",
     "test.yaml:2: peer_profiles[0]: needs profile, and client or principal"},
    {"agents:\n  - {name: a, command: [x], warm: 4097}\n",
     "test.yaml:2: agents[0].warm: must be a whole number from 0 to 4096"},
    {"agents:\n  - {name: a, command: [x], cwd: work}\n",
     "test.yaml:2: agents[0].cwd: must be an absolute path, or null for a fresh directory"},
    {"tracing:\n  otlp:\n    endpoint: collector:4318\n",
     "test.yaml:3: tracing.otlp.endpoint: must be a URL such as "
     "http://127.0.0.1:4318/v1/traces"},
    {"tracing: {otlp: {endpoint: 'http:///v1/traces'}}\n",
     "test.yaml:1: tracing.otlp.endpoint: must be a URL such as "
     "http://127.0.0.1:4318/v1/traces"},
    {"tracing: {otlp: {endpoint: 'http://me:hush@c:4318'}}\n",
     "test.yaml:1: tracing.otlp.endpoint: must not contain a name or password: put them into "
     "headers"},
    {"tracing: {otlp: {queue_bytes: 65535}}\n",
     "test.yaml:1: tracing.otlp.queue_bytes: must be a whole number from 65536 to 1073741824"},
    {"tracing: {otlp: {queue_bytes: 1073741825}}\n",
     "test.yaml:1: tracing.otlp.queue_bytes: must be a whole number from 65536 to 1073741824"},
    {"tracing: {otlp: {timeout_ms: 99}}\n",
     "test.yaml:1: tracing.otlp.timeout_ms: must be a whole number from 100 to 600000"},
    {"tracing: {otlp: {delay_ms: 60001}}\n",
     "test.yaml:1: tracing.otlp.delay_ms: must be a whole number from 0 to 60000"},
    {"tracing: {otlp: {flush_ms: 60001}}\n",
     "test.yaml:1: tracing.otlp.flush_ms: must be a whole number from 0 to 60000"},
    {"tracing: {otlp: {sampling: 1}}\n",
     "test.yaml:1: tracing.otlp.sampling: is not a key of the configuration"},
    {"tracing: {zipkin: {}}\n", "test.yaml:1: tracing.zipkin: is not a key of the configuration"},
    {"tokens: [{token: '', principal: a}]\n", "test.yaml:1: tokens[0]: needs token and principal"},
    {"workers: {tokens: [{token: t}]}\n", "test.yaml:1: workers.tokens[0]: needs token and name"},
    {"workers: {tokens: [{token: '', name: a}]}\n",
     "test.yaml:1: workers.tokens[0]: needs token and name"},
    {"workers: {tokens: [{token: t, name: a}, {token: t, name: b}]}\n",
     "test.yaml:1: workers.tokens[1]: an entry above has the same token"},
    {"workers: {path: x}\n",
     "test.yaml:1: workers.path: must be a path that begins with / and has no query"},
    {"tokens: [{token: t, principal: a}]\nworkers: {tokens: [{token: t, name: a}]}\n",
     "test.yaml:1: workers.tokens[0] is also a token of sessions (tokens[0])"},
    {"tokens: [{token: t, principal: a, role: admin}]\n",
     "test.yaml:1: tokens[0].role: must be none, viewer or operator"},
    {"tokens: [{token: t, principal: ''}]\n", "test.yaml:1: tokens[0]: needs token and principal"},
    {"agents:\n  - {name: a, command: [x]}\n  - {name: a, command: [y]}\n",
     "test.yaml:3: agents[1]: an entry above has the same name and version"},
    {"agents:\n  - {name: a, version: 1, default: true, command: [x]}\n"
     "  - {name: a, version: 2, default: true, command: [x]}\n",
     "test.yaml:3: agents[1]: an entry above is already the default for this name"},
    {"agents: [{name: a, command: [x], env: {'A=B': c}}]\n",
     "test.yaml:1: agents[0].env.A=B: a variable needs a name without '='"},
    {"agents: [{name: a, command: [x], env: {'': c}}]\n",
     "test.yaml:1: agents[0].env.: a variable needs a name without '='"},
    {"agents: [{name: a, command: [x], mode: serve, processes: 0}]\n",
     "test.yaml:1: agents[0].processes: must be a whole number from 1 to 256"},
    {"agents: [{name: a, command: [x], mode: serve, processes: 257}]\n",
     "test.yaml:1: agents[0].processes: must be a whole number from 1 to 256"},
    {"agents: [{name: a, command: [x], mode: serve, concurrency: 0}]\n",
     "test.yaml:1: agents[0].concurrency: must be a whole number from 1 to 10000"},
    {"agents: [{name: a, command: [x], mode: serve, concurrency: 10001}]\n",
     "test.yaml:1: agents[0].concurrency: must be a whole number from 1 to 10000"},
    {"agents: [{name: a, command: [x], mode: serve, lease: {fs.raed: [/x]}}]\n",
     "test.yaml:1: agents[0].lease: unknown capability \"fs.raed\": it is neither reserved nor of "
     "the "
     "form x-vendor.<vendor>.<cap>"},
    {"agents: [{name: a}]\n", "test.yaml:1: agents[0]: needs name and command (a list of words)"},
    {"agents: [{command: [x]}]\n",
     "test.yaml:1: agents[0]: needs name and command (a list of words)"},
    {"agents:\n  - name: a\n    command: [x]\n    rlimits: {nofiles: 1}\n",
     "test.yaml:4: agents[0].rlimits.nofiles: unknown resource limit \"nofiles\": must be as, "
     "core, "
     "cpu, "
     "data, fsize, nofile, nproc, stack, or another of setrlimit(2)"},
    {"agents: [{name: a, command: [x], rlimits: {nofile: '2:1'}}]\n",
     "test.yaml:1: agents[0].rlimits.nofile: the limit nofile is \"2:1\", must be a number, "
     "\"unlimited\" or SOFT:HARD"},
    {"agents: [{name: a, command: [x], rlimits: {cpu: null}}]\n",
     "test.yaml:1: agents[0].rlimits.cpu: the limit cpu is \"\", must be a number, \"unlimited\" "
     "or "
     "SOFT:HARD"},
    {"limits: {frame_bytes: [1]}\n", "test.yaml:1: limits.frame_bytes: must be a single value"},
    {"policy: [{max_lease: {fs.read: &a [*a]}}]\n",
     "test.yaml:1: policy[0]: fs.read[0] is null: it must be a string"},
    {"policy: [{max_budget: [[[USD:1]]]}]\n",
     "test.yaml:1: policy[0]: cost.budget[0] is null: it must be a string"},
    {"policy: [{max_lease: {fs.read: /srv}}]\n",
     "test.yaml:1: policy[0]: fs.read is a string: it must be an array of strings"},
    {"policy: [{max_lease: {? [fs.read] : [/srv]}}]\n",
     "test.yaml:1: policy[0].max_lease: a key must be a word"},
    {"policy:\n  - max_lease:\n      fs.read: [/a]\n      fs.read: [/b]\n",
     "test.yaml:4: policy[0].max_lease.fs.read: occurs twice"},
    {"limits: {frame_bytes: 4M}\n", "test.yaml:1: limits.frame_bytes is \"4M\", must be a "
                                    "whole number from 131072 to 1073741824"},
    {"[]\n", "test.yaml:1: must be a mapping (key: value)"},
    {"log: {level: info}\n--- {log: {level: warn}}\n",
     "test.yaml:2: the file must contain only one document"},
    {"log: {level: info}\n--- [\n", "test.yaml:3: did not find expected node content"},
    {"log:\n\tlevel: info\n", "test.yaml:2: YAML must be indented by blanks, not tabs"},
    {"# \xc3\xa4\nagents:\n  - name: a\n\t\tcommand: [x]\n",
     "test.yaml:4: YAML must be indented by blanks, not tabs"},
    {"log: {level: \"\xc3\xa4\"}\nstore: @x\n",
     "test.yaml:2: found character that cannot start any token"},
};

static arcp_status read_worker_tokens(size_t count, arcp_error *err)
{
    arcp__config config;
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, "workers:\n  tokens:\n");
    for (size_t i = 0; i < count; i++) {
        arcp_buf_append_format(&text, "    - {token: t%zu, name: w%zu}\n", i, i);
    }
    arcp_buf_append_byte(&text, '\0');
    const arcp_status status = read_text(&config, text.data, err);
    arcp__config_fini(&config);
    arcp_buf_fini(&text);
    return status;
}

static void workers_have_at_most_256_tokens(void **state)
{
    arcp_error error = {0};
    (void)state;
    check_ok(read_worker_tokens(256, &error), &error);
    assert_int_equal(read_worker_tokens(257, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "workers.tokens"));
    assert_non_null(strstr(error.message, "at most 256 tokens"));
}

static void errors_name_the_line_and_the_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        arcp__config config;
        arcp_error error = {0};
        assert_int_equal(read_text(&config, wrong[i].text, &error), ARCP_E_USAGE);
        assert_string_equal(error.message, wrong[i].message);
        arcp__config_fini(&config);
    }
}

static void a_file_has_at_most_16_mebibytes(void **state)
{
    static const char key[] = "no_auth: true\n#";
    const size_t longest = 16777216;
    char *text = malloc(longest + 1);
    (void)state;
    assert_non_null(text);
    memset(text, 'x', longest + 1);
    memcpy(text, key, strlen(key));
    for (size_t size = longest; size <= longest + 1; size++) {
        char path[] = "/tmp/arcp-config-XXXXXX";
        arcp__config config;
        arcp_error error = {0};
        const int file = mkstemp(path);
        assert_true(file >= 0);
        assert_int_equal(write(file, text, size), (ssize_t)size);
        (void)close(file);
        arcp__config_init(&config);
        const arcp_status status = arcp__config_read(&config, path, &error);
        assert_int_equal(status, size == longest ? ARCP_OK : ARCP_E_USAGE);
        assert_int_equal(config.no_auth, size == longest);
        if (size != longest) {
            assert_non_null(strstr(error.message, ": has more than 16777216 bytes"));
        }
        arcp__config_fini(&config);
        (void)unlink(path);
    }
    free(text);
}

static void a_name_that_is_no_plain_word_is_printed_in_quotes(void **state)
{
    char *text =
        printed("agents: [{name: a, command: [x], env: {KEY_1: v, 'a b: {': v, '-': v}}]\n");
    (void)state;
    assert_non_null(strstr(text, "env: {KEY_1: \"***\", \"a b: {\": \"***\", \"-\": \"***\"}\n"));
    char *again = printed(text);
    assert_string_equal(again, text);
    arcp_free(text);
    arcp_free(again);
}

static void null_is_as_if_a_key_was_not_there(void **state)
{
    char *text = printed("agents: null\ntokens: ~\nstore: null\nlisten:\naudit: {path: null}\n");
    (void)state;
    assert_non_null(strstr(text, "agents:\n"));
    assert_non_null(strstr(text, "store: null\n"));
    assert_non_null(strstr(text, "audit:\n  path: \"\"\n")); /* but here it means none */
    arcp_free(text);
}

/* The deepest nesting that is accepted, and one level more; a far deeper text takes no longer. */
static void deep_nesting_is_refused_at_its_depth(void **state)
{
    static const unsigned depths[] = {64, 65, 200000};
    (void)state;
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        arcp__config config;
        arcp_error error = {0};
        arcp_buf text = arcp_buf_init();
        arcp_buf_append_cstr(&text, "log:\n  level: ");
        /* Two mappings are around it. */
        for (unsigned j = 0; j < depths[i] - 2; j++) {
            arcp_buf_append_byte(&text, '[');
        }
        for (unsigned j = 0; j < depths[i] - 2; j++) {
            arcp_buf_append_byte(&text, ']');
        }
        arcp_buf_append_byte(&text, '\0');
        assert_false(text.failed);
        assert_int_equal(read_text(&config, text.data, &error), ARCP_E_USAGE);
        assert_int_equal(strstr(error.message, "test.yaml:2: nested deeper than 64") != NULL,
                         depths[i] > 64);
        arcp__config_fini(&config);
        arcp_buf_fini(&text);
    }
}

static void agents_of_one_name_may_have_several_versions(void **state)
{
    arcp__config config;
    arcp_error error = {0};
    (void)state;
    check_ok(read_text(&config,
                       "agents:\n"
                       "  - {name: a, command: [x], default: true}\n"
                       "  - {name: a, version: 1, command: [x]}\n"
                       "  - {name: a, version: 2, command: [x]}\n"
                       "  - {name: b, command: [x], default: true}\n",
                       &error),
             &error);
    assert_int_equal(config.setup.agent_count, 4);
    arcp__config_fini(&config);
}

static void a_principal_may_have_an_equals_sign_in_the_file(void **state)
{
    arcp__config config;
    arcp_error error = {0};
    (void)state;
    check_ok(read_text(&config,
                       "tokens: [{token: t=1, principal: 'cn=alice'},"
                       " {token: t2, principal: bob, role: operator}]\n",
                       &error),
             &error);
    assert_int_equal(config.token_count, 2);
    assert_int_equal(config.tokens[0].role, ARCP_ROLE_NONE);
    assert_int_equal(config.tokens[1].role, ARCP_ROLE_OPERATOR);
    assert_string_equal(config.tokens[0].token, "t=1");
    assert_string_equal(config.tokens[0].principal, "cn=alice");
    arcp__config_fini(&config);
}

static const struct {
    const char *text, *message;
} whole_rows[] = {
    {"", NULL},
    {"listen: ['ws://127.0.0.1:7777/arcp', 'WS://[::1]:0']\nstore: 'memory:'\n"
     "http: {listen: '127.0.0.1:0'}\nhosts: ['*', a.example]\norigins: ['https://a']\n"
     "agents: [{name: a.b-c_1, version: 1.0+x, command: [x]}]\n",
     NULL},
    {"listen: ['127.0.0.1:7777']\n", "test.yaml:1: listen[0]: \"127.0.0.1:7777\": must be "
                                     "ws://HOST:PORT/PATH or wss://HOST:PORT/PATH"},
    {"listen: ['memory:x']\n", "test.yaml:1: listen[0]: \"memory:x\": must be "
                               "ws://HOST:PORT/PATH or wss://HOST:PORT/PATH"},
    {"listen: ['ws://127.0.0.1:65536/arcp']\n",
     "test.yaml:1: listen[0]: \"ws://127.0.0.1:65536/arcp\": expected a valid HOST or "
     "HOST:PORT"},
    {"listen: ['wss://127.0.0.1:1/arcp']\n",
     "test.yaml:1: listen[0]: wss://127.0.0.1:1/arcp needs tls.certificate and tls.key in the "
     "configuration"},
    {"listen: ['wss://127.0.0.1:1/arcp']\ntls: {certificate: /nowhere/c}\n",
     "test.yaml:1: listen[0]: wss://127.0.0.1:1/arcp needs tls.certificate and tls.key in the "
     "configuration"},
    {"listen: ['wss://127.0.0.1:1/arcp']\ntls: {certificate: /nowhere/c, key: /nowhere/k}\n",
     "cannot read the certificate /nowhere/c: No such file or directory"},
    {"listen: ['ws://0.0.0.0:1/arcp']\n",
     "test.yaml:1: listen[0]: refusing to listen on ws://0.0.0.0:1/arcp without configured "
     "tokens: set tokens, token_file or jwt, or listen on 127.0.0.1"},
    {"listen: ['ws://0.0.0.0:1/arcp']\ntokens: [{token: t, principal: a}]\n", NULL},
    {"log: {level: info}\nlisten:\n  - ws://127.0.0.1:1/arcp\n  - http://x/\n",
     "test.yaml:4: listen[1]: \"http://x/\": must be ws://HOST:PORT/PATH or "
     "wss://HOST:PORT/PATH"},
    {"hosts:\n  - a\n  - ''\n", "test.yaml:3: hosts[1]: \"\" is not a host name or HOST:PORT"},
    {"agents:\n  - {name: a, command: [x]}\n  - command: [x]\n    name: B\n",
     "test.yaml:4: agents[1].name: agent \"B\" is not of the form name or name@version (name: "
     "a-z 0-9 . _ -, version: letters, digits and . + _ -)"},
    {"store: foo\n", "test.yaml:1: store: \"foo\": must be sqlite:PATH, postgres://... or memory:"},
    {"store: 'sqlite:'\n",
     "test.yaml:1: store: \"sqlite:\": must be sqlite:PATH, postgres://... or memory:"},
    {"store: 'memory:x'\n",
     "test.yaml:1: store: \"memory:x\": must be sqlite:PATH, postgres://... or memory:"},
    {"store: 'postgresql://u:secret@db/arcp'\n",
     "test.yaml:1: store: \"postgresql://\": must be sqlite:PATH, postgres://... or memory:"},
    {"store: 'sqlite:x'\n", NULL},
    {"http: {listen: localhost:1}\n",
     "test.yaml:1: http.listen: \"localhost:1\" must be ADDRESS:PORT, such as 127.0.0.1:9464"},
    {"http: {listen: 127.0.0.1}\n",
     "test.yaml:1: http.listen: \"127.0.0.1\" must be ADDRESS:PORT, such as 127.0.0.1:9464"},
    {"listen: ['ws://127.0.0.1:1/arcp', 'ws://0.0.0.0:1/arcp']\n"
     "tokens: [{token: t, principal: a}]\ndashboard: {enabled: true}\n",
     "test.yaml:3: dashboard: enabled: true serves it at ws://0.0.0.0:1/arcp, which is neither "
     "on loopback nor wss://: use wss:// there, or enabled: auto (loopback only)"},
    {"listen: ['ws://0.0.0.0:1/arcp']\n"
     "tokens: [{token: t, principal: a}]\ndashboard: {enabled: auto}\n",
     NULL},
    {"dashboard: {path: /ui}\n",
     "test.yaml:1: dashboard.path: \"/ui\": must begin and end with '/', and have letters, "
     "digits, '-' and '/' only"},
    {"listen: ['ws://127.0.0.1:1/x/']\ndashboard: {path: /x/}\n",
     "test.yaml:2: dashboard.path: \"/x/\" is also the path of listen[0], "
     "ws://127.0.0.1:1/x/: choose another one"},
    {"listen: ['ws://127.0.0.1:1/x/']\ndashboard: {path: /x/, enabled: false}\n", NULL},
    {"hosts: ['a b']\n", "test.yaml:1: hosts[0]: \"a b\" is not a host name or HOST:PORT"},
    {"origins: [a.example]\n", "test.yaml:1: origins[0]: \"a.example\" is not an origin (expected "
                               "http://HOST[:PORT] or https://HOST[:PORT])"},
    {"agents: [{name: A, command: [x]}]\n",
     "test.yaml:1: agents[0].name: agent \"A\" is not of the form name or name@version (name: "
     "a-z 0-9 . _ -, version: letters, digits and . + _ -)"},
    {"agents: [{name: a, version: '', command: [x]}]\n",
     "test.yaml:1: agents[0].name: agent \"a@\" is not of the form name or name@version (name: "
     "a-z 0-9 . _ -, version: letters, digits and . + _ -)"},
    {"agents: [{name: a@1, command: [x]}]\n", "test.yaml:1: agents[0].name: \"a@1\": must not "
                                              "contain a version, which is given by version:"},
};

static void checks_of_several_keys_are_made_on_the_whole_configuration(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof whole_rows / sizeof whole_rows[0]; i++) {
        arcp__config config;
        arcp_error error = {0};
        check_ok(read_text(&config, whole_rows[i].text, &error), &error);
        const arcp_status status = arcp__config_check(&config, &error);
        if ((status == ARCP_OK) != (whole_rows[i].message == NULL)) {
            fail_msg("%s: %s", whole_rows[i].text, error.message);
        }
        if (whole_rows[i].message != NULL) {
            assert_string_equal(error.message, whole_rows[i].message);
        }
        arcp__config_fini(&config);
    }
}

/* A value of a flag has no line in the file. */
static void a_value_of_a_flag_has_no_place_in_the_file(void **state)
{
    static const struct {
        const char *flag, *message;
    } rows[] = {
        {"--listen=http://x/",
         "listen: \"http://x/\": must be ws://HOST:PORT/PATH or wss://HOST:PORT/PATH"},
        {"--store=foo", "store: \"foo\": must be sqlite:PATH, postgres://... or memory:"},
        {"--agent=A=x",
         "agents: agent \"A\" is not of the form name or name@version (name: a-z 0-9 . _ -, "
         "version: letters, digits and . + _ -)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char program[] = "arcpd";
        char given[64];
        (void)snprintf(given, sizeof given, "%s", rows[i].flag);
        char *words[] = {program, given, NULL};
        arcp__config config;
        arcp_error error = {0};
        check_ok(read_text(&config,
                           "listen: ['ws://127.0.0.1:1/arcp']\nstore: 'memory:'\n"
                           "agents: [{name: a, command: [x]}]\n",
                           &error),
                 &error);
        check_ok(arcp__arguments_apply(2, words, &config, &error), &error);
        assert_int_equal(arcp__config_check(&config, &error) == ARCP_OK, false);
        assert_string_equal(error.message, rows[i].message);
        arcp__config_fini(&config);
    }
}

static void tracing_is_printed_with_its_defaults_and_without_secrets(void **state)
{
    static const struct {
        const char *endpoint, *url;
    } rows[] = {{"http://c:4318", "http://c:4318/v1/traces"},
                {"http://c:4318/", "http://c:4318/v1/traces"},
                {"https://c/otlp/v1/traces", "https://c/otlp/v1/traces"},
                {"http://c/x@y", "http://c/x@y"}};
    (void)state;
    char *text = printed("");
    assert_non_null(strstr(text, "tracing:\n"
                                 "  otlp:\n"
                                 "    endpoint: null\n"
                                 "    headers: {}\n"
                                 "    ca_file: null\n"
                                 "    service_name: \"arcpd\"\n"
                                 "    timeout_ms: 10000\n"
                                 "    delay_ms: 1000\n"
                                 "    flush_ms: 3000\n"
                                 "    queue_bytes: 4194304\n"));
    arcp_free(text);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char yaml[256];
        char expected[256];
        (void)snprintf(yaml, sizeof yaml,
                       "tracing: {otlp: {endpoint: '%s', headers: {Authorization: hush-hush}, "
                       "queue_bytes: 65536, delay_ms: 0}}\n",
                       rows[i].endpoint);
        (void)snprintf(expected, sizeof expected,
                       "    endpoint: \"%s\"\n    headers: {Authorization: \"***\"}\n",
                       rows[i].url);
        text = printed(yaml);
        assert_non_null(strstr(text, expected));
        assert_non_null(strstr(text, "    queue_bytes: 65536\n"));
        assert_non_null(strstr(text, "    delay_ms: 0\n"));
        assert_null(strstr(text, "hush-hush"));
        arcp_free(text);
    }
}

static void keys_are_tried_when_a_configuration_is_checked(void **state)
{
    arcp__config config;
    arcp__token_facts tokens;
    arcp_error error = {0};
    (void)state;
    check_ok(read_text(&config, "tokens: [{token: t, principal: a}]\n", &error), &error);
    check_ok(arcp__verifiers_check(&config, &tokens, &error), &error);
    assert_true(arcp__config_has_tokens(&config));
    arcp__config_fini(&config);
    check_ok(read_text(&config, "jwt: [{algorithm: HS256, key_file: /nowhere/k}]\n", &error),
             &error);
    assert_int_equal(arcp__verifiers_check(&config, &tokens, &error), ARCP_E_USAGE);
    assert_string_equal(error.message,
                        "key file /nowhere/k cannot be read: No such file or directory");
    assert_true(arcp__config_has_tokens(&config));
    arcp__config_fini(&config);
    check_ok(read_text(&config, "token_file: /nowhere/t\n", &error), &error);
    assert_int_equal(arcp__verifiers_check(&config, &tokens, &error), ARCP_E_USAGE);
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
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__config config;
        arcp_error error = {0};
        arcp__config_init(&config);
        check_ok(arcp__text_list_add(&config.listen, rows[i].url, &error), &error);
        arcp_status status = arcp__listen_is_safe(&config, &config.listen, &error);
        if ((status == ARCP_OK) != rows[i].is_loopback) {
            fail_msg("%s", rows[i].url);
        }
        char program[] = "arcpd";
        char token[] = "--token=t=alice";
        char *words[] = {program, token, NULL};
        check_ok(arcp__arguments_apply(2, words, &config, &error), &error);
        check_ok(arcp__listen_is_safe(&config, &config.listen, &error), &error);
        /* Tokens have no effect on a listener without authentication. */
        config.no_auth = true;
        status = arcp__listen_is_safe(&config, &config.listen, &error);
        assert_int_equal(status == ARCP_OK, rows[i].is_loopback);
        arcp__config_fini(&config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_configuration_is_printed_without_secrets),
        cmocka_unit_test(errors_name_the_line_and_the_key),
        cmocka_unit_test(workers_have_at_most_256_tokens),
        cmocka_unit_test(a_file_has_at_most_16_mebibytes),
        cmocka_unit_test(a_name_that_is_no_plain_word_is_printed_in_quotes),
        cmocka_unit_test(null_is_as_if_a_key_was_not_there),
        cmocka_unit_test(deep_nesting_is_refused_at_its_depth),
        cmocka_unit_test(agents_of_one_name_may_have_several_versions),
        cmocka_unit_test(a_principal_may_have_an_equals_sign_in_the_file),
        cmocka_unit_test(checks_of_several_keys_are_made_on_the_whole_configuration),
        cmocka_unit_test(a_value_of_a_flag_has_no_place_in_the_file),
        cmocka_unit_test(tracing_is_printed_with_its_defaults_and_without_secrets),
        cmocka_unit_test(keys_are_tried_when_a_configuration_is_checked),
        cmocka_unit_test(only_loopback_is_safe_without_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
