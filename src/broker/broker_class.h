/* What the broker must know of one path: where it lies, what the kernel grants there, and what the
 * patterns of the lease grant. Made of arcp__sandbox_paths.
 *
 * Pure and immutable; any thread. Paths are absolute and canonical. */
#ifndef ARCP_BROKER_BROKER_CLASS_H
#define ARCP_BROKER_BROKER_CLASS_H

#include "sandbox/sandbox.h"

typedef struct arcp__broker_classes arcp__broker_classes;

/* Where a path lies in the sandbox. */
typedef enum arcp__broker_place {
    ARCP__BROKER_PLACE_OUTSIDE, /* nothing of the plan is there, or it is hidden */
    ARCP__BROKER_PLACE_KERNEL,  /* /proc, /dev, /sys: the kernel's own rules */
    ARCP__BROKER_PLACE_BASE,    /* what every program may read */
    ARCP__BROKER_PLACE_ETC,     /* the prepared /etc */
    ARCP__BROKER_PLACE_PRIVATE, /* the sandbox's own file system, and the job's own directory */
    ARCP__BROKER_PLACE_TREE,    /* a directory that the lease grants */
    ARCP__BROKER_PLACE_OWN,     /* the runtime's own: never granted */
} arcp__broker_place;

typedef struct arcp__broker_class {
    arcp__broker_place place;
    /* What the kernel grants by a rule of a directory that holds the path: ARCP__SANDBOX_READ and
     * so on. Rules of single files are not among them, because such a rule is of the file that was
     * there at the start. */
    uint32_t kernel;
    uint32_t lease; /* READ and WRITE: what the lease's patterns grant for exactly this path */
    bool is_file;   /* a rule is of the file that was there at the start: it can be executed */
    bool is_secret; /* below HOME, and a row of sandbox_secret.def */
} arcp__broker_class;

/* `plan` is borrowed until free. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__broker_classes_new(const arcp__sandbox_plan *plan,
                                                     arcp__broker_classes **out, arcp_error *err);
void arcp__broker_classes_free(arcp__broker_classes *classes); /* NULL is accepted */

/* The plan that it was made of. */
const arcp__sandbox_plan *arcp__broker_classes_plan(const arcp__broker_classes *classes);

arcp__broker_class arcp__broker_classify(const arcp__broker_classes *classes, arcp_span path);

/* Whether a pattern that the broker serves may grant a name below the directory. */
ARCP_MUST_CHECK bool arcp__broker_leads_to_pattern(const arcp__broker_classes *classes,
                                                   arcp_span directory);

/* The same for a pattern that grants reading: then the directory can be listed. */
ARCP_MUST_CHECK bool arcp__broker_leads_to_reading(const arcp__broker_classes *classes,
                                                   arcp_span directory);

/* The same for a directory in a private place, by a pattern whose literal beginning lies in that
 * place: it means the host's directory of this name. A wider pattern does not, because then the
 * program could not use its own files there. */
ARCP_MUST_CHECK bool arcp__broker_leads_in_private(const arcp__broker_classes *classes,
                                                   arcp_span directory);

/* Whether something that is mounted, or that a rule grants, lies below the directory. */
ARCP_MUST_CHECK bool arcp__broker_leads_to_mount(const arcp__broker_classes *classes,
                                                 arcp_span directory);

#endif
