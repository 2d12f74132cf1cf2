/* Forgetting records: TRIM and DROP, which delete little at a time. */
#include "store/sqlite_crc.h"
#include "store/sqlite_run.h"
#include "store/sqlite_stream.h"

static void stop_trimming(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream)
{
    if (stream->is_trimming) {
        DL_DELETE2(streams->trims, stream, trim_prev, trim_next);
        stream->is_trimming = false;
    }
}

/* A short stream goes at once. A long one loses its name, and its runs bit by bit. */
arcp_status arcp__sqlite_stream_drop(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream,
                                     arcp_error *err)
{
    int64_t id = stream->id;
    arcp_span key = arcp_span_make(stream->key, stream->key_size);
    stop_trimming(streams, stream);
    arcp__sqlite_stream_unlist_open(streams, stream);
    stream->run = (arcp__sqlite_open_run){0};
    stream->id = 0;
    stream->next = 0;
    stream->written = 0;
    stream->oldest_end = 0;
    stream->trim = 0;
    if (id == 0) {
        return ARCP_OK;
    }
    arcp__sqlite_budget budget = {ARCP__SQLITE_COLLECT_RUNS, ARCP__SQLITE_COLLECT_BYTES};
    bool is_all = false;
    arcp_span no_key = arcp_span_make(NULL, 0);
    arcp_status status = arcp__sqlite_run_delete(streams->sqlite, id, ARCP_STORE_POSITION_MAX + 1,
                                                 no_key, &budget, &is_all, err);
    if (status != ARCP_OK) {
        return status;
    }
    streams->runs_deleted += ARCP__SQLITE_COLLECT_RUNS - budget.runs;
    arcp__sqlite_sum *sum = &streams->sums.now[ARCP__SQLITE_SUM_STREAMS];
    arcp__sqlite_sum_remove(sum, arcp__sqlite_crc_stream_name(id, key));
    if (is_all) {
        return arcp__sqlite_stream_delete(streams->sqlite, id, err);
    }
    streams->has_dropped = true;
    arcp__sqlite_sum_add(sum, arcp__sqlite_crc_stream_name(id, no_key));
    arcp__sqlite_stream_row row = {id, 0, false};
    return arcp__sqlite_stream_update(streams->sqlite, &row, no_key, err);
}

/* Notes it, for the records that there are now. Nothing is to be deleted as long as the
 * oldest run reaches beyond. */
void arcp__sqlite_stream_trim(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream,
                              uint64_t position)
{
    uint64_t below = position < stream->next ? position : stream->next;
    if (below <= stream->trim || below < stream->oldest_end || stream->id == 0) {
        return;
    }
    stream->trim = below;
    if (!stream->is_trimming) {
        DL_APPEND2(streams->trims, stream, trim_prev, trim_next);
        stream->is_trimming = true;
    }
}

/* Everything before the run that holds the trim position may go. The last run always
 * stays, because it says which position is next. */
static arcp_status collect_trimmed(arcp__sqlite_streams *streams, arcp__sqlite_stream *stream,
                                   arcp__sqlite_budget *budget, arcp_error *err)
{
    arcp__sqlite_range kept = {0, 0};
    arcp__sqlite_range oldest = {0, 0};
    bool is_all = false;
    arcp_span key = arcp_span_make(stream->key, stream->key_size);
    arcp__sqlite_stream_touch(streams, stream);
    arcp_status status =
        arcp__sqlite_run_find_last(streams->sqlite, stream->id, key, stream->trim, &kept, err);
    if (status == ARCP_OK) {
        status = arcp__sqlite_run_delete(streams->sqlite, stream->id, kept.first, key, budget,
                                         &is_all, err);
    }
    if (status != ARCP_OK || !is_all) {
        return status;
    }
    stop_trimming(streams, stream);
    status = arcp__sqlite_run_find_first(streams->sqlite, stream->id, key, &oldest, err);
    stream->oldest_end = oldest.end;
    return status;
}

static arcp_status collect_dropped(arcp__sqlite_streams *streams, arcp__sqlite_budget *budget,
                                   arcp_error *err)
{
    int64_t id = 0;
    bool is_all = false;
    arcp_span no_key = arcp_span_make(NULL, 0);
    arcp_status status = arcp__sqlite_stream_find_unnamed(streams->sqlite, &id, err);
    if (status == ARCP_OK && id == 0) {
        streams->has_dropped = false;
        return ARCP_OK;
    }
    if (status == ARCP_OK) {
        status = arcp__sqlite_run_delete(streams->sqlite, id, ARCP_STORE_POSITION_MAX + 1, no_key,
                                         budget, &is_all, err);
    }
    if (status != ARCP_OK || !is_all) {
        return status;
    }
    arcp__sqlite_sum_remove(&streams->sums.now[ARCP__SQLITE_SUM_STREAMS],
                            arcp__sqlite_crc_stream_name(id, no_key));
    return arcp__sqlite_stream_delete(streams->sqlite, id, err);
}

/* Twice what came, so that what is forgotten never piles up; and always a little. */
static arcp__sqlite_budget make_budget(const arcp__sqlite_streams *streams)
{
    arcp__sqlite_budget budget = {streams->runs_inserted * 2, streams->bytes_inserted * 2};
    budget.runs = budget.runs > ARCP__SQLITE_COLLECT_RUNS ? budget.runs : ARCP__SQLITE_COLLECT_RUNS;
    budget.bytes =
        budget.bytes > ARCP__SQLITE_COLLECT_BYTES ? budget.bytes : ARCP__SQLITE_COLLECT_BYTES;
    return budget;
}

arcp_status arcp__sqlite_streams_collect(arcp__sqlite_streams *streams, arcp_error *err)
{
    arcp__sqlite_budget budget = make_budget(streams);
    const size_t before = budget.runs;
    while (budget.runs != 0 && budget.bytes != 0 && arcp__sqlite_streams_has_garbage(streams)) {
        arcp_status status = streams->trims != NULL
                                 ? collect_trimmed(streams, streams->trims, &budget, err)
                                 : collect_dropped(streams, &budget, err);
        if (status != ARCP_OK) {
            streams->collect_pause = ARCP__SQLITE_COLLECT_PAUSE;
            return status;
        }
        /* Looking costs about as much as deleting one. */
        budget.runs -= budget.runs != 0;
    }
    streams->runs_deleted += before - budget.runs;
    return ARCP_OK;
}

bool arcp__sqlite_streams_has_garbage(const arcp__sqlite_streams *streams)
{
    return streams->collect_pause == 0 && (streams->trims != NULL || streams->has_dropped);
}
