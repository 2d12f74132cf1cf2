/* Buffers whose memory is reused. */
#include "support/check.h"

#include "context/context.h"

static arcp_buf buffer_of(size_t size)
{
    arcp_buf buf = arcp_buf_init();
    assert_true(arcp_buf_reserve(&buf, size));
    buf.size = size;
    return buf;
}

static void returned_memory_is_reused_and_empty(void **state)
{
    (void)state;
    arcp__context context = {0};
    arcp_buf buf = arcp__context_take_buf(&context);
    assert_null(buf.data);
    arcp_buf_append_cstr(&buf, "a text");
    const char *memory = buf.data;
    arcp__context_give_buf(&context, &buf);
    assert_null(buf.data);
    buf = arcp__context_take_buf(&context);
    assert_ptr_equal(buf.data, memory);
    assert_int_equal(buf.size, 0);
    arcp__context_give_buf(&context, &buf);
    arcp__context_fini(&context);
}

static void a_buffer_that_ran_out_of_memory_can_be_reused(void **state)
{
    (void)state;
    arcp__context context = {0};
    arcp_buf buf = buffer_of(10);
    buf.failed = true;
    arcp__context_give_buf(&context, &buf);
    buf = arcp__context_take_buf(&context);
    assert_false(buf.failed);
    arcp__context_give_buf(&context, &buf);
    arcp__context_fini(&context);
}

static void long_texts_are_not_kept(void **state)
{
    (void)state;
    arcp__context context = {0};
    arcp_buf longest = buffer_of(4096);
    arcp_buf longer = buffer_of(4097);
    arcp__context_give_buf(&context, &longest);
    assert_int_equal(context.pooled_count, 1);
    arcp__context_give_buf(&context, &longer);
    assert_int_equal(context.pooled_count, 1);
    assert_null(longer.data);
    arcp__context_fini(&context);
}

static void a_limited_number_is_kept(void **state)
{
    (void)state;
    arcp__context context = {0};
    for (size_t i = 0; i < ARCP__POOLED_BUFS_MAX + 1; i++) {
        arcp_buf buf = buffer_of(1);
        arcp__context_give_buf(&context, &buf);
        assert_null(buf.data);
        assert_int_equal(context.pooled_count,
                         i < ARCP__POOLED_BUFS_MAX ? i + 1 : ARCP__POOLED_BUFS_MAX);
    }
    arcp__context_fini(&context);
}

static void the_memory_of_a_secret_text_is_not_kept(void **state)
{
    (void)state;
    arcp__context context = {0};
    arcp_buf buf = arcp__context_take_buf(&context);
    buf.secret = true;
    arcp_buf_append_cstr(&buf, "a token");
    arcp__context_give_buf(&context, &buf);
    assert_int_equal(context.pooled_count, 0);
    assert_null(buf.data);
    arcp__context_fini(&context);
}

static void a_buffer_without_memory_is_not_kept(void **state)
{
    (void)state;
    arcp__context context = {0};
    arcp_buf buf = arcp_buf_init();
    arcp__context_give_buf(&context, &buf);
    assert_int_equal(context.pooled_count, 0);
    arcp__context_fini(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returned_memory_is_reused_and_empty),
        cmocka_unit_test(a_buffer_that_ran_out_of_memory_can_be_reused),
        cmocka_unit_test(long_texts_are_not_kept),
        cmocka_unit_test(a_limited_number_is_kept),
        cmocka_unit_test(the_memory_of_a_secret_text_is_not_kept),
        cmocka_unit_test(a_buffer_without_memory_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
