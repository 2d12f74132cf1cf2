/* Any bytes as a file of the audit log: read in one piece and in pieces of a size that the input
 * chooses, with the same findings. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_check.h"

typedef struct tally {
    uint64_t count, hash;
} tally;

static void on_finding(void *user, const arcp__audit_finding *finding)
{
    tally *t = user;
    require(finding->line != 0 && finding->message[0] != '\0');
    t->count++;
    t->hash = t->hash * 1099511628211u + finding->line * 7 + finding->seq * 31 +
              (uint64_t)finding->problem;
}

static void check(arcp_span text, size_t step, tally *out)
{
    arcp__audit_check state;
    arcp__audit_check_init(&state, on_finding, out);
    arcp__audit_check_begin(&state, "x");
    while (text.size != 0) {
        const arcp_span piece = arcp_span_first(text, step);
        require(arcp__audit_check_feed(&state, piece, NULL) == ARCP_OK);
        text = arcp_span_from(text, piece.size);
    }
    arcp__audit_check_end(&state);
    arcp__audit_check_finish(&state);
    require(state.problems == out->count);
    arcp__audit_check_fini(&state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    tally whole = {0, 0};
    tally pieces = {0, 0};
    const arcp_span text = arcp_span_make((const char *)data + 1, size - 1);
    check(text, SIZE_MAX, &whole);
    check(text, (size_t)data[0] + 1, &pieces);
    require(whole.count == pieces.count && whole.hash == pieces.hash);
    return 0;
}
