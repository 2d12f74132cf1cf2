#include "conformance/conformance.h"

#include <string.h>

/* Takes the part before `end` from the text, and skips `end`. */
static arcp_span take_to(arcp_span *text, const char *end)
{
    const char *found = text->size == 0 ? NULL : memmem(text->data, text->size, end, strlen(end));
    const arcp_span taken =
        found == NULL ? *text : arcp_span_first(*text, (size_t)(found - text->data));
    *text = arcp_span_from(*text, taken.size + strlen(end));
    return taken;
}

bool arcp__case_next(arcp_span *text, arcp__case *out)
{
    static const char begins[] = "\ncase ";
    const char *found = text->size == 0 ? NULL : memmem(text->data, text->size, begins, 6);
    if (found == NULL) {
        return false;
    }
    *text = arcp_span_from(*text, (size_t)(found - text->data) + 6);
    arcp_span rest = *text;
    rest = take_to(&rest, "\ncase ");
    *text = arcp_span_from(*text, rest.size);
    *out = (arcp__case){.section = take_to(&rest, " "), .title = take_to(&rest, "\n")};
    if (arcp_span_starts_with(rest, ARCP_SPAN_LITERAL("needs "))) {
        rest = arcp_span_from(rest, 6);
        out->needs = take_to(&rest, "\n");
    }
    out->steps = rest;
    return true;
}
