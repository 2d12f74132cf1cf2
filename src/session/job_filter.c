#include "session/job_filter.h"

#include "core/name_glob.h"

/* Of the id of a job: job_ and a ULID. */
#define ID_BYTES "job_0123456789abcdefghjkmnpqrstvwxyz"

static arcp_status read_instant(const char *name, arcp_span text, bool *has, arcp__instant *out,
                                arcp_error *err)
{
    arcp_error why = {0};
    *has = text.size != 0;
    if (*has && arcp__timestamp_parse(text, out, &why) != ARCP_OK) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "payload.filter.%s: %s", name,
                              why.message);
    }
    return ARCP_OK;
}

static arcp_status read_statuses(arcp__context *context, arcp_json_ref array, uint32_t *out,
                                 arcp_error *err)
{
    const arcp_json *json = &context->json;
    for (arcp_json_ref item = arcp_json_first(json, array); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, array, item)) {
        arcp_span word = arcp_json_string(json, item, &context->scratch);
        const arcp_job_status status = arcp_job_status_from_wire(word);
        if (status == ARCP_JOB_STATUS_COUNT) {
            word = arcp_span_first(word, 32);
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                  "payload.filter.status has \"%.*s\", must be pending, running, "
                                  "success, error, cancelled or timed_out",
                                  (int)word.size, word.data);
        }
        *out |= (uint32_t)1 << status;
    }
    return ARCP_OK;
}

static char lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

/* Whether the text has these bytes only, in any case of ASCII letters. */
static bool consists_of(arcp_span text, const char *bytes)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\0' || strchr(bytes, lower(text.data[i])) == NULL) {
            return false;
        }
    }
    return true;
}

arcp_status arcp__job_filter_read(arcp__context *context, const arcp__job_filter_texts *texts,
                                  arcp__job_filter *out, arcp_error *err)
{
    *out = (arcp__job_filter){
        .agent = texts->agent, .parent = texts->parent, .code = texts->code, .text = texts->text};
    if (read_statuses(context, texts->statuses, &out->statuses, err) != ARCP_OK ||
        read_instant("created_after", texts->created_after, &out->has_created_after,
                     &out->created_after, err) != ARCP_OK ||
        read_instant("created_before", texts->created_before, &out->has_created_before,
                     &out->created_before, err) != ARCP_OK ||
        read_instant("ended_after", texts->ended_after, &out->has_ended_after, &out->ended_after,
                     err) != ARCP_OK) {
        return ARCP_E_INVALID_REQUEST;
    }
    if (texts->principal.size >= sizeof out->principal) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "payload.filter.principal has more than %zu bytes",
                              sizeof out->principal - 1);
    }
    if (texts->text.size > ARCP__FILTER_TEXT_MAX) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "payload.filter.text has more than %u bytes", ARCP__FILTER_TEXT_MAX);
    }
    out->has_time = out->has_created_after || out->has_created_before || out->has_ended_after;
    out->may_be_id = consists_of(out->text, ID_BYTES);
    out->may_be_trace = consists_of(out->text, "0123456789abcdef");
    if (texts->principal.size != 0) {
        memcpy(out->principal, texts->principal.data, texts->principal.size);
    }
    return ARCP_OK;
}

/* A name without a version matches all versions of the agent. */
static bool agent_matches(arcp_span wanted, arcp_span have)
{
    if (arcp_span_equal(wanted, have)) {
        return true;
    }
    return memchr(wanted.data, '@', wanted.size) == NULL && have.size > wanted.size &&
           have.data[wanted.size] == '@' && arcp_span_starts_with(have, wanted);
}

/* The first byte that is `small`, or the same letter as a capital; NULL: none. */
static const char *find_byte(const char *text, size_t size, char small)
{
    const char *at = memchr(text, small, size);
    if (small < 'a' || small > 'z') {
        return at;
    }
    const char *capital = memchr(text, small - 'a' + 'A', at == NULL ? size : (size_t)(at - text));
    return capital == NULL ? at : capital;
}

/* Whether `text` has `part`, in any case of ASCII letters. */
static bool has_text(const char *text, arcp_span part)
{
    for (size_t left = strlen(text); left >= part.size;) {
        const char *at = find_byte(text, left - part.size + 1, lower(part.data[0]));
        if (at == NULL) {
            return false;
        }
        size_t same = 1;
        while (same < part.size && lower(at[same]) == lower(part.data[same])) {
            same++;
        }
        if (same == part.size) {
            return true;
        }
        left -= (size_t)(at + 1 - text);
        text = at + 1;
    }
    return false;
}

static const char *code_of(const arcp__job *job)
{
    const char *code = arcp__job_code(job);
    return code == NULL ? "" : code;
}

static bool times_match(const arcp__job_filter *filter, const arcp__job *job)
{
    const arcp__instant created = arcp__instant_at(job->created_wall_ns);
    return (!filter->has_created_after ||
            arcp__instant_compare(created, filter->created_after) > 0) &&
           (!filter->has_created_before ||
            arcp__instant_compare(created, filter->created_before) < 0) &&
           (!filter->has_ended_after ||
            (arcp__job_has_ended(job) &&
             arcp__instant_compare(arcp__instant_at(job->ended_wall_ns), filter->ended_after) > 0));
}

static bool text_matches(const arcp__job_filter *filter, const arcp__job *job)
{
    const arcp_span text = filter->text;
    return (filter->may_be_id && has_text(job->id, text)) || has_text(job->agent_text, text) ||
           has_text(job->principal->name, text) || has_text(code_of(job), text) ||
           (filter->may_be_trace && has_text(job->trace_id, text));
}

bool arcp__job_filter_matches(const arcp__job_filter *filter, const arcp__job *job)
{
    if (filter->statuses != 0 && (filter->statuses & ((uint32_t)1 << job->status)) == 0) {
        return false;
    }
    if (filter->has_time && !times_match(filter, job)) {
        return false;
    }
    if ((filter->agent.size != 0 &&
         !agent_matches(filter->agent, arcp_span_cstr(job->agent_text))) ||
        (filter->principal[0] != '\0' &&
         !arcp__name_glob_matches(filter->principal, arcp_span_cstr(job->principal->name))) ||
        (filter->parent.size != 0 && !arcp_span_equal_cstr(filter->parent, job->parent_id)) ||
        (filter->code.size != 0 && !arcp_span_equal_cstr(filter->code, code_of(job)))) {
        return false;
    }
    return filter->text.size == 0 || text_matches(filter, job);
}

arcp_status arcp__job_cursor_check(arcp_span cursor, arcp_error *err)
{
    if (cursor.size != 0 && (cursor.size != 4 + ARCP__ULID_SIZE ||
                             !arcp_span_starts_with(cursor, ARCP_SPAN_LITERAL("job_")) ||
                             !arcp__ulid_is_valid(arcp_span_from(cursor, 4)))) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "payload.cursor is not one that a listing returned");
    }
    return ARCP_OK;
}
