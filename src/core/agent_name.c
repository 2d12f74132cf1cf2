#include "core/agent_name.h"

#define PART_BYTES_MAX 128

/* Whether the text is 1 to 128 lower-case letters, digits and characters of `others`. */
static bool is_part(arcp_span text, const char *others)
{
    bool is_valid = text.size > 0 && text.size <= PART_BYTES_MAX;
    for (size_t i = 0; i < text.size && is_valid; i++) {
        const char byte = text.data[i];
        is_valid = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
                   (byte != '\0' && strchr(others, byte) != NULL);
    }
    return is_valid;
}

/* [arcp:7.5-2] */
arcp_status arcp__agent_name_parse(arcp_span text, arcp_span *name, arcp_span *version,
                                   arcp_error *err)
{
    const char *separator = text.size == 0 ? NULL : memchr(text.data, '@', text.size);
    const arcp_span name_part =
        separator == NULL ? text : arcp_span_first(text, (size_t)(separator - text.data));
    arcp_span version_part = {NULL, 0};
    if (separator != NULL) {
        version_part = arcp_span_from(text, name_part.size + 1);
    }
    const bool is_name = is_part(name_part, "._-") && is_part(arcp_span_first(name_part, 1), "");
    if (!is_name ||
        (separator != NULL && !is_part(version_part, "ABCDEFGHIJKLMNOPQRSTUVWXYZ.+_-"))) {
        const arcp_span shown = arcp_span_first(text, 80);
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "agent \"%.*s\" is not of the form name or name@version "
                              "(name: a-z 0-9 . _ -, version: letters, digits and . + _ -)",
                              (int)shown.size, shown.size == 0 ? "" : shown.data);
    }
    *name = name_part;
    *version = version_part;
    return ARCP_OK;
}
