#include "runtime/busy_poll.h"

void arcp__busy_poll_set_window(arcp__busy_poll *poll, int64_t window_ns)
{
    *poll = (arcp__busy_poll){.window_ns = window_ns, .ended_ns = poll->ended_ns};
}

static bool was_short(const arcp__busy_poll *poll, int64_t wait_ns)
{
    if (poll->is_looking) {
        return poll->looked_ns <= poll->window_ns;
    }
    if (poll->looked_ns != 0) {
        return false; /* it looked in vain, and slept then */
    }
    /* Who slept had to be woken, too: that is not the peer's time. */
    return wait_ns <= poll->window_ns + poll->window_ns / 2;
}

void arcp__busy_poll_begin(arcp__busy_poll *poll, int64_t now_ns, size_t messages)
{
    int64_t wait_ns = now_ns - poll->ended_ns;
    poll->looked_ns += poll->is_looking ? wait_ns : 0;
    if (messages != 0) {
        bool is_useful = messages <= ARCP__BUSY_POLL_MESSAGES_MAX && was_short(poll, wait_ns);
        if (!is_useful) {
            poll->streak = 0;
        } else if (poll->streak < ARCP__BUSY_POLL_STREAK) {
            poll->streak++;
        }
        poll->looked_ns = 0;
    }
}

bool arcp__busy_poll_end(arcp__busy_poll *poll, int64_t now_ns, bool may)
{
    poll->ended_ns = now_ns;
    poll->is_looking =
        may && poll->streak == ARCP__BUSY_POLL_STREAK && poll->looked_ns < poll->window_ns;
    return poll->is_looking;
}

bool arcp__busy_poll_look_on(arcp__busy_poll *poll, int64_t now_ns)
{
    int64_t wait_ns = now_ns - poll->ended_ns;
    if (poll->is_looking && poll->looked_ns + wait_ns >= poll->window_ns) {
        poll->looked_ns += wait_ns;
        poll->is_looking = false; /* and the next message finds that it was in vain */
    }
    return poll->is_looking;
}
