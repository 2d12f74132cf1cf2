/* The limits on stored data: low ones with a memory store, unless the program sets others. */
#include "runtime/runtime_rig.h"

#include "support/check.h"

#include <arcp/sys/store.h>

#include "engine/state.h"
#include "runtime/runtime_state.h"

static void check_kept(arcp_store *store, const arcp_settings *settings, const arcp_settings *want)
{
    static runtime_rig rig;
    arcp_runtime_options options = arcp_runtime_options_init();
    runtime_rig_begin(&rig);
    options.store = store;
    options.settings = settings;
    runtime_rig_open(&rig, &options);
    const arcp_settings *got = &rig.runtime->shards->engine->context.settings;
    assert_int_equal(got->limits_replay_bytes, want->limits_replay_bytes);
    assert_int_equal(got->jobs_keep_terminal_bytes, want->jobs_keep_terminal_bytes);
    runtime_rig_stop(&rig);
}

static void a_store_in_memory_has_lower_limits(void **state)
{
    arcp_settings want;
    (void)state;
    arcp__settings_default(&want);
    arcp_settings_fit_memory(&want);
    check_kept(NULL, NULL, &want);
}

static void a_durable_store_has_the_default_limits(void **state)
{
    arcp_settings want;
    arcp_store *store = NULL;
    arcp_store_ops lasting;
    arcp_error error = {0};
    (void)state;
    arcp__settings_default(&want);
    check_ok(arcp_store_open_memory(&store, &error), &error);
    lasting = *store->ops;
    lasting.durable = true;
    store->ops = &lasting;
    check_kept(store, NULL, &want);
}

static void explicit_settings_are_not_changed(void **state)
{
    arcp_settings want;
    (void)state;
    arcp__settings_default(&want);
    check_kept(NULL, &want, &want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_in_memory_has_lower_limits),
        cmocka_unit_test(a_durable_store_has_the_default_limits),
        cmocka_unit_test(explicit_settings_are_not_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
