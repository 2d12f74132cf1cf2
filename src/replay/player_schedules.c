/* The call set_schedules of a trace. */
#include "replay/player.h"

#include "base/alloc.h"

#define SCHEDULES_MAX 100000u

void arcp__player_set_schedules(arcp__player *p, const arcp__recording_call *call)
{
    arcp__recording_fields more = call->more;
    const uint64_t count = call->numbers[0];
    arcp__schedule_options *options =
        count > SCHEDULES_MAX ? NULL : arcp__alloc_array((size_t)count + 1, sizeof *options);
    for (uint64_t i = 0; i < count && options != NULL; i++) {
        arcp_span *const texts[] = {&options[i].name,   &options[i].agent, &options[i].principal,
                                    &options[i].cron,   &options[i].zone,  &options[i].tzif,
                                    &options[i].request};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
            *texts[k] = arcp__recording_text(&more);
        }
        options[i].every_sec = arcp__recording_number(&more);
        options[i].overlap = (arcp__overlap)arcp__recording_number(&more);
        options[i].catch_up = (arcp__catch_up)arcp__recording_number(&more);
    }
    if (options == NULL) {
        arcp__player_end_damaged(p, "the schedules cannot be read");
    } else if (arcp__player_is_read(p, &more)) {
        const arcp_status ignored =
            arcp__engine_set_schedules(p->engine, call->now, options, (size_t)count, NULL);
        (void)ignored; /* it is compared with the trace */
    }
    arcp__free(options);
}
