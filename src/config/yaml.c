/* Parses a text into a YAML document, and reads the document. */
#include "config/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <arcp/secret.h>

#include "base/alloc.h"

#define DEPTH_MAX      64u /* a configuration needs six levels */
#define FILE_BYTES_MAX 16777216u

/* ---- the reader ---- */

arcp_status arcp__yaml_refuse(const arcp__yaml_reader *r, const char *what, ...)
{
    char text[sizeof r->err->message];
    va_list arguments;
    va_start(arguments, what);
    (void)vsnprintf(text, sizeof text, what, arguments);
    va_end(arguments);
    return arcp_error_set(r->err, ARCP_E_USAGE, "%s:%zu: %s%s%s", r->name,
                          r->node->start_mark.line + 1, r->path, r->path[0] == '\0' ? "" : ": ",
                          text);
}

arcp_status arcp__yaml_no_memory(const arcp__yaml_reader *r)
{
    return arcp_error_set(r->err, ARCP_E_NO_MEMORY, "out of memory");
}

arcp__yaml_place arcp__yaml_enter(arcp__yaml_reader *r, const yaml_node_t *node, const char *more,
                                  ...)
{
    const arcp__yaml_place before = {r->node, strlen(r->path)};
    va_list arguments;
    va_start(arguments, more);
    (void)vsnprintf(r->path + before.path_size, sizeof r->path - before.path_size, more, arguments);
    va_end(arguments);
    r->node = node;
    return before;
}

void arcp__yaml_leave(arcp__yaml_reader *r, arcp__yaml_place place)
{
    r->node = place.node;
    r->path[place.path_size] = '\0';
}

yaml_node_t *arcp__yaml_node(arcp__yaml_reader *r, int index)
{
    return yaml_document_get_node(&r->document, index);
}

arcp_span arcp__yaml_scalar(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE
               ? arcp_span_make((const char *)node->data.scalar.value, node->data.scalar.length)
               : arcp_span_make(NULL, 0);
}

bool arcp__yaml_is_null(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE) {
        return false;
    }
    const arcp_span text = arcp__yaml_scalar(node);
    return text.size == 0 || arcp_span_equal_cstr(text, "null") || arcp_span_equal_cstr(text, "~");
}

arcp_status arcp__yaml_members(arcp__yaml_reader *r, arcp__yaml_member_fn member, void *into)
{
    if (arcp__yaml_is_null(r->node)) {
        return ARCP_OK;
    }
    if (r->node->type != YAML_MAPPING_NODE) {
        return arcp__yaml_refuse(r, "must be a mapping (key: value)");
    }
    const yaml_node_t *mapping = r->node;
    yaml_node_pair_t *first = mapping->data.mapping.pairs.start;
    for (yaml_node_pair_t *pair = first; pair < mapping->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = arcp__yaml_node(r, pair->key);
        const arcp_span name = arcp__yaml_scalar(key);
        if (key->type != YAML_SCALAR_NODE) {
            r->node = key;
            return arcp__yaml_refuse(r, "a key must be a word");
        }
        const arcp__yaml_place place = arcp__yaml_enter(
            r, key, "%s%.*s", r->path[0] == '\0' ? "" : ".", (int)name.size, name.data);
        for (yaml_node_pair_t *before = first; before < pair; before++) {
            if (arcp_span_equal(arcp__yaml_scalar(arcp__yaml_node(r, before->key)), name)) {
                return arcp__yaml_refuse(r, "occurs twice");
            }
        }
        r->node = arcp__yaml_node(r, pair->value);
        const arcp_status status = member(r, into, name);
        if (status == ARCP_E_NOT_FOUND) {
            r->node = key;
            return arcp__yaml_refuse(r, "is not a key of the configuration");
        }
        if (status != ARCP_OK) {
            return status;
        }
        arcp__yaml_leave(r, place);
    }
    return ARCP_OK;
}

const yaml_node_t *arcp__yaml_find(arcp__yaml_reader *r, const char *key)
{
    if (r->node->type != YAML_MAPPING_NODE) {
        return NULL;
    }
    for (yaml_node_pair_t *pair = r->node->data.mapping.pairs.start;
         pair < r->node->data.mapping.pairs.top; pair++) {
        if (arcp_span_equal_cstr(arcp__yaml_scalar(arcp__yaml_node(r, pair->key)), key)) {
            return arcp__yaml_node(r, pair->value);
        }
    }
    return NULL;
}

/* ---- the text ---- */

static arcp_status not_yaml(const arcp__yaml_reader *r, const yaml_parser_t *parser)
{
    const yaml_mark_t mark = parser->problem_mark;
    const char *problem = parser->problem == NULL ? "not valid YAML" : parser->problem;
    size_t i = 0;
    for (size_t line = 0; line < mark.line && i < r->text.size; i++) {
        line += r->text.data[i] == '\n';
    }
    /* Columns count characters of UTF-8. */
    for (size_t column = 0; column < mark.column && i < r->text.size; column++) {
        do {
            i++;
        } while (i < r->text.size && ((unsigned char)r->text.data[i] & 0xc0u) == 0x80u);
    }
    if (i < r->text.size && r->text.data[i] == '\t') {
        problem = "YAML must be indented by blanks, not tabs";
    }
    return arcp_error_set(r->err, ARCP_E_USAGE, "%s:%zu: %s", r->name, mark.line + 1, problem);
}

/* Refuses a text that is nested too deep. It is parsed as events, because libyaml's time to load a
 * document grows with the square of its depth. */
static arcp_status check_depth(arcp__yaml_reader *r, arcp_span text)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        return arcp__yaml_no_memory(r);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
    arcp_status status = ARCP_OK;
    unsigned depth = 0;
    for (bool more = true; more && status == ARCP_OK;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            status = not_yaml(r, &parser);
            break;
        }
        const yaml_event_type_t type = event.type;
        depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
        depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
        if (depth > DEPTH_MAX) {
            status = arcp_error_set(r->err, ARCP_E_USAGE, "%s:%zu: nested deeper than %u", r->name,
                                    event.start_mark.line + 1, DEPTH_MAX);
        }
        more = type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return status;
}

arcp_status arcp__config_text_read(arcp__yaml_reader *r, const arcp__config_fields *fields,
                                   arcp_span text)
{
    yaml_parser_t parser;
    r->text = text;
    if (text.size == 0) {
        return ARCP_OK;
    }
    arcp__free(r->places->file);
    r->places->file = arcp__copy_cstr(r->name, strlen(r->name));
    if (r->places->file == NULL) {
        return arcp__yaml_no_memory(r);
    }
    arcp_status status = check_depth(r, text);
    if (status != ARCP_OK) {
        return status;
    }
    if (!yaml_parser_initialize(&parser)) {
        return arcp__yaml_no_memory(r);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
    /* A second document is refused: libyaml would silently ignore all but the first. */
    for (int i = 0; status == ARCP_OK && i < 2; i++) {
        if (!yaml_parser_load(&parser, &r->document)) {
            status = not_yaml(r, &parser);
            break;
        }
        r->node = yaml_document_get_root_node(&r->document);
        if (r->node != NULL) {
            status = i == 0 ? arcp__config_fields_read(r, fields, r->root)
                            : arcp__yaml_refuse(r, "the file must contain only one document");
        }
        yaml_document_delete(&r->document);
    }
    yaml_parser_delete(&parser);
    return status;
}

arcp_status arcp__config_stream_read(arcp__yaml_reader *r, const arcp__config_fields *fields,
                                     FILE *file)
{
    arcp_buf text = arcp_buf_secret_init(); /* it may contain tokens */
    char block[16384];
    size_t size = 0;
    arcp_status status = ARCP_OK;
    do {
        size = fread(block, 1, sizeof block, file);
        arcp_buf_append(&text, arcp_span_make(block, size));
    } while (size != 0 && !text.failed && text.size <= FILE_BYTES_MAX);
    if (ferror(file) != 0) { /* such as a directory */
        status = arcp_error_set(r->err, ARCP_E_USAGE, "%s: cannot be read: %s", r->name,
                                strerror(errno));
    } else if (text.size > FILE_BYTES_MAX) {
        status = arcp_error_set(r->err, ARCP_E_USAGE, "%s: has more than %u bytes", r->name,
                                FILE_BYTES_MAX);
    } else {
        status = text.failed ? arcp__yaml_no_memory(r)
                             : arcp__config_text_read(r, fields, arcp_buf_span(&text));
    }
    arcp_wipe(block, sizeof block);
    arcp_buf_fini(&text);
    return status;
}
