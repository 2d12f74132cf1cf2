/* The sessions that are kept of hosts: which one is given, and how long. */
#include "stream/tls_parts.h"
#include "support/check.h"

enum { HOSTS = 16, TEN_MINUTES_MS = 600000 };

static SSL_SESSION *make(int version)
{
    static unsigned char id[32];
    SSL_SESSION *session = SSL_SESSION_new();
    id[0]++;
    assert_int_equal(SSL_SESSION_set1_id(session, id, sizeof id), 1);
    assert_int_equal(SSL_SESSION_set_protocol_version(session, version), 1);
    return session;
}

static bool keep(arcp__tls_sessions *sessions, const char *host, int version, uint64_t checked_ms)
{
    SSL_SESSION *session = make(version);
    const bool is_kept = arcp__tls_sessions_keep(sessions, host, session, checked_ms);
    if (!is_kept) {
        SSL_SESSION_free(session);
    }
    return is_kept;
}

static bool take(arcp__tls_sessions *sessions, const char *host, uint64_t now_ms)
{
    uint64_t checked_ms = 0;
    SSL_SESSION *session = arcp__tls_sessions_take(sessions, host, now_ms, &checked_ms);
    SSL_SESSION_free(session);
    return session != NULL;
}

static void a_session_is_that_of_its_host_and_is_used_once(void **state)
{
    arcp__tls_sessions *sessions = arcp__tls_sessions_new();
    (void)state;
    assert_true(keep(sessions, "a.test", TLS1_3_VERSION, 0));
    assert_false(take(sessions, "b.test", 0));
    assert_false(take(sessions, "a.tes", 0));
    assert_true(take(sessions, "a.test", 0));
    assert_false(take(sessions, "a.test", 0));
    arcp__tls_sessions_free(sessions);
}

static void one_of_tls_1_2_is_used_again(void **state)
{
    arcp__tls_sessions *sessions = arcp__tls_sessions_new();
    (void)state;
    assert_true(keep(sessions, "a.test", TLS1_2_VERSION, 0));
    assert_true(take(sessions, "a.test", 0));
    assert_true(take(sessions, "a.test", 0));
    arcp__tls_sessions_free(sessions);
}

static void ten_minutes_after_the_check_there_is_none(void **state)
{
    arcp__tls_sessions *sessions = arcp__tls_sessions_new();
    uint64_t checked_ms = 0;
    (void)state;
    assert_true(keep(sessions, "a.test", TLS1_3_VERSION, 5));
    SSL_SESSION *session =
        arcp__tls_sessions_take(sessions, "a.test", 5 + TEN_MINUTES_MS, &checked_ms);
    assert_non_null(session);
    assert_int_equal(checked_ms, 5);
    SSL_SESSION_free(session);
    assert_true(keep(sessions, "a.test", TLS1_3_VERSION, 5));
    assert_false(take(sessions, "a.test", 6 + TEN_MINUTES_MS));
    assert_true(keep(sessions, "a.test", TLS1_2_VERSION, 5));
    assert_false(take(sessions, "a.test", 6 + TEN_MINUTES_MS));
    arcp__tls_sessions_free(sessions);
}

static void a_host_has_one_and_the_oldest_of_16_hosts_makes_room(void **state)
{
    arcp__tls_sessions *sessions = arcp__tls_sessions_new();
    char host[16];
    (void)state;
    for (int i = 0; i <= HOSTS; i++) {
        (void)snprintf(host, sizeof host, "%d.test", i);
        assert_true(keep(sessions, host, TLS1_3_VERSION, 0));
        assert_true(keep(sessions, host, TLS1_3_VERSION, 0));
    }
    assert_false(take(sessions, "0.test", 0));
    for (int i = 1; i <= HOSTS; i++) {
        (void)snprintf(host, sizeof host, "%d.test", i);
        assert_true(take(sessions, host, 0));
        assert_false(take(sessions, host, 0));
    }
    arcp__tls_sessions_free(sessions);
}

static void a_name_has_at_most_255_bytes(void **state)
{
    arcp__tls_sessions *sessions = arcp__tls_sessions_new();
    char host[257];
    (void)state;
    memset(host, 'a', sizeof host);
    host[256] = '\0';
    assert_false(keep(sessions, host, TLS1_3_VERSION, 0));
    host[255] = '\0';
    assert_true(keep(sessions, host, TLS1_3_VERSION, 0));
    assert_true(take(sessions, host, 0));
    arcp__tls_sessions_free(sessions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_is_that_of_its_host_and_is_used_once),
        cmocka_unit_test(one_of_tls_1_2_is_used_again),
        cmocka_unit_test(ten_minutes_after_the_check_there_is_none),
        cmocka_unit_test(a_host_has_one_and_the_oldest_of_16_hosts_makes_room),
        cmocka_unit_test(a_name_has_at_most_255_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
