/* The smallest lease that grants what a program was seen to use, with directories and hosts of
 * which it used much folded into patterns with wildcards.
 *
 * Folding, of the paths of a capability: more than four names with one suffix in a directory become
 * `D` `/` `*.suffix`, more than four others `D` `/` `*`, and a directory in which more than two
 * directories were folded, or more than four have names that are used, becomes `D` `/` `**`. Never
 * at the root, at a directory right below it (but the one that the program was started in, if that
 * is none of the system), at HOME, at directories that all programs of a user share (~/.config),
 * where secrets are (~/.ssh), or at one that holds any of these. The paths of URLs are folded in
 * the same way, below their host.
 *
 * Pure: no file is looked at. One thread at a time. */
#ifndef ARCP_SANDBOX_SANDBOX_LEARN_H
#define ARCP_SANDBOX_SANDBOX_LEARN_H

#include <arcp/error.h>
#include <arcp/lease.h>

#include "core/capability.h"

#define ARCP__SANDBOX_LEARN_MAX       100000             /* different targets of a capability */
#define ARCP__SANDBOX_LEARN_BYTES_MAX ((size_t)16 << 20) /* of all targets that were added */

typedef struct arcp__sandbox_learn arcp__sandbox_learn;

typedef struct arcp__sandbox_learn_options {
    arcp_span home; /* canonical; copied, as the next one */
    arcp_span cwd;  /* of the program */
    bool is_exact;  /* nothing is folded */
} arcp__sandbox_learn_options;

/* What is needed of a target; several may be. NAMES and TREE grant nothing where nothing may be
 * folded. */
enum {
    ARCP__SANDBOX_LEARN_ONE = 1,  /* this file or URL */
    ARCP__SANDBOX_LEARN_KEEP = 2, /* the same, by its name: a program that a wildcard grants cannot
                                     be executed */
    /* The same, and names that begin with it, unless a KEEP is of it or its directory may not be
     * folded: a file that is made or replaced is seen inside only by a pattern with a wildcard. */
    ARCP__SANDBOX_LEARN_LOOSE = 4,
    ARCP__SANDBOX_LEARN_NAMES = 8, /* all names in this directory */
    ARCP__SANDBOX_LEARN_TREE = 16, /* this directory, and everything below it */
    ARCP__SANDBOX_LEARN_HOST = 32, /* everything on the host of this URL */
};

/* ARCP_E_NO_MEMORY. The caller frees *out. */
ARCP_MUST_CHECK arcp_status arcp__sandbox_learn_new(const arcp__sandbox_learn_options *options,
                                                    arcp__sandbox_learn **out, arcp_error *err);
void arcp__sandbox_learn_free(arcp__sandbox_learn *learn); /* NULL is accepted */

/* Whether wildcards may stand for what the directory holds. */
ARCP_MUST_CHECK bool arcp__sandbox_learn_can_fold(const arcp__sandbox_learn *learn,
                                                  arcp_span directory);

/* Adds a canonical target of fs.read, fs.write or net.fetch; what is needed of one that was added
 * before is added to that.
 * ARCP_E_USAGE: no pattern can name it alone (it has a `*`, or is too long or not UTF-8);
 * ARCP_E_LIMIT beyond the limits above; ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__sandbox_learn_add(arcp__sandbox_learn *learn,
                                                    arcp__capability capability, arcp_span target,
                                                    uint32_t needs, arcp_error *err);

/* Makes the lease. That it grants every target that was added (ONE, KEEP, HOST) is checked with the
 * gate: ARCP_E_INTERNAL_ERROR names one that it does not grant. ARCP_E_LIMIT when a lease cannot
 * have that many patterns; ARCP_E_NO_MEMORY. The caller unrefs *out. */
ARCP_MUST_CHECK arcp_status arcp__sandbox_learn_lease(arcp__sandbox_learn *learn, arcp_lease **out,
                                                      arcp_error *err);

#endif
