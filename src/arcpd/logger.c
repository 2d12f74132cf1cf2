#include "arcpd/logger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arcp/json.h>

#include "base/timestamp.h"

static const char *const level_names[] = {"debug", "info", "warn", "error", "audit"};

arcp_status arcp__logger_open_audit(arcp__logger *logger, const char *directory, const char *path,
                                    arcp_error *err)
{
    char whole[4096];
    if (path[0] == '\0') {
        return ARCP_OK;
    }
    int size = path[0] == '/' ? snprintf(whole, sizeof(whole), "%s", path)
                              : snprintf(whole, sizeof(whole), "%s/%s", directory, path);
    if (size >= (int)sizeof(whole)) {
        return arcp_error_set(err, ARCP_E_USAGE, "audit.path is too long");
    }
    logger->audit = open(whole, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (logger->audit < 0) {
        return arcp_error_set(err, ARCP_E_IO, "the audit file %s cannot be opened: %s", whole,
                              strerror(errno));
    }
    return ARCP_OK;
}

void arcp__logger_fini(arcp__logger *logger)
{
    if (logger->audit >= 0) {
        (void)close(logger->audit);
    }
    logger->audit = -1;
}

static void write_all(int file, arcp_span text, bool *failed)
{
    while (text.size != 0) {
        ssize_t written = write(file, text.data, text.size);
        if (written <= 0) {
            *failed = true;
            return;
        }
        text = arcp_span_from(text, (size_t)written);
    }
}

static void now_text(char out[ARCP__TIMESTAMP_SIZE])
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    arcp__timestamp_format((int64_t)now.tv_sec * 1000000000 + now.tv_nsec, out);
}

static void audit(arcp__logger *logger, const char *text)
{
    arcp_buf line = ARCP_BUF_INIT;
    bool failed = false;
    if (logger->audit < 0) {
        return;
    }
    arcp_buf_append_cstr(&line, text);
    arcp_buf_append_byte(&line, '\n');
    write_all(logger->audit, arcp_buf_span(&line), &failed);
    arcp_buf_fini(&line);
    if (failed && !logger->audit_failed) {
        arcp__logger_log(logger, ARCP_LOG_ERROR, "the audit file cannot be written; going on");
    }
    logger->audit_failed = failed;
}

void arcp__logger_log(void *user, arcp_log_level level, const char *text)
{
    arcp__logger *logger = user;
    if (level == ARCP_LOG_AUDIT) {
        audit(logger, text);
        return;
    }
    if ((int)level < logger->level) {
        return;
    }
    char when[ARCP__TIMESTAMP_SIZE];
    arcp_buf line = ARCP_BUF_INIT;
    bool failed = false;
    now_text(when);
    if (logger->format == ARCP__LOG_JSON) {
        arcp_buf_append_format(&line, "{\"ts\":\"%.*s\",\"level\":\"%s\",\"message\":",
                               ARCP__TIMESTAMP_SIZE, when, level_names[level]);
        arcp_json_quote(arcp_span_cstr(text), &line);
        arcp_buf_append_cstr(&line, "}\n");
    } else {
        arcp_buf_append_format(&line, "%.*s %-5s ", ARCP__TIMESTAMP_SIZE, when, level_names[level]);
        for (const char *at = text; *at != '\0'; at++) {
            /* A peer's bytes must not control a terminal or fake a line. */
            arcp_buf_append_byte(&line, (unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at);
        }
        arcp_buf_append_byte(&line, '\n');
    }
    write_all(STDERR_FILENO, arcp_buf_span(&line), &failed);
    arcp_buf_fini(&line);
}
