/* Jobs of the gateway: what comes of their calls, and their end. */
#include "gateway/gateway_fixture.h"

#include <sys/socket.h>
#include <unistd.h>

static void expect_seen(const gateway_fixture *f, const char *text)
{
    if (f->seen.size != strlen(text) || memcmp(f->seen.data, text, f->seen.size) != 0) {
        fail_msg("expected: %s, seen: %.*s", text, (int)f->seen.size, f->seen.data);
    }
}

static void wait_until_held(gateway_fixture *f, size_t count)
{
    run_until(&f->test, atomic_load(&f->held) == count);
}

/* ---- keys ---- */

static void each_job_has_a_key_of_32_random_bytes_and_both_endpoints(void **state)
{
    (void)state;
    arcp__gateway_endpoint other[ARCP__GATEWAY_KINDS];
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    arcp__gateway_job *job = gateway_fixture_open_job(&f, false, other);
    const char *key = f.endpoints[ARCP__GATEWAY_LLM].key;
    assert_int_equal(strlen(key), strlen(ARCP__GATEWAY_KEY_PREFIX) + 43);
    assert_memory_equal(key, ARCP__GATEWAY_KEY_PREFIX, strlen(ARCP__GATEWAY_KEY_PREFIX));
    assert_string_equal(key, f.endpoints[ARCP__GATEWAY_MCP].key);
    assert_string_not_equal(key, other[ARCP__GATEWAY_LLM].key);
    assert_string_equal(f.endpoints[ARCP__GATEWAY_LLM].url, f.url);
    assert_string_equal(f.endpoints[ARCP__GATEWAY_MCP].url, f.url);
    arcp__gateway_release(job);
    gateway_fixture_close(&f);
}

static void the_key_is_dead_when_close_returns(void **state)
{
    (void)state;
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    gateway_fixture_send(&f, "POST /v1/echo", "", "x");
    raw_peer_expect(&f.peer, "HTTP/1.1 200 ");
    arcp__gateway_close(f.job);
    gateway_fixture_send(&f, "POST /v1/echo", "", "x");
    raw_peer_expect(&f.peer, "HTTP/1.1 401 ");
    raw_peer_expect(&f.peer, "not that of a running job");
    gateway_fixture_close(&f);
}

/* Sends a request with this key on a new connection. */
static void send_with(gateway_fixture *f, const char *key)
{
    char text[256];
    gateway_fixture_reconnect(f);
    snprintf(text, sizeof text,
             "POST /v1/echo HTTP/1.1\r\nHost: %s\r\nx-api-key: %s\r\nContent-Length: 1\r\n\r\nx",
             arcp__gateway_address(f->gateway), key);
    gateway_fixture_send_raw(f, text);
}

static void issue(gateway_fixture *f, const char *job_id, const char *alias,
                  char out[ARCP__GATEWAY_KEY_MAX])
{
    arcp_error err = {0};
    check_ok(
        arcp__gateway_issue(f->gateway, arcp_span_cstr(job_id), arcp_span_cstr(alias), out, &err),
        &err);
}

static void a_key_that_was_issued_works_from_the_open_of_its_job_to_its_close(void **state)
{
    (void)state;
    arcp__gateway_endpoint own[ARCP__GATEWAY_KINDS];
    char early[ARCP__GATEWAY_KEY_MAX];
    char late[ARCP__GATEWAY_KEY_MAX];
    for (int is_confined = 0; is_confined < 2; is_confined++) {
        gateway_fixture f;
        gateway_fixture_open(&f, NULL);
        issue(&f, "job_2", "cred_1", early);
        send_with(&f, early);
        raw_peer_expect(&f.peer, "HTTP/1.1 503 ");
        raw_peer_expect(&f.peer, "x-arcp-code: job_not_started\r\n");
        raw_peer_expect(&f.peer, "retry-after: 1\r\n");
        arcp__gateway_job *job = gateway_fixture_open_job(&f, is_confined == 1, own);
        issue(&f, "job_2", "cred_1.2", late);
        const char *const keys[] = {early, late, own[ARCP__GATEWAY_LLM].key};
        for (size_t i = 0; i < (is_confined == 1 ? 2 : 3); i++) {
            send_with(&f, keys[i]);
            raw_peer_expect(&f.peer, "HTTP/1.1 200 ");
        }
        arcp__gateway_close(job);
        for (size_t i = 0; i < 3; i++) {
            send_with(&f, keys[i]);
            raw_peer_expect(&f.peer, "HTTP/1.1 401 ");
            raw_peer_expect(&f.peer, "not that of a running job");
        }
        arcp__gateway_release(job);
        gateway_fixture_close(&f);
    }
}

static void a_revoked_key_is_dead_and_the_others_of_its_job_are_not(void **state)
{
    (void)state;
    char first[ARCP__GATEWAY_KEY_MAX];
    char second[ARCP__GATEWAY_KEY_MAX];
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    issue(&f, "job_1", "cred_1", first);
    issue(&f, "job_1", "cred_1.2", second);
    arcp__gateway_revoke(f.gateway, ARCP_SPAN_LITERAL("job_1"), ARCP_SPAN_LITERAL("cred_1"));
    send_with(&f, first);
    raw_peer_expect(&f.peer, "HTTP/1.1 401 ");
    send_with(&f, second);
    raw_peer_expect(&f.peer, "HTTP/1.1 200 ");
    send_with(&f, f.endpoints[ARCP__GATEWAY_LLM].key);
    raw_peer_expect(&f.peer, "HTTP/1.1 200 ");
    /* Of a job that never began, and of none. */
    issue(&f, "job_9", "cred_9", first);
    arcp__gateway_revoke(f.gateway, ARCP_SPAN_LITERAL("job_9"), ARCP_SPAN_LITERAL("cred_9"));
    arcp__gateway_revoke(f.gateway, ARCP_SPAN_LITERAL("job_9"), ARCP_SPAN_LITERAL("cred_9"));
    send_with(&f, first);
    raw_peer_expect(&f.peer, "HTTP/1.1 401 ");
    issue(&f, "job_9", "cred_10", first); /* is freed with the gateway */
    gateway_fixture_close(&f);
}

/* As after a restart, when the gateway has no key of it. */
static void a_key_of_an_earlier_run_works_again_once_it_is_adopted(void **state)
{
    (void)state;
    const char *key = "sk-arcp-of-an-earlier-run";
    const arcp_span id = ARCP_SPAN_LITERAL("job_1");
    gateway_fixture f;
    arcp_error err = {0};
    gateway_fixture_open(&f, NULL);
    send_with(&f, key);
    raw_peer_expect(&f.peer, "HTTP/1.1 401 ");
    check_ok(
        arcp__gateway_adopt(f.gateway, id, ARCP_SPAN_LITERAL("cred_1"), arcp_span_cstr(key), &err),
        &err);
    send_with(&f, key);
    raw_peer_expect(&f.peer, "HTTP/1.1 200 ");
    /* No second job gets it. */
    assert_int_not_equal(arcp__gateway_adopt(f.gateway, ARCP_SPAN_LITERAL("job_2"),
                                             ARCP_SPAN_LITERAL("cred_2"), arcp_span_cstr(key),
                                             &err),
                         ARCP_OK);
    arcp__gateway_revoke(f.gateway, id, ARCP_SPAN_LITERAL("cred_1"));
    send_with(&f, key);
    raw_peer_expect(&f.peer, "HTTP/1.1 401 ");
    gateway_fixture_close(&f);
}

/* ---- what comes of calls ---- */

static void denials_and_messages_reach_the_runtime_in_order(void **state)
{
    (void)state;
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    gateway_fixture_send(&f, "POST /deny", "", "files.read");
    raw_peer_expect(&f.peer, "HTTP/1.1 403 ");
    gateway_fixture_send(&f, "POST /deny", "", "web.fetch");
    raw_peer_expect(&f.peer, "HTTP/1.1 200 ");
    gateway_fixture_send(&f, "POST /stream", "", "x");
    raw_peer_expect(&f.peer, "0\r\n\r\n");
    run_until(&f.test, f.delivered == 2);
    expect_seen(&f, "denied tool.call files.read NO_MATCH\nmetric {\"name\":\"cost\"}\n");
    gateway_fixture_close(&f);
}

static void grants_reach_the_runtime_if_they_are_logged(void **state)
{
    (void)state;
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    atomic_store(&f.gates.grants_are_logged, true);
    gateway_fixture_send(&f, "POST /deny", "", "web.fetch");
    raw_peer_expect(&f.peer, "HTTP/1.1 200 ");
    run_until(&f.test, f.delivered == 1);
    gateway_fixture_close(&f);
}

static void a_client_that_leaves_ends_neither_its_call_nor_its_cost(void **state)
{
    (void)state;
    static const char *const lines[] = {"POST /v1/hold", "POST /v1/large"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        gateway_fixture f;
        gateway_fixture_open(&f, NULL);
        gateway_fixture_send(&f, lines[i], "", "x");
        wait_until_held(&f, 1);
        raw_peer_reset(&f.peer);
        run_until(&f.test, f.delivered == 1);
        assert_int_equal(atomic_load(&f.dropped), 1);
        assert_int_equal(atomic_load(&f.ended), 0);
        gateway_fixture_close(&f);
    }
}

/* ---- the end ---- */

static void settle_ends_calls_and_returns_what_they_have_cost(void **state)
{
    (void)state;
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    gateway_fixture_send(&f, "POST /v1/hold", "", "x");
    wait_until_held(&f, 1);
    assert_true(arcp__gateway_settle(f.job, PATIENCE_MS, &f.events));
    assert_int_equal(f.delivered, 1);
    assert_int_equal(atomic_load(&f.ended), 1);
    raw_peer_expect(&f.peer, "HTTP/1.1 401 ");
    assert_true(arcp__gateway_settle(f.job, 0, &f.events));
    assert_int_equal(f.delivered, 1);
    gateway_fixture_close(&f);
    assert_int_equal(atomic_load(&f.over), 2); /* for both kinds */
}

static void settle_without_a_call_does_not_wait(void **state)
{
    (void)state;
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    assert_true(arcp__gateway_settle(f.job, 0, &f.events));
    assert_int_equal(f.delivered, 0);
    gateway_fixture_close(&f);
}

static void settle_waits_no_longer_than_its_limit_and_the_rest_comes_later(void **state)
{
    (void)state;
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    gateway_fixture_send(&f, "POST /v1/stubborn", "", "x");
    wait_until_held(&f, 1);
    assert_false(arcp__gateway_settle(f.job, 20, &f.events));
    assert_int_equal(f.delivered, 0);
    atomic_store(&f.may_end, true);
    run_until(&f.test, f.delivered == 1);
    gateway_fixture_close(&f);
}

static void expiry_ends_calls_and_leaves_the_job_open(void **state)
{
    (void)state;
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    gateway_fixture_send(&f, "POST /v1/hold", "", "x");
    wait_until_held(&f, 1);
    arcp__gateway_end_calls(f.job);
    raw_peer_expect(&f.peer, "HTTP/1.1 403 ");
    raw_peer_expect(&f.peer, "lease_expired");
    run_until(&f.test, f.delivered == 1);
    gateway_fixture_send(&f, "POST /v1/echo", "", "x");
    raw_peer_expect(&f.peer, "HTTP/1.1 200 ");
    gateway_fixture_close(&f);
}

static void a_call_whose_body_is_not_complete_ends_with_its_job(void **state)
{
    (void)state;
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    gateway_fixture_send(&f, "POST /v1/echo", "Expect: 100-continue\r\n", "x");
    raw_peer_expect(&f.peer, "HTTP/1.1 200 ");
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_format(&text,
                           "POST /v1/echo HTTP/1.1\r\nHost: localhost\r\nx-api-key: %s\r\n"
                           "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhe",
                           f.endpoints[ARCP__GATEWAY_LLM].key);
    arcp_buf_append_byte(&text, '\0');
    gateway_fixture_send_raw(&f, text.data);
    raw_peer_expect(&f.peer, "100 Continue");
    assert_true(arcp__gateway_settle(f.job, PATIENCE_MS, &f.events));
    raw_peer_expect(&f.peer, "HTTP/1.1 401 ");
    arcp_buf_fini(&text);
    gateway_fixture_close(&f);
}

static void nothing_is_delivered_after_release(void **state)
{
    (void)state;
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    gateway_fixture_send(&f, "POST /v1/hold", "", "x");
    wait_until_held(&f, 1);
    arcp__gateway_release(f.job);
    f.job = NULL;
    raw_peer_expect(&f.peer, "HTTP/1.1 401 ");
    test_loop_settle(&f.test);
    assert_int_equal(f.delivered, 0);
    gateway_fixture_close(&f);
}

/* ---- sandboxes ---- */

/* Makes a connection of a sandbox, with f->peer as its other end. */
static void connect_inside(gateway_fixture *f, arcp__gateway_job *job, arcp__gateway_kind kind)
{
    int ends[2];
    raw_peer_fini(&f->peer);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    f->peer = (raw_peer){.test = &f->test, .fd = ends[0]};
    arcp__gateway_serve(job, kind, ends[1]);
}

static void a_connection_of_a_sandbox_needs_no_key_and_reaches_its_gateway_only(void **state)
{
    (void)state;
    static const struct {
        arcp__gateway_kind kind;
        const char *request, *status;
    } rows[] = {
        {ARCP__GATEWAY_LLM, "POST /v1/echo HTTP/1.1\r\nHost: llm.arcp\r\n", "HTTP/1.1 200 "},
        {ARCP__GATEWAY_LLM,
         "POST /v1/echo HTTP/1.1\r\nHost: llm.arcp:80\r\nx-api-key: sk-arcp-job\r\n"
         "Authorization: Bearer other\r\n",
         "HTTP/1.1 200 "},
        {ARCP__GATEWAY_LLM, "POST /v1/echo HTTP/1.1\r\nHost: mcp.arcp\r\n", "HTTP/1.1 421 "},
        {ARCP__GATEWAY_LLM, "POST /v1/echo HTTP/1.1\r\nHost: llm.arcp:81\r\n", "HTTP/1.1 421 "},
        {ARCP__GATEWAY_LLM, "POST /echo HTTP/1.1\r\nHost: llm.arcp\r\n", "HTTP/1.1 404 "},
        {ARCP__GATEWAY_MCP, "POST /echo HTTP/1.1\r\nHost: mcp.arcp\r\n", "HTTP/1.1 200 "},
        {ARCP__GATEWAY_MCP, "POST /v1/echo HTTP/1.1\r\nHost: mcp.arcp\r\n", "HTTP/1.1 404 "},
        {ARCP__GATEWAY_MCP, "POST /echo HTTP/1.1\r\nHost: localhost\r\n", "HTTP/1.1 421 "},
    };
    arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS];
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    arcp__gateway_job *job = gateway_fixture_open_job(&f, true, endpoints);
    assert_string_equal(endpoints[ARCP__GATEWAY_LLM].url, "http://llm.arcp");
    assert_string_equal(endpoints[ARCP__GATEWAY_MCP].url, "http://mcp.arcp");
    assert_string_equal(endpoints[ARCP__GATEWAY_LLM].key, "sk-arcp-job");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        connect_inside(&f, job, rows[i].kind);
        raw_peer_send_text(&f.peer, rows[i].request);
        raw_peer_send_text(&f.peer, "Content-Length: 1\r\n\r\nx");
        raw_peer_expect(&f.peer, rows[i].status);
    }
    arcp__gateway_release(job);
    raw_peer_expect_end(&f.peer);
    gateway_fixture_close(&f);
}

static void a_connection_of_a_closed_job_is_closed(void **state)
{
    (void)state;
    arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS];
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    arcp__gateway_job *job = gateway_fixture_open_job(&f, true, endpoints);
    arcp__gateway_close(job);
    connect_inside(&f, job, ARCP__GATEWAY_LLM);
    raw_peer_expect_end(&f.peer);
    arcp__gateway_release(job);
    gateway_fixture_close(&f);
}

/* ---- the gateway ---- */

static void an_address_that_is_not_loopback_needs_a_certificate(void **state)
{
    (void)state;
    static const struct {
        const char *listen, *url, *why;
    } rows[] = {
        {"0.0.0.0:0", NULL, "is not a loopback address, and there is no certificate"},
        {"192.0.2.1:0", NULL, "is not a loopback address, and there is no certificate"},
        {"127.0.0.1", NULL, "is not HOST:PORT"},
        {"127.0.0.1:0", "ftp://x", "is not a URL of a gateway"},
        {"127.0.0.1:0", "https://x/path", "is not a URL of a gateway"},
    };
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__gateway_options options = gateway_fixture_options(&f);
        arcp__gateway *gateway = NULL;
        arcp_error err = {0};
        options.listen = rows[i].listen;
        options.url = rows[i].url;
        assert_int_equal(arcp__gateway_new(&options, &gateway, &err), ARCP_E_USAGE);
        assert_non_null(strstr(err.message, rows[i].why));
        assert_null(gateway);
    }
    gateway_fixture_close(&f);
}

static void a_service_may_refuse_its_configuration_and_a_kind_may_have_no_service(void **state)
{
    (void)state;
    gateway_fixture f;
    arcp_error err = {0};
    arcp__gateway *gateway = NULL;
    arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS];
    gateway_fixture_open(&f, NULL);
    arcp__gateway_options options = gateway_fixture_options(&f);
    options.providers[1].configuration = NULL;
    assert_int_equal(arcp__gateway_new(&options, &gateway, &err), ARCP_E_USAGE);
    options.providers[1].service = NULL;
    options.url = "https://models.example:8443";
    check_ok(arcp__gateway_new(&options, &gateway, &err), &err);
    arcp__gateway *first = f.gateway;
    f.gateway = gateway;
    arcp__gateway_job *job = gateway_fixture_open_job(&f, false, endpoints);
    assert_string_equal(endpoints[ARCP__GATEWAY_LLM].url, "https://models.example:8443");
    assert_string_equal(endpoints[ARCP__GATEWAY_MCP].url, "");
    assert_string_equal(endpoints[ARCP__GATEWAY_MCP].key, "");
    arcp__gateway_release(job);
    arcp__gateway_free(gateway);
    f.gateway = first;
    gateway_fixture_close(&f);
}

static void a_reload_is_for_calls_that_begin_afterwards(void **state)
{
    (void)state;
    gateway_fixture f;
    gateway_fixture_open(&f, NULL);
    arcp__gateway_options options = gateway_fixture_options(&f);
    void *const configurations[] = {options.providers[0].configuration, NULL};
    options.limits.request_bytes = 3;
    gateway_fixture_send(&f, "POST /v1/echo", "", "four");
    raw_peer_expect(&f.peer, "HTTP/1.1 200 ");
    arcp__gateway_reload(f.gateway, &options.limits, configurations);
    arcp__gateway_reload(f.gateway, &options.limits, configurations);
    run_until(&f.test, atomic_load(&f.configured) != 0);
    gateway_fixture_send(&f, "POST /v1/echo", "", "four");
    raw_peer_expect(&f.peer, "HTTP/1.1 413 ");
    gateway_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_job_has_a_key_of_32_random_bytes_and_both_endpoints),
        cmocka_unit_test(the_key_is_dead_when_close_returns),
        cmocka_unit_test(a_key_that_was_issued_works_from_the_open_of_its_job_to_its_close),
        cmocka_unit_test(a_revoked_key_is_dead_and_the_others_of_its_job_are_not),
        cmocka_unit_test(a_key_of_an_earlier_run_works_again_once_it_is_adopted),
        cmocka_unit_test(denials_and_messages_reach_the_runtime_in_order),
        cmocka_unit_test(grants_reach_the_runtime_if_they_are_logged),
        cmocka_unit_test(a_client_that_leaves_ends_neither_its_call_nor_its_cost),
        cmocka_unit_test(settle_ends_calls_and_returns_what_they_have_cost),
        cmocka_unit_test(settle_without_a_call_does_not_wait),
        cmocka_unit_test(settle_waits_no_longer_than_its_limit_and_the_rest_comes_later),
        cmocka_unit_test(expiry_ends_calls_and_leaves_the_job_open),
        cmocka_unit_test(a_call_whose_body_is_not_complete_ends_with_its_job),
        cmocka_unit_test(nothing_is_delivered_after_release),
        cmocka_unit_test(a_connection_of_a_sandbox_needs_no_key_and_reaches_its_gateway_only),
        cmocka_unit_test(a_connection_of_a_closed_job_is_closed),
        cmocka_unit_test(an_address_that_is_not_loopback_needs_a_certificate),
        cmocka_unit_test(a_service_may_refuse_its_configuration_and_a_kind_may_have_no_service),
        cmocka_unit_test(a_reload_is_for_calls_that_begin_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
