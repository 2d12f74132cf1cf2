/* Spans of a real arcpd, sent to a stand-in for a collector: one trace from the submit to the
 * upstream; and a collector that does not work has no effect on jobs. */
#include "arcpd/http_get.h"
#include "tracing/collected.h"

#include <signal.h>
#include <stdlib.h>

#define TRACE   "4bf92f3577b34da6a3ce929d0e0e4736"
#define CALLER  "00f067aa0ba902b7"
#define CONTEXT "00-" TRACE "-" CALLER "-01"

typedef struct fixture {
    host *host;
    stand_in *upstream, *collector;
    bool collector_runs;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    void *place = NULL;
    assert_int_equal(host_setup(&place), 0);
    f->host = place;
    stand_in **const both[] = {&f->upstream, &f->collector};
    for (size_t i = 0; i < 2; i++) {
        *both[i] = calloc(1, sizeof(stand_in));
        assert_non_null(*both[i]);
        stand_in_start_thread(*both[i]);
    }
    f->collector_runs = true;
    assert_int_equal(setenv("TRACEPARENT", CONTEXT, 1), 0);
    assert_int_equal(setenv("COLLECTOR_KEY", "collector-hush", 1), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    void *place = f->host;
    const int result = host_teardown(&place);
    stand_in_stop_thread(f->upstream);
    if (f->collector_runs) {
        stand_in_stop_thread(f->collector);
    }
    stand_in_forget(f->collector);
    free(f->upstream);
    free(f->collector);
    free(f);
    return result;
}

#define AGENTS                                                                                     \
    "tokens: [{token: token-hush, principal: alice}]\n"                                            \
    "agents:\n"                                                                                    \
    "  - {name: parent, command: [sh, '@agents/parent.sh']}\n"                                     \
    "  - {name: fan, command: [sh, '@agents/fan.sh']}\n"                                           \
    "  - {name: child, command: [echo, hi], mode: plain}\n"

/* `more` is put below tracing.otlp, each line with four spaces. */
static void start(const fixture *f, const char *more)
{
    char yaml[4096];
    (void)snprintf(yaml, sizeof yaml,
                   AGENTS "http: {listen: '127.0.0.1:0'}\n"
                          "tracing:\n  otlp:\n    endpoint: http://127.0.0.1:%u\n"
                          "    headers: {Authorization: 'Bearer {env:COLLECTOR_KEY}'}\n%s",
                   f->collector->port, more);
    host_start(f->host, yaml);
}

static void start_with_upstream(const fixture *f)
{
    char yaml[4096];
    (void)snprintf(
        yaml, sizeof yaml,
        AGENTS "tracing:\n  otlp:\n    endpoint: http://127.0.0.1:%u\n    delay_ms: 60000\n"
               "    flush_ms: 60000\n"
               "credentials:\n  provisioner: http\n  endpoint: https://gw.example/v1\n  http:\n"
               "    issue: {url: 'http://127.0.0.1:%u/key/generate', body: {key_alias: '{alias}'},"
               " response: {value: /key, id: /token_id}}\n"
               "    revoke: {url: 'http://127.0.0.1:%u/key/delete', body: {key_aliases: "
               "['{alias}']}}\n",
        f->collector->port, f->upstream->port, f->upstream->port);
    host_start(f->host, yaml);
}

static void submit(const fixture *f, const char *agent)
{
    process p;
    host_run(f->host, "token-hush", &p, 0,
             WORDS("submit", agent, "--grant", "agent.delegate=child"));
    process_fini(&p);
}

static const collected_span *need(const collected *came, const char *name, unsigned index)
{
    const collected_span *span = collected_find(came, name, index);
    if (span == NULL) {
        fail_msg("there is no span %s number %u", name, index);
    }
    return span;
}

static void a_submit_is_one_trace_down_to_the_upstream(void **state)
{
    const fixture *f = *state;
    collected came;
    char head[sizeof f->upstream->head];
    char last_call[20] = "";
    start_with_upstream(f);
    submit(f, "parent");
    host_stop(f->host); /* which sends all pending spans */
    collected_read(f->collector, &came);
    const collected_span *session = need(&came, "arcp.session", 0);
    const collected_span *child = need(&came, "arcp.job", 0);
    const collected_span *job = need(&came, "arcp.job", 1);
    for (unsigned i = 0; i < came.count; i++) {
        assert_string_equal(came.spans[i].trace, TRACE);
    }
    assert_string_equal(session->parent, CALLER);
    assert_string_equal(job->parent, session->id);
    assert_string_equal(child->parent, job->id);
    /* Each of the two had a key issued and revoked. */
    for (unsigned i = 0; i < 2; i++) {
        const collected_span *below = i == 0 ? job : child;
        assert_string_equal(need(&came, "arcp.provision.issue", i)->parent, below->id);
    }
    for (unsigned i = 0; i < 2; i++) {
        const char *above = need(&came, "arcp.provision.revoke", i)->parent;
        assert_true(strcmp(above, job->id) == 0 || strcmp(above, child->id) == 0);
    }
    assert_int_equal(came.count, 7);
    /* The request to the upstream names the call. */
    stand_in_settle(f->upstream);
    (void)snprintf(head, sizeof head, "%s", f->upstream->head);
    const char *told = strstr(head, "traceparent: 00-" TRACE "-");
    assert_non_null(told);
    (void)snprintf(last_call, sizeof last_call, "%.16s", told + strlen("traceparent: 00-") + 33);
    const collected_span *answered = collected_by_id(&came, last_call);
    assert_non_null(answered);
    assert_string_equal(answered->name, "arcp.provision.revoke");
    collected_free(&came);
}

static void no_secret_is_sent_to_the_collector(void **state)
{
    const fixture *f = *state;
    start_with_upstream(f);
    submit(f, "parent");
    host_stop(f->host);
    stand_in_settle(f->upstream);
    stand_in_settle(f->collector);
    assert_int_equal(f->upstream->generate_calls, 2);
    assert_true(f->collector->traces_size != 0);
    assert_null(strstr(f->collector->traces, STAND_IN_PREFIX));
    assert_null(strstr(f->collector->traces, "hush"));
    assert_null(strstr(f->collector->traces, "alice"));
}

static void the_span_of_the_agent_is_a_child_of_its_job_s(void **state)
{
    const fixture *f = *state;
    process p;
    collected came;
    start(f, "");
    host_run(f->host, "token-hush", &p, 0,
             WORDS("submit", "parent", "--grant", "agent.delegate=child"));
    host_stop(f->host);
    collected_read(f->collector, &came);
    char expected[80];
    (void)snprintf(expected, sizeof expected, "00-" TRACE "-%s-01", need(&came, "arcp.job", 1)->id);
    assert_non_null(strstr(p.out.data, expected));
    assert_non_null(strstr(f->collector->head, "Authorization: Bearer collector-hush"));
    assert_non_null(strstr(f->collector->head, "POST /v1/traces "));
    collected_free(&came);
    process_fini(&p);
}

static void a_caller_that_does_not_record_gets_no_spans(void **state)
{
    const fixture *f = *state;
    assert_int_equal(setenv("TRACEPARENT", "00-" TRACE "-" CALLER "-00", 1), 0);
    start(f, "");
    submit(f, "parent");
    host_stop(f->host);
    stand_in_settle(f->collector);
    assert_int_equal(f->collector->requests, 0);
}

/* ---- a collector that does not work ---- */

static void get_metrics(const fixture *f, unsigned short port, arcp_buf *out)
{
    (void)f;
    http_ask(port, "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n", out);
}

static unsigned long long metric(const arcp_buf *text, const char *name)
{
    char line[96];
    (void)snprintf(line, sizeof line, "\n%s ", name);
    const char *found = strstr(text->data, line);
    if (found == NULL) {
        fail_msg("no metric %s", name);
    }
    return strtoull(found + strlen(line), NULL, 10);
}

static void check_err_has(const host *place, const char *part)
{
    const arcp_span text = arcp_buf_span(&place->daemon.err);
    if (memmem(text.data, text.size, part, strlen(part)) == NULL) {
        fail_msg("%s is not in\n%.*s", part, (int)text.size, text.data);
    }
}

/* 152 spans of more than half a KiB do not fit into 64 KiB. */
static void a_stalled_collector_loses_spans_but_no_job(void **state)
{
    const fixture *f = *state;
    arcp_buf text = arcp_buf_init();
    stand_in_set_mode(f->collector, STAND_IN_STALLS);
    start(f, "    queue_bytes: 65536\n    flush_ms: 10\n");
    const unsigned short port = http_port(f->host);
    submit(f, "fan");
    get_metrics(f, port, &text);
    assert_true(metric(&text, "arcp_trace_spans_dropped_total") > 0);
    assert_int_equal(metric(&text, "arcp_trace_spans_exported_total"), 0);
    assert_true(metric(&text, "arcp_trace_queue_bytes") > 32768);
    assert_true(metric(&text, "arcp_trace_queue_bytes") <= 65536);
    process_await(&f->host->daemon, true, "spans are dropped: the queue for the collector is full");
    process_signal(&f->host->daemon, SIGTERM);
    assert_int_equal(process_finish(&f->host->daemon), 0);
    check_err_has(f->host, "152 spans were dropped, 0 exported");
    arcp_buf_fini(&text);
}

static void a_collector_that_answers_500_is_reported(void **state)
{
    const fixture *f = *state;
    arcp_buf text = arcp_buf_init();
    stand_in_set_mode(f->collector, STAND_IN_FAILS);
    start(f, "    delay_ms: 0\n");
    const unsigned short port = http_port(f->host);
    submit(f, "parent");
    process_await(&f->host->daemon, true, "spans cannot be exported: the collector answered 500");
    get_metrics(f, port, &text);
    assert_int_equal(metric(&text, "arcp_trace_failing"), 1);
    assert_true(metric(&text, "arcp_trace_spans_dropped_total") > 0);
    host_stop(f->host);
    arcp_buf_fini(&text);
}

static void a_collector_that_is_not_there_is_reported(void **state)
{
    fixture *f = *state;
    stand_in_stop_thread(f->collector);
    f->collector_runs = false;
    start(f, "    delay_ms: 0\n    flush_ms: 0\n");
    submit(f, "parent");
    process_await(&f->host->daemon, true, "spans cannot be exported: the collector cannot be");
    host_stop(f->host);
}

static void without_an_endpoint_nothing_is_loaded_or_sent(void **state)
{
    const fixture *f = *state;
    char path[64];
    char line[512];
    arcp_buf text = arcp_buf_init();
    host_start(f->host, AGENTS "http: {listen: '127.0.0.1:0'}\n");
    const unsigned short port = http_port(f->host);
    submit(f, "parent");
    get_metrics(f, port, &text);
    assert_null(strstr(text.data, "arcp_trace_spans_exported_total"));
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)f->host->daemon.pid);
    FILE *maps = fopen(path, "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        assert_null(strstr(line, "arcp-tracing"));
        assert_null(strstr(line, "libcurl"));
    }
    (void)fclose(maps);
    host_stop(f->host);
    stand_in_settle(f->collector);
    assert_int_equal(f->collector->requests, 0);
    arcp_buf_fini(&text);
}

#define t(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        t(a_submit_is_one_trace_down_to_the_upstream),
        t(no_secret_is_sent_to_the_collector),
        t(the_span_of_the_agent_is_a_child_of_its_job_s),
        t(a_caller_that_does_not_record_gets_no_spans),
        t(a_stalled_collector_loses_spans_but_no_job),
        t(a_collector_that_answers_500_is_reported),
        t(a_collector_that_is_not_there_is_reported),
        t(without_an_endpoint_nothing_is_loaded_or_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
