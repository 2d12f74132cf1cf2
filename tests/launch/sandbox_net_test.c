/* The network of a sandbox: every address leads to listeners that the process which started it
 * gets, and nothing else leads anywhere. The programs are scripts of Python; what they reach is
 * this test. */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/launcher_control.h"
#include "launch/sandbox_fixture.h"

enum { MAX = ARCP__LAUNCH_LISTENERS_MAX };

#define UDP_PORT ARCP__SANDBOX_PORT_DNS

typedef struct world {
    sandbox_fixture *f;
    arcp__launch_control control;
    struct pollfd listeners[MAX];
    size_t count;
} world;

/* ---- outside ---- */

static void on_record(void *user, arcp_span record)
{
    world *w = user;
    arcp_buf_append(&w->f->records, record);
    arcp_buf_append_byte(&w->f->records, '\n');
}

static void on_listeners(void *user, const int *sockets, size_t count)
{
    world *w = user;
    assert_int_equal(w->count, 0);
    w->count = count;
    for (size_t i = 0; i < count; i++) {
        w->listeners[i] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
    }
}

static void on_refused(void *user, const char *reason)
{
    (void)user;
    fail_msg("refused: %s", reason);
}

static struct sockaddr_in6 local_of(int fd)
{
    struct sockaddr_in6 local;
    socklen_t size = sizeof local;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&local, &size), 0);
    assert_int_equal(local.sin6_family, AF_INET6);
    return local;
}

static unsigned port_of(int fd)
{
    return ntohs(local_of(fd).sin6_port);
}

static int type_of(int fd)
{
    int type = 0;
    socklen_t size = sizeof type;
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size), 0);
    return type;
}

/* Sends the address and the port that were asked for. */
static void serve_stream(int listener)
{
    char text[128];
    char address[INET6_ADDRSTRLEN];
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    const struct sockaddr_in6 local = local_of(fd);
    (void)inet_ntop(AF_INET6, &local.sin6_addr, address, sizeof address);
    const int size = snprintf(text, sizeof text, "%s %u", address, (unsigned)port_of(fd));
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

static void serve(world *w, int out, int timeout_ms)
{
    struct pollfd waited[MAX + 2];
    memcpy(waited, w->listeners, w->count * sizeof *waited);
    waited[w->count] = (struct pollfd){.fd = w->control.fd, .events = POLLIN};
    waited[w->count + 1] = (struct pollfd){.fd = out, .events = POLLIN};
    const size_t count = w->count;
    assert_true(poll(waited, count + 2, timeout_ms) > 0);
    for (size_t i = 0; i < count; i++) {
        if (waited[i].revents != 0 && type_of(waited[i].fd) == SOCK_STREAM) {
            serve_stream(waited[i].fd);
        } else if (waited[i].revents != 0) {
            serve_datagram(waited[i].fd);
        }
    }
    if (waited[count].revents != 0) {
        (void)arcp__launch_control_take(&w->control);
    }
}

static arcp_process *start(world *w, const char *const *argv, int out)
{
    static const arcp__launch_control_events template = {on_record, on_listeners, on_refused, NULL};
    arcp__launch_control_events events = template;
    sandbox_fixture *f = w->f;
    int control = -1;
    events.user = w;
    arcp_buf_clear(&f->records);
    arcp_buf_clear(&f->output);
    f->spec.stdin_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    f->spec.stdout_fd = f->spec.stderr_fd = out;
    arcp_process *process = sandbox_start(f, argv, &control);
    (void)close(f->spec.stdin_fd);
    f->spec.stdin_fd = -1;
    arcp__launch_control_init(&w->control, control, &events);
    return process;
}

static void finish(world *w, arcp_process *process)
{
    sandbox_fixture *f = w->f;
    wait_for_exit(process);
    f->end = arcp_process_exit_init();
    assert_true(process->ops->take_exit(process, &f->end));
    process->ops->free(process);
    while (arcp__launch_control_take(&w->control)) {
    }
    arcp_buf_append_byte(&f->records, '\0');
    for (size_t i = 0; i < w->count; i++) {
        (void)close(w->listeners[i].fd);
    }
    w->count = 0;
}

/* Runs a script of Python to its end, and serves its network. */
static void run(sandbox_fixture *f, const char *script, const char *want)
{
    static world w;
    const char *const argv[] = {"/usr/bin/python3", "-c", script, NULL};
    int out[2];
    char bytes[4096];
    ssize_t size = 1;
    w = (world){.f = f};
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    arcp_process *process = start(&w, argv, out[1]);
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
    finish(&w, process);
    if (!f->end.is_known || f->end.by_signal || f->end.code != 0 ||
        strcmp(f->output.data, want) != 0) {
        fail_msg("%s %d: got \"%s\", want \"%s\"\n%s", f->end.by_signal ? "signal" : "status",
                 f->end.code, f->output.data, want, f->records.data);
    }
}

static void use_ports(sandbox_fixture *f, const uint16_t *ports, size_t count)
{
    sandbox_needs(ARCP__SANDBOX_LEVEL_FULL);
    if (sandbox_abilities()->values[ARCP__SANDBOX_ABILITY_EGRESS] == 0) {
        (void)fprintf(stderr, "NOT RUN: this host has no network for sandboxes\n");
        skip();
    }
    f->plan.ports = ports;
    f->plan.port_count = count;
}

static const uint16_t web[] = {80, 443, 8080};

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
    use_ports(f, web, 3);
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
    use_ports(f, web, 3);
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
    use_ports(f, web, 3);
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
    use_ports(f, web, 3);
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
    use_ports(f, web, 3);
    run(f,
        PYTHON "for p in [22, 25, 79, 81, 444, 3127, 65535]: no(ask, '1.1.1.1', p)\n"
               "for p in [52, 54, 80, 443]: no(ask, '1.1.1.1', p, socket.SOCK_DGRAM)\n",
        "ECONNREFUSED\nECONNREFUSED\nECONNREFUSED\nECONNREFUSED\nECONNREFUSED\nECONNREFUSED\n"
        "ECONNREFUSED\nECONNREFUSED\nECONNREFUSED\nECONNREFUSED\nECONNREFUSED\n");
}

static void servers_of_the_program_work(void **state)
{
    sandbox_fixture *f = *state;
    use_ports(f, web, 3);
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
    use_ports(f, web, 3);
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
    use_ports(f, web, 3);
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

/* ---- handing over ---- */

static bool has_socket(const world *w, int type, unsigned port)
{
    for (size_t i = 0; i < w->count; i++) {
        if (type_of(w->listeners[i].fd) == type && port_of(w->listeners[i].fd) == port) {
            return true;
        }
    }
    return false;
}

static void await_listeners(world *w)
{
    while (w->count == 0 && w->control.fd >= 0) {
        struct pollfd waited = {.fd = w->control.fd, .events = POLLIN};
        assert_int_equal(poll(&waited, 1, 60000), 1);
        (void)arcp__launch_control_take(&w->control);
    }
}

static void all_listeners_are_handed_over_in_as_many_datagrams_as_it_takes(void **state)
{
    static uint16_t ports[ARCP__SANDBOX_PORTS_MAX];
    static world w;
    static const char *const argv[] = {"/bin/true", NULL};
    sandbox_fixture *f = *state;
    for (size_t i = 0; i < ARCP__SANDBOX_PORTS_MAX; i++) {
        ports[i] = (uint16_t)(10000 + i);
    }
    use_ports(f, ports, ARCP__SANDBOX_PORTS_MAX);
    w = (world){.f = f};
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    arcp_process *process = start(&w, argv, null);
    (void)close(null);
    await_listeners(&w);
    assert_int_equal(w.count, ARCP__SANDBOX_PORTS_MAX + 3);
    assert_true(has_socket(&w, SOCK_DGRAM, 53) && has_socket(&w, SOCK_STREAM, 53) &&
                has_socket(&w, SOCK_STREAM, 3128));
    for (size_t i = 0; i < ARCP__SANDBOX_PORTS_MAX; i++) {
        assert_true(has_socket(&w, SOCK_STREAM, ports[i]));
    }
    finish(&w, process);
    assert_int_equal(f->end.code, 0);
}

/* The sockets of a process that are one of the listeners. */
static size_t listeners_of(const world *w, pid_t pid)
{
    char path[64];
    size_t found = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *entries = opendir(path);
    assert_non_null(entries);
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        struct stat one;
        struct stat other;
        for (size_t i = 0; i < w->count; i++) {
            found += fstatat(dirfd(entries), entry->d_name, &one, 0) == 0 &&
                     fstat(w->listeners[i].fd, &other) == 0 && one.st_ino == other.st_ino &&
                     one.st_dev == other.st_dev;
        }
    }
    (void)closedir(entries);
    return found;
}

static void no_process_of_the_sandbox_keeps_a_listener(void **state)
{
    static world w;
    static const char *const argv[] = {"/bin/cat", NULL};
    sandbox_fixture *f = *state;
    int out[2];
    int in[2];
    if (geteuid() != 0) {
        (void)fprintf(stderr, "NOT RUN: only root sees the descriptors of arcp-sandbox\n");
        skip();
    }
    use_ports(f, web, 3);
    w = (world){.f = f};
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    arcp__launch_control_events events = {on_record, on_listeners, on_refused, &w};
    int control = -1;
    f->spec.stdin_fd = in[0];
    f->spec.stdout_fd = f->spec.stderr_fd = out[1];
    arcp_buf_clear(&f->records);
    arcp_process *process = sandbox_start(f, argv, &control);
    arcp__launch_control_init(&w.control, control, &events);
    f->spec.stdin_fd = -1;
    (void)close(in[0]);
    (void)close(out[1]);
    await_listeners(&w);
    char byte;
    assert_int_equal(write(in[1], "x", 1), 1);
    assert_int_equal(read(out[0], &byte, 1), 1); /* now the program runs */
    assert_int_equal(listeners_of(&w, getpid()), w.count);
    assert_int_equal(listeners_of(&w, process->pid), 0);
    char command[128];
    char list[64] = "";
    (void)snprintf(command, sizeof command, "pgrep -P %d", (int)process->pid);
    FILE *children = popen(command, "re"); /* NOLINT(cert-env33-c): of the system */
    assert_non_null(fgets(list, sizeof list, children));
    (void)pclose(children);
    assert_int_equal(listeners_of(&w, number_in(list)), 0);
    (void)close(in[1]);
    (void)close(out[0]);
    finish(&w, process);
}

/* ---- a reader that does not take them ---- */

/* Starts a program that leaves a mark, with the end of a control socket; closes that. */
static arcp_process *start_marking(sandbox_fixture *f, int control)
{
    static const char *const argv[] = {"/bin/sh", "-c", ": > ran", NULL};
    f->spec.stdin_fd = f->spec.stdout_fd = f->spec.stderr_fd =
        open("/dev/null", O_RDWR | O_CLOEXEC);
    arcp_process *process = sandbox_start_on(f, argv, control);
    (void)close(f->spec.stdin_fd);
    (void)close(control);
    return process;
}

static void expect_end(sandbox_fixture *f, arcp_process *process, int code)
{
    wait_for_exit(process);
    f->end = arcp_process_exit_init();
    assert_true(process->ops->take_exit(process, &f->end));
    process->ops->free(process);
    assert_true(f->end.is_known && !f->end.by_signal);
    assert_int_equal(f->end.code, code);
    sandbox_outside("%s test -e %s/ran", code == 0 ? "" : "!", f->tree);
}

static void a_reader_that_has_closed_its_end_ends_the_start(void **state)
{
    sandbox_fixture *f = *state;
    int pair[2];
    use_ports(f, web, 3);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    (void)close(pair[0]);
    expect_end(f, start_marking(f, pair[1]), 125);
}

static bool send_descriptor(int to, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof fd)];
    } control = {.header = {.cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS,
                            .cmsg_len = CMSG_LEN(sizeof fd)}};
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    const struct msghdr message = {.msg_iov = &part,
                                   .msg_iovlen = 1,
                                   .msg_control = &control,
                                   .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    return sendmsg(to, &message, 0) == 1;
}

static size_t fill(int control)
{
    size_t count = 0;
    while (send(control, "{}", 2, MSG_DONTWAIT) == 2) {
        count++;
    }
    return count;
}

static void a_reader_that_is_late_is_waited_for(void **state)
{
    sandbox_fixture *f = *state;
    char bytes[64];
    int pair[2];
    use_ports(f, web, 3);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    size_t count = fill(pair[1]);
    arcp_process *process = start_marking(f, pair[1]);
    while (count-- > 0) {
        assert_int_equal(recv(pair[0], bytes, sizeof bytes, 0), 2);
    }
    expect_end(f, process, 0);
    (void)close(pair[0]);
}

/* What other sandboxes of the user have sent counts, too, until it is read. */
static void descriptors_on_their_way_to_others_are_waited_for(void **state)
{
    sandbox_fixture *f = *state;
    struct rlimit before;
    int pair[2];
    int others[2];
    char byte;
    use_ports(f, web, 3);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, others), 0);
    for (size_t i = 0; i < 40; i++) {
        assert_true(send_descriptor(others[1], STDERR_FILENO));
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit low = {.rlim_cur = 32, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    arcp_process *process = start_marking(f, pair[1]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (size_t i = 0; i < 40; i++) {
        assert_int_equal(recv(others[0], &byte, 1, 0), 1);
    }
    expect_end(f, process, 0);
    (void)close(pair[0]);
    (void)close(others[0]);
    (void)close(others[1]);
}

static void a_reader_that_never_reads_ends_the_start(void **state)
{
    sandbox_fixture *f = *state;
    int pair[2];
    use_ports(f, web, 3);
    if (geteuid() != 0) {
        skip(); /* it takes seconds, and is the same for every user */
    }
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    (void)fill(pair[1]);
    expect_end(f, start_marking(f, pair[1]), 125);
    (void)close(pair[0]);
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
        SANDBOX_TEST(all_listeners_are_handed_over_in_as_many_datagrams_as_it_takes),
        SANDBOX_TEST(no_process_of_the_sandbox_keeps_a_listener),
        SANDBOX_TEST(a_reader_that_has_closed_its_end_ends_the_start),
        SANDBOX_TEST(a_reader_that_is_late_is_waited_for),
        SANDBOX_TEST(descriptors_on_their_way_to_others_are_waited_for),
        SANDBOX_TEST(a_reader_that_never_reads_ends_the_start),
    };
    if (argc != 2 || !sandbox_use_user(argv[1])) {
        (void)fprintf(stderr, "NOT RUN: the tests are not run by root\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
