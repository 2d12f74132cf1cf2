/* What the connections of one listener (or one client) share on their loop: work that is
 * due when the loop comes round, a buffer to read into, and spare buffers to write from. */
#ifndef ARCP_TRANSPORT_LOOP_SHARE_H
#define ARCP_TRANSPORT_LOOP_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <arcp/buf.h>
#include <arcp/visibility.h>

#define ARCP__READ_BUFFER_BYTES  ((size_t)64 * 1024)
#define ARCP__SPARE_BUFFERS      8
#define ARCP__SPARE_BUFFER_BYTES ((size_t)256 * 1024) /* larger ones are not kept */

typedef struct arcp__loop_share arcp__loop_share;

/* Something to do once, in the next turn of the loop. Lives in its owner, who cancels it
 * before it goes. Zero-initialise, then set run. */
typedef struct arcp__task {
    struct arcp__task *prev;
    struct arcp__task *next;
    void (*run)(struct arcp__task *task);
    uint64_t turn; /* in which it was posted */
    bool queued;
} arcp__task;

/* One reference for the caller; NULL when out of memory. */
ARCP_MUST_CHECK arcp__loop_share *arcp__loop_share_new(uv_loop_t *loop);
arcp__loop_share *arcp__loop_share_ref(arcp__loop_share *share);
/* The last one closes the handle; the memory goes when the loop lets it. */
void arcp__loop_share_unref(arcp__loop_share *share);

uv_loop_t *arcp__loop_share_loop(const arcp__loop_share *share);

/* Runs the task before the loop waits the next time. A task that is queued already stays
 * where it is; one that is posted by a running task waits for the turn after. */
void arcp__task_post(arcp__loop_share *share, arcp__task *task);
void arcp__task_cancel(arcp__loop_share *share, arcp__task *task);

/* The common buffer of ARCP__READ_BUFFER_BYTES; NULL when out of memory. Its contents last
 * until the loop reads the next time: libuv hands it back in the call that follows. */
char *arcp__loop_share_read_buffer(arcp__loop_share *share);

/* Gives an empty *buf memory that somebody has left, if there is any. */
void arcp__loop_share_take_buffer(arcp__loop_share *share, arcp_buf *buf);
/* Takes the memory of *buf back, whose contents are not needed any more. */
void arcp__loop_share_give_buffer(arcp__loop_share *share, arcp_buf *buf);

#endif
