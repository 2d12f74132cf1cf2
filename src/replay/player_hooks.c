/* The calls of a trace with which the owner configures hooks, and answers. */
#include "replay/player.h"

#include "base/alloc.h"

#define HOOKS_MAX 100000u

void arcp__player_set_hooks(arcp__player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    const uint64_t count = call->numbers[0];
    bool is_valid = true;
    arcp__hook_options *options =
        count > HOOKS_MAX ? NULL : arcp__alloc_array((size_t)count + 1, sizeof *options);
    for (uint64_t i = 0; i < count && options != NULL; i++) {
        arcp__hook_options *hook = &options[i];
        arcp_span *const texts[] = {&hook->name, &hook->target, &hook->agent, &hook->principal};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
            *texts[k] = arcp__recording_text(&more);
        }
        hook->events = (unsigned)arcp__recording_number(&more);
        hook->budget_left_percent = arcp__recording_number(&more);
        hook->stuck_after_sec = arcp__recording_number(&more);
        is_valid = is_valid && hook->name.size != 0 && hook->budget_left_percent < 100;
    }
    if (options == NULL || !is_valid) {
        arcp__player_end_damaged(p, "the hooks cannot be read");
    } else if (arcp__player_is_read(p, &more)) {
        arcp__engine_set_hooks(p->engine, call->now, options, (size_t)count);
    }
    arcp__free(options);
}

void arcp__player_notified(arcp__player *p, const arcp__recording_call *call)
{
    arcp__engine_notified(p->engine, call->now, call->numbers[0], (arcp_status)call->numbers[1],
                          call->texts[0]);
}

void arcp__player_owner_answered(arcp__player *p, const arcp__recording_call *call)
{
    arcp__engine_owner_answered(p->engine, call->now, call->numbers[0],
                                (arcp_status)call->numbers[1], call->texts[0]);
}

void arcp__player_page_key_checked(arcp__player *p, const arcp__recording_call *call)
{
    if (call->texts[0].size == 32) {
        arcp__engine_page_key_checked(p->engine, call->now, (const uint8_t *)call->texts[0].data,
                                      call->numbers[0] != 0);
    }
}
