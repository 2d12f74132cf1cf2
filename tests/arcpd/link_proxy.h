/* A process between the two ends of a local socket, which passes on all bytes and cuts the
 * connection on request. */
#ifndef ARCP_TESTS_ARCPD_LINK_PROXY_H
#define ARCP_TESTS_ARCPD_LINK_PROXY_H

#include <sys/types.h>

/* Takes the place of a socket that a program listens on, for later connections; serves one at a
 * time. */
pid_t link_proxy_start(const char *path);
/* Closes both ends of the connection. */
void link_proxy_cut(pid_t proxy);
void link_proxy_end(pid_t proxy);

#endif
