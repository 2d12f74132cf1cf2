/* A child under the filter, Landlock and a broker, in a temporary directory.
 *
 * The child sees the host's own tree, so Landlock alone decides where the broker lets the kernel go
 * on. Needs user notifications; as another user than root a user namespace, for the
 * read-only clones. */
#ifndef ARCP_TESTS_BROKER_FIXTURE_H
#define ARCP_TESTS_BROKER_FIXTURE_H

#include <stdbool.h>

#include "sandbox/sandbox.h"

/* What the child finds out, shared with the test. */
typedef struct fixture_results {
    int values[64];
    char text[4096];
} fixture_results;

typedef struct fixture {
    char root[64]; /* of the temporary tree; the current directory of test and child */
    arcp__sandbox_plan plan;
    arcp_span patterns[2][16];
    arcp__sandbox_mount mounts[8];
    arcp__sandbox_rule rules[8];
    char texts[64][256]; /* of all paths */
    size_t text_count;
    fixture_results *results;
    int views;           /* -1, or a directory for listings */
    bool has_own_net;    /* the child is in a network namespace of its own */
    uint16_t proxy_port; /* 0: none */
    /* Records of denials, as text, in the order in which they came; after the child has ended. */
    char denials[1 << 16];
    int status; /* of the child, as waitpid has it */
} fixture;

/* Whether this machine can do it at all. */
bool fixture_is_possible(void);

/* Where the trees are made; /tmp unless a test says otherwise. */
extern const char *fixture_place;

/* Makes the tree: see broker_fixture.c for what is in it. Fails the test when it cannot. */
void fixture_init(fixture *f);
/* Aborts with errno when a call that cannot fail here has failed; in children of the test, too. */
void fixture_must(bool is_done);
void fixture_fini(fixture *f);

/* Adds a pattern below the root to the lease ("data/" and a star). */
void fixture_allow(fixture *f, bool is_write, const char *pattern);

/* Runs `body` in a child that is confined, and waits for it. */
void fixture_run(fixture *f, void (*body)(fixture *f, void *user), void *user);

/* The absolute path of a name below the root; static, until the eighth call from now. */
const char *fixture_path(const fixture *f, const char *name);

/* Whether a denial of the capability and the name below the root was reported, as often as `count`
 * (0: any number). */
bool fixture_was_denied(const fixture *f, const char *capability, const char *name, int count);

#endif
