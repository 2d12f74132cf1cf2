/* How many notifications the outbox keeps: at most ARCP__OUTBOX_FAILED_MAX failed ones, and
 * ARCP__OUTBOX_BYTES_MAX bytes of all. The rows are those of an earlier run. */
#include <string.h>

#include "engine/engine.h"
#include "support/check.h"

#define BIG 1048576u

static void fake_random(void *user, void *out, size_t size)
{
    (void)user;
    memset(out, 7, size);
}

static arcp__engine *make_engine(void)
{
    arcp__engine_options options = {.runtime_name = "room",
                                    .runtime_version = "1",
                                    .random = fake_random,
                                    .store_is_durable = true,
                                    .now = {1767225600 * ARCP_NS_PER_SEC, ARCP_NS_PER_SEC}};
    arcp__engine *engine = NULL;
    arcp_error error = {0};
    arcp__settings_default(&options.settings);
    check_ok(arcp__engine_new(&options, &engine, &error), &error);
    return engine;
}

/* Ids of an earlier run, in their order. */
static const char *id_of(size_t i, char out[32])
{
    (void)snprintf(out, 32, "ntf_01JDVDNA00%016zu", i);
    return out;
}

static void add_row(arcp__engine *engine, size_t i, const char *hook, bool failed, size_t body)
{
    static char text[BIG];
    char id[32];
    arcp_buf row = arcp_buf_init();
    arcp_error error = {0};
    arcp_buf_append_format(&row,
                           "{\"hook\":\"%s\",\"event\":\"end\",\"job_id\":\"job_1\",\"at\":"
                           "\"2025-12-31T23:00:00Z\",\"since\":\"2025-12-31T23:00:00Z\"%s,"
                           "\"body\":{\"x\":\"",
                           hook, failed ? ",\"failed\":true" : "");
    memset(text, 'x', body);
    arcp_buf_append(&row, arcp_span_make(text, body));
    arcp_buf_append_cstr(&row, "\"}}");
    check_ok(arcp__engine_restore_row(engine, ARCP_STORE_OUTBOX, arcp_span_cstr(id_of(i, id)),
                                      arcp_buf_span(&row), &error),
             &error);
    arcp_buf_fini(&row);
}

/* Ends the restart; returns how many rows the first batch deletes. */
static size_t open_engine(arcp__engine *engine)
{
    const arcp_time now = {1767225600 * ARCP_NS_PER_SEC, ARCP_NS_PER_SEC};
    size_t deletes = 0;
    arcp__engine_restore_done(engine, now);
    assert_true(arcp__engine_is_restored(engine));
    const arcp_store_batch *batch = arcp__engine_take_batch(engine);
    for (size_t i = 0; batch != NULL && i < batch->count; i++) {
        deletes +=
            batch->ops[i].kind == ARCP_STORE_DELETE && batch->ops[i].table == ARCP_STORE_OUTBOX ? 1
                                                                                                : 0;
    }
    return deletes;
}

static size_t count_of(const arcp__engine *engine, const char *hook)
{
    arcp__notification_view view = {.id = ""};
    size_t count = 0;
    while (arcp__engine_next_notification(engine, view.id, &view)) {
        count += strcmp(view.hook, hook) == 0 ? 1 : 0;
    }
    return count;
}

static void the_oldest_failed_notifications_make_room(void **state)
{
    arcp__notification_view view;
    char id[32];
    (void)state;
    for (size_t over = 0; over <= 2; over += 2) {
        arcp__engine *engine = make_engine();
        for (size_t i = 0; i < ARCP__OUTBOX_FAILED_MAX + over; i++) {
            add_row(engine, i, "pager", true, 1);
        }
        assert_int_equal(open_engine(engine), over);
        assert_int_equal(count_of(engine, "pager"), ARCP__OUTBOX_FAILED_MAX);
        assert_true(arcp__engine_next_notification(engine, "", &view));
        assert_string_equal(view.id, id_of(over, id));
        arcp__engine_free(engine);
    }
}

static void failed_notifications_make_room_before_others(void **state)
{
    const size_t fit = ARCP__OUTBOX_BYTES_MAX / (BIG + 2048);
    (void)state;
    arcp__engine *engine = make_engine();
    for (size_t i = 0; i < fit; i++) {
        add_row(engine, i, i < 5 ? "failed" : "waits", i < 5, BIG);
    }
    add_row(engine, fit, "waits", false, BIG);
    assert_int_equal(open_engine(engine), 1);
    assert_int_equal(count_of(engine, "failed"), 4);
    assert_int_equal(count_of(engine, "waits"), fit - 4);
    arcp__engine_free(engine);
}

static void the_hook_with_the_most_makes_room_for_the_others(void **state)
{
    const size_t fit = ARCP__OUTBOX_BYTES_MAX / (BIG + 2048);
    (void)state;
    arcp__engine *engine = make_engine();
    add_row(engine, 0, "small", false, BIG);
    for (size_t i = 1; i < fit + 3; i++) {
        add_row(engine, i, "large", false, BIG);
    }
    assert_int_equal(open_engine(engine), 3);
    assert_int_equal(count_of(engine, "small"), 1);
    assert_int_equal(count_of(engine, "large"), fit - 1);
    arcp__engine_free(engine);
}

static void a_damaged_row_is_named(void **state)
{
    static const char *const rows[] = {
        "{}",
        "{\"hook\":\"h\",\"event\":\"party\",\"job_id\":\"j\",\"at\":\"2025-12-31T23:00:00Z\","
        "\"since\":\"2025-12-31T23:00:00Z\",\"body\":{}}",
        "{\"hook\":\"h\",\"event\":\"end\",\"job_id\":\"j\",\"at\":\"2025-12-31T23:00:00Z\","
        "\"since\":\"2025-12-31T23:00:00Z\"}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__engine *engine = make_engine();
        arcp_error error = {0};
        assert_int_equal(arcp__engine_restore_row(engine, ARCP_STORE_OUTBOX,
                                                  ARCP_SPAN_LITERAL("ntf_1"),
                                                  arcp_span_cstr(rows[i]), &error),
                         ARCP_E_CORRUPT);
        assert_non_null(strstr(error.message, "notification"));
        assert_non_null(strstr(error.message, "ntf_1"));
        arcp__engine_free(engine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_failed_notifications_make_room),
        cmocka_unit_test(failed_notifications_make_room_before_others),
        cmocka_unit_test(the_hook_with_the_most_makes_room_for_the_others),
        cmocka_unit_test(a_damaged_row_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
