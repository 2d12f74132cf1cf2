/* The log as a whole: its life, and what others ask of it. */
#include "log/log_state.h"

arcp__log *arcp__log_new(arcp__context *context, const arcp__log_options *options)
{
    arcp__log *log = arcp__alloc(sizeof *log);
    if (log != NULL) {
        log->context = context;
        log->options = *options;
    }
    return log;
}

void arcp__log_free(arcp__log *log)
{
    if (log != NULL) {
        arcp__context_disarm(log->context, &log->retry_timer);
        arcp__effect_drop_all(log);
        arcp__batches_free(log);
        arcp__streams_reap(log);
        arcp__free(log);
    }
}

bool arcp__log_is_failing(const arcp__log *log)
{
    return log->failures != 0;
}

unsigned arcp__log_failures(const arcp__log *log)
{
    return log->failures;
}

size_t arcp__log_queue_bytes(const arcp__log *log)
{
    return log->queue_bytes;
}

size_t arcp__log_tail_bytes(const arcp__log *log)
{
    return log->tail_bytes;
}

uint64_t arcp__log_committed_id(const arcp__log *log)
{
    return log->committed_id;
}
