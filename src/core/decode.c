#include "core/decode.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/hex.h"
#include "base/timestamp.h"

#define TYPE(name) (1U << ARCP_JSON_##name)

static const struct {
    const char *text;
    unsigned types; /* of JSON, one bit each */
} shapes[ARCP__SHAPES] = {
    [ARCP__SHAPE_ANY] = {"any value", UINT_MAX},
    [ARCP__SHAPE_STRING] = {"a non-empty string", TYPE(STRING)},
    [ARCP__SHAPE_TEXT] = {"a string", TYPE(STRING)},
    [ARCP__SHAPE_LOOSE] = {"a string", UINT_MAX},
    [ARCP__SHAPE_OBJECT] = {"an object", TYPE(OBJECT)},
    [ARCP__SHAPE_ARRAY] = {"an array", TYPE(ARRAY)},
    [ARCP__SHAPE_STRINGS] = {"an array of strings", TYPE(ARRAY)},
    [ARCP__SHAPE_BOOL] = {"true or false", TYPE(TRUE) | TYPE(FALSE)},
    [ARCP__SHAPE_COUNT] = {"a whole number of 0 or more", TYPE(NUMBER)},
    [ARCP__SHAPE_POSITIVE] = {"a whole number of 1 or more", TYPE(NUMBER)},
    [ARCP__SHAPE_NUMBER] = {"a number", TYPE(NUMBER)},
    [ARCP__SHAPE_NOT_NEGATIVE] = {"a number of 0 or more", TYPE(NUMBER)},
    [ARCP__SHAPE_INSTANT] = {"a time stamp (RFC 3339, UTC)", TYPE(STRING)},
    [ARCP__SHAPE_HASH] = {"64 lower-case hex digits", TYPE(STRING)},
    [ARCP__SHAPE_ID] = {"a non-empty string", TYPE(STRING)},
};

/* -0 is not negative; every other number with a minus sign is. */
static bool is_not_negative(arcp_span number)
{
    if (number.size == 0 || number.data[0] != '-') {
        return true;
    }
    for (size_t i = 1; i < number.size && number.data[i] != 'e' && number.data[i] != 'E'; i++) {
        if (number.data[i] >= '1' && number.data[i] <= '9') {
            return false;
        }
    }
    return true;
}

/* Checks the shape of a value. `*number` is set if the shape is a whole number. */
static bool has_shape(const arcp_json *json, arcp_json_ref ref, arcp__shape shape, uint64_t *number)
{
    if ((shapes[shape].types >> json->nodes[ref].type & 1) == 0) {
        return false;
    }
    if (shape == ARCP__SHAPE_STRING || shape == ARCP__SHAPE_ID) {
        return json->nodes[ref].size > 2;
    }
    if (shape == ARCP__SHAPE_COUNT || shape == ARCP__SHAPE_POSITIVE) {
        return arcp_json_u64(json, ref, number) && (*number > 0 || shape == ARCP__SHAPE_COUNT);
    }
    if (shape == ARCP__SHAPE_STRINGS) {
        arcp_json_ref item = arcp_json_first(json, ref);
        while (arcp_json_is(json, item, ARCP_JSON_STRING)) {
            item = arcp_json_next(json, ref, item);
        }
        return item == ARCP_JSON_ABSENT;
    }
    return shape != ARCP__SHAPE_NOT_NEGATIVE || is_not_negative(arcp_json_raw(json, ref));
}

static bool read_hash(arcp_span hex, uint8_t out[32])
{
    uint8_t bytes[32];
    bool is_hash = hex.size == 2 * sizeof bytes;
    for (size_t i = 0; is_hash && i < sizeof bytes; i++) {
        const unsigned char digits[2] = {(unsigned char)hex.data[2 * i],
                                         (unsigned char)hex.data[2 * i + 1]};
        const int high = arcp__hex_value(digits[0]);
        const int low = arcp__hex_value(digits[1]);
        /* Digits and lower-case letters have this bit, upper-case letters do not. */
        is_hash = high >= 0 && low >= 0 && (digits[0] & digits[1] & 0x20) != 0;
        bytes[i] = (uint8_t)(high * 16 + low);
    }
    if (is_hash) {
        memcpy(out, bytes, sizeof bytes);
    }
    return is_hash;
}

/* Reads a value, not null, into its field. False when it does not have the row's shape; its field
 * is then unchanged. */
static bool take(const arcp__decoder *decoder, const arcp__member *row, arcp_json_ref ref,
                 char *field)
{
    const arcp_json *json = decoder->json;
    arcp__instant instant;
    arcp_span text;
    uint64_t number = 0;
    if (!has_shape(json, ref, (arcp__shape)row->shape, &number)) {
        return false;
    }
    switch ((arcp__field)row->field) {
    case ARCP__FIELD_NONE:
    case ARCP__FIELD_REF:
        return true;
    case ARCP__FIELD_SPAN:
        if (arcp_json_is(json, ref, ARCP_JSON_STRING)) {
            text = arcp_json_string(json, ref, decoder->scratch);
            if (row->shape == ARCP__SHAPE_ID && text.size > ARCP__SPAN_ID_MAX) {
                return false;
            }
            memcpy(field, &text, sizeof text);
        }
        return true;
    case ARCP__FIELD_U64:
        assert(row->shape == ARCP__SHAPE_COUNT || row->shape == ARCP__SHAPE_POSITIVE);
        memcpy(field, &number, sizeof number);
        return true;
    case ARCP__FIELD_BOOL:
        *(bool *)field = arcp_json_is(json, ref, ARCP_JSON_TRUE);
        return true;
    case ARCP__FIELD_INSTANT:
        if (arcp__timestamp_parse(arcp_json_string(json, ref, decoder->scratch), &instant, NULL) !=
            ARCP_OK) {
            return false;
        }
        memcpy(field, &instant.wall_ns, sizeof instant.wall_ns);
        return true;
    case ARCP__FIELD_HASH:
        return read_hash(arcp_json_string(json, ref, decoder->scratch), (uint8_t *)field);
    case ARCP__FIELD_ID:
        text = arcp_json_string(json, ref, decoder->scratch);
        if (text.size == 0 || text.size >= row->size) {
            return false;
        }
        memcpy(field, text.data, text.size);
        field[text.size] = '\0';
        return true;
    }
    return false;
}

/* `within` is the member whose object contains the row's member, or NULL. */
static arcp_status refuse(const arcp__decoder *decoder, arcp_json_ref ref, const char *within,
                          const arcp__member *row, arcp_error *err)
{
    const char *dot = within == NULL ? "" : ".";
    within = within == NULL ? "" : within;
    if (decoder->where == NULL) {
        return ARCP_E_CORRUPT;
    }
    if (arcp_json_is_missing(decoder->json, ref)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%s.%s%s%s is missing, must be %s",
                              decoder->where, within, dot, row->name, shapes[row->shape].text);
    }
    const arcp_span raw = arcp_span_first(arcp_json_raw(decoder->json, ref), 40);
    return arcp_error_set_at(err, ARCP_E_INVALID_REQUEST, decoder->json->nodes[ref].start,
                             "%s.%s%s%s is %.*s, must be %s", decoder->where, within, dot,
                             row->name, (int)raw.size, raw.data, shapes[row->shape].text);
}

static arcp_status decode(arcp__decoder *decoder, arcp_json_ref object, const char *within,
                          const arcp__members *members, void *out, arcp_error *err)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < members->count; i++) {
        const arcp__member *row = &members->rows[i];
        arcp_json_ref ref = arcp_json_member(decoder->json, object, arcp_span_cstr(row->name));
        if (row->older != NULL) {
            const arcp_json_ref older =
                arcp_json_member(decoder->json, object, arcp_span_cstr(row->older));
            decoder->has_older = decoder->has_older || older != ARCP_JSON_ABSENT;
            ref = ref == ARCP_JSON_ABSENT ? older : ref;
        }
        const bool missing = arcp_json_is_missing(decoder->json, ref);
        char *field = (char *)out + row->at;
        const bool is_read = !missing && take(decoder, row, ref, field);
        if (row->field == ARCP__FIELD_REF) {
            const arcp_json_ref value = is_read || missing ? ref : ARCP_JSON_ABSENT;
            memcpy(field, &value, sizeof value);
        }
        if (!is_read && (row->required || (!missing && decoder->where != NULL)) &&
            status == ARCP_OK) {
            status = refuse(decoder, ref, within, row, err);
        }
        if (row->parts != NULL) { /* all absent when there is no object */
            assert(within == NULL);
            const arcp_status inner =
                decode(decoder, ref, row->name, row->parts, out, status == ARCP_OK ? err : NULL);
            status = status == ARCP_OK ? inner : status;
        }
    }
    return status;
}

arcp_status arcp__decode(arcp__decoder *decoder, arcp_json_ref object, const arcp__members *members,
                         void *out, arcp_error *err)
{
    return decode(decoder, object, NULL, members, out, err);
}

bool arcp__decode_row(const arcp_json *json, arcp_buf *scratch, arcp_json_ref object,
                      const arcp__members *members, void *out)
{
    arcp__decoder decoder = {.json = json, .scratch = scratch};
    return decode(&decoder, object, NULL, members, out, NULL) == ARCP_OK;
}

static bool is_empty(const arcp__member *member, const char *field)
{
    arcp_span text;
    if (member->field == ARCP__FIELD_SPAN) {
        memcpy(&text, field, sizeof text);
        return text.size == 0;
    }
    size_t zeros = 0;
    while (zeros < member->size && field[zeros] == 0) {
        zeros++;
    }
    return zeros == member->size;
}

static void write_value(arcp_json_writer *writer, arcp__field kind, const char *field)
{
    char text[64]; /* of a hash, or a time stamp */
    arcp_span span;
    uint64_t number = 0;
    int64_t wall_ns = 0;
    switch (kind) {
    case ARCP__FIELD_NONE:
    case ARCP__FIELD_REF:
        break;
    case ARCP__FIELD_SPAN:
        memcpy(&span, field, sizeof span);
        arcp_json_write_string(writer, span);
        break;
    case ARCP__FIELD_U64:
        memcpy(&number, field, sizeof number);
        arcp_json_write_u64(writer, number);
        break;
    case ARCP__FIELD_BOOL:
        arcp_json_write_bool(writer, *(const bool *)field);
        break;
    case ARCP__FIELD_INSTANT:
        memcpy(&wall_ns, field, sizeof wall_ns);
        arcp__timestamp_format(wall_ns, text);
        arcp_json_write_string(writer, arcp_span_make(text, ARCP__TIMESTAMP_SIZE));
        break;
    case ARCP__FIELD_HASH:
        arcp__hex_format((const uint8_t *)field, sizeof text / 2, text);
        arcp_json_write_string(writer, arcp_span_make(text, sizeof text));
        break;
    case ARCP__FIELD_ID:
        arcp_json_write_cstr(writer, field);
        break;
    }
}

void arcp__encode_row(arcp_json_writer *writer, const arcp__members *members, const void *row)
{
    for (size_t i = 0; i < members->count; i++) {
        const arcp__member *member = &members->rows[i];
        const char *field = (const char *)row + member->at;
        const bool is_written =
            member->field != ARCP__FIELD_NONE && member->field != ARCP__FIELD_REF;
        if (is_written && (member->required || !is_empty(member, field))) {
            arcp_json_name(writer, member->name);
            write_value(writer, (arcp__field)member->field, field);
        }
    }
}

void arcp__row_format(const arcp__members *members, const void *row, arcp_buf *out)
{
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, out);
    arcp_json_begin_object(&writer);
    arcp__encode_row(&writer, members, row);
    arcp_json_end_object(&writer);
}
