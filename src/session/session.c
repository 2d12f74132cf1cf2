/* A session's life: made by a hello, kept as long as it has a link or running jobs, resumable for a
 * window after that, then removed. */
#include "session/session_state.h"

arcp__session *arcp__session_find(const arcp__sessions *sessions, arcp_span id)
{
    arcp__session *session = NULL;
    HASH_FIND(hh, sessions->all, id.data, id.size, session);
    return session;
}

static void child_is_made(void *user, arcp__submitter *submitter, arcp__job *child)
{
    arcp__sessions *sessions = user;
    arcp__session *session = (arcp__session *)submitter;
    if (arcp__session_adopt(sessions, session, child, true) && !session->profile->hides_children) {
        arcp_buf frame = arcp_buf_init();
        arcp__session_format_accepted(sessions, session, child, &frame);
        arcp__session_send_in_order(sessions, session, arcp_span_cstr(child->id), &frame, false);
    }
}

static void admission_is_ready(void *user, arcp__submitter *submitter)
{
    arcp__sessions *sessions = user;
    arcp__session *session = (arcp__session *)submitter;
    arcp__session_schedule(sessions, session);
    arcp__session_job_ended(sessions, session);
}

static const arcp__submitter_ops submitter_ops = {child_is_made, admission_is_ready};

arcp__session *arcp__session_new(arcp__sessions *sessions, arcp__principal *principal, arcp_span id)
{
    arcp__session *session = arcp__alloc(sizeof *session);
    if (session == NULL) {
        arcp__context_no_memory(sessions->context);
        return NULL;
    }
    if (id.size != 0) {
        memcpy(session->id, id.data, id.size);
    } else {
        arcp__context_make_id(sessions->context, "sess_", session->id);
    }
    HASH_ADD_KEYPTR(hh, sessions->all, session->id, strlen(session->id), session);
    if (!ARCP__HASH_ADDED(session)) {
        arcp__free(session);
        arcp__context_no_memory(sessions->context);
        return NULL;
    }
    session->principal = principal;
    session->profile = arcp__peer_profile_draft();
    session->next_seq = 1;
    session->created_wall_ns = sessions->context->now.wall_ns;
    session->last_activity_ns = sessions->context->now.mono_ns;
    session->submitter.ops = &submitter_ops;
    session->submitter.session_id = session->id;
    sessions->count++;
    if (sessions->count_of_all != NULL) {
        (*sessions->count_of_all)++;
    }
    principal->sessions++;
    DL_APPEND2(principal->oldest_session, session, own_previous, own_next);
    return session;
}

arcp__audit_who arcp__session_who(const arcp__session *session, const arcp__job *job)
{
    arcp__audit_who who = job == NULL ? (arcp__audit_who){0} : arcp__job_who(job);
    who.principal = session->principal->name;
    who.session_id = session->id;
    return who;
}

bool arcp__session_has_feature(const arcp__session *session, arcp_feature feature)
{
    return feature == ARCP_FEATURE_NONE || (session->features & ARCP_FEATURE_BIT(feature)) != 0;
}

bool arcp__session_has_live_jobs(const arcp__session *session)
{
    if (session->held_submits != 0 || session->submitter.admissions != NULL) {
        return true;
    }
    for (const arcp__observation *observation = session->observations; observation != NULL;
         observation = observation->next) {
        if (observation->may_cancel && !arcp__job_has_ended(observation->observer.job)) {
            return true;
        }
    }
    return false;
}

void arcp__session_store(arcp__sessions *sessions, arcp__session *session)
{
    if (!sessions->log->options.keeps_rows) {
        return;
    }
    arcp__session_row row = {.session_id = arcp_span_cstr(session->id),
                             .principal = arcp_span_cstr(session->principal->name),
                             .anonymous = session->is_anonymous,
                             .client = arcp_span_cstr(session->client_name),
                             .client_version = arcp_span_cstr(session->client_version),
                             .features = session->features,
                             .created_at = session->created_wall_ns,
                             .acked_seq = session->acked_seq};
    memcpy(row.token_hash, session->token_hash, sizeof row.token_hash);
    if (session->has_previous) {
        memcpy(row.previous_token_hash, session->previous_hash, sizeof row.previous_token_hash);
    }
    arcp_buf text = arcp__context_take_buf(sessions->context);
    arcp__row_format(&arcp__session_members, &row, &text);
    arcp__batch_put(sessions->log, ARCP_STORE_SESSIONS, arcp_span_cstr(session->id),
                    arcp_buf_span(&text));
    arcp__context_give_buf(sessions->context, &text);
}

arcp_buf arcp__session_frame(const arcp__session *session, const char *type, arcp_span id,
                             arcp_buf *payload)
{
    arcp_buf frame = {.secret = payload->secret};
    arcp__envelope_format(
        &(arcp__envelope_head){.type = type, .id = id, .session_id = arcp_span_cstr(session->id)},
        arcp_buf_span(payload), &frame);
    frame.failed = frame.failed || payload->failed;
    arcp_buf_fini(payload);
    return frame;
}

void arcp__session_send(arcp__sessions *sessions, arcp__session *session, arcp_buf *frame,
                        bool durable)
{
    if (session->link == NULL) {
        arcp_buf_fini(frame);
        return;
    }
    /* Nothing overtakes the welcome, even if the client sends requests before it arrives. */
    const bool is_open = sessions->log->committed_id >= session->welcome_batch_id;
    arcp__port_send(sessions->log, &session->link->port, frame, durable || !is_open);
}

void arcp__session_reveal(arcp__sessions *sessions, const arcp__session *session, arcp_span job_id,
                          arcp_buf *frame)
{
    const arcp__job *job = arcp__job_find(sessions->jobs, job_id);
    arcp__credentials_reveal(sessions->credentials, &session->submitter.viewer,
                             job == NULL || job->live == NULL ? NULL : &job->live->credential,
                             frame);
}

void arcp__session_send_revealed(arcp__sessions *sessions, arcp__session *session, arcp_span job_id,
                                 arcp_buf *frame)
{
    arcp__session_reveal(sessions, session, job_id, frame);
    arcp__session_send(sessions, session, frame, true);
}

void arcp__session_attach(arcp__sessions *sessions, arcp__session *session, arcp__link *link)
{
    session->link = link;
    link->session = session;
    session->closed_by_client = false;
    arcp__link_enter(link, ARCP__LINK_OPEN);
    arcp__session_enter(session, ARCP__SESSION_CONNECTED);
    session->submitter.viewer = (arcp__credential_viewer){
        .principal = session->principal->name,
        .is_anonymous = session->is_anonymous,
        .has_feature = arcp__session_has_feature(session, ARCP_FEATURE_PROVISIONED_CREDENTIALS),
        .is_connected = true,
        .link_is_private = arcp__link_is_private(link)};
    arcp__session_note_submits(session); /* its profile may have changed */
    session->refusal_bytes = 0;
    arcp__context_disarm(sessions->context, &link->hello_timer);
    arcp__effect_push(sessions->log, &link->port, &(arcp__effect){.kind = ARCP__EFFECT_ADMIT_LINK},
                      NULL, false);
    sessions->connected_count++;
    session->last_received_ns = sessions->context->now.mono_ns;
    link->port.last_sent_ns = sessions->context->now.mono_ns;
    session->last_activity_ns = sessions->context->now.mono_ns;
    const uint64_t idle = sessions->context->settings.session_idle_timeout_sec;
    arcp__context_arm(
        sessions->context, &session->window_timer, sessions->timer_kinds.session, session,
        idle == 0 ? ARCP_TIME_NEVER : arcp__context_after_sec(sessions->context, idle));
}

/* Starts the resume window; with live jobs it begins when the last of them ends. [arcp:6.4-6] */
void arcp__session_start_window(arcp__sessions *sessions, arcp__session *session)
{
    const int64_t deadline =
        arcp__session_has_live_jobs(session)
            ? ARCP_TIME_NEVER
            : arcp__context_after_sec(sessions->context,
                                      sessions->context->settings.session_resume_window_sec);
    arcp__context_arm(sessions->context, &session->window_timer, sessions->timer_kinds.session,
                      session, deadline);
}

/* [arcp:6.4-5] [arcp:6.7-2] */
void arcp__session_detach(arcp__sessions *sessions, arcp__session *session)
{
    arcp__link *link = session->link;
    if (link == NULL) {
        return;
    }
    arcp__session_drop_answers(session);
    arcp__view_drop(sessions, session);
    link->session = NULL;
    session->link = NULL;
    arcp__session_enter(session, ARCP__SESSION_AWAY);
    session->submitter.viewer.is_connected = session->submitter.viewer.link_is_private = false;
    sessions->connected_count--;
    arcp__context_disarm(sessions->context, &session->heartbeat_timer);
    arcp_buf_fini(&session->read_bytes);
    session->read_at = 0;
    arcp__read_end(sessions->log, &session->read);
    if (!sessions->context->closing) {
        arcp__session_start_window(sessions, session);
        arcp__session_check_backlog(sessions, session); /* its agents continue while it is away */
    }
}

void arcp__session_job_ended(arcp__sessions *sessions, arcp__session *session)
{
    session->last_activity_ns = sessions->context->now.mono_ns;
    if (session->link == NULL && session->window_timer.place == 0) {
        arcp__session_start_window(sessions, session);
    }
}

/* [arcp:14-20] */
void arcp__session_window_due(arcp__sessions *sessions, arcp__session *session)
{
    arcp__context *context = sessions->context;
    const uint64_t idle_sec = context->settings.session_idle_timeout_sec;
    const bool has_jobs = arcp__session_has_live_jobs(session);
    if (session->link == NULL) {
        if (!has_jobs) {
            arcp__session_end(sessions, session, "its resume window has ended");
        }
        return;
    }
    if (idle_sec == 0) {
        return; /* disabled by a reload */
    }
    const int64_t due_ns =
        has_jobs ? arcp__context_after_sec(context, idle_sec)
                 : session->last_activity_ns + (int64_t)(idle_sec * (uint64_t)ARCP_NS_PER_SEC);
    if (due_ns > context->now.mono_ns) {
        arcp__context_arm(context, &session->window_timer, sessions->timer_kinds.session, session,
                          due_ns);
    } else { /* this also begins the resume window */
        arcp__link_close(sessions, session->link, 1000, "the session was idle for too long", false);
    }
}

/* ---- submits ---- */

void arcp__session_free_request(arcp__request *request)
{
    arcp_buf_fini(&request->frame);
    arcp_buf_fini(&request->record);
    arcp_buf_fini(&request->lone_error);
    arcp_buf_fini(&request->held);
    arcp__free(request);
}

void arcp__session_note_submits(arcp__session *session)
{
    session->submitter.delays_children =
        session->submits != NULL && !session->profile->hides_children;
}

void arcp__session_schedule(arcp__sessions *sessions, arcp__session *session)
{
    if ((session->submits != NULL || session->submitter.admissions != NULL) &&
        !session->is_scheduled) {
        session->is_scheduled = true;
        DL_APPEND2(sessions->scheduled, session, scheduled_previous, scheduled_next);
    }
}

void arcp__session_unschedule(arcp__sessions *sessions, arcp__session *session)
{
    if (session->is_scheduled) {
        session->is_scheduled = false;
        DL_DELETE2(sessions->scheduled, session, scheduled_previous, scheduled_next);
    }
}

/* ---- the end ---- */

void arcp__session_end(arcp__sessions *sessions, arcp__session *session, const char *why)
{
    char index[ARCP__SESSION_KEY_SIZE];
    arcp__effect_log(sessions->log, ARCP__LOG_DEBUG, "session %s ends: %s", session->id, why);
    if (session->link != NULL) {
        arcp__link_close(sessions, session->link, 1000, why, false);
    }
    while (session->submits != NULL) {
        arcp__request *request = session->submits;
        DL_DELETE(session->submits, request);
        arcp__session_free_request(request);
    }
    arcp__submitter_fini(sessions->jobs, &session->submitter);
    arcp__session_unschedule(sessions, session);
    arcp__context_disarm(sessions->context, &session->heartbeat_timer);
    arcp__context_disarm(sessions->context, &session->window_timer);
    arcp__context_disarm(sessions->context, &session->refusal_timer);
    while (session->observations != NULL) {
        arcp__observation_remove(sessions, session->observations);
    }
    arcp__session_drop_runs(sessions, session);
    if (session->own != NULL) {
        arcp__stream_unref(sessions->log, session->own);
    }
    if (!sessions->context->closing) {
        arcp__batch_delete(sessions->log, ARCP_STORE_SESSIONS, arcp_span_cstr(session->id));
        if (session->index_next != 0) {
            arcp__session_index_key(session, index);
            arcp__batch_add(sessions->log,
                            (arcp_store_op){.kind = ARCP_STORE_DROP, .key = arcp_span_cstr(index)});
        }
    }
    arcp__session_unmark(sessions, session);
    arcp__session_leave_outbox(sessions, session);
    HASH_DEL(sessions->all, session);
    sessions->count--;
    if (sessions->count_of_all != NULL) {
        (*sessions->count_of_all)--;
    }
    session->principal->sessions--;
    DL_DELETE2(session->principal->oldest_session, session, own_previous, own_next);
    arcp__principal_maybe_free(sessions->jobs, session->principal);
    HASH_CLEAR(hh, session->cached_requests);
    for (arcp__cached_request *cached = session->cache_oldest, *next = NULL; cached != NULL;
         cached = next) {
        next = cached->newer;
        arcp_buf_fini(&cached->answer);
        arcp__free(cached);
    }
    arcp__free(session->client_name);
    arcp__free(session->client_version);
    arcp__free(session->runs);
    arcp_buf_fini(&session->read_bytes);
    arcp__free(session);
}
