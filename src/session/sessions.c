/* Functions on all links and sessions: timers and cleanup. */
#include "session/session_state.h"

static void link_due(arcp__sessions *sessions, arcp__link *link, const arcp__timer *timer)
{
    if (timer == &link->throttle_timer) {
        link->is_throttled = false;
        arcp__link_resume(sessions, link);
        return;
    }
    arcp_error error = {0};
    (void)arcp_error_set(&error, ARCP_E_UNAUTHENTICATED, "%s within %llu s",
                         link->state == ARCP__LINK_AUTHENTICATING ? "the token was not verified"
                                                                  : "no session.hello",
                         (unsigned long long)sessions->context->settings.limits_hello_timeout_sec);
    arcp__link_fail(sessions, link, &error, ARCP__NOTHING, 1008);
}

void arcp__sessions_due(arcp__sessions *sessions, arcp__timer *timer)
{
    arcp__session *session = timer->owner;
    if (timer->kind == sessions->timer_kinds.refusals) {
        arcp__refusals_report(sessions);
    } else if (timer->kind == sessions->timer_kinds.link) {
        link_due(sessions, timer->owner, timer);
    } else if (timer == &session->heartbeat_timer) {
        arcp__session_heartbeat_due(sessions, session);
    } else if (timer == &session->window_timer) {
        arcp__session_window_due(sessions, session);
    } else if (timer == &session->view_timer) {
        arcp__view_due(sessions, session);
    } else if (!arcp__watch_due(sessions, session, timer)) {
        arcp__session_settle_refusal(sessions, session);
    }
}

void arcp__sessions_fini(arcp__sessions *sessions)
{
    for (arcp__session *session = sessions->all, *next = NULL; session != NULL; session = next) {
        next = session->hh.next;
        arcp__session_end(sessions, session, "the engine is being freed");
    }
    arcp__sessions_end_restore(sessions);
    arcp__free(sessions->refusals);
    arcp__free(sessions->figures);
    arcp__free(sessions->notifications);
    arcp_buf_fini(&sessions->sending);
    arcp__peer_profiles_clear(sessions);
    arcp__page_keys_fini(sessions);
    arcp_buf_fini(&sessions->page_principal);
}
