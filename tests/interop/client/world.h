/* One scenario's connections to one runtime through libarcp-client. Every function that fails
 * says why in the world, once: what was expected, and what was seen instead. A client or a job
 * that is NULL, because what should have given it failed, makes the next function fail too. */
#ifndef ARCP_TESTS_INTEROP_WORLD_H
#define ARCP_TESTS_INTEROP_WORLD_H

#include <arcp/client.h>

#define DEADLINE_MS 8000

/* A span's two arguments for %.*s. */
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

/* The options that all connections have. */
arcp_client_options world_options(const world *w);
/* NULL when it fails. The world's to free. */
arcp_client *world_connect(world *w, const arcp_client_options *options);
arcp_client *world_join(world *w);
/* Cuts the connection: the runtime sees one that broke. */
void world_cut(world *w, arcp_client *client);

/* What is asked for, but for an agent, is to be filled in. */
arcp_submit_options world_ask(const char *agent);
/* The world's to release. */
arcp_job *world_submit(world *w, arcp_client *client, const arcp_submit_options *options);
arcp_job *world_start(world *w, arcp_client *client, const char *agent, const char *input);
/* A job that has said something and waits for the gate. */
arcp_job *world_start_gated(world *w, arcp_client *client);
arcp_job *world_keep(world *w, arcp_job *job);
bool world_is_refused(world *w, arcp_client *client, const arcp_submit_options *options,
                      arcp_status code);
/* The caller's to free. */
arcp_job_page *world_list(world *w, arcp_client *client, const arcp_list_options *options);

/* The job's next event of this kind; `view` has its body. */
const arcp_event_body *world_event(world *w, arcp_job *job, arcp_event_kind kind);
/* How the job ended; NULL when it does not. */
const arcp_outcome *world_outcome(world *w, arcp_job *job);
/* The job ended well, with this result (JSON; members in any order and spelling). */
bool world_results_in(world *w, arcp_job *job, const char *result);
/* The job ended badly, with this code. */
bool world_fails_with(world *w, arcp_job *job, arcp_status code);
/* The session still serves. */
bool world_is_alive(world *w, arcp_client *client);

#endif
