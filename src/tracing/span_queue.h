/* Spans that wait to be sent: bounded in bytes, in the order they came. Not thread-safe. */
#ifndef ARCP_TRACING_SPAN_QUEUE_H
#define ARCP_TRACING_SPAN_QUEUE_H

#include <arcp/buf.h>

typedef struct arcp__span_queue {
    size_t bytes_max; /* of all spans */
    arcp_buf spans;   /* each with a line feed */
    size_t count;
    size_t taken_size, taken_count; /* of these the oldest: a batch on its way */
} arcp__span_queue;

/* The bytes that are not on their way. */
static inline size_t arcp__span_queue_waiting(const arcp__span_queue *queue)
{
    return queue->spans.size - queue->taken_size;
}

/* False: there is no room, or no memory; nothing is changed. `span` has no line feed. */
bool arcp__span_queue_add(arcp__span_queue *queue, arcp_span span);
/* Takes the oldest spans, at least one and no more than fit into `bytes_max`; the batch before
 * was released. False: none waits. */
bool arcp__span_queue_take(arcp__span_queue *queue, size_t bytes_max);
/* Forgets what was taken. */
void arcp__span_queue_release(arcp__span_queue *queue);
/* Appends the batch that was taken, with commas between spans. */
void arcp__span_queue_format(const arcp__span_queue *queue, arcp_buf *out);

#endif
