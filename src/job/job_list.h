/* Jobs in the order of their ids: those of a principal, and all. */
#ifndef ARCP_JOB_JOB_LIST_H
#define ARCP_JOB_JOB_LIST_H

#include "context/context.h"

struct arcp__job;

/* Which lists a job is in. */
typedef enum arcp__job_list_of {
    ARCP__LIST_OF_PRINCIPAL,
    ARCP__LIST_OF_ALL,
    ARCP__JOB_LISTS
} arcp__job_list_of;

/* Ids grow with time, so this is also the order in which the jobs were created. */
typedef struct arcp__job_list {
    arcp__job_list_of of;
    struct arcp__job **jobs; /* owned array; [first, count) is used; NULL where one was removed */
    char newest[ARCP__ID_SIZE];
    size_t first, count, capacity, holes; /* holes: between first and count */
} arcp__job_list;

/* The first index whose job has an id after, or not before, this one; list->count: there is none.
 * An index is valid until the list changes. */
size_t arcp__job_list_after(const arcp__job_list *list, arcp_span id);
size_t arcp__job_list_from(const arcp__job_list *list, arcp_span id);
/* The jobs whose ids begin with the text, with or without "job_", or end with it, the newest first;
 * only the newest `look_max` jobs are looked at. Returns how many of them are in `out`,
 * at most `max`. */
size_t arcp__job_list_search(const arcp__job_list *list, arcp_span text, size_t look_max,
                             struct arcp__job **out, size_t max);

#endif
