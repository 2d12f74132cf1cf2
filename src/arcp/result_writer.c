#include "arcp/command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

arcp_status arcp__result_writer_open(arcp__result_writer *writer, arcp__program *program,
                                     const char *path, arcp_error *err)
{
    *writer = (arcp__result_writer){.program = program,
                                    .path = path,
                                    .fd = -1,
                                    .is_fresh = true,
                                    .discards = program->is_json && path == NULL,
                                    .is_terminal = path == NULL && isatty(STDOUT_FILENO),
                                    .held = arcp_buf_init()};
    if (path == NULL) {
        return ARCP_OK;
    }
    writer->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    return writer->fd >= 0 ? ARCP_OK
                           : arcp_error_set(err, ARCP_E_USAGE, "--output: %s cannot be written: %s",
                                            path, strerror(errno));
}

static arcp_status write_file(arcp__result_writer *writer, arcp_span bytes, arcp_error *err)
{
    if (writer->is_fresh && ftruncate(writer->fd, 0) != 0 && errno != EINVAL) {
        return arcp_error_set(err, ARCP_E_IO, "%s cannot be truncated: %s", writer->path,
                              strerror(errno));
    }
    writer->is_fresh = false;
    while (bytes.size != 0) {
        const ssize_t written = write(writer->fd, bytes.data, bytes.size);
        if (written >= 0) {
            bytes = arcp_span_from(bytes, (size_t)written);
        } else if (errno != EINTR) {
            return arcp_error_set(err, ARCP_E_IO, "%s cannot be written: %s", writer->path,
                                  strerror(errno));
        }
    }
    return ARCP_OK;
}

/* To standard output. */
static bool print(arcp__result_writer *writer, arcp_span bytes, bool is_last)
{
    arcp_buf shown = arcp_buf_init();
    if (writer->is_terminal) {
        arcp__append_shown(&shown, bytes, &writer->held, is_last);
        bytes = arcp_buf_span(&shown);
    }
    const bool printed = !shown.failed && !writer->held.failed &&
                         (bytes.size == 0 || arcp__program_print(writer->program, bytes));
    if (printed && bytes.size != 0) {
        writer->last = bytes.data[bytes.size - 1];
    }
    arcp_buf_fini(&shown);
    return printed;
}

static arcp_status put(void *user, arcp_span bytes, arcp_error *err)
{
    arcp__result_writer *writer = user;
    if (writer->discards) {
        return ARCP_OK;
    }
    if (writer->fd >= 0) {
        return write_file(writer, bytes, err);
    }
    if (writer->is_terminal) {
        /* Progress bars would be drawn into the middle of the text. */
        arcp__screen_status(&writer->program->screen, arcp_span_make(NULL, 0));
        writer->program->screen.status_off = true;
    }
    return print(writer, bytes, false)
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_IO, "the result could not be written");
}

arcp_result_sink arcp__result_writer_sink(arcp__result_writer *writer)
{
    return (arcp_result_sink){.mode = ARCP_RESULT_CALLBACK, .write = put, .user = writer};
}

/* Writes to the file of --output; prints an error if that fails. */
static bool write_whole(arcp__result_writer *writer, arcp_span text)
{
    arcp_error err = {0};
    const bool written = write_file(writer, text, &err) == ARCP_OK;
    if (!written) {
        arcp__screen_format(&writer->program->screen, "error: %s", err.message);
    }
    return written;
}

/* Writes a string without its quotes, any other value unchanged. */
static bool finish_inline(arcp__result_writer *writer, arcp_span result)
{
    const arcp_json_limits limits = {64, 10000, SIZE_MAX};
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf room = arcp_buf_init();
    arcp_buf text = arcp_buf_init();
    bool written = false;
    if (arcp_json_scan(&json, result, &limits, NULL) == ARCP_OK &&
        arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_STRING)) {
        result = arcp_json_string(&json, ARCP_JSON_ROOT, &room);
    }
    arcp_buf_append(&text, result);
    if (writer->fd < 0 && (text.size == 0 || text.data[text.size - 1] != '\n')) {
        arcp_buf_append_byte(&text, '\n');
    }
    if (text.failed || room.failed) {
        arcp__screen_format(&writer->program->screen,
                            "error: out of memory while writing the result");
    } else if (writer->fd >= 0) {
        written = write_whole(writer, arcp_buf_span(&text));
    } else {
        written = print(writer, arcp_buf_span(&text), true);
    }
    arcp_buf_fini(&text);
    arcp_buf_fini(&room);
    arcp__json_fini(&json);
    return written;
}

bool arcp__result_writer_finish(arcp__result_writer *writer, const arcp_outcome *outcome)
{
    if (writer->discards || outcome->final_status != ARCP_JOB_SUCCESS) {
        return true;
    }
    if (outcome->result_id.size == 0) {
        return outcome->result.size == 0 || finish_inline(writer, outcome->result);
    }
    if (writer->fd >= 0 && writer->is_fresh) { /* an empty stream */
        return write_whole(writer, arcp_span_make(NULL, 0));
    }
    /* On a terminal, end the line so that the prompt starts on a new one. */
    const bool written = writer->fd >= 0 || print(writer, arcp_span_make(NULL, 0), true);
    if (written && writer->is_terminal && writer->last != '\n' && writer->last != '\0') {
        return arcp__program_print(writer->program, ARCP_SPAN_LITERAL("\n"));
    }
    return written;
}

void arcp__result_writer_close(arcp__result_writer *writer)
{
    arcp_buf_fini(&writer->held);
    if (writer->fd >= 0) {
        (void)close(writer->fd);
        writer->fd = -1;
    }
}
