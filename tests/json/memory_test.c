/* Memory that runs out anywhere in src/json is reported, and nothing leaks. */
#include "support/check.h"

#include "support/failing_alloc.h"
#include "json/json.h"

static const arcp_json_limits limits = {64, 10000, 4194304};

/* Enough nodes to grow twice, a large object with escaped names, and a second text that is
 * scanned with the same index. */
static void make_text(arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{\"list\":[1");
    for (int i = 0; i < 100; i++) {
        arcp_buf_append_cstr(out, ", 1.50");
    }
    arcp_buf_append_cstr(out, "],\"object\":{\"\\u0061\":\"\\u00fc and \\n\"");
    for (int i = 0; i < 50; i++) {
        arcp_buf_append_format(out, ",\"b%d\":{\"z\":1,\"y\\n\":2}", 50 - i);
    }
    arcp_buf_append_cstr(out, "}}");
}

typedef struct texts {
    arcp_span text;
    arcp_span after; /* scanned with the same index */
} texts;

static arcp_status scan_twice(void *user, arcp_error *err)
{
    const texts *given = user;
    arcp_json json = ARCP__JSON_INIT;
    arcp_status status = arcp_json_scan(&json, given->text, &limits, err);
    if (status == ARCP_OK) {
        status = arcp_json_scan(&json, given->after, &limits, err);
    } else if (json.count != 0 || err->status != status) {
        status = ARCP_E_CORRUPT;
    }
    arcp__json_fini(&json);
    return status;
}

static void a_scan_that_runs_out_of_memory_reports_it(void **state)
{
    (void)state;
    arcp_buf text = arcp_buf_init();
    make_text(&text);
    texts given = {arcp_buf_span(&text), ARCP_SPAN_LITERAL("[1,2]")};
    /* Three sizes of the index, the table of names with its slots, an unescaped name. */
    assert_true(failing_alloc_sweep(scan_twice, &given) >= 6);
    arcp_buf_fini(&text);
}

static arcp_status write_all(void *user, arcp_error *err)
{
    const arcp_json *json = user;
    arcp_buf out = arcp_buf_init();
    arcp_status status = arcp_json_canonical(json, ARCP_JSON_ROOT, &out, err);
    if (status != ARCP_OK && (out.size != 0 || err->status != status)) {
        status = ARCP_E_CORRUPT;
    }
    if (status == ARCP_OK) {
        arcp_json_compact(json, ARCP_JSON_ROOT, &out);
        status = arcp_buf_status(&out);
    }
    if (status == ARCP_OK) {
        arcp_json_quote(arcp_json_raw(json, ARCP_JSON_ROOT), &out);
        status = arcp_buf_status(&out);
    }
    arcp_buf_fini(&out);
    return status;
}

static void writing_that_runs_out_of_memory_reports_it(void **state)
{
    (void)state;
    arcp_buf text = arcp_buf_init();
    make_text(&text);
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    check_ok(arcp_json_scan(&json, arcp_buf_span(&text), &limits, &err), &err);
    assert_true(failing_alloc_sweep(write_all, &json) >= 5);
    arcp__json_fini(&json);
    arcp_buf_fini(&text);
}

static arcp_status write_with_writer(void *user, arcp_error *err)
{
    (void)user;
    (void)err;
    arcp_buf out = arcp_buf_init();
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &out);
    arcp_json_begin_object(&writer);
    for (int i = 0; i < 30; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%d", i);
        arcp_json_name(&writer, name);
        arcp_json_write_cstr(&writer, "a value with a \"quote\" in it");
    }
    arcp_json_end_object(&writer);
    const arcp_status status = arcp_buf_status(&out);
    arcp_buf_fini(&out);
    return status;
}

static void the_writer_remembers_that_memory_ran_out(void **state)
{
    (void)state;
    assert_true(failing_alloc_sweep(write_with_writer, NULL) >= 4);
}

static arcp_status unescape(void *user, arcp_error *err)
{
    (void)err;
    arcp_buf scratch = arcp_buf_init();
    const arcp_span text = arcp_json_string(user, ARCP_JSON_ROOT, &scratch);
    arcp_status status = arcp_buf_status(&scratch);
    if ((status == ARCP_OK) != arcp_span_equal_cstr(text, "a\nb")) {
        status = ARCP_E_CORRUPT;
    }
    arcp_buf_fini(&scratch);
    return status;
}

static void a_string_that_cannot_be_unescaped_is_empty_and_its_buffer_failed(void **state)
{
    (void)state;
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    check_ok(arcp_json_scan(&json, ARCP_SPAN_LITERAL("\"a\\nb\""), &limits, &err), &err);
    assert_int_equal(failing_alloc_sweep(unescape, &json), 1);
    arcp__json_fini(&json);
}

/* An index that has scanned a text before allocates nothing. */
static void scanning_again_allocates_nothing(void **state)
{
    (void)state;
    arcp_buf text = arcp_buf_init();
    make_text(&text);
    arcp_json json = ARCP__JSON_INIT;
    arcp_error err = {0};
    check_ok(arcp_json_scan(&json, arcp_buf_span(&text), &limits, &err), &err);
    const size_t before = failing_alloc_count();
    for (int round = 0; round < 10; round++) {
        check_ok(arcp_json_scan(&json, arcp_buf_span(&text), &limits, &err), &err);
    }
    assert_int_equal(failing_alloc_count(), before);
    arcp__json_fini(&json);
    arcp_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scan_that_runs_out_of_memory_reports_it),
        cmocka_unit_test(writing_that_runs_out_of_memory_reports_it),
        cmocka_unit_test(the_writer_remembers_that_memory_ran_out),
        cmocka_unit_test(a_string_that_cannot_be_unescaped_is_empty_and_its_buffer_failed),
        cmocka_unit_test(scanning_again_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
