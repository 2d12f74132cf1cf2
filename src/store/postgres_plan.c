#include "store/postgres_plan.h"

#include <assert.h>
#include <limits.h>

#include "store/postgres_crc.h"

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory in the store's writer");
}

/* ---- the streams that are known ---- */

static void stop_trimming(arcp__pg_plan *plan, arcp__pg_stream *stream)
{
    if (stream->trim_since_ns != 0) {
        DL_DELETE2(plan->trims, stream, trim_prev, trim_next);
        stream->trim_since_ns = 0;
    }
}

static void forget(arcp__pg_plan *plan, arcp__pg_stream *stream)
{
    stop_trimming(plan, stream);
    DL_DELETE2(plan->by_use, stream, prev, next_used);
    assert(plan->by_key != NULL);
    HASH_DEL(plan->by_key, stream);
    arcp__free(stream);
}

static arcp__pg_stream *find(arcp__pg_plan *plan, arcp_span key)
{
    arcp__pg_stream *stream = NULL;
    HASH_FIND(hh, plan->by_key, key.data, key.size, stream);
    if (stream != NULL) {
        DL_DELETE2(plan->by_use, stream, prev, next_used);
        DL_APPEND2(plan->by_use, stream, prev, next_used);
    }
    return stream;
}

/* NULL when out of memory. */
static arcp__pg_stream *add(arcp__pg_plan *plan, arcp_span key)
{
    arcp__pg_stream *stream = arcp__alloc(sizeof *stream + key.size);
    if (stream == NULL) {
        return NULL;
    }
    stream->key_size = key.size;
    memcpy(stream->key, key.data, key.size);
    HASH_ADD_KEYPTR(hh, plan->by_key, stream->key, stream->key_size, stream);
    if (!ARCP__HASH_ADDED(stream)) {
        arcp__free(stream);
        return NULL;
    }
    DL_APPEND2(plan->by_use, stream, prev, next_used);
    return stream;
}

static void touch(arcp__pg_plan *plan, arcp__pg_stream *stream)
{
    if (!stream->is_touched) {
        stream->is_touched = true;
        stream->next_touched = plan->touched;
        plan->touched = stream;
    }
}

arcp__pg_trouble arcp__pg_plan_open(arcp__pg_plan *plan, arcp__pg *pg, arcp_error *err)
{
    PGresult *rows = NULL;
    char shard[24];
    const char *values[] = {shard};
    (void)snprintf(shard, sizeof shard, "%lld", (long long)plan->shard);
    const arcp__pg_trouble trouble = arcp__pg_run(
        pg,
        "SELECT coalesce(max(id), 0), count(*) FILTER (WHERE key IS NULL) FROM arcp.streams"
        " WHERE shard = $1::int",
        values, 1, &rows, err);
    if (trouble == ARCP__PG_FINE) {
        plan->newest_id = strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
        plan->has_garbage = strcmp(PQgetvalue(rows, 0, 1), "0") != 0;
    }
    PQclear(rows);
    return trouble;
}

void arcp__pg_plan_forget_all(arcp__pg_plan *plan)
{
    plan->touched = NULL;
    plan->has_missing = false;
    while (plan->by_use != NULL) {
        forget(plan, plan->by_use);
    }
}

void arcp__pg_plan_fini(arcp__pg_plan *plan)
{
    arcp__pg_plan_begin(plan);
    arcp__pg_plan_forget_all(plan);
    arcp__pg_calls_fini(&plan->calls);
    arcp__pg_array_fini(&plan->missing);
    arcp__arena_fini(&plan->arena);
}

/* ---- looking streams up ---- */

static void miss(arcp__pg_plan *plan, arcp_span key)
{
    if (!plan->has_missing) {
        arcp__pg_array_begin(&plan->missing, ARCP__PG_TEXT);
        plan->has_missing = true;
    }
    arcp__pg_add_key(&plan->missing, key);
}

/* Most streams that are not known and begin at 0 are new. If one is not, its insertion fails, and
 * the batch is tried again with lookups. A stream that this transaction both creates and drops is
 * not inserted, so it is looked up. */
void arcp__pg_plan_miss(arcp__pg_plan *plan, const arcp__request *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const arcp_store_op *op = &batch->ops[i];
        const bool seems_new =
            op->kind == ARCP_STORE_APPEND && op->position == 0 && !plan->is_careful;
        arcp__pg_stream *stream = NULL;
        if (arcp__store_is_of_row(op)) {
            continue;
        }
        HASH_FIND(hh, plan->by_key, op->key.data, op->key.size, stream);
        if (stream == NULL) {
            stream = add(plan, op->key);
            if (stream == NULL) {
                continue; /* out of memory: its operation fails */
            }
            touch(plan, stream);
            stream->is_assumed = seems_new;
            stream->is_missing = !seems_new;
        } else if (stream->is_assumed && op->kind != ARCP_STORE_APPEND) {
            stream->is_assumed = false;
            stream->is_missing = true;
        } else {
            continue;
        }
        if (stream->is_missing) {
            miss(plan, op->key);
        }
    }
}

/* Fills what the row says; the last run is verified, as the next one follows it. */
static arcp_status take_stream(arcp__pg_plan *plan, const PGresult *rows, int row,
                               arcp__pg_stream *stream, arcp_error *err)
{
    stream->id = arcp__pg_integer(rows, row, 1);
    if (PQgetisnull(rows, row, 2) == 1) {
        return arcp_error_set(err, ARCP_E_CORRUPT,
                              "postgres: damaged: stream \"%.*s\" has no last run",
                              (int)(stream->key_size < 128 ? stream->key_size : 128), stream->key);
    }
    const int64_t first = arcp__pg_integer(rows, row, 2);
    const int64_t count = arcp__pg_integer(rows, row, 3);
    const uint32_t crc = arcp__pg_crc_add(arcp__pg_crc_run(plan->shard, stream->id, first, count),
                                          arcp__pg_text(rows, row, 5));
    if (crc != (uint32_t)arcp__pg_integer(rows, row, 4)) {
        return arcp_error_set(err, ARCP_E_CORRUPT,
                              "postgres: damaged: stream \"%.*s\", the run at position %lld does "
                              "not match its checksum",
                              (int)(stream->key_size < 128 ? stream->key_size : 128), stream->key,
                              (long long)first);
    }
    stream->last = (uint64_t)first;
    stream->next = (uint64_t)(first + count);
    return ARCP_OK;
}

static arcp_status take_found(arcp__pg_plan *plan, const PGresult *rows, arcp_error *err)
{
    for (int i = 0; i < PQntuples(rows) && err->status == ARCP_OK; i++) {
        char decoded[ARCP_STORE_KEY_BYTES_MAX];
        arcp__pg_stream *stream = find(plan, arcp__pg_key_of(arcp__pg_text(rows, i, 0), decoded));
        if (stream != NULL && stream->is_missing) {
            stream->is_missing = false;
            (void)take_stream(plan, rows, i, stream, err);
        }
    }
    /* The others do not exist. */
    for (arcp__pg_stream *stream = plan->touched; stream != NULL; stream = stream->next_touched) {
        stream->is_missing = false;
    }
    return err->status;
}

arcp__pg_trouble arcp__pg_plan_find(arcp__pg_plan *plan, arcp__pg *pg, arcp_error *err)
{
    PGresult *rows = NULL;
    arcp__pg_array params[2] = {{.is_scalar = true}, plan->missing};
    arcp__pg_set_integer(&params[0], ARCP__PG_INT4, plan->shard);
    plan->has_missing = false;
    if (params[0].bytes.failed || params[1].bytes.failed) {
        arcp__pg_array_fini(&params[0]);
        (void)no_memory(err);
        return ARCP__PG_FAILED;
    }
    const arcp__pg_trouble trouble =
        arcp__pg_run_prepared(pg, ARCP__PG_STREAM_FIND, params, 2, &rows, err);
    plan->missing = params[1];
    arcp__pg_array_fini(&params[0]);
    if (trouble == ARCP__PG_FINE) {
        (void)take_found(plan, rows, err);
    }
    PQclear(rows);
    return trouble == ARCP__PG_FINE && err->status != ARCP_OK ? ARCP__PG_FAILED : trouble;
}

void arcp__pg_plan_begin(arcp__pg_plan *plan)
{
    HASH_CLEAR(hh, plan->changes);
    arcp__arena_reset(&plan->arena);
    arcp__pg_calls_clear(&plan->calls);
    plan->touched = NULL;
}

/* ---- operations ---- */

/* Writes the waiting records of a stream as one run. */
static arcp_status flush_run(arcp__pg_plan *plan, arcp__pg_stream *stream, arcp_error *err)
{
    if (stream->piece_count == 0) {
        return ARCP_OK;
    }
    const uint64_t first = stream->next - stream->piece_count;
    const size_t bytes = stream->piece_bytes;
    arcp__pg_call *call = arcp__pg_calls_row(&plan->calls, plan->shard, ARCP__PG_RUN_INSERT, bytes);
    if (call == NULL) {
        return no_memory(err);
    }
    uint32_t crc =
        arcp__pg_crc_run(plan->shard, stream->id, (int64_t)first, (int64_t)stream->piece_count);
    arcp__pg_array *data = &call->params[4];
    arcp__pg_begin_text(data, bytes);
    for (const arcp__pg_piece *piece = stream->first_piece; piece != NULL; piece = piece->next) {
        if (piece != stream->first_piece) {
            arcp_buf_append_byte(&data->bytes, '\n');
            crc = arcp__pg_crc_add(crc, ARCP_SPAN_LITERAL("\n"));
        }
        arcp_buf_append(&data->bytes, piece->record);
        crc = arcp__pg_crc_add(crc, piece->record);
    }
    arcp__pg_add_integer(&call->params[1], stream->id);
    arcp__pg_add_integer(&call->params[2], (int64_t)first);
    arcp__pg_add_integer(&call->params[3], (int64_t)stream->piece_count);
    arcp__pg_add_integer(&call->params[5], crc);
    stream->last = first;
    stream->first_piece = stream->last_piece = NULL;
    stream->piece_count = 0;
    stream->piece_bytes = 0;
    if (stream->end_count < ARCP__PG_TRIM_RUNS) {
        stream->ends[stream->end_count++] = stream->next;
    }
    return ARCP_OK;
}

/* The row of a stream that this transaction creates. `has_key`: it was not dropped again. */
static arcp_status insert(arcp__pg_plan *plan, arcp__pg_stream *stream, bool has_key,
                          arcp_error *err)
{
    arcp__pg_call *call =
        arcp__pg_calls_row(&plan->calls, plan->shard, ARCP__PG_STREAM_INSERT, stream->key_size);
    if (call == NULL) {
        return no_memory(err);
    }
    arcp__pg_add_integer(&call->params[1], stream->id);
    if (has_key) {
        arcp__pg_add_key(&call->params[2], arcp_span_make(stream->key, stream->key_size));
    } else {
        arcp__pg_add_null(&call->params[2]);
    }
    stream->is_new = false;
    return ARCP_OK;
}

static arcp_status append(arcp__pg_plan *plan, arcp__pg_stream *stream, const arcp_store_op *op,
                          arcp_error *err)
{
    arcp__pg_piece *piece = arcp__arena_take(&plan->arena, sizeof *piece);
    if (piece == NULL) {
        return no_memory(err);
    }
    if (op->position != stream->next) {
        return arcp__store_position_error(op, stream->next, err);
    }
    touch(plan, stream);
    if (stream->id == 0) {
        stream->id = ++plan->newest_id;
        stream->is_new = true;
    }
    if (stream->piece_count != 0 &&
        stream->piece_bytes + 1 + op->value.size > ARCP__PG_RUN_BYTES_MAX &&
        flush_run(plan, stream, err) != ARCP_OK) {
        return err->status;
    }
    *piece = (arcp__pg_piece){op->value, NULL};
    stream->piece_bytes += op->value.size + (stream->piece_count != 0);
    if (stream->piece_count++ == 0) {
        stream->first_piece = piece;
    } else {
        stream->last_piece->next = piece;
    }
    stream->last_piece = piece;
    stream->next++;
    return ARCP_OK;
}

/* The runs become garbage, also those of this transaction that are written already. */
static arcp_status drop_row(arcp__pg_plan *plan, arcp__pg_stream *stream, arcp_error *err)
{
    if (stream->is_new) {
        return stream->end_count == 0 ? ARCP_OK : insert(plan, stream, false, err);
    }
    arcp__pg_call *call = arcp__pg_calls_row(&plan->calls, plan->shard, ARCP__PG_STREAM_DROP, 0);
    if (call == NULL) {
        return no_memory(err);
    }
    arcp__pg_add_integer(&call->params[1], stream->id);
    return ARCP_OK;
}

static arcp_status drop(arcp__pg_plan *plan, arcp__pg_stream *stream, arcp_error *err)
{
    if (stream->id == 0) {
        return ARCP_OK;
    }
    touch(plan, stream);
    stop_trimming(plan, stream);
    (void)drop_row(plan, stream, err);
    plan->has_garbage = true;
    stream->first_piece = stream->last_piece = NULL;
    stream->piece_count = 0;
    stream->piece_bytes = 0;
    stream->is_new = false;
    stream->id = 0;
    stream->next = 0;
    stream->trim = stream->trimmed = 0;
    stream->end_count = 0;
    return err->status;
}

static void trim(arcp__pg_plan *plan, arcp__pg_stream *stream, const arcp_store_op *op)
{
    if (stream->id == 0 || op->position <= stream->trim) {
        return;
    }
    touch(plan, stream);
    stream->trim = op->position;
}

static arcp_status change_row(arcp__pg_plan *plan, const arcp_store_op *op, arcp_error *err)
{
    const size_t size = op->key.size + 1;
    arcp__pg_change *change = arcp__arena_take(&plan->arena, sizeof *change + size);
    arcp__pg_change *earlier = NULL;
    if (change == NULL) {
        return no_memory(err);
    }
    memset(change, 0, sizeof *change);
    change->op = op;
    change->key[0] = (char)op->table;
    memcpy(change->key + 1, op->key.data, op->key.size);
    HASH_FIND(hh, plan->changes, change->key, size, earlier);
    if (earlier != NULL) {
        earlier->op = op;
        return ARCP_OK;
    }
    HASH_ADD_KEYPTR(hh, plan->changes, change->key, size, change);
    return ARCP__HASH_ADDED(change) ? ARCP_OK : no_memory(err);
}

arcp_status arcp__pg_plan_batch(arcp__pg_plan *plan, const arcp__request *batch, arcp_error *err)
{
    for (size_t i = 0; i < batch->count && err->status == ARCP_OK; i++) {
        const arcp_store_op *op = &batch->ops[i];
        if (arcp__store_is_of_row(op)) {
            (void)change_row(plan, op, err);
            continue;
        }
        arcp__pg_stream *stream = find(plan, op->key);
        if (stream == NULL) { /* `miss` had no memory for it */
            return no_memory(err);
        }
        if (op->kind == ARCP_STORE_APPEND) {
            (void)append(plan, stream, op, err);
        } else if (op->kind == ARCP_STORE_DROP) {
            (void)drop(plan, stream, err);
        } else {
            trim(plan, stream, op);
        }
    }
    return err->status;
}

/* ---- the end of a transaction ---- */

static arcp_status write_trim(arcp__pg_plan *plan, arcp__pg_stream *stream, arcp_error *err)
{
    arcp__pg_call *call = arcp__pg_calls_row(&plan->calls, plan->shard, ARCP__PG_RUN_TRIM, 0);
    if (call == NULL) {
        return no_memory(err);
    }
    arcp__pg_add_integer(&call->params[1], stream->id);
    arcp__pg_add_integer(&call->params[2], stream->trim > ARCP_STORE_POSITION_MAX
                                               ? (int64_t)ARCP_STORE_POSITION_MAX
                                               : (int64_t)stream->trim);
    arcp__pg_add_integer(&call->params[3], (int64_t)stream->last);
    stop_trimming(plan, stream);
    stream->trimmed = stream->trim;
    stream->end_count = 0;
    return ARCP_OK;
}

/* Trims when enough runs can go; the others wait. */
static arcp_status note_trim(arcp__pg_plan *plan, arcp__pg_stream *stream, int64_t now_ns,
                             arcp_error *err)
{
    if (stream->trim == stream->trimmed) {
        return ARCP_OK;
    }
    if (stream->end_count == ARCP__PG_TRIM_RUNS &&
        stream->ends[ARCP__PG_TRIM_RUNS - 1] <= stream->trim) {
        return write_trim(plan, stream, err);
    }
    if (stream->trim_since_ns == 0) {
        stream->trim_since_ns = now_ns;
        DL_APPEND2(plan->trims, stream, trim_prev, trim_next);
    }
    return ARCP_OK;
}

static arcp_status write_rows(arcp__pg_plan *plan, arcp_error *err)
{
    for (const arcp__pg_change *change = plan->changes; change != NULL; change = change->hh.next) {
        const arcp_store_op *op = change->op;
        const bool is_put = op->kind == ARCP_STORE_PUT;
        arcp__pg_call *call = arcp__pg_calls_row(&plan->calls, plan->shard,
                                                 is_put ? ARCP__PG_ROW_PUT : ARCP__PG_ROW_DELETE,
                                                 op->key.size + (is_put ? op->value.size : 0));
        if (call == NULL) {
            return no_memory(err);
        }
        arcp__pg_add_integer(&call->params[1], (int64_t)op->table);
        arcp__pg_add_key(&call->params[2], op->key);
        if (is_put) {
            arcp__pg_add_text(&call->params[3], op->value);
            arcp__pg_add_integer(&call->params[4], arcp__pg_crc_row(plan->shard, (int64_t)op->table,
                                                                    op->key, op->value));
        }
    }
    return ARCP_OK;
}

bool arcp__pg_plan_must_trim(const arcp__pg_plan *plan, int64_t now_ns)
{
    return plan->trims != NULL && now_ns - plan->trims->trim_since_ns >= ARCP__PG_TRIM_NS;
}

arcp_status arcp__pg_plan_finish(arcp__pg_plan *plan, int64_t now_ns, arcp_error *err)
{
    for (arcp__pg_stream *stream = plan->touched; stream != NULL && err->status == ARCP_OK;
         stream = stream->next_touched) {
        if (stream->id == 0 || flush_run(plan, stream, err) != ARCP_OK ||
            (stream->is_new && insert(plan, stream, true, err) != ARCP_OK)) {
            continue;
        }
        (void)note_trim(plan, stream, now_ns, err);
    }
    while (err->status == ARCP_OK && arcp__pg_plan_must_trim(plan, now_ns)) {
        (void)write_trim(plan, plan->trims, err);
    }
    if (err->status == ARCP_OK && write_rows(plan, err) == ARCP_OK &&
        !arcp__pg_calls_have_memory(&plan->calls)) {
        return no_memory(err);
    }
    return err->status;
}

bool arcp__pg_plan_send(arcp__pg_plan *plan, arcp__pg *pg)
{
    const bool is_sent = arcp__pg_calls_send(&plan->calls, pg);
    for (arcp__pg_stream *stream = plan->touched; stream != NULL; stream = stream->next_touched) {
        stream->is_touched = false;
        stream->is_assumed = false;
    }
    plan->touched = NULL;
    while (HASH_COUNT(plan->by_key) > ARCP__PG_STREAMS_KEPT_MAX) {
        forget(plan, plan->by_use);
    }
    return is_sent;
}

void arcp__pg_plan_abandon(arcp__pg_plan *plan)
{
    plan->has_missing = false;
    while (plan->touched != NULL) {
        arcp__pg_stream *stream = plan->touched;
        plan->touched = stream->next_touched;
        forget(plan, stream);
    }
    arcp__pg_plan_begin(plan);
}
