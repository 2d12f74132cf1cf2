/* Bodies of events (§8.2). */
#ifndef ARCP_CORE_EVENT_BODY_H
#define ARCP_CORE_EVENT_BODY_H

#include <arcp/decimal.h>
#include <arcp/wire.h>

#include "core/decode.h"

/* The members that the runtime uses, of bodies of all kinds. */
typedef struct arcp__event_body {
    arcp_event_kind kind;
    arcp_span level, phase, name, unit, tool, call_id, agent, delegate_id;
    arcp_json_ref value, args, result, error;
    arcp_json_ref input, lease_request, lease_constraints, wait;
    /* A metric cost.* (not cost.budget.*) with a unit; set by arcp__event_check. `call_id` is then
     * that of its dimensions, or empty. */
    bool is_spend;
    arcp_decimal amount; /* of the spend */
} arcp__event_body;

/* The members that bodies of a kind have; none for vendors' kinds. */
const arcp__members *arcp__event_body_members(arcp_event_kind kind);

/* Reads the members of a body. ARCP_E_INVALID_REQUEST gives the path of the invalid member and what
 * it must be. */
ARCP_MUST_CHECK arcp_status arcp__event_body_read(arcp__decoder *decoder, arcp_event_kind kind,
                                                  arcp_json_ref body, arcp__event_body *out,
                                                  arcp_error *err);

/* Checks an event from an agent and appends its body to `out` with the draft's names and without
 * white space: older names (name/arguments/tool_call_id, dims) are renamed, or left out if the
 * draft's name occurs, too; a tool_result error gets its `retryable`. Refused with
 * ARCP_E_INVALID_REQUEST: a kind that is neither the draft's nor x-vendor.*, an invalid body, a
 * negative or non-numeric cost, and what only the runtime may report (cost.budget.* metrics,
 * metrics whose dimensions have the source "gateway"; phases queued, running, back_pressure,
 * credential_rotated). `read` borrows from json and scratch. */
ARCP_MUST_CHECK arcp_status arcp__event_check(const arcp_json *json, arcp_span kind_text,
                                              arcp_json_ref body, arcp_buf *scratch, arcp_buf *out,
                                              arcp__event_body *read, arcp_error *err);

/* Bodies of events that the runtime writes itself, for the engine and for callback agents. They are
 * appended to `out`; out->failed is set when memory ran out. */

/* log: `level` is one of the draft's. */
void arcp__event_write_log(arcp_span level, arcp_span message, arcp_buf *out);
/* metric: `value` is a JSON number's text; `unit` may be {NULL, 0}. */
void arcp__event_write_metric(arcp_span name, arcp_span value, arcp_span unit, arcp_buf *out);
/* tool_result: the runtime's result of a call that it refused. `details` is a JSON object or
 * empty. */
void arcp__event_write_refusal(arcp_span call_id, const arcp_error *error, arcp_span details,
                               arcp_buf *out);

#endif
