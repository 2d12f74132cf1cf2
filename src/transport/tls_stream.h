/* A TLS stream over another stream: OpenSSL between two memory BIOs. */
#ifndef ARCP_TRANSPORT_TLS_STREAM_H
#define ARCP_TRANSPORT_TLS_STREAM_H

#include "transport/loop_share.h"
#include "transport/stream.h"
#include "transport/tls_context.h"

/* Takes `lower` over on success. The handshake begins with start (which must be called
 * once soon, on either side); what is written before it is done waits for it. A handshake
 * that fails comes as `ended`, with what the certificate check or the peer said. `host` as
 * in arcp__tls_context_start. */
ARCP_MUST_CHECK arcp_status arcp__tls_stream_new(arcp__loop_share *share,
                                                 const arcp__tls_context *context, const char *host,
                                                 arcp__stream *lower, arcp__stream **out,
                                                 arcp_error *err);

#endif
