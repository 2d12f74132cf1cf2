/* Two ends in one process. A frame goes: sender's `waiting` (until flushed) -> receiver's
 * `arriving` (until its turn has come and the receiver wants it) -> the receiver's owner.
 * Closes travel in the same queue, so they cannot overtake frames. It counts as unsent
 * until it has arrived, so that a reader that stops is felt by its sender, as on a
 * network whose buffers are full.
 *
 * One task stands for a turn. It is posted while something can still happen without the
 * owners doing anything; a pair that waits for a resume or for the end of a partition
 * costs nothing. */
#include <uv.h>

#include <arcp/sys/transport.h>

#include <assert.h>
#include <stdio.h>
#include <utlist.h>

#include "base/alloc.h"
#include "base/options.h"
#include "base/utf8.h"
#include "stream/stream.h"
#include "transport/stream_connection.h"

typedef struct parcel {
    struct parcel *prev;
    struct parcel *next;
    uint64_t turn; /* in which it arrives at the earliest */
    bool close;    /* the sender's end; the bytes are the reason. Lives in the sender. */
    arcp_close_code code;
    size_t size;
    char *bytes; /* behind the parcel, unless it is a close */
} parcel;

typedef enum end_state { END_OPEN, END_CLOSING, END_ENDED } end_state;

typedef struct memory_pair memory_pair;

typedef struct memory_end {
    arcp_connection base;
    memory_pair *pair;
    struct memory_end *peer;
    arcp_connection_callbacks callbacks;
    parcel *waiting;
    parcel *arriving;
    uv_timer_t timer; /* bounds a close that the peer does not take */
    size_t frame_bytes_max;
    size_t unsent;
    size_t written_due;
    uint32_t lose;
    end_state state;
    bool paused;
    bool closed_due; /* `closed` is still to be told */
    bool released;
    bool closed_by_peer;
    arcp_close_code code;
    char reason[ARCP__CLOSE_REASON_MAX + 1];
    parcel last; /* our end, as it is sent: closing needs no memory */
    char last_reason[ARCP__CLOSE_REASON_MAX + 1];
} memory_end;

struct memory_pair {
    arcp__loop_share *share;
    arcp__task task;
    memory_end ends[2];
    uint64_t turn;
    uint32_t delay;
    uint32_t close_timeout_ms;
    unsigned open_timers;
    bool parted;
};

static void make_turn(memory_pair *pair)
{
    arcp__task_post(pair->share, &pair->task);
}

/* ---- parcels ---- */

static parcel *parcel_new(arcp_span bytes)
{
    size_t size = 0;
    if (__builtin_add_overflow(sizeof(parcel), bytes.size, &size)) {
        return NULL;
    }
    parcel *item = arcp__alloc(size);
    if (item != NULL) {
        item->size = bytes.size;
        item->bytes = (char *)(item + 1);
        if (bytes.size > 0) {
            memcpy(item->bytes, bytes.data, bytes.size);
        }
    }
    return item;
}

static void parcel_free(parcel *item)
{
    if (!item->close) {
        arcp__free(item);
    }
}

static void drop_parcels(parcel **list)
{
    parcel *item = NULL;
    parcel *next = NULL;
    DL_FOREACH_SAFE (*list, item, next) {
        DL_DELETE(*list, item);
        parcel_free(item);
    }
}

static void dispatch(memory_end *end, parcel *item)
{
    if (end->peer->state == END_ENDED) {
        parcel_free(item);
        return;
    }
    item->turn = end->pair->turn + 1 + end->pair->delay;
    DL_APPEND(end->peer->arriving, item);
}

static void flush(memory_end *end)
{
    while (end->waiting != NULL) {
        parcel *item = end->waiting;
        DL_DELETE(end->waiting, item);
        if (end->lose > 0) {
            end->lose--;
            end->unsent -= item->size;
            end->written_due += item->size;
            parcel_free(item);
        } else {
            dispatch(end, item);
        }
    }
    make_turn(end->pair);
}

/* ---- the end ---- */

static void set_reason(memory_end *end, arcp_close_code code, arcp_span reason)
{
    size_t size = arcp__utf8_cut(reason, ARCP__CLOSE_REASON_MAX);
    end->code = code;
    if (size > 0 && reason.data != NULL) {
        memcpy(end->reason, reason.data, size);
    }
    end->reason[size] = '\0';
}

/* -> ENDED; the owner is told in the next turn. */
static void end_now(memory_end *end)
{
    end->state = END_ENDED;
    end->closed_due = !end->released;
    uv_timer_stop(&end->timer);
    drop_parcels(&end->waiting);
    drop_parcels(&end->arriving);
    make_turn(end->pair);
}

static void end_with(memory_end *end, arcp_close_code code, const char *reason)
{
    if (end->state != END_ENDED) {
        set_reason(end, code, arcp_span_cstr(reason));
        end_now(end);
    }
}

/* Sends our end, with its code and reason, to the peer, behind everything that was
 * flushed. Once. */
static void send_end(memory_end *end)
{
    parcel *item = &end->last;
    memcpy(end->last_reason, end->reason, sizeof(end->reason));
    item->close = true;
    item->code = end->code;
    item->size = strlen(end->reason);
    item->bytes = end->last_reason;
    dispatch(end, item);
    make_turn(end->pair);
}

static void break_end(memory_end *end, arcp_close_code code, const char *reason)
{
    if (end->state == END_ENDED) {
        return;
    }
    bool told = end->state == END_CLOSING; /* the peer has our close, or will have it */
    end_with(end, code, reason);
    if (!told) {
        send_end(end);
    }
}

static void on_timer(uv_timer_t *timer)
{
    break_end(timer->data, ARCP_CLOSE_ABNORMAL, "the peer did not close in time");
}

/* ---- a turn ---- */

static void arrive(memory_end *end, parcel *item)
{
    memory_end *peer = end->peer;
    if (item->close) {
        if (end->state == END_OPEN) {
            end->closed_by_peer = true;
            set_reason(end, item->code, arcp_span_make(item->bytes, item->size));
        }
        end_now(end);
        if (peer->state == END_CLOSING) {
            end_now(peer); /* with the code that it closed with */
        }
        return;
    }
    peer->unsent -= item->size;
    peer->written_due += item->size;
    if (end->state != END_OPEN) {
        return;
    }
    if (item->size > end->frame_bytes_max) {
        break_end(end, ARCP_CLOSE_TOO_BIG, "the message is too big");
    } else if (end->callbacks.message != NULL) {
        end->callbacks.message(end->callbacks.user, &end->base,
                               arcp_span_make(item->bytes, item->size));
    }
}

/* Whether the first parcel has come and the end takes it. */
static bool can_arrive(const memory_end *end)
{
    bool wanted = !end->paused || end->state == END_CLOSING;
    return end->arriving != NULL && wanted && !end->pair->parted &&
           end->arriving->turn <= end->pair->turn;
}

static void deliver(memory_end *end)
{
    while (can_arrive(end)) {
        parcel *item = end->arriving;
        DL_DELETE(end->arriving, item);
        arrive(end, item);
        parcel_free(item);
    }
}

static void tell(memory_end *end)
{
    size_t written = end->written_due;
    end->written_due = 0;
    if (written > 0 && !end->released && end->callbacks.drained != NULL) {
        end->callbacks.drained(end->callbacks.user, &end->base, written, end->unsent);
    }
    if (end->closed_due && !end->released) {
        end->closed_due = false;
        if (end->callbacks.closed != NULL) {
            end->callbacks.closed(end->callbacks.user, &end->base, end->code, end->reason);
        }
    }
}

static bool has_more(const memory_end *end)
{
    bool wanted = !end->paused || end->state == END_CLOSING;
    return end->waiting != NULL || end->written_due > 0 || end->closed_due ||
           (end->arriving != NULL && wanted && !end->pair->parted);
}

static void pair_free(memory_pair *pair)
{
    arcp__task_cancel(pair->share, &pair->task);
    arcp__loop_share_unref(pair->share);
    arcp__free(pair);
}

static void run_task(arcp__task *task)
{
    memory_pair *pair = (memory_pair *)((char *)task - offsetof(memory_pair, task));
    memory_end *a = &pair->ends[0];
    memory_end *b = &pair->ends[1];
    /* What the owners did not flush counts as flushed at the end of their turn. */
    flush(a);
    flush(b);
    pair->turn++;
    deliver(a);
    deliver(b);
    tell(a);
    tell(b);
    if (has_more(a) || has_more(b)) {
        make_turn(pair);
    } else {
        arcp__task_cancel(pair->share, &pair->task);
    }
}

/* ---- what the owner calls ---- */

static memory_end *self(arcp_connection *connection)
{
    return (memory_end *)connection;
}

static void memory_set_callbacks(arcp_connection *base, const arcp_connection_callbacks *callbacks)
{
    self(base)->callbacks = *callbacks;
}

static void memory_info(const arcp_connection *base, arcp_connection_info *out)
{
    const memory_end *end = (const memory_end *)base;
    *out = (arcp_connection_info){.transport = "memory",
                                  .peer = "memory",
                                  .local = true,
                                  .closed_by_peer = end->closed_by_peer};
}

static arcp_status memory_send(arcp_connection *base, arcp_span frame)
{
    memory_end *end = self(base);
    if (end->state != END_OPEN) {
        return ARCP_E_CLOSED;
    }
    parcel *item = parcel_new(frame);
    if (item == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    DL_APPEND(end->waiting, item);
    end->unsent += frame.size;
    make_turn(end->pair);
    return ARCP_OK;
}

static void memory_flush(arcp_connection *base)
{
    flush(self(base));
}

static size_t memory_unsent(const arcp_connection *base)
{
    return ((const memory_end *)base)->unsent;
}

static void memory_pause(arcp_connection *base)
{
    self(base)->paused = true;
}

static void memory_resume(arcp_connection *base)
{
    self(base)->paused = false;
    make_turn(self(base)->pair);
}

static void memory_admit(arcp_connection *base)
{
    (void)base; /* nothing counts pairs */
}

static void memory_close(arcp_connection *base, arcp_close_code code, const char *reason)
{
    memory_end *end = self(base);
    if (end->state != END_OPEN) {
        return;
    }
    flush(end);
    end->state = END_CLOSING;
    set_reason(end, code, arcp_span_cstr(reason));
    uv_timer_start(&end->timer, on_timer, end->pair->close_timeout_ms, 0);
    send_end(end);
}

static void memory_abort(arcp_connection *base)
{
    break_end(self(base), ARCP_CLOSE_ABNORMAL, "");
}

static void on_timer_closed(uv_handle_t *timer)
{
    memory_pair *pair = ((memory_end *)timer->data)->pair;
    if (--pair->open_timers == 0) {
        pair_free(pair);
    }
}

static void memory_release(arcp_connection *base)
{
    memory_end *end = self(base);
    assert(!end->released);
    end->released = true;
    break_end(end, ARCP_CLOSE_ABNORMAL, "");
    uv_close((uv_handle_t *)&end->timer, on_timer_closed);
}

static const arcp_connection_ops memory_ops = {
    .set_callbacks = memory_set_callbacks,
    .info = memory_info,
    .send = memory_send,
    .flush = memory_flush,
    .unsent = memory_unsent,
    .pause = memory_pause,
    .resume = memory_resume,
    .admit = memory_admit,
    .close = memory_close,
    .abort = memory_abort,
    .release = memory_release,
};

/* ---- the pair ---- */

arcp_status arcp_memory_pair(uv_loop_t *loop, const arcp_memory_options *given,
                             arcp_connection **out_a, arcp_connection **out_b, arcp_error *err)
{
    arcp_memory_options options = ARCP_MEMORY_OPTIONS_INIT;
    arcp_status status =
        arcp__options_check(given, sizeof(*given), "ARCP_MEMORY_OPTIONS_INIT", err);
    if (status != ARCP_OK) {
        return status;
    }
    if (given != NULL) {
        options = *given;
    }
    memory_pair *pair = arcp__alloc(sizeof(*pair));
    arcp__loop_share *share = pair == NULL ? NULL : arcp__loop_share_new(loop);
    if (share == NULL) {
        arcp__free(pair);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a pair of connections");
    }
    pair->share = share;
    pair->task.run = run_task;
    pair->delay = options.delay_turns;
    pair->close_timeout_ms =
        options.close_timeout_ms == 0 ? ARCP_CLOSE_TIMEOUT_MS_DEFAULT : options.close_timeout_ms;
    pair->open_timers = 2;
    for (int i = 0; i < 2; i++) {
        memory_end *end = &pair->ends[i];
        end->base.ops = &memory_ops;
        end->pair = pair;
        end->peer = &pair->ends[1 - i];
        end->frame_bytes_max =
            options.frame_bytes_max == 0 ? ARCP_FRAME_BYTES_DEFAULT : options.frame_bytes_max;
        uv_timer_init(loop, &end->timer);
        end->timer.data = end;
    }
    *out_a = &pair->ends[0].base;
    *out_b = &pair->ends[1].base;
    return ARCP_OK;
}

void arcp_memory_delay(arcp_connection *end, uint32_t turns)
{
    self(end)->pair->delay = turns;
}

void arcp_memory_lose(arcp_connection *end, uint32_t frames)
{
    self(end)->lose = frames;
}

void arcp_memory_partition(arcp_connection *end, bool parted)
{
    self(end)->pair->parted = parted;
    make_turn(self(end)->pair);
}

void arcp_memory_cut(arcp_connection *end)
{
    memory_end *one = self(end);
    end_with(one, ARCP_CLOSE_ABNORMAL, "");
    end_with(one->peer, ARCP_CLOSE_ABNORMAL, "");
}
