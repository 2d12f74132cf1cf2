#include "scenarios.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static bool budget(fixture *f)
{
    arcp_submit_options options = fixture_submit_options("spends");
    options.lease = ARCP_SPAN_LITERAL("{\"tool.call\":[\"*\"],\"cost.budget\":[\"USD:1.00\"]}");
    arcp_job *job = fixture_submit(f, fixture_join(f), &options);
    if (!fixture_fails_with(f, job, ARCP_E_BUDGET_EXHAUSTED)) {
        return false;
    }
    arcp_job_budget counter;
    if (!arcp_job_budget_at(job, 0, &counter) || strtod(counter.initial, NULL) != 1.0) {
        return fixture_gap(f, "accepted with %.*s", TEXT(arcp_job_descriptor(job)));
    }
    return fabs(strtod(counter.remaining, NULL) + 0.2) < 1e-9 ||
           fixture_gap(f, "what remained was reported as %s", counter.remaining);
}

static bool expiry(fixture *f)
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
    arcp_client *client = fixture_join(f);
    arcp_submit_options options = fixture_submit_options("waits");
    options.constraints = arcp_span_cstr(constraints);
    return fixture_fails_with(f, fixture_submit(f, client, &options), ARCP_E_LEASE_EXPIRED) &&
           fixture_is_alive(f, client);
}

static bool delegation(fixture *f)
{
    arcp_client *client = fixture_join(f);
    arcp_submit_options options = fixture_submit_options("delegates");
    options.input = ARCP_SPAN_LITERAL("{\"n\":1}");
    options.lease = ARCP_SPAN_LITERAL("{\"agent.delegate\":[\"*\"]}");
    arcp_job *job = fixture_submit(f, client, &options);
    /* Another submit, while the parent starts its child: each gets its own response. */
    arcp_job *other = job == NULL ? NULL : fixture_start(f, client, "echo", "{\"n\":2}");
    const arcp_event_body *body = other == NULL ? NULL : fixture_event(f, job, ARCP_EVENT_DELEGATE);
    bool works = body != NULL;
    if (works && (body->delegate.child_job_id.size == 0 ||
                  !arcp_span_equal_cstr(body->delegate.agent, "echo"))) {
        works = fixture_gap(f, "the delegate event names no child");
    }
    return works && fixture_results_in(f, job, "{\"n\":1}") &&
           fixture_results_in(f, other, "{\"n\":2}");
}

static void note_credential(void *user, const arcp_credential *credential)
{
    bool *whole = user;
    *whole = credential->value.size != 0 && credential->endpoint.size != 0;
}

static bool credentials(fixture *f)
{
    arcp_submit_options options = fixture_submit_options("greet");
    options.lease = ARCP_SPAN_LITERAL("{\"model.use\":[\"fast/*\"]}");
    arcp_job *job = fixture_submit(f, fixture_join(f), &options);
    bool whole = false;
    if (job == NULL) {
        return false;
    }
    const size_t count = arcp_job_take_credentials(job, note_credential, &whole);
    return (count == 1 && whole) || fixture_gap(f, "%zu credentials came", count);
}

const scenario authority_scenarios[] = {
    {"budget", budget},           {"expiry", expiry}, {"delegation", delegation},
    {"credentials", credentials}, {NULL, NULL},
};
