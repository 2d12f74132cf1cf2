/* Whether a loop that has nothing to do looks on for a while before it sleeps.
 *
 * Waking a core takes longer than answering a small message. Where one message follows the answer
 * to another, looking on for as long as that takes saves both. It is of no use anywhere else, so it
 * has to be earned: some waits in a row must have been short, and one that was long ends it. What
 * is spent in vain is therefore at most one window for each streak of messages that came in time,
 * and a loop with little to do never looks on.
 *
 * No clock and no loop: who has them says when a turn of the loop with something to do began and
 * ended, and asks in every other turn whether to look on. Instants and durations are nanoseconds,
 * of one clock that does not go back. */
#ifndef ARCP_RUNTIME_BUSY_POLL_H
#define ARCP_RUNTIME_BUSY_POLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many short waits in a row allow it. */
#define ARCP__BUSY_POLL_STREAK 8u
/* More messages than this in a turn are a batch: sleeping lets the next one gather, and a batch
 * costs less than its messages one by one. */
#define ARCP__BUSY_POLL_MESSAGES_MAX 2u

typedef struct arcp__busy_poll {
    int64_t window_ns; /* looks on for so long at most; 0: never */
    int64_t ended_ns;  /* the last turn with something to do */
    int64_t looked_ns; /* since the last message */
    unsigned streak;   /* of short waits, until now */
    bool is_looking;
} arcp__busy_poll;

/* Another window, from the next wait on. All zeros is a poll that never looks. */
void arcp__busy_poll_set_window(arcp__busy_poll *poll, int64_t window_ns);

/* A turn with something to do begins; `messages` that peers sent led to it, or none: a deadline
 * that passed, an answer of the store. */
void arcp__busy_poll_begin(arcp__busy_poll *poll, int64_t now_ns, size_t messages);

/* It is over. True: look on rather than sleep; never when it must not (`may` is false). */
bool arcp__busy_poll_end(arcp__busy_poll *poll, int64_t now_ns, bool may);

/* A turn with nothing to do. False: sleep. */
bool arcp__busy_poll_look_on(arcp__busy_poll *poll, int64_t now_ns);

#endif
