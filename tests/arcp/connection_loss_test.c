/* `arcp` over connections that are lost, with an arcpd that is killed and restarted: nothing is
 * lost or repeated. */
#include "arcp/fixture.h"

#include <signal.h>
#include <stdlib.h>

#include "arcp/cutting_proxy.h"

/* [arcp:7.7-2] */
static void after_a_restart_of_the_runtime_the_session_is_resumed(void **state)
{
    const fixture *f = *state;
    fixture other = {0};
    process p;
    char store[128];
    memcpy(other.directory, f->directory, sizeof other.directory);
    snprintf(store, sizeof store, "sqlite:%s/killed.db", f->directory);
    fixture_start_daemon(&other, store, 0);
    fixture_start(&other, &p, WORDS("submit", "wait"));
    process_await(&p, true, "log       waiting\n");
    process_signal(&other.daemon, SIGKILL);
    assert_int_equal(process_finish(&other.daemon), 128 + SIGKILL);
    process_fini(&other.daemon);
    process_await(&p, true, "waiting   the connection was lost");
    fixture_start_daemon(&other, store, other.port);
    assert_int_equal(process_finish(&p), 1);
    arcp_buf_append_byte(&p.err, '\0');
    assert_non_null(strstr(p.err.data, "resumed   the connection was restored"));
    assert_non_null(strstr(p.err.data, "error: INTERNAL_ERROR"));
    process_fini(&p);
    process_signal(&other.daemon, SIGTERM);
    assert_int_equal(process_finish(&other.daemon), 0);
    process_fini(&other.daemon);
    assert_int_equal(setenv("ARCP_URL", f->url, 1), 0);
}

static void repeated_cuts_lose_and_repeat_nothing(void **state)
{
    const fixture *f = *state;
    cutting_proxy proxy;
    process p;
    cutting_proxy_start(&proxy, f->port, 10000, 30000);
    fixture_run(f, &p, 0, WORDS("submit", "count", "--json", "--quiet", "--url", proxy.tcp.url));
    const unsigned cuts = atomic_load(&proxy.cuts);
    cutting_proxy_stop(&proxy);
    assert_true(cuts >= 3);
    const char *rest = p.out.data;
    for (unsigned n = 0; n < 400; n++) {
        char expected[64];
        snprintf(expected, sizeof expected, "\"body\":{\"name\":\"n\",\"value\":%u}}\n", n);
        const char *found = strstr(rest, "\"body\":{\"name\":\"n\"");
        assert_non_null(found);
        assert_int_equal(strncmp(found, expected, strlen(expected)), 0);
        rest = found + strlen(expected);
    }
    assert_null(strstr(rest, "\"kind\""));
    assert_non_null(strstr(rest, "\"result\":400"));
    process_fini(&p);
}

static void a_stream_over_a_bad_network_is_complete(void **state)
{
    const fixture *f = *state;
    cutting_proxy proxy;
    process p;
    cutting_proxy_start(&proxy, f->port, 20000, 60000);
    fixture_run(f, &p, 0, WORDS("submit", "stream", "--quiet", "--url", proxy.tcp.url));
    assert_true(atomic_load(&proxy.cuts) >= 3);
    cutting_proxy_stop(&proxy);
    check_stream(p.out.data, p.out.size);
    process_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_restart_of_the_runtime_the_session_is_resumed),
        cmocka_unit_test(repeated_cuts_lose_and_repeat_nothing),
        cmocka_unit_test(a_stream_over_a_bad_network_is_complete),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
