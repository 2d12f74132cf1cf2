/* Schedules: which due times get a job, and which do not. The rig begins at 2026-01-01T00:00:00Z.
 */
#include "schedule/schedule.h"
#include "story/engine_rig.h"
#include "support/check.h"

#define MINUTE (60 * ARCP_NS_PER_SEC)
#define HOUR   (60 * MINUTE)

static arcp__schedule_options hourly(void)
{
    return (arcp__schedule_options){.name = ARCP_SPAN_LITERAL("nightly"),
                                    .agent = ARCP_SPAN_LITERAL("echo"),
                                    .principal = ARCP_SPAN_LITERAL("ops"),
                                    .cron = ARCP_SPAN_LITERAL("0 * * * *"),
                                    .request = ARCP_SPAN_LITERAL("{\"input\":{\"n\":1}}")};
}

static void begin(engine_rig *rig, const arcp__schedule_options *options)
{
    rig_start(rig, NULL);
    rig->keep_audit = true;
    rig_schedules(rig, options, 1);
}

/* Ends the job of the newest agent. */
static void finish(engine_rig *rig)
{
    rig_agent *agent = rig_agent_last(rig);
    assert_non_null(agent);
    rig_agent_writes(rig, agent, "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    rig_agent_exits(rig, agent, false, 0);
}

static size_t live(const engine_rig *rig)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->agent_count; i++) {
        count += rig->agents[i].forgotten ? 0 : 1;
    }
    return count;
}

static arcp__schedule_view view(const engine_rig *rig)
{
    arcp__schedule_view out;
    assert_true(arcp__engine_next_schedule(rig->engine, NULL, &out));
    return out;
}

static void a_job_begins_when_it_is_due(void **state)
{
    const arcp__schedule_options options = hourly();
    engine_rig rig;
    (void)state;
    begin(&rig, &options);
    assert_int_equal(view(&rig).next, 1767225600 + 3600);
    assert_int_equal(view(&rig).last, ARCP__DUE_NEVER);
    rig_clock(&rig, HOUR - 1);
    assert_int_equal(rig.agent_count, 0);
    rig_clock(&rig, 1);
    assert_int_equal(rig.agent_count, 1);
    char *start = rig_agent_take(&rig.agents[0]);
    assert_non_null(strstr(start, "\"input\":{\"n\":1}"));
    arcp_free(start);
    assert_non_null(strstr(rig.last_audit, "\"event\":\"submit\""));
    assert_non_null(strstr(rig.last_audit, "\"principal\":\"ops\""));
    assert_non_null(
        strstr(rig.last_audit, "\"idempotency_key\":\"schedule/nightly/2026-01-01T01:00:00Z\""));
    assert_int_equal(view(&rig).last, 1767225600 + 3600);
    assert_string_equal(view(&rig).last_job, rig.agents[0].job_id);
    finish(&rig);
    rig_clock(&rig, 2 * HOUR);
    assert_int_equal(rig.agent_count, 2); /* the second one still runs at 03:00 */
    rig_stop(&rig);
}

static void a_due_time_during_a_job_follows_the_overlap(void **state)
{
    const struct {
        arcp__overlap overlap;
        size_t live;       /* agents while the first one runs */
        bool cancelled;    /* the first one */
        size_t afterwards; /* agents in all when it has ended */
    } rows[] = {
        {ARCP__OVERLAP_SKIP, 1, false, 1},
        {ARCP__OVERLAP_QUEUE, 1, false, 2},
        {ARCP__OVERLAP_CANCEL, 1, true, 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__schedule_options options = hourly();
        options.overlap = rows[i].overlap;
        engine_rig rig;
        begin(&rig, &options);
        rig_clock(&rig, 2 * HOUR);
        assert_int_equal(live(&rig), rows[i].live);
        assert_int_equal(rig.agents[0].cancelled, rows[i].cancelled);
        rig_agent_writes(&rig, &rig.agents[0], "{\"type\":\"job.result\",\"payload\":{}}");
        rig_agent_exits(&rig, &rig.agents[0], false, 0);
        assert_int_equal(rig.agent_count, rows[i].afterwards);
        rig_stop(&rig);
    }
}

static void queued_due_times_get_their_jobs_one_after_the_other(void **state)
{
    arcp__schedule_options options = hourly();
    engine_rig rig;
    (void)state;
    options.overlap = ARCP__OVERLAP_QUEUE;
    begin(&rig, &options);
    rig_clock(&rig, 5 * HOUR);
    for (size_t count = 1; count <= 5; count++) {
        assert_int_equal(rig.agent_count, count);
        assert_int_equal(view(&rig).last, 1767225600 + 3600 * (int64_t)count);
        finish(&rig);
    }
    assert_int_equal(rig.agent_count, 5);
    rig_stop(&rig);
}

/* The runtime does not run for `down_ns` from 00:30 on. */
static size_t jobs_after(arcp__catch_up catch_up, int64_t down_ns, int64_t *last)
{
    arcp__schedule_options options = hourly();
    engine_rig rig;
    options.overlap = ARCP__OVERLAP_QUEUE;
    options.catch_up = catch_up;
    begin(&rig, &options);
    rig_clock(&rig, 30 * MINUTE);
    rig.now.wall_ns += down_ns;
    rig.now.mono_ns += down_ns;
    rig_restart(&rig); /* takes a second */
    rig_run(&rig);
    size_t count = 0;
    while (rig.agent_count > count) {
        count++;
        finish(&rig);
    }
    *last = view(&rig).last;
    rig_stop(&rig);
    return count;
}

static void missed_due_times_follow_catch_up(void **state)
{
    int64_t last = 0;
    (void)state;
    /* Up to 03:31. */
    assert_int_equal(jobs_after(ARCP__CATCH_UP_NONE, 3 * HOUR + MINUTE, &last), 0);
    assert_int_equal(jobs_after(ARCP__CATCH_UP_LAST, 3 * HOUR + MINUTE, &last), 1);
    assert_int_equal(last, 1767225600 + 3 * 3600);
    assert_int_equal(jobs_after(ARCP__CATCH_UP_ALL, 3 * HOUR + MINUTE, &last), 3);
    assert_int_equal(last, 1767225600 + 3 * 3600);
}

static void a_due_time_that_is_at_most_a_minute_old_was_not_missed(void **state)
{
    int64_t last = 0;
    (void)state;
    /* The restart takes a second: 01:00:59, and 01:01:00. */
    assert_int_equal(jobs_after(ARCP__CATCH_UP_NONE, 30 * MINUTE + 58 * ARCP_NS_PER_SEC, &last), 1);
    assert_int_equal(jobs_after(ARCP__CATCH_UP_NONE, 30 * MINUTE + 59 * ARCP_NS_PER_SEC, &last), 0);
}

static void a_restart_does_not_repeat_a_due_time(void **state)
{
    const arcp__schedule_options options = hourly();
    engine_rig rig;
    (void)state;
    begin(&rig, &options);
    rig_clock(&rig, HOUR);
    assert_int_equal(rig.agent_count, 1);
    rig_restart(&rig);
    rig_run(&rig);
    assert_int_equal(rig.agent_count, 0);
    assert_int_equal(view(&rig).last, 1767225600 + 3600);
    rig_clock(&rig, HOUR);
    assert_int_equal(rig.agent_count, 1);
    rig_stop(&rig);
}

/* The process is killed before each of the steps that make a job. */
static void a_kill_at_any_step_leaves_one_job(void **state)
{
    (void)state;
    unsigned fuse = 1;
    bool was_killed = true;
    for (; was_killed; fuse++) {
        arcp__schedule_options options = hourly();
        engine_rig rig;
        options.catch_up = ARCP__CATCH_UP_ALL;
        begin(&rig, &options);
        rig_clock(&rig, HOUR - 1);
        rig.fuse = fuse;
        rig_clock(&rig, 1);
        was_killed = rig.is_dead;
        rig.fuse = 0;
        if (was_killed) {
            rig_restart(&rig);
            rig_run(&rig);
        }
        assert_int_equal(view(&rig).last, 1767225600 + 3600);
        arcp__engine_stats stats;
        arcp__engine_get_stats(rig.engine, &stats);
        assert_int_equal(stats.jobs_running + stats.jobs_kept, 1);
        rig_stop(&rig);
    }
    assert_true(fuse > 4);
}

static void a_clock_that_is_set_back_repeats_no_due_time(void **state)
{
    const arcp__schedule_options options = hourly();
    engine_rig rig;
    (void)state;
    begin(&rig, &options);
    rig_clock(&rig, HOUR);
    finish(&rig);
    rig.now.wall_ns -= 2 * HOUR; /* 23:00 */
    rig_clock(&rig, 2 * HOUR);
    assert_int_equal(rig.agent_count, 1);
    rig_clock(&rig, HOUR); /* 02:00 */
    assert_int_equal(rig.agent_count, 2);
    rig_stop(&rig);
}

static void a_clock_that_was_wrong_by_more_than_three_hours_is_corrected(void **state)
{
    const arcp__schedule_options options = hourly();
    engine_rig rig;
    (void)state;
    begin(&rig, &options);
    rig_clock(&rig, 12 * HOUR);
    rig.now.wall_ns -= 4 * HOUR;
    rig_run(&rig);
    assert_int_equal(view(&rig).next, 1767225600 + 9 * 3600);
    rig_stop(&rig);
}

static void a_clock_that_is_set_forward_skips_by_catch_up(void **state)
{
    arcp__schedule_options options = hourly();
    engine_rig rig;
    (void)state;
    options.overlap = ARCP__OVERLAP_QUEUE;
    options.catch_up = ARCP__CATCH_UP_ALL;
    begin(&rig, &options);
    rig.now.wall_ns += 2 * HOUR + MINUTE;
    rig_run(&rig);
    assert_int_equal(rig.agent_count, 1);
    finish(&rig);
    assert_int_equal(rig.agent_count, 2);
    rig_stop(&rig);
}

static void a_submit_is_refused_by_the_same_policy_as_any_other(void **state)
{
    arcp__schedule_options options = hourly();
    engine_rig rig;
    (void)state;
    options.agent = ARCP_SPAN_LITERAL("unknown");
    begin(&rig, &options);
    rig_clock(&rig, HOUR);
    assert_int_equal(rig.agent_count, 0);
    assert_non_null(strstr(rig.last_audit, "\"decision\":\"denied\""));
    assert_non_null(strstr(rig.last_audit, "\"code\":\"AGENT_NOT_AVAILABLE\""));
    assert_int_equal(view(&rig).waiting, 0);
    rig_stop(&rig);
    options = hourly();
    options.request = ARCP_SPAN_LITERAL("{\"lease_request\":{\"fs.read\":[\"/data/**\"]}}");
    rig_start(&rig, NULL);
    rig.keep_audit = true;
    rig_policy(&rig, "{\"max_lease\":{\"net.fetch\":[\"https://*\"]}}");
    rig_schedules(&rig, &options, 1);
    rig_clock(&rig, HOUR);
    assert_int_equal(rig.agent_count, 1);
    char *start = rig_agent_take(&rig.agents[0]);
    assert_non_null(strstr(start, "\"fs.read\":[]"));
    arcp_free(start);
    rig_stop(&rig);
}

static void a_submit_that_a_limit_refuses_is_repeated(void **state)
{
    arcp_settings settings;
    arcp__schedule_options options[2] = {hourly(), hourly()};
    engine_rig rig;
    (void)state;
    arcp__settings_default(&settings);
    settings.limits_jobs_per_principal = 1;
    options[1].name = ARCP_SPAN_LITERAL("other");
    rig_start(&rig, &settings);
    rig_schedules(&rig, options, 2);
    rig_clock(&rig, HOUR + 10 * MINUTE);
    assert_int_equal(rig.agent_count, 1);
    finish(&rig);
    rig_clock(&rig, MINUTE);
    assert_int_equal(rig.agent_count, 2);
    rig_stop(&rig);
}

static void a_reload_keeps_what_was_decided(void **state)
{
    arcp__schedule_options options = hourly();
    engine_rig rig;
    (void)state;
    begin(&rig, &options);
    rig_clock(&rig, HOUR);
    finish(&rig);
    options.request = ARCP_SPAN_LITERAL("{\"input\":2}");
    rig_schedules(&rig, &options, 1);
    assert_int_equal(view(&rig).last, 1767225600 + 3600);
    assert_int_equal(rig.agent_count, 1);
    /* Other due times count from now on. */
    options.cron = ARCP_SPAN_LITERAL("*/10 * * * *");
    options.catch_up = ARCP__CATCH_UP_ALL;
    rig_clock(&rig, 5 * MINUTE);
    rig_schedules(&rig, &options, 1);
    assert_int_equal(rig.agent_count, 1);
    rig_clock(&rig, 5 * MINUTE);
    assert_int_equal(rig.agent_count, 2);
    rig_stop(&rig);
}

static void a_removed_schedule_is_due_no_more_and_its_job_goes_on(void **state)
{
    arcp__schedule_options options = hourly();
    engine_rig rig;
    arcp__schedule_view out;
    (void)state;
    begin(&rig, &options);
    rig_clock(&rig, HOUR);
    rig_schedules(&rig, &options, 0);
    assert_false(arcp__engine_next_schedule(rig.engine, NULL, &out));
    rig_clock(&rig, 3 * HOUR);
    assert_int_equal(rig.agent_count, 1);
    finish(&rig);
    assert_true(rig.agents[0].forgotten);
    /* Again, it begins anew. */
    rig_schedules(&rig, &options, 1);
    assert_int_equal(view(&rig).last, ARCP__DUE_NEVER);
    rig_stop(&rig);
}

static void the_job_of_a_schedule_may_delegate(void **state)
{
    arcp__schedule_options options = hourly();
    engine_rig rig;
    (void)state;
    options.request = ARCP_SPAN_LITERAL("{\"lease_request\":{\"agent.delegate\":[\"*\"]}}");
    begin(&rig, &options);
    rig_clock(&rig, HOUR);
    rig_agent_writes(
        &rig, &rig.agents[0],
        "{\"type\":\"job.event\",\"id\":\"1\",\"payload\":{\"kind\":\"delegate\",\"body\":"
        "{\"delegate_id\":\"d\",\"agent\":\"echo\",\"input\":1}}}");
    assert_int_equal(rig.agent_count, 2);
    finish(&rig);
    finish(&rig);
    rig_clock(&rig, HOUR);
    assert_int_equal(rig.agent_count, 3);
    rig_stop(&rig);
}

static void nothing_begins_while_the_runtime_stops(void **state)
{
    const arcp__schedule_options options = hourly();
    engine_rig rig;
    (void)state;
    begin(&rig, &options);
    rig_clock(&rig, HOUR - ARCP_NS_PER_SEC);
    arcp__engine_shutdown(rig.engine, rig.now, false);
    rig_clock(&rig, ARCP_NS_PER_SEC);
    assert_int_equal(rig.agent_count, 0);
    rig_restart(&rig);
    rig_run(&rig);
    assert_int_equal(rig.agent_count, 1);
    rig_stop(&rig);
}

static void schedules_are_listed_in_the_order_of_their_names(void **state)
{
    arcp__schedule_options options[3] = {hourly(), hourly(), hourly()};
    engine_rig rig;
    arcp__schedule_view out;
    (void)state;
    options[0].name = ARCP_SPAN_LITERAL("b");
    options[1].name = ARCP_SPAN_LITERAL("c");
    options[2].name = ARCP_SPAN_LITERAL("a");
    rig_start(&rig, NULL);
    rig_schedules(&rig, options, 3);
    const char *name = NULL;
    for (int i = 0; i < 3; i++) {
        assert_true(arcp__engine_next_schedule(rig.engine, name, &out));
        assert_int_equal(out.name[0], 'a' + i);
        name = out.name;
    }
    assert_false(arcp__engine_next_schedule(rig.engine, name, &out));
    rig_stop(&rig);
}

static void a_principal_lists_its_own_schedules(void **state)
{
    arcp__schedule_options options[3] = {hourly(), hourly(), hourly()};
    engine_rig rig;
    (void)state;
    options[0].name = ARCP_SPAN_LITERAL("b");
    options[1].name = ARCP_SPAN_LITERAL("a");
    options[2].principal = ARCP_SPAN_LITERAL("other");
    rig_start(&rig, NULL);
    rig_schedules(&rig, options, 3);
    rig_clock(&rig, HOUR);
    rig_client *client = rig_connect(&rig, "c");
    rig_send(&rig, client,
             "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\":{"
             "\"scheme\":\"bearer\",\"token\":\"t-ops\"},\"capabilities\":{\"encodings\":["
             "\"json\"],\"features\":[\"x-vendor.arcpd.view\"]}}}");
    arcp_free(rig_take(client));
    rig_send(&rig, client,
             "{\"arcp\":\"1.1\",\"id\":\"1\",\"type\":\"x-vendor.arcpd.schedules\","
             "\"payload\":{\"limit\":1}}");
    char *frame = rig_take(client);
    assert_non_null(strstr(frame, "\"type\":\"x-vendor.arcpd.schedules.answer\""));
    assert_non_null(strstr(frame, "[{\"name\":\"a\",\"agent\":\"echo\",\"principal\":\"ops\","
                                  "\"next_due\":\"2026-01-01T02:00:00.000Z\","
                                  "\"last_due\":\"2026-01-01T01:00:00.000Z\",\"last_job\":\"job_"));
    assert_non_null(strstr(frame, "\"next_cursor\":\"a\""));
    arcp_free(frame);
    rig_send(&rig, client,
             "{\"arcp\":\"1.1\",\"id\":\"2\",\"type\":\"x-vendor.arcpd.schedules\","
             "\"payload\":{\"cursor\":\"a\"}}");
    frame = rig_take(client);
    assert_non_null(strstr(frame, "[{\"name\":\"b\""));
    assert_null(strstr(frame, "other"));
    assert_non_null(strstr(frame, "\"next_cursor\":null"));
    arcp_free(frame);
    rig_send(&rig, client,
             "{\"arcp\":\"1.1\",\"id\":\"3\",\"type\":\"x-vendor.arcpd.schedules\","
             "\"payload\":{\"limit\":501}}");
    frame = rig_take(client);
    assert_non_null(strstr(frame, "payload.limit must be from 1 to 500"));
    arcp_free(frame);
    rig_stop(&rig);
}

static void a_schedule_that_is_never_due_is_refused(void **state)
{
    arcp__schedule_options options = hourly();
    engine_rig rig;
    arcp_error error = {0};
    (void)state;
    rig_start(&rig, NULL);
    options.cron = ARCP_SPAN_LITERAL("0 24 * * *");
    assert_int_equal(arcp__engine_set_schedules(rig.engine, rig.now, &options, 1, &error),
                     ARCP_E_USAGE);
    assert_string_equal(error.message, "schedule \"nightly\": cron: hour \"24\": must be 0 to 23");
    options.cron = ARCP_SPAN_LITERAL("");
    assert_int_equal(arcp__engine_set_schedules(rig.engine, rig.now, &options, 1, &error),
                     ARCP_E_USAGE);
    options = hourly();
    options.every_sec = 5;
    assert_int_equal(arcp__engine_set_schedules(rig.engine, rig.now, &options, 1, &error),
                     ARCP_E_USAGE);
    options.cron = ARCP_SPAN_LITERAL("@daily");
    options.every_sec = 0;
    options.tzif = ARCP_SPAN_LITERAL("TZ");
    assert_int_equal(arcp__engine_set_schedules(rig.engine, rig.now, &options, 1, &error),
                     ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "zone: not a time zone file"));
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_begins_when_it_is_due),
        cmocka_unit_test(a_due_time_during_a_job_follows_the_overlap),
        cmocka_unit_test(queued_due_times_get_their_jobs_one_after_the_other),
        cmocka_unit_test(missed_due_times_follow_catch_up),
        cmocka_unit_test(a_due_time_that_is_at_most_a_minute_old_was_not_missed),
        cmocka_unit_test(a_restart_does_not_repeat_a_due_time),
        cmocka_unit_test(a_kill_at_any_step_leaves_one_job),
        cmocka_unit_test(a_clock_that_is_set_back_repeats_no_due_time),
        cmocka_unit_test(a_clock_that_was_wrong_by_more_than_three_hours_is_corrected),
        cmocka_unit_test(a_clock_that_is_set_forward_skips_by_catch_up),
        cmocka_unit_test(a_submit_is_refused_by_the_same_policy_as_any_other),
        cmocka_unit_test(a_submit_that_a_limit_refuses_is_repeated),
        cmocka_unit_test(a_reload_keeps_what_was_decided),
        cmocka_unit_test(a_removed_schedule_is_due_no_more_and_its_job_goes_on),
        cmocka_unit_test(the_job_of_a_schedule_may_delegate),
        cmocka_unit_test(nothing_begins_while_the_runtime_stops),
        cmocka_unit_test(schedules_are_listed_in_the_order_of_their_names),
        cmocka_unit_test(a_principal_lists_its_own_schedules),
        cmocka_unit_test(a_schedule_that_is_never_due_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
