/* A store that cannot be used, seen from outside arcpd: a clear error and exit status 1. */
#include "support/check.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "arcpd/store_daemon.h"
#include "store/sql_sealed.h"

/* ---- at start ---- */

static void a_second_arcpd_reports_that_the_store_is_in_use_and_the_first_goes_on(void **state)
{
    daemon_state first;
    daemon_state second;
    wire_session session;
    wire w;
    char url[160];
    (void)state;
    daemon_begin(&first, NULL);
    daemon_start(&first);
    (void)snprintf(url, sizeof url, "sqlite:%s", first.store);
    daemon_begin(&second, &(daemon_options){.store = url});
    store_check_refused(&second, "in use by another process");
    wire_open(&w, first.port);
    wire_hello(&w, "t-alice", &session);
    store_submit(&w, "one", 1, 1, "result");
    assert_int_equal(wire_seq(wire_await_type(&w, "job.result")), 3);
    wire_close(&w);
    assert_int_equal(daemon_stop(&first), 0);
    /* Now it is free. */
    daemon_start(&second);
    assert_int_equal(daemon_stop(&second), 0);
    daemon_end(&second);
    daemon_end(&first);
}

static void a_file_that_is_not_a_store_is_refused(void **state)
{
    const struct {
        const char *sql; /* NULL: the text is the file */
        const char *text;
        const char *refusal;
    } rows[] = {
        {NULL, "this is a letter, and long enough to be looked at as a database would be.......",
         "file is not a database"},
        {"CREATE TABLE letters(text)", NULL, "belongs to another program"},
        {"PRAGMA application_id = 1095910224; PRAGMA user_version = 999;", NULL,
         "written by a newer version (schema 999, this program knows "},
    };
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        daemon_state d;
        daemon_begin(&d, NULL);
        if (rows[row].sql != NULL) {
            sql_change(d.store, rows[row].sql);
        } else {
            store_file_write(d.store, rows[row].text);
        }
        store_check_refused(&d, rows[row].refusal);
        daemon_end(&d);
    }
}

static void paths_that_cannot_be_a_store_are_refused(void **state)
{
    const struct {
        const char *url;
        const char *refusal;
    } rows[] = {{"sqlite:/dev/null", "/dev/null: not a regular file"},
                {"sqlite:/dev/null/arcp.db", "/dev/null cannot be checked: Not a directory"},
                {"sqlite:/proc/arcp.db", "/proc/arcp.db"}};
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        daemon_state d;
        daemon_begin(&d, &(daemon_options){.store = rows[row].url});
        store_check_refused(&d, rows[row].refusal);
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

/* The stored content cannot be restored completely, so no part of it is served. */
static void damaged_rows_and_indexes_are_refused_by_name(void **state)
{
    const struct {
        const char *sql;
        const char *refusal;
    } rows[] = {
        {"UPDATE sessions SET value = '{'", "is damaged"},
        {"UPDATE jobs SET value = '{}'", "the stored job \"job_"},
        /* So many bytes would exceed the limit and evict all other jobs. */
        {"UPDATE jobs SET value = json_set(value, '$.bytes', 1125899906842625)",
         "the stored job \"job_"},
        {"UPDATE jobs SET value = json_set(value, '$.status', 'dreaming')",
         "the stored job \"job_"},
        {"UPDATE jobs SET value = json_set(value, '$.idempotency.fingerprint', "
         "replace(printf('%064d', 0), '0', '!'))",
         "the stored job \"job_"},
        {"UPDATE jobs SET value = json_set(value, '$.idempotency.expires_at', 'never')",
         "the stored job \"job_"},
        {"INSERT INTO idempotency(key, value, crc) VALUES('x', '[]', 0)",
         "the stored idempotency key \"x\" is damaged"},
        {"INSERT INTO idempotency(key, value, crc) SELECT 'x', json_object('key', 'a', 'job_id', "
         "key, "
         "'fingerprint', 'short', 'expires_at', value ->> '$.accepted.accepted_at', 'accepted', "
         "json('{}')), 0 FROM jobs WHERE key NOT LIKE '%/%'",
         "the stored idempotency key \"x\" is damaged"},
        {"INSERT INTO jobs(key, value, crc) SELECT key || '0123456789', value, 0 FROM jobs WHERE "
         "key NOT LIKE '%/%'",
         "the stored job \"job_"},
        {"UPDATE sessions SET value = json_set(value, '$.session_id', 'sess_x')",
         "the stored session \"sess_"},
        {"INSERT INTO subscriptions(key, value, crc) VALUES('x', '{', 0)",
         "the stored subscription \"x\" is damaged"},
        {"INSERT INTO subscriptions(key, value, crc) VALUES('x', '{\"session_id\":7}', 0)",
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
        /* The last records of the job are missing, or all of them. */
        {"DELETE FROM runs WHERE id = (SELECT max(id) FROM runs WHERE id >> 38 = (SELECT id FROM "
         "streams WHERE key LIKE 'j:%'))",
         "is damaged: it ends after record "},
        {"DELETE FROM runs WHERE id >> 38 = (SELECT id FROM streams WHERE key LIKE 'j:%')",
         "is damaged: it ends after record 0 of 3"},
        {"DELETE FROM streams WHERE key LIKE 'j:%'", "the stored stream \"j:job_"},
    };
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        daemon_state d;
        wire_session session;
        daemon_begin(&d, NULL);
        store_make(&d, &session);
        sql_change_sealed(d.store, rows[row].sql);
        store_check_refused(&d, rows[row].refusal);
        daemon_end(&d);
    }
}

/* ---- backups ---- */

/* The exit status of `program words STORE last`. */
static int command(const daemon_state *d, const char *words, const char *last)
{
    char line[1024];
    (void)snprintf(line, sizeof line, "%s/bin/%s%s %s >/dev/null 2>&1", ARCP_BINARY_DIR, words,
                   d->store, last);
    const int status = system(line); /* NOLINT(cert-env33-c): words of this file */
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define CHECK "arcpd --check-store --store sqlite:"

/* The client received more events after the backup, with numbers that other events would get now.
 */
static void a_restored_backup_has_its_jobs_and_resumes_no_session(void **state)
{
    daemon_state d;
    wire_session session;
    wire w;
    char backup[256];
    (void)state;
    daemon_begin(&d, NULL);
    (void)snprintf(backup, sizeof backup, "%s/backup.db", d.directory);
    daemon_start(&d);
    wire_open(&w, d.port);
    wire_hello(&w, "t-alice", &session);
    store_submit(&w, "first", 1, 10, "result");
    assert_int_equal(wire_seq(wire_await_type(&w, "job.result")), 3);
    assert_int_equal(command(&d, "arcp store backup --store ", backup), 0);
    assert_int_equal(command(&d, "arcp store restore --store ", backup), 1); /* in use */
    assert_int_equal(command(&d, CHECK, ""), 1);
    store_submit(&w, "second", 1, 10, "result");
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
    const arcp_span jobs = wire_await_type(&w, "session.jobs");
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

/* Content that no code of the store wrote: bytes that changed on the disk, or an editor's. */
static void damaged_data_is_refused_with_its_name(void **state)
{
    const struct {
        const char *sql;
        const char *refusal;
    } rows[] = {
        {"UPDATE jobs SET value = replace(value, 'success', 'running') WHERE key NOT LIKE '%/%'",
         "damaged: table \"jobs\", the row of \"job_"},
        {"DELETE FROM jobs", "damaged: table \"jobs\" has 0 rows, but "},
        {"UPDATE runs SET data = replace(data, '\"seq\":1,', '\"seq\":2,') WHERE id >> 38 = "
         "(SELECT id FROM streams WHERE key LIKE 'x:%' ORDER BY key LIMIT 1)",
         "damaged: stream \"x:sess_"},
        {"DELETE FROM runs WHERE id = (SELECT max(id) FROM runs WHERE id >> 38 = (SELECT id FROM "
         "streams WHERE key LIKE 'j:%'))",
         "damaged: stream \"j:job_"},
        {"DELETE FROM streams WHERE key LIKE 'j:%'", "damaged: table \"streams\" has "},
    };
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        daemon_state d;
        wire_session session;
        daemon_begin(&d, NULL);
        store_make(&d, &session);
        sql_change(d.store, rows[row].sql);
        store_check_refused(&d, rows[row].refusal);
        daemon_end(&d);
    }
}

static void a_store_of_the_first_version_is_restored(void **state)
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
    /* The job ended just now, so it has not expired. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_arcpd_reports_that_the_store_is_in_use_and_the_first_goes_on),
        cmocka_unit_test(a_file_that_is_not_a_store_is_refused),
        cmocka_unit_test(paths_that_cannot_be_a_store_are_refused),
        cmocka_unit_test(a_url_that_names_no_store_is_bad_usage),
        cmocka_unit_test(damaged_rows_and_indexes_are_refused_by_name),
        cmocka_unit_test(damaged_data_is_refused_with_its_name),
        cmocka_unit_test(a_restored_backup_has_its_jobs_and_resumes_no_session),
        cmocka_unit_test(a_store_of_the_first_version_is_restored),
    };
    (void)umask(077); /* as arcpd makes its store */
    return cmocka_run_group_tests_name("arcpd_store_refusal", tests, NULL, NULL);
}
