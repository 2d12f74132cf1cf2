/* A request narrowed by a ceiling: never wider than either (draft §9.2: a runtime may
 * narrow what a client requests, never widen it). */
#include "core/lease_subset.h"

#include <assert.h>

#include "base/arena.h"
#include "base/hash.h"
#include "core/glob_pattern.h"
#include "core/glob_subset.h"
#include "core/lease_draft.h"
#include "core/lease_meet.h"
#include "json/json_put.h"

/* How many pairs of patterns are looked at for what they have in common. A request beyond
 * that loses what was not looked at, which is never wider. */
#define PAIRS_MAX 4096

/* A pattern of the capability at hand that is in the draft. */
typedef struct kept_pattern {
    arcp_span text; /* the draft's */
    UT_hash_handle hh;
} kept_pattern;

typedef struct narrowing {
    const arcp_lease *request;
    const arcp_lease *ceiling;
    arcp__lease_work *work;
    arcp__lease_draft draft;
    arcp_json_writer report;
    arcp_span *bases; /* the literal beginnings of the ceiling's patterns; `near` stands behind */
    arcp_span *near;  /* room for the ceiling's patterns that a pattern may meet */
    size_t near_count;
    kept_pattern *kept;
    size_t kept_count; /* so many of the draft's are in the table */
    arcp__arena kept_arena;
    bool changed;
    size_t pairs;
    arcp_error *err;
} narrowing;

static arcp_status out_of_memory(narrowing *job)
{
    return arcp_error_set(job->err, ARCP_E_NO_MEMORY, "out of memory for narrowing a lease");
}

/* The error of a question about patterns. */
static arcp_status failed(narrowing *job, arcp_status status)
{
    return status == ARCP_E_LIMIT
               ? arcp_error_set(job->err, status, "narrowing the lease takes too much work")
               : out_of_memory(job);
}

/* Begins a row of the report, up to the open array of what came instead. */
static void begin_row(narrowing *job, arcp_span capability, arcp_span pattern)
{
    job->changed = true;
    arcp_json_begin_object(&job->report);
    arcp__put_string(&job->report, "capability", capability);
    if (pattern.size > 0) {
        arcp__put_string(&job->report, "pattern", pattern);
    }
    arcp__put_array(&job->report, "narrowed_to");
}

static void end_row(narrowing *job)
{
    arcp_json_end_array(&job->report);
    arcp_json_end_object(&job->report);
}

/* Puts what is in the draft, and not in the table yet, there too. Most requests get by without:
 * their patterns stay as they are, or fall away. */
static arcp_status note_kept(narrowing *job, const arcp__draft_capability *to)
{
    for (; job->kept_count < to->count; job->kept_count++) {
        kept_pattern *entry = NULL;
        const arcp_span text = to->patterns[job->kept_count];
        HASH_FIND(hh, job->kept, text.data, text.size, entry);
        if (entry != NULL) {
            continue;
        }
        entry = arcp__arena_take(&job->kept_arena, sizeof *entry);
        if (entry == NULL) {
            return out_of_memory(job);
        }
        *entry = (kept_pattern){.text = text};
        HASH_ADD_KEYPTR(hh, job->kept, entry->text.data, entry->text.size, entry);
        if (!ARCP__HASH_ADDED(entry)) {
            return out_of_memory(job);
        }
    }
    return ARCP_OK;
}

/* Puts a replacement into the draft and the report, once. */
static arcp_status keep_meet(narrowing *job, size_t at, arcp_span meet)
{
    kept_pattern *found = NULL;
    const arcp_status status = note_kept(job, &job->draft.capabilities[at]);
    if (status != ARCP_OK) {
        return status;
    }
    HASH_FIND(hh, job->kept, meet.data, meet.size, found);
    if (found != NULL) {
        return ARCP_OK;
    }
    arcp_json_write_string(&job->report, meet);
    return arcp__lease_draft_pattern(&job->draft, at, meet, job->err);
}

static void forget_kept(narrowing *job)
{
    HASH_CLEAR(hh, job->kept);
    arcp__arena_reset(&job->kept_arena);
    job->kept_count = 0;
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
        status = arcp__pattern_meet(asked->kind, pattern, job->near[i], job->work, &found, &meet);
        if (status != ARCP_OK) {
            status = failed(job, status);
        } else if (found) {
            status = keep_meet(job, at, arcp_buf_span(&meet));
        }
    }
    arcp_buf_fini(&meet);
    return status;
}

/* Notes the ceiling's patterns that have anything to do with this one. */
static arcp_status find_near(narrowing *job, const arcp__lease_capability *allowed,
                             arcp_span pattern)
{
    job->near_count = 0;
    if (!arcp__lease_work_take(job->work, arcp__lease_work_pairs(pattern, allowed->count))) {
        return failed(job, ARCP_E_LIMIT);
    }
    const arcp_span base = arcp__glob_literal_prefix(pattern);
    for (size_t i = 0; i < allowed->count; i++) {
        if (arcp__glob_bases_meet(base, job->bases[i])) {
            job->near[job->near_count++] = allowed->patterns[i];
        }
    }
    return ARCP_OK;
}

static arcp_status narrow_pattern(narrowing *job, size_t at, const arcp__lease_capability *asked,
                                  const arcp__lease_capability *allowed, arcp_span pattern)
{
    arcp_status status = find_near(job, allowed, pattern);
    if (status != ARCP_OK) {
        return status;
    }
    bool stays = false;
    if (job->near_count > 0) {
        const arcp__glob_question question = {.capability = asked->kind,
                                              .child = &pattern,
                                              .child_count = 1,
                                              .parent = job->near,
                                              .parent_count = job->near_count,
                                              .skips_witness = true};
        arcp__glob_verdict verdict = {0};
        status = arcp__glob_ask(&question, job->work, &verdict);
        stays = verdict.is_subset;
        arcp_buf_fini(&verdict.witness);
        if (status != ARCP_OK) {
            return failed(job, status);
        }
    }
    if (stays) {
        return arcp__lease_draft_pattern(&job->draft, at, pattern, job->err);
    }
    begin_row(job, asked->name, pattern);
    status = add_meets(job, at, asked, pattern);
    end_row(job);
    return status;
}

/* `allowed` may have no patterns: then everything falls away. */
static arcp_status narrow_patterns(narrowing *job, const arcp__lease_capability *asked,
                                   const arcp__lease_capability *allowed)
{
    size_t at = 0;
    arcp_status status = arcp__lease_draft_capability(&job->draft, asked->name, &at, job->err);
    job->bases = arcp__alloc_array(allowed->count, 2 * sizeof *job->bases);
    if (job->bases == NULL) {
        return out_of_memory(job);
    }
    job->near = job->bases + allowed->count;
    for (size_t i = 0; i < allowed->count; i++) {
        job->bases[i] = arcp__glob_literal_prefix(allowed->patterns[i]);
    }
    for (size_t i = 0; i < asked->count && status == ARCP_OK; i++) {
        status = narrow_pattern(job, at, asked, allowed, asked->patterns[i]);
    }
    arcp__free(job->bases);
    job->bases = NULL;
    forget_kept(job);
    return status;
}

/* Copies the patterns as they are. */
static arcp_status copy_entries(narrowing *job, size_t at, const arcp__lease_capability *from)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < from->count && status == ARCP_OK; i++) {
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

/* An entry of the request's budget: it stays, or the ceiling's amount comes in the place of the
 * first entry of its currency. */
static arcp_status narrow_entry(narrowing *job, size_t at, arcp_span entry, size_t index)
{
    arcp__lease_amount named;
    if (!arcp__lease_work_take(job->work, 1 + job->request->amount_count)) {
        return failed(job, ARCP_E_LIMIT);
    }
    const arcp_status status = arcp__lease_amount_parse(entry, &named, job->err);
    if (status != ARCP_OK) {
        return status;
    }
    const arcp__lease_amount *asked = arcp__lease_find_amount(job->request, named.currency);
    const arcp__lease_amount *limit = arcp__lease_find_amount(job->ceiling, named.currency);
    if (limit == NULL || arcp_decimal_compare(asked->total, limit->total) <= 0) {
        return arcp__lease_draft_pattern(&job->draft, at, entry, job->err);
    }
    return asked->entry == index ? lower_amount(job, at, asked, limit) : ARCP_OK;
}

/* A budget is a limit: every currency that either side names, at the smaller amount. `asked` is
 * NULL when the request has none. */
static arcp_status narrow_budget(narrowing *job, const arcp__lease_capability *asked)
{
    const arcp_lease *ceiling = job->ceiling;
    const size_t count = asked == NULL ? 0 : asked->count;
    size_t at = 0;
    arcp_status status =
        arcp__lease_draft_capability(&job->draft, ARCP_SPAN_LITERAL("cost.budget"), &at, job->err);
    for (size_t i = 0; i < count && status == ARCP_OK; i++) {
        status = narrow_entry(job, at, asked->patterns[i], i);
    }
    for (size_t i = 0; i < ceiling->amount_count && status == ARCP_OK; i++) {
        if (arcp__lease_find_amount(job->request, ceiling->amounts[i].currency) == NULL) {
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
    return status == ARCP_OK ? copy_entries(job, at, asked) : status;
}

/* What the request leaves out and the ceiling limits. */
static arcp_status narrow_absent(narrowing *job, bool closes_models)
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
        (closes_models || ceiling->reserved[ARCP__CAPABILITY_MODEL_USE] != NULL)) {
        const arcp_span name = ARCP_SPAN_LITERAL("model.use");
        size_t at = 0;
        begin_row(job, name, ARCP_SPAN_LITERAL(""));
        end_row(job);
        return arcp__lease_draft_capability(&job->draft, name, &at, job->err);
    }
    return ARCP_OK;
}

static arcp_status narrow_all(narrowing *job, const arcp__ceiling *ceiling)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < job->request->count && status == ARCP_OK; i++) {
        status = narrow_capability(job, &job->request->capabilities[i], ceiling->absent_is_open);
    }
    if (status == ARCP_OK) {
        status = narrow_absent(job, ceiling->closes_models);
    }
    return status == ARCP_OK ? narrow_expiry(job) : status;
}

arcp_status arcp__lease_narrow(const arcp_lease *request, const arcp__ceiling *ceiling,
                               arcp_lease **out, arcp_buf *dropped, arcp_error *err)
{
    narrowing job = {
        .request = request, .ceiling = ceiling->lease, .work = ceiling->work, .err = err};
    arcp_buf report = ARCP_BUF_INIT;
    arcp_json_writer_init(&job.report, &report);
    arcp__lease_draft_init(&job.draft, &arcp__lease_unlimited);
    arcp_json_begin_array(&job.report);
    arcp_status status = narrow_all(&job, ceiling);
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
    arcp__arena_fini(&job.kept_arena);
    arcp__lease_draft_fini(&job.draft);
    arcp_buf_fini(&report);
    return status;
}

arcp_status arcp_lease_narrow(const arcp_lease *request, const arcp_lease *ceiling,
                              bool absent_is_open, arcp_lease **out, arcp_buf *dropped,
                              arcp_error *err)
{
    const arcp__ceiling unbounded = {.lease = ceiling, .absent_is_open = absent_is_open};
    return arcp__lease_narrow(request, &unbounded, out, dropped, err);
}
