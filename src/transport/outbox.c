#include "transport/outbox.h"

#include <assert.h>

__extension__ typedef unsigned __int128 wide; /* payload times bytes */

arcp_buf *arcp__outbox_begin(arcp__outbox *outbox, arcp__loop_share *share)
{
    if (outbox->next.data == NULL) {
        arcp__loop_share_take_buffer(share, &outbox->next);
    }
    return &outbox->next;
}

arcp_status arcp__outbox_end(arcp__outbox *outbox, size_t size_before, size_t payload)
{
    if (outbox->next.failed) {
        outbox->next.failed = false;
        outbox->next.size = size_before;
        return ARCP_E_NO_MEMORY;
    }
    outbox->next_payload += payload;
    return ARCP_OK;
}

size_t arcp__outbox_written(arcp__outbox *outbox, size_t bytes)
{
    assert(bytes <= outbox->batch_bytes - outbox->batch_done);
    outbox->batch_done += bytes;
    if (outbox->batch_done == outbox->batch_bytes) {
        size_t rest = outbox->batch_payload - outbox->payload_done;
        outbox->batch_bytes = 0;
        outbox->batch_done = 0;
        outbox->batch_payload = 0;
        outbox->payload_done = 0;
        return rest;
    }
    size_t done = (size_t)((wide)outbox->batch_payload * outbox->batch_done / outbox->batch_bytes);
    size_t more = done - outbox->payload_done;
    outbox->payload_done = done;
    return more;
}

bool arcp__outbox_flush(arcp__outbox *outbox, arcp__stream *stream, size_t *left)
{
    if (outbox->batch_bytes != 0 || outbox->next.size == 0) {
        return true;
    }
    outbox->batch_bytes = outbox->next.size;
    outbox->batch_payload = outbox->next_payload;
    outbox->next_payload = 0;
    size_t written = 0;
    bool writable = stream->ops->write(stream, &outbox->next, &written);
    if (written > 0) {
        *left += arcp__outbox_written(outbox, written);
    }
    return writable;
}

void arcp__outbox_fini(arcp__outbox *outbox, arcp__loop_share *share)
{
    arcp__loop_share_give_buffer(share, &outbox->next);
}
