/* Streams: the records of a job, or a session's own, each stored once.
 *
 * The newest records stay in memory in chunks, so that connected observers are served
 * without reading the store; older ones are read back. A chunk's bytes never move. */
#include "log/log_state.h"

#include <assert.h>

#define CHUNK_BYTES_MIN 1024u
#define CHUNK_BYTES_MAX 65536u
#define TAIL_BYTES_MAX  1048576u  /* of one stream */
#define TAILS_BYTES_MAX 67108864u /* of all: the least recently appended are freed first */

arcp__stream *arcp__stream_new(arcp__log *log, const char *prefix, arcp_span id)
{
    const size_t prefix_size = strlen(prefix);
    arcp__stream *stream = NULL;
    if (prefix_size + id.size < sizeof stream->key) {
        stream = arcp__alloc(sizeof *stream);
    }
    if (stream == NULL) {
        arcp__context_no_memory(log->context);
        return NULL;
    }
    memcpy(stream->key, prefix, prefix_size);
    memcpy(stream->key + prefix_size, id.data, id.size);
    stream->refs = 1;
    return stream;
}

static void drop_oldest(arcp__log *log, arcp__stream *stream)
{
    arcp__chunk *chunk = stream->oldest;
    stream->oldest = chunk->next;
    stream->tail_bytes -= chunk->capacity;
    log->tail_bytes -= chunk->capacity;
    if (stream->last_found == chunk) {
        stream->last_found = NULL;
    }
    arcp__free(chunk);
    if (stream->oldest == NULL) {
        stream->newest = NULL;
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): utlist knows its neighbours */
        DL_DELETE2(log->tails, stream, older, newer);
    }
}

void arcp__stream_trim_tail(arcp__log *log, arcp__stream *stream, size_t keep_bytes)
{
    while (stream->tail_bytes > keep_bytes && stream->oldest->batch_id <= log->committed_id) {
        drop_oldest(log, stream);
    }
}

static void stream_free(arcp__log *log, arcp__stream *stream)
{
    while (stream->oldest != NULL) {
        drop_oldest(log, stream);
    }
    arcp__free(stream);
}

void arcp__stream_unref(arcp__log *log, arcp__stream *stream)
{
    if (--stream->refs != 0) {
        return;
    }
    const bool closing = log->context->closing;
    if (stream->next != 0 && !closing) {
        arcp__batch_add(
            log, (arcp_store_op){.kind = ARCP_STORE_DROP, .key = arcp_span_cstr(stream->key)});
    }
    if (!closing && stream->newest != NULL && stream->newest->batch_id > log->committed_id) {
        /* A batch that is not durable yet borrows these bytes. */
        LL_PREPEND2(log->dying, stream, next_dying);
    } else {
        stream_free(log, stream);
    }
}

void arcp__streams_committed(arcp__log *log)
{
    for (arcp__stream **next = &log->dying; *next != NULL;) {
        arcp__stream *stream = *next;
        if (log->context->closing || stream->newest->batch_id <= log->committed_id) {
            *next = stream->next_dying;
            stream_free(log, stream);
        } else {
            next = &stream->next_dying;
        }
    }
    /* The least recently appended stream is durable before all others. While there are bytes there
     * is a stream that has them. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    while (log->tail_bytes > TAILS_BYTES_MAX && log->tails->oldest->batch_id <= log->committed_id) {
        /* A dying stream is freed by its newest chunk's batch, so it must not lose that chunk. */
        assert(log->tails->refs != 0 || log->tails->oldest->next != NULL);
        drop_oldest(log, log->tails);
    }
}

/* ---- chunks ---- */

static size_t place_of_end(const arcp__chunk *chunk, uint32_t index)
{
    return chunk->capacity - (size_t)(index + 1) * sizeof(uint32_t);
}

/* The offset at which the record ends. */
static uint32_t read_end(const arcp__chunk *chunk, uint32_t index)
{
    uint32_t end = 0;
    memcpy(&end, chunk->bytes + place_of_end(chunk, index), sizeof end);
    return end;
}

/* The chunk for the next record, which has this size; NULL when out of memory. */
static arcp__chunk *chunk_for(arcp__log *log, arcp__stream *stream, size_t size)
{
    const size_t need = size + sizeof(uint32_t);
    arcp__chunk *newest = stream->newest;
    if (newest != NULL &&
        need <= newest->capacity - newest->used - (size_t)newest->count * sizeof(uint32_t)) {
        return newest;
    }
    size_t bytes = newest == NULL ? CHUNK_BYTES_MIN : (size_t)newest->capacity * 4;
    bytes = bytes > CHUNK_BYTES_MAX ? CHUNK_BYTES_MAX : bytes;
    bytes = bytes < need ? need : bytes;
    /* Its bytes are not zeroed: none is read before it was written. */
    arcp__chunk *chunk = arcp__realloc(NULL, sizeof *chunk + bytes);
    if (chunk == NULL) {
        arcp__context_no_memory(log->context);
        return NULL;
    }
    *chunk = (arcp__chunk){.first = stream->next, .capacity = (uint32_t)bytes};
    if (newest == NULL) {
        stream->oldest = chunk;
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): utlist knows its neighbours */
        DL_APPEND2(log->tails, stream, older, newer);
    } else {
        /* The chunk may stay empty, and the newest chunk says until which batch all older ones are
         * borrowed. */
        chunk->batch_id = newest->batch_id;
        newest->next = chunk;
    }
    stream->newest = chunk;
    stream->tail_bytes += bytes;
    log->tail_bytes += bytes;
    return chunk;
}

bool arcp__stream_append(arcp__log *log, arcp__stream *stream, const arcp_span *pieces,
                         size_t count, uint64_t *position, size_t *bytes)
{
    if (log->context->failed) {
        return false; /* the record may be truncated */
    }
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += pieces[i].size;
    }
    arcp__chunk *chunk = chunk_for(log, stream, size);
    if (chunk == NULL) {
        return false;
    }
    char *start = chunk->bytes + chunk->used;
    char *to = start;
    for (size_t i = 0; i < count; i++) {
        memcpy(to, pieces[i].data, pieces[i].size);
        to += pieces[i].size;
    }
    chunk->used += (uint32_t)size;
    memcpy(chunk->bytes + place_of_end(chunk, chunk->count++), &chunk->used, sizeof chunk->used);
    if (stream->newer != NULL) {
        DL_DELETE2(log->tails, stream, older, newer);
        DL_APPEND2(log->tails, stream, older, newer);
    }
    *position = stream->next++;
    *bytes = size;
    stream->bytes += size;
    arcp__batch_add_borrowed(log, &(arcp_store_op){.kind = ARCP_STORE_APPEND,
                                                   .position = *position,
                                                   .key = arcp_span_cstr(stream->key),
                                                   .value = arcp_span_make(start, size)});
    chunk->batch_id = arcp__batch_open_id(log);
    arcp__stream_trim_tail(log, stream, TAIL_BYTES_MAX);
    return true;
}

bool arcp__stream_find_record(arcp__stream *stream, uint64_t position, arcp_span *record)
{
    if (stream->oldest == NULL || position < stream->oldest->first || position >= stream->next) {
        return false;
    }
    arcp__chunk *chunk = stream->newest;
    if (position < chunk->first) {
        /* Readers go forward: the record is usually in the chunk of the last lookup or in the
         * next. */
        chunk = stream->last_found;
        if (chunk == NULL || position < chunk->first) {
            chunk = stream->oldest;
        }
        while (position >= chunk->first + chunk->count) {
            chunk = chunk->next;
        }
        stream->last_found = chunk;
    }
    const uint32_t index = (uint32_t)(position - chunk->first);
    const uint32_t start = index == 0 ? 0 : read_end(chunk, index - 1);
    *record = arcp_span_make(chunk->bytes + start, read_end(chunk, index) - start);
    return true;
}
