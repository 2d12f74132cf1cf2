#include "session/job_filter.h"

#include "core/name_glob.h"

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
    if (texts->principal.size != 0) {
        memcpy(out->principal, texts->principal.data, texts->principal.size);
    }
    return ARCP_OK;
}

/* A name without a version matches all versions of the agent. */
static bool agent_matches(arcp_span wanted, arcp_span have)
{
    if (wanted.size == 0 || arcp_span_equal(wanted, have)) {
        return true;
    }
    return memchr(wanted.data, '@', wanted.size) == NULL && have.size > wanted.size &&
           have.data[wanted.size] == '@' && arcp_span_starts_with(have, wanted);
}

static char lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

/* Whether `text` has `part`, in any case of ASCII letters. */
static bool has_text(const char *text, arcp_span part)
{
    const size_t size = strlen(text);
    for (size_t at = 0; at + part.size <= size; at++) {
        size_t same = 0;
        while (same < part.size && lower(text[at + same]) == lower(part.data[same])) {
            same++;
        }
        if (same == part.size) {
            return true;
        }
    }
    return false;
}

static const char *code_of(const arcp__job *job)
{
    const char *code = arcp__job_code(job);
    return code == NULL ? "" : code;
}

bool arcp__job_filter_matches(const arcp__job_filter *filter, const arcp__job *job)
{
    if (filter->statuses != 0 && (filter->statuses & ((uint32_t)1 << job->status)) == 0) {
        return false;
    }
    const arcp__instant created = arcp__instant_at(job->created_wall_ns);
    if ((filter->has_created_after && arcp__instant_compare(created, filter->created_after) <= 0) ||
        (filter->has_created_before &&
         arcp__instant_compare(created, filter->created_before) >= 0)) {
        return false;
    }
    if (filter->has_ended_after &&
        (!arcp__job_has_ended(job) ||
         arcp__instant_compare(arcp__instant_at(job->ended_wall_ns), filter->ended_after) <= 0)) {
        return false;
    }
    if (!agent_matches(filter->agent, arcp_span_cstr(job->agent_text)) ||
        (filter->principal[0] != '\0' &&
         !arcp__name_glob_matches(filter->principal, arcp_span_cstr(job->principal->name))) ||
        (filter->parent.size != 0 && !arcp_span_equal_cstr(filter->parent, job->parent_id)) ||
        (filter->code.size != 0 && !arcp_span_equal_cstr(filter->code, code_of(job)))) {
        return false;
    }
    return filter->text.size == 0 || has_text(job->id, filter->text) ||
           has_text(job->agent_text, filter->text) ||
           has_text(job->principal->name, filter->text) || has_text(code_of(job), filter->text) ||
           has_text(job->trace_id, filter->text);
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
