/* The stages on which tests play stories (src/story/story.h), and what lines may say there beside:
 *
 *   agent $job< {...}   the next line for the agent of this job; `nothing`: there is none
 *   agent $job> LINE    that agent writes this line
 *   agent $job exits N  it ends with status N;  agent $job killed: it was killed
 *   clock +31s          time passes (ms, s, m, h)
 *   wall -1h            somebody sets the wall clock back, or forward; no time passes
 *   later +1s           time passes; on a real arcpd what follows is waited for
 *   audit< {...}        the audit log has a record with at least these members
 *   policy {...}        before everything else: a row of `policy:`
 *   setting G.KEY VALUE before everything else: a setting of the runtime
 *   profile CLIENT PRINCIPAL NAME   likewise: a rule of peer_profiles, with two globs
 *   store holds         nothing becomes durable before `store writes`; on a real arcpd, which
 *                       reads what comes together in one turn, neither does anything
 *   restart             the runtime is killed and started again on the same store
 *   hello a alice       client a says hello with all features as this principal; $session_a and
 *                       $resume_a are its session and token (tests/scripts/macros has the others)
 *
 * Against a real arcpd frames of different jobs may come in another order than in memory: there an
 * expectation takes the first frame that has come and fits, `nothing` is not looked at, and scripts
 * with `clock` or `wall` are not run. */
#ifndef ARCP_TESTS_STORY_STAGE_H
#define ARCP_TESTS_STORY_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "story/story.h"

/* Where a story is played. Functions fail the test themselves when they cannot. */
typedef struct story_stage {
    arcp__story_stage story; /* its user is everybody's */
    arcp__story_source agents, audit;
    void (*set)(void *user, const char *group, const char *key, const char *value);
    void (*profile)(void *user, const char *client, const char *principal, const char *name);
    void (*restart)(void *user);
    void (*hold_store)(void *user, bool holds);
    void (*policy)(void *user, const char *row);
    void (*clock)(void *user, int64_t forward_ns);
    void (*set_wall)(void *user, int64_t step_ns);
    void (*later)(void *user, int64_t forward_ns);
    void (*agent_says)(void *user, const char *job_id, const char *line);
    void (*agent_exits)(void *user, const char *job_id, int status);
    bool (*agent_is_killed)(void *user, const char *job_id);
} story_stage;

/* Plays the script at `path`; fails the test with file and line. */
void story_play(story_stage *stage, const char *path);

/* Fails the test when a frame or line of the engine has other members than
 * tools/reference/sent.def. */
void story_check_sent(const char *frame);

/* The stages; each call gives a fresh one. `end` frees it. */
/* A volatile store says that nothing outlives it. */
void story_stage_memory_begin(story_stage *stage, bool is_volatile);
void story_stage_memory_end(story_stage *stage);
void story_stage_arcpd_begin(story_stage *out, const char *arcpd, const char *agent);
void story_stage_arcpd_end(story_stage *out);

#endif
