/* Provisioned credentials (§9.8): kept only until the program has seen them. */
#ifndef ARCP_CLIENT_CLIENT_CREDENTIALS_H
#define ARCP_CLIENT_CLIENT_CREDENTIALS_H

#include <arcp/client.h>
#include <arcp/secret.h>

/* Appends the object on one line without its member `credentials` (and, for a welcome,
 * without `resume_token`). {} for what is no object. */
void arcp__client_credentials_redact(const arcp_json *json, arcp_json_ref object, arcp_buf *out);

/* Keeps those of payload.credentials that a client can use: scheme "bearer" with an id and
 * a value. *out is NULL when there are none; else the caller's. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__client_credentials_keep(const arcp_json *json,
                                                          arcp_json_ref payload, arcp_secret **out);

/* Shows each of the kept ones; returns how many. */
size_t arcp__client_credentials_visit(const arcp_secret *kept,
                                      void (*visit)(void *user, const arcp_credential *credential),
                                      void *user);

#endif
