#include <stdlib.h>
#include <string.h>

#include "arcpd/arcpd.h"
#include "json/json_put.h"

#define KEY_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789_.[]-"

void arcp__problem_write(arcp_json_writer *writer, const char *text)
{
    const char *rest = text;
    const char *colon = strchr(text, ':');
    arcp_json_begin_object(writer);
    /* A file's name may contain colons: the line's number is the first one between two. */
    while (colon != NULL) {
        const size_t digits = strspn(colon + 1, "0123456789");
        if (digits != 0 && strncmp(colon + 1 + digits, ": ", 2) == 0) {
            arcp__put_string(writer, "file", arcp_span_make(text, (size_t)(colon - text)));
            arcp__put_u64(writer, "line", strtoull(colon + 1, NULL, 10));
            rest = colon + 1 + digits + 2;
            break;
        }
        colon = strchr(colon + 1, ':');
    }
    const size_t key = strspn(rest, KEY_CHARACTERS);
    if (key != 0 && strncmp(rest + key, ": ", 2) == 0) {
        arcp__put_string(writer, "key", arcp_span_make(rest, key));
        rest += key + 2;
    }
    arcp__put_cstr(writer, "message", rest);
    arcp_json_end_object(writer);
}
