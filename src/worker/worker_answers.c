#include "worker/worker_answers.h"

#include <string.h>

#include "base/alloc.h"

/* The index of the first number that is not below `number`. Most are added at the end. */
static size_t place_of(const arcp__worker_answers *answers, uint64_t number)
{
    size_t low = 0;
    size_t high = answers->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (answers->numbers[middle] < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool arcp__worker_answers_add(arcp__worker_answers *answers, uint64_t number, bool *is_first)
{
    const size_t place = place_of(answers, number);
    *is_first = place == answers->count || answers->numbers[place] != number;
    if (!*is_first) {
        return true;
    }
    uint64_t *room = arcp__make_room(answers->numbers, answers->count, &answers->capacity,
                                     sizeof *answers->numbers);
    if (room == NULL) {
        return false;
    }
    answers->numbers = room;
    memmove(room + place + 1, room + place, (answers->count - place) * sizeof *room);
    room[place] = number;
    answers->count++;
    return true;
}

void arcp__worker_answers_forget(arcp__worker_answers *answers, uint64_t last)
{
    const size_t gone = last == UINT64_MAX ? answers->count : place_of(answers, last + 1);
    answers->count -= gone;
    if (gone != 0) {
        memmove(answers->numbers, answers->numbers + gone, answers->count * sizeof(uint64_t));
    }
}

void arcp__worker_answers_fini(arcp__worker_answers *answers)
{
    arcp__free(answers->numbers);
    *answers = (arcp__worker_answers){.count = 0};
}
