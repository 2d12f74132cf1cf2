/* The stages on which tests play stories (src/story/story.h). They add these lines to the language:
 *
 *   agent $job< {...}   the next line for the agent of this job; `nothing`: there is none
 *   agent $job> LINE    that agent writes this line
 *   agent $job exits N  it ends with status N;  agent $job killed: it was killed
 *   clock +31s          time passes (ms, s, m, h)
 *   wall -1h            the wall clock is set back or forward; no time passes
 *   later +1s           time passes; a real arcpd passes it by itself, and the next lines wait
 *   audit< {...}        the audit log has a record with at least these members
 *   policy {...}        a row of `policy:`; at the beginning of the script
 *   setting G.KEY VALUE a setting of the runtime; at the beginning of the script
 *   profile CLIENT PRINCIPAL NAME   a rule of peer_profiles, with two globs; at the beginning
 *   max_jobs N          each agent runs so many jobs; on a real arcpd only at the beginning
 *   max_jobs N refuses  the same, and refuses more instead of queueing them
 *   agents -echo        a reload without the agent echo; agents +echo brings it back
 *   store holds         nothing becomes durable before `store writes`; neither has an effect on a
 *                       real arcpd
 *   host confines       the hosts of agents answer so from now on: `confines`, `refuses`,
 *                       `is unavailable`, or `admits` without a sandbox, as at the beginning
 *   denied $job LAYER CAPABILITY TARGET   the sandbox of that job's agent denied this; both lines
 *                       are for the engine in memory
 *   restart             the runtime is killed and started again on the same store
 *   hello a alice       client a opens a session with all features as this principal; $session_a
 *                       and $resume_a are its id and resume token (a macro: tests/scripts/macros)
 *
 * A real arcpd may send frames of different jobs in another order than the engine in memory. On it,
 * an expectation takes the first matching frame, `nothing` is not checked, and scripts with
 * `clock`, `wall`, `host` or `agents` are not played. */
#ifndef ARCP_TESTS_STORY_STAGE_H
#define ARCP_TESTS_STORY_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "story/story.h"

/* A stage. Its functions fail the test themselves when something goes wrong. */
typedef struct story_stage {
    arcp__story_stage story; /* all functions get its `user` */
    arcp__story_source agents, audit;
    void (*set)(void *user, const char *group, const char *key, const char *value);
    void (*profile)(void *user, const char *client, const char *principal, const char *name);
    void (*restart)(void *user);
    void (*hold_store)(void *user, bool holds);
    void (*policy)(void *user, const char *row);
    void (*max_jobs)(void *user, unsigned count, bool refuses);
    void (*clock)(void *user, int64_t forward_ns);
    void (*set_wall)(void *user, int64_t step_ns);
    void (*later)(void *user, int64_t forward_ns);
    void (*agent_says)(void *user, const char *job_id, const char *line);
    void (*agent_exits)(void *user, const char *job_id, int status);
    bool (*agent_is_killed)(void *user, const char *job_id);
    /* Only of the stage in memory; else NULL. */
    bool (*host)(void *user, const char *answer); /* false: there is no such answer */
    void (*has_echo)(void *user, bool has);
    bool (*denied)(void *user, const char *job_id, const char *layer, const char *capability,
                   const char *target); /* false: there is no such layer */
} story_stage;

/* Plays the script at `path`; fails the test with file and line. */
void story_play(story_stage *stage, const char *path);

/* Fails the test when a frame or line of the engine has other members than
 * tools/reference/sent.def. */
void story_check_sent(const char *frame);

/* A function of `audit` that keeps the record: several lines may expect the same one. */
void story_keep_text(void *user, const char *name, unsigned index);

/* The stages. `begin` prepares a fresh one, `end` frees it. */
/* A volatile store declares that it is not durable. */
void story_stage_memory_begin(story_stage *stage, bool is_volatile);
void story_stage_memory_end(story_stage *stage);
void story_stage_arcpd_begin(story_stage *out, const char *arcpd, const char *agent);
void story_stage_arcpd_end(story_stage *out);

#endif
