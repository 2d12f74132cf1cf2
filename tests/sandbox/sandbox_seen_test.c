/* Records of what a command was seen to do. */
#include "support/check.h"

#include "sandbox/sandbox_seen.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)

static void every_record_is_read_as_it_was_written(void **state)
{
    static const arcp__sandbox_seen rows[] = {
        {.use = ARCP__SANDBOX_USE_READ, .path = {"/srv/a", 6}},
        {.use = ARCP__SANDBOX_USE_WRITE, .path = {"/srv/l", 6}, .real = {"/srv/r", 6}},
        {.use = ARCP__SANDBOX_USE_CREATE, .path = {"/srv/\x1b\n\"\\", 9}, .is_directory = true},
        {.use = ARCP__SANDBOX_USE_RENAME,
         .path = {"/a", 2},
         .other = {"/b", 2},
         .is_directory = true,
         .is_new = true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arcp_buf room[3] = {arcp_buf_init(), arcp_buf_init(), arcp_buf_init()};
        arcp_buf text = arcp_buf_init();
        arcp__sandbox_seen got;
        arcp__sandbox_seen_encode(&rows[i], &text);
        assert_true(arcp__sandbox_seen_decode(arcp_buf_span(&text), room, &got));
        assert_int_equal(got.use, rows[i].use);
        assert_true(arcp_span_equal(got.path, rows[i].path));
        assert_true(arcp_span_equal(got.real, rows[i].real));
        assert_true(arcp_span_equal(got.other, rows[i].other));
        assert_int_equal(got.is_directory, rows[i].is_directory);
        assert_int_equal(got.is_new, rows[i].is_new);
        arcp_buf_fini(&text);
        for (size_t k = 0; k < 3; k++) {
            arcp_buf_fini(&room[k]);
        }
    }
}

static void every_use_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int use = 0; use < ARCP__SANDBOX_USE_COUNT; use++) {
        arcp_buf room[3] = {arcp_buf_init(), arcp_buf_init(), arcp_buf_init()};
        arcp_buf text = arcp_buf_init();
        arcp__sandbox_seen got;
        const arcp__sandbox_seen seen = {.use = (arcp__sandbox_use)use, .path = SPAN("/x")};
        arcp__sandbox_seen_encode(&seen, &text);
        assert_true(arcp__sandbox_seen_decode(arcp_buf_span(&text), room, &got));
        assert_int_equal(got.use, use);
        arcp_buf_fini(&text);
    }
}

static void other_records_are_not_taken(void **state)
{
    static const char *const rows[] = {"",
                                       "{}",
                                       "[]",
                                       "{\"seen\":1,\"path\":\"/x\"}",
                                       "{\"seen\":\"\",\"path\":\"/x\"}",
                                       "{\"seen\":\"eat\",\"path\":\"/x\"}",
                                       "{\"seen\":\"read\"}",
                                       "{\"seen\":\"read\",\"path\":\"\"}",
                                       "{\"seen\":\"read\",\"path\":7}",
                                       "{\"denied\":{\"target\":\"/x\"}}",
                                       "{\"seen\":\"read\",\"path\":\"/x\""};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arcp_buf room[3] = {arcp_buf_init(), arcp_buf_init(), arcp_buf_init()};
        arcp__sandbox_seen got;
        if (arcp__sandbox_seen_decode(arcp_span_cstr(rows[i]), room, &got)) {
            fail_msg("%s was taken", rows[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_is_read_as_it_was_written),
        cmocka_unit_test(every_use_has_a_name_of_its_own),
        cmocka_unit_test(other_records_are_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
