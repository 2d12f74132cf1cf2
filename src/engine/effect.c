#include "engine/parts.h"

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

/* Lets go of what the effect kept alive. */
static void recycle(arcp__engine *engine, arcp__pending_effect *pending)
{
    if (pending->effect.link != NULL) {
        arcp__link_unref(pending->effect.link);
    }
    arcp__context_give_buf(&engine->context, &pending->text);
    arcp_buf_fini(&pending->fields);
    pending->next = engine->effect_free;
    engine->effect_free = pending;
}

/* Without a word to the engine when there is no memory. */
static bool push(arcp__engine *engine, const arcp__effect *effect, arcp_buf *text, bool durable)
{
    arcp__pending_effect *pending = engine->effect_free;
    if (pending != NULL) {
        engine->effect_free = pending->next;
    } else {
        pending = arcp__alloc(sizeof(*pending));
    }
    if (pending == NULL || (text != NULL && text->failed)) {
        if (pending != NULL) {
            pending->next = engine->effect_free;
            engine->effect_free = pending;
        }
        if (text != NULL) {
            arcp_buf_fini(text);
        }
        return false;
    }
    *pending = (arcp__pending_effect){.effect = *effect};
    if (text != NULL) {
        pending->text = *text;
        *text = (arcp_buf)ARCP_BUF_INIT;
    }
    if (effect->link != NULL) {
        pending->effect.link = arcp__link_ref(effect->link);
        pending->effect.link_user = effect->link->user;
    }
    if (effect->job != NULL) {
        effect->job->queued++;
    }
    if (effect->kind == ARCP__EFFECT_LOG) {
        push_back(&engine->log, pending);
    } else if (durable && (arcp__batch_has_work(engine) || engine->batches != NULL)) {
        pending->batch_id = arcp__batch_open_id(engine);
        push_back(&engine->waiting, pending);
    } else {
        push_back(&engine->ready, pending);
    }
    return true;
}

bool arcp__effect_push(arcp__engine *engine, const arcp__effect *effect, arcp_buf *text,
                       bool durable)
{
    bool pushed = push(engine, effect, text, durable);
    if (!pushed) {
        arcp__context_no_memory(&engine->context);
    }
    return pushed;
}

void arcp__effect_push_span(arcp__engine *engine, arcp_buf *text)
{
    if (!push(engine, &(arcp__effect){.kind = ARCP__EFFECT_SPAN}, text, false)) {
        engine->spans_lost++;
    }
}

void arcp__effect_release(arcp__engine *engine)
{
    while (engine->waiting.first != NULL &&
           engine->waiting.first->batch_id <= engine->committed_id) {
        push_back(&engine->ready, pop_front(&engine->waiting));
    }
}

/* Nothing new is told while nothing can be stored, but an agent that runs is stopped all the
 * same: whoever fills the disk must not outlive its lease by that. */
void arcp__effect_release_stops(arcp__engine *engine)
{
    arcp__effect_queue kept = {NULL, NULL};
    for (arcp__pending_effect *at = pop_front(&engine->waiting); at != NULL;
         at = pop_front(&engine->waiting)) {
        bool stops = at->effect.kind == ARCP__EFFECT_CANCEL_AGENT ||
                     at->effect.kind == ARCP__EFFECT_KILL_AGENT;
        bool runs = stops && at->effect.job->agent_state == ARCP__AGENT_RUNNING;
        push_back(runs ? &engine->ready : &kept, at);
    }
    engine->waiting = kept;
}

static void drop_job_from(arcp__engine *engine, arcp__effect_queue *queue, arcp__job *job)
{
    arcp__pending_effect *before = NULL;
    for (arcp__pending_effect *at = queue->first, *next = NULL; at != NULL && job->queued != 0;
         at = next) {
        next = at->next;
        if (at->effect.job != job) {
            before = at;
            continue;
        }
        *(before == NULL ? &queue->first : &before->next) = next;
        queue->last = queue->last == at ? before : queue->last;
        job->queued--;
        recycle(engine, at);
    }
}

void arcp__effect_drop_job(arcp__engine *engine, arcp__job *job)
{
    drop_job_from(engine, &engine->ready, job);
    drop_job_from(engine, &engine->waiting, job);
}

void arcp__effect_log(arcp__engine *engine, arcp__log_level level, const char *format, ...)
{
    char line[512];
    if (engine->options.has_no_log) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    arcp_buf text = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&text, line);
    arcp__effect_push(engine, &(arcp__effect){.kind = ARCP__EFFECT_LOG, .level = level}, &text,
                      false);
}

void arcp__effect_log_fields(arcp__engine *engine, arcp__log_level level, const char *message,
                             arcp_buf *fields)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_buf_append_cstr(&text, message);
    text.failed = text.failed || fields->failed;
    if (arcp__effect_push(engine, &(arcp__effect){.kind = ARCP__EFFECT_LOG, .level = level}, &text,
                          false)) {
        engine->log.last->fields = *fields;
        *fields = (arcp_buf)ARCP_BUF_INIT;
    }
    arcp_buf_fini(fields);
}

/* What the owner was handed at the last call is over. */
void arcp__effect_take_back(arcp__engine *engine)
{
    if (engine->handed != NULL) {
        recycle(engine, engine->handed);
        engine->handed = NULL;
    }
}

static void take_back_line(arcp__engine *engine)
{
    if (engine->handed_line != NULL) {
        recycle(engine, engine->handed_line);
        engine->handed_line = NULL;
    }
}

bool arcp__engine_next_line(arcp__engine *engine, arcp__effect *out)
{
    take_back_line(engine);
    engine->handed_line = pop_front(&engine->log);
    if (engine->handed_line == NULL) {
        return false;
    }
    *out = engine->handed_line->effect;
    out->text = arcp_buf_span(&engine->handed_line->text);
    out->fields = arcp_buf_span(&engine->handed_line->fields);
    return true;
}

bool arcp__effect_next(arcp__engine *engine, arcp__effect *out)
{
    arcp__pending_effect *pending = NULL;
    while ((pending = pop_front(&engine->ready)) != NULL) {
        if (pending->effect.job != NULL) {
            pending->effect.job->queued--;
        }
        if (pending->effect.kind == ARCP__EFFECT_SEND) {
            pending->effect.link->queued -= pending->text.size;
        }
        if (pending->effect.link != NULL && pending->effect.link->gone) {
            recycle(engine, pending);
            continue;
        }
        *out = pending->effect;
        out->text = arcp_buf_span(&pending->text);
        engine->handed = pending;
        if (out->kind == ARCP__EFFECT_SEND) {
            out->link->unsent += out->text.size;
            if (out->link->session != NULL) {
                out->link->session->last_sent_ns = engine->context.now.mono_ns;
            }
        }
        return true;
    }
    return false;
}

void arcp__effect_queues_free(arcp__engine *engine)
{
    arcp__effect_take_back(engine);
    take_back_line(engine);
    arcp__effect_queue *queues[] = {&engine->log, &engine->ready, &engine->waiting};
    for (size_t at = 0; at < sizeof(queues) / sizeof(queues[0]); at++) {
        for (arcp__pending_effect *pending = pop_front(queues[at]); pending != NULL;
             pending = pop_front(queues[at])) {
            recycle(engine, pending);
        }
    }
    while (engine->effect_free != NULL) {
        arcp__pending_effect *pending = engine->effect_free;
        engine->effect_free = pending->next;
        arcp__free(pending);
    }
}
