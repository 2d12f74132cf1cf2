/* Buffers that may have held a secret. */
#ifndef ARCP_BASE_WIPE_H
#define ARCP_BASE_WIPE_H

#include <arcp/buf.h>
#include <arcp/secret.h>

/* arcp_buf_fini behind a wipe of all that the buffer had room for. */
static inline void arcp__buf_fini_wiped(arcp_buf *buf)
{
    if (buf->data != NULL) {
        arcp_wipe(buf->data, buf->capacity);
    }
    arcp_buf_fini(buf);
}

#endif
