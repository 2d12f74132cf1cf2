#include "launch/sandbox_helper/helper_landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/path.h"
#include "launch/sandbox_helper/landlock_abi.h"

#define OF_FILES                                                                                   \
    (LANDLOCK_EXECUTE | LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE | LANDLOCK_TRUNCATE |             \
     LANDLOCK_IOCTL_DEV)

#define READING (LANDLOCK_READ_FILE | LANDLOCK_READ_DIR)
/* No devices: MAKE_CHAR and MAKE_BLOCK are never admitted. */
#define WRITING                                                                                    \
    (LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE | LANDLOCK_REMOVE_DIR | LANDLOCK_REMOVE_FILE |        \
     LANDLOCK_MAKE_DIR | LANDLOCK_MAKE_REG | LANDLOCK_MAKE_SOCK | LANDLOCK_MAKE_FIFO |             \
     LANDLOCK_MAKE_SYM | LANDLOCK_REFER)
#define WRITING_DEVICES (LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV)

/* What each version can deny: the rights that it brought, and those before it. */
static uint64_t handled_by(uint32_t version)
{
    uint64_t rights = LANDLOCK_EXECUTE | READING |
                      (WRITING & ~LANDLOCK_REFER & ~LANDLOCK_TRUNCATE) | LANDLOCK_MAKE_CHAR |
                      LANDLOCK_MAKE_BLOCK;
    if (version >= 2) {
        rights |= LANDLOCK_REFER;
    }
    if (version >= 3) {
        rights |= LANDLOCK_TRUNCATE;
    }
    if (version >= 5) {
        rights |= LANDLOCK_IOCTL_DEV;
    }
    return rights;
}

typedef struct ruleset {
    int fd;
    uint64_t handled;
} ruleset;

/* Of the rule that was added last. */
static char rule_path[PATH_MAX];

/* What must be at the path of a rule: anything else gives nothing, as find_absent reports. */
typedef enum rule_kind { RULE_OF_ANY, RULE_OF_FILE, RULE_OF_DIRECTORY } rule_kind;

static rule_kind kind_of(const arcp__sandbox_rule *rule)
{
    if (rule->is_file) {
        return RULE_OF_FILE;
    }
    return rule->class == ARCP__SANDBOX_CLASS_LEASE ? RULE_OF_DIRECTORY : RULE_OF_ANY;
}

/* Adds a rule; an absent path gives nothing, and neither does one of another kind. 0 or an errno:
 * ELOOP when there is a symbolic link anywhere in the path, because another program may have chosen
 * what it names. */
static int add(const ruleset *set, arcp_span path, uint64_t rights, rule_kind kind)
{
    if (path.size >= sizeof rule_path) {
        return ENAMETOOLONG;
    }
    memcpy(rule_path, path.data, path.size);
    rule_path[path.size] = '\0';
    const struct open_how how = {
        .flags = O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    const int fd = (int)syscall(SYS_openat2, AT_FDCWD, rule_path, &how, sizeof how);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    }
    struct stat about;
    int number = fstat(fd, &about) == 0 ? 0 : errno;
    rights &= set->handled;
    const bool is_directory = number == 0 && S_ISDIR(about.st_mode);
    if ((is_directory && kind == RULE_OF_FILE) || (!is_directory && kind == RULE_OF_DIRECTORY)) {
        rights = 0;
    } else if (!is_directory) {
        rights &= OF_FILES;
    }
    if (number == 0 && rights != 0) {
        const landlock_path_beneath rule = {.allowed_access = rights, .parent_fd = fd};
        if (syscall(LANDLOCK_ADD_RULE, set->fd, LANDLOCK_PATH_BENEATH, &rule, 0) != 0) {
            number = errno;
        }
    }
    (void)close(fd);
    return number;
}

/* Whether the file that rule_path leads to, over its links, has a rule with these rights by its
 * real name. Only then is the rule that names it by a link not needed. */
static bool is_granted_by_name(const arcp__sandbox_plan *plan, uint32_t rights)
{
    char real[PATH_MAX];
    if (realpath(rule_path, real) == NULL) {
        return false;
    }
    const arcp_span path = arcp_span_cstr(real);
    for (size_t i = 0; i < plan->rule_count; i++) {
        const arcp__sandbox_rule *rule = &plan->rules[i];
        const bool is_of_rule = rule->is_file ? arcp_span_equal(path, rule->path)
                                              : arcp__path_is_within(path, rule->path);
        if ((rule->rights & rights) == rights && is_of_rule) {
            return true;
        }
    }
    return false;
}

static uint64_t rights_of(const arcp__sandbox_rule *rule)
{
    const uint64_t writing = rule->class == ARCP__SANDBOX_CLASS_SYSTEM ? WRITING_DEVICES : WRITING;
    return ((rule->rights & ARCP__SANDBOX_READ) != 0 ? READING : 0) |
           ((rule->rights & ARCP__SANDBOX_WRITE) != 0 ? writing : 0) |
           ((rule->rights & ARCP__SANDBOX_EXECUTE) != 0 ? LANDLOCK_EXECUTE : 0);
}

static int add_rules(const ruleset *set, const arcp__sandbox_plan *plan)
{
    int number = 0;
    for (size_t i = 0; number == 0 && i < plan->rule_count; i++) {
        const arcp__sandbox_rule *rule = &plan->rules[i];
        number = add(set, rule->path, rights_of(rule), kind_of(rule));
        if (number == ELOOP &&
            (rule->class == ARCP__SANDBOX_CLASS_BASE || is_granted_by_name(plan, rule->rights))) {
            number = 0;
        }
    }
    return number;
}

/* Whether / may be listed: the right is one of everything below, and the names in a directory that
 * is only written must not be listed. */
static bool may_list_all(const arcp__sandbox_plan *plan)
{
    for (size_t i = 0; i < plan->rule_count; i++) {
        const arcp__sandbox_rule *rule = &plan->rules[i];
        if (!rule->is_file && (rule->rights & ARCP__SANDBOX_READ) == 0) {
            return false;
        }
    }
    for (size_t i = 0; i < plan->mount_count; i++) {
        if (plan->mounts[i].kind == ARCP__SANDBOX_MOUNT_ROOT) {
            return false;
        }
    }
    return plan->level == ARCP__SANDBOX_LEVEL_FULL;
}

/* Lets the standard descriptors be opened again, as /dev/stdout or /dev/stderr, for no more than
 * they are open for already. Pipes and sockets need no rule. */
static int add_standard(const ruleset *set)
{
    static const uint64_t of_mode[] = {
        [O_RDONLY] = LANDLOCK_READ_FILE,
        [O_WRONLY] = LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE,
        [O_RDWR] = LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE,
    };
    for (int fd = 0; fd <= 2; fd++) {
        struct stat about;
        const int flags = fcntl(fd, F_GETFL);
        if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_ACCMODE ||
            fstat(fd, &about) != 0 || !(S_ISREG(about.st_mode) || S_ISCHR(about.st_mode))) {
            continue;
        }
        const uint64_t ioctl = S_ISCHR(about.st_mode) ? LANDLOCK_IOCTL_DEV : 0;
        const landlock_path_beneath rule = {
            .allowed_access = (of_mode[flags & O_ACCMODE] | ioctl) & set->handled,
            .parent_fd = fd,
        };
        /* EBADFD: a file of no file system that can be mounted, such as a memfd: no rule is
         * needed. */
        if (syscall(LANDLOCK_ADD_RULE, set->fd, LANDLOCK_PATH_BENEATH, &rule, 0) != 0 &&
            errno != EBADFD) {
            return errno;
        }
    }
    return 0;
}

uint32_t arcp__helper_landlock_version(void)
{
    const long version = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_ASK_VERSION);
    return version < 0 ? 0 : (uint32_t)version;
}

/* The port of the proxy: the only one that can be connected to, wherever that is. The broker limits
 * the address. */
static int add_proxy(const ruleset *set, uint16_t port)
{
    const landlock_net_port rule = {.allowed_access = LANDLOCK_CONNECT_TCP, .port = port};
    return syscall(LANDLOCK_ADD_RULE, set->fd, LANDLOCK_NET_PORT, &rule, 0) == 0 ? 0 : errno;
}

int arcp__helper_landlock(const arcp__sandbox_plan *plan, const arcp__sandbox_abilities *abilities,
                          uint16_t proxy_port, const char **path)
{
    rule_path[0] = '\0';
    *path = rule_path;
    const uint32_t version = abilities->values[ARCP__SANDBOX_ABILITY_LANDLOCK];
    if (version == 0) {
        return EOPNOTSUPP;
    }
    const landlock_ruleset rules = {
        .handled_access_fs = handled_by(version),
        .handled_access_net = version >= 4 && plan->level != ARCP__SANDBOX_LEVEL_FULL
                                  ? LANDLOCK_BIND_TCP | LANDLOCK_CONNECT_TCP
                                  : 0,
        .scoped = version >= 6 ? LANDLOCK_SCOPE_ABSTRACT_SOCKET | LANDLOCK_SCOPE_SIGNAL : 0,
    };
    const ruleset set = {
        .fd = (int)syscall(LANDLOCK_CREATE_RULESET, &rules, sizeof rules, 0),
        .handled = rules.handled_access_fs,
    };
    if (set.fd < 0) {
        return errno;
    }
    int number = add_rules(&set, plan);
    if (number == 0) {
        number = add_standard(&set);
    }
    if (number == 0 && may_list_all(plan)) {
        number = add(&set, ARCP_SPAN_LITERAL("/"), LANDLOCK_READ_DIR, RULE_OF_DIRECTORY);
    }
    if (number == 0 && proxy_port != 0) {
        rule_path[0] = '\0';
        number = version < 4 ? EOPNOTSUPP : add_proxy(&set, proxy_port);
    }
    if (number == 0) {
        rule_path[0] = '\0';
        number = syscall(LANDLOCK_RESTRICT_SELF, set.fd, 0) == 0 ? 0 : errno;
    }
    (void)close(set.fd);
    return number;
}
