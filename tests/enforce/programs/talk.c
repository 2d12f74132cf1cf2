/* Acts that speak a protocol over TCP: the row has the text that is sent. */
#include "enforce/programs/talk.h"

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "enforce/programs/escape.h"

enum { ANSWER_MAX = 65536, PATIENCE_MS = 4000 };

static int set_patience(int fd)
{
    const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
                   setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0
               ? 0
               : errno;
}

int talk_connect(const char *host, const char *port, int *out)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int number = EHOSTUNREACH;
    const int result = getaddrinfo(host, port, &hints, &found);
    *out = -1;
    if (result != 0) {
        return result == EAI_NONAME ? ENOENT : EHOSTUNREACH;
    }
    for (const struct addrinfo *at = found; at != NULL && *out < 0; at = at->ai_next) {
        const int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        number = fd < 0 ? errno : set_patience(fd);
        if (number == 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
            *out = fd;
        } else if (fd >= 0) {
            number = number != 0 ? number : errno;
            (void)close(fd);
        }
    }
    freeaddrinfo(found);
    return *out < 0 ? number : 0;
}

int talk_send(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0) {
            return errno;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
    return 0;
}

static int hexadecimal(char digit)
{
    return isdigit((unsigned char)digit) ? digit - '0' : tolower(digit) - 'a' + 10;
}

size_t talk_unfold(const char *text, size_t length, char *out)
{
    const char *begin = out;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '+') {
            *out++ = ' ';
        } else if (text[i] == '~') {
            *out++ = '\r';
            *out++ = '\n';
        } else if (text[i] == '$' && i + 2 < length) {
            *out++ = (char)(hexadecimal(text[i + 1]) * 16 + hexadecimal(text[i + 2]));
            i += 2;
        } else {
            *out++ = text[i];
        }
    }
    return (size_t)(out - begin);
}

/* Whether the bytes are a whole answer of HTTP, or no HTTP at all. Interim ones do not count. */
static bool is_whole(const char *bytes, size_t size)
{
    const char *end = strstr(bytes, "\r\n\r\n");
    if (size < 5) {
        return false;
    }
    if (strncmp(bytes, "HTTP/", 5) != 0) {
        return true;
    }
    if (end != NULL && strncmp(bytes + 9, "100", 3) == 0) {
        return is_whole(end + 4, size - (size_t)(end + 4 - bytes));
    }
    if (end == NULL) {
        return false;
    }
    const char *length = strcasestr(bytes, "\ncontent-length:");
    const char *coding = strcasestr(bytes, "\ntransfer-encoding: chunked");
    const size_t body = size - (size_t)(end + 4 - bytes);
    if (coding != NULL && coding < end) {
        return size >= 5 && memcmp(bytes + size - 5, "0\r\n\r\n", 5) == 0;
    }
    return length == NULL || length > end || body >= strtoul(length + 16, NULL, 10);
}

int talk_hear(int fd)
{
    static char answer[ANSWER_MAX];
    size_t size = 0;
    answer[0] = '\0';
    while (size + 1 < sizeof answer && !is_whole(answer, size)) {
        const ssize_t got = recv(fd, answer + size, sizeof answer - 1 - size, 0);
        if (got <= 0) {
            const int number = got == 0 ? ECONNRESET : errno == EAGAIN ? ETIMEDOUT : errno;
            (void)fwrite(answer, 1, size, stdout);
            return size > 0 ? 0 : number;
        }
        size += (size_t)got;
        answer[size] = '\0';
    }
    (void)fwrite(answer, 1, size, stdout);
    return 0;
}

/* The interim answer that a client with Expect waits for. */
static int hear_continue(int fd)
{
    static const char wanted[] = "HTTP/1.1 100";
    char bytes[256];
    const ssize_t got = recv(fd, bytes, sizeof bytes, 0);
    return got < 0 ? errno
           : (size_t)got < sizeof wanted - 1 || memcmp(bytes, wanted, sizeof wanted - 1) != 0
               ? EPROTO
               : 0;
}

/* Sends the parts of a text, with "|" between them, and waits for an answer to each. */
static int send_parts(int fd, const char *text)
{
    char *bytes = malloc(strlen(text) * 2 + 1);
    int number = bytes == NULL ? ENOMEM : 0;
    for (const char *part = text; part != NULL && number == 0;) {
        const char *next = strchr(part, '|');
        const size_t length = next == NULL ? strlen(part) : (size_t)(next - part);
        number = talk_send(fd, bytes, talk_unfold(part, length, bytes));
        number = number != 0 ? number : talk_hear(fd);
        part = next == NULL ? NULL : next + 1;
    }
    free(bytes);
    return number;
}

int escape_talk(char **argv)
{
    int fd = -1;
    int number = talk_connect(argv[0], argv[1], &fd);
    number = number != 0 ? number : send_parts(fd, argv[2]);
    (void)(fd < 0 ? 0 : close(fd));
    return number;
}

/* For a server that speaks first. */
int escape_say(char **argv)
{
    int fd = -1;
    char bytes[512];
    const size_t length = strlen(argv[2]);
    const int number = talk_connect(argv[0], argv[1], &fd);
    if (number != 0 || length > sizeof bytes / 2) {
        return number != 0 ? number : E2BIG;
    }
    const int result = talk_hear(fd);
    const int sent =
        result != 0 ? result : talk_send(fd, bytes, talk_unfold(argv[2], length, bytes));
    const int heard = sent != 0 ? sent : talk_hear(fd);
    (void)close(fd);
    return heard;
}

/* argv: host, port, text, ms. Connects to a server that speaks first, and sends much later. */
int escape_linger(char **argv)
{
    int fd = -1;
    const long wait_ms = escape_number(argv[3]);
    const struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000};
    int number = talk_connect(argv[0], argv[1], &fd);
    number = number != 0 ? number : talk_hear(fd);
    (void)(number != 0 ? 0 : nanosleep(&wait, NULL));
    number = number != 0 ? number : talk_send(fd, argv[2], strlen(argv[2]));
    number = number != 0 ? number : talk_hear(fd);
    (void)(fd < 0 ? 0 : close(fd));
    return number;
}

/* argv: host, port, path, bytes, and how the body is sent: length, chunked or expect. */
int escape_upload(char **argv)
{
    int fd = -1;
    char head[512];
    char block[4096];
    const bool is_chunked = strcmp(argv[4], "chunked") == 0;
    const bool expects = strcmp(argv[4], "expect") == 0;
    size_t left = (size_t)escape_number(argv[3]);
    int number = talk_connect(argv[0], argv[1], &fd);
    if (number != 0) {
        return number;
    }
    char coding[64];
    (void)snprintf(coding, sizeof coding, "Content-Length: %zu", left);
    (void)snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n\r\n", argv[2],
                   argv[0], expects ? "Expect: 100-continue\r\n" : "",
                   is_chunked ? "Transfer-Encoding: chunked" : coding);
    number = talk_send(fd, head, strlen(head));
    if (number == 0 && expects) {
        number = hear_continue(fd);
    }
    (void)memset(block, 'x', sizeof block);
    while (left > 0 && number == 0) {
        const size_t size = left < sizeof block ? left : sizeof block;
        if (is_chunked) {
            (void)snprintf(head, sizeof head, "%zx\r\n", size);
            number = talk_send(fd, head, strlen(head));
        }
        number = number != 0 ? number : talk_send(fd, block, size);
        number = number != 0 || !is_chunked ? number : talk_send(fd, "\r\n", 2);
        left -= size;
    }
    number = number != 0 || !is_chunked ? number : talk_send(fd, "0\r\n\r\n", 5);
    number = number != 0 ? number : talk_hear(fd);
    (void)close(fd);
    return number;
}
