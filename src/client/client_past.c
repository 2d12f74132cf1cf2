/* Jobs that are over and that nobody holds.
 *
 * A runtime has one job for one idempotency key, whatever became of it, and tells its end to a
 * session once. So when a program asks again under a key of its own, the answer names a job of
 * which nothing more will come: its outcome must still be here, or the program must be told that
 * it is not. The latest jobs of programs' keys are therefore kept, within bounds; of all others
 * only a hash of the id, which also tells late answers to submits that were sent twice from
 * answers about jobs that are new. */
#include <assert.h>

#include "base/alloc.h"
#include "client/client_failure.h"
#include "client/client_parts.h"

static size_t bytes_of(const arcp_job *job)
{
    return sizeof(*job) + job->descriptor.size + job->outcome.payload.size +
           job->outcome.bytes.size;
}

static void remember(arcp__client_session *session, arcp_span id)
{
    if (session->gone == NULL) {
        session->gone = arcp__alloc(sizeof(*session->gone));
    }
    if (session->gone != NULL) { /* else a late answer may be taken for a new job */
        arcp__gone_jobs_add(session->gone, id);
    }
}

static void forget(arcp__client_session *session, arcp_job *job)
{
    remember(session, job->id);
    assert(session->jobs != NULL); /* it is in there */
    HASH_DELETE(hh, session->jobs, job);
    job->session = NULL;
    job->owner = NULL;
    arcp__client_job_drop(job);
}

static void unlink_past(arcp__client_session *session, arcp_job *job)
{
    DL_DELETE2(session->past, job, past_prev, past_next);
    job->is_past = false;
    session->past_bytes -= job->past_size;
}

void arcp__client_past_take_back(arcp__client_session *session, arcp_job *job)
{
    if (job->is_past) {
        unlink_past(session, job);
    }
}

void arcp__client_past_add(arcp__client_session *session, arcp_job *job)
{
    if (job->is_past) {
        return;
    }
    if (!job->is_keyed) {
        forget(session, job);
        return;
    }
    job->is_past = true;
    job->past_size = bytes_of(job);
    session->past_bytes += job->past_size;
    DL_APPEND2(session->past, job, past_prev, past_next);
    while (session->past != NULL && session->past_bytes > ARCP__PAST_BYTES_MAX) {
        arcp_job *oldest = session->past;
        unlink_past(session, oldest);
        forget(session, oldest);
    }
}

bool arcp__client_past_is_gone(const arcp__client_session *session, arcp_span id)
{
    return session->gone != NULL && arcp__gone_jobs_has(session->gone, id);
}

void arcp__client_past_answer(arcp__client_session *session, arcp__client_request *request,
                              arcp_span id)
{
    arcp_failure failure = ARCP_FAILURE_INIT;
    (void)arcp__client_failure_set(
        &failure, ARCP_E_CLOSED,
        "the job %.*s of this idempotency_key has ended; its outcome is no longer kept",
        (int)id.size, id.data);
    arcp__client_request_finish(session, request, &failure, NULL, NULL);
}
