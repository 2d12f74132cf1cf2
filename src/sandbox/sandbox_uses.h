/* What a command was seen to do, and which targets of a lease that makes: the names that it used,
 * with how it used each.
 *
 * Left out are what every sandbox gives anyway (the base, directories of the kernel), and files
 * that the command made in a private directory and removed again. A file that it made somewhere
 * else and removed had a name that may be another one next time, so all names of that directory are
 * needed; and a directory that it made needs the directory that it is in with all below it, because
 * a rule needs something that is there at the start. To ask for a file (stat) is no use of it, but
 * in the directory that the command was started in, and where it uses other files: programs ask for
 * many that they do not need.
 *
 * Pure: whether a file is there at the end is asked of the caller. One thread at a time. */
#ifndef ARCP_SANDBOX_SANDBOX_USES_H
#define ARCP_SANDBOX_SANDBOX_USES_H

#include "sandbox/sandbox.h"
#include "sandbox/sandbox_learn.h"
#include "sandbox/sandbox_seen.h"

#define ARCP__SANDBOX_USES_MAX       100000             /* different names */
#define ARCP__SANDBOX_USES_BYTES_MAX ((size_t)32 << 20) /* of all of them */

typedef struct arcp__sandbox_uses arcp__sandbox_uses;

typedef struct arcp__sandbox_uses_options {
    /* Of the same command with a lease that grants nothing; borrowed until free. */
    const arcp__sandbox_plan *plan;
    arcp_span cwd;      /* canonical; copied */
    bool cwd_is_shared; /* it is HOME, or holds it: what is asked for in it is no use */
} arcp__sandbox_uses_options;

/* What became of a name. */
typedef enum arcp__sandbox_outcome {
    ARCP__SANDBOX_OUTCOME_NONE,      /* nothing was needed, or every sandbox gives it */
    ARCP__SANDBOX_OUTCOME_READ,      /* fs.read */
    ARCP__SANDBOX_OUTCOME_WRITE,     /* fs.write */
    ARCP__SANDBOX_OUTCOME_BOTH,      /* fs.read and fs.write */
    ARCP__SANDBOX_OUTCOME_PRIVATE,   /* made in a private directory, where it will be lost */
    ARCP__SANDBOX_OUTCOME_OWN,       /* of ARCP itself: no lease grants it */
    ARCP__SANDBOX_OUTCOME_UNNAMED,   /* no pattern is this name alone */
    ARCP__SANDBOX_OUTCOME_PORT,      /* the number of a port that nothing served */
    ARCP__SANDBOX_OUTCOME_LOOKED_AT, /* asked for only */
    ARCP__SANDBOX_OUTCOME_COUNT
} arcp__sandbox_outcome;

/* ARCP_E_NO_MEMORY. The caller frees *out. */
ARCP_MUST_CHECK arcp_status arcp__sandbox_uses_new(const arcp__sandbox_uses_options *options,
                                                   arcp__sandbox_uses **out, arcp_error *err);
void arcp__sandbox_uses_free(arcp__sandbox_uses *uses); /* NULL is accepted */

/* Adds what was seen. Beyond the limits above only counts. */
void arcp__sandbox_uses_add(arcp__sandbox_uses *uses, const arcp__sandbox_seen *seen);

/* How many uses could not be kept. */
uint64_t arcp__sandbox_uses_lost(const arcp__sandbox_uses *uses);

/* Adds the targets to `learn`, and finds the outcome of each name. `is_there`: whether a path is
 * there now, on the host. Called once. ARCP_E_NO_MEMORY, ARCP_E_LIMIT. */
ARCP_MUST_CHECK arcp_status arcp__sandbox_uses_finish(arcp__sandbox_uses *uses,
                                                      bool (*is_there)(const char *path),
                                                      arcp__sandbox_learn *learn, arcp_error *err);

/* After that: calls `each` for every name, sorted, with its outcome. `name` ends with a NUL. */
void arcp__sandbox_uses_each(const arcp__sandbox_uses *uses,
                             void (*each)(void *user, arcp_span name,
                                          arcp__sandbox_outcome outcome),
                             void *user);

#endif
