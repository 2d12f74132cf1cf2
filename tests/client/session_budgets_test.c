/* The budget of a job, and what remains of it. */
#include "client/story.h"

#include "client/client_job.h"

static void check_budget(const story *s, size_t index, const char *currency, const char *initial,
                         const char *remaining)
{
    assert_true(index < s->jobs[0]->budget_count);
    assert_string_equal(s->jobs[0]->budgets[index].currency, currency);
    assert_string_equal(s->jobs[0]->budgets[index].initial, initial);
    assert_string_equal(s->jobs[0]->budgets[index].remaining, remaining);
}

static const struct budget_row {
    const char *name;
    const char *members;
    const char *initial;
    const char *remaining;
} budget_rows[] = {
    {"a number", "'lease':{'cost.budget':['USD:5.00']},'budget':{'USD':5.0}", "5.00", "5.0"},
    {"a number in a string", "'lease':{'cost.budget':['USD:5']},'budget':{'USD':'4.5'}", "5",
     "4.5"},
    {"an amount string", "'lease':{'cost.budget':['USD:5']},'budget':{'USD':'USD:5.00'}", "5",
     "5.00"},
    {"more digits than a double has",
     "'lease':{'cost.budget':['USD:0.123456789012345678']},'budget':{'USD':0.123456789012345678}",
     "0.123456789012345678", "0.123456789012345678"},
    {"no budget member", "'lease':{'cost.budget':['USD:5']}", "5", "5"},
    {"two entries of one currency", "'lease':{'cost.budget':['USD:1.5','USD:2']}", "3.5", "3.5"},
    {"a budget without lease", "'budget':{'USD':3}", "", "3"},
    {"an object instead of a number", "'lease':{'cost.budget':['USD:5']},'budget':{'USD':{}}", "5",
     "5"},
};

static void budgets_keep_the_exact_text(void **state)
{
    for (size_t row = 0; row < sizeof budget_rows / sizeof budget_rows[0]; row++) {
        story s;
        print_message("  %s\n", budget_rows[row].name);
        story_live(&s, DEFAULTS);
        story_submit(&s, "a", "echo");
        story_receive_format(
            &s,
            "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
            "'request_id':'$(job.submit)','job_id':'job_1',%s}}",
            budget_rows[row].members);
        check_budget(&s, 0, "USD", budget_rows[row].initial, budget_rows[row].remaining);
        story_end(&s);
    }
}

static void remaining_metrics_update_the_counter(void **state)
{
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s,
                  "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
                  "'request_id':'$(job.submit)','job_id':'job_1','lease':{'cost.budget':"
                  "['USD:5.00','credits:10']},'budget':{'USD':5,'credits':10}}}");
    story_receive(
        &s, EVENT_OF("job_1", 1, "metric", "{'name':'cost.inference','value':0.5,'unit':'USD'}"));
    check_budget(&s, 0, "USD", "5.00", "5");
    story_receive(&s, EVENT_OF("job_1", 2, "metric",
                               "{'name':'cost.budget.remaining','value':4.5,'unit':'USD'}"));
    check_budget(&s, 0, "USD", "5.00", "4.5");
    check_budget(&s, 1, "credits", "10", "10");
    story_receive(&s, EVENT_OF("job_1", 3, "metric",
                               "{'name':'cost.budget.remaining','value':-0.25,'unit':'USD'}"));
    check_budget(&s, 0, "USD", "5.00", "-0.25");
    story_receive(&s, EVENT_OF("job_1", 4, "metric",
                               "{'name':'cost.budget.remaining','value':1,'unit':'EUR'}"));
    check_budget(&s, 2, "EUR", "", "1");
    story_end(&s);
}

static void a_repeated_response_does_not_reset_the_budget(void **state)
{
    static const char accepted[] =
        "{'arcp':'1.1','id':'x','type':'job.accepted','session_id':'sess_1','payload':{"
        "'request_id':'$(job.submit)','job_id':'job_1','lease':{'cost.budget':['USD:5']},"
        "'budget':{'USD':5}}}";
    story s;
    story_live(&s, DEFAULTS);
    story_submit(&s, "a", "echo");
    story_receive(&s, accepted);
    story_receive(&s, EVENT_OF("job_1", 1, "metric",
                               "{'name':'cost.budget.remaining','value':2,'unit':'USD'}"));
    story_receive(&s, accepted);
    check_budget(&s, 0, "USD", "5", "2");
    /* A subscription has the current counters. */
    story_subscribe(&s, "b", "job_1", false);
    story_receive(&s, "{'arcp':'1.1','id':'x','type':'job.subscribed','session_id':'sess_1',"
                      "'payload':{'request_id':'$(job.subscribe)','job_id':'job_1',"
                      "'current_status':'running','lease':{'cost.budget':['USD:5']},"
                      "'budget':{'USD':1.5}}}");
    check_budget(&s, 0, "USD", "5", "1.5");
    story_end(&s);
}

static void the_number_of_budget_counters_is_limited(void **state)
{
    story s;
    story_live_job(&s);
    for (int currency = 0; currency < 40; currency++) {
        story_receive_format(
            &s,
            "{'arcp':'1.1','id':'e','type':'job.event','job_id':'job_1','payload':{'kind':"
            "'metric','body':{'name':'cost.budget.remaining','value':1,'unit':'C%d'}}}",
            currency);
    }
    assert_int_equal(s.jobs[0]->budget_count, ARCP__JOB_BUDGETS_MAX);
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budgets_keep_the_exact_text),
        cmocka_unit_test(remaining_metrics_update_the_counter),
        cmocka_unit_test(a_repeated_response_does_not_reset_the_budget),
        cmocka_unit_test(the_number_of_budget_counters_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
