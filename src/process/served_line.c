#include "process/served_line.h"

/* An index that a long line has made larger than this is not kept. */
#define KEPT_LINE_BYTES 65536u

static bool is_last(const arcp_json *json, arcp_json_ref type)
{
    return arcp_json_string_equals(json, type, ARCP_SPAN_LITERAL("job.result")) ||
           arcp_json_string_equals(json, type, ARCP_SPAN_LITERAL("job.error"));
}

arcp_status arcp__served_line_read(arcp_json *json, arcp_span line, arcp__served_line *out)
{
    /* The reader of the job has its own limits, and says so to the job. */
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    if (line.size == 0 || line.data[0] != '{') {
        return ARCP_E_INVALID_REQUEST;
    }
    arcp_status status = arcp_json_scan(json, line, &limits, NULL);
    if (status != ARCP_OK) {
        return status == ARCP_E_NO_MEMORY ? status : ARCP_E_INVALID_REQUEST;
    }
    const arcp_json_ref id = arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("job_id"));
    const arcp_span quoted = arcp_json_raw(json, id);
    if (arcp_json_is(json, id, ARCP_JSON_STRING) && quoted.size > 2) {
        out->job_id = arcp_span_make(quoted.data + 1, quoted.size - 2);
        out->is_last =
            is_last(json, arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("type")));
    } else {
        status = ARCP_E_INVALID_REQUEST;
    }
    if (line.size > KEPT_LINE_BYTES) {
        arcp__json_fini(json);
    }
    return status;
}

void arcp__served_line_write(arcp_span line, const char *job_id, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{\"job_id\":\"");
    arcp_buf_append_cstr(out, job_id); /* an id has no character that JSON escapes */
    arcp_buf_append_cstr(out, "\",");
    arcp_buf_append(out, arcp_span_from(line, 1));
}
