/* Protocol stories: scripts that a reader of the draft can follow.
 *
 *   # text              a comment
 *   a> {...}            client a sends this frame; it connects when it is not connected
 *   a< {...}            the next frame for a has at least these members
 *   a< close CODE       a's connection was closed with this code
 *   a< nothing          there is no frame for a
 *   agent J< {...}      the next line for the agent of job J
 *   agent J> LINE       that agent writes this line
 *   agent J exits N     it ends with status N;  agent J killed: it was killed
 *   clock +31s          time passes (ms, s, m, h)
 *   drop a              a's connection breaks
 *   restart             the runtime is killed and started again on the same store
 *
 * A string "$name" in what is expected takes the value that comes (any JSON), or must be
 * equal to it when the name has one already; "$_" takes anything. $name in what is sent is
 * replaced by the value. J is a $name. Members that are not named are not looked at;
 * arrays must have the same length. hello(a, principal) sends a hello with all features. */
#ifndef ARCP_TESTS_ENGINE_STORY_H
#define ARCP_TESTS_ENGINE_STORY_H

#include "engine/engine_rig.h"

/* Runs the script at `path` against an engine in memory; fails the test with the line. */
void story_run_in_memory(const char *path);

#endif
