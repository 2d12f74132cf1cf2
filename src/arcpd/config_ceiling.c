/* The ceilings of policies. max_lease and max_budget of a policy entry form one lease, the
 * ceiling, in which max_budget is the capability cost.budget. Reading a key checks only its type;
 * the ceiling is built from the YAML nodes of both when the whole entry has been read. */
#include "arcpd/config.h"

#include "json/json.h"
#include "json/json_put.h"

/* ---- the two keys ---- */

static arcp_status lease_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    return r->node->type == YAML_MAPPING_NODE
               ? ARCP_OK
               : arcp__yaml_refuse(r, "must be a mapping of capability: [patterns]");
}

static void lease_fini(const arcp__config_row *row, void *owner)
{
    arcp_policy *policy = owner;
    arcp_lease_unref(policy->ceiling);
    policy->ceiling = NULL;
}

static void lease_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    const arcp_policy *policy = owner;
    arcp_lease_format(policy->ceiling, out);
}

const arcp__config_type arcp__config_ceiling_lease = {
    .fini = lease_fini, .read = lease_read, .print = lease_print};

static arcp_status budget_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    return r->node->type == YAML_SEQUENCE_NODE
               ? ARCP_OK
               : arcp__yaml_refuse(r, "must be a list of amounts like USD:5.00");
}

/* Called only for an entry without max_lease, whose ceiling consists of the budget (row 0). */
static void budget_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    const arcp_policy *policy = owner;
    arcp_buf_append_byte(out, '[');
    for (size_t i = 0; i < arcp_lease_pattern_count(policy->ceiling, 0); i++) {
        arcp_buf_append_cstr(out, i == 0 ? "" : ", ");
        arcp_json_quote(arcp_lease_pattern(policy->ceiling, 0, i), out);
    }
    arcp_buf_append_byte(out, ']');
}

const arcp__config_type arcp__config_ceiling_budget = {.read = budget_read, .print = budget_print};

/* ---- the ceiling ---- */

arcp_status arcp__config_policy_check(arcp__yaml_reader *r, void *owner)
{
    arcp_policy *policy = owner;
    const yaml_node_t *max_lease = arcp__yaml_find(r, "max_lease");
    const yaml_node_t *max_budget = arcp__yaml_find(r, "max_budget");
    arcp_buf text = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&text);
    arcp_status status = ARCP_OK;
    policy->leaves_others_open = max_lease == NULL;
    if (max_lease != NULL) {
        const arcp__yaml_place place = arcp__yaml_enter(r, max_lease, ".max_lease");
        status = arcp__yaml_members(r, arcp__config_write_capability, &writer);
        arcp__yaml_leave(r, place);
    }
    if (max_budget != NULL && status == ARCP_OK) {
        const arcp__yaml_place place = arcp__yaml_enter(r, max_budget, ".max_budget");
        status = arcp__config_write_capability(r, &writer, ARCP_SPAN_LITERAL("cost.budget"));
        arcp__yaml_leave(r, place);
    }
    if (status == ARCP_OK && (max_lease != NULL || max_budget != NULL)) {
        arcp_lease *ceiling = NULL;
        const yaml_node_t *entry = r->node;
        arcp_json_end_object(&writer);
        r->node = max_lease != NULL ? max_lease : max_budget;
        status = arcp__config_parse_lease(r, &text, &ceiling);
        r->node = entry;
        policy->ceiling = ceiling;
    }
    arcp_buf_fini(&text);
    return status;
}
