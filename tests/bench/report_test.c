/* `arcp bench`: percentiles, and the report in both forms. */
#include "support/check.h"

#include "bench/bench.h"

/* ---- percentiles ---- */

static const struct percentile_row {
    const char *name;
    size_t count; /* samples 1 to count, added from the largest down */
    unsigned per_mille;
    int64_t expected;
} percentile_rows[] = {
    {"none", 0, 500, 0},
    {"the median of one", 1, 500, 1},
    {"the maximum of one", 1, 1000, 1},
    {"the median of two is the lower", 2, 500, 1},
    {"the median of three", 3, 500, 2},
    {"90 % of ten", 10, 900, 9},
    {"99 % of ten", 10, 990, 10},
    {"99 % of a hundred", 100, 990, 99},
    {"the maximum of a hundred", 100, 1000, 100},
    {"99 % of a hundred and one", 101, 990, 100},
    {"the median of many", 5001, 500, 2501},
    {"99 % of many", 5001, 990, 4951},
};

static void percentiles_are_ranks_rounded_up(void **state)
{
    for (size_t row = 0; row < sizeof percentile_rows / sizeof percentile_rows[0]; row++) {
        arcp__samples samples = {0};
        print_message("  %s\n", percentile_rows[row].name);
        for (size_t value = percentile_rows[row].count; value > 0; value--) {
            assert_true(arcp__samples_add(&samples, (int64_t)value));
        }
        arcp__samples_sort(&samples);
        assert_int_equal(arcp__samples_at(&samples, percentile_rows[row].per_mille),
                         percentile_rows[row].expected);
        arcp__samples_fini(&samples);
    }
}

/* ---- the report ---- */

static const arcp__load_options options = {
    .agent = {"survey", 6}, .sessions = 4, .in_flight = 64, .idle = 1000};

static void make_result(arcp__load_result *out)
{
    *out = (arcp__load_result){.connect_ns = 12345678,
                               .measured_ns = INT64_C(2000000000),
                               .cpu_ns = 500000000,
                               .jobs = 2469,
                               .failed = 1,
                               .events = 1234567,
                               .result_bytes = 3,
                               .reconnects = 2,
                               .idle_lost = 5};
    arcp_buf_append_cstr(&out->runtime, "arcpd 9");
    for (int64_t ms = 1; ms <= 100; ms++) {
        assert_true(arcp__samples_add(&out->accepted, ms * 1000000));
        assert_true(arcp__samples_add(&out->ended, ms * 1500000));
    }
}

static void the_table_is_for_people(void **state)
{
    arcp__load_result result;
    arcp_buf text = arcp_buf_init();
    make_result(&result);
    arcp__bench_table(&options, &result, &text);
    check_span(arcp_buf_span(&text),
               "arcpd 9, agent survey: 4 sessions, 64 in flight, 1000 idle; 2.0 s\n"
               "\n"
               "  jobs                    2 469          1 235/s\n"
               "  events              1 234 567        617 284/s\n"
               "  result bytes                3              2/s\n"
               "\n"
               "  milliseconds           p50         p90         p99         max\n"
               "  accepted            50.000      90.000      99.000     100.000\n"
               "  result              75.000     135.000     148.500     150.000\n"
               "  ping                 0.000       0.000       0.000       0.000\n"
               "\n"
               "  failed 1, reconnects 2, idle sessions lost 5; this program used 25 % of a core");
    arcp_buf_fini(&text);
    arcp__load_result_fini(&result);
}

static void json_is_for_scripts(void **state)
{
    arcp__load_result result;
    arcp_buf text = arcp_buf_init();
    make_result(&result);
    result.was_interrupted = true;
    arcp__bench_json(&options, &result, &text);
    check_span(
        arcp_buf_span(&text),
        "{\"runtime\":\"arcpd 9\",\"agent\":\"survey\",\"sessions\":4,\"in_flight\":64,"
        "\"idle_sessions\":1000,\"busy_poll\":false,\"connect_ms\":12.346,\"seconds\":2.000,"
        "\"jobs\":2469,"
        "\"jobs_per_sec\":1234.500,\"events\":1234567,\"events_per_sec\":617283.500,"
        "\"result_bytes\":3,\"result_bytes_per_sec\":1.500,"
        "\"accepted_ms\":{\"samples\":100,\"p50\":50.000,\"p90\":90.000,\"p99\":99.000,"
        "\"max\":100.000},"
        "\"result_ms\":{\"samples\":100,\"p50\":75.000,\"p90\":135.000,\"p99\":148.500,"
        "\"max\":150.000},"
        "\"ping_ms\":{\"samples\":0,\"p50\":0.000,\"p90\":0.000,\"p99\":0.000,\"max\":0.000},"
        "\"failed\":1,\"reconnects\":2,\"idle_lost\":5,\"client_core_percent\":25.000,"
        "\"interrupted\":true}");
    arcp_buf_fini(&text);
    arcp__load_result_fini(&result);
}

/* These latencies must not be compared with others. */
static void a_report_mentions_busy_polling(void **state)
{
    arcp__load_result result;
    arcp__load_options polling = options;
    arcp_buf text = arcp_buf_init();
    polling.busy_poll = true;
    polling.idle = 0;
    make_result(&result);
    arcp__bench_table(&polling, &result, &text);
    arcp_buf_append_byte(&text, '\0');
    assert_non_null(
        strstr(text.data, "agent survey: 4 sessions, 64 in flight, busy-polling; 2.0 s\n"));
    arcp_buf_clear(&text);
    arcp__bench_json(&polling, &result, &text);
    arcp_buf_append_byte(&text, '\0');
    assert_non_null(strstr(text.data, "\"idle_sessions\":0,\"busy_poll\":true,\"connect_ms\""));
    arcp_buf_fini(&text);
    arcp__load_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_ranks_rounded_up),
        cmocka_unit_test(the_table_is_for_people),
        cmocka_unit_test(json_is_for_scripts),
        cmocka_unit_test(a_report_mentions_busy_polling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
