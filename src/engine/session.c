/* A session's life: made by a hello, kept while its link or its jobs live, resumable for a
 * window after that, then taken apart. */
#include "engine/parts.h"

arcp__session *arcp__session_find(const arcp__engine *engine, arcp_span id)
{
    arcp__session *session = NULL;
    HASH_FIND(hh, engine->sessions, id.data, id.size, session);
    return session;
}

static void child_is_made(void *user, arcp__submitter *submitter, arcp__job *child)
{
    arcp__engine *engine = user;
    arcp__session *session = (arcp__session *)submitter;
    if (arcp__session_adopt(engine, session, child, true) && !session->profile->hides_children) {
        arcp_buf frame = ARCP_BUF_INIT;
        arcp__session_format_accepted(engine, session, child, &frame);
        arcp__session_send_in_order(engine, session, arcp_span_cstr(child->id), &frame);
    }
}

static void admission_is_ready(void *user, arcp__submitter *submitter)
{
    arcp__engine *engine = user;
    arcp__session *session = (arcp__session *)submitter;
    arcp__session_look(engine, session);
    arcp__session_job_ended(engine, session);
}

static const arcp__submitter_ops submitter_ops = {child_is_made, admission_is_ready};

static arcp__session *session_add(arcp__engine *engine, arcp__session *session)
{
    HASH_ADD_KEYPTR(hh, engine->sessions, session->id, strlen(session->id), session);
    if (!ARCP__HASH_ADDED(session)) {
        arcp__free(session);
        arcp__context_no_memory(&engine->context);
        return NULL;
    }
    session->submitter.ops = &submitter_ops;
    session->submitter.session_id = session->id;
    engine->session_count++;
    session->principal->sessions++;
    DL_APPEND2(session->principal->oldest_session, session, own_previous, own_next);
    return session;
}

arcp__session *arcp__session_new(arcp__engine *engine, arcp__principal *principal)
{
    arcp__session *session = arcp__alloc(sizeof(*session));
    if (session == NULL) {
        arcp__context_no_memory(&engine->context);
        return NULL;
    }
    arcp__context_make_id(&engine->context, "sess_", session->id);
    session->principal = principal;
    session->profile = arcp__peer_profile_draft();
    session->next_seq = 1;
    session->created_wall_ns = engine->context.now.wall_ns;
    session->last_activity_ns = engine->context.now.mono_ns;
    return session_add(engine, session);
}

arcp__session *arcp__session_add_restored(arcp__engine *engine, arcp__principal *principal,
                                          arcp_span id)
{
    arcp__session *session = arcp__alloc(sizeof(*session));
    if (session == NULL) {
        return NULL;
    }
    memcpy(session->id, id.data, id.size);
    session->principal = principal;
    session->next_seq = 1;
    session->last_activity_ns = engine->context.now.mono_ns;
    return session_add(engine, session);
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
    for (const arcp__observation *at = session->observations; at != NULL; at = at->next) {
        if (at->may_cancel && !arcp__job_has_ended(at->observer.job)) {
            return true;
        }
    }
    return false;
}

void arcp__session_store(arcp__engine *engine, arcp__session *session)
{
    if (!arcp__batch_keeps_rows(engine->log)) {
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
    memcpy(row.token_hash, session->token_hash, sizeof(row.token_hash));
    if (session->has_previous) {
        memcpy(row.previous_token_hash, session->previous_hash, sizeof(row.previous_token_hash));
    }
    arcp_buf text = arcp__context_take_buf(&engine->context);
    arcp__row_format(&arcp__session_members, &row, &text);
    arcp__batch_put(engine->log, ARCP_STORE_SESSIONS, arcp_span_cstr(session->id),
                    arcp_buf_span(&text));
    arcp__context_give_buf(&engine->context, &text);
}

void arcp__session_send(arcp__engine *engine, arcp__session *session, arcp_buf *frame, bool durable)
{
    if (session->link == NULL) {
        arcp_buf_fini(frame);
        return;
    }
    /* Nothing overtakes the welcome: a client may ask before it has it. */
    bool is_open = arcp__log_committed_id(engine->log) >= session->opens_at;
    arcp__port_send(engine->log, &session->link->port, frame, durable || !is_open);
}

void arcp__session_reveal(arcp__engine *engine, const arcp__session *session, arcp_span job_id,
                          arcp_buf *frame)
{
    const arcp__job *job = arcp__job_find(&engine->jobs, job_id);
    arcp__credentials_reveal(&engine->credentials, &session->submitter.viewer,
                             job == NULL ? NULL : arcp__job_credential(job), frame);
}

void arcp__session_send_revealed(arcp__engine *engine, arcp__session *session, arcp_span job_id,
                                 arcp_buf *frame)
{
    arcp__session_reveal(engine, session, job_id, frame);
    arcp__session_send(engine, session, frame, true);
}

void arcp__session_attach(arcp__engine *engine, arcp__session *session, arcp__link *link)
{
    session->link = link;
    link->session = session;
    session->said_goodbye = false;
    link->state = ARCP__LINK_OPEN;
    session->submitter.viewer = (arcp__credential_viewer){
        .principal = session->principal->name,
        .is_anonymous = session->is_anonymous,
        .has_feature = arcp__session_has_feature(session, ARCP_FEATURE_PROVISIONED_CREDENTIALS),
        .is_connected = true,
        .link_is_private = arcp__link_is_private(link)};
    arcp__session_note_submits(session); /* it may have got another profile */
    session->refusal_bytes = 0;
    arcp__context_disarm(&engine->context, &link->hello_timer);
    arcp__effect_push(engine->log, &link->port, &(arcp__effect){.kind = ARCP__EFFECT_ADMIT_LINK},
                      NULL, false);
    engine->connected_count++;
    session->last_received_ns = engine->context.now.mono_ns;
    link->port.last_sent_ns = engine->context.now.mono_ns;
    session->last_activity_ns = engine->context.now.mono_ns;
    uint64_t idle = engine->context.settings.session_idle_timeout_sec;
    arcp__context_arm(&engine->context, &session->window_timer, ARCP__TIMER_WINDOW, session,
                      idle == 0 ? ARCP_TIME_NEVER
                                : arcp__context_after_sec(&engine->context, idle));
}

/* From now on the window counts; with live jobs it begins when the last of them ends.
 * [arcp:6.4-6] */
void arcp__session_start_window(arcp__engine *engine, arcp__session *session)
{
    int64_t at = arcp__session_has_live_jobs(session)
                     ? ARCP_TIME_NEVER
                     : arcp__context_after_sec(&engine->context,
                                               engine->context.settings.session_resume_window_sec);
    arcp__context_arm(&engine->context, &session->window_timer, ARCP__TIMER_WINDOW, session, at);
}

/* [arcp:6.4-5] [arcp:6.7-2] */
void arcp__session_detach(arcp__engine *engine, arcp__session *session)
{
    arcp__link *link = session->link;
    if (link == NULL) {
        return;
    }
    arcp__session_drop_answers(session);
    link->session = NULL;
    session->link = NULL;
    session->submitter.viewer.is_connected = session->submitter.viewer.link_is_private = false;
    engine->connected_count--;
    arcp__context_disarm(&engine->context, &session->heartbeat_timer);
    arcp_buf_fini(&session->read_bytes);
    session->read_at = 0;
    arcp__read_forget(engine, &session->read);
    if (!engine->context.closing) {
        arcp__session_start_window(engine, session);
        arcp__session_weigh_backlog(engine, session); /* its agents go on while it is away */
    }
}

void arcp__session_job_ended(arcp__engine *engine, arcp__session *session)
{
    session->last_activity_ns = engine->context.now.mono_ns;
    if (session->link == NULL && session->window_timer.place == 0) {
        arcp__session_start_window(engine, session);
    }
}

/* [arcp:14-20] */
void arcp__session_window_due(arcp__engine *engine, arcp__session *session)
{
    if (session->link != NULL && engine->context.settings.session_idle_timeout_sec == 0) {
        return; /* a reload has switched it off */
    }
    if (arcp__session_has_live_jobs(session)) {
        if (session->link != NULL) {
            arcp__context_arm(
                &engine->context, &session->window_timer, ARCP__TIMER_WINDOW, session,
                arcp__context_after_sec(&engine->context,
                                        engine->context.settings.session_idle_timeout_sec));
        }
        return;
    }
    if (session->link != NULL) {
        uint64_t idle_ns =
            engine->context.settings.session_idle_timeout_sec * (uint64_t)ARCP_NS_PER_SEC;
        int64_t due = session->last_activity_ns + (int64_t)idle_ns;
        if (due > engine->context.now.mono_ns) {
            arcp__context_arm(&engine->context, &session->window_timer, ARCP__TIMER_WINDOW, session,
                              due);
            return;
        }
        arcp__link_close(engine, session->link, 1000, "the session was idle for too long", false);
        return; /* the window begins now */
    }
    arcp__session_end(engine, session, "its resume window is over");
}

void arcp__session_end(arcp__engine *engine, arcp__session *session, const char *why)
{
    char stream_key[ARCP__ID_SIZE + 2];
    arcp__effect_log(engine->log, ARCP__LOG_DEBUG, "session %s ends: %s", session->id, why);
    if (session->link != NULL) {
        arcp__link_close(engine, session->link, 1000, why, false);
    }
    arcp__session_fail_submits(session);
    arcp__submitter_leave(&engine->jobs, &session->submitter);
    arcp__session_leave_turns(engine, session);
    arcp__context_disarm(&engine->context, &session->heartbeat_timer);
    arcp__context_disarm(&engine->context, &session->window_timer);
    arcp__context_disarm(&engine->context, &session->refusal_timer);
    while (session->observations != NULL) {
        arcp__observation_remove(engine, session->observations);
    }
    arcp__session_drop_runs(engine, session);
    if (session->own != NULL) {
        arcp__stream_unref(engine->log, session->own);
    }
    if (!engine->context.closing) {
        arcp__batch_delete(engine->log, ARCP_STORE_SESSIONS, arcp_span_cstr(session->id));
        stream_key[0] = 'x';
        stream_key[1] = ':';
        memcpy(stream_key + 2, session->id, sizeof(session->id));
        if (session->index_next != 0) {
            arcp__batch_drop(engine->log, arcp_span_cstr(stream_key));
        }
    }
    arcp__session_unmark(engine, session);
    arcp__session_leave_outbox(engine, session);
    HASH_DEL(engine->sessions, session);
    engine->session_count--;
    session->principal->sessions--;
    DL_DELETE2(session->principal->oldest_session, session, own_previous, own_next);
    arcp__principal_maybe_free(&engine->jobs, session->principal);
    arcp__session_forget_seen(session);
    arcp__free(session->client_name);
    arcp__free(session->client_version);
    arcp__free(session->runs);
    arcp_buf_fini(&session->read_bytes);
    arcp__free(session);
}
