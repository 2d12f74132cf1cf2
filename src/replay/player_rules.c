/* What an engine may expect of its owner (engine/engine.h). The engine asserts some of it, and a
 * trace is a file that anybody may have edited: a call that breaks a rule is refused before it is
 * made. A trace that arcpd has written keeps the rules; if the engine fails an assertion in one, so
 * does its replay. */
#include "replay/player.h"

/* So that sums of a time and a timeout fit an int64_t: 146 years since 1970, 73 years since the
 * machine was started. */
#define WALL_NS_MAX (INT64_MAX / 2)
#define MONO_NS_MAX (INT64_MAX / 4)
/* Of handling one frame: a day. A principal pauses for a multiple of it. */
#define TOOK_NS_MAX (86400 * ARCP_NS_PER_SEC)

arcp__played_link *arcp__player_link(const arcp__player *p, uint64_t number)
{
    return number == 0 || number > p->link_count ? NULL : p->links[number - 1];
}

static const char *broken_by_row(const arcp__player *p)
{
    if (p->restore_is_over) {
        return "the engine is restored already";
    }
    return p->row_has_failed ? "a row before it could not be restored" : NULL;
}

static const char *broken_by_frame(const arcp__player *p, const arcp__recording_call *call)
{
    const arcp__played_link *link = arcp__player_link(p, call->link);
    return link != NULL && link->is_paused ? "the link takes no frames now" : NULL;
}

const char *arcp__player_broken_rule(const arcp__player *p, const arcp__recording_call *call)
{
    const arcp__call_kind kind = call->kind;
    if (call->now.wall_ns < -WALL_NS_MAX || call->now.wall_ns > WALL_NS_MAX ||
        call->now.mono_ns < 0 || call->now.mono_ns > MONO_NS_MAX) {
        return "its time is out of range";
    }
    if (kind == ARCP__CALL_BEGIN) {
        return NULL;
    }
    if (p->engine == NULL) {
        return "it does not begin with an engine";
    }
    if (kind == ARCP__CALL_RESTORE_ROW || kind == ARCP__CALL_RESTORE_DONE) {
        return broken_by_row(p);
    }
    if (kind == ARCP__CALL_CONNECT && !arcp__engine_is_restored(p->engine)) {
        return "the engine is not restored yet";
    }
    if (kind == ARCP__CALL_RECEIVE) {
        return broken_by_frame(p, call);
    }
    if (kind == ARCP__CALL_FRAME_TOOK && call->numbers[0] > (uint64_t)TOOK_NS_MAX) {
        return "its duration is out of range";
    }
    if (kind == ARCP__CALL_PROVISION_REQUEST &&
        (p->provision_id == 0 || p->provision_id != call->numbers[0])) {
        return "it does not follow the effect that asks for it";
    }
    if (kind == ARCP__CALL_AGENT_DENIED &&
        (call->numbers[0] >= ARCP__DENIAL_LAYER_COUNT || call->numbers[1] >= ARCP_STATUS_COUNT)) {
        return "its layer or code is out of range";
    }
    if ((kind == ARCP__CALL_REFUSED &&
         (call->texts[1].data == NULL || call->texts[2].data == NULL)) ||
        (kind == ARCP__CALL_AGENT_LOG && call->texts[0].data == NULL)) {
        return "a text is missing";
    }
    return NULL;
}
