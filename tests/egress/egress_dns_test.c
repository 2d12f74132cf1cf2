/* Answers of DNS: ENFORCE §5.2, RFC 1035, RFC 6891. */
#include "egress/egress_dns.h"

#include "egress/egress.h"
#include "egress/egress_rig.h"

enum { HEADER = 12, TYPE_A = 1, TYPE_AAAA = 28, TYPE_HTTPS = 65, CLASS_IN = 1 };
enum { NOERROR = 0, FORMERR = 1, SERVFAIL = 2, NXDOMAIN = 3, NOTIMP = 4, REFUSED = 5 };

/* A query as bytes. */
typedef struct message {
    unsigned char bytes[1024];
    size_t size;
} message;

static void put(message *query, unsigned value, size_t size)
{
    for (size_t i = size; i-- > 0;) {
        query->bytes[query->size++] = (unsigned char)(value >> (8 * i));
    }
}

static message begin(unsigned flags, unsigned questions, unsigned additional)
{
    message query = {.size = 0};
    put(&query, 0xbeef, 2);
    put(&query, flags, 2);
    put(&query, questions, 2);
    put(&query, 0, 4);
    put(&query, additional, 2);
    return query;
}

/* A dot ends a label. */
static void put_name(message *query, const char *name)
{
    while (*name != '\0') {
        const size_t size = strcspn(name, ".");
        put(query, (unsigned)size, 1);
        memcpy(query->bytes + query->size, name, size);
        query->size += size;
        name += size + (name[size] == '.' ? 1 : 0);
    }
    put(query, 0, 1);
}

static message query_of(const char *name, unsigned type)
{
    message query = begin(0x0100, 1, 0);
    put_name(&query, name);
    put(&query, type, 2);
    put(&query, CLASS_IN, 2);
    return query;
}

static void put_opt(message *query, size_t data)
{
    put(query, 0, 1);
    put(query, 41, 2);
    put(query, 1232, 2);
    put(query, 0, 4);
    put(query, (unsigned)data, 2);
    for (size_t i = 0; i < data; i++) {
        put(query, 0xaa, 1);
    }
}

static arcp_span span_of(const message *query)
{
    return arcp_span_make((const char *)query->bytes, query->size);
}

/* They reach api.example and the names below wild.example. */
static arcp__egress_names *names;

static void make_names(void)
{
    arcp_lease *lease = lease_of("https://api.example/**", "ssh://*.wild.example:22/**");
    names = names_of(lease);
    arcp_lease_unref(lease);
}

static unsigned code_of(const arcp__egress_dns_answer *answer)
{
    return (unsigned char)answer->bytes[3] & 0xf;
}

static unsigned count_at(const arcp__egress_dns_answer *answer, size_t at)
{
    return (unsigned)((unsigned char)answer->bytes[at] << 8 | (unsigned char)answer->bytes[at + 1]);
}

static arcp__egress_dns_answer respond(const message *query)
{
    arcp__egress_dns_answer answer;
    memset(&answer, 0xee, sizeof answer);
    arcp__egress_dns_respond(names, span_of(query), &answer);
    return answer;
}

/* Checks a response whose question is that of the query, with these counts. */
static void check_response(const message *query, const arcp__egress_dns_answer *answer,
                           unsigned code, unsigned answers)
{
    assert_true(answer->size >= HEADER && answer->size <= ARCP__EGRESS_DNS_MESSAGE_MAX);
    assert_memory_equal(answer->bytes, query->bytes, 2);
    assert_int_equal(code_of(answer), code);
    assert_int_equal((unsigned char)answer->bytes[2] & 0x80, 0x80);
    const bool has_question = code != FORMERR && code != NOTIMP;
    assert_int_equal(count_at(answer, 4), has_question);
    assert_int_equal(count_at(answer, 6), answers);
    assert_int_equal(count_at(answer, 8), 0);
    assert_int_equal(count_at(answer, 10), 0);
}

static void a_name_that_is_reached_has_an_address(void **state)
{
    (void)state;
    const message query = query_of("api.example", TYPE_A);
    const arcp__egress_dns_answer answer = respond(&query);
    check_response(&query, &answer, NOERROR, 1);
    static const unsigned char record[] = {0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4};
    assert_int_equal(answer.size, query.size + sizeof record + 4);
    assert_memory_equal(answer.bytes + HEADER, query.bytes + HEADER, query.size - HEADER);
    assert_memory_equal(answer.bytes + query.size, record, sizeof record);
    const unsigned char *address = (const unsigned char *)answer.bytes + query.size + sizeof record;
    const uint32_t found = (uint32_t)address[0] << 24 | (uint32_t)address[1] << 16 |
                           (uint32_t)address[2] << 8 | address[3];
    check_span(arcp__egress_names_find(names, found), "api.example");
    assert_false(answer.is_denied);
    assert_string_equal(answer.name, "api.example");
    /* The same address each time. */
    const arcp__egress_dns_answer again = respond(&query);
    assert_int_equal(again.size, answer.size);
    assert_memory_equal(again.bytes, answer.bytes, answer.size);
}

static void flags_say_that_recursion_is_available(void **state)
{
    (void)state;
    static const struct {
        unsigned asked, answered;
    } cases[] = {{0x0000, 0x8080}, {0x0100, 0x8180}, {0x0120, 0x8180},
                 {0x0130, 0x8190}, {0x0140, 0x8180}, {0x078f, 0x8180}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        message query = query_of("api.example", TYPE_A);
        query.bytes[2] = (unsigned char)(cases[i].asked >> 8);
        query.bytes[3] = (unsigned char)cases[i].asked;
        const arcp__egress_dns_answer answer = respond(&query);
        assert_int_equal(count_at(&answer, 2), cases[i].answered);
    }
}

static void the_question_is_echoed_in_its_case(void **state)
{
    (void)state;
    const message query = query_of("aPI.eXAmple", TYPE_A);
    const arcp__egress_dns_answer answer = respond(&query);
    check_response(&query, &answer, NOERROR, 1);
    assert_memory_equal(answer.bytes + HEADER, query.bytes + HEADER, query.size - HEADER);
    const message lower = query_of("api.example", TYPE_A);
    const arcp__egress_dns_answer other = respond(&lower);
    assert_memory_equal(answer.bytes + answer.size - 4, other.bytes + other.size - 4, 4);
}

typedef struct question_case {
    const char *name;
    unsigned type;
    unsigned code;
    unsigned answers;
    bool is_denied;
} question_case;

static void questions_are_answered_by_name_and_type(void **state)
{
    (void)state;
    static const question_case cases[] = {
        {"api.example", 255, NOERROR, 1, false}, /* ANY */
        {"api.example", TYPE_AAAA, NOERROR, 0, false},
        {"api.example", TYPE_HTTPS, NOERROR, 0, false},
        {"api.example", 64, NOERROR, 0, false},  /* SVCB */
        {"api.example", 16, NOERROR, 0, false},  /* TXT */
        {"api.example", 252, NOERROR, 0, false}, /* AXFR */
        {"a.b.wild.example", TYPE_A, NOERROR, 1, false},
        {"wild.example", TYPE_A, NXDOMAIN, 0, true},
        {"c2VjcmV0.api.example", TYPE_A, NXDOMAIN, 0, true},
        {"example", TYPE_A, NXDOMAIN, 0, true},
        {"other.example", TYPE_AAAA, NXDOMAIN, 0, true},
        {"other.example", 16, NXDOMAIN, 0, true},
        {"llm.arcp", TYPE_A, NXDOMAIN, 0, true},
        {"1.2.3.4", TYPE_A, NXDOMAIN, 0, true},
        {"16.0.18.198.in-addr.arpa", 12, NXDOMAIN, 0, false}, /* PTR */
        {"16.0.18.198.in-addr.arpa", TYPE_A, NXDOMAIN, 0, true},
        {"api.example.in-addr.arpa", 12, NXDOMAIN, 0, false},
        {"a\\b.example", TYPE_A, NXDOMAIN, 0, true},
        {"", 2, NXDOMAIN, 0, false}, /* the servers of the root */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const message query = query_of(cases[i].name, cases[i].type);
        const arcp__egress_dns_answer answer = respond(&query);
        check_response(&query, &answer, cases[i].code, cases[i].answers);
        if (answer.is_denied != cases[i].is_denied) {
            fail_msg("%s", cases[i].name);
        }
    }
}

static void a_name_that_is_no_text_is_denied_and_shown_as_text(void **state)
{
    (void)state;
    message query = begin(0x0100, 1, 0);
    static const char label[] = "a.b\\c \x1b\xc3\0d";
    put(&query, sizeof label - 1, 1);
    memcpy(query.bytes + query.size, label, sizeof label - 1);
    query.size += sizeof label - 1;
    put_name(&query, "example");
    put(&query, TYPE_A, 2);
    put(&query, CLASS_IN, 2);
    const arcp__egress_dns_answer answer = respond(&query);
    check_response(&query, &answer, NXDOMAIN, 0);
    assert_true(answer.is_denied);
    assert_string_equal(answer.name, "a?b?c????d.example");
}

/* A label "api.example" is not the name api.example. */
static void a_dot_within_a_label_is_not_a_name(void **state)
{
    (void)state;
    message query = begin(0x0100, 1, 0);
    put(&query, 11, 1);
    memcpy(query.bytes + query.size, "api.example", 11);
    query.size += 11;
    put(&query, 0, 1);
    put(&query, TYPE_A, 2);
    put(&query, CLASS_IN, 2);
    const arcp__egress_dns_answer answer = respond(&query);
    check_response(&query, &answer, NXDOMAIN, 0);
}

static void a_name_has_at_most_255_bytes(void **state)
{
    (void)state;
    for (size_t last = 61; last <= 62; last++) {
        message query = begin(0x0100, 1, 0);
        for (size_t i = 0; i < 4; i++) {
            const size_t size = i < 3 ? 63 : last;
            put(&query, (unsigned)size, 1);
            memset(query.bytes + query.size, 'a', size);
            query.size += size;
        }
        put(&query, 0, 1);
        put(&query, TYPE_A, 2);
        put(&query, CLASS_IN, 2);
        const arcp__egress_dns_answer answer = respond(&query);
        check_response(&query, &answer, last == 61 ? NXDOMAIN : FORMERR, 0);
        assert_int_equal(strlen(answer.name), last == 61 ? ARCP__EGRESS_NAME_MAX : 0);
    }
}

static void an_opt_record_is_accepted(void **state)
{
    (void)state;
    for (size_t data = 0; data < 30; data += 12) {
        message query = query_of("api.example", TYPE_A);
        query.bytes[11] = 1;
        put_opt(&query, data);
        const arcp__egress_dns_answer answer = respond(&query);
        check_response(&query, &answer, NOERROR, 1);
    }
}

static void another_class_is_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned class, code, answers;
    } cases[] = {{1, NOERROR, 1}, {255, NOERROR, 1}, {3, REFUSED, 0}, {0, REFUSED, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        message query = query_of("api.example", TYPE_A);
        query.bytes[query.size - 1] = (unsigned char)cases[i].class;
        const arcp__egress_dns_answer answer = respond(&query);
        check_response(&query, &answer, cases[i].code, cases[i].answers);
        assert_false(answer.is_denied);
    }
}

static void other_operations_are_not_implemented(void **state)
{
    (void)state;
    for (unsigned operation = 1; operation < 16; operation++) {
        message query = query_of("api.example", TYPE_A);
        query.bytes[2] = (unsigned char)(operation << 3 | 1);
        const arcp__egress_dns_answer answer = respond(&query);
        check_response(&query, &answer, NOTIMP, 0);
        assert_int_equal((unsigned char)answer.bytes[2], 0x80 | operation << 3 | 1);
        assert_int_equal(answer.size, HEADER);
    }
}

static void a_response_or_a_part_of_a_header_gets_no_response(void **state)
{
    (void)state;
    message query = query_of("api.example", TYPE_A);
    query.bytes[2] |= 0x80;
    assert_int_equal(respond(&query).size, 0);
    query.bytes[2] &= 0x7f;
    for (query.size = 0; query.size < HEADER; query.size++) {
        assert_int_equal(respond(&query).size, 0);
    }
    assert_int_equal(respond(&query).size, HEADER);
}

typedef struct malformed_case {
    const char *name;
    unsigned questions, answers, authorities, additional;
    const char *body;
    size_t size;
} malformed_case;

#define BODY(text) (text), sizeof(text) - 1

static const malformed_case malformed[] = {
    {"no question", 0, 0, 0, 0, BODY("")},
    {"two questions", 2, 0, 0, 0, BODY("\1a\0\0\1\0\1\1b\0\0\1\0\1")},
    {"an answer", 1, 1, 0, 0, BODY("\1a\0\0\1\0\1")},
    {"an authority", 1, 0, 1, 0, BODY("\1a\0\0\1\0\1")},
    {"no body", 1, 0, 0, 0, BODY("")},
    {"a name without its end", 1, 0, 0, 0, BODY("\1a")},
    {"a name that ends with its label", 1, 0, 0, 0, BODY("\3abc")},
    {"a label that is cut off", 1, 0, 0, 0, BODY("\5abc")},
    {"no type", 1, 0, 0, 0, BODY("\1a\0")},
    {"no class", 1, 0, 0, 0, BODY("\1a\0\0\1")},
    {"half a class", 1, 0, 0, 0, BODY("\1a\0\0\1\0")},
    {"a pointer to itself", 1, 0, 0, 0, BODY("\xc0\x0c\0\1\0\1")},
    {"a pointer after a label", 1, 0, 0, 0, BODY("\1a\xc0\x0c\0\1\0\1")},
    {"an extended label", 1, 0, 0, 0,
     BODY("\x41"
          "a\0\0\1\0\1")},
    {"a label of 64 bytes", 1, 0, 0, 0,
     BODY("\x40"
          "0123456789012345678901234567890123456789012345678901234567890123"
          "\0\0\1\0\1")},
    {"bytes behind the question", 1, 0, 0, 0, BODY("\1a\0\0\1\0\1x")},
    {"no additional record", 1, 0, 0, 1, BODY("\1a\0\0\1\0\1")},
    {"an additional record that is no OPT", 1, 0, 0, 1,
     BODY("\1a\0\0\1\0\1\0\0\1\0\1\0\0\0\0\0\0")},
    {"an OPT record with a name", 1, 0, 0, 1, BODY("\1a\0\0\1\0\1\1a\0\0\x29\0\1\0\0\0\0\0\0")},
    {"an OPT record that is cut off", 1, 0, 0, 1, BODY("\1a\0\0\1\0\1\0\0\x29\0\1\0\0\0\0\0")},
    {"data of an OPT record that is cut off", 1, 0, 0, 1,
     BODY("\1a\0\0\1\0\1\0\0\x29\0\1\0\0\0\0\0\2x")},
    {"bytes behind an OPT record", 1, 0, 0, 1, BODY("\1a\0\0\1\0\1\0\0\x29\0\1\0\0\0\0\0\1xx")},
    {"two OPT records", 1, 0, 0, 2,
     BODY("\1a\0\0\1\0\1\0\0\x29\0\1\0\0\0\0\0\0\0\0\x29\0\1\0\0\0\0\0\0")},
};

static void what_is_malformed_gets_formerr(void **state)
{
    const malformed_case *row = *state;
    message query = {.size = 0};
    put(&query, 0xbeef, 2);
    put(&query, 0x0100, 2);
    put(&query, row->questions, 2);
    put(&query, row->answers, 2);
    put(&query, row->authorities, 2);
    put(&query, row->additional, 2);
    memcpy(query.bytes + query.size, row->body, row->size);
    query.size += row->size;
    const arcp__egress_dns_answer answer = respond(&query);
    check_response(&query, &answer, FORMERR, 0);
    assert_int_equal(answer.size, HEADER);
    assert_false(answer.is_denied);
    assert_string_equal(answer.name, "");
}

static void a_name_without_an_address_is_a_failure_of_the_server(void **state)
{
    (void)state;
    arcp_lease *lease = lease_of("**", NULL);
    arcp__egress_names *many = names_of(lease);
    for (unsigned i = 0; i <= ARCP__EGRESS_NAMES_MAX; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "h%u.example", i);
        const message query = query_of(text, TYPE_A);
        arcp__egress_dns_answer answer;
        arcp__egress_dns_respond(many, span_of(&query), &answer);
        assert_int_equal(code_of(&answer), i < ARCP__EGRESS_NAMES_MAX ? NOERROR : SERVFAIL);
        assert_false(answer.is_denied);
    }
    arcp__egress_names_free(many);
    arcp_lease_unref(lease);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_is_reached_has_an_address),
        cmocka_unit_test(flags_say_that_recursion_is_available),
        cmocka_unit_test(the_question_is_echoed_in_its_case),
        cmocka_unit_test(questions_are_answered_by_name_and_type),
        cmocka_unit_test(a_name_that_is_no_text_is_denied_and_shown_as_text),
        cmocka_unit_test(a_dot_within_a_label_is_not_a_name),
        cmocka_unit_test(a_name_has_at_most_255_bytes),
        cmocka_unit_test(an_opt_record_is_accepted),
        cmocka_unit_test(another_class_is_refused),
        cmocka_unit_test(other_operations_are_not_implemented),
        cmocka_unit_test(a_response_or_a_part_of_a_header_gets_no_response),
        cmocka_unit_test(a_name_without_an_address_is_a_failure_of_the_server),
    };
    make_names();
    const int failed = run_rows(malformed, sizeof malformed / sizeof *malformed, sizeof *malformed,
                                what_is_malformed_gets_formerr) +
                       cmocka_run_group_tests(tests, NULL, NULL);
    arcp__egress_names_free(names);
    return failed;
}
