#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/sandbox_helper/helper.h"

void arcp__helper_net(void)
{
    struct ifreq request;
    arcp__helper_begin(ARCP__HELPER_NET);
    memset(&request, 0, sizeof request);
    memcpy(request.ifr_name, "lo", 3);
    request.ifr_flags = IFF_UP;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) != 0) {
        arcp__helper_fail("lo");
    }
    (void)close(fd);
}
