/* Effects: each waits for nothing or for a batch, and goes out in order. */
#include "log/log_state.h"

#include <stdarg.h>
#include <stdio.h>

static void push_back(arcp__effect_queue *queue, arcp__pending_effect *pending)
{
    pending->next = NULL;
    if (queue->last == NULL) {
        queue->first = pending;
    } else {
        queue->last->next = pending;
    }
    queue->last = pending;
}

static arcp__pending_effect *pop_front(arcp__effect_queue *queue)
{
    arcp__pending_effect *pending = queue->first;
    if (pending != NULL) {
        queue->first = pending->next;
        if (queue->first == NULL) {
            queue->last = NULL;
        }
    }
    return pending;
}

static void recycle(arcp__log *log, arcp__pending_effect *pending)
{
    arcp__context_give_buf(log->context, &pending->text);
    arcp_buf_fini(&pending->fields);
    pending->next = log->effect_free;
    log->effect_free = pending;
}

/* It waits for its port no more. */
static void leave_port(arcp__pending_effect *pending)
{
    arcp__port *port = pending->port;
    if (port != NULL) {
        DL_DELETE2(port->waiting, pending, own_previous, own_next);
        port->queued -= pending->effect.kind == ARCP__EFFECT_SEND ? pending->text.size : 0;
    }
}

void arcp__effect_push(arcp__log *log, arcp__port *port, const arcp__effect *effect, arcp_buf *text,
                       bool durable)
{
    arcp__pending_effect *pending = log->effect_free;
    if (pending != NULL) {
        log->effect_free = pending->next;
    } else {
        pending = arcp__alloc(sizeof *pending);
    }
    if (pending == NULL) {
        arcp__context_no_memory(log->context);
        if (text != NULL) {
            arcp_buf_fini(text);
        }
        return;
    }
    *pending = (arcp__pending_effect){.effect = *effect, .port = port};
    if (text != NULL) {
        arcp__context_check_text(log->context, text);
        pending->text = *text;
        *text = (arcp_buf)ARCP_BUF_INIT;
    }
    if (port != NULL) {
        pending->effect.link_user = port->user;
        DL_APPEND2(port->waiting, pending, own_previous, own_next);
        port->queued += effect->kind == ARCP__EFFECT_SEND ? pending->text.size : 0;
    }
    if (effect->kind == ARCP__EFFECT_LOG) {
        push_back(&log->lines, pending);
    } else if (durable && !arcp__log_is_durable(log)) {
        pending->batch_id = arcp__batch_open_id(log);
        push_back(&log->waiting, pending);
    } else {
        push_back(&log->ready, pending);
    }
}

void arcp__effects_release_committed(arcp__log *log)
{
    while (log->waiting.first != NULL && log->waiting.first->batch_id <= log->committed_id) {
        push_back(&log->ready, pop_front(&log->waiting));
    }
}

void arcp__effect_release(arcp__log *log, bool (*may_go)(const arcp__effect *effect))
{
    arcp__effect_queue kept = {NULL, NULL};
    for (arcp__pending_effect *at = pop_front(&log->waiting); at != NULL;
         at = pop_front(&log->waiting)) {
        push_back(!at->is_dropped && may_go(&at->effect) ? &log->ready : &kept, at);
    }
    log->waiting = kept;
}

void arcp__effect_log(arcp__log *log, arcp__log_level level, const char *format, ...)
{
    char line[512];
    if (log->options.has_no_lines) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    arcp_buf text = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&text, line);
    arcp__effect_push(log, NULL, &(arcp__effect){.kind = ARCP__EFFECT_LOG, .level = level}, &text,
                      false);
}

void arcp__effect_log_fields(arcp__log *log, arcp__log_level level, const char *message,
                             arcp_buf *fields)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&text, message);
    arcp__context_check_text(log->context, fields);
    arcp__effect_push(log, NULL, &(arcp__effect){.kind = ARCP__EFFECT_LOG, .level = level}, &text,
                      false);
    if (log->context->failed) {
        arcp_buf_fini(fields);
        return;
    }
    log->lines.last->fields = *fields;
    *fields = (arcp_buf)ARCP_BUF_INIT;
}

/* What the owner was handed at the last call is over. */
void arcp__effect_take_back(arcp__log *log)
{
    if (log->handed != NULL) {
        recycle(log, log->handed);
        log->handed = NULL;
    }
}

static void take_back_line(arcp__log *log)
{
    if (log->handed_line != NULL) {
        recycle(log, log->handed_line);
        log->handed_line = NULL;
    }
}

bool arcp__effect_next_line(arcp__log *log, arcp__effect *out)
{
    take_back_line(log);
    log->handed_line = pop_front(&log->lines);
    if (log->handed_line == NULL) {
        return false;
    }
    *out = log->handed_line->effect;
    out->text = arcp_buf_span(&log->handed_line->text);
    out->fields = arcp_buf_span(&log->handed_line->fields);
    return true;
}

bool arcp__effect_next(arcp__log *log, arcp__effect *out)
{
    arcp__pending_effect *pending = NULL;
    while ((pending = pop_front(&log->ready)) != NULL) {
        if (pending->is_dropped) {
            recycle(log, pending);
            continue;
        }
        leave_port(pending);
        *out = pending->effect;
        out->text = arcp_buf_span(&pending->text);
        log->handed = pending;
        if (out->kind == ARCP__EFFECT_SEND) {
            arcp__port_sent(log, pending->port, out->text.size);
        }
        return true;
    }
    return false;
}

bool arcp__effect_is_ready(const arcp__log *log)
{
    return log->ready.first != NULL || log->lines.first != NULL;
}

void arcp__effect_drop_all(arcp__log *log)
{
    arcp__effect_take_back(log);
    take_back_line(log);
    arcp__effect_queue *queues[] = {&log->lines, &log->ready, &log->waiting};
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        for (arcp__pending_effect *pending = pop_front(queues[i]); pending != NULL;
             pending = pop_front(queues[i])) {
            leave_port(pending);
            recycle(log, pending);
        }
    }
    while (log->effect_free != NULL) {
        arcp__pending_effect *pending = log->effect_free;
        log->effect_free = pending->next;
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
    arcp_buf text = ARCP_BUF_INIT;
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

void arcp__port_drop(arcp__port *port)
{
    while (port->waiting != NULL) {
        arcp__pending_effect *pending = port->waiting;
        leave_port(pending);
        pending->port = NULL;
        pending->is_dropped = true; /* it leaves its queue in its turn */
        arcp_buf_fini(&pending->text);
    }
}
