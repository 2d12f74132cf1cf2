#include "launch/sandbox_helper/helper_route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The first interface of every network. */
#define LOOPBACK 1

#define OWN_ADDRESS 0xc6120001U /* 198.18.0.1 */

/* What the requests below need; attributes have 4 bytes each. */
typedef struct request {
    struct nlmsghdr header;
    union {
        struct ifinfomsg link;
        struct ifaddrmsg address;
        struct rtmsg route;
    } body;
    char attributes[2 * RTA_SPACE(sizeof(uint32_t))];
} request;

int arcp__helper_route_open(void)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

static request request_make(uint16_t type, uint16_t flags, size_t body_size)
{
    return (request){.header = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(body_size),
                                .nlmsg_type = type,
                                .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags)}};
}

static void add_attribute(request *message, uint16_t type, uint32_t value)
{
    struct rtattr *attribute =
        (struct rtattr *)(void *)((char *)message + NLMSG_ALIGN(message->header.nlmsg_len));
    *attribute = (struct rtattr){.rta_len = RTA_LENGTH(sizeof value), .rta_type = type};
    memcpy(RTA_DATA(attribute), &value, sizeof value);
    message->header.nlmsg_len = NLMSG_ALIGN(message->header.nlmsg_len) + RTA_SPACE(sizeof value);
}

/* Sends a request, and reads the kernel's answer. 0 or an errno. */
static int ask(int fd, const request *message)
{
    struct {
        struct nlmsghdr header;
        struct nlmsgerr result;
        char rest[512]; /* the request again, and texts */
    } answer = {0};
    const size_t least = NLMSG_LENGTH(sizeof answer.result.error);
    if (send(fd, message, message->header.nlmsg_len, 0) < 0) {
        return errno;
    }
    const ssize_t size = recv(fd, &answer, sizeof answer, MSG_DONTWAIT);
    if (size < 0) {
        return errno;
    }
    if ((size_t)size < least || answer.header.nlmsg_type != NLMSG_ERROR) {
        return EPROTO;
    }
    return -answer.result.error;
}

int arcp__helper_route_start(int fd)
{
    request message = request_make(RTM_NEWLINK, 0, sizeof message.body.link);
    message.body.link =
        (struct ifinfomsg){.ifi_index = LOOPBACK, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    return ask(fd, &message);
}

static int add_address(int fd)
{
    request message =
        request_make(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof message.body.address);
    message.body.address =
        (struct ifaddrmsg){.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = LOOPBACK};
    add_attribute(&message, IFA_LOCAL, htonl(OWN_ADDRESS));
    return ask(fd, &message);
}

/* All addresses of a family are of this host, as those that its interfaces have. */
static int add_route(int fd, uint8_t family)
{
    request message =
        request_make(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, sizeof message.body.route);
    message.body.route = (struct rtmsg){.rtm_family = family,
                                        .rtm_table = RT_TABLE_LOCAL,
                                        .rtm_protocol = RTPROT_BOOT,
                                        .rtm_scope = RT_SCOPE_HOST,
                                        .rtm_type = RTN_LOCAL};
    add_attribute(&message, RTA_OIF, LOOPBACK);
    return ask(fd, &message);
}

/* Whether the kernel has no IPv6, or the interface has none. */
static int is_without_ipv6(int number)
{
    return number == EAFNOSUPPORT || number == EOPNOTSUPP || number == EACCES;
}

int arcp__helper_route_all(int fd)
{
    int number = add_address(fd);
    number = number == 0 ? add_route(fd, AF_INET) : number;
    if (number != 0) {
        return number;
    }
    number = add_route(fd, AF_INET6);
    return is_without_ipv6(number) ? 0 : number;
}
