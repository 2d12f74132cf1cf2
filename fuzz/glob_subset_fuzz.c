/* The subset question against the model. Input: a byte that selects the capability, then lines: the
 * child's pattern, and the parent's. A "no" must have a real witness; a "yes" must hold for strings
 * made from the child's pattern, and for short inputs for all targets that the exact model can
 * visit. */
#include <stdlib.h>
#include <string.h>

#include "core/glob_model.h"
#include "core/glob_pattern.h"
#include "core/glob_subset.h"
#include "core/subset_model.h"
#include "core/target_model.h"
#include "lines.h"

enum { INPUT_MAX = 160, LINES_MAX = 6, STRINGS = 24, EXACT_MAX = 48, REPEATED = 20 };

/* The pattern with its stars replaced by text that `choice` selects. */
static arcp_span fill_in(arcp_span pattern, uint32_t choice, char *out)
{
    static const char *const fillings[] = {"", "x", "/", "a", "x/x", ".", "?", "/x"};
    size_t size = 0;
    for (size_t i = 0; i < pattern.size; i++) {
        if (pattern.data[i] != '*') {
            out[size++] = pattern.data[i];
            continue;
        }
        choice = choice * 1664525U + 1013904223U;
        const char *filling = fillings[choice >> 29];
        memcpy(out + size, filling, strlen(filling));
        size += strlen(filling);
    }
    return arcp_span_make(out, size);
}

static void check_yes(arcp__target_kind kind, arcp_span child, const arcp_span *parents,
                      size_t count)
{
    char text[3 * INPUT_MAX];
    for (uint32_t i = 0; i < STRINGS; i++) {
        const arcp_span target = fill_in(child, i, text);
        if (model_is_canonical(kind, target) && model_matches(kind, child, target)) {
            require(model_matches_any(kind, parents, count, target));
        }
    }
}

/* Escapes, addresses and most ports make too many states: only the strings above have them, unless
 * a pattern has them as a literal. */
static void check_exactly(arcp__target_kind kind, arcp_span child, const arcp_span *parents,
                          size_t count)
{
    const char *without = kind == ARCP__TARGET_URL ? "%[23456789" : "";
    arcp_buf witness = arcp_buf_init();
    require(model_subset(kind, child, parents, count, without, &witness) != MODEL_NOT_WITHIN);
    arcp_buf_fini(&witness);
}

/* In a long list those that cannot meet the child are left out first: the verdict is the same. */
static void check_repeated(arcp__capability capability, arcp_span child, const arcp_span *parents,
                           size_t count, const arcp__glob_verdict *want)
{
    arcp_span many[REPEATED];
    for (size_t i = 0; i < REPEATED && count > 0; i++) {
        many[i] = parents[i % count];
    }
    arcp__glob_verdict verdict = {0};
    require(arcp__glob_ask(&(arcp__glob_question){capability, &child, 1, many,
                                                  count == 0 ? 0 : REPEATED, false},
                           NULL, &verdict) == ARCP_OK);
    require(want->too_complex || verdict.too_complex ||
            (verdict.is_subset == want->is_subset && verdict.witness.size == want->witness.size));
    arcp_buf_fini(&verdict.witness);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const arcp__capability capabilities[] = {
        ARCP__CAPABILITY_FS_READ, ARCP__CAPABILITY_NET_FETCH, ARCP__CAPABILITY_TOOL_CALL,
        ARCP__CAPABILITY_MODEL_USE};
    if (size < 2 || size > INPUT_MAX) {
        return 0;
    }
    arcp_span lines[LINES_MAX];
    const arcp__capability capability = capabilities[data[0] % 4];
    const arcp__target_kind kind = arcp__capability_kind(capability);
    const size_t count =
        cut_lines(arcp_span_make((const char *)data + 1, size - 1), lines, LINES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (arcp__glob_pattern_fault(lines[i]) != NULL) {
            return 0;
        }
    }
    arcp__glob_verdict verdict = {0};
    require(
        arcp__glob_ask(&(arcp__glob_question){capability, lines, 1, lines + 1, count - 1, false},
                       NULL, &verdict) == ARCP_OK);
    check_repeated(capability, lines[0], lines + 1, count - 1, &verdict);
    if (verdict.is_subset) {
        check_yes(kind, lines[0], lines + 1, count - 1);
        if (size <= EXACT_MAX) {
            check_exactly(kind, lines[0], lines + 1, count - 1);
        }
    } else if (!verdict.too_complex) {
        const arcp_span witness = arcp_buf_span(&verdict.witness);
        require(model_is_canonical(kind, witness) && model_matches(kind, lines[0], witness) &&
                !model_matches_any(kind, lines + 1, count - 1, witness));
    }
    arcp_buf_fini(&verdict.witness);
    return 0;
}
