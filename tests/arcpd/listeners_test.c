/* Which peers a real arcpd accepts, over which transports, and what SIGHUP changes. */
#include "arcpd/arcpd_process.h"

#include "support/check.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "support/jwt_maker.h"
#include "transport/tls_files.h"

/* Long enough for the sixteen-bit form of a frame's length. */
static const char ping[] =
    "{\"arcp\":\"1.1\",\"id\":\"p\",\"type\":\"session.ping\",\"payload\":{\"nonce\":\"0123456789"
    "0123456789012345678901234567890123456789012345678901234567890123456789\"}}";

#define OTHER_SECRET "fedcba9876543210fedcba9876543210"

static void write_text(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* For alice, for an hour. */
static char *token_by(const char *secret)
{
    char claims[128];
    (void)snprintf(claims, sizeof claims, "{\"sub\":\"alice\",\"aud\":\"arcp\",\"exp\":%lld}",
                   (long long)time(NULL) + 3600);
    char *text = jwt_text("{\"alg\":\"HS256\"}", claims);
    return jwt_join(text, jwt_sign_hs256(text, secret, strlen(secret)));
}

static void configure_secure(const arcpd_process *d, const tls_files *files)
{
    arcpd_configure(d,
                    "listen: [\"wss://127.0.0.1:0/arcp\"]\n"
                    "store: \"memory:\"\n"
                    "tls: {certificate: %s, key: %s}\n"
                    "token_file: %s/tokens\n"
                    "jwt:\n  - {algorithm: HS256, key_file: %s/jwt.key, audience: arcp}\n",
                    files->certificate, files->key, d->directory, d->directory);
}

static void begin(blocking_client *c, const arcpd_process *d, const tls_files *files)
{
    assert_true(client_connect(c, d, files->ca, 0));
    assert_int_equal(client_upgrade(c, "localhost", ""), 101);
}

static void expect_hello(const arcpd_process *d, const tls_files *files, const char *token,
                         const char *answer)
{
    blocking_client c;
    begin(&c, d, files);
    const char *said = client_hello(&c, token);
    if (strstr(said, answer) == NULL) {
        fail_msg("want %s in %s", answer, said);
    }
    client_close(&c);
}

#define WELCOME "\"session.welcome\""
#define REFUSED "\"code\":\"UNAUTHENTICATED\",\"message\":\"the token is missing or not valid\""

static void a_reload_reads_certificates_tokens_and_keys_and_keeps_sessions(void **state)
{
    arcpd_process d;
    tls_files files;
    blocking_client old;
    char path[128];
    char *first = token_by(JWT_SECRET);
    char *second = token_by(OTHER_SECRET);
    (void)state;
    tls_files_make(&files);
    arcpd_init(&d);
    (void)snprintf(path, sizeof path, "%s/jwt.key", d.directory);
    write_text(path, JWT_SECRET "\n", 0600);
    (void)snprintf(path, sizeof path, "%s/tokens", d.directory);
    write_text(path, "from-a-file=bob\n", 0600);
    configure_secure(&d, &files);
    arcpd_start(&d);

    begin(&old, &d, &files);
    assert_int_equal(client_serial(&old), 2);
    assert_non_null(strstr(client_hello(&old, first), WELCOME));
    expect_hello(&d, &files, "from-a-file", WELCOME);
    expect_hello(&d, &files, second, REFUSED);

    tls_files_renew(&files, 77);
    write_text(path, "another=bob\n", 0600);
    (void)snprintf(path, sizeof path, "%s/jwt.key", d.directory);
    write_text(path, OTHER_SECRET, 0600);
    arcpd_reload(&d, "reloaded");
    blocking_client fresh;
    begin(&fresh, &d, &files);
    assert_int_equal(client_serial(&fresh), 77);
    client_close(&fresh);
    expect_hello(&d, &files, second, WELCOME);
    expect_hello(&d, &files, "another", WELCOME);
    expect_hello(&d, &files, first, REFUSED);
    expect_hello(&d, &files, "from-a-file", REFUSED);
    /* Open sessions stay open. */
    assert_non_null(strstr(client_request(&old, ping), "\"session.pong\""));

    /* The log has the reason of the refusal, and no token. */
    assert_int_equal(arcpd_log_count(&d, "jwt: its signature is wrong"), 2);
    assert_int_equal(arcpd_log_count(&d, "jwt: it is not a JWT"), 1);
    assert_int_equal(arcpd_log_count(&d, "from-a-file") + arcpd_log_count(&d, first + 20), 0);
    client_close(&old);
    arcpd_fini(&d);
    tls_files_remove(&files);
    free(first);
    free(second);
}

static void a_failed_reload_changes_nothing(void **state)
{
    arcpd_process d;
    tls_files files;
    char path[128];
    char *token = token_by(JWT_SECRET);
    (void)state;
    tls_files_make(&files);
    arcpd_init(&d);
    (void)snprintf(path, sizeof path, "%s/tokens", d.directory);
    write_text(path, "t1=bob\n", 0600);
    (void)snprintf(path, sizeof path, "%s/jwt.key", d.directory);
    write_text(path, JWT_SECRET, 0600);
    configure_secure(&d, &files);
    arcpd_start(&d);
    write_text(path, "too short", 0600);
    arcpd_reload(&d, "HS256 needs a secret of at least 32 bytes, this one has 9");
    expect_hello(&d, &files, token, WELCOME);
    expect_hello(&d, &files, "t1", WELCOME);
    expect_hello(&d, &files, "too short", REFUSED);
    write_text(path, JWT_SECRET, 0600);
    arcpd_configure(&d, "listen: [\"wss://127.0.0.1:0/arcp\"]\nno_such_key: 1\n");
    arcpd_reload(&d, "no_such_key");
    expect_hello(&d, &files, token, WELCOME);
    arcpd_fini(&d);
    tls_files_remove(&files);
    free(token);
}

static void tls_before_1_2_is_refused(void **state)
{
    arcpd_process d;
    tls_files files;
    blocking_client c;
    (void)state;
    tls_files_make(&files);
    arcpd_init(&d);
    arcpd_configure(&d,
                    "listen: [\"wss://127.0.0.1:0/arcp\"]\nstore: \"memory:\"\n"
                    "tls: {certificate: %s, key: %s}\ntokens: [{token: t1, principal: bob}]\n",
                    files.certificate, files.key);
    arcpd_start(&d);
    assert_false(client_connect(&c, &d, files.ca, TLS1_1_VERSION));
    client_close(&c);
    assert_true(client_connect(&c, &d, files.ca, TLS1_2_VERSION));
    assert_string_equal(SSL_get_version(c.ssl), "TLSv1.2");
    client_close(&c);
    assert_true(client_connect(&c, &d, files.ca, 0));
    assert_string_equal(SSL_get_version(c.ssl), "TLSv1.3");
    client_close(&c);
    arcpd_fini(&d);
    tls_files_remove(&files);
}

/* ---- beyond loopback ---- */

static void without_configured_tokens_arcpd_listens_on_loopback_only(void **state)
{
    static const struct {
        const char *config;
        const char *why;
    } rows[] = {
        {"listen: [\"ws://0.0.0.0:0/arcp\"]\n", "without configured tokens"},
        {"listen: [\"ws://127.0.0.1:0/arcp\", \"ws://[::]:0/arcp\"]\n",
         "without configured tokens"},
        {"listen: [\"ws://127.example:0/arcp\"]\n", "without configured tokens"},
        {"listen: [\"ws://localhost.example:0/arcp\"]\n", "without configured tokens"},
        {"listen: [\"ws://0.0.0.0:0/arcp\"]\nno_auth: true\n", "is allowed on loopback only"},
        {"listen: [\"ws://0.0.0.0:0/arcp\"]\nno_auth: true\n"
         "tokens: [{token: t1, principal: bob}]\n",
         "is allowed on loopback only"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcpd_process d;
        arcpd_init(&d);
        arcpd_configure(&d, "%sstore: \"memory:\"\n", rows[i].config);
        assert_int_equal(arcpd_start_refused(&d, NULL), 2);
        assert_int_equal(arcpd_log_count(&d, rows[i].why), 1);
        arcpd_fini(&d);
    }
}

static void a_reload_cannot_remove_the_tokens_of_a_public_listener(void **state)
{
    arcpd_process d;
    blocking_client c;
    (void)state;
    arcpd_init(&d);
    arcpd_configure(&d, "listen: [\"ws://0.0.0.0:0/arcp\"]\nstore: \"memory:\"\n"
                        "tokens: [{token: t1, principal: bob}]\n");
    arcpd_start(&d);
    arcpd_configure(&d, "listen: [\"ws://127.0.0.1:0/arcp\"]\nstore: \"memory:\"\nno_auth: true\n");
    arcpd_reload(&d, "is allowed on loopback only");
    arcpd_configure(&d, "listen: [\"ws://127.0.0.1:0/arcp\"]\nstore: \"memory:\"\n");
    arcpd_reload(&d, "without configured tokens");
    assert_true(client_connect(&c, &d, NULL, 0));
    assert_int_equal(client_upgrade(&c, "127.0.0.1", ""), 101);
    assert_non_null(strstr(client_hello(&c, "t2"), REFUSED));
    client_close(&c);
    assert_true(client_connect(&c, &d, NULL, 0));
    assert_int_equal(client_upgrade(&c, "127.0.0.1", ""), 101);
    assert_non_null(strstr(client_hello(&c, "t1"), WELCOME));
    client_close(&c);
    arcpd_fini(&d);
}

/* A listener on all addresses cannot know its names, which proxies and name servers choose, so
 * without `hosts` any Host is accepted. Web pages are kept out by their Origin, which is always
 * checked. */
static void hosts_and_origins_are_checked_on_public_listeners(void **state)
{
    static const struct {
        const char *config;
        const char *host;
        const char *more;
        int status;
    } rows[] = {
        {"", "arcp.example", "", 101},
        {"", "evil.example", "Origin: http://evil.example\r\n", 403},
        {"", "evil.example", "Origin: null\r\n", 403},
        {"hosts: [arcp.example]\n", "arcp.example", "", 101},
        {"hosts: [arcp.example]\n", "evil.example", "", 403},
        {"hosts: [arcp.example]\n", "127.0.0.1", "", 403},
        {"origins: [\"https://desk.example\"]\n", "arcp.example",
         "Origin: https://desk.example\r\n", 101},
        {"origins: [\"https://desk.example\"]\n", "arcp.example", "Origin: http://desk.example\r\n",
         403},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcpd_process d;
        blocking_client c;
        arcpd_init(&d);
        arcpd_configure(&d,
                        "listen: [\"ws://0.0.0.0:0/arcp\"]\nstore: \"memory:\"\n"
                        "tokens: [{token: t1, principal: bob}]\n%s",
                        rows[i].config);
        arcpd_start(&d);
        assert_true(client_connect(&c, &d, NULL, 0));
        const int status = client_upgrade(&c, rows[i].host, rows[i].more);
        if (status != rows[i].status) {
            fail_msg("row %zu: %d", i, status);
        }
        client_close(&c);
        arcpd_fini(&d);
    }
}

#define SIXTEEN "0123456789abcdef"

static void an_invalid_local_token_file_is_refused(void **state)
{
    static const struct {
        const char *name;
        const char *text; /* NULL: `size` characters, followed by `end` */
        mode_t mode;
        const char *why; /* NULL: it is accepted */
        size_t size;
        const char *end;
    } rows[] = {
        {"what others can read", SIXTEEN "\n", 0640, "only its owner can read (chmod 600)", 0,
         NULL},
        {"an empty file", "", 0600, "must contain one line of 16 to 511 bytes", 0, NULL},
        {"15 characters", "0123456789abcde\n", 0600, "must contain one line of 16 to 511 bytes", 0,
         NULL},
        {"two lines", SIXTEEN "\n" SIXTEEN "\n", 0600, "must contain one line of 16 to 511 bytes",
         0, NULL},
        {"512 characters", NULL, 0600, "must contain one line of 16 to 511 bytes", 512, NULL},
        {"511 characters", NULL, 0600, NULL, 511, NULL},
        {"511 characters, a line", NULL, 0600, NULL, 511, "\r\n"},
        {"511 characters, and a line behind", NULL, 0600,
         "must contain one line of 16 to 511 bytes", 511, "\r\nx"},
        {"16 characters", SIXTEEN "\r\n", 0600, NULL, 0, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcpd_process d;
        char path[96];
        char longest[520];
        print_message("  %s\n", rows[i].name);
        memset(longest, 'x', rows[i].size);
        (void)snprintf(longest + rows[i].size, sizeof longest - rows[i].size, "%s",
                       rows[i].end == NULL ? "" : rows[i].end);
        arcpd_init(&d);
        (void)snprintf(path, sizeof path, "%s/token", d.directory);
        write_text(path, rows[i].text == NULL ? longest : rows[i].text, rows[i].mode);
        arcpd_configure(&d, "listen: [\"ws://127.0.0.1:0/arcp\"]\nstore: \"memory:\"\n");
        if (rows[i].why != NULL) {
            assert_int_equal(arcpd_start_refused(&d, NULL), 2);
            assert_int_equal(arcpd_log_count(&d, path), 1);
            assert_int_equal(arcpd_log_count(&d, rows[i].why), 1);
        } else {
            blocking_client c;
            arcpd_start(&d);
            assert_true(client_connect(&c, &d, NULL, 0));
            assert_int_equal(client_upgrade(&c, "127.0.0.1", ""), 101);
            longest[rows[i].size] = '\0';
            const char *token = rows[i].text == NULL ? longest : SIXTEEN;
            assert_non_null(strstr(client_hello(&c, token), WELCOME));
            client_close(&c);
        }
        arcpd_fini(&d);
    }
}

static void a_fifo_in_the_token_s_place_is_refused_at_once(void **state)
{
    arcpd_process d;
    char path[96];
    (void)state;
    arcpd_init(&d);
    (void)snprintf(path, sizeof path, "%s/token", d.directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    arcpd_configure(&d, "listen: [\"ws://127.0.0.1:0/arcp\"]\nstore: \"memory:\"\n");
    assert_int_equal(arcpd_start_refused(&d, NULL), 2);
    assert_int_equal(arcpd_log_count(&d, path), 1);
    arcpd_fini(&d);
}

/* Not the state directory of the user who runs the tests. */
#define NO_STATE "STATE_DIRECTORY=/nonexistent "

/* The output of --check-config: standard error only, or both. */
static void check_config(const char *yaml, const char *warnings, const char *printed)
{
    char path[] = "/tmp/arcp-check-XXXXXX";
    char command[512];
    char text[8192] = "";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, yaml, strlen(yaml)), (ssize_t)strlen(yaml));
    (void)close(file);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(command, sizeof command,
                       NO_STATE ARCP_BINARY_DIR "/bin/arcpd --check-config %s %s", path,
                       i == 0 ? "2>&1 >/dev/null" : "2>&1");
        FILE *out = popen(command, "r"); /* NOLINT(cert-env33-c): words of this file */
        assert_non_null(out);
        text[fread(text, 1, sizeof text - 1, out)] = '\0';
        assert_int_equal(pclose(out), 0);
        if (i == 0 && warnings[0] == '\0') {
            assert_string_equal(text, "");
        } else if (i == 0) {
            assert_non_null(strstr(text, warnings));
            assert_memory_equal(text, "arcpd: /tmp/arcp-check-", 23);
        } else {
            assert_non_null(strstr(text, printed));
        }
    }
    (void)unlink(path);
}

static void a_policy_that_names_only_some_capabilities_is_warned_of(void **state)
{
    (void)state;
    check_config(
        "policy:\n"
        "  - {max_lease: {fs.read: [\"/a\"], tool.call: [\"**\"]}, max_budget: [\"USD:5\"]}\n",
        ":2: policy[0]: max_lease does not name fs.write, net.fetch, agent.delegate, "
        "model.use, and so denies them\n",
        "max_lease: {\"fs.read\":[\"/a\"],\"tool.call\":[\"**\"],\"cost.budget\":");
    check_config("policy:\n"
                 "  - {max_budget: [\"USD:5\", \"EUR:1\"]}\n"
                 "  - {max_lease: {fs.read: [], fs.write: [], net.fetch: [], tool.call: [], "
                 "agent.delegate: [], model.use: []}}\n",
                 "", "max_budget: [\"USD:5\", \"EUR:1\"], max_lifetime_sec");
}

/* Limits that are not configured are inherited from arcpd. */
static void an_agent_has_the_limits_of_its_configuration(void **state)
{
    arcpd_process d;
    blocking_client c;
    (void)state;
    arcpd_init(&d);
    arcpd_configure(&d, "listen: [\"ws://127.0.0.1:0/arcp\"]\nstore: \"memory:\"\n"
                        "tokens: [{token: " SIXTEEN ", principal: alice}]\n"
                        "agents:\n- name: limited\n  mode: plain\n"
                        "  rlimits: {nofile: 64, cpu: \"100:200\", core: 0}\n"
                        "  command: [sh, -c, 'echo $(ulimit -n; ulimit -Ht; ulimit -St; ulimit "
                        "-c)']\n");
    arcpd_start(&d);
    assert_true(client_connect(&c, &d, NULL, 0));
    assert_int_equal(client_upgrade(&c, "127.0.0.1", ""), 101);
    assert_non_null(strstr(client_hello(&c, SIXTEEN), WELCOME));
    const char *frame = client_request(&c, "{\"arcp\":\"1.1\",\"id\":\"1\",\"type\":\"job.submit\","
                                           "\"payload\":{\"agent\":\"limited\"}}");
    while (strstr(frame, "\"final_status\"") == NULL) {
        frame = client_next(&c);
    }
    if (strstr(frame, "64 200 100 0") == NULL) {
        fail_msg("%s", frame);
    }
    client_close(&c);
    arcpd_fini(&d);
}

static void a_failed_write_of_the_checked_configuration_is_an_error(void **state)
{
    static const char *const flags[] = {"--help", "--version", "--check-config /dev/null"};
    (void)state;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        char command[256];
        (void)snprintf(command, sizeof command,
                       NO_STATE ARCP_BINARY_DIR "/bin/arcpd %s >/dev/full 2>&1", flags[i]);
        const int status = system(command); /* NOLINT(cert-env33-c): words of this file */
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 1);
    }
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reload_reads_certificates_tokens_and_keys_and_keeps_sessions),
        cmocka_unit_test(a_failed_reload_changes_nothing),
        cmocka_unit_test(tls_before_1_2_is_refused),
        cmocka_unit_test(without_configured_tokens_arcpd_listens_on_loopback_only),
        cmocka_unit_test(a_reload_cannot_remove_the_tokens_of_a_public_listener),
        cmocka_unit_test(hosts_and_origins_are_checked_on_public_listeners),
        cmocka_unit_test(an_invalid_local_token_file_is_refused),
        cmocka_unit_test(a_fifo_in_the_token_s_place_is_refused_at_once),
        cmocka_unit_test(a_policy_that_names_only_some_capabilities_is_warned_of),
        cmocka_unit_test(an_agent_has_the_limits_of_its_configuration),
        cmocka_unit_test(a_failed_write_of_the_checked_configuration_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
