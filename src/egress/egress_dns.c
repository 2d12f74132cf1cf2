#include "egress/egress_dns.h"

enum {
    HEADER = 12,
    LABEL_MAX = 63,
    NAME_MAX_WIRE = 255,
    QUESTION_TAIL = 4,   /* type and class */
    RECORD_HEAD = 11,    /* of an OPT record: root name, type, class, TTL, length */
    ANSWER_NAME = 0xc00c /* a pointer to the question's name */
};

/* Types, classes and response codes (RFC 1035 §3.2, §4.1.1). */
enum { TYPE_A = 1, TYPE_PTR = 12, TYPE_OPT = 41, TYPE_ANY = 255 };
enum { CLASS_IN = 1, CLASS_ANY = 255 };
enum { NOERROR = 0, FORMERR = 1, SERVFAIL = 2, NXDOMAIN = 3, NOTIMP = 4, REFUSED = 5 };

/* Bits of the header's third and fourth byte. */
enum {
    FLAG_RESPONSE = 0x80,
    MASK_OPERATION = 0x78,
    FLAG_RECURSION_DESIRED = 0x01,
    FLAG_RECURSION_AVAILABLE = 0x80,
    FLAG_CHECKING_DISABLED = 0x10
};

typedef struct question {
    arcp_span bytes; /* name, type and class */
    unsigned type, class;
} question;

static unsigned byte_at(arcp_span bytes, size_t at)
{
    return (unsigned char)bytes.data[at];
}

static unsigned short_at(arcp_span bytes, size_t at)
{
    return byte_at(bytes, at) << 8 | byte_at(bytes, at + 1);
}

static void put_bytes(arcp__egress_dns_answer *out, const void *bytes, size_t size)
{
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void put_short(arcp__egress_dns_answer *out, unsigned value)
{
    const char bytes[] = {(char)(value >> 8), (char)value};
    put_bytes(out, bytes, sizeof bytes);
}

/* Reads a name without compression, as text into `name`. Returns its size in the message; 0: it is
 * malformed. */
static size_t read_name(arcp_span bytes, char name[ARCP__EGRESS_NAME_MAX + 1])
{
    size_t at = 0;
    size_t size = 0; /* of the text */
    while (at < bytes.size && byte_at(bytes, at) != 0) {
        const size_t label = byte_at(bytes, at++);
        /* A pointer has the upper two bits set, and no question needs one. With the zero byte at
         * its end a name has at most 255 bytes, so its text has at most 253. */
        if (label > LABEL_MAX || label >= bytes.size - at || at + label >= NAME_MAX_WIRE) {
            return 0;
        }
        if (size > 0) {
            name[size++] = '.';
        }
        for (size_t i = 0; i < label; i++, at++) {
            const char byte = bytes.data[at];
            name[size++] = byte > ' ' && byte < 0x7f && byte != '.' && byte != '\\' ? byte : '?';
        }
    }
    name[size] = '\0';
    return at < bytes.size ? at + 1 : 0;
}

/* Whether nothing follows the question, or one OPT record does. */
static bool ends_well(arcp_span rest, unsigned additional)
{
    if (additional == 0) {
        return rest.size == 0;
    }
    return additional == 1 && rest.size >= RECORD_HEAD && byte_at(rest, 0) == 0 &&
           short_at(rest, 1) == TYPE_OPT &&
           rest.size - RECORD_HEAD == short_at(rest, RECORD_HEAD - 2);
}

static bool read_question(arcp_span query, question *out, char name[ARCP__EGRESS_NAME_MAX + 1])
{
    const unsigned questions = short_at(query, 4);
    const unsigned records = short_at(query, 6) + short_at(query, 8);
    const arcp_span body = arcp_span_from(query, HEADER);
    if (questions != 1 || records != 0) {
        return false;
    }
    const size_t size = read_name(body, name);
    if (size == 0 || body.size - size < QUESTION_TAIL ||
        !ends_well(arcp_span_from(body, size + QUESTION_TAIL), short_at(query, 10))) {
        name[0] = '\0';
        return false;
    }
    *out = (question){.bytes = arcp_span_first(body, size + QUESTION_TAIL),
                      .type = short_at(body, size),
                      .class = short_at(body, size + 2)};
    return true;
}

/* The header of a response, with `questions` questions and `answers` answers. */
static void put_header(arcp__egress_dns_answer *out, arcp_span query, unsigned code,
                       unsigned questions, unsigned answers)
{
    const unsigned first = byte_at(query, 2);
    const unsigned second = byte_at(query, 3);
    out->size = 0;
    put_short(out, short_at(query, 0));
    put_short(out, (FLAG_RESPONSE | (first & (MASK_OPERATION | FLAG_RECURSION_DESIRED))) << 8 |
                       FLAG_RECURSION_AVAILABLE | (second & FLAG_CHECKING_DISABLED) | code);
    put_short(out, questions);
    put_short(out, answers);
    put_short(out, 0);
    put_short(out, 0);
}

/* The name of an address is asked for by programs that log it: that is no wish to reach it. */
static bool is_reverse(const question *asked, arcp_span name)
{
    return asked->type == TYPE_PTR && arcp_span_ends_with(name, ARCP_SPAN_LITERAL(".arpa"));
}

/* The response code for a question of class IN; *address: the record to answer with, or 0. */
static unsigned decide(arcp__egress_names *names, const question *asked,
                       arcp__egress_dns_answer *out, uint32_t *address)
{
    char canonical[ARCP__EGRESS_NAME_MAX + 1];
    /* '?' is no byte of a name, so what was replaced by it is no name here. */
    const bool is_name = arcp__egress_name_canonical(arcp_span_cstr(out->name), canonical);
    const arcp_span name = arcp_span_cstr(canonical);
    if (!is_name || !arcp__egress_names_may_reach(names, name)) {
        out->is_denied = out->name[0] != '\0' && !is_reverse(asked, name);
        return NXDOMAIN;
    }
    if (asked->type == TYPE_A || asked->type == TYPE_ANY) {
        *address = arcp__egress_names_address(names, name);
        return *address == 0 ? SERVFAIL : NOERROR;
    }
    return NOERROR;
}

void arcp__egress_dns_respond(arcp__egress_names *names, arcp_span query,
                              arcp__egress_dns_answer *out)
{
    out->size = 0;
    out->is_denied = false;
    out->name[0] = '\0';
    if (query.size < HEADER || (byte_at(query, 2) & FLAG_RESPONSE) != 0) {
        return;
    }
    if ((byte_at(query, 2) & MASK_OPERATION) != 0) {
        put_header(out, query, NOTIMP, 0, 0);
        return;
    }
    question asked;
    if (!read_question(query, &asked, out->name)) {
        put_header(out, query, FORMERR, 0, 0);
        return;
    }
    uint32_t address = 0;
    const bool is_internet = asked.class == CLASS_IN || asked.class == CLASS_ANY;
    const unsigned code = is_internet ? decide(names, &asked, out, &address) : REFUSED;
    put_header(out, query, code, 1, address == 0 ? 0 : 1);
    put_bytes(out, asked.bytes.data, asked.bytes.size);
    if (address != 0) {
        put_short(out, ANSWER_NAME);
        put_short(out, TYPE_A);
        put_short(out, CLASS_IN);
        put_short(out, 0);
        put_short(out, ARCP__EGRESS_DNS_TTL_SEC);
        put_short(out, sizeof address);
        put_short(out, address >> 16);
        put_short(out, address & 0xffff);
    }
}
