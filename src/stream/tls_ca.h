/* A certificate authority in memory, for connections that are terminated in place of the servers
 * that they are meant for. Its key never leaves this process and is wiped when it is freed: who
 * trusts its certificate trusts nothing that outlives it.
 *
 * One thread at a time. */
#ifndef ARCP_STREAM_TLS_CA_H
#define ARCP_STREAM_TLS_CA_H

#include <stdint.h>

#include <arcp/error.h>

#define ARCP__TLS_CA_DAYS_MAX  7
#define ARCP__TLS_CA_HOSTS_MAX 64 /* certificates that are kept */
/* By this name OpenSSL finds the certificate in a directory: the hash of its subject, which is the
 * same for all. */
#define ARCP__TLS_CA_LINK "7c43882d.0"

typedef struct arcp__tls_ca arcp__tls_ca;
typedef struct arcp__tls_context arcp__tls_context; /* of stream.h */

/* Makes a key and a certificate, which is valid from a day before `now_sec` until `end_sec`, but
 * not longer than ARCP__TLS_CA_DAYS_MAX; both in seconds since 1970. ARCP_E_NO_MEMORY, or ARCP_E_IO
 * when OpenSSL refuses. The caller frees *out. */
ARCP_MUST_CHECK arcp_status arcp__tls_ca_new(int64_t now_sec, int64_t end_sec, arcp__tls_ca **out,
                                             arcp_error *err);
void arcp__tls_ca_free(arcp__tls_ca *ca); /* NULL is accepted */

/* The certificate as PEM text, with a NUL behind it; as long as the authority. */
const char *arcp__tls_ca_certificate(const arcp__tls_ca *ca);

/* What a server needs to be this host: a name, or an address without brackets. Valid until the next
 * call; a stream keeps what it needs. Clients that offer protocols must offer http/1.1. NULL: the
 * error says why, ARCP_E_NO_MEMORY or ARCP_E_IO. */
ARCP_MUST_CHECK const arcp__tls_context *arcp__tls_ca_serve(arcp__tls_ca *ca, const char *host,
                                                            arcp_error *err);

#endif
