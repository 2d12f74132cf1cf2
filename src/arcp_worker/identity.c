#include "arcp_worker/identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/hex.h"
#include "base/random.h"
#include "worker/worker_place.h"

static void read_boot_id(arcp__worker_identity *out)
{
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? -1 : read(fd, out->boot, sizeof out->boot - 1);
    out->boot[size < 0 ? 0 : size] = '\0';
    out->boot[strcspn(out->boot, "\n")] = '\0';
    if (out->boot[0] == '\0') {
        (void)snprintf(out->boot, sizeof out->boot, "unknown");
    }
    arcp__close(fd);
}

void arcp__worker_identify(arcp__worker_identity *out)
{
    uint8_t random[ARCP__INSTANCE_BYTES];
    arcp__random(random, sizeof random);
    arcp__hex_format(random, sizeof random, out->instance);
    read_boot_id(out);
    arcp__worker_program_id("/proc/self/exe", out->program);
}
