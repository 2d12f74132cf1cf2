/* The items of a job that have an answer: a sorted list of numbers. Private to src/worker. */
#ifndef ARCP_WORKER_WORKER_ANSWERS_H
#define ARCP_WORKER_WORKER_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arcp/visibility.h>

/* Zero-initialised is empty. */
typedef struct arcp__worker_answers {
    uint64_t *numbers; /* owned; ascending */
    size_t count, capacity;
} arcp__worker_answers;

/* *is_first: the number was not in the list. False when out of memory: it is not added. */
ARCP_MUST_CHECK bool arcp__worker_answers_add(arcp__worker_answers *answers, uint64_t number,
                                              bool *is_first);
/* Removes all numbers up to `last`. */
void arcp__worker_answers_forget(arcp__worker_answers *answers, uint64_t last);
void arcp__worker_answers_fini(arcp__worker_answers *answers);

#endif
