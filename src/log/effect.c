/* Effects: each is ready at once or waits for a batch, and they are handed out in order. */
#include "log/log_state.h"

#include <stdarg.h>
#include <stdio.h>

static void recycle(arcp__log *log, arcp__pending_effect *pending)
{
    arcp__context_give_buf(log->context, &pending->text);
    arcp_buf_fini(&pending->fields);
    LL_PREPEND(log->free_effects, pending);
}

static void enter(arcp__pending_effect **queue, arcp__pending_effect *pending)
{
    pending->queue = queue;
    DL_APPEND2(*queue, pending, previous, next);
}

/* It waits no more. */
static void leave(arcp__pending_effect *pending)
{
    arcp__port *port = pending->port;
    DL_DELETE2(*pending->queue, pending, previous, next);
    if (port != NULL) {
        DL_DELETE2(port->waiting, pending, own_previous, own_next);
        port->queued -= pending->effect.kind == ARCP__EFFECT_SEND ? pending->text.size : 0;
    }
}

arcp__pending_effect *arcp__effect_push(arcp__log *log, arcp__port *port,
                                        const arcp__effect *effect, arcp_buf *text, bool durable)
{
    arcp__pending_effect *pending = log->free_effects;
    if (pending != NULL) {
        log->free_effects = pending->next;
    } else {
        pending = arcp__alloc(sizeof *pending);
    }
    if (pending == NULL || (text != NULL && text->failed)) { /* a truncated text must not be sent */
        arcp__context_no_memory(log->context);
        arcp__free(pending);
        if (text != NULL) {
            arcp_buf_fini(text);
        }
        return NULL;
    }
    *pending = (arcp__pending_effect){.effect = *effect, .port = port};
    if (text != NULL) {
        pending->text = *text;
        *text = arcp_buf_init();
    }
    if (port != NULL) {
        pending->effect.link_user = port->user;
        DL_APPEND2(port->waiting, pending, own_previous, own_next);
        port->queued += effect->kind == ARCP__EFFECT_SEND ? pending->text.size : 0;
    }
    if (effect->kind == ARCP__EFFECT_LOG) {
        enter(&log->lines, pending);
    } else if (durable && !arcp__log_is_durable(log)) {
        pending->batch_id = arcp__batch_open_id(log);
        enter(&log->waiting, pending);
    } else {
        enter(&log->ready, pending);
    }
    return pending;
}

static void make_ready(arcp__log *log, arcp__pending_effect *pending)
{
    DL_DELETE2(log->waiting, pending, previous, next);
    enter(&log->ready, pending);
}

void arcp__effects_release_committed(arcp__log *log)
{
    while (log->waiting != NULL && log->waiting->batch_id <= log->committed_id) {
        make_ready(log, log->waiting);
    }
}

void arcp__effect_release(arcp__log *log, bool (*may_go)(const arcp__effect *effect))
{
    for (arcp__pending_effect *pending = log->waiting, *next = NULL; pending != NULL;
         pending = next) {
        next = pending->next;
        if (may_go(&pending->effect)) {
            make_ready(log, pending);
        }
    }
}

void arcp__effect_log(arcp__log *log, arcp__log_level level, const char *format, ...)
{
    char line[512];
    if (log->options.has_no_lines) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    arcp__effect_log_fields(log, level, line, &(arcp_buf){0});
}

void arcp__effect_log_fields(arcp__log *log, arcp__log_level level, const char *message,
                             arcp_buf *fields)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, message);
    text.failed = text.failed || fields->failed;
    arcp__pending_effect *line = arcp__effect_push(
        log, NULL, &(arcp__effect){.kind = ARCP__EFFECT_LOG, .level = level}, &text, false);
    if (line == NULL) {
        arcp_buf_fini(fields);
        return;
    }
    line->fields = *fields;
    *fields = arcp_buf_init();
}

/* The owner is done with the effect of the last call. */
static void recycle_handed(arcp__log *log, arcp__pending_effect **handed)
{
    if (*handed != NULL) {
        recycle(log, *handed);
        *handed = NULL;
    }
}

void arcp__effect_recycle(arcp__log *log)
{
    recycle_handed(log, &log->handed);
}

static bool hand_out(arcp__pending_effect *pending, arcp__pending_effect **handed,
                     arcp__effect *out)
{
    if (pending == NULL) {
        return false;
    }
    leave(pending);
    *handed = pending;
    *out = pending->effect;
    out->text = arcp_buf_span(&pending->text);
    out->fields = arcp_buf_span(&pending->fields);
    return true;
}

bool arcp__effect_next_line(arcp__log *log, arcp__effect *out)
{
    recycle_handed(log, &log->handed_line);
    return hand_out(log->lines, &log->handed_line, out);
}

bool arcp__effect_next(arcp__log *log, arcp__effect *out)
{
    if (!hand_out(log->ready, &log->handed, out)) {
        return false;
    }
    if (out->kind == ARCP__EFFECT_SEND) {
        arcp__port_sent(log, log->handed->port, out->text.size);
    }
    return true;
}

bool arcp__effect_is_ready(const arcp__log *log)
{
    return log->ready != NULL || log->lines != NULL;
}

static void drop(arcp__log *log, arcp__pending_effect *pending)
{
    leave(pending);
    recycle(log, pending);
}

void arcp__effect_drop_all(arcp__log *log)
{
    arcp__effect_recycle(log);
    recycle_handed(log, &log->handed_line);
    arcp__pending_effect **queues[] = {&log->lines, &log->ready, &log->waiting};
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        while (*queues[i] != NULL) {
            drop(log, *queues[i]);
        }
    }
    while (log->free_effects != NULL) {
        arcp__pending_effect *pending = log->free_effects;
        log->free_effects = pending->next;
        arcp__free(pending);
    }
}

/* ---- ports ---- */

void arcp__port_send(arcp__log *log, arcp__port *port, arcp_buf *frame, bool durable)
{
    if (port->is_closed) {
        arcp_buf_fini(frame);
        return;
    }
    (void)arcp__effect_push(log, port, &(arcp__effect){.kind = ARCP__EFFECT_SEND}, frame, durable);
}

void arcp__port_close(arcp__log *log, arcp__port *port, int close_code, const char *reason,
                      bool durable)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, reason);
    port->is_closed = true;
    arcp__effect_push(log, port,
                      &(arcp__effect){.kind = ARCP__EFFECT_CLOSE, .close_code = close_code}, &text,
                      durable);
}

void arcp__port_sent(const arcp__log *log, arcp__port *port, size_t bytes)
{
    port->unsent += bytes;
    port->last_sent_ns = log->context->now.mono_ns;
}

bool arcp__port_drop_with(arcp__log *log, arcp__port *port, arcp__effect_kind kind)
{
    bool had_any = false;
    while (port->waiting != NULL) {
        had_any = had_any || port->waiting->effect.kind == kind;
        drop(log, port->waiting);
    }
    return had_any;
}

void arcp__port_drop(arcp__log *log, arcp__port *port)
{
    (void)arcp__port_drop_with(log, port, ARCP__EFFECT_SEND);
}

/* ---- reads of the store that are under way ---- */

/* `effect` has the range, `as` who takes the result. */
static arcp__read *start(arcp__log *log, arcp_span stream, arcp__effect *effect,
                         const arcp__read *as, bool is_behind)
{
    arcp__read *read = arcp__alloc(sizeof *read);
    arcp_buf key = arcp_buf_init();
    if (read == NULL) {
        arcp__context_no_memory(log->context);
        return NULL;
    }
    *read = *as;
    read->id = ++log->next_read_id;
    DL_APPEND2(log->reads, read, previous, next);
    arcp_buf_append(&key, stream);
    effect->kind = ARCP__EFFECT_READ;
    effect->id = read->id;
    arcp__effect_push(log, NULL, effect, &key, is_behind);
    return read;
}

arcp__read *arcp__read_start(arcp__log *log, arcp_span stream, uint64_t from, size_t count_max,
                             size_t bytes_max, arcp__read_done_fn done, void *user, void *owner)
{
    return start(log, stream,
                 &(arcp__effect){.from = from, .count_max = count_max, .bytes_max = bytes_max},
                 &(arcp__read){.done = done, .user = user, .owner = owner}, false);
}

arcp__read *arcp__read_start_behind(arcp__log *log, arcp_span stream, uint64_t from,
                                    size_t count_max, size_t bytes_max, arcp__read_done_fn done,
                                    void *user, void *owner)
{
    return start(log, stream,
                 &(arcp__effect){.from = from, .count_max = count_max, .bytes_max = bytes_max},
                 &(arcp__read){.done = done, .user = user, .owner = owner}, true);
}

void arcp__read_end(arcp__log *log, arcp__read **read)
{
    if (*read != NULL) {
        DL_DELETE2(log->reads, *read, previous, next);
        arcp__free(*read);
        *read = NULL;
    }
}

void arcp__read_answered(arcp__log *log, uint64_t id, const arcp__page *page)
{
    const arcp__read *read = NULL; /* results mostly come in order: usually it is the first */
    DL_SEARCH_SCALAR2(log->reads, read, id, id, next);
    if (read != NULL) {
        read->done(read->user, read->owner, page);
    }
}
