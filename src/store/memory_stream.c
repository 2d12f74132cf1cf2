#include "store/memory_stream.h"

#include <assert.h>

#include "store/store_check.h"

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a stream of the store");
}

static void drop_oldest(arcp__memory_streams *streams, arcp__memory_stream *stream)
{
    arcp__memory_run *run = stream->runs[stream->head];
    streams->bytes -= run->bytes;
    arcp__free(run);
    stream->head++;
    stream->count--;
}

static void stream_free(arcp__memory_streams *streams, arcp__memory_stream *stream)
{
    while (stream->count != 0) {
        drop_oldest(streams, stream);
    }
    assert(streams->streams != NULL);
    HASH_DEL(streams->streams, stream);
    arcp__free(stream->plan_run);
    arcp__free(stream->runs);
    arcp__free(stream);
}

void arcp__memory_streams_fini(arcp__memory_streams *streams)
{
    arcp__memory_stream *stream = NULL;
    arcp__memory_stream *next = NULL;
    HASH_ITER (hh, streams->streams, stream, next) {
        stream_free(streams, stream);
    }
    streams->planned = NULL;
}

static arcp__memory_stream *stream_find(const arcp__memory_streams *streams, arcp_span key)
{
    arcp__memory_stream *stream = NULL;
    HASH_FIND(hh, streams->streams, key.data, key.size, stream);
    return stream;
}

static arcp__memory_stream *stream_new(arcp__memory_streams *streams, arcp_span key)
{
    arcp__memory_stream *stream = arcp__alloc(sizeof(*stream) + key.size);
    if (stream == NULL) {
        return NULL;
    }
    stream->key_size = key.size;
    memcpy(stream->key, key.data, key.size);
    HASH_ADD_KEYPTR(hh, streams->streams, stream->key, stream->key_size, stream);
    if (!ARCP__HASH_ADDED(stream)) {
        arcp__free(stream);
        return NULL;
    }
    return stream;
}

static void begin_plan(arcp__memory_streams *streams, arcp__memory_stream *stream)
{
    if (stream->is_planned) {
        return;
    }
    stream->is_planned = true;
    stream->next_planned = streams->planned;
    streams->planned = stream;
    stream->plan_next = stream->next;
    stream->plan_trim = 0;
    stream->plan_from = 0;
    stream->plan_drop = false;
    stream->plan_count = 0;
    stream->plan_bytes = 0;
}

arcp_status arcp__memory_streams_plan(arcp__memory_streams *streams, const arcp_store_op *op,
                                      size_t at, arcp_error *err)
{
    arcp__memory_stream *stream = stream_find(streams, op->key);
    if (op->kind == ARCP_STORE_APPEND) {
        uint64_t next = stream == NULL ? 0 : stream->is_planned ? stream->plan_next : stream->next;
        if (op->position != next) {
            return arcp__store_position_error(op->key, op->position, next, err);
        }
        if (stream == NULL) {
            stream = stream_new(streams, op->key);
            if (stream == NULL) {
                return no_memory(err);
            }
        }
        begin_plan(streams, stream);
        stream->plan_next++;
        stream->plan_count++;
        stream->plan_bytes += op->value.size;
        return ARCP_OK;
    }
    if (stream == NULL) {
        return ARCP_OK;
    }
    begin_plan(streams, stream);
    if (op->kind == ARCP_STORE_TRIM) {
        /* What comes later is not meant. */
        uint64_t below = op->position < stream->plan_next ? op->position : stream->plan_next;
        stream->plan_trim = below > stream->plan_trim ? below : stream->plan_trim;
        return ARCP_OK;
    }
    stream->plan_drop = true;
    stream->plan_from = at + 1;
    stream->plan_next = 0;
    stream->plan_trim = 0;
    stream->plan_count = 0;
    stream->plan_bytes = 0;
    return ARCP_OK;
}

/* Room for one more run behind the others. */
static bool reserve_run(arcp__memory_stream *stream)
{
    if (stream->head + stream->count < stream->capacity) {
        return true;
    }
    if (stream->head > stream->count) {
        memmove(stream->runs, stream->runs + stream->head, stream->count * sizeof(*stream->runs));
        stream->head = 0;
        return true;
    }
    size_t capacity = stream->capacity == 0 ? 4 : stream->capacity * 2;
    void *runs = arcp__realloc_array(stream->runs, capacity, sizeof(*stream->runs));
    if (runs == NULL) {
        return false;
    }
    stream->runs = runs;
    stream->capacity = capacity;
    return true;
}

arcp_status arcp__memory_streams_prepare(arcp__memory_streams *streams, arcp_error *err)
{
    for (arcp__memory_stream *stream = streams->planned; stream != NULL;
         stream = stream->next_planned) {
        if (stream->plan_count == 0) {
            continue;
        }
        /* The counts are of things in memory, so the sum cannot overflow. */
        size_t head = sizeof(arcp__memory_run) + stream->plan_count * sizeof(size_t);
        stream->plan_run = arcp__alloc(head + stream->plan_bytes);
        if (stream->plan_run == NULL || !reserve_run(stream)) {
            return no_memory(err);
        }
        stream->plan_run->data = (char *)stream->plan_run + head;
        stream->plan_run->first = stream->plan_next - stream->plan_count;
    }
    return ARCP_OK;
}

static void copy_records(arcp__memory_streams *streams, const arcp_store_op *ops, size_t count)
{
    arcp__memory_stream *stream = NULL;
    for (size_t at = 0; at < count; at++) {
        const arcp_store_op *op = &ops[at];
        if (op->kind != ARCP_STORE_APPEND) {
            continue;
        }
        /* Most records belong to the same stream as the one before them. */
        if (stream == NULL ||
            !arcp_span_equal(op->key, arcp_span_make(stream->key, stream->key_size))) {
            stream = stream_find(streams, op->key);
        }
        if (at < stream->plan_from) {
            continue;
        }
        arcp__memory_run *run = stream->plan_run;
        if (op->value.size != 0) {
            memcpy(run->data + run->bytes, op->value.data, op->value.size);
        }
        run->bytes += op->value.size;
        run->ends[run->count++] = run->bytes;
    }
}

static void trim(arcp__memory_streams *streams, arcp__memory_stream *stream, uint64_t position)
{
    while (stream->count != 0) {
        const arcp__memory_run *oldest = stream->runs[stream->head];
        if (oldest->first + oldest->count > position) {
            return;
        }
        drop_oldest(streams, stream);
    }
}

void arcp__memory_streams_commit(arcp__memory_streams *streams, const arcp_store_op *ops,
                                 size_t count)
{
    copy_records(streams, ops, count);
    arcp__memory_stream *following = NULL;
    for (arcp__memory_stream *stream = streams->planned; stream != NULL; stream = following) {
        following = stream->next_planned;
        while (stream->plan_drop && stream->count != 0) {
            drop_oldest(streams, stream);
        }
        if (stream->plan_run != NULL) {
            stream->runs[stream->head + stream->count++] = stream->plan_run;
            streams->bytes += stream->plan_run->bytes;
            stream->plan_run = NULL;
        }
        trim(streams, stream, stream->plan_trim);
        stream->next = stream->plan_next;
        stream->is_planned = false;
        stream->next_planned = NULL;
        if (stream->next == 0) {
            stream_free(streams, stream);
        }
    }
    streams->planned = NULL;
}

void arcp__memory_streams_abandon(arcp__memory_streams *streams)
{
    arcp__memory_stream *following = NULL;
    for (arcp__memory_stream *stream = streams->planned; stream != NULL; stream = following) {
        following = stream->next_planned;
        arcp__free(stream->plan_run);
        stream->plan_run = NULL;
        stream->is_planned = false;
        stream->next_planned = NULL;
        if (stream->next == 0) {
            stream_free(streams, stream);
        }
    }
    streams->planned = NULL;
}

/* Index (from head) of the first run that ends after `from`; stream->count when none. */
static size_t find_run(const arcp__memory_stream *stream, uint64_t from)
{
    size_t low = 0;
    size_t high = stream->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const arcp__memory_run *run = stream->runs[stream->head + middle];
        if (run->first + run->count > from) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

size_t arcp__memory_streams_read(const arcp__memory_streams *streams, arcp_span key, uint64_t from,
                                 size_t count_max, size_t bytes_max, arcp_span *records,
                                 uint64_t *first)
{
    const arcp__memory_stream *stream = stream_find(streams, key);
    *first = stream == NULL ? 0 : stream->next;
    if (stream == NULL) {
        return 0;
    }
    size_t count = 0;
    size_t bytes = 0;
    for (size_t at = find_run(stream, from); at < stream->count; at++) {
        const arcp__memory_run *run = stream->runs[stream->head + at];
        size_t index = from > run->first ? (size_t)(from - run->first) : 0;
        for (; index < run->count; index++) {
            size_t start = index == 0 ? 0 : run->ends[index - 1];
            size_t size = run->ends[index] - start;
            if (count == count_max || (count != 0 && size > bytes_max - bytes)) {
                return count;
            }
            if (count == 0) {
                *first = run->first + index;
            }
            records[count++] = arcp_span_make(run->data + start, size);
            bytes = size > bytes_max - bytes ? bytes_max : bytes + size;
        }
    }
    return count;
}
