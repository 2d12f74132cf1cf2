/* The exporter, loaded as arcpd loads it, against a collector that takes spans well, badly,
 * late or not at all. */
#include "tracing/span_exporter.h"

#include "support/check.h"
#include "tracing/collected.h"

#include <dlfcn.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define LONG  60000u /* longer than any test */

typedef struct fixture {
    stand_in *collector;
    char url[96];
    arcp__span_exporter_options options;
    arcp__span_exporter *exporter;
    void *module;
    unsigned sent;
    bool collector_runs;

    uv_mutex_t lock; /* for what follows */
    uv_cond_t changed;
    unsigned failures, recoveries;
    char why[160];
} fixture;

static void on_change(void *user, const char *why)
{
    fixture *f = user;
    uv_mutex_lock(&f->lock);
    f->failures += why != NULL ? 1 : 0;
    f->recoveries += why == NULL ? 1 : 0;
    if (why != NULL) {
        (void)snprintf(f->why, sizeof f->why, "%s", why);
    }
    uv_cond_signal(&f->changed);
    uv_mutex_unlock(&f->lock);
}

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->collector = calloc(1, sizeof *f->collector);
    assert_non_null(f->collector);
    *state = f;
    (void)uv_mutex_init(&f->lock);
    (void)uv_cond_init(&f->changed);
    stand_in_start_thread(f->collector);
    f->collector_runs = true;
    (void)snprintf(f->url, sizeof f->url, "http://127.0.0.1:%u/v1/traces", f->collector->port);
    f->options = (arcp__span_exporter_options){.url = f->url,
                                               .service_name = "test",
                                               .version = "1.2.3",
                                               .timeout_ms = LONG,
                                               .delay_ms = 0,
                                               .retry_ms = 1,
                                               .queue_bytes = 65536,
                                               .batch_bytes = 8192,
                                               .changed = on_change,
                                               .user = f};
    f->module = dlopen(ARCP_BINARY_DIR "/modules/arcp-tracing-otlp.so", RTLD_NOW | RTLD_LOCAL);
    if (f->module == NULL) {
        fail_msg("%s", dlerror());
    }
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    if (f->collector_runs) {
        stand_in_stop_thread(f->collector);
    }
    stand_in_forget(f->collector);
    free(f->collector);
    uv_cond_destroy(&f->changed);
    uv_mutex_destroy(&f->lock);
    (void)dlclose(f->module);
    free(f);
    return 0;
}

static arcp_status make(fixture *f, arcp_error *err)
{
    arcp__span_exporter_new_fn new_fn = NULL;
    void *symbol = dlsym(f->module, ARCP__SPAN_EXPORTER_SYMBOL);
    assert_non_null(symbol);
    memcpy(&new_fn, &symbol, sizeof new_fn);
    return new_fn(&f->options, &f->exporter, err);
}

static void start(fixture *f)
{
    arcp_error error = {0};
    check_ok(make(f, &error), &error);
}

/* A span whose id is its number. */
static bool add(fixture *f)
{
    char text[256];
    (void)snprintf(text, sizeof text,
                   "{\"traceId\":\"" TRACE "\",\"spanId\":\"%016x\",\"name\":\"s\",\"pad\":\"%0100d"
                   "\"}",
                   ++f->sent, 0);
    return f->exporter->ops->add(f->exporter, arcp_span_cstr(text));
}

static arcp__span_exporter_stats stop(fixture *f, uint64_t flush_ms)
{
    arcp__span_exporter_stats last;
    f->exporter->ops->close(f->exporter, flush_ms, &last);
    f->exporter = NULL;
    return last;
}

static void wait_for_failure(fixture *f)
{
    uv_mutex_lock(&f->lock);
    while (f->failures == 0) {
        uv_cond_wait(&f->changed, &f->lock);
    }
    uv_mutex_unlock(&f->lock);
}

static void wait_for_recovery(fixture *f)
{
    uv_mutex_lock(&f->lock);
    while (f->recoveries == 0) {
        uv_cond_wait(&f->changed, &f->lock);
    }
    uv_mutex_unlock(&f->lock);
}

/* All that were sent are there, once, in order. */
static void check_all_came(fixture *f)
{
    collected came;
    collected_read(f->collector, &came);
    assert_int_equal(came.count, f->sent);
    for (unsigned i = 0; i < came.count; i++) {
        char id[20];
        (void)snprintf(id, sizeof id, "%016x", i + 1);
        assert_string_equal(came.spans[i].id, id);
    }
    collected_free(&came);
}

static void spans_come_once_and_in_order_in_batches(void **state)
{
    fixture *f = *state;
    start(f);
    for (unsigned i = 0; i < 200; i++) {
        assert_true(add(f));
    }
    const arcp__span_exporter_stats last = stop(f, LONG);
    assert_int_equal(last.exported, 200);
    assert_int_equal(last.dropped, 0);
    assert_int_equal(last.queued_bytes, 0);
    check_all_came(f);
    assert_true(f->collector->trace_calls >= 200 * 180 / 8192); /* a batch has 8192 bytes */
    assert_true(f->collector->trace_calls < 200);
    assert_non_null(strstr(f->collector->traces, "\"service.name\",\"value\":{\"stringValue\":"
                                                 "\"test\"}"));
    assert_non_null(strstr(f->collector->head, "Content-Type: application/json"));
    assert_int_equal(f->failures, 0);
}

static void closing_sends_the_remaining_spans(void **state)
{
    fixture *f = *state;
    f->options.delay_ms = LONG;
    start(f);
    assert_true(add(f));
    assert_true(add(f));
    assert_int_equal(stop(f, LONG).exported, 2);
    check_all_came(f);
}

static void a_full_batch_is_sent_without_delay(void **state)
{
    fixture *f = *state;
    f->options.delay_ms = LONG;
    f->options.batch_bytes = 512;
    start(f);
    stand_in_set_mode(f->collector, STAND_IN_FAILS);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(add(f));
    }
    wait_for_failure(f); /* it was sent */
    (void)stop(f, LONG);
}

static void headers_have_secrets_from_the_environment(void **state)
{
    static const char *const headers[] = {"Authorization: Bearer {env:ARCP_TEST_COLLECTOR}"};
    fixture *f = *state;
    (void)setenv("ARCP_TEST_COLLECTOR", "hush", 1);
    f->options.headers = headers;
    f->options.header_count = 1;
    start(f);
    assert_true(add(f));
    assert_int_equal(stop(f, LONG).exported, 1);
    assert_non_null(strstr(f->collector->head, "Authorization: Bearer hush"));
}

static void invalid_headers_are_named(void **state)
{
    static const struct {
        const char *header, *message;
    } rows[] = {
        {"X: {job_id}", "tracing.otlp.headers: only {env:NAME} and {file:PATH} are allowed here"},
        {"X: {env:ARCP_TEST_NOT_THERE}",
         "tracing.otlp.headers: the environment variable ARCP_TEST_NOT_THERE is not set"},
        {"X: {nothing}", "tracing.otlp.headers: unknown variable {nothing}"},
        {"X: a\nY: b", "tracing.otlp.headers: a header must be one line"},
        {"X: {env:ARCP_TEST_LINES}", "tracing.otlp.headers: the value of {env:ARCP_TEST_LINES} may "
                                     "not contain control characters"},
    };
    fixture *f = *state;
    (void)setenv("ARCP_TEST_LINES", "a\r\nb", 1);
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        arcp_error error = {0};
        f->options.headers = &rows[row].header;
        f->options.header_count = 1;
        assert_int_equal(make(f, &error), ARCP_E_USAGE);
        assert_string_equal(error.message, rows[row].message);
    }
}

static void a_busy_collector_gets_the_same_batch_again(void **state)
{
    fixture *f = *state;
    start(f);
    stand_in_set_mode(f->collector, STAND_IN_IS_BUSY);
    for (unsigned i = 0; i < 10; i++) {
        assert_true(add(f));
    }
    wait_for_failure(f);
    assert_string_equal(f->why, "the collector answered 503");
    stand_in_set_mode(f->collector, STAND_IN_WELL);
    wait_for_recovery(f);
    const arcp__span_exporter_stats last = stop(f, LONG);
    assert_int_equal(last.exported, 10);
    assert_int_equal(last.dropped, 0);
    assert_false(last.is_failing);
    check_all_came(f);
}

static void a_pause_that_the_collector_asks_for_is_kept(void **state)
{
    fixture *f = *state;
    arcp__span_exporter_stats stats;
    f->collector->retry_after_sec = 200;
    start(f);
    stand_in_set_mode(f->collector, STAND_IN_IS_BUSY);
    assert_true(add(f));
    wait_for_failure(f);
    stand_in_set_mode(f->collector, STAND_IN_WELL);
    /* By itself it would be there a millisecond later; at the end it does not wait 200 s. */
    f->exporter->ops->get_stats(f->exporter, &stats);
    assert_int_equal(stats.exported, 0);
    assert_true(stats.is_failing);
    stand_in_set_mode(f->collector, STAND_IN_IS_BUSY);
    const arcp__span_exporter_stats last = stop(f, 10000);
    assert_int_equal(last.exported, 0);
    assert_int_equal(last.dropped, 1);
    assert_int_equal(f->collector->requests, 2); /* the first, and one at the end */
}

static void refused_spans_are_dropped_and_not_sent_again(void **state)
{
    static const stand_in_mode modes[] = {STAND_IN_FAILS, STAND_IN_REFUSES};
    static const char *const reasons[] = {"the collector answered 500",
                                          "the collector answered 401"};
    fixture *f = *state;
    for (size_t row = 0; row < 2; row++) {
        f->collector->requests = 0;
        f->failures = 0;
        stand_in_set_mode(f->collector, modes[row]);
        start(f);
        assert_true(add(f));
        wait_for_failure(f);
        assert_string_equal(f->why, reasons[row]);
        const arcp__span_exporter_stats last = stop(f, LONG);
        assert_int_equal(last.exported, 0);
        assert_int_equal(last.dropped, 1);
        assert_int_equal(f->collector->requests, 1);
    }
}

static void spans_that_are_refused_out_of_a_batch_are_counted(void **state)
{
    fixture *f = *state;
    f->options.delay_ms = LONG;
    stand_in_set_mode(f->collector, STAND_IN_PARTLY);
    start(f);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(add(f));
    }
    const arcp__span_exporter_stats last = stop(f, LONG);
    assert_int_equal(last.exported, 2);
    assert_int_equal(last.dropped, 1);
    assert_string_equal(f->why, "the collector refused some spans");
}

static void a_collector_that_stalls_blocks_no_job_and_the_queue_is_bounded(void **state)
{
    fixture *f = *state;
    arcp__span_exporter_stats stats;
    unsigned refused = 0;
    stand_in_set_mode(f->collector, STAND_IN_STALLS);
    start(f);
    for (unsigned i = 0; i < 5000; i++) {
        refused += add(f) ? 0 : 1;
        f->exporter->ops->get_stats(f->exporter, &stats);
        assert_true(stats.queued_bytes <= f->options.queue_bytes);
    }
    assert_true(refused > 4000);
    assert_int_equal(stats.dropped, refused);
    const arcp__span_exporter_stats last = stop(f, 1); /* the deadline ends it, not the collector */
    assert_int_equal(last.exported, 0);
    assert_int_equal(last.dropped, 5000);
    assert_int_equal(last.queued_bytes, 0);
}

static void a_collector_that_is_late_gets_everything(void **state)
{
    fixture *f = *state;
    f->collector->late_ms = 20;
    stand_in_set_mode(f->collector, STAND_IN_IS_LATE);
    start(f);
    for (unsigned i = 0; i < 50; i++) {
        assert_true(add(f));
    }
    assert_int_equal(stop(f, LONG).exported, 50);
    check_all_came(f);
}

static void a_response_that_does_not_arrive_in_time_is_abandoned(void **state)
{
    fixture *f = *state;
    f->options.timeout_ms = 50;
    stand_in_set_mode(f->collector, STAND_IN_STALLS);
    start(f);
    assert_true(add(f));
    wait_for_failure(f);
    assert_string_equal(f->why, "the collector did not respond in time");
    stand_in_set_mode(f->collector, STAND_IN_WELL);
    assert_int_equal(stop(f, LONG).exported, 1);
}

static void a_collector_that_is_not_there_costs_its_spans_only(void **state)
{
    fixture *f = *state;
    f->options.retry_ms = 30000;
    stand_in_stop_thread(f->collector);
    f->collector_runs = false;
    start(f);
    assert_true(add(f));
    wait_for_failure(f);
    assert_string_equal(f->why, "the collector cannot be reached");
    /* The next pause would end after the deadline: it is not waited for. */
    const arcp__span_exporter_stats last = stop(f, 10000);
    assert_int_equal(last.dropped, 1);
    assert_int_equal(last.exported, 0);
}

static void an_exporter_without_spans_sends_nothing(void **state)
{
    fixture *f = *state;
    start(f);
    const arcp__span_exporter_stats last = stop(f, LONG);
    assert_int_equal(last.exported + last.dropped, 0);
    assert_int_equal(f->collector->requests, 0);
}

#define t(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        t(spans_come_once_and_in_order_in_batches),
        t(closing_sends_the_remaining_spans),
        t(a_full_batch_is_sent_without_delay),
        t(headers_have_secrets_from_the_environment),
        t(invalid_headers_are_named),
        t(a_busy_collector_gets_the_same_batch_again),
        t(a_pause_that_the_collector_asks_for_is_kept),
        t(refused_spans_are_dropped_and_not_sent_again),
        t(spans_that_are_refused_out_of_a_batch_are_counted),
        t(a_collector_that_stalls_blocks_no_job_and_the_queue_is_bounded),
        t(a_collector_that_is_late_gets_everything),
        t(a_response_that_does_not_arrive_in_time_is_abandoned),
        t(a_collector_that_is_not_there_costs_its_spans_only),
        t(an_exporter_without_spans_sends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
