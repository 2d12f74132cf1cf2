/* x-vendor.arcpd.sessions and end_session. */
#include "session/page_key.h"
#include "session/view.h"

#include <stdio.h>

#include "core/name_glob.h"

#define PRINCIPAL_BYTES_MAX 256u /* ARCP_PRINCIPAL_BYTES_MAX */

static void refuse(arcp__sessions *sessions, const arcp__view_call *call, arcp_status status,
                   const char *message)
{
    arcp_error error = {0};
    (void)arcp_error_set(&error, status, "%s", message);
    arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
}

/* ---- sessions ---- */

static uint64_t count_live_jobs(const arcp__session *session)
{
    uint64_t count = 0;
    for (const arcp__observation *observation = session->observations; observation != NULL;
         observation = observation->next) {
        count += observation->may_cancel && !arcp__job_has_ended(observation->observer.job);
    }
    return count;
}

static void write_session(const arcp__sessions *sessions, const arcp__session *session,
                          arcp_buf *out)
{
    arcp_json_writer object = arcp__put_begin(out);
    arcp_json_writer *writer = &object;
    const arcp__link *link = session->link;
    const char *role = arcp__role_name(session->role);
    const int64_t silent_ns = sessions->context->now.mono_ns - session->last_received_ns;
    arcp__put_cstr(writer, "session_id", session->id);
    arcp__put_cstr(writer, "principal", session->principal->name);
    if (role[0] != '\0' && link != NULL) {
        arcp__put_cstr(writer, "role", role);
    }
    arcp__put_cstr(writer, "client", session->client_name);
    arcp__put_cstr(writer, "client_version", session->client_version);
    arcp__put_cstr(writer, "state",
                   link != NULL                ? "connected"
                   : session->closed_by_client ? "closed"
                                               : "away");
    if (link != NULL && link->peer != NULL) {
        arcp__put_cstr(writer, "peer", link->peer);
    }
    arcp__write_timestamp(writer, "since", session->created_wall_ns);
    if (session->last_received_ns != 0) { /* not yet since a restart */
        arcp__write_timestamp(writer, "last_frame_at", sessions->context->now.wall_ns - silent_ns);
    }
    arcp__put_u64(writer, "jobs", count_live_jobs(session));
    arcp__put_u64(writer, "unsent_bytes",
                  session->backlog_bytes +
                      (link == NULL ? 0 : (uint64_t)link->port.queued + link->port.unsent));
    arcp_json_end_object(writer);
}

/* The first session behind the cursor. They are in the order in which they were made; when that of
 * the cursor has ended, its id tells about where it was. */
static const arcp__session *behind(arcp__sessions *sessions, arcp_span cursor)
{
    char id[ARCP__ID_SIZE] = {0};
    const arcp__session *session = cursor.size == 0 ? NULL : arcp__session_find(sessions, cursor);
    if (session != NULL) {
        return session->hh.next;
    }
    memcpy(id, cursor.data == NULL ? "" : cursor.data,
           cursor.size < sizeof id ? cursor.size : sizeof id - 1);
    session = sessions->all;
    while (session != NULL && strcmp(session->id, id) <= 0) {
        session = session->hh.next;
    }
    return session;
}

void arcp__view_sessions_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    const arcp__view_sessions *in = &call->in.sessions;
    char glob[PRINCIPAL_BYTES_MAX + 1] = {0};
    if (in->limit > ARCP__VIEW_LIMIT_MAX || in->principal.size > PRINCIPAL_BYTES_MAX) {
        refuse(sessions, call, ARCP_E_INVALID_REQUEST,
               in->limit > ARCP__VIEW_LIMIT_MAX ? "payload.limit must be from 1 to 500"
                                                : "payload.principal is longer than a principal");
        return;
    }
    memcpy(glob, in->principal.size == 0 ? "*" : in->principal.data,
           in->principal.size == 0 ? 1 : in->principal.size);
    arcp__view_audit(sessions, call, NULL, in->principal, ARCP_OK, NULL);
    arcp__view_listing listing = arcp__view_listing_begin(sessions, call, "sessions", in->limit);
    const char *last = "";
    const arcp__session *session = behind(sessions, in->cursor);
    for (; session != NULL && !listing.is_full; session = session->hh.next) {
        if (!arcp__name_glob_matches(glob, arcp_span_cstr(session->principal->name))) {
            continue;
        }
        arcp_buf row = arcp__context_take_buf(sessions->context);
        write_session(sessions, session, &row);
        if (arcp__view_listing_add(&listing, &row)) {
            last = session->id;
        }
    }
    arcp__view_listing_answer(&listing, last);
}

/* ---- end_session ---- */

/* Sends session.closed, closes the link and forgets the session: it cannot be resumed, and its jobs
 * go on. */
static void end_session(arcp__sessions *sessions, arcp__session *session, arcp_span by)
{
    char why[PRINCIPAL_BYTES_MAX + 32];
    char id[ARCP__ID_SIZE];
    arcp_buf payload = arcp_buf_init();
    (void)snprintf(why, sizeof why, "ended by %.*s", (int)by.size, by.data);
    arcp__context_make_id(sessions->context, "msg_", id);
    arcp_json_writer writer = arcp__put_begin(&payload);
    arcp__put_cstr(&writer, "reason", why);
    arcp_json_end_object(&writer);
    arcp_buf frame = arcp__session_frame(session, "session.closed", arcp_span_cstr(id), &payload);
    arcp__session_send(sessions, session, &frame, false);
    arcp__page_key_end(sessions, session);
    arcp__session_end(sessions, session, "an operator ended it");
}

void arcp__view_end_session_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    const arcp__view_end_session *in = &call->in.end_session;
    const arcp__session *own = call->session;
    if ((in->session_id.size == 0) == (in->principal.size == 0)) {
        refuse(sessions, call, ARCP_E_INVALID_REQUEST,
               "payload must have either session_id or principal");
        return;
    }
    arcp__session *one =
        in->session_id.size == 0 ? NULL : arcp__session_find(sessions, in->session_id);
    if (in->session_id.size != 0 && (one == NULL || one->state == ARCP__SESSION_LOADING)) {
        refuse(sessions, call, ARCP_E_INVALID_REQUEST, "there is no session with this id");
        return;
    }
    if (one == own) {
        refuse(sessions, call, ARCP_E_INVALID_REQUEST,
               "a session does not end itself: send session.close");
        return;
    }
    if (one == NULL) {
        arcp__page_keys_end(sessions, in->principal);
    }
    uint64_t count = 0;
    arcp__session *session = one != NULL ? one : sessions->all;
    while (session != NULL) {
        arcp__session *next = one != NULL ? NULL : session->hh.next;
        const bool is_meant =
            one != NULL || (session != own && session->state != ARCP__SESSION_LOADING &&
                            arcp_span_equal_cstr(in->principal, session->principal->name));
        if (is_meant) {
            arcp__view_audit(sessions, call, NULL, arcp_span_cstr(session->id), ARCP_OK, NULL);
            end_session(sessions, session, arcp_span_cstr(own->principal->name));
            count++;
        }
        session = next;
    }
    arcp_buf out = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&out);
    arcp__put_u64(&writer, "ended", count);
    arcp_json_end_object(&writer);
    arcp__view_answer(sessions, call, &out);
    arcp_buf_fini(&out);
}
