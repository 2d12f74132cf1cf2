/* An arcpd with the agents of tests/arcp/agents and the bench agent, and `arcp` as its client. */
#ifndef ARCP_TESTS_ARCP_WORLD_H
#define ARCP_TESTS_ARCP_WORLD_H

#include "support/check.h"

#include "arcp/arcpd_run.h"

/* ARCP_URL has the url, too. */
typedef arcpd_run world;

/* Starts a daemon with a store and a port (0: any); sets url, port and ARCP_URL. */
void world_start_daemon(world *w, const char *store, unsigned port);

/* Group setups for cmocka: *state is the world. The store is in memory, or in a file. */
int world_begin(void **state);
int world_begin_durable(void **state);
int world_end(void **state);

/* Starts `arcp` with up to 15 arguments. */
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
/* Fails unless the bytes are the result of the agent "stream". */
void check_stream(const char *bytes, size_t size);

#endif
