/* Globs are not closed under intersection, so this guesses and then proves. The guesses:
 *
 *   1. the other one, when it lies within the first;
 *   2. when one is a literal beginning and `**`, the other's `**` may begin behind it:
 *          /data/{**}.csv       and  /data/reports/{**}
 *   3. segment by segment, where a literal beats a star, the longer of two starred
 *      segments wins, and a `**` at the end takes over the other's rest:
 *          https://{*}/v1/{**}  and  https://api.example.com/{**}
 *
 * (stars in braces, because a comment cannot hold them after a slash). */
#include "core/lease_meet.h"

#include "core/glob_pattern.h"
#include "core/glob_subset.h"

/* Two patterns that are to meet. */
typedef struct meeting {
    arcp__capability capability;
    arcp_span a;
    arcp_span b;
    arcp__lease_work *work;
} meeting;

/* Whether `pattern` is within `other` and can match anything at all. */
static arcp_status is_within(const meeting *m, arcp_span pattern, arcp_span other, bool *within)
{
    const arcp__glob_question asked = {.capability = m->capability,
                                       .child = &pattern,
                                       .child_count = 1,
                                       .parent = &other,
                                       .parent_count = 1,
                                       .skips_witness = true};
    arcp__glob_verdict verdict = {0};
    const arcp_status status = arcp__glob_ask(&asked, m->work, &verdict);
    *within = status == ARCP_OK && verdict.is_subset;
    arcp_buf_fini(&verdict.witness);
    return status;
}

/* Whether `guess` is within both and not dead; then it is appended. */
static arcp_status prove(const meeting *m, arcp_span guess, bool *found, arcp_buf *out)
{
    bool within = false;
    bool dead = true;
    arcp_status status = is_within(m, guess, m->a, &within);
    if (status == ARCP_OK && within) {
        status = is_within(m, guess, m->b, &within);
    }
    if (status == ARCP_OK && within) {
        status = arcp__glob_is_dead(m->capability, guess, m->work, &dead, NULL);
    }
    if (status == ARCP_OK && within && !dead) {
        arcp_buf_append(out, guess);
        *found = !out->failed;
        status = arcp_buf_status(out);
    }
    return status;
}

/* The segment at the beginning of `text`, up to a separator. */
static arcp_span first_segment(arcp_span text, bool has_dots)
{
    size_t size = 0;
    while (size < text.size && text.data[size] != '/' && !(has_dots && text.data[size] == '.')) {
        size++;
    }
    return arcp_span_first(text, size);
}

/* Appends the narrower-looking of two segments. */
static void append_segment(arcp_span a, arcp_span b, arcp_buf *out)
{
    const bool a_is_literal = arcp__glob_is_literal(a);
    const bool b_is_literal = arcp__glob_is_literal(b);
    if (a_is_literal != b_is_literal) {
        arcp_buf_append(out, a_is_literal ? a : b);
    } else {
        arcp_buf_append(out, a.size >= b.size ? a : b);
    }
}

/* The third guess; false when the two do not run in parallel. */
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
        append_segment(head_a, head_b, out);
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

/* The second guess: `base` must be a literal beginning and `**`. */
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

arcp_status arcp__pattern_meet(arcp__capability capability, arcp_span a, arcp_span b,
                               arcp__lease_work *work, bool *found, arcp_buf *out)
{
    const meeting m = {.capability = capability, .a = a, .b = b, .work = work};
    const bool has_dots = arcp__target_kind_has_dots(arcp__capability_kind(capability));
    arcp_buf guess = ARCP_BUF_INIT;
    *found = false;
    arcp_status status = prove(&m, b, found, out);
    for (int kind = 0; kind < 3 && status == ARCP_OK && !*found; kind++) {
        arcp_buf_clear(&guess);
        const bool guessed = kind == 0   ? guess_behind(a, b, &guess)
                             : kind == 1 ? guess_behind(b, a, &guess)
                                         : guess_by_segments(a, b, has_dots, &guess);
        status = arcp_buf_status(&guess);
        if (status == ARCP_OK && guessed) {
            status = prove(&m, arcp_buf_span(&guess), found, out);
        }
    }
    arcp_buf_fini(&guess);
    return status;
}
