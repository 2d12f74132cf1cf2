/* Streams: the records of a job, or a session's own, each stored once.
 *
 * The newest records stay in memory in chunks, so that connected observers are served
 * without reading the store; older ones are read back. A chunk's bytes never move. */
#include "engine/parts.h"

#define CHUNK_BYTES_MIN 1024u
#define CHUNK_BYTES_MAX 65536u
#define TAIL_BYTES_MAX  1048576u  /* of one stream */
#define TAILS_BYTES_MAX 67108864u /* of all: those that were quiet longest go first */

arcp__stream *arcp__stream_open_key(arcp__engine *engine, arcp_span key)
{
    arcp__stream *stream = NULL;
    if (key.size == 0 || key.size >= sizeof(stream->key)) {
        return NULL;
    }
    HASH_FIND(hh, engine->streams, key.data, key.size, stream);
    if (stream == NULL) {
        stream = arcp__alloc(sizeof(*stream));
        if (stream == NULL) {
            arcp__engine_no_memory(engine);
            return NULL;
        }
        memcpy(stream->key, key.data, key.size);
        HASH_ADD_KEYPTR(hh, engine->streams, stream->key, key.size, stream);
        if (!ARCP__HASH_ADDED(stream)) {
            arcp__free(stream);
            arcp__engine_no_memory(engine);
            return NULL;
        }
    }
    stream->refs++;
    return stream;
}

arcp__stream *arcp__stream_open(arcp__engine *engine, const char *prefix, const char *id)
{
    char key[ARCP__ID_SIZE + 2];
    size_t prefix_size = strlen(prefix);
    size_t id_size = strlen(id);
    memcpy(key, prefix, prefix_size);
    memcpy(key + prefix_size, id, id_size);
    return arcp__stream_open_key(engine, arcp_span_make(key, prefix_size + id_size));
}

/* ---- tails in the order of their last record ---- */

static bool has_tail(const arcp__engine *engine, const arcp__stream *stream)
{
    return stream->older_tail != NULL || engine->oldest_tail == stream;
}

static void unlink_tail(arcp__engine *engine, arcp__stream *stream)
{
    if (!has_tail(engine, stream)) {
        return;
    }
    if (stream->older_tail != NULL) {
        stream->older_tail->newer_tail = stream->newer_tail;
    } else {
        engine->oldest_tail = stream->newer_tail;
    }
    if (stream->newer_tail != NULL) {
        stream->newer_tail->older_tail = stream->older_tail;
    } else {
        engine->newest_tail = stream->older_tail;
    }
    stream->older_tail = stream->newer_tail = NULL;
}

static void make_newest_tail(arcp__engine *engine, arcp__stream *stream)
{
    if (engine->newest_tail == stream) {
        return;
    }
    unlink_tail(engine, stream);
    stream->older_tail = engine->newest_tail;
    if (engine->newest_tail != NULL) {
        engine->newest_tail->newer_tail = stream;
    } else {
        engine->oldest_tail = stream;
    }
    engine->newest_tail = stream;
}

static void drop_oldest(arcp__engine *engine, arcp__stream *stream)
{
    arcp__chunk *chunk = stream->oldest;
    stream->oldest = chunk->next;
    if (stream->peeked == chunk) {
        stream->peeked = NULL;
    }
    if (stream->oldest == NULL) {
        stream->newest = NULL;
        unlink_tail(engine, stream);
    }
    stream->tail_bytes -= chunk->capacity;
    engine->tail_bytes -= chunk->capacity;
    arcp__free(chunk->ends);
    arcp__free(chunk);
}

void arcp__stream_trim_tail(arcp__engine *engine, arcp__stream *stream, size_t keep_bytes)
{
    while (stream->oldest != NULL && stream->tail_bytes > keep_bytes &&
           stream->oldest->batch_id <= engine->committed_id) {
        drop_oldest(engine, stream);
    }
}

void arcp__stream_trim_tails(arcp__engine *engine)
{
    /* The one that was quiet longest is durable before all others. */
    while (engine->tail_bytes > TAILS_BYTES_MAX && engine->oldest_tail != NULL &&
           engine->oldest_tail->oldest->batch_id <= engine->committed_id) {
        drop_oldest(engine, engine->oldest_tail);
    }
}

static void stream_free(arcp__engine *engine, arcp__stream *stream)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash knows its neighbours */
    HASH_DEL(engine->streams, stream);
    while (stream->oldest != NULL) {
        drop_oldest(engine, stream);
    }
    arcp__free(stream);
}

void arcp__stream_unref(arcp__engine *engine, arcp__stream *stream)
{
    if (--stream->refs != 0) {
        return;
    }
    if (stream->next != 0 && !engine->closing) {
        arcp__batch_drop(engine, arcp_span_cstr(stream->key));
    }
    if (stream->newest != NULL && stream->newest->batch_id > engine->committed_id &&
        !engine->closing) {
        /* The batch that is on its way borrows these bytes. */
        stream->next_dying = engine->dying_streams;
        engine->dying_streams = stream;
        return;
    }
    stream_free(engine, stream);
}

void arcp__stream_reap(arcp__engine *engine)
{
    arcp__stream *dying = engine->dying_streams;
    engine->dying_streams = NULL;
    while (dying != NULL) {
        arcp__stream *next = dying->next_dying;
        if (dying->refs == 0 &&
            (engine->closing || dying->newest->batch_id <= engine->committed_id)) {
            stream_free(engine, dying);
        } else if (dying->refs == 0) {
            dying->next_dying = engine->dying_streams;
            engine->dying_streams = dying;
        }
        dying = next;
    }
}

static arcp__chunk *add_chunk(arcp__engine *engine, arcp__stream *stream, size_t need)
{
    size_t bytes = stream->newest == NULL ? CHUNK_BYTES_MIN : (size_t)stream->newest->capacity * 4;
    bytes = bytes > CHUNK_BYTES_MAX ? CHUNK_BYTES_MAX : bytes;
    bytes = bytes < need ? need : bytes;
    arcp__chunk *chunk = arcp__alloc(sizeof(*chunk) + bytes);
    if (chunk == NULL) {
        arcp__engine_no_memory(engine);
        return NULL;
    }
    chunk->first = stream->next;
    chunk->capacity = (uint32_t)bytes;
    if (stream->newest == NULL) {
        stream->oldest = chunk;
    } else {
        stream->newest->next = chunk;
    }
    stream->newest = chunk;
    stream->tail_bytes += bytes;
    engine->tail_bytes += bytes;
    return chunk;
}

static bool reserve_end(arcp__engine *engine, arcp__chunk *chunk)
{
    if (chunk->count < chunk->ends_capacity) {
        return true;
    }
    uint32_t capacity = chunk->ends_capacity == 0 ? 4 : chunk->ends_capacity * 2;
    uint32_t *ends = arcp__realloc_array(chunk->ends, capacity, sizeof(*ends));
    if (ends == NULL) {
        arcp__engine_no_memory(engine);
        return false;
    }
    chunk->ends = ends;
    chunk->ends_capacity = capacity;
    return true;
}

bool arcp__stream_append(arcp__engine *engine, arcp__stream *stream, const arcp_span *pieces,
                         size_t count, uint64_t *position, size_t *bytes)
{
    size_t size = 0;
    for (size_t at = 0; at < count; at++) {
        size += pieces[at].size;
    }
    arcp__chunk *chunk = stream->newest;
    if (chunk == NULL || size > chunk->capacity - chunk->used) {
        chunk = add_chunk(engine, stream, size);
    }
    /* A record that is in the stream and in no batch would be a gap in the store. */
    if (chunk == NULL || !reserve_end(engine, chunk) || !arcp__batch_reserve(engine, 1)) {
        return false;
    }
    char *start = chunk->bytes + chunk->used;
    char *to = start;
    for (size_t at = 0; at < count; at++) {
        memcpy(to, pieces[at].data, pieces[at].size);
        to += pieces[at].size;
    }
    chunk->used += (uint32_t)size;
    chunk->ends[chunk->count++] = chunk->used;
    make_newest_tail(engine, stream);
    *position = stream->next++;
    *bytes = size;
    stream->bytes += size;
    arcp__batch_append(engine, stream, *position, arcp_span_make(start, size));
    chunk->batch_id = arcp__batch_open_id(engine);
    if (stream->tail_bytes > TAIL_BYTES_MAX) {
        arcp__stream_trim_tail(engine, stream, TAIL_BYTES_MAX);
    }
    return true;
}

/* The chunk of a position that is in memory. Readers go forward: it is most often the one
 * of the last time, or the next. */
static arcp__chunk *find_chunk(arcp__stream *stream, uint64_t position)
{
    arcp__chunk *chunk = stream->peeked;
    if (position >= stream->newest->first) {
        return stream->newest;
    }
    if (chunk == NULL || position < chunk->first) {
        chunk = stream->oldest;
    }
    while (position >= chunk->first + chunk->count) {
        chunk = chunk->next;
    }
    stream->peeked = chunk;
    return chunk;
}

bool arcp__stream_peek(arcp__stream *stream, uint64_t position, arcp_span *record)
{
    if (stream->newest == NULL || position < stream->oldest->first || position >= stream->next) {
        return false;
    }
    const arcp__chunk *chunk = find_chunk(stream, position);
    uint32_t index = (uint32_t)(position - chunk->first);
    uint32_t start = index == 0 ? 0 : chunk->ends[index - 1];
    *record = arcp_span_make(chunk->bytes + start, chunk->ends[index] - start);
    return true;
}
