/* Which stream an index speaks of, after a restart. */
#include "engine/restore.h"

arcp__stream *arcp__restore_own_stream(arcp__engine *engine, arcp__session *session)
{
    if (session->own == NULL) {
        session->own = arcp__stream_new(engine->log, "s:", arcp_span_cstr(session->id));
    }
    return session->own;
}

static arcp__lost_stream *add_lost(arcp__engine *engine, arcp__lost_stream **lost, arcp_span key)
{
    arcp__lost_stream *made = arcp__alloc(sizeof(*made));
    arcp__stream *stream = made == NULL ? NULL : arcp__stream_new(engine->log, "", key);
    if (stream == NULL) {
        arcp__free(made);
        return NULL;
    }
    made->stream = stream;
    HASH_ADD_KEYPTR(hh, *lost, stream->key, key.size, made);
    if (!ARCP__HASH_ADDED(made)) {
        arcp__stream_unref(engine->log, stream);
        arcp__free(made);
        return NULL;
    }
    return made;
}

arcp__stream *arcp__restore_stream(arcp__engine *engine, arcp__lost_stream **lost,
                                   arcp__session *session, arcp_span key)
{
    const arcp_span of_job = ARCP_SPAN_LITERAL("j:");
    const arcp_span of_session = ARCP_SPAN_LITERAL("s:");
    if (arcp_span_starts_with(key, of_job)) {
        const arcp__job *job = arcp__job_find(&engine->jobs, arcp_span_from(key, of_job.size));
        if (job != NULL) {
            return job->stream;
        }
    }
    if (arcp_span_starts_with(key, of_session) &&
        arcp_span_equal_cstr(arcp_span_from(key, of_session.size), session->id)) {
        return arcp__restore_own_stream(engine, session);
    }
    arcp__lost_stream *known = NULL;
    HASH_FIND(hh, *lost, key.data, key.size, known);
    known = known != NULL ? known : add_lost(engine, lost, key);
    return known == NULL ? NULL : known->stream;
}

void arcp__restore_free_lost(arcp__engine *engine, arcp__lost_stream **lost)
{
    arcp__lost_stream *known = NULL;
    arcp__lost_stream *next = NULL;
    HASH_ITER (hh, *lost, known, next) {
        HASH_DEL(*lost, known);
        arcp__stream_unref(engine->log, known->stream);
        arcp__free(known);
    }
}
