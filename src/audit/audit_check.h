/* Checks a chain: its files in order, line by line, with bounded memory. */
#ifndef ARCP_AUDIT_AUDIT_CHECK_H
#define ARCP_AUDIT_AUDIT_CHECK_H

#include "audit/audit_chain.h"

typedef enum arcp__audit_problem {
#define ARCP_AUDIT_PROBLEM(id, name, text) ARCP__AUDIT_PROBLEM_##id,
#include "audit/audit_problem.def"
#undef ARCP_AUDIT_PROBLEM
    ARCP__AUDIT_PROBLEM_COUNT
} arcp__audit_problem;

const char *arcp__audit_problem_name(arcp__audit_problem problem);

typedef struct arcp__audit_finding {
    arcp__audit_problem problem;
    const char *file;
    uint64_t line; /* in the file, from 1 */
    uint64_t seq;  /* the line's number; 0: it has none */
    const char *message;
} arcp__audit_finding;

/* `message` is borrowed. */
typedef void (*arcp__audit_finding_fn)(void *user, const arcp__audit_finding *finding);

typedef struct arcp__audit_check {
    arcp__audit_finding_fn found;
    void *user;
    const char *file;
    uint64_t line;
    uint64_t problems, lines, torn;
    arcp__audit_head first;  /* number of the first line, and the hash before it */
    arcp__audit_head head;   /* of the line with the greatest number so far */
    arcp__audit_head wanted; /* a line that must exist; number 0: none */
    bool has_wanted;
    bool is_closed;      /* the last line records that the log was closed */
    uint64_t torn_line;  /* the first of the malformed lines right before the current one */
    uint64_t torn_count; /* number of these lines */
    arcp_buf torn_text;  /* their text, up to the size that a line `torn` can cover */
    arcp_buf partial;    /* the beginning of an incomplete line */
} arcp__audit_check;

void arcp__audit_check_init(arcp__audit_check *check, arcp__audit_finding_fn found, void *user);
void arcp__audit_check_fini(arcp__audit_check *check);

/* For each file: begin, feed its bytes in pieces of any size, end. `name` is borrowed until the
 * next file begins. Feeding fails with ARCP_E_NO_MEMORY only. */
void arcp__audit_check_begin(arcp__audit_check *check, const char *name);
ARCP_MUST_CHECK arcp_status arcp__audit_check_feed(arcp__audit_check *check, arcp_span bytes,
                                                   arcp_error *err);
void arcp__audit_check_end(arcp__audit_check *check);
/* Called after the last file. */
void arcp__audit_check_finish(arcp__audit_check *check);

#endif
