/* An arcpd with the agents of tests/arcp/agents and the bench agent, and `arcp` to ask it. */
#ifndef ARCP_TESTS_ARCP_WORLD_H
#define ARCP_TESTS_ARCP_WORLD_H

#include "support/check.h"

#include "arcp/arcpd_run.h"

/* url also in ARCP_URL. */
typedef arcpd_run world;

/* Starts a daemon with a store and a port (0: any); url, port and ARCP_URL follow. */
void world_start_daemon(world *w, const char *store, unsigned port);

/* For cmocka's group: *state is the world. The daemon keeps things in memory, or in a file. */
int world_begin(void **state);
int world_begin_durable(void **state);
int world_end(void **state);

/* Starts `arcp` with these words (after the program's name), up to 15. */
void world_start(const world *w, process *p, const char *const *words);
/* The same with more environment (NAME=VALUE), a standard input, or on a terminal. */
void world_start_with(const world *w, process *p, const char *const *words,
                      const char *const *environment, const char *input);
void world_start_on_terminal(const world *w, process *p, const char *const *words,
                             const char *const *environment, unsigned columns);

/* Runs `arcp` to its end and checks its exit status; the caller frees *p. */
void world_run(const world *w, process *p, int exit_status, const char *const *words);

/* Appends the text with ids and times replaced: job_..., TIME, TRACE. */
void world_mask(const arcp_buf *text, arcp_buf *out);
/* Fails unless standard output (or errors) is exactly the text, masked. */
void check_output(const process *p, const char *text);
void check_errors(const process *p, const char *text);
/* Fails unless the bytes are what the agent "stream" results in. */
void check_stream(const char *bytes, size_t size);

#endif
