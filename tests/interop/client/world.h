/* The connections of one scenario to one runtime through libarcp-client. The first function that
 * fails writes the reason to the world: the expectation, and what happened instead. With a client
 * or job that is NULL, because creating it failed, functions fail too. */
#ifndef ARCP_TESTS_INTEROP_WORLD_H
#define ARCP_TESTS_INTEROP_WORLD_H

#include <arcp/client.h>

#define DEADLINE_MS 8000

/* The two arguments of %.*s for a span. */
#define TEXT(span) (int)(span).size, (span).data

typedef struct world {
    const char *url, *token, *scenario;
    char folder[64], gate[80]; /* agents wait for the file `gate` */
    char why[512];
    arcp_client *clients[4];
    size_t client_count;
    arcp_job *jobs[8];
    size_t job_count;
    arcp_error err;
} world;

void world_begin(world *w, const char *url, const char *token, const char *scenario);
void world_end(world *w);

/* Returns false, so that a scenario can end with it. */
__attribute__((format(printf, 2, 3))) bool world_gap(world *w, const char *format, ...);

void world_open_gate(const world *w);

/* The options of all connections. */
arcp_client_options world_options(const world *w);
/* NULL on failure. The world frees it. */
arcp_client *world_connect(world *w, const arcp_client_options *options);
arcp_client *world_join(world *w);
/* Cuts the connection without closing the session. */
void world_cut(world *w, arcp_client *client);

/* Options with the agent set. */
arcp_submit_options world_ask(const char *agent);
/* The world releases it. */
arcp_job *world_submit(world *w, arcp_client *client, const arcp_submit_options *options);
arcp_job *world_start(world *w, arcp_client *client, const char *agent, const char *input);
/* A job that has sent events and waits for the gate. */
arcp_job *world_start_gated(world *w, arcp_client *client);
arcp_job *world_keep(world *w, arcp_job *job);
bool world_is_refused(world *w, arcp_client *client, const arcp_submit_options *options,
                      arcp_status code);
/* The caller frees it. */
arcp_job_page *world_list(world *w, arcp_client *client, const arcp_list_options *options);

/* The job's next event of this kind; `view` has its body. */
const arcp_event_body *world_event(world *w, arcp_job *job, arcp_event_kind kind);
/* The outcome of the job; NULL if it does not end. */
const arcp_outcome *world_outcome(world *w, arcp_job *job);
/* The job must succeed with this result (JSON; members in any order and spelling). */
bool world_results_in(world *w, arcp_job *job, const char *result);
/* The job must fail with this code. */
bool world_fails_with(world *w, arcp_job *job, arcp_status code);
/* The session must still work. */
bool world_is_alive(world *w, arcp_client *client);

#endif
