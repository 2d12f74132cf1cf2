/* From a draft to a lease: one block, then one compiled set per capability. */
#include <stdlib.h>

#include "base/alloc.h"
#include "core/lease_draft.h"

/* Where the parts stand in the block, in bytes from its start. */
typedef struct layout {
    size_t amounts;
    size_t capabilities;
    size_t vendors;
    size_t patterns;
    size_t texts;
    size_t total;
    bool overflow;
} layout;

/* Reserves `count` pieces of `size` bytes, aligned for any of them. */
static size_t take(layout *at, size_t count, size_t size)
{
    const size_t align = _Alignof(arcp__lease_amount);
    size_t bytes = 0;
    size_t start = 0;
    at->overflow = at->overflow || __builtin_add_overflow(at->total, align - 1, &start) ||
                   __builtin_mul_overflow(count, size, &bytes);
    start -= start % align;
    at->overflow = at->overflow || __builtin_add_overflow(start, bytes, &at->total);
    return start;
}

static layout lay_out(const arcp__lease_draft *draft)
{
    layout at = {.total = sizeof(arcp_lease)};
    at.amounts = take(&at, draft->amount_count, sizeof(arcp__lease_amount));
    at.capabilities = take(&at, draft->count, sizeof(arcp__lease_capability));
    at.vendors = take(&at, draft->count, sizeof(arcp__lease_capability *));
    at.patterns = take(&at, draft->pattern_count, sizeof(arcp_span));
    at.texts = take(&at, draft->bytes, 1);
    return at;
}

/* Moves a text to the end of the block's texts. */
static arcp_span place_text(char **end, arcp_span text)
{
    if (text.size != 0) {
        memcpy(*end, text.data, text.size);
    }
    const arcp_span placed = arcp_span_make(*end, text.size);
    *end += text.size;
    return placed;
}

static int compare_vendors(const void *left, const void *right)
{
    const arcp__lease_capability *const *a = left;
    const arcp__lease_capability *const *b = right;
    return arcp__name_compare((*a)->name, (*b)->name);
}

/* Copies everything but the compiled sets. */
static void fill(arcp_lease *lease, char *block, const layout *at, const arcp__lease_draft *draft)
{
    char *texts = block + at->texts;
    arcp_span *patterns = (arcp_span *)(void *)(block + at->patterns);
    arcp__lease_amount *amounts = (arcp__lease_amount *)(void *)(block + at->amounts);
    lease->capabilities = (arcp__lease_capability *)(void *)(block + at->capabilities);
    lease->vendors = (const arcp__lease_capability **)(void *)(block + at->vendors);
    lease->amounts = amounts;
    lease->count = draft->count;
    for (size_t i = 0; i < draft->count; i++) {
        const arcp__draft_capability *from = &draft->capabilities[i];
        arcp__lease_capability *to = &lease->capabilities[i];
        to->name = place_text(&texts, from->name);
        to->kind = from->kind;
        to->patterns = patterns;
        to->count = from->count;
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
        qsort(lease->vendors, lease->vendor_count, sizeof *lease->vendors, compare_vendors);
    }
    for (size_t i = 0; i < draft->amount_count; i++) {
        /* A currency's name is the beginning of the entry that named it first. */
        const arcp__lease_amount *from = &draft->amounts[i];
        const arcp_span entry =
            lease->reserved[ARCP__CAPABILITY_COST_BUDGET]->patterns[from->entry];
        amounts[i] = *from;
        amounts[i].currency = arcp_span_first(entry, from->currency.size);
    }
    lease->amount_count = draft->amount_count;
    if (draft->has_expiry) {
        lease->has_expiry = true;
        lease->expires_text = place_text(&texts, draft->expires_text);
        lease->expires = draft->expires;
        /* The digits beyond nanoseconds borrow from the text: follow it to its new place. */
        if (lease->expires.rest.size != 0) {
            const size_t offset = (size_t)(draft->expires.rest.data - draft->expires_text.data);
            lease->expires.rest.data = lease->expires_text.data + offset;
        }
    }
}

arcp_status arcp__lease_draft_finish(const arcp__lease_draft *draft, arcp_lease **out,
                                     arcp_error *err)
{
    const layout at = lay_out(draft);
    arcp_lease *lease = at.overflow ? NULL : arcp__alloc(at.total);
    if (lease == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory for a lease");
    }
    atomic_init(&lease->references, 1);
    fill(lease, (char *)lease, &at, draft);
    for (size_t i = 0; i < lease->count; i++) {
        arcp__lease_capability *capability = &lease->capabilities[i];
        if (capability->count == 0 || !arcp__capability_is_glob(capability->kind)) {
            continue;
        }
        const arcp_status status = arcp__glob_set_compile(capability->kind, capability->patterns,
                                                          capability->count, &capability->set, err);
        if (status != ARCP_OK) {
            arcp_lease_unref(lease);
            return status;
        }
    }
    *out = lease;
    return ARCP_OK;
}
