/* Leases from JSON and back (§9.2, §9.5). */
#include "core/lease_draft.h"

#include "json/json_put.h"

/* Scans are bounded by the lease's own limits, not by a frame's. A byte of a pattern takes at most
 * six in JSON (\u0041), besides quotes and a comma for each pattern. */
#define JSON_BYTES_PER_BYTE 6

static const char *type_name(const arcp_json *json, arcp_json_ref ref)
{
    static const char *const names[] = {
        [ARCP_JSON_NULL] = "null",        [ARCP_JSON_FALSE] = "false",
        [ARCP_JSON_TRUE] = "true",        [ARCP_JSON_NUMBER] = "a number",
        [ARCP_JSON_STRING] = "a string",  [ARCP_JSON_ARRAY] = "an array",
        [ARCP_JSON_OBJECT] = "an object",
    };
    return names[arcp_json_type_of(json, ref)];
}

/* Valid until the next use of `scratch`. */
static arcp_span read_string(arcp__lease_draft *draft, const arcp_json *json, arcp_json_ref ref,
                             arcp_buf *scratch)
{
    arcp_buf_clear(scratch);
    const arcp_span text = arcp_json_string(json, ref, scratch);
    if (scratch->failed) {
        draft->status = arcp_error_set(draft->err, ARCP_E_NO_MEMORY, "out of memory for a lease");
    }
    return text;
}

static void read_patterns(arcp__lease_draft *draft, const arcp_json *json, arcp_span name,
                          arcp_json_ref list, arcp_buf *scratch)
{
    const int shown = (int)(name.size < 64 ? name.size : 64);
    if (!arcp_json_is(json, list, ARCP_JSON_ARRAY)) {
        draft->status = arcp_error_set(draft->err, ARCP_E_INVALID_REQUEST,
                                       "%.*s is %s: it must be an array of strings", shown,
                                       name.data, type_name(json, list));
        return;
    }
    const size_t capability = arcp__lease_draft_capability(draft, name);
    size_t index = 0;
    for (arcp_json_ref item = arcp_json_first(json, list);
         draft->status == ARCP_OK && item != ARCP_JSON_ABSENT;
         item = arcp_json_next(json, list, item)) {
        if (!arcp_json_is(json, item, ARCP_JSON_STRING)) {
            draft->status = arcp_error_set(draft->err, ARCP_E_INVALID_REQUEST,
                                           "%.*s[%zu] is %s: it must be a string", shown, name.data,
                                           index, type_name(json, item));
            return;
        }
        arcp__lease_draft_pattern(draft, capability, read_string(draft, json, item, scratch));
        index++;
    }
}

/* [arcp:LA-2] */
static void read_capabilities(arcp__lease_draft *draft, const arcp_json *json, arcp_json_ref lease)
{
    if (arcp_json_is_missing(json, lease)) {
        return;
    }
    if (!arcp_json_is(json, lease, ARCP_JSON_OBJECT)) {
        draft->status = arcp_error_set(draft->err, ARCP_E_INVALID_REQUEST,
                                       "the lease is %s: it must be an object of capabilities",
                                       type_name(json, lease));
        return;
    }
    arcp_buf name_scratch = arcp_buf_init();
    arcp_buf scratch = arcp_buf_init();
    for (arcp_json_ref name = arcp_json_first(json, lease);
         draft->status == ARCP_OK && name != ARCP_JSON_ABSENT;
         name = arcp_json_next(json, lease, name)) {
        const arcp_span text = read_string(draft, json, name, &name_scratch);
        if (draft->status == ARCP_OK) {
            read_patterns(draft, json, text, name + 1, &scratch);
        }
    }
    arcp_buf_fini(&name_scratch);
    arcp_buf_fini(&scratch);
}

/* [arcp:9.5-1] */
static void read_constraints(arcp__lease_draft *draft, const arcp_json *json,
                             arcp_json_ref constraints)
{
    if (draft->status != ARCP_OK || arcp_json_is_missing(json, constraints)) {
        return;
    }
    if (!arcp_json_is(json, constraints, ARCP_JSON_OBJECT)) {
        draft->status = arcp_error_set(draft->err, ARCP_E_INVALID_REQUEST,
                                       "the lease constraints are %s: they must be an object",
                                       type_name(json, constraints));
        return;
    }
    const arcp_json_ref expires =
        arcp_json_member(json, constraints, ARCP_SPAN_LITERAL("expires_at"));
    if (arcp_json_is_missing(json, expires)) {
        return;
    }
    if (!arcp_json_is(json, expires, ARCP_JSON_STRING)) {
        draft->status =
            arcp_error_set(draft->err, ARCP_E_INVALID_REQUEST,
                           "expires_at is %s: it must be a string such as 2026-05-13T19:42:13Z",
                           type_name(json, expires));
        return;
    }
    arcp_buf scratch = arcp_buf_init();
    arcp__lease_draft_expiry(draft, read_string(draft, json, expires, &scratch));
    arcp_buf_fini(&scratch);
}

arcp_status arcp_lease_from_json(const arcp_json *json, arcp_json_ref lease,
                                 arcp_json_ref constraints, const arcp_lease_limits *limits,
                                 arcp_lease **out, arcp_error *err)
{
    arcp__lease_draft draft;
    arcp__lease_draft_init(&draft, limits, err);
    read_capabilities(&draft, json, lease);
    read_constraints(&draft, json, constraints);
    return arcp__lease_draft_finish(&draft, out);
}

static void scan(arcp__lease_draft *draft, arcp_span text, arcp_json *json)
{
    arcp_json_limits limits = arcp_json_limits_init();
    size_t wanted = 0;
    if (__builtin_mul_overflow(draft->limits.bytes_max, JSON_BYTES_PER_BYTE, &wanted)) {
        wanted = SIZE_MAX;
    }
    limits.bytes_max = wanted > limits.bytes_max ? wanted : limits.bytes_max;
    draft->status = arcp_json_scan(json, text, &limits, draft->err);
}

/* [arcp:LA-22] */
arcp_status arcp_lease_parse(arcp_span lease, arcp_span constraints,
                             const arcp_lease_limits *limits, arcp_lease **out, arcp_error *err)
{
    arcp_json lease_json = ARCP__JSON_INIT;
    arcp_json constraints_json = ARCP__JSON_INIT;
    arcp__lease_draft draft;
    arcp__lease_draft_init(&draft, limits, err);
    if (draft.status == ARCP_OK) {
        scan(&draft, lease, &lease_json);
    }
    if (draft.status == ARCP_OK && constraints.size > 0) {
        scan(&draft, constraints, &constraints_json);
    }
    if (draft.status == ARCP_OK) {
        read_capabilities(&draft, &lease_json, ARCP_JSON_ROOT);
        read_constraints(&draft, &constraints_json,
                         constraints.size > 0 ? ARCP_JSON_ROOT : ARCP_JSON_ABSENT);
    }
    arcp__json_fini(&lease_json);
    arcp__json_fini(&constraints_json);
    return arcp__lease_draft_finish(&draft, out);
}

void arcp_lease_format(const arcp_lease *lease, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    for (size_t i = 0; i < lease->count; i++) {
        const arcp__lease_capability *capability = &lease->capabilities[i];
        arcp_json_name_span(&writer, capability->name);
        arcp_json_begin_array(&writer);
        for (size_t k = 0; k < capability->count; k++) {
            arcp_json_write_string(&writer, capability->patterns[k]);
        }
        arcp_json_end_array(&writer);
    }
    arcp_json_end_object(&writer);
}

/* [arcp:LB-5] */
void arcp_lease_format_constraints(const arcp_lease *lease, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    if (lease->has_expiry) {
        arcp__put_string(&writer, "expires_at", lease->expires_text);
    }
    arcp_json_end_object(&writer);
}
