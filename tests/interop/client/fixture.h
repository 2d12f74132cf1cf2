/* The connections of one scenario to one runtime through libarcp-client. The first function that
 * fails writes the reason to the fixture: the expectation, and what happened instead. With a client
 * or job that is NULL, because creating it failed, functions fail too. */
#ifndef ARCP_TESTS_INTEROP_FIXTURE_H
#define ARCP_TESTS_INTEROP_FIXTURE_H

#include <arcp/client.h>

#define DEADLINE_MS 8000

/* The two arguments of %.*s for a span. */
#define TEXT(span) (int)(span).size, (span).data

typedef struct fixture {
    const char *url, *token, *scenario;
    char folder[64], gate[80]; /* agents wait for the file `gate` */
    char why[512];
    arcp_client *clients[4];
    size_t client_count;
    arcp_job *jobs[8];
    size_t job_count;
    arcp_error err;
} fixture;

void fixture_begin(fixture *f, const char *url, const char *token, const char *scenario);
void fixture_end(fixture *f);

/* Returns false, so that a scenario can end with it. */
__attribute__((format(printf, 2, 3))) bool fixture_gap(fixture *f, const char *format, ...);

void fixture_open_gate(const fixture *f);

/* The options of all connections. */
arcp_client_options fixture_options(const fixture *f);
/* NULL on failure. The fixture frees it. */
arcp_client *fixture_connect(fixture *f, const arcp_client_options *options);
arcp_client *fixture_join(fixture *f);
/* Cuts the connection without closing the session. */
void fixture_cut(fixture *f, arcp_client *client);

/* Options with the agent set. */
arcp_submit_options fixture_submit_options(const char *agent);
/* The fixture releases it. */
arcp_job *fixture_submit(fixture *f, arcp_client *client, const arcp_submit_options *options);
arcp_job *fixture_start(fixture *f, arcp_client *client, const char *agent, const char *input);
/* A job that has sent events and waits for the gate. */
arcp_job *fixture_start_gated(fixture *f, arcp_client *client);
arcp_job *fixture_keep(fixture *f, arcp_job *job);
bool fixture_is_refused(fixture *f, arcp_client *client, const arcp_submit_options *options,
                        arcp_status code);
/* The caller frees it. */
arcp_job_page *fixture_list(fixture *f, arcp_client *client, const arcp_list_options *options);

/* The job's next event of this kind; `view` has its body. */
const arcp_event_body *fixture_event(fixture *f, arcp_job *job, arcp_event_kind kind);
/* The outcome of the job; NULL if it does not end. */
const arcp_outcome *fixture_outcome(fixture *f, arcp_job *job);
/* The job must succeed with this result (JSON; members in any order and spelling). */
bool fixture_results_in(fixture *f, arcp_job *job, const char *result);
/* The job must fail with this code. */
bool fixture_fails_with(fixture *f, arcp_job *job, arcp_status code);
/* The session must still work. */
bool fixture_is_alive(fixture *f, arcp_client *client);

#endif
