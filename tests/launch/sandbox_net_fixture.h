/* The network of a sandbox: its listeners, which the process that started it gets. */
#ifndef ARCP_TESTS_LAUNCH_NET_FIXTURE_H
#define ARCP_TESTS_LAUNCH_NET_FIXTURE_H

#include <netinet/in.h>
#include <poll.h>

#include "launch/launcher_control.h"
#include "launch/sandbox_fixture.h"

enum { NET_LISTENERS_MAX = ARCP__LAUNCH_LISTENERS_MAX };

typedef struct net_world {
    sandbox_fixture *f;
    arcp__launch_control control;
    struct pollfd listeners[NET_LISTENERS_MAX];
    size_t count;
} net_world;

/* Ports that tests grant: 80, 443, 8080. */
extern const uint16_t net_web[3];

/* Gives the sandbox a network with these ports, which live as long as the fixture; skips the test,
 * and says so, on a host that has none. */
void net_use_ports(sandbox_fixture *f, const uint16_t *ports, size_t count);
/* Starts a program whose output goes to a descriptor, with a control socket. */
arcp_process *net_start(net_world *w, const char *const *argv, int out);
/* What takes records and listeners from a control socket. */
arcp__launch_control_events net_events(net_world *w);
/* Waits for the listeners. */
void net_await_listeners(net_world *w);
/* Waits for the program's end, which is then in the fixture, and closes the listeners. */
void net_finish(net_world *w, arcp_process *process);

/* Of a socket: its address, port and type. */
struct sockaddr_in6 net_local_of(int fd);
unsigned net_port_of(int fd);
int net_type_of(int fd);

#endif
