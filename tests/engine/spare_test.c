/* Buffers whose memory comes back. */
#include "support/check.h"

#include "engine/parts.h"

static arcp__engine *engine_new(void)
{
    arcp__engine *engine = arcp__alloc(sizeof(*engine));
    assert_non_null(engine);
    return engine;
}

static void engine_end(arcp__engine *engine)
{
    arcp__spare_free_all(engine);
    arcp__free(engine);
}

static arcp_buf buffer_of(size_t size)
{
    arcp_buf buf = ARCP_BUF_INIT;
    assert_true(arcp_buf_reserve(&buf, size));
    buf.size = size;
    return buf;
}

static void memory_that_was_given_back_is_taken_again_and_empty(void **state)
{
    (void)state;
    arcp__engine *engine = engine_new();
    arcp_buf buf = arcp__spare_take(engine);
    assert_null(buf.data);
    arcp_buf_append_cstr(&buf, "a text");
    const char *memory = buf.data;
    arcp__spare_give(engine, &buf);
    assert_null(buf.data);
    buf = arcp__spare_take(engine);
    assert_ptr_equal(buf.data, memory);
    assert_int_equal(buf.size, 0);
    arcp__spare_give(engine, &buf);
    engine_end(engine);
}

static void what_ran_out_of_memory_is_whole_again(void **state)
{
    (void)state;
    arcp__engine *engine = engine_new();
    arcp_buf buf = buffer_of(10);
    buf.failed = true;
    arcp__spare_give(engine, &buf);
    buf = arcp__spare_take(engine);
    assert_false(buf.failed);
    arcp__spare_give(engine, &buf);
    engine_end(engine);
}

static void long_texts_are_not_kept(void **state)
{
    (void)state;
    arcp__engine *engine = engine_new();
    arcp_buf longest = buffer_of(4096);
    arcp_buf longer = buffer_of(4097);
    arcp__spare_give(engine, &longest);
    assert_int_equal(engine->spare_count, 1);
    arcp__spare_give(engine, &longer);
    assert_int_equal(engine->spare_count, 1);
    assert_null(longer.data);
    engine_end(engine);
}

static void so_many_are_kept_and_no_more(void **state)
{
    (void)state;
    arcp__engine *engine = engine_new();
    for (size_t at = 0; at < ARCP__SPARE_MAX + 1; at++) {
        arcp_buf buf = buffer_of(1);
        arcp__spare_give(engine, &buf);
        assert_null(buf.data);
        assert_int_equal(engine->spare_count, at < ARCP__SPARE_MAX ? at + 1 : ARCP__SPARE_MAX);
    }
    engine_end(engine);
}

static void the_memory_of_a_secret_text_is_not_kept(void **state)
{
    (void)state;
    arcp__engine *engine = engine_new();
    arcp_buf buf = arcp__spare_take(engine);
    buf.secret = true;
    arcp_buf_append_cstr(&buf, "a token");
    arcp__spare_give(engine, &buf);
    assert_int_equal(engine->spare_count, 0);
    assert_null(buf.data);
    engine_end(engine);
}

static void a_buffer_without_memory_is_nothing_to_keep(void **state)
{
    (void)state;
    arcp__engine *engine = engine_new();
    arcp_buf buf = ARCP_BUF_INIT;
    arcp__spare_give(engine, &buf);
    assert_int_equal(engine->spare_count, 0);
    engine_end(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_was_given_back_is_taken_again_and_empty),
        cmocka_unit_test(what_ran_out_of_memory_is_whole_again),
        cmocka_unit_test(long_texts_are_not_kept),
        cmocka_unit_test(so_many_are_kept_and_no_more),
        cmocka_unit_test(the_memory_of_a_secret_text_is_not_kept),
        cmocka_unit_test(a_buffer_without_memory_is_nothing_to_keep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
