#include "job/job_state.h"

/* NULL when out of memory. */
static arcp__job_numbers *get_numbers(arcp__jobs *jobs, arcp__job *job)
{
    if (job->live->numbers == NULL) {
        job->live->numbers = arcp__alloc(sizeof *job->live->numbers);
        if (job->live->numbers == NULL) {
            arcp__context_no_memory(jobs->context);
        }
    }
    return job->live->numbers;
}

/* ---- what is durable ---- */

/* What was taken up to a change is durable with that change's batch. While a batch is under way
 * later changes wait for the next look, so that a store that is never idle is no obstacle. */
static void look_at_store(const arcp__log *log, arcp__job_numbers *numbers)
{
    if (numbers->flying.batch_id <= log->committed_id) {
        numbers->durable = numbers->flying.batch_id == 0 ? numbers->durable : numbers->flying;
        numbers->flying = numbers->changed;
    }
    if (numbers->changed.batch_id <= log->committed_id) {
        numbers->durable = numbers->flying = numbers->changed;
    }
    size_t left = 0;
    for (size_t i = 0; i < numbers->open_count; i++) {
        const arcp__open_item *open = &numbers->open[i];
        if (open->done_id == 0 || open->done_id > log->committed_id) {
            numbers->open[left++] = *open;
        }
    }
    numbers->open_count = left;
}

static void note_change(arcp__jobs *jobs, arcp__job *job)
{
    arcp__job_numbers *numbers = job->live->numbers;
    numbers->changed = (arcp__taken){.batch_id = arcp__batch_open_id(jobs->log),
                                     .item = numbers->item,
                                     .bytes = numbers->bytes,
                                     .errors = numbers->errors};
    look_at_store(jobs->log, numbers);
    arcp__job_live_changed(jobs, job);
}

void arcp__job_get_kept(const arcp__jobs *jobs, arcp__job *job, arcp__job_kept *out)
{
    arcp__job_numbers *numbers = job->live == NULL ? NULL : job->live->numbers;
    out->items = out->bytes = out->errors = out->stored = 0;
    out->open_count = 0;
    if (numbers == NULL) {
        return;
    }
    look_at_store(jobs->log, numbers);
    /* What had no effect is not in the store, and is needed no more either. */
    const bool is_durable = numbers->changed.batch_id <= jobs->log->committed_id;
    out->items = is_durable ? numbers->item : numbers->durable.item;
    out->bytes = is_durable ? numbers->bytes : numbers->durable.bytes;
    out->errors = is_durable ? numbers->errors : numbers->durable.errors;
    out->stored = numbers->durable.item;
    /* An answer that is not stored must get to the worker before its item is kept no more. */
    if (job->live->agent_port.waiting == NULL) {
        numbers->unsent = 0;
    } else if (numbers->unsent != 0 && numbers->unsent <= out->items) {
        out->items = numbers->unsent - 1;
        /* A new link begins behind that, and what is reported as stored must not go back on it. */
        out->stored = out->stored < out->items ? out->stored : out->items;
    }
    for (size_t i = 0; i < numbers->open_count && numbers->open[i].number <= out->items; i++) {
        if (out->open_count == ARCP__OPEN_ITEMS_MAX) {
            out->items = numbers->open[i].number - 1;
            break;
        }
        out->open[out->open_count++] = numbers->open[i].number;
    }
}

/* ---- items ---- */

static arcp__open_item *find_open(const arcp__job_numbers *numbers, uint64_t item)
{
    for (size_t i = 0; i < numbers->open_count; i++) {
        if (numbers->open[i].number == item) {
            return &numbers->open[i];
        }
    }
    return NULL;
}

/* Whether an item that comes again has had no effect, as far as is known since the restart. Items
 * that a worker keeps because they are open come first, in ascending order. */
static bool is_taken_anew(const arcp__job_numbers *numbers, uint64_t item)
{
    return item > numbers->retaken && item <= numbers->resumed &&
           (item > numbers->restored || find_open(numbers, item) != NULL);
}

arcp__item_turn arcp__item_begin_numbered(arcp__jobs *jobs, arcp__job *job, uint64_t item)
{
    arcp__job_numbers *numbers = job->live == NULL ? NULL : get_numbers(jobs, job);
    if (numbers == NULL || item > numbers->item + 1) {
        return ARCP__ITEM_IGNORED;
    }
    const bool is_next = item == numbers->item + 1;
    const bool is_anew = !is_next && is_taken_anew(numbers, item);
    numbers->item += is_next;
    numbers->retaken = is_anew ? item : numbers->retaken;
    numbers->answering = item;
    numbers->is_unstored = numbers->is_left_open = false;
    numbers->stamp = arcp__batch_stamp(jobs->log);
    return is_next || is_anew ? ARCP__ITEM_ACTS : ARCP__ITEM_AGAIN;
}

/* The numbers of items, output and standard error are all ended by this. */
void arcp__item_end_numbered(arcp__jobs *jobs, arcp__job *job)
{
    arcp__job_numbers *numbers = job->live->numbers;
    arcp__open_item *open =
        numbers->answering == 0 || numbers->answering > numbers->retaken || numbers->is_left_open
            ? NULL
            : find_open(numbers, numbers->answering);
    const bool is_done = open != NULL && numbers->answering == numbers->retaken;
    numbers->answering = 0;
    numbers->is_unstored = false; /* of later answers */
    if (arcp__batch_stamp(jobs->log) != numbers->stamp) {
        if (is_done) {
            open->done_id = arcp__batch_open_id(jobs->log);
        }
        note_change(jobs, job);
    }
}

void arcp__item_stores_nothing(const arcp__job *job)
{
    if (job->live->numbers != NULL) {
        job->live->numbers->is_unstored = true;
    }
}

void arcp__item_leave_open(arcp__jobs *jobs, arcp__job *job)
{
    arcp__job_numbers *numbers = job->live->numbers;
    if (numbers == NULL || numbers->answering == 0) {
        return;
    }
    numbers->is_left_open = true;
    if (find_open(numbers, numbers->answering) == NULL &&
        !arcp__item_add_open(numbers, numbers->answering)) {
        arcp__context_no_memory(jobs->context);
    }
}

void arcp__item_reopen(arcp__jobs *jobs, arcp__job *job, uint64_t item)
{
    if (item != 0) {
        job->live->numbers->answering = item;
        job->live->numbers->is_unstored = false;
        job->live->numbers->stamp = arcp__batch_stamp(jobs->log);
    }
}

void arcp__item_done(arcp__jobs *jobs, arcp__job *job, uint64_t item)
{
    const arcp__job_numbers *numbers = item == 0 || job->live == NULL ? NULL : job->live->numbers;
    arcp__open_item *open = numbers == NULL ? NULL : find_open(numbers, item);
    if (numbers == NULL) {
        return;
    }
    if (open != NULL) {
        open->done_id = arcp__batch_open_id(jobs->log);
    }
    arcp__item_end_numbered(jobs, job);
}

/* ---- a plain program ---- */

arcp_span arcp__output_unseen(arcp__jobs *jobs, arcp__job *job, uint64_t end, arcp_span bytes)
{
    arcp__job_numbers *numbers = job->live == NULL ? NULL : get_numbers(jobs, job);
    const uint64_t first = end - bytes.size;
    if (numbers == NULL || first > numbers->bytes_seen || end <= numbers->bytes_seen) {
        return arcp_span_make(NULL, 0);
    }
    bytes = arcp_span_from(bytes, (size_t)(numbers->bytes_seen - first));
    numbers->bytes_seen = end;
    numbers->stamp = arcp__batch_stamp(jobs->log);
    return bytes;
}

void arcp__output_taken(arcp__jobs *jobs, arcp__job *job)
{
    arcp__job_numbers *numbers = job->live->numbers;
    numbers->bytes = numbers->bytes_seen - job->live->plain_output.size;
    arcp__item_end_numbered(jobs, job);
}

bool arcp__error_line_is_next(arcp__jobs *jobs, arcp__job *job, uint64_t line)
{
    arcp__job_numbers *numbers = job->live == NULL ? NULL : get_numbers(jobs, job);
    if (numbers == NULL || line != numbers->errors + 1) {
        return false;
    }
    numbers->errors = line;
    numbers->stamp = arcp__batch_stamp(jobs->log);
    return true;
}
