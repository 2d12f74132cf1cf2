/* The table of what every program needs. */
#include "sandbox/sandbox_parts.h"

static const arcp__sandbox_base_row rows[] = {
#define ARCP_SANDBOX_BASE(kind, path) {ARCP__SANDBOX_BASE_##kind, path},
#include "sandbox/sandbox_base.def"
#undef ARCP_SANDBOX_BASE
};

const arcp__sandbox_base_row *arcp__sandbox_base_rows(size_t *count)
{
    *count = sizeof rows / sizeof *rows;
    return rows;
}
