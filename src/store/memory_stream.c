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
    if (stream->runs != stream->few) {
        arcp__free(stream->runs);
    }
    arcp__free(stream);
}

void arcp__memory_streams_fini(arcp__memory_streams *streams)
{
    arcp__memory_stream *stream = NULL;
    arcp__memory_stream *next = NULL;
    HASH_ITER (hh, streams->streams, stream, next) {
        stream_free(streams, stream);
    }
    assert(streams->plan_count == 0); /* each batch is committed or abandoned */
    arcp__free(streams->plans);
    arcp__free(streams->plan_of_op);
    *streams = (arcp__memory_streams){0};
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
    stream->runs = stream->few;
    stream->capacity = sizeof(stream->few) / sizeof(stream->few[0]);
    stream->key_size = (uint32_t)key.size;
    memcpy(stream->key, key.data, key.size);
    HASH_ADD_KEYPTR(hh, streams->streams, stream->key, stream->key_size, stream);
    if (!ARCP__HASH_ADDED(stream)) {
        arcp__free(stream);
        return NULL;
    }
    return stream;
}

/* NULL: the batch at hand has nothing for it yet. */
static arcp__memory_plan *plan_of(const arcp__memory_streams *streams,
                                  const arcp__memory_stream *stream)
{
    return stream->planned == 0 ? NULL : &streams->plans[stream->planned - 1];
}

/* Room for the plan of one more stream. */
static bool reserve_plan(arcp__memory_streams *streams)
{
    if (streams->plan_count < streams->plan_capacity) {
        return true;
    }
    const size_t capacity = streams->plan_capacity == 0 ? 16 : streams->plan_capacity * 2;
    void *plans = capacity > UINT32_MAX
                      ? NULL
                      : arcp__realloc_array(streams->plans, capacity, sizeof(*streams->plans));
    if (plans == NULL) {
        return false;
    }
    streams->plans = plans;
    streams->plan_capacity = capacity;
    return true;
}

/* Room for what operation number `at` appends to. */
static bool reserve_op(arcp__memory_streams *streams, size_t at)
{
    if (at < streams->op_capacity) {
        return true;
    }
    size_t capacity = streams->op_capacity == 0 ? 64 : streams->op_capacity;
    while (capacity <= at) { /* a number of things in memory: its double does not overflow */
        capacity *= 2;
    }
    void *plans = arcp__realloc_array(streams->plan_of_op, capacity, sizeof(*streams->plan_of_op));
    if (plans == NULL) {
        return false;
    }
    streams->plan_of_op = plans;
    streams->op_capacity = capacity;
    return true;
}

/* Takes what was reserved. */
static arcp__memory_plan *begin_plan(arcp__memory_streams *streams, arcp__memory_stream *stream)
{
    assert(streams->plans != NULL);
    arcp__memory_plan *plan = &streams->plans[streams->plan_count++];
    *plan = (arcp__memory_plan){.stream = stream, .next = stream->next};
    stream->planned = (uint32_t)streams->plan_count;
    return plan;
}

static arcp_status plan_append(arcp__memory_streams *streams, arcp__memory_stream *stream,
                               const arcp_store_op *op, size_t at, arcp_error *err)
{
    arcp__memory_plan *plan = stream == NULL ? NULL : plan_of(streams, stream);
    const uint64_t next = plan != NULL ? plan->next : stream != NULL ? stream->next : 0;
    if (op->position != next) {
        return arcp__store_position_error(op->key, op->position, next, err);
    }
    if (!reserve_op(streams, at)) {
        return no_memory(err);
    }
    if (plan == NULL) {
        if (!reserve_plan(streams)) {
            return no_memory(err);
        }
        stream = stream != NULL ? stream : stream_new(streams, op->key);
        if (stream == NULL) {
            return no_memory(err);
        }
        plan = begin_plan(streams, stream);
    }
    streams->plan_of_op[at] = plan->stream->planned - 1;
    plan->next++;
    plan->count++;
    plan->bytes += op->value.size;
    return ARCP_OK;
}

arcp_status arcp__memory_streams_plan(arcp__memory_streams *streams, const arcp_store_op *op,
                                      size_t at, arcp_error *err)
{
    arcp__memory_stream *stream = stream_find(streams, op->key);
    if (op->kind == ARCP_STORE_APPEND) {
        return plan_append(streams, stream, op, at, err);
    }
    if (stream == NULL) {
        return ARCP_OK;
    }
    arcp__memory_plan *plan = plan_of(streams, stream);
    if (plan == NULL) {
        if (!reserve_plan(streams)) {
            return no_memory(err);
        }
        plan = begin_plan(streams, stream);
    }
    if (op->kind == ARCP_STORE_TRIM) {
        /* What comes later is not meant. */
        uint64_t below = op->position < plan->next ? op->position : plan->next;
        plan->trim = below > plan->trim ? below : plan->trim;
        return ARCP_OK;
    }
    *plan = (arcp__memory_plan){.stream = stream, .from = at + 1, .drop = true};
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
    const size_t capacity = (size_t)stream->capacity * 2;
    arcp__memory_run **owned = stream->runs == stream->few ? NULL : stream->runs;
    arcp__memory_run **runs =
        capacity > UINT32_MAX ? NULL : arcp__realloc_array(owned, capacity, sizeof(*stream->runs));
    if (runs == NULL) {
        return false;
    }
    if (owned == NULL) {
        memcpy(runs, stream->few, sizeof(stream->few));
    }
    stream->runs = runs;
    stream->capacity = (uint32_t)capacity;
    return true;
}

arcp_status arcp__memory_streams_prepare(arcp__memory_streams *streams, arcp_error *err)
{
    for (size_t at = 0; at < streams->plan_count; at++) {
        arcp__memory_plan *plan = &streams->plans[at];
        if (plan->count == 0) {
            continue;
        }
        /* The counts are of things in memory, so the sum cannot overflow. */
        size_t head = sizeof(arcp__memory_run) + plan->count * sizeof(size_t);
        plan->run = arcp__alloc(head + plan->bytes);
        if (plan->run == NULL || !reserve_run(plan->stream)) {
            return no_memory(err);
        }
        plan->run->data = (char *)plan->run + head;
        plan->run->first = plan->next - plan->count;
    }
    return ARCP_OK;
}

static void copy_records(const arcp__memory_streams *streams, const arcp_store_op *ops,
                         size_t count)
{
    for (size_t at = 0; at < count; at++) {
        const arcp_store_op *op = &ops[at];
        if (op->kind != ARCP_STORE_APPEND) {
            continue;
        }
        const arcp__memory_plan *plan = &streams->plans[streams->plan_of_op[at]];
        if (at < plan->from) {
            continue;
        }
        arcp__memory_run *run = plan->run;
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

static void end_plan(arcp__memory_streams *streams, arcp__memory_stream *stream)
{
    stream->planned = 0;
    if (stream->next == 0) {
        stream_free(streams, stream);
    }
}

void arcp__memory_streams_commit(arcp__memory_streams *streams, const arcp_store_op *ops,
                                 size_t count)
{
    copy_records(streams, ops, count);
    for (size_t at = 0; at < streams->plan_count; at++) {
        const arcp__memory_plan *plan = &streams->plans[at];
        arcp__memory_stream *stream = plan->stream;
        while (plan->drop && stream->count != 0) {
            drop_oldest(streams, stream);
        }
        if (plan->run != NULL) {
            stream->runs[stream->head + stream->count++] = plan->run;
            streams->bytes += plan->run->bytes;
        }
        trim(streams, stream, plan->trim);
        stream->next = plan->next;
        end_plan(streams, stream);
    }
    streams->plan_count = 0;
}

void arcp__memory_streams_abandon(arcp__memory_streams *streams)
{
    for (size_t at = 0; at < streams->plan_count; at++) {
        arcp__free(streams->plans[at].run);
        end_plan(streams, streams->plans[at].stream);
    }
    streams->plan_count = 0;
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
