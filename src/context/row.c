/* What is said of stored rows that cannot be read. */
#include "context/context.h"

arcp_status arcp__row_damaged(const char *what, arcp_span key, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT, "the stored %s \"%.*s\" is damaged", what,
                          (int)arcp_span_first(key, 64).size, key.data);
}

arcp_status arcp__row_out_of_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

arcp_status arcp__stream_short(const char *prefix, const char *id, const char *unit, uint64_t end,
                               uint64_t said, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "the stored stream \"%s%s\" is damaged: it ends after %s %llu of %llu",
                          prefix, id, unit, (unsigned long long)end, (unsigned long long)said);
}
