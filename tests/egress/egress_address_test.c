/* Which addresses may be dialled: both sides of every range. */
#include "egress/egress_address.h"

#include "support/check.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"

typedef struct address_case {
    const char *text;
    bool is_public;
} address_case;

static arcp__egress_address read_address(const char *text)
{
    arcp__egress_address address;
    memset(&address, 0, sizeof address);
    if (!arcp__egress_address_parse(arcp_span_cstr(text), 443, &address)) {
        fail_msg("\"%s\" is no address", text);
    }
    return address;
}

static const address_case ranges[] = {
    {"0.0.0.0", false},
    {"0.255.255.255", false},
    {"1.0.0.0", true},
    {"9.255.255.255", true},
    {"10.0.0.0", false},
    {"10.255.255.255", false},
    {"11.0.0.0", true},
    {"100.63.255.255", true},
    {"100.64.0.0", false},
    {"100.127.255.255", false},
    {"100.128.0.0", true},
    {"126.255.255.255", true},
    {"127.0.0.0", false},
    {"127.0.0.1", false},
    {"127.255.255.255", false},
    {"128.0.0.0", true},
    {"168.63.129.15", true},
    {"168.63.129.16", false},
    {"168.63.129.17", true},
    {"169.253.255.255", true},
    {"169.254.0.0", false},
    {"169.254.169.254", false},
    {"169.254.255.255", false},
    {"169.255.0.0", true},
    {"172.15.255.255", true},
    {"172.16.0.0", false},
    {"172.31.255.255", false},
    {"172.32.0.0", true},
    {"191.255.255.255", true},
    {"192.0.0.0", false},
    {"192.0.0.255", false},
    {"192.0.1.0", true},
    {"192.167.255.255", true},
    {"192.168.0.0", false},
    {"192.168.255.255", false},
    {"192.169.0.0", true},
    {"198.17.255.255", true},
    {"198.18.0.0", false},
    {"198.19.255.255", false},
    {"198.20.0.0", true},
    {"223.255.255.255", true},
    {"224.0.0.0", false},
    {"239.255.255.255", false},
    {"240.0.0.0", false},
    {"255.255.255.255", false},
    {"8.8.8.8", true},
    /* The limits of 2000::/3, and what is outside: unspecified, loopback, IPv4-compatible, discard,
     * unique local, link-local, site-local, multicast. */
    {"[::]", false},
    {"[::1]", false},
    {"[::8.8.8.8]", false},
    {"[100::1]", false},
    {"[1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]", false},
    {"[2000::]", true},
    {"[3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]", true},
    {"[4000::]", false},
    {"[fc00::1]", false},
    {"[fdff::1]", false},
    {"[fe80::1]", false},
    {"[fec0::1]", false},
    {"[ff02::1]", false},
    {"[2606:4700::1111]", true},
    /* Addresses that stand for one of IPv4. */
    {"[::ffff:8.8.8.8]", true},
    {"[::ffff:10.0.0.1]", false},
    {"[::ffff:127.0.0.1]", false},
    {"[::ffff:a9fe:a9fe]", false},
    {"[::fffe:8.8.8.8]", false},
    {"[::1:0:808:808]", false},
    {"[64:ff9b::8.8.8.8]", true},
    {"[64:ff9b::10.0.0.1]", false},
    {"[64:ff9b::a9fe:a9fe]", false},
    {"[64:ff9b:0:0:0:1:808:808]", false},
    {"[64:ff9b:1::8.8.8.8]", false},
    {"[64:ff9b:1:ffff::1]", false},
    {"[64:ff9a::8.8.8.8]", false},
    {"[2001:ffff::1]", true},
    {"[2002:808:808::1]", true},
    {"[2002:a00:1::1]", false},
    {"[2002:7f00:1::]", false},
    {"[2002:a9fe:a9fe::1]", false},
    {"[2003:a00:1::1]", true},
    /* Teredo: the server as it is, the client with its bits inverted. */
    {"[2001:0:808:808:0:0:f7f7:f7f7]", true},
    {"[2001:0:a00:1:0:0:f7f7:f7f7]", false},
    {"[2001:0:808:808:0:0:f5ff:fffe]", false},
    {"[2001:1:a00:1::1]", true},
};

static void an_address_is_public_outside_the_closed_ranges(void **state)
{
    const address_case *row = *state;
    const arcp__egress_address address = read_address(row->text);
    assert_int_equal(arcp__egress_address_is_public(&address, NULL, 0), row->is_public);
}

static void an_address_of_this_host_is_not_public_in_any_form(void **state)
{
    (void)state;
    const arcp__egress_address own[] = {read_address("[2606:4700::1111]"), read_address("5.6.7.8")};
    static const address_case cases[] = {{"5.6.7.8", false},
                                         {"5.6.7.9", true},
                                         {"[::ffff:5.6.7.8]", false},
                                         {"[::ffff:5.6.7.9]", true},
                                         {"[64:ff9b::5.6.7.8]", false},
                                         {"[2002:506:708::1]", false},
                                         {"[2606:4700::1111]", false},
                                         {"[2606:4700::1112]", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const arcp__egress_address address = read_address(cases[i].text);
        if (arcp__egress_address_is_public(&address, own, 2) != cases[i].is_public) {
            fail_msg("%s", cases[i].text);
        }
    }
    /* Its port does not count. */
    arcp__egress_address other = own[1];
    other.v4.sin_port = htons(1);
    assert_false(arcp__egress_address_is_public(&other, own, 2));
}

static void an_address_of_another_family_is_not_public(void **state)
{
    (void)state;
    arcp__egress_address address;
    memset(&address, 0, sizeof address);
    address.any.sa_family = AF_UNIX;
    assert_false(arcp__egress_address_is_public(&address, NULL, 0));
}

static void only_whole_addresses_are_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "1.2.3.4.",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.256",
        " 1.2.3.4",
        "1.2.3.4 ",
        "01.2.3.4",
        "::1",
        "[::1",
        "::1]",
        "[]",
        "[::1%lo]",
        "[1.2.3.4]",
        "[::g]",
        "h",
        "1.2.3.4:80",
        "[::1]:80",
        "[[::1]]",
        "[12345::]",
        "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        arcp__egress_address address;
        if (arcp__egress_address_parse(arcp_span_cstr(texts[i]), 1, &address)) {
            fail_msg("\"%s\" is an address", texts[i]);
        }
    }
    arcp__egress_address address;
    assert_false(arcp__egress_address_parse(arcp_span_make("1.2.3.4\0x", 9), 1, &address));
}

static void an_address_has_one_text(void **state)
{
    (void)state;
    static const struct {
        const char *given, *written;
    } cases[] = {{"10.0.0.1", "10.0.0.1"},
                 {"[::1]", "[::1]"},
                 {"[0:0:0:0:0:0:0:1]", "[::1]"},
                 {"[2001:DB8::A]", "[2001:db8::a]"},
                 {"[::ffff:1.2.3.4]", "[::ffff:1.2.3.4]"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const arcp__egress_address address = read_address(cases[i].given);
        char text[ARCP__EGRESS_ADDRESS_TEXT_MAX];
        arcp__egress_address_format(&address, text);
        assert_string_equal(text, cases[i].written);
        const in_port_t port =
            address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port;
        assert_int_equal(ntohs(port), 443);
    }
}

/* The result of a child in a network of its own, whose only interface is down. */
enum { CHILD_IS_RIGHT, CHILD_IS_WRONG, CHILD_HAS_NO_NETWORK };

static int find_address_of_an_interface_that_is_down(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    const arcp__egress_address given = read_address("93.184.216.34");
    memcpy(&request.ifr_addr, &given.v4, sizeof given.v4);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
        return CHILD_HAS_NO_NETWORK;
    }
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCSIFADDR, &request) != 0 || ioctl(fd, SIOCGIFFLAGS, &request) != 0 ||
        (request.ifr_flags & IFF_UP) != 0) {
        return CHILD_IS_WRONG;
    }
    arcp__egress_address *own = NULL;
    size_t count = 0;
    const bool is_public_before = arcp__egress_address_is_public(&given, NULL, 0);
    if (!arcp__egress_own_addresses(&own, &count)) {
        return CHILD_IS_WRONG;
    }
    const bool is_public = arcp__egress_address_is_public(&given, own, count);
    arcp__free(own);
    return is_public_before && !is_public ? CHILD_IS_RIGHT : CHILD_IS_WRONG;
}

static void an_address_of_an_interface_that_is_down_is_this_hosts(void **state)
{
    (void)state;
    const pid_t child = fork();
    int status = 0;
    assert_true(child >= 0);
    if (child == 0) {
        _exit(find_address_of_an_interface_that_is_down());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CHILD_HAS_NO_NETWORK) {
        print_message("this host has no network namespaces for users\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), CHILD_IS_RIGHT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_of_this_host_is_not_public_in_any_form),
        cmocka_unit_test(an_address_of_an_interface_that_is_down_is_this_hosts),
        cmocka_unit_test(an_address_of_another_family_is_not_public),
        cmocka_unit_test(only_whole_addresses_are_read),
        cmocka_unit_test(an_address_has_one_text),
    };
    return run_rows(ranges, sizeof ranges / sizeof *ranges, sizeof *ranges,
                    an_address_is_public_outside_the_closed_ranges) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
