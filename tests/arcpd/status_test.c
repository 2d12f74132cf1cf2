/* /metrics, /healthz, /readyz and /enforcement of a real arcpd, and what packaging/monitoring asks
 * of them. */
#include "arcpd/http_get.h"
#include "json/json.h"

#include <ctype.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
#include <yaml.h>

#define CONFIG                                                                                     \
    "tokens: [{token: ta, principal: alice}]\n"                                                    \
    "agents:\n"                                                                                    \
    "  - {name: life, version: 1.0.0, command: [sh, '@agents/life.sh']}\n"                         \
    "  - {name: hello, command: [echo, hi], mode: plain}\n"                                        \
    "  - {name: spend, command: [sh, '@agents/spend.sh']}\n"                                       \
    "http: {listen: '127.0.0.1:0'}\n"

static void start(host *h, unsigned short *port)
{
    host_start(h, CONFIG);
    *port = http_port(h);
}

static void expect(unsigned short port, const char *request, const char *begin, const char *part)
{
    arcp_buf answer = arcp_buf_init();
    http_ask(port, request, &answer);
    if (strncmp(answer.data, begin, strlen(begin)) != 0 || strstr(answer.data, part) == NULL) {
        fail_msg("%s\nwas answered with\n%s", request, answer.data);
    }
    arcp_buf_fini(&answer);
}

#define KEPT "Host: localhost\r\n\r\n"
#define HOST "Connection: close\r\n" KEPT

static void only_the_four_paths_are_served(void **state)
{
    host *h = *state;
    unsigned short port = 0;
    start(h, &port);
    static const struct {
        const char *request, *begin, *part;
    } rows[] = {
        {"GET /healthz HTTP/1.1\r\n" HOST, "HTTP/1.1 200 ", "\r\n\r\nok\n"},
        {"GET /readyz?verbose HTTP/1.1\r\n" HOST, "HTTP/1.1 200 ", "\r\n\r\nready\n"},
        {"GET /metrics HTTP/1.0\r\n" HOST, "HTTP/1.1 200 ", "text/plain; version=0.0.4"},
        {"HEAD /healthz HTTP/1.1\r\n" HOST, "HTTP/1.1 200 ", "Content-Length: 3\r\n"},
        {"GET /enforcement HTTP/1.1\r\n" HOST, "HTTP/1.1 200 ", "\r\n\r\n{\"mode\":\"o"},
        {"GET / HTTP/1.1\r\n" HOST, "HTTP/1.1 404 ", "/metrics"},
        {"GET /metrics/ HTTP/1.1\r\n" HOST, "HTTP/1.1 404 ", "/metrics"},
        {"POST /metrics HTTP/1.1\r\n" HOST, "HTTP/1.1 405 ", "Allow: GET, HEAD\r\n"},
        {"DELETE /metrics HTTP/1.1\r\n" HOST, "HTTP/1.1 405 ", "Allow: GET, HEAD\r\n"},
        {"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", "HTTP/1.1 403 ",
         "this Host is not allowed"},
        {"GET /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ", "one Host"},
        {"GET /metrics HTTP/1.1\r\nHost: localhost\r\n" HOST, "HTTP/1.1 400 ", "one Host"},
        {"GET /metrics HTTP/1.1\r\nOrigin: http://evil.example\r\n" HOST, "HTTP/1.1 403 ",
         "Origin"},
        {"nonsense\r\n\r\n", "HTTP/1.1 400 ", ""},
        {"GET /healthz HTTP/1.1\r\nContent-Length: 1\r\n" KEPT "x", "HTTP/1.1 400 ",
         "not have a body"},
        {"POST /healthz HTTP/1.1\r\nContent-Length: 1\r\n" KEPT "x", "HTTP/1.1 405 ", "close"},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        expect(port, rows[row].request, rows[row].begin, rows[row].part);
    }
    arcp_buf answer = arcp_buf_init();
    http_ask(port, "HEAD /metrics HTTP/1.1\r\n" HOST, &answer);
    assert_string_equal(strstr(answer.data, "\r\n\r\n"), "\r\n\r\n");
    arcp_buf_fini(&answer);
    host_stop(h);
}

/* A request of so many bytes in all. */
static void make_request(arcp_buf *out, size_t bytes)
{
    const char *begin = "GET /healthz HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\nX: ";
    arcp_buf_append_cstr(out, begin);
    while (out->size < bytes - 4) {
        arcp_buf_append_byte(out, 'x');
    }
    arcp_buf_append_cstr(out, "\r\n\r\n");
    arcp_buf_append_byte(out, '\0');
}

static void a_head_of_8192_bytes_is_read_and_one_more_is_too_large(void **state)
{
    host *h = *state;
    unsigned short port = 0;
    arcp_buf request = arcp_buf_init();
    start(h, &port);
    make_request(&request, 8192);
    expect(port, request.data, "HTTP/1.1 200 ", "ok");
    arcp_buf_clear(&request);
    make_request(&request, 8193);
    expect(port, request.data, "HTTP/1.1 431 ", "too large");
    arcp_buf_fini(&request);
    host_stop(h);
}

static void idle_connections_do_not_keep_a_33rd_out(void **state)
{
    host *h = *state;
    unsigned short port = 0;
    int held[32];
    arcp_buf answer = arcp_buf_init();
    start(h, &port);
    for (size_t i = 0; i < 32; i++) {
        held[i] = http_connect(port);
    }
    assert_int_equal(send(held[0], "GET /hea", 8, MSG_NOSIGNAL), 8);
    expect(port, "GET /healthz HTTP/1.1\r\n" HOST, "HTTP/1.1 200 ", "ok");
    http_read_all(held[0], &answer); /* the oldest was closed */
    assert_non_null(strstr(answer.data, "HTTP/1.1 503 "));
    arcp_buf_fini(&answer);
    /* The others are served when they send a request. */
    assert_int_equal(send(held[1], "GET /healthz HTTP/1.1\r\n" HOST, 61, MSG_NOSIGNAL), 61);
    http_read_all(held[1], &answer);
    assert_non_null(strstr(answer.data, "200 OK"));
    arcp_buf_fini(&answer);
    for (size_t i = 2; i < 32; i++) {
        close(held[i]);
    }
    host_stop(h);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *found = strstr(text, part); found != NULL; found = strstr(found + 1, part)) {
        count++;
    }
    return count;
}

static void a_connection_takes_one_request_after_the_other(void **state)
{
    host *h = *state;
    unsigned short port = 0;
    arcp_buf answer = arcp_buf_init();
    start(h, &port);
    /* Pipelined requests are answered in their order, up to the one that ends the connection. */
    http_ask(port,
             "GET /healthz HTTP/1.1\r\n" KEPT "HEAD /healthz HTTP/1.1\r\n" KEPT
             "GET /nothing HTTP/1.1\r\n" KEPT "GET /readyz HTTP/1.1\r\n" HOST
             "GET /healthz HTTP/1.1\r\n" KEPT,
             &answer);
    assert_int_equal(count_of(answer.data, "HTTP/1.1 "), 4);
    assert_int_equal(count_of(answer.data, "Connection: keep-alive\r\n"), 3);
    assert_int_equal(count_of(answer.data, "\r\n\r\nok\nHTTP/1.1 200 OK"), 1);
    assert_non_null(strstr(answer.data, "Connection: close\r\n\r\nready\n"));
    arcp_buf_fini(&answer);
    /* An invalid request ends the connection, also after valid ones. */
    http_ask(port, "GET /healthz HTTP/1.1\r\n" KEPT "GET /healthz HTTP/1.1\n" KEPT, &answer);
    assert_int_equal(count_of(answer.data, "HTTP/1.1 200 "), 1);
    assert_int_equal(count_of(answer.data, "HTTP/1.1 400 "), 1);
    arcp_buf_fini(&answer);
    host_stop(h);
}

/* Sends a request and reads until its answer's body "ok\n" is there. */
static void ask_and_keep(int fd)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\n" KEPT;
    char bytes[1024];
    size_t size = 0;
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    do {
        const ssize_t got = read(fd, bytes + size, sizeof bytes - 1 - size);
        assert_true(got > 0);
        size += (size_t)got;
        bytes[size] = '\0';
    } while (strstr(bytes, "\r\n\r\nok\n") == NULL);
}

static void the_connection_that_waits_longest_is_closed_for_a_33rd(void **state)
{
    host *h = *state;
    unsigned short port = 0;
    int held[32];
    start(h, &port);
    for (size_t i = 0; i < 32; i++) {
        held[i] = http_connect(port);
        ask_and_keep(held[i]);
    }
    ask_and_keep(held[0]);
    expect(port, "GET /healthz HTTP/1.1\r\n" HOST, "HTTP/1.1 200 ", "ok");
    char byte = 0;
    assert_int_equal(read(held[1], &byte, 1), 0);
    ask_and_keep(held[0]);
    for (size_t i = 0; i < 32; i++) {
        close(held[i]);
    }
    host_stop(h);
}

static void scrape(unsigned short port, arcp_buf *out)
{
    http_ask(port, "GET /metrics HTTP/1.1\r\n" HOST, out);
}

static void expect_sample(const arcp_buf *metrics, const char *line)
{
    char whole[200];
    snprintf(whole, sizeof whole, "\n%s\n", line);
    if (strstr(metrics->data, whole) == NULL) {
        fail_msg("no line \"%s\" in\n%s", line, metrics->data);
    }
}

static void jobs_denials_and_refusals_are_counted(void **state)
{
    host *h = *state;
    unsigned short port = 0;
    process p;
    arcp_buf metrics = arcp_buf_init();
    start(h, &port);
    host_run(h, "ta", &p, 0,
             WORDS("submit", "life", "--grant", "fs.read=/srv/**", "--grant", "agent.delegate=*"));
    process_fini(&p);
    host_run(h, "ta", &p, 0, WORDS("submit", "spend", "--budget", "USD:5"));
    process_fini(&p);
    host_run(h, "ta", &p, 1, WORDS("submit", "nobody"));
    process_fini(&p);
    host_run(h, "tx", &p, 3, WORDS("agents"));
    process_fini(&p);
    scrape(port, &metrics);
    static const char *const lines[] = {
        "arcp_jobs_running{agent=\"life\"} 0",
        "arcp_jobs_ended_total{agent=\"life\",status=\"success\"} 1",
        "arcp_jobs_ended_total{agent=\"hello\",status=\"success\"} 1",
        "arcp_denials_total{code=\"PERMISSION_DENIED\",capability=\"fs.read\"} 1",
        "arcp_submits_refused_total{code=\"AGENT_NOT_AVAILABLE\"} 1",
        "arcp_budget_spent_total{currency=\"USD\"} 0.3",
        "arcp_budget_spent_total{currency=\"other\"} 2",
        "arcp_authentications_refused_total 1",
        "arcp_store_failing 0",
        "arcp_audit_failing 0",
        "arcp_config_last_reload_successful 1",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        expect_sample(&metrics, lines[i]);
    }
    arcp_buf_fini(&metrics);
    host_stop(h);
}

/* ---- sandboxes ---- */

#define CONFINED                                                                                   \
    "tokens: [{token: ta, principal: alice}]\n"                                                    \
    "store: 'memory:'\n"                                                                           \
    "http: {listen: '127.0.0.1:0'}\n"                                                              \
    "enforce: {mode: on}\n"                                                                        \
    "agents:\n"                                                                                    \
    "  - {name: hello, version: 1.0.0, command: [echo, hi], mode: plain}\n"                        \
    "  - {name: gone, command: [/opt/none/x], mode: plain}\n"

static void run_one(host *h, const char *agent, int status)
{
    process p;
    host_run(h, "ta", &p, status, WORDS("submit", agent, "--quiet"));
    process_fini(&p);
}

static void starts_and_failures_of_sandboxes_are_counted(void **state)
{
    host *h = *state;
    arcp_buf metrics = arcp_buf_init();
    char line[64];
    host_start(h, CONFINED "  - {name: bare, command: [echo, hi], mode: plain, confine: false}\n");
    const unsigned short port = http_port(h);
    scrape(port, &metrics);
    expect_sample(&metrics, "arcp_agents_unconfined 1");
    const bool is_full = strstr(metrics.data, "\narcp_host_level{level=\"full\"} 1\n") != NULL;
    if (!is_full && strstr(metrics.data, "\narcp_host_level{level=\"landlock\"} 1\n") == NULL) {
        expect_sample(&metrics, "arcp_host_level{level=\"none\"} 1");
        skip();
    }
    expect_sample(&metrics, "arcp_host_level{level=\"none\"} 0");
    expect_sample(&metrics, "arcp_sandbox_start_seconds_count 0");
    run_one(h, "hello", 0);
    run_one(h, "hello", 0);
    run_one(h, "gone", 1);
    run_one(h, "bare", 0);
    arcp_buf_clear(&metrics);
    scrape(port, &metrics);
    (void)snprintf(line, sizeof line, "arcp_sandbox_starts_total{level=\"%s\"} 3",
                   is_full ? "full" : "landlock");
    expect_sample(&metrics, line);
    expect_sample(&metrics, "arcp_sandbox_start_seconds_count 3");
    expect_sample(&metrics, "arcp_sandbox_failures_total{step=\"exec\"} 1");
    assert_non_null(strstr(metrics.data, "\narcp_sandbox_start_seconds_sum 0."));
    arcp_buf_fini(&metrics);
    host_stop(h);
}

static void what_the_host_enforces_is_served_as_doctor_prints_it(void **state)
{
    host *h = *state;
    unsigned short port = 0;
    process p;
    arcp_buf answer = arcp_buf_init();
    host_start(h, CONFINED "  - {name: bare, command: [echo, hi], mode: plain, confine: false}\n");
    port = http_port(h);
    http_ask(port, "GET /enforcement HTTP/1.1\r\n" HOST, &answer);
    host_begin_run(h, "ta", &p, WORDS("doctor", "--json"));
    (void)process_finish(&p); /* its status is the level */
    arcp_buf_append_byte(&p.out, '\0');
    p.out.data[strcspn(p.out.data, "}\n")] = '\0'; /* level, and the first ability */
    assert_non_null(strstr(answer.data, "application/json"));
    assert_non_null(strstr(answer.data, "\r\n\r\n{\"mode\":\"on\","));
    assert_true(strlen(p.out.data) > 20);
    assert_non_null(strstr(answer.data, p.out.data + 1));
    assert_non_null(strstr(answer.data, "{\"agent\":\"bare\",\"confined\":false}"));
    assert_non_null(
        strstr(answer.data, "{\"agent\":\"hello\",\"version\":\"1.0.0\",\"confined\":true}"));
    process_fini(&p);
    host_run(h, "ta", &p, 0, WORDS("agents"));
    assert_int_equal(count_of(p.out.data, "unconfined"), 1);
    process_fini(&p);
    arcp_buf_clear(&answer);
    /* Only the agents that are offered count. */
    host_configure(h, CONFINED);
    process_signal(&h->daemon, SIGHUP);
    process_await(&h->daemon, true, "reloaded: ");
    http_ask(port, "GET /enforcement HTTP/1.1\r\n" HOST, &answer);
    assert_null(strstr(answer.data, "bare"));
    assert_int_equal(count_of(answer.data, "\"agent\":\"hello\""), 1);
    arcp_buf_clear(&answer);
    scrape(port, &answer);
    expect_sample(&answer, "arcp_agents_unconfined 0");
    arcp_buf_fini(&answer);
    host_stop(h);
}

static void without_enforcement_every_agent_is_counted_as_unconfined(void **state)
{
    host *h = *state;
    arcp_buf answer = arcp_buf_init();
    host_start(h, "tokens: [{token: ta, principal: alice}]\nstore: 'memory:'\n"
                  "http: {listen: '127.0.0.1:0'}\nenforce: {mode: off}\n"
                  "agents: [{name: hello, command: [echo, hi], mode: plain}]\n");
    const unsigned short port = http_port(h);
    http_ask(port, "GET /enforcement HTTP/1.1\r\n" HOST, &answer);
    assert_non_null(strstr(answer.data, "{\"mode\":\"off\",\"agents\":["
                                        "{\"agent\":\"hello\",\"confined\":false}]}"));
    arcp_buf_clear(&answer);
    scrape(port, &answer);
    expect_sample(&answer, "arcp_agents_unconfined 1");
    assert_null(strstr(answer.data, "\narcp_host_level{"));
    arcp_buf_fini(&answer);
    host_stop(h);
}

static void names_beyond_the_table_are_counted_together(void **state)
{
    host *h = *state;
    unsigned short port = 0;
    process p;
    arcp_buf yaml = arcp_buf_init();
    arcp_buf metrics = arcp_buf_init();
    arcp_buf_append_cstr(&yaml, "tokens: [{token: ta, principal: alice}]\nstore: 'memory:'\n"
                                "http: {listen: '127.0.0.1:0'}\nagents:\n");
    for (int i = 0; i < 66; i++) {
        arcp_buf_append_format(&yaml, "  - {name: a%d, command: [echo, hi], mode: plain}\n", i);
    }
    arcp_buf_append_byte(&yaml, '\0');
    host_start(h, yaml.data);
    process_await(&h->daemon, true, "/metrics\n");
    port = (unsigned short)strtoul(
        strstr(h->daemon.err.data, "http://127.0.0.1:") + strlen("http://127.0.0.1:"), NULL, 10);
    for (int i = 0; i < 66; i++) {
        char name[16];
        snprintf(name, sizeof name, "a%d", i);
        host_run(h, "ta", &p, 0, WORDS("submit", name, "--quiet"));
        process_fini(&p);
    }
    scrape(port, &metrics);
    expect_sample(&metrics, "arcp_jobs_ended_total{agent=\"a63\",status=\"success\"} 1");
    expect_sample(&metrics, "arcp_jobs_ended_total{agent=\"other\",status=\"success\"} 2");
    assert_null(strstr(metrics.data, "agent=\"a64\""));
    arcp_buf_fini(&metrics);
    arcp_buf_fini(&yaml);
    host_stop(h);
}

static void a_refused_reload_is_logged_and_visible_until_one_succeeds(void **state)
{
    host *h = *state;
    unsigned short port = 0;
    arcp_buf metrics = arcp_buf_init();
    start(h, &port);
    host_configure(h, "agnts: []\n");
    process_signal(&h->daemon, SIGHUP);
    process_await(&h->daemon, true, "not reloaded, the old configuration stays in effect: ");
    process_await(&h->daemon, true, ":1: agnts: is not a key of the configuration");
    scrape(port, &metrics);
    expect_sample(&metrics, "arcp_config_last_reload_successful 0");
    host_configure(h, "tokens: [{token: ta, principal: alice}]\nstore: 'memory:'\n");
    process_signal(&h->daemon, SIGHUP);
    process_await(&h->daemon, true, "reloaded: the new configuration is in effect, except for the");
    arcp_buf_clear(&metrics);
    scrape(port, &metrics);
    expect_sample(&metrics, "arcp_config_last_reload_successful 1");
    arcp_buf_fini(&metrics);
    host_stop(h);
}

static void a_store_that_cannot_be_written_is_not_ready(void **state)
{
    host *h = *state;
    unsigned short port = 0;
    start(h, &port);
    host_limit_files(h, 0);
    process p;
    host_begin_run(h, "ta", &p, WORDS("submit", "hello"));
    process_await(&h->daemon, true, "store: ");
    expect(port, "GET /readyz HTTP/1.1\r\n" HOST, "HTTP/1.1 503 ", "the store cannot be written");
    expect(port, "GET /healthz HTTP/1.1\r\n" HOST, "HTTP/1.1 200 ", "ok");
    host_limit_files(h, UINT64_MAX);
    process_fini(&p);
    host_stop(h);
}

/* ---- packaging/monitoring ---- */

static void read_packaged(const char *name, arcp_buf *out)
{
    char path[512];
    snprintf(path, sizeof path, "%s/packaging/monitoring/%s", ARCP_SOURCE_DIR, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    for (int byte = fgetc(file); byte != EOF; byte = fgetc(file)) {
        arcp_buf_append_byte(out, (char)byte);
    }
    fclose(file);
}

/* Every name in the text that looks like one of ours is a family of the scrape. */
static size_t check_names(const arcp_buf *text, const arcp_buf *metrics)
{
    static const char *const suffixes[] = {"_bucket", "_sum", "_count"};
    size_t count = 0;
    for (const char *found = strstr(text->data, "arcp_"); found != NULL;
         found = strstr(found, "arcp_")) {
        char name[80] = "";
        char family[100];
        size_t size = 0;
        while (size < sizeof name - 1 &&
               (islower((unsigned char)found[size]) || found[size] == '_')) {
            name[size] = found[size];
            size++;
        }
        found += size;
        for (size_t suffix = 0; suffix < 3; suffix++) {
            const size_t length = strlen(suffixes[suffix]);
            if (size > length && strcmp(name + size - length, suffixes[suffix]) == 0) {
                name[size - length] = '\0';
            }
        }
        snprintf(family, sizeof family, "# TYPE %s ", name);
        if (strstr(metrics->data, family) == NULL) {
            fail_msg("%s is no metric of arcpd", name);
        }
        count++;
    }
    return count;
}

static void check_yaml(const arcp_buf *text)
{
    yaml_parser_t parser;
    yaml_document_t document;
    assert_int_equal(yaml_parser_initialize(&parser), 1);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text->data, strlen(text->data));
    if (!yaml_parser_load(&parser, &document)) {
        fail_msg("line %zu: %s", parser.problem_mark.line + 1, parser.problem);
    }
    assert_non_null(yaml_document_get_root_node(&document));
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
}

static void rules_and_dashboard_name_only_what_is_exported(void **state)
{
    host *h = *state;
    unsigned short port = 0;
    arcp_buf metrics = arcp_buf_init();
    arcp_buf rules = arcp_buf_init();
    arcp_buf dashboard = arcp_buf_init();
    arcp_json json = ARCP__JSON_INIT;
    arcp_json_limits limits = arcp_json_limits_init();
    arcp_error err = {0};
    start(h, &port);
    scrape(port, &metrics);
    read_packaged("arcpd.rules.yaml", &rules);
    read_packaged("arcpd.dashboard.json", &dashboard);
    check_ok(arcp_json_scan(&json, arcp_buf_span(&dashboard), &limits, &err), &err);
    arcp__json_fini(&json);
    arcp_buf_append_byte(&rules, '\0');
    arcp_buf_append_byte(&dashboard, '\0');
    check_yaml(&rules);
    assert_true(check_names(&rules, &metrics) >= 8);
    assert_true(check_names(&dashboard, &metrics) >= 15);
    arcp_buf_fini(&metrics);
    arcp_buf_fini(&rules);
    arcp_buf_fini(&dashboard);
    host_stop(h);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, host_setup, host_teardown)
    const struct CMUnitTest tests[] = {
        TEST(only_the_four_paths_are_served),
        TEST(a_head_of_8192_bytes_is_read_and_one_more_is_too_large),
        TEST(idle_connections_do_not_keep_a_33rd_out),
        TEST(a_connection_takes_one_request_after_the_other),
        TEST(the_connection_that_waits_longest_is_closed_for_a_33rd),
        TEST(jobs_denials_and_refusals_are_counted),
        TEST(starts_and_failures_of_sandboxes_are_counted),
        TEST(what_the_host_enforces_is_served_as_doctor_prints_it),
        TEST(without_enforcement_every_agent_is_counted_as_unconfined),
        TEST(names_beyond_the_table_are_counted_together),
        TEST(a_refused_reload_is_logged_and_visible_until_one_succeeds),
        TEST(a_store_that_cannot_be_written_is_not_ready),
        TEST(rules_and_dashboard_name_only_what_is_exported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
