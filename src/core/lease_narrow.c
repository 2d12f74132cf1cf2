/* A request narrowed by a ceiling: never wider than either (draft §9.2: a runtime may
 * narrow what a client requests, never widen it). */
#include <arcp/lease_subset.h>

#include <assert.h>

#include "base/alloc.h"
#include "core/glob_pattern.h"
#include "core/glob_subset.h"
#include "core/lease_draft.h"
#include "core/lease_meet.h"

/* How many pairs of patterns are looked at for what they have in common. A request beyond
 * that loses what was not looked at, which is never wider. */
#define PAIRS_MAX 4096

typedef struct narrowing {
    const arcp_lease *request;
    const arcp_lease *ceiling;
    arcp__lease_draft draft;
    arcp_json_writer report;
    arcp_span *near; /* room for the ceiling's patterns that a pattern may meet */
    size_t near_count;
    bool changed;
    size_t pairs;
    arcp_error *err;
} narrowing;

static arcp_status out_of_memory(narrowing *job)
{
    return arcp_error_set(job->err, ARCP_E_NO_MEMORY, "out of memory for narrowing a lease");
}

/* Begins a row of the report, up to the open array of what came instead. */
static void begin_row(narrowing *job, arcp_span capability, arcp_span pattern)
{
    job->changed = true;
    arcp_json_begin_object(&job->report);
    arcp_json_name(&job->report, "capability");
    arcp_json_write_string(&job->report, capability);
    if (pattern.size > 0) {
        arcp_json_name(&job->report, "pattern");
        arcp_json_write_string(&job->report, pattern);
    }
    arcp_json_name(&job->report, "narrowed_to");
    arcp_json_begin_array(&job->report);
}

static void end_row(narrowing *job)
{
    arcp_json_end_array(&job->report);
    arcp_json_end_object(&job->report);
}

static bool has_pattern(const arcp__draft_capability *capability, arcp_span pattern)
{
    for (size_t i = 0; i < capability->count; i++) {
        if (arcp_span_equal(capability->patterns[i], pattern)) {
            return true;
        }
    }
    return false;
}

/* Adds what `pattern` has in common with each of the near patterns. */
static arcp_status add_meets(narrowing *job, size_t at, const arcp__lease_capability *asked,
                             arcp_span pattern)
{
    arcp_buf meet = ARCP_BUF_INIT;
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < job->near_count && status == ARCP_OK && job->pairs < PAIRS_MAX; i++) {
        job->pairs++;
        bool found = false;
        arcp_buf_clear(&meet);
        status = arcp__pattern_meet(asked->kind, pattern, job->near[i], &found, &meet);
        const arcp_span text = arcp_buf_span(&meet);
        if (status != ARCP_OK) {
            status = out_of_memory(job);
        } else if (found && !has_pattern(&job->draft.capabilities[at], text)) {
            arcp_json_write_string(&job->report, text);
            status = arcp__lease_draft_pattern(&job->draft, at, text, job->err);
        }
    }
    arcp_buf_fini(&meet);
    return status;
}

/* Notes the ceiling's patterns that have anything to do with this one. */
static void find_near(narrowing *job, const arcp__lease_capability *allowed, arcp_span pattern)
{
    job->near_count = 0;
    for (size_t i = 0; i < allowed->count; i++) {
        if (arcp__glob_may_meet(pattern, allowed->patterns[i])) {
            job->near[job->near_count++] = allowed->patterns[i];
        }
    }
}

static arcp_status narrow_pattern(narrowing *job, size_t at, const arcp__lease_capability *asked,
                                  const arcp__lease_capability *allowed, arcp_span pattern)
{
    find_near(job, allowed, pattern);
    bool stays = false;
    if (job->near_count > 0) {
        arcp__glob_verdict verdict = {0};
        const arcp_status asked_well =
            arcp__glob_subset(asked->kind, &pattern, 1, job->near, job->near_count, &verdict);
        stays = asked_well == ARCP_OK && verdict.is_subset;
        arcp_buf_fini(&verdict.witness);
        if (asked_well != ARCP_OK) {
            return out_of_memory(job);
        }
    }
    if (stays) {
        return arcp__lease_draft_pattern(&job->draft, at, pattern, job->err);
    }
    begin_row(job, asked->name, pattern);
    const arcp_status status = add_meets(job, at, asked, pattern);
    end_row(job);
    return status;
}

/* `allowed` may have no patterns: then everything falls away. */
static arcp_status narrow_patterns(narrowing *job, const arcp__lease_capability *asked,
                                   const arcp__lease_capability *allowed)
{
    size_t at = 0;
    arcp_status status = arcp__lease_draft_capability(&job->draft, asked->name, &at, job->err);
    job->near = arcp__alloc_array(allowed->count, sizeof *job->near);
    if (job->near == NULL) {
        return out_of_memory(job);
    }
    for (size_t i = 0; i < asked->count && status == ARCP_OK; i++) {
        status = narrow_pattern(job, at, asked, allowed, asked->patterns[i]);
    }
    arcp__free(job->near);
    job->near = NULL;
    return status;
}

/* Copies the patterns as they are; with `wanted`, amounts of that currency only. */
static arcp_status copy_entries(narrowing *job, size_t at, const arcp__lease_capability *from,
                                const arcp_span *wanted)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < from->count && status == ARCP_OK; i++) {
        arcp__lease_amount amount;
        if (wanted != NULL &&
            (arcp__lease_amount_parse(from->patterns[i], &amount, NULL) != ARCP_OK ||
             !arcp_span_equal(amount.currency, *wanted))) {
            continue;
        }
        status = arcp__lease_draft_pattern(&job->draft, at, from->patterns[i], job->err);
    }
    return status;
}

static void append_amount(const arcp__lease_amount *amount, arcp_buf *out)
{
    char text[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(amount->total, text);
    arcp_buf_append(out, amount->currency);
    arcp_buf_append_byte(out, ':');
    arcp_buf_append_cstr(out, text);
}

/* Puts the ceiling's amount in the place of the request's (NULL: it had none). */
static arcp_status lower_amount(narrowing *job, size_t at, const arcp__lease_amount *asked,
                                const arcp__lease_amount *allowed)
{
    arcp_buf before = ARCP_BUF_INIT;
    arcp_buf after = ARCP_BUF_INIT;
    if (asked != NULL) {
        append_amount(asked, &before);
    }
    append_amount(allowed, &after);
    begin_row(job, ARCP_SPAN_LITERAL("cost.budget"), arcp_buf_span(&before));
    arcp_json_write_string(&job->report, arcp_buf_span(&after));
    end_row(job);
    const arcp_status status =
        before.failed || after.failed
            ? out_of_memory(job)
            : arcp__lease_draft_pattern(&job->draft, at, arcp_buf_span(&after), job->err);
    arcp_buf_fini(&before);
    arcp_buf_fini(&after);
    return status;
}

/* A budget is a limit: every currency that either side names, at the smaller amount. */
static arcp_status narrow_budget(narrowing *job, const arcp__lease_capability *asked)
{
    const arcp_lease *request = job->request;
    const arcp_lease *ceiling = job->ceiling;
    size_t at = 0;
    arcp_status status =
        arcp__lease_draft_capability(&job->draft, ARCP_SPAN_LITERAL("cost.budget"), &at, job->err);
    for (size_t i = 0; i < request->amount_count && status == ARCP_OK; i++) {
        const arcp__lease_amount *amount = &request->amounts[i];
        const arcp__lease_amount *limit = arcp__lease_find_amount(ceiling, amount->currency);
        if (limit != NULL && arcp_decimal_compare(limit->total, amount->total) < 0) {
            status = lower_amount(job, at, amount, limit);
        } else {
            assert(asked != NULL); /* A request with amounts names cost.budget. */
            status = copy_entries(job, at, asked, &amount->currency);
        }
    }
    for (size_t i = 0; i < ceiling->amount_count && status == ARCP_OK; i++) {
        if (arcp__lease_find_amount(request, ceiling->amounts[i].currency) == NULL) {
            status = lower_amount(job, at, NULL, &ceiling->amounts[i]);
        }
    }
    return status;
}

static arcp_status narrow_expiry(narrowing *job)
{
    const arcp_lease *request = job->request;
    const arcp_lease *ceiling = job->ceiling;
    const bool is_earlier =
        ceiling->has_expiry &&
        (!request->has_expiry || arcp__instant_compare(ceiling->expires, request->expires) < 0);
    if (is_earlier) {
        begin_row(job, ARCP_SPAN_LITERAL("expires_at"), request->expires_text);
        arcp_json_write_string(&job->report, ceiling->expires_text);
        end_row(job);
        return arcp__lease_draft_expiry(&job->draft, ceiling->expires_text, job->err);
    }
    return request->has_expiry
               ? arcp__lease_draft_expiry(&job->draft, request->expires_text, job->err)
               : ARCP_OK;
}

static arcp_status narrow_capability(narrowing *job, const arcp__lease_capability *asked,
                                     bool absent_is_open)
{
    static const arcp__lease_capability nothing = {0};
    if (asked->kind == ARCP__CAPABILITY_COST_BUDGET) {
        return narrow_budget(job, asked);
    }
    const arcp__lease_capability *allowed =
        arcp__lease_find(job->ceiling, asked->kind, asked->name);
    if (allowed != NULL || !absent_is_open) {
        return narrow_patterns(job, asked, allowed == NULL ? &nothing : allowed);
    }
    size_t at = 0;
    const arcp_status status =
        arcp__lease_draft_capability(&job->draft, asked->name, &at, job->err);
    return status == ARCP_OK ? copy_entries(job, at, asked, NULL) : status;
}

/* What the request leaves out and the ceiling limits. */
static arcp_status narrow_absent(narrowing *job)
{
    const arcp_lease *request = job->request;
    const arcp_lease *ceiling = job->ceiling;
    if (request->reserved[ARCP__CAPABILITY_COST_BUDGET] == NULL && ceiling->amount_count > 0) {
        const arcp_status status = narrow_budget(job, NULL);
        if (status != ARCP_OK) {
            return status;
        }
    }
    if (request->reserved[ARCP__CAPABILITY_MODEL_USE] == NULL &&
        ceiling->reserved[ARCP__CAPABILITY_MODEL_USE] != NULL) {
        const arcp_span name = ARCP_SPAN_LITERAL("model.use");
        size_t at = 0;
        begin_row(job, name, ARCP_SPAN_LITERAL(""));
        end_row(job);
        return arcp__lease_draft_capability(&job->draft, name, &at, job->err);
    }
    return ARCP_OK;
}

static arcp_status narrow_all(narrowing *job, bool absent_is_open)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < job->request->count && status == ARCP_OK; i++) {
        status = narrow_capability(job, &job->request->capabilities[i], absent_is_open);
    }
    if (status == ARCP_OK) {
        status = narrow_absent(job);
    }
    return status == ARCP_OK ? narrow_expiry(job) : status;
}

arcp_status arcp_lease_narrow(const arcp_lease *request, const arcp_lease *ceiling,
                              bool absent_is_open, arcp_lease **out, arcp_buf *dropped,
                              arcp_error *err)
{
    narrowing job = {.request = request, .ceiling = ceiling, .err = err};
    arcp_buf report = ARCP_BUF_INIT;
    arcp_json_writer_init(&job.report, &report);
    arcp__lease_draft_init(&job.draft, &arcp__lease_unlimited);
    arcp_json_begin_array(&job.report);
    arcp_status status = narrow_all(&job, absent_is_open);
    arcp_json_end_array(&job.report);
    if (status == ARCP_OK && dropped != NULL) {
        arcp_buf_append(dropped, arcp_buf_span(&report));
        status = report.failed || dropped->failed ? out_of_memory(&job) : ARCP_OK;
    }
    if (status == ARCP_OK && !job.changed) {
        *out = arcp_lease_ref(request);
    } else if (status == ARCP_OK) {
        status = arcp__lease_draft_finish(&job.draft, out, err);
    }
    arcp__lease_draft_fini(&job.draft);
    arcp_buf_fini(&report);
    return status;
}
