/* connect, on behalf of the program.
 *
 * The kernel is never told to go on with it: the address is in the program's memory, and what its
 * descriptor refers to can change, too. The broker takes a duplicate of the socket (pidfd_getfd),
 * decides by what that is, and connects it to the address that it has copied. A local socket is
 * connected to the inode that was looked up, not to its name.
 *
 * A connect can block, on a server that waits for the broker itself, so each has a thread of its
 * own when its socket is blocking. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "broker/broker_task.h"

enum {
    CONNECTS_MAX = 64,
    STACK_BYTES = 64 << 10,
    PIDFD_OF_THREAD = O_EXCL, /* PIDFD_THREAD, Linux 6.9 */
    DIAG_BYTES = 32 << 10,
    ADDRESS_TEXT = 64, /* of an address with its port */
    SIN6_LEN_RFC2133 = 24,
};

#define XFS_BYTES_MAX (UINT64_C(1) << 40) /* up to here its inodes have 32 bits */

/* A connect that blocks. */
typedef struct waiter {
    arcp__broker *broker;
    pthread_t thread;
    uint64_t id; /* of the request */
    int fd, named;
    socklen_t size;
    struct sockaddr_storage address;
    bool is_used;
} waiter;

struct arcp__broker_connects {
    pthread_mutex_t lock;
    pthread_mutex_t diag; /* one dialogue at a time on the netlink socket */
    waiter waiters[CONNECTS_MAX];
};

static void on_wake(int number)
{
    (void)number; /* connect returns EINTR */
}

/* Not one that a terminal or a launcher sends to the group. */
static int wake_signal(void)
{
    return SIGRTMIN + 3;
}

arcp__broker_connects *arcp__broker_connects_new(void)
{
    arcp__broker_connects *connects = arcp__alloc(sizeof *connects);
    const struct sigaction action = {.sa_handler = on_wake}; /* without SA_RESTART */
    if (connects == NULL || sigaction(wake_signal(), &action, NULL) != 0) {
        arcp__free(connects);
        return NULL;
    }
    (void)pthread_mutex_init(&connects->lock, NULL);
    (void)pthread_mutex_init(&connects->diag, NULL);
    return connects;
}

void arcp__broker_connects_free(arcp__broker_connects *connects)
{
    if (connects != NULL) {
        (void)pthread_mutex_destroy(&connects->lock);
        (void)pthread_mutex_destroy(&connects->diag);
        arcp__free(connects);
    }
}

/* ---- the program's socket ---- */

/* The process of a thread, for kernels that have no descriptors of threads; 0: unknown. */
static pid_t process_of(pid_t thread)
{
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/%d/status", (int)thread);
    FILE *file = fopen(name, "re");
    if (file == NULL) {
        return 0;
    }
    static const char name_of_line[] = "Tgid:";
    char line[256];
    long process = 0;
    while (process == 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name_of_line, sizeof name_of_line - 1) == 0) {
            process = strtol(line + sizeof name_of_line - 1, NULL, 10);
        }
    }
    (void)fclose(file);
    return (pid_t)process;
}

int arcp__broker_take_descriptor(const arcp__broker_task *task, int number)
{
    const pid_t thread = (pid_t)task->request->pid;
    long pidfd = syscall(SYS_pidfd_open, thread, PIDFD_OF_THREAD);
    if (pidfd < 0) {
        pidfd = syscall(SYS_pidfd_open, process_of(thread), 0);
    }
    if (pidfd < 0) {
        return -EACCES;
    }
    /* Only after it is open: the number could have been another's before. */
    long fd = -1;
    int error = EACCES;
    if (arcp__broker_task_is_valid(task)) {
        fd = syscall(SYS_pidfd_getfd, pidfd, number, 0);
        error = errno == EBADF ? EBADF : EACCES;
    }
    (void)close((int)pidfd);
    return fd < 0 ? -error : (int)fd;
}

/* ---- local sockets ---- */

static int ask_diag(int diag, ino_t inode)
{
    struct {
        struct nlmsghdr header;
        struct unix_diag_req body;
    } request = {
        .header = {.nlmsg_len = sizeof request,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                   .nlmsg_seq = (uint32_t)inode},
        .body = {.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_show = UDIAG_SHOW_VFS},
    };
    return send(diag, &request, sizeof request, 0) == (ssize_t)sizeof request ? 0 : errno;
}

/* Whether one socket of an answer is bound to the inode. */
static bool is_bound_to(const struct nlmsghdr *header, const struct stat *name)
{
    const struct unix_diag_msg *message = NLMSG_DATA(header);
    const char *end = (const char *)header + header->nlmsg_len;
    const char *at = (const char *)(message + 1);
    while (at + sizeof(struct nlattr) <= end) {
        struct nlattr attribute;
        memcpy(&attribute, at, sizeof attribute);
        if (attribute.nla_len < sizeof attribute || attribute.nla_len > end - at) {
            return false;
        }
        struct unix_diag_vfs file;
        if (attribute.nla_type == UNIX_DIAG_VFS &&
            attribute.nla_len >= sizeof attribute + sizeof file) {
            memcpy(&file, at + sizeof attribute, sizeof file);
            /* The kernel's own form of a device's number. */
            const dev_t device = makedev(file.udiag_vfs_dev >> 20, file.udiag_vfs_dev & 0xfffff);
            if (file.udiag_vfs_ino == (uint32_t)name->st_ino && device == name->st_dev) {
                return true;
            }
        }
        at += NLA_ALIGN(attribute.nla_len);
    }
    return false;
}

/* Whether 32 bits tell the inodes of a file system apart, which is all that the kernel says of the
 * inode of a socket. Those of a tmpfs begin anew after 2^32 files, which a program makes in some
 * hours; then it could have a socket with the number of one of the host's. The sandbox's own tmpfs
 * has no sockets of the host. */
static bool has_short_inodes(const arcp__broker *broker, int fd, dev_t device)
{
    static const uint32_t magics[] = {EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                                      OVERLAYFS_SUPER_MAGIC};
    struct statfs about;
    if (fstatfs(fd, &about) != 0) {
        return false;
    }
    if ((uint32_t)about.f_type == TMPFS_MAGIC) {
        return broker->views != NULL && arcp__broker_views_device(broker->views) == device;
    }
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        if ((uint32_t)about.f_type == magics[i]) {
            return true;
        }
    }
    /* XFS numbers inodes by their place. */
    return (uint32_t)about.f_type == XFS_SUPER_MAGIC &&
           (uint64_t)about.f_blocks * (uint64_t)about.f_bsize <= XFS_BYTES_MAX;
}

/* Whether a socket of the program's network namespace is bound to the inode, so that it was made
 * inside. */
static bool is_own(arcp__broker *broker, int fd, const struct stat *name)
{
    if (broker->sockets < 0 || name->st_ino > UINT32_MAX ||
        !has_short_inodes(broker, fd, name->st_dev)) {
        return false;
    }
    char *bytes = arcp__alloc(DIAG_BYTES);
    bool is_found = false;
    (void)pthread_mutex_lock(&broker->connects->diag);
    bool is_done = bytes == NULL || ask_diag(broker->sockets, name->st_ino) != 0;
    while (!is_done) {
        ssize_t got = recv(broker->sockets, bytes, DIAG_BYTES, 0);
        is_done = got <= 0;
        for (const struct nlmsghdr *one = (const void *)bytes; got > 0 && NLMSG_OK(one, got);
             one = NLMSG_NEXT(one, got)) {
            is_done = is_done || one->nlmsg_type == NLMSG_DONE || one->nlmsg_type == NLMSG_ERROR;
            is_found =
                is_found || (one->nlmsg_type == SOCK_DIAG_BY_FAMILY && is_bound_to(one, name));
        }
    }
    (void)pthread_mutex_unlock(&broker->connects->diag);
    arcp__free(bytes);
    return is_found;
}

/* Whether the lease names the socket itself: a tree or a pattern never gives one of the host's. */
static bool is_named(const arcp__sandbox_plan *plan, arcp_span given, arcp_span real)
{
    bool has_given = false;
    bool has_real = false;
    for (size_t i = 0; i < plan->write_count; i++) {
        has_given = has_given || arcp_span_equal(plan->writes[i], given);
        has_real = has_real || arcp_span_equal(plan->writes[i], real);
    }
    return has_given && has_real && memchr(given.data, '*', given.size) == NULL &&
           memchr(real.data, '*', real.size) == NULL;
}

/* Looks the name up inside. Returns 0 or an errno; *named is then a descriptor of the socket. */
static int find_named(arcp__broker_task *task, arcp_span name, int *named)
{
    if (!arcp__broker_task_name(task, AT_FDCWD, name, 0)) {
        return EACCES;
    }
    task->call.flags = 0;
    arcp__broker_look_at(task, ARCP__BROKER_LOOK_INSIDE);
    const arcp__broker_fact *fact = &task->facts.looks[ARCP__BROKER_LOOK_INSIDE];
    const int fd = task->found[ARCP__BROKER_LOOK_INSIDE];
    struct stat about;
    if (fact->error != 0) {
        return fact->error;
    }
    if (fstat(fd, &about) != 0 || !S_ISSOCK(about.st_mode)) {
        return ECONNREFUSED;
    }
    /* Where the name is says nothing: without namespaces a socket of the host can be linked or
     * moved into a private directory. */
    if (!is_own(task->broker, fd, &about) &&
        !is_named(arcp__broker_classes_plan(task->classes), task->call.path, fact->real)) {
        arcp__broker_task_report(task, "connect", fact->real);
        return EACCES;
    }
    *named = fd;
    return 0;
}

static int decide_local(arcp__broker_task *task, const struct sockaddr_storage *address,
                        socklen_t size, int *named)
{
    const size_t before = offsetof(struct sockaddr_un, sun_path);
    if (address->ss_family != AF_UNIX || size <= before || size > sizeof(struct sockaddr_un)) {
        return EINVAL;
    }
    const struct sockaddr_un *local = (const void *)address;
    if (local->sun_path[0] != '\0') {
        return find_named(
            task, arcp_span_make(local->sun_path, strnlen(local->sun_path, size - before)), named);
    }
    if (task->broker->plan->level == ARCP__SANDBOX_LEVEL_FULL) {
        return 0; /* names without files belong to the network namespace, which is the sandbox's */
    }
    arcp__broker_task_report(task, "connect", arcp_span_make(local->sun_path, size - before));
    return EACCES;
}

/* The address as text, for a report. */
static arcp_span format_address(const struct sockaddr_storage *address, socklen_t size,
                                char out[ADDRESS_TEXT])
{
    char text[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    if (address->ss_family == AF_INET && size >= sizeof *four) {
        (void)inet_ntop(AF_INET, &four->sin_addr, text, sizeof text);
        (void)snprintf(out, ADDRESS_TEXT, "%s:%u", text, (unsigned)ntohs(four->sin_port));
    } else if (address->ss_family == AF_INET6 && size >= SIN6_LEN_RFC2133) {
        (void)inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text);
        (void)snprintf(out, ADDRESS_TEXT, "[%s]:%u", text, (unsigned)ntohs(six->sin6_port));
    } else {
        (void)snprintf(out, ADDRESS_TEXT, "internet");
    }
    return arcp_span_cstr(out);
}

/* Whether the address is that of the proxy, also written as one of IPv6. Landlock limits the port,
 * but not the host, and does not judge what this process connects. */
static bool is_proxy(const arcp__broker *broker, const struct sockaddr_storage *address,
                     socklen_t size)
{
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    uint32_t host = 0;
    if (address->ss_family == AF_INET && size >= sizeof *four) {
        host = four->sin_addr.s_addr;
    } else if (address->ss_family == AF_INET6 && size >= sizeof *six &&
               IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        memcpy(&host, &six->sin6_addr.s6_addr[12], sizeof host);
    } else {
        return false;
    }
    /* The port is at the same place of both. */
    return broker->proxy_port != 0 && ntohl(host) == INADDR_LOOPBACK &&
           ntohs(four->sin_port) == broker->proxy_port;
}

static int decide(arcp__broker_task *task, int fd, const struct sockaddr_storage *address,
                  socklen_t size, int *named)
{
    char text[ADDRESS_TEXT];
    int family = 0;
    socklen_t family_size = sizeof family;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &family_size) != 0) {
        return errno;
    }
    const bool is_full = task->broker->plan->level == ARCP__SANDBOX_LEVEL_FULL;
    switch (family) {
    case AF_UNIX:
        return decide_local(task, address, size, named);
    case AF_INET:
    case AF_INET6:
        if (is_full) {
            return 0; /* the network namespace has nothing but what it may have */
        }
        if (is_proxy(task->broker, address, size)) {
            return 0;
        }
        arcp__broker_task_report(task, "connect", format_address(address, size, text));
        return EACCES;
    case AF_NETLINK:
        return is_full ? 0 : EACCES;
    default:
        return EACCES;
    }
}

/* ---- connecting ---- */

static int connect_socket(int fd, int named, const struct sockaddr_storage *address, socklen_t size)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    if (named < 0) {
        return connect(fd, (const struct sockaddr *)address, size) == 0 ? 0 : errno;
    }
    (void)snprintf(local.sun_path, sizeof local.sun_path, "/proc/self/fd/%d", named);
    return connect(fd, (const struct sockaddr *)&local, sizeof local) == 0 ? 0 : errno;
}

static void send_result(const arcp__broker *broker, uint64_t id, int error)
{
    const struct seccomp_notif_resp response = {.id = id, .error = -error};
    (void)ioctl(broker->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static void *run_waiter(void *user)
{
    waiter *one = user;
    arcp__broker *broker = one->broker;
    sigset_t wake;
    (void)sigemptyset(&wake);
    (void)sigaddset(&wake, wake_signal());
    (void)pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
    const int error = connect_socket(one->fd, one->named, &one->address, one->size);
    (void)close(one->fd);
    if (one->named >= 0) {
        (void)close(one->named);
    }
    send_result(broker, one->id, error);
    (void)pthread_mutex_lock(&broker->connects->lock);
    one->is_used = false;
    (void)pthread_mutex_unlock(&broker->connects->lock);
    arcp__broker_leave(broker);
    return NULL;
}

/* Starts a thread that connects and answers. Returns 0, and takes both descriptors, or an errno. */
static int start_waiter(arcp__broker_task *task, const waiter *order)
{
    arcp__broker_connects *connects = task->broker->connects;
    waiter *free_one = NULL;
    (void)pthread_mutex_lock(&connects->lock);
    for (size_t i = 0; i < CONNECTS_MAX; i++) {
        waiter *one = &connects->waiters[i];
        if (!one->is_used) {
            free_one = one;
        } else if (ioctl(task->broker->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &one->id) != 0) {
            (void)pthread_kill(one->thread, wake_signal()); /* its program was killed */
        }
    }
    int error = EAGAIN;
    if (free_one != NULL) {
        *free_one = *order;
        free_one->is_used = true;
        arcp__broker_enter(task->broker);
        error = arcp__thread_start_sized(&free_one->thread, STACK_BYTES, run_waiter, free_one);
        if (error == 0) {
            (void)pthread_detach(free_one->thread);
        } else {
            free_one->is_used = false;
            arcp__broker_leave(task->broker);
        }
    }
    (void)pthread_mutex_unlock(&connects->lock);
    return error;
}

void arcp__broker_serve_connect(arcp__broker_task *task)
{
    waiter order = {.broker = task->broker,
                    .id = task->request->id,
                    .named = -1,
                    .size = (socklen_t)task->request->data.args[2]};
    if (order.size > sizeof order.address || order.size < sizeof order.address.ss_family) {
        arcp__broker_task_fail(task, EINVAL);
        return;
    }
    if (arcp__broker_memory_read((pid_t)task->request->pid, task->request->data.args[1],
                                 &order.address, order.size) != 0) {
        arcp__broker_task_fail(task, EACCES);
        return;
    }
    order.fd = arcp__broker_take_descriptor(task, (int)task->request->data.args[0]);
    if (order.fd < 0) {
        arcp__broker_task_fail(task, -order.fd);
        return;
    }
    int named = -1;
    int error = decide(task, order.fd, &order.address, order.size, &named);
    const int flags = fcntl(order.fd, F_GETFL);
    const bool blocks = flags >= 0 && (flags & O_NONBLOCK) == 0;
    if (error == 0 && !blocks) {
        error = connect_socket(order.fd, named, &order.address, order.size);
    } else if (error == 0) {
        order.named = named < 0 ? -1 : fcntl(named, F_DUPFD_CLOEXEC, 0);
        error = named >= 0 && order.named < 0 ? EAGAIN : start_waiter(task, &order);
        if (error == 0) {
            task->is_answered = true; /* the thread answers */
            return;
        }
        if (order.named >= 0) {
            (void)close(order.named);
        }
    }
    (void)close(order.fd);
    if (error != 0) {
        arcp__broker_task_fail(task, error);
    } else {
        arcp__broker_task_return(task, 0);
    }
}

/* A local socket listens at a path as the program asked. Others would do so in the network of the
 * host, where its programs find them: TCP sockets, and local ones whose name is no path. */
static int listen_inside(arcp__broker_task *task, int fd)
{
    struct sockaddr_un own = {.sun_family = AF_UNSPEC};
    socklen_t size = sizeof own;
    const socklen_t before = offsetof(struct sockaddr_un, sun_path);
    int family = 0;
    socklen_t family_size = sizeof family;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &family_size) != 0) {
        return errno;
    }
    if (family != AF_UNIX) {
        return EACCES;
    }
    /* A name is given once. Without one the kernel lets no socket listen. */
    if (getsockname(fd, (struct sockaddr *)&own, &size) != 0) {
        return errno;
    }
    if (size > before && own.sun_path[0] == '\0') {
        arcp__broker_task_report(task, "listen", arcp_span_make(own.sun_path, size - before));
        return EACCES;
    }
    return listen(fd, (int)task->request->data.args[1]) == 0 ? 0 : errno;
}

void arcp__broker_serve_listen(arcp__broker_task *task)
{
    const int fd = arcp__broker_take_descriptor(task, (int)task->request->data.args[0]);
    const int error = fd < 0 ? -fd : listen_inside(task, fd);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (error != 0) {
        arcp__broker_task_fail(task, error);
    } else {
        arcp__broker_task_return(task, 0);
    }
}
