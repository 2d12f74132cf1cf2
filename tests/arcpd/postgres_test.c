/* What people see of an arcpd whose store is in PostgreSQL. */
#include "support/check.h"

#include <stdarg.h>
#include <sys/wait.h>

#include "arcpd/store_daemon.h"
#include "support/pg_rig.h"

static pg_rig *server;

static int clear(void **state)
{
    pg_rig_clear(server);
    return 0;
}

/* Runs a command that must exit with `status` and print `part`. */
static void check_command(int status, const char *part, const char *format, ...) ARCP_PRINTF(3, 4);

static void check_command(int status, const char *part, const char *format, ...)
{
    char command[1200];
    char output[4096];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    assert_in_range(size, 1, 1000);
    (void)strcat(command, " 2>&1");
    FILE *pipe = popen(command, "re"); /* NOLINT(cert-env33-c): words of this file */
    assert_non_null(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
    const int end = pclose(pipe);
    if (!WIFEXITED(end) || WEXITSTATUS(end) != status || strstr(output, part) == NULL) {
        fail_msg("%s: status %d, want %d and \"%s\": %s", command, WEXITSTATUS(end), status, part,
                 output);
    }
}

static void jobs_and_sessions_are_there_after_a_restart(void **state)
{
    daemon_state d;
    wire w;
    wire_session session;
    daemon_begin(&d, &(daemon_options){.store = server->url});
    store_make(&d, &session);
    assert_string_equal(pg_rig_run(server, "SELECT coalesce(owner, 'none') FROM arcp.shard"),
                        "none"); /* it was given back */
    assert_string_equal(pg_rig_run(server, "SELECT value::json->>'status' FROM arcp.jobs"),
                        "success");
    daemon_start(&d);
    wire_open(&w, d.port);
    wire_resume(&w, "t-alice", &session, 0);
    assert_int_equal(wire_seq(wire_await_type(&w, "job.result")), 3);
    wire_close(&w);
    daemon_kill(&d);
    daemon_start(&d); /* at once: no other arcpd can have the lock of its state directory */
    daemon_end(&d);
}

static void a_store_of_a_living_arcpd_is_refused(void **state)
{
    daemon_state first;
    daemon_state second;
    daemon_begin(&first, &(daemon_options){.store = server->url});
    daemon_begin(&second, &(daemon_options){.store = server->url});
    daemon_start(&first);
    store_check_refused(&second, ", whose lease ends in 15 s; stop it, or choose another store");
    daemon_end(&second);
    daemon_end(&first);
}

static void an_arcpd_whose_store_was_taken_ends(void **state)
{
    daemon_state d;
    wire w;
    wire_session session;
    daemon_begin(&d, &(daemon_options){.store = server->url});
    daemon_start(&d);
    wire_open(&w, d.port);
    wire_hello(&w, "t-alice", &session);
    (void)pg_rig_run(server, "UPDATE arcp.shard SET owner = 'n2', incarnation = 'x',"
                             " epoch = epoch + 1");
    store_submit(&w, "late", 1, 10, "result");
    assert_int_equal(wire_await_close(&w), 1011);
    wire_close(&w);
    siginfo_t end;
    assert_int_equal(waitid(P_PID, (id_t)d.pid, &end, WEXITED | WNOWAIT), 0);
    char *errors = daemon_errors(&d);
    assert_non_null(strstr(errors, "another node has taken the store over"));
    assert_non_null(strstr(
        errors, "the store was taken over, or has lost commits: every connection was closed"));
    free(errors);
    assert_string_equal(pg_rig_run(server, "SELECT count(*) FROM arcp.jobs"), "0");
    assert_int_equal(daemon_stop(&d), 1);
    daemon_end(&d);
}

static void commands_take_the_url(void **state)
{
    static const char arcp[] = ARCP_BINARY_DIR "/bin/arcp";
    static const char arcpd[] = ARCP_BINARY_DIR "/bin/arcpd";
    daemon_state d;
    wire_session session;
    check_command(1, "the database has no store", "%s --check-store --store '%s'", arcpd,
                  server->url);
    daemon_begin(&d, &(daemon_options){.store = server->url});
    store_make(&d, &session);
    check_command(0, ": no damage: ", "%s --check-store --store '%s'", arcpd, server->url);
    check_command(0, "", "%s credentials --store '%s'", arcp, server->url);
    check_command(2, "pg_dump --schema=arcp", "%s store backup --store '%s' /tmp/none", arcp,
                  server->url);
    check_command(2, "pg_dump --schema=arcp", "%s store restore --store '%s' /tmp/none", arcp,
                  server->url);
    check_command(1, "has a password: put it into a passfile",
                  "%s --check-store --store 'postgres://u:p@/arcp'", arcpd);
    (void)pg_rig_run(server, "UPDATE arcp.rows SET value = '{}'");
    check_command(1, "does not match its checksum", "%s --check-store --store '%s'", arcpd,
                  server->url);
    store_check_refused(&d, "postgres: damaged: table");
    daemon_end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(jobs_and_sessions_are_there_after_a_restart, clear),
        cmocka_unit_test_setup(a_store_of_a_living_arcpd_is_refused, clear),
        cmocka_unit_test_setup(an_arcpd_whose_store_was_taken_ends, clear),
        cmocka_unit_test_setup(commands_take_the_url, clear),
    };
    server = pg_rig_new(false);
    if (server == NULL) {
        return PG_RIG_SKIPPED;
    }
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    pg_rig_free(server);
    return failures;
}
