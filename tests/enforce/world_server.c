/* What the network world serves: one loop over all sockets, in both namespaces.
 *
 * Every byte that arrives is looked at for marks. A server that got one gives the secret away; the
 * private ones give it to every client. */
#include "enforce/world_parts.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "enforce/world.h"

enum { HANDLES_MAX = 512, HEAD_MAX = 8192, TAIL = 32, CHUNK = 65536 };

typedef enum handle_kind {
    HTTP,    /* answers requests, also those of clients of a proxy */
    MUTE,    /* says nothing before it has a mark: TLS, and what follows CONNECT */
    GREETS,  /* speaks first, as SSH does */
    PRIVATE, /* gives the secret to everyone */
    NAMES,   /* DNS */
    SETTLES, /* closes when nothing is left to be read elsewhere */
    WATCHES, /* packets */
    DRAINS,  /* what is left of a connection */
} handle_kind;

static const struct {
    const char *address;
    uint16_t port;
    handle_kind kind;
    bool is_host; /* on the host itself */
} services[] = {
    {"93.184.216.34", 80, HTTP, false},       {"93.184.216.34", 443, MUTE, false},
    {"93.184.216.34", 22, GREETS, false},     {"93.184.216.34", 8080, HTTP, false},
    {"93.184.216.34", 8443, MUTE, false},     {"93.184.216.35", 80, HTTP, false},
    {"93.184.216.35", 443, MUTE, false},      {"93.184.216.35", 22, GREETS, false},
    {"2606:2800:220:1::34", 80, HTTP, false}, {"2606:2800:220:1::34", 443, MUTE, false},
    {WORLD_NAMESERVER, 53, NAMES, false},     {"8.8.8.8", 53, NAMES, false},
    {WORLD_NAMESERVER, 9, SETTLES, false},    {"10.0.0.7", 80, PRIVATE, false},
    {"10.0.0.7", 443, PRIVATE, false},        {"192.168.1.7", 80, PRIVATE, false},
    {"172.16.0.7", 80, PRIVATE, false},       {"100.64.0.7", 80, PRIVATE, false},
    {"169.254.169.254", 80, PRIVATE, false},  {"169.254.169.254", 443, PRIVATE, false},
    {"168.63.129.16", 80, PRIVATE, false},    {"192.0.0.8", 80, PRIVATE, false},
    {"198.18.0.77", 80, PRIVATE, false},      {"240.0.0.7", 80, PRIVATE, false},
    {"fd00::7", 80, PRIVATE, false},          {"2002:a00:7::1", 80, PRIVATE, false},
    {"64:ff9b::a00:7", 80, PRIVATE, false},   {"2001:0:a00:7::1", 80, PRIVATE, false},
    {"0.0.0.0", 80, PRIVATE, true},           {"::1", 80, PRIVATE, true},
    {"127.0.0.1", 3128, HTTP, true},          {"127.0.0.1", 8088, HTTP, true},
    {"127.0.0.1", 8089, PRIVATE, true},
};

const char *const world_addresses[] = {
    "93.184.216.34",   "93.184.216.35",       WORLD_NAMESERVER, "8.8.8.8",
    "10.0.0.7",        "192.168.1.7",         "172.16.0.7",     "100.64.0.7",
    "169.254.169.254", "168.63.129.16",       "192.0.0.8",      "198.18.0.77",
    "240.0.0.7",       "2606:2800:220:1::34", "fd00::7",        "2002:a00:7::1",
    "64:ff9b::a00:7",  "2001:0:a00:7::1",
};
const size_t world_address_count = sizeof world_addresses / sizeof world_addresses[0];

typedef struct handle {
    int fd;
    handle_kind kind;
    bool listens;
    bool is_marked;  /* a mark came in */
    size_t body;     /* bytes of the request's body that are missing */
    bool is_chunked; /* the body is, and its end is missing */
    size_t received; /* of the body */
    bool closes;     /* after the answer */
    char tail[TAIL]; /* the last bytes that were looked at */
    size_t head_size;
    char head[HEAD_MAX]; /* of the request, NUL-terminated */
} handle;

static handle *handles[HANDLES_MAX];
static size_t handle_count;
static const char *secret;
static unsigned char *heard;
static char chunk[TAIL + CHUNK + 1]; /* what was received last, after the tail */

static handle *add_handle(int fd, handle_kind kind, bool listens)
{
    handle *added = handle_count == HANDLES_MAX ? NULL : calloc(1, sizeof *added);
    if (added == NULL) {
        (void)close(fd);
        return NULL;
    }
    added->fd = fd;
    added->kind = kind;
    added->listens = listens;
    handles[handle_count++] = added;
    return added;
}

static int open_socket(const char *text, uint16_t port, int type)
{
    const int on = 1;
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const bool is_v4 = strchr(text, ':') == NULL;
    const int fd = socket(is_v4 ? AF_INET : AF_INET6, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)inet_pton(is_v4 ? AF_INET : AF_INET6, text,
                    is_v4 ? (void *)&v4.sin_addr : (void *)&v6.sin6_addr);
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!is_v4) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    if (bind(fd, is_v4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6,
             is_v4 ? sizeof v4 : sizeof v6) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

void world_server_open(bool in_world, bool with_pages)
{
    const int backlog = 16;
    for (size_t i = 0; i < sizeof services / sizeof services[0]; i++) {
        const handle_kind kind = services[i].kind;
        const bool is_v4 = strchr(services[i].address, ':') == NULL;
        if (services[i].is_host == in_world || (!with_pages && kind != NAMES && kind != SETTLES)) {
            continue;
        }
        const int fd = open_socket(services[i].address, services[i].port, SOCK_STREAM);
        if (fd < 0 && !is_v4) {
            continue; /* no IPv6 here */
        }
        if (fd < 0 || listen(fd, 256) != 0) {
            err(1, "%s port %u", services[i].address, (unsigned)services[i].port);
        }
        (void)setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &backlog, sizeof backlog);
        (void)add_handle(fd, kind, true);
        if (kind == NAMES) {
            (void)add_handle(open_socket(services[i].address, services[i].port, SOCK_DGRAM), kind,
                             false);
        }
    }
}

void world_server_watch(void)
{
    const struct sockaddr_ll at = {.sll_family = AF_PACKET,
                                   .sll_protocol = htons(ETH_P_ALL),
                                   .sll_ifindex = (int)if_nametoindex(WORLD_LINK)};
    const int size = 4 << 20;
    const int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) != 0 ||
        bind(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
        err(1, "a packet socket");
    }
    (void)add_handle(fd, WATCHES, false);
}

/* Notes each mark in the bytes. Returns whether there was one. */
static bool note_marks(const char *bytes, size_t size)
{
    bool found = false;
    for (size_t i = 0; i + 7 <= size; i++) {
        char *end = NULL;
        if (tolower(bytes[i]) != 'm' || strncasecmp(bytes + i, "mark-", 5) != 0 ||
            !isdigit((unsigned char)bytes[i + 5])) {
            continue;
        }
        const unsigned long number = strtoul(bytes + i + 5, &end, 10);
        const int half = tolower(*end);
        if (number < WORLD_MARKS_MAX && (half == 'b' || half == 'c')) {
            heard[number * 2 + (half == 'c')] = 1;
            found = true;
        }
    }
    return found;
}

static void say(const handle *to, const char *text, size_t size)
{
    (void)send(to->fd, text, size, MSG_NOSIGNAL);
}

static void say_line(const handle *to, const char *text)
{
    say(to, text, strlen(text));
}

static void end_answer(handle *to)
{
    if (to->closes) {
        (void)shutdown(to->fd, SHUT_WR);
        to->kind = DRAINS;
    }
}

static void answer_request(handle *to)
{
    char text[512];
    char content[128];
    const int size = snprintf(content, sizeof content, "%s %zu\n", to->is_marked ? secret : "world",
                              to->received);
    if (strstr(to->head, "/chunked") != NULL) {
        (void)snprintf(text, sizeof text,
                       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
                       (unsigned)size, content);
    } else {
        (void)snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", size,
                       content);
    }
    say_line(to, text);
    to->head_size = 0;
    to->received = 0;
    end_answer(to);
}

/* The value of a field of the head; NULL: it has none. */
static const char *field(const handle *of, const char *name)
{
    const char *at = strcasestr(of->head, name);
    return at == NULL ? NULL : at + strlen(name);
}

/* The head is whole. */
static void begin_request(handle *of)
{
    const char *length = field(of, "\ncontent-length:");
    const char *coding = field(of, "\ntransfer-encoding:");
    const char *upgrade = field(of, "\nupgrade: websocket");
    of->body = length == NULL ? 0 : strtoul(length, NULL, 10);
    of->is_chunked = length == NULL && coding != NULL && strncasecmp(coding, " chunked", 8) == 0;
    of->closes = field(of, "\nconnection: close") != NULL;
    of->received = 0;
    if (strncmp(of->head, "CONNECT ", 8) == 0) {
        char text[256];
        (void)snprintf(text, sizeof text, "HTTP/1.1 200 %s\r\n\r\n", of->is_marked ? secret : "OK");
        say_line(of, text);
        of->kind = MUTE;
    } else if (upgrade != NULL) {
        say_line(of, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                     "Connection: Upgrade\r\n"
                     "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
        of->kind = MUTE;
    } else if (field(of, "\nexpect: 100-continue") != NULL) {
        say_line(of, "HTTP/1.1 100 Continue\r\n\r\n");
    }
}

/* Takes bytes of requests; more than one may be in them. */
static void take_http(handle *of, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size && of->kind == HTTP; i++) {
        if (of->body > 0) {
            of->body--;
            of->received++;
        } else if (of->is_chunked) {
            /* The last chunk is the only one that ends so in what the rows send. */
            of->head[of->head_size++ % 8] = bytes[i];
            of->received++;
            bool ends = of->received >= 5;
            for (size_t j = 0; j < 5 && ends; j++) {
                ends = of->head[(of->head_size - 5 + j) % 8] == "0\r\n\r\n"[j];
            }
            of->is_chunked = !ends;
        } else {
            if (of->head_size + 1 >= HEAD_MAX) {
                of->kind = MUTE;
                return;
            }
            of->head[of->head_size++] = bytes[i];
            of->head[of->head_size] = '\0';
            const bool is_whole =
                of->head_size > 4 && (strcmp(of->head + of->head_size - 4, "\r\n\r\n") == 0 ||
                                      strcmp(of->head + of->head_size - 2, "\n\n") == 0);
            if (!is_whole) {
                continue;
            }
            begin_request(of);
        }
        if (of->kind == HTTP && of->body == 0 && !of->is_chunked) {
            answer_request(of);
        }
    }
}

static void take_query(const handle *from, size_t size)
{
    unsigned char answer[514];
    const unsigned char *bytes = (const unsigned char *)chunk + TAIL;
    const size_t answered = size < 2 ? 0 : world_names_answer(bytes + 2, size - 2, answer + 2);
    answer[0] = (unsigned char)(answered >> 8);
    answer[1] = (unsigned char)answered;
    if (answered != 0) {
        say(from, (const char *)answer, answered + 2);
    }
}

/* A connection's bytes; false: it has ended. */
static bool take_bytes(handle *of)
{
    const ssize_t got = recv(of->fd, chunk + TAIL, CHUNK, 0);
    if (got <= 0) {
        return got < 0 && errno == EAGAIN;
    }
    /* A mark may be in two pieces. */
    (void)memcpy(chunk, of->tail, TAIL);
    chunk[TAIL + got] = '\0';
    of->is_marked = note_marks(chunk, TAIL + (size_t)got) || of->is_marked;
    (void)memcpy(of->tail, chunk + got, TAIL);
    if (of->kind == HTTP && of->head_size == 0 && of->body == 0 && chunk[TAIL] == 0x16) {
        of->kind = MUTE; /* TLS on the wrong port */
    }
    if (of->kind == HTTP) {
        take_http(of, chunk + TAIL, (size_t)got);
    } else if (of->kind == NAMES) {
        take_query(of, (size_t)got);
    } else if ((of->kind == MUTE || of->kind == GREETS) && of->is_marked) {
        /* An alert of TLS, so that a client of TLS gets something it can read. */
        char text[128] = "\x15\x03\x03\x00\x02\x02\x28";
        (void)snprintf(text + 7, sizeof text - 7, "%s\n", secret);
        say(of, text, 7 + strlen(secret) + 1);
        of->closes = true;
        end_answer(of);
    }
    return true;
}

static void take_datagrams(const handle *of)
{
    struct sockaddr_storage sender;
    for (;;) {
        socklen_t size = sizeof sender;
        unsigned char answer[512];
        const ssize_t got =
            recvfrom(of->fd, chunk + TAIL, CHUNK, 0, (struct sockaddr *)&sender, &size);
        if (got < 0) {
            return;
        }
        chunk[TAIL + got] = '\0';
        const bool leaves =
            of->kind == WATCHES &&
            ((const struct sockaddr_ll *)(const void *)&sender)->sll_pkttype == PACKET_OUTGOING;
        if (!leaves) {
            (void)note_marks(chunk + TAIL, (size_t)got);
        }
        const size_t answered =
            of->kind == NAMES
                ? world_names_answer((const unsigned char *)chunk + TAIL, (size_t)got, answer)
                : 0;
        if (answered != 0) {
            (void)sendto(of->fd, answer, answered, 0, (const struct sockaddr *)&sender, size);
        }
    }
}

static void take_connection(const handle *of)
{
    const int fd = accept4(of->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    handle *added = fd < 0 ? NULL : add_handle(fd, of->kind, false);
    if (added == NULL) {
        return;
    }
    if (of->kind == GREETS) {
        say_line(added, "SSH-2.0-world\r\n");
    } else if (of->kind == PRIVATE) {
        char text[256];
        (void)snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
                       strlen(secret), secret);
        say_line(added, text);
        added->closes = true;
        end_answer(added);
    }
}

static bool is_stream(const handle *of)
{
    int type = 0;
    socklen_t size = sizeof type;
    return of->kind != WATCHES && getsockopt(of->fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_STREAM;
}

/* Deals with what has arrived; returns how many sockets had something, those that settle aside. */
static int step(int timeout_ms)
{
    struct pollfd polls[HANDLES_MAX];
    const size_t count = handle_count;
    int busy = 0;
    for (size_t i = 0; i < count; i++) {
        const bool waits = handles[i]->kind == SETTLES && !handles[i]->listens;
        polls[i] = (struct pollfd){.fd = waits ? -1 : handles[i]->fd, .events = POLLIN};
    }
    if (poll(polls, count, timeout_ms) < 0) {
        return 0;
    }
    for (size_t i = count; i-- > 0;) {
        handle *of = handles[i];
        if (polls[i].revents == 0) {
            continue;
        }
        busy++;
        if (of->listens) {
            take_connection(of);
        } else if (!is_stream(of)) {
            take_datagrams(of);
        } else if (!take_bytes(of)) {
            (void)close(of->fd);
            free(of);
            handles[i] = handles[--handle_count];
        }
    }
    return busy;
}

/* Closes the connections of clients that wait until all was dealt with. */
static void settle(void)
{
    for (size_t i = handle_count; i-- > 0;) {
        if (handles[i]->kind == SETTLES && !handles[i]->listens) {
            (void)close(handles[i]->fd);
            free(handles[i]);
            handles[i] = handles[--handle_count];
        }
    }
}

void world_server_run(const char *token, unsigned char *marks)
{
    secret = token;
    heard = marks;
    for (;;) {
        (void)step(-1);
        while (step(0) != 0) {
        }
        settle();
    }
}
