/* Links that leave a door, and what they leave behind there (door/door.h). */
#include "session/session_state.h"

void arcp__link_blank_token(const arcp_json *json, arcp_span frame, arcp_buf *kept)
{
    const arcp_json_ref payload =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
    const arcp_json_ref auth = arcp_json_member(json, payload, ARCP_SPAN_LITERAL("auth"));
    const arcp_json_ref token = arcp_json_member(json, auth, ARCP_SPAN_LITERAL("token"));
    if (arcp_json_is(json, token, ARCP_JSON_STRING)) {
        const arcp_span raw = arcp_json_raw(json, token); /* with its quotes */
        memset(kept->data + (raw.data - frame.data) + 1, ' ', raw.size - 2);
    }
}

arcp__link *arcp__link_find_authenticating(const arcp__sessions *sessions, uint64_t auth_id)
{
    /* From the newest on: a result is usually for a recent request. */
    arcp__link *link = sessions->links == NULL ? NULL : sessions->links->previous;
    while (link != NULL && (link->auth_id != auth_id || link->state != ARCP__LINK_AUTHENTICATING ||
                            link->port.is_closed)) {
        link = link == sessions->links ? NULL : link->previous;
    }
    return link;
}

bool arcp__link_hand_over(arcp__sessions *sessions, uint64_t auth_id, arcp__handover *out)
{
    const arcp__context *context = sessions->context;
    arcp__link *link = arcp__link_find_authenticating(sessions, auth_id);
    if (link == NULL) {
        return false;
    }
    arcp__link_enter(link, ARCP__LINK_LEAVING);
    const int64_t timeout_ns =
        (int64_t)context->settings.limits_hello_timeout_sec * ARCP_NS_PER_SEC;
    const int64_t left_ns = link->hello_timer.at_ns - context->now.mono_ns;
    const int64_t waited_ns = left_ns < timeout_ns ? timeout_ns - left_ns : 0;
    arcp__context_disarm(sessions->context, &link->hello_timer);
    *out = (arcp__handover){
        .link = link,
        .user = link->port.user,
        .hello = arcp_buf_span(&link->hello),
        .next_frame = arcp_buf_span(&link->next_frame),
        .has_next_frame = link->has_next_frame,
        .input_is_over = link->input_over,
        .options = {.user = link->port.user,
                    .is_local = link->is_local,
                    .is_encrypted = link->is_encrypted,
                    .peer = link->peer,
                    .waited_ms = (uint32_t)(waited_ns / ARCP_NS_PER_MS)},
    };
    return true;
}
