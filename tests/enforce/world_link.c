/* Interfaces of the network world, by rtnetlink. */
#include "enforce/world_parts.h"

#include <err.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct message {
    struct nlmsghdr head;
    char rest[1000];
} message;

static void begin(message *out, int type, int flags, const void *body, size_t size)
{
    *out = (message){.head = {.nlmsg_type = (uint16_t)type,
                              .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags),
                              .nlmsg_len = (uint32_t)NLMSG_LENGTH(size)}};
    (void)memcpy(out->rest, body, size);
}

/* Adds an attribute; the value may be added later, as attributes in it. */
static struct rtattr *add(message *out, int type, const void *value, size_t size)
{
    const size_t at = NLMSG_ALIGN(out->head.nlmsg_len);
    struct rtattr *attribute = (void *)((char *)out + at);
    attribute->rta_type = (unsigned short)type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(size);
    if (size != 0) {
        (void)memcpy(RTA_DATA(attribute), value, size);
    }
    out->head.nlmsg_len = (uint32_t)(at + RTA_ALIGN(attribute->rta_len));
    return attribute;
}

static void end(const message *out, struct rtattr *nest)
{
    nest->rta_len = (unsigned short)((const char *)out + out->head.nlmsg_len - (char *)nest);
}

static int send_message(message *out)
{
    char answer[4096];
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0) {
        return errno;
    }
    const ssize_t sent =
        sendto(fd, out, out->head.nlmsg_len, 0, (const struct sockaddr *)&kernel, sizeof kernel);
    const ssize_t got = sent < 0 ? -1 : recv(fd, answer, sizeof answer, 0);
    const struct nlmsghdr *head = (const void *)answer;
    const struct nlmsgerr *result = NLMSG_DATA(head);
    const int number = got < 0 ? errno : head->nlmsg_type != NLMSG_ERROR ? EPROTO : -result->error;
    (void)close(fd);
    return number;
}

int world_link_up(const char *name)
{
    message out;
    const struct ifinfomsg link = {
        .ifi_index = (int)if_nametoindex(name), .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    begin(&out, RTM_NEWLINK, 0, &link, sizeof link);
    return link.ifi_index == 0 ? ENODEV : send_message(&out);
}

int world_link_pair(const char *name, const char *other, pid_t process)
{
    message out;
    const struct ifinfomsg link = {.ifi_family = AF_UNSPEC};
    const uint32_t pid = (uint32_t)process;
    begin(&out, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof link);
    (void)add(&out, IFLA_IFNAME, name, strlen(name) + 1);
    struct rtattr *info = add(&out, IFLA_LINKINFO, NULL, 0);
    (void)add(&out, IFLA_INFO_KIND, "veth", 5);
    struct rtattr *data = add(&out, IFLA_INFO_DATA, NULL, 0);
    struct rtattr *peer = add(&out, VETH_INFO_PEER, &link, sizeof link);
    (void)add(&out, IFLA_IFNAME, other, strlen(other) + 1);
    (void)add(&out, IFLA_NET_NS_PID, &pid, sizeof pid);
    end(&out, peer);
    end(&out, data);
    end(&out, info);
    return send_message(&out);
}

int world_link_address(const char *name, int family, const void *address)
{
    message out;
    const size_t size = family == AF_INET ? 4 : 16;
    const uint32_t flags = IFA_F_NODAD; /* usable at once */
    const struct ifaddrmsg body = {.ifa_family = (uint8_t)family,
                                   .ifa_prefixlen = (uint8_t)(size * 8),
                                   .ifa_index = if_nametoindex(name)};
    begin(&out, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof body);
    (void)add(&out, IFA_LOCAL, address, size);
    (void)add(&out, IFA_ADDRESS, address, size);
    (void)add(&out, IFA_FLAGS, &flags, sizeof flags);
    return send_message(&out);
}

int world_link_default(const char *name, int family)
{
    message out;
    const uint32_t index = if_nametoindex(name);
    const struct rtmsg body = {.rtm_family = (uint8_t)family,
                               .rtm_table = RT_TABLE_MAIN,
                               .rtm_protocol = RTPROT_STATIC,
                               .rtm_scope = RT_SCOPE_LINK,
                               .rtm_type = RTN_UNICAST};
    begin(&out, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof body);
    (void)add(&out, RTA_OIF, &index, sizeof index);
    return send_message(&out);
}
