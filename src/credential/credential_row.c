/* Credentials as objects and as rows of the table CREDENTIALS, from before the upstream is called
 * until it confirmed the revocation. docs/credentials.md describes the rows for `arcp credentials`
 * and for people with sqlite3. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/decode.h"
#include "credential/credential_state.h"
#include "log/log.h"

const char *const arcp__credential_state_names[] = {
    [ARCP__CREDENTIAL_INTENT] = "intent",
    [ARCP__CREDENTIAL_LIVE] = "live",
    [ARCP__CREDENTIAL_REVOKING] = "revoking",
};
#define STATES (sizeof arcp__credential_state_names / sizeof arcp__credential_state_names[0])

#define MEMBER(member, name, kind) ARCP__MEMBER(arcp__credential, member, name, kind)

static const arcp__member rows[] = {
    {MEMBER(id, "id", ID), .required = true},
    {MEMBER(generation, "generation", POSITIVE), .required = true},
    {MEMBER(state_name, "state", STRING), .required = true},
    {MEMBER(requested_wall_ns, "asked_at", INSTANT), .required = true},
    {MEMBER(provisioner, "provisioner", TEXT)},
    {MEMBER(job_id, "job_id", ID)},
    {MEMBER(session_id, "session_id", ID)},
    {MEMBER(principal, "principal", TEXT)},
    {MEMBER(agent, "agent", TEXT)},
    {MEMBER(trace_id, "trace_id", ID)},
    {MEMBER(traceparent, "traceparent", TEXT)},
    {MEMBER(upstream_id, "upstream_id", TEXT)},
    {MEMBER(endpoint, "endpoint", TEXT)},
    {MEMBER(sealed, "sealed", TEXT)},
    {MEMBER(last_error, "last_error", ID)},
    {MEMBER(expires_at, "expires_at", ID)}, /* for people and `arcp credentials` */
    {MEMBER(attempts, "attempts", COUNT)},
    {MEMBER(is_stuck, "stuck", BOOL)},
    {MEMBER(next_attempt_wall_ns, "next_attempt_at", INSTANT)},
    /* What a job that outlives the runtime needs to go on with it. Rows of earlier releases have
     * none of these, and their values are replaced. */
    {MEMBER(scheme, "scheme", TEXT)},
    {MEMBER(profile, "profile", TEXT)},
    {MEMBER(constraints, "constraints", TEXT)}, /* the text of a JSON object */
    {MEMBER(fingerprint, "fingerprint", HASH)},
    {MEMBER(budget, "budget", ID)},
    {MEMBER(rotates_wall_ns, "rotates_at", INSTANT)},
    {MEMBER(last_generation, "last_generation", COUNT)},
};
static const arcp__members members = ARCP__MEMBERS(rows);

arcp_span arcp__credential_copy(const arcp__credentials *credentials, arcp__credential *credential,
                                arcp_span text)
{
    char *copy = arcp__arena_take(&credential->arena, text.size + 1);
    if (copy == NULL) {
        arcp__context_no_memory(credentials->context);
        return arcp_span_make(NULL, 0);
    }
    if (text.size != 0) {
        memcpy(copy, text.data, text.size);
    }
    copy[text.size] = '\0';
    return arcp_span_make(copy, text.size);
}

void arcp__credential_alias(const char *id, uint64_t generation,
                            char out[ARCP__CREDENTIAL_ALIAS_SIZE])
{
    if (generation == 1) {
        (void)snprintf(out, ARCP__CREDENTIAL_ALIAS_SIZE, "%s", id);
    } else {
        (void)snprintf(out, ARCP__CREDENTIAL_ALIAS_SIZE, "%s.%" PRIu64, id, generation);
    }
}

arcp__credential *arcp__credential_find(const arcp__credentials *credentials, const char *alias)
{
    arcp__credential *found = NULL;
    HASH_FIND(hh, credentials->all, alias, strlen(alias), found);
    return found;
}

size_t arcp__credentials_count(const arcp__credentials *credentials)
{
    return HASH_COUNT(credentials->all);
}

arcp__credential *arcp__credential_new(arcp__credentials *credentials, const char *id,
                                       uint64_t generation)
{
    arcp__credential *credential = arcp__alloc(sizeof *credential);
    if (credential == NULL) {
        arcp__context_no_memory(credentials->context);
        return NULL;
    }
    (void)snprintf(credential->id, sizeof credential->id, "%s", id);
    credential->generation = generation;
    credential->last_generation = generation;
    arcp__credential_alias(id, generation, credential->alias);
    credential->requested_wall_ns = credentials->context->now.wall_ns;
    assert(arcp__credential_find(credentials, credential->alias) == NULL);
    HASH_ADD_KEYPTR(hh, credentials->all, credential->alias, strlen(credential->alias), credential);
    if (!ARCP__HASH_ADDED(credential)) {
        arcp__free(credential);
        arcp__context_no_memory(credentials->context);
        return NULL;
    }
    return credential;
}

void arcp__credential_free(arcp__credentials *credentials, arcp__credential *credential)
{
    if (credential->call_id != 0) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): uthash knows its table */
        HASH_DELETE(hh_call, credentials->calls, credential);
    }
    credentials->stuck_count -= credential->is_stuck ? 1 : 0;
    arcp__context_disarm(credentials->context, &credential->timer);
    arcp__context_disarm(credentials->context, &credential->usage_timer);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): likewise */
    HASH_DEL(credentials->all, credential);
    arcp__arena_fini(&credential->arena);
    arcp__free(credential);
}

void arcp__credentials_fini(arcp__credentials *credentials)
{
    for (arcp__credential *credential = credentials->all, *next = NULL; credential != NULL;
         credential = next) {
        next = credential->hh.next;
        arcp__credential_free(credentials, credential);
    }
    arcp_buf_fini(&credentials->request_value);
}

/* ---- in the store ---- */

/* [arcp:14-14] */
void arcp__credential_store(arcp__credentials *credentials, arcp__credential *credential)
{
    arcp_buf text = arcp_buf_init();
    credential->state_name = arcp_span_cstr(arcp__credential_state_names[credential->state]);
    arcp__row_format(&members, credential, &text);
    arcp__context_check_text(credentials->context, &text);
    arcp__batch_put(credentials->log, ARCP_STORE_CREDENTIALS, arcp_span_cstr(credential->alias),
                    arcp_buf_span(&text));
    arcp_buf_fini(&text);
}

arcp_status arcp__credential_restore(arcp__credentials *credentials, const arcp_json *json,
                                     arcp_span key, arcp_error *err)
{
    arcp__credential row = {0};
    size_t state = 0;
    const bool is_whole =
        arcp__decode_row(json, &credentials->context->scratch, ARCP_JSON_ROOT, &members, &row) &&
        row.generation <= UINT32_MAX && row.last_generation <= UINT32_MAX;
    while (state < STATES &&
           !arcp_span_equal_cstr(row.state_name, arcp__credential_state_names[state])) {
        state++;
    }
    arcp__credential_alias(row.id, row.generation, row.alias);
    if (!is_whole || state == STATES || !arcp_span_equal_cstr(key, row.alias)) {
        return arcp__row_damaged("credential", key, err);
    }
    arcp__credential *credential = arcp__credential_new(credentials, row.id, row.generation);
    if (credential == NULL) {
        return arcp__row_out_of_memory(err);
    }
    for (size_t i = 0; i < members.count; i++) {
        char *field = (char *)credential + rows[i].at;
        memcpy(field, (const char *)&row + rows[i].at, rows[i].size);
        if (rows[i].field == ARCP__FIELD_SPAN) {
            arcp_span *text = (arcp_span *)(void *)field;
            *text = arcp__credential_copy(credentials, credential, *text);
        }
    }
    credential->expires_at[0] = '\0'; /* it is not requested again */
    credential->state = (arcp__credential_state)state;
    if (credential->last_generation < credential->generation) {
        credential->last_generation = credential->generation;
    }
    for (size_t i = 0; i < sizeof credential->fingerprint; i++) {
        credential->has_fingerprint =
            credential->has_fingerprint || credential->fingerprint[i] != 0;
    }
    credentials->stuck_count += credential->is_stuck ? 1 : 0;
    return ARCP_OK;
}
