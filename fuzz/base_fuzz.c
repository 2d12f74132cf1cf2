/* The small parsers of src/base: text that they accept is written back unchanged, and a second,
 * simple parser gets the same value. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <arcp/secret.h>
#include <arcp/time.h>

#include "base/base64.h"
#include "base/timestamp.h"
#include "base/ulid.h"
#include "base/utf8.h"

/* ---- time ---- */

static int digits(const char *text, size_t from, size_t count)
{
    int value = 0;
    for (size_t i = from; i < from + count; i++) {
        require(text[i] >= '0' && text[i] <= '9');
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

/* The seconds by the C library's calendar. */
static int64_t library_seconds(const char *text)
{
    struct tm parts = {
        .tm_year = digits(text, 0, 4) - 1900,
        .tm_mon = digits(text, 5, 2) - 1,
        .tm_mday = digits(text, 8, 2),
        .tm_hour = digits(text, 11, 2),
        .tm_min = digits(text, 14, 2),
        .tm_sec = digits(text, 17, 2),
    };
    const int day = parts.tm_mday;
    const int month = parts.tm_mon;
    const int second = parts.tm_sec;
    const int64_t seconds = timegm(&parts);
    /* timegm turns 30 February into March: then it is another day. */
    require(second == 60 || (parts.tm_mday == day && parts.tm_mon == month));
    return seconds;
}

static void check_time(arcp_span text)
{
    arcp__instant when = {.wall_ns = -1};
    arcp_error err = {0};
    const arcp_status status = arcp__timestamp_parse(text, &when, &err);
    if (status != ARCP_OK) {
        require(status == ARCP_E_INVALID_REQUEST && err.offset <= text.size && when.wall_ns == -1);
        return;
    }
    require(text.size >= 20 && text.data[text.size - 1] == 'Z');
    require(when.seconds == library_seconds(text.data) && when.ns < ARCP_NS_PER_SEC);
    require(when.rest.size == 0 || when.rest.data[when.rest.size - 1] != '0');
    if (when.wall_ns == ARCP_TIME_NEVER) {
        require(when.seconds >= ARCP_TIME_NEVER / ARCP_NS_PER_SEC);
        return;
    }
    require(when.wall_ns == when.seconds * ARCP_NS_PER_SEC + when.ns);
    char again[ARCP__TIMESTAMP_SIZE];
    arcp__timestamp_format(when.wall_ns, again);
    arcp__instant back = {0};
    const arcp_span written = arcp_span_make(again, sizeof again);
    require(arcp__utf8_is_valid(written));
    require(arcp__timestamp_parse(written, &back, NULL) == ARCP_OK);
    require(back.wall_ns == when.wall_ns / ARCP_NS_PER_MS * ARCP_NS_PER_MS);
    require(arcp__instant_compare(back, when) <= 0 && arcp__instant_compare(when, back) >= 0);
}

/* ---- base 64 ---- */

static void check_base64(arcp_span text, arcp__base64_form form)
{
    arcp_buf decoded = arcp_buf_init();
    arcp_buf encoded = arcp_buf_init();
    arcp_error err = {0};
    size_t size = SIZE_MAX;
    const arcp_status status = arcp__base64_decode(text, form, &decoded, &err);
    require(arcp__base64_decoded_size(text, form, &size, NULL) == status);
    if (status == ARCP_OK) {
        require(decoded.size == size);
        arcp__base64_encode(arcp_buf_span(&decoded), form, &encoded);
        require(arcp_span_equal(arcp_buf_span(&encoded), text));
    } else {
        require(decoded.size == 0 && size == SIZE_MAX && err.offset <= text.size);
    }
    arcp_buf_clear(&decoded);
    arcp_buf_clear(&encoded);
    arcp__base64_encode(text, form, &encoded);
    require(arcp__base64_decode(arcp_buf_span(&encoded), form, &decoded, &err) == ARCP_OK);
    require(arcp_span_equal(arcp_buf_span(&decoded), text));
    arcp_buf_fini(&decoded);
    arcp_buf_fini(&encoded);
}

/* ---- UTF-8 ---- */

/* The size of the first character of `bytes`, by decoding it and encoding the result. */
static size_t plain_character(const unsigned char *bytes, size_t left)
{
    if (bytes[0] < 0x80) {
        return 1;
    }
    for (size_t size = 2; size <= 4 && size <= left; size++) {
        uint32_t code = bytes[0] & (0x7fu >> size);
        bool good = true;
        for (size_t next = 1; next < size; next++) {
            good = good && (bytes[next] & 0xc0) == 0x80;
            code = code << 6 | (bytes[next] & 0x3f);
        }
        char again[4];
        if (good && code >= 0x80 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) &&
            arcp__utf8_encode(code, again) == size && memcmp(again, bytes, size) == 0) {
            return size;
        }
    }
    return 0;
}

static void check_utf8(arcp_span text)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    size_t offset = 0;
    while (offset < text.size) {
        const size_t size = plain_character(bytes + offset, text.size - offset);
        if (size == 0) {
            break;
        }
        offset += size;
    }
    require(arcp__utf8_valid_prefix(text) == offset);
    const arcp_span valid = arcp_span_first(text, offset);
    for (size_t size = 0; size <= valid.size && size < 64; size++) {
        const size_t cut = arcp__utf8_cut(valid, size);
        require(cut <= size && size - cut < 4);
        require(arcp__utf8_is_valid(arcp_span_first(valid, cut)));
    }
}

/* ---- the rest ---- */

static void check_ulid(arcp_span text)
{
    bool valid = text.size == ARCP__ULID_SIZE && text.data[0] >= '0' && text.data[0] <= '7';
    for (size_t i = 0; i < text.size; i++) {
        const char byte = text.data[i];
        const bool letter = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
        const bool digit = byte >= '0' && byte <= '9';
        valid = valid && (digit || (letter && strchr("ILOUilou", byte) == NULL));
    }
    require(arcp__ulid_is_valid(text) == valid);
}

static void check_error(arcp_span text)
{
    arcp_error err = {0};
    const int size = text.size > 1000 ? 1000 : (int)text.size;
    (void)arcp_error_set(&err, ARCP_E_IO, "%.*s", size, text.data);
    const arcp_span message = arcp_span_cstr(err.message);
    require(message.size < ARCP_ERROR_MESSAGE_MAX && arcp__utf8_is_valid(message));
    for (size_t i = 0; i < message.size; i++) {
        require((unsigned char)message.data[i] >= 0x20 && message.data[i] != 0x7f);
    }
}

static void check_secret(arcp_span text)
{
    const arcp_span left = arcp_span_first(text, text.size / 2);
    const arcp_span right = arcp_span_from(text, text.size / 2);
    require(arcp_bytes_equal_constant_time(left, right) == arcp_span_equal(left, right));
    require(arcp_bytes_equal_constant_time(text, text));
    require(text.size < 2 || !arcp_bytes_equal_constant_time(text, right));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const arcp_span text =
        size == 0 ? ARCP_SPAN_LITERAL("") : arcp_span_make((const char *)data, size);
    check_time(text);
    check_base64(text, ARCP__BASE64_STANDARD);
    check_base64(text, ARCP__BASE64_URL);
    check_utf8(text);
    check_ulid(text);
    check_error(text);
    check_secret(text);
    return 0;
}
