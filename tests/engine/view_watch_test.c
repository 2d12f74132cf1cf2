/* Watching jobs and figures: what the stories cannot play in a few lines (240 to 242). */
#include "base/alloc.h"
#include "engine/frames.h"
#include "engine/state.h"
#include "story/engine_rig.h"
#include "support/check.h"

#define FEATURES "\"list_jobs\",\"progress\",\"x-vendor.arcpd.view\",\"x-vendor.arcpd.operate\""
#define WATCH_ALL                                                                                  \
    "{\"arcp\":\"1.1\",\"id\":\"w\",\"type\":\"x-vendor.arcpd.watch\",\"payload\":{\"what\":["     \
    "\"jobs\"],\"principal\":\"*\"}}"
#define WATCH_OWN                                                                                  \
    "{\"arcp\":\"1.1\",\"id\":\"w\",\"type\":\"x-vendor.arcpd.watch\",\"payload\":{\"what\":["     \
    "\"jobs\"]}}"
#define SUBMIT                                                                                     \
    "{\"arcp\":\"1.1\",\"id\":\"s%u\",\"type\":\"job.submit\",\"payload\":{\"agent\":\"work\"}}"
#define PROGRESS                                                                                   \
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"progress\",\"body\":{\"current\":%u}}}"
#define LOG_LINE                                                                                   \
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":\"info\","          \
    "\"message\":\"x\"}}}"
#define COST                                                                                       \
    "{\"type\":\"job.event\",\"payload\":{\"kind\":\"metric\",\"body\":{\"name\":\"cost.x\","      \
    "\"value\":1,"                                                                                 \
    "\"unit\":\"a currency with a long name %u\"}}}"
#define QUARTER_NS (250 * ARCP_NS_PER_MS)

static engine_rig rig;
static unsigned next_id;

static rig_client *begin(const char *name, const char *token)
{
    char hello[1024];
    (void)snprintf(
        hello, sizeof hello,
        "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"client\":"
        "{\"name\":\"test\"},\"auth\":{\"scheme\":\"bearer\",\"token\":\"%s\"},"
        "\"capabilities\":{\"features\":[" FEATURES "]}}}",
        token);
    rig_client *client = rig_connect(&rig, name);
    rig_send(&rig, client, hello);
    arcp__free(rig_take(client));
    return client;
}

static void setup(uint64_t frame_bytes)
{
    arcp_settings settings;
    arcp__settings_default(&settings);
    settings.limits_jobs_per_session = 1000;
    settings.limits_jobs_per_principal = 1000;
    settings.limits_submit_burst = 1000;
    settings.limits_frame_bytes = frame_bytes;
    rig_start(&rig, &settings);
}

static void submit(rig_client *client, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char frame[256];
        (void)snprintf(frame, sizeof frame, SUBMIT, next_id++);
        rig_send(&rig, client, frame);
    }
}

static void clear(rig_client *client)
{
    for (char *frame = rig_take(client); frame != NULL; frame = rig_take(client)) {
        arcp__free(frame);
    }
}

static size_t count(const char *text, const char *part)
{
    size_t found = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        found++;
    }
    return found;
}

static void expect_push(rig_client *client, size_t rows, bool reload)
{
    char *frame = rig_take(client);
    assert_non_null(frame);
    assert_non_null(strstr(frame, "\"type\":\"x-vendor.arcpd.changed\""));
    assert_int_equal(count(frame, "\"principal\":"), rows);
    assert_int_equal(strstr(frame, "\"reload\":true") != NULL, reload);
    arcp__free(frame);
    assert_null(rig_take(client));
}

static void two_hundred_jobs_are_rows_and_of_more_the_client_asks_again(void **state)
{
    setup(4194304);
    rig_client *viewer = begin("v", "v-vera");
    rig_client *client = begin("a", "t-alice");
    rig_send(&rig, viewer, WATCH_ALL);
    clear(viewer);
    submit(client, 200);
    rig_clock(&rig, QUARTER_NS);
    clear(viewer); /* it may have come in parts */
    for (unsigned i = 0; i < 200; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, PROGRESS, i);
        rig_agent_writes(&rig, &rig.agents[i], line);
    }
    rig_clock(&rig, QUARTER_NS);
    expect_push(viewer, 200, false);
    submit(client, 1);
    rig_clock(&rig, QUARTER_NS);
    clear(viewer);
    for (unsigned i = 0; i < 201; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, PROGRESS, i);
        rig_agent_writes(&rig, &rig.agents[i], line);
    }
    rig_clock(&rig, QUARTER_NS);
    expect_push(viewer, 200, true);
    rig_stop(&rig);
}

static void a_push_ends_at_the_limit_of_a_frame(void **state)
{
    setup(131072);
    rig_client *viewer = begin("v", "v-vera");
    rig_client *client = begin("a", "t-alice");
    submit(client, 200);
    rig_send(&rig, viewer, WATCH_ALL);
    clear(viewer);
    for (unsigned i = 0; i < 200; i++) {
        for (unsigned currency = 0; currency < 8; currency++) {
            char line[256];
            (void)snprintf(line, sizeof line, COST, currency);
            rig_agent_writes(&rig, &rig.agents[i], line);
        }
    }
    rig_clock(&rig, QUARTER_NS);
    char *frame = rig_take(viewer);
    assert_non_null(frame);
    assert_non_null(strstr(frame, "\"reload\":true"));
    assert_in_range(count(frame, "\"principal\":"), 1, 199);
    arcp__free(frame);
    rig_stop(&rig);
}

static void a_client_that_does_not_read_loses_its_watch(void **state)
{
    setup(4194304);
    rig_client *viewer = begin("v", "v-vera");
    rig_client *client = begin("a", "t-alice");
    submit(client, 150);
    clear(client);
    rig_send(&rig, viewer, WATCH_ALL);
    clear(viewer);
    viewer->slow = true;
    for (unsigned round = 0; round < 30; round++) {
        for (unsigned i = 0; i < 150; i++) {
            char line[256];
            (void)snprintf(line, sizeof line, PROGRESS, round);
            rig_agent_writes(&rig, &rig.agents[i], line);
        }
        rig_clock(&rig, QUARTER_NS);
        clear(client);
    }
    size_t bytes = 0;
    bool has_ended = false;
    for (char *frame = rig_read(&rig, viewer); frame != NULL; frame = rig_read(&rig, viewer)) {
        assert_false(has_ended); /* nothing follows */
        has_ended = strstr(frame, "\"type\":\"x-vendor.arcpd.lagging\"") != NULL;
        bytes += strlen(frame);
        arcp__free(frame);
    }
    assert_true(has_ended);
    assert_in_range(bytes, 1048576, 1048576 + 262144);
    /* It may watch again. */
    viewer->slow = false;
    rig_send(&rig, viewer, WATCH_ALL);
    clear(viewer);
    rig_agent_writes(&rig, &rig.agents[0], "{\"type\":\"job.result\",\"payload\":{\"result\":1}}");
    rig_clock(&rig, QUARTER_NS);
    expect_push(viewer, 1, false);
    rig_stop(&rig);
}

/* What the engine would do next is what it would do without watchers. */
static void watchers_cost_nothing_while_nothing_changes(void **state)
{
    setup(4194304);
    rig_client *client = begin("a", "t-alice");
    rig_client *other = begin("b", "t-bob");
    submit(other, 1);
    rig_agent_writes(&rig, &rig.agents[0], LOG_LINE);
    assert_int_equal(rig.engine->jobs.marks.number, 0); /* nothing is noted without watchers */
    const int64_t deadline_ns = arcp__engine_deadline(rig.engine);
    rig_send(&rig, client, WATCH_OWN);
    clear(client);
    assert_int_equal(arcp__engine_deadline(rig.engine), deadline_ns);
    submit(other, 2); /* of another principal */
    rig_agent_writes(&rig, &rig.agents[0], LOG_LINE);
    assert_int_equal(rig.engine->jobs.marks.number, 0);
    assert_int_equal(arcp__engine_deadline(rig.engine), deadline_ns);
    submit(client, 1);
    rig_clock(&rig, QUARTER_NS);
    clear(client);
    const uint64_t marks = rig.engine->jobs.marks.number;
    assert_int_not_equal(marks, 0);
    for (unsigned i = 0; i < 100; i++) {
        rig_agent_writes(&rig, rig_agent_last(&rig), LOG_LINE); /* changes no row */
    }
    assert_int_equal(rig.engine->jobs.marks.number, marks);
    assert_int_equal(arcp__engine_deadline(rig.engine), deadline_ns);
    rig_drop(&rig, client);
    assert_int_equal(rig.engine->jobs.marks.watchers, 0);
    rig_stop(&rig);
}

/* ---- figures ---- */

static char *figures(rig_client *viewer, const char *range)
{
    char frame[256];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"f\",\"type\":\"x-vendor.arcpd.figures\","
                   "\"payload\":{\"range\":\"%s\"}}",
                   range);
    clear(viewer);
    rig_send(&rig, viewer, frame);
    char *answer = rig_take(viewer);
    assert_non_null(answer);
    return answer;
}

static unsigned long number_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    assert_non_null(at);
    return strtoul(at + strlen(name), NULL, 10);
}

/* The sum of a series. */
static unsigned long sum_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    unsigned long sum = 0;
    assert_non_null(at);
    at += strlen(name);
    assert_int_equal(*at, '[');
    while (*at != ']') {
        char *end = NULL;
        sum += strtoul(at + 1, &end, 10);
        at = end;
    }
    return sum;
}

static void figures_are_of_the_last_hour_and_day_whatever_was_before(void **state)
{
    setup(4194304);
    rig_client *viewer = begin("v", "v-vera");
    rig_client *client = begin("a", "t-alice");
    submit(client, 3);
    rig_clock(&rig, 3599 * ARCP_NS_PER_SEC);
    char *text = figures(viewer, "1h");
    assert_int_equal(number_of(text, "\"points\":"), 3599);
    assert_int_equal(sum_of(text, "\"begun\":"), 3);
    assert_int_equal(sum_of(text, "\"running\":"), 3 * 3599ul);
    arcp__free(text);
    rig_clock(&rig, ARCP_NS_PER_SEC);
    text = figures(viewer, "1h");
    assert_int_equal(number_of(text, "\"points\":"), 3600);
    assert_int_equal(sum_of(text, "\"begun\":"), 3);
    arcp__free(text);
    rig_clock(&rig, ARCP_NS_PER_SEC); /* the first second is an hour ago */
    text = figures(viewer, "1h");
    assert_int_equal(number_of(text, "\"points\":"), 3600);
    assert_int_equal(sum_of(text, "\"begun\":"), 0);
    assert_int_equal(sum_of(text, "\"running\":"), 3 * 3600ul);
    arcp__free(text);
    text = figures(viewer, "24h");
    assert_int_equal(number_of(text, "\"points\":"), 60);
    assert_int_equal(sum_of(text, "\"begun\":"), 3);
    arcp__free(text);
    for (unsigned hour = 0; hour < 30; hour++) { /* the engine may sleep for hours */
        rig_clock(&rig, 3600 * ARCP_NS_PER_SEC);
    }
    viewer = begin("w", "v-vera");
    text = figures(viewer, "24h");
    assert_int_equal(number_of(text, "\"points\":"), 1440);
    assert_int_equal(sum_of(text, "\"begun\":"), 0);
    arcp__free(text);
    rig_stop(&rig);
}

static void figures_that_do_not_fit_have_fewer_points_with_the_same_sums(void **state)
{
    setup(131072);
    rig_client *viewer = begin("v", "v-vera");
    rig_client *client = begin("a", "t-alice");
    for (unsigned i = 0; i < 60; i++) {
        submit(client, 3);
        for (unsigned currency = 0; currency < 8; currency++) {
            char line[256];
            (void)snprintf(line, sizeof line, COST, currency);
            rig_agent_writes(&rig, &rig.agents[0], line);
        }
        rig_clock(&rig, 60 * ARCP_NS_PER_SEC);
    }
    char *text = figures(viewer, "1h");
    const unsigned long step = number_of(text, "\"step_sec\":");
    assert_in_range(step, 2, 64);
    assert_int_equal(number_of(text, "\"points\":"), 3600 / step);
    assert_true(strlen(text) <= 131072);
    assert_int_equal(sum_of(text, "\"begun\":"), 180);
    arcp__free(text);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_hundred_jobs_are_rows_and_of_more_the_client_asks_again),
        cmocka_unit_test(a_push_ends_at_the_limit_of_a_frame),
        cmocka_unit_test(a_client_that_does_not_read_loses_its_watch),
        cmocka_unit_test(watchers_cost_nothing_while_nothing_changes),
        cmocka_unit_test(figures_are_of_the_last_hour_and_day_whatever_was_before),
        cmocka_unit_test(figures_that_do_not_fit_have_fewer_points_with_the_same_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
