/* What this host can do for a sandbox, found by doing it. */
#ifndef ARCP_LAUNCH_HELPER_PROBE_H
#define ARCP_LAUNCH_HELPER_PROBE_H

#include "sandbox/sandbox.h"

/* Tries every ability in child processes, as the calling user, and leaves nothing behind. About
 * 20 ms; waits for its children. An ability whose trial fails for any reason is 0. Takes away what
 * the environment's ARCP_SANDBOX_WITHOUT names. False: that has an unknown name. */
bool arcp__helper_probe(arcp__sandbox_abilities *out);

/* `arcp-sandbox --probe`: prints the abilities as a line of JSON. Returns the exit status: 0; 1
 * when stdout cannot be written; 2 when ARCP_SANDBOX_WITHOUT has an unknown name. */
int arcp__helper_probe_main(void);

#endif
