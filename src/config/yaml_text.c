/* From a text to a YAML document, and its keys by their rows. */
#include <errno.h>

#include <arcp/secret.h>

#include "base/alloc.h"
#include "config/config.h"

/* A configuration needs six. */
#define DEPTH_MAX      64u
#define FILE_BYTES_MAX 16777216u

/* Whether the character at a mark is a tab: columns count characters of UTF-8. */
static bool is_tab(arcp_span text, yaml_mark_t mark)
{
    size_t at = 0;
    for (size_t line = 0; line < mark.line && at < text.size; at++) {
        line += text.data[at] == '\n';
    }
    for (size_t column = 0; column < mark.column && at < text.size; column++) {
        do {
            at++;
        } while (at < text.size && ((unsigned char)text.data[at] & 0xc0u) == 0x80u);
    }
    return at < text.size && text.data[at] == '\t';
}

static arcp_status not_yaml(const arcp__yaml_reader *r, const yaml_parser_t *parser)
{
    const char *problem = parser->problem == NULL ? "this is no YAML" : parser->problem;
    if (is_tab(r->text, parser->problem_mark)) {
        problem = "a tab: YAML is indented by blanks only";
    }
    return arcp_error_set(r->err, ARCP_E_USAGE, "%s:%zu: %s", r->name,
                          parser->problem_mark.line + 1, problem);
}

/* Refuses a file of several documents: libyaml would silently ignore all but the first. */
static arcp_status refuse_more(arcp__yaml_reader *r, yaml_parser_t *parser)
{
    if (!yaml_parser_load(parser, &r->document)) {
        return not_yaml(r, parser);
    }
    const yaml_node_t *root = yaml_document_get_root_node(&r->document);
    arcp_status status =
        root == NULL ? ARCP_OK
                     : arcp__yaml_refuse(r, root, "", "a second document: want one in a file");
    yaml_document_delete(&r->document);
    return status;
}

static arcp_status load(arcp__yaml_reader *r, const arcp__config_fields *fields,
                        yaml_parser_t *parser)
{
    if (!yaml_parser_load(parser, &r->document)) {
        return not_yaml(r, parser);
    }
    const yaml_node_t *root = yaml_document_get_root_node(&r->document);
    const arcp_status status =
        root == NULL ? ARCP_OK : arcp__config_fields_read(r, fields, r->root, "", root);
    yaml_document_delete(&r->document);
    return status == ARCP_OK ? refuse_more(r, parser) : status;
}

/* Whether nothing is nested too deep, told by events: libyaml's time for a document grows with the
 * square of its depth, so that it must not see what comes behind the bound. */
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
    status = load(r, fields, &parser);
    yaml_parser_delete(&parser);
    return status;
}

arcp_status arcp__config_stream_read(arcp__yaml_reader *r, const arcp__config_fields *fields,
                                     FILE *file)
{
    arcp_buf text = ARCP_BUF_SECRET_INIT; /* it may have tokens */
    char block[16384];
    size_t size = 0;
    arcp_status status = ARCP_OK;
    do {
        size = fread(block, 1, sizeof block, file);
        arcp_buf_append(&text, arcp_span_make(block, size));
    } while (size != 0 && !text.failed && text.size <= FILE_BYTES_MAX);
    if (ferror(file) != 0) { /* a directory, say */
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
