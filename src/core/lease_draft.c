/* Makes leases from patterns and amounts: the draft, which checks them; the lease that is compiled
 * from it (one block, then one compiled set per capability); and the public builder, a draft with
 * its own error. */
#include "core/lease_draft.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/options.h"
#include "core/glob_pattern.h"

const arcp_lease_limits arcp__lease_unlimited = {
    .struct_size = sizeof(arcp_lease_limits),
    .patterns_max = SIZE_MAX,
    .bytes_max = SIZE_MAX,
    .pattern_bytes_max = SIZE_MAX,
    .pattern_wildcards_max = SIZE_MAX,
};

/* The bytes of a name that a message shows. */
static int shown(arcp_span name)
{
    return (int)(name.size < 64 ? name.size : 64);
}

void arcp__lease_draft_init(arcp__lease_draft *draft, const arcp_lease_limits *limits,
                            arcp_error *err)
{
    *draft = (arcp__lease_draft){.limits = arcp_lease_limits_init(), .err = err};
    draft->status =
        arcp__options_take(&draft->limits, limits, sizeof draft->limits, "arcp_lease_limits", err);
}

void arcp__lease_draft_fini(arcp__lease_draft *draft)
{
    for (size_t i = 0; i < draft->count; i++) {
        arcp__free(draft->capabilities[i].patterns);
    }
    arcp__free(draft->capabilities);
    arcp__free(draft->amounts);
    arcp__arena_fini(&draft->texts);
    *draft = (arcp__lease_draft){.limits = draft->limits, .err = draft->err};
}

static void run_out_of_memory(arcp__lease_draft *draft)
{
    draft->status = arcp_error_set(draft->err, ARCP_E_NO_MEMORY, "out of memory for a lease");
}

/* A copy of `text` that lives as long as the draft. */
static arcp_span copy_text(arcp__lease_draft *draft, arcp_span text)
{
    if (text.size > draft->limits.bytes_max - draft->bytes) {
        draft->status = arcp_error_set(draft->err, ARCP_E_INVALID_REQUEST,
                                       "the lease's names and patterns have more than %zu bytes",
                                       draft->limits.bytes_max);
        return arcp_span_make(NULL, 0);
    }
    draft->bytes += text.size;
    const arcp_span copy = arcp__arena_copy(&draft->texts, text);
    if (copy.data == NULL) {
        run_out_of_memory(draft);
    }
    return copy;
}

size_t arcp__lease_draft_capability(arcp__lease_draft *draft, arcp_span name)
{
    if (draft->status != ARCP_OK) {
        return 0;
    }
    arcp__draft_capability made = {.kind = arcp__capability_from_name(name)};
    if (made.kind == ARCP__CAPABILITY_UNKNOWN) {
        draft->status =
            arcp_error_set(draft->err, ARCP_E_INVALID_REQUEST,
                           "unknown capability \"%.*s\": it is neither reserved nor of the form "
                           "x-vendor.<vendor>.<cap>",
                           shown(name), name.data);
        return 0;
    }
    made.name = copy_text(draft, name);
    if (draft->status != ARCP_OK) {
        return 0;
    }
    arcp__draft_capability *room =
        arcp__make_room(draft->capabilities, draft->count, &draft->capacity, sizeof *room);
    if (room == NULL) {
        run_out_of_memory(draft);
        return 0;
    }
    draft->capabilities = room;
    draft->capabilities[draft->count] = made;
    return draft->count++;
}

/* Fails with the capability, index and reason. */
static void refuse(arcp__lease_draft *draft, const arcp__draft_capability *capability,
                   const char *reason)
{
    draft->status =
        arcp_error_set(draft->err, ARCP_E_INVALID_REQUEST, "%.*s[%zu] %s", shown(capability->name),
                       capability->name.data, capability->count, reason);
}

/* Adds an amount to its currency's total. `entry` lives as long as the draft. [arcp:LA-18] */
static void add_amount(arcp__lease_draft *draft, const arcp__draft_capability *capability,
                       arcp_span entry)
{
    arcp__lease_amount amount;
    arcp_error reason = {0};
    if (arcp__lease_amount_parse(entry, &amount, &reason) != ARCP_OK) {
        refuse(draft, capability, reason.message);
        return;
    }
    for (size_t i = 0; i < draft->amount_count; i++) {
        arcp__lease_amount *known = &draft->amounts[i];
        if (arcp_span_equal(known->currency, amount.currency)) {
            if (!arcp_decimal_add(known->total, amount.total, &known->total)) {
                refuse(draft, capability, "makes the sum of its currency too large");
            }
            return;
        }
    }
    arcp__lease_amount *room =
        arcp__make_room(draft->amounts, draft->amount_count, &draft->amount_capacity, sizeof *room);
    if (room == NULL) {
        run_out_of_memory(draft);
        return;
    }
    amount.entry = capability->count;
    draft->amounts = room;
    draft->amounts[draft->amount_count++] = amount;
}

void arcp__lease_draft_pattern(arcp__lease_draft *draft, size_t index, arcp_span pattern)
{
    if (draft->status != ARCP_OK) {
        return;
    }
    arcp__draft_capability *capability = &draft->capabilities[index];
    const bool is_amount = capability->kind == ARCP__CAPABILITY_COST_BUDGET;
    const char *fault = arcp__glob_pattern_fault(pattern);
    if (capability->count == draft->limits.patterns_max) {
        draft->status = arcp_error_set(draft->err, ARCP_E_INVALID_REQUEST,
                                       "%.*s has more than %zu patterns", shown(capability->name),
                                       capability->name.data, draft->limits.patterns_max);
    } else if (pattern.size > draft->limits.pattern_bytes_max) {
        draft->status =
            arcp_error_set(draft->err, ARCP_E_INVALID_REQUEST, "%.*s[%zu] is longer than %zu bytes",
                           shown(capability->name), capability->name.data, capability->count,
                           draft->limits.pattern_bytes_max);
    } else if (fault != NULL) {
        refuse(draft, capability, fault);
    } else if (!is_amount &&
               arcp__glob_wildcard_count(pattern) > draft->limits.pattern_wildcards_max) {
        draft->status = arcp_error_set(draft->err, ARCP_E_INVALID_REQUEST,
                                       "%.*s[%zu] has more than %zu wildcards",
                                       shown(capability->name), capability->name.data,
                                       capability->count, draft->limits.pattern_wildcards_max);
    }
    if (draft->status != ARCP_OK) {
        return;
    }
    const arcp_span copy = copy_text(draft, pattern);
    if (draft->status != ARCP_OK) {
        return;
    }
    arcp_span *room = arcp__make_room(capability->patterns, capability->count,
                                      &capability->capacity, sizeof *room);
    if (room == NULL) {
        run_out_of_memory(draft);
        return;
    }
    capability->patterns = room;
    if (is_amount) {
        add_amount(draft, capability, copy);
    }
    capability->patterns[capability->count++] = copy;
    draft->pattern_count++;
}

void arcp__lease_draft_copy(arcp__lease_draft *draft, const arcp__lease_capability *from)
{
    const size_t index = arcp__lease_draft_capability(draft, from->name);
    for (size_t i = 0; i < from->count; i++) {
        arcp__lease_draft_pattern(draft, index, from->patterns[i]);
    }
}

/* [arcp:9.5-2] [arcp:LB-6] */
void arcp__lease_draft_expiry(arcp__lease_draft *draft, arcp_span text)
{
    if (draft->status != ARCP_OK) {
        return;
    }
    draft->expires_text = copy_text(draft, text);
    arcp_error reason = {0};
    if (draft->status == ARCP_OK &&
        arcp__timestamp_parse(draft->expires_text, &draft->expires, &reason) != ARCP_OK) {
        draft->status =
            arcp_error_set(draft->err, ARCP_E_INVALID_REQUEST, "expires_at: %s", reason.message);
    }
    draft->has_expiry = true;
}

/* Copies a text to the end of the lease's texts. */
static arcp_span place_text(char **end, arcp_span text)
{
    if (text.size != 0) {
        memcpy(*end, text.data, text.size);
    }
    const arcp_span placed = arcp_span_make(*end, text.size);
    *end += text.size;
    return placed;
}

/* Makes the lease without its compiled sets; NULL when out of memory. Its size cannot overflow,
 * because the draft has all parts in memory already. */
static arcp_lease *make_lease(const arcp__lease_draft *draft)
{
    arcp_lease *lease =
        arcp__alloc(sizeof *lease + draft->amount_count * sizeof *lease->amounts +
                    draft->count * (sizeof *lease->capabilities + sizeof *lease->vendors) +
                    draft->pattern_count * sizeof(arcp_span) + draft->bytes);
    if (lease == NULL) {
        return NULL;
    }
    atomic_init(&lease->references, 1);
    lease->capabilities = (arcp__lease_capability *)(void *)&lease->amounts[draft->amount_count];
    lease->vendors = (const arcp__lease_capability **)(void *)&lease->capabilities[draft->count];
    arcp_span *patterns = (arcp_span *)(void *)&lease->vendors[draft->count];
    char *texts = (char *)&patterns[draft->pattern_count];
    lease->count = draft->count;
    for (size_t i = 0; i < draft->count; i++) {
        const arcp__draft_capability *from = &draft->capabilities[i];
        arcp__lease_capability *to = &lease->capabilities[i];
        to->name = place_text(&texts, from->name);
        to->kind = from->kind;
        to->patterns = patterns;
        to->count = from->count;
        to->first = lease->pattern_count;
        lease->pattern_count += from->count;
        for (size_t k = 0; k < from->count; k++) {
            *patterns++ = place_text(&texts, from->patterns[k]);
        }
        if (from->kind == ARCP__CAPABILITY_VENDOR) {
            lease->vendors[lease->vendor_count++] = to;
        } else {
            lease->reserved[from->kind] = to;
        }
    }
    if (lease->vendor_count > 1) {
        qsort(lease->vendors, lease->vendor_count, sizeof *lease->vendors,
              arcp__lease_compare_vendors);
    }
    for (size_t i = 0; i < draft->amount_count; i++) {
        /* The currency borrows from the first entry that names it. */
        const arcp__lease_amount *from = &draft->amounts[i];
        const arcp_span entry =
            lease->reserved[ARCP__CAPABILITY_COST_BUDGET]->patterns[from->entry];
        lease->amounts[i] = *from;
        lease->amounts[i].currency = arcp_span_first(entry, from->currency.size);
    }
    lease->amount_count = draft->amount_count;
    if (draft->has_expiry) {
        lease->has_expiry = true;
        lease->expires_text = place_text(&texts, draft->expires_text);
        lease->expires = draft->expires;
        /* The digits beyond nanoseconds borrow from the text, which was copied. */
        if (lease->expires.rest.size != 0) {
            const size_t offset = (size_t)(draft->expires.rest.data - draft->expires_text.data);
            lease->expires.rest.data = lease->expires_text.data + offset;
        }
    }
    return lease;
}

arcp_status arcp__lease_draft_finish(arcp__lease_draft *draft, arcp_lease **out)
{
    arcp_lease *lease = draft->status == ARCP_OK ? make_lease(draft) : NULL;
    if (draft->status == ARCP_OK && lease == NULL) {
        run_out_of_memory(draft);
    }
    for (size_t i = 0; lease != NULL && i < lease->count && draft->status == ARCP_OK; i++) {
        arcp__lease_capability *capability = &lease->capabilities[i];
        if (capability->count > 0 && arcp__capability_is_glob(capability->kind)) {
            draft->status = arcp__glob_set_compile(capability->kind, capability->patterns,
                                                   capability->count, &capability->set, draft->err);
        }
    }
    const arcp_status status = draft->status;
    if (status == ARCP_OK) {
        *out = lease;
    } else {
        arcp_lease_unref(lease);
    }
    arcp__lease_draft_fini(draft);
    return status;
}

struct arcp_lease_builder {
    arcp__lease_draft draft;
    arcp_error err;
};

arcp_lease_builder *arcp_lease_builder_new(void)
{
    arcp_lease_builder *builder = arcp__alloc(sizeof *builder);
    if (builder != NULL) {
        arcp__lease_draft_init(&builder->draft, NULL, &builder->err);
    }
    return builder;
}

void arcp_lease_builder_free(arcp_lease_builder *builder)
{
    if (builder != NULL) {
        arcp__lease_draft_fini(&builder->draft);
        arcp__free(builder);
    }
}

/* The index of the capability, which is added if it is missing. */
static size_t place_of(arcp__lease_draft *draft, arcp_span capability)
{
    for (size_t i = 0; i < draft->count; i++) {
        if (arcp_span_equal(draft->capabilities[i].name, capability)) {
            return i;
        }
    }
    return arcp__lease_draft_capability(draft, capability);
}

void arcp_lease_allow(arcp_lease_builder *builder, const char *capability, const char *pattern)
{
    const size_t index = place_of(&builder->draft, arcp_span_cstr(capability));
    if (pattern != NULL) {
        arcp__lease_draft_pattern(&builder->draft, index, arcp_span_cstr(pattern));
    }
}

void arcp_lease_budget(arcp_lease_builder *builder, const char *currency, const char *amount)
{
    arcp__lease_draft *draft = &builder->draft;
    if (draft->status != ARCP_OK) {
        return;
    }
    if (currency != NULL && strchr(currency, ':') != NULL) {
        draft->status = arcp_error_set(draft->err, ARCP_E_INVALID_REQUEST,
                                       "the currency \"%s\" contains a ':'", currency);
        return;
    }
    arcp_buf entry = arcp_buf_init();
    arcp_buf_append_cstr(&entry, currency);
    arcp_buf_append_byte(&entry, ':');
    arcp_buf_append_cstr(&entry, amount);
    if (entry.failed) {
        run_out_of_memory(draft);
    } else {
        arcp__lease_draft_pattern(draft, place_of(draft, ARCP_SPAN_LITERAL("cost.budget")),
                                  arcp_buf_span(&entry));
    }
    arcp_buf_fini(&entry);
}

void arcp_lease_expires_at(arcp_lease_builder *builder, const char *rfc3339)
{
    arcp__lease_draft_expiry(&builder->draft, arcp_span_cstr(rfc3339));
}

arcp_status arcp_lease_build(arcp_lease_builder *builder, arcp_lease **out, arcp_error *err)
{
    const arcp_status status = arcp__lease_draft_finish(&builder->draft, out);
    if (status != ARCP_OK && err != NULL) {
        (void)arcp_error_copy(err, &builder->err);
    }
    arcp_lease_builder_free(builder);
    return status;
}
