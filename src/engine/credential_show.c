/* Who sees a credential (§9.8.1, §14): sessions of the submitter's principal that negotiated
 * the feature, authenticated, over a link that nobody else reads; and the job's agent.
 *
 * What is stored and replayed has no value in it. It is put in when a frame leaves, as long
 * as it is live: after its revocation the same frame leaves without. */
#include "engine/parts.h"

#include <stdio.h>

/* [arcp:9.8.2-2] [arcp:14-8] [arcp:14-16] */
bool arcp__credentials_are_offered(const arcp__engine *engine, bool is_anonymous,
                                   bool link_is_private)
{
    return engine->options.credentials.terms != NULL && engine->options.store_is_durable &&
           !is_anonymous && link_is_private;
}

/* [arcp:7.6-8] [arcp:14-11] [arcp:14-12] */
bool arcp__credentials_are_shown(const arcp__engine *engine, const arcp__credential_viewer *viewer,
                                 const arcp__job *job)
{
    return job->credential != NULL && viewer->principal == job->principal && viewer->has_feature &&
           viewer->is_connected &&
           arcp__credentials_are_offered(engine, viewer->is_anonymous, viewer->link_is_private);
}

static void write_text(arcp_json_writer *writer, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0') {
        arcp_json_name(writer, name);
        arcp_json_write_cstr(writer, value);
    }
}

/* Appends the value, in the clear: `out` is secret. */
static bool unseal(arcp__engine *engine, const arcp__credential *credential, arcp_buf *out)
{
    const arcp__credential_options *options = &engine->options.credentials;
    return options->unseal(options->user, arcp_span_cstr(credential->alias),
                           arcp_span_cstr(credential->sealed), out) &&
           !out->failed;
}

/* [arcp:9.8.1-1] [arcp:9.8.1-5] */
void arcp__credentials_write(arcp__engine *engine, const arcp__job *job, arcp_json_writer *writer)
{
    const arcp__credential *credential = job->credential;
    arcp_buf value = ARCP_BUF_SECRET_INIT;
    if (credential == NULL || !unseal(engine, credential, &value)) {
        arcp_buf_fini(&value);
        return;
    }
    writer->out->secret = true;
    arcp_json_name(writer, "credentials");
    arcp_json_begin_array(writer);
    arcp_json_begin_object(writer);
    write_text(writer, "id", credential->id);
    write_text(writer, "scheme", credential->scheme);
    arcp_json_name(writer, "value");
    arcp_json_write_string(writer, arcp_buf_span(&value));
    write_text(writer, "endpoint", credential->endpoint);
    write_text(writer, "profile", credential->profile);
    if (credential->constraints != NULL) {
        arcp_json_name(writer, "constraints");
        arcp_json_write_raw(writer, arcp_span_cstr(credential->constraints));
    }
    arcp_json_end_object(writer);
    arcp_json_end_array(writer);
    arcp_buf_fini(&value);
}

void arcp__credentials_reveal(arcp__engine *engine, const arcp__credential_viewer *viewer,
                              arcp_span job_id, arcp_buf *frame)
{
    const arcp__job *job = arcp__job_find(engine, job_id);
    if (job == NULL || frame->failed || frame->size < 4 ||
        !arcp__credentials_are_shown(engine, viewer, job)) {
        return;
    }
    arcp_buf member = ARCP_BUF_INIT;
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, &member);
    arcp_json_begin_object(&writer);
    arcp__credentials_write(engine, job, &writer);
    arcp_json_end_object(&writer);
    if (!member.failed && member.size > 2) {
        /* The payload, an object that is not empty, ends the frame: `...}}`. */
        frame->secret = true;
        frame->size -= 2;
        arcp_buf_append_byte(frame, ',');
        arcp_buf_append(frame, arcp_span_from(arcp_buf_span(&member), 1));
        arcp_buf_append_byte(frame, '}');
    }
    arcp_buf_fini(&member);
}

/* ---- rotations ---- */

static const char rotated_mark[] = "\"body\":{\"phase\":\"credential_rotated\"";

/* [arcp:9.8.2-8] */
void arcp__credential_emit_rotated(arcp__engine *engine, arcp__job *job)
{
    /* `details` stands last in the body: arcp__credential_reveal_rotated adds to both. */
    char body[256];
    const arcp__credential *credential = job->credential;
    int size = snprintf(body, sizeof(body),
                        "{\"phase\":\"credential_rotated\",\"message\":\"%s\",\"id\":\"%s\","
                        "\"details\":{\"generation\":%u,\"id\":\"%s\"}}",
                        credential->id, credential->id, credential->generation, credential->id);
    arcp__job_emit_event(engine, job, ARCP_EVENT_STATUS, ARCP_SPAN_LITERAL("status"),
                         arcp_span_make(body, (size_t)size));
}

/* The job of a record and the generation that it tells of. */
static arcp__job *read_rotated(const arcp__engine *engine, arcp_span record, uint64_t *generation)
{
    arcp_json json = ARCP_JSON_INIT;
    arcp_buf scratch = ARCP_BUF_INIT;
    const arcp_json_limits limits = {16, 64, 4096};
    arcp__job *job = NULL;
    if (arcp_json_scan(&json, record, &limits, NULL) == ARCP_OK) {
        arcp_json_ref payload =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        arcp_json_ref body = arcp_json_member(&json, payload, ARCP_SPAN_LITERAL("body"));
        arcp_json_ref details = arcp_json_member(&json, body, ARCP_SPAN_LITERAL("details"));
        if (arcp_json_u64(&json, arcp_json_member(&json, details, ARCP_SPAN_LITERAL("generation")),
                          generation)) {
            job = arcp__job_find(engine,
                                 arcp_json_string(&json,
                                                  arcp_json_member(&json, ARCP_JSON_ROOT,
                                                                   ARCP_SPAN_LITERAL("job_id")),
                                                  &scratch));
        }
    }
    arcp_buf_fini(&scratch);
    arcp_json_fini(&json);
    return job;
}

bool arcp__credential_reveal_rotated(arcp__engine *engine, const arcp__credential_viewer *viewer,
                                     arcp_span record, arcp_buf *out)
{
    arcp_span begin = arcp_span_first(record, 320);
    uint64_t generation = 0;
    if (engine->options.credentials.terms == NULL || record.size < 16 ||
        memmem(begin.data, begin.size, rotated_mark, sizeof(rotated_mark) - 1) == NULL) {
        return false;
    }
    const arcp__job *job = read_rotated(engine, record, &generation);
    if (job == NULL || !arcp__credentials_are_shown(engine, viewer, job) ||
        job->credential->generation != generation) {
        return false;
    }
    arcp_buf value = ARCP_BUF_SECRET_INIT;
    arcp_buf quoted = ARCP_BUF_SECRET_INIT;
    bool shown = unseal(engine, job->credential, &value);
    arcp_json_quote(arcp_buf_span(&value), &quoted);
    shown = shown && !quoted.failed;
    if (shown) {
        /* `...,"details":{...}}}}`: details, body, payload and record end here. */
        arcp_buf_append(out, arcp_span_first(record, record.size - 4));
        arcp_buf_append_cstr(out, ",\"value\":");
        arcp_buf_append(out, arcp_buf_span(&quoted));
        arcp_buf_append_cstr(out, "},\"value\":");
        arcp_buf_append(out, arcp_buf_span(&quoted));
        arcp_buf_append_cstr(out, "}}}");
    }
    arcp_buf_fini(&value);
    arcp_buf_fini(&quoted);
    return shown;
}
