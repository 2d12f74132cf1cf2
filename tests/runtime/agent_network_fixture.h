/* A runtime whose agents have a network, and a server of this machine that they may be granted. */
#ifndef ARCP_TESTS_AGENT_NETWORK_FIXTURE_H
#define ARCP_TESTS_AGENT_NETWORK_FIXTURE_H

#include "runtime/runtime_rig.h"
#include "support/process_support.h"
#include "support/sandbox_host.h"

#include "support/check.h"

#define HELLO "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"
#define SLOW  "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nbegin\n"

extern runtime_rig rig;
extern arcp_buf audit; /* the lines of the audit log */

/* Answers "GET /slow" with SLOW and keeps the connection, and any other request with HELLO. */
typedef struct network_listener {
    uv_tcp_t handle;
    unsigned port;
    size_t requests, slow, slow_ended; /* slow: responses that do not end */
} network_listener;

extern network_listener network_server;

/* Skips the test, and says so, on a host that cannot give programs a network of their own. */
void network_needs(void);
/* Changes the options of the runtime that is started next; the server listens already. NULL: none.
 */
extern void (*network_change_options)(arcp_runtime_options *options);
/* `change`: of the default settings; NULL: none. */
void network_start(void (*change)(arcp_settings *settings));
void network_stop(void);
int network_set_up(void **state);
int network_tear_down(void **state);
#define NETWORK_TEST(name) cmocka_unit_test_setup_teardown(name, network_set_up, network_tear_down)

/* An agent that is a bash script, in which `get PATH` requests that from the server and prints the
 * response. */
void network_register(const char *name, const char *script, const arcp_process_agent *more);
/* A submit with a lease of this pattern of net.fetch: a path on the server. */
void network_submit(const char *agent, const char *path, const char *more);

/* Runs the loop until `done` returns true for the count; fails after 20 s. */
void network_await(bool (*done)(void *user), size_t count);
/* So many slow responses have begun, and have ended. */
bool network_has_slow(void *user);
bool network_has_slow_ended(void *user);

#endif
