/* A client of the blocking form and the runtime in memory that it is connected to. */
#ifndef ARCP_TESTS_CLIENT_BLOCKING_FIXTURE_H
#define ARCP_TESTS_CLIENT_BLOCKING_FIXTURE_H

#include "support/check.h"

#include <arcp/client.h>

#include "client/fake_runtime.h"

typedef struct fixture {
    fake_runtime runtime;
    arcp_client *client;
    arcp_error err; /* with a buffer for details */
    arcp_buf details;
} fixture;

/* Connects; fails the test when that fails. For settings of the runtime or the client call
 * fake_runtime_init, make them, and begin with the options. */
void fixture_begin(fixture *f);
void fixture_begin_with(fixture *f, const arcp_client_options *options);
void fixture_end(fixture *f);

/* The job, accepted; fails the test when it is not. */
arcp_job *fixture_submit(fixture *f, const char *agent, const char *input);

/* For a thread: interrupts the arcp_client `user` as soon as a call of it waits. */
void *fixture_interrupt_soon(void *user);

#endif
