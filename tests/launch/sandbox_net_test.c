/* The network of a sandbox: every address leads to its listeners, and nothing else leads anywhere.
 * The programs are scripts of Python; what they reach is this test. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/sandbox_net_fixture.h"

#define UDP_PORT ARCP__SANDBOX_PORT_DNS

/* Sends the address and the port that were asked for. */
static void serve_stream(int listener)
{
    char text[128];
    char address[INET6_ADDRSTRLEN];
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    const struct sockaddr_in6 local = net_local_of(fd);
    (void)inet_ntop(AF_INET6, &local.sin6_addr, address, sizeof address);
    const int size = snprintf(text, sizeof text, "%s %u", address, (unsigned)net_port_of(fd));
    assert_int_equal(send(fd, text, (size_t)size, MSG_NOSIGNAL), size);
    (void)close(fd);
}

/* The same, from the address that was asked. */
static void serve_datagram(int fd)
{
    char text[128];
    char address[INET6_ADDRSTRLEN];
    union {
        struct cmsghdr header;
        char bytes[256];
    } extra;
    struct sockaddr_in6 client;
    struct in6_pktinfo asked;
    struct iovec part = {.iov_base = text, .iov_len = sizeof text};
    struct msghdr message = {.msg_name = &client,
                             .msg_namelen = sizeof client,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &extra,
                             .msg_controllen = sizeof extra};
    assert_true(recvmsg(fd, &message, 0) > 0);
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    assert_non_null(header);
    assert_int_equal(header->cmsg_level, IPPROTO_IPV6);
    assert_int_equal(header->cmsg_type, IPV6_PKTINFO);
    memcpy(&asked, CMSG_DATA(header), sizeof asked);
    (void)inet_ntop(AF_INET6, &asked.ipi6_addr, address, sizeof address);
    part.iov_len = (size_t)snprintf(text, sizeof text, "%s %u", address, UDP_PORT);
    assert_int_equal(sendmsg(fd, &message, 0), (ssize_t)part.iov_len);
}

static void serve(net_world *w, int out, int timeout_ms)
{
    struct pollfd waited[NET_LISTENERS_MAX + 2];
    memcpy(waited, w->listeners, w->count * sizeof *waited);
    waited[w->count] = (struct pollfd){.fd = w->control.fd, .events = POLLIN};
    waited[w->count + 1] = (struct pollfd){.fd = out, .events = POLLIN};
    const size_t count = w->count;
    assert_true(poll(waited, count + 2, timeout_ms) > 0);
    for (size_t i = 0; i < count; i++) {
        if (waited[i].revents != 0 && net_type_of(waited[i].fd) == SOCK_STREAM) {
            serve_stream(waited[i].fd);
        } else if (waited[i].revents != 0) {
            serve_datagram(waited[i].fd);
        }
    }
    if (waited[count].revents != 0) {
        (void)arcp__launch_control_take(&w->control);
    }
}

/* Runs a script of Python to its end, and serves its network. */
static void run(sandbox_fixture *f, const char *script, const char *want)
{
    static net_world w;
    const char *const argv[] = {"/usr/bin/python3", "-c", script, NULL};
    int out[2];
    char bytes[4096];
    ssize_t size = 1;
    w = (net_world){.f = f};
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    arcp_process *process = net_start(&w, argv, out[1]);
    (void)close(out[1]);
    while (size > 0) {
        struct pollfd output = {.fd = out[0], .events = POLLIN};
        serve(&w, out[0], 60000);
        if (poll(&output, 1, 0) == 1) {
            size = read(out[0], bytes, sizeof bytes);
            arcp_buf_append(&f->output, arcp_span_make(bytes, size < 0 ? 0 : (size_t)size));
        }
    }
    (void)close(out[0]);
    arcp_buf_append_byte(&f->output, '\0');
    net_finish(&w, process);
    if (!f->end.is_known || f->end.by_signal || f->end.code != 0 ||
        strcmp(f->output.data, want) != 0) {
        fail_msg("%s %d: got \"%s\", want \"%s\"\n%s", f->end.by_signal ? "signal" : "status",
                 f->end.code, f->output.data, want, f->records.data);
    }
}

#define PYTHON                                                                                     \
    "import socket, errno, struct, os\n"                                                           \
    "def ask(a, p=80, k=socket.SOCK_STREAM):\n"                                                    \
    "    s = socket.socket(socket.AF_INET6 if ':' in a else socket.AF_INET, k)\n"                  \
    "    s.settimeout(20)\n"                                                                       \
    "    s.connect((a, p))\n"                                                                      \
    "    if k == socket.SOCK_DGRAM: s.send(b'q')\n"                                                \
    "    print(a, '->', s.recv(100).decode())\n"                                                   \
    "def no(f, *a):\n"                                                                             \
    "    try: f(*a)\n"                                                                             \
    "    except OSError as e: print(errno.errorcode[e.errno])\n"                                   \
    "    else: print('DONE')\n"

/* ---- what leads to the listeners ---- */

static void every_address_leads_to_the_listeners(void **state)
{
    sandbox_fixture *f = *state;
    net_use_ports(f, net_web, 3);
    run(f,
        PYTHON "for a in ['93.184.216.34', '198.18.0.7', '169.254.169.254', '10.0.0.1', "
               "'240.0.0.1', '127.0.0.1', '2001:db8::1', '::1', '64:ff9b::1', '::ffff:1.2.3.4']: "
               "ask(a)\n"
               "ask('1.1.1.1', 443); ask('1.1.1.1', 8080); ask('1.1.1.1', 3128); "
               "ask('1.1.1.1', 53)\n",
        "93.184.216.34 -> ::ffff:93.184.216.34 80\n"
        "198.18.0.7 -> ::ffff:198.18.0.7 80\n"
        "169.254.169.254 -> ::ffff:169.254.169.254 80\n"
        "10.0.0.1 -> ::ffff:10.0.0.1 80\n"
        "240.0.0.1 -> ::ffff:240.0.0.1 80\n"
        "127.0.0.1 -> ::ffff:127.0.0.1 80\n"
        "2001:db8::1 -> 2001:db8::1 80\n"
        "::1 -> ::1 80\n"
        "64:ff9b::1 -> 64:ff9b::1 80\n"
        "::ffff:1.2.3.4 -> ::ffff:1.2.3.4 80\n"
        "1.1.1.1 -> ::ffff:1.1.1.1 443\n"
        "1.1.1.1 -> ::ffff:1.1.1.1 8080\n"
        "1.1.1.1 -> ::ffff:1.1.1.1 3128\n"
        "1.1.1.1 -> ::ffff:1.1.1.1 53\n");
}

/* A connected socket takes datagrams from the address only that it is connected to. */
static void datagrams_to_port_53_are_answered_from_the_address_that_was_asked(void **state)
{
    sandbox_fixture *f = *state;
    net_use_ports(f, net_web, 3);
    run(f,
        PYTHON "for a in ['127.0.0.1', '127.0.0.53', '8.8.8.8', '::1', '2001:4860:4860::8888']: "
               "ask(a, 53, socket.SOCK_DGRAM)\n",
        "127.0.0.1 -> ::ffff:127.0.0.1 53\n"
        "127.0.0.53 -> ::ffff:127.0.0.53 53\n"
        "8.8.8.8 -> ::ffff:8.8.8.8 53\n"
        "::1 -> ::1 53\n"
        "2001:4860:4860::8888 -> 2001:4860:4860::8888 53\n");
}

/* The broker connects sockets for the program; without one the program does so itself. */
static void a_program_without_a_broker_reaches_them_too(void **state)
{
    sandbox_fixture *f = *state;
    net_use_ports(f, net_web, 3);
    f->plan.has_broker = sandbox_abilities()->values[ARCP__SANDBOX_ABILITY_NOTIFY] != 0;
    run(f, PYTHON "ask('1.1.1.1'); ask('2001:db8::1', 443)\n",
        "1.1.1.1 -> ::ffff:1.1.1.1 80\n2001:db8::1 -> 2001:db8::1 443\n");
    f->plan.has_broker = false;
    run(f, PYTHON "ask('1.1.1.1'); ask('2001:db8::1', 443)\n",
        "1.1.1.1 -> ::ffff:1.1.1.1 80\n2001:db8::1 -> 2001:db8::1 443\n");
}

/* Else a program that asks for IPv4 addresses "as this host has them" gets none. */
static void resolvers_see_an_address_of_ipv4(void **state)
{
    sandbox_fixture *f = *state;
    net_use_ports(f, net_web, 3);
    run(f,
        PYTHON "print(socket.getaddrinfo('1.2.3.4', 80, socket.AF_INET, socket.SOCK_STREAM, 0, "
               "socket.AI_ADDRCONFIG)[0][4])\n",
        "('1.2.3.4', 80)\n");
}

/* ---- what does not ---- */

static void without_ports_the_network_is_empty(void **state)
{
    sandbox_fixture *f = *state;
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    run(f,
        PYTHON "no(ask, '1.1.1.1'); no(ask, '127.0.0.1'); no(ask, '2001:db8::1'); "
               "no(ask, '127.0.0.1', 53, socket.SOCK_DGRAM)\n",
        "ENETUNREACH\nECONNREFUSED\nENETUNREACH\nECONNREFUSED\n");
    assert_null(strstr(f->records.data, "listeners"));
}

static void other_ports_lead_nowhere(void **state)
{
    sandbox_fixture *f = *state;
    net_use_ports(f, net_web, 3);
    run(f,
        PYTHON "for p in [22, 25, 79, 81, 444, 3127, 65535]: no(ask, '1.1.1.1', p)\n"
               "for p in [52, 54, 80, 443]: no(ask, '1.1.1.1', p, socket.SOCK_DGRAM)\n",
        "ECONNREFUSED\nECONNREFUSED\nECONNREFUSED\nECONNREFUSED\nECONNREFUSED\nECONNREFUSED\n"
        "ECONNREFUSED\nECONNREFUSED\nECONNREFUSED\nECONNREFUSED\nECONNREFUSED\n");
}

static void servers_of_the_program_work(void **state)
{
    sandbox_fixture *f = *state;
    net_use_ports(f, net_web, 3);
    run(f,
        PYTHON "def own(a, p):\n"
               "    s = socket.create_server((a, p), family=socket.AF_INET6 if ':' in a else "
               "socket.AF_INET)\n"
               "    c = socket.create_connection((a, p)); d = s.accept()[0]; d.send(b'own')\n"
               "    print(c.recv(9).decode()); s.close(); c.close(); d.close()\n"
               "own('127.0.0.1', 3000); own('0.0.0.0', 8081); own('::1', 3001); "
               "own('::', 3002); own('127.0.0.1', 0 or 5353)\n",
        "own\nown\nown\nown\nown\n");
}

/* Also not as one of several sockets on the port, nor on a single address, nor by a name that is
 * more exact. */
static void a_program_cannot_take_a_listeners_port(void **state)
{
    sandbox_fixture *f = *state;
    net_use_ports(f, net_web, 3);
    run(f,
        PYTHON "def take(a, p, k=socket.SOCK_STREAM):\n"
               "    s = socket.socket(socket.AF_INET6 if ':' in a else socket.AF_INET, k)\n"
               "    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
               "    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)\n"
               "    if ':' in a: s.setsockopt(41, 26, 1)\n"
               "    s.bind((a, p))\n"
               "    if k == socket.SOCK_STREAM: s.listen(1)\n"
               "for a in ['127.0.0.1', '0.0.0.0', '198.18.0.7', '::1', '::']:\n"
               "    no(take, a, 8080); no(take, a, 3128)\n"
               "    no(take, a, 80); no(take, a, 53, socket.SOCK_DGRAM)\n",
        "EADDRINUSE\nEADDRINUSE\nEACCES\nEACCES\nEADDRINUSE\nEADDRINUSE\nEACCES\nEACCES\n"
        "EADDRINUSE\nEADDRINUSE\nEACCES\nEACCES\nEADDRINUSE\nEADDRINUSE\nEACCES\nEACCES\n"
        "EADDRINUSE\nEADDRINUSE\nEACCES\nEACCES\n");
}

static void a_program_cannot_change_its_network(void **state)
{
    sandbox_fixture *f = *state;
    net_use_ports(f, net_web, 3);
    run(f,
        PYTHON "def ask_kernel(kind, body):\n"
               "    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)\n"
               "    s.send(struct.pack('IHHII', 16 + len(body), kind, 5, 1, 0) + body)\n"
               "    e = -struct.unpack('i', s.recv(999)[16:20])[0]\n"
               "    if e: raise OSError(e, '')\n"
               "route = struct.pack('BBBBBBBBI', 2, 0, 0, 0, 255, 3, 254, 2, 0) + "
               "struct.pack('HHI', 8, 4, 1)\n"
               "no(ask_kernel, 25, route); no(ask_kernel, 24, route)\n" /* RTM_DELROUTE, NEWROUTE */
               "no(ask_kernel, 16, struct.pack('BxHiII', 0, 0, 1, 0, 1))\n" /* RTM_NEWLINK */
               "no(socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 0)\n"
               "no(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)\n"
               "no(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 4)\n" /* SOCK_DIAG */
               "s = socket.socket()\n"
               "no(s.setsockopt, 0, 19, 1)\n" /* IP_TRANSPARENT */
               "def write(p): open(p, 'w').write('1')\n"
               "no(write, '/proc/sys/net/ipv4/ip_unprivileged_port_start')\n"
               "no(write, '/proc/sys/net/ipv4/ip_forward')\n",
        "EPERM\nEPERM\nEPERM\nEAFNOSUPPORT\nEPERM\nEPROTONOSUPPORT\nEPERM\nEROFS\nEROFS\n");
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        SANDBOX_TEST(every_address_leads_to_the_listeners),
        SANDBOX_TEST(datagrams_to_port_53_are_answered_from_the_address_that_was_asked),
        SANDBOX_TEST(a_program_without_a_broker_reaches_them_too),
        SANDBOX_TEST(resolvers_see_an_address_of_ipv4),
        SANDBOX_TEST(without_ports_the_network_is_empty),
        SANDBOX_TEST(other_ports_lead_nowhere),
        SANDBOX_TEST(servers_of_the_program_work),
        SANDBOX_TEST(a_program_cannot_take_a_listeners_port),
        SANDBOX_TEST(a_program_cannot_change_its_network),
    };
    if (argc != 2 || !sandbox_use_user(argv[1])) {
        (void)fprintf(stderr, "NOT RUN: the tests are not run by root\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
