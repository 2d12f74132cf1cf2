/* Time zones from TZif files (RFC 8536): a list of transitions, and a rule for later times. */
#include "calendar/calendar_state.h"

#include <string.h>

#include "base/alloc.h"

#define HEADER_SIZE 44u
#define TIMES_MAX   10000u
#define TYPES_MAX   256u
#define OFFSET_MAX  93600 /* 26 hours */

typedef struct transition {
    int64_t at;
    int32_t offset; /* from then on */
} transition;

struct arcp__zone {
    int32_t first_offset; /* before the first transition */
    bool has_rule;        /* for times from the last transition on */
    arcp__zone_rule rule;
    size_t count;
    transition transitions[];
};

/* A header's counts, and where the data behind it is. */
typedef struct block {
    char version;
    size_t leaps, times, types, characters;
    size_t time_size;
    arcp_span data;
    size_t size; /* of the data */
} block;

static arcp_status refuse(const char *what, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_USAGE, "not a time zone file: %s", what);
}

static uint64_t read_big(const char *at, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        number = number << 8 | (unsigned char)at[i];
    }
    return number;
}

static int64_t read_time(const block *from, size_t index)
{
    const char *at = from->data.data + index * from->time_size;
    return from->time_size == 8 ? (int64_t)read_big(at, 8) : (int32_t)(uint32_t)read_big(at, 4);
}

static arcp_status read_block(arcp_span tzif, size_t time_size, block *out, arcp_error *err)
{
    if (tzif.size < HEADER_SIZE || memcmp(tzif.data, "TZif", 4) != 0) {
        return refuse("it does not begin with TZif", err);
    }
    uint32_t counts[6];
    for (size_t i = 0; i < 6; i++) {
        counts[i] = (uint32_t)read_big(tzif.data + 20 + 4 * i, 4);
    }
    *out = (block){.version = tzif.data[4],
                   .leaps = counts[2],
                   .times = counts[3],
                   .types = counts[4],
                   .characters = counts[5],
                   .time_size = time_size,
                   .data = arcp_span_from(tzif, HEADER_SIZE)};
    if (counts[0] > TYPES_MAX || counts[1] > TYPES_MAX || out->leaps > TIMES_MAX ||
        out->times > TIMES_MAX || out->types == 0 || out->types > TYPES_MAX ||
        out->characters > TIMES_MAX) {
        return refuse("its header has counts beyond the limits", err);
    }
    out->size = out->times * (time_size + 1) + out->types * 6 + out->characters +
                out->leaps * (time_size + 4) + counts[0] + counts[1];
    return out->size > out->data.size ? refuse("it is cut off", err) : ARCP_OK;
}

static arcp_status read_offset(const block *from, size_t type, int32_t *out, arcp_error *err)
{
    if (type >= from->types) {
        return refuse("a transition has an unknown type", err);
    }
    const char *types = from->data.data + from->times * (from->time_size + 1);
    *out = (int32_t)(uint32_t)read_big(types + 6 * type, 4);
    return *out < -OFFSET_MAX || *out > OFFSET_MAX ? refuse("an offset is beyond 26 hours", err)
                                                   : ARCP_OK;
}

static arcp_status read_transitions(const block *from, arcp__zone *zone, arcp_error *err)
{
    const char *types = from->data.data + from->times * from->time_size;
    arcp_status status = read_offset(from, 0, &zone->first_offset, err);
    for (size_t i = 0; i < from->times && status == ARCP_OK; i++) {
        transition *next = &zone->transitions[i];
        next->at = read_time(from, i);
        status = read_offset(from, (unsigned char)types[i], &next->offset, err);
        if (status == ARCP_OK && i != 0 && next->at <= next[-1].at) {
            status = refuse("its transitions are not in order", err);
        }
    }
    zone->count = from->times;
    return status;
}

/* The rule is a line of its own behind the data; an empty one: the last offset stays. */
static arcp_status read_rule(arcp_span text, arcp__zone *zone, arcp_error *err)
{
    const char *end = text.size < 2 ? NULL : memchr(text.data + 1, '\n', text.size - 1);
    if (end == NULL || text.data[0] != '\n') {
        return refuse("its rule is missing", err);
    }
    const arcp_span rule = arcp_span_make(text.data + 1, (size_t)(end - text.data) - 1);
    zone->has_rule = rule.size != 0;
    return zone->has_rule && !arcp__zone_rule_read(rule, &zone->rule)
               ? refuse("its rule cannot be read", err)
               : ARCP_OK;
}

arcp_status arcp__zone_new(arcp_span tzif, arcp__zone **out, arcp_error *err)
{
    block found = {0};
    arcp_status status = read_block(tzif, 4, &found, err);
    const bool has_rule = status == ARCP_OK && found.version >= '2';
    if (has_rule) {
        /* The same data follow with times of 64 bits. */
        tzif = arcp_span_from(tzif, HEADER_SIZE + found.size);
        status = read_block(tzif, 8, &found, err);
    }
    if (status == ARCP_OK && found.leaps != 0) {
        status = refuse("it counts leap seconds", err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp__zone *zone = arcp__alloc(sizeof *zone + found.times * sizeof zone->transitions[0]);
    if (zone == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    status = read_transitions(&found, zone, err);
    if (status == ARCP_OK && has_rule) {
        status = read_rule(arcp_span_from(tzif, HEADER_SIZE + found.size), zone, err);
    }
    if (status != ARCP_OK) {
        arcp__zone_free(zone);
        return status;
    }
    *out = zone;
    return ARCP_OK;
}

void arcp__zone_free(arcp__zone *zone)
{
    arcp__free(zone);
}

arcp__zone_period arcp__zone_at(const arcp__zone *zone, int64_t instant)
{
    size_t low = 0; /* the number of transitions that are not after the instant */
    size_t high = zone->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (zone->transitions[middle].at <= instant) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == zone->count && zone->has_rule) {
        return arcp__zone_rule_at(&zone->rule, instant);
    }
    return (arcp__zone_period){
        .offset = low == 0 ? zone->first_offset : zone->transitions[low - 1].offset,
        .end = low == zone->count ? ARCP__DUE_NEVER : zone->transitions[low].at};
}
