#include "worker/worker_stream.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

void arcp__worker_stream_init(arcp__worker_stream *stream, bool counts_bytes)
{
    const uint64_t first = counts_bytes ? 0 : 1;
    *stream = (arcp__worker_stream){.counts_bytes = counts_bytes, .first = first, .next = first};
}

/* The bytes of a run that count against the limits; an empty one counts, too. */
static size_t run_bytes(const arcp__worker_run *run)
{
    return run->bytes.size - run->begin + sizeof *run;
}

static size_t run_unsent(const arcp__worker_run *run)
{
    return run->sent == run->count ? 0 : run->bytes.size - run->sent_end + sizeof *run;
}

/* To be called with -1 before a run changes or goes, with +1 after. */
static void account(arcp__worker_stream *stream, const arcp__worker_run *run, int sign)
{
    stream->kept_bytes += (size_t)sign * run_bytes(run);
    stream->unsent_bytes += (size_t)sign * run_unsent(run);
}

static void free_run(arcp__worker_stream *stream, arcp__worker_run *run)
{
    account(stream, run, -1);
    if (stream->unsent == run) {
        stream->unsent = run->next;
    }
    DL_DELETE(stream->runs, run);
    arcp_buf_fini(&run->bytes);
    arcp__free(run);
}

void arcp__worker_stream_fini(arcp__worker_stream *stream)
{
    while (stream->runs != NULL) {
        free_run(stream, stream->runs);
    }
}

static arcp__worker_run *last_run(const arcp__worker_stream *stream)
{
    return stream->runs == NULL ? NULL : stream->runs->prev;
}

/* An empty run at the end. NULL when out of memory. */
static arcp__worker_run *add_run(arcp__worker_stream *stream, arcp__worker_item what)
{
    arcp__worker_run *run = arcp__alloc(sizeof *run);
    if (run != NULL) {
        run->first = stream->next;
        run->what = what;
        DL_APPEND(stream->runs, run);
        account(stream, run, 1);
    }
    return run;
}

/* Whether the next piece goes into the last run: it follows that, which an open item need not. */
static bool takes_more(const arcp__worker_stream *stream, const arcp__worker_run *last,
                       arcp__worker_item what, size_t size)
{
    return last != NULL && last->first + last->count == stream->next &&
           last->what == ARCP__WORKER_ITEM_LINE && what == ARCP__WORKER_ITEM_LINE &&
           last->bytes.size < ARCP__WORKER_RUN_BYTES &&
           size <= ARCP__WORKER_RUN_BYTES - last->bytes.size;
}

bool arcp__worker_stream_add(arcp__worker_stream *stream, arcp__worker_item what, arcp_span bytes)
{
    const bool has_end = what == ARCP__WORKER_ITEM_LINE && !stream->counts_bytes;
    const size_t size = bytes.size + has_end;
    arcp__worker_run *run = last_run(stream);
    if (!takes_more(stream, run, what, size)) {
        run = add_run(stream, what);
        if (run == NULL) {
            return false;
        }
    }
    if (!arcp_buf_reserve(&run->bytes, size)) {
        run->bytes.failed = false; /* its bytes are unchanged */
        if (run->count == 0) {
            free_run(stream, run);
        }
        return false;
    }
    account(stream, run, -1);
    arcp_buf_append(&run->bytes, bytes);
    arcp_buf_append(&run->bytes, arcp_span_make("\n", has_end));
    run->count += stream->counts_bytes ? size : 1;
    stream->next += stream->counts_bytes ? size : 1;
    account(stream, run, 1);
    stream->unsent = stream->unsent == NULL ? run : stream->unsent;
    return true;
}

bool arcp__worker_stream_take(arcp__worker_stream *stream, arcp__worker_piece *out)
{
    arcp__worker_run *run = stream->unsent;
    if (run == NULL) {
        return false;
    }
    *out = (arcp__worker_piece){
        .first = run->first + run->sent,
        .count = run->count - run->sent,
        .what = run->what,
        .bytes = arcp_span_from(arcp_buf_span(&run->bytes), run->sent_end),
    };
    account(stream, run, -1);
    run->sent = run->count;
    run->sent_end = run->bytes.size;
    account(stream, run, 1);
    stream->unsent = run->next;
    return true;
}

void arcp__worker_stream_rewind(arcp__worker_stream *stream)
{
    for (arcp__worker_run *run = stream->runs; run != NULL; run = run->next) {
        account(stream, run, -1);
        run->sent = 0;
        run->sent_end = run->begin;
        account(stream, run, 1);
    }
    stream->unsent = stream->runs;
}

bool arcp__worker_stream_has(const arcp__worker_stream *stream, uint64_t number)
{
    const arcp__worker_run *run = stream->runs;
    while (run != NULL && run->first + run->count <= number) {
        run = run->next;
    }
    return run != NULL && number >= run->first;
}

/* ---- forgetting ---- */

/* The offset of the piece `number` in the run's bytes, searched from the piece `from` at `offset`.
 */
static size_t offset_of(const arcp__worker_stream *stream, const arcp__worker_run *run,
                        uint64_t from, size_t offset, uint64_t number)
{
    if (stream->counts_bytes) {
        return offset + (size_t)(number - from);
    }
    if (run->what != ARCP__WORKER_ITEM_LINE) {
        return number == from ? offset : run->bytes.size;
    }
    for (; from < number; from++) {
        const char *end = memchr(run->bytes.data + offset, '\n', run->bytes.size - offset);
        offset = (size_t)(end - run->bytes.data) + 1;
    }
    return offset;
}

/* Forgets the pieces of the run before `number`, which is one of its own, or the end. */
static void cut(arcp__worker_stream *stream, arcp__worker_run *run, uint64_t number)
{
    const uint64_t gone = number - run->first;
    if (gone == run->count) {
        free_run(stream, run);
        return;
    }
    account(stream, run, -1);
    run->begin = offset_of(stream, run, run->first, run->begin, number);
    run->first = number;
    run->count -= gone;
    run->sent = run->sent > gone ? run->sent - gone : 0;
    run->sent_end = run->sent == 0 ? run->begin : run->sent_end;
    account(stream, run, 1);
}

/* Makes a run of its own, before `run`, of the piece `number` in it. */
static bool isolate(arcp__worker_stream *stream, arcp__worker_run *run, uint64_t number)
{
    arcp__worker_run *alone = arcp__alloc(sizeof *alone);
    if (alone == NULL) {
        return false;
    }
    const size_t begin = offset_of(stream, run, run->first, run->begin, number);
    const size_t end = offset_of(stream, run, number, begin, number + 1);
    *alone = (arcp__worker_run){.first = number, .count = 1, .what = run->what};
    arcp_buf_append(&alone->bytes, arcp_span_make(run->bytes.data + begin, end - begin));
    if (alone->bytes.failed) {
        arcp__free(alone);
        return false;
    }
    if (number - run->first < run->sent) {
        alone->sent = 1;
        alone->sent_end = alone->bytes.size;
    } else if (stream->unsent == run) {
        stream->unsent = alone;
    }
    DL_PREPEND_ELEM(stream->runs, run, alone);
    account(stream, alone, 1);
    return true;
}

/* Forgets what one run has below `end`, except open items; these get runs of their own. */
static bool forget_in(arcp__worker_stream *stream, arcp__worker_run *run, uint64_t end,
                      const uint64_t *open, size_t open_count)
{
    const uint64_t run_end = run->first + run->count;
    const uint64_t stop = end < run_end ? end : run_end;
    if (run->count == 1 && open_count != 0 && open[0] == run->first) {
        return true;
    }
    for (size_t i = 0; i < open_count && open[i] < stop; i++) {
        if (!isolate(stream, run, open[i])) {
            return false;
        }
        cut(stream, run, open[i] + 1); /* the last one may free the run */
        if (open[i] + 1 == run_end) {
            return true;
        }
    }
    cut(stream, run, stop);
    return true;
}

bool arcp__worker_stream_forget(arcp__worker_stream *stream, uint64_t end, const uint64_t *open,
                                size_t open_count)
{
    arcp__worker_run *next = NULL;
    stream->first = end > stream->first ? end : stream->first;
    for (arcp__worker_run *run = stream->runs; run != NULL && run->first < end; run = next) {
        next = run->next;
        while (open_count != 0 && open[0] < run->first) {
            open++;
            open_count--;
        }
        if (!forget_in(stream, run, end, open, open_count)) {
            return false;
        }
    }
    return true;
}
