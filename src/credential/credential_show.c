/* Who may see a credential (§9.8.1, §14): the job's agent, and authenticated sessions of the
 * submitter's principal that negotiated the feature, over a link whose traffic no third
 * party can read.
 *
 * Stored and replayed records contain no value. It is added when a frame is sent, as long as it is
 * live: after its revocation the same frame is sent without it. */
#include "credential/credential_state.h"
#include "log/log.h"
#include "json/json_put.h"

/* [arcp:9.8.2-2] [arcp:14-8] [arcp:14-16] */
bool arcp__credentials_are_offered(const arcp__credentials *credentials, bool is_anonymous,
                                   bool link_is_private)
{
    return credentials->options->terms != NULL && credentials->log->options.keeps_rows &&
           !is_anonymous && link_is_private;
}

/* [arcp:7.6-8] [arcp:14-11] [arcp:14-12] */
static bool is_shown(const arcp__credentials *credentials, const arcp__credential_viewer *viewer,
                     const arcp__credential *credential)
{
    return credential != NULL && viewer->has_feature && viewer->is_connected &&
           arcp__credentials_are_offered(credentials, viewer->is_anonymous,
                                         viewer->link_is_private) &&
           arcp_span_equal_cstr(credential->principal, viewer->principal);
}

bool arcp__credential_unseal(const arcp__credentials *credentials,
                             const arcp__credential *credential, arcp_buf *out)
{
    const arcp__credential_options *options = credentials->options;
    return options->unseal(options->user, arcp_span_cstr(credential->alias), credential->sealed,
                           out) &&
           !out->failed;
}

bool arcp__credential_can_unseal(const arcp__credentials *credentials,
                                 const arcp__credential *credential)
{
    arcp_buf value = arcp_buf_secret_init();
    const bool can = arcp__credential_unseal(credentials, credential, &value);
    arcp_buf_fini(&value);
    return can;
}

/* [arcp:9.8.1-1] [arcp:9.8.1-5] */
void arcp__credentials_write(const arcp__credentials *credentials,
                             const arcp__credential_viewer *viewer,
                             const arcp__credential_slot *slot, arcp_json_writer *writer)
{
    const arcp__credential *credential = slot == NULL ? NULL : slot->live;
    arcp_buf value = arcp_buf_secret_init();
    if (credential != NULL && (viewer == NULL || is_shown(credentials, viewer, credential)) &&
        arcp__credential_unseal(credentials, credential, &value)) {
        writer->out->secret = true;
        arcp__put_array(writer, "credentials");
        arcp_json_begin_object(writer);
        arcp__put_word(writer, "id", credential->id);
        arcp__put_word(writer, "scheme", credential->scheme.data);
        arcp__put_string(writer, "value", arcp_buf_span(&value));
        arcp__put_word(writer, "endpoint", credential->endpoint.data);
        arcp__put_word(writer, "profile", credential->profile.data);
        if (credential->constraints.size != 0) {
            arcp__put_raw(writer, "constraints", credential->constraints);
        }
        arcp_json_end_object(writer);
        arcp_json_end_array(writer);
    }
    arcp_buf_fini(&value);
}

void arcp__credentials_reveal(const arcp__credentials *credentials,
                              const arcp__credential_viewer *viewer,
                              const arcp__credential_slot *slot, arcp_buf *frame)
{
    if (slot == NULL || slot->live == NULL || frame->failed || frame->size < 4) {
        return;
    }
    arcp_buf member = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&member);
    arcp__credentials_write(credentials, viewer, slot, &writer);
    arcp_json_end_object(&writer);
    if (!member.failed && member.size > 2) {
        /* The frame ends with the payload, a non-empty object: `...}}`. */
        frame->secret = true;
        frame->size -= 2;
        arcp_buf_append_byte(frame, ',');
        arcp_buf_append(frame, arcp_span_from(arcp_buf_span(&member), 1));
        arcp_buf_append_byte(frame, '}');
    }
    arcp_buf_fini(&member);
}

/* ---- rotations ---- */

/* The credential whose rotation the record reports, if it is live; else NULL. */
static const arcp__credential *read_rotated(const arcp__credentials *credentials, arcp_span record)
{
    static const char mark[] = "\"body\":{\"phase\":\"credential_rotated\"";
    const arcp_span begin = arcp_span_first(record, 320);
    if (credentials->all == NULL || record.size < 16 ||
        memmem(begin.data, begin.size, mark, sizeof mark - 1) == NULL) {
        return NULL;
    }
    arcp_json json = ARCP__JSON_INIT;
    arcp_buf scratch = arcp_buf_init();
    const arcp_json_limits limits = {16, 64, 4096};
    uint64_t generation = 0;
    const arcp__credential *credential = NULL;
    if (arcp_json_scan(&json, record, &limits, NULL) == ARCP_OK) {
        const arcp_json_ref job_id =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("job_id"));
        arcp_json_ref details =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        details = arcp_json_member(&json, details, ARCP_SPAN_LITERAL("body"));
        details = arcp_json_member(&json, details, ARCP_SPAN_LITERAL("details"));
        const arcp_span id = arcp_json_string(
            &json, arcp_json_member(&json, details, ARCP_SPAN_LITERAL("id")), &scratch);
        if (id.size != 0 && id.size < ARCP__ID_SIZE &&
            arcp_json_u64(&json, arcp_json_member(&json, details, ARCP_SPAN_LITERAL("generation")),
                          &generation) &&
            generation != 0 && generation <= UINT32_MAX) {
            char text[ARCP__ID_SIZE] = "";
            char alias[ARCP__CREDENTIAL_ALIAS_SIZE];
            memcpy(text, id.data, id.size);
            arcp__credential_alias(text, generation, alias);
            credential = arcp__credential_find(credentials, alias);
            if (credential != NULL &&
                (credential->slot == NULL || credential->slot->live != credential ||
                 !arcp_json_string_equals(&json, job_id, arcp_span_cstr(credential->job_id)))) {
                credential = NULL;
            }
        }
    }
    arcp_buf_fini(&scratch);
    arcp__json_fini(&json);
    return credential;
}

bool arcp__credential_reveal_rotated(const arcp__credentials *credentials,
                                     const arcp__credential_viewer *viewer, arcp_span record,
                                     size_t skip, arcp_buf *out)
{
    const arcp__credential *credential = read_rotated(credentials, record);
    if (!is_shown(credentials, viewer, credential)) {
        return false;
    }
    arcp_buf value = arcp_buf_secret_init();
    arcp_buf quoted = arcp_buf_secret_init();
    bool is_readable = arcp__credential_unseal(credentials, credential, &value);
    arcp_json_quote(arcp_buf_span(&value), &quoted);
    is_readable = is_readable && !quoted.failed;
    if (is_readable) {
        /* The record ends `...,"details":{...}}}}`: details, body, payload, record. */
        out->secret = true;
        arcp_buf_append(out, arcp_span_from(arcp_span_first(record, record.size - 4), skip));
        arcp_buf_append_cstr(out, ",\"value\":");
        arcp_buf_append(out, arcp_buf_span(&quoted));
        arcp_buf_append_cstr(out, "},\"value\":");
        arcp_buf_append(out, arcp_buf_span(&quoted));
        arcp_buf_append_cstr(out, "}}}");
    }
    arcp_buf_fini(&value);
    arcp_buf_fini(&quoted);
    return is_readable;
}
