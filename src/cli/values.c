#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <arcp/time.h>

#include "base/clock.h"
#include "base/digits.h"

/* A larger text would not fit into a frame. */
#define TEXT_BYTES_MAX ((size_t)256 << 20)
#define READ_BYTES     65536

/* ---- times ---- */

arcp_status arcp__duration_parse(const char *text, int64_t *out_ns, arcp_error *err)
{
    static const struct {
        const char *unit;
        int64_t ns;
    } units[] = {{"", ARCP_NS_PER_SEC},         {"ms", ARCP_NS_PER_MS},
                 {"s", ARCP_NS_PER_SEC},        {"m", 60 * ARCP_NS_PER_SEC},
                 {"h", 3600 * ARCP_NS_PER_SEC}, {"d", 86400 * ARCP_NS_PER_SEC}};
    arcp_span unit = arcp_span_cstr(text);
    uint64_t value = 0;
    if (arcp__digits_take(&unit, &value) && value <= INT64_MAX) {
        for (size_t row = 0; row < sizeof units / sizeof units[0]; row++) {
            int64_t ns = 0;
            if (arcp_span_equal_cstr(unit, units[row].unit) &&
                !__builtin_mul_overflow((int64_t)value, units[row].ns, &ns)) {
                *out_ns = ns;
                return ARCP_OK;
            }
        }
    }
    return arcp_error_set(err, ARCP_E_USAGE,
                          "'%s' is not a duration (expected 250ms, 90s, 10m, 2h or 1d)", text);
}

arcp_status arcp__duration_option(const arcp__arguments *arguments, arcp__option option,
                                  int64_t *out_ns, arcp_error *err)
{
    const char *text = arcp__value(arguments, option);
    arcp_error why = {0};
    if (text == NULL || arcp__duration_parse(text, out_ns, &why) == ARCP_OK) {
        return ARCP_OK;
    }
    return arcp_error_set(err, ARCP_E_USAGE, "--%s: %s", arcp__options[option].name, why.message);
}

arcp_status arcp__seconds_option(const arcp__arguments *arguments, arcp__option option,
                                 uint64_t *out, arcp_error *err)
{
    const char *text = arcp__value(arguments, option);
    int64_t ns = 0;
    if (text == NULL) {
        return ARCP_OK;
    }
    if (arcp__duration_option(arguments, option, &ns, err) != ARCP_OK) {
        return ARCP_E_USAGE;
    }
    if (ns <= 0 || ns % ARCP_NS_PER_SEC != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "--%s: '%.64s' is not in whole seconds, from 1",
                              arcp__options[option].name, text);
    }
    *out = (uint64_t)(ns / ARCP_NS_PER_SEC);
    return ARCP_OK;
}

arcp_status arcp__instant_text(const char *option, const char *text, int sign, int64_t now_wall_ns,
                               char room[ARCP__TIMESTAMP_SIZE], arcp_span *out, arcp_error *err)
{
    const arcp_span given = arcp_span_make(text, strlen(text));
    arcp__instant instant;
    arcp_error why = {0};
    if (arcp__timestamp_parse(given, &instant, &why) == ARCP_OK) {
        *out = given;
        return ARCP_OK;
    }
    int64_t ns = 0;
    if (arcp__duration_parse(text, &ns, NULL) != ARCP_OK) {
        /* If the text looks like a timestamp, report what is wrong with it as one. */
        return strpbrk(text, ":-") != NULL
                   ? arcp_error_set(err, ARCP_E_USAGE, "--%s: %s", option, why.message)
                   : arcp_error_set(err, ARCP_E_USAGE,
                                    "--%s: '%.64s' is not a time (expected 2026-05-13T19:42:13Z, "
                                    "or a duration: 250ms, 90s, 10m, 2h or 1d)",
                                    option, text);
    }
    int64_t wall_ns = 0;
    const bool overflows = sign < 0 ? __builtin_sub_overflow(now_wall_ns, ns, &wall_ns)
                                    : __builtin_add_overflow(now_wall_ns, ns, &wall_ns);
    if (overflows || wall_ns < 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "--%s %.64s is too long", option, text);
    }
    arcp__timestamp_format(wall_ns, room);
    *out = arcp_span_make(room, ARCP__TIMESTAMP_SIZE);
    return ARCP_OK;
}

int64_t arcp__now_wall_ns(void)
{
    return arcp__clock_ns(CLOCK_REALTIME);
}

/* ---- texts ---- */

int arcp__read_all(int fd, size_t bytes_max, arcp_buf *out)
{
    ssize_t got = 1;
    while (got != 0) {
        if (out->size > bytes_max) {
            return EFBIG;
        }
        if (!arcp_buf_reserve(out, READ_BYTES)) {
            return ENOMEM;
        }
        got = read(fd, out->data + out->size, READ_BYTES);
        if (got > 0) {
            out->size += (size_t)got;
        } else if (got < 0 && errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

arcp_status arcp__file_text(const char *argument, bool may_be_stdin, arcp_buf *out, arcp_error *err)
{
    const bool is_stdin = may_be_stdin && strcmp(argument, "-") == 0;
    const char *name = is_stdin ? "standard input" : argument + 1;
    if (!is_stdin && argument[0] != '@') {
        arcp_buf_append_cstr(out, argument);
        return !out->failed ? ARCP_OK : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    const int fd = is_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    const int problem = fd < 0 ? errno : arcp__read_all(fd, TEXT_BYTES_MAX, out);
    if (fd >= 0 && !is_stdin) {
        (void)close(fd);
    }
    switch (problem) {
    case 0:
        return ARCP_OK;
    case EFBIG:
        return arcp_error_set(err, ARCP_E_USAGE, "%s is larger than %zu bytes", name,
                              TEXT_BYTES_MAX);
    case ENOMEM:
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    default:
        return arcp_error_set(err, ARCP_E_USAGE, "%s cannot be read: %s", name, strerror(problem));
    }
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
        const bool names_file = argument[0] != '@' && access(argument, F_OK) == 0;
        (void)arcp_error_set(err, status, "%s%s", why.message,
                             names_file ? " (to read a file, use @FILE)" : "");
    }
    return status;
}

arcp_status arcp__json_text(const char *option, const char *argument, bool may_be_stdin,
                            arcp_buf *out, arcp_error *err)
{
    const arcp_json_limits limits = {64, 10000, SIZE_MAX};
    arcp_json json = ARCP__JSON_INIT;
    arcp_error why = {0};
    if (argument == NULL) {
        return ARCP_OK;
    }
    arcp_status status = arcp__json_argument(argument, may_be_stdin, &limits, out, &json, &why);
    if (status != ARCP_OK) {
        status = arcp_error_set(err, status == ARCP_E_NO_MEMORY ? status : ARCP_E_USAGE, "--%s: %s",
                                option, why.message);
    }
    arcp__json_fini(&json);
    return status;
}
