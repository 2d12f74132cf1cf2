/* Private to this folder: what contexts of TLS are made of. */
#ifndef ARCP_STREAM_TLS_PARTS_H
#define ARCP_STREAM_TLS_PARTS_H

#include <openssl/ssl.h>

#include "stream/stream.h"

struct arcp__tls_context {
    SSL_CTX *ssl; /* counts its references; each connection holds one */
    bool is_server;
    char *certificate_file; /* of a server that reads files; else NULL */
    char *key_file;
};

/* The settings that all contexts share. NULL when out of memory. */
SSL_CTX *arcp__tls_context_base(const SSL_METHOD *method);

/* Those of all servers. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__tls_context_serve(SSL_CTX *ssl, arcp_error *err);

/* The session that is kept of a host, which the caller frees, and when its certificate was checked;
 * NULL: there is none, or that is too long ago. */
SSL_SESSION *arcp__tls_sessions_take(arcp__tls_sessions *sessions, const char *host,
                                     uint64_t now_ms, uint64_t *checked_ms);
/* Takes the session over in place of the host's earlier one; false: it is still the caller's. */
bool arcp__tls_sessions_keep(arcp__tls_sessions *sessions, const char *host, SSL_SESSION *session,
                             uint64_t checked_ms);

/* For contexts of clients: OpenSSL calls it with each session that a server gives. */
int arcp__tls_stream_keep(SSL *ssl, SSL_SESSION *session);

/* One line about OpenSSL's latest error, or `fallback`; empties its queue. */
const char *arcp__tls_error_text(const char *fallback);

#endif
