/* A cron expression up to the first line feed, and a time zone file behind it. Due times must
 * increase, and each must be the last one up to itself. */
#include "calendar/calendar.h"

#include <string.h>

#define START 1790000000

static void check(const arcp__recurrence *recurrence)
{
    int64_t at = START;
    for (int i = 0; i < 8 && at != ARCP__DUE_NEVER; i++) {
        const int64_t due = arcp__recurrence_next(recurrence, at);
        require(due > at);
        require(due == ARCP__DUE_NEVER || due % 60 == 0 || recurrence->zone != NULL);
        require(due == ARCP__DUE_NEVER || arcp__recurrence_last(recurrence, at, due) == due);
        require(due == ARCP__DUE_NEVER ||
                arcp__recurrence_last(recurrence, at, due - 1) == ARCP__DUE_NEVER);
        at = due;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const arcp_span input = arcp_span_make((const char *)data, size);
    const char *end = size == 0 ? NULL : memchr(data, '\n', size);
    const size_t text_size = end == NULL ? size : (size_t)(end - input.data);
    arcp__recurrence recurrence = {0};
    arcp_error error = {0};
    arcp__zone *zone = NULL;
    if (arcp__cron_read(arcp_span_first(input, text_size), &recurrence.cron, &error) != ARCP_OK) {
        require(error.message[0] != '\0');
        recurrence.every_sec = 600;
    }
    check(&recurrence);
    if (end != NULL &&
        arcp__zone_new(arcp_span_from(input, text_size + 1), &zone, &error) == ARCP_OK) {
        recurrence.zone = zone;
        check(&recurrence);
    }
    arcp__zone_free(zone);
    return 0;
}
