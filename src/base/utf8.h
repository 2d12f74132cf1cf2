/* UTF-8 as in RFC 3629: no overlong forms, no surrogates, at most U+10FFFF. */
#ifndef ARCP_BASE_UTF8_H
#define ARCP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/buf.h>
#include <arcp/span.h>

/* Bytes of the character that begins at `bytes`, of which `left` (> 0) may be read; 0 when
 * there is no valid one. */
static inline size_t arcp__utf8_character_size(const unsigned char *bytes, size_t left)
{
    unsigned char lead = bytes[0];
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xc2 || lead > 0xf4) {
        return 0;
    }
    size_t size = lead < 0xe0 ? 2 : (lead < 0xf0 ? 3 : 4);
    if (size > left || (bytes[1] & 0xc0) != 0x80) {
        return 0;
    }
    /* The second byte rules out overlong forms, surrogates and values above U+10FFFF. */
    if ((lead == 0xe0 && bytes[1] < 0xa0) || (lead == 0xed && bytes[1] > 0x9f) ||
        (lead == 0xf0 && bytes[1] < 0x90) || (lead == 0xf4 && bytes[1] > 0x8f)) {
        return 0;
    }
    if (size > 2 && (bytes[2] & 0xc0) != 0x80) {
        return 0;
    }
    return size > 3 && (bytes[3] & 0xc0) != 0x80 ? 0 : size;
}

/* Whether a character of three bytes changes how others are shown, or is invisible: U+200B, the
 * marks, line ends and directions of U+200E to U+2069 (U+202F is a space), U+FEFF. The joiners
 * U+200C and U+200D are not: letters and emojis need them. */
static inline bool arcp__is_hidden(uint32_t code_point)
{
    return code_point == 0x200b || code_point == 0x200e || code_point == 0x200f ||
           (code_point >= 0x2028 && code_point <= 0x202e) ||
           (code_point >= 0x2060 && code_point <= 0x2069) || code_point == 0xfeff;
}

/* The size of the character that `text` begins with if it must not reach a terminal or a log
 * unchanged, else 0: control characters (a terminal takes U+009B for ESC [) and characters that
 * change how text is shown. `*code_point` gets the character. */
static inline size_t arcp__control_size(arcp_span text, uint32_t *code_point)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    if (text.size != 0 && (bytes[0] < 0x20 || bytes[0] == 0x7f)) {
        *code_point = bytes[0];
        return 1;
    }
    if (text.size > 1 &&
        ((bytes[0] == 0xc2 && bytes[1] >= 0x80 && bytes[1] < 0xa0) ||
         (bytes[0] == 0xd8 && bytes[1] == 0x9c))) { /* U+061C: Arabic letter mark */
        *code_point = ((bytes[0] & 0x1fU) << 6) | (bytes[1] & 0x3fU);
        return 2;
    }
    if (text.size > 2 && (bytes[0] == 0xe2 || bytes[0] == 0xef) && (bytes[1] & 0xc0) == 0x80 &&
        (bytes[2] & 0xc0) == 0x80) {
        *code_point = ((bytes[0] & 0xfU) << 12) | ((bytes[1] & 0x3fU) << 6) | (bytes[2] & 0x3fU);
        return arcp__is_hidden(*code_point) ? 3 : 0;
    }
    return 0;
}

/* Length of the longest valid prefix; text.size when all of it is valid. */
size_t arcp__utf8_valid_prefix(arcp_span text);

static inline bool arcp__utf8_is_valid(arcp_span text)
{
    return arcp__utf8_valid_prefix(text) == text.size;
}

/* Whether one of the bytes is an ASCII control character. */
bool arcp__has_control_byte(arcp_span text);

/* Writes `code_point` (no surrogate, at most 0x10FFFF); returns 1 to 4. */
size_t arcp__utf8_encode(uint32_t code_point, char out[4]);

/* The largest size, at most `size`, at which valid text can be cut without cutting a
 * character. */
size_t arcp__utf8_cut(arcp_span text, size_t size);

/* Appends text that a confined program chose, as UTF-8 of one line: control and hidden characters,
 * backslashes and invalid bytes become \xNN, so that the original bytes can be restored. */
void arcp__utf8_append_escaped(arcp_buf *out, arcp_span text);

#endif
