/* The crash test on SQLite (crash_run.c). */
#include "support/check.h"

#include "arcpd/crash_run.h"

static void no_event_that_a_client_saw_is_lost_by_kill_9(void **state)
{
    (void)state;
    crash_run(&(daemon_options){.config = CRASH_CONFIG}, NULL, 60, crash_store_check);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_event_that_a_client_saw_is_lost_by_kill_9),
    };
    return cmocka_run_group_tests_name("arcpd_crash", tests, NULL, NULL);
}
