/* What becomes of batches when the connection, the server or the owner changes. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arcp/buf.h>

#include "store/postgres_crc.h"
#include "store/postgres_open.h"
#include "store/postgres_rig.h"

#define WRITER "application_name LIKE 'arcpd/%/w'"
#define READER "application_name LIKE 'arcpd/%/r'"

static pg_rig *server;

static int clear(void **state)
{
    pg_rig_clear(server);
    return 0;
}

/* ---- opening ---- */

static void a_second_node_is_refused_while_the_first_one_beats(void **state)
{
    store_rig *rig = pg_open(server, "n1", "home 1");
    const arcp__postgres_options other = pg_options(server, "n2", "home 2");
    const arcp__postgres_options same_name = pg_options(server, "n1", "home 2");
    pg_check_refused(&other, ARCP_E_EXISTS, "in use by node n1, whose lease ends in 1 s");
    pg_check_refused(&same_name, ARCP_E_EXISTS, "in use by node n1");
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"));
    rig_close(rig);
    rig_close(pg_open(server, "n2", "home 2")); /* it was given back */
}

/* Opens a store in a child, which writes a record and then waits to be killed. */
static pid_t start_node(const char *node, const char *home, uint64_t position)
{
    int fds[2];
    char byte = 0;
    assert_int_equal(pipe(fds), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        store_rig *rig = pg_open(server, node, home);
        const arcp_store_op op = op_append("s", position, "of a child");
        byte = rig_commit(rig, &op, 1) == ARCP_OK ? 'y' : 'n';
        (void)!write(fds[1], &byte, 1);
        for (;;) {
            pause();
        }
    }
    (void)close(fds[1]);
    assert_int_equal(read(fds[0], &byte, 1), 1);
    (void)close(fds[0]);
    assert_int_equal(byte, 'y');
    return pid;
}

static void end_node(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_killed_node_takes_its_store_back_at_once_and_another_one_after_its_lease(void **state)
{
    end_node(start_node("n1", "home 1", 0));
    store_rig *rig = pg_open(server, "n1", "home 1");
    check_read(rig, "s", 0, 0, "of a child");
    rig_close(rig);
    end_node(start_node("n1", "home 1", 1));
    rig = pg_open(server, "n2", "home 2");
    check_read(rig, "s", 0, 0, "of a child|of a child");
    rig_close(rig);
}

static void a_stopped_node_is_fenced_when_it_goes_on(void **state)
{
    const pid_t first = start_node("n1", "home 1", 0);
    (void)kill(first, SIGSTOP);
    store_rig *rig = pg_open(server, "n2", "home 2");
    check_commit(rig, ARCP_OK, op_append("s", 1, "of n2"));
    (void)kill(first, SIGCONT);
    check_commit(rig, ARCP_OK, op_append("s", 2, "of n2"));
    rig_close(rig);
    end_node(first);
}

static void databases_that_are_not_ours_are_refused(void **state)
{
    static const struct {
        const char *sql;
        const char *want;
    } cases[] = {
        {"CREATE SCHEMA arcp", "schema \"arcp\" is not one of arcpd"},
        {"CREATE SCHEMA arcp; CREATE TABLE arcp.settings(name text, value text)", "no version"},
        {"CREATE SCHEMA arcp; CREATE TABLE arcp.settings AS SELECT 'schema' AS name, '2' AS value",
         "the database has schema 2, which a newer version has written"},
        {"CREATE SCHEMA arcp; CREATE TABLE arcp.settings AS SELECT * FROM"
         " (VALUES ('schema', '1'), ('shards', '256')) AS t(name, value)",
         "made with 256 shards"},
    };
    const arcp__postgres_options options = pg_options(server, "n1", "home");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pg_rig_clear(server);
        (void)pg_rig_run(server, cases[i].sql);
        pg_check_refused(&options, ARCP_E_USAGE, cases[i].want);
    }
}

static void a_database_that_is_not_utf8_is_refused(void **state)
{
    char url[600];
    (void)pg_rig_run(server, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
    snprintf(url, sizeof url, "postgres://arcp@/latin?host=%s", server->path);
    arcp__postgres_options options = pg_options(server, "n1", "home");
    options.url = url;
    pg_check_refused(&options, ARCP_E_USAGE, "encoding is LATIN1; it must be UTF8");
    (void)pg_rig_run(server, "DROP DATABASE latin");
}

static void urls_that_cannot_be_used_are_refused(void **state)
{
    static const struct {
        const char *url;
        arcp_status status;
        const char *want;
    } cases[] = {
        {"postgres:arcp", ARCP_E_USAGE, "must begin with postgres://"},
        {"postgres://u:secret@/arcp", ARCP_E_USAGE, "has a password: put it into a passfile"},
        {"postgres:///arcp?password=secret", ARCP_E_USAGE, "has a password"},
        {"postgres:///arcp?sslpassword=secret", ARCP_E_USAGE, "has an sslpassword"},
        {"postgres:///arcp?nosuch=1", ARCP_E_USAGE, "cannot be read by libpq"},
        {"postgres://arcp@/arcp?host=/nonexistent", ARCP_E_IO, "/nonexistent"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        arcp__postgres_options options = pg_options(server, "n1", "home");
        options.url = cases[i].url;
        pg_check_refused(&options, cases[i].status, cases[i].want);
    }
}

/* ---- committed or not ---- */

static void nothing_is_lost_or_doubled_when_backends_are_terminated(void **state)
{
    pg_counter c = {.rig = pg_open(server, "n1", "home")};
    for (unsigned round = 0; round < 12; round++) {
        pg_count_to(&c, c.acknowledged + 1 + (uint64_t)round * 7, false);
        (void)pg_rig_run(server,
                         "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE " WRITER);
    }
    pg_count_to(&c, c.acknowledged + 20, false);
    pg_check_counted(&c, server);
    rig_close(c.rig);
}

static void nothing_is_lost_or_doubled_when_the_server_is_killed(void **state)
{
    pg_counter c = {.rig = pg_open(server, "n1", "home")};
    for (unsigned round = 0; round < 3; round++) {
        pg_count_to(&c, c.acknowledged + 50 + round, false);
        while (c.submitted < c.acknowledged + PG_AHEAD) { /* some are under way */
            pg_submit_number(&c);
        }
        pg_rig_kill(server);
        pg_rig_start(server);
        pg_count_to(&c, c.acknowledged + 50, true);
    }
    pg_check_counted(&c, server);
    rig_close(c.rig);
}

/* The answer to a batch is lost, and the outage is longer than the patience: the batch fails, and
 * when it is submitted again it is found to be there. */
static void a_batch_whose_answer_was_lost_is_not_written_twice(void **state)
{
    pg_counter c = {.rig = pg_open(server, "n1", "home")};
    pg_count_to(&c, 3, false);
    /* With a WARNING each answer is unknown; and no new connection is accepted. */
    (void)pg_rig_run(server, "CREATE FUNCTION arcp.late() RETURNS trigger LANGUAGE plpgsql AS"
                             " $$ BEGIN RAISE WARNING 'late'; RETURN NULL; END $$;"
                             "CREATE TRIGGER late AFTER INSERT ON arcp.runs"
                             " EXECUTE FUNCTION arcp.late()");
    (void)pg_rig_run_outside(server, "ALTER DATABASE arcp ALLOW_CONNECTIONS false");
    pg_submit_number(&c);
    const answer *got = rig_wait(c.rig, PG_FIRST_ID + 3);
    assert_int_equal(got->status, ARCP_E_IO);
    assert_non_null(strstr(got->message, "not currently accepting connections"));
    rig_forget(c.rig);
    c.submitted = 3;
    (void)pg_rig_run_outside(server, "ALTER DATABASE arcp ALLOW_CONNECTIONS true");
    (void)pg_rig_run(server, "DROP TRIGGER late ON arcp.runs");
    pg_count_to(&c, 30, true);
    pg_check_counted(&c, server);
    rig_close(c.rig);
}

/* A wait for the standby that is cancelled answers COMMIT with a WARNING. */
static void an_answer_with_a_warning_is_not_trusted(void **state)
{
    pg_counter c = {.rig = pg_open(server, "n1", "home")};
    pg_count_to(&c, 1, false);
    const long before = pg_rig_number(server, "SELECT epoch FROM arcp.shard");
    (void)pg_rig_run(server, "CREATE FUNCTION arcp.late() RETURNS trigger LANGUAGE plpgsql AS"
                             " $$ BEGIN RAISE WARNING 'late'; RETURN NULL; END $$;"
                             "CREATE TRIGGER late AFTER INSERT ON arcp.runs"
                             " EXECUTE FUNCTION arcp.late()");
    pg_count_to(&c, 2, false);
    assert_true(pg_rig_number(server, "SELECT epoch FROM arcp.shard") > before);
    (void)pg_rig_run(server, "DROP TRIGGER late ON arcp.runs");
    pg_count_to(&c, 10, false);
    pg_check_counted(&c, server);
    rig_close(c.rig);
}

/* What is unknown of a batch is no reason to fail those behind it. */
static void batches_behind_one_that_was_committed_do_not_fail(void **state)
{
    pg_counter c = {.rig = pg_open(server, "n1", "home")};
    pg_count_to(&c, 1, false);
    (void)pg_rig_run(server, "CREATE FUNCTION arcp.late() RETURNS trigger LANGUAGE plpgsql AS"
                             " $$ BEGIN RAISE WARNING 'late'; RETURN NULL; END $$;"
                             "CREATE TRIGGER late AFTER INSERT ON arcp.runs"
                             " EXECUTE FUNCTION arcp.late()");
    pg_count_to(&c, 40, false); /* up to PG_AHEAD wait at a time */
    (void)pg_rig_run(server, "DROP TRIGGER late ON arcp.runs");
    pg_count_to(&c, 50, false);
    pg_check_counted(&c, server);
    rig_close(c.rig);
}

/* Where the standby is missing, the cancelled batch is in the database, but may be lost. */
static void a_cancelled_wait_for_the_standby_is_not_taken_for_a_commit(void **state)
{
    static const char waiting[] =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND " WRITER;
    pg_counter c = {.rig = pg_open(server, "n1", "home")};
    pg_count_to(&c, 3, false);
    (void)pg_rig_run(server, "ALTER SYSTEM SET synchronous_standby_names = 'none'");
    (void)pg_rig_run(server, "SELECT pg_reload_conf()");
    do { /* until the server has read its configuration */
        rig_poll(c.rig);
        if (c.rig->count != 0 &&
            c.rig->answers[c.rig->count - 1].id == PG_FIRST_ID + c.acknowledged) {
            c.acknowledged++;
        }
        if (c.acknowledged == c.submitted) {
            pg_submit_number(&c);
        }
    } while (strcmp(pg_rig_run(server, waiting), "1") != 0);
    (void)pg_rig_run(server, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE " WRITER);
    assert_int_equal(rig_wait(c.rig, PG_FIRST_ID + c.acknowledged)->status, ARCP_E_IO);
    rig_forget(c.rig);
    c.submitted = c.acknowledged;
    (void)pg_rig_run(server, "ALTER SYSTEM RESET synchronous_standby_names");
    (void)pg_rig_run(server, "SELECT pg_reload_conf()");
    pg_count_to(&c, c.acknowledged + 20, true);
    pg_check_counted(&c, server);
    rig_close(c.rig);
}

static void a_server_that_hangs_is_left_and_its_transaction_ended(void **state)
{
    pg_counter c = {.rig = pg_open(server, "n1", "home")};
    pg_count_to(&c, 5, false);
    /* A stopped backend holds the lock of the shard's row until it is terminated. */
    const pid_t backend =
        (pid_t)pg_rig_number(server, "SELECT pid FROM pg_stat_activity WHERE " WRITER);
    assert_true(backend > 0);
    (void)kill(backend, SIGSTOP);
    pg_submit_number(&c);
    pg_count_to(&c, 6, true);
    (void)kill(backend, SIGCONT);
    pg_count_to(&c, 40, true);
    pg_check_counted(&c, server);
    rig_close(c.rig);
}

/* The answer to a scan that has failed is not that of the next request. */
static void a_late_answer_to_a_scan_is_not_used(void **state)
{
    arcp__postgres_options options = pg_options(server, "n1", "home");
    arcp_store *store = NULL;
    arcp_error err = {0};
    options.patience_ms = 1;
    check_ok(arcp__pg_store_open(&options, &store, &err), &err);
    store_rig *rig = rig_new(store);
    check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "k", "of a job"),
                 op_put(ARCP_STORE_SESSIONS, "k", "of a session"), op_append("s", 0, "a"));
    const pid_t backend =
        (pid_t)pg_rig_number(server, "SELECT pid FROM pg_stat_activity WHERE " READER);
    assert_true(backend > 0);
    (void)kill(backend, SIGSTOP);
    const answer *got = rig_wait(rig, rig_ask_scan(rig, ARCP_STORE_JOBS, ""));
    assert_int_equal(got->status, ARCP_E_IO);
    assert_non_null(strstr(got->message, "the server does not answer"));
    (void)kill(backend, SIGCONT);
    check_scan(rig, ARCP_STORE_SESSIONS, "", "k=of a session");
    check_read(rig, "s", 0, 0, "a");
    rig_close(rig);
}

static void reads_survive_a_backend_that_is_terminated(void **state)
{
    store_rig *rig = pg_open(server, "n1", "home");
    check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "k", "v"), op_append("s", 0, "a"));
    for (unsigned i = 0; i < 4; i++) {
        (void)pg_rig_run(server,
                         "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE " READER);
        if (i % 2 == 0) {
            check_read(rig, "s", 0, 0, "a");
        } else {
            check_scan(rig, ARCP_STORE_JOBS, "", "k=v");
        }
    }
    rig_close(rig);
}

/* ---- the end of a store ---- */

static void check_over(store_rig *rig, const char *message)
{
    const arcp_store_op op = op_append("s", 1, "late");
    const answer *got = rig_wait(rig, rig_submit(rig, &op, 1));
    assert_string_equal(arcp_status_name(got->status), "FENCED");
    assert_non_null(strstr(got->message, message));
    assert_int_equal(rig_wait(rig, rig_submit(rig, &op, 1))->status, ARCP_E_FENCED);
    assert_string_equal(pg_rig_run(server, "SELECT sum(count) FROM arcp.runs"), "1");
}

static void a_store_that_another_node_has_taken_is_over(void **state)
{
    store_rig *rig = pg_open(server, "n1", "home");
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"));
    (void)pg_rig_run(server, "UPDATE arcp.shard SET owner = 'n2', incarnation = 'x',"
                             " epoch = epoch + 1");
    check_over(rig, "another node has taken the store over");
    rig_close(rig);
    assert_string_equal(pg_rig_run(server, "SELECT owner FROM arcp.shard"), "n2");
}

static void a_database_that_lost_commits_ends_the_store(void **state)
{
    store_rig *rig = pg_open(server, "n1", "home");
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"));
    check_commit(rig, ARCP_OK, op_put(ARCP_STORE_JOBS, "k", "v"));
    (void)pg_rig_run(server, "DELETE FROM arcp.commits WHERE batch > 1");
    check_over(rig, "the database lost commits: transaction 2 was acknowledged, and the last one "
                    "that it has is 1");
    rig_close(rig);
}

/* ---- statements ---- */

static void a_batch_that_the_server_refuses_fails_alone(void **state)
{
    store_rig *rig = pg_open(server, "n1", "home");
    (void)pg_rig_run(server, "ALTER TABLE arcp.rows ADD CHECK (key <> 'bad')");
    const arcp_store_op good = op_put(ARCP_STORE_JOBS, "good", "v");
    const arcp_store_op bad = op_put(ARCP_STORE_JOBS, "bad", "v");
    const arcp_store_op behind = op_append("s", 0, "r");
    const uint64_t ids[] = {rig_submit(rig, &good, 1), rig_submit(rig, &bad, 1),
                            rig_submit(rig, &behind, 1)};
    assert_int_equal(rig_wait(rig, ids[0])->status, ARCP_OK);
    assert_int_equal(rig_wait(rig, ids[1])->status, ARCP_E_IO);
    assert_int_equal(rig_wait(rig, ids[2])->status, ARCP_E_IO);
    check_scan(rig, ARCP_STORE_JOBS, "", "good=v");
    check_commit(rig, ARCP_OK, op_append("s", 0, "r"));
    rig_close(rig);
}

static void an_append_at_0_to_a_stream_that_is_not_known_to_exist_fails(void **state)
{
    store_rig *rig = pg_open(server, "n1", "home");
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"));
    rig_close(rig);
    rig = pg_open(server, "n1", "home"); /* it knows no stream */
    check_commit(rig, ARCP_E_CORRUPT, op_append("s", 0, "again"));
    check_commit(rig, ARCP_OK, op_append("s", 1, "b"));
    check_read(rig, "s", 0, 0, "a|b");
    rig_close(rig);
}

static void the_fence_refuses_other_epochs_and_batches_out_of_order(void **state)
{
    static const char *const calls[] = {
        "arcp.fence('{0}', '{7}', '{1}')", "arcp.fence('{0}', '{2}', '{2}')",
        "arcp.fence('{1}', '{2}', '{1}')", "arcp.fence('{0,1}', '{2,2}', '{1,1}')"};
    rig_close(pg_open(server, "n1", "home")); /* epoch 2: one of the take, one of the connection */
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        char sql[400];
        snprintf(sql, sizeof sql,
                 "DO $$ BEGIN PERFORM %s; RAISE 'not refused'; EXCEPTION WHEN SQLSTATE 'ARCP1'"
                 " THEN NULL; END $$",
                 calls[i]);
        (void)pg_rig_run(server, sql);
    }
    (void)pg_rig_run(server, "SELECT arcp.fence('{0}', '{2}', '{1}')");
    assert_string_equal(pg_rig_run(server, "SELECT max(batch) FROM arcp.commits"), "1");
}

static void numbers_of_batches_do_not_pile_up(void **state)
{
    store_rig *rig = pg_open(server, "n1", "home");
    (void)pg_rig_run(server, "SELECT arcp.fence('{0}', '{2}', ARRAY[n]) FROM"
                             " generate_series(1, 1400) n");
    rig_close(rig);
    assert_string_equal(pg_rig_run(server, "SELECT min(batch) FROM arcp.commits"), "1024");
    assert_string_equal(pg_rig_run(server, "SELECT count(*) FROM arcp.commits"), "377");
}

/* ---- damage ---- */

static void note_line(void *user, const char *line)
{
    arcp_buf_append_cstr(user, line);
    arcp_buf_append_byte(user, '\n');
}

static void damage_is_reported_and_not_used(void **state)
{
    store_rig *rig = pg_open(server, "n1", "home");
    arcp__sqlite_found found;
    arcp_buf lines = arcp_buf_init();
    arcp_error err = {0};
    check_commit(rig, ARCP_OK, op_append("s", 0, "a"), op_put(ARCP_STORE_JOBS, "k", "v"));
    check_commit(rig, ARCP_OK, op_append("s", 1, "b"));
    check_ok(arcp__pg_store_check(server->url, note_line, &lines, &found, &err), &err);
    assert_int_equal(found.damages, 0);
    assert_int_equal(found.runs, 2);
    assert_int_equal(found.streams, 1);
    assert_int_equal(found.rows, 1);
    (void)pg_rig_run(server, "UPDATE arcp.runs SET data = 'x' WHERE first = 0");
    (void)pg_rig_run(server, "UPDATE arcp.rows SET value = 'x'");
    const answer *got = rig_read(rig, "s", 0);
    assert_int_equal(got->status, ARCP_E_CORRUPT);
    assert_non_null(strstr(got->message, "stream \"s\", the run at position 0 does not match"));
    assert_int_equal(rig_wait(rig, rig_ask_scan(rig, ARCP_STORE_JOBS, ""))->status, ARCP_E_CORRUPT);
    check_read(rig, "s", 1, 1, "b");
    check_ok(arcp__pg_store_check(server->url, note_line, &lines, &found, &err), &err);
    assert_int_equal(found.damages, 2);
    assert_string_equal(arcp_buf_cstr(&lines),
                        "table \"jobs\", the row of \"k\" does not match its checksum\n"
                        "stream \"s\", the run at position 0 does not match its checksum\n");
    arcp_buf_fini(&lines);
    rig_close(rig);
}

static void count_row(void *user, arcp_span key, arcp_span value)
{
    ++*(unsigned *)user;
}

/* No store writes such a row; its checksum can be right all the same. */
static void a_key_that_is_too_long_is_damage(void **state)
{
    char key[ARCP_STORE_KEY_BYTES_MAX + 2];
    char sql[ARCP_STORE_KEY_BYTES_MAX + 200];
    unsigned rows = 0;
    arcp_error err = {0};
    store_rig *rig = pg_open(server, "n1", "home");
    for (size_t size = ARCP_STORE_KEY_BYTES_MAX; size <= ARCP_STORE_KEY_BYTES_MAX + 1; size++) {
        memset(key, 'k', size);
        key[size] = '\0';
        const uint32_t crc =
            arcp__pg_crc_row(0, ARCP_STORE_JOBS, arcp_span_cstr(key), ARCP_SPAN_LITERAL("v"));
        snprintf(sql, sizeof sql, "INSERT INTO arcp.rows VALUES (0, %d, '%s', 'v', %d)",
                 (int)ARCP_STORE_JOBS, key, (int)crc);
        (void)pg_rig_run(server, sql);
        const arcp_status want = size > ARCP_STORE_KEY_BYTES_MAX ? ARCP_E_CORRUPT : ARCP_OK;
        assert_int_equal(rig_wait(rig, rig_ask_scan(rig, ARCP_STORE_JOBS, ""))->status, want);
        assert_int_equal(
            arcp__pg_store_each_row(server->url, ARCP_STORE_JOBS, count_row, &rows, &err), want);
    }
    assert_int_equal(rows, 1);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_second_node_is_refused_while_the_first_one_beats, clear),
        cmocka_unit_test_setup(
            a_killed_node_takes_its_store_back_at_once_and_another_one_after_its_lease, clear),
        cmocka_unit_test_setup(a_stopped_node_is_fenced_when_it_goes_on, clear),
        cmocka_unit_test_setup(databases_that_are_not_ours_are_refused, clear),
        cmocka_unit_test_setup(a_database_that_is_not_utf8_is_refused, clear),
        cmocka_unit_test_setup(urls_that_cannot_be_used_are_refused, clear),
        cmocka_unit_test_setup(nothing_is_lost_or_doubled_when_backends_are_terminated, clear),
        cmocka_unit_test_setup(nothing_is_lost_or_doubled_when_the_server_is_killed, clear),
        cmocka_unit_test_setup(a_batch_whose_answer_was_lost_is_not_written_twice, clear),
        cmocka_unit_test_setup(an_answer_with_a_warning_is_not_trusted, clear),
        cmocka_unit_test_setup(batches_behind_one_that_was_committed_do_not_fail, clear),
        cmocka_unit_test_setup(a_cancelled_wait_for_the_standby_is_not_taken_for_a_commit, clear),
        cmocka_unit_test_setup(a_server_that_hangs_is_left_and_its_transaction_ended, clear),
        cmocka_unit_test_setup(a_late_answer_to_a_scan_is_not_used, clear),
        cmocka_unit_test_setup(reads_survive_a_backend_that_is_terminated, clear),
        cmocka_unit_test_setup(a_store_that_another_node_has_taken_is_over, clear),
        cmocka_unit_test_setup(a_database_that_lost_commits_ends_the_store, clear),
        cmocka_unit_test_setup(a_batch_that_the_server_refuses_fails_alone, clear),
        cmocka_unit_test_setup(an_append_at_0_to_a_stream_that_is_not_known_to_exist_fails, clear),
        cmocka_unit_test_setup(the_fence_refuses_other_epochs_and_batches_out_of_order, clear),
        cmocka_unit_test_setup(numbers_of_batches_do_not_pile_up, clear),
        cmocka_unit_test_setup(damage_is_reported_and_not_used, clear),
        cmocka_unit_test_setup(a_key_that_is_too_long_is_damage, clear),
    };
    server = pg_rig_new(false);
    if (server == NULL) {
        return PG_RIG_SKIPPED;
    }
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    pg_rig_free(server);
    return failures;
}
