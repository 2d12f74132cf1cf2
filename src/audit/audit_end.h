/* How a file of the audit log ends: where its chain stands, and whether a write was cut off. */
#ifndef ARCP_AUDIT_AUDIT_END_H
#define ARCP_AUDIT_AUDIT_END_H

#include "audit/audit_chain.h"

typedef struct arcp__audit_end {
    arcp__audit_head head; /* of the last whole line; init when there is none */
    uint64_t size;         /* of the file */
    bool is_foreign;       /* there are whole lines at its end, and none is of a chain */
    bool is_unended;       /* the last line lacks nothing but its line feed */
    arcp_buf torn;         /* what follows the last whole line of the chain */
} arcp__audit_end;

/* Reads the end of an open file; arcp__audit_end_fini either way. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__audit_end_read(int fd, arcp__audit_end *out, arcp_error *err);
void arcp__audit_end_fini(arcp__audit_end *end);

/* The furthest head of the files beside `path` whose names begin with its name and '.' or
 * '-': what a rotation left when its new file was never made. */
void arcp__audit_end_of_siblings(const char *path, arcp__audit_head *out);

#endif
