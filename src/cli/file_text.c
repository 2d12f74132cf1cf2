#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* More cannot be sent in a frame anyway. */
#define TEXT_BYTES_MAX ((size_t)256 << 20)
#define READ_BYTES     65536

static arcp_status read_all(int fd, const char *name, arcp_buf *out, arcp_error *err)
{
    ssize_t got = 1;
    while (got != 0) {
        if (out->size > TEXT_BYTES_MAX) {
            return arcp_error_set(err, ARCP_E_USAGE, "%s is larger than %zu bytes", name,
                                  TEXT_BYTES_MAX);
        }
        if (!arcp_buf_reserve(out, READ_BYTES)) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
        got = read(fd, out->data + out->size, READ_BYTES);
        if (got > 0) {
            out->size += (size_t)got;
        } else if (got < 0 && errno != EINTR) {
            return arcp_error_set(err, ARCP_E_USAGE, "%s cannot be read: %s", name,
                                  strerror(errno));
        }
    }
    return ARCP_OK;
}

arcp_status arcp__file_text(const char *argument, bool may_be_stdin, arcp_buf *out, arcp_error *err)
{
    if (may_be_stdin && strcmp(argument, "-") == 0) {
        return read_all(STDIN_FILENO, "standard input", out, err);
    }
    if (argument[0] != '@') {
        arcp_buf_append_cstr(out, argument);
        return arcp_buf_status(out) == ARCP_OK
                   ? ARCP_OK
                   : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    int fd = open(argument + 1, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s cannot be read: %s", argument + 1,
                              strerror(errno));
    }
    arcp_status status = read_all(fd, argument + 1, out, err);
    (void)close(fd);
    return status;
}

arcp_status arcp__json_argument(const char *argument, bool may_be_stdin,
                                const arcp_json_limits *limits, arcp_buf *text, arcp_json *json,
                                arcp_error *err)
{
    arcp_error why = {0};
    arcp_status status = arcp__file_text(argument, may_be_stdin, text, err);
    if (status != ARCP_OK) {
        return status;
    }
    status = arcp_json_scan(json, arcp_buf_span(text), limits, &why);
    if (status != ARCP_OK) {
        bool names_file = argument[0] != '@' && access(argument, F_OK) == 0;
        (void)arcp_error_set(err, status, "%s%s", why.message,
                             names_file ? " (a file is written @FILE)" : "");
    }
    return status;
}

arcp_status arcp__json_text(const char *option, const char *argument, bool may_be_stdin,
                            arcp_buf *out, arcp_error *err)
{
    const arcp_json_limits limits = {64, 10000, SIZE_MAX};
    arcp_json json = ARCP_JSON_INIT;
    arcp_error why = {0};
    if (argument == NULL) {
        return ARCP_OK;
    }
    arcp_status status = arcp__json_argument(argument, may_be_stdin, &limits, out, &json, &why);
    if (status != ARCP_OK) {
        status = status == ARCP_E_NO_MEMORY ? status : ARCP_E_USAGE;
        (void)arcp_error_set(err, status, "--%s: %s", option, why.message);
    }
    arcp_json_fini(&json);
    return status;
}
