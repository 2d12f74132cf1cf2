/* What the files of this folder share. */
#ifndef ARCP_STREAM_PARTS_H
#define ARCP_STREAM_PARTS_H

#include <openssl/ssl.h>

#include "stream/stream.h"

/* A file has no readiness to wait for: it is read and written in turns of the loop. */
ARCP_MUST_CHECK arcp_status arcp__file_stream_new(arcp__loop_share *share, int fd,
                                                  arcp__stream **out, arcp_error *err);

/* A new TLS state of one connection over memory BIOs; NULL when out of memory. It keeps
 * what it needs of the context. `host` as in arcp__tls_stream_new. */
ARCP_MUST_CHECK SSL *arcp__tls_context_start(const arcp__tls_context *context, const char *host);

/* One line about OpenSSL's latest error, or `fallback`; empties its queue. */
const char *arcp__tls_error_text(const char *fallback);

#endif
