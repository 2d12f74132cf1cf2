/* What all files of src/job use of jobs on workers; it calls none of them. */
#include <stdio.h>

#include "job/job_state.h"

/* ---- workers ---- */

arcp__worker_entry *arcp__worker_connected(const arcp__jobs *jobs, arcp_span name)
{
    arcp__worker_entry *worker = jobs->workers;
    while (worker != NULL &&
           (worker->state == ARCP__WORKER_AWAY || !arcp_span_equal_cstr(name, worker->name))) {
        worker = worker->next;
    }
    return worker;
}

arcp__worker_entry *arcp__worker_get(arcp__jobs *jobs, arcp_span name, arcp_span instance)
{
    arcp__worker_entry *worker = jobs->workers;
    while (worker != NULL && (!arcp_span_equal_cstr(name, worker->name) ||
                              !arcp_span_equal_cstr(instance, worker->instance))) {
        worker = worker->next;
    }
    if (worker == NULL) {
        worker = arcp__alloc(sizeof *worker);
        if (worker == NULL) {
            arcp__context_no_memory(jobs->context);
            return NULL;
        }
        worker->state = ARCP__WORKER_AWAY;
        memcpy(worker->name, name.data, name.size);
        memcpy(worker->instance, instance.data, instance.size);
        LL_PREPEND(jobs->workers, worker);
    }
    return worker;
}

void arcp__worker_remove(arcp__jobs *jobs, arcp__worker_entry *worker)
{
    LL_DELETE(jobs->workers, worker);
    arcp__context_disarm(jobs->context, &worker->away_timer);
    arcp__context_disarm(jobs->context, &worker->lost_timer);
    arcp__free(worker);
}

void arcp__workers_free(arcp__jobs *jobs)
{
    while (jobs->workers != NULL) {
        arcp__worker_remove(jobs, jobs->workers);
    }
}

/* ---- a job ---- */

void arcp__job_place_on_worker(arcp__jobs *jobs, arcp__job *job, const arcp__agent_version *agent)
{
    if (agent->worker[0] == '\0') {
        arcp__job_numbers_free(job->live->numbers); /* it was placed before it waited */
        job->live->numbers = NULL;
        return;
    }
    if (job->live->numbers == NULL) {
        job->live->numbers = arcp__alloc(sizeof *job->live->numbers);
    }
    if (job->live->numbers == NULL) {
        arcp__context_no_memory(jobs->context);
        return;
    }
    (void)snprintf(job->live->numbers->worker, ARCP__WORKER_NAME_SIZE, "%s", agent->worker);
}

/* The streams are dropped before. */
void arcp__worker_run_free(arcp__job_numbers *numbers)
{
    while (numbers->lines != NULL) {
        struct arcp__kept_line *line = numbers->lines;
        numbers->lines = line->next;
        arcp__free(line);
    }
}

void arcp__worker_drop_streams(arcp__jobs *jobs, const arcp__job *job)
{
    arcp__job_numbers *numbers = job->live->numbers;
    if (numbers == NULL) {
        return;
    }
    arcp__stream **const streams[] = {&numbers->line_stream, &numbers->piece_stream};
    for (size_t i = 0; i < 2; i++) {
        if (*streams[i] != NULL) {
            arcp__stream_unref(jobs->log, *streams[i]);
            *streams[i] = NULL;
        }
    }
}

void arcp__job_numbers_free(arcp__job_numbers *numbers)
{
    if (numbers != NULL) {
        arcp__worker_run_free(numbers);
        arcp__free(numbers->open);
        arcp__free(numbers);
    }
}

bool arcp__item_add_open(arcp__job_numbers *numbers, uint64_t item)
{
    arcp__open_item *open =
        arcp__make_room(numbers->open, numbers->open_count, &numbers->open_capacity, sizeof *open);
    if (open == NULL) {
        return false;
    }
    numbers->open = open;
    size_t at = numbers->open_count++;
    for (; at != 0 && open[at - 1].number > item; at--) {
        open[at] = open[at - 1];
    }
    open[at] = (arcp__open_item){.number = item};
    return true;
}

void arcp__numbers_restore(arcp__job_numbers *numbers, uint64_t item, uint64_t bytes,
                           uint64_t errors)
{
    numbers->item = numbers->restored = numbers->resumed = item;
    numbers->bytes = numbers->bytes_seen = bytes;
    numbers->errors = errors;
    numbers->changed = numbers->flying = numbers->durable =
        (arcp__taken){.item = item, .bytes = bytes, .errors = errors};
}

void arcp__numbers_resume(arcp__job_numbers *numbers, uint64_t items_first, uint64_t stored,
                          uint64_t errors_first)
{
    if (stored > numbers->durable.item) { /* of an older store, whose job ends */
        numbers->changed.item = numbers->flying.item = numbers->durable.item = stored;
    }
    if (items_first > numbers->item + 1) {
        numbers->item = numbers->resumed = items_first - 1;
    }
    if (errors_first > numbers->errors + 1) {
        numbers->errors = errors_first - 1;
    }
}
