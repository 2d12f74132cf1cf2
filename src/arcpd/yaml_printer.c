#include "arcpd/yaml_printer.h"

#include <stdbool.h>

#include <arcp/json.h>

void arcp__yaml_print_quoted(arcp_buf *out, const char *text)
{
    if (text == NULL) {
        arcp_buf_append_cstr(out, "null");
    } else {
        arcp_json_quote(arcp_span_cstr(text), out); /* JSON's strings are YAML's too */
    }
}

void arcp__yaml_print_text(arcp_buf *out, const char *key, const char *text)
{
    arcp_buf_append_format(out, "%s: ", key);
    arcp__yaml_print_quoted(out, text);
    arcp_buf_append_byte(out, '\n');
}

static void print_list(arcp_buf *out, const char *key, const arcp__text_list *list, bool masked)
{
    arcp_buf_append_format(out, "%s: [", key);
    for (size_t at = 0; at < list->count; at++) {
        arcp_buf_append_cstr(out, at == 0 ? "" : ", ");
        arcp__yaml_print_quoted(out, masked ? "***" : list->items[at]);
    }
    arcp_buf_append_cstr(out, "]\n");
}

void arcp__yaml_print_list(arcp_buf *out, const char *key, const arcp__text_list *list)
{
    print_list(out, key, list, false);
}

void arcp__yaml_print_masked_list(arcp_buf *out, const char *key, const arcp__text_list *list)
{
    print_list(out, key, list, true);
}
