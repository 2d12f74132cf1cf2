/* What is odd about a lease: for people who write them. */
#include <arcp/lease_explain.h>

#include "base/alloc.h"
#include "core/glob_pattern.h"
#include "core/glob_subset.h"
#include "core/lease.h"
#include "json/json_put.h"

typedef struct findings {
    arcp_json_writer *writer; /* NULL: lines of text */
    arcp_buf *out;
    size_t count;
} findings;

/* One finding. `index` is the pattern's place, or SIZE_MAX when it is not about one. */
static void report(findings *found, const char *kind, arcp_span capability, size_t index,
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

static bool ends_with_star(arcp_span text)
{
    return text.size > 0 && text.data[text.size - 1] == '*';
}

static bool contains(arcp_span text, const char *what)
{
    return text.size > 0 && memmem(text.data, text.size, what, strlen(what)) != NULL;
}

/* What stands between `://` and the next slash; false when the scheme has a star or there
 * is none. */
static bool find_authority(arcp_span pattern, arcp_span *authority)
{
    const char *mark = pattern.size == 0 ? NULL : memmem(pattern.data, pattern.size, "://", 3);
    const arcp_span literal = arcp__glob_literal_prefix(pattern);
    if (mark == NULL || (size_t)(mark - pattern.data) + 3 > literal.size) {
        return false;
    }
    const arcp_span rest = arcp_span_from(pattern, (size_t)(mark - pattern.data) + 3);
    const char *slash = rest.size == 0 ? NULL : memchr(rest.data, '/', rest.size);
    *authority = slash == NULL ? rest : arcp_span_first(rest, (size_t)(slash - rest.data));
    return true;
}

/* The authority without a port. In brackets there are colons. */
static arcp_span host_of(arcp_span authority)
{
    const bool is_bracketed = authority.size > 0 && authority.data[0] == '[';
    const char *colon =
        authority.size == 0 || is_bracketed ? NULL : memchr(authority.data, ':', authority.size);
    return colon == NULL ? authority : arcp_span_first(authority, (size_t)(colon - authority.data));
}

static const char *broad_url(arcp_span pattern)
{
    arcp_span authority;
    if (!find_authority(pattern, &authority)) {
        return contains(pattern, "*") ? "grants URLs of every scheme it can stand for" : NULL;
    }
    const arcp_span host = host_of(authority);
    if (arcp_span_equal_cstr(host, "**") || arcp_span_equal_cstr(host, "*")) {
        return "grants every host";
    }
    if (arcp__glob_is_literal(host)) {
        return NULL; /* What varies is the port, if anything. */
    }
    if (ends_with_star(host)) {
        return "also grants hosts whose names go on, such as HOST.evil.org: end the host with / or "
               ":PORT";
    }
    if (contains(host, "**")) {
        return "** crosses slashes: it also grants other hosts that have the rest in their path";
    }
    return NULL;
}

static const char *broad_path(arcp_span pattern)
{
    if (arcp_span_equal_cstr(pattern, "**") || arcp_span_equal_cstr(pattern, "/**")) {
        return "grants every path";
    }
    if (arcp_span_ends_with(pattern, ARCP_SPAN_LITERAL("/**"))) {
        return "also grants the directory itself";
    }
    if (arcp_span_ends_with(pattern, ARCP_SPAN_LITERAL("**"))) {
        return "also grants siblings whose names go on: put a / before **";
    }
    return NULL;
}

static const char *broad_name(arcp_span pattern)
{
    return arcp_span_equal_cstr(pattern, "**") ? "grants every name" : NULL;
}

/* Why the pattern is broader than it looks, or NULL. */
static const char *why_broad(arcp__capability kind, arcp_span pattern)
{
    switch (arcp__capability_kind(kind)) {
    case ARCP__TARGET_URL:
        return broad_url(pattern);
    case ARCP__TARGET_PATH:
        return broad_path(pattern);
    case ARCP__TARGET_TOOL:
    case ARCP__TARGET_NAME:
        return broad_name(pattern);
    case ARCP__TARGET_AMOUNT:
    case ARCP__TARGET_NONE:
    case ARCP__TARGET_KIND_COUNT:
        break;
    }
    return NULL;
}

/* `*` looks like everything and is not. */
static bool is_narrow(arcp__capability kind, arcp_span pattern)
{
    return arcp__capability_kind(kind) == ARCP__TARGET_TOOL && arcp_span_equal_cstr(pattern, "*");
}

/* Whether `pattern` is within the others, which begin `rest`. */
static arcp_status is_redundant(arcp__capability kind, arcp_span pattern, const arcp_span *rest,
                                size_t count, bool *redundant)
{
    arcp__glob_verdict verdict = {0};
    const arcp_status status = arcp__glob_subset(kind, &pattern, 1, rest, count, &verdict);
    *redundant = status == ARCP_OK && verdict.is_subset;
    arcp_buf_fini(&verdict.witness);
    return status;
}

/* Marks what the rest covers, from the back, so that of two equal ones the first stays. */
static arcp_status mark_redundant(const arcp__lease_capability *capability, bool *is_dead,
                                  bool *redundant)
{
    arcp_span *rest = arcp__alloc_array(capability->count, sizeof *rest);
    if (rest == NULL) {
        return ARCP_E_NO_MEMORY;
    }
    arcp_status status = ARCP_OK;
    for (size_t i = capability->count; i-- > 0 && status == ARCP_OK;) {
        if (is_dead[i]) {
            continue;
        }
        size_t count = 0;
        for (size_t k = 0; k < capability->count; k++) {
            if (k != i && !is_dead[k] && !redundant[k]) {
                rest[count++] = capability->patterns[k];
            }
        }
        status =
            is_redundant(capability->kind, capability->patterns[i], rest, count, &redundant[i]);
    }
    arcp__free(rest);
    return status;
}

static arcp_status lint_patterns(const arcp__lease_capability *capability, bool *is_dead,
                                 bool *redundant, findings *found)
{
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < capability->count && status == ARCP_OK; i++) {
        status =
            arcp__glob_is_dead(capability->kind, capability->patterns[i], NULL, &is_dead[i], NULL);
    }
    if (status == ARCP_OK) {
        status = mark_redundant(capability, is_dead, redundant);
    }
    for (size_t i = 0; i < capability->count && status == ARCP_OK; i++) {
        const arcp_span pattern = capability->patterns[i];
        const char *broad = why_broad(capability->kind, pattern);
        if (is_dead[i]) {
            report(found, "dead", capability->name, i, pattern,
                   "is not in canonical form: no target can match it");
            continue;
        }
        if (redundant[i]) {
            report(found, "redundant", capability->name, i, pattern,
                   "is covered by the other patterns");
        }
        if (broad != NULL) {
            report(found, "broad", capability->name, i, pattern, broad);
        }
        if (is_narrow(capability->kind, pattern)) {
            report(found, "narrow", capability->name, i, pattern,
                   "does not grant names with dots, such as web.search: ** does");
        }
    }
    return status;
}

static arcp_status lint_capability(const arcp__lease_capability *capability, findings *found)
{
    if (capability->count == 0 || !arcp__capability_is_glob(capability->kind)) {
        return ARCP_OK;
    }
    bool *is_dead = arcp__alloc_array(capability->count, sizeof *is_dead);
    bool *redundant = arcp__alloc_array(capability->count, sizeof *redundant);
    const arcp_status status = is_dead == NULL || redundant == NULL
                                   ? ARCP_E_NO_MEMORY
                                   : lint_patterns(capability, is_dead, redundant, found);
    arcp__free(is_dead);
    arcp__free(redundant);
    return status;
}

static void lint_limits(const arcp_lease *lease, arcp_time now, findings *found)
{
    const arcp__lease_capability *budget = lease->reserved[ARCP__CAPABILITY_COST_BUDGET];
    for (size_t i = 0; i < lease->amount_count; i++) {
        const arcp__lease_amount *amount = &lease->amounts[i];
        if (amount->total.units == 0) {
            report(found, "budget_zero", budget->name, amount->entry,
                   budget->patterns[amount->entry], "is used up from the start");
        }
    }
    if (lease->has_expiry && lease->expires.wall_ns <= now.wall_ns) {
        report(found, "expired", ARCP_SPAN_LITERAL("expires_at"), SIZE_MAX, lease->expires_text,
               "is in the past");
    }
}

size_t arcp_lease_lint(const arcp_lease *lease, arcp_time now, bool as_json, arcp_buf *out)
{
    arcp_json_writer writer;
    findings found = {as_json ? &writer : NULL, out, 0};
    if (as_json) {
        arcp_json_writer_init(&writer, out);
        arcp_json_begin_array(&writer);
    }
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i < lease->count && status == ARCP_OK; i++) {
        status = lint_capability(&lease->capabilities[i], &found);
    }
    lint_limits(lease, now, &found);
    if (as_json) {
        arcp_json_end_array(&writer);
        arcp_buf_append_byte(out, '\n');
    }
    out->failed = out->failed || status != ARCP_OK;
    return found.count;
}
