#include "base/utf8.h"

#include <string.h>

size_t arcp__utf8_valid_prefix(arcp_span text)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    size_t i = 0;
    while (i < text.size) {
        uint64_t word = 0;
        if (text.size - i >= sizeof word) {
            memcpy(&word, bytes + i, sizeof word);
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                i += sizeof word;
                continue;
            }
        }
        const size_t size = arcp__utf8_character_size(bytes + i, text.size - i);
        if (size == 0) {
            return i;
        }
        i += size;
    }
    return i;
}

bool arcp__has_control_byte(arcp_span text)
{
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if (byte < 0x20 || byte == 0x7f) {
            return true;
        }
    }
    return false;
}

size_t arcp__utf8_encode(uint32_t code_point, char out[4])
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xc0 | (code_point >> 6));
        out[1] = (char)(0x80 | (code_point & 0x3f));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xe0 | (code_point >> 12));
        out[1] = (char)(0x80 | ((code_point >> 6) & 0x3f));
        out[2] = (char)(0x80 | (code_point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (code_point >> 18));
    out[1] = (char)(0x80 | ((code_point >> 12) & 0x3f));
    out[2] = (char)(0x80 | ((code_point >> 6) & 0x3f));
    out[3] = (char)(0x80 | (code_point & 0x3f));
    return 4;
}

size_t arcp__utf8_cut(arcp_span text, size_t size)
{
    if (text.size <= size) {
        return text.size;
    }
    while (size > 0 && ((unsigned char)text.data[size] & 0xc0) == 0x80) {
        size--;
    }
    return size;
}

void arcp__utf8_append_escaped(arcp_buf *out, arcp_span text)
{
    while (text.size != 0) {
        uint32_t code_point;
        const size_t size = arcp__utf8_character_size((const unsigned char *)text.data, text.size);
        const size_t taken = size == 0 ? 1 : size;
        if (size == 0 || text.data[0] == '\\' || arcp__control_size(text, &code_point) != 0) {
            for (size_t i = 0; i < taken; i++) {
                arcp_buf_append_format(out, "\\x%02x", (unsigned char)text.data[i]);
            }
        } else {
            arcp_buf_append(out, arcp_span_first(text, size));
        }
        text = arcp_span_from(text, taken);
    }
}
