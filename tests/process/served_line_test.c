/* What is read of a line of a served process, and what is written to it. */
#include "support/check.h"
#include "support/failing_alloc.h"

#include "process/served_line.h"

static void the_id_and_the_last_line_are_found(void **state)
{
    static const struct {
        const char *line;
        const char *id; /* NULL: refused */
        bool is_last;
    } rows[] = {
        {"{\"job_id\":\"job_1\"}", "job_1", false},
        {"{\"type\":\"job.event\",\"payload\":{\"job_id\":\"x\"},\"job_id\":\"job_1\"}", "job_1",
         false},
        {"{\"job_id\":\"job_1\",\"type\":\"job.result\"}", "job_1", true},
        {"{\"type\":\"job.error\",\"job_id\":\"job_1\"}", "job_1", true},
        {"{\"type\":\"job\\u002eresult\",\"job_id\":\"job_1\"}", "job_1", true},
        {"{ \"job_id\" : \"job_1\" }\r", "job_1", false},
        {"{\"job_id\":\"job_1\",\"type\":\"job.results\"}", "job_1", false},
        {"{\"job_id\":\"job_1\",\"type\":[\"job.result\"]}", "job_1", false},
        {"{\"\\u006aob_id\":\"job_1\"}", "job_1", false},
        {"{\"job_id\":\"\\u006a\"}", "\\u006a", false}, /* an id is not written so, and not found */
        {"", NULL, false},
        {"text", NULL, false},
        {" {\"job_id\":\"job_1\"}", NULL, false},
        {"[\"job_id\"]", NULL, false},
        {"{}", NULL, false},
        {"{\"job_id\":\"\"}", NULL, false},
        {"{\"job_id\":null}", NULL, false},
        {"{\"job_id\":1}", NULL, false},
        {"{\"job_id\":[\"job_1\"]}", NULL, false},
        {"{\"payload\":{\"job_id\":\"job_1\"}}", NULL, false},
        {"{\"job_id\":\"a\",\"job_id\":\"b\"}", NULL, false},
        {"{\"job_id\":\"job_1\"} {}", NULL, false},
        {"{\"job_id\":\"job_1\"", NULL, false},
        {"{\"job_id\":\"\xff\"}", NULL, false},
    };
    arcp_json json = ARCP__JSON_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__served_line found = {.is_last = false};
        const arcp_status status =
            arcp__served_line_read(&json, arcp_span_cstr(rows[i].line), &found);
        if (status != (rows[i].id != NULL ? ARCP_OK : ARCP_E_INVALID_REQUEST) ||
            (status == ARCP_OK && (!arcp_span_equal_cstr(found.job_id, rows[i].id) ||
                                   found.is_last != rows[i].is_last))) {
            fail_msg("%s", rows[i].line);
        }
    }
    arcp__json_fini(&json);
}

static void a_line_is_written_with_the_id_as_its_first_member(void **state)
{
    arcp_buf out = arcp_buf_init();
    (void)state;
    arcp__served_line_write(ARCP_SPAN_LITERAL("{\"type\":\"job.cancel\"}"), "job_1", &out);
    assert_string_equal(arcp_buf_cstr(&out), "{\"job_id\":\"job_1\",\"type\":\"job.cancel\"}");
    arcp_buf_fini(&out);
}

/* The index of a long line does not stay. */
static void a_long_line_is_read_and_its_memory_is_given_back(void **state)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf line = arcp_buf_init();
    arcp__served_line found = {.is_last = false};
    (void)state;
    arcp_buf_append_cstr(&line, "{\"job_id\":\"job_1\",\"type\":\"job.result\",\"payload\":[");
    for (size_t i = 0; i < 40000; i++) {
        arcp_buf_append_cstr(&line, "1,");
    }
    arcp_buf_append_cstr(&line, "1]}");
    assert_int_equal(arcp__served_line_read(&json, arcp_buf_span(&line), &found), ARCP_OK);
    assert_true(arcp_span_equal_cstr(found.job_id, "job_1") && found.is_last);
    assert_null(json.nodes);
    arcp_buf_fini(&line);
}

static arcp_status read_one(void *user, arcp_error *err)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp__served_line found;
    (void)user;
    (void)err;
    const arcp_status status = arcp__served_line_read(
        &json, ARCP_SPAN_LITERAL("{\"job_id\":\"a\",\"type\":\"job.result\"}"), &found);
    arcp__json_fini(&json);
    return status;
}

static void without_memory_a_line_is_not_read(void **state)
{
    (void)state;
    assert_true(failing_alloc_sweep(read_one, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_id_and_the_last_line_are_found),
        cmocka_unit_test(a_line_is_written_with_the_id_as_its_first_member),
        cmocka_unit_test(a_long_line_is_read_and_its_memory_is_given_back),
        cmocka_unit_test(without_memory_a_line_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
