/* A job as the client knows it, and the jobs of a session: those that are known, and those that
 * were.
 *
 * A runtime has one job for one idempotency key, whatever became of it, and tells its end to a
 * session once. So when a program asks again under a key of its own, the answer names a job of
 * which nothing more will come: its outcome must still be here, or the program must be told that
 * it is not. The latest jobs of programs' keys are therefore kept when they are over and nobody
 * holds them, within bounds; of all others only a hash of the id, which also tells late answers to
 * submits that were sent twice from answers about jobs that are new. */
#include <assert.h>

#include "base/alloc.h"
#include "client/client_job.h"

/* ---- the record ---- */

arcp_job *arcp__client_job_new(arcp_span id)
{
    arcp_job *job = arcp__alloc(sizeof(*job));
    if (job == NULL) {
        return NULL;
    }
    job->id = arcp__arena_copy(&job->strings, id);
    if (job->id.data == NULL) {
        arcp__free(job);
        return NULL;
    }
    arcp_span *const texts[] = {&job->agent,     &job->lease,     &job->constraints,
                                &job->trace_id,  &job->parent_id, &job->delegate_id,
                                &job->descriptor};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i] = ARCP_SPAN_LITERAL("");
    }
    job->error.details = &job->error_details;
    atomic_init(&job->refs, 1);
    atomic_init(&job->handles, 0);
    atomic_init(&job->over, false);
    job->status = ARCP_JOB_PENDING;
    return job;
}

void arcp__client_job_hold(arcp_job *job)
{
    atomic_fetch_add_explicit(&job->refs, 1, memory_order_relaxed);
}

void arcp__client_job_hold_handle(arcp_job *job)
{
    arcp__client_job_hold(job);
    atomic_fetch_add_explicit(&job->handles, 1, memory_order_relaxed);
}

void arcp__client_job_drop(arcp_job *job)
{
    if (job == NULL || atomic_fetch_sub_explicit(&job->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    arcp__client_item_free(job->current);
    arcp__client_result_stream_fini(&job->stream);
    arcp_secret_free(job->credentials);
    arcp_buf_fini(&job->error_details);
    arcp__arena_fini(&job->strings);
    arcp__free(job->budgets);
    arcp__free(job);
}

void arcp__client_job_drop_handle(arcp_job *job)
{
    if (job != NULL) {
        atomic_fetch_sub_explicit(&job->handles, 1, memory_order_relaxed);
        arcp__client_job_drop(job);
    }
}

/* ---- handing over ---- */

void arcp__client_job_hand_over(arcp_job *job, arcp__client_item *item)
{
    arcp_outcome *outcome = &job->outcome;
    if (item->event.type == ARCP_CLIENT_JOB_EVENT && item->event.kind == ARCP_EVENT_RESULT_CHUNK) {
        arcp__client_result_stream_take(&job->stream, item->event.body);
    }
    if (item->event.type != ARCP_CLIENT_JOB_ENDED) {
        return;
    }
    uint64_t told = outcome->streamed_bytes;
    outcome->streamed_bytes = job->stream.bytes;
    outcome->bytes = arcp_span_make(arcp_buf_cstr(&job->stream.memory), job->stream.memory.size);
    if (outcome->status == ARCP_OK) {
        arcp__client_result_stream_finish(&job->stream, outcome->result_id, told);
        if (job->stream.result_id != NULL) {
            outcome->result = ARCP_SPAN_LITERAL("");
            outcome->result_id = outcome->result_id.size != 0
                                     ? outcome->result_id
                                     : arcp_span_cstr(job->stream.result_id);
        }
        if (job->stream.error.status != ARCP_OK) {
            (void)arcp_error_copy(&job->error, &job->stream.error);
            outcome->status = job->stream.error.status;
            outcome->error = &job->error;
        }
    }
    item->event.error = outcome->error;
    atomic_store(&job->over, true);
}

/* ---- those of a session ---- */

arcp_job *arcp__client_session_find_job(arcp__client_session *session, arcp_span id)
{
    arcp_job *job = NULL;
    HASH_FIND(hh, session->jobs, id.data, id.size, job);
    return job;
}

arcp_job *arcp__client_session_job(arcp__client_session *session, arcp_span id)
{
    arcp_job *job = arcp__client_session_find_job(session, id);
    if (job != NULL) {
        return job;
    }
    job = arcp__client_job_new(id);
    if (job != NULL) {
        HASH_ADD_KEYPTR(hh, session->jobs, job->id.data, job->id.size, job);
    }
    if (job == NULL || !ARCP__HASH_ADDED(job)) {
        session->failed = true;
        arcp__client_job_drop(job);
        return NULL;
    }
    job->session = session;
    job->owner = session->owner;
    return job;
}

/* ---- becoming known ---- */

void arcp__client_session_announce(arcp__client_session *session, arcp_job *job, bool by_reply)
{
    if (!job->announced && !by_reply) {
        arcp__client_item *added =
            arcp__client_item_new(ARCP_CLIENT_JOB_ADDED, job, job->descriptor.size);
        if (added == NULL) {
            session->failed = true;
            return;
        }
        added->payload = arcp__client_item_place(added, job->descriptor);
        arcp__client_item_queue(session, added);
    }
    job->announced = true;
    arcp__client_item *item = NULL;
    arcp__client_item *next = NULL;
    DL_FOREACH_SAFE (job->held, item, next) {
        DL_DELETE(job->held, item);
        uint64_t seq = item->event.event_seq;
        arcp__client_item_queue(session, item);
        item->floor_seq = seq == 0 ? item->floor_seq : seq - 1;
    }
}

/* ---- ids of those that are gone ---- */

static uint16_t *bucket_of(arcp__gone_jobs *gone, uint64_t hash)
{
    return &gone->buckets[hash % ARCP__GONE_JOBS_MAX];
}

void arcp__gone_jobs_add(arcp__gone_jobs *gone, arcp_span id)
{
    uint64_t hash = arcp__hash_bytes(id.data, id.size);
    size_t place = gone->added % ARCP__GONE_JOBS_MAX;
    if (gone->added >= ARCP__GONE_JOBS_MAX) { /* the oldest leaves its bucket */
        uint16_t *at = bucket_of(gone, gone->hashes[place]);
        while (*at != place + 1) {
            at = &gone->next[*at - 1];
        }
        *at = gone->next[place];
    }
    uint16_t *bucket = bucket_of(gone, hash);
    gone->hashes[place] = hash;
    gone->next[place] = *bucket;
    *bucket = (uint16_t)(place + 1);
    gone->added++;
}

bool arcp__gone_jobs_has(const arcp__gone_jobs *gone, arcp_span id)
{
    uint64_t hash = arcp__hash_bytes(id.data, id.size);
    if (gone == NULL) {
        return false;
    }
    uint16_t at = gone->buckets[hash % ARCP__GONE_JOBS_MAX];
    while (at != 0 && gone->hashes[at - 1] != hash) {
        at = gone->next[at - 1];
    }
    return at != 0;
}

/* ---- being over ---- */

static void forget(arcp__client_session *session, arcp_job *job)
{
    if (session->gone == NULL) {
        session->gone = arcp__alloc(sizeof(*session->gone));
    }
    if (session->gone != NULL) { /* else a late answer may be taken for a new job */
        arcp__gone_jobs_add(session->gone, job->id);
    }
    assert(session->jobs != NULL); /* it is in there */
    HASH_DELETE(hh, session->jobs, job);
    job->session = NULL;
    job->owner = NULL;
    arcp__client_job_drop(job);
}

void arcp__client_past_take_back(arcp__client_session *session, arcp_job *job)
{
    if (job->is_past) {
        DL_DELETE2(session->past, job, past_prev, past_next);
        job->is_past = false;
        session->past_bytes -= job->past_size;
    }
}

void arcp__client_session_reap(arcp_job *job)
{
    arcp__client_session *session = job->session;
    if (session == NULL || !atomic_load(&job->over) || atomic_load(&job->handles) != 0 ||
        job->is_past) {
        return;
    }
    if (!job->is_keyed) {
        forget(session, job);
        return;
    }
    job->is_past = true;
    job->past_size =
        sizeof(*job) + job->descriptor.size + job->outcome.payload.size + job->outcome.bytes.size;
    session->past_bytes += job->past_size;
    DL_APPEND2(session->past, job, past_prev, past_next);
    while (session->past != NULL && session->past_bytes > ARCP__PAST_BYTES_MAX) {
        arcp_job *oldest = session->past;
        arcp__client_past_take_back(session, oldest);
        forget(session, oldest);
    }
}
