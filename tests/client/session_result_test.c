/* Streamed results through the session; client_result_test.c tests the assembly alone. */
#include "client/story.h"

#include "client/client_job.h"

#define CHUNK(seq, n, data, more)                                                                  \
    EVENT_OF("job_1", seq, "result_chunk",                                                         \
             "{'result_id':'res_1','chunk_seq':" #n ",'data':'" data                               \
             "','encoding':'utf8','more':" more "}")

/* [arcp:8.4-9] */
static void a_streamed_result_is_assembled(void **state)
{
    story s;
    story_live_job(&s);
    story_receive(&s, CHUNK(1, 0, "Hello, ", "true"));
    story_receive(&s, CHUNK(2, 1, "world", "false"));
    story_receive(&s,
                  RESULT_OF("job_1", 3, ",'result_id':'res_1','result_size':12,'summary':'two'"));
    const arcp_outcome *outcome = &s.jobs[0]->outcome;
    assert_int_equal(outcome->status, ARCP_OK);
    check_span(outcome->bytes, "Hello, world");
    check_span(outcome->result_id, "res_1");
    check_span(outcome->summary, "two");
    assert_int_equal(outcome->streamed_bytes, 12);
    story_end(&s);
}

static void a_drop_in_the_middle_of_a_stream_loses_and_repeats_nothing(void **state)
{
    story s;
    story_live_job(&s);
    story_receive(&s, CHUNK(1, 0, "one ", "true"));
    story_reconnect(&s);
    story_receive(&s, WELCOME);
    story_receive(&s, CHUNK(1, 0, "one ", "true"));
    story_receive(&s, CHUNK(2, 1, "two", "false"));
    story_receive(&s, RESULT_OF("job_1", 3, ",'result_id':'res_1','result_size':7"));
    assert_int_equal(s.jobs[0]->outcome.status, ARCP_OK);
    check_span(s.jobs[0]->outcome.bytes, "one two");
    story_end(&s);
}

static void a_broken_stream_is_a_failed_outcome(void **state)
{
    story s;
    story_live_job(&s);
    story_receive(&s, CHUNK(1, 0, "one ", "true"));
    story_receive(&s, CHUNK(2, 2, "three", "false"));
    arcp_buf_clear(&s.log);
    story_receive(&s, RESULT_OF("job_1", 3, ",'result_id':'res_1'"));
    story_check_log(&s, "ended job_1 3 success CORRUPT\n");
    assert_int_equal(s.jobs[0]->outcome.status, ARCP_E_CORRUPT);
    assert_int_equal(s.jobs[0]->outcome.final_status, ARCP_JOB_SUCCESS);
    story_end(&s);
}

static void a_job_that_fails_while_streaming_fails_for_its_own_reason(void **state)
{
    story s;
    story_live_job(&s);
    story_receive(&s, CHUNK(1, 0, "one ", "true"));
    story_receive(&s, ERROR_OF("job_1", 2, "'code':'BUDGET_EXHAUSTED','message':'m'"));
    assert_int_equal(s.jobs[0]->outcome.status, ARCP_E_BUDGET_EXHAUSTED);
    assert_int_equal(s.jobs[0]->outcome.streamed_bytes, 4);
    story_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_streamed_result_is_assembled),
        cmocka_unit_test(a_drop_in_the_middle_of_a_stream_loses_and_repeats_nothing),
        cmocka_unit_test(a_broken_stream_is_a_failed_outcome),
        cmocka_unit_test(a_job_that_fails_while_streaming_fails_for_its_own_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
