/* Explanations for people: why a target is allowed or denied, what is suspicious in a lease, and
 * how two leases differ. */
#include <arcp/lease_explain.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "core/authority.h"
#include "core/decimal.h"
#include "core/glob_subset.h"
#include "core/glob_union.h"
#include "core/lease_subset.h"
#include "json/json_put.h"

/* ---- explain ---- */

/* The parts of an explanation. Spans borrow from the authority, the arguments or `suggested`. */
typedef struct explanation {
    const arcp_authority *authority;
    const arcp_decision *decision;
    arcp_span nearest;  /* empty: the lease has no pattern for the capability */
    size_t agrees;      /* bytes of the canonical target that agree with `nearest` */
    arcp_buf suggested; /* a pattern that would allow the target; empty: none */
} explanation;

/* Counts the bytes of the target that agree with the beginning of something the pattern matches.
 * Only for choosing the nearest pattern: nothing is decided by it. */
static arcp_status count_agreeing(arcp_span pattern, arcp_span target, arcp__target_kind kind,
                                  size_t *agrees)
{
    arcp__glob_union machine;
    const arcp_status status = arcp__glob_union_init(&machine, &pattern, 1);
    if (status != ARCP_OK) {
        arcp__glob_union_fini(&machine);
        return status;
    }
    arcp__glob_word *words = arcp__alloc_array(machine.words, 2 * sizeof *words);
    if (words == NULL) {
        arcp__glob_union_fini(&machine);
        return ARCP_E_NO_MEMORY;
    }
    arcp__glob_states_set now = {.words = words};
    arcp__glob_states_set then = {.words = words + machine.words};
    arcp__glob_union_start(&machine, &now);
    size_t count = 0;
    for (; count < target.size; count++) {
        const unsigned char byte = (unsigned char)target.data[count];
        arcp__glob_union_step(&machine, &now, byte, arcp__glob_class_of(kind, byte), &then);
        if (then.count == 0) {
            break;
        }
        const arcp__glob_states_set swapped = now;
        now = then;
        then = swapped;
    }
    *agrees = count;
    arcp__free(words);
    arcp__glob_union_fini(&machine);
    return ARCP_OK;
}

/* Suggests the narrowest pattern for a canonical target: the target itself or, if that is not a
 * valid pattern (too long, or not UTF-8), all that is below its last directory that can be
 * written. */
static void suggest(arcp_span canonical, arcp_buf *out)
{
    const arcp_lease_limits limits = arcp_lease_limits_init();
    size_t valid = arcp__utf8_valid_prefix(canonical);
    if (valid == canonical.size && valid <= limits.pattern_bytes_max) {
        arcp_buf_append(out, canonical);
        return;
    }
    const size_t room = limits.pattern_bytes_max - 2;
    valid = valid < room ? valid : room;
    while (valid > 0 && canonical.data[valid - 1] != '/') {
        valid--;
    }
    arcp_buf_append(out, arcp_span_first(canonical, valid));
    arcp_buf_append_cstr(out, "**");
}

static void write_json(const explanation *why, arcp_buf *out)
{
    const arcp_decision *decision = why->decision;
    arcp_buf text = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_bool(&writer, "allow", decision->allowed);
    if (!decision->allowed) {
        arcp__put_cstr(&writer, "code", arcp_status_name(decision->code));
    }
    arcp_decision_format_message(decision, &text);
    arcp__put_string(&writer, "message", arcp_buf_span(&text));
    arcp_buf_clear(&text);
    arcp_decision_format_details(why->authority, decision, &text);
    arcp__put_raw(&writer, "details", arcp_buf_span(&text));
    if (decision->allowed) {
        arcp__put_string(&writer, "pattern", decision->pattern);
    }
    if (why->nearest.size > 0) {
        arcp__put_string(&writer, "nearest", why->nearest);
        arcp__put_string(&writer, "agrees", arcp_span_first(decision->canonical, why->agrees));
    }
    arcp__put_text(&writer, "suggested", arcp_buf_span(&why->suggested));
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '\n');
    out->failed = out->failed || text.failed;
    arcp_buf_fini(&text);
}

static void write_line(const char *label, arcp_span text, arcp_buf *out)
{
    arcp_buf_append_format(out, "%-12s", label);
    arcp_json_quote(text, out);
    arcp_buf_append_byte(out, '\n');
}

static void write_text(const explanation *why, arcp_buf *out)
{
    const arcp_decision *decision = why->decision;
    if (decision->allowed) {
        arcp_buf_append_cstr(out, "allowed: ");
    } else {
        arcp_buf_append_format(out, "denied: %s, %s: ", arcp_status_name(decision->code),
                               arcp_deny_reason_name(decision->reason));
    }
    arcp_decision_format_message(decision, out);
    arcp_buf_append_byte(out, '\n');
    if (decision->canonical.size > 0) {
        write_line("canonical", decision->canonical, out);
    }
    if (decision->pattern.size > 0) {
        write_line("allowed by", decision->pattern, out);
    } else if (decision->allowed) {
        arcp_buf_append_cstr(out, "the lease names no models, and this runtime then allows all\n");
    }
    if (why->nearest.size > 0) {
        write_line("nearest", why->nearest, out);
        write_line("agrees on", arcp_span_first(decision->canonical, why->agrees), out);
    } else if (decision->reason == ARCP_DENY_NO_MATCH) {
        arcp_buf_append_cstr(out, "the lease has no pattern for this capability\n");
    }
    if (why->suggested.size > 0) {
        write_line("would allow", arcp_buf_span(&why->suggested), out);
    }
}

bool arcp_lease_explain(const arcp_authority *authority, arcp_time now, arcp_span capability,
                        arcp_span target, bool as_json, arcp_buf *out)
{
    arcp_target_scratch *scratch = arcp__alloc(sizeof *scratch);
    if (scratch == NULL) {
        out->failed = true;
        return false;
    }
    arcp_decision decision;
    const bool allowed = arcp_authorize(authority, now, capability, target, scratch, &decision);
    explanation why = {.authority = authority, .decision = &decision, .suggested = arcp_buf_init()};
    arcp_status status = ARCP_OK;
    if (decision.reason == ARCP_DENY_NO_MATCH) {
        /* Find the pattern that agrees with the most bytes of the target. */
        const arcp__lease_capability *granted =
            arcp__lease_find(authority->lease, arcp__capability_from_name(capability), capability);
        const size_t count = granted == NULL ? 0 : granted->count;
        for (size_t i = 0; i < count && status == ARCP_OK; i++) {
            size_t agrees = 0;
            status = count_agreeing(granted->patterns[i], decision.canonical,
                                    arcp__capability_kind(granted->kind), &agrees);
            if (why.nearest.size == 0 || agrees > why.agrees) {
                why.nearest = granted->patterns[i];
                why.agrees = agrees;
            }
        }
        suggest(decision.canonical, &why.suggested);
    }
    if (as_json) {
        write_json(&why, out);
    } else {
        write_text(&why, out);
    }
    out->failed = out->failed || why.suggested.failed || status != ARCP_OK;
    arcp_buf_fini(&why.suggested);
    arcp__free(scratch);
    return allowed && !out->failed;
}

/* ---- lint ---- */

/* A list of findings, written as they come. */
typedef struct listing {
    arcp_json_writer *writer; /* NULL: lines of text */
    arcp_buf *out;
    size_t count;
} listing;

/* Writes one finding. `index` is that of the pattern, or SIZE_MAX when it is not about a
 * pattern. */
static void report(listing *found, const char *kind, arcp_span capability, size_t index,
                   arcp_span pattern, const char *message)
{
    found->count++;
    if (found->writer == NULL) {
        arcp_buf_append_format(found->out, "%s: ", kind);
        arcp_buf_append(found->out, capability);
        if (index != SIZE_MAX) {
            arcp_buf_append_format(found->out, "[%zu]", index);
        }
        arcp_buf_append_byte(found->out, ' ');
        arcp_json_quote(pattern, found->out);
        arcp_buf_append_format(found->out, ": %s\n", message);
        return;
    }
    arcp_json_begin_object(found->writer);
    arcp__put_cstr(found->writer, "kind", kind);
    arcp__put_string(found->writer, "capability", capability);
    if (index != SIZE_MAX) {
        arcp__put_u64(found->writer, "index", index);
    }
    arcp__put_string(found->writer, "pattern", pattern);
    arcp__put_cstr(found->writer, "message", message);
    arcp_json_end_object(found->writer);
}

static const char *broad_url(arcp_span pattern)
{
    const char *mark = memmem(pattern.data, pattern.size, "://", 3);
    const size_t begin = mark == NULL ? 0 : (size_t)(mark - pattern.data) + 3;
    if (mark == NULL || begin > arcp__glob_literal_prefix(pattern).size) {
        return arcp__glob_is_literal(pattern) ? NULL
                                              : "grants URLs of every scheme that it matches";
    }
    arcp_span host = arcp_span_from(pattern, begin);
    const char *slash = memchr(host.data, '/', host.size);
    host = slash == NULL ? host : arcp_span_first(host, (size_t)(slash - host.data));
    /* An address in brackets contains colons. */
    const bool is_bracketed = host.size > 0 && host.data[0] == '[';
    const char *colon = is_bracketed ? NULL : memchr(host.data, ':', host.size);
    host = colon == NULL ? host : arcp_span_first(host, (size_t)(colon - host.data));
    if (arcp_span_equal_cstr(host, "**") || arcp_span_equal_cstr(host, "*")) {
        return "grants every host";
    }
    if (arcp__glob_is_literal(host)) {
        return NULL; /* Only the port varies, if anything. */
    }
    if (arcp_span_ends_with(host, ARCP_SPAN_LITERAL("*"))) {
        return "also grants hosts with longer names, such as HOST.evil.org: end the host with / or "
               ":PORT";
    }
    if (memmem(host.data, host.size, "**", 2) != NULL) {
        return "** matches slashes: it also grants other hosts that have the rest in their path";
    }
    return NULL;
}

/* Why the pattern is broader than it looks, or NULL. */
static const char *why_broad(arcp__target_kind kind, arcp_span pattern)
{
    if (kind == ARCP__TARGET_URL) {
        return broad_url(pattern);
    }
    if (kind != ARCP__TARGET_PATH) {
        return arcp_span_equal_cstr(pattern, "**") ? "grants every name" : NULL;
    }
    if (arcp_span_equal_cstr(pattern, "**") || arcp_span_equal_cstr(pattern, "/**")) {
        return "grants every path";
    }
    if (arcp_span_ends_with(pattern, ARCP_SPAN_LITERAL("/**"))) {
        return "also grants the directory itself";
    }
    if (arcp_span_ends_with(pattern, ARCP_SPAN_LITERAL("**"))) {
        return "also grants siblings with longer names: put a / before **";
    }
    return NULL;
}

/* Why the pattern grants less than it seems to, or NULL. */
static const char *why_narrow(arcp__target_kind kind, arcp_span pattern)
{
    /* `*` seems to grant everything but does not. */
    if (kind == ARCP__TARGET_TOOL && arcp_span_equal_cstr(pattern, "*")) {
        return "does not grant names with dots, such as web.search: ** does";
    }
    if (kind == ARCP__TARGET_PATH && arcp_span_starts_with(pattern, ARCP_SPAN_LITERAL("~"))) {
        return "~ does not stand for a home directory: write its path";
    }
    if (kind != ARCP__TARGET_URL && (memchr(pattern.data, '[', pattern.size) != NULL ||
                                     memchr(pattern.data, '?', pattern.size) != NULL ||
                                     memchr(pattern.data, '{', pattern.size) != NULL)) {
        return "only * and ** stand for something else; [, ? and { stand for themselves";
    }
    return NULL;
}

/* The findings about one pattern. */
typedef struct finding {
    bool is_dead;
    bool is_redundant; /* within the other patterns that are neither dead nor redundant */
} finding;

/* `rest` has space for all patterns of the capability. */
static arcp_status check_patterns(const arcp__lease_capability *capability, arcp_span *rest,
                                  finding *findings)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < capability->count && status == ARCP_OK; i++) {
        status = arcp__glob_is_dead(capability->kind, capability->patterns[i], NULL,
                                    &findings[i].is_dead, NULL);
    }
    /* From the end, so that the first of two equal patterns stays. */
    for (size_t i = capability->count; i-- > 0 && status == ARCP_OK;) {
        if (findings[i].is_dead) {
            continue;
        }
        size_t count = 0;
        for (size_t k = 0; k < capability->count; k++) {
            if (k != i && !findings[k].is_dead && !findings[k].is_redundant) {
                rest[count++] = capability->patterns[k];
            }
        }
        status = arcp__glob_is_within(capability->kind, capability->patterns[i], rest, count, NULL,
                                      &findings[i].is_redundant);
    }
    return status;
}

static arcp_status lint_capability(const arcp__lease_capability *capability, listing *found)
{
    if (capability->count == 0 || !arcp__capability_is_glob(capability->kind)) {
        return ARCP_OK;
    }
    arcp_span *rest = arcp__alloc_array(capability->count, sizeof *rest);
    finding *findings = arcp__alloc_array(capability->count, sizeof *findings);
    const arcp_status status = rest == NULL || findings == NULL
                                   ? ARCP_E_NO_MEMORY
                                   : check_patterns(capability, rest, findings);
    const arcp__target_kind kind = arcp__capability_kind(capability->kind);
    for (size_t i = 0; i < capability->count && status == ARCP_OK; i++) {
        const arcp_span pattern = capability->patterns[i];
        const char *broad = why_broad(kind, pattern);
        const char *narrow = why_narrow(kind, pattern);
        if (findings[i].is_dead) {
            report(found, "dead", capability->name, i, pattern,
                   "is not in canonical form: no target can match it");
            continue;
        }
        if (findings[i].is_redundant) {
            report(found, "redundant", capability->name, i, pattern,
                   "is covered by the other patterns");
        }
        if (broad != NULL) {
            report(found, "broad", capability->name, i, pattern, broad);
        }
        if (narrow != NULL) {
            report(found, "narrow", capability->name, i, pattern, narrow);
        }
    }
    arcp__free(rest);
    arcp__free(findings);
    return status;
}

size_t arcp_lease_lint(const arcp_lease *lease, arcp_time now, bool as_json, arcp_buf *out)
{
    arcp_json_writer writer;
    listing found = {as_json ? &writer : NULL, out, 0};
    if (as_json) {
        arcp_json_writer_init(&writer, out);
        arcp_json_begin_array(&writer);
    }
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < lease->count && status == ARCP_OK; i++) {
        status = lint_capability(&lease->capabilities[i], &found);
    }
    const arcp__lease_capability *budget = lease->reserved[ARCP__CAPABILITY_COST_BUDGET];
    for (size_t i = 0; i < lease->amount_count; i++) {
        const arcp__lease_amount *amount = &lease->amounts[i];
        if (arcp__decimal_units(amount->total) == 0) {
            report(&found, "budget_zero", budget->name, amount->entry,
                   budget->patterns[amount->entry], "is used up from the start");
        }
    }
    if (lease->has_expiry && lease->expires.wall_ns <= now.wall_ns) {
        report(&found, "expired", ARCP_SPAN_LITERAL("expires_at"), SIZE_MAX, lease->expires_text,
               "is in the past");
    }
    if (as_json) {
        arcp_json_end_array(&writer);
        arcp_buf_append_byte(out, '\n');
    }
    out->failed = out->failed || status != ARCP_OK;
    return found.count;
}

/* ---- diff ---- */

static void list_violation(listing *list, const arcp_subset_violation *violation)
{
    list->count++;
    if (list->writer != NULL) {
        arcp_buf details = arcp_buf_init();
        arcp_subset_violation_format_details(violation, &details);
        list->out->failed = list->out->failed || details.failed;
        arcp_json_write_raw(list->writer, arcp_buf_span(&details));
        arcp_buf_fini(&details);
        return;
    }
    arcp_buf_append_cstr(list->out, "  ");
    arcp_buf_append(list->out, violation->capability);
    arcp_buf_append_byte(list->out, ' ');
    arcp_json_quote(violation->child_pattern, list->out);
    if (violation->code == ARCP_DENY_TOO_COMPLEX) {
        arcp_buf_append_cstr(list->out, ": cannot be decided within the bound\n");
        return;
    }
    arcp_buf_append_cstr(list->out, ": for example ");
    arcp_json_quote(arcp_buf_span(&violation->witness), list->out);
    arcp_buf_append_byte(list->out, '\n');
}

/* Lists the first violation of each capability, and that of the expiry. */
static arcp_status list_violations(const arcp_lease *child, const arcp_lease *parent, listing *list)
{
    const arcp__subset_parent as_written = {.lease = parent};
    arcp_subset_violation violation = arcp_subset_violation_init();
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i <= child->count && status == ARCP_OK; i++) {
        status = arcp__subset_check_part(child, i, as_written, &violation);
        if (status == ARCP_E_LEASE_SUBSET_VIOLATION) {
            list_violation(list, &violation);
            status = ARCP_OK;
        }
    }
    arcp_subset_violation_fini(&violation);
    return status;
}

arcp_status arcp_lease_diff(const arcp_lease *a, const arcp_lease *b, bool as_json, arcp_buf *out)
{
    if (as_json) {
        arcp_json_writer writer = arcp__put_begin(out);
        listing list = {&writer, out, 0};
        arcp__put_array(&writer, "only_a");
        arcp_status status = list_violations(a, b, &list);
        arcp_json_end_array(&writer);
        const size_t only_a = list.count;
        arcp__put_array(&writer, "only_b");
        if (status == ARCP_OK) {
            status = list_violations(b, a, &list);
        }
        arcp_json_end_array(&writer);
        arcp__put_bool(&writer, "a_within_b", only_a == 0);
        arcp__put_bool(&writer, "b_within_a", list.count == only_a);
        arcp_json_end_object(&writer);
        arcp_buf_append_byte(out, '\n');
        return status == ARCP_OK ? arcp_buf_status(out) : status;
    }
    arcp_buf lines[2] = {arcp_buf_init(), arcp_buf_init()};
    listing lists[2] = {{NULL, &lines[0], 0}, {NULL, &lines[1], 0}};
    arcp_status status = list_violations(a, b, &lists[0]);
    if (status == ARCP_OK) {
        status = list_violations(b, a, &lists[1]);
    }
    const bool within[2] = {lists[0].count == 0, lists[1].count == 0};
    if (status == ARCP_OK && within[0] && within[1]) {
        arcp_buf_append_cstr(out, "A and B allow the same\n");
    } else if (status == ARCP_OK) {
        arcp_buf_append_cstr(out, within[0] ? "A is within B\n" : "A allows what B does not:\n");
        arcp_buf_append(out, arcp_buf_span(&lines[0]));
        arcp_buf_append_cstr(out, within[1] ? "B is within A\n" : "B allows what A does not:\n");
        arcp_buf_append(out, arcp_buf_span(&lines[1]));
    }
    out->failed = out->failed || lines[0].failed || lines[1].failed;
    arcp_buf_fini(&lines[0]);
    arcp_buf_fini(&lines[1]);
    return status == ARCP_OK ? arcp_buf_status(out) : status;
}
