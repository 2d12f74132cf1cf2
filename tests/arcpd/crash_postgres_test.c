/* The crash test on PostgreSQL (crash_run.c), which is killed and started again, too. With an
 * argument it runs so many lives. */
#include "support/check.h"

#include "arcpd/crash_run.h"
#include "store/postgres.h"
#include "support/pg_rig.h"

static pg_rig *server;
static unsigned lives = 12;

static void kill_server(void)
{
    pg_rig_kill(server);
    pg_rig_start(server);
}

static void print_line(void *user, const char *line)
{
    print_message("%s\n", line);
}

static void check_store(crash_fixture *f)
{
    arcp__sqlite_found found;
    arcp_error err = {0};
    check_ok(arcp__store_by_postgres.check(server->url, print_line, NULL, &found, &err), &err);
    assert_int_equal(found.damages, 0);
    f->checked = found.runs;
}

static void no_event_that_a_client_saw_is_lost(void **state)
{
    (void)state;
    crash_run(&(daemon_options){.config = CRASH_CONFIG, .store = server->url}, kill_server, lives,
              check_store);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_event_that_a_client_saw_is_lost),
    };
    lives = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : lives;
    server = pg_rig_new(false);
    if (server == NULL) {
        return PG_RIG_SKIPPED;
    }
    const int failures = cmocka_run_group_tests_name("arcpd_crash_postgres", tests, NULL, NULL);
    pg_rig_free(server);
    return failures;
}
