/* Protocol stories: scripts that a reader of the draft can follow.
 *
 *   # text              a comment
 *   a> {...}            client a sends this frame; it connects when it is not connected
 *   connect a           client a connects and says nothing
 *   a< {...}            the next frame for a has at least these members
 *   a< close CODE       a's connection was closed with this code
 *   a< nothing          there is no frame for a
 *   agent J< {...}      the next line for the agent of job J
 *   agent J> LINE       that agent writes this line
 *   agent J exits N     it ends with status N;  agent J killed: it was killed
 *   clock +31s          time passes (ms, s, m, h)
 *   wall -1h            somebody sets the wall clock back, or forward; no time passes
 *   later +1s           time passes; on a real arcpd what follows is waited for
 *   audit< {...}        the audit log has a record with at least these members
 *   policy {...}        before everything else: a row of `policy:`
 *   setting G.KEY VALUE before everything else: a setting of the runtime
 *   profile CLIENT PRINCIPAL NAME   likewise: a rule of peer_profiles, with two globs
 *   drop a              a's connection breaks
 *   store holds         nothing becomes durable before `store writes`; on a real arcpd, which
 *                       reads what comes together in one turn, neither does anything
 *   restart             the runtime is killed and started again on the same store
 *
 * Against a real arcpd frames of different jobs may come in another order than in memory:
 * there an expectation takes the first frame that has come and fits, `nothing` is not
 * looked at, and scripts with `clock` or `wall` are not run.
 *
 * Names and patterns are those of `arcp conformance` (src/conformance/cases.c): a string "$name"
 * in what is expected takes the value that comes (any JSON), or must be equal to it when the name
 * has one already; "$_" takes anything. $name in what is sent is replaced by the value, $in_2s by
 * the instant two seconds from now. J is a $name. Members that are not named are not looked at;
 * arrays must have the same length. hello(a, principal) says hello with all features, and hello(a,
 * principal, NAME) as the client NAME of somebody else, which knows the draft's; they bind $s_a and
 * $t_a, session and token. */
#ifndef ARCP_TESTS_ENGINE_STORY_H
#define ARCP_TESTS_ENGINE_STORY_H

#include <stdbool.h>
#include <stdint.h>

/* Where a story is played. Functions fail the test themselves when they cannot. */
typedef struct story_stage {
    bool is_strict; /* frames come in one possible order only */
    void *user;
    void (*set)(void *user, const char *group, const char *key, const char *value);
    void (*profile)(void *user, const char *client, const char *principal, const char *name);
    bool (*is_connected)(void *user, const char *client);
    void (*connect)(void *user, const char *client);
    void (*send)(void *user, const char *client, const char *frame);
    /* The index-th frame not taken yet; waits for it on a stage that is not strict. NULL:
     * there is none. Borrowed until the next call. */
    const char *(*peek)(void *user, const char *client, unsigned index);
    void (*remove)(void *user, const char *client, unsigned index);
    int (*close_code)(void *user, const char *client); /* 0: open */
    void (*drop)(void *user, const char *client);
    void (*restart)(void *user);
    void (*hold_store)(void *user, bool holds);
    void (*policy)(void *user, const char *row);
    void (*clock)(void *user, int64_t forward_ns);
    void (*set_wall)(void *user, int64_t step_ns);
    void (*later)(void *user, int64_t forward_ns);
    int64_t (*now)(void *user); /* by the wall clock */
    /* The index-th record of the audit log; waits as peek does. */
    const char *(*audit_peek)(void *user, unsigned index);
    void (*agent_says)(void *user, const char *job_id, const char *line);
    const char *(*agent_peek)(void *user, const char *job_id, unsigned index);
    void (*agent_remove)(void *user, const char *job_id, unsigned index);
    void (*agent_exits)(void *user, const char *job_id, int status);
    bool (*agent_is_killed)(void *user, const char *job_id);
} story_stage;

/* Plays the script at `path`; fails the test with file and line. */
void story_play(const story_stage *stage, const char *path);

/* The stages; each call gives a fresh one. `end` frees it. */
/* A volatile store says that nothing outlives it. */
void story_stage_memory_begin(story_stage *stage, bool is_volatile);
void story_stage_memory_end(story_stage *stage);
void story_stage_arcpd_begin(story_stage *out, const char *arcpd, const char *agent);
void story_stage_arcpd_end(story_stage *out);

#endif
