/* Acts that reach the network by anything but a connection of TCP, and acts on the listeners of the
 * sandbox itself. */
#include "enforce/programs/escape.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "enforce/programs/talk.h"

enum { MULTIPATH = 262, ANSWER_MS = 2000 };

static struct sockaddr_in place_of(const char *host, const char *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_port = htons((uint16_t)escape_number(port));
    (void)inet_pton(AF_INET, host, &at.sin_addr);
    return at;
}

static int finish(int fd, int number)
{
    (void)(fd < 0 ? 0 : close(fd));
    return number;
}

static int open_to(const char *host, const char *port, int type, int protocol, int *out)
{
    const struct sockaddr_in at = place_of(host, port);
    const struct timeval patience = {.tv_sec = ANSWER_MS / 1000};
    *out = socket(AF_INET, type | SOCK_CLOEXEC, protocol);
    return *out < 0 || setsockopt(*out, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
                   connect(*out, (const struct sockaddr *)&at, sizeof at) != 0
               ? errno
               : 0;
}

static int send_text(int fd, const char *text)
{
    return send(fd, text, strlen(text), MSG_NOSIGNAL) < 0 ? errno : 0;
}

/* argv: host, port, text. */
int escape_datagram_to(char **argv)
{
    int fd = -1;
    const int number = open_to(argv[0], argv[1], SOCK_DGRAM, 0, &fd);
    return finish(fd, number != 0 ? number : send_text(fd, argv[2]));
}

int escape_multipath_to(char **argv)
{
    int fd = -1;
    int number = open_to(argv[0], argv[1], SOCK_STREAM, MULTIPATH, &fd);
    number = number != 0 ? number : send_text(fd, argv[2]);
    return finish(fd, number != 0 ? number : talk_hear(fd));
}

int escape_fast_open_to(char **argv)
{
    const struct sockaddr_in at = place_of(argv[0], argv[1]);
    const struct timeval patience = {.tv_sec = ANSWER_MS / 1000};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        sendto(fd, argv[2], strlen(argv[2]), MSG_FASTOPEN, (const struct sockaddr *)&at,
               sizeof at) < 0) {
        return finish(fd, errno);
    }
    return finish(fd, talk_hear(fd));
}

/* argv: host, text, and the socket's type: 2 (of the system), 3 (raw). */
int escape_echo_request(char **argv)
{
    struct {
        struct icmphdr head;
        char text[64];
    } packet = {.head = {.type = ICMP_ECHO}};
    const struct sockaddr_in at = place_of(argv[0], "0");
    uint32_t sum = 0;
    (void)snprintf(packet.text, sizeof packet.text, "%s", argv[1]);
    for (size_t i = 0; i < sizeof packet / 2; i++) {
        uint16_t word = 0;
        (void)memcpy(&word, (const char *)&packet + 2 * i, 2);
        sum += word;
    }
    sum = (sum & 0xffff) + (sum >> 16);
    packet.head.checksum = (uint16_t) ~(sum + (sum >> 16));
    const int fd = socket(AF_INET, (int)escape_number(argv[2]) | SOCK_CLOEXEC, IPPROTO_ICMP);
    const ssize_t sent =
        fd < 0 ? -1
               : sendto(fd, &packet, sizeof packet, 0, (const struct sockaddr *)&at, sizeof at);
    return finish(fd, sent < 0 ? errno : 0);
}

/* A packet of a protocol of one's own. */
int escape_raw_to(char **argv)
{
    const struct sockaddr_in at = place_of(argv[0], "0");
    const int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, (int)escape_number(argv[1]));
    const ssize_t sent =
        fd < 0 ? -1
               : sendto(fd, argv[2], strlen(argv[2]), 0, (const struct sockaddr *)&at, sizeof at);
    return finish(fd, sent < 0 ? errno : 0);
}

/* A frame to everyone, by the first interface that takes it. */
int escape_frame(char **argv)
{
    const int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_IP));
    int number = fd < 0 ? errno : ENODEV;
    for (int i = 1; fd >= 0 && i < 8 && number != 0; i++) {
        const struct sockaddr_ll at = {.sll_family = AF_PACKET,
                                       .sll_protocol = htons(ETH_P_IP),
                                       .sll_ifindex = i,
                                       .sll_halen = 6,
                                       .sll_addr = {255, 255, 255, 255, 255, 255}};
        char name[IF_NAMESIZE] = "";
        if (if_indextoname((unsigned)i, name) != NULL && strcmp(name, "lo") != 0) {
            number =
                sendto(fd, argv[0], strlen(argv[0]), 0, (const struct sockaddr *)&at, sizeof at) < 0
                    ? errno
                    : 0;
        }
    }
    return finish(fd, number);
}

/* argv: the type of socket (1, 2), the address, the port. Done when this process can take what is
 * sent there, although another one serves it. */
int escape_take_port(char **argv)
{
    const int on = 1;
    const int type = (int)escape_number(argv[0]);
    const struct sockaddr_in at = place_of(argv[1], argv[2]);
    const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0 ||
        bind(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
        return finish(fd, errno);
    }
    return finish(fd, type == SOCK_STREAM && listen(fd, 1) != 0 ? errno : 0);
}

/* A query of DNS; returns its bytes. */
static size_t write_query(const char *name, unsigned type, unsigned char *out)
{
    static const unsigned char head[12] = {0x12, 0x34, 1, 0, 0, 1};
    unsigned char *at = out + sizeof head;
    (void)memcpy(out, head, sizeof head);
    while (*name != '\0') {
        const size_t label = strcspn(name, ".");
        *at++ = (unsigned char)label;
        (void)memcpy(at, name, label);
        at += label;
        name += label + (name[label] == '.' ? 1 : 0);
    }
    const unsigned char tail[] = {0, (unsigned char)(type >> 8), (unsigned char)type, 0, 1};
    (void)memcpy(at, tail, sizeof tail);
    return (size_t)(at + sizeof tail - out);
}

/* argv: the server, the type of record, the name, and the socket's type. */
int escape_ask(char **argv)
{
    unsigned char bytes[600];
    unsigned char answer[600];
    int fd = -1;
    const bool is_stream = escape_number(argv[3]) == SOCK_STREAM;
    if (strlen(argv[2]) > 253) {
        return E2BIG;
    }
    const size_t size = write_query(argv[2], (unsigned)escape_number(argv[1]), bytes + 2);
    bytes[0] = (unsigned char)(size >> 8);
    bytes[1] = (unsigned char)size;
    const int number = open_to(argv[0], "53", is_stream ? SOCK_STREAM : SOCK_DGRAM, 0, &fd);
    if (number != 0) {
        return finish(fd, number);
    }
    const size_t skipped = is_stream ? 0 : 2;
    if (send(fd, bytes + skipped, size + 2 - skipped, MSG_NOSIGNAL) < 0) {
        return finish(fd, errno);
    }
    const ssize_t got = recv(fd, answer, sizeof answer, 0);
    const size_t flags = is_stream ? 5 : 3;
    (void)close(fd);
    return got < 0                       ? errno
           : (size_t)got <= flags        ? EPROTO
           : (answer[flags] & 0x0f) == 3 ? ENOENT
           : (answer[flags] & 0x0f) != 0 ? EPROTO
                                         : 0;
}
