/* Building a lease in the guides' terms. The first error is kept, and told by build. */
#include "base/alloc.h"
#include "core/lease_draft.h"

struct arcp_lease_builder {
    arcp__lease_draft draft;
    arcp_status status;
    arcp_error err;
};

arcp_lease_builder *arcp_lease_builder_new(void)
{
    arcp_lease_builder *builder = arcp__alloc(sizeof *builder);
    if (builder != NULL) {
        arcp__lease_draft_init(&builder->draft, NULL);
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

/* The place of the capability, which is added when it is not there yet. */
static arcp_status place_of(arcp_lease_builder *builder, arcp_span capability, size_t *at)
{
    *at = arcp__lease_draft_find(&builder->draft, capability);
    return *at != SIZE_MAX
               ? ARCP_OK
               : arcp__lease_draft_capability(&builder->draft, capability, at, &builder->err);
}

static void add_pattern(arcp_lease_builder *builder, arcp_span capability, arcp_span pattern)
{
    size_t at = 0;
    builder->status = place_of(builder, capability, &at);
    if (builder->status == ARCP_OK) {
        builder->status = arcp__lease_draft_pattern(&builder->draft, at, pattern, &builder->err);
    }
}

void arcp_lease_allow(arcp_lease_builder *builder, const char *capability, const char *pattern)
{
    if (builder->status != ARCP_OK) {
        return;
    }
    if (pattern == NULL) {
        size_t at = 0;
        builder->status = place_of(builder, arcp_span_cstr(capability), &at);
        return;
    }
    add_pattern(builder, arcp_span_cstr(capability), arcp_span_cstr(pattern));
}

void arcp_lease_budget(arcp_lease_builder *builder, const char *currency, const char *amount)
{
    if (builder->status != ARCP_OK) {
        return;
    }
    const arcp_span name = arcp_span_cstr(currency);
    if (name.size > 0 && memchr(name.data, ':', name.size) != NULL) {
        builder->status = arcp_error_set(&builder->err, ARCP_E_INVALID_REQUEST,
                                         "the currency \"%s\" contains a ':'", currency);
        return;
    }
    arcp_buf entry = ARCP_BUF_INIT;
    arcp_buf_append(&entry, name);
    arcp_buf_append_byte(&entry, ':');
    arcp_buf_append_cstr(&entry, amount);
    if (entry.failed) {
        builder->status =
            arcp_error_set(&builder->err, ARCP_E_NO_MEMORY, "out of memory for a lease");
    } else {
        add_pattern(builder, ARCP_SPAN_LITERAL("cost.budget"), arcp_buf_span(&entry));
    }
    arcp_buf_fini(&entry);
}

void arcp_lease_expires_at(arcp_lease_builder *builder, const char *rfc3339)
{
    if (builder->status == ARCP_OK) {
        builder->status =
            arcp__lease_draft_expiry(&builder->draft, arcp_span_cstr(rfc3339), &builder->err);
    }
}

arcp_status arcp_lease_build(arcp_lease_builder *builder, arcp_lease **out, arcp_error *err)
{
    arcp_status status = builder->status;
    if (status != ARCP_OK) {
        if (err != NULL) {
            *err = builder->err;
        }
    } else {
        status = arcp__lease_draft_finish(&builder->draft, out, err);
    }
    arcp_lease_builder_free(builder);
    return status;
}
