/* The filter's program, run by an interpreter of classic BPF over every number of both machines,
 * beside a second reading of the table. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "support/check.h"

#include "launch/bpf_run.h"
#include "launch/sandbox_helper/helper_filter.h"

/* ---- the second reading: what the table's comments say, call by call ---- */

enum { YES = 0, BROKER = -1, KILLED = -2 }; /* else an errno */

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
    RULE_SAME,
} rule;

typedef struct row {
    int numbers[ARCP__SANDBOX_MACHINE_COUNT];
    rule program;
    arcp__sandbox_trap trap;
    rule monitor;
} row;

static const row rows[] = {
#define ARCP_SANDBOX_SYSCALL(id, name, x86_64, aarch64, rule, trap, monitor)                       \
    {{x86_64, aarch64}, RULE_##rule, ARCP__SANDBOX_TRAP_##trap, RULE_##monitor},
#include "sandbox/sandbox_syscall.def"
#undef ARCP_SANDBOX_SYSCALL
};

static const struct {
    uint32_t number;
    const char *rule;
} ioctls[] = {
#define ARCP_SANDBOX_IOCTL(id, number, rule) {number, #rule},
#include "sandbox/sandbox_ioctl.def"
#undef ARCP_SANDBOX_IOCTL
};

static bool is_landlock(const arcp__helper_filter *what)
{
    return !what->is_monitor && what->level != ARCP__SANDBOX_LEVEL_FULL;
}

static bool signals_get_out(const arcp__helper_filter *what)
{
    return is_landlock(what) && what->landlock < 6;
}

static int ioctl_wanted(const arcp__helper_filter *what, uint32_t request)
{
    for (size_t i = 0; i < sizeof ioctls / sizeof *ioctls; i++) {
        if (ioctls[i].number != request) {
            continue;
        }
        if (strcmp(ioctls[i].rule, "NEVER") == 0 ||
            (strcmp(ioctls[i].rule, "LANDLOCK") == 0 && is_landlock(what)) ||
            (strcmp(ioctls[i].rule, "SIGNAL") == 0 && signals_get_out(what))) {
            return EPERM;
        }
        if (strcmp(ioctls[i].rule, "OWNER") == 0 && is_landlock(what)) {
            return what->has_broker ? BROKER : EPERM;
        }
    }
    return YES;
}

static bool has_proxy(const arcp__helper_filter *what)
{
    return is_landlock(what) && what->has_broker && what->traps_connect && what->has_proxy;
}

static bool is_one_of(uint32_t value, const uint32_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i] == value) {
            return true;
        }
    }
    return false;
}

static int option_wanted(uint32_t level, uint32_t name)
{
    static const uint32_t of_sockets[] = {SO_BINDTODEVICE, SO_MARK, 62};
    static const uint32_t of_tcp[] = {TCP_REPAIR, TCP_FASTOPEN, TCP_FASTOPEN_CONNECT,
                                      TCP_ULP,    33,           34};
    static const uint32_t of_ip[] = {IP_TOS, IP_TTL, IP_MTU_DISCOVER, IP_RECVERR,
                                     IP_BIND_ADDRESS_NO_PORT};
    static const uint32_t of_ipv6[] = {IPV6_UNICAST_HOPS, IPV6_MTU_DISCOVER, IPV6_RECVERR,
                                       IPV6_V6ONLY, IPV6_TCLASS};
    switch (level) {
    case SOL_SOCKET:
        return is_one_of(name, of_sockets, 3) ? EPERM : YES;
    case IPPROTO_TCP:
        return is_one_of(name, of_tcp, 6) ? EPERM : YES;
    case IPPROTO_IP:
        return is_one_of(name, of_ip, 5) ? YES : EPERM;
    case IPPROTO_IPV6:
        return is_one_of(name, of_ipv6, 5) ? YES : EPERM;
    case SOL_NETLINK:
        return YES;
    default:
        return EPERM;
    }
}

static int socket_wanted(const arcp__helper_filter *what, uint32_t family, uint32_t type,
                         uint32_t protocol)
{
    const uint32_t kind = type & 0xf;
    if (family == 1 && what->has_broker && what->traps_connect) {
        return kind == 1 || kind == 5 ? YES : EPERM;
    }
    if (family == 2 || family == 10) {
        if (has_proxy(what) && kind == 1) {
            return protocol == 0 || protocol == 6 ? YES : EPROTONOSUPPORT;
        }
        if (is_landlock(what)) {
            return EACCES;
        }
        if (kind != 1 && kind != 2) {
            return EPERM;
        }
        return protocol == 0 || protocol == (kind == 1 ? 6U : 17U) ? YES : EPROTONOSUPPORT;
    }
    if (family == 16) {
        return protocol == 0 ? YES : EPROTONOSUPPORT;
    }
    return EAFNOSUPPORT;
}

/* What the rule by itself says. */
static int rule_wanted(const arcp__helper_filter *what, rule kind, const uint32_t arguments[6])
{
    const uint32_t set_id = 06000;
    const uint32_t creates = 0100 | 020000000;
    const uint32_t namespaces = 0x7e020000;
    const bool landlock = is_landlock(what);
    switch (kind) {
    case RULE_ALLOW:
    case RULE_SAME:
        return YES;
    case RULE_EPERM:
        return EPERM;
    case RULE_ENOSYS:
        return ENOSYS;
    case RULE_CREATE_1:
        return (arguments[1] & creates) != 0 && (arguments[2] & set_id) != 0 ? EPERM : YES;
    case RULE_CREATE_2:
        return (arguments[2] & creates) != 0 && (arguments[3] & set_id) != 0 ? EPERM : YES;
    case RULE_MODE_1:
        return (arguments[1] & set_id) != 0 ? EPERM : YES;
    case RULE_MODE_2:
        return (arguments[2] & set_id) != 0 ? EPERM : YES;
    case RULE_NODE_1:
        return (arguments[1] & (set_id | 0020000)) != 0 ? EPERM : YES;
    case RULE_NODE_2:
        return (arguments[2] & (set_id | 0020000)) != 0 ? EPERM : YES;
    case RULE_OPEN_FILE_2: /* of what the broker answers: is_of_open_file */
    case RULE_OPEN_FILE_3:
        return YES;
    case RULE_CLONE:
        return (arguments[0] & namespaces) != 0 ? EPERM : YES;
    case RULE_THREAD:
        return (arguments[0] & namespaces) != 0 || (arguments[0] & 0x10000) == 0 ? EPERM : YES;
    case RULE_IOCTL:
        return ioctl_wanted(what, arguments[1]);
    case RULE_FCNTL:
        return arguments[1] == 1024 ||
                       (signals_get_out(what) && (arguments[1] == 8 || arguments[1] == 15))
                   ? EPERM
                   : YES;
    case RULE_SOCKET:
        return socket_wanted(what, arguments[0], arguments[1], arguments[2]);
    case RULE_SOCKETPAIR:
        if (arguments[0] != 1) {
            return EAFNOSUPPORT;
        }
        return (arguments[1] & 0xf) == 1 || (arguments[1] & 0xf) == 5 ? YES : EPERM;
    case RULE_SEND_2:
        return has_proxy(what) && (arguments[2] & 0x20000000) != 0 ? EPERM : YES;
    case RULE_SEND_3:
        return has_proxy(what) && (arguments[3] & 0x20000000) != 0 ? EPERM : YES;
    case RULE_SOCKOPT:
        return has_proxy(what) ? option_wanted(arguments[1], arguments[2]) : YES;
    case RULE_OWN_0:
        return landlock && arguments[0] != 0 ? EPERM : YES;
    case RULE_PRIORITY:
        return landlock && (arguments[0] != 0 || arguments[1] != 0) ? EPERM : YES;
    case RULE_IOPRIO:
        return landlock && (arguments[0] != 1 || arguments[1] != 0) ? EPERM : YES;
    case RULE_SHARED:
        return landlock ? EPERM : YES;
    case RULE_KILL:
        return signals_get_out(what) && arguments[0] != 0 && arguments[1] != 0 ? EPERM : YES;
    case RULE_SIGNAL:
        return signals_get_out(what) ? EPERM : YES;
    }
    return EPERM;
}

/* Whether the kernel describes an open file, at level full. */
static bool is_of_open_file(const arcp__helper_filter *what, const row *call,
                            const uint32_t arguments[6])
{
    const size_t flags = call->program == RULE_OPEN_FILE_2 ? 2 : 3;
    return (call->program == RULE_OPEN_FILE_2 || call->program == RULE_OPEN_FILE_3) &&
           !is_landlock(what) && arguments[flags] == 0x1000 && arguments[0] != (uint32_t)-100;
}

static int wanted(const arcp__helper_filter *what, const row *call, const uint32_t arguments[6])
{
    if (call == NULL) {
        return YES;
    }
    if (what->is_learning) {
        return call->program == RULE_ENOSYS            ? ENOSYS
               : call->trap == ARCP__SANDBOX_TRAP_NONE ? YES
                                                       : BROKER;
    }
    const int refused = rule_wanted(
        what, what->is_monitor && call->monitor != RULE_SAME ? call->monitor : call->program,
        arguments);
    if (refused != YES || what->is_monitor) {
        return refused;
    }
    switch (call->trap) {
    case ARCP__SANDBOX_TRAP_NONE:
    case ARCP__SANDBOX_TRAP_LEARN:
        break;
    case ARCP__SANDBOX_TRAP_FILES:
        return what->has_broker && what->traps_files ? BROKER : YES;
    case ARCP__SANDBOX_TRAP_NAMES:
        return what->has_broker && what->traps_names && !is_of_open_file(what, call, arguments)
                   ? BROKER
                   : YES;
    case ARCP__SANDBOX_TRAP_OWNER:
        if (is_landlock(what)) {
            return what->has_broker ? BROKER : EPERM;
        }
        break;
    case ARCP__SANDBOX_TRAP_CONNECT:
        return what->has_broker && what->traps_connect ? BROKER : YES;
    case ARCP__SANDBOX_TRAP_LISTEN:
        return is_landlock(what) && what->has_broker && what->traps_connect ? BROKER : YES;
    }
    return YES;
}

static uint32_t value_of(int wanted)
{
    switch (wanted) {
    case YES:
        return SECCOMP_RET_ALLOW;
    case BROKER:
        return SECCOMP_RET_USER_NOTIF;
    case KILLED:
        return SECCOMP_RET_KILL_PROCESS;
    default:
        return SECCOMP_RET_ERRNO | (uint32_t)wanted;
    }
}

/* ---- every filter that there is ---- */

#define FILTERS 132

static arcp__helper_filter filter_of(size_t i)
{
    if (i >= 130) {
        return (arcp__helper_filter){.is_learning = true,
                                     .has_broker = true,
                                     .level = i == 130 ? ARCP__SANDBOX_LEVEL_FULL
                                                       : ARCP__SANDBOX_LEVEL_LANDLOCK};
    }
    return i >= 128 ? (arcp__helper_filter){.is_monitor = true,
                                            .level = ARCP__SANDBOX_LEVEL_LANDLOCK,
                                            .has_broker = i == 129,
                                            .traps_files = true,
                                            .traps_names = true,
                                            .traps_connect = true,
                                            .has_proxy = true}
                    : (arcp__helper_filter){
                          .level = (i & 1) != 0 ? ARCP__SANDBOX_LEVEL_FULL
                                                : ARCP__SANDBOX_LEVEL_LANDLOCK,
                          .landlock = (i & 2) != 0 ? 6 : 5,
                          .has_broker = (i & 4) != 0,
                          .traps_names = (i & 8) != 0,
                          .traps_connect = (i & 16) != 0,
                          .has_proxy = (i & 32) != 0,
                          .traps_files = (i & 64) != 0,
                      };
}

static const uint32_t architectures[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64};

static uint64_t seed;

static uint32_t draw(void)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(seed >> 33);
}

/* Mostly a value that some rule looks at, or its neighbour; the upper half is the program's. */
static uint64_t draw_argument(void)
{
    static const uint32_t values[] = {
        0,          1,         2,          3,          5,          6,       8,      10,
        15,         16,        17,         132,        256,        262,     02001,  04755,
        0755,       0100,      0101,       020200000,  0644,       0x10f00, 0x8f00, 0x80001,
        0x80005,    0x802,     0x800001,   0x10000,    0x20000,    0x80,    0x11,   0x10000000,
        0x40000000, 0x2000000, 0x7e020000, 0xffffffff, 0x80000000, 0x5401,  0x5412, 0x20000000,
        4,          11,        19,         23,         24,         25,      26,     30,
        31,         33,        34,         36,         41,         62,      67,     270,
        1024,       1025,      0x1000,     0x1100,     0xffffff9c,
    };
    const uint32_t pick = draw();
    uint32_t low = values[draw() % (sizeof values / sizeof *values)];
    if (pick % 4 == 0) {
        low = ioctls[draw() % (sizeof ioctls / sizeof *ioctls)].number;
    } else if (pick % 16 == 1) {
        low = draw() << 1 | (pick >> 8 & 1);
    }
    return low | (uint64_t)(pick % 3 == 0 ? draw() << 1 : 0) << 32;
}

static const row *find(size_t machine, uint32_t number)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].numbers[machine] >= 0 && (uint32_t)rows[i].numbers[machine] == number) {
            return &rows[i];
        }
    }
    return NULL;
}

static void check_number(const struct sock_filter *code, size_t count,
                         const arcp__helper_filter *what, size_t machine, uint32_t number)
{
    const row *call = number <= ARCP__SANDBOX_SYSCALL_NEWEST ? find(machine, number) : NULL;
    const size_t draws = call != NULL && call->program > RULE_ENOSYS ? 400 : 5;
    for (size_t i = 0; i < draws / test_stride() + 1; i++) {
        struct seccomp_data data = {.nr = (int)number, .arch = architectures[machine]};
        uint32_t low[6];
        for (size_t k = 0; k < 6; k++) {
            data.args[k] = draw_argument();
            low[k] = (uint32_t)data.args[k];
        }
        const int want = number > ARCP__SANDBOX_SYSCALL_NEWEST ? ENOSYS : wanted(what, call, low);
        const bpf_outcome got = bpf_run(code, count, &data);
        if (got.value != value_of(want)) {
            fail_msg("machine %zu, number %u (%x %x %x %x): %x, expected %x", machine, number,
                     low[0], low[1], low[2], low[3], got.value, value_of(want));
        }
    }
}

static void every_number_is_answered_as_the_table_says(void **state)
{
    (void)state;
    static const uint32_t beyond[] = {ARCP__SANDBOX_SYSCALL_NEWEST + 1,
                                      511,
                                      512,
                                      547,
                                      1024,
                                      0x40000000,
                                      0x40000000 + 59,
                                      0x40000000 + 101,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff};
    static struct sock_filter code[ARCP__HELPER_FILTER_MAX];
    for (size_t i = 0; i < FILTERS; i++) {
        const arcp__helper_filter what = filter_of(i);
        for (size_t machine = 0; machine < ARCP__SANDBOX_MACHINE_COUNT; machine++) {
            const size_t count =
                arcp__helper_filter_make(&what, (arcp__sandbox_machine)machine, code);
            for (uint32_t number = 0; number <= ARCP__SANDBOX_SYSCALL_NEWEST; number++) {
                check_number(code, count, &what, machine, number);
            }
            for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++) {
                check_number(code, count, &what, machine, beyond[k]);
            }
        }
    }
}

static void another_architecture_is_killed_whatever_it_calls(void **state)
{
    (void)state;
    static const uint32_t others[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_RISCV64, 0,
                                      0xffffffff};
    static struct sock_filter code[ARCP__HELPER_FILTER_MAX];
    for (size_t i = 0; i < FILTERS; i++) {
        const arcp__helper_filter what = filter_of(i);
        for (size_t machine = 0; machine < ARCP__SANDBOX_MACHINE_COUNT; machine++) {
            const size_t count =
                arcp__helper_filter_make(&what, (arcp__sandbox_machine)machine, code);
            for (int number = 0; number <= ARCP__SANDBOX_SYSCALL_NEWEST; number++) {
                for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
                    const struct seccomp_data data = {.nr = number, .arch = others[k]};
                    assert_int_equal(bpf_run(code, count, &data).value, SECCOMP_RET_KILL_PROCESS);
                }
                const struct seccomp_data swapped = {.nr = number,
                                                     .arch = architectures[1 - machine]};
                assert_int_equal(bpf_run(code, count, &swapped).value, SECCOMP_RET_KILL_PROCESS);
            }
        }
    }
}

/* The tree of comparisons: a filter is run for each call that it has arguments of, or traps. */
static void no_call_runs_more_than_45_instructions_and_common_ones_20(void **state)
{
    (void)state;
    static const int common[] = {0, 1, 3, 9, 10, 12, 202, 230, 257, 262, 56, 72};
    static struct sock_filter code[ARCP__HELPER_FILTER_MAX];
    size_t most = 0;
    size_t longest = 0;
    for (size_t i = 0; i < FILTERS; i++) {
        const arcp__helper_filter what = filter_of(i);
        for (size_t machine = 0; machine < ARCP__SANDBOX_MACHINE_COUNT; machine++) {
            const size_t count =
                arcp__helper_filter_make(&what, (arcp__sandbox_machine)machine, code);
            longest = count > longest ? count : longest;
            for (int number = 0; number <= ARCP__SANDBOX_SYSCALL_NEWEST; number++) {
                const struct seccomp_data data = {.nr = number, .arch = architectures[machine]};
                const size_t steps = bpf_run(code, count, &data).steps;
                most = steps > most ? steps : most;
            }
            for (size_t k = 0; machine == 0 && k < sizeof common / sizeof *common; k++) {
                const struct seccomp_data data = {
                    .nr = common[k], .arch = AUDIT_ARCH_X86_64, .args = {0x1200011, 1, 1, 1}};
                assert_in_range(bpf_run(code, count, &data).steps, 4, 20);
            }
        }
    }
    print_message("most instructions of a call: %zu; longest filter: %zu\n", most, longest);
    assert_in_range(most, 10, 45);
    assert_in_range(longest, 100, 1000);
}

/* The kernel asks once which calls are always allowed; an argument must not be looked at on the
 * way. */
static void a_call_without_a_rule_is_allowed_by_its_number_alone(void **state)
{
    (void)state;
    const arcp__helper_filter what = {.level = ARCP__SANDBOX_LEVEL_FULL};
    static struct sock_filter code[ARCP__HELPER_FILTER_MAX];
    const size_t count = arcp__helper_filter_make(&what, ARCP__SANDBOX_MACHINE_X86_64, code);
    size_t constant = 0;
    for (uint32_t number = 0; number <= ARCP__SANDBOX_SYSCALL_NEWEST; number++) {
        size_t at = 0;
        uint32_t loaded = 0;
        bool looks = false;
        /* Along the path that zeros take, up to the answer or the first load of an argument. */
        while (BPF_CLASS(code[at].code) != BPF_RET && !looks) {
            assert_true(at < count);
            const struct sock_filter now = code[at++];
            if (BPF_CLASS(now.code) == BPF_LD) {
                looks = now.k >= offsetof(struct seccomp_data, args);
                loaded = now.k == offsetof(struct seccomp_data, nr) ? number : AUDIT_ARCH_X86_64;
            } else if (BPF_OP(now.code) == BPF_JGE) {
                at += loaded >= now.k ? now.jt : now.jf;
            } else if (BPF_OP(now.code) == BPF_JEQ) {
                at += loaded == now.k ? now.jt : now.jf;
            } else {
                at += now.k;
            }
        }
        if (find(0, number) == NULL) {
            assert_false(looks);
            constant++;
        }
    }
    assert_true(constant > 300);
}

static void a_call_is_found_by_its_number(void **state)
{
    (void)state;
    static const int numbers[ARCP__SANDBOX_SYSCALL_COUNT][ARCP__SANDBOX_MACHINE_COUNT] = {
#define ARCP_SANDBOX_SYSCALL(id, name, x86_64, aarch64, rule, trap, monitor)                       \
    [ARCP__SANDBOX_SYSCALL_##id] = {x86_64, aarch64},
#include "sandbox/sandbox_syscall.def"
#undef ARCP_SANDBOX_SYSCALL
    };
    for (int machine = 0; machine < ARCP__SANDBOX_MACHINE_COUNT; machine++) {
        const arcp__sandbox_machine here = (arcp__sandbox_machine)machine;
        for (int i = 0; i < ARCP__SANDBOX_SYSCALL_COUNT; i++) {
            const int number = numbers[i][machine];
            assert_in_range(number + 1, 0, ARCP__SANDBOX_SYSCALL_NEWEST + 1);
            if (number >= 0) {
                assert_int_equal(arcp__sandbox_syscall_find(here, number), i);
            }
        }
        assert_int_equal(arcp__sandbox_syscall_find(here, -1), ARCP__SANDBOX_SYSCALL_COUNT);
    }
    assert_int_equal(arcp__sandbox_syscall_find(ARCP__SANDBOX_MACHINE_X86_64, 0),
                     ARCP__SANDBOX_SYSCALL_COUNT); /* read */
    assert_int_equal(arcp__sandbox_syscall_find(ARCP__SANDBOX_MACHINE_AARCH64, 56),
                     ARCP__SANDBOX_SYSCALL_OPENAT);
}

int main(void)
{
    const char *text = getenv("ARCP_TEST_SEED");
    seed = text == NULL ? 20261123 : strtoull(text, NULL, 10);
    print_message("ARCP_TEST_SEED=%llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_answered_as_the_table_says),
        cmocka_unit_test(another_architecture_is_killed_whatever_it_calls),
        cmocka_unit_test(no_call_runs_more_than_45_instructions_and_common_ones_20),
        cmocka_unit_test(a_call_without_a_rule_is_allowed_by_its_number_alone),
        cmocka_unit_test(a_call_is_found_by_its_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
