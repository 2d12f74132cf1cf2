#include "arcp_worker/identity.h"

#include <string.h>

#include "base/hex.h"
#include "base/random.h"
#include "process/process.h"
#include "worker/worker_place.h"

void arcp__worker_identify(arcp__worker_identity *out)
{
    uint8_t random[ARCP__INSTANCE_BYTES];
    arcp__random(random, sizeof random);
    arcp__hex_format(random, sizeof random, out->instance);
    if (!arcp__boot_id_read(out->boot)) { /* no other life is of the same boot */
        memcpy(out->boot, out->instance, sizeof out->instance);
    }
    arcp__worker_program_id("/proc/self/exe", out->program);
}
