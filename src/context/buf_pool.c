/* Buffers whose memory is used again. A job is a dozen short texts on their way to a record, a row
 * or a frame: each would be allocated, grown and freed. */
#include "context/context.h"

#define POOLED_BYTES_MAX 4096u /* of one that is kept: long texts are rare */

arcp_buf arcp__context_take_buf(arcp__context *context)
{
    return context->pooled_count == 0 ? (arcp_buf)ARCP_BUF_INIT
                                      : context->pooled[--context->pooled_count];
}

void arcp__context_give_buf(arcp__context *context, arcp_buf *buf)
{
    arcp__context_check_text(context, buf);
    if (buf->data == NULL || buf->secret || buf->capacity > POOLED_BYTES_MAX ||
        context->pooled_count == ARCP__POOLED_BUFS_MAX) {
        arcp_buf_fini(buf);
        return;
    }
    arcp_buf_clear(buf);
    context->pooled[context->pooled_count++] = *buf;
    *buf = (arcp_buf)ARCP_BUF_INIT;
}
