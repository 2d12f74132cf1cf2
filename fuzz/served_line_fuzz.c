/* Lines of a served process: what is read of one is what the JSON scanner finds in it; and a line
 * that is an object is found again with the id that it was written with. */
#include "lines.h"
#include "process/served_line.h"

/* What is expected, by the public functions of the scanner. */
static bool expect(arcp_span line, arcp_span *id, bool *is_last)
{
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    arcp_json *json = arcp_json_new();
    arcp_buf type = arcp_buf_init();
    bool is_found = false;
    require(json != NULL);
    if (line.size != 0 && line.data[0] == '{' &&
        arcp_json_scan(json, line, &limits, NULL) == ARCP_OK) {
        const arcp_json_ref at =
            arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("job_id"));
        const arcp_span text = arcp_json_string(
            json, arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("type")), &type);
        *id = arcp_json_raw(json, at);
        *is_last =
            arcp_span_equal_cstr(text, "job.result") || arcp_span_equal_cstr(text, "job.error");
        is_found = arcp_json_is(json, at, ARCP_JSON_STRING) && id->size > 2;
    }
    arcp_buf_fini(&type);
    arcp_json_free(json);
    return is_found;
}

/* An object without job_id, and with other members. */
static bool can_be_written(arcp_span line)
{
    bool can = false;
    arcp_json *json = arcp_json_new();
    require(json != NULL);
    if (line.size > 2 && line.data[0] == '{' && line.data[1] == '"' &&
        arcp_json_scan(json, line, NULL, NULL) == ARCP_OK) {
        can =
            arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("job_id")) == ARCP_JSON_ABSENT;
    }
    arcp_json_free(json);
    return can;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_span rest = arcp_span_make((const char *)data, size);
    while (rest.data != NULL) {
        const arcp_span line = take_line(&rest);
        arcp__served_line found;
        arcp_span id = {NULL, 0};
        bool is_last = false;
        const bool is_expected = expect(line, &id, &is_last);
        require(arcp__served_line_read(&json, line, &found) ==
                (is_expected ? ARCP_OK : ARCP_E_INVALID_REQUEST));
        if (is_expected) {
            require(found.is_last == is_last);
            require(arcp_span_equal(found.job_id, arcp_span_make(id.data + 1, id.size - 2)));
        }
        if (can_be_written(line)) {
            arcp_buf out = arcp_buf_init();
            arcp__served_line_write(line, "job_1", &out);
            require(arcp__served_line_read(&json, arcp_buf_span(&out), &found) == ARCP_OK);
            require(arcp_span_equal_cstr(found.job_id, "job_1"));
            arcp_buf_fini(&out);
        }
    }
    arcp__json_fini(&json);
    return 0;
}
