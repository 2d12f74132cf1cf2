/* Policy: ceilings that an operator sets for principals and agents. A lease is narrowed by
 * every row that matches, never widened (guide A; PROTOCOL, Authority). */
#include "engine/parts.h"

#include <arcp/lease_subset.h>
#include <stdio.h>

#include "base/timestamp.h"

arcp_status arcp__engine_add_policy(arcp__engine *engine, const arcp__policy *policy,
                                    arcp_error *err)
{
    arcp__policy_row *rows =
        arcp__realloc_array(engine->policies, engine->policy_count + 1, sizeof(*rows));
    if (rows != NULL) {
        engine->policies = rows;
    }
    arcp__policy_row row = {
        .principal_glob = arcp__copy_cstr(policy->principal_glob.data, policy->principal_glob.size),
        .agent_glob = arcp__copy_cstr(policy->agent_glob.data, policy->agent_glob.size),
        .ceiling = policy->ceiling,
        .max_lifetime_sec = policy->max_lifetime_sec,
    };
    if (rows == NULL || row.principal_glob == NULL || row.agent_glob == NULL) {
        arcp__free(row.principal_glob);
        arcp__free(row.agent_glob);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (row.ceiling != NULL) {
        row.ceiling = arcp_lease_ref(row.ceiling);
    }
    rows[engine->policy_count++] = row;
    return ARCP_OK;
}

void arcp__engine_clear_policies(arcp__engine *engine)
{
    for (size_t at = 0; at < engine->policy_count; at++) {
        arcp__free(engine->policies[at].principal_glob);
        arcp__free(engine->policies[at].agent_glob);
        arcp_lease_unref(engine->policies[at].ceiling);
    }
    arcp__free(engine->policies);
    engine->policies = NULL;
    engine->policy_count = 0;
}

/* A ceiling that only says "until then". */
static arcp_status lifetime_ceiling(const arcp__engine *engine, uint64_t seconds, arcp_lease **out,
                                    arcp_error *err)
{
    char text[ARCP__TIMESTAMP_SIZE + 1] = {0};
    int64_t until = 0;
    if (seconds > (uint64_t)(INT64_MAX / ARCP_NS_PER_SEC) ||
        __builtin_add_overflow(engine->now.wall_ns, (int64_t)seconds * ARCP_NS_PER_SEC, &until)) {
        until = INT64_MAX;
    }
    arcp__timestamp_format(until, text);
    arcp_lease_builder *builder = arcp_lease_builder_new();
    if (builder == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_lease_expires_at(builder, text);
    return arcp_lease_build(builder, out, err);
}

static arcp_status narrow(arcp__engine *engine, arcp_span principal, arcp_span agent,
                          const arcp_lease *ceiling, const arcp_lease **lease, arcp_error *err)
{
    arcp_lease *narrowed = NULL;
    arcp_buf dropped = ARCP_BUF_INIT;
    arcp_status status = arcp_lease_narrow(*lease, ceiling, true, &narrowed, &dropped, err);
    if (status == ARCP_OK) {
        if (dropped.size > 2) {
            arcp_buf_append_byte(&dropped, '\0');
            char who[160];
            (void)snprintf(who, sizeof(who), "%.*s", (int)arcp_span_first(principal, 150).size,
                           principal.data);
            char what[160];
            (void)snprintf(what, sizeof(what), "%.*s", (int)agent.size, agent.data);
            arcp__effect_audit(engine, "narrowed", "principal", who, "agent", what, "dropped",
                               dropped.failed ? "" : dropped.data, NULL);
        }
        arcp_lease_unref(*lease);
        *lease = narrowed;
    }
    arcp_buf_fini(&dropped);
    return status;
}

arcp_status arcp__policy_narrow(arcp__engine *engine, arcp_span principal, arcp_span agent,
                                const arcp_lease **lease, arcp_error *err)
{
    for (size_t at = 0; at < engine->policy_count; at++) {
        const arcp__policy_row *row = &engine->policies[at];
        if (!arcp__name_glob_matches(row->principal_glob, principal) ||
            !arcp__name_glob_matches(row->agent_glob, agent)) {
            continue;
        }
        arcp_status status = ARCP_OK;
        if (row->ceiling != NULL) {
            status = narrow(engine, principal, agent, row->ceiling, lease, err);
        }
        if (status == ARCP_OK && row->max_lifetime_sec != 0) {
            arcp_lease *until = NULL;
            status = lifetime_ceiling(engine, row->max_lifetime_sec, &until, err);
            if (status == ARCP_OK) {
                status = narrow(engine, principal, agent, until, lease, err);
                arcp_lease_unref(until);
            }
        }
        if (status != ARCP_OK) {
            return status;
        }
    }
    return ARCP_OK;
}
