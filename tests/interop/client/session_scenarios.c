#include "scenarios.h"

#include <unistd.h>

static void note_greet(void *user, const arcp_agent_row *agent)
{
    bool *found = user;
    *found = *found || (arcp_span_equal_cstr(agent->name, "greet") &&
                        arcp_span_equal_cstr(agent->default_version, "2.0.0"));
}

static bool hello(world *w)
{
    arcp_client *client = world_join(w);
    if (client == NULL) {
        return false;
    }
    bool found = false;
    if ((arcp_client_features(client) & ARCP_FEATURE_BIT(ARCP_FEATURE_SUBSCRIBE)) == 0) {
        return world_gap(w, "subscribe was not negotiated");
    }
    if (arcp_client_agents(client, note_greet, &found, &w->err) != ARCP_OK || !found) {
        return world_gap(w, "the inventory of agents has no default version");
    }
    arcp_client_options options = world_options(w);
    if (arcp_span_starts_with(options.url, ARCP_SPAN_LITERAL("stdio:"))) {
        return true; /* a runtime trusts the process that starts it */
    }
    options.token = ARCP_SPAN_LITERAL("wrong");
    arcp_client *stranger = NULL;
    const arcp_status status = arcp_client_connect(&options, &stranger, &w->err);
    arcp_client_free(stranger);
    return status == ARCP_E_UNAUTHENTICATED ||
           world_gap(w, "a wrong token gave %s", w->err.message);
}

static bool ack(world *w)
{
    arcp_client_options options = world_options(w);
    options.manual_ack = true;
    arcp_client *client = world_connect(w, &options);
    arcp_job *job = world_start_gated(w, client);
    if (job == NULL) {
        return false;
    }
    if (arcp_client_ack(client, 1, &w->err) != ARCP_OK) {
        return world_gap(w, "cannot acknowledge: %s", w->err.message);
    }
    world_open_gate(w);
    return world_results_in(w, job, "\"open\"") && world_is_alive(w, client);
}

static bool heartbeat(world *w)
{
    arcp_client *client = world_join(w); /* without reconnecting */
    if (client == NULL) {
        return false;
    }
    usleep(2500000); /* the interval is 1 s */
    if (arcp_client_ping(client, DEADLINE_MS, NULL, &w->err) != ARCP_OK) {
        return world_gap(w, "no pong: %s", w->err.message);
    }
    return world_is_alive(w, client);
}

/* Whether the job is listed among its agent's successful jobs, after some time. */
static bool comes_to_be_listed(world *w, arcp_client *client, arcp_span job_id)
{
    arcp_list_options list = arcp_list_options_init();
    list.agent = ARCP_SPAN_LITERAL("gated");
    list.statuses = UINT32_C(1) << ARCP_JOB_SUCCESS;
    bool is_listed = false;
    for (int tries = 0; !is_listed && tries < DEADLINE_MS / 20; tries++) {
        arcp_job_page *page = world_list(w, client, &list);
        if (page == NULL) {
            return false;
        }
        for (size_t i = 0; i < arcp_job_page_count(page); i++) {
            is_listed = is_listed || arcp_span_equal(arcp_job_page_row(page, i).job_id, job_id);
        }
        arcp_job_page_free(page);
        if (!is_listed) {
            usleep(20000);
        }
    }
    return is_listed || world_gap(w, "the job did not end well after its session was closed");
}

static bool close_session(world *w)
{
    arcp_client *client = world_join(w);
    arcp_client *other = client == NULL ? NULL : world_join(w);
    const arcp_job *job = other == NULL ? NULL : world_start_gated(w, client);
    if (job == NULL) {
        return false;
    }
    arcp_client_close(client);
    world_open_gate(w);
    return comes_to_be_listed(w, other, arcp_job_id(job));
}

const scenario session_scenarios[] = {
    {"hello", hello},         {"ack", ack}, {"heartbeat", heartbeat},
    {"close", close_session}, {NULL, NULL},
};
