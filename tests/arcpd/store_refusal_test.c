/* A store that cannot be used, seen from outside arcpd: a clear error and exit status 1 at
 * start; while it runs, errors that peers may act on, and nothing shown that is not kept. */
#include "support/check.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcpd/daemon.h"
#include "arcpd/wire.h"
#include "store/sql_sealed.h"

/* ---- helpers ---- */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void check_refused(daemon_state *d, const char *text)
{
    daemon_launch(d);
    if (daemon_await(d)) {
        fail_msg("arcpd is ready, want: %s", text);
    }
    char *errors = daemon_errors(d);
    if (d->exit_status != 1 || strstr(errors, text) == NULL) {
        fail_msg("exit status %d, want 1 and \"%s\": %s", d->exit_status, text, errors);
    }
    free(errors);
}

static void submit(wire *w, const char *id, unsigned events, unsigned bytes, const char *end)
{
    wire_send(w,
              "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
              "\"load\",\"idempotency_key\":\"%s\",\"input\":{\"events\":%u,\"bytes\":%u,\"end\":"
              "\"%s\"}}}",
              id, id, events, bytes, end);
}

/* A store with a finished job of three records, the session that saw them, and no arcpd. */
static void make_store(daemon_state *d, wire_session *session)
{
    wire w;
    daemon_start(d);
    wire_open(&w, d->port);
    wire_hello(&w, "t-alice", session);
    submit(&w, "first", 1, 10, "result");
    assert_int_equal(wire_seq(wire_await_type(&w, "job.result")), 3);
    wire_close(&w);
    assert_int_equal(daemon_stop(d), 0);
}

static void check_whole(daemon_state *d, wire_session *session)
{
    wire w;
    daemon_start(d);
    wire_open(&w, d->port);
    wire_resume(&w, "t-alice", session, 0);
    assert_int_equal(wire_seq(wire_await_type(&w, "job.result")), 3);
    wire_close(&w);
    assert_int_equal(daemon_stop(d), 0);
}

/* ---- at start ---- */

static void a_second_arcpd_is_told_that_the_store_is_in_use_and_the_first_goes_on(void **state)
{
    daemon_state first;
    daemon_state second;
    wire_session session;
    wire w;
    char url[160];
    (void)state;
    daemon_begin(&first, NULL);
    daemon_start(&first);
    (void)snprintf(url, sizeof(url), "sqlite:%s", first.store);
    daemon_begin(&second, &(daemon_options){.store = url});
    check_refused(&second, "in use by another process");
    wire_open(&w, first.port);
    wire_hello(&w, "t-alice", &session);
    submit(&w, "one", 1, 1, "result");
    assert_int_equal(wire_seq(wire_await_type(&w, "job.result")), 3);
    wire_close(&w);
    assert_int_equal(daemon_stop(&first), 0);
    /* Now it is free. */
    daemon_start(&second);
    assert_int_equal(daemon_stop(&second), 0);
    daemon_end(&second);
    daemon_end(&first);
}

static void what_is_no_store_is_refused(void **state)
{
    const struct {
        const char *sql; /* NULL: the text is the file */
        const char *text;
        const char *refusal;
    } rows[] = {
        {NULL, "this is a letter, and long enough to be looked at as a database would be.......",
         "file is not a database"},
        {"CREATE TABLE letters(text)", NULL, "the database of another program"},
        {"PRAGMA application_id = 1095910224; PRAGMA user_version = 999;", NULL,
         "written by a newer version (schema 999, this program knows "},
    };
    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        daemon_state d;
        daemon_begin(&d, NULL);
        if (rows[row].sql != NULL) {
            sql_change(d.store, rows[row].sql);
        } else {
            write_file(d.store, rows[row].text);
        }
        check_refused(&d, rows[row].refusal);
        daemon_end(&d);
    }
}

static void paths_that_cannot_be_a_store_are_refused(void **state)
{
    const struct {
        const char *url;
        const char *refusal;
    } rows[] = {{"sqlite:/dev/null", "/dev/null: not a regular file"},
                {"sqlite:/dev/null/arcp.db", "/dev/null/arcp.db"},
                {"sqlite:/proc/arcp.db", "/proc/arcp.db"}};
    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        daemon_state d;
        daemon_begin(&d, &(daemon_options){.store = rows[row].url});
        check_refused(&d, rows[row].refusal);
        daemon_end(&d);
    }
}

static void a_url_that_names_no_store_is_bad_usage(void **state)
{
    daemon_state d;
    (void)state;
    daemon_begin(&d, &(daemon_options){.store = "postgres:x"});
    daemon_launch(&d);
    assert_false(daemon_await(&d));
    assert_int_equal(d.exit_status, 2);
    daemon_end(&d);
}

/* What is stored cannot be taken up whole: no part of it is served. */
static void damaged_rows_and_indexes_are_refused_by_name(void **state)
{
    const struct {
        const char *sql;
        const char *refusal;
    } rows[] = {
        {"UPDATE sessions SET value = '{'", "is damaged"},
        {"UPDATE jobs SET value = '{}'", "the stored job \"job_"},
        /* It would be reason enough to forget all others. */
        {"UPDATE jobs SET value = json_set(value, '$.bytes', 1125899906842625)",
         "the stored job \"job_"},
        {"UPDATE jobs SET value = json_set(value, '$.status', 'dreaming')",
         "the stored job \"job_"},
        {"UPDATE jobs SET value = json_set(value, '$.idempotency.fingerprint', "
         "replace(printf('%064d', 0), '0', '!'))",
         "the stored job \"job_"},
        {"UPDATE jobs SET value = json_set(value, '$.idempotency.expires_at', 'never')",
         "the stored job \"job_"},
        {"INSERT INTO idempotency VALUES('x', '[]', 0)",
         "the stored idempotency key \"x\" is damaged"},
        {"INSERT INTO idempotency SELECT 'x', json_object('key', 'a', 'job_id', key, "
         "'fingerprint', 'short', 'expires_at', value ->> '$.accepted.accepted_at', 'accepted', "
         "json('{}')), 0 FROM jobs WHERE key NOT LIKE '%/%'",
         "the stored idempotency key \"x\" is damaged"},
        {"INSERT INTO jobs SELECT key || '0123456789', value, 0 FROM jobs WHERE key NOT LIKE '%/%'",
         "the stored job \"job_"},
        {"UPDATE sessions SET value = json_set(value, '$.session_id', 'sess_x')",
         "the stored session \"sess_"},
        {"INSERT INTO subscriptions VALUES('x', '{', 0)",
         "the stored subscription \"x\" is damaged"},
        {"INSERT INTO subscriptions VALUES('x', '{\"session_id\":7}', 0)",
         "the stored subscription \"x\" is damaged"},
        /* A run has as many records as its commits were written together. */
        {"UPDATE runs SET data = substr(replace(printf('%.*c', count, 'y'), 'y', char(10) || 'x'), "
         "2), bytes = 2 * count - 1 WHERE id >> 38 = (SELECT id FROM streams WHERE key LIKE 'x:%' "
         "ORDER BY key LIMIT 1)",
         "is damaged"},
        /* A run that begins where the one before it does not end. */
        {"UPDATE runs SET data = replace(data, '\"seq\":1,', '\"seq\":2,') WHERE id >> 38 = "
         "(SELECT id FROM streams WHERE key LIKE 'x:%' ORDER BY key LIMIT 1)",
         "is damaged"},
        /* The last records of the job are gone, or all of them. */
        {"DELETE FROM runs WHERE id = (SELECT max(id) FROM runs WHERE id >> 38 = (SELECT id FROM "
         "streams WHERE key LIKE 'j:%'))",
         "is damaged: it ends after record "},
        {"DELETE FROM runs WHERE id >> 38 = (SELECT id FROM streams WHERE key LIKE 'j:%')",
         "is damaged: it ends after record 0 of 3"},
        {"DELETE FROM streams WHERE key LIKE 'j:%'", "the stored stream \"j:job_"},
    };
    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        daemon_state d;
        wire_session session;
        daemon_begin(&d, NULL);
        make_store(&d, &session);
        sql_change_sealed(d.store, rows[row].sql);
        check_refused(&d, rows[row].refusal);
        daemon_end(&d);
    }
}

/* ---- backups ---- */

/* The exit status of `program words STORE last`. */
static int command(const daemon_state *d, const char *words, const char *last)
{
    char line[1024];
    (void)snprintf(line, sizeof(line), "%s/bin/%s%s %s >/dev/null 2>&1", ARCP_BINARY_DIR, words,
                   d->store, last);
    int status = system(line); /* NOLINT(cert-env33-c): words of this file */
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define CHECK "arcpd --check-store --store sqlite:"

/* The client went on after the backup: it knows numbers that would be given to other events. */
static void a_restored_backup_has_its_jobs_and_resumes_no_session(void **state)
{
    daemon_state d;
    wire_session session;
    wire w;
    char backup[256];
    (void)state;
    daemon_begin(&d, NULL);
    (void)snprintf(backup, sizeof(backup), "%s/backup.db", d.directory);
    daemon_start(&d);
    wire_open(&w, d.port);
    wire_hello(&w, "t-alice", &session);
    submit(&w, "first", 1, 10, "result");
    assert_int_equal(wire_seq(wire_await_type(&w, "job.result")), 3);
    assert_int_equal(command(&d, "arcp store backup --store ", backup), 0);
    assert_int_equal(command(&d, "arcp store restore --store ", backup), 1); /* in use */
    assert_int_equal(command(&d, CHECK, ""), 1);
    submit(&w, "second", 1, 10, "result");
    assert_int_equal(wire_seq(wire_await_type(&w, "job.result")), 6);
    wire_close(&w);
    assert_int_equal(daemon_stop(&d), 0);
    assert_int_equal(command(&d, "arcp store restore --store ", backup), 0);
    assert_int_equal(command(&d, CHECK, ""), 0);
    daemon_start(&d);
    wire_open(&w, d.port);
    wire_send_resume(&w, "t-alice", &session, 3);
    check_span(wire_text(wire_await_type(&w, "session.error"), "code"), "RESUME_WINDOW_EXPIRED");
    wire_close(&w);
    wire_open(&w, d.port);
    wire_hello(&w, "t-alice", &session);
    wire_send(&w, "{\"arcp\":\"1.1\",\"id\":\"l\",\"type\":\"session.list_jobs\",\"payload\":{}}");
    arcp_span jobs = wire_await_type(&w, "session.jobs");
    const char *first = memmem(jobs.data, jobs.size, "\"job_id\"", 8);
    assert_non_null(first);
    assert_null(memmem(first + 8, (size_t)(jobs.data + jobs.size - first) - 8, "\"job_id\"", 8));
    wire_close(&w);
    assert_int_equal(daemon_stop(&d), 0);
    sql_change(d.store, "UPDATE jobs SET value = '{}'");
    assert_int_equal(command(&d, CHECK, ""), 1);
    daemon_end(&d);
}

/* ---- a store of the first version ---- */

static char *read_file(const char *path)
{
    struct stat about;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &about), 0);
    char *text = calloc(1, (size_t)about.st_size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)about.st_size, file), about.st_size);
    assert_int_equal(fclose(file), 0);
    return text;
}

/* What no code of the store wrote: bytes that changed on the disk, or an editor's. */
static void what_does_not_match_its_checksum_is_refused_by_name(void **state)
{
    const struct {
        const char *sql;
        const char *refusal;
    } rows[] = {
        {"UPDATE jobs SET value = replace(value, 'success', 'running') WHERE key NOT LIKE '%/%'",
         "damaged: table \"jobs\", the row of \"job_"},
        {"DELETE FROM jobs", "damaged: table \"jobs\" has 0 rows where "},
        {"UPDATE runs SET data = replace(data, '\"seq\":1,', '\"seq\":2,') WHERE id >> 38 = "
         "(SELECT id FROM streams WHERE key LIKE 'x:%' ORDER BY key LIMIT 1)",
         "damaged: stream \"x:sess_"},
        {"DELETE FROM runs WHERE id = (SELECT max(id) FROM runs WHERE id >> 38 = (SELECT id FROM "
         "streams WHERE key LIKE 'j:%'))",
         "damaged: stream \"j:job_"},
        {"DELETE FROM streams WHERE key LIKE 'j:%'", "damaged: table \"streams\" has "},
    };
    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        daemon_state d;
        wire_session session;
        daemon_begin(&d, NULL);
        make_store(&d, &session);
        sql_change(d.store, rows[row].sql);
        check_refused(&d, rows[row].refusal);
        daemon_end(&d);
    }
}

static void what_the_first_version_left_is_taken_up(void **state)
{
    static const char job[] = "job_01M7YT3C043GQFR13K58D2ABN9";
    wire_session session = {"sess_01M7YT3BZV8HE0YYCHPX4VX62N",
                            "rt_Etqolu9Ll6Y3OR7cpgnePrJz3jea_UmxbkWc7TYl-uY"};
    daemon_state d;
    wire w;
    (void)state;
    char *sql = read_file(ARCP_SOURCE_DIR "/tests/arcpd/store-1.sql");
    daemon_begin(&d, NULL);
    sql_change(d.store, sql);
    free(sql);
    /* As if it were today. */
    sql_change(d.store,
               "UPDATE jobs SET value = json_set(value, '$.ended_at', "
               "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) WHERE value ->> '$.status' = 'success';"
               "UPDATE idempotency SET value = json_set(value, '$.expires_at', "
               "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 day'))");
    daemon_start(&d);
    wire_open(&w, d.port);
    wire_resume(&w, "t-alice", &session, 3);
    arcp_span frame = wire_await_type(&w, "job.result");
    assert_int_equal(wire_seq(frame), 4);
    check_span(wire_text(frame, "job_id"), job);
    frame = wire_await_type(&w, "job.error");
    assert_int_equal(wire_seq(frame), 7);
    check_span(wire_text(frame, "code"), "INTERNAL_ERROR");
    wire_send(&w, "{\"arcp\":\"1.1\",\"id\":\"again\",\"type\":\"job.submit\",\"payload\":{"
                  "\"agent\":\"load\",\"idempotency_key\":\"first\",\"input\":{\"events\":2,"
                  "\"bytes\":10,\"end\":\"result\"},\"lease_request\":{\"fs.read\":["
                  "\"/srv/**\"],\"cost.budget\":[\"USD:5\"]}}}");
    check_span(wire_text(wire_await_type(&w, "job.accepted"), "job_id"), job);
    wire_close(&w);
    assert_int_equal(daemon_stop(&d), 0);
    daemon_end(&d);
}

/* ---- a disk that fails ---- */

typedef struct disk {
    char orders[96];
    char environment[160];
} disk;

/* The daemon's next start is on a disk that takes orders. */
static void disk_begin(disk *out, daemon_state *d)
{
    (void)snprintf(out->orders, sizeof(out->orders), "%s/disk", d->directory);
    (void)snprintf(out->environment, sizeof(out->environment), "ARCP_TEST_DISK=%s", out->orders);
    d->options.environment = out->environment;
    d->options.preload = ARCP_BINARY_DIR "/tests/failing_disk.so";
}

static void begin_with_store(disk *out, daemon_state *d, wire_session *session)
{
    daemon_begin(d, NULL);
    make_store(d, session);
    disk_begin(out, d);
}

static void a_disk_that_cannot_be_read_refuses_the_start_and_loses_nothing(void **state)
{
    daemon_state d;
    disk broken;
    wire_session session;
    (void)state;
    begin_with_store(&broken, &d, &session);
    write_file(broken.orders, "r");
    check_refused(&d, "disk I/O error");
    assert_int_equal(unlink(broken.orders), 0);
    check_whole(&d, &session);
    daemon_end(&d);
}

/* Everything is read until the session's records are: then the disk fails. A start that is
 * refused has written a page to the write-ahead log, which is one more read of the next start
 * before those of the records: so two more reads each time fail at the next read of a record. */
static void a_disk_that_fails_in_the_middle_of_the_start_loses_nothing(void **state)
{
    daemon_state d;
    disk broken;
    wire_session session;
    (void)state;
    begin_with_store(&broken, &d, &session);
    bool started = false;
    for (int after = 1; !started; after += 2) {
        char orders[16];
        (void)snprintf(orders, sizeof(orders), "r%d", after);
        write_file(broken.orders, orders);
        daemon_launch(&d);
        started = daemon_await(&d);
        if (!started) {
            char *errors = daemon_errors(&d);
            if (d.exit_status != 1 || strstr(errors, "arcp.db: ") == NULL) {
                fail_msg("read %d fails: exit status %d: %s", after, d.exit_status, errors);
            }
            free(errors);
        }
        assert_true(after < 10000);
    }
    daemon_kill(&d);
    assert_int_equal(unlink(broken.orders), 0);
    check_whole(&d, &session);
    daemon_end(&d);
}

/* ---- while it runs ---- */

/* A store that stops taking writes when `stop` is called, and takes them again after `go`. */
typedef struct outage {
    void (*stop)(daemon_state *d, disk *broken);
    void (*go)(daemon_state *d, disk *broken);
} outage;

#define EVENTS 20000u
#define LAST   (EVENTS + 2 + 3) /* with `running` and the result, and those of a second job */

/* Reads until the connection ends; every event_seq is one more than the last. */
static uint64_t take_until_the_end(wire *w, uint64_t seq, bool *was_told)
{
    arcp_span frame;
    *was_told = false;
    do {
        while (wire_next(w, &frame)) {
            if (wire_seq(frame) != 0) {
                assert_int_equal(wire_seq(frame), ++seq);
            } else if (wire_is(frame, "session.error")) {
                check_span(wire_text(frame, "code"), "INTERNAL_ERROR");
                assert_non_null(memmem(frame.data, frame.size, "\"retryable\":true", 16));
                *was_told = true;
            }
        }
    } while (wire_fill(w, WIRE_PATIENCE_MS));
    return seq;
}

/* Until it is served again. */
static void resume_patiently(daemon_state *d, wire *w, wire_session *session, uint64_t seen)
{
    int64_t until_ns = daemon_now_ns() + WIRE_PATIENCE_MS * INT64_C(1000000);
    for (;;) {
        wire_open(w, d->port);
        wire_send_resume(w, "t-alice", session, seen);
        arcp_span frame = wire_await(w);
        if (wire_is(frame, "session.welcome")) {
            wire_take_welcome(frame, session);
            return;
        }
        assert_true(wire_is(frame, "session.error"));
        assert_true(daemon_now_ns() < until_ns);
        wire_close(w);
    }
}

/* Everything after `seen`, each once, up to the end of both jobs. */
static void check_rest(wire *w, uint64_t seen)
{
    unsigned ends = 0;
    while (seen < LAST) {
        arcp_span frame = wire_await(w);
        if (wire_seq(frame) != 0) {
            assert_int_equal(wire_seq(frame), ++seen);
            ends += wire_is(frame, "job.result");
        }
    }
    assert_true(ends <= 2);
}

static void check_outage(const outage *what)
{
    daemon_state d;
    disk broken;
    wire_session session;
    wire w;
    bool was_told = false;
    daemon_begin(&d, NULL);
    disk_begin(&broken, &d);
    daemon_start(&d);
    wire_open(&w, d.port);
    wire_hello(&w, "t-alice", &session);
    submit(&w, "one", EVENTS, 200, "result");
    uint64_t seen = 0;
    while (seen < 100) {
        seen += wire_seq(wire_await(&w)) != 0;
    }
    what->stop(&d, &broken);
    submit(&w, "two", 1, 200, "result"); /* something to be written, if all else is */
    seen = take_until_the_end(&w, seen, &was_told);
    assert_true(was_told);
    wire_close(&w);
    /* A stranger is told as well, and gets no session that would be forgotten. */
    wire_open(&w, d.port);
    wire_send_hello(&w, "t-bob");
    arcp_span frame = wire_await(&w);
    assert_true(wire_is(frame, "session.error"));
    check_span(wire_text(frame, "code"), "INTERNAL_ERROR");
    wire_close(&w);
    what->go(&d, &broken);
    resume_patiently(&d, &w, &session, seen);
    submit(&w, "two", 1, 200, "result"); /* the same job, or the first that arrives */
    check_rest(&w, seen);
    wire_close(&w);
    assert_int_equal(daemon_stop(&d), 0);
    daemon_start(&d);
    resume_patiently(&d, &w, &session, 0);
    check_rest(&w, 0);
    wire_close(&w);
    assert_int_equal(daemon_stop(&d), 0);
    daemon_end(&d);
}

static void break_writes(daemon_state *d, disk *broken)
{
    (void)d;
    write_file(broken->orders, "w");
}

static void break_syncs(daemon_state *d, disk *broken)
{
    (void)d;
    write_file(broken->orders, "s");
}

static void mend(daemon_state *d, disk *broken)
{
    (void)d;
    assert_int_equal(unlink(broken->orders), 0);
}

static void nothing_is_lost_while_the_disk_cannot_be_written(void **state)
{
    (void)state;
    check_outage(&(outage){break_writes, mend});
}

static void nothing_is_lost_while_the_disk_cannot_be_synced(void **state)
{
    (void)state;
    check_outage(&(outage){break_syncs, mend});
}

/* No file may be larger than it is: the disk is full for whatever has to grow. */
static void fill_up(daemon_state *d, disk *broken)
{
    struct rlimit limit;
    (void)broken;
    assert_int_equal(prlimit(d->pid, RLIMIT_FSIZE, NULL, &limit), 0);
    limit.rlim_cur = 1;
    assert_int_equal(prlimit(d->pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

static void make_room(daemon_state *d, disk *broken)
{
    struct rlimit limit;
    (void)broken;
    assert_int_equal(prlimit(d->pid, RLIMIT_FSIZE, NULL, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(prlimit(d->pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

static void nothing_is_lost_while_the_disk_is_full(void **state)
{
    (void)state;
    check_outage(&(outage){fill_up, make_room});
}

/* The same limit before it starts: there is not even room for an empty store. */
static void a_full_disk_refuses_the_start_of_a_new_store(void **state)
{
    daemon_state d;
    (void)state;
    daemon_begin(&d, &(daemon_options){.file_bytes_max = 4096});
    check_refused(&d, "arcp.db: ");
    d.options.file_bytes_max = 0;
    daemon_start(&d);
    assert_int_equal(daemon_stop(&d), 0);
    daemon_end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_arcpd_is_told_that_the_store_is_in_use_and_the_first_goes_on),
        cmocka_unit_test(what_is_no_store_is_refused),
        cmocka_unit_test(paths_that_cannot_be_a_store_are_refused),
        cmocka_unit_test(a_url_that_names_no_store_is_bad_usage),
        cmocka_unit_test(damaged_rows_and_indexes_are_refused_by_name),
        cmocka_unit_test(what_does_not_match_its_checksum_is_refused_by_name),
        cmocka_unit_test(a_restored_backup_has_its_jobs_and_resumes_no_session),
        cmocka_unit_test(what_the_first_version_left_is_taken_up),
        cmocka_unit_test(a_disk_that_cannot_be_read_refuses_the_start_and_loses_nothing),
        cmocka_unit_test(a_disk_that_fails_in_the_middle_of_the_start_loses_nothing),
        cmocka_unit_test(nothing_is_lost_while_the_disk_cannot_be_written),
        cmocka_unit_test(nothing_is_lost_while_the_disk_cannot_be_synced),
        cmocka_unit_test(nothing_is_lost_while_the_disk_is_full),
        cmocka_unit_test(a_full_disk_refuses_the_start_of_a_new_store),
    };
    (void)umask(077); /* as arcpd makes its store */
    return cmocka_run_group_tests_name("arcpd_store_refusal", tests, NULL, NULL);
}
