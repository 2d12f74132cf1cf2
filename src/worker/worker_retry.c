#include "worker/worker_retry.h"

#define FIRST_MS 100u

uint32_t arcp__worker_retry_next(arcp__worker_retry *retry, uint32_t most_ms, uint16_t draw)
{
    const uint32_t pause_ms = retry->next_ms > most_ms ? most_ms : retry->next_ms;
    retry->next_ms = pause_ms == 0 ? FIRST_MS : pause_ms * 2;
    return pause_ms - (uint32_t)((uint64_t)pause_ms / 2 * draw / UINT16_MAX);
}
