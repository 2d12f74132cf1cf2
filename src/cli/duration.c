#include "cli/cli.h"

#include <string.h>

#include <arcp/time.h>

#include "base/clock.h"
#include "base/digits.h"

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
        for (size_t row = 0; row < sizeof(units) / sizeof(units[0]); row++) {
            int64_t ns = 0;
            if (arcp_span_equal_cstr(unit, units[row].unit) &&
                !__builtin_mul_overflow((int64_t)value, units[row].ns, &ns)) {
                *out_ns = ns;
                return ARCP_OK;
            }
        }
    }
    return arcp_error_set(err, ARCP_E_USAGE, "%s is no duration: 250ms, 90s, 10m, 2h or 1d", text);
}

arcp_status arcp__seconds_parse(const char *option, const char *text, uint64_t *out,
                                arcp_error *err)
{
    uint64_t value = 0;
    if (!arcp__digits_parse(arcp_span_cstr(text), &value) || value == 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "--%s %.64s must be a number of seconds from 1 up",
                              option, text);
    }
    *out = value;
    return ARCP_OK;
}

/* What has the look of a timestamp is told what is wrong with it as one. */
static arcp_status no_instant(const char *option, const char *text, const char *why,
                              arcp_error *err)
{
    if (strchr(text, ':') != NULL || strchr(text, '-') != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "--%s: %s", option, why);
    }
    return arcp_error_set(err, ARCP_E_USAGE,
                          "--%s %.64s is no time: 2026-05-13T19:42:13Z, or 250ms, 90s, 10m, 2h, 1d",
                          option, text);
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
        return no_instant(option, text, why.message, err);
    }
    int64_t wall_ns = 0;
    bool overflows = sign < 0 ? __builtin_sub_overflow(now_wall_ns, ns, &wall_ns)
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
