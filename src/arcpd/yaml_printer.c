#include "arcpd/yaml_printer.h"

#include <arcp/json.h>

#include "base/hash.h"

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

void arcp__yaml_print_list(arcp_buf *out, const char *key, const arcp__text_list *list)
{
    arcp_buf_append_format(out, "%s: [", key);
    for (size_t at = 0; at < list->count; at++) {
        arcp_buf_append_cstr(out, at == 0 ? "" : ", ");
        arcp__yaml_print_quoted(out, list->items[at]);
    }
    arcp_buf_append_cstr(out, "]\n");
}

void arcp__yaml_print_secret(arcp_buf *out, const char *text, arcp__print_secrets secrets)
{
    if (text == NULL) {
        arcp_buf_append_cstr(out, "null");
    } else if (secrets == ARCP__SECRETS_MASKED) {
        arcp_buf_append_cstr(out, "\"***\"");
    } else {
        arcp_buf_append_format(out, "\"***%016llx\"",
                               (unsigned long long)arcp__hash_bytes(text, strlen(text)));
    }
}

void arcp__yaml_print_secret_list(arcp_buf *out, const char *key, const arcp__text_list *list,
                                  arcp__print_secrets secrets)
{
    arcp_buf_append_format(out, "%s: [", key);
    for (size_t at = 0; at < list->count; at++) {
        arcp_buf_append_cstr(out, at == 0 ? "" : ", ");
        arcp__yaml_print_secret(out, list->items[at], secrets);
    }
    arcp_buf_append_cstr(out, "]\n");
}
