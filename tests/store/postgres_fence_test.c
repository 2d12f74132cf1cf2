/* Transactions of two connections, or of two nodes, that meet at the rows of the fence: what one
 * has not seen yet is committed by the other. */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/postgres_open.h"
#include "store/postgres_rig.h"

#define WAIT_SEC 30

static pg_rig *server;

static int clear(void **state)
{
    pg_rig_clear(server);
    return 0;
}

/* A session of the test, which holds a lock. */
static PGconn *connect_beside(void)
{
    PGconn *conn = PQconnectdb(server->url);
    assert_int_equal(PQstatus(conn), CONNECTION_OK);
    return conn;
}

static void run_on(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    const ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    }
}

/* Until a session waits for a lock in a statement that begins with `beginning`. */
static void wait_for_waiting(const char *beginning)
{
    char sql[200];
    const time_t until = time(NULL) + WAIT_SEC;
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
             " AND starts_with(query, '%s')",
             beginning);
    while (strcmp(pg_rig_run(server, sql), "1") != 0) {
        if (time(NULL) > until) {
            fail_msg("no session waits in \"%s\"", beginning);
        }
    }
}

/* Both are under way when the first one is refused. */
static void a_second_transaction_does_not_pass_a_first_that_is_refused(void **state)
{
    store_rig *rig = pg_open(server, "n1", "home");
    PGconn *beside = connect_beside();
    const arcp_store_op bad = op_put(ARCP_STORE_JOBS, "bad", "v");
    const arcp_store_op behind = op_put(ARCP_STORE_JOBS, "behind", "v");
    run_on(beside, "ALTER TABLE arcp.rows ADD CHECK (key <> 'bad')");
    run_on(beside, "BEGIN");
    run_on(beside, "SELECT FROM arcp.shard FOR UPDATE");
    const uint64_t first = rig_submit(rig, &bad, 1);
    wait_for_waiting("SELECT arcp.fence");
    const uint64_t second = rig_submit(rig, &behind, 1);
    for (unsigned i = 0; i < 10; i++) { /* the writer sends it meanwhile */
        wait_for_waiting("SELECT arcp.fence");
    }
    run_on(beside, "COMMIT");
    assert_int_equal(rig_wait(rig, first)->status, ARCP_E_IO);
    assert_int_equal(rig_wait(rig, second)->status, ARCP_E_IO);
    assert_string_equal(pg_rig_run(server, "SELECT count(*) FROM arcp.rows"), "0");
    check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "behind", "v"));
    PQfinish(beside);
    rig_close(rig);
}

/* The older connection does not answer, so a new one raises the epoch, and waits for the lock of
 * the transaction that is still under way on the older one. That one commits then. */
static void a_batch_that_commits_while_an_epoch_is_raised_is_not_written_again(void **state)
{
    pg_counter c = {.rig = pg_open(server, "n1", "home")};
    PGconn *beside = connect_beside();
    pg_count_to(&c, 1, false);
    run_on(beside, "CREATE FUNCTION arcp.late() RETURNS trigger LANGUAGE plpgsql AS"
                   " $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$");
    run_on(beside, "CREATE TRIGGER late AFTER INSERT ON arcp.runs EXECUTE FUNCTION arcp.late()");
    run_on(beside, "SELECT pg_advisory_lock(1)");
    pg_submit_number(&c);
    wait_for_waiting("UPDATE arcp.shard SET epoch");
    run_on(beside, "SELECT pg_advisory_unlock(1)");
    pg_count_to(&c, 20, false);
    pg_check_counted(&c, server);
    PQfinish(beside);
    rig_close(c.rig);
}

/* Its beat is not committed yet when the other node, which has waited for a lease, reads it. */
static void a_node_that_beats_while_it_is_taken_keeps_its_store(void **state)
{
    PGconn *beside = connect_beside();
    int status = 0;
    rig_close(pg_open(server, "n1", "home 1"));
    run_on(beside, "INSERT INTO arcp.node(name, home, incarnation, beat)"
                   " VALUES ('n1', 'home 1', 'i', 7)");
    run_on(beside, "UPDATE arcp.shard SET owner = 'n1', incarnation = 'i'");
    run_on(beside, "BEGIN");
    run_on(beside, "UPDATE arcp.node SET beat = 8");
    const pid_t other = fork();
    assert_true(other >= 0);
    if (other == 0) {
        const arcp__postgres_options options = pg_options(server, "n2", "home 2");
        arcp_store *store = NULL;
        arcp_error err = {0};
        _exit(arcp__pg_store_open(&options, &store, &err) == ARCP_E_EXISTS ? 0 : 1);
    }
    wait_for_waiting("SELECT 1 FROM arcp.node");
    run_on(beside, "COMMIT");
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    assert_string_equal(pg_rig_run(server, "SELECT owner FROM arcp.shard"), "n1");
    PQfinish(beside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_second_transaction_does_not_pass_a_first_that_is_refused, clear),
        cmocka_unit_test_setup(a_batch_that_commits_while_an_epoch_is_raised_is_not_written_again,
                               clear),
        cmocka_unit_test_setup(a_node_that_beats_while_it_is_taken_keeps_its_store, clear),
    };
    server = pg_rig_new(false);
    if (server == NULL) {
        return PG_RIG_SKIPPED;
    }
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    pg_rig_free(server);
    return failures;
}
