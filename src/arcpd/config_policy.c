#include "arcpd/config_policy.h"

#include <stddef.h>
#include <stdio.h>

#include <arcp/json.h>

#include "base/alloc.h"

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
    for (yaml_node_item_t *at = node->data.sequence.items.start; at < node->data.sequence.items.top;
         at++) {
        write_scalar(arcp__yaml_node(r, *at), writer);
    }
    arcp_json_end_array(writer);
}

typedef struct policy_draft {
    arcp__config_policy policy;
    const yaml_node_t *lease;
    const yaml_node_t *budget;
} policy_draft;

static arcp_status policy_member(arcp__yaml_reader *r, void *into, arcp_span key, const char *path,
                                 const yaml_node_t *value)
{
    static const arcp__yaml_field fields[] = {
        {"principal", ARCP__YAML_TEXT, offsetof(arcp__config_policy, principal), 0, 0},
        {"agent", ARCP__YAML_TEXT, offsetof(arcp__config_policy, agent), 0, 0},
        {"max_lifetime_sec", ARCP__YAML_COUNT, offsetof(arcp__config_policy, max_lifetime_sec), 0,
         0},
    };
    policy_draft *draft = into;
    if (arcp_span_equal_cstr(key, "max_lease")) {
        draft->lease = value;
        return value->type == YAML_MAPPING_NODE
                   ? ARCP_OK
                   : arcp__yaml_refuse(r, value, path,
                                       "must be a mapping of capability: [patterns]");
    }
    if (arcp_span_equal_cstr(key, "max_budget")) {
        draft->budget = value;
        return value->type == YAML_SEQUENCE_NODE
                   ? ARCP_OK
                   : arcp__yaml_refuse(r, value, path, "must be a list of amounts like USD:5.00");
    }
    return arcp__yaml_field_read(r, fields, ARCP__YAML_FIELD_COUNT(fields), &draft->policy, key,
                                 path, value);
}

static arcp_status capability_member(arcp__yaml_reader *r, void *into, arcp_span key,
                                     const char *path, const yaml_node_t *value)
{
    arcp_json_writer *writer = into;
    (void)path;
    arcp_json_name_span(writer, key);
    write_list(r, value, writer);
    return ARCP_OK;
}

/* max_lease and max_budget are one ceiling: the budget is its cost.budget. */
static arcp_status write_ceiling(arcp__yaml_reader *r, const char *path, const policy_draft *draft,
                                 arcp_buf *out)
{
    arcp_status status = ARCP_OK;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, out);
    arcp_json_begin_object(&writer);
    if (draft->lease != NULL) {
        char here[160];
        (void)snprintf(here, sizeof(here), "%s.max_lease", path);
        status = arcp__yaml_members(r, draft->lease, here, capability_member, &writer);
    }
    if (draft->budget != NULL) {
        arcp_json_name(&writer, "cost.budget");
        write_list(r, draft->budget, &writer);
    }
    arcp_json_end_object(&writer);
    return status == ARCP_OK && out->failed ? arcp__yaml_no_memory(r) : status;
}

static arcp_status make_ceiling(arcp__yaml_reader *r, const char *path, policy_draft *draft)
{
    if (draft->lease == NULL && draft->budget == NULL) {
        return ARCP_OK;
    }
    arcp_buf text = ARCP_BUF_INIT;
    arcp_status status = write_ceiling(r, path, draft, &text);
    if (status == ARCP_OK) {
        arcp_lease_limits limits = ARCP_LEASE_LIMITS_DEFAULT;
        limits.patterns_max = SIZE_MAX; /* the operator's own */
        limits.bytes_max = SIZE_MAX;
        arcp_error why = {0};
        status = arcp_lease_parse(arcp_buf_span(&text), arcp_span_make(NULL, 0), &limits,
                                  &draft->policy.ceiling, &why);
        if (status == ARCP_E_NO_MEMORY) {
            status = arcp__yaml_no_memory(r);
        } else if (status != ARCP_OK) {
            status = arcp__yaml_refuse(r, draft->lease != NULL ? draft->lease : draft->budget, path,
                                       why.message);
        }
    }
    arcp_buf_fini(&text);
    return status;
}

arcp_status arcp__yaml_policy_item(arcp__yaml_reader *r, const char *path, const yaml_node_t *node)
{
    arcp__config *config = r->config;
    arcp__config_policy *policies =
        arcp__realloc_array(config->policies, config->policy_count + 1, sizeof(*policies));
    if (policies == NULL) {
        return arcp__yaml_no_memory(r);
    }
    config->policies = policies;
    policy_draft draft = {.policy = {0}};
    arcp_status status = arcp__yaml_members(r, node, path, policy_member, &draft);
    draft.policy.has_lease = draft.lease != NULL;
    if (status == ARCP_OK) {
        status = make_ceiling(r, path, &draft);
    }
    if (draft.policy.principal == NULL) {
        draft.policy.principal = arcp__copy_cstr("*", 1);
    }
    if (draft.policy.agent == NULL) {
        draft.policy.agent = arcp__copy_cstr("*", 1);
    }
    policies[config->policy_count++] = draft.policy;
    if (status == ARCP_OK && (draft.policy.principal == NULL || draft.policy.agent == NULL)) {
        status = arcp__yaml_no_memory(r);
    }
    return status;
}
