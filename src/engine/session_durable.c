/* When what a session numbered is durable.
 *
 * A session that has new numbers, or an answer that waits for its turn, is listed until the batch
 * that shows them is committed. When the open batch is taken, the index of the numbers goes into it
 * (session_outbox.c), and each run has the batch of its index; batches commit in order. */
#include "engine/parts.h"

void arcp__session_mark(arcp__engine *engine, arcp__session *session)
{
    if (session->waits_for == arcp__batch_open_id(engine->log) &&
        arcp__batch_gathered(engine->log) != 0) {
        return;
    }
    arcp__batch_touch(engine->log);
    if (arcp__batch_gathered(engine->log) == 0) {
        return; /* out of memory: there is no batch to wait for */
    }
    if (session->waits_for == 0) {
        DL_APPEND2(engine->undurable, session, undurable_previous, undurable_next);
    }
    session->waits_for = arcp__batch_open_id(engine->log);
}

void arcp__session_unmark(arcp__engine *engine, arcp__session *session)
{
    if (session->waits_for != 0) {
        session->waits_for = 0;
        DL_DELETE2(engine->undurable, session, undurable_previous, undurable_next);
    }
}

void arcp__sessions_write_indexes(arcp__engine *engine)
{
    for (arcp__session *session = engine->undurable; session != NULL;
         session = session->undurable_next) {
        arcp__session_write_index(engine, session);
    }
}

void arcp__sessions_durable(arcp__engine *engine)
{
    const uint64_t committed_id = arcp__log_committed_id(engine->log);
    for (arcp__session *session = engine->undurable, *next = NULL; session != NULL;
         session = next) {
        next = session->undurable_next;
        arcp__session_note_durable(session, committed_id);
        arcp__session_wake(engine, session);
        if (session->waits_for <= committed_id) {
            arcp__session_unmark(engine, session);
        }
    }
}
