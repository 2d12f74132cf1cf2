/* Requests to arcpd's own HTTP listener. */
#ifndef ARCP_TESTS_ARCPD_HTTP_GET_H
#define ARCP_TESTS_ARCPD_HTTP_GET_H

#include "arcpd/host.h"

/* Waits until the daemon has logged its HTTP address, and returns the port. */
unsigned short http_port(host *place);
int http_connect(unsigned short port);
/* Everything until the end, with a NUL; closes `fd`. */
void http_read_all(int fd, arcp_buf *out);
/* Sends one request unchanged; the caller frees *out. */
void http_ask(unsigned short port, const char *request, arcp_buf *out);

#endif
