/* A runtime with several shards: what crosses principals. */
#include "runtime/runtime_schedule.h"
#include "runtime/shards_rig.h"

/* ---- what crosses principals ---- */

static void an_answer_does_not_tell_where_a_job_is(void **state)
{
    shards_rig r;
    (void)state;
    shards_rig_start(&r, 4);
    const shards_peer *alice = shards_rig_hello(&r, 0, "alice", "");
    char job[128];
    shards_rig_until(&r, shards_rig_has(alice, "session.welcome"));
    shards_rig_request(alice, "job.submit", "{\"agent\":\"echo\"}");
    shards_rig_until(&r, shards_rig_has(alice, "job.result"));
    shards_rig_get(alice, "job_id", job);
    for (unsigned i = 0; i < 2; i++) {
        char name[16];
        char payload[200];
        shards_rig_find(&r, "alice", i == 0, name);
        const shards_peer *other = shards_rig_hello(&r, 1 + i, name, "");
        shards_rig_until(&r, shards_rig_has(other, "session.welcome"));
        (void)snprintf(payload, sizeof payload, "{\"job_id\":\"%s\"}", job);
        shards_rig_request(other, "job.subscribe", payload);
        shards_rig_until(&r, shards_rig_has(other, "\"code\":\"JOB_NOT_FOUND\""));
        assert_false(shards_rig_has(other, "PERMISSION_DENIED"));
    }
    shards_rig_stop(&r);
}

static void an_answer_does_not_tell_where_a_session_is(void **state)
{
    shards_rig r;
    (void)state;
    shards_rig_start(&r, 4);
    shards_peer *alice = shards_rig_hello(&r, 0, "alice", "");
    char token[128];
    char more[300];
    shards_rig_until(&r, shards_rig_has(alice, "session.welcome"));
    shards_rig_get(alice, "resume_token", token);
    (void)snprintf(more, sizeof more, ",\"resume\":{\"resume_token\":\"%s\",\"last_event_seq\":0}",
                   token);
    for (unsigned i = 0; i < 2; i++) {
        char name[16];
        shards_rig_find(&r, "alice", i == 0, name);
        const shards_peer *other = shards_rig_hello(&r, 1 + i, name, more);
        shards_rig_until(&r, other->closed);
        assert_true(shards_rig_has(other, "\"code\":\"RESUME_WINDOW_EXPIRED\""));
    }
    const shards_peer *again = shards_rig_hello(&r, 3, "alice", more); /* by the token alone */
    shards_rig_until(&r, shards_rig_has(again, "session.welcome"));
    shards_rig_until(&r, alice->closed);
    shards_rig_stop(&r);
}

static void limits_sessions_counts_those_of_all_shards(void **state)
{
    shards_rig r;
    char other[16];
    (void)state;
    shards_rig_prepare(&r, 4);
    r.settings.limits_sessions = 2;
    shards_rig_open(&r);
    shards_rig_find(&r, "alice", false, other);
    const shards_peer *first = shards_rig_hello(&r, 0, "alice", "");
    shards_rig_until(&r, shards_rig_has(first, "session.welcome"));
    const shards_peer *second = shards_rig_hello(&r, 1, other, "");
    shards_rig_until(&r, shards_rig_has(second, "session.welcome"));
    const shards_peer *third = shards_rig_hello(&r, 2, other, "");
    shards_rig_until(&r, third->closed);
    assert_true(shards_rig_has(third, "limits.sessions"));
    shards_rig_stop(&r);
}

static void what_several_shards_cannot_do_is_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        static const char *const words[] = {"authorization.subscribe: any needs shards: 1",
                                            "a recording needs shards: 1"};
        shards_rig r;
        arcp_error error = {0};
        shards_rig_prepare(&r, 2);
        r.settings.authorization_subscribe =
            i == 0 ? ARCP__SUBSCRIBE_ANY : r.settings.authorization_subscribe;
        r.options.record = i == 1 ? (void (*)(void *, arcp_span))abort : NULL;
        assert_int_equal(
            arcp__runtime_new_with_setup(&r.loop, &r.options, &r.setup, &r.runtime, &error),
            ARCP_E_USAGE);
        assert_string_equal(error.message, words[i]);
        for (unsigned k = 0; k < 2; k++) { /* not taken over */
            r.of_setup[k]->ops->close(r.of_setup[k]);
        }
        shards_rig_close(&r);
    }
}

static void a_shard_has_its_part_of_limits(void **state)
{
    shards_rig r;
    arcp_settings own;
    (void)state;
    shards_rig_start(&r, 4);
    r.settings.jobs_keep_terminal_max = 10000;
    r.settings.jobs_keep_terminal_bytes = UINT64_C(1) << 30;
    r.settings.jobs_idempotency_max = 12000;
    r.settings.limits_store_queue_bytes = 16 << 20;
    arcp__shard_settings(r.runtime, &r.settings, &own);
    assert_int_equal(own.jobs_keep_terminal_max, 5000);
    assert_int_equal(own.jobs_keep_terminal_bytes, UINT64_C(1) << 29);
    assert_int_equal(own.jobs_idempotency_max, 10000);
    assert_int_equal(own.limits_store_queue_bytes, 4 << 20);
    r.settings.jobs_keep_terminal_max = 1600;
    r.settings.limits_store_queue_bytes = 2 << 20;
    arcp__shard_settings(r.runtime, &r.settings, &own);
    assert_int_equal(own.jobs_keep_terminal_max, 1000);
    assert_int_equal(own.limits_store_queue_bytes, 1 << 20);
    r.settings.jobs_keep_terminal_max = 7; /* never more than all may have */
    r.settings.limits_store_queue_bytes = 65536;
    arcp__shard_settings(r.runtime, &r.settings, &own);
    assert_int_equal(own.jobs_keep_terminal_max, 7);
    assert_int_equal(own.limits_store_queue_bytes, 65536);
    assert_int_equal(own.authorization_hide_existence, ARCP__CHOICE_TRUE);
    r.settings.authorization_subscribe = ARCP__SUBSCRIBE_ANY; /* by a reload */
    arcp__shard_settings(r.runtime, &r.settings, &own);
    assert_int_equal(own.authorization_subscribe, ARCP__SUBSCRIBE_SAME_PRINCIPAL);
    shards_rig_stop(&r);
}

static void a_schedule_runs_in_its_principals_shard(void **state)
{
    shards_rig r;
    arcp_error error = {0};
    arcp__schedule_view view;
    (void)state;
    shards_rig_start(&r, 4);
    arcp__schedule_options schedules[2] = {{.name = ARCP_SPAN_LITERAL("nightly"),
                                            .agent = ARCP_SPAN_LITERAL("echo"),
                                            .principal = ARCP_SPAN_LITERAL("alice"),
                                            .every_sec = 3600,
                                            .request = ARCP_SPAN_LITERAL("{}")}};
    check_ok(arcp__runtime_set_schedules(r.runtime, schedules, 1, &error), &error);
    for (arcp__shard *shard = r.runtime->shards; shard != arcp__shards_end(r.runtime); shard++) {
        assert_int_equal(arcp__engine_next_schedule(shard->engine, "", &view),
                         shard == shards_rig_shard(&r, "alice"));
    }
    /* One that is not valid changes nothing, whatever the shard. */
    char other[16];
    shards_rig_find(&r, "alice", false, other);
    schedules[1] = schedules[0];
    schedules[1].principal = arcp_span_cstr(other);
    schedules[1].cron = ARCP_SPAN_LITERAL("never");
    assert_int_equal(arcp__runtime_set_schedules(r.runtime, schedules + 1, 1, &error),
                     ARCP_E_USAGE);
    assert_true(arcp__engine_next_schedule(shards_rig_shard(&r, "alice")->engine, "", &view));
    shards_rig_stop(&r);
}

static void on_delivery(void *user, arcp_runtime *runtime, uint64_t id, arcp_span hook,
                        arcp_span body)
{
    shards_rig *r = user;
    (void)runtime;
    (void)hook;
    (void)body;
    r->delivered++;
    r->delivery = id;
}

static bool has_notification(const arcp__shard *shard)
{
    arcp__notification_view view;
    return arcp__engine_next_notification(shard->engine, "", &view);
}

static void the_result_of_a_notification_gets_to_its_shard(void **state)
{
    const arcp__hook_options hook = {.name = ARCP_SPAN_LITERAL("h"),
                                     .target = ARCP_SPAN_LITERAL("t"),
                                     .events = 1U << ARCP__HOOK_END};
    shards_rig r;
    (void)state;
    shards_rig_prepare(&r, 4);
    r.setup.hooks = &hook;
    r.setup.hook_count = 1;
    r.setup.deliver = on_delivery;
    r.setup.user = &r;
    shards_rig_open(&r);
    const arcp__shard *shard = shards_rig_shard(&r, "alice");
    assert_true(shard != r.runtime->shards);
    const shards_peer *p = shards_rig_hello(&r, 0, "alice", "");
    shards_rig_until(&r, shards_rig_has(p, "session.welcome"));
    shards_rig_request(p, "job.submit", "{\"agent\":\"echo\"}");
    shards_rig_until(&r, r.delivered == 1);
    assert_true(has_notification(shard));
    arcp__runtime_notified(r.runtime, r.delivery, ARCP_OK, arcp_span_make(NULL, 0));
    shards_rig_until(&r, !has_notification(shard));
    shards_rig_stop(&r);
}

static void shards_share_the_places_of_an_agent(void **state)
{
    shards_rig r;
    char other[16];
    arcp_error error = {0};
    (void)state;
    shards_rig_start(&r, 4);
    shards_rig_find(&r, "alice", false, other);
    arcp__agent_entry *entry = r.runtime->agents;
    while (strcmp(entry->name, "wait") != 0) {
        entry = entry->next;
    }
    const arcp__agent_registration one_place = {
        .name = ARCP_SPAN_LITERAL("wait"), .host = entry, .max_jobs = 1};
    check_ok(arcp__shards_register(r.runtime, &one_place, &error), &error);
    const shards_peer *alice = shards_rig_hello(&r, 0, "alice", "");
    const shards_peer *second = shards_rig_hello(&r, 1, other, "");
    shards_rig_until(&r, shards_rig_has(alice, "session.welcome"));
    shards_rig_until(&r, shards_rig_has(second, "session.welcome"));
    for (unsigned round = 0; round < 2; round++) { /* either may have it first */
        const shards_peer *runs = round == 0 ? alice : second;
        const shards_peer *waits = round == 0 ? second : alice;
        r.held = NULL;
        shards_rig_request(runs, "job.submit", "{\"agent\":\"wait\"}");
        shards_rig_until(&r, r.held != NULL);
        arcp_agent_call *held = r.held;
        shards_rig_request(waits, "job.submit", "{\"agent\":\"wait\"}");
        shards_rig_until(&r, shards_rig_has(waits, "\"phase\":\"queued\""));
        assert_ptr_equal(r.held, held);
        arcp_agent_succeed(held, ARCP_SPAN_LITERAL("1"));
        shards_rig_until(&r, r.held != held);
        held = r.held;
        arcp_agent_succeed(held, ARCP_SPAN_LITERAL("2"));
        shards_rig_until(&r, shards_rig_has(waits, "job.result"));
    }
    shards_rig_stop(&r);
}

static void metrics_are_sums(void **state)
{
    shards_rig r;
    char other[16];
    arcp_buf text = arcp_buf_init();
    (void)state;
    shards_rig_start(&r, 4);
    shards_rig_find(&r, "alice", false, other);
    for (unsigned i = 0; i < 2; i++) {
        const shards_peer *p = shards_rig_hello(&r, i, i == 0 ? "alice" : other, "");
        shards_rig_until(&r, shards_rig_has(p, "session.welcome"));
        shards_rig_request(p, "job.submit", "{\"agent\":\"echo\"}");
        shards_rig_until(&r, shards_rig_has(p, "job.result"));
        shards_rig_request(p, "job.submit", "{\"agent\":\"unknown\"}");
        shards_rig_until(&r, shards_rig_has(p, "AGENT_NOT_AVAILABLE"));
    }
    const shards_peer *wrong = shards_rig_hello(&r, 2, "wrong", ""); /* at the door */
    shards_rig_until(&r, wrong->closed);
    assert_int_equal(arcp_runtime_write_metrics(r.runtime, &text), ARCP_OK);
    arcp_buf_append_byte(&text, '\0');
    static const char *const lines[] = {
        "\narcp_sessions 2\n",
        "\narcp_sessions_opened_total 2\n",
        "\narcp_authentications_refused_total 1\n",
        "\narcp_jobs_ended_total{agent=\"echo\",status=\"success\"} 2\n",
        "\narcp_submits_refused_total{code=\"AGENT_NOT_AVAILABLE\"} 2\n",
        "\narcp_jobs_kept 2\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strstr(text.data, lines[i]) == NULL) {
            fail_msg("%s is not in:\n%s", lines[i] + 1, text.data);
        }
    }
    arcp_buf_fini(&text);
    shards_rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_does_not_tell_where_a_job_is),
        cmocka_unit_test(an_answer_does_not_tell_where_a_session_is),
        cmocka_unit_test(limits_sessions_counts_those_of_all_shards),
        cmocka_unit_test(what_several_shards_cannot_do_is_refused),
        cmocka_unit_test(a_shard_has_its_part_of_limits),
        cmocka_unit_test(a_schedule_runs_in_its_principals_shard),
        cmocka_unit_test(the_result_of_a_notification_gets_to_its_shard),
        cmocka_unit_test(shards_share_the_places_of_an_agent),
        cmocka_unit_test(metrics_are_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
