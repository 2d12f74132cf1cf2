/* What a small job costs the database: the number of statements and of pages in the log, which say
 * more about a change than a time. A statement more is added only for a reason. */
#include <stdatomic.h>
#include <sys/stat.h>

#include "store/sql.h"
#include "store/sqlite_checkpoint.h"
#include "store/store_rig.h"
#include "store/temp_dir.h"

static atomic_int statements;

static int count_statement(unsigned event, void *user, void *statement, void *text)
{
    atomic_fetch_add(&statements, 1);
    return 0;
}

/* Called for each connection that is opened. */
static int on_opened(sqlite3 *db, const char **message, const void *api)
{
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_statement, NULL);
}

static int64_t log_pages(const temp_dir *dir)
{
    struct stat info;
    assert_int_equal(stat(temp_dir_join(dir, "", "s.db-wal"), &info), 0);
    return info.st_size / (ARCP__SQLITE_PAGE_BYTES + 24);
}

/* What the engine writes for a job that returns at once: the batch with the submit, and the one
 * with the result. The stream "x:1" has the event numbers of the session. */
static void write_job(store_rig *rig, uint64_t number)
{
    static char row[700];
    char key[32];
    char stream[32];
    memset(row, 'r', sizeof row - 1);
    snprintf(key, sizeof key, "job_%06u", (unsigned)number);
    snprintf(stream, sizeof stream, "j:%s", key);
    check_commit(rig, ARCP_OK, op_append(stream, 0, "{\"status\":\"running\"}"),
                 op_put(ARCP_STORE_JOBS, key, row), op_append("x:1", 2 * number, "{}"));
    check_commit(rig, ARCP_OK, op_append(stream, 1, "{\"result\":0}"),
                 op_append("x:1", 2 * number + 1, "{}"), op_put(ARCP_STORE_JOBS, key, row));
    rig_forget(rig);
}

static void a_small_job_takes_few_statements_and_pages(void **state)
{
    enum { JOBS = 40 };
    temp_dir *dir = temp_dir_new();
    assert_int_equal(sqlite3_auto_extension((void (*)(void))on_opened), SQLITE_OK);
    store_rig *rig = rig_open(temp_dir_join(dir, "sqlite:", "s.db"));
    sqlite3_reset_auto_extension();
    write_job(rig, 0);
    const int before = atomic_load(&statements);
    const int64_t pages_before = log_pages(dir);
    for (uint64_t i = 1; i <= JOBS; i++) {
        write_job(rig, i);
    }
    /* BEGIN, a stream, two runs, a row, COMMIT; then the same without the stream. */
    assert_int_equal(atomic_load(&statements) - before, JOBS * (6 + 5));
    const int64_t pages = log_pages(dir) - pages_before;
    print_message("%.1f pages of the log for each job\n", (double)pages / JOBS);
    assert_true(pages <= (int64_t)JOBS * 10);
    rig_close(rig);
    temp_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_job_takes_few_statements_and_pages),
    };
    return cmocka_run_group_tests_name("store_sqlite_cost", tests, NULL, NULL);
}
