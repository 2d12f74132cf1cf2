#include "arcpd/arcpd.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "json/json.h"

static const char *const level_names[] = {"debug", "info", "warn", "error", "audit"};

/* How long a line waits for a slow reader. After a line was dropped, the following do not wait. */
#define READER_WAIT_MS 20
/* A pipe that poll reports as writable accepts this many bytes without blocking (PIPE_BUF). */
#define PIECE_BYTES 4096u

/* Whether the next piece can be written without blocking, which is always so for files. */
static bool is_writable(int file, int wait_ms)
{
    struct pollfd one = {.fd = file, .events = POLLOUT};
    int ready;
    do {
        ready = poll(&one, 1, wait_ms);
    } while (ready < 0 && errno == EINTR);
    return ready != 0;
}

/* Errors are ignored: there is no other place to report them. */
static void write_all(int file, arcp_span text)
{
    while (text.size != 0) {
        const ssize_t written =
            write(file, text.data, text.size < PIECE_BYTES ? text.size : PIECE_BYTES);
        if (written > 0) {
            text = arcp_span_from(text, (size_t)written);
        } else if (written == 0 || errno != EINTR) {
            return;
        }
        if (text.size != 0 && !is_writable(file, READER_WAIT_MS)) {
            return; /* the rest of a long line is lost */
        }
    }
}

static void write_line(arcp__logger *logger, arcp_span line)
{
    if (!is_writable(STDERR_FILENO, logger->lost == 0 ? READER_WAIT_MS : 0)) {
        logger->lost++;
        return;
    }
    if (logger->lost != 0) {
        char text[96];
        const int size =
            snprintf(text, sizeof text,
                     logger->format == ARCP__LOG_JSON ? "{\"level\":\"warn\",\"lost_lines\":%llu}\n"
                                                      : "(%llu log lines were lost)\n",
                     (unsigned long long)logger->lost);
        logger->lost = 0;
        write_all(STDERR_FILENO, arcp_span_make(text, (size_t)size));
    }
    write_all(STDERR_FILENO, line);
}

/* Replaces control characters, so that text from peers cannot control a terminal or forge lines. */
static void append_clean(arcp_span left, arcp_buf *line)
{
    while (left.size != 0) {
        uint32_t ignored = 0;
        const size_t control = arcp__control_size(left, &ignored);
        arcp_buf_append_byte(line, control != 0 ? '?' : left.data[0]);
        left = arcp_span_from(left, control != 0 ? control : 1);
    }
}

/* Quotes a value that could be read as further fields or as the end of the fields. */
static void append_value(arcp_span value, arcp_buf *line)
{
    bool is_plain = value.size != 0;
    for (size_t i = 0; i < value.size; i++) {
        is_plain = is_plain && strchr(" \"\\=[]", value.data[i]) == NULL;
    }
    if (is_plain) {
        append_clean(value, line);
        return;
    }
    arcp_buf quoted = arcp_buf_init();
    arcp_json_quote(value, &quoted);
    append_clean(arcp_buf_span(&quoted), line);
    arcp_buf_fini(&quoted);
}

/* As [job_id=job_01... agent=survey ...]. */
static void append_fields(arcp_span fields, arcp_buf *line)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf scratch = arcp_buf_init();
    const arcp_json_limits limits = arcp_json_limits_init();
    if (arcp_json_scan(&json, fields, &limits, NULL) == ARCP_OK) {
        char before = '[';
        for (arcp_json_ref name = arcp_json_first(&json, ARCP_JSON_ROOT); name != ARCP_JSON_ABSENT;
             name = arcp_json_next(&json, ARCP_JSON_ROOT, name)) {
            const arcp_json_ref value = name + 1;
            arcp_buf_append_byte(line, before);
            arcp_buf_append(line, arcp_json_string(&json, name, &scratch));
            arcp_buf_append_byte(line, '=');
            append_value(arcp_json_is(&json, value, ARCP_JSON_STRING)
                             ? arcp_json_string(&json, value, &scratch)
                             : arcp_json_raw(&json, value),
                         line);
            before = ' ';
        }
        arcp_buf_append_cstr(line, "] ");
    }
    arcp_buf_fini(&scratch);
    arcp__json_fini(&json);
}

void arcp__logger_log(void *user, arcp_log_level level, const char *text)
{
    arcp__logger_log_fields(user, level, text, "");
}

void arcp__logger_format(arcp__logger *logger, arcp_log_level level, const char *format, ...)
{
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    arcp__logger_log(logger, level, text);
}

void arcp__logger_log_fields(void *user, arcp_log_level level, const char *text, const char *fields)
{
    arcp__logger *logger = user;
    if (level == ARCP_LOG_AUDIT) {
        if (logger->audit != NULL) {
            arcp__audit_trail_append(logger->audit, text);
        }
        return;
    }
    if ((int)level < logger->level) {
        return;
    }
    char when[ARCP__TIMESTAMP_SIZE];
    arcp_buf line = arcp_buf_init();
    const arcp_span about = arcp_span_cstr(fields);
    arcp__timestamp_format(arcp__clock_ns(CLOCK_REALTIME), when);
    if (logger->format == ARCP__LOG_JSON) {
        arcp_buf_append_format(&line, "{\"ts\":\"%.*s\",\"level\":\"%s\",\"message\":",
                               ARCP__TIMESTAMP_SIZE, when, level_names[level]);
        arcp_json_quote(arcp_span_cstr(text), &line);
        if (about.size > 2) { /* more than {} */
            arcp_buf_append_byte(&line, ',');
            arcp_buf_append(&line, arcp_span_make(about.data + 1, about.size - 2));
        }
        arcp_buf_append_cstr(&line, "}\n");
    } else {
        arcp_buf_append_format(&line, "%.*s %-5s ", ARCP__TIMESTAMP_SIZE, when, level_names[level]);
        if (about.size > 2) {
            append_fields(about, &line);
        }
        append_clean(arcp_span_cstr(text), &line);
        arcp_buf_append_byte(&line, '\n');
    }
    write_line(logger, arcp_buf_span(&line));
    arcp_buf_fini(&line);
}
