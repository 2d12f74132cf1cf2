/* Streams: the records of a job, or a session's own, each stored once.
 *
 * The newest records stay in memory in chunks, so that connected observers are served
 * without reading the store; older ones are read back. A chunk's bytes never move. */
#include "log/log_state.h"

#define CHUNK_BYTES_MIN 1024u
#define CHUNK_BYTES_MAX 65536u
#define TAIL_BYTES_MAX  1048576u  /* of one stream */
#define TAILS_BYTES_MAX 67108864u /* of all: those that were quiet longest go first */

arcp__stream *arcp__stream_new(arcp__log *log, const char *prefix, arcp_span id)
{
    const size_t prefix_size = strlen(prefix);
    arcp__stream *stream = NULL;
    if (prefix_size + id.size < sizeof(stream->key)) {
        stream = arcp__alloc(sizeof(*stream));
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

/* ---- tails in the order of their last record ---- */

static void drop_oldest(arcp__log *log, arcp__tail *tail)
{
    arcp__chunk *chunk = tail->oldest;
    tail->oldest = chunk->next;
    tail->bytes -= chunk->capacity;
    log->tail_bytes -= chunk->capacity;
    if (tail->peeked == chunk) {
        tail->peeked = NULL;
    }
    arcp__free(chunk);
    if (tail->oldest == NULL) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): utlist knows its neighbours */
        DL_DELETE2(log->tails, tail, older, newer);
        tail->stream->tail = NULL;
        arcp__free(tail);
    }
}

void arcp__stream_trim_tail(arcp__log *log, arcp__stream *stream, size_t keep_bytes)
{
    while (stream->tail != NULL && stream->tail->bytes > keep_bytes &&
           stream->tail->oldest->batch_id <= log->committed_id) {
        drop_oldest(log, stream->tail);
    }
}

void arcp__streams_trim(arcp__log *log)
{
    /* The one that was quiet longest is durable before all others. */
    while (log->tail_bytes > TAILS_BYTES_MAX && log->tails != NULL &&
           log->tails->oldest->batch_id <= log->committed_id) {
        drop_oldest(log, log->tails);
    }
}

static void stream_free(arcp__log *log, arcp__stream *stream)
{
    while (stream->tail != NULL) {
        drop_oldest(log, stream->tail);
    }
    arcp__free(stream);
}

void arcp__stream_unref(arcp__log *log, arcp__stream *stream)
{
    if (--stream->refs != 0) {
        return;
    }
    if (stream->next != 0 && !log->context->closing) {
        arcp__batch_drop(log, arcp_span_cstr(stream->key));
    }
    arcp__tail *tail = stream->tail;
    if (tail != NULL && tail->newest->batch_id > log->committed_id && !log->context->closing) {
        /* The batch that is on its way borrows these bytes. */
        tail->next_dying = log->dying_tails;
        log->dying_tails = tail;
        return;
    }
    stream_free(log, stream);
}

void arcp__streams_reap(arcp__log *log)
{
    arcp__tail *dying = log->dying_tails;
    log->dying_tails = NULL;
    while (dying != NULL) {
        arcp__tail *next = dying->next_dying;
        if (log->context->closing || dying->newest->batch_id <= log->committed_id) {
            stream_free(log, dying->stream);
        } else {
            dying->next_dying = log->dying_tails;
            log->dying_tails = dying;
        }
        dying = next;
    }
}

/* ---- chunks ---- */

static size_t place_of_end(const arcp__chunk *chunk, uint32_t index)
{
    return chunk->capacity - (size_t)(index + 1) * sizeof(uint32_t);
}

/* Where the record ends. */
static uint32_t read_end(const arcp__chunk *chunk, uint32_t index)
{
    uint32_t end = 0;
    memcpy(&end, chunk->bytes + place_of_end(chunk, index), sizeof(end));
    return end;
}

static bool has_room(const arcp__chunk *chunk, size_t need)
{
    return need <= chunk->capacity - chunk->used - (size_t)chunk->count * sizeof(uint32_t);
}

static arcp__tail *add_tail(arcp__log *log, arcp__stream *stream)
{
    arcp__tail *tail = arcp__alloc(sizeof *tail);
    if (tail == NULL) {
        arcp__context_no_memory(log->context);
        return NULL;
    }
    tail->stream = stream;
    stream->tail = tail;
    DL_APPEND2(log->tails, tail, older, newer);
    return tail;
}

/* Where the next record of so many bytes goes; NULL when out of memory. */
static arcp__chunk *chunk_for(arcp__log *log, arcp__stream *stream, size_t size)
{
    const size_t need = size + sizeof(uint32_t);
    arcp__chunk *newest = stream->tail == NULL ? NULL : stream->tail->newest;
    if (newest != NULL && has_room(newest, need)) {
        return newest;
    }
    size_t bytes = newest == NULL ? CHUNK_BYTES_MIN : (size_t)newest->capacity * 4;
    bytes = bytes > CHUNK_BYTES_MAX ? CHUNK_BYTES_MAX : bytes;
    bytes = bytes < need ? need : bytes;
    arcp__chunk *chunk = arcp__alloc(sizeof(*chunk) + bytes);
    if (chunk == NULL) {
        arcp__context_no_memory(log->context);
        return NULL;
    }
    arcp__tail *tail = newest == NULL ? add_tail(log, stream) : stream->tail;
    if (tail == NULL) {
        arcp__free(chunk);
        return NULL;
    }
    chunk->first = stream->next;
    chunk->capacity = (uint32_t)bytes;
    if (newest == NULL) {
        tail->oldest = chunk;
    } else {
        /* It may stay empty, and the newest tells how long all before it are borrowed. */
        chunk->batch_id = newest->batch_id;
        newest->next = chunk;
    }
    tail->newest = chunk;
    tail->bytes += bytes;
    log->tail_bytes += bytes;
    return chunk;
}

bool arcp__stream_append(arcp__log *log, arcp__stream *stream, const arcp_span *pieces,
                         size_t count, uint64_t *position, size_t *bytes)
{
    if (log->context->failed) {
        return false; /* the record may be cut */
    }
    size_t size = 0;
    for (size_t at = 0; at < count; at++) {
        size += pieces[at].size;
    }
    arcp__chunk *chunk = chunk_for(log, stream, size);
    if (chunk == NULL) {
        return false;
    }
    char *start = chunk->bytes + chunk->used;
    char *to = start;
    for (size_t at = 0; at < count; at++) {
        memcpy(to, pieces[at].data, pieces[at].size);
        to += pieces[at].size;
    }
    chunk->used += (uint32_t)size;
    memcpy(chunk->bytes + place_of_end(chunk, chunk->count++), &chunk->used, sizeof(chunk->used));
    if (stream->tail->newer != NULL) {
        DL_DELETE2(log->tails, stream->tail, older, newer);
        DL_APPEND2(log->tails, stream->tail, older, newer);
    }
    *position = stream->next++;
    *bytes = size;
    stream->bytes += size;
    arcp__batch_append(log, stream, *position, arcp_span_make(start, size));
    chunk->batch_id = arcp__batch_open_id(log);
    if (stream->tail->bytes > TAIL_BYTES_MAX) {
        arcp__stream_trim_tail(log, stream, TAIL_BYTES_MAX);
    }
    return true;
}

/* The chunk of a position that is in memory. Readers go forward: it is most often the one
 * of the last time, or the next. */
static arcp__chunk *find_chunk(arcp__tail *tail, uint64_t position)
{
    arcp__chunk *chunk = tail->peeked;
    if (position >= tail->newest->first) {
        return tail->newest;
    }
    if (chunk == NULL || position < chunk->first) {
        chunk = tail->oldest;
    }
    while (position >= chunk->first + chunk->count) {
        chunk = chunk->next;
    }
    tail->peeked = chunk;
    return chunk;
}

bool arcp__stream_peek(arcp__stream *stream, uint64_t position, arcp_span *record)
{
    if (stream->tail == NULL || position < stream->tail->oldest->first ||
        position >= stream->next) {
        return false;
    }
    const arcp__chunk *chunk = find_chunk(stream->tail, position);
    uint32_t index = (uint32_t)(position - chunk->first);
    uint32_t start = index == 0 ? 0 : read_end(chunk, index - 1);
    *record = arcp_span_make(chunk->bytes + start, read_end(chunk, index) - start);
    return true;
}
