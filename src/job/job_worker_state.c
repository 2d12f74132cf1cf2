/* What all files of src/job use of jobs on workers; it calls none of them. */
#include <stdio.h>

#include <arcp/secret.h>

#include "job/job_state.h"

/* ---- workers ---- */

arcp__worker_entry *arcp__worker_open(const arcp__jobs *jobs, const char *name)
{
    arcp__worker_entry *worker = jobs->workers;
    while (worker != NULL && (!worker->place.is_open || strcmp(worker->name, name) != 0)) {
        worker = worker->next;
    }
    return worker;
}

arcp__worker_entry *arcp__worker_find(const arcp__jobs *jobs, arcp__worker_life life)
{
    arcp__worker_entry *worker = jobs->workers;
    while (worker != NULL && (!arcp_span_equal_cstr(life.name, worker->name) ||
                              !arcp_span_equal_cstr(life.instance, worker->instance))) {
        worker = worker->next;
    }
    return worker;
}

void arcp__worker_update_room(arcp__jobs *jobs, arcp__worker_entry *worker)
{
    const bool was_open = worker->place.is_open;
    worker->place.is_open =
        worker->state == ARCP__WORKER_JOINED && !worker->is_draining && !worker->is_busy;
    if (worker->place.is_open && !was_open) {
        jobs->workers_opened = true;
        arcp__place_worker_changed(&jobs->placement, &worker->place);
    }
}

void arcp__worker_enter(arcp__jobs *jobs, arcp__worker_entry *worker, arcp__worker_state state)
{
    worker->state = state;
    worker->since_wall_ns = jobs->context->now.wall_ns;
    arcp__worker_update_room(jobs, worker);
}

arcp__worker_entry *arcp__worker_get(arcp__jobs *jobs, arcp__worker_life life)
{
    arcp__worker_entry *worker = arcp__worker_find(jobs, life);
    if (worker == NULL) {
        worker = arcp__alloc(sizeof *worker);
        if (worker == NULL) {
            arcp__context_no_memory(jobs->context);
            return NULL;
        }
        memcpy(worker->name, life.name.data, life.name.size);
        memcpy(worker->instance, life.instance.data, life.instance.size);
        worker->place.name = worker->name;
        arcp__worker_enter(jobs, worker, ARCP__WORKER_AWAY);
        LL_PREPEND(jobs->workers, worker);
    }
    return worker;
}

void arcp__worker_end_busy(arcp__jobs *jobs, arcp__worker_entry *worker)
{
    worker->is_busy = false;
    arcp__context_disarm(jobs->context, &worker->busy_timer);
    arcp__worker_update_room(jobs, worker);
}

/* ---- a job ---- */

bool arcp__job_is_of(const arcp__job *job, const arcp__worker_entry *worker)
{
    return job->live != NULL && arcp__job_is_on_worker(job) &&
           strcmp(job->live->numbers->worker, worker->name) == 0 &&
           strcmp(job->live->numbers->instance, worker->instance) == 0 &&
           (arcp__job_has_agent(job) || job->agent_state == ARCP__AGENT_EXITED);
}

void arcp__job_place_on_worker(arcp__jobs *jobs, arcp__job *job, const char *worker)
{
    if (worker[0] == '\0') {
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
    (void)snprintf(job->live->numbers->worker, ARCP__WORKER_NAME_SIZE, "%s", worker);
}

void arcp__worker_job_left(arcp__jobs *jobs, const arcp__job *job)
{
    const arcp__job_numbers *numbers = job->live->numbers;
    arcp__worker_entry *worker =
        arcp__worker_find(jobs, (arcp__worker_life){arcp_span_cstr(numbers->worker),
                                                    arcp_span_cstr(numbers->instance)});
    if (worker != NULL && worker->is_busy) {
        arcp__worker_end_busy(jobs, worker);
    }
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
        arcp_wipe(numbers->gateway_key, sizeof numbers->gateway_key);
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
