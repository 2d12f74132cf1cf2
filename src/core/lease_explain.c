/* Why a target is allowed or denied: for people. */
#include <arcp/lease_explain.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "core/authority.h"
#include "core/glob_pattern.h"
#include "core/lease.h"
#include "json/json_put.h"

/* What an explanation says. Spans borrow from the authority, the question or `suggested`. */
typedef struct explanation {
    const arcp_authority *authority;
    const arcp_decision *decision;
    arcp_span nearest;  /* empty: the lease has no pattern for the capability */
    size_t agrees;      /* bytes of the canonical target that agree with it */
    arcp_buf suggested; /* a pattern that would allow it; empty: none could */
} explanation;

/* Marks that a state is reached, and those that come with it. */
static void reach(const arcp__glob_states *states, uint32_t state, bool *reached)
{
    reached[state] = true;
    while (state < states->last && (states->loops[state] & ARCP__GLOB_LOOP_SKIP) != 0) {
        reached[++state] = true;
    }
}

/* Room for following one pattern. */
typedef struct follower {
    unsigned char *parsed;
    bool *here;
    bool *next;
} follower;

/* How many bytes of the target agree with the beginning of something the pattern matches.
 * For choosing the nearest pattern only: nothing is decided by it. */
static size_t count_agreeing(arcp_span pattern, arcp_span target, arcp__target_kind kind,
                             follower *room)
{
    arcp__glob_states states;
    arcp__glob_parse(pattern, room->parsed, &states);
    const size_t places = (size_t)states.last + 1;
    memset(room->here, 0, places);
    reach(&states, 0, room->here);
    for (size_t i = 0; i < target.size; i++) {
        const unsigned char byte = (unsigned char)target.data[i];
        const arcp__glob_class byte_class = arcp__glob_class_of(kind, byte);
        bool any = false;
        memset(room->next, 0, places);
        for (uint32_t at = 0; at <= states.last; at++) {
            if (!room->here[at]) {
                continue;
            }
            if (arcp__glob_loop_takes(&states, at, byte_class)) {
                room->next[at] = true;
                any = true;
            }
            if (at < states.last && states.literals[at] == byte) {
                reach(&states, at + 1, room->next);
                any = true;
            }
        }
        if (!any) {
            return i;
        }
        bool *swap = room->here;
        room->here = room->next;
        room->next = swap;
    }
    return target.size;
}

/* The pattern that agrees with the target furthest. */
static arcp_status find_nearest(const arcp__lease_capability *granted, arcp_span target,
                                explanation *why)
{
    size_t longest = 0;
    for (size_t i = 0; i < granted->count; i++) {
        longest = granted->patterns[i].size > longest ? granted->patterns[i].size : longest;
    }
    follower room = {arcp__alloc(ARCP__GLOB_ROOM(longest)), arcp__alloc(longest + 2),
                     arcp__alloc(longest + 2)};
    const bool complete = room.parsed != NULL && room.here != NULL && room.next != NULL;
    const arcp__target_kind kind = arcp__capability_kind(granted->kind);
    for (size_t i = 0; i < granted->count && complete; i++) {
        const arcp_span pattern = granted->patterns[i];
        const size_t agrees = count_agreeing(pattern, target, kind, &room);
        if (why->nearest.size == 0 || agrees > why->agrees) {
            why->nearest = pattern;
            why->agrees = agrees;
        }
    }
    arcp__free(room.parsed);
    arcp__free(room.here);
    arcp__free(room.next);
    return complete ? ARCP_OK : ARCP_E_NO_MEMORY;
}

/* The narrowest pattern for a canonical target is the target. Where it cannot be written as
 * one (too long, or bytes that are no UTF-8) it is what stands below the last directory
 * that can. */
static void suggest(arcp_span canonical, arcp_buf *out)
{
    const arcp_lease_limits limits = ARCP_LEASE_LIMITS_DEFAULT;
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
    arcp_buf text = ARCP_BUF_INIT;
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
    if (why->suggested.size > 0) {
        arcp__put_string(&writer, "suggested", arcp_buf_span(&why->suggested));
    }
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
        arcp_buf_append_cstr(out, "the lease names no models, and this runtime lets any be used\n");
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
    explanation why = {.authority = authority, .decision = &decision, .suggested = ARCP_BUF_INIT};
    arcp_status status = ARCP_OK;
    if (decision.reason == ARCP_DENY_NO_MATCH) {
        const arcp__lease_capability *granted =
            arcp__lease_find(authority->lease, arcp__capability_from_name(capability), capability);
        if (granted != NULL) {
            status = find_nearest(granted, decision.canonical, &why);
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
