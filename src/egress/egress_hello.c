/* A TLS ClientHello (RFC 8446 §4.1.2, RFC 6066 §3), which may be split over several records. Only
 * its server name matters here: everything else is skipped by its length. */
#include "egress/egress_hello.h"

enum {
    RECORD_HEAD = 5,
    RECORD_MAX = 16384,
    RECORD_HANDSHAKE = 22,
    MESSAGE_HEAD = 4,
    MESSAGE_CLIENT_HELLO = 1,
    RANDOM = 32,
    SESSION_ID_MAX = 32,
    EXTENSION_SERVER_NAME = 0,
    NAME_TYPE_HOST = 0
};

static size_t number(arcp_span bytes, size_t at, size_t size)
{
    size_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value = value << 8 | (unsigned char)bytes.data[at + i];
    }
    return value;
}

/* Takes a vector, whose length is written in `width` bytes before it; false: it is cut off. */
static bool take_vector(arcp_span *rest, size_t width, arcp_span *out)
{
    if (rest->size < width) {
        return false;
    }
    const size_t size = number(*rest, 0, width);
    if (rest->size - width < size) {
        return false;
    }
    *out = arcp_span_first(arcp_span_from(*rest, width), size);
    *rest = arcp_span_from(*rest, width + size);
    return true;
}

/* Reads the list of names of the extension: one, of a host. */
static bool read_server_name(arcp_span extension, arcp__egress_hello *out)
{
    arcp_span list;
    arcp_span name;
    if (!take_vector(&extension, 2, &list) || extension.size != 0 || list.size == 0 ||
        list.data[0] != NAME_TYPE_HOST) {
        return false;
    }
    list = arcp_span_from(list, 1);
    /* A dot at the end is not part of a server name. */
    return take_vector(&list, 2, &name) && list.size == 0 && name.size > 0 &&
           name.data[name.size - 1] != '.' && arcp__egress_name_canonical(name, out->name);
}

static arcp__egress_hello_result read_extensions(arcp_span extensions, arcp__egress_hello *out)
{
    arcp__egress_hello_result result = ARCP__EGRESS_HELLO_UNNAMED;
    while (extensions.size > 0) {
        if (extensions.size < 2) {
            return ARCP__EGRESS_HELLO_INVALID;
        }
        const size_t type = number(extensions, 0, 2);
        arcp_span data;
        extensions = arcp_span_from(extensions, 2);
        if (!take_vector(&extensions, 2, &data)) {
            return ARCP__EGRESS_HELLO_INVALID;
        }
        if (type != EXTENSION_SERVER_NAME) {
            continue;
        }
        if (result == ARCP__EGRESS_HELLO_NAMED || !read_server_name(data, out)) {
            return ARCP__EGRESS_HELLO_INVALID;
        }
        result = ARCP__EGRESS_HELLO_NAMED;
    }
    return result;
}

static arcp__egress_hello_result read_body(arcp_span body, arcp__egress_hello *out)
{
    arcp_span session;
    arcp_span ciphers;
    arcp_span compression;
    arcp_span extensions;
    if (body.size < 2 + RANDOM) {
        return ARCP__EGRESS_HELLO_INVALID;
    }
    body = arcp_span_from(body, 2 + RANDOM);
    if (!take_vector(&body, 1, &session) || session.size > SESSION_ID_MAX ||
        !take_vector(&body, 2, &ciphers) || ciphers.size == 0 || ciphers.size % 2 != 0 ||
        !take_vector(&body, 1, &compression) || compression.size == 0) {
        return ARCP__EGRESS_HELLO_INVALID;
    }
    if (body.size == 0) {
        return ARCP__EGRESS_HELLO_UNNAMED; /* before TLS 1.3 there may be no extensions */
    }
    if (!take_vector(&body, 2, &extensions) || body.size != 0) {
        return ARCP__EGRESS_HELLO_INVALID;
    }
    return read_extensions(extensions, out);
}

/* Collects the message from its records; MORE or INVALID, or NAMED: it is complete. */
static arcp__egress_hello_result collect(arcp_span bytes, char message[ARCP__EGRESS_HELLO_MAX],
                                         size_t *size)
{
    size_t wanted = MESSAGE_HEAD;
    *size = 0;
    for (size_t at = 0; *size < wanted;) {
        const arcp_span rest = arcp_span_from(bytes, at);
        /* The bytes of a head must be right as soon as they are there, and there must be room. */
        if ((rest.size > 0 && rest.data[0] != RECORD_HANDSHAKE) ||
            (rest.size > 1 && rest.data[1] != 3) || at + RECORD_HEAD >= ARCP__EGRESS_HELLO_MAX) {
            return ARCP__EGRESS_HELLO_INVALID;
        }
        if (rest.size < RECORD_HEAD) {
            return ARCP__EGRESS_HELLO_MORE;
        }
        const size_t length = number(rest, 3, 2);
        const arcp_span part = arcp_span_first(arcp_span_from(rest, RECORD_HEAD), length);
        if (length == 0 || length > RECORD_MAX ||
            at + RECORD_HEAD + length > ARCP__EGRESS_HELLO_MAX) {
            return ARCP__EGRESS_HELLO_INVALID;
        }
        memcpy(message + *size, part.data, part.size);
        *size += part.size;
        if (*size > 0 && message[0] != MESSAGE_CLIENT_HELLO) {
            return ARCP__EGRESS_HELLO_INVALID;
        }
        if (*size >= MESSAGE_HEAD) {
            wanted = MESSAGE_HEAD + number(arcp_span_make(message, MESSAGE_HEAD), 1, 3);
            /* It cannot fit any more, or another message follows it in the same record. */
            if (wanted > ARCP__EGRESS_HELLO_MAX - RECORD_HEAD ||
                *size - part.size + length > wanted) {
                return ARCP__EGRESS_HELLO_INVALID;
            }
        }
        if (part.size < length) {
            return ARCP__EGRESS_HELLO_MORE;
        }
        at += RECORD_HEAD + length;
    }
    return ARCP__EGRESS_HELLO_NAMED;
}

arcp__egress_hello_result arcp__egress_hello_read(arcp_span bytes, arcp__egress_hello *out)
{
    char message[ARCP__EGRESS_HELLO_MAX];
    size_t size = 0;
    out->name[0] = '\0';
    if (bytes.size > 0 && bytes.data[0] != RECORD_HANDSHAKE) {
        return ARCP__EGRESS_HELLO_NOT_TLS;
    }
    arcp__egress_hello_result result = collect(bytes, message, &size);
    if (result == ARCP__EGRESS_HELLO_NAMED) {
        result = read_body(arcp_span_from(arcp_span_make(message, size), MESSAGE_HEAD), out);
    }
    if (result != ARCP__EGRESS_HELLO_NAMED) {
        out->name[0] = '\0';
    }
    return result;
}
