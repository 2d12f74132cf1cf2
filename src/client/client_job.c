/* The client's record of a job, and the jobs of a session: current ones, kept ones and removed
 * ones.
 *
 * A runtime has one job per idempotency key, even after it has ended, and sends its end to a
 * session only once. So when a program repeats a submit with its own key, the response may name a
 * job about which nothing more will be sent: its outcome must still be here, or the program must
 * learn that it is not. Therefore the latest jobs with keys of the program are kept, within a
 * limit, when they are over and the program has no handle. Of all other jobs only a hash of the id
 * is kept; it also distinguishes late responses to repeated submits from responses about new jobs.
 */
#include <assert.h>

#include "base/alloc.h"
#include "client/client_job.h"

/* ---- the record ---- */

arcp_job *arcp__client_job_new(arcp_span id)
{
    arcp_job *job = arcp__alloc(sizeof *job);
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

/* ---- delivery ---- */

void arcp__client_job_hand_over(arcp_job *job, arcp__client_item *item)
{
    arcp_outcome *outcome = &job->outcome;
    if (item->event.type == ARCP_CLIENT_JOB_EVENT && item->event.kind == ARCP_EVENT_RESULT_CHUNK) {
        arcp__client_result_stream_take(&job->stream, item->event.body);
    }
    if (item->event.type != ARCP_CLIENT_JOB_ENDED) {
        return;
    }
    const uint64_t announced_size = outcome->streamed_bytes;
    outcome->streamed_bytes = job->stream.bytes;
    /* Also what came before a chunk that there was no memory for. */
    const arcp_buf *memory = &job->stream.memory;
    outcome->bytes = ARCP_SPAN_LITERAL("");
    if (memory->size != 0) {
        memory->data[memory->size] = '\0'; /* its place was reserved with the bytes */
        outcome->bytes = arcp_span_make(memory->data, memory->size);
    }
    if (outcome->status == ARCP_OK) {
        arcp__client_result_stream_finish(&job->stream, outcome->result_id, announced_size);
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

/* ---- the jobs of a session ---- */

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

/* ---- announcing ---- */

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
        const uint64_t seq = item->event.event_seq;
        arcp__client_item_queue(session, item);
        item->floor_seq = seq == 0 ? item->floor_seq : seq - 1;
    }
}

/* ---- ids of removed jobs ---- */

static uint16_t *bucket_of(arcp__removed_jobs *removed, uint64_t hash)
{
    return &removed->buckets[hash % ARCP__REMOVED_JOBS_MAX];
}

void arcp__removed_jobs_add(arcp__removed_jobs *removed, arcp_span id)
{
    const uint64_t hash = arcp__hash_bytes(id.data, id.size);
    const size_t place = removed->added % ARCP__REMOVED_JOBS_MAX;
    if (removed->added >= ARCP__REMOVED_JOBS_MAX) { /* remove the oldest from its bucket */
        uint16_t *next = bucket_of(removed, removed->hashes[place]);
        while (*next != place + 1) {
            next = &removed->next[*next - 1];
        }
        *next = removed->next[place];
    }
    uint16_t *bucket = bucket_of(removed, hash);
    removed->hashes[place] = hash;
    removed->next[place] = *bucket;
    *bucket = (uint16_t)(place + 1);
    removed->added++;
}

bool arcp__removed_jobs_has(const arcp__removed_jobs *removed, arcp_span id)
{
    const uint64_t hash = arcp__hash_bytes(id.data, id.size);
    if (removed == NULL) {
        return false;
    }
    uint16_t next = removed->buckets[hash % ARCP__REMOVED_JOBS_MAX];
    while (next != 0 && removed->hashes[next - 1] != hash) {
        next = removed->next[next - 1];
    }
    return next != 0;
}

/* ---- keeping and removing ---- */

static void forget(arcp__client_session *session, arcp_job *job)
{
    if (session->removed == NULL) {
        session->removed = arcp__alloc(sizeof *session->removed);
    }
    if (session->removed != NULL) { /* otherwise a late response may look like a new job */
        arcp__removed_jobs_add(session->removed, job->id);
    }
    assert(session->jobs != NULL); /* it has at least this job */
    HASH_DELETE(hh, session->jobs, job);
    job->session = NULL;
    job->owner = NULL;
    arcp__client_job_drop(job);
}

void arcp__client_kept_take_back(arcp__client_session *session, arcp_job *job)
{
    if (job->is_kept) {
        DL_DELETE2(session->kept, job, kept_prev, kept_next);
        job->is_kept = false;
        session->kept_bytes -= job->kept_size;
    }
}

void arcp__client_session_reap(arcp_job *job)
{
    arcp__client_session *session = job->session;
    if (session == NULL || !atomic_load(&job->over) || atomic_load(&job->handles) != 0 ||
        job->is_kept) {
        return;
    }
    if (!job->is_keyed) {
        forget(session, job);
        return;
    }
    job->is_kept = true;
    job->kept_size =
        sizeof *job + job->descriptor.size + job->outcome.payload.size + job->outcome.bytes.size;
    session->kept_bytes += job->kept_size;
    DL_APPEND2(session->kept, job, kept_prev, kept_next);
    while (session->kept != NULL && session->kept_bytes > ARCP__KEPT_BYTES_MAX) {
        arcp_job *oldest = session->kept;
        arcp__client_kept_take_back(session, oldest);
        forget(session, oldest);
    }
}
