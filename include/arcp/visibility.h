/* Attributes of public functions: exported symbols, results that must be checked, formats. */
#ifndef ARCP_VISIBILITY_H
#define ARCP_VISIBILITY_H

#define ARCP_API        __attribute__((visibility("default")))
#define ARCP_MUST_CHECK __attribute__((warn_unused_result))
#define ARCP_PRINTF(format_index, first_index)                                                     \
    __attribute__((format(printf, format_index, first_index)))

#endif
