#include "core/agent_name.h"

#define PART_BYTES_MAX 128

static bool is_lower_or_digit(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

static bool is_name(arcp_span text)
{
    if (text.size == 0 || text.size > PART_BYTES_MAX || !is_lower_or_digit(text.data[0])) {
        return false;
    }
    for (size_t at = 1; at < text.size; at++) {
        char byte = text.data[at];
        if (!is_lower_or_digit(byte) && byte != '.' && byte != '_' && byte != '-') {
            return false;
        }
    }
    return true;
}

static bool is_version(arcp_span text)
{
    if (text.size == 0 || text.size > PART_BYTES_MAX) {
        return false;
    }
    for (size_t at = 0; at < text.size; at++) {
        char byte = text.data[at];
        bool is_upper = byte >= 'A' && byte <= 'Z';
        if (!is_lower_or_digit(byte) && !is_upper && byte != '.' && byte != '+' && byte != '_' &&
            byte != '-') {
            return false;
        }
    }
    return true;
}

/* [arcp:7.5-2] */
arcp_status arcp__agent_name_parse(arcp_span text, arcp_span *name, arcp_span *version,
                                   arcp_error *err)
{
    const char *at = text.size == 0 ? NULL : memchr(text.data, '@', text.size);
    arcp_span name_part = at == NULL ? text : arcp_span_first(text, (size_t)(at - text.data));
    arcp_span version_part = {NULL, 0};
    if (at != NULL) {
        version_part = arcp_span_from(text, name_part.size + 1);
    }
    if (!is_name(name_part) || (at != NULL && !is_version(version_part))) {
        arcp_span shown = arcp_span_first(text, 80);
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "agent \"%.*s\" is not of the form name or name@version "
                              "(name: a-z 0-9 . _ -, version: letters, digits and . + _ -)",
                              (int)shown.size, shown.size == 0 ? "" : shown.data);
    }
    *name = name_part;
    *version = version_part;
    return ARCP_OK;
}
