/* Reads that are under way, and whom their answers are for: the restore, which has a list of its
 * own, a session's replay, or an observer that is catching up. */
#include "session/session_state.h"

#define PAGE_BYTES 262144u

arcp__read *arcp__read_ask(arcp__sessions *sessions, const arcp__stream *stream, uint64_t from,
                           uint64_t count)
{
    arcp__read *read = arcp__alloc(sizeof *read);
    arcp_buf key = ARCP_BUF_INIT;
    if (read == NULL) {
        arcp__context_no_memory(sessions->context);
        return NULL;
    }
    read->id = ++sessions->next_read_id;
    DL_APPEND2(sessions->reads, read, previous, next);
    arcp_buf_append_cstr(&key, stream->key);
    arcp__effect_push(sessions->log, NULL,
                      &(arcp__effect){.kind = ARCP__EFFECT_READ,
                                      .id = read->id,
                                      .from = from,
                                      .count_max = count < ARCP__READ_RECORDS_MAX
                                                       ? count
                                                       : ARCP__READ_RECORDS_MAX,
                                      .bytes_max = PAGE_BYTES},
                      &key, false);
    return read;
}

void arcp__read_forget(arcp__sessions *sessions, arcp__read **read)
{
    if (*read != NULL) {
        DL_DELETE2(sessions->reads, *read, previous, next);
        arcp__free(*read);
        *read = NULL;
    }
}
