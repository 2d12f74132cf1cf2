/* The program, from its first instruction: another architecture is killed; then the number of the
 * call leads, through a tree of comparisons, to a block for its rule, or straight to an answer.
 *
 * Only calls whose rule looks at arguments are a block: for all others the kernel sees that the
 * answer is always ALLOW, and does not run the filter (Linux 5.11). Arguments of the type int are
 * compared by their low 32 bits, as the kernel reads them: the upper half is the program's to
 * choose.
 */
#include "launch/sandbox_helper/helper_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch/sandbox_helper/helper_assembly.h"

/* Linux 5.19; headers may be older. */
#define WAIT_KILLABLE_RECV (1UL << 5)

#define CURRENT_DIRECTORY 0xffffff9cU /* AT_FDCWD, as 32 bits */

/* Landlock keeps signals and abstract sockets in from this version on. */
#define LANDLOCK_WITH_SCOPES 6

/* clone: NEWTIME is clone3's, its bit is part of the signal here. */
#define NEW_NAMESPACES                                                                             \
    (0x00020000U /* NS */ | 0x02000000U /* CGROUP */ | 0x04000000U /* UTS */ |                     \
     0x08000000U /* IPC */ | 0x10000000U /* USER */ | 0x20000000U /* PID */ |                      \
     0x40000000U /* NET */)

enum {
    CREATES = 0100 | 020000000, /* O_CREAT, and what O_TMPFILE has beside O_DIRECTORY */
    SET_ID = 06000,
    DEVICE = 0020000,        /* S_IFCHR, and part of S_IFBLK; not of what else mknod makes */
    EMPTY_PATH = 0x1000,     /* AT_EMPTY_PATH */
    NEW_THREAD = 0x00010000, /* CLONE_THREAD */
    OWNER_PROCESS = 0,       /* PRIO_PROCESS */
    OWNER_IO = 1,            /* IOPRIO_WHO_PROCESS */
    SET_OWNER = 8,           /* F_SETOWN */
    SET_OWNER_EX = 15,       /* F_SETOWN_EX */
    SET_LEASE = 1024,        /* F_SETLEASE */
    TYPE_MASK = 0xf,         /* of socket(): above are SOCK_CLOEXEC and SOCK_NONBLOCK */
    STREAM = 1,
    DATAGRAM = 2,
    SEQPACKET = 5,
    LOCAL = 1, /* AF_UNIX */
    INET = 2,
    INET6 = 10,
    NETLINK = 16,
    NETLINK_ROUTING = 0, /* NETLINK_ROUTE */
    TCP = 6,
    UDP = 17,
    FASTOPEN = 0x20000000, /* MSG_FASTOPEN */
    OPTIONS_MAX = 7,       /* of a level, in the table below */
};

/* Options of sockets that a program may set when its TCP sockets are in the network of the host.
 * IP_OPTIONS could lead what is sent to the proxy by way of another host, the options of fast open
 * connect with the first byte, and those of devices choose another way; what is not known here is
 * not needed. */
static const struct {
    uint32_t level;
    bool is_allowed; /* the options listed are those that may be set; else those that may not */
    uint32_t options[OPTIONS_MAX];
} socket_options[] = {
    {1 /* SOL_SOCKET */, false, {25 /* BINDTODEVICE */, 36 /* MARK */, 62 /* BINDTOIFINDEX */}},
    {TCP,
     false,
     {19 /* REPAIR */, 23 /* FASTOPEN */, 30 /* FASTOPEN_CONNECT */, 31 /* ULP */,
      33 /* FASTOPEN_KEY */, 34 /* FASTOPEN_NO_COOKIE */}},
    {0 /* SOL_IP */,
     true,
     {1 /* TOS */, 2 /* TTL */, 10 /* MTU_DISCOVER */, 11 /* RECVERR */,
      24 /* BIND_ADDRESS_NO_PORT */}},
    {41 /* SOL_IPV6 */,
     true,
     {16 /* UNICAST_HOPS */, 23 /* MTU_DISCOVER */, 25 /* RECVERR */, 26 /* V6ONLY */,
      67 /* TCLASS */}},
    {270 /* SOL_NETLINK */, false, {0}},
};

typedef enum rule {
    RULE_ALLOW,
    RULE_EPERM,
    RULE_ENOSYS,
    RULE_CREATE_1,
    RULE_CREATE_2,
    RULE_MODE_1,
    RULE_MODE_2,
    RULE_NODE_1,
    RULE_NODE_2,
    RULE_OPEN_FILE_2,
    RULE_OPEN_FILE_3,
    RULE_CLONE,
    RULE_THREAD,
    RULE_IOCTL,
    RULE_FCNTL,
    RULE_SOCKET,
    RULE_SOCKETPAIR,
    RULE_SEND_2,
    RULE_SEND_3,
    RULE_SOCKOPT,
    RULE_OWN_0,
    RULE_PRIORITY,
    RULE_IOPRIO,
    RULE_SHARED,
    RULE_KILL,
    RULE_SIGNAL,
    RULE_SAME, /* of the monitor: as for a program */
} rule;

typedef struct row {
    int16_t numbers[ARCP__SANDBOX_MACHINE_COUNT];
    rule rule;
    arcp__sandbox_trap trap;
    rule monitor;
} row;

static const row rows[] = {
#define ARCP_SANDBOX_SYSCALL(id, name, x86_64, aarch64, rule, trap, monitor)                       \
    {{x86_64, aarch64}, RULE_##rule, ARCP__SANDBOX_TRAP_##trap, RULE_##monitor},
#include "sandbox/sandbox_syscall.def"
#undef ARCP_SANDBOX_SYSCALL
};

typedef enum ioctl_rule { IOCTL_NEVER, IOCTL_LANDLOCK, IOCTL_OWNER, IOCTL_SIGNAL } ioctl_rule;

static const struct {
    uint32_t number;
    ioctl_rule rule;
} ioctls[] = {
#define ARCP_SANDBOX_IOCTL(id, number, rule) {number, IOCTL_##rule},
#include "sandbox/sandbox_ioctl.def"
#undef ARCP_SANDBOX_IOCTL
};

static const uint32_t architectures[ARCP__SANDBOX_MACHINE_COUNT] = {
    [ARCP__SANDBOX_MACHINE_X86_64] = AUDIT_ARCH_X86_64,
    [ARCP__SANDBOX_MACHINE_AARCH64] = AUDIT_ARCH_AARCH64,
};

typedef arcp__helper_place place;

typedef struct builder {
    arcp__helper_assembly assembly;
    bool is_landlock;        /* level landlock */
    bool may_signal_outside; /* ... and Landlock does not keep signals in */
    bool has_proxy;          /* level landlock: TCP sockets, for connections to the proxy */
    bool has_broker, traps_files, traps_names, traps_connect, is_learning, is_monitor;
    place allow, broker, no_permission, no_access, no_call, no_family, no_protocol;
} builder;

static place answer(builder *b, int number)
{
    return arcp__helper_return(&b->assembly, SECCOMP_RET_ERRNO | (uint32_t)number);
}

/* The low half of an argument, then `next`. */
static place argument(builder *b, unsigned index, place next)
{
    return arcp__helper_load(
        &b->assembly, (uint32_t)(offsetof(struct seccomp_data, args) + index * sizeof(uint64_t)),
        next);
}

static place when_equal(builder *b, uint32_t value, place yes, place no)
{
    return arcp__helper_if(&b->assembly, BPF_JEQ, value, yes, no);
}

static place when_set(builder *b, uint32_t bits, place yes, place no)
{
    return arcp__helper_if(&b->assembly, BPF_JSET, bits, yes, no);
}

/* Where a call goes that its rule does not refuse. */
static place after_rule(const builder *b, arcp__sandbox_trap trap)
{
    if (b->is_learning) {
        return trap == ARCP__SANDBOX_TRAP_NONE ? b->allow : b->broker;
    }
    switch (trap) {
    case ARCP__SANDBOX_TRAP_NONE:
    case ARCP__SANDBOX_TRAP_LEARN:
        return b->allow;
    case ARCP__SANDBOX_TRAP_FILES:
        return b->traps_files ? b->broker : b->allow;
    case ARCP__SANDBOX_TRAP_NAMES:
        return b->traps_names ? b->broker : b->allow;
    case ARCP__SANDBOX_TRAP_OWNER:
        if (!b->is_landlock) {
            return b->allow;
        }
        return b->has_broker ? b->broker : b->no_permission;
    case ARCP__SANDBOX_TRAP_CONNECT:
        return b->traps_connect ? b->broker : b->allow;
    case ARCP__SANDBOX_TRAP_LISTEN:
        return b->is_landlock && b->traps_connect ? b->broker : b->allow;
    }
    return b->no_permission;
}

static place mode(builder *b, unsigned index, place next)
{
    return argument(b, index, when_set(b, SET_ID, b->no_permission, next));
}

static place create(builder *b, unsigned index, place next)
{
    const place creates = mode(b, index + 1, next);
    return argument(b, index, when_set(b, CREATES, creates, next));
}

static place ioctl_request(builder *b, place next)
{
    const place owner = b->has_broker ? b->broker : b->no_permission;
    for (size_t i = 0; i < sizeof ioctls / sizeof *ioctls; i++) {
        place refused = b->no_permission;
        switch (ioctls[i].rule) {
        case IOCTL_NEVER:
            break;
        case IOCTL_LANDLOCK:
            refused = b->is_landlock ? b->no_permission : b->allow;
            break;
        case IOCTL_OWNER:
            refused = b->is_landlock ? owner : b->allow;
            break;
        case IOCTL_SIGNAL:
            refused = b->may_signal_outside ? b->no_permission : b->allow;
            break;
        }
        next = refused == b->allow ? next : when_equal(b, ioctls[i].number, refused, next);
    }
    return argument(b, 1, next);
}

/* The type of a socket, argument 1, is one of two that lead on; no other is permitted. */
static place socket_type(builder *b, const uint32_t types[2], const place next[2])
{
    const place second = when_equal(b, types[1], next[1], b->no_permission);
    const place either = when_equal(b, types[0], next[0], second);
    return argument(b, 1, arcp__helper_and(&b->assembly, TYPE_MASK, either));
}

/* Local datagrams reach sockets by name with every message; connections do so once, through the
 * broker. A seqpacket socket sends to its peer only. */
static place socket_local(builder *b, place next)
{
    return socket_type(b, (const uint32_t[]){STREAM, SEQPACKET}, (const place[]){next, next});
}

static place socket_inet(builder *b, place next)
{
    const uint32_t protocols[] = {TCP, UDP};
    place checked[2];
    for (size_t i = 0; i < 2; i++) {
        const place named = when_equal(b, protocols[i], next, b->no_protocol);
        checked[i] = argument(b, 2, when_equal(b, 0, next, named));
    }
    return socket_type(b, (const uint32_t[]){STREAM, DATAGRAM}, checked);
}

/* TCP only: no datagrams, and no other protocol of streams (MPTCP, SCTP), which Landlock does not
 * know. */
static place socket_tcp(builder *b, place next)
{
    const place named = when_equal(b, TCP, next, b->no_protocol);
    const place protocol = argument(b, 2, when_equal(b, 0, next, named));
    const place stream = when_equal(b, STREAM, protocol, b->no_access);
    return argument(b, 1, arcp__helper_and(&b->assembly, TYPE_MASK, stream));
}

/* At level landlock a TCP socket could listen on a port of the host without bind, and a datagram
 * socket could send: there are none, but TCP sockets where the broker connects them to the proxy
 * and lets none listen. At level full the network is empty. */
static place socket_family(builder *b, place next)
{
    const place local = b->traps_connect ? socket_local(b, next) : b->no_family;
    const place inet = !b->is_landlock ? socket_inet(b, next)
                       : b->has_proxy  ? socket_tcp(b, next)
                                       : b->no_access;
    const place routing = argument(b, 2, when_equal(b, NETLINK_ROUTING, next, b->no_protocol));
    place family = when_equal(b, NETLINK, routing, b->no_family);
    family = when_equal(b, INET6, inet, family);
    family = when_equal(b, INET, inet, family);
    return argument(b, 0, when_equal(b, LOCAL, local, family));
}

/* Data may not be sent with a connection that it begins. */
static place send_flags(builder *b, unsigned index, place next)
{
    return b->has_proxy ? argument(b, index, when_set(b, FASTOPEN, b->no_permission, next)) : next;
}

static place socket_option(builder *b, place next)
{
    if (!b->has_proxy) {
        return next;
    }
    place level = b->no_permission;
    for (size_t i = 0; i < sizeof socket_options / sizeof *socket_options; i++) {
        const bool is_allowed = socket_options[i].is_allowed;
        place name = is_allowed ? b->no_permission : next;
        for (size_t j = 0; j < OPTIONS_MAX && socket_options[i].options[j] != 0; j++) {
            name = when_equal(b, socket_options[i].options[j], is_allowed ? next : b->no_permission,
                              name);
        }
        level = when_equal(b, socket_options[i].level, argument(b, 2, name), level);
    }
    return argument(b, 1, level);
}

/* Arguments 0 and 1 must be these, at level landlock. */
static place only_own(builder *b, uint32_t which, place next)
{
    if (!b->is_landlock) {
        return next;
    }
    const place who = argument(b, 1, when_equal(b, 0, next, b->no_permission));
    return argument(b, 0, when_equal(b, which, who, b->no_permission));
}

/* Before Landlock 6: the own process group (pid 0), and whether a process is there (signal 0). */
static place kill_inside(builder *b, place next)
{
    if (!b->may_signal_outside) {
        return next;
    }
    const place asks = argument(b, 1, when_equal(b, 0, next, b->no_permission));
    return argument(b, 0, when_equal(b, 0, next, asks));
}

/* With a lease on a file that it may only read, a program would delay others that open the file for
 * writing. */
static place file_command(builder *b, place next)
{
    next = when_equal(b, SET_LEASE, b->no_permission, next);
    if (!b->may_signal_outside) {
        return argument(b, 1, next);
    }
    const place extended = when_equal(b, SET_OWNER_EX, b->no_permission, next);
    return argument(b, 1, when_equal(b, SET_OWNER, b->no_permission, extended));
}

/* A descriptor needs no decision about a name. What the kernel says of a name that is given all the
 * same is of the view, in which nothing is that the lease does not grant; only at level landlock is
 * there no view. */
static place open_file(builder *b, unsigned flags, place next)
{
    if (next == b->allow || b->is_landlock) {
        return next;
    }
    const place described = argument(b, 0, when_equal(b, CURRENT_DIRECTORY, next, b->allow));
    return argument(b, flags, when_equal(b, EMPTY_PATH, described, next));
}

/* The block of a rule; `next` is where it leads when it does not refuse. */
static place write_rule(builder *b, rule kind, place next)
{
    switch (kind) {
    case RULE_ALLOW:
    case RULE_SAME: /* resolved before */
        return next;
    case RULE_EPERM:
        return b->no_permission;
    case RULE_ENOSYS:
        return b->no_call;
    case RULE_CREATE_1:
        return create(b, 1, next);
    case RULE_CREATE_2:
        return create(b, 2, next);
    case RULE_MODE_1:
        return mode(b, 1, next);
    case RULE_MODE_2:
        return mode(b, 2, next);
    case RULE_NODE_1:
        return argument(b, 1, when_set(b, SET_ID | DEVICE, b->no_permission, next));
    case RULE_NODE_2:
        return argument(b, 2, when_set(b, SET_ID | DEVICE, b->no_permission, next));
    case RULE_OPEN_FILE_2:
        return open_file(b, 2, next);
    case RULE_OPEN_FILE_3:
        return open_file(b, 3, next);
    case RULE_CLONE:
        return argument(b, 0, when_set(b, NEW_NAMESPACES, b->no_permission, next));
    case RULE_THREAD:
        next = when_set(b, NEW_THREAD, next, b->no_permission);
        return argument(b, 0, when_set(b, NEW_NAMESPACES, b->no_permission, next));
    case RULE_IOCTL:
        return ioctl_request(b, next);
    case RULE_FCNTL:
        return file_command(b, next);
    case RULE_SOCKET:
        return socket_family(b, next);
    case RULE_SOCKETPAIR:
        return argument(b, 0, when_equal(b, LOCAL, socket_local(b, next), b->no_family));
    case RULE_SEND_2:
        return send_flags(b, 2, next);
    case RULE_SEND_3:
        return send_flags(b, 3, next);
    case RULE_SOCKOPT:
        return socket_option(b, next);
    case RULE_OWN_0:
        return b->is_landlock ? argument(b, 0, when_equal(b, 0, next, b->no_permission)) : next;
    case RULE_PRIORITY:
        return only_own(b, OWNER_PROCESS, next);
    case RULE_IOPRIO:
        return only_own(b, OWNER_IO, next);
    case RULE_SHARED:
        return b->is_landlock ? b->no_permission : next;
    case RULE_KILL:
        return kill_inside(b, next);
    case RULE_SIGNAL:
        return b->may_signal_outside ? b->no_permission : next;
    }
    return b->no_permission;
}

/* The rule of a call in this filter. */
static rule rule_of(const builder *b, const row *call)
{
    if (b->is_monitor && call->monitor != RULE_SAME) {
        return call->monitor;
    }
    return b->is_learning && call->rule != RULE_ENOSYS ? RULE_ALLOW : call->rule;
}

size_t arcp__helper_filter_make(const arcp__helper_filter *what, arcp__sandbox_machine machine,
                                struct sock_filter *out)
{
    const bool is_landlock = !what->is_monitor && what->level != ARCP__SANDBOX_LEVEL_FULL;
    const bool has_broker = !what->is_monitor && what->has_broker;
    builder b = {
        .is_landlock = is_landlock,
        .may_signal_outside = is_landlock && what->landlock < LANDLOCK_WITH_SCOPES,
        .has_broker = has_broker,
        .traps_files = has_broker && what->traps_files,
        .traps_names = has_broker && what->traps_names,
        .traps_connect = has_broker && what->traps_connect,
        .has_proxy = is_landlock && has_broker && what->traps_connect && what->has_proxy,
        .is_learning = has_broker && what->is_learning,
        .is_monitor = what->is_monitor,
    };
    b.no_protocol = answer(&b, EPROTONOSUPPORT);
    b.no_family = answer(&b, EAFNOSUPPORT);
    b.no_access = answer(&b, EACCES);
    b.no_call = answer(&b, ENOSYS);
    b.no_permission = answer(&b, EPERM);
    b.broker = arcp__helper_return(&b.assembly, SECCOMP_RET_USER_NOTIF);
    b.allow = arcp__helper_return(&b.assembly, SECCOMP_RET_ALLOW);
    const place killed = arcp__helper_return(&b.assembly, SECCOMP_RET_KILL_PROCESS);

    place places[ARCP__SANDBOX_SYSCALL_NEWEST + 1];
    for (size_t i = 0; i <= ARCP__SANDBOX_SYSCALL_NEWEST; i++) {
        places[i] = b.allow;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *call = &rows[i];
        const rule kind = rule_of(&b, call);
        const place next = b.is_monitor ? b.allow : after_rule(&b, call->trap);
        if (call->numbers[machine] >= 0) {
            places[call->numbers[machine]] = write_rule(&b, kind, next);
        }
    }
    /* Numbers of x32 have bit 30 set: they are above the newest, too. */
    place start =
        arcp__helper_dispatch(&b.assembly, places, ARCP__SANDBOX_SYSCALL_NEWEST + 1, b.no_call);
    start = arcp__helper_load(&b.assembly, offsetof(struct seccomp_data, nr), start);
    start = when_equal(&b, architectures[machine], start, killed);
    start = arcp__helper_load(&b.assembly, offsetof(struct seccomp_data, arch), start);
    memcpy(out, b.assembly.code + (ARCP__HELPER_FILTER_MAX - start), start * sizeof *out);
    return start;
}

int arcp__helper_filter_install(const arcp__helper_filter *what, int *listener)
{
    if (ARCP__SANDBOX_MACHINE_HERE == ARCP__SANDBOX_MACHINE_COUNT) {
        return EOPNOTSUPP;
    }
    struct sock_filter code[ARCP__HELPER_FILTER_MAX];
    const struct sock_fprog program = {
        .len = (unsigned short)arcp__helper_filter_make(what, ARCP__SANDBOX_MACHINE_HERE, code),
        .filter = code,
    };
    const bool listens = what->has_broker && !what->is_monitor;
    const long result =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                listens ? SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE_RECV : 0UL, &program);
    if (result < 0) {
        return errno;
    }
    if (listener != NULL) {
        *listener = listens ? (int)result : -1;
    }
    return 0;
}

int arcp__helper_filter_monitor(void)
{
    return arcp__helper_filter_install(&(arcp__helper_filter){.is_monitor = true}, NULL);
}
