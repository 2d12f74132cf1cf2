/* What sandboxes of this host are made with. */
#ifndef ARCP_TESTS_SANDBOX_HOST_H
#define ARCP_TESTS_SANDBOX_HOST_H

#include "sandbox/sandbox.h"

#define SANDBOX ARCP_BINARY_DIR "/bin/arcp-sandbox"

/* What this host can do, found anew, because ARCP_SANDBOX_WITHOUT in the environment takes from it.
 */
void sandbox_probe(arcp__sandbox_abilities *abilities);

#endif
