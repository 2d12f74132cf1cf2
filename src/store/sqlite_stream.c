#include "store/sqlite_stream.h"

#include <assert.h>

#include "store/sqlite_run.h"

#define LINE_FEED '\n'

static void forget(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream)
{
    if (stream->is_trimming) {
        DL_DELETE2(streams->trims, stream, trim_prev, trim_next);
    }
    if (streams->recent == stream) {
        streams->recent = NULL;
    }
    arcp__sqlite_stream_unlist_open(streams, stream);
    DL_DELETE2(streams->by_use, stream, prev, next_used);
    assert(streams->by_key != NULL);
    HASH_DEL(streams->by_key, stream);
    arcp__free(stream);
}

void arcp__sqlite_streams_fini(arcp__sqlite_streams *streams)
{
    while (streams->by_use != NULL) {
        forget(streams, streams->by_use);
    }
    arcp__free(streams->appends);
    arcp_buf_fini(&streams->joined);
}

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory in the store's writer");
}

void arcp__sqlite_stream_touch(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream)
{
    if (!stream->is_touched) {
        stream->is_touched = true;
        stream->next_touched = streams->touched;
        streams->touched = stream;
    }
}

static arcp_status learn(arcp__sqlite_streams *streams, arcp_span key, arcp__sqlite_stream **out,
                         arcp_error *err)
{
    arcp__sqlite_stream_row row = {0};
    arcp__sqlite_range last = {0, 0};
    arcp_status status = arcp__sqlite_stream_find(streams->sqlite, key, &row, err);
    if (status == ARCP_OK && row.id != 0) {
        status = arcp__sqlite_run_find_last(streams->sqlite, row.id, key, ARCP_STORE_POSITION_MAX,
                                            &last, err);
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_stream_check_end(streams->sqlite, key, &row, last.end, err);
    }
    if (status != ARCP_OK) {
        return status;
    }
    arcp__sqlite_stream *stream = arcp__alloc(sizeof(*stream) + key.size);
    if (stream == NULL) {
        return no_memory(err);
    }
    stream->id = row.id;
    stream->written = row.next;
    stream->next = last.end;
    stream->key_size = key.size;
    memcpy(stream->key, key.data, key.size);
    HASH_ADD_KEYPTR(hh, streams->by_key, stream->key, stream->key_size, stream);
    if (!ARCP__HASH_ADDED(stream)) {
        arcp__free(stream);
        return no_memory(err);
    }
    DL_APPEND2(streams->by_use, stream, prev, next_used);
    if (row.is_open) {
        arcp__sqlite_stream_list_open(streams, stream);
    }
    *out = stream;
    return ARCP_OK;
}

static arcp_status get(arcp__sqlite_streams *streams, arcp_span key, arcp__sqlite_stream **out,
                       arcp_error *err)
{
    /* Most operations are on the same stream as the one before them. */
    arcp__sqlite_stream *stream = streams->recent;
    if (stream == NULL || !arcp_span_equal(key, arcp_span_make(stream->key, stream->key_size))) {
        HASH_FIND(hh, streams->by_key, key.data, key.size, stream);
        if (stream == NULL) {
            arcp_status status = learn(streams, key, &stream, err);
            if (status != ARCP_OK) {
                return status;
            }
        } else {
            DL_DELETE2(streams->by_use, stream, prev, next_used);
            DL_APPEND2(streams->by_use, stream, prev, next_used);
        }
        streams->recent = stream;
    }
    *out = stream;
    return ARCP_OK;
}

/* ---- planning ---- */

void arcp__sqlite_streams_begin_batch(arcp__sqlite_streams *streams)
{
    streams->batch++;
}

arcp_status arcp__sqlite_streams_plan(arcp__sqlite_streams *streams, const arcp_store_op *op,
                                      uint64_t *next, arcp_error *err)
{
    arcp__sqlite_stream *stream = NULL;
    arcp_status status = get(streams, op->key, &stream, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (stream->plan_batch != streams->batch) {
        stream->plan_batch = streams->batch;
        stream->plan_next = stream->next;
    }
    *next = stream->plan_next;
    if (op->kind == ARCP_STORE_APPEND) {
        stream->plan_next++;
    } else if (op->kind == ARCP_STORE_DROP) {
        stream->plan_next = 0;
    }
    return ARCP_OK;
}

/* ---- writing runs ---- */

/* The run's records with line feeds between them. */
static arcp_span join_run(arcp__sqlite_streams *streams, const arcp__sqlite_stream *stream)
{
    const arcp__sqlite_append *append = &streams->appends[stream->run.first - 1];
    if (stream->run.count == 1) {
        return append->record;
    }
    arcp_buf_clear(&streams->joined);
    (void)arcp_buf_reserve(&streams->joined, stream->run.bytes);
    arcp_buf_append(&streams->joined, append->record);
    while (append->next != 0) {
        append = &streams->appends[append->next - 1];
        arcp_buf_append_byte(&streams->joined, LINE_FEED);
        arcp_buf_append(&streams->joined, append->record);
    }
    return arcp_buf_span(&streams->joined);
}

static arcp_status flush_run(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream,
                             arcp_error *err)
{
    if (stream->run.count == 0) {
        return ARCP_OK;
    }
    arcp_status status = arcp__sqlite_stream_open(streams, stream, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_span joined = join_run(streams, stream);
    if (arcp_buf_status(&streams->joined) != ARCP_OK) {
        arcp_buf_clear(&streams->joined);
        return no_memory(err);
    }
    uint64_t first = stream->next - stream->run.count;
    size_t count = stream->run.count;
    stream->run = (arcp__sqlite_open_run){0};
    streams->runs_inserted++;
    streams->bytes_inserted += joined.size;
    return arcp__sqlite_run_insert(streams->sqlite, stream->id, first, count, joined, err);
}

static bool reserve_append(arcp__sqlite_streams *streams)
{
    if (streams->append_count < streams->append_capacity) {
        return true;
    }
    size_t capacity = streams->append_capacity == 0 ? 256 : streams->append_capacity * 2;
    void *appends = arcp__realloc_array(streams->appends, capacity, sizeof(*streams->appends));
    if (appends == NULL) {
        return false;
    }
    streams->appends = appends;
    streams->append_capacity = capacity;
    return true;
}

static arcp_status append(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream,
                          arcp_span record, arcp_error *err)
{
    if (stream->run.count != 0 && stream->run.bytes + record.size > ARCP__SQLITE_RUN_BYTES_MAX) {
        arcp_status status = flush_run(streams, stream, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    if (!reserve_append(streams)) {
        return no_memory(err);
    }
    streams->appends[streams->append_count++] = (arcp__sqlite_append){record, 0};
    if (stream->run.last == 0) {
        stream->run.first = streams->append_count;
    } else {
        streams->appends[stream->run.last - 1].next = streams->append_count;
    }
    stream->run.last = streams->append_count;
    stream->run.count++;
    stream->run.bytes += record.size + 1;
    stream->next++;
    return ARCP_OK;
}

arcp_status arcp__sqlite_streams_flush(arcp__sqlite_streams *streams, arcp_error *err)
{
    for (arcp__sqlite_stream *stream = streams->touched; stream != NULL;
         stream = stream->next_touched) {
        arcp_status status = flush_run(streams, stream, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    return ARCP_OK;
}

arcp_status arcp__sqlite_streams_apply(arcp__sqlite_streams *streams, const arcp_store_op *op,
                                       arcp_error *err)
{
    arcp__sqlite_stream *stream = NULL;
    arcp_status status = get(streams, op->key, &stream, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__sqlite_stream_touch(streams, stream);
    if (op->kind == ARCP_STORE_APPEND) {
        return append(streams, stream, op->value, err);
    }
    if (op->kind == ARCP_STORE_DROP) {
        return arcp__sqlite_stream_drop(streams, stream, err);
    }
    arcp__sqlite_stream_trim(streams, stream, op->position);
    return ARCP_OK;
}

/* ---- the end of the transaction ---- */

static void begin_next(arcp__sqlite_streams *streams)
{
    streams->touched = NULL;
    streams->append_count = 0;
    streams->runs_inserted = 0;
    streams->bytes_inserted = 0;
}

void arcp__sqlite_streams_committed(arcp__sqlite_streams *streams)
{
    arcp__sqlite_stream *next = NULL;
    for (arcp__sqlite_stream *stream = streams->touched; stream != NULL; stream = next) {
        next = stream->next_touched;
        stream->is_touched = false;
        stream->next_touched = NULL;
    }
    begin_next(streams);
    streams->collect_pause -= streams->collect_pause != 0;
    arcp__sqlite_sums_committed(&streams->sums);
    while (HASH_COUNT(streams->by_key) > ARCP__SQLITE_STREAMS_KEPT_MAX &&
           !streams->by_use->is_open) {
        forget(streams, streams->by_use);
    }
}

void arcp__sqlite_streams_abandoned(arcp__sqlite_streams *streams)
{
    arcp__sqlite_stream *next = NULL;
    for (arcp__sqlite_stream *stream = streams->touched; stream != NULL; stream = next) {
        next = stream->next_touched;
        streams->has_unlisted = streams->has_unlisted || stream->is_open;
        forget(streams, stream);
    }
    arcp__sqlite_sums_abandoned(&streams->sums);
    begin_next(streams);
}
