/* `arcp store backup FILE` and `arcp store restore FILE`: the store of arcpd on this machine, with
 * or without arcpd running for the first, without it for the second. */
#include <inttypes.h>
#include <string.h>

#include "arcp/command.h"
#include "cli/cli.h"
#include "store/sqlite_copy.h"
#include "json/json_put.h"

/* A client that went on after the backup was made knows numbers that the store will give again,
 * to other events: no session of the backup can be resumed. */
#define SESSION_STREAMS "x:"

static bool print_found(arcp__program *program, const char *file, const arcp__sqlite_found *found)
{
    arcp_buf line = ARCP_BUF_INIT;
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
    const char *question = program->arguments.words[0];
    const char *file = program->arguments.words[1];
    bool is_backup = strcmp(question, "backup") == 0;
    arcp_buf path = ARCP_BUF_INIT;
    arcp_error err = {0};
    arcp__sqlite_found found = {0};
    if (!is_backup && strcmp(question, "restore") != 0) {
        (void)arcp_error_set(&err, ARCP_E_USAGE, "there is no question %s: backup, restore",
                             question);
        return arcp__program_usage(program, &err);
    }
    arcp_status status = arcp__store_path(program, ARCP__OPTION_STORE_PATH, &path, &err);
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
