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

/* One line about OpenSSL's latest error, or `fallback`; empties its queue. */
const char *arcp__tls_error_text(const char *fallback);

#endif
