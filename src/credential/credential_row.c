/* Credentials in the store: a row of the table CREDENTIALS from before the upstream is asked
 * until it said that the value is dead. docs/credentials.md describes it for `arcp
 * credentials` and for people with sqlite3. */
#include <stddef.h>
#include <stdio.h>

#include "credential/credential_state.h"
#include "log/log.h"

static const char *const state_names[] = {
    [ARCP__CREDENTIAL_INTENT] = "intent",
    [ARCP__CREDENTIAL_LIVE] = "live",
    [ARCP__CREDENTIAL_REVOKING] = "revoking",
};
#define STATES (sizeof(state_names) / sizeof(state_names[0]))

/* The members that are texts, which are left out when they are empty. */
#define OWNED(member)                                                                              \
    {                                                                                              \
#member, offsetof(arcp__credential, member), 0                                             \
    }
#define FIXED(member)                                                                              \
    {                                                                                              \
#member, offsetof(arcp__credential, member), sizeof(((arcp__credential *)NULL)->member)    \
    }
static const struct {
    const char *name;
    size_t at;
    size_t size; /* of the array; 0: it is a pointer */
} texts[] = {
    OWNED(provisioner), FIXED(job_id),   FIXED(session_id),  OWNED(principal),
    OWNED(agent),       FIXED(trace_id), OWNED(traceparent), OWNED(upstream_id),
    OWNED(endpoint),    OWNED(sealed),   FIXED(last_error),
};
#define TEXTS (sizeof(texts) / sizeof(texts[0]))

/* [arcp:14-14] */
void arcp__credential_store(arcp__credentials *credentials, const arcp__credential *credential)
{
    arcp_buf row = ARCP_BUF_INIT;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &row);
    arcp_json_begin_object(&writer);
    arcp__write_text(&writer, "id", credential->id);
    arcp_json_name(&writer, "generation");
    arcp_json_write_u64(&writer, credential->generation);
    arcp__write_text(&writer, "state", state_names[credential->state]);
    arcp__write_timestamp(&writer, "asked_at", credential->asked_wall_ns);
    for (size_t i = 0; i < TEXTS; i++) {
        const char *member = (const char *)credential + texts[i].at;
        arcp__write_text(&writer, texts[i].name,
                         texts[i].size != 0 ? member : *(char *const *)(const void *)member);
    }
    arcp__write_text(&writer, "expires_at", credential->expires_at);
    if (credential->attempts != 0) {
        arcp_json_name(&writer, "attempts");
        arcp_json_write_u64(&writer, credential->attempts);
        arcp_json_name(&writer, "stuck");
        arcp_json_write_bool(&writer, credential->is_stuck);
    }
    if (credential->next_attempt_wall_ns != 0) {
        arcp__write_timestamp(&writer, "next_attempt_at", credential->next_attempt_wall_ns);
    }
    arcp_json_end_object(&writer);
    arcp__context_check_text(credentials->context, &row);
    arcp__batch_put(credentials->log, ARCP_STORE_CREDENTIALS, arcp_span_cstr(credential->alias),
                    arcp_buf_span(&row));
    arcp_buf_fini(&row);
}

arcp_status arcp__credential_restore(arcp__credentials *credentials, const arcp_json *row,
                                     arcp_span key, arcp_error *err)
{
    arcp__context *context = credentials->context;
    char id[ARCP__ID_SIZE] = "";
    char alias[ARCP__CREDENTIAL_ALIAS_SIZE] = "";
    int64_t asked_wall_ns = 0;
    const uint64_t generation = arcp__row_number(row, "generation");
    const uint64_t attempts = arcp__row_number(row, "attempts");
    const arcp_span id_text = arcp__row_text(context, row, "id");
    const arcp_span state_text = arcp__row_text(context, row, "state");
    size_t state = 0;
    while (state < STATES && !arcp_span_equal_cstr(state_text, state_names[state])) {
        state++;
    }
    const bool is_whole =
        id_text.size != 0 && id_text.size < sizeof id && generation != 0 &&
        generation <= UINT32_MAX && state < STATES &&
        arcp__row_instant(context, row, ARCP_JSON_ROOT, "asked_at", &asked_wall_ns);
    if (is_whole) {
        memcpy(id, id_text.data, id_text.size);
        arcp__credential_alias(id, (uint32_t)generation, alias);
    }
    if (!is_whole || !arcp_span_equal_cstr(key, alias)) {
        return arcp__row_damaged("credential", key, err);
    }
    arcp__credential *credential = arcp__credential_new(credentials, id, (uint32_t)generation);
    if (credential == NULL) {
        return arcp__row_out_of_memory(err);
    }
    for (size_t i = 0; i < TEXTS; i++) {
        char *member = (char *)credential + texts[i].at;
        const arcp_span text = arcp__row_text(context, row, texts[i].name);
        if (texts[i].size != 0) {
            (void)snprintf(member, texts[i].size, "%.*s", (int)text.size,
                           text.size == 0 ? "" : text.data);
        } else {
            *(char **)(void *)member = arcp__credential_copy(credentials, text);
        }
    }
    credential->attempts = attempts > UINT32_MAX ? UINT32_MAX : (uint32_t)attempts;
    credential->state = (arcp__credential_state)state;
    credential->asked_wall_ns = asked_wall_ns;
    credential->is_stuck = arcp_json_is(
        row, arcp_json_member(row, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("stuck")), ARCP_JSON_TRUE);
    credentials->stuck_count += credential->is_stuck ? 1 : 0;
    return ARCP_OK;
}
