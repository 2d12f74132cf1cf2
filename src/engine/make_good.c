/* What memory ran out for, made good when there is some again.
 *
 * Most inputs that run out of memory are given up: their link is closed, their job ends
 * (input.c). Some things cannot be given up: the end of a job, a row that says so, numbers
 * for a session that has nothing to do with the input. They are marked where they belong and
 * tried again at the next input, and every tenth of a second when there is none. */
#include "engine/parts.h"

void arcp__job_owe_end(arcp__engine *engine, arcp__job *job)
{
    job->owes_end = true;
    arcp__context_owe(&engine->context);
}

static void make_good_job(arcp__engine *engine, arcp__job *job)
{
    if (job->over_limit != NULL && !job->ended) {
        arcp__job_end_over(engine, job);
    } else if (job->owes_end && !job->ended) {
        arcp__job_fail_with(engine, job, ARCP_E_INTERNAL_ERROR, "the runtime ran out of memory");
    }
    if (job->owes_row) {
        arcp__job_store(engine, job);
    }
    arcp__job_update_pressure(engine, job);
}

static void make_good_session(arcp__engine *engine, arcp__session *session)
{
    if (session->owes_row) {
        arcp__session_store(engine, session);
    }
    if (session->indexed_seq + 1 < session->next_seq && !arcp__session_mark(engine, session)) {
        arcp__context_owe(&engine->context);
    }
    for (arcp__observation *at = session->observations; at != NULL; at = at->next) {
        if (at->row_is_old) {
            arcp__observation_store(engine, at);
        }
        arcp__observation_catch_up(engine, at);
    }
    arcp__session_wake(engine, session);
}

void arcp__engine_make_good(arcp__engine *engine)
{
    engine->context.owes = false;
    for (arcp__job *job = engine->jobs, *next = NULL; job != NULL; job = next) {
        next = job->hh.next;
        make_good_job(engine, job);
    }
    for (arcp__session *session = engine->sessions; session != NULL; session = session->hh.next) {
        make_good_session(engine, session);
    }
    while (arcp__mail_deliver(engine)) {
    }
    if (engine->context.out_of_memory) {
        engine->context.out_of_memory = false;
        engine->context.owes = true;
    }
}
