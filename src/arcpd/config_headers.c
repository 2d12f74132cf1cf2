#include "arcpd/config_headers.h"

#include <arcp/secret.h>

#include "arcpd/yaml_reader.h"
#include "base/alloc.h"

arcp_status arcp__config_headers_member(arcp__yaml_reader *r, void *into, arcp_span key,
                                        const char *path, const yaml_node_t *value)
{
    char *text = NULL;
    arcp_buf line = ARCP_BUF_SECRET_INIT;
    arcp_status status = arcp__yaml_text(r, value, path, &text);
    if (status == ARCP_OK) {
        arcp_buf_append(&line, key);
        arcp_buf_append_cstr(&line, ": ");
        arcp_buf_append_cstr(&line, text == NULL ? "" : text);
        arcp_buf_append_byte(&line, '\0');
        status =
            line.failed ? arcp__yaml_no_memory(r) : arcp__text_list_add(into, line.data, r->err);
    }
    arcp_buf_fini(&line);
    if (text != NULL) {
        arcp_wipe(text, strlen(text));
    }
    arcp__free(text);
    return status;
}

void arcp__config_headers_print(const arcp__text_list *headers, arcp__print_secrets secrets,
                                arcp_buf *out)
{
    arcp_buf_append_byte(out, '{');
    for (size_t at = 0; at < headers->count; at++) {
        const char *line = headers->items[at];
        arcp_buf_append_format(out, "%s%.*s: ", at == 0 ? "" : ", ", (int)strcspn(line, ":"), line);
        arcp__yaml_print_secret(out, line, secrets);
    }
    arcp_buf_append_byte(out, '}');
}

void arcp__config_wipe_list(arcp__text_list *list)
{
    for (size_t at = 0; at < list->count; at++) {
        arcp_wipe(list->items[at], strlen(list->items[at]));
    }
    arcp__text_list_clear(list);
}
