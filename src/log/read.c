/* Reads of the store that are under way, and whom their answers are for. */
#include "log/log_state.h"

struct arcp__read {
    arcp__read *previous, *next; /* in the order in which they were asked for */
    uint64_t id;
    arcp__read_done_fn done;
    void *user, *owner;
};

arcp__read *arcp__read_ask(arcp__log *log, arcp_span stream, uint64_t from, size_t count_max,
                           size_t bytes_max, arcp__read_done_fn done, void *user, void *owner)
{
    arcp__read *read = arcp__alloc(sizeof *read);
    arcp_buf key = ARCP_BUF_INIT;
    if (read == NULL) {
        arcp__context_no_memory(log->context);
        return NULL;
    }
    *read = (arcp__read){.id = ++log->next_read_id, .done = done, .user = user, .owner = owner};
    DL_APPEND2(log->reads, read, previous, next);
    arcp_buf_append(&key, stream);
    arcp__effect_push(log, NULL,
                      &(arcp__effect){.kind = ARCP__EFFECT_READ,
                                      .id = read->id,
                                      .from = from,
                                      .count_max = count_max,
                                      .bytes_max = bytes_max},
                      &key, false);
    return read;
}

void arcp__read_forget(arcp__log *log, arcp__read **read)
{
    if (*read != NULL) {
        DL_DELETE2(log->reads, *read, previous, next);
        arcp__free(*read);
        *read = NULL;
    }
}

void arcp__read_answered(arcp__log *log, uint64_t id, const arcp__page *page)
{
    const arcp__read *read = log->reads; /* answers come in order: most often it is the first */
    while (read != NULL && read->id != id) {
        read = read->next;
    }
    if (read != NULL) {
        read->done(read->user, read->owner, page);
    }
}
