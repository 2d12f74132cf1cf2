/* Certificates and trust: what TLS connections are made with. OpenSSL 3, TLS 1.2 and up. */
#ifndef ARCP_TRANSPORT_TLS_CONTEXT_H
#define ARCP_TRANSPORT_TLS_CONTEXT_H

#include <openssl/ssl.h>

#include <arcp/error.h>
#include <arcp/visibility.h>

typedef struct arcp__tls_context arcp__tls_context;

/* For a server: PEM files with the certificate chain (its own first) and the private key
 * (without a passphrase). ARCP_E_USAGE names the file and what is wrong with it. */
ARCP_MUST_CHECK arcp_status arcp__tls_context_new_server(const char *certificate_file,
                                                         const char *key_file,
                                                         arcp__tls_context **out, arcp_error *err);

/* For clients: trusts the authorities in the PEM file, or the system's when it is NULL. */
ARCP_MUST_CHECK arcp_status arcp__tls_context_new_client(const char *ca_file,
                                                         arcp__tls_context **out, arcp_error *err);

/* Reads a server's files again, for connections from now on. On failure the old ones
 * stay. */
ARCP_MUST_CHECK arcp_status arcp__tls_context_reload(arcp__tls_context *context, arcp_error *err);

void arcp__tls_context_free(arcp__tls_context *context);

/* A new TLS state of one connection over memory BIOs; NULL when out of memory. It keeps
 * what it needs of the context. `host` (clients only) is who the peer must prove to be: a
 * DNS name or an address. */
ARCP_MUST_CHECK SSL *arcp__tls_context_start(const arcp__tls_context *context, const char *host);

/* One line about OpenSSL's latest error, or `fallback`; empties its queue. */
const char *arcp__tls_error_text(const char *fallback);

#endif
