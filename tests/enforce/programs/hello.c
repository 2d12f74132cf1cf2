/* The first message of TLS, written by hand: what a library would never send is in it, too. */
#include "enforce/programs/escape.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "enforce/programs/talk.h"

enum { HELLO_MAX = 40000, RECORD_MAX = 16000 };

typedef struct bytes {
    size_t size;
    char at[HELLO_MAX];
} bytes;

static void put(bytes *out, const void *from, size_t size)
{
    if (out->size + size <= sizeof out->at) {
        (void)memcpy(out->at + out->size, from, size);
        out->size += size;
    }
}

static void put_number(bytes *out, size_t value, int width)
{
    for (int i = width - 1; i >= 0; i--) {
        const char byte = (char)(value >> (8 * i));
        put(out, &byte, 1);
    }
}

/* Writes the length of what was put after it; `at` is where its bytes are. */
static void close_length(bytes *out, size_t at, int width)
{
    const size_t end = out->size;
    out->size = at;
    put_number(out, end - at - (size_t)width, width);
    out->size = end;
}

static size_t open_length(bytes *out, int width)
{
    const size_t at = out->size;
    put_number(out, 0, width);
    return at;
}

/* The extension with one name, or with two. */
static void put_names(bytes *out, const char *name, const char *other)
{
    put_number(out, 0, 2);
    const size_t whole = open_length(out, 2);
    const size_t list = open_length(out, 2);
    for (int i = 0; i < (other == NULL ? 1 : 2); i++) {
        const char *text = i == 0 ? name : other;
        put_number(out, 0, 1);
        put_number(out, strlen(text), 2);
        put(out, text, strlen(text));
    }
    close_length(out, list, 2);
    close_length(out, whole, 2);
}

/* The message without the heads of records. The mark is in the session's id, so that it is seen
 * wherever the message arrives. */
static void write_hello(bytes *out, const char *variant, const char *name, const char *mark)
{
    static const unsigned char rest[] = {
        0x00, 0x02, 0x13, 0x01, 0x01, 0x00 /* one cipher, no compression */
    };
    static const unsigned char versions[] = {0x00, 0x2b, 0x00, 0x03, 0x02, 0x03, 0x04};
    const bool is_padded = strcmp(variant, "padded") == 0;
    const bool is_oversized = strcmp(variant, "oversized") == 0;
    out->size = 0;
    put_number(out, 1, 1);
    const size_t whole = open_length(out, 3);
    put_number(out, 0x0303, 2);
    put(out, "0123456789abcdef0123456789abcdef", 32);
    put_number(out, 32, 1);
    char id[33];
    (void)snprintf(id, sizeof id, "%-32.32s", mark);
    put(out, id, 32);
    put(out, rest, sizeof rest);
    const size_t extensions = open_length(out, 2);
    put(out, versions, sizeof versions);
    if (is_padded || is_oversized) {
        static const char zeros[20000];
        const size_t size = is_padded ? 12000 : 20000;
        put_number(out, 21, 2);
        put_number(out, size, 2);
        put(out, zeros, size);
    }
    if (strcmp(variant, "twice") == 0) {
        put_names(out, name, mark);
    } else if (strcmp(variant, "again") == 0) {
        put_names(out, name, NULL);
        put_names(out, mark, NULL);
    } else if (strcmp(variant, "nameless") != 0) {
        put_names(out, name, NULL);
    }
    close_length(out, extensions, 2);
    close_length(out, whole, 3);
}

/* Puts the message in records of a length at most. */
static void write_records(bytes *out, const bytes *message, size_t most)
{
    out->size = 0;
    for (size_t at = 0; at < message->size; at += most) {
        const size_t size = message->size - at < most ? message->size - at : most;
        put(out, "\x16\x03\x01", 3);
        put_number(out, size, 2);
        put(out, message->at + at, size);
    }
}

/* argv: host, port, variant, name, mark. */
static int send_hello(int fd, char **argv)
{
    static bytes message;
    static bytes records;
    const char *variant = argv[2];
    const int on = 1;
    int number = 0;
    write_hello(&message, variant, argv[3], argv[4]);
    write_records(&records, &message, strcmp(variant, "records") == 0 ? 60 : RECORD_MAX);
    if (strcmp(variant, "split") != 0) {
        number = talk_send(fd, records.at, records.size);
    } else {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        for (size_t i = 0; i < records.size && number == 0; i++) {
            number = talk_send(fd, records.at + i, 1);
        }
    }
    return number != 0 ? number : talk_hear(fd);
}

int escape_hello(char **argv)
{
    int fd = -1;
    int number = talk_connect(argv[0], argv[1], &fd);
    number = number != 0 ? number : send_hello(fd, argv);
    (void)(fd < 0 ? 0 : close(fd));
    return number;
}

/* By the proxy of the host, or of the sandbox: CONNECT to the first two, then the message. */
int escape_connect_hello(char **argv)
{
    int fd = -1;
    char head[512];
    (void)snprintf(head, sizeof head, "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n", argv[0],
                   argv[1], argv[0], argv[1]);
    int number = talk_connect("127.0.0.1", "3128", &fd);
    number = number != 0 ? number : talk_send(fd, head, strlen(head));
    number = number != 0 ? number : talk_hear(fd);
    number = number != 0 ? number : send_hello(fd, argv);
    (void)(fd < 0 ? 0 : close(fd));
    return number;
}
