/* What a job on a worker has in the store beside its rows and its records, until it ends:
 *
 *     a:JOB   lines for its agent: the number of the item that is answered (0: none), a space, the
 *             line
 *     r:JOB   pieces of its result, when its session gets that whole
 *
 * A line is sent with its position, from 1 on, when it is durable. The worker says up to which
 * position it has them; after a new link or a restart the others are sent again. */
#include <stdio.h>

#include "base/digits.h"
#include "job/job_state.h"

#define LINES_PREFIX  "a:"
#define PIECES_PREFIX "r:"
/* False when out of memory. */
static bool keep_line(arcp__job_numbers *numbers, uint64_t at, uint64_t item, arcp_span text)
{
    struct arcp__kept_line *line = arcp__alloc(sizeof *line + text.size);
    if (line == NULL) {
        return false;
    }
    line->at = at;
    line->item = item;
    line->size = text.size;
    memcpy(line->text, text.data, text.size);
    if (numbers->lines == NULL) {
        numbers->lines = line;
    } else {
        numbers->last_line->next = line;
    }
    numbers->last_line = line;
    return true;
}

void arcp__worker_forget_lines(arcp__job_numbers *numbers, uint64_t at)
{
    while (numbers->lines != NULL && numbers->lines->at <= at) {
        struct arcp__kept_line *line = numbers->lines;
        numbers->lines = line->next;
        arcp__free(line);
    }
    numbers->got = at > numbers->got ? at : numbers->got;
}

uint64_t arcp__worker_store_line(arcp__jobs *jobs, const arcp__job *job, uint64_t item,
                                 arcp_span text, bool is_secret)
{
    if (!arcp__job_is_on_worker(job) || arcp__job_has_ended(job)) {
        return 0;
    }
    arcp__job_numbers *numbers = job->live->numbers;
    char digits[24];
    uint64_t position = 0;
    size_t bytes = 0;
    if (numbers->line_stream == NULL) {
        numbers->line_stream = arcp__stream_new(jobs->log, LINES_PREFIX, arcp_span_cstr(job->id));
    }
    if (numbers->line_stream == NULL) {
        return 0;
    }
    if (numbers->got > numbers->trimmed) { /* with this batch, because it is no hurry */
        numbers->trimmed = numbers->got;
        arcp__batch_add(jobs->log,
                        (arcp_store_op){.kind = ARCP_STORE_TRIM,
                                        .position = numbers->trimmed,
                                        .key = arcp_span_cstr(numbers->line_stream->key)});
    }
    text = is_secret ? ARCP_SPAN_LITERAL(ARCP__LINE_OF_CREDENTIALS) : text;
    (void)snprintf(digits, sizeof digits, "%llu ", (unsigned long long)item);
    const arcp_span pieces[] = {arcp_span_cstr(digits), text};
    if (!arcp__stream_append(jobs->log, numbers->line_stream, pieces, 2, &position, &bytes) ||
        !keep_line(numbers, position + 1, item, text)) {
        arcp__context_no_memory(jobs->context);
        return 0;
    }
    return position + 1;
}

void arcp__worker_has_lines(arcp__jobs *jobs, arcp__job *job, uint64_t at)
{
    (void)jobs;
    arcp__job_numbers *numbers = job->live == NULL ? NULL : job->live->numbers;
    if (numbers != NULL && numbers->line_stream != NULL && at <= numbers->line_stream->next) {
        arcp__worker_forget_lines(numbers, at);
    }
}

/* ---- pieces of a result, for a session that gets it whole ---- */

void arcp__worker_store_piece(arcp__jobs *jobs, const arcp__job *job, arcp_span data)
{
    uint64_t position = 0;
    size_t bytes = 0;
    if (!arcp__job_is_on_worker(job)) {
        return;
    }
    arcp__job_numbers *numbers = job->live->numbers;
    if (numbers->piece_stream == NULL) {
        numbers->piece_stream = arcp__stream_new(jobs->log, PIECES_PREFIX, arcp_span_cstr(job->id));
    }
    if (numbers->piece_stream != NULL) {
        (void)arcp__stream_append(jobs->log, numbers->piece_stream, &data, 1, &position, &bytes);
    }
}

/* ---- restart ---- */

bool arcp__worker_make_streams(arcp__jobs *jobs, arcp__job *job)
{
    arcp__job_numbers *numbers = job->live->numbers;
    if (!arcp__job_is_on_worker(job)) {
        return false;
    }
    numbers->line_stream = arcp__stream_new(jobs->log, LINES_PREFIX, arcp_span_cstr(job->id));
    numbers->piece_stream = arcp__stream_new(jobs->log, PIECES_PREFIX, arcp_span_cstr(job->id));
    if (numbers->line_stream == NULL || numbers->piece_stream == NULL) {
        return false; /* out of memory */
    }
    numbers->line_stream->owner = numbers->piece_stream->owner = job;
    return true;
}

arcp_status arcp__worker_restore_record(arcp__stream *stream, uint64_t position, arcp_span record,
                                        arcp_error *err)
{
    arcp__job *job = stream->owner;
    arcp__job_numbers *numbers = job->live->numbers;
    stream->next = position + 1;
    if (stream == numbers->piece_stream) {
        arcp_buf_append(&job->live->inline_result, record);
        return job->live->inline_result.failed ? arcp__row_out_of_memory(err) : ARCP_OK;
    }
    const char *space = record.size == 0 ? NULL : memchr(record.data, ' ', record.size);
    uint64_t item = 0;
    if (space == NULL ||
        !arcp__digits_parse(arcp_span_first(record, (size_t)(space - record.data)), &item)) {
        return arcp__row_damaged("line", arcp_span_cstr(stream->key), err);
    }
    const arcp_span text = arcp_span_from(record, (size_t)(space - record.data) + 1);
    return keep_line(numbers, position + 1, item, text) ? ARCP_OK : arcp__row_out_of_memory(err);
}
