#include "arcp/command.h"

#include <string.h>

#include <arcp/lease.h>

#include "cli/cli.h"
#include "core/lease_amount.h"
#include "json/json.h"
#include "json/json_put.h"

static const arcp_json_limits json_limits = {64, 100000, SIZE_MAX};

/* What the options add to the lease. */
typedef struct additions {
    const arcp__arguments *arguments;
    const arcp__lease_source *source;
} additions;

/* How often an option was given that not every command has. */
static size_t count_of(const additions *a, arcp__option option)
{
    return option == ARCP__OPTION_COUNT ? 0 : a->arguments->counts[option];
}

static size_t grant_count(const additions *a)
{
    return a->source->grant_count + count_of(a, a->source->grant) + count_of(a, a->source->budget);
}

/* Returns the pattern of grant `index` and sets its capability: first the grants that other options
 * stand for, then --grant, then --budget, with the capability cost.budget. NULL for a --grant
 * without "=". */
static const char *grant_of(const additions *a, size_t index, arcp_span *capability)
{
    const size_t grants = count_of(a, a->source->grant);
    if (index < a->source->grant_count) {
        *capability = a->source->grants[index].capability;
        return a->source->grants[index].pattern;
    }
    index -= a->source->grant_count;
    if (index >= grants) {
        *capability = ARCP_SPAN_LITERAL("cost.budget");
        return a->arguments->values[a->source->budget][index - grants];
    }
    const char *text = a->arguments->values[a->source->grant][index];
    const char *equals = strchr(text, '=');
    *capability = arcp_span_make(text, equals == NULL ? 0 : (size_t)(equals - text));
    return equals == NULL ? NULL : equals + 1;
}

/* Appends the grants of one capability to the open array. */
static void write_grants(const additions *a, arcp_span capability, arcp_json_writer *writer)
{
    for (size_t i = 0; i < grant_count(a); i++) {
        arcp_span name;
        const char *pattern = grant_of(a, i, &name);
        if (arcp_span_equal(name, capability)) {
            arcp_json_write_cstr(writer, pattern);
        }
    }
}

/* Whether the capability of grant `index` is in the given lease or in an earlier grant. */
static bool is_written(const additions *a, size_t index, const arcp_json *given, arcp_json_ref root)
{
    arcp_span capability;
    (void)grant_of(a, index, &capability);
    if (arcp_json_member(given, root, capability) != ARCP_JSON_ABSENT) {
        return true;
    }
    for (size_t before = 0; before < index; before++) {
        arcp_span other;
        (void)grant_of(a, before, &other);
        if (arcp_span_equal(other, capability)) {
            return true;
        }
    }
    return false;
}

/* Writes the given lease with the grants added to its lists. */
static void write_lease(const additions *a, const arcp_json *given, arcp_json_ref root,
                        arcp_buf *out)
{
    arcp_buf name = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(out);
    for (arcp_json_ref member = arcp_json_first(given, root); member != ARCP_JSON_ABSENT;
         member = arcp_json_next(given, root, member)) {
        arcp_buf_clear(&name);
        const arcp_span capability = arcp_json_string(given, member, &name);
        arcp_json_name_span(&writer, capability);
        if (!arcp_json_is(given, member + 1, ARCP_JSON_ARRAY)) {
            arcp_json_write_raw(&writer, arcp_json_raw(given, member + 1)); /* refused later */
            continue;
        }
        arcp_json_begin_array(&writer);
        for (arcp_json_ref item = arcp_json_first(given, member + 1); item != ARCP_JSON_ABSENT;
             item = arcp_json_next(given, member + 1, item)) {
            arcp_json_write_raw(&writer, arcp_json_raw(given, item));
        }
        write_grants(a, capability, &writer);
        arcp_json_end_array(&writer);
    }
    for (size_t index = 0; index < grant_count(a); index++) {
        arcp_span capability;
        (void)grant_of(a, index, &capability);
        if (!is_written(a, index, given, root)) {
            arcp_json_name_span(&writer, capability);
            arcp_json_begin_array(&writer);
            write_grants(a, capability, &writer);
            arcp_json_end_array(&writer);
        }
    }
    arcp_json_end_object(&writer);
    out->failed = out->failed || name.failed;
    arcp_buf_fini(&name);
}

static arcp_status check_grants(const additions *a, arcp_error *err)
{
    const arcp__option grant = a->source->grant;
    const arcp__option budget = a->source->budget;
    for (size_t i = 0; i < count_of(a, grant); i++) {
        arcp_span capability;
        if (grant_of(a, a->source->grant_count + i, &capability) == NULL || capability.size == 0) {
            return arcp_error_set(err, ARCP_E_USAGE, "--grant %s must be CAP=PATTERN",
                                  a->arguments->values[grant][i]);
        }
    }
    for (size_t i = 0; i < count_of(a, budget); i++) {
        const char *text = a->arguments->values[budget][i];
        arcp__lease_amount amount;
        arcp_error why = {0};
        if (arcp__lease_amount_parse(arcp_span_cstr(text), &amount, &why) != ARCP_OK) {
            return arcp_error_set(err, ARCP_E_USAGE, "--budget %.80s %s", text, why.message);
        }
    }
    return ARCP_OK;
}

static arcp_status make_lease(const additions *a, arcp_buf *lease, arcp_error *err)
{
    const char *given = arcp__value(a->arguments, a->source->lease);
    if (check_grants(a, err) != ARCP_OK) {
        return err->status;
    }
    if (given == NULL && grant_count(a) == 0) {
        return ARCP_OK;
    }
    arcp_buf text = arcp_buf_init();
    arcp_json json = ARCP__JSON_INIT;
    arcp_error why = {0};
    arcp_status status =
        arcp__json_argument(given == NULL ? "{}" : given, false, &json_limits, &text, &json, &why);
    if (status != ARCP_OK) {
        status = arcp_error_set(err, status == ARCP_E_NO_MEMORY ? status : ARCP_E_USAGE,
                                "--lease: %s", why.message);
    } else if (!arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "--lease must be a JSON object of capabilities and patterns");
    } else {
        write_lease(a, &json, ARCP_JSON_ROOT, lease);
    }
    arcp__json_fini(&json);
    arcp_buf_fini(&text);
    return status;
}

static arcp_status make_constraints(const additions *a, int64_t now_wall_ns, arcp_buf *constraints,
                                    arcp_error *err)
{
    const char *in = arcp__value(a->arguments, a->source->expires_in);
    const char *at = arcp__value(a->arguments, a->source->expires_at);
    char room[ARCP__TIMESTAMP_SIZE];
    arcp_span instant = {NULL, 0};
    int64_t ns = 0;
    if (in != NULL && at != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--expires-in and --expires-at cannot be given together");
    }
    if (in == NULL && at == NULL) {
        return ARCP_OK;
    }
    if (arcp__duration_option(a->arguments, a->source->expires_in, &ns, err) != ARCP_OK ||
        arcp__instant_text(in != NULL ? "expires-in" : "expires-at", in != NULL ? in : at, 1,
                           now_wall_ns, room, &instant, err) != ARCP_OK) {
        return err->status;
    }
    arcp_json_writer writer = arcp__put_begin(constraints);
    arcp__put_string(&writer, "expires_at", instant);
    arcp_json_end_object(&writer);
    return ARCP_OK;
}

arcp_status arcp__lease_request(const arcp__arguments *arguments, const arcp__lease_source *source,
                                int64_t now_wall_ns, arcp_buf *lease, arcp_buf *constraints,
                                arcp_error *err)
{
    const additions a = {arguments, source};
    /* Without our own size limits: the runtime decides how large a lease may be. */
    arcp_lease_limits limits = arcp_lease_limits_init();
    limits.patterns_max = SIZE_MAX;
    limits.bytes_max = SIZE_MAX;
    arcp_lease *parsed = NULL;
    arcp_error why = {0};
    if (make_lease(&a, lease, err) != ARCP_OK ||
        make_constraints(&a, now_wall_ns, constraints, err) != ARCP_OK) {
        return err->status;
    }
    if (lease->failed || constraints->failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (lease->size + constraints->size == 0) {
        return ARCP_OK;
    }
    const arcp_span object = lease->size == 0 ? ARCP_SPAN_LITERAL("{}") : arcp_buf_span(lease);
    const arcp_status status =
        arcp_lease_parse(object, arcp_buf_span(constraints), &limits, &parsed, &why);
    arcp_lease_unref(parsed);
    return status == ARCP_OK
               ? ARCP_OK
               : arcp_error_set(err, status == ARCP_E_NO_MEMORY ? status : ARCP_E_USAGE, "%s",
                                why.message);
}
