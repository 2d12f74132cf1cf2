#include "launch/launch.h"

#include <string.h>
#include <sys/resource.h>

#include "base/digits.h"

/* The names of resource limits in a configuration. */
static const struct {
    const char *name;
    int resource;
} rows[] = {
    {"as", RLIMIT_AS},           {"core", RLIMIT_CORE},
    {"cpu", RLIMIT_CPU},         {"data", RLIMIT_DATA},
    {"fsize", RLIMIT_FSIZE},     {"locks", RLIMIT_LOCKS},
    {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE},
    {"nice", RLIMIT_NICE},       {"nofile", RLIMIT_NOFILE},
    {"nproc", RLIMIT_NPROC},     {"rtprio", RLIMIT_RTPRIO},
    {"rttime", RLIMIT_RTTIME},   {"sigpending", RLIMIT_SIGPENDING},
    {"stack", RLIMIT_STACK},
};

/* Decimal digits, or "unlimited", which is represented by the greatest number; as a number that is
 * refused. */
static bool read_amount(arcp_span text, uint64_t *out)
{
    if (arcp_span_equal_cstr(text, "unlimited")) {
        *out = ARCP_LAUNCH_NO_LIMIT;
        return true;
    }
    return arcp__digits_parse(text, out) && *out != ARCP_LAUNCH_NO_LIMIT;
}

arcp_status arcp__launch_limit_parse(const char *name, const char *value, arcp_launch_limit *out,
                                     arcp_error *err)
{
    size_t row = 0;
    while (row < sizeof rows / sizeof rows[0] && strcmp(rows[row].name, name) != 0) {
        row++;
    }
    if (row == sizeof rows / sizeof rows[0]) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "unknown resource limit \"%s\": must be as, core, cpu, data, fsize, "
                              "nofile, nproc, stack, or another of setrlimit(2)",
                              name);
    }
    const arcp_span text = arcp_span_cstr(value);
    const size_t colon = strcspn(value, ":");
    arcp_launch_limit limit = {.resource = rows[row].resource};
    const bool is_pair = colon < text.size;
    if (!read_amount(arcp_span_first(text, colon), &limit.soft) ||
        !read_amount(is_pair ? arcp_span_from(text, colon + 1) : text, &limit.hard) ||
        limit.soft > limit.hard) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "the limit %s is \"%s\", must be a number, \"unlimited\" or "
                              "SOFT:HARD",
                              name, value);
    }
    *out = limit;
    return ARCP_OK;
}
