/* Hooks: which events of which jobs make notifications, what these are, and how they are attempted
 * until they are delivered. The rig begins at 2026-01-01T00:00:00Z. */
#include <string.h>

#include "hook/hook_rig.h"
#include "support/check.h"

#define MINUTE (60 * ARCP_NS_PER_SEC)
#define HOUR   (60 * MINUTE)

static void finish(hook_rig *h, rig_agent *agent)
{
    rig_agent_writes(&h->rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    rig_agent_exits(&h->rig, agent, false, 0);
}

static void the_end_of_a_job_is_notified_once(void **state)
{
    const arcp__hook_options hook = hook_for("pager", ON(END));
    hook_rig h;
    (void)state;
    hook_start(&h, &hook, 1);
    rig_agent *agent = hook_submit(&h, "echo", "");
    assert_int_equal(h.delivered_count, 0);
    finish(&h, agent);
    assert_int_equal(h.delivered_count, 1);
    char expected[256];
    (void)snprintf(expected, sizeof expected,
                   "{\"id\":\"%s\",\"event\":\"end\",\"at\":\"2026-01-01T00:00:00.000Z\","
                   "\"hook\":\"pager\",\"job\":{\"job_id\":\"%s\",\"principal\":\"alice\","
                   "\"agent\":\"echo\",\"status\":\"success\",",
                   h.delivered[0].id, agent->job_id);
    assert_memory_equal(h.delivered[0].body, expected, strlen(expected));
    assert_memory_equal(h.delivered[0].id, "ntf_", 4);
    assert_int_equal(hook_waiting(&h), 0);
    rig_clock(&h.rig, 48 * HOUR);
    assert_int_equal(h.delivered_count, 1);
    hook_stop(&h);
}

static void a_notification_waits_for_the_batch_with_the_end_of_its_job(void **state)
{
    const arcp__hook_options hook = hook_for("pager", ON(END));
    hook_rig h;
    (void)state;
    hook_start(&h, &hook, 1);
    rig_agent *agent = hook_submit(&h, "echo", "");
    h.rig.hold_store = true;
    finish(&h, agent);
    assert_int_equal(h.delivered_count, 0);
    h.rig.hold_store = false;
    rig_run(&h.rig);
    assert_int_equal(h.delivered_count, 1);
    hook_stop(&h);
}

static void a_hook_is_notified_of_what_matches_it(void **state)
{
    arcp__hook_options hooks[6] = {hook_for("all", ON(END)),       hook_for("agent", ON(END)),
                                   hook_for("version", ON(END)),   hook_for("other", ON(END)),
                                   hook_for("principal", ON(END)), hook_for("denials", ON(DENIAL))};
    hook_rig h;
    (void)state;
    hooks[1].agent = ARCP_SPAN_LITERAL("wor*");
    hooks[2].agent = ARCP_SPAN_LITERAL("work@1.0.0");
    hooks[3].agent = ARCP_SPAN_LITERAL("work@2*");
    hooks[4].principal = ARCP_SPAN_LITERAL("bob");
    hook_start(&h, hooks, 6);
    finish(&h, hook_submit(&h, "work", ""));
    assert_int_equal(hook_count(&h, "all", NULL), 1);
    assert_int_equal(hook_count(&h, "agent", NULL), 1);
    assert_int_equal(hook_count(&h, "version", NULL), 1);
    assert_int_equal(h.delivered_count, 3);
    finish(&h, hook_submit(&h, "echo", ""));
    assert_int_equal(hook_count(&h, "all", NULL), 2);
    assert_int_equal(h.delivered_count, 4);
    hook_stop(&h);
}

static void authorize(hook_rig *h, rig_agent *agent, const char *path)
{
    char line[256];
    (void)snprintf(line, sizeof line,
                   "{\"type\":\"authorize\",\"id\":\"1\",\"payload\":{\"capability\":\"fs.read\","
                   "\"target\":\"%s\"}}",
                   path);
    rig_agent_writes(&h->rig, agent, line);
}

static void denials_of_a_job_are_notified_at_most_once_a_minute(void **state)
{
    const arcp__hook_options hook = hook_for("pager", ON(DENIAL));
    hook_rig h;
    (void)state;
    hook_start(&h, &hook, 1);
    rig_agent *agent = hook_submit(&h, "echo", "\"lease_request\":{\"fs.read\":[\"/data/**\"]}");
    authorize(&h, agent, "/data/a");
    assert_int_equal(h.delivered_count, 0);
    authorize(&h, agent, "/etc/shadow");
    assert_int_equal(hook_count(&h, "pager", "\"denials\":1"), 1);
    authorize(&h, agent, "/etc/passwd");
    rig_clock(&h.rig, MINUTE - 1);
    authorize(&h, agent, "/etc/group");
    assert_int_equal(h.delivered_count, 1);
    rig_clock(&h.rig, 1);
    authorize(&h, agent, "/etc/group");
    assert_int_equal(hook_count(&h, "pager", "\"denials\":4"), 1);
    assert_int_equal(h.delivered_count, 2);
    /* Another job has its own minute. */
    agent = hook_submit(&h, "echo", "");
    authorize(&h, agent, "/etc/shadow");
    assert_int_equal(h.delivered_count, 3);
    hook_stop(&h);
}

static void spend(hook_rig *h, rig_agent *agent, const char *amount)
{
    char line[256];
    (void)snprintf(line, sizeof line,
                   "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":"
                   "\"cost.inference\",\"value\":%s,\"unit\":\"USD\"}}}",
                   amount);
    rig_agent_writes(&h->rig, agent, line);
}

static void a_budget_is_notified_when_it_crosses_the_threshold(void **state)
{
    arcp__hook_options hooks[3] = {hook_for("ten", ON(BUDGET)), hook_for("none", ON(BUDGET)),
                                   hook_for("half", ON(BUDGET))};
    hook_rig h;
    (void)state;
    hooks[1].budget_left_percent = 0;
    hooks[2].budget_left_percent = 50;
    hook_start(&h, hooks, 3);
    rig_agent *agent = hook_submit(&h, "echo", "\"lease_request\":{\"cost.budget\":[\"USD:10\"]}");
    spend(&h, agent, "4.99");
    assert_int_equal(h.delivered_count, 0);
    spend(&h, agent, "0.01");
    assert_int_equal(hook_count(&h, "half", "\"spent\":5"), 1);
    assert_int_equal(h.delivered_count, 1);
    spend(&h, agent, "3.99");
    assert_int_equal(h.delivered_count, 1);
    spend(&h, agent, "0.01");
    assert_int_equal(hook_count(&h, "ten", "\"event\":\"budget\""), 1);
    spend(&h, agent, "0.5");
    assert_int_equal(h.delivered_count, 2);
    spend(&h, agent, "0.5");
    assert_int_equal(hook_count(&h, "none", NULL), 1);
    assert_int_equal(h.delivered_count, 3);
    hook_stop(&h);
}

static void a_childs_costs_cross_the_threshold_of_its_parent(void **state)
{
    const arcp__hook_options hook = hook_for("ten", ON(BUDGET));
    hook_rig h;
    (void)state;
    hook_start(&h, &hook, 1);
    rig_agent *parent = hook_submit(
        &h, "echo", "\"lease_request\":{\"agent.delegate\":[\"*\"],\"cost.budget\":[\"USD:10\"]}");
    rig_agent_writes(&h.rig, parent,
                     "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"work\","
                     "\"lease_request\":{\"cost.budget\":[\"USD:10\"]}}}");
    rig_agent *child = rig_agent_last(&h.rig);
    assert_ptr_not_equal(child, parent);
    spend(&h, child, "9");
    assert_int_equal(hook_count(&h, "ten", "\"agent\":\"work@1.0.0\""), 1);
    assert_int_equal(hook_count(&h, "ten", "\"agent\":\"echo\""), 1);
    assert_int_equal(h.delivered_count, 2);
    hook_stop(&h);
}

static void a_silent_agent_is_notified_once_for_each_silence(void **state)
{
    arcp__hook_options hooks[2] = {hook_for("soon", ON(STUCK)), hook_for("late", ON(STUCK))};
    hook_rig h;
    (void)state;
    hooks[0].stuck_after_sec = 40;
    hooks[1].stuck_after_sec = 120;
    hook_start(&h, hooks, 2);
    rig_agent *agent = hook_submit(&h, "echo", "");
    rig_clock(&h.rig, 39 * ARCP_NS_PER_SEC);
    assert_int_equal(h.delivered_count, 0);
    rig_clock(&h.rig, 11 * ARCP_NS_PER_SEC); /* a quarter of the time later at most */
    assert_int_equal(hook_count(&h, "soon", "\"event\":\"stuck\""), 1);
    rig_clock(&h.rig, 5 * MINUTE);
    assert_int_equal(hook_count(&h, "late", NULL), 1);
    assert_int_equal(h.delivered_count, 2);
    rig_agent_writes(&h.rig, agent,
                     "{\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":"
                     "\"info\",\"message\":\"x\"}}}");
    rig_clock(&h.rig, 39 * ARCP_NS_PER_SEC);
    assert_int_equal(h.delivered_count, 2);
    rig_clock(&h.rig, 11 * ARCP_NS_PER_SEC);
    assert_int_equal(hook_count(&h, "soon", NULL), 2);
    rig_agent_exits(&h.rig, agent, false, 0);
    rig_clock(&h.rig, HOUR);
    assert_int_equal(h.delivered_count, 3);
    hook_stop(&h);
}

static void a_failed_attempt_is_repeated_with_the_same_id_and_body(void **state)
{
    const arcp__hook_options hook = hook_for("pager", ON(END));
    hook_rig h;
    (void)state;
    hook_start(&h, &hook, 1);
    h.receiver = HOOK_FAILS_TWICE;
    finish(&h, hook_submit(&h, "echo", ""));
    assert_int_equal(h.delivered_count, 1);
    arcp__notification_view view;
    assert_true(arcp__engine_next_notification(h.rig.engine, "", &view));
    assert_string_equal(view.state, "waiting");
    assert_string_equal(view.error, "it answered 500");
    assert_string_equal(view.target, "https://hooks.example");
    assert_int_equal(view.tries, 1);
    assert_in_range(view.next_wall_ns - h.rig.now.wall_ns, ARCP_NS_PER_SEC / 2, ARCP_NS_PER_SEC);
    rig_clock(&h.rig, ARCP_NS_PER_SEC / 2 - 1);
    assert_int_equal(h.delivered_count, 1);
    rig_clock(&h.rig, ARCP_NS_PER_SEC);
    assert_int_equal(h.delivered_count, 2);
    rig_clock(&h.rig, 2 * ARCP_NS_PER_SEC);
    assert_int_equal(h.delivered_count, 3);
    assert_string_equal(h.delivered[0].body, h.delivered[2].body);
    assert_int_equal(hook_waiting(&h), 0);
    hook_stop(&h);
}

static void a_notification_that_is_not_delivered_for_24_hours_fails_and_stays(void **state)
{
    const arcp__hook_options hook = hook_for("pager", ON(END));
    hook_rig h;
    arcp__notification_view view;
    (void)state;
    hook_start(&h, &hook, 1);
    h.receiver = HOOK_FAILS;
    finish(&h, hook_submit(&h, "echo", ""));
    rig_clock(&h.rig, 24 * HOUR - ARCP_NS_PER_SEC);
    assert_true(arcp__engine_next_notification(h.rig.engine, "", &view));
    assert_string_equal(view.state, "waiting");
    const size_t attempts = h.delivered_count;
    assert_in_range(attempts, 144, 320); /* 5 to 10 minutes between two */
    rig_clock(&h.rig, 10 * MINUTE + ARCP_NS_PER_SEC);
    assert_true(arcp__engine_next_notification(h.rig.engine, "", &view));
    assert_string_equal(view.state, "failed");
    const size_t all = h.delivered_count;
    rig_clock(&h.rig, 24 * HOUR);
    assert_int_equal(h.delivered_count, all);
    /* It is still there after a restart, and an operator has it attempted again. */
    h.rig.keep_store = true;
    rig_restart(&h.rig);
    assert_true(arcp__engine_next_notification(h.rig.engine, "", &view));
    assert_string_equal(view.state, "failed");
    assert_string_equal(view.error, "it answered 500");
    assert_int_equal(h.delivered_count, all);
    hook_stop(&h);
}

static void a_hook_has_four_notifications_under_way_and_delays_no_other(void **state)
{
    const arcp__hook_options hooks[] = {hook_for("dead", ON(END)), hook_for("well", ON(END))};
    hook_rig h;
    (void)state;
    hook_start(&h, hooks, 2);
    h.receiver = HOOK_IS_SILENT;
    for (int i = 0; i < 10; i++) {
        finish(&h, hook_submit(&h, "echo", ""));
        for (size_t k = 0; k < h.delivered_count; k++) { /* only the second answers */
            if (!h.delivered[k].is_answered && strcmp(h.delivered[k].hook, "well") == 0) {
                h.delivered[k].is_answered = true;
                arcp__engine_notified(h.rig.engine, h.rig.now, h.delivered[k].number, ARCP_OK,
                                      (arcp_span){NULL, 0});
            }
        }
        rig_run(&h.rig);
    }
    assert_int_equal(hook_count(&h, "dead", NULL), ARCP__HOOK_SENT_MAX);
    assert_int_equal(hook_count(&h, "well", NULL), 10);
    assert_int_equal(hook_waiting(&h), 10);
    hook_answer(&h, ARCP_OK);
    assert_int_equal(hook_count(&h, "dead", NULL), 2 * ARCP__HOOK_SENT_MAX);
    hook_stop(&h);
}

static void jobs_that_a_restart_ends_are_notified(void **state)
{
    const arcp__hook_options hook = hook_for("pager", ON(END));
    hook_rig h;
    (void)state;
    hook_start(&h, &hook, 1);
    (void)hook_submit(&h, "echo", "");
    h.rig.keep_store = true;
    rig_restart(&h.rig);
    rig_run(&h.rig);
    assert_int_equal(hook_count(&h, "pager", "\"code\":\"INTERNAL_ERROR\""), 1);
    hook_stop(&h);
}

static void what_waits_for_a_removed_hook_waits_until_it_is_configured_again(void **state)
{
    const arcp__hook_options hook = hook_for("pager", ON(END));
    hook_rig h;
    arcp__notification_view view;
    (void)state;
    hook_start(&h, &hook, 1);
    h.receiver = HOOK_FAILS;
    rig_agent *agent = hook_submit(&h, "echo", "");
    finish(&h, agent);
    rig_hooks(&h.rig, NULL, 0);
    h.receiver = HOOK_RECEIVES;
    rig_clock(&h.rig, HOUR);
    assert_int_equal(h.delivered_count, 1);
    assert_true(arcp__engine_next_notification(h.rig.engine, "", &view));
    assert_string_equal(view.error, "the hook is not configured");
    finish(&h, hook_submit(&h, "echo", ""));
    assert_int_equal(hook_waiting(&h), 1);
    rig_hooks(&h.rig, &hook, 1);
    rig_clock(&h.rig, HOUR);
    assert_int_equal(h.delivered_count, 2);
    assert_int_equal(hook_waiting(&h), 0);
    hook_stop(&h);
}

static void nothing_is_written_without_hooks(void **state)
{
    hook_rig h;
    (void)state;
    hook_start(&h, NULL, 0);
    finish(&h, hook_submit(&h, "echo", ""));
    assert_int_equal(hook_waiting(&h), 0);
    assert_int_equal(h.delivered_count, 0);
    hook_stop(&h);
}

static char *metrics_of(const hook_rig *h)
{
    arcp_buf out = arcp_buf_init();
    arcp__engine_write_metrics(h->rig.engine, &out);
    char *text = arcp_buf_take_cstr(&out);
    arcp_buf_fini(&out);
    return text;
}

static void notifications_are_counted(void **state)
{
    const arcp__hook_options hook = hook_for("pager", ON(END));
    hook_rig h;
    (void)state;
    hook_start(&h, &hook, 1);
    h.receiver = HOOK_FAILS_TWICE;
    finish(&h, hook_submit(&h, "echo", ""));
    char *text = metrics_of(&h);
    assert_non_null(strstr(text, "\narcp_notifications_total{outcome=\"made\"} 1\n"));
    assert_non_null(strstr(text, "\narcp_notifications_total{outcome=\"retried\"} 1\n"));
    assert_non_null(strstr(text, "\narcp_outbox_waiting 1\n"));
    assert_non_null(strstr(text, "\narcp_outbox_failed 0\n"));
    arcp_free(text);
    rig_clock(&h.rig, MINUTE);
    text = metrics_of(&h);
    assert_non_null(strstr(text, "\narcp_notifications_total{outcome=\"delivered\"} 1\n"));
    assert_non_null(strstr(text, "\narcp_outbox_waiting 0\n"));
    arcp_free(text);
    hook_stop(&h);
}

/* ---- what operators see and decide ---- */

#define OPERATOR                                                                                   \
    "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\":{\"scheme\":" \
    "\"bearer\",\"token\":\"o-olga\"},\"capabilities\":{\"features\":["                            \
    "\"x-vendor.arcpd.operate\"]}}}"

/* Asks as an operator, and compares the beginning of the answer's payload. */
static void ask(hook_rig *h, const char *request, const char *payload, const char *expected)
{
    char frame[512];
    rig_client *client = rig_find(&h->rig, "o");
    if (client->link == NULL) {
        (void)rig_connect(&h->rig, "o");
        rig_send(&h->rig, client, OPERATOR);
        arcp_free(rig_take(client));
    }
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"q\",\"type\":\"x-vendor.arcpd.%s\",\"payload\":%s}",
                   request, payload);
    rig_send(&h->rig, client, frame);
    char *answer = rig_take(client);
    assert_non_null(answer);
    if (strstr(answer, expected) == NULL) {
        fail_msg("%s is not in %s", expected, answer);
    }
    arcp_free(answer);
}

static void operators_see_what_waits_and_retry_and_drop_it(void **state)
{
    const arcp__hook_options hook = hook_for("pager", ON(END));
    hook_rig h;
    char payload[128];
    char expected[256];
    (void)state;
    hook_start(&h, &hook, 1);
    h.receiver = HOOK_FAILS;
    for (int i = 0; i < 3; i++) {
        finish(&h, hook_submit(&h, "echo", ""));
    }
    (void)snprintf(expected, sizeof expected,
                   "\"notifications\":[{\"id\":\"%s\",\"hook\":\"pager\",\"event\":\"end\","
                   "\"job_id\":\"%s\",\"target\":\"https://hooks.example\",\"at\":\"",
                   h.delivered[0].id, h.rig.agents[0].job_id);
    ask(&h, "hooks", "{}", expected);
    ask(&h, "hooks", "{}", "\"last_error\":\"it answered 500\"}],\"next_cursor\":null}");
    (void)snprintf(expected, sizeof expected, "\"next_cursor\":\"%s\"}", h.delivered[1].id);
    ask(&h, "hooks", "{\"limit\":2}", expected);
    (void)snprintf(payload, sizeof payload, "{\"cursor\":\"%s\"}", h.delivered[1].id);
    (void)snprintf(expected, sizeof expected, "\"notifications\":[{\"id\":\"%s\",",
                   h.delivered[2].id);
    ask(&h, "hooks", payload, expected);
    /* One is dropped, also of the store; one is attempted at once. */
    (void)snprintf(payload, sizeof payload, "{\"id\":\"%s\"}", h.delivered[0].id);
    ask(&h, "drop_notification", payload, h.delivered[0].id);
    ask(&h, "drop_notification", payload, "there is no notification");
    h.receiver = HOOK_RECEIVES;
    (void)snprintf(payload, sizeof payload, "{\"id\":\"%s\"}", h.delivered[1].id);
    ask(&h, "retry_notification", payload, h.delivered[1].id);
    assert_int_equal(h.delivered_count, 4);
    assert_string_equal(h.delivered[3].id, h.delivered[1].id);
    assert_int_equal(hook_waiting(&h), 1);
    h.rig.keep_store = true;
    rig_restart(&h.rig);
    assert_int_equal(hook_count(&h, "pager", h.delivered[0].id), 1);
    assert_int_equal(hook_count(&h, "pager", h.delivered[2].id), 2);
    hook_stop(&h);
}

static void a_failed_notification_is_delivered_after_a_retry(void **state)
{
    const arcp__hook_options hook = hook_for("pager", ON(END));
    hook_rig h;
    char payload[128];
    (void)state;
    hook_start(&h, &hook, 1);
    h.receiver = HOOK_FAILS;
    finish(&h, hook_submit(&h, "echo", ""));
    rig_clock(&h.rig, 25 * HOUR);
    h.receiver = HOOK_RECEIVES;
    (void)snprintf(payload, sizeof payload, "{\"id\":\"%s\"}", h.delivered[0].id);
    ask(&h, "retry_notification", payload, h.delivered[0].id);
    assert_int_equal(hook_waiting(&h), 0);
    hook_stop(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_job_is_notified_once),
        cmocka_unit_test(a_notification_waits_for_the_batch_with_the_end_of_its_job),
        cmocka_unit_test(a_hook_is_notified_of_what_matches_it),
        cmocka_unit_test(denials_of_a_job_are_notified_at_most_once_a_minute),
        cmocka_unit_test(a_budget_is_notified_when_it_crosses_the_threshold),
        cmocka_unit_test(a_childs_costs_cross_the_threshold_of_its_parent),
        cmocka_unit_test(a_silent_agent_is_notified_once_for_each_silence),
        cmocka_unit_test(a_failed_attempt_is_repeated_with_the_same_id_and_body),
        cmocka_unit_test(a_notification_that_is_not_delivered_for_24_hours_fails_and_stays),
        cmocka_unit_test(a_hook_has_four_notifications_under_way_and_delays_no_other),
        cmocka_unit_test(jobs_that_a_restart_ends_are_notified),
        cmocka_unit_test(what_waits_for_a_removed_hook_waits_until_it_is_configured_again),
        cmocka_unit_test(nothing_is_written_without_hooks),
        cmocka_unit_test(notifications_are_counted),
        cmocka_unit_test(operators_see_what_waits_and_retry_and_drop_it),
        cmocka_unit_test(a_failed_notification_is_delivered_after_a_retry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
