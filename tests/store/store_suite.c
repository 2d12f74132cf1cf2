#include "store/store_suite.h"

#define TESTS_MAX 128

typedef struct context {
    const suite_backend *which;
    const suite_test *test;
} context;

static void run_one(void **state)
{
    const context *c = *state;
    void *place = NULL;
    store_rig *rig = c->which->open(c->which->user, &place);
    assert_string_equal(rig->store->ops->name, c->which->name);
    assert_int_equal(rig->store->ops->durable, c->which->is_durable);
    c->test->run(rig);
    rig_close(rig);
    if (c->which->close != NULL) {
        c->which->close(place);
    }
}

int suite_run(const suite_backend *which)
{
    static const struct {
        const suite_test *tests;
        const size_t *count;
    } parts[] = {
        {suite_streams, &suite_streams_count},
        {suite_tables, &suite_tables_count},
        {suite_order, &suite_order_count},
        {suite_limits, &suite_limits_count},
    };
    struct CMUnitTest tests[TESTS_MAX] = {{0}};
    context contexts[TESTS_MAX];
    size_t count = 0;
    for (size_t part = 0; part < COUNT_OF(parts); part++) {
        for (size_t i = 0; i < *parts[part].count && count < TESTS_MAX; i++, count++) {
            contexts[count] = (context){which, &parts[part].tests[i]};
            tests[count].name = parts[part].tests[i].name;
            tests[count].test_func = run_one;
            tests[count].initial_state = &contexts[count];
        }
    }
    /* The macros of cmocka take an array whose size they see; this one is filled late. */
    return _cmocka_run_group_tests(which->name, tests, count, NULL, NULL);
}
