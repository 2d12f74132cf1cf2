/* Whom we are talking to. */
#ifndef ARCP_CLI_RUNTIME_NAME_H
#define ARCP_CLI_RUNTIME_NAME_H

#include <arcp/client.h>

/* Appends "NAME VERSION" of the runtime, from its welcome, made harmless. */
void arcp__runtime_name(arcp_client *client, arcp_buf *out);

#endif
