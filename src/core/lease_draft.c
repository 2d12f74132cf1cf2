#include "core/lease_draft.h"

#include "base/alloc.h"
#include "core/glob_pattern.h"
#include "core/lease_amount.h"

const arcp_lease_limits arcp__lease_unlimited = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};

static arcp_status out_of_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a lease");
}

/* How much of a name a message shows. */
static int shown(arcp_span name)
{
    return (int)(name.size < 64 ? name.size : 64);
}

void arcp__lease_draft_init(arcp__lease_draft *draft, const arcp_lease_limits *limits)
{
    const arcp_lease_limits defaults = ARCP_LEASE_LIMITS_DEFAULT;
    const arcp__lease_draft empty = {.limits = limits == NULL ? defaults : *limits};
    *draft = empty;
}

void arcp__lease_draft_fini(arcp__lease_draft *draft)
{
    for (size_t i = 0; i < draft->count; i++) {
        arcp__free(draft->capabilities[i].patterns);
    }
    arcp__free(draft->capabilities);
    arcp__free(draft->amounts);
    arcp__arena_fini(&draft->texts);
    arcp__lease_draft_init(draft, &draft->limits);
}

/* The array with room for one more element: itself, or a larger one; NULL when out of
 * memory. */
static void *make_room(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return array;
    }
    const size_t wanted = *capacity + *capacity / 2 + 4;
    void *grown = arcp__realloc_array(array, wanted, size);
    if (grown != NULL) {
        *capacity = wanted;
    }
    return grown;
}

/* Counts `more` bytes against the lease's limit. */
static arcp_status take_bytes(arcp__lease_draft *draft, size_t more, arcp_error *err)
{
    if (more > draft->limits.bytes_max - draft->bytes) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "the lease's names and patterns are longer than %zu bytes",
                              draft->limits.bytes_max);
    }
    draft->bytes += more;
    return ARCP_OK;
}

/* A copy of `text` that lives as long as the draft. */
static arcp_status copy_text(arcp__lease_draft *draft, arcp_span text, arcp_span *out,
                             arcp_error *err)
{
    const arcp_status status = take_bytes(draft, text.size, err);
    if (status != ARCP_OK) {
        return status;
    }
    *out = arcp__arena_copy(&draft->texts, text);
    return out->data == NULL ? out_of_memory(err) : ARCP_OK;
}

size_t arcp__lease_draft_find(const arcp__lease_draft *draft, arcp_span name)
{
    for (size_t i = 0; i < draft->count; i++) {
        if (arcp_span_equal(draft->capabilities[i].name, name)) {
            return i;
        }
    }
    return SIZE_MAX;
}

arcp_status arcp__lease_draft_capability(arcp__lease_draft *draft, arcp_span name, size_t *out,
                                         arcp_error *err)
{
    if (!arcp_capability_is_valid(name)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "there is no capability \"%.*s\": it is neither reserved nor of the "
                              "form x-vendor.<vendor>.<cap>",
                              shown(name), name.data);
    }
    arcp__draft_capability made = {.kind = arcp__capability_from_name(name)};
    const arcp_status status = copy_text(draft, name, &made.name, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp__draft_capability *room =
        make_room(draft->capabilities, draft->count, &draft->capacity, sizeof *room);
    if (room == NULL) {
        return out_of_memory(err);
    }
    draft->capabilities = room;
    draft->capabilities[draft->count] = made;
    *out = draft->count++;
    return ARCP_OK;
}

/* Names capability, index and reason. */
static arcp_status refuse(const arcp__draft_capability *capability, const char *reason,
                          arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%.*s[%zu] %s", shown(capability->name),
                          capability->name.data, capability->count, reason);
}

static arcp_status check_pattern(const arcp__lease_draft *draft,
                                 const arcp__draft_capability *capability, arcp_span pattern,
                                 arcp_error *err)
{
    if (pattern.size > draft->limits.pattern_bytes_max) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%.*s[%zu] is longer than %zu bytes",
                              shown(capability->name), capability->name.data, capability->count,
                              draft->limits.pattern_bytes_max);
    }
    const char *fault = arcp__glob_pattern_fault(pattern);
    if (fault != NULL) {
        return refuse(capability, fault, err);
    }
    if (capability->kind != ARCP__CAPABILITY_COST_BUDGET &&
        arcp__glob_wildcard_count(pattern) > draft->limits.pattern_wildcards_max) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%.*s[%zu] has more than %zu wildcards",
                              shown(capability->name), capability->name.data, capability->count,
                              draft->limits.pattern_wildcards_max);
    }
    return ARCP_OK;
}

/* Adds an amount to its currency's total. `entry` lives as long as the draft. [arcp:LA-18] */
static arcp_status add_amount(arcp__lease_draft *draft, const arcp__draft_capability *capability,
                              arcp_span entry, arcp_error *err)
{
    arcp__lease_amount amount;
    arcp_error reason = {0};
    if (arcp__lease_amount_parse(entry, &amount, &reason) != ARCP_OK) {
        return refuse(capability, reason.message, err);
    }
    for (size_t i = 0; i < draft->amount_count; i++) {
        arcp__lease_amount *known = &draft->amounts[i];
        if (!arcp_span_equal(known->currency, amount.currency)) {
            continue;
        }
        if (!arcp_decimal_add(known->total, amount.total, &known->total)) {
            return refuse(capability, "makes its currency's sum larger than can be counted", err);
        }
        return ARCP_OK;
    }
    arcp__lease_amount *room =
        make_room(draft->amounts, draft->amount_count, &draft->amount_capacity, sizeof *room);
    if (room == NULL) {
        return out_of_memory(err);
    }
    amount.entry = capability->count;
    draft->amounts = room;
    draft->amounts[draft->amount_count++] = amount;
    return ARCP_OK;
}

arcp_status arcp__lease_draft_pattern(arcp__lease_draft *draft, size_t at, arcp_span pattern,
                                      arcp_error *err)
{
    arcp__draft_capability *capability = &draft->capabilities[at];
    if (capability->count == draft->limits.patterns_max) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "%.*s has more than %zu patterns",
                              shown(capability->name), capability->name.data,
                              draft->limits.patterns_max);
    }
    arcp_status status = check_pattern(draft, capability, pattern, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_span copy;
    status = copy_text(draft, pattern, &copy, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_span *room =
        make_room(capability->patterns, capability->count, &capability->capacity, sizeof *room);
    if (room == NULL) {
        return out_of_memory(err);
    }
    capability->patterns = room;
    if (capability->kind == ARCP__CAPABILITY_COST_BUDGET) {
        status = add_amount(draft, capability, copy, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    capability->patterns[capability->count++] = copy;
    draft->pattern_count++;
    return ARCP_OK;
}

/* [arcp:9.5-2] [arcp:LB-6] */
arcp_status arcp__lease_draft_expiry(arcp__lease_draft *draft, arcp_span text, arcp_error *err)
{
    arcp_span copy;
    const arcp_status status = copy_text(draft, text, &copy, err);
    if (status != ARCP_OK) {
        return status;
    }
    arcp_error reason = {0};
    if (arcp__timestamp_parse(copy, &draft->expires, &reason) != ARCP_OK) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "expires_at: %s", reason.message);
    }
    draft->expires_text = copy;
    draft->has_expiry = true;
    return ARCP_OK;
}
