/* Commands on the store of the local arcpd. `arcp credentials` (the credentials that it has issued
 * and not yet revoked, docs/decisions/0005) and `arcp store backup FILE` work while arcpd runs;
 * `arcp store restore FILE` needs it stopped. */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "arcp/command.h"
#include "cli/cli.h"
#include "setup/setup.h"
#include "store/postgres.h"
#include "store/sqlite_copy.h"
#include "json/json_put.h"

#define BUSY_MS 5000

/* Key prefix of the streams of sessions. Sessions are not restored: a client that continued after
 * the backup knows event numbers that the restored store would assign again to other events. */
#define SESSION_STREAMS "x:"

/* The path of arcpd's store, NUL-terminated: the option's value, with or without "sqlite:", or the
 * database in arcpd's state directory. */
static arcp_status store_path(const arcp__program *program, arcp__option option, arcp_buf *out,
                              arcp_error *err)
{
    const char *given = arcp__value(&program->arguments, option);
    if (given != NULL) {
        arcp_buf_append_cstr(out, strncmp(given, "sqlite:", 7) == 0 ? given + 7 : given);
    } else if (arcp__state_directory(true, out)) {
        arcp_buf_append_cstr(out, "/arcp.db");
    }
    const bool is_known = out->size != 0;
    arcp_buf_append_byte(out, '\0');
    return is_known && !out->failed
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_NOT_FOUND,
                                "no state directory is known: specify --store PATH");
}

static arcp_span member(const arcp_json *json, const char *name, arcp_buf *scratch)
{
    return arcp_json_string(json, arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name)),
                            scratch);
}

/* Appends the row without its encrypted member. */
static void append_json(const arcp_json *row, arcp_span alias, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_string(&writer, "alias", alias);
    for (arcp_json_ref name = arcp_json_first(row, ARCP_JSON_ROOT); name != ARCP_JSON_ABSENT;
         name = arcp_json_next(row, ARCP_JSON_ROOT, name)) {
        if (!arcp_json_string_equals(row, name, ARCP_SPAN_LITERAL("sealed"))) {
            arcp_buf scratch = arcp_buf_init();
            arcp_json_name_span(&writer, arcp_json_string(row, name, &scratch));
            arcp_json_write_raw(&writer, arcp_json_raw(row, name + 1));
            arcp_buf_fini(&scratch);
        }
    }
    arcp_json_end_object(&writer);
}

static void append_text(const arcp_json *row, arcp_span alias, arcp_buf *out)
{
    static const char *const shown[] = {"job_id", "principal", "asked_at"};
    arcp_buf scratch = arcp_buf_init();
    uint64_t attempts = 0;
    const bool stuck = arcp_json_is(
        row, arcp_json_member(row, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("stuck")), ARCP_JSON_TRUE);
    arcp__append_safe(out, alias, 64);
    arcp_buf_append_byte(out, ' ');
    if (stuck) {
        arcp_buf_append_cstr(out, "stuck");
    } else {
        arcp__append_safe(out, member(row, "state", &scratch), 16);
    }
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        arcp_buf_append_byte(out, ' ');
        arcp__append_safe(out, member(row, shown[i], &scratch), 256);
    }
    if (arcp_json_u64(row, arcp_json_member(row, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("attempts")),
                      &attempts)) {
        arcp_buf_append_format(out, " %llu attempts: ", (unsigned long long)attempts);
        arcp__append_safe(out, member(row, "last_error", &scratch), 256);
    }
    arcp_buf_fini(&scratch);
}

static bool print_row(arcp__program *program, arcp_span alias, arcp_span value)
{
    arcp_json row = ARCP__JSON_INIT;
    arcp_json_limits limits = {16, 64, 1u << 20};
    arcp_buf line = arcp_buf_init();
    arcp_error err = {0};
    bool printed = false;
    if (arcp_json_scan(&row, value, &limits, NULL) == ARCP_OK) {
        (program->is_json ? append_json : append_text)(&row, alias, &line);
        printed = arcp__program_print_buf_line(program, &line);
    } else {
        (void)arcp_error_set(&err, ARCP_E_CORRUPT, "the row of %.*s is damaged",
                             (int)arcp_span_first(alias, 64).size, alias.data);
        (void)arcp__program_fail_file(program, &err);
    }
    arcp__json_fini(&row);
    return printed;
}

static arcp_span column(sqlite3_stmt *rows, int index)
{
    const char *text = (const char *)sqlite3_column_text(rows, index);
    return arcp_span_make(text, (size_t)sqlite3_column_bytes(rows, index));
}

/* Reports SQLite's error. ARCP_E_IO, which a retry may cure, or ARCP_E_CORRUPT. */
static arcp_status refuse(const char *path, sqlite3 *database, arcp_error *err)
{
    const int code = sqlite3_errcode(database) & 0xff;
    const bool is_corrupt = code == SQLITE_ERROR || code == SQLITE_NOTADB || code == SQLITE_CORRUPT;
    return arcp_error_set(err, is_corrupt ? ARCP_E_CORRUPT : ARCP_E_IO,
                          "%s: %s; is it arcpd's store? (--store PATH)", path,
                          sqlite3_errmsg(database));
}

/* Sets *printed to false if a row could not be printed. [arcp:14-15] */
static arcp_status print_rows(arcp__program *program, const char *path, bool *printed,
                              arcp_error *err)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *rows = NULL;
    int code = sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_busy_timeout(database, BUSY_MS);
        code = sqlite3_prepare_v2(database, "SELECT key, value FROM credentials ORDER BY key", -1,
                                  &rows, NULL);
    }
    if (code == SQLITE_OK) {
        for (code = sqlite3_step(rows); code == SQLITE_ROW; code = sqlite3_step(rows)) {
            *printed = print_row(program, column(rows, 0), column(rows, 1)) && *printed;
        }
    }
    const arcp_status status = code == SQLITE_DONE ? ARCP_OK : refuse(path, database, err);
    (void)sqlite3_finalize(rows);
    (void)sqlite3_close(database);
    return status;
}

typedef struct printing {
    arcp__program *program;
    bool printed;
} printing;

static void print_one(void *user, arcp_span alias, arcp_span value)
{
    printing *all = user;
    all->printed = print_row(all->program, alias, value) && all->printed;
}

static bool is_postgres(const char *url)
{
    return url != NULL && strncmp(url, ARCP__POSTGRES_SCHEME, strlen(ARCP__POSTGRES_SCHEME)) == 0;
}

/* The same for a store in PostgreSQL. */
static arcp_status print_postgres(arcp__program *program, const char *url, bool *printed,
                                  arcp_error *err)
{
    const arcp__postgres *postgres = NULL;
    void *module = NULL;
    printing all = {program, true};
    arcp_status status = arcp__module_open(ARCP__POSTGRES_MODULE, ARCP__POSTGRES_SYMBOL, "--store",
                                           &module, &postgres, err);
    if (status == ARCP_OK) {
        status = postgres->each_row(url, ARCP_STORE_CREDENTIALS, print_one, &all, err);
    }
    arcp__module_close(module);
    *printed = all.printed;
    return status;
}

/* The same for a store in a file. */
static arcp_status print_sqlite(arcp__program *program, bool *printed, arcp_error *err)
{
    arcp_buf path = arcp_buf_init();
    arcp_status status = store_path(program, ARCP__OPTION_STORE, &path, err);
    if (status == ARCP_OK && access(path.data, R_OK) != 0) {
        status = arcp_error_set(err, ARCP_E_IO,
                                "%s cannot be read: %s; where is arcpd's store? (--store PATH)",
                                path.data, strerror(errno));
    }
    if (status == ARCP_OK) {
        status = print_rows(program, path.data, printed, err);
    }
    arcp_buf_fini(&path);
    return status;
}

int arcp__command_credentials(arcp__program *program)
{
    const char *url = arcp__value(&program->arguments, ARCP__OPTION_STORE);
    arcp_error err = {0};
    bool printed = true;
    const arcp_status status = is_postgres(url) ? print_postgres(program, url, &printed, &err)
                                                : print_sqlite(program, &printed, &err);
    if (status != ARCP_OK) {
        (void)arcp__program_fail_file(program, &err);
    }
    return status == ARCP_OK && printed ? ARCP__EXIT_SUCCESS : ARCP__EXIT_ERROR;
}

/* ---- backup, restore ---- */

static bool print_found(arcp__program *program, const char *file, const arcp__sqlite_found *found)
{
    arcp_buf line = arcp_buf_init();
    if (program->is_json) {
        arcp_json_writer writer = arcp__put_begin(&line);
        arcp__put_cstr(&writer, "file", file);
        arcp__put_u64(&writer, "rows", found->rows);
        arcp__put_u64(&writer, "streams", found->streams);
        arcp__put_u64(&writer, "bytes", found->bytes);
        arcp_json_end_object(&writer);
    } else {
        arcp__append_safe(&line, arcp_span_cstr(file), 4096);
        arcp_buf_append_format(&line,
                               ": whole: %" PRIu64 " rows, %" PRIu64 " streams with %" PRIu64
                               " bytes of events",
                               found->rows, found->streams, found->bytes);
    }
    return arcp__program_print_buf_line(program, &line);
}

int arcp__command_store(arcp__program *program)
{
    const char *subcommand = program->arguments.words[0];
    const char *file = program->arguments.words[1];
    const bool is_backup = strcmp(subcommand, "backup") == 0;
    arcp_buf path = arcp_buf_init();
    arcp_error err = {0};
    arcp__sqlite_found found = {0};
    if (!is_backup && strcmp(subcommand, "restore") != 0) {
        (void)arcp_error_set(&err, ARCP_E_USAGE,
                             "unknown store command '%s' (expected backup or restore)", subcommand);
        return arcp__program_usage(program, &err);
    }
    if (is_postgres(arcp__value(&program->arguments, ARCP__OPTION_STORE_PATH))) {
        (void)arcp_error_set(&err, ARCP_E_USAGE,
                             "a store in PostgreSQL is backed up and restored by PostgreSQL's own "
                             "programs, such as pg_dump --schema=arcp (docs/store.md)");
        return arcp__program_usage(program, &err);
    }
    arcp_status status = store_path(program, ARCP__OPTION_STORE_PATH, &path, &err);
    const arcp__sqlite_restore_options restore = {.from = file,
                                                  .path = path.data,
                                                  .without = ARCP_STORE_SESSIONS,
                                                  .without_prefix = SESSION_STREAMS};
    if (status == ARCP_OK) {
        status = is_backup ? arcp__sqlite_backup(path.data, file, &found, &err)
                           : arcp__sqlite_restore(&restore, &found, &err);
    }
    int exit_status = ARCP__EXIT_ERROR;
    if (status != ARCP_OK) {
        exit_status = arcp__program_fail_file(program, &err);
    } else if (print_found(program, is_backup ? file : path.data, &found)) {
        exit_status = ARCP__EXIT_SUCCESS;
    }
    arcp_buf_fini(&path);
    return exit_status;
}
