/* Spans that wait to be sent: bounded in bytes, in the order they came. Not thread-safe. */
#ifndef ARCP_TRACING_SPAN_QUEUE_H
#define ARCP_TRACING_SPAN_QUEUE_H

#include <arcp/buf.h>

typedef struct arcp__span_queue {
    size_t bytes_max; /* of what waits, and what was taken and is not released */
    arcp_buf waiting; /* spans, each with a line feed */
    size_t waiting_count;
    arcp_buf taken; /* likewise: a batch on its way */
    size_t taken_count;
} arcp__span_queue;

/* False: there is no room, or no memory; nothing is changed. `span` has no line feed. */
bool arcp__span_queue_add(arcp__span_queue *queue, arcp_span span);
/* Takes the oldest spans, at least one and no more than fit into `bytes_max`; the batch before
 * was released. False: none waits, or there is no memory. */
bool arcp__span_queue_take(arcp__span_queue *queue, size_t bytes_max);
/* Forgets what was taken. */
void arcp__span_queue_release(arcp__span_queue *queue);
/* Appends the batch that was taken, with commas between spans. */
void arcp__span_queue_format(const arcp__span_queue *queue, arcp_buf *out);
size_t arcp__span_queue_bytes(const arcp__span_queue *queue);
void arcp__span_queue_fini(arcp__span_queue *queue);

#endif
