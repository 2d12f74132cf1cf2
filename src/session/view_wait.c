#include "session/view.h"

arcp__view_wait *arcp__view_wait_new(arcp__sessions *sessions, arcp__view_call *call)
{
    arcp__view_wait *wait = arcp__alloc(sizeof *wait);
    if (wait == NULL) {
        arcp__context_no_memory(sessions->context);
        return NULL;
    }
    wait->session = call->session;
    arcp_buf_append(&wait->frame, call->frame);
    arcp__context_check_text(sessions->context, &wait->frame);
    DL_APPEND(call->session->view_waits, wait);
    arcp__view_arm(sessions, call->session);
    call->wait = wait;
    return wait;
}

void arcp__view_wait_free(arcp__view_wait *wait)
{
    DL_DELETE(wait->session->view_waits, wait);
    arcp_buf_fini(&wait->frame);
    arcp_buf_fini(&wait->out);
    arcp__free(wait);
}

void arcp__view_arm(arcp__sessions *sessions, arcp__session *session)
{
    arcp__context_arm(sessions->context, &session->view_timer, sessions->timer_kinds.session,
                      session, sessions->context->now.mono_ns + 1);
}

void arcp__view_drop(arcp__sessions *sessions, arcp__session *session)
{
    arcp__context_disarm(sessions->context, &session->view_timer);
    while (session->view_waits != NULL) {
        arcp__view_wait_free(session->view_waits);
    }
}
