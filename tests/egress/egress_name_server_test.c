/* DNS over UDP and TCP. */
#include "egress/egress_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#define LEASE "[\"http://api.test:PORT/**\"]"

/* Queries for an A record. */
#define API_TEST                                                                                   \
    "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03"                                         \
    "api\x04test\x00\x00\x01\x00\x01"
#define EVIL_TEST                                                                                  \
    "\x12\x35\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04"                                         \
    "evil\x04test\x00\x00\x01\x00\x01"

static int udp_client(void)
{
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    return fd;
}

static struct sockaddr_in address_of(const char *text, unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    assert_int_equal(inet_pton(AF_INET, text, &address.sin_addr), 1);
    return address;
}

static void ask(int fd, const egress_fixture *f, const char *address, arcp_span query)
{
    const struct sockaddr_in to = address_of(address, f->names_port);
    assert_int_equal(sendto(fd, query.data, query.size, 0, (const struct sockaddr *)&to, sizeof to),
                     query.size);
}

/* The next response, and the address that it comes from. */
static size_t receive(egress_fixture *f, int fd, char out[512], char from_text[64])
{
    struct sockaddr_in from = {0};
    socklen_t from_size = sizeof from;
    ssize_t size = -1;
    while ((size = recvfrom(fd, out, 512, 0, (struct sockaddr *)&from, &from_size)) < 0) {
        test_loop_step(&f->test, "a response of DNS");
    }
    assert_non_null(inet_ntop(AF_INET, &from.sin_addr, from_text, 64));
    return (size_t)size;
}

static void check_address(const egress_fixture *f, const char *response, size_t size)
{
    const uint32_t address =
        htonl(arcp__egress_names_address(f->job->names, ARCP_SPAN_LITERAL("api.test")));
    assert_true(size > sizeof API_TEST + 3);
    assert_memory_equal(response + size - 4, &address, 4);
}

static void a_name_is_answered_from_the_address_that_was_asked(void **state)
{
    static const char *const addresses[] = {"127.0.0.1", "127.0.0.53", "127.8.8.8"};
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    const int fd = udp_client();
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        char response[512];
        char from[64];
        ask(fd, &f, addresses[i], ARCP_SPAN_LITERAL(API_TEST));
        const size_t size = receive(&f, fd, response, from);
        assert_string_equal(from, addresses[i]);
        assert_memory_equal(response, "\x12\x34", 2);
        check_address(&f, response, size);
    }
    assert_int_equal(f.denied, 0);
    assert_int_equal(answers.asked, 0); /* nothing leaves by DNS */
    close(fd);
    egress_fixture_close(&f);
}

static void a_name_that_is_not_granted_does_not_exist_and_is_reported(void **state)
{
    egress_fixture f;
    char response[512];
    char from[64];
    egress_fixture_open(&f, LEASE);
    const int fd = udp_client();
    ask(fd, &f, "127.0.0.1", ARCP_SPAN_LITERAL(EVIL_TEST));
    assert_true(receive(&f, fd, response, from) >= 12);
    assert_int_equal(response[3] & 15, 3); /* NXDOMAIN */
    assert_int_equal(f.denied, 1);
    assert_string_equal(f.target, "evil.test");
    assert_int_equal(answers.asked, 0);
    close(fd);
    egress_fixture_close(&f);
}

static void queries_over_tcp_are_answered_in_order(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    egress_fixture_connect(&f, &f.client, "9.9.9.9", 53);
    raw_peer_send(&f.client, ARCP_SPAN_LITERAL("\x00\x1a" API_TEST "\x00\x1b" EVIL_TEST "\x00"));
    raw_peer_receive(&f.client, 2 + sizeof API_TEST - 1 + 16 + 2 + sizeof EVIL_TEST - 1);
    const char *data = f.client.received.data;
    const size_t first = (size_t)(unsigned char)data[1];
    assert_memory_equal(data + 2, "\x12\x34", 2);
    check_address(&f, data + 2, first);
    assert_memory_equal(data + 2 + first + 2, "\x12\x35", 2);
    assert_int_equal(data[2 + first + 2 + 3] & 15, 3);
    assert_int_equal(f.denied, 1);
    raw_peer_half_close(&f.client);
    raw_peer_expect_end(&f.client);
    egress_fixture_close(&f);
}

static void a_report_may_close_the_job(void **state)
{
    egress_fixture f;
    egress_fixture_open(&f, LEASE);
    const int fd = udp_client();
    f.closes_on_denial = true;
    for (size_t i = 0; i < 3; i++) {
        ask(fd, &f, "127.0.0.1", ARCP_SPAN_LITERAL(EVIL_TEST));
    }
    test_loop_settle(&f.test);
    assert_int_equal(f.denied, 1);
    close(fd);
    egress_fixture_close(&f);
    egress_fixture_open(&f, LEASE);
    f.closes_on_denial = true;
    egress_fixture_connect(&f, &f.client, "9.9.9.9", 53);
    raw_peer_send(&f.client, ARCP_SPAN_LITERAL("\x00\x1b" EVIL_TEST "\x00\x1b" EVIL_TEST));
    raw_peer_expect_end(&f.client);
    assert_int_equal(f.denied, 1);
    egress_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_answered_from_the_address_that_was_asked),
        cmocka_unit_test(a_name_that_is_not_granted_does_not_exist_and_is_reported),
        cmocka_unit_test(queries_over_tcp_are_answered_in_order),
        cmocka_unit_test(a_report_may_close_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
