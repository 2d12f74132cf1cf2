#include "tracing/span_queue.h"

#include <assert.h>
#include <string.h>

size_t arcp__span_queue_bytes(const arcp__span_queue *queue)
{
    return queue->waiting.size + queue->taken.size;
}

bool arcp__span_queue_add(arcp__span_queue *queue, arcp_span span)
{
    size_t used = arcp__span_queue_bytes(queue);
    if (span.size >= queue->bytes_max || used > queue->bytes_max - span.size - 1 ||
        !arcp_buf_reserve(&queue->waiting, span.size + 1)) {
        queue->waiting.failed = false; /* there may be memory for the next one */
        return false;
    }
    arcp_buf_append(&queue->waiting, span);
    arcp_buf_append_byte(&queue->waiting, '\n');
    queue->waiting_count++;
    return true;
}

bool arcp__span_queue_take(arcp__span_queue *queue, size_t bytes_max)
{
    size_t size = 0;
    size_t count = 0;
    assert(queue->taken.size == 0);
    while (size < queue->waiting.size) {
        const char *feed = memchr(queue->waiting.data + size, '\n', queue->waiting.size - size);
        size_t upto = (size_t)(feed - queue->waiting.data) + 1;
        if (count != 0 && upto > bytes_max) {
            break;
        }
        size = upto;
        count++;
    }
    if (count == 0 || !arcp_buf_reserve(&queue->taken, size)) {
        queue->taken.failed = false;
        return false;
    }
    arcp_buf_append(&queue->taken, arcp_span_make(queue->waiting.data, size));
    arcp_buf_consume(&queue->waiting, size);
    queue->waiting_count -= count;
    queue->taken_count = count;
    return true;
}

void arcp__span_queue_release(arcp__span_queue *queue)
{
    arcp_buf_clear(&queue->taken);
    queue->taken_count = 0;
}

void arcp__span_queue_format(const arcp__span_queue *queue, arcp_buf *out)
{
    /* The last line feed goes; a span's own text has none. */
    size_t size = queue->taken.size == 0 ? 0 : queue->taken.size - 1;
    size_t from = out->size;
    arcp_buf_append(out, arcp_span_make(queue->taken.data, size));
    for (size_t at = from; at < out->size; at++) {
        out->data[at] = out->data[at] == '\n' ? ',' : out->data[at];
    }
}

void arcp__span_queue_fini(arcp__span_queue *queue)
{
    arcp_buf_fini(&queue->waiting);
    arcp_buf_fini(&queue->taken);
}
