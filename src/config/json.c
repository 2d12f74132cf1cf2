/* A value that is sent as JSON: any YAML mapping or list. */
#include "config/config.h"

#include <arcp/json.h>
#include <arcp/secret.h>

#include "base/alloc.h"

/* A body's own levels; an alias can make a list an element of itself. */
#define DEPTH_MAX 32u
/* Aliases can make a short file a long text. */
#define BYTES_MAX ((size_t)1 << 20)

typedef struct draft {
    arcp_json_writer writer;
    unsigned depth;
} draft;

static arcp_status write_json(arcp__yaml_reader *r, draft *into, const char *path,
                              const yaml_node_t *node);

static bool is_json_literal(const yaml_node_t *node)
{
    arcp_json json = ARCP_JSON_INIT;
    arcp_json_limits limits = {4, 4, 4096};
    arcp_span text = arcp__yaml_scalar(node);
    bool plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && text.size != 0 &&
                 text.data[0] != '"' && text.data[0] != '{' && text.data[0] != '[';
    bool literal = plain && arcp_json_scan(&json, text, &limits, NULL) == ARCP_OK;
    arcp_json_fini(&json);
    return literal;
}

/* Plain numbers, true, false and null are what they look like. */
static void write_scalar(draft *into, const yaml_node_t *node)
{
    if (arcp__yaml_is_null(node)) {
        arcp_json_write_null(&into->writer);
    } else if (is_json_literal(node)) {
        arcp_json_write_raw(&into->writer, arcp__yaml_scalar(node));
    } else {
        arcp_json_write_string(&into->writer, arcp__yaml_scalar(node));
    }
}

static arcp_status write_list(arcp__yaml_reader *r, draft *into, const char *path,
                              const yaml_node_t *node)
{
    arcp_status status = ARCP_OK;
    arcp_json_begin_array(&into->writer);
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         status == ARCP_OK && item < node->data.sequence.items.top; item++) {
        status = write_json(r, into, path, arcp__yaml_node(r, *item));
    }
    if (status == ARCP_OK) {
        arcp_json_end_array(&into->writer);
    }
    return status;
}

static arcp_status write_member(arcp__yaml_reader *r, void *user, arcp_span key, const char *path,
                                const yaml_node_t *value)
{
    draft *into = user;
    arcp_json_name_span(&into->writer, key);
    return write_json(r, into, path, value);
}

static arcp_status write_mapping(arcp__yaml_reader *r, draft *into, const char *path,
                                 const yaml_node_t *node)
{
    arcp_json_begin_object(&into->writer);
    arcp_status status = arcp__yaml_members(r, node, path, write_member, into);
    if (status == ARCP_OK) {
        arcp_json_end_object(&into->writer);
    }
    return status;
}

/* What was written before a refusal is of no use. */
static arcp_status write_json(arcp__yaml_reader *r, draft *into, const char *path,
                              const yaml_node_t *node)
{
    arcp_status status = ARCP_OK;
    if (into->depth == DEPTH_MAX && node->type != YAML_SCALAR_NODE) {
        return arcp__yaml_refuse(r, node, path, "stands deeper than 32 levels");
    }
    into->depth++;
    if (node->type == YAML_SCALAR_NODE) {
        write_scalar(into, node);
    } else if (node->type == YAML_SEQUENCE_NODE) {
        status = write_list(r, into, path, node);
    } else {
        status = write_mapping(r, into, path, node);
    }
    into->depth--;
    return status == ARCP_OK && into->writer.out->size > BYTES_MAX
               ? arcp__yaml_refuse(r, node, path, "makes the body longer than 1048576 bytes")
               : status;
}

static arcp_status json_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner,
                             const char *path, const yaml_node_t *node)
{
    if (node->type != YAML_MAPPING_NODE && node->type != YAML_SEQUENCE_NODE) {
        return arcp__yaml_refuse(r, node, path, "must be a mapping or a list: it is sent as JSON");
    }
    arcp_buf text = ARCP_BUF_SECRET_INIT;
    draft into = {.depth = 0};
    arcp_json_writer_init(&into.writer, &text);
    arcp_status status = write_json(r, &into, path, node);
    if (status == ARCP_OK) {
        char **value = arcp__config_value(row, owner);
        arcp__config_text.fini(row, owner);
        *value = arcp_buf_take_cstr(&text);
        status = *value == NULL ? arcp__yaml_no_memory(r) : ARCP_OK;
    }
    arcp_buf_fini(&text);
    return status;
}

static void json_fini(const arcp__config_row *row, void *owner)
{
    arcp__config_text.fini(row, owner);
}

static void json_print(const arcp__config_row *row, const void *owner, arcp__print_secrets secrets,
                       arcp_buf *out)
{
    arcp__config_text.print(row, owner, secrets, out);
}

const arcp__config_type arcp__config_json = {
    .fini = json_fini, .read = json_read, .print = json_print};
