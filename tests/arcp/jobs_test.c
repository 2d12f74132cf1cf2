/* `arcp jobs`, and the words that name a job, with a real arcpd. */
#include "arcp/fixture.h"

#include <ctype.h>
#include <signal.h>

#include "arcp/editing_proxy.h"
#include "arcp/jobs.h"
#include "arcp/tty_screen.h"

#define MANY    22
#define ID_SIZE 30

/* The jobs of all rows: MANY of hello, then one of events, of parent, and its child. */
static char ids[MANY + 3][ID_SIZE + 1];
enum { SPENDER = MANY, PARENT, CHILD, COUNT };

static void read_ids(const process *p, size_t count)
{
    arcp_span left = arcp_buf_span(&p->out);
    for (size_t i = 0; i < count; i++) {
        assert_true(left.size > ID_SIZE && left.data[ID_SIZE] == '\n');
        memcpy(ids[i], left.data, ID_SIZE);
        left = arcp_span_from(left, ID_SIZE + 1);
    }
    assert_int_equal(left.size, 0);
}

static int begin(void **state)
{
    process p;
    if (fixture_begin_bare(state) != 0) {
        return -1;
    }
    fixture_run(*state, &p, 1, WORDS("watch", "@last"));
    check_errors(&p, "error: JOB_NOT_FOUND: there is no job\n");
    process_fini(&p);
    for (size_t i = 0; i < MANY; i++) {
        fixture_run(*state, &p, 0, WORDS("submit", "hello", "--quiet"));
        process_fini(&p);
    }
    fixture_run(*state, &p, 0, WORDS("submit", "events", "--quiet", "--budget", "USD:1"));
    process_fini(&p);
    fixture_run(*state, &p, 0,
                WORDS("submit", "parent", "--quiet", "--grant", "agent.delegate=hello"));
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("jobs", "--all", "-o", "name"));
    read_ids(&p, COUNT);
    process_fini(&p);
    return 0;
}

/* Fails unless the output is these jobs, an id a line. */
static void check_ids(const process *p, size_t first, size_t end)
{
    arcp_buf want = arcp_buf_init();
    for (size_t i = first; i < end; i++) {
        arcp_buf_append_format(&want, "%s\n", ids[i]);
    }
    check_span(arcp_buf_span(&p->out), arcp_buf_cstr(&want));
    arcp_buf_fini(&want);
}

/* ---- which jobs ---- */

static const struct {
    const char *name;
    const char *words[6];
    size_t first, end;
    const char *err;
} selections[] = {
    {"the newest 20, the newest one at the bottom",
     {NULL},
     COUNT - 20,
     COUNT,
     "5 older jobs are not shown: --limit N shows more, --all all\n"},
    {"one",
     {"--limit", "1"},
     CHILD,
     COUNT,
     "24 older jobs are not shown: --limit N shows more, --all all\n"},
    {"all but one",
     {"--limit", "24"},
     1,
     COUNT,
     "1 older job is not shown: --limit N shows more, --all all\n"},
    {"as many as there are", {"--limit", "25"}, 0, COUNT, ""},
    {"the oldest",
     {"--order", "oldest", "--limit", "2"},
     0,
     2,
     "23 newer jobs are not shown: --limit N shows more, --all all\n"},
    {"quietly", {"--quiet"}, COUNT - 20, COUNT, ""},
    {"of an agent", {"--agent", "events"}, SPENDER, PARENT, ""},
    {"of a parent", {"--parent", "PARENT"}, CHILD, COUNT, ""},
    {"with a text, whatever its case", {"--text", "PAREN"}, PARENT, CHILD, ""},
    {"with a text of an id", {"--text", "SPENDER"}, SPENDER, PARENT, ""},
    {"of a status", {"--status", "error"}, 0, 0, "no jobs\n"},
    {"until an hour ago", {"--until", "1h"}, 0, 0, "no jobs\n"},
    {"since an hour ago", {"--since", "1h", "--limit", "1", "--quiet"}, CHILD, COUNT, ""},
    {"within a time", {"--since", "2h", "--until", "1h"}, 0, 0, "no jobs\n"},
};

static const char *word_of(const char *word)
{
    return strcmp(word, "PARENT") == 0    ? ids[PARENT]
           : strcmp(word, "SPENDER") == 0 ? ids[SPENDER] + ID_SIZE - 12
                                          : word;
}

static void check_selections(fixture *f, const char *url)
{
    for (size_t row = 0; row < sizeof selections / sizeof *selections; row++) {
        const char *words[12] = {"jobs", "-o", "name", "--url", url};
        process p;
        print_message("  %s\n", selections[row].name);
        for (size_t i = 0; i < 6 && selections[row].words[i] != NULL; i++) {
            words[5 + i] = word_of(selections[row].words[i]);
        }
        fixture_run(f, &p, 0, words);
        check_ids(&p, selections[row].first, selections[row].end);
        check_errors(&p, selections[row].err);
        process_fini(&p);
    }
}

static void the_jobs_that_are_asked_for_are_listed(void **state)
{
    fixture *f = *state;
    check_selections(f, f->url);
}

/* A proxy in front of the runtime, which then does not offer the view. */
static void hide_view(const fixture *f, editing_proxy *proxy)
{
    editing_proxy_start(proxy, f->port, "\"x-vendor.arcpd.view\"", "\"x-vendor.other.view\"");
}

static void a_runtime_without_the_view_lists_the_same_jobs(void **state)
{
    editing_proxy proxy;
    hide_view(*state, &proxy);
    check_selections(*state, proxy.tcp.url);
    editing_proxy_stop(&proxy);
}

static void what_a_runtime_without_the_view_cannot_do_is_refused(void **state)
{
    static const struct {
        const char *words[4];
        const char *err;
    } rows[] = {
        {{"jobs", "--follow"}, "this runtime does not report what its jobs do"},
        {{"events"}, "this runtime does not report what its jobs do"},
        {{"top"}, "needs the feature x-vendor.arcpd.view"},
        {{"jobs", "--all-principals"}, "this runtime does not select jobs by principal or code"},
        {{"jobs", "--code", "TIMEOUT"}, "this runtime does not select jobs by principal or code"},
        {{"logs", "@last", "--stderr"}, "needs the feature x-vendor.arcpd.view"},
    };
    editing_proxy proxy;
    hide_view(*state, &proxy);
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const char *words[8] = {NULL};
        process p;
        size_t count = 0;
        while (count < 4 && rows[row].words[count] != NULL) {
            words[count] = rows[row].words[count];
            count++;
        }
        words[count] = "--url";
        words[count + 1] = proxy.tcp.url;
        fixture_run(*state, &p, 1, words);
        check_output(&p, "");
        if (memmem(p.err.data, p.err.size, rows[row].err, strlen(rows[row].err)) == NULL) {
            fail_msg("%s", p.err.data);
        }
        process_fini(&p);
    }
    editing_proxy_stop(&proxy);
}

static void only_a_role_sees_jobs_of_other_principals(void **state)
{
    process p;
    fixture_run(*state, &p, 4, WORDS("jobs", "--all-principals"));
    check_errors(&p, "error: PERMISSION_DENIED: payload.filter.principal needs the role viewer or "
                     "operator\n");
    process_fini(&p);
    fixture_run(*state, &p, 4, WORDS("jobs", "--follow", "--principal", "x*"));
    check_errors(&p,
                 "error: PERMISSION_DENIED: payload.principal needs the role viewer or operator\n");
    process_fini(&p);
}

/* ---- jobs that change ---- */

static void what_changes_is_printed_until_standard_output_is_closed(void **state)
{
    process follower, p;
    fixture_start(*state, &follower,
                  WORDS("jobs", "--follow", "--limit", "1", "--quiet", "--json"));
    process_await(&follower, false, "job_id");
    fixture_run(*state, &p, 0, WORDS("submit", "hello", "--quiet"));
    process_fini(&p);
    process_await(&follower, false, "\"agent\":\"hello@1.0.0\",\"status\":\"success\"");
    process_signal(&follower, SIGTERM);
    (void)process_finish(&follower);
    process_fini(&follower);
}

static void changes_are_filtered_like_the_listing(void **state)
{
    process follower, p;
    fixture_start(*state, &follower,
                  WORDS("jobs", "-f", "--agent", "fail", "--status", "error", "-o", "name"));
    process_await(&follower, true, "no jobs");
    fixture_run(*state, &p, 0, WORDS("submit", "hello", "--quiet"));
    process_fini(&p);
    fixture_run(*state, &p, 1, WORDS("submit", "fail", "--quiet"));
    process_fini(&p);
    process_await(&follower, false, "job_");
    process_signal(&follower, SIGTERM);
    (void)process_finish(&follower);
    check_output(&follower, "job_...\n");
    process_fini(&follower);
}

/* ---- refusals ---- */

static const struct {
    const char *words[6];
    const char *err;
} refusals[] = {
    {{"--limit", "0"}, "--limit: '0' is not a number from 1"},
    {{"--limit", "-1"}, "--limit: '-1' is not a number from 1"},
    {{"--limit", "2", "--all"}, "--limit and --all cannot be given together"},
    {{"--order", "up"}, "--order: 'up' is not one of newest, oldest"},
    {{"--until", "soon"},
     "--until: 'soon' is not a time (expected 2026-05-13T19:42:13Z, or a duration: 250ms, 90s, "
     "10m, "
     "2h or 1d)"},
    {{"-o", "xml"}, "--output: 'xml' is not one of table, json, yaml, name"},
    {{"-o"}, "--output needs a value: FORMAT"},
    {{"-f", "--order", "oldest"}, "--follow and --order oldest cannot be given together"},
    {{"--principal", "a", "--all-principals"},
     "--principal and --all-principals cannot be given together"},
    {{"--json", "-o", "yaml"}, "--json and --output yaml cannot be given together"},
};

static void what_it_cannot_do_is_refused(void **state)
{
    for (size_t row = 0; row < sizeof refusals / sizeof *refusals; row++) {
        const char *words[8] = {"jobs"};
        char want[256];
        process p;
        for (size_t i = 0; i < 6 && refusals[row].words[i] != NULL; i++) {
            words[1 + i] = refusals[row].words[i];
        }
        fixture_run(*state, &p, 2, words);
        (void)snprintf(want, sizeof want, "arcp jobs: %s\ntry: arcp jobs --help\n",
                       refusals[row].err);
        check_output(&p, "");
        check_errors(&p, want);
        process_fini(&p);
    }
}

/* ---- how they are printed ---- */

/* Replaces seconds in the columns of ages, and of times that jobs took. */
static void mask_ages(arcp_buf *text)
{
    for (size_t i = 1; i + 4 <= text->size; i++) {
        if (text->data[i - 1] == ' ' && text->data[i + 1] == '.' && text->data[i + 3] == 's') {
            memcpy(text->data + i, "TOOK", 4);
        }
    }
    for (size_t i = 1; i + 4 <= text->size; i++) {
        size_t end = i;
        while (end < i + 3 && isdigit((unsigned char)text->data[end])) {
            end++;
        }
        if (text->data[i - 1] == ' ' && end > i && text->data[end] == 's') {
            memcpy(text->data + i, "AGE ", 4);
        }
    }
}

/* P and C for the ids of parent and child without their first `cut` bytes, T for a time. */
static void mask_row(arcp_span text, size_t cut, arcp_buf *out)
{
    const char *const names[] = {ids[PARENT] + cut, ids[CHILD] + cut};
    for (size_t i = 0; i < text.size;) {
        const arcp_span left = arcp_span_from(text, i);
        size_t size = 1;
        char mask = left.data[0];
        for (size_t j = 0; j < 2; j++) {
            if (arcp_span_starts_with(left, arcp_span_cstr(names[j]))) {
                size = ID_SIZE - cut;
                mask = j == 0 ? 'P' : 'C';
            }
        }
        if (left.size > 24 && memcmp(left.data, "20", 2) == 0 && left.data[10] == 'T' &&
            left.data[23] == 'Z') {
            size = 24;
            mask = 'T';
        }
        arcp_buf_append_byte(out, mask);
        i += size;
    }
}

static void a_terminal_of_each_width_shows_what_fits(void **state)
{
    static const char *const environment[] = {"TERM=xterm", "NO_COLOR=1", "LC_ALL=C", NULL};
    static const struct {
        unsigned columns;
        const char *want; /* P and C: the ids of parent and child; T: a time */
    } screens[] = {
        {40, "JOB      AGE  STATUS    AGENT\n"
             "P AGE  success   parent\n"
             "C AGE  success   hello@1.0.0\n"},
        {30, "JOB      AGE  STATUS    AGENT\n"
             "P AGE  success   parent\n"
             "C AGE  success   hello~\n"},
        {80, "JOB      AGE  STATUS    TOOK   CODE              COST         AGENT\n"
             "P AGE  success   TOOK   -                 -            parent\n"
             "C AGE  success   TOOK   -                 -            hello@1.0.0\n"},
        {200,
         "JOB                            AGE  STATUS    TOOK   CODE              COST         "
         "PRINCIPAL        CREATED                  PARENT                         AGENT\n"
         "P AGE  success   TOOK   -                 -            local            T -          "
         "                    parent\n"
         "C AGE  success   TOOK   -                 -            local            T P "
         "hello@1.0.0\n"},
    };
    for (size_t row = 0; row < sizeof screens / sizeof *screens; row++) {
        process p;
        arcp_buf shown = arcp_buf_init();
        arcp_buf masked = arcp_buf_init();
        const size_t cut = screens[row].columns < 110 ? ID_SIZE - 8 : 0;
        fixture_start_on_terminal(*state, &p, WORDS("jobs", "--limit", "2", "--quiet"), environment,
                                  screens[row].columns);
        assert_int_equal(process_finish(&p), 0);
        tty_render(arcp_buf_span(&p.out), screens[row].columns, &shown);
        mask_ages(&shown);
        mask_row(arcp_buf_span(&shown), cut, &masked);
        arcp_buf_append_byte(&masked, '\0');
        if (strncmp(masked.data, screens[row].want, strlen(screens[row].want)) != 0) {
            fail_msg("at %u columns:\n%swant:\n%s", screens[row].columns, masked.data,
                     screens[row].want);
        }
        arcp_buf_fini(&masked);
        arcp_buf_fini(&shown);
        process_fini(&p);
    }
}

static void what_was_spent_is_in_the_table(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("jobs", "--agent", "events"));
    mask_ages(&p.out);
    check_output(&p, "JOB                            AGE  STATUS    TOOK   CODE              COST "
                     "        PRINCIPAL        CREATED                  PARENT                   "
                     "      AGENT\n"
                     "job_... AGE  success   TOOK   -                 USD 0.5      local         "
                     "   TIME -                              events\n");
    process_fini(&p);
}

static void data_have_the_members_of_the_draft(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("jobs", "--agent", "events", "--output", "yaml"));
    check_output(&p, "- job_id: \"job_...\"\n"
                     "  agent: \"events\"\n"
                     "  status: \"success\"\n"
                     "  lease:\n"
                     "    cost.budget:\n"
                     "      - \"USD:1\"\n"
                     "  budget:\n"
                     "    USD: 0.5\n"
                     "  parent_job_id: null\n"
                     "  created_at: \"TIME\"\n"
                     "  submitted_at: \"TIME\"\n"
                     "  trace_id: \"TRACE\"\n"
                     "  last_event_seq: 9\n");
    process_fini(&p);
}

static void data_that_only_the_view_selects_have_its_members(void **state)
{
    process p;
    fixture_run(*state, &p, 0,
                WORDS("jobs", "--agent", "events", "--principal", "local", "--output", "yaml"));
    check_output(&p, "- job_id: \"job_...\"\n"
                     "  principal: \"local\"\n"
                     "  agent: \"events\"\n"
                     "  status: \"success\"\n"
                     "  created_at: \"TIME\"\n"
                     "  started_at: \"TIME\"\n"
                     "  ended_at: \"TIME\"\n"
                     "  parent_job_id: null\n"
                     "  children: 0\n"
                     "  trace_id: \"TRACE\"\n"
                     "  budget:\n"
                     "    USD:\n"
                     "      cap: 1\n"
                     "      spent: 0.5\n"
                     "  progress:\n"
                     "    current: 1\n"
                     "    total: 4\n"
                     "  denials: 0\n");
    process_fini(&p);
}

static void agents_are_listed_in_each_format(void **state)
{
    process p;
    fixture_run(*state, &p, 0, WORDS("agents", "-o", "yaml"));
    assert_int_equal(strncmp(p.out.data, "- name: \"hello\"\n  versions:\n    - \"1.0.0\"\n", 42),
                     0);
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("agents", "-o", "name"));
    check_output(
        &p, "hello\nevents\ncount\nstream\nwait\nfail\ncrash\necho\nprogress\nparent\nstubborn\n"
            "family\nbench\n");
    process_fini(&p);
    fixture_run(*state, &p, 2, WORDS("agents", "-o", "names"));
    process_fini(&p);
}

/* ---- words that name a job ---- */

static void a_job_is_named_by_its_beginning_its_end_or_as_the_last(void **state)
{
    const char *const words[] = {ids[PARENT], ids[PARENT] + ID_SIZE - 12, ids[PARENT] + 1};
    process p;
    for (size_t i = 0; i < 3; i++) {
        fixture_run(*state, &p, 0, WORDS("watch", words[i]));
        assert_non_null(memmem(p.out.data, p.out.size, "hello", 5));
        process_fini(&p);
    }
    fixture_run(*state, &p, 0, WORDS("watch", "@last", "--json"));
    assert_non_null(memmem(p.out.data, p.out.size, ids[CHILD], ID_SIZE));
    process_fini(&p);
}

static void a_word_that_names_several_jobs_is_refused(void **state)
{
    process p;
    fixture_run(*state, &p, 2, WORDS("watch", "job_"));
    check_errors(&p, "arcp watch: 'job_' is the beginning or end of 25 jobs: job_..., job_..., "
                     "job_..., job_..., ...\ntry: arcp watch --help\n");
    process_fini(&p);
    fixture_run(*state, &p, 2, WORDS("cancel", "0"));
    assert_non_null(memmem(p.err.data, p.err.size, "arcp cancel: '0' is the beginning", 33));
    process_fini(&p);
    fixture_run(*state, &p, 2, WORDS("watch", ""));
    check_errors(&p, "arcp watch: JOB is empty\ntry: arcp watch --help\n");
    process_fini(&p);
}

static void a_job_is_cancelled_by_the_end_of_its_id(void **state)
{
    process p;
    char end[13] = "";
    fixture_run(*state, &p, 0, WORDS("submit", "wait", "--detach", "--quiet"));
    memcpy(end, p.out.data + ID_SIZE - 12, 12);
    process_fini(&p);
    fixture_run(*state, &p, 0, WORDS("cancel", end));
    check_errors(&p, "cancelling job_...\n       its agent may run until a grace period ends "
                     "(arcpd: 30 s by default)\n");
    process_fini(&p);
}

/* ---- ages and costs ---- */

static void ages_are_in_their_largest_unit(void **state)
{
    static const struct {
        int64_t seconds;
        const char *age;
    } rows[] = {{-5, "0s"},   {0, "0s"},      {59, "59s"},   {60, "1m"},         {3599, "59m"},
                {3600, "1h"}, {86399, "23h"}, {86400, "1d"}, {86400000, "1000d"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arcp_buf age = arcp_buf_init();
        arcp__append_age(ARCP_SPAN_LITERAL("2026-01-01T00:00:00.000Z"),
                         (INT64_C(1767225600) + rows[i].seconds) * ARCP_NS_PER_SEC, &age);
        check_span(arcp_buf_span(&age), rows[i].age);
        arcp_buf_fini(&age);
    }
    arcp_buf none = arcp_buf_init();
    arcp__append_age(ARCP_SPAN_LITERAL("yesterday"), 0, &none);
    assert_int_equal(none.size, 0);
}

static void a_time_that_a_job_took_is_in_its_largest_unit(void **state)
{
    static const struct {
        const char *ended, *took;
    } rows[] = {
        {"2026-01-01T00:00:00.000Z", "0.0s"},
        {"2026-01-01T00:00:00.099Z", "0.0s"},
        {"2026-01-01T00:00:00.100Z", "0.1s"},
        {"2026-01-01T00:00:59.999Z", "59.9s"},
        {"2026-01-01T00:01:00.000Z", "1m"},
        {"2026-01-01T23:59:59.999Z", "23h"},
        {"2025-12-31T00:00:00.000Z", "0.0s"}, /* the clock was set back */
        {"", ""},
        {"now", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arcp_buf took = arcp_buf_init();
        arcp__append_took(ARCP_SPAN_LITERAL("2026-01-01T00:00:00.000Z"),
                          arcp_span_cstr(rows[i].ended), &took);
        check_span(arcp_buf_span(&took), rows[i].took);
        arcp_buf_fini(&took);
    }
}

static void costs_are_what_budgets_lack(void **state)
{
    static const struct {
        const char *row, *cost;
    } rows[] = {
        {"{\"lease\":{\"cost.budget\":[\"USD:1.5\"]},\"budget\":{\"USD\":0.25}}", "USD 1.25"},
        {"{\"lease\":{\"cost.budget\":[\"USD:1\"]},\"budget\":{\"USD\":-0.5}}", "USD 1.5"},
        {"{\"lease\":{\"cost.budget\":[\"USD:1\",\"EUR:2\"]},\"budget\":{\"USD\":\"USD:1\","
         "\"EUR\":\"EUR:1.00\"}}",
         "USD 0, EUR 1"},
        {"{\"lease\":{\"cost.budget\":[\"USD:1\",3,\"x\"]},\"budget\":{\"EUR\":1}}", ""},
        {"{\"lease\":{\"cost.budget\":[\"USD:1\"]}}", ""},
        {"{\"lease\":null,\"budget\":{\"USD\":1}}", ""},
        {"{\"lease\":{\"cost.budget\":[\"USD:1\"]},\"budget\":{\"USD\":true}}", ""},
        /* rows of the view */
        {"{\"budget\":{\"USD\":{\"cap\":5,\"spent\":1.5},\"EUR\":{\"spent\":2}}}",
         "USD 1.5, EUR 2"},
        {"{\"budget\":{\"USD\":{\"cap\":5},\"EUR\":null}}", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arcp_json *json = arcp_json_new();
        arcp__job_facts facts;
        assert_int_equal(arcp_json_scan(json, arcp_span_cstr(rows[i].row), NULL, NULL), ARCP_OK);
        arcp__job_facts_read(json, &facts);
        check_span(arcp_buf_span(&facts.cost), rows[i].cost);
        arcp__job_facts_fini(&facts);
        arcp_json_free(json);
    }
}

static void yaml_quotes_what_it_must(void **state)
{
    arcp_json *json = arcp_json_new();
    arcp_buf text = arcp_buf_init();
    (void)state;
    assert_int_equal(
        arcp_json_scan(json,
                       ARCP_SPAN_LITERAL("{\"a\":{},\"b c\":[[1,[]],{\"no\":\"x\\n\"}],"
                                         "\"1\":\"\"}"),
                       NULL, NULL),
        ARCP_OK);
    arcp__append_yaml(json, false, &text);
    check_span(arcp_buf_span(&text), "a: {}\n\"b c\":\n  -\n    - 1\n    - []\n  -\n    \"no\": "
                                     "\"x\\n\"\n\"1\": \"\"\n");
    arcp_buf_fini(&text);
    arcp_json_free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_jobs_that_are_asked_for_are_listed),
        cmocka_unit_test(a_runtime_without_the_view_lists_the_same_jobs),
        cmocka_unit_test(what_a_runtime_without_the_view_cannot_do_is_refused),
        cmocka_unit_test(only_a_role_sees_jobs_of_other_principals),
        cmocka_unit_test(what_it_cannot_do_is_refused),
        cmocka_unit_test(a_terminal_of_each_width_shows_what_fits),
        cmocka_unit_test(what_was_spent_is_in_the_table),
        cmocka_unit_test(data_have_the_members_of_the_draft),
        cmocka_unit_test(data_that_only_the_view_selects_have_its_members),
        cmocka_unit_test(agents_are_listed_in_each_format),
        cmocka_unit_test(a_job_is_named_by_its_beginning_its_end_or_as_the_last),
        cmocka_unit_test(a_word_that_names_several_jobs_is_refused),
        cmocka_unit_test(a_job_is_cancelled_by_the_end_of_its_id),
        cmocka_unit_test(what_changes_is_printed_until_standard_output_is_closed),
        cmocka_unit_test(changes_are_filtered_like_the_listing),
        cmocka_unit_test(ages_are_in_their_largest_unit),
        cmocka_unit_test(a_time_that_a_job_took_is_in_its_largest_unit),
        cmocka_unit_test(costs_are_what_budgets_lack),
        cmocka_unit_test(yaml_quotes_what_it_must),
    };
    return cmocka_run_group_tests(tests, begin, fixture_end);
}
