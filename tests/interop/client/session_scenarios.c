#include "scenarios.h"

#include <unistd.h>

static void note_greet(void *user, const arcp_agent_row *agent)
{
    bool *found = user;
    *found = *found || (arcp_span_equal_cstr(agent->name, "greet") &&
                        arcp_span_equal_cstr(agent->default_version, "2.0.0"));
}

static bool hello(fixture *f)
{
    arcp_client *client = fixture_join(f);
    if (client == NULL) {
        return false;
    }
    bool found = false;
    if ((arcp_client_features(client) & ARCP_FEATURE_BIT(ARCP_FEATURE_SUBSCRIBE)) == 0) {
        return fixture_gap(f, "subscribe was not negotiated");
    }
    if (arcp_client_agents(client, note_greet, &found, &f->err) != ARCP_OK || !found) {
        return fixture_gap(f, "the inventory of agents has no default version");
    }
    arcp_client_options options = fixture_options(f);
    if (arcp_span_starts_with(options.url, ARCP_SPAN_LITERAL("stdio:"))) {
        return true; /* a runtime trusts the process that starts it */
    }
    options.token = ARCP_SPAN_LITERAL("wrong");
    arcp_client *stranger = NULL;
    const arcp_status status = arcp_client_connect(&options, &stranger, &f->err);
    arcp_client_free(stranger);
    return status == ARCP_E_UNAUTHENTICATED ||
           fixture_gap(f, "a wrong token gave %s", f->err.message);
}

static bool ack(fixture *f)
{
    arcp_client_options options = fixture_options(f);
    options.manual_ack = true;
    arcp_client *client = fixture_connect(f, &options);
    arcp_job *job = fixture_start_gated(f, client);
    if (job == NULL) {
        return false;
    }
    if (arcp_client_ack(client, 1, &f->err) != ARCP_OK) {
        return fixture_gap(f, "cannot acknowledge: %s", f->err.message);
    }
    fixture_open_gate(f);
    return fixture_results_in(f, job, "\"open\"") && fixture_is_alive(f, client);
}

static bool heartbeat(fixture *f)
{
    arcp_client *client = fixture_join(f); /* without reconnecting */
    if (client == NULL) {
        return false;
    }
    usleep(2500000); /* the interval is 1 s */
    if (arcp_client_ping(client, DEADLINE_MS, NULL, &f->err) != ARCP_OK) {
        return fixture_gap(f, "no pong: %s", f->err.message);
    }
    return fixture_is_alive(f, client);
}

/* Whether the job is listed among its agent's successful jobs, after some time. */
static bool comes_to_be_listed(fixture *f, arcp_client *client, arcp_span job_id)
{
    arcp_list_options list = arcp_list_options_init();
    list.agent = ARCP_SPAN_LITERAL("gated");
    list.statuses = UINT32_C(1) << ARCP_JOB_SUCCESS;
    bool is_listed = false;
    for (int tries = 0; !is_listed && tries < DEADLINE_MS / 20; tries++) {
        arcp_job_page *page = fixture_list(f, client, &list);
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
    return is_listed || fixture_gap(f, "the job did not end well after its session was closed");
}

static bool close_session(fixture *f)
{
    arcp_client *client = fixture_join(f);
    arcp_client *other = client == NULL ? NULL : fixture_join(f);
    const arcp_job *job = other == NULL ? NULL : fixture_start_gated(f, client);
    if (job == NULL) {
        return false;
    }
    arcp_client_close(client);
    fixture_open_gate(f);
    return comes_to_be_listed(f, other, arcp_job_id(job));
}

const scenario session_scenarios[] = {
    {"hello", hello},         {"ack", ack}, {"heartbeat", heartbeat},
    {"close", close_session}, {NULL, NULL},
};
