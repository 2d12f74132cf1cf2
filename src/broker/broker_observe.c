/* A command that is only watched: what each call does is reported, and the kernel carries it out.
 *
 * Nothing is decided here, so the looks need not be safe against a program that changes its memory
 * or its files meanwhile: what is written down is evidence for a lease, which a person reads before
 * it is used. Records are sent before the program goes on, so that they arrive in the order in
 * which one thread made its calls. The reader is waited for: a record that is lost would be missing
 * in the lease. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/path.h"
#include "base/utf8.h"
#include "broker/broker_task.h"
#include "sandbox/sandbox_seen.h"

enum { INTERPRETERS_MAX = 4, RECORD_BYTES_MAX = 60000, LOOPBACK = 127 };

/* ---- reports ---- */

/* Whether the same record was sent recently. What is seen again says nothing new, and a program
 * opens and asks for the same files again and again. Collisions only cost a record, or repeat one;
 * threads may both send one. */
static bool is_repeated(arcp__broker *broker, const arcp_buf *record)
{
    const uint64_t hash = arcp__hash_bytes(record->data, record->size);
    _Atomic uint64_t *slot = &broker->recent[hash % ARCP__BROKER_RECENT];
    if (atomic_load_explicit(slot, memory_order_relaxed) == hash) {
        return true;
    }
    atomic_store_explicit(slot, hash, memory_order_relaxed);
    return false;
}

static void send_record(arcp__broker *broker, const arcp__sandbox_seen *seen)
{
    arcp_buf record = arcp_buf_init();
    arcp__sandbox_seen_encode(seen, &record);
    const bool may_repeat =
        seen->use == ARCP__SANDBOX_USE_READ || seen->use == ARCP__SANDBOX_USE_LOOK ||
        seen->use == ARCP__SANDBOX_USE_CHECK || seen->use == ARCP__SANDBOX_USE_LIST ||
        seen->use == ARCP__SANDBOX_USE_ENTER || seen->use == ARCP__SANDBOX_USE_EXECUTE;
    if (arcp_buf_status(&record) == ARCP_OK && record.size <= RECORD_BYTES_MAX &&
        !(may_repeat && is_repeated(broker, &record))) {
        (void)send(broker->control, record.data, record.size, MSG_NOSIGNAL);
    }
    arcp_buf_fini(&record);
}

/* A name that no pattern can be: for the reader's eyes only. */
static void send_unknown(arcp__broker *broker, arcp_span raw)
{
    arcp_buf shown = arcp_buf_init();
    arcp__utf8_append_escaped(&shown, arcp_span_first(raw, ARCP__BROKER_PATH_MAX / 2));
    const arcp__sandbox_seen seen = {.use = ARCP__SANDBOX_USE_UNKNOWN,
                                     .path = arcp_buf_span(&shown)};
    if (arcp_buf_status(&shown) == ARCP_OK && shown.size != 0) {
        send_record(broker, &seen);
    }
    arcp_buf_fini(&shown);
}

/* Sends the record if all its names can be part of one. */
static void send_named(arcp__broker *broker, const arcp__sandbox_seen *seen)
{
    const arcp_span names[] = {seen->path, seen->real, seen->other};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!arcp__utf8_is_valid(names[i])) {
            send_unknown(broker, names[i]);
            return;
        }
    }
    send_record(broker, seen);
}

/* Reports a use of the name of the call, with the real name that a look found. */
static void report(const arcp__broker_task *task, arcp__sandbox_use use,
                   const arcp__broker_fact *fact)
{
    arcp__sandbox_seen seen = {.use = use,
                               .path = task->call.path,
                               .is_directory =
                                   fact->type == ARCP__BROKER_A_DIRECTORY && fact->error == 0};
    if (fact->real.size != 0 && !arcp_span_equal(fact->real, task->call.path)) {
        seen.real = fact->real;
    }
    send_named(task->broker, &seen);
}

/* ---- looks ---- */

static const arcp__broker_fact *look(arcp__broker_task *task, arcp__broker_look which)
{
    arcp__broker_fact *fact = &task->facts.looks[which];
    if (!fact->is_known) {
        arcp__broker_look_at(task, which);
    }
    return fact;
}

/* Whether this user may; what fails anyway needs no lease. */
static bool may(const arcp__broker_task *task, arcp__broker_look which, int mode)
{
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", task->found[which]);
    return faccessat(AT_FDCWD, name, mode, AT_EACCESS) == 0;
}

static bool has_flag(const arcp__broker_task *task, uint32_t flag)
{
    return (task->call.flags & flag) != 0;
}

/* Directories of the kernel are every sandbox's own. */
static bool is_system(arcp_span path)
{
    static const char *const directories[] = {"/proc", "/sys", "/dev"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        if (arcp__path_is_within(path, arcp_span_cstr(directories[i]))) {
            return true;
        }
    }
    return false;
}

/* ---- calls on names ---- */

/* A file, a directory or a link that the call makes, if nothing is in the way. */
static void observe_creation(arcp__broker_task *task, arcp__sandbox_use use, bool is_directory)
{
    const arcp__broker_fact *parent = look(task, ARCP__BROKER_LOOK_PARENT);
    if (parent->error != 0 || !may(task, ARCP__BROKER_LOOK_PARENT, W_OK)) {
        return;
    }
    arcp__broker_fact made = *parent;
    made.type = is_directory ? ARCP__BROKER_A_DIRECTORY : ARCP__BROKER_REGULAR;
    report(task, use, &made);
}

static void observe_open(arcp__broker_task *task)
{
    const arcp__broker_fact *found = look(task, ARCP__BROKER_LOOK_HOST);
    if (found->error == ENOENT && has_flag(task, ARCP__BROKER_CREATE)) {
        observe_creation(task, ARCP__SANDBOX_USE_CREATE, false);
        if (has_flag(task, ARCP__BROKER_TO_READ)) {
            report(task, ARCP__SANDBOX_USE_READ, look(task, ARCP__BROKER_LOOK_PARENT));
        }
        return;
    }
    if (found->error != 0 ||
        (has_flag(task, ARCP__BROKER_CREATE) && has_flag(task, ARCP__BROKER_EXCLUSIVE))) {
        return;
    }
    if (has_flag(task, ARCP__BROKER_TEMPORARY)) {
        report(task, ARCP__SANDBOX_USE_MAKE, found);
        return;
    }
    if (found->type == ARCP__BROKER_A_DIRECTORY) {
        report(task, ARCP__SANDBOX_USE_ENTER, found);
        return;
    }
    if ((task->open_flags & O_PATH) != 0 || found->type == ARCP__BROKER_A_LINK) {
        report(task, ARCP__SANDBOX_USE_LOOK, found);
        return;
    }
    const bool reads = has_flag(task, ARCP__BROKER_TO_READ);
    const bool writes = has_flag(task, ARCP__BROKER_TO_WRITE);
    if ((reads && !may(task, ARCP__BROKER_LOOK_HOST, R_OK)) ||
        (writes && !may(task, ARCP__BROKER_LOOK_HOST, W_OK))) {
        return;
    }
    if (found->type == ARCP__BROKER_SPECIAL) {
        report(task, ARCP__SANDBOX_USE_MAKE, found); /* a pipe: only a directory grants one */
    }
    if (reads) {
        report(task, ARCP__SANDBOX_USE_READ, found);
    }
    if (writes) {
        report(task, ARCP__SANDBOX_USE_WRITE, found);
    }
}

static void observe_rename(arcp__broker_task *task)
{
    const arcp__broker_fact *found = look(task, ARCP__BROKER_LOOK_HOST);
    const arcp__broker_fact *parent = look(task, ARCP__BROKER_LOOK_OTHER);
    if (found->error != 0 || parent->error != 0 || is_system(task->call.other)) {
        return;
    }
    const bool is_new = faccessat(AT_FDCWD, parent->real.data, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    const arcp__sandbox_seen seen = {.use = ARCP__SANDBOX_USE_RENAME,
                                     .path = task->call.path,
                                     .other = task->call.other,
                                     .is_directory = found->type == ARCP__BROKER_A_DIRECTORY,
                                     .is_new = is_new};
    send_named(task->broker, &seen);
    if (!arcp_span_equal(found->real, task->call.path) ||
        !arcp_span_equal(parent->real, task->call.other)) {
        const arcp__sandbox_seen real = {.use = ARCP__SANDBOX_USE_RENAME,
                                         .path = found->real,
                                         .other = parent->real,
                                         .is_directory = seen.is_directory,
                                         .is_new = is_new};
        send_named(task->broker, &real);
    }
}

/* `other` is the new name. */
static void observe_link(arcp__broker_task *task)
{
    const arcp__broker_fact *found = look(task, ARCP__BROKER_LOOK_HOST);
    const arcp__broker_fact *parent = look(task, ARCP__BROKER_LOOK_OTHER);
    if (found->error == 0 && parent->error == 0) {
        const arcp__sandbox_seen seen = {
            .use = ARCP__SANDBOX_USE_MAKE, .path = parent->real, .other = found->real};
        send_named(task->broker, &seen);
    }
}

/* The interpreters of a program are programs, too. Changes the name of the call. */
static void observe_program(arcp__broker_task *task)
{
    char name[ARCP__BROKER_PATH_MAX];
    for (int i = 0; i < INTERPRETERS_MAX && !is_system(task->call.path); i++) {
        const arcp__broker_fact *found = look(task, ARCP__BROKER_LOOK_HOST);
        const int fd = task->found[ARCP__BROKER_LOOK_HOST];
        if (found->error != 0 || found->type != ARCP__BROKER_REGULAR ||
            !may(task, ARCP__BROKER_LOOK_HOST, X_OK)) {
            return;
        }
        report(task, ARCP__SANDBOX_USE_EXECUTE, found);
        if (!arcp__broker_interpreter(fd, name, sizeof name) ||
            !arcp__broker_task_name(task, AT_FDCWD, arcp_span_cstr(name), 0)) {
            return;
        }
        (void)close(fd);
        task->found[ARCP__BROKER_LOOK_HOST] = -1;
        task->facts.looks[ARCP__BROKER_LOOK_HOST] = (arcp__broker_fact){0};
        task->call.flags = 0;
    }
}

/* A use of a name that must be there. */
static void observe_present(arcp__broker_task *task, arcp__sandbox_use use)
{
    const arcp__broker_fact *found = look(task, ARCP__BROKER_LOOK_HOST);
    if (found->error == 0) {
        report(task, use, found);
    }
}

static void observe_name(arcp__broker_task *task)
{
    if (is_system(task->call.path)) {
        return;
    }
    switch (task->call.operation) {
    case ARCP__BROKER_OPEN:
        observe_open(task);
        break;
    case ARCP__BROKER_TRUNCATE:
        observe_present(task, ARCP__SANDBOX_USE_WRITE);
        break;
    case ARCP__BROKER_UNLINK:
    case ARCP__BROKER_RMDIR:
        observe_present(task, ARCP__SANDBOX_USE_REMOVE);
        break;
    case ARCP__BROKER_MKDIR:
    case ARCP__BROKER_SYMLINK:
    case ARCP__BROKER_MKNOD:
        if (look(task, ARCP__BROKER_LOOK_HOST)->error == ENOENT) {
            const bool is_directory = task->call.operation == ARCP__BROKER_MKDIR;
            observe_creation(task, is_directory ? ARCP__SANDBOX_USE_CREATE : ARCP__SANDBOX_USE_MAKE,
                             is_directory);
        }
        break;
    case ARCP__BROKER_RENAME:
        observe_rename(task);
        break;
    case ARCP__BROKER_LINK:
        observe_link(task);
        break;
    case ARCP__BROKER_ACCESS:
        observe_present(task, has_flag(task, ARCP__BROKER_TO_EXECUTE) ? ARCP__SANDBOX_USE_CHECK
                                                                      : ARCP__SANDBOX_USE_LOOK);
        break;
    case ARCP__BROKER_STAT:
    case ARCP__BROKER_READLINK:
    case ARCP__BROKER_XATTR:
        observe_present(task, ARCP__SANDBOX_USE_LOOK);
        break;
    case ARCP__BROKER_CHDIR:
        observe_present(task, ARCP__SANDBOX_USE_ENTER);
        break;
    case ARCP__BROKER_OWNER:
        observe_present(task, ARCP__SANDBOX_USE_OWNER);
        break;
    case ARCP__BROKER_EXECUTE:
        observe_program(task);
        break;
    case ARCP__BROKER_CONNECT:
    case ARCP__BROKER_OPERATION_COUNT:
        break;
    }
}

/* ---- calls on descriptors ---- */

static void observe_descriptor(arcp__broker_task *task, arcp__sandbox_use use)
{
    task->call.flags = 0;
    if (arcp__broker_task_descriptor(task, (int)task->request->data.args[0]) &&
        !is_system(task->call.path)) {
        observe_present(task, use);
    }
}

/* ---- sockets ---- */

/* Resolvers of the host would give the real addresses of names, and the names would not be seen.
 * In a sandbox they are absent. */
static bool is_resolver(arcp_span path)
{
    static const char *const places[] = {"/run/systemd/resolve", "/run/nscd", "/var/run/nscd",
                                         "/var/run/systemd/resolve"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (arcp__path_is_within(path, arcp_span_cstr(places[i]))) {
            return true;
        }
    }
    return false;
}

static bool is_served(const arcp__sandbox_plan *plan, unsigned port)
{
    for (size_t i = 0; i < plan->port_count; i++) {
        if (plan->ports[i] == port) {
            return true;
        }
    }
    return port == ARCP__SANDBOX_PORT_DNS || port == ARCP__SANDBOX_PORT_PROXY || port == 0;
}

static void observe_port(const arcp__broker_task *task, const struct sockaddr_storage *address)
{
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    const bool is_four = address->ss_family == AF_INET;
    const bool is_loopback = is_four ? ntohl(four->sin_addr.s_addr) >> 24 == LOOPBACK
                                     : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) != 0;
    const unsigned port = ntohs(is_four ? four->sin_port : six->sin6_port);
    char text[sizeof "65535"];
    if (task->broker->plan->port_count == 0 || is_loopback || is_served(task->broker->plan, port)) {
        return; /* the host's network, or a server of the command's own */
    }
    (void)snprintf(text, sizeof text, "%u", port);
    const arcp__sandbox_seen seen = {.use = ARCP__SANDBOX_USE_PORT, .path = arcp_span_cstr(text)};
    send_record(task->broker, &seen);
}

/* connect() and bind(). Returns whether the call may go on. */
static bool observe_socket(arcp__broker_task *task)
{
    struct sockaddr_storage address = {0};
    const size_t size = (size_t)task->request->data.args[2];
    const size_t before = offsetof(struct sockaddr_un, sun_path);
    const bool is_bind = task->syscall == ARCP__SANDBOX_SYSCALL_BIND;
    if (size < sizeof address.ss_family || size > sizeof address ||
        arcp__broker_memory_read((pid_t)task->request->pid, task->request->data.args[1], &address,
                                 size) != 0) {
        return true;
    }
    if ((address.ss_family == AF_INET && size >= sizeof(struct sockaddr_in)) ||
        (address.ss_family == AF_INET6 && size >= sizeof(struct sockaddr_in6))) {
        if (!is_bind) {
            observe_port(task, &address);
        }
        return true;
    }
    const struct sockaddr_un *local = (const void *)&address;
    if (address.ss_family != AF_UNIX || size <= before || size > sizeof *local ||
        local->sun_path[0] == '\0' ||
        !arcp__broker_task_name(
            task, AT_FDCWD,
            arcp_span_make(local->sun_path, strnlen(local->sun_path, size - before)), 0) ||
        is_system(task->call.path)) {
        return true;
    }
    task->call.operation = is_bind ? ARCP__BROKER_MKNOD : ARCP__BROKER_CONNECT;
    task->call.flags = 0;
    if (is_bind) {
        observe_name(task);
    } else if (task->broker->plan->port_count != 0 && is_resolver(task->call.path)) {
        return false;
    } else {
        observe_present(task, ARCP__SANDBOX_USE_CONNECT);
    }
    return true;
}

/* ---- the call ---- */

void arcp__broker_observe(arcp__broker_task *task)
{
    task->call = (arcp__broker_call){0};
    task->raw[0] = '\0';
    switch ((int)task->syscall) {
    case ARCP__SANDBOX_SYSCALL_GETDENTS:
    case ARCP__SANDBOX_SYSCALL_GETDENTS64:
        observe_descriptor(task, ARCP__SANDBOX_USE_LIST);
        break;
    case ARCP__SANDBOX_SYSCALL_FCHMOD:
    case ARCP__SANDBOX_SYSCALL_FCHOWN:
    case ARCP__SANDBOX_SYSCALL_FSETXATTR:
    case ARCP__SANDBOX_SYSCALL_FREMOVEXATTR:
        observe_descriptor(task, ARCP__SANDBOX_USE_OWNER);
        break;
    case ARCP__SANDBOX_SYSCALL_CONNECT:
    case ARCP__SANDBOX_SYSCALL_BIND:
        if (!observe_socket(task)) {
            arcp__broker_task_fail(task, ECONNREFUSED);
            return;
        }
        break;
    default:
        if (arcp__broker_task_read(task)) {
            observe_name(task);
        } else if (task->syscall == ARCP__SANDBOX_SYSCALL_UTIMENSAT) {
            observe_descriptor(task, ARCP__SANDBOX_USE_OWNER);
        } else if (task->raw[0] != '\0') {
            send_unknown(task->broker, arcp_span_cstr(task->raw));
        }
    }
    arcp__broker_task_continue(task);
}
