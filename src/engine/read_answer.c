/* Where the answer to a READ effect goes: the restore, a session's replay, or an observer
 * that is catching up. */
#include "engine/restore.h"

static bool give_to_observation(arcp__engine *engine, uint64_t read_id, uint64_t first,
                                const arcp_span *records, size_t count, bool failed)
{
    for (arcp__session *session = engine->sessions; session != NULL; session = session->hh.next) {
        for (arcp__observation *at = session->observations; at != NULL; at = at->next) {
            if (at->read_id == read_id) {
                arcp__observation_read_done(engine, at, first, records, count, failed);
                return true;
            }
        }
    }
    return false;
}

void arcp__read_done(arcp__engine *engine, uint64_t read_id, arcp_status status, uint64_t first,
                     const arcp_span *records, size_t count)
{
    bool failed = status != ARCP_OK;
    if (!arcp__restore_read_done(engine, read_id, status, first, records, count)) {
        arcp__session *session = engine->sessions;
        while (session != NULL && session->read_id != read_id) {
            session = session->hh.next;
        }
        if (session != NULL) {
            arcp__session_read_done(engine, session, first, records, count, failed);
        } else {
            (void)give_to_observation(engine, read_id, first, records, count, failed);
        }
    }
}
