/* A queue of spans to be sent, with a limited size. Not thread-safe. */
#ifndef ARCP_TRACING_SPAN_QUEUE_H
#define ARCP_TRACING_SPAN_QUEUE_H

#include <arcp/buf.h>

typedef struct arcp__span_queue {
    size_t bytes_max; /* of all spans */
    arcp_buf spans;   /* each with a line feed */
    size_t count;
    size_t taken_size, taken_count; /* of the oldest spans, which form the current batch */
} arcp__span_queue;

/* The size of the spans that are not in the current batch. */
static inline size_t arcp__span_queue_waiting(const arcp__span_queue *queue)
{
    return queue->spans.size - queue->taken_size;
}

/* Adds a span, which must not contain line feeds. False: no room or no memory; nothing is changed.
 */
bool arcp__span_queue_add(arcp__span_queue *queue, arcp_span span);
/* Makes a batch of the oldest spans, at least one and as many as fit into `bytes_max`. The previous
 * batch must have been released. False: the queue is empty. */
bool arcp__span_queue_take(arcp__span_queue *queue, size_t bytes_max);
/* Removes the current batch from the queue. */
void arcp__span_queue_release(arcp__span_queue *queue);
/* Appends the current batch, with commas between spans. */
void arcp__span_queue_format(const arcp__span_queue *queue, arcp_buf *out);

#endif
