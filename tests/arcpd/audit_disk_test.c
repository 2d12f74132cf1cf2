/* A disk on which a write to arcpd's audit log does not end: which responses wait for their lines.
 */
#include "support/check.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcpd/store_daemon.h"

typedef struct fixture {
    daemon_state daemon;
    char orders[96];
    char environment[160];
    wire wire;
} fixture;

/* A session is open, and writes to the audit log do not end until release(). */
static void begin(fixture *f, const char *config)
{
    wire_session session;
    daemon_begin(&f->daemon, &(daemon_options){.config = config});
    (void)snprintf(f->orders, sizeof f->orders, "%s/disk", f->daemon.directory);
    (void)snprintf(f->environment, sizeof f->environment, "ARCP_TEST_DISK=%s", f->orders);
    f->daemon.options.environment = f->environment;
    f->daemon.options.preload = ARCP_BINARY_DIR "/tests/failing_disk.so";
    daemon_start(&f->daemon);
    wire_open(&f->wire, f->daemon.port);
    wire_hello(&f->wire, "t-alice", &session);
    store_file_write(f->orders, "b");
}

static void release(const fixture *f)
{
    assert_int_equal(unlink(f->orders), 0);
}

static void end(fixture *f)
{
    wire_close(&f->wire);
    daemon_end(&f->daemon);
}

static bool has_logged(const fixture *f, const char *text)
{
    char *errors = daemon_errors(&f->daemon);
    const bool found = strstr(errors, text) != NULL;
    free(errors);
    return found;
}

/* How many submits the audit log has. */
static unsigned recorded(const fixture *f)
{
    char path[96];
    char line[4096];
    unsigned count = 0;
    (void)snprintf(path, sizeof path, "%s/audit.jsonl", f->daemon.directory);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        count += strstr(line, "\"event\":\"submit\"") != NULL;
    }
    assert_int_equal(fclose(file), 0);
    return count;
}

static void with_deny_a_response_waits_for_its_line(void **state)
{
    fixture f = {0};
    arcp_span frame;
    (void)state;
    begin(&f, "audit: {on_failure: deny}\n");
    store_submit(&f.wire, "one", 1, 10, "result");
    while (!has_logged(&f, "responses wait for it (audit.on_failure: deny)")) {
        (void)poll(NULL, 0, 1);
    }
    assert_false(wire_fill(&f.wire, 0) || wire_next(&f.wire, &frame));
    assert_int_equal(recorded(&f), 0);
    release(&f);
    (void)wire_await_type(&f.wire, "job.accepted");
    daemon_kill(&f.daemon);
    assert_int_equal(recorded(&f), 1);
    end(&f);
}

static void with_continue_a_response_does_not_wait_long_for_its_line(void **state)
{
    fixture f = {0};
    (void)state;
    begin(&f, "audit: {on_failure: continue}\n");
    store_submit(&f.wire, "one", 1, 10, "result");
    (void)wire_await_type(&f.wire, "job.accepted");
    assert_int_equal(recorded(&f), 0);
    assert_true(has_logged(&f, "responses do not wait for it (audit.on_failure: continue)"));
    release(&f);
    assert_int_equal(daemon_stop(&f.daemon), 0);
    assert_int_equal(recorded(&f), 1);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_deny_a_response_waits_for_its_line),
        cmocka_unit_test(with_continue_a_response_does_not_wait_long_for_its_line),
    };
    (void)umask(077); /* as arcpd makes its store */
    return cmocka_run_group_tests_name("arcpd_audit_disk", tests, NULL, NULL);
}
