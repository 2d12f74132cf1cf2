/* The zones of the tests, from tests/calendar/zones. */
#ifndef ARCP_TESTS_CALENDAR_ZONE_FILE_H
#define ARCP_TESTS_CALENDAR_ZONE_FILE_H

#include "calendar/calendar.h"
#include "support/check.h"

/* Reads the file's bytes. */
static inline arcp_span zone_bytes(const char *name, char *room, size_t size)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/zones/%s", CALENDAR_DATA, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const arcp_span bytes = arcp_span_make(room, fread(room, 1, size, file));
    (void)fclose(file);
    return bytes;
}

static inline arcp__zone *zone_read(const char *name)
{
    char room[8192];
    arcp__zone *zone = NULL;
    arcp_error error = {0};
    if (arcp__zone_new(zone_bytes(name, room, sizeof room), &zone, &error) != ARCP_OK) {
        fail_msg("%s: %s", name, error.message);
    }
    return zone;
}

#endif
