/* The tables of a job's statuses and of its agent's states. */
#include "support/check.h"

#include "job/job_state.h"

/* Written out a second time, as a square: what is not "yes" is illegal. */
static const char *const square[ARCP_JOB_STATUS_COUNT] = {
    /*                     PENDING RUNNING SUCCESS ERROR CANCELLED TIMED_OUT */
    [ARCP_JOB_PENDING] = ".R.ECT", [ARCP_JOB_RUNNING] = "..SECT",   [ARCP_JOB_SUCCESS] = "......",
    [ARCP_JOB_ERROR] = "......",   [ARCP_JOB_CANCELLED] = "......", [ARCP_JOB_TIMED_OUT] = "......",
};

static void only_the_transitions_of_the_table_are_legal(void **state)
{
    (void)state;
    for (int from = 0; from < ARCP_JOB_STATUS_COUNT; from++) {
        for (int to = 0; to < ARCP_JOB_STATUS_COUNT; to++) {
            const bool legal =
                arcp__job_status_may_become((arcp_job_status)from, (arcp_job_status)to);
            if (legal != (square[from][to] != '.')) {
                fail_msg("%s to %s is %s", arcp_job_status_name((arcp_job_status)from),
                         arcp_job_status_name((arcp_job_status)to), legal ? "legal" : "illegal");
            }
        }
    }
}

/* [arcp:7.3-1] */
static void every_job_can_end_and_none_goes_on_after_its_end(void **state)
{
    (void)state;
    for (int from = 0; from < ARCP_JOB_STATUS_COUNT; from++) {
        unsigned ends = 0;
        unsigned ways = 0;
        for (int to = 0; to < ARCP_JOB_STATUS_COUNT; to++) {
            if (arcp__job_status_may_become((arcp_job_status)from, (arcp_job_status)to)) {
                ways++;
                ends += arcp_job_status_is_terminal((arcp_job_status)to) ? 1 : 0;
            }
        }
        if (arcp_job_status_is_terminal((arcp_job_status)from)) {
            assert_int_equal(ways, 0);
        } else {
            assert_true(ends >= 3);
        }
    }
}

/* But to the queue, when its worker does not take it. */
static void the_state_of_an_agent_never_goes_back(void **state)
{
    static const char *const ways[] = {
        /*                       NONE QUEUED STARTING RUNNING EXITED RELEASED */
        [ARCP__AGENT_NONE] = ".QS..L",     [ARCP__AGENT_QUEUED] = "..S..L",
        [ARCP__AGENT_STARTING] = ".Q.RG.", [ARCP__AGENT_RUNNING] = "....G.",
        [ARCP__AGENT_EXITED] = ".....L",   [ARCP__AGENT_RELEASED] = "......",
    };
    (void)state;
    for (int from = ARCP__AGENT_NONE; from <= ARCP__AGENT_RELEASED; from++) {
        for (int to = ARCP__AGENT_NONE; to <= ARCP__AGENT_RELEASED; to++) {
            assert_int_equal(
                arcp__agent_state_may_become((arcp__agent_state)from, (arcp__agent_state)to),
                ways[from][to] != '.');
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_transitions_of_the_table_are_legal),
        cmocka_unit_test(every_job_can_end_and_none_goes_on_after_its_end),
        cmocka_unit_test(the_state_of_an_agent_never_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
