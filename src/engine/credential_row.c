/* Credentials in the store: a row of the table CREDENTIALS from before the upstream is asked
 * until it said that the value is dead. docs/credentials.md describes it for `arcp
 * credentials` and for people with sqlite3. */
#include "engine/parts.h"
#include "engine/restore.h"

#include <stdio.h>

#include "base/timestamp.h"

static const char *const state_names[] = {
    [ARCP__CREDENTIAL_INTENT] = "intent",
    [ARCP__CREDENTIAL_LIVE] = "live",
    [ARCP__CREDENTIAL_REVOKING] = "revoking",
};
#define STATES (sizeof(state_names) / sizeof(state_names[0]))

static void write_text(arcp_json_writer *writer, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0') {
        arcp_json_name(writer, name);
        arcp_json_write_cstr(writer, value);
    }
}

/* [arcp:14-14] */
void arcp__credential_store(arcp__engine *engine, const arcp__credential *credential)
{
    arcp_buf row = ARCP_BUF_INIT;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &row);
    arcp_json_begin_object(&writer);
    write_text(&writer, "id", credential->id);
    arcp_json_name(&writer, "generation");
    arcp_json_write_u64(&writer, credential->generation);
    write_text(&writer, "state", state_names[credential->state]);
    write_text(&writer, "provisioner", credential->provisioner);
    write_text(&writer, "job_id", credential->job_id);
    write_text(&writer, "principal", credential->principal);
    write_text(&writer, "agent", credential->agent);
    write_text(&writer, "trace_id", credential->trace_id);
    write_text(&writer, "traceparent", credential->traceparent);
    arcp__write_timestamp(&writer, "asked_at", credential->asked_wall_ns);
    write_text(&writer, "upstream_id", credential->upstream_id);
    write_text(&writer, "endpoint", credential->endpoint);
    write_text(&writer, "expires_at", credential->expires_at);
    write_text(&writer, "sealed", credential->sealed);
    if (credential->attempts != 0) {
        arcp_json_name(&writer, "attempts");
        arcp_json_write_u64(&writer, credential->attempts);
        arcp_json_name(&writer, "stuck");
        arcp_json_write_bool(&writer, credential->is_stuck);
        write_text(&writer, "last_error", credential->last_error);
    }
    if (credential->next_attempt_wall_ns != 0) {
        arcp__write_timestamp(&writer, "next_attempt_at", credential->next_attempt_wall_ns);
    }
    arcp_json_end_object(&writer);
    arcp__context_check_text(&engine->context, &row);
    arcp__batch_put(engine->log, ARCP_STORE_CREDENTIALS, arcp_span_cstr(credential->alias),
                    arcp_buf_span(&row));
    arcp_buf_fini(&row);
}

/* ---- restart ---- */

static arcp_span text_of(arcp__engine *engine, const arcp_json *row, const char *name)
{
    return arcp_json_string(row, arcp_json_member(row, ARCP_JSON_ROOT, arcp_span_cstr(name)),
                            &engine->context.scratch);
}

static bool copy_text(char **to, arcp_span text)
{
    *to = arcp__copy_cstr(text.data, text.size);
    return *to != NULL;
}

static void copy_fixed(char *to, size_t size, arcp_span text)
{
    (void)snprintf(to, size, "%.*s", (int)text.size, text.size == 0 ? "" : text.data);
}

static bool read_state(arcp_span word, arcp__credential_state *out)
{
    for (size_t at = 0; at < STATES; at++) {
        if (arcp_span_equal_cstr(word, state_names[at])) {
            *out = (arcp__credential_state)at;
            return true;
        }
    }
    return false;
}

static bool read_texts(arcp__engine *engine, const arcp_json *row, arcp__credential *credential)
{
    copy_fixed(credential->job_id, sizeof(credential->job_id), text_of(engine, row, "job_id"));
    copy_fixed(credential->trace_id, sizeof(credential->trace_id),
               text_of(engine, row, "trace_id"));
    copy_fixed(credential->last_error, sizeof(credential->last_error),
               text_of(engine, row, "last_error"));
    arcp_span sealed = text_of(engine, row, "sealed");
    return copy_text(&credential->provisioner, text_of(engine, row, "provisioner")) &&
           copy_text(&credential->principal, text_of(engine, row, "principal")) &&
           copy_text(&credential->agent, text_of(engine, row, "agent")) &&
           copy_text(&credential->traceparent, text_of(engine, row, "traceparent")) &&
           copy_text(&credential->upstream_id, text_of(engine, row, "upstream_id")) &&
           copy_text(&credential->endpoint, text_of(engine, row, "endpoint")) &&
           (sealed.size == 0 || copy_text(&credential->sealed, sealed));
}

arcp_status arcp__credential_restore(arcp__engine *engine, const arcp_json *row, arcp_span key,
                                     arcp_error *err)
{
    char id[ARCP__ID_SIZE] = "";
    uint64_t generation = 0;
    uint64_t attempts = 0;
    arcp__credential_state state = ARCP__CREDENTIAL_INTENT;
    arcp__instant asked;
    arcp_span id_text = text_of(engine, row, "id");
    bool readable =
        id_text.size != 0 && id_text.size < sizeof(id) &&
        arcp_json_u64(row, arcp_json_member(row, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("generation")),
                      &generation) &&
        generation != 0 && generation <= UINT32_MAX &&
        read_state(text_of(engine, row, "state"), &state) &&
        arcp__timestamp_parse(text_of(engine, row, "asked_at"), &asked, NULL) == ARCP_OK;
    if (!readable) {
        return arcp__row_damaged("credential", key, err);
    }
    copy_fixed(id, sizeof(id), id_text);
    char alias[ARCP__CREDENTIAL_ALIAS_SIZE];
    arcp__credential_alias(id, (uint32_t)generation, alias);
    if (!arcp_span_equal_cstr(key, alias)) {
        return arcp__row_damaged("credential", key, err);
    }
    arcp__credential *credential = arcp__credential_new(engine, id, (uint32_t)generation);
    if (credential == NULL || !read_texts(engine, row, credential)) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    (void)arcp_json_u64(row, arcp_json_member(row, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("attempts")),
                        &attempts);
    credential->attempts = attempts > UINT32_MAX ? UINT32_MAX : (uint32_t)attempts;
    credential->state = state;
    credential->asked_wall_ns = asked.wall_ns;
    credential->is_stuck = arcp_json_is(
        row, arcp_json_member(row, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("stuck")), ARCP_JSON_TRUE);
    engine->stuck_credentials += credential->is_stuck ? 1 : 0;
    return ARCP_OK;
}

/* [arcp:14-14] */
void arcp__credential_restored(arcp__engine *engine)
{
    for (arcp__credential *at = engine->credentials; at != NULL; at = at->hh.next) {
        if (at->state == ARCP__CREDENTIAL_INTENT) {
            at->asked_wall_ns = engine->context.now.wall_ns; /* at the latest */
        }
        arcp__credential_abandon(engine, at);
    }
}
