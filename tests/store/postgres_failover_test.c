/* The primary is killed, or hangs, while batches are under way, and its synchronous standby becomes
 * the primary: what was acknowledged is there, once. With an argument it runs so many rounds. */
#include <signal.h>

#include "store/postgres_open.h"
#include "store/postgres_rig.h"

static pg_rig *servers[2];
static unsigned rounds = 2;

static store_rig *open_both(void)
{
    char url[700];
    snprintf(url, sizeof url, "postgres://arcp@/arcp?host=%s,%s", servers[0]->path,
             servers[1]->path);
    arcp__postgres_options options = pg_options(servers[0], "n1", "home");
    arcp_store *store = NULL;
    arcp_error err = {0};
    options.url = url;
    options.patience_ms = 20000;
    check_ok(arcp__pg_store_open(&options, &store, &err), &err);
    return rig_new(store);
}

static void what_was_acknowledged_is_there_once_after_a_failover(void **state)
{
    unsigned primary = 0;
    pg_counter c = {.rig = open_both()};
    for (unsigned round = 0; round < rounds; round++) {
        pg_rig *old = servers[primary];
        pg_rig *next = servers[1 - primary];
        const bool hangs = round % 2 == 1;
        pg_count_to(&c, c.acknowledged + 100 + UINT64_C(13) * round, true);
        while (c.submitted < c.acknowledged + PG_AHEAD) {
            pg_submit_number(&c);
        }
        if (hangs) {
            pg_rig_signal_all(old, SIGSTOP);
        } else {
            pg_rig_kill(old);
        }
        pg_rig_promote(next);
        pg_count_to(&c, c.acknowledged + 100, true);
        if (hangs) { /* it wakes, and is not asked any more */
            pg_rig_signal_all(old, SIGCONT);
            pg_count_to(&c, c.acknowledged + 100, true);
        }
        pg_check_counted(&c, next);
        pg_rig_kill(old);
        pg_rig_follow(old, next);
        primary = 1 - primary;
    }
    print_message("%u failovers, %llu batches, %u failures\n", rounds,
                  (unsigned long long)c.acknowledged, c.failures);
    rig_close(c.rig);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_acknowledged_is_there_once_after_a_failover),
    };
    rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : rounds;
    for (size_t i = 0; i < 2; i++) {
        servers[i] = pg_rig_new(false);
        if (servers[i] == NULL) {
            return PG_RIG_SKIPPED;
        }
    }
    pg_rig_kill(servers[1]);
    pg_rig_follow(servers[1], servers[0]);
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    pg_rig_free(servers[0]);
    pg_rig_free(servers[1]);
    return failures;
}
