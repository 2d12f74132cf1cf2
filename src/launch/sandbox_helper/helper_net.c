#include <linux/netlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/sandbox_helper/helper.h"

void arcp__helper_net(const arcp__helper *helper)
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
    if (helper->plan->has_broker) {
        /* It knows the sockets of this network only: all that were bound inside. */
        const struct sockaddr_nl local = {.nl_family = AF_NETLINK};
        const int sockets = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        if (sockets < 0 || bind(sockets, (const struct sockaddr *)&local, sizeof local) != 0) {
            arcp__helper_fail("sockets");
        }
        arcp__helper_give(helper, ARCP__HELPER_WORD_SOCKETS, ARCP_SPAN_LITERAL(""), sockets);
    }
}
