/* Observations: a job is observed by its submitting session, by subscribers (§7.6), and by sessions
 * that got it through a duplicate idempotency key.
 *
 * An observation has the next position of the job's stream that its session has not numbered yet.
 * While it is catching up, records are numbered from the stream, page by page; once it has all, it
 * is live and new records come as notifications. The boundary is exact: a record is numbered if,
 * and only if, its position is the next one. */
#include "session/session_state.h"

#include <stdio.h>

#include "base/timestamp.h"

static const arcp__observer_ops observer_ops; /* others than sessions observe jobs, too */

/* ---- the lists ---- */

arcp__observation *arcp__observation_find(const arcp__session *session, const arcp__job *job)
{
    /* A job usually has few observers, while a session may have many jobs. */
    for (arcp__observer *observer = job->observers; observer != NULL; observer = observer->next) {
        if (observer->ops == &observer_ops && arcp__observation_of(observer)->session == session) {
            return arcp__observation_of(observer);
        }
    }
    return NULL;
}

static void mark_row_stale(arcp__observation *observation)
{
    if (!observation->row_is_stale) {
        observation->row_is_stale = true;
        DL_PREPEND2(observation->session->outdated, observation, previous_outdated, next_outdated);
    }
}

static void mark_row_written(arcp__observation *observation)
{
    if (observation->row_is_stale) {
        observation->row_is_stale = false;
        DL_DELETE2(observation->session->outdated, observation, previous_outdated, next_outdated);
    }
}

typedef struct subscription_row {
    arcp_span session_id, job_id;
    bool may_cancel;
    uint64_t position, first_seq;
} subscription_row;

#define MEMBER(member, kind) ARCP__MEMBER(subscription_row, member, #member, kind)

static const arcp__member rows[] = {
    {MEMBER(session_id, STRING), .required = true},
    {MEMBER(job_id, STRING), .required = true},
    {MEMBER(may_cancel, BOOL)},
    {MEMBER(position, COUNT)},
    {MEMBER(first_seq, COUNT)},
};
static const arcp__members members = ARCP__MEMBERS(rows);

void arcp__observation_store(arcp__sessions *sessions, arcp__observation *observation)
{
    if (!sessions->log->options.keeps_rows) {
        return;
    }
    char key[2 * ARCP__ID_SIZE];
    const int key_size =
        snprintf(key, sizeof key, "%s/%s", observation->session->id, observation->observer.job->id);
    const subscription_row row = {.session_id = arcp_span_cstr(observation->session->id),
                                  .job_id = arcp_span_cstr(observation->observer.job->id),
                                  .may_cancel = observation->may_cancel,
                                  .position = observation->kept_position,
                                  .first_seq = observation->first_seq};
    arcp_buf text = arcp__context_take_buf(sessions->context);
    arcp__row_format(&members, &row, &text);
    observation->has_row = true;
    arcp__batch_put(sessions->log, ARCP_STORE_SUBSCRIPTIONS, arcp_span_make(key, (size_t)key_size),
                    arcp_buf_span(&text));
    arcp__context_give_buf(sessions->context, &text);
    mark_row_written(observation);
}

void arcp__observation_moved(arcp__observation *observation, uint64_t position)
{
    if (position > observation->kept_position) {
        observation->kept_position = position;
        mark_row_stale(observation);
    }
}

void arcp__observations_store_moved(arcp__sessions *sessions, arcp__session *session)
{
    arcp__observation *observation = NULL;
    arcp__observation *next = NULL;
    DL_FOREACH_SAFE2(session->outdated, observation, next, next_outdated)
    {
        arcp__observation_store(sessions, observation);
    }
}

/* ---- notifications, delivered at the end of the input ---- */

void arcp__notification_queue(arcp__sessions *sessions, const arcp__notification *notification)
{
    if (sessions->notification_end == sessions->notification_capacity) {
        const size_t capacity =
            sessions->notification_capacity == 0 ? 16 : sessions->notification_capacity * 2;
        arcp__notification *grown =
            arcp__realloc_array(sessions->notifications, capacity, sizeof *grown);
        if (grown == NULL) {
            arcp__context_no_memory(sessions->context);
            return;
        }
        sessions->notifications = grown;
        sessions->notification_capacity = capacity;
    }
    sessions->notifications[sessions->notification_end++] = *notification;
}

/* Records are not numbered at once: that could close the link or add another record. */
static void record_is_new(void *user, arcp__observer *observer, uint64_t position, size_t bytes,
                          arcp_feature feature)
{
    arcp__sessions *sessions = user;
    arcp__notification_queue(sessions,
                             &(arcp__notification){.kind = ARCP__NOTIFY_RECORD,
                                                   .observation = arcp__observation_of(observer),
                                                   .position = position,
                                                   .bytes = bytes,
                                                   .feature = feature});
}

/* ---- callbacks of the job ---- */

static void job_ended(void *user, arcp__observer *observer)
{
    arcp__sessions *sessions = user;
    arcp__session_job_ended(sessions, arcp__observation_of(observer)->session);
}

static void job_dropped(void *user, arcp__observer *observer)
{
    arcp__sessions *sessions = user;
    arcp__observation_remove(sessions, arcp__observation_of(observer));
}

static bool is_behind(const arcp__observer *observer, uint64_t seq)
{
    return seq > ((const arcp__observation *)observer)->session->sent_seq;
}

static const arcp__observer_ops observer_ops = {record_is_new, job_ended, job_dropped, is_behind};

/* [arcp:6.2-4] */
arcp__observation *arcp__observation_add(arcp__sessions *sessions, arcp__session *session,
                                         arcp__job *job)
{
    const arcp_feature_set wanted = ARCP_FEATURE_BIT(ARCP_FEATURE_PROGRESS) |
                                    ARCP_FEATURE_BIT(ARCP_FEATURE_RESULT_CHUNK) |
                                    ARCP_FEATURE_BIT(ARCP_FEATURE_COST_BUDGET);
    arcp__observation *observation = arcp__alloc(sizeof *observation);
    if (observation == NULL) {
        arcp__context_no_memory(sessions->context);
        return NULL;
    }
    observation->session = session;
    observation->observer.ops = &observer_ops;
    observation->hide_kinds = (session->features & wanted) != wanted;
    DL_PREPEND2(session->observations, observation, previous, next);
    arcp__job_observe(job, &observation->observer);
    return observation;
}

bool arcp__session_adopt(arcp__sessions *sessions, arcp__session *session, arcp__job *job,
                         bool is_new)
{
    arcp__observation *observation = arcp__observation_add(sessions, session, job);
    if (observation == NULL) {
        return false;
    }
    observation->may_cancel = true;
    observation->observer.is_live = is_new;
    arcp__job_adopt(job, &session->submitter, &observation->observer);
    if (session->pauses_agents) {
        arcp__job_set_owner_behind(sessions->jobs, job, true);
    }
    return true;
}

void arcp__observation_remove(arcp__sessions *sessions, arcp__observation *observation)
{
    arcp__session *session = observation->session;
    const arcp__job *job = observation->observer.job;
    arcp__read_end(sessions->log, &observation->read);
    for (size_t i = sessions->notification_first; i < sessions->notification_end; i++) {
        if (sessions->notifications[i].observation == observation) {
            sessions->notifications[i].observation = NULL;
        }
    }
    mark_row_written(observation);
    DL_DELETE2(session->observations, observation, previous, next);
    arcp__job_unobserve(sessions->jobs, &observation->observer);
    if (observation->has_row && !sessions->context->closing) {
        char key[2 * ARCP__ID_SIZE];
        const int size = snprintf(key, sizeof key, "%s/%s", session->id, job->id);
        arcp__batch_delete(sessions->log, ARCP_STORE_SUBSCRIPTIONS,
                           arcp_span_make(key, (size_t)size));
    }
    arcp__free(observation);
}

/* ---- numbering ---- */

static bool starts_at(arcp_span record, size_t offset, const char *text)
{
    const size_t size = strlen(text);
    return record.size >= offset + size && memcmp(record.data + offset, text, size) == 0;
}

/* Whether the session lacks the feature that a record needs. Records of events have a fixed
 * beginning (job_record.c), so their kind is found without reading them as JSON. */
static bool is_hidden(const arcp__session *session, arcp_span record)
{
    static const char mark[] = "\"payload\":{\"kind\":\"";
    const arcp_span begin = arcp_span_first(record, 256);
    const char *found = memmem(begin.data, begin.size, mark, sizeof mark - 1);
    if (found == NULL) {
        return false;
    }
    const size_t kind = (size_t)(found - record.data) + sizeof mark - 1;
    arcp_feature feature = ARCP_FEATURE_NONE;
    if (starts_at(record, kind, "progress\"")) {
        feature = ARCP_FEATURE_PROGRESS;
    } else if (starts_at(record, kind, "result_chunk\"")) {
        feature = ARCP_FEATURE_RESULT_CHUNK;
    } else if (starts_at(record, kind, "metric\"")) {
        /* metric","ts":"<24 bytes>","body":{"name":"cost.budget. */
        if (starts_at(record, kind + 14 + ARCP__TIMESTAMP_SIZE,
                      "\",\"body\":{\"name\":\"cost.budget.")) {
            feature = ARCP_FEATURE_COST_BUDGET;
        }
    }
    return !arcp__session_has_feature(session, feature);
}

/* [arcp:7.6-9] */
static bool number(arcp__sessions *sessions, arcp__observation *observation, uint64_t position,
                   uint32_t count, uint64_t bytes)
{
    const uint64_t seq = arcp__session_number(
        sessions, observation->session, observation->observer.job->stream, position, count, bytes);
    if (seq == 0) {
        return false;
    }
    if (observation->first_seq == 0) {
        observation->first_seq = seq;
    }
    if (arcp__observation_is_owner(observation)) {
        arcp__job_note_owner_run(sessions->jobs, observation->observer.job, observation->first_seq,
                                 seq, position, count);
    }
    observation->next_position = position + count;
    return true;
}

/* One back_pressure status when a session that acknowledges falls behind. [arcp:6.5-4] */
static void note_lag(arcp__sessions *sessions, arcp__observation *observation)
{
    arcp__session *session = observation->session;
    if (!arcp__observation_is_owner(observation) || session->back_pressured ||
        !arcp__session_has_feature(session, ARCP_FEATURE_ACK) ||
        arcp__job_has_ended(observation->observer.job) ||
        arcp__session_lag(session) <= sessions->context->settings.session_ack_lag_events) {
        return;
    }
    session->back_pressured = true;
    sessions->metrics.back_pressure++;
    arcp__job_emit_status(sessions->jobs, observation->observer.job, "back_pressure",
                          ARCP_SPAN_LITERAL("events are acknowledged more slowly than they come"));
}

/* ---- catching up ---- */

static void go_live(arcp__sessions *sessions, arcp__observation *observation)
{
    observation->observer.is_live = true;
    arcp__session_wake(sessions, observation->session);
}

static uint64_t average_bytes(const arcp__stream *stream)
{
    return stream->next == 0 ? 0 : stream->bytes / stream->next;
}

static void take_page(void *user, void *owner, const arcp__page *page);

/* [arcp:7.6-5] */
void arcp__observation_catch_up(arcp__sessions *sessions, arcp__observation *observation)
{
    if (observation->observer.is_live || observation->read != NULL) {
        return;
    }
    arcp__stream *stream = observation->observer.job->stream;
    while (observation->next_position < stream->next) {
        const uint64_t position = observation->next_position;
        const uint64_t left = stream->next - position;
        arcp_span record;
        if (!observation->hide_kinds) { /* it sees every kind: number whole ranges at once */
            const uint32_t count =
                (uint32_t)(left < ARCP__READ_RECORDS_MAX ? left : ARCP__READ_RECORDS_MAX);
            if (!number(sessions, observation, position, count, count * average_bytes(stream))) {
                return;
            }
            continue;
        }
        if (!arcp__stream_find_record(stream, position, &record)) {
            observation->read = arcp__read_start(sessions->log, arcp_span_cstr(stream->key),
                                                 position, ARCP__READ_RECORDS_MAX, ARCP__PAGE_BYTES,
                                                 take_page, sessions, observation);
            return;
        }
        if (is_hidden(observation->session, record)) {
            observation->next_position++;
        } else if (!number(sessions, observation, position, 1, record.size)) {
            return;
        }
    }
    go_live(sessions, observation);
}

static void take_page(void *user, void *owner, const arcp__page *page)
{
    arcp__sessions *sessions = user;
    arcp__observation *observation = owner;
    const bool failed = page->status != ARCP_OK;
    arcp__read_end(sessions->log, &observation->read);
    if (failed || page->count == 0) {
        arcp__job_log(sessions->jobs, ARCP__LOG_ERROR, observation->observer.job,
                      "the job's stored events cannot be read");
        if (!failed) {
            observation->next_position = observation->observer.job->stream->next;
            go_live(sessions, observation);
        }
        return;
    }
    for (size_t i = 0; i < page->count; i++) {
        const uint64_t position = page->first + i;
        if (position < observation->next_position) {
            continue;
        }
        if (is_hidden(observation->session, page->records[i])) {
            observation->next_position = position + 1;
        } else if (!number(sessions, observation, position, 1, page->records[i].size)) {
            return;
        }
    }
    arcp__observation_catch_up(sessions, observation);
}

/* A record that is not the next one was numbered, or will be numbered, by catching up. */
static void deliver(arcp__sessions *sessions, const arcp__notification *notification)
{
    arcp__observation *to = notification->observation;
    const arcp__stream *stream = to->observer.job->stream;
    switch (notification->kind) {
    case ARCP__NOTIFY_RECORD:
        if (!to->observer.is_live || notification->position != to->next_position) {
            break;
        }
        if (!arcp__session_has_feature(to->session, notification->feature)) {
            to->next_position++;
        } else if (number(sessions, to, notification->position, 1, notification->bytes)) {
            note_lag(sessions, to);
        }
        break;
    case ARCP__NOTIFY_CATCH_UP:
        arcp__observation_catch_up(sessions, to);
        break;
    case ARCP__NOTIFY_END:
        /* A job that has not ended will report its end, and catching up includes it. */
        if (arcp__job_has_ended(to->observer.job) && to->observer.is_live &&
            to->next_position == stream->next) {
            (void)number(sessions, to, stream->next - 1, 1, average_bytes(stream));
        }
        break;
    }
}

void arcp__notifications_deliver(arcp__sessions *sessions)
{
    while (sessions->notification_first < sessions->notification_end) {
        const arcp__notification notification =
            sessions->notifications[sessions->notification_first++]; /* delivering may queue more */
        if (notification.observation != NULL) {
            deliver(sessions, &notification);
        }
    }
    sessions->notification_first = sessions->notification_end = 0;
}

/* ---- restart ---- */

arcp_status arcp__observation_restore(arcp__sessions *sessions, const arcp_json *json,
                                      arcp_error *err)
{
    subscription_row row = {0};
    if (!arcp__decode_row(json, &sessions->context->scratch, ARCP_JSON_ROOT, &members, &row)) {
        return arcp_error_set(err, ARCP_E_CORRUPT, "the subscription row is not valid");
    }
    arcp__session *session = arcp__session_find(sessions, row.session_id);
    arcp__job *job = arcp__job_find(sessions->jobs, row.job_id);
    if (session == NULL || job == NULL) {
        return ARCP_OK; /* one of them no longer exists */
    }
    /* That of the submitting session was made already. */
    arcp__observation *observation = arcp__observation_find(session, job);
    if (observation == NULL) {
        observation = arcp__observation_add(sessions, session, job);
    }
    if (observation == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    observation->may_cancel = observation->may_cancel || row.may_cancel;
    observation->has_row = true;
    observation->kept_position = row.position;
    observation->first_seq = row.first_seq;
    observation->next_position = observation->kept_position; /* the index may advance it */
    return ARCP_OK;
}
