/* An arcpd with the agents of tests/arcp/agents and the bench agent, and `arcp` as its client. */
#ifndef ARCP_TESTS_ARCP_FIXTURE_H
#define ARCP_TESTS_ARCP_FIXTURE_H

#include "support/check.h"

#include "arcp/arcpd_run.h"

/* ARCP_URL has the url, too. */
typedef arcpd_run fixture;

/* Starts a daemon with a store and a port (0: any); sets url, port and ARCP_URL. */
void fixture_start_daemon(fixture *f, const char *store, unsigned port);

/* Group setups for cmocka: *state is the fixture. The store is in memory, or in a file. */
int fixture_begin(void **state);
int fixture_begin_durable(void **state);
/* Agents are not confined: for tests that compare all events of a job. What its first event says of
 * a sandbox depends on this machine; rendering_test has its lines. */
int fixture_begin_bare(void **state);
int fixture_end(void **state);

/* Starts `arcp` with up to 15 arguments. */
void fixture_start(const fixture *f, process *p, const char *const *words);
/* The same with more environment (NAME=VALUE), a standard input, or on a terminal. */
void fixture_start_with(const fixture *f, process *p, const char *const *words,
                        const char *const *environment, const char *input);
void fixture_start_on_terminal(const fixture *f, process *p, const char *const *words,
                               const char *const *environment, unsigned columns);

/* Runs `arcp` to its end and checks its exit status; the caller frees *p. */
void fixture_run(const fixture *f, process *p, int exit_status, const char *const *words);

/* Appends the text with ids and times replaced: job_..., TIME, TRACE. */
void fixture_mask(const arcp_buf *text, arcp_buf *out);
/* Fails unless standard output (or errors) is exactly the text, masked. */
void check_output(const process *p, const char *text);
void check_errors(const process *p, const char *text);
/* Fails unless the bytes are the result of the agent "stream". */
void check_stream(const char *bytes, size_t size);

#endif
