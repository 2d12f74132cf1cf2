#include "tracing/span_queue.h"

#include <assert.h>
#include <string.h>

bool arcp__span_queue_add(arcp__span_queue *queue, arcp_span span)
{
    const size_t used = queue->spans.size;
    if (span.size >= queue->bytes_max || used > queue->bytes_max - span.size - 1 ||
        !arcp_buf_reserve(&queue->spans, span.size + 1)) {
        queue->spans.failed = false; /* there may be memory for the next span */
        return false;
    }
    arcp_buf_append(&queue->spans, span);
    arcp_buf_append_byte(&queue->spans, '\n');
    queue->count++;
    return true;
}

bool arcp__span_queue_take(arcp__span_queue *queue, size_t bytes_max)
{
    const arcp_span all = arcp_buf_span(&queue->spans);
    assert(queue->taken_size == 0);
    while (queue->taken_size < all.size) {
        const char *feed = memchr(all.data + queue->taken_size, '\n', all.size - queue->taken_size);
        const size_t upto = (size_t)(feed - all.data) + 1;
        if (queue->taken_count != 0 && upto > bytes_max) {
            break;
        }
        queue->taken_size = upto;
        queue->taken_count++;
    }
    return queue->taken_count != 0;
}

void arcp__span_queue_release(arcp__span_queue *queue)
{
    arcp_buf_consume(&queue->spans, queue->taken_size);
    queue->count -= queue->taken_count;
    queue->taken_size = 0;
    queue->taken_count = 0;
}

void arcp__span_queue_format(const arcp__span_queue *queue, arcp_buf *out)
{
    /* Without the last line feed; the text of a span contains none. */
    const size_t size = queue->taken_size == 0 ? 0 : queue->taken_size - 1;
    const size_t from = out->size;
    arcp_buf_append(out, arcp_span_make(queue->spans.data, size));
    for (size_t i = from; i < out->size; i++) {
        out->data[i] = out->data[i] == '\n' ? ',' : out->data[i];
    }
}
