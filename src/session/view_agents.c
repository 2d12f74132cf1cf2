/* x-vendor.arcpd.agents: a page of agents, with their room. */
#include "session/view.h"

/* The first agent behind that of the cursor. False: it is registered no more. */
static bool find_first(const arcp__jobs *jobs, arcp_span cursor, const arcp__agent_version **first)
{
    const arcp__agent_version *agent = arcp__agent_next_name(jobs, NULL);
    if (cursor.size != 0) {
        while (agent != NULL && !arcp_span_equal_cstr(cursor, arcp__agent_name_of(agent))) {
            agent = arcp__agent_next_name(jobs, agent);
        }
        if (agent == NULL) {
            return false;
        }
        agent = arcp__agent_next_name(jobs, agent);
    }
    *first = agent;
    return true;
}

void arcp__view_agents_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    const arcp__view_agents *in = &call->in.agents;
    const arcp__agent_version *agent = NULL;
    const bool has_limit = in->limit <= ARCP__VIEW_LIMIT_MAX;
    if (!has_limit || !find_first(sessions->jobs, in->cursor, &agent)) {
        arcp_error error = {0};
        (void)arcp_error_set(&error, ARCP_E_INVALID_REQUEST, "%s",
                             has_limit ? "payload.cursor names no agent: ask for the first page"
                                       : "payload.limit must be from 1 to 500");
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    arcp__view_audit(sessions, call, NULL, ARCP__NOTHING, ARCP_OK, NULL);
    arcp__view_listing listing = arcp__view_listing_begin(sessions, call, "agents", in->limit);
    const char *last = "";
    for (; agent != NULL && !listing.is_full;
         agent = arcp__agent_next_name(sessions->jobs, agent)) {
        arcp_buf row = arcp__context_take_buf(sessions->context);
        arcp__agent_write_row(sessions->jobs, agent, &row);
        if (arcp__view_listing_add(&listing, &row)) {
            last = arcp__agent_name_of(agent);
        }
    }
    arcp__view_listing_answer(&listing, last);
}
