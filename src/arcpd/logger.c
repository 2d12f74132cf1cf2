#include "arcpd/logger.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arcp/json.h>

#include "base/timestamp.h"
#include "base/utf8.h"

static const char *const level_names[] = {"debug", "info", "warn", "error", "audit"};

/* A log that cannot be written has no place to say so. */
static void write_all(int file, arcp_span text)
{
    while (text.size != 0) {
        ssize_t written = write(file, text.data, text.size);
        if (written > 0) {
            text = arcp_span_from(text, (size_t)written);
        } else if (written == 0 || errno != EINTR) {
            return;
        }
    }
}

static void now_text(char out[ARCP__TIMESTAMP_SIZE])
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    arcp__timestamp_format((int64_t)now.tv_sec * 1000000000 + now.tv_nsec, out);
}

void arcp__logger_log(void *user, arcp_log_level level, const char *text)
{
    arcp__logger *logger = user;
    if (level == ARCP_LOG_AUDIT) {
        arcp__audit_trail_append(logger->audit, text);
        return;
    }
    if ((int)level < logger->level) {
        return;
    }
    char when[ARCP__TIMESTAMP_SIZE];
    arcp_buf line = ARCP_BUF_INIT;
    now_text(when);
    if (logger->format == ARCP__LOG_JSON) {
        arcp_buf_append_format(&line, "{\"ts\":\"%.*s\",\"level\":\"%s\",\"message\":",
                               ARCP__TIMESTAMP_SIZE, when, level_names[level]);
        arcp_json_quote(arcp_span_cstr(text), &line);
        arcp_buf_append_cstr(&line, "}\n");
    } else {
        arcp_buf_append_format(&line, "%.*s %-5s ", ARCP__TIMESTAMP_SIZE, when, level_names[level]);
        arcp_span left = arcp_span_cstr(text);
        while (left.size != 0) {
            /* A peer's bytes must not control a terminal or fake a line. */
            uint32_t ignored = 0;
            size_t control = arcp__control_size(left, &ignored);
            arcp_buf_append_byte(&line, control != 0 ? '?' : left.data[0]);
            left = arcp_span_from(left, control != 0 ? control : 1);
        }
        arcp_buf_append_byte(&line, '\n');
    }
    write_all(STDERR_FILENO, arcp_buf_span(&line));
    arcp_buf_fini(&line);
}
