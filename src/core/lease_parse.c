/* Leases from JSON and back (§9.2, §9.5). */
#include "core/lease_draft.h"

#include "json/json_put.h"

/* Scans are bounded by the lease's own limits, not by a frame's. A byte of a pattern takes
 * at most six in JSON (\u0041), and each pattern brings quotes and a comma. */
#define JSON_BYTES_PER_BYTE 6

static const char *type_name(arcp_json_type type)
{
    static const char *const names[] = {
        [ARCP_JSON_NULL] = "null",        [ARCP_JSON_FALSE] = "false",
        [ARCP_JSON_TRUE] = "true",        [ARCP_JSON_NUMBER] = "a number",
        [ARCP_JSON_STRING] = "a string",  [ARCP_JSON_ARRAY] = "an array",
        [ARCP_JSON_OBJECT] = "an object",
    };
    return names[type];
}

/* How much of a name a message shows. */
static int shown(arcp_span name)
{
    return (int)(name.size < 64 ? name.size : 64);
}

static arcp_status read_patterns(arcp__lease_draft *draft, const arcp_json *json, arcp_span name,
                                 arcp_json_ref list, arcp_buf *scratch, arcp_error *err)
{
    if (!arcp_json_is(json, list, ARCP_JSON_ARRAY)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "%.*s is %s: it must be an array of strings", shown(name), name.data,
                              type_name(arcp_json_type_of(json, list)));
    }
    size_t at = 0;
    arcp_status status = arcp__lease_draft_capability(draft, name, &at, err);
    size_t index = 0;
    for (arcp_json_ref item = arcp_json_first(json, list);
         status == ARCP_OK && item != ARCP_JSON_ABSENT; item = arcp_json_next(json, list, item)) {
        if (!arcp_json_is(json, item, ARCP_JSON_STRING)) {
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                  "%.*s[%zu] is %s: it must be a string", shown(name), name.data,
                                  index, type_name(arcp_json_type_of(json, item)));
        }
        arcp_buf_clear(scratch);
        const arcp_span pattern = arcp_json_string(json, item, scratch);
        if (scratch->failed) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a lease");
        }
        status = arcp__lease_draft_pattern(draft, at, pattern, err);
        index++;
    }
    return status;
}

/* [arcp:LA-2] */
static arcp_status read_capabilities(arcp__lease_draft *draft, const arcp_json *json,
                                     arcp_json_ref lease, arcp_error *err)
{
    if (arcp_json_is_missing(json, lease)) {
        return ARCP_OK;
    }
    if (!arcp_json_is(json, lease, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the lease is %s: it must be an object of capabilities",
                              type_name(arcp_json_type_of(json, lease)));
    }
    arcp_buf name_scratch = ARCP_BUF_INIT;
    arcp_buf scratch = ARCP_BUF_INIT;
    arcp_status status = ARCP_OK;
    for (arcp_json_ref name = arcp_json_first(json, lease);
         status == ARCP_OK && name != ARCP_JSON_ABSENT; name = arcp_json_next(json, lease, name)) {
        arcp_buf_clear(&name_scratch);
        const arcp_span text = arcp_json_string(json, name, &name_scratch);
        if (name_scratch.failed) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a lease");
        } else {
            status = read_patterns(draft, json, text, name + 1, &scratch, err);
        }
    }
    arcp_buf_fini(&name_scratch);
    arcp_buf_fini(&scratch);
    return status;
}

/* [arcp:9.5-1] */
static arcp_status read_constraints(arcp__lease_draft *draft, const arcp_json *json,
                                    arcp_json_ref constraints, arcp_error *err)
{
    if (arcp_json_is_missing(json, constraints)) {
        return ARCP_OK;
    }
    if (!arcp_json_is(json, constraints, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the lease constraints are %s: they must be an object",
                              type_name(arcp_json_type_of(json, constraints)));
    }
    const arcp_json_ref expires =
        arcp_json_member(json, constraints, ARCP_SPAN_LITERAL("expires_at"));
    if (arcp_json_is_missing(json, expires)) {
        return ARCP_OK;
    }
    if (!arcp_json_is(json, expires, ARCP_JSON_STRING)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "expires_at is %s: it must be a string such as 2026-05-13T19:42:13Z",
                              type_name(arcp_json_type_of(json, expires)));
    }
    arcp_buf scratch = ARCP_BUF_INIT;
    const arcp_span text = arcp_json_string(json, expires, &scratch);
    const arcp_status status =
        scratch.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a lease")
                       : arcp__lease_draft_expiry(draft, text, err);
    arcp_buf_fini(&scratch);
    return status;
}

/* Both parts may come from different texts. */
typedef struct json_source {
    const arcp_json *json;
    arcp_json_ref ref;
} json_source;

static arcp_status read_lease(json_source lease, json_source constraints,
                              const arcp_lease_limits *limits, arcp_lease **out, arcp_error *err)
{
    arcp__lease_draft draft;
    arcp__lease_draft_init(&draft, limits);
    arcp_status status = read_capabilities(&draft, lease.json, lease.ref, err);
    if (status == ARCP_OK) {
        status = read_constraints(&draft, constraints.json, constraints.ref, err);
    }
    if (status == ARCP_OK) {
        status = arcp__lease_draft_finish(&draft, out, err);
    }
    arcp__lease_draft_fini(&draft);
    return status;
}

arcp_status arcp_lease_from_json(const arcp_json *json, arcp_json_ref lease,
                                 arcp_json_ref constraints, const arcp_lease_limits *limits,
                                 arcp_lease **out, arcp_error *err)
{
    const json_source from = {json, lease};
    const json_source constraints_from = {json, constraints};
    return read_lease(from, constraints_from, limits, out, err);
}

static arcp_status scan(arcp_json *json, arcp_span text, const arcp_lease_limits *limits,
                        arcp_error *err)
{
    const arcp_lease_limits defaults = ARCP_LEASE_LIMITS_DEFAULT;
    const size_t bytes_max = limits == NULL ? defaults.bytes_max : limits->bytes_max;
    arcp_json_limits json_limits = ARCP_JSON_LIMITS_DEFAULT;
    size_t wanted = 0;
    if (__builtin_mul_overflow(bytes_max, JSON_BYTES_PER_BYTE, &wanted)) {
        wanted = SIZE_MAX;
    }
    json_limits.bytes_max = wanted > json_limits.bytes_max ? wanted : json_limits.bytes_max;
    return arcp_json_scan(json, text, &json_limits, err);
}

/* [arcp:LA-22] */
arcp_status arcp_lease_parse(arcp_span lease, arcp_span constraints,
                             const arcp_lease_limits *limits, arcp_lease **out, arcp_error *err)
{
    arcp_json lease_json = ARCP_JSON_INIT;
    arcp_json constraints_json = ARCP_JSON_INIT;
    json_source lease_from = {&lease_json, ARCP_JSON_ROOT};
    json_source constraints_from = {&constraints_json, ARCP_JSON_ABSENT};
    arcp_status status = scan(&lease_json, lease, limits, err);
    if (status == ARCP_OK && constraints.size > 0) {
        constraints_from.ref = ARCP_JSON_ROOT;
        status = scan(&constraints_json, constraints, limits, err);
    }
    if (status == ARCP_OK) {
        status = read_lease(lease_from, constraints_from, limits, out, err);
    }
    arcp_json_fini(&lease_json);
    arcp_json_fini(&constraints_json);
    return status;
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
