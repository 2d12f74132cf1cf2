#include "scenarios.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static bool budget(world *w)
{
    arcp_submit_options options = world_ask("spends");
    options.lease = ARCP_SPAN_LITERAL("{\"tool.call\":[\"*\"],\"cost.budget\":[\"USD:1.00\"]}");
    arcp_job *job = world_submit(w, world_join(w), &options);
    if (!world_fails_with(w, job, ARCP_E_BUDGET_EXHAUSTED)) {
        return false;
    }
    arcp_job_budget counter;
    if (!arcp_job_budget_at(job, 0, &counter) || strtod(counter.initial, NULL) != 1.0) {
        return world_gap(w, "accepted with %.*s", TEXT(arcp_job_descriptor(job)));
    }
    return fabs(strtod(counter.remaining, NULL) + 0.2) < 1e-9 ||
           world_gap(w, "what remained was reported as %s", counter.remaining);
}

static bool expiry(world *w)
{
    char constraints[80];
    struct timespec now;
    struct tm utc;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    time_t soon = now.tv_sec + 1;
    (void)gmtime_r(&soon, &utc);
    const size_t size =
        strftime(constraints, sizeof constraints, "{\"expires_at\":\"%Y-%m-%dT%H:%M:%S.", &utc);
    (void)snprintf(constraints + size, sizeof constraints - size, "%03ldZ\"}",
                   now.tv_nsec / 1000000);
    arcp_client *client = world_join(w);
    arcp_submit_options options = world_ask("waits");
    options.constraints = arcp_span_cstr(constraints);
    return world_fails_with(w, world_submit(w, client, &options), ARCP_E_LEASE_EXPIRED) &&
           world_is_alive(w, client);
}

static bool delegation(world *w)
{
    arcp_client *client = world_join(w);
    arcp_submit_options options = world_ask("delegates");
    options.input = ARCP_SPAN_LITERAL("{\"n\":1}");
    options.lease = ARCP_SPAN_LITERAL("{\"agent.delegate\":[\"*\"]}");
    arcp_job *job = world_submit(w, client, &options);
    /* Another submit, while the parent starts its child: each gets its own response. */
    arcp_job *other = job == NULL ? NULL : world_start(w, client, "echo", "{\"n\":2}");
    const arcp_event_body *body = other == NULL ? NULL : world_event(w, job, ARCP_EVENT_DELEGATE);
    bool works = body != NULL;
    if (works && (body->delegate.child_job_id.size == 0 ||
                  !arcp_span_equal_cstr(body->delegate.agent, "echo"))) {
        works = world_gap(w, "the delegate event names no child");
    }
    return works && world_results_in(w, job, "{\"n\":1}") &&
           world_results_in(w, other, "{\"n\":2}");
}

static void note_credential(void *user, const arcp_credential *credential)
{
    bool *whole = user;
    *whole = credential->value.size != 0 && credential->endpoint.size != 0;
}

static bool credentials(world *w)
{
    arcp_submit_options options = world_ask("greet");
    options.lease = ARCP_SPAN_LITERAL("{\"model.use\":[\"fast/*\"]}");
    arcp_job *job = world_submit(w, world_join(w), &options);
    bool whole = false;
    if (job == NULL) {
        return false;
    }
    const size_t count = arcp_job_take_credentials(job, note_credential, &whole);
    return (count == 1 && whole) || world_gap(w, "%zu credentials came", count);
}

const scenario authority_scenarios[] = {
    {"budget", budget},           {"expiry", expiry}, {"delegation", delegation},
    {"credentials", credentials}, {NULL, NULL},
};
