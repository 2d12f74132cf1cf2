/* A value that is sent as JSON: any YAML mapping or list. */
#include "config/config.h"

#include <arcp/json.h>
#include <arcp/secret.h>

#include "base/alloc.h"

/* A body's own levels; an alias can make a list an element of itself. */
#define DEPTH_MAX 32u
/* Aliases can make a short file a long text. */
#define BYTES_MAX 1048576u

typedef struct draft {
    arcp_json_writer writer;
    unsigned depth;
} draft;

static arcp_status write_json(arcp__yaml_reader *r, draft *into);

/* Plain numbers, true, false and null are what they look like. */
static void write_scalar(draft *into, const yaml_node_t *node)
{
    const arcp_json_limits limits = {4, 4, 4096};
    const arcp_span text = arcp__yaml_scalar(node);
    const bool is_plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && text.size != 0 &&
                          text.data[0] != '"' && text.data[0] != '{' && text.data[0] != '[';
    arcp_json json = ARCP_JSON_INIT;
    if (arcp__yaml_is_null(node)) {
        arcp_json_write_null(&into->writer);
    } else if (is_plain && arcp_json_scan(&json, text, &limits, NULL) == ARCP_OK) {
        arcp_json_write_raw(&into->writer, text);
    } else {
        arcp_json_write_string(&into->writer, text);
    }
    arcp_json_fini(&json);
}

static arcp_status write_member(arcp__yaml_reader *r, void *user, arcp_span key)
{
    draft *into = user;
    arcp_json_name_span(&into->writer, key);
    return write_json(r, into);
}

/* What was written before a refusal is of no use. An item is named by its list. */
static arcp_status write_json(arcp__yaml_reader *r, draft *into)
{
    const yaml_node_t *node = r->node;
    arcp_status status = ARCP_OK;
    if (into->depth == DEPTH_MAX && node->type != YAML_SCALAR_NODE) {
        return arcp__yaml_refuse(r, "stands deeper than %u levels", DEPTH_MAX);
    }
    into->depth++;
    if (node->type == YAML_SCALAR_NODE) {
        write_scalar(into, node);
    } else if (node->type == YAML_SEQUENCE_NODE) {
        arcp_json_begin_array(&into->writer);
        for (yaml_node_item_t *item = node->data.sequence.items.start;
             status == ARCP_OK && item < node->data.sequence.items.top; item++) {
            r->node = arcp__yaml_node(r, *item);
            status = write_json(r, into);
        }
        if (status == ARCP_OK) {
            arcp_json_end_array(&into->writer);
        }
    } else {
        arcp_json_begin_object(&into->writer);
        status = arcp__yaml_members(r, write_member, into);
        if (status == ARCP_OK) {
            arcp_json_end_object(&into->writer);
        }
    }
    into->depth--;
    r->node = node;
    return status == ARCP_OK && into->writer.out->size > BYTES_MAX
               ? arcp__yaml_refuse(r, "makes the body longer than %u bytes", BYTES_MAX)
               : status;
}

static arcp_status json_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    if (r->node->type != YAML_MAPPING_NODE && r->node->type != YAML_SEQUENCE_NODE) {
        return arcp__yaml_refuse(r, "must be a mapping or a list: it is sent as JSON");
    }
    arcp_buf text = ARCP_BUF_SECRET_INIT;
    draft into = {.depth = 0};
    arcp_json_writer_init(&into.writer, &text);
    arcp_status status = write_json(r, &into);
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

static void json_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    arcp__config_text.print(row, owner, out);
}

const arcp__config_type arcp__config_json = {
    .fini = json_fini, .read = json_read, .print = json_print};
