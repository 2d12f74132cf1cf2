/* Checking a chain: files in their order, line by line, in bounded memory. */
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
    uint64_t seq;  /* as the line has it; 0: it has none */
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
    arcp__audit_head first;  /* the first line's number, and the hash before it */
    arcp__audit_head head;   /* of the line with the highest number so far */
    arcp__audit_head wanted; /* a line that must be there; number 0: none */
    bool has_wanted;
    bool is_closed;      /* the last line says that the log was closed */
    uint64_t torn_line;  /* the first of the lines that are none and wait for their note */
    uint64_t torn_count; /* how many */
    arcp_buf torn_text;  /* them, as far as a note can vouch for them */
    arcp_buf partial;    /* a line of which more may come */
} arcp__audit_check;

void arcp__audit_check_init(arcp__audit_check *check, arcp__audit_finding_fn found, void *user);
void arcp__audit_check_fini(arcp__audit_check *check);

/* The next file; its bytes follow in pieces of any size, then its end. `name` is borrowed
 * until the next file. Feeding fails with ARCP_E_NO_MEMORY only. */
void arcp__audit_check_begin(arcp__audit_check *check, const char *name);
ARCP_MUST_CHECK arcp_status arcp__audit_check_feed(arcp__audit_check *check, arcp_span bytes,
                                                   arcp_error *err);
void arcp__audit_check_end(arcp__audit_check *check);
/* After the last file. */
void arcp__audit_check_finish(arcp__audit_check *check);

#endif
