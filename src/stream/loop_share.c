#include "stream/stream.h"

#include <assert.h>

#include <utlist.h>

#include "base/alloc.h"

#define FREE_BUFFERS_MAX 8

/* Tasks run from an idle handle that is active only while tasks are queued: it runs before the loop
 * polls, and keeps the loop from blocking. */
struct arcp__loop_share {
    uv_idle_t idle;
    size_t references;
    arcp__task *tasks; /* in the order in which they were posted */
    uint64_t turn;
    char *read_buffer; /* allocated when first needed */
    arcp_buf free_buffers[FREE_BUFFERS_MAX];
    size_t free_count;
};

arcp__loop_share *arcp__loop_share_new(uv_loop_t *loop)
{
    arcp__loop_share *share = arcp__alloc(sizeof *share);
    if (share == NULL) {
        return NULL;
    }
    uv_idle_init(loop, &share->idle); /* cannot fail */
    share->idle.data = share;
    share->references = 1;
    return share;
}

arcp__loop_share *arcp__loop_share_ref(arcp__loop_share *share)
{
    share->references++;
    return share;
}

static void on_idle_closed(uv_handle_t *handle)
{
    arcp__loop_share *share = handle->data;
    for (size_t i = 0; i < share->free_count; i++) {
        arcp_buf_fini(&share->free_buffers[i]);
    }
    arcp__free(share->read_buffer);
    arcp__free(share);
}

void arcp__loop_share_unref(arcp__loop_share *share)
{
    if (share == NULL || --share->references > 0) {
        return;
    }
    assert(share->tasks == NULL);
    uv_close((uv_handle_t *)&share->idle, on_idle_closed);
}

uv_loop_t *arcp__loop_share_loop(const arcp__loop_share *share)
{
    return share->idle.loop;
}

static void on_idle(uv_idle_t *idle)
{
    arcp__loop_share *share = idle->data;
    /* A task may release the last connection, and with it the last other reference. */
    arcp__loop_share_ref(share);
    share->turn++;
    while (share->tasks != NULL && share->tasks->turn < share->turn) {
        arcp__task *task = share->tasks;
        DL_DELETE(share->tasks, task);
        task->queued = false;
        task->run(task);
    }
    if (share->tasks == NULL) {
        uv_idle_stop(idle);
    }
    arcp__loop_share_unref(share);
}

void arcp__task_post(arcp__loop_share *share, arcp__task *task)
{
    if (task->queued) {
        return;
    }
    task->queued = true;
    task->turn = share->turn;
    DL_APPEND(share->tasks, task);
    uv_idle_start(&share->idle, on_idle);
}

void arcp__task_cancel(arcp__loop_share *share, arcp__task *task)
{
    if (!task->queued) {
        return;
    }
    task->queued = false;
    DL_DELETE(share->tasks, task);
    if (share->tasks == NULL) {
        uv_idle_stop(&share->idle);
    }
}

char *arcp__loop_share_read_buffer(arcp__loop_share *share)
{
    if (share->read_buffer == NULL) {
        share->read_buffer = arcp__alloc(ARCP__READ_BUFFER_BYTES);
    }
    return share->read_buffer;
}

void arcp__loop_share_take_buffer(arcp__loop_share *share, arcp_buf *buf)
{
    assert(buf->size == 0);
    if (buf->data == NULL && share->free_count > 0) {
        *buf = share->free_buffers[--share->free_count];
    }
}

void arcp__loop_share_give_buffer(arcp__loop_share *share, arcp_buf *buf)
{
    if (buf->data != NULL && buf->capacity <= ARCP__WRITE_PIECE_BYTES &&
        share->free_count < FREE_BUFFERS_MAX) {
        arcp_buf_clear(buf);
        share->free_buffers[share->free_count++] = *buf;
        *buf = arcp_buf_init();
        return;
    }
    arcp_buf_fini(buf);
}
