/* Leases in configuration files. */
#include "config/config.h"
#include "json/json_put.h"

static void write_scalar(const yaml_node_t *node, arcp_json_writer *writer)
{
    if (node->type == YAML_SCALAR_NODE) {
        arcp_json_write_string(writer, arcp__yaml_scalar(node));
    } else {
        arcp_json_write_null(writer); /* the lease parser refuses it */
    }
}

/* Nested lists are not followed, because a YAML alias can make a list an element of itself. */
arcp_status arcp__config_write_capability(arcp__yaml_reader *r, void *user, arcp_span name)
{
    arcp_json_writer *writer = user;
    const yaml_node_t *node = r->node;
    arcp_json_name_span(writer, name);
    if (node->type != YAML_SEQUENCE_NODE) {
        write_scalar(node, writer);
        return ARCP_OK;
    }
    arcp_json_begin_array(writer);
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        write_scalar(arcp__yaml_node(r, *item), writer);
    }
    arcp_json_end_array(writer);
    return ARCP_OK;
}

/* Limits apply to requests, not to the configuration. */
arcp_status arcp__config_parse_lease(arcp__yaml_reader *r, arcp_buf *text, arcp_lease **out)
{
    arcp_lease_limits limits = arcp_lease_limits_init();
    arcp_error why = {0};
    limits.patterns_max = SIZE_MAX;
    limits.bytes_max = SIZE_MAX;
    const arcp_status status =
        text->failed
            ? ARCP_E_NO_MEMORY
            : arcp_lease_parse(arcp_buf_span(text), arcp_span_make(NULL, 0), &limits, out, &why);
    if (status == ARCP_E_NO_MEMORY) {
        return arcp__yaml_no_memory(r);
    }
    return status == ARCP_OK ? ARCP_OK : arcp__yaml_refuse(r, "%s", why.message);
}

static arcp_status lease_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    arcp_buf text = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp_lease **lease = arcp__config_value(row, owner);
    arcp_status status = arcp__yaml_is_null(r->node)
                             ? ARCP_E_NOT_FOUND
                             : arcp__yaml_members(r, arcp__config_write_capability, &writer);
    if (status == ARCP_E_NOT_FOUND) {
        status = ARCP_OK;
    } else if (status == ARCP_OK) {
        arcp_json_end_object(&writer);
        arcp_lease_unref(*lease);
        *lease = NULL;
        status = arcp__config_parse_lease(r, &text, lease);
    }
    arcp_buf_fini(&text);
    return status;
}

static void lease_fini(const arcp__config_row *row, void *owner)
{
    arcp_lease **lease = arcp__config_value(row, owner);
    arcp_lease_unref(*lease);
    *lease = NULL;
}

static void lease_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    arcp_lease *const *lease = arcp__config_value(row, owner);
    if (*lease == NULL) {
        arcp_buf_append_cstr(out, "null");
    } else {
        arcp_lease_format(*lease, out);
    }
}

const arcp__config_type arcp__config_lease = {
    .fini = lease_fini, .read = lease_read, .print = lease_print};
