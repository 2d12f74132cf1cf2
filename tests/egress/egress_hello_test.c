/* The first bytes of a connection: ClientHellos as programs send them, and as an attacker would. */
#include "egress/egress_hello.h"

#include "support/check.h"

enum { RECORD_HEAD = 5 };

typedef struct bytes {
    unsigned char data[2 * ARCP__EGRESS_HELLO_MAX];
    size_t size;
} bytes;

static void put(bytes *out, size_t value, size_t size)
{
    for (size_t i = size; i-- > 0;) {
        out->data[out->size++] = (unsigned char)(value >> (8 * i));
    }
}

static void put_text(bytes *out, const char *text)
{
    memcpy(out->data + out->size, text, strlen(text));
    out->size += strlen(text);
}

static void put_bytes(bytes *out, const bytes *more)
{
    memcpy(out->data + out->size, more->data, more->size);
    out->size += more->size;
}

/* An entry of the list of names. */
static void put_entry(bytes *out, unsigned type, const char *name)
{
    put(out, type, 1);
    put(out, strlen(name), 2);
    put_text(out, name);
}

/* The extension server_name with the entries. */
static void put_server_name(bytes *out, const bytes *entries)
{
    put(out, 0, 2);
    put(out, entries->size + 2, 2);
    put(out, entries->size, 2);
    put_bytes(out, entries);
}

static void put_padding(bytes *out, size_t size)
{
    put(out, 21, 2);
    put(out, size, 2);
    for (size_t i = 0; i < size; i++) {
        put(out, 0, 1);
    }
}

/* The message with its head. */
static bytes message_of(const bytes *extensions, bool has_extensions)
{
    static bytes body;
    body.size = 0;
    put(&body, 0x0303, 2);
    for (size_t i = 0; i < 32; i++) {
        put(&body, i, 1);
    }
    put(&body, 32, 1);
    for (size_t i = 0; i < 32; i++) {
        put(&body, i, 1);
    }
    put(&body, 4, 2);
    put(&body, 0x13011302, 4);
    put(&body, 0x0100, 2);
    if (has_extensions) {
        put(&body, extensions->size, 2);
        put_bytes(&body, extensions);
    }
    bytes message = {.size = 0};
    put(&message, 1, 1);
    put(&message, body.size, 3);
    put_bytes(&message, &body);
    return message;
}

/* The message in records of at most `part` bytes. */
static bytes records_of(const bytes *message, size_t part)
{
    bytes out = {.size = 0};
    for (size_t at = 0; at < message->size; at += part) {
        const size_t size = message->size - at < part ? message->size - at : part;
        put(&out, 0x160301, 3);
        put(&out, size, 2);
        memcpy(out.data + out.size, message->data + at, size);
        out.size += size;
    }
    return out;
}

/* A hello with one name, in one record. */
static bytes hello_of(const char *name)
{
    bytes entries = {.size = 0};
    bytes extensions = {.size = 0};
    put_entry(&entries, 0, name);
    put(&extensions, 43, 2);
    put(&extensions, 3, 2);
    put(&extensions, 0x020304, 3);
    put_server_name(&extensions, &entries);
    const bytes message = message_of(&extensions, true);
    return records_of(&message, 16384);
}

static arcp__egress_hello_result read_bytes(const bytes *given, size_t size,
                                            arcp__egress_hello *hello)
{
    /* On the heap, so that a sanitizer sees a read beyond the end. */
    char *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, given->data, size);
    copy = realloc(copy, size == 0 ? 1 : size);
    assert_non_null(copy);
    const arcp__egress_hello_result result =
        arcp__egress_hello_read(arcp_span_make(copy, size), hello);
    free(copy);
    return result;
}

static void check_result(const bytes *given, arcp__egress_hello_result want, const char *name)
{
    arcp__egress_hello hello;
    memset(&hello, 'x', sizeof hello);
    assert_int_equal(read_bytes(given, given->size, &hello), want);
    assert_string_equal(hello.name, name);
}

static void a_name_is_read_in_canonical_form(void **state)
{
    (void)state;
    const bytes lower = hello_of("api.example.com");
    check_result(&lower, ARCP__EGRESS_HELLO_NAMED, "api.example.com");
    const bytes mixed = hello_of("API.Example.com");
    check_result(&mixed, ARCP__EGRESS_HELLO_NAMED, "api.example.com");
}

static void names_that_are_no_host_names_are_invalid(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",    "a..b", "1.2.3.4", "127.1", "0x7f000001", "[::1]", "::1",
        "a b", "a/b",  "a:443",   "h.",    "\xc3\xa4.b", "*.b",   "a\r\nHost:b"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const bytes hello = hello_of(texts[i]);
        check_result(&hello, ARCP__EGRESS_HELLO_INVALID, "");
    }
    bytes entries = {.size = 0};
    bytes extensions = {.size = 0};
    put(&entries, 0, 1);
    put(&entries, 7, 2);
    memcpy(entries.data + entries.size, "a.b\0c.d", 7);
    entries.size += 7;
    put_server_name(&extensions, &entries);
    const bytes message = message_of(&extensions, true);
    const bytes nul = records_of(&message, 16384);
    check_result(&nul, ARCP__EGRESS_HELLO_INVALID, "");
}

static void every_part_of_a_hello_is_its_beginning(void **state)
{
    (void)state;
    const bytes one = hello_of("api.example.com");
    bytes message = {.size = one.size - RECORD_HEAD};
    memcpy(message.data, one.data + RECORD_HEAD, message.size);
    for (size_t part = 1; part <= message.size; part++) {
        const bytes split = records_of(&message, part);
        arcp__egress_hello hello;
        for (size_t size = 0; size < split.size; size++) {
            if (read_bytes(&split, size, &hello) != ARCP__EGRESS_HELLO_MORE) {
                fail_msg("%zu bytes of records of %zu", size, part);
            }
            assert_string_equal(hello.name, "");
        }
        check_result(&split, ARCP__EGRESS_HELLO_NAMED, "api.example.com");
    }
}

static void what_follows_in_other_records_does_not_matter(void **state)
{
    (void)state;
    bytes hello = hello_of("api.example.com");
    put(&hello, 0x1703030002, 5); /* early data */
    put(&hello, 0xffff, 2);
    check_result(&hello, ARCP__EGRESS_HELLO_NAMED, "api.example.com");
    bytes broken = hello_of("api.example.com");
    put_text(&broken, "GET / HTTP/1.1");
    check_result(&broken, ARCP__EGRESS_HELLO_NAMED, "api.example.com");
}

static void a_hello_without_a_name_is_unnamed(void **state)
{
    (void)state;
    const bytes none = {.size = 0};
    bytes message = message_of(&none, false);
    bytes hello = records_of(&message, 16384);
    check_result(&hello, ARCP__EGRESS_HELLO_UNNAMED, "");
    message = message_of(&none, true);
    hello = records_of(&message, 16384);
    check_result(&hello, ARCP__EGRESS_HELLO_UNNAMED, "");
    bytes extensions = {.size = 0};
    put_padding(&extensions, 3);
    message = message_of(&extensions, true);
    hello = records_of(&message, 16384);
    check_result(&hello, ARCP__EGRESS_HELLO_UNNAMED, "");
}

static void two_names_are_invalid(void **state)
{
    (void)state;
    /* In one extension, of the same type and of another, in both orders. */
    static const unsigned types[][2] = {{0, 0}, {0, 1}, {1, 0}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        bytes entries = {.size = 0};
        bytes extensions = {.size = 0};
        put_entry(&entries, types[i][0], "a.example");
        put_entry(&entries, types[i][1], "b.example");
        put_server_name(&extensions, &entries);
        const bytes message = message_of(&extensions, true);
        const bytes hello = records_of(&message, 16384);
        check_result(&hello, ARCP__EGRESS_HELLO_INVALID, "");
    }
    /* In two extensions, equal and different. */
    static const char *const names[] = {"a.example", "b.example"};
    for (size_t i = 0; i < 2; i++) {
        bytes first = {.size = 0};
        bytes second = {.size = 0};
        bytes extensions = {.size = 0};
        put_entry(&first, 0, "a.example");
        put_entry(&second, 0, names[i]);
        put_server_name(&extensions, &first);
        put_padding(&extensions, 1);
        put_server_name(&extensions, &second);
        const bytes message = message_of(&extensions, true);
        const bytes hello = records_of(&message, 16384);
        check_result(&hello, ARCP__EGRESS_HELLO_INVALID, "");
    }
}

static void another_type_of_name_is_invalid(void **state)
{
    (void)state;
    bytes entries = {.size = 0};
    bytes extensions = {.size = 0};
    put_entry(&entries, 1, "a.example");
    put_server_name(&extensions, &entries);
    const bytes message = message_of(&extensions, true);
    const bytes hello = records_of(&message, 16384);
    check_result(&hello, ARCP__EGRESS_HELLO_INVALID, "");
}

/* An extension as a client must not send it. */
static void malformed_extensions_are_invalid(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {"\0\0\0\0", 4},              /* no list */
        {"\0\0\0\2\0\0", 6},          /* an empty list */
        {"\0\0\0\6\0\4\0\0\0a", 10},  /* data behind an empty name */
        {"\0\0\0\5\0\3\0\0\0", 9},    /* an empty name */
        {"\0\0\0\6\0\5\0\0\1a", 10},  /* a list that is cut off */
        {"\0\0\0\6\0\3\0\0\1a", 10},  /* a name that leaves its list */
        {"\0\0\0\7\0\4\0\0\1ab", 11}, /* data behind the list */
        {"\0\0\0\6\0\4\0\0\2a", 10},  /* a name that is cut off */
        {"\0\0\0\7\0\4\0\0\1a", 10},  /* an extension that is cut off */
        {"\0", 1},                    /* half a type */
        {"\0\25", 2},                 /* no length */
        {"\0\25\0", 3},               /* half a length */
        {"\0\25\0\1", 4},             /* no data */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes extensions = {.size = cases[i].size};
        memcpy(extensions.data, cases[i].bytes, cases[i].size);
        const bytes message = message_of(&extensions, true);
        const bytes hello = records_of(&message, 16384);
        arcp__egress_hello out;
        if (read_bytes(&hello, hello.size, &out) != ARCP__EGRESS_HELLO_INVALID) {
            fail_msg("case %zu", i);
        }
    }
    /* The same name, well written. */
    bytes extensions = {.size = 10};
    memcpy(extensions.data, "\0\0\0\6\0\4\0\0\1a", 10);
    const bytes message = message_of(&extensions, true);
    const bytes hello = records_of(&message, 16384);
    check_result(&hello, ARCP__EGRESS_HELLO_NAMED, "a");
}

/* One byte of a hello, changed. */
static void lengths_that_do_not_fit_are_invalid(void **state)
{
    (void)state;
    enum { MESSAGE = 5, SESSION = 43, CIPHERS = 76, COMPRESSION = 82, EXTENSIONS = 84 };
    static const struct {
        size_t at;
        unsigned char value;
    } cases[] = {
        {MESSAGE, 2},        /* a ServerHello */
        {SESSION, 33},       /* a session of more than 32 bytes */
        {CIPHERS + 1, 0},    /* no cipher */
        {CIPHERS + 1, 3},    /* one and a half */
        {CIPHERS, 1},        /* more than there is */
        {COMPRESSION, 0},    /* no method of compression */
        {COMPRESSION, 255},  /* more than there is */
        {EXTENSIONS, 1},     /* more than there is */
        {EXTENSIONS + 1, 1}, /* less than there is */
        {4, 0},              /* the record is shorter than the message, and another follows */
        {1, 2},              /* version 2 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes hello = hello_of("api.example.com");
        hello.data[cases[i].at] = cases[i].value;
        arcp__egress_hello out;
        if (read_bytes(&hello, hello.size, &out) != ARCP__EGRESS_HELLO_INVALID) {
            fail_msg("case %zu", i);
        }
    }
    /* The message is shorter than its record. */
    bytes hello = hello_of("api.example.com");
    hello.data[MESSAGE + 3]--;
    check_result(&hello, ARCP__EGRESS_HELLO_INVALID, "");
    /* It is longer: its next record has not come. */
    hello.data[MESSAGE + 3] = (unsigned char)(hello.data[MESSAGE + 3] + 2);
    check_result(&hello, ARCP__EGRESS_HELLO_MORE, "");
}

static void only_handshake_records_carry_a_hello(void **state)
{
    (void)state;
    const bytes one = hello_of("api.example.com");
    bytes message = {.size = one.size - RECORD_HEAD};
    memcpy(message.data, one.data + RECORD_HEAD, message.size);
    static const unsigned char kinds[] = {20, 21, 23, 24, 0, 'G'};
    for (size_t i = 0; i < sizeof kinds; i++) {
        bytes split = records_of(&message, 50);
        split.data[RECORD_HEAD + 50] = kinds[i];
        check_result(&split, ARCP__EGRESS_HELLO_INVALID, "");
        /* As soon as its first byte is there. */
        split.size = RECORD_HEAD + 51;
        check_result(&split, ARCP__EGRESS_HELLO_INVALID, "");
    }
    /* An empty record between two parts. */
    bytes gap = records_of(&message, 50);
    gap.data[RECORD_HEAD + 50 + 3] = 0;
    gap.data[RECORD_HEAD + 50 + 4] = 0;
    check_result(&gap, ARCP__EGRESS_HELLO_INVALID, "");
}

static void other_protocols_are_not_tls(void **state)
{
    (void)state;
    static const char *const texts[] = {"GET / HTTP/1.1\r\n",
                                        "CONNECT h:443 HTTP/1.1\r\n",
                                        "PRI * HTTP/2.0\r\n",
                                        "SSH-2.0-x\r\n",
                                        " ",
                                        "\x17\3\3",
                                        "\x15\3\3"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        arcp__egress_hello hello;
        assert_int_equal(arcp__egress_hello_read(arcp_span_cstr(texts[i]), &hello),
                         ARCP__EGRESS_HELLO_NOT_TLS);
    }
    /* A hello of SSL 2 begins with its length. */
    bytes old = {.size = 0};
    put(&old, 0x802e010002, 5);
    check_result(&old, ARCP__EGRESS_HELLO_NOT_TLS, "");
    arcp__egress_hello hello;
    assert_int_equal(arcp__egress_hello_read(arcp_span_make(NULL, 0), &hello),
                     ARCP__EGRESS_HELLO_MORE);
}

/* The message of a hello that is filled up with padding. */
static bytes padded_message(size_t padding)
{
    bytes entries = {.size = 0};
    bytes extensions = {.size = 0};
    put_entry(&entries, 0, "api.example.com");
    put_server_name(&extensions, &entries);
    put_padding(&extensions, padding);
    return message_of(&extensions, true);
}

static void a_hello_has_at_most_16_kib(void **state)
{
    (void)state;
    const size_t padding = ARCP__EGRESS_HELLO_MAX - RECORD_HEAD - padded_message(0).size;
    bytes message = padded_message(padding);
    bytes hello = records_of(&message, 16384);
    assert_int_equal(hello.size, ARCP__EGRESS_HELLO_MAX);
    check_result(&hello, ARCP__EGRESS_HELLO_NAMED, "api.example.com");
    /* The heads of more records count, too. */
    hello = records_of(&message, 9000);
    check_result(&hello, ARCP__EGRESS_HELLO_INVALID, "");
    message = padded_message(padding + 1);
    hello = records_of(&message, 16384);
    check_result(&hello, ARCP__EGRESS_HELLO_INVALID, "");
    /* It is refused as soon as its length is there. */
    hello.size = RECORD_HEAD + 4;
    check_result(&hello, ARCP__EGRESS_HELLO_INVALID, "");
    hello = records_of(&message, 2000);
    hello.size = RECORD_HEAD + 4;
    check_result(&hello, ARCP__EGRESS_HELLO_INVALID, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_read_in_canonical_form),
        cmocka_unit_test(names_that_are_no_host_names_are_invalid),
        cmocka_unit_test(every_part_of_a_hello_is_its_beginning),
        cmocka_unit_test(what_follows_in_other_records_does_not_matter),
        cmocka_unit_test(a_hello_without_a_name_is_unnamed),
        cmocka_unit_test(two_names_are_invalid),
        cmocka_unit_test(another_type_of_name_is_invalid),
        cmocka_unit_test(malformed_extensions_are_invalid),
        cmocka_unit_test(lengths_that_do_not_fit_are_invalid),
        cmocka_unit_test(only_handshake_records_carry_a_hello),
        cmocka_unit_test(other_protocols_are_not_tls),
        cmocka_unit_test(a_hello_has_at_most_16_kib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
