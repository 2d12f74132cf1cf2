/* The end of the lease and --max-runtime, and how the command is ended then. */
#include <signal.h>

#include "arcp/run_process.h"
#include "base/clock.h"
#include "launch/sandbox_kill.h"

/* Between SIGTERM and SIGKILL when --max-runtime is reached. */
#define TERM_GRACE_NS (5 * ARCP_NS_PER_SEC)
/* The wall clock may be set while we wait. */
#define WAIT_MS_MAX 1000

void arcp__run_kill(arcp__running *running)
{
    if (running->run->plan->level == ARCP__SANDBOX_LEVEL_FULL) {
        arcp__run_send(running, SIGKILL);
    } else {
        arcp__sandbox_kill(running->process, running->kill_calls++);
    }
    running->kill_mono_ns =
        arcp__clock_now().mono_ns + ARCP__SANDBOX_KILL_AGAIN_MS * ARCP_NS_PER_MS;
}

/* The smaller of a wait and the time until then, in milliseconds, rounded up. */
static uint64_t until(uint64_t wait_ms, int64_t left_ns)
{
    const uint64_t left_ms = left_ns <= 0 ? 0 : (uint64_t)((left_ns - 1) / ARCP_NS_PER_MS + 1);
    return left_ms < wait_ms ? left_ms : wait_ms;
}

/* Ends the command when its time is over; returns when to look again, in milliseconds. */
static uint64_t watch(arcp__running *running)
{
    const arcp_time now = arcp__clock_now();
    const int64_t expires_wall_ns = arcp_lease_expires_wall_ns(running->run->lease);
    const int64_t passed_ns = now.mono_ns - running->begun.mono_ns;
    uint64_t wait_ms = WAIT_MS_MAX;
    if (expires_wall_ns != ARCP_TIME_NEVER && !running->is_expired) {
        const int64_t left_wall_ns = expires_wall_ns - now.wall_ns;
        const int64_t left_mono_ns = expires_wall_ns - running->begun.wall_ns - passed_ns;
        const int64_t left_ns = left_wall_ns < left_mono_ns ? left_wall_ns : left_mono_ns;
        wait_ms = until(wait_ms, left_ns);
        if (left_ns <= 0) {
            running->is_expired = true;
            arcp__run_network_close(running);
            arcp__run_kill(running);
        }
    }
    if (running->run->max_runtime_sec != 0 && !running->is_timed_out) {
        const int64_t left_ns = running->max_runtime_ns - passed_ns;
        wait_ms = until(wait_ms, left_ns);
        if (left_ns <= 0) {
            running->is_timed_out = true;
            arcp__run_network_close(running);
            running->kill_mono_ns = now.mono_ns + TERM_GRACE_NS;
            arcp__run_send(running, SIGTERM);
            arcp__run_send(running, SIGCONT);
        }
    }
    if ((running->is_timed_out || running->is_expired) && now.mono_ns >= running->kill_mono_ns) {
        arcp__run_kill(running);
    }
    return running->is_expired || running->is_timed_out
               ? until(WAIT_MS_MAX, running->kill_mono_ns - now.mono_ns)
               : wait_ms;
}

static void on_time(uv_timer_t *timer)
{
    const uint64_t wait_ms = watch(timer->data);
    uv_update_time(timer->loop);
    (void)uv_timer_start(timer, on_time, wait_ms, 0);
}

void arcp__run_time_start(arcp__running *running)
{
    (void)uv_timer_init(&running->loop, &running->timer);
    running->timer.data = running;
    if (arcp_lease_expires_wall_ns(running->run->lease) != ARCP_TIME_NEVER ||
        running->run->max_runtime_sec != 0) {
        on_time(&running->timer);
    }
}
