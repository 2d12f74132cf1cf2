/* max_lease and max_budget of a policy: two keys for one ceiling, whose cost.budget the budget is.
 * Each checks its own shape; when both were read the ceiling is made of their nodes. */
#include "arcpd/config.h"

#include <stdio.h>

#include <arcp/json.h>

#include "base/alloc.h"
#include "json/json_put.h"

/* ---- the two keys ---- */

static arcp_status lease_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner,
                              const char *path, const yaml_node_t *node)
{
    arcp__config_policy *policy = owner;
    policy->has_lease = true;
    return node->type == YAML_MAPPING_NODE
               ? ARCP_OK
               : arcp__yaml_refuse(r, node, path, "must be a mapping of capability: [patterns]");
}

static void lease_fini(const arcp__config_row *row, void *owner)
{
    arcp__config_policy *policy = owner;
    arcp_lease_unref(policy->ceiling);
    policy->ceiling = NULL;
}

static void lease_print(const arcp__config_row *row, const void *owner, arcp__print_secrets secrets,
                        arcp_buf *out)
{
    const arcp__config_policy *policy = owner;
    arcp_lease_format(policy->ceiling, out);
}

const arcp__config_type arcp__config_ceiling_lease = {
    .fini = lease_fini, .read = lease_read, .print = lease_print};

static arcp_status budget_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner,
                               const char *path, const yaml_node_t *node)
{
    return node->type == YAML_SEQUENCE_NODE
               ? ARCP_OK
               : arcp__yaml_refuse(r, node, path, "must be a list of amounts like USD:5.00");
}

/* Of an entry without a lease: it is all that the ceiling has. */
static void budget_print(const arcp__config_row *row, const void *owner,
                         arcp__print_secrets secrets, arcp_buf *out)
{
    const arcp__config_policy *policy = owner;
    arcp_buf_append_byte(out, '[');
    for (size_t i = 0; i < arcp_lease_pattern_count(policy->ceiling, 0); i++) {
        arcp_buf_append_cstr(out, i == 0 ? "" : ", ");
        arcp_json_quote(arcp_lease_pattern(policy->ceiling, 0, i), out);
    }
    arcp_buf_append_byte(out, ']');
}

const arcp__config_type arcp__config_ceiling_budget = {.read = budget_read, .print = budget_print};

/* ---- the ceiling ---- */

static void write_scalar(const yaml_node_t *node, arcp_json_writer *writer)
{
    if (node->type == YAML_SCALAR_NODE) {
        arcp_json_write_string(writer, arcp__yaml_scalar(node));
    } else {
        arcp_json_write_null(writer); /* which the lease's parser refuses */
    }
}

/* A list of strings, as a lease has them; an alias can make a list an element of itself, so
 * what is deeper is not looked into. */
static void write_list(arcp__yaml_reader *r, const yaml_node_t *node, arcp_json_writer *writer)
{
    if (node->type != YAML_SEQUENCE_NODE) {
        write_scalar(node, writer);
        return;
    }
    arcp_json_begin_array(writer);
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        write_scalar(arcp__yaml_node(r, *item), writer);
    }
    arcp_json_end_array(writer);
}

static arcp_status write_capability(arcp__yaml_reader *r, void *user, arcp_span key,
                                    const char *path, const yaml_node_t *value)
{
    arcp_json_writer *writer = user;
    arcp_json_name_span(writer, key);
    write_list(r, value, writer);
    return ARCP_OK;
}

static arcp_status write_ceiling(arcp__yaml_reader *r, const char *path, const yaml_node_t *lease,
                                 const yaml_node_t *budget, arcp_buf *out)
{
    arcp_status status = ARCP_OK;
    arcp_json_writer writer = arcp__put_begin(out);
    if (lease != NULL) {
        char here[ARCP__YAML_PATH_BYTES];
        (void)snprintf(here, sizeof here, "%s.max_lease", path);
        status = arcp__yaml_members(r, lease, here, write_capability, &writer);
    }
    if (budget != NULL) {
        arcp_json_name(&writer, "cost.budget");
        write_list(r, budget, &writer);
    }
    arcp_json_end_object(&writer);
    return status == ARCP_OK && out->failed ? arcp__yaml_no_memory(r) : status;
}

static arcp_status make_ceiling(arcp__yaml_reader *r, const char *path, const yaml_node_t *lease,
                                const yaml_node_t *budget, arcp_lease **out)
{
    arcp_lease_limits limits = ARCP_LEASE_LIMITS_DEFAULT;
    arcp_error why = {0};
    arcp_buf text = ARCP_BUF_INIT;
    limits.patterns_max = SIZE_MAX; /* the operator's own */
    limits.bytes_max = SIZE_MAX;
    arcp_status status = write_ceiling(r, path, lease, budget, &text);
    if (status == ARCP_OK) {
        status =
            arcp_lease_parse(arcp_buf_span(&text), arcp_span_make(NULL, 0), &limits, out, &why);
        if (status == ARCP_E_NO_MEMORY) {
            status = arcp__yaml_no_memory(r);
        } else if (status != ARCP_OK) {
            status = arcp__yaml_refuse(r, lease != NULL ? lease : budget, path, why.message);
        }
    }
    arcp_buf_fini(&text);
    return status;
}

static arcp_status default_glob(arcp__yaml_reader *r, char **glob)
{
    if (*glob == NULL) {
        *glob = arcp__copy_cstr("*", 1);
    }
    return *glob == NULL ? arcp__yaml_no_memory(r) : ARCP_OK;
}

arcp_status arcp__config_policy_check(arcp__yaml_reader *r, void *owner, const char *path,
                                      const yaml_node_t *node)
{
    arcp__config_policy *policy = owner;
    const yaml_node_t *lease = arcp__yaml_find(r, node, "max_lease");
    const yaml_node_t *budget = arcp__yaml_find(r, node, "max_budget");
    arcp_status status = ARCP_OK;
    if (lease != NULL || budget != NULL) {
        status = make_ceiling(r, path, lease, budget, &policy->ceiling);
    }
    if (status == ARCP_OK) {
        status = default_glob(r, &policy->principal);
    }
    return status == ARCP_OK ? default_glob(r, &policy->agent) : status;
}
