/* --lease, --grant, --budget, --expires-in, --expires-at; durations and times. */
#include "support/check.h"

#include "arcp/command.h"
#include "cli/cli.h"

#include <arcp/time.h>

#define NOW_NS (INT64_C(1767225600) * ARCP_NS_PER_SEC) /* 2026-01-01T00:00:00Z */

typedef struct request {
    const char *name;
    const char *lease, *expires_in, *expires_at; /* NULL: not given */
    const char *grants[3];
    const char *budgets[3];
    const char *reads[3]; /* fs.read, granted by another option */
    const char *want_lease, *want_constraints;
    const char *says; /* an error */
} request;

static const request requests[] = {
    {.name = "nothing", .want_lease = "", .want_constraints = ""},
    {.name = "a lease as it is",
     .lease = "{\"fs.read\": [\"/a\"]}",
     .want_lease = "{\"fs.read\":[\"/a\"]}",
     .want_constraints = ""},
    {.name = "grants of one capability together",
     .grants = {"fs.read=/a/**", "tool.call=search.*", "fs.read=/b"},
     .want_lease = "{\"fs.read\":[\"/a/**\",\"/b\"],\"tool.call\":[\"search.*\"]}",
     .want_constraints = ""},
    {.name = "a pattern with an equals sign",
     .grants = {"net.fetch=https://h/?a=b"},
     .want_lease = "{\"net.fetch\":[\"https://h/?a=b\"]}",
     .want_constraints = ""},
    {.name = "budgets",
     .budgets = {"USD:2.50", "credits:10"},
     .want_lease = "{\"cost.budget\":[\"USD:2.50\",\"credits:10\"]}",
     .want_constraints = ""},
    {.name = "grants added to a lease",
     .lease = "{\"fs.read\":[\"/a\"],\"model.use\":[]}",
     .grants = {"fs.read=/b", "model.use=gpt-*"},
     .budgets = {"USD:1"},
     .want_lease = "{\"fs.read\":[\"/a\",\"/b\"],\"model.use\":[\"gpt-*\"],"
                   "\"cost.budget\":[\"USD:1\"]}",
     .want_constraints = ""},
    {.name = "what other options grant, before the grants",
     .lease = "{\"fs.write\":[\"/w\"]}",
     .reads = {"/b", "/c/**"},
     .grants = {"fs.read=/d"},
     .want_lease = "{\"fs.write\":[\"/w\"],\"fs.read\":[\"/b\",\"/c/**\",\"/d\"]}",
     .want_constraints = ""},
    {.name = "what other options grant alone",
     .reads = {"/b"},
     .want_lease = "{\"fs.read\":[\"/b\"]}",
     .want_constraints = ""},
    {.name = "a vendor's capability",
     .grants = {"x-vendor.acme.mail=*@example.org"},
     .want_lease = "{\"x-vendor.acme.mail\":[\"*@example.org\"]}",
     .want_constraints = ""},
    {.name = "an expiry from now",
     .expires_in = "90s",
     .want_lease = "",
     .want_constraints = "{\"expires_at\":\"2026-01-01T00:01:30.000Z\"}"},
    {.name = "an expiry in milliseconds",
     .expires_in = "1500ms",
     .want_lease = "",
     .want_constraints = "{\"expires_at\":\"2026-01-01T00:00:01.500Z\"}"},
    {.name = "an expiry at a time",
     .expires_at = "2030-01-01T00:00:00Z",
     .want_lease = "",
     .want_constraints = "{\"expires_at\":\"2030-01-01T00:00:00Z\"}"},
    {.name = "both expiries",
     .expires_in = "90s",
     .expires_at = "2030-01-01T00:00:00Z",
     .says = "cannot be given together"},
    {.name = "an expiry that is not a duration",
     .expires_in = "soon",
     .says = "--expires-in: 'soon' is not a duration (expected 250ms, 90s, 10m, 2h or 1d)"},
    {.name = "an expiry that is not a valid time",
     .expires_at = "2030-13-01T00:00:00Z",
     .says = "--expires-at: \"2030-13-01T00:00:00Z\" is not an RFC 3339 time in UTC"},
    {.name = "an expiry with an offset",
     .expires_at = "2030-01-01T00:00:00+00:00",
     .says = "--expires-at: \"2030-01-01T00:00:00+00:00\" is not an RFC 3339 time in UTC"},
    {.name = "an expiry that does not look like a time",
     .expires_at = "tomorrow",
     .says =
         "--expires-at: 'tomorrow' is not a time (expected 2026-05-13T19:42:13Z, or a duration: "},
    {.name = "a grant without a pattern", .grants = {"fs.read"}, .says = "must be CAP=PATTERN"},
    {.name = "a grant without a capability", .grants = {"=x"}, .says = "must be CAP=PATTERN"},
    {.name = "an empty pattern", .grants = {"fs.read="}, .says = "fs.read"},
    {.name = "a capability that does not exist", .grants = {"fs.raed=/x"}, .says = "fs.raed"},
    {.name = "a budget that is no amount",
     .budgets = {"USD:lots"},
     .says = "--budget USD:lots has an invalid amount"},
    {.name = "a budget without a currency",
     .budgets = {"2.50"},
     .says = "--budget 2.50 is not of the form currency:amount"},
    {.name = "a lease that is no JSON", .lease = "{fs.read}", .says = "--lease"},
    {.name = "a lease that is no object", .lease = "[]", .says = "--lease must be"},
    {.name = "a lease with a string for a list",
     .lease = "{\"fs.read\":\"/a\"}",
     .says = "fs.read"},
    {.name = "a lease from a file that is not there",
     .lease = "@/nonexistent",
     .says = "/nonexistent"},
};

static void set(arcp__arguments *arguments, arcp__option option, const char **values, size_t count)
{
    arguments->values[option] = values;
    arguments->counts[option] = count;
}

static size_t count_of(const char *const texts[3])
{
    size_t count = 0;
    while (count < 3 && texts[count] != NULL) {
        count++;
    }
    return count;
}

static void leases_are_assembled_or_refused(void **state)
{
    for (size_t row = 0; row < sizeof requests / sizeof requests[0]; row++) {
        request r = requests[row];
        arcp__arguments arguments = {.command = ARCP__COMMAND_SUBMIT};
        arcp_buf lease = arcp_buf_init();
        arcp_buf constraints = arcp_buf_init();
        arcp_error err = {0};
        print_message("  %s\n", r.name);
        set(&arguments, ARCP__OPTION_LEASE, &r.lease, r.lease != NULL);
        set(&arguments, ARCP__OPTION_EXPIRES_IN, &r.expires_in, r.expires_in != NULL);
        set(&arguments, ARCP__OPTION_EXPIRES_AT, &r.expires_at, r.expires_at != NULL);
        set(&arguments, ARCP__OPTION_GRANT, r.grants, count_of(r.grants));
        set(&arguments, ARCP__OPTION_BUDGET, r.budgets, count_of(r.budgets));
        arcp__lease_grant reads[3];
        for (size_t i = 0; i < 3; i++) {
            reads[i] = (arcp__lease_grant){ARCP_SPAN_LITERAL("fs.read"), r.reads[i]};
        }
        const arcp__lease_source source = {
            .lease = ARCP__OPTION_LEASE,
            .grant = ARCP__OPTION_GRANT,
            .budget = ARCP__OPTION_BUDGET,
            .expires_in = ARCP__OPTION_EXPIRES_IN,
            .expires_at = ARCP__OPTION_EXPIRES_AT,
            .grants = reads,
            .grant_count = count_of(r.reads),
        };
        arcp_status status =
            arcp__lease_request(&arguments, &source, NOW_NS, &lease, &constraints, &err);
        if (r.says != NULL) {
            assert_int_equal(status, ARCP_E_USAGE);
            if (strstr(err.message, r.says) == NULL) {
                fail_msg("message: %s", err.message);
            }
        } else {
            check_ok(status, &err);
            check_span(arcp_buf_span(&lease), r.want_lease);
            check_span(arcp_buf_span(&constraints), r.want_constraints);
        }
        arcp_buf_fini(&lease);
        arcp_buf_fini(&constraints);
    }
}

static const struct duration_row {
    const char *text;
    int64_t ms; /* -1: refused */
} durations[] = {
    {"0", 0},
    {"90", 90000},
    {"90s", 90000},
    {"250ms", 250},
    {"9223372036854ms", INT64_C(9223372036854)},
    {"10m", 600000},
    {"2h", 7200000},
    {"1d", 86400000},
    {"106751d", INT64_C(9223286400000)},
    {"106752d", -1},
    {"", -1},
    {"s", -1},
    {"-5s", -1},
    {"1.5h", -1},
    {"10 m", -1},
    {"10 ms", -1},
    {"10us", -1},
    {"9223372036855ms", -1},
    {"99999999999999999999", -1},
};

static void durations_are_numbers_with_a_unit(void **state)
{
    for (size_t row = 0; row < sizeof durations / sizeof durations[0]; row++) {
        int64_t ns = 0;
        const arcp_status status = arcp__duration_parse(durations[row].text, &ns, NULL);
        print_message("  \"%s\"\n", durations[row].text);
        if (durations[row].ms < 0) {
            assert_int_equal(status, ARCP_E_USAGE);
        } else {
            assert_int_equal(status, ARCP_OK);
            assert_true(ns == durations[row].ms * ARCP_NS_PER_MS);
        }
    }
}

/* --max-runtime of `arcp submit` and `arcp run`, and --timeout of `arcp submit`. */
static void durations_of_jobs_are_whole_seconds_from_one(void **state)
{
    static const struct {
        const char *text;
        uint64_t seconds; /* 0: refused */
    } rows[] = {{"1", 1},      {"90s", 90},   {"10m", 600}, {"2h", 7200}, {"1d", 86400},
                {"1000ms", 1}, {"1500ms", 0}, {"999ms", 0}, {"0", 0},     {"0m", 0},
                {"-1", 0},     {"1.5", 0},    {"", 0},      {"x", 0},     {"106752d", 0}};
    static const arcp__option options[] = {ARCP__OPTION_MAX_RUNTIME, ARCP__OPTION_TIMEOUT,
                                           ARCP__OPTION_RUN_MAX_RUNTIME};
    for (size_t row = 0; row < 3 * sizeof rows / sizeof rows[0]; row++) {
        arcp__arguments arguments = {.command = ARCP__COMMAND_SUBMIT};
        arcp_error err = {0};
        uint64_t seconds = 0;
        const char *text = rows[row / 3].text;
        set(&arguments, options[row % 3], &text, 1);
        print_message("  '%s'\n", text);
        const arcp_status status =
            arcp__seconds_option(&arguments, options[row % 3], &seconds, &err);
        assert_int_equal(status, rows[row / 3].seconds == 0 ? ARCP_E_USAGE : ARCP_OK);
        assert_int_equal(seconds, rows[row / 3].seconds);
    }
}

static void since_accepts_times_and_durations(void **state)
{
    char room[ARCP__TIMESTAMP_SIZE];
    arcp_span text;
    assert_int_equal(arcp__instant_text("since", "1h", -1, NOW_NS, room, &text, NULL), ARCP_OK);
    check_span(text, "2025-12-31T23:00:00.000Z");
    assert_int_equal(
        arcp__instant_text("since", "2025-12-31T00:00:00Z", -1, NOW_NS, room, &text, NULL),
        ARCP_OK);
    check_span(text, "2025-12-31T00:00:00Z");
    assert_int_equal(arcp__instant_text("since", "106000d", -1, NOW_NS, room, &text, NULL),
                     ARCP_E_USAGE);
    assert_int_equal(arcp__instant_text("since", "yesterday", -1, NOW_NS, room, &text, NULL),
                     ARCP_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leases_are_assembled_or_refused),
        cmocka_unit_test(durations_are_numbers_with_a_unit),
        cmocka_unit_test(durations_of_jobs_are_whole_seconds_from_one),
        cmocka_unit_test(since_accepts_times_and_durations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
