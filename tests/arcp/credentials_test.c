/* `arcp credentials` on a store as written by arcpd. */
#include "support/check.h"

#include <unistd.h>

#include "store/sql.h"
#include "store/temp_dir.h"

#define LIVE                                                                                       \
    "{\"id\":\"cred_1\",\"generation\":1,\"state\":\"live\",\"provisioner\":\"http\",\"job_id\":"  \
    "\"job_1\",\"principal\":\"alice\",\"asked_at\":\"2026-01-01T00:00:00.000Z\",\"sealed\":"      \
    "\"SEALED\"}"
#define STUCK                                                                                      \
    "{\"id\":\"cred_2\",\"generation\":1,\"state\":\"revoking\",\"provisioner\":\"http\","         \
    "\"job_id\":\"job_2\",\"principal\":\"bob\",\"asked_at\":\"2026-01-01T00:00:01.000Z\","        \
    "\"attempts\":7,\"stuck\":true,\"last_error\":\"the upstream answered revoke with 500\"}"

static void make_store(const char *path)
{
    sql_change(path, "PRAGMA journal_mode=WAL; CREATE TABLE credentials(key TEXT NOT "
                     "NULL UNIQUE, value TEXT NOT NULL); INSERT INTO credentials "
                     "VALUES('cred_1','" LIVE "'),('cred_2','" STUCK "')");
}

/* Runs `arcp credentials WORDS`: what it prints to the streams that are kept (2>&1, or
 * 2>/dev/null), and its exit status. */
static int run_keeping(const char *streams, const char *words, char *out, size_t size)
{
    char command[1024];
    (void)snprintf(command, sizeof command, ARCP_BINARY_DIR "/bin/arcp credentials %s %s", words,
                   streams);
    FILE *pipe = popen(command, "re"); /* NOLINT(cert-env33-c): constant arguments */
    assert_non_null(pipe);
    const size_t used = fread(out, 1, size - 1, pipe);
    out[used] = '\0';
    return pclose(pipe) >> 8;
}

static int run(const char *words, char *out, size_t size)
{
    return run_keeping("2>&1", words, out, size);
}

/* [arcp:14-15] */
static void outstanding_and_failed_credentials_are_listed(void **state)
{
    char out[4096];
    char words[512];
    temp_dir *dir = temp_dir_new();
    (void)state;
    make_store(temp_dir_join(dir, "", "arcp.db"));
    (void)snprintf(words, sizeof words, "--store sqlite:%s", temp_dir_join(dir, "", "arcp.db"));
    assert_int_equal(run(words, out, sizeof out), 0);
    assert_string_equal(
        out, "cred_1 live job_1 alice 2026-01-01T00:00:00.000Z\n"
             "cred_2 stuck job_2 bob 2026-01-01T00:00:01.000Z 7 attempts: the upstream answered "
             "revoke with 500\n");
    temp_dir_free(dir);
}

static void json_has_the_rows_without_sealed_values(void **state)
{
    char out[4096];
    char words[512];
    temp_dir *dir = temp_dir_new();
    (void)state;
    make_store(temp_dir_join(dir, "", "arcp.db"));
    (void)snprintf(words, sizeof words, "--json --store %s", temp_dir_join(dir, "", "arcp.db"));
    assert_int_equal(run(words, out, sizeof out), 0);
    assert_non_null(strstr(out, "{\"alias\":\"cred_1\",\"id\":\"cred_1\""));
    assert_non_null(strstr(out, "\"stuck\":true"));
    assert_null(strstr(out, "SEALED"));
    temp_dir_free(dir);
}

static void a_missing_store_is_an_error_that_names_it(void **state)
{
    char out[4096];
    char words[512];
    temp_dir *dir = temp_dir_new();
    const char *path = temp_dir_join(dir, "", "none.db");
    (void)state;
    (void)snprintf(words, sizeof words, "--store %s", path);
    assert_int_equal(run(words, out, sizeof out), 1);
    assert_non_null(strstr(out, path));
    assert_int_equal(access(path, F_OK), -1); /* it was not created */
    (void)snprintf(words, sizeof words, "--json --store %s", path);
    assert_int_equal(run_keeping("2>/dev/null", words, out, sizeof out), 1);
    assert_int_equal(strncmp(out, "{\"code\":\"IO\",\"message\":\"", 24), 0);
    assert_non_null(strstr(out, path));
    assert_string_equal(out + strlen(out) - 19, ",\"retryable\":true}\n");
    temp_dir_free(dir);
}

static void a_damaged_row_is_an_error_among_the_others(void **state)
{
    char out[4096];
    char words[512];
    temp_dir *dir = temp_dir_new();
    (void)state;
    make_store(temp_dir_join(dir, "", "arcp.db"));
    sql_change(temp_dir_join(dir, "", "arcp.db"),
               "UPDATE credentials SET value = '{' WHERE key = 'cred_1'");
    (void)snprintf(words, sizeof words, "--json --store %s", temp_dir_join(dir, "", "arcp.db"));
    assert_int_equal(run_keeping("2>/dev/null", words, out, sizeof out), 1);
    static const char first[] = "{\"code\":\"CORRUPT\",\"message\":\"the row of cred_1 is "
                                "damaged\",\"retryable\":false}\n{\"alias\":\"cred_2\",";
    assert_int_equal(strncmp(out, first, sizeof first - 1), 0);
    temp_dir_free(dir);
}

static void without_a_state_directory_there_is_an_error(void **state)
{
    char out[4096];
    (void)state;
    FILE *pipe = popen("env -i " ARCP_BINARY_DIR /* NOLINT(cert-env33-c): constant arguments */
                       "/bin/arcp credentials --json 2>/dev/null",
                       "re");
    assert_non_null(pipe);
    const size_t used = fread(out, 1, sizeof out - 1, pipe);
    out[used] = '\0';
    assert_int_equal(pclose(pipe) >> 8, 1);
    assert_string_equal(out, "{\"code\":\"NOT_FOUND\",\"message\":\"no state directory is known: "
                             "specify --store PATH\",\"retryable\":false}\n");
}

/* Runs it on a file with this SQL or text; the message, plain and in JSON, must end with the path
 * and `says`. */
static void check_refusal(const char *sql, const char *text, const char *says)
{
    char out[4096];
    char words[512];
    char expected[1024];
    temp_dir *dir = temp_dir_new();
    const char *path = temp_dir_join(dir, "", "other.db");
    if (sql != NULL) {
        sql_change(path, sql);
    } else {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    (void)snprintf(words, sizeof words, "--store %s", path);
    (void)snprintf(expected, sizeof expected, "error: CORRUPT: %s: %s\n", path, says);
    assert_int_equal(run(words, out, sizeof out), 1);
    assert_string_equal(out, expected);
    (void)snprintf(words, sizeof words, "--json --store %s", path);
    (void)snprintf(expected, sizeof expected,
                   "{\"code\":\"CORRUPT\",\"message\":\"%s: %s\",\"retryable\":false}\n", path,
                   says);
    assert_int_equal(run_keeping("2>/dev/null", words, out, sizeof out), 1);
    assert_string_equal(out, expected);
    temp_dir_free(dir);
}

static void a_file_that_is_not_a_store_is_named(void **state)
{
    (void)state;
    check_refusal(NULL, "listen: []\n",
                  "file is not a database; is it arcpd's store? (--store PATH)");
    check_refusal("CREATE TABLE other(key TEXT)", NULL,
                  "no such table: credentials; is it arcpd's store? (--store PATH)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outstanding_and_failed_credentials_are_listed),
        cmocka_unit_test(json_has_the_rows_without_sealed_values),
        cmocka_unit_test(a_missing_store_is_an_error_that_names_it),
        cmocka_unit_test(a_damaged_row_is_an_error_among_the_others),
        cmocka_unit_test(without_a_state_directory_there_is_an_error),
        cmocka_unit_test(a_file_that_is_not_a_store_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
