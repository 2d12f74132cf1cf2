/* Refused peers: the first refusals per address and kind are logged individually, the others are
 * counted and logged as a sum. */
#include "story/engine_rig.h"
#include "support/check.h"

#include <stdio.h>

#include "base/alloc.h"
#include "session/session_state.h"

#define WRITTEN 5 /* audit.refusals */

static size_t log_lines;
static char last_log[512];

static void take_log(engine_rig *rig, arcp__log_level level, arcp_span text)
{
    (void)rig;
    if (level == ARCP__LOG_INFO) {
        log_lines++;
        (void)snprintf(last_log, sizeof last_log, "%.*s", (int)text.size, text.data);
    }
}

static void start(engine_rig *rig)
{
    log_lines = 0;
    last_log[0] = '\0';
    rig_start(rig, NULL);
    rig->logged = take_log;
}

/* A hello with an invalid token, from this address. */
static void send_wrong_hello(engine_rig *rig, const char *peer)
{
    rig->link.peer = peer;
    rig_client *client = rig_connect(rig, "stranger");
    rig_send(rig, client,
             "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\":{"
             "\"scheme\":\"bearer\",\"token\":\"wrong\"}}}");
    assert_int_equal(client->close_code, 1008);
}

static void refuse(engine_rig *rig, const char *peer, int code)
{
    const arcp__refusal refusal = {
        .peer = peer, .rule = "HTTP", .code = code, .is_audited = code == 403};
    arcp__engine_refused(rig->engine, rig->now, &refusal, "this Host is not allowed");
    rig_run(rig);
}

static void expect_audit(const engine_rig *rig, const char *word)
{
    if (strstr(rig->last_audit, word) == NULL) {
        fail_msg("want %s in %s", word, rig->last_audit);
    }
}

static void a_refused_token_is_recorded_with_its_peer(void **state)
{
    static engine_rig rig;
    start(&rig);
    send_wrong_hello(&rig, "192.0.2.1:5123");
    assert_int_equal(rig.audits, 1);
    expect_audit(&rig, "\"rule\":\"token\",\"peer\":\"192.0.2.1:5123\"");
    rig_stop(&rig);
}

static void refusals_beyond_the_limit_are_counted_and_logged_after_a_minute(void **state)
{
    static engine_rig rig;
    start(&rig);
    for (int i = 0; i < WRITTEN; i++) {
        send_wrong_hello(&rig, i % 2 == 0 ? "192.0.2.1:5123" : "192.0.2.1:5124");
    }
    assert_int_equal(rig.audits, WRITTEN);
    for (int i = 0; i < 3; i++) {
        send_wrong_hello(&rig, "192.0.2.1:5125");
    }
    assert_int_equal(rig.audits, WRITTEN);
    send_wrong_hello(&rig, "192.0.2.2:5126"); /* another address has lines of its own */
    assert_int_equal(rig.audits, WRITTEN + 1);
    expect_audit(&rig, "192.0.2.2:5126");

    rig_clock(&rig, 59999 * ARCP_NS_PER_MS);
    assert_int_equal(rig.audits, WRITTEN + 1);
    rig_clock(&rig, ARCP_NS_PER_MS);
    assert_int_equal(rig.audits, WRITTEN + 2);
    expect_audit(&rig, "\"peer\":\"192.0.2.1\"");
    expect_audit(&rig, "\"count\":3");

    rig_clock(&rig, 120 * ARCP_NS_PER_SEC); /* once */
    assert_int_equal(rig.audits, WRITTEN + 2);
    send_wrong_hello(&rig, "192.0.2.1:5127"); /* a new minute */
    assert_int_equal(rig.audits, WRITTEN + 3);
    rig_stop(&rig);
}

static void kinds_are_counted_separately_also_in_the_log(void **state)
{
    static engine_rig rig;
    start(&rig);
    for (int i = 0; i < WRITTEN + 2; i++) {
        refuse(&rig, "[2001:db8::1]:99", 404);
    }
    assert_int_equal(log_lines, WRITTEN);
    assert_string_equal(last_log, "refused [2001:db8::1]:99 (HTTP 404): this Host is not allowed");
    assert_int_equal(rig.audits, 0); /* a 404 is not an access decision */
    refuse(&rig, "[2001:db8::1]:99", 403);
    assert_int_equal(log_lines, WRITTEN + 1);
    assert_int_equal(rig.audits, 1);
    expect_audit(&rig, "\"rule\":\"HTTP\",\"peer\":\"[2001:db8::1]:99\",\"reason\":\"this Host is");
    refuse(&rig, "[2001:db8::1]:99", 0);
    assert_string_equal(last_log, "refused [2001:db8::1]:99 (HTTP): this Host is not allowed");

    rig_clock(&rig, 60 * ARCP_NS_PER_SEC);
    assert_string_equal(last_log, "refused [2001:db8::1] (HTTP 404): 2 more times");
    assert_int_equal(log_lines, WRITTEN + 3);
    assert_int_equal(rig.audits, 1);
    rig_stop(&rig);
}

static void addresses_beyond_the_table_are_counted_together(void **state)
{
    static engine_rig rig;
    char peer[32];
    start(&rig);
    for (unsigned i = 0; i < ARCP__REFUSED_ADDRESSES_MAX; i++) {
        (void)snprintf(peer, sizeof peer, "10.0.%u.%u:1", i / 256, i % 256);
        refuse(&rig, peer, 403);
    }
    assert_int_equal(rig.audits, ARCP__REFUSED_ADDRESSES_MAX);
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(peer, sizeof peer, "10.1.%u.%u:1", i / 256, i % 256);
        refuse(&rig, peer, 403);
    }
    assert_int_equal(rig.audits, ARCP__REFUSED_ADDRESSES_MAX + WRITTEN);
    rig_clock(&rig, 60 * ARCP_NS_PER_SEC);
    assert_int_equal(rig.audits, ARCP__REFUSED_ADDRESSES_MAX + WRITTEN + 1);
    expect_audit(&rig, "\"peer\":\"other addresses\"");
    expect_audit(&rig, "\"count\":995");
    rig_stop(&rig);
}

/* An IPv6 address with its interface name may be longer than the address field of a row. */
static void a_long_address_has_one_row(void **state)
{
    static engine_rig rig;
    start(&rig);
    for (int i = 0; i < WRITTEN + 7; i++) {
        refuse(&rig, "[fe80:1111:2222:3333:4444:5555:6666:7777%interface-12345]:1", 403);
    }
    assert_int_equal(rig.audits, WRITTEN);
    rig_stop(&rig);
}

static void counted_refusals_are_logged_at_shutdown_and_in_the_metrics(void **state)
{
    static engine_rig rig;
    start(&rig);
    for (int i = 0; i < WRITTEN + 7; i++) {
        refuse(&rig, "192.0.2.1:1", 403);
    }
    arcp_buf metrics = arcp_buf_init();
    arcp__engine_write_metrics(rig.engine, &metrics);
    arcp_buf_append_byte(&metrics, '\0');
    assert_non_null(strstr(metrics.data, "\narcp_refusals_counted_total 7\n"));
    arcp_buf_fini(&metrics);
    arcp__engine_shutdown(rig.engine, rig.now, false);
    rig_run(&rig);
    expect_audit(&rig, "\"count\":7");
    rig_stop(&rig);
}

static void a_setting_limits_how_many_are_logged_individually(void **state)
{
    static engine_rig rig;
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.audit_refusals = 0;
    rig_start(&rig, &settings);
    refuse(&rig, "192.0.2.1:1", 403);
    assert_int_equal(rig.audits, 0);
    settings.audit_refusals = 1;
    arcp__engine_set_settings(rig.engine, &settings);
    refuse(&rig, "192.0.2.1:1", 403);
    assert_int_equal(rig.audits, 1);
    refuse(&rig, "192.0.2.1:1", 403);
    assert_int_equal(rig.audits, 1);
    rig_stop(&rig);
}

static void a_refused_resume_names_the_requested_session(void **state)
{
    static engine_rig rig;
    start(&rig);
    rig.link.peer = "192.0.2.9:7";
    rig_client *client = rig_connect(&rig, "stranger");
    rig_send(&rig, client,
             "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\":{"
             "\"scheme\":\"bearer\",\"token\":\"t-bob\"},\"resume\":{\"session_id\":"
             "\"sess_of_alice\",\"resume_token\":\"rt_guessed\",\"last_event_seq\":0}}}");
    assert_int_equal(client->close_code, 1008);
    expect_audit(&rig, "\"principal\":\"bob\"");
    expect_audit(&rig, "\"rule\":\"resume token\",\"peer\":\"192.0.2.9:7\"");
    expect_audit(&rig, "\"target\":\"sess_of_alice\"");
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_token_is_recorded_with_its_peer),
        cmocka_unit_test(refusals_beyond_the_limit_are_counted_and_logged_after_a_minute),
        cmocka_unit_test(kinds_are_counted_separately_also_in_the_log),
        cmocka_unit_test(addresses_beyond_the_table_are_counted_together),
        cmocka_unit_test(a_long_address_has_one_row),
        cmocka_unit_test(counted_refusals_are_logged_at_shutdown_and_in_the_metrics),
        cmocka_unit_test(a_setting_limits_how_many_are_logged_individually),
        cmocka_unit_test(a_refused_resume_names_the_requested_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
