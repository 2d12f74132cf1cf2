/* Narrows a request by a ceiling. The result is never wider than either (draft §9.2: a runtime may
 * narrow what a client requests, never widen it).
 *
 * A pattern that is not within the ceiling is replaced by its intersections with the ceiling's
 * patterns. Globs are not closed under intersection, so an intersection is guessed and then proven
 * to be within both. The guesses:
 *
 *   1. the ceiling's pattern, if it is within the request's;
 *   2. if one is a literal prefix and `**`, the other, with its `**` after that prefix:
 *          /data/{**}.csv       and  /data/reports/{**}
 *   3. segment by segment: a literal instead of a star, the longer of two segments with stars,
 *      and for a `**` at the end the rest of the other:
 *          https://{*}/v1/{**}  and  https://api.example.com/{**}
 *
 * (stars in braces, because a comment cannot hold them after a slash). */
#include "core/lease_subset.h"

#include "base/hash.h"
#include "core/glob_pattern.h"
#include "core/glob_subset.h"
#include "core/lease_draft.h"
#include "json/json_put.h"

/* The most pairs of patterns that are intersected. Beyond that a request loses patterns, which
 * never makes it wider. */
#define PAIRS_MAX 4096

/* A pattern of the current capability that is in the draft. */
typedef struct kept_pattern {
    arcp_span text; /* in the draft's memory */
    UT_hash_handle hh;
} kept_pattern;

typedef struct narrowing {
    const arcp_lease *request;
    const arcp_lease *ceiling;
    arcp__lease_work *work;
    arcp__lease_draft draft; /* its status is that of the narrowing */
    arcp_json_writer report;
    arcp_span
        *bases; /* literal prefixes of the ceiling's patterns; `near` follows in the same array */
    arcp_span *near; /* scratch for the ceiling's patterns that may meet a pattern */
    kept_pattern *kept;
    size_t kept_count; /* patterns of the draft that are in the table */
    arcp__arena kept_arena;
    bool changed;
    size_t pairs;
} narrowing;

static void fail(narrowing *job, arcp_status status)
{
    job->draft.status =
        arcp_error_set(job->draft.err, status,
                       status == ARCP_E_LIMIT ? "narrowing the lease takes too much work"
                                              : "out of memory for narrowing a lease");
}

/* Begins a row of the report, up to the open array of replacements. */
static void begin_row(narrowing *job, arcp_span capability, arcp_span pattern)
{
    job->changed = true;
    arcp_json_begin_object(&job->report);
    arcp__put_string(&job->report, "capability", capability);
    arcp__put_text(&job->report, "pattern", pattern);
    arcp__put_array(&job->report, "narrowed_to");
}

static void end_row(narrowing *job)
{
    arcp_json_end_array(&job->report);
    arcp_json_end_object(&job->report);
}

/* Adds a replacement to the draft and the report unless it is there already. The table of the
 * draft's patterns is filled only here, because most requests need no replacement. */
static void keep_meet(narrowing *job, size_t index, arcp_span meet)
{
    kept_pattern *entry = NULL;
    const arcp__draft_capability *to = &job->draft.capabilities[index];
    for (; job->kept_count < to->count; job->kept_count++) {
        const arcp_span text = to->patterns[job->kept_count];
        HASH_FIND(hh, job->kept, text.data, text.size, entry);
        if (entry != NULL) {
            continue;
        }
        entry = arcp__arena_take(&job->kept_arena, sizeof *entry);
        if (entry != NULL) {
            *entry = (kept_pattern){.text = text};
            HASH_ADD_KEYPTR(hh, job->kept, entry->text.data, entry->text.size, entry);
        }
        if (entry == NULL || !ARCP__HASH_ADDED(entry)) {
            fail(job, ARCP_E_NO_MEMORY);
            return;
        }
    }
    HASH_FIND(hh, job->kept, meet.data, meet.size, entry);
    if (entry == NULL) {
        arcp_json_write_string(&job->report, meet);
        arcp__lease_draft_pattern(&job->draft, index, meet);
    }
}

/* ---- intersections of two patterns ---- */

/* The segment at the beginning of `text`, up to a separator. */
static arcp_span first_segment(arcp_span text, bool has_dots)
{
    size_t size = 0;
    while (size < text.size && text.data[size] != '/' && !(has_dots && text.data[size] == '.')) {
        size++;
    }
    return arcp_span_first(text, size);
}

/* The third guess; false when the segments of the two do not correspond. */
static bool guess_by_segments(arcp_span a, arcp_span b, bool has_dots, arcp_buf *out)
{
    for (;;) {
        const arcp_span head_a = first_segment(a, has_dots);
        const arcp_span head_b = first_segment(b, has_dots);
        if (head_a.size == a.size && arcp_span_equal_cstr(head_a, "**")) {
            arcp_buf_append(out, b);
            return true;
        }
        if (head_b.size == b.size && arcp_span_equal_cstr(head_b, "**")) {
            arcp_buf_append(out, a);
            return true;
        }
        const bool a_is_literal = arcp__glob_is_literal(head_a);
        const bool takes_a = a_is_literal == arcp__glob_is_literal(head_b)
                                 ? head_a.size >= head_b.size
                                 : a_is_literal;
        arcp_buf_append(out, takes_a ? head_a : head_b);
        a = arcp_span_from(a, head_a.size);
        b = arcp_span_from(b, head_b.size);
        if (a.size == 0 || b.size == 0) {
            return a.size == 0 && b.size == 0;
        }
        if (a.data[0] != b.data[0]) {
            return false;
        }
        arcp_buf_append_byte(out, a.data[0]);
        a = arcp_span_from(a, 1);
        b = arcp_span_from(b, 1);
    }
}

/* The second guess, for a `base` that is a literal prefix and `**`. */
static bool guess_behind(arcp_span base, arcp_span other, arcp_buf *out)
{
    const arcp_span beginning = arcp__glob_literal_prefix(base);
    const arcp_span stars = arcp_span_from(base, beginning.size);
    const arcp_span other_beginning = arcp__glob_literal_prefix(other);
    const arcp_span rest = arcp_span_from(other, other_beginning.size);
    if (!arcp_span_equal_cstr(stars, "**") || !arcp_span_starts_with(beginning, other_beginning) ||
        !arcp_span_starts_with(rest, ARCP_SPAN_LITERAL("**"))) {
        return false;
    }
    arcp_buf_append(out, beginning);
    arcp_buf_append(out, rest);
    return true;
}

enum { GUESS_CEILING, GUESS_BEHIND_REQUEST, GUESS_BEHIND_CEILING, GUESS_BY_SEGMENTS, GUESSES };

/* Makes a guess at the intersection of the request's `a` and the ceiling's `b`; false: none. */
static bool make_guess(int number, arcp_span a, arcp_span b, bool has_dots, arcp_buf *out)
{
    arcp_buf_clear(out);
    switch (number) {
    case GUESS_CEILING:
        arcp_buf_append(out, b);
        return true;
    case GUESS_BEHIND_REQUEST:
        return guess_behind(a, b, out);
    case GUESS_BEHIND_CEILING:
        return guess_behind(b, a, out);
    default:
        return guess_by_segments(a, b, has_dots, out);
    }
}

/* Whether a guess is within both patterns and matches any target at all. */
static arcp_status prove_guess(const narrowing *job, arcp__capability kind, arcp_span guess,
                               arcp_span a, arcp_span b, bool *is_proven)
{
    arcp_status status = arcp__glob_is_within(kind, guess, &a, 1, job->work, is_proven);
    if (status == ARCP_OK && *is_proven) {
        status = arcp__glob_is_within(kind, guess, &b, 1, job->work, is_proven);
    }
    if (status == ARCP_OK && *is_proven) {
        bool is_dead = true;
        status = arcp__glob_is_dead(kind, guess, job->work, &is_dead, NULL);
        *is_proven = !is_dead;
    }
    return status;
}

/* Adds the first guess that is proven to be within both `a` and `b`, if any. `a` is not within `b`.
 */
static void add_meet(narrowing *job, size_t index, arcp_span a, arcp_span b, arcp_buf *guess)
{
    const arcp__capability kind = job->draft.capabilities[index].kind;
    const bool has_dots = arcp__target_kind_has_dots(arcp__capability_kind(kind));
    arcp_status status = ARCP_OK;
    bool is_proven = false;
    for (int i = 0; i < GUESSES && status == ARCP_OK && !is_proven; i++) {
        const bool is_guessed = make_guess(i, a, b, has_dots, guess);
        status = arcp_buf_status(guess);
        if (status == ARCP_OK && is_guessed) {
            status = prove_guess(job, kind, arcp_buf_span(guess), a, b, &is_proven);
        }
    }
    if (status != ARCP_OK) {
        fail(job, status);
    } else if (is_proven) {
        keep_meet(job, index, arcp_buf_span(guess));
    }
}

/* ---- patterns ---- */

/* Keeps the pattern, or replaces it by its intersections with the ceiling's patterns. */
static void narrow_pattern(narrowing *job, size_t index, const arcp__lease_capability *allowed,
                           arcp_span pattern)
{
    if (!arcp__lease_work_take(job->work, arcp__lease_work_pairs(pattern, allowed->count))) {
        fail(job, ARCP_E_LIMIT);
        return;
    }
    /* Other patterns of the ceiling have no target in common with this one. */
    const arcp_span base = arcp__glob_literal_prefix(pattern);
    size_t near_count = 0;
    for (size_t i = 0; i < allowed->count; i++) {
        if (arcp__glob_bases_meet(base, job->bases[i])) {
            job->near[near_count++] = allowed->patterns[i];
        }
    }
    bool stays = false;
    if (near_count > 0) {
        const arcp_status status =
            arcp__glob_is_within(allowed->kind, pattern, job->near, near_count, job->work, &stays);
        if (status != ARCP_OK) {
            fail(job, status);
            return;
        }
    }
    if (stays) {
        arcp__lease_draft_pattern(&job->draft, index, pattern);
        return;
    }
    begin_row(job, job->draft.capabilities[index].name, pattern);
    arcp_buf guess = arcp_buf_init();
    for (size_t i = 0; i < near_count && job->draft.status == ARCP_OK && job->pairs < PAIRS_MAX;
         i++) {
        job->pairs++;
        add_meet(job, index, pattern, job->near[i], &guess);
    }
    arcp_buf_fini(&guess);
    end_row(job);
}

/* `allowed` may have no patterns: then all of the request's are removed. */
static void narrow_patterns(narrowing *job, const arcp__lease_capability *requested,
                            const arcp__lease_capability *allowed)
{
    const size_t index = arcp__lease_draft_capability(&job->draft, requested->name);
    job->bases = arcp__alloc_array(allowed->count, 2 * sizeof *job->bases);
    if (job->bases == NULL) {
        fail(job, ARCP_E_NO_MEMORY);
        return;
    }
    job->near = job->bases + allowed->count;
    for (size_t i = 0; i < allowed->count; i++) {
        job->bases[i] = arcp__glob_literal_prefix(allowed->patterns[i]);
    }
    for (size_t i = 0; i < requested->count && job->draft.status == ARCP_OK; i++) {
        narrow_pattern(job, index, allowed, requested->patterns[i]);
    }
    arcp__free(job->bases);
    HASH_CLEAR(hh, job->kept);
    arcp__arena_reset(&job->kept_arena);
    job->kept_count = 0;
}

/* ---- limits ---- */

/* Replaces the request's amount (NULL: none) by the ceiling's. */
static void lower_amount(narrowing *job, size_t index, const arcp__lease_amount *requested,
                         const arcp__lease_amount *allowed)
{
    arcp_buf before = arcp_buf_init();
    arcp_buf after = arcp_buf_init();
    if (requested != NULL) {
        arcp__lease_amount_append(requested->currency, requested->total, &before);
    }
    arcp__lease_amount_append(allowed->currency, allowed->total, &after);
    begin_row(job, ARCP_SPAN_LITERAL("cost.budget"), arcp_buf_span(&before));
    arcp_json_write_string(&job->report, arcp_buf_span(&after));
    end_row(job);
    if (before.failed || after.failed) {
        fail(job, ARCP_E_NO_MEMORY);
    }
    arcp__lease_draft_pattern(&job->draft, index, arcp_buf_span(&after));
    arcp_buf_fini(&before);
    arcp_buf_fini(&after);
}

/* A budget is a limit: the result has every currency that either side names, with the smaller
 * amount, in the position of the currency's first entry. `requested` is NULL when the request has
 * no budget. */
static void narrow_budget(narrowing *job, const arcp__lease_capability *requested)
{
    const arcp_lease *request = job->request;
    const arcp_lease *ceiling = job->ceiling;
    const size_t count = requested == NULL ? 0 : requested->count;
    const size_t index =
        arcp__lease_draft_capability(&job->draft, ARCP_SPAN_LITERAL("cost.budget"));
    for (size_t i = 0; i < count && job->draft.status == ARCP_OK; i++) {
        arcp__lease_amount named;
        if (!arcp__lease_work_take(job->work, 1 + request->amount_count)) {
            fail(job, ARCP_E_LIMIT);
            return;
        }
        job->draft.status =
            arcp__lease_amount_parse(requested->patterns[i], &named, job->draft.err);
        if (job->draft.status != ARCP_OK) {
            return;
        }
        const arcp__lease_amount *total = arcp__lease_find_amount(request, named.currency);
        const arcp__lease_amount *limit = arcp__lease_find_amount(ceiling, named.currency);
        if (limit == NULL || arcp_decimal_compare(total->total, limit->total) <= 0) {
            arcp__lease_draft_pattern(&job->draft, index, requested->patterns[i]);
        } else if (total->entry == i) {
            lower_amount(job, index, total, limit);
        }
    }
    for (size_t i = 0; i < ceiling->amount_count; i++) {
        if (arcp__lease_find_amount(request, ceiling->amounts[i].currency) == NULL) {
            lower_amount(job, index, NULL, &ceiling->amounts[i]);
        }
    }
}

static void narrow_expiry(narrowing *job)
{
    const arcp_lease *request = job->request;
    const arcp_lease *ceiling = job->ceiling;
    if (ceiling->has_expiry &&
        (!request->has_expiry || arcp__instant_compare(ceiling->expires, request->expires) < 0)) {
        begin_row(job, ARCP_SPAN_LITERAL("expires_at"), request->expires_text);
        arcp_json_write_string(&job->report, ceiling->expires_text);
        end_row(job);
        arcp__lease_draft_expiry(&job->draft, ceiling->expires_text);
    } else if (request->has_expiry) {
        arcp__lease_draft_expiry(&job->draft, request->expires_text);
    }
}

/* ---- narrowing a lease ---- */

static void narrow_all(narrowing *job, const arcp__ceiling *by)
{
    static const arcp__lease_capability nothing = {0};
    const arcp_lease *request = job->request;
    const arcp_lease *ceiling = job->ceiling;
    for (size_t i = 0; i < request->count && job->draft.status == ARCP_OK; i++) {
        const arcp__lease_capability *requested = &request->capabilities[i];
        const arcp__lease_capability *allowed =
            arcp__lease_find(ceiling, requested->kind, requested->name);
        if (requested->kind == ARCP__CAPABILITY_COST_BUDGET) {
            narrow_budget(job, requested);
        } else if (allowed == NULL && by->absent_is_open) {
            arcp__lease_draft_copy(&job->draft, requested);
        } else {
            narrow_patterns(job, requested, allowed == NULL ? &nothing : allowed);
        }
    }
    /* Add what the request leaves out and the ceiling limits. */
    if (request->reserved[ARCP__CAPABILITY_COST_BUDGET] == NULL && ceiling->amount_count > 0) {
        narrow_budget(job, NULL);
    }
    if (request->reserved[ARCP__CAPABILITY_MODEL_USE] == NULL &&
        (by->closes_models || ceiling->reserved[ARCP__CAPABILITY_MODEL_USE] != NULL)) {
        const arcp_span name = ARCP_SPAN_LITERAL("model.use");
        begin_row(job, name, ARCP_SPAN_LITERAL(""));
        end_row(job);
        (void)arcp__lease_draft_capability(&job->draft, name);
    }
    narrow_expiry(job);
}

arcp_status arcp__lease_narrow(const arcp_lease *request, const arcp__ceiling *ceiling,
                               arcp_lease **out, arcp_buf *dropped, arcp_error *err)
{
    narrowing job = {.request = request, .ceiling = ceiling->lease, .work = ceiling->work};
    arcp_buf report = arcp_buf_init();
    arcp__lease_draft_init(&job.draft, &arcp__lease_unlimited, err);
    arcp_json_writer_init(&job.report, &report);
    arcp_json_begin_array(&job.report);
    narrow_all(&job, ceiling);
    arcp_json_end_array(&job.report);
    if (job.draft.status == ARCP_OK && dropped != NULL) {
        arcp_buf_append(dropped, arcp_buf_span(&report));
        if (report.failed || dropped->failed) {
            fail(&job, ARCP_E_NO_MEMORY);
        }
    }
    arcp_status status = job.draft.status;
    if (status == ARCP_OK && !job.changed) {
        *out = arcp_lease_ref(request);
    } else {
        status = arcp__lease_draft_finish(&job.draft, out);
    }
    arcp__lease_draft_fini(&job.draft);
    arcp__arena_fini(&job.kept_arena);
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
