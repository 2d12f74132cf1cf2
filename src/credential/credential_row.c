/* Credentials in the store: a row of the table CREDENTIALS from before the upstream is asked
 * until it said that the value is dead. docs/credentials.md describes it for `arcp
 * credentials` and for people with sqlite3. */
#include <stdio.h>

#include "core/decode.h"
#include "credential/credential_state.h"
#include "log/log.h"

static const char *const state_names[] = {
    [ARCP__CREDENTIAL_INTENT] = "intent",
    [ARCP__CREDENTIAL_LIVE] = "live",
    [ARCP__CREDENTIAL_REVOKING] = "revoking",
};
#define STATES (sizeof(state_names) / sizeof(state_names[0]))

typedef struct credential_row {
    arcp_span id, state;
    uint64_t generation, attempts;
    int64_t asked_at, next_attempt_at;
    arcp_span provisioner, job_id, session_id, principal, agent, trace_id, traceparent;
    arcp_span upstream_id, endpoint, sealed, last_error;
    arcp_span expires_at; /* for people and `arcp credentials` */
    bool stuck;
} credential_row;

#define MEMBER(member, kind) ARCP__MEMBER(credential_row, member, #member, kind)

static const arcp__member rows[] = {
    {MEMBER(id, STRING), .required = true},
    {MEMBER(generation, POSITIVE), .required = true},
    {MEMBER(state, STRING), .required = true},
    {MEMBER(asked_at, INSTANT), .required = true},
    {MEMBER(provisioner, TEXT)},
    {MEMBER(job_id, TEXT)},
    {MEMBER(session_id, TEXT)},
    {MEMBER(principal, TEXT)},
    {MEMBER(agent, TEXT)},
    {MEMBER(trace_id, TEXT)},
    {MEMBER(traceparent, TEXT)},
    {MEMBER(upstream_id, TEXT)},
    {MEMBER(endpoint, TEXT)},
    {MEMBER(sealed, TEXT)},
    {MEMBER(last_error, TEXT)},
    {MEMBER(expires_at, TEXT)},
    {MEMBER(attempts, COUNT)},
    {MEMBER(stuck, BOOL)},
    {MEMBER(next_attempt_at, INSTANT)},
};
static const arcp__members members = ARCP__MEMBERS(rows);

/* [arcp:14-14] */
void arcp__credential_store(arcp__credentials *credentials, const arcp__credential *credential)
{
    const credential_row row = {
        .id = arcp_span_cstr(credential->id),
        .state = arcp_span_cstr(state_names[credential->state]),
        .generation = credential->generation,
        .attempts = credential->attempts,
        .asked_at = credential->asked_wall_ns,
        .next_attempt_at = credential->next_attempt_wall_ns,
        .provisioner = arcp_span_cstr(credential->provisioner),
        .job_id = arcp_span_cstr(credential->job_id),
        .session_id = arcp_span_cstr(credential->session_id),
        .principal = arcp_span_cstr(credential->principal),
        .agent = arcp_span_cstr(credential->agent),
        .trace_id = arcp_span_cstr(credential->trace_id),
        .traceparent = arcp_span_cstr(credential->traceparent),
        .upstream_id = arcp_span_cstr(credential->upstream_id),
        .endpoint = arcp_span_cstr(credential->endpoint),
        .sealed = arcp_span_cstr(credential->sealed),
        .last_error = arcp_span_cstr(credential->last_error),
        .expires_at = arcp_span_cstr(credential->expires_at),
        .stuck = credential->is_stuck,
    };
    arcp_buf text = ARCP_BUF_INIT;
    arcp__row_format(&members, &row, &text);
    arcp__context_check_text(credentials->context, &text);
    arcp__batch_put(credentials->log, ARCP_STORE_CREDENTIALS, arcp_span_cstr(credential->alias),
                    arcp_buf_span(&text));
    arcp_buf_fini(&text);
}

static void copy_fixed(char *to, size_t size, arcp_span text)
{
    (void)snprintf(to, size, "%.*s", (int)text.size, text.size == 0 ? "" : text.data);
}

arcp_status arcp__credential_restore(arcp__credentials *credentials, const arcp_json *json,
                                     arcp_span key, arcp_error *err)
{
    char id[ARCP__ID_SIZE] = "";
    char alias[ARCP__CREDENTIAL_ALIAS_SIZE] = "";
    credential_row row = {0};
    size_t state = 0;
    bool is_whole =
        arcp__decode_row(json, &credentials->context->scratch, ARCP_JSON_ROOT, &members, &row) &&
        row.id.size < sizeof id && row.generation <= UINT32_MAX;
    while (state < STATES && !arcp_span_equal_cstr(row.state, state_names[state])) {
        state++;
    }
    if (is_whole) {
        memcpy(id, row.id.data, row.id.size);
        arcp__credential_alias(id, (uint32_t)row.generation, alias);
    }
    if (!is_whole || state == STATES || !arcp_span_equal_cstr(key, alias)) {
        return arcp__row_damaged("credential", key, err);
    }
    arcp__credential *credential = arcp__credential_new(credentials, id, (uint32_t)row.generation);
    if (credential == NULL) {
        return arcp__row_out_of_memory(err);
    }
    copy_fixed(credential->job_id, sizeof credential->job_id, row.job_id);
    copy_fixed(credential->session_id, sizeof credential->session_id, row.session_id);
    copy_fixed(credential->trace_id, sizeof credential->trace_id, row.trace_id);
    copy_fixed(credential->last_error, sizeof credential->last_error, row.last_error);
    credential->provisioner = arcp__credential_copy(credentials, row.provisioner);
    credential->principal = arcp__credential_copy(credentials, row.principal);
    credential->agent = arcp__credential_copy(credentials, row.agent);
    credential->traceparent = arcp__credential_copy(credentials, row.traceparent);
    credential->upstream_id = arcp__credential_copy(credentials, row.upstream_id);
    credential->endpoint = arcp__credential_copy(credentials, row.endpoint);
    credential->sealed = arcp__credential_copy(credentials, row.sealed);
    credential->attempts = row.attempts > UINT32_MAX ? UINT32_MAX : (uint32_t)row.attempts;
    credential->state = (arcp__credential_state)state;
    credential->asked_wall_ns = row.asked_at;
    credential->is_stuck = row.stuck;
    credentials->stuck_count += credential->is_stuck ? 1 : 0;
    return ARCP_OK;
}
