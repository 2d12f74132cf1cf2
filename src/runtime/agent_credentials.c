/* What an in-process agent sees of its job's credentials. */
#include <arcp/secret.h>

#include "runtime/agent_call.h"
#include "runtime/agent_call_state.h"

#define LINE_BEGIN "{\"type\":\"job.credentials\""

bool arcp__agent_call_is_credentials(arcp_span line)
{
    return arcp_span_starts_with(line, ARCP_SPAN_LITERAL(LINE_BEGIN));
}

typedef struct change {
    arcp_agent_call *call;
    arcp_secret *credentials;
} change;

static void exchange(void *user)
{
    change *self = user;
    arcp_secret *old = self->call->credentials;
    self->call->credentials = self->credentials;
    self->credentials = old;
}

void arcp__agent_call_take_credentials(arcp_agent_call *call, arcp_span line)
{
    arcp_json json = ARCP_JSON_INIT;
    const arcp_json_limits limits = {64, 1000, SIZE_MAX};
    if (arcp_json_scan(&json, line, &limits, NULL) == ARCP_OK) {
        arcp_json_ref payload =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        arcp_json_ref list = arcp_json_member(&json, payload, ARCP_SPAN_LITERAL("credentials"));
        change fresh = {call, arcp_secret_new(arcp_json_raw(&json, list))};
        if (fresh.credentials != NULL) {
            arcp__agent_inbox_change(call->runtime->inbox, exchange, &fresh);
        }
        arcp_secret_free(fresh.credentials);
    }
    arcp_json_fini(&json);
}

typedef struct look {
    const arcp_agent_call *call;
    arcp_buf *out;
} look;

static void append(void *user)
{
    const look *self = user;
    const arcp_agent_call *call = self->call;
    arcp_json_ref first =
        arcp_json_member(&call->start, call->payload, ARCP_SPAN_LITERAL("credentials"));
    if (call->credentials != NULL) {
        arcp_buf_append(self->out, arcp_secret_reveal(call->credentials));
    } else if (!arcp_json_is_missing(&call->start, first)) {
        arcp_buf_append(self->out, arcp_json_raw(&call->start, first));
    } else {
        arcp_buf_append_cstr(self->out, "[]");
    }
}

arcp_status arcp_agent_credentials(const arcp_agent_call *call, arcp_buf *out, arcp_error *err)
{
    look at = {call, out};
    out->secret = true;
    arcp__agent_inbox_change(call->runtime->inbox, append, &at);
    return out->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}
