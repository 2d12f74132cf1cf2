/* When what a session numbered is durable.
 *
 * A session that has new numbers, or an answer that waits for its turn, is listed as dirty until
 * the open batch is taken; then its index goes into that batch, and a mark says up to where it
 * reaches. Batches commit in order: when one is durable, so are the marks up to it. */
#include "engine/parts.h"

#include <assert.h>

bool arcp__session_mark(arcp__engine *engine, arcp__session *session)
{
    assert(!session->ended);
    if (session->is_dirty) {
        return true;
    }
    if (!arcp__batch_touch(engine->log)) {
        return false;
    }
    session->is_dirty = true;
    DL_APPEND2(engine->dirty, session, dirty_previous, dirty_next);
    return true;
}

bool arcp__session_is_marked(const arcp__session *session)
{
    return session->is_dirty || session->marks != 0;
}

static void clean(arcp__engine *engine, arcp__session *session)
{
    if (session->is_dirty) {
        session->is_dirty = false;
        DL_DELETE2(engine->dirty, session, dirty_previous, dirty_next);
    }
}

void arcp__session_unmark(arcp__engine *engine, arcp__session *session)
{
    clean(engine, session);
    for (size_t at = engine->mark_first; at < engine->mark_end && session->marks != 0; at++) {
        if (engine->marks[at].session == session) {
            engine->marks[at].session = NULL;
            session->marks--;
        }
    }
}

static bool make_room_for_mark(arcp__engine *engine)
{
    const size_t used = engine->mark_end - engine->mark_first;
    if (engine->mark_end < engine->mark_capacity) {
        return true;
    }
    if (used <= engine->mark_capacity / 2 && used != engine->mark_end) {
        memmove(engine->marks, engine->marks + engine->mark_first, used * sizeof *engine->marks);
        engine->mark_first = 0;
        engine->mark_end = used;
    } else {
        const size_t capacity = engine->mark_capacity == 0 ? 16 : engine->mark_capacity * 2;
        arcp__durable_mark *marks = arcp__realloc_array(engine->marks, capacity, sizeof *marks);
        if (marks == NULL) {
            arcp__context_no_memory(&engine->context);
            return false;
        }
        engine->marks = marks;
        engine->mark_capacity = capacity;
    }
    return true;
}

bool arcp__sessions_write_indexes(arcp__engine *engine)
{
    while (engine->dirty != NULL) {
        arcp__session *session = engine->dirty;
        if (!make_room_for_mark(engine)) {
            return false;
        }
        if (!arcp__session_write_index(engine, session)) {
            /* The rest goes with a later batch, and is not durable before. */
            arcp__context_owe(&engine->context);
        }
        clean(engine, session);
        session->marks++;
        engine->marks[engine->mark_end++] =
            (arcp__durable_mark){arcp__batch_open_id(engine->log), session, session->indexed_seq};
    }
    return true;
}

void arcp__sessions_durable(arcp__engine *engine)
{
    while (engine->mark_first < engine->mark_end &&
           engine->marks[engine->mark_first].batch_id <= arcp__log_committed_id(engine->log)) {
        const arcp__durable_mark *mark = &engine->marks[engine->mark_first++];
        if (mark->session != NULL) {
            mark->session->marks--;
            mark->session->durable_seq = mark->seq;
            arcp__session_wake(engine, mark->session);
        }
    }
}
