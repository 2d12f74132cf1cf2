#include "job/job_state.h"

/* Moves the jobs to the front, closing the holes of removed jobs. */
static void close_holes(arcp__job_list *list)
{
    size_t to = 0;
    for (size_t i = list->first; i < list->count; i++) {
        arcp__job *job = list->jobs[i];
        if (job != NULL) {
            job->places[list->of] = to;
            list->jobs[to++] = job;
        }
    }
    list->first = 0;
    list->count = to;
    list->holes = 0;
}

bool arcp__job_list_add(arcp__job_list *list, arcp__job *job)
{
    if (list->count == list->capacity && list->first + list->holes > list->capacity / 2) {
        close_holes(list);
    }
    arcp__job **grown = arcp__make_room(list->jobs, list->count, &list->capacity, sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    list->jobs = grown;
    /* Ids grow with time; only a job that is restored after a restart, or that waited for a
     * credential, is added later than its id says. */
    size_t place = list->count++;
    const bool is_newest = strcmp(list->newest, job->id) < 0;
    if (is_newest) {
        memcpy(list->newest, job->id, sizeof job->id);
    }
    while (!is_newest && place > list->first &&
           (list->jobs[place - 1] == NULL || strcmp(list->jobs[place - 1]->id, job->id) > 0)) {
        list->jobs[place] = list->jobs[place - 1];
        if (list->jobs[place] != NULL) {
            list->jobs[place]->places[list->of] = place;
        }
        place--;
    }
    list->jobs[place] = job;
    job->places[list->of] = place;
    return true;
}

void arcp__job_list_remove(arcp__job_list *list, const arcp__job *job)
{
    list->jobs[job->places[list->of]] = NULL;
    list->holes++;
    while (list->first < list->count && list->jobs[list->first] == NULL) {
        list->first++;
        list->holes--;
    }
    if (list->first == list->count) {
        list->first = list->count = 0;
    } else if (list->holes > (list->count - list->first) / 2) {
        close_holes(list);
    }
}

/* Compares a job's id with a text as memcmp does. */
static int compare(const arcp__job *job, arcp_span id)
{
    const size_t size = strlen(job->id);
    const int order = id.size == 0 ? 0 : memcmp(job->id, id.data, size < id.size ? size : id.size);
    return order != 0 ? order : (size > id.size) - (size < id.size);
}

/* The first index whose job compares with `id` as `least` or greater. */
static size_t find(const arcp__job_list *list, arcp_span id, int least)
{
    size_t low = list->first;
    size_t high = list->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        size_t probe = middle;
        while (probe > low && list->jobs[probe] == NULL) {
            probe--;
        }
        const arcp__job *job = list->jobs[probe];
        if (job == NULL || compare(job, id) < least) {
            low = middle + 1;
        } else {
            high = probe;
        }
    }
    return low;
}

size_t arcp__job_list_after(const arcp__job_list *list, arcp_span id)
{
    return find(list, id, 1);
}

size_t arcp__job_list_from(const arcp__job_list *list, arcp_span id)
{
    return find(list, id, 0);
}

static bool begins_with(const arcp__job *job, arcp_span text)
{
    const arcp_span id = arcp_span_cstr(job->id);
    return arcp_span_starts_with(id, text) || arcp_span_starts_with(arcp_span_from(id, 4), text);
}

static bool ends_with(const arcp__job *job, arcp_span text)
{
    const arcp_span id = arcp_span_cstr(job->id);
    return id.size >= text.size && arcp_span_equal(arcp_span_from(id, id.size - text.size), text);
}

size_t arcp__job_list_search(const arcp__job_list *list, arcp_span text, size_t look_max,
                             arcp__job **out, size_t max)
{
    size_t found = 0;
    for (size_t at = list->count; at > list->first && look_max != 0 && found < max; at--) {
        arcp__job *job = list->jobs[at - 1];
        if (job == NULL) {
            continue;
        }
        look_max--;
        if (begins_with(job, text) || ends_with(job, text)) {
            out[found++] = job;
        }
    }
    return found;
}
