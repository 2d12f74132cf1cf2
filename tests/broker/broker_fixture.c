#include "broker/broker_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/broker.h"
#include "launch/sandbox_helper/helper_filter.h"
#include "launch/sandbox_helper/helper_landlock.h"
#include "support/check.h"
#include "support/remove_tree.h"

const char *fixture_path(const fixture *f, const char *name)
{
    static char paths[8][512];
    static size_t next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s%s%s", f->root, *name == '\0' ? "" : "/", name);
    return path;
}

static arcp_span keep(fixture *f, const char *name)
{
    assert_true(f->text_count < sizeof f->texts / sizeof *f->texts);
    char *text = f->texts[f->text_count++];
    (void)snprintf(text, sizeof f->texts[0], "%s", fixture_path(f, name));
    return arcp_span_cstr(text);
}

void fixture_allow(fixture *f, bool is_write, const char *pattern)
{
    size_t *count = is_write ? &f->plan.write_count : &f->plan.read_count;
    f->patterns[is_write][(*count)++] = keep(f, pattern);
}

static void make_file(const char *name, const char *text)
{
    const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

static void make_tree(const fixture *f)
{
    static const char *const directories[] = {
        "tree", "work",    "data", "data/sub", "data/dir.csv", "out",    "outside",
        "wo",   "private", "deep", "deep/a",   "deep/a/b",     "deep/z", "views"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        assert_int_equal(mkdir(directories[i], 0755), 0);
    }
    make_file("tree/file.txt", "tree");
    make_file("work/file.txt", "work");
    make_file("data/a.csv", "granted a");
    make_file("data/b.csv", "granted b");
    make_file("data/secret.txt", "secret");
    make_file("data/sub/c.csv", "secret");
    make_file("out/old.log", "old");
    make_file("out/other.txt", "secret");
    make_file("outside/key", "secret");
    make_file("wo/old.txt", "secret");
    make_file("literal.txt", "literal");
    make_file("deep/a/b/x.md", "deep");
    make_file("deep/a/b/x.key", "secret");
    assert_int_equal(symlink("b.csv", "data/link_in.csv"), 0);
    assert_int_equal(symlink(fixture_path(f, "data/b.csv"), "data/link_absolute.csv"), 0);
    assert_int_equal(symlink("../outside/key", "data/link_out.csv"), 0);
    assert_int_equal(symlink("../outside/none", "data/dangling.csv"), 0);
    assert_int_equal(symlink("../outside/key", "tree/link_out"), 0);
    assert_int_equal(symlink("file.txt", "tree/link_in"), 0);
    assert_int_equal(symlink("../data/a.csv", "tree/link_granted"), 0);
    assert_int_equal(symlink("../outside", "out/way"), 0);
    assert_int_equal(mkfifo("data/pipe.csv", 0644), 0);
}

static void add_mount(fixture *f, arcp__sandbox_mount_kind kind, const char *name, bool is_writable)
{
    const arcp_span path = keep(f, name);
    f->mounts[f->plan.mount_count++] = (arcp__sandbox_mount){
        .kind = kind, .source = path, .target = path, .is_writable = is_writable};
}

static void add_rule(fixture *f, const char *name, uint32_t rights, arcp__sandbox_class class)
{
    f->rules[f->plan.rule_count++] =
        (arcp__sandbox_rule){.path = keep(f, name),
                             .rights = rights,
                             .is_file = strcmp(name, "literal.txt") == 0,
                             .class = class};
}

const char *fixture_place = "/tmp";

void fixture_init(fixture *f)
{
    memset(f, 0, sizeof *f);
    (void)snprintf(f->root, sizeof f->root, "%s/arcp-broker-XXXXXX", fixture_place);
    assert_non_null(mkdtemp(f->root));
    assert_int_equal(chdir(f->root), 0);
    (void)umask(022);
    make_tree(f);
    f->views = -1;
    f->results =
        mmap(NULL, sizeof *f->results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(f->results != MAP_FAILED);
    f->plan = (arcp__sandbox_plan){.level = ARCP__SANDBOX_LEVEL_FULL,
                                   .has_broker = true,
                                   .mounts = f->mounts,
                                   .rules = f->rules,
                                   .reads = f->patterns[0],
                                   .writes = f->patterns[1],
                                   .home = ARCP_SPAN_LITERAL("/home/agent"),
                                   .cwd = arcp_span_cstr(f->root)};
    f->plan.abilities.values[ARCP__SANDBOX_ABILITY_LANDLOCK] = arcp__helper_landlock_version();
    const uint32_t read = ARCP__SANDBOX_READ | ARCP__SANDBOX_EXECUTE;
    const uint32_t all = read | ARCP__SANDBOX_WRITE;
    /* In the order of paths, as the plan has them. */
    add_mount(f, ARCP__SANDBOX_MOUNT_FILE, "literal.txt", true);
    add_mount(f, ARCP__SANDBOX_MOUNT_PRIVATE, "private", true);
    add_mount(f, ARCP__SANDBOX_MOUNT_TREE, "tree", false);
    add_mount(f, ARCP__SANDBOX_MOUNT_TREE, "work", true);
    add_rule(f, "literal.txt", all, ARCP__SANDBOX_CLASS_LEASE);
    add_rule(f, "private", all, ARCP__SANDBOX_CLASS_PRIVATE);
    add_rule(f, "tree", read, ARCP__SANDBOX_CLASS_LEASE);
    add_rule(f, "work", all, ARCP__SANDBOX_CLASS_LEASE);
    fixture_allow(f, false, "tree/**");
    fixture_allow(f, false, "work/**");
    fixture_allow(f, true, "work/**");
    fixture_allow(f, false, "literal.txt");
    fixture_allow(f, true, "literal.txt");
    fixture_allow(f, false, "data/*.csv");
    fixture_allow(f, false, "out/*.log");
    fixture_allow(f, true, "out/*.log");
    fixture_allow(f, true, "wo/*.txt");
    fixture_allow(f, false, "deep/**/*.md");
}

void fixture_must(bool is_done)
{
    if (!is_done) {
        perror("broker fixture");
        abort();
    }
}

void fixture_fini(fixture *f)
{
    (void)munmap(f->results, sizeof *f->results);
    fixture_must(chdir("/") == 0);
    remove_tree(f->root);
}

/* ---- descriptors between child and test ---- */

static void send_fd(int socket, int fd)
{
    char byte = 0;
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    if (sendmsg(socket, &message, 0) != 1) {
        _exit(101);
    }
}

static int receive_fd(int socket)
{
    char byte;
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    int fd = -1;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 &&
        message.msg_controllen >= CMSG_LEN(sizeof fd)) {
        memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
    }
    return fd;
}

static int make_clone(const char *path)
{
    const int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path,
                                OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    struct mount_attr attributes = {.attr_set =
                                        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    if (fd >= 0 && syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                           sizeof attributes) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static bool write_text(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    (void)close(fd);
    return is_written;
}

/* Namespaces in which this user may copy mounts, with the ids that it has outside. */
static bool enter_namespaces(void)
{
    char users[64];
    char groups[64];
    (void)snprintf(users, sizeof users, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    (void)snprintf(groups, sizeof groups, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
           write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/gid_map", groups) &&
           write_text("/proc/self/uid_map", users);
}

bool fixture_is_possible(void)
{
    if (geteuid() != 0 && !enter_namespaces()) {
        return false;
    }
    const int clone = make_clone("/tmp");
    if (clone >= 0) {
        (void)close(clone);
    }
    return clone >= 0 && arcp__helper_landlock_version() > 0;
}

/* ---- running ---- */

static void run_child(fixture *f, int channel, void (*body)(fixture *f, void *user), void *user)
{
    const arcp__helper_filter filter = {.level = f->plan.level,
                                        .has_broker = true,
                                        .traps_files = true,
                                        .traps_names = true,
                                        .traps_connect = true,
                                        .has_proxy = f->proxy_port != 0};
    int listener = -1;
    int diag = -1;
    const char *path = "";
    if (f->has_own_net) {
        if (unshare(CLONE_NEWNET) != 0) {
            _exit(102);
        }
        diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    }
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        arcp__helper_landlock(&f->plan, &f->plan.abilities, f->proxy_port, &path) != 0 ||
        arcp__helper_filter_install(&filter, &listener) != 0) {
        _exit(100);
    }
    send_fd(channel, listener);
    if (diag >= 0) {
        send_fd(channel, diag);
        (void)close(diag);
    }
    (void)close(listener);
    (void)close(channel);
    body(f, user);
    _exit(0);
}

static void read_denials(fixture *f, int control)
{
    size_t size = 0;
    for (;;) {
        const ssize_t got =
            recv(control, f->denials + size, sizeof f->denials - size - 2, MSG_DONTWAIT);
        if (got <= 0) {
            break;
        }
        size += (size_t)got;
        f->denials[size++] = '\n';
    }
    f->denials[size] = '\0';
}

void fixture_run(fixture *f, void (*body)(fixture *f, void *user), void *user)
{
    int sockets[2];
    int control[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run_child(f, sockets[1], body, user);
    }
    (void)close(sockets[1]);
    const int listener = receive_fd(sockets[0]);
    const int diag = f->has_own_net ? receive_fd(sockets[0]) : -1;
    (void)close(sockets[0]);
    assert_true(listener >= 0);

    arcp_span beginnings[ARCP__BROKER_CLONES_MAX];
    arcp__broker_clone clones[ARCP__BROKER_CLONES_MAX];
    arcp__broker_descriptors descriptors = {.listener = listener,
                                            .root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
                                            .views = -1,
                                            .views_read = -1,
                                            .sockets = diag,
                                            .clones = clones,
                                            .clone_count =
                                                arcp__broker_beginnings(&f->plan, beginnings),
                                            .proxy_port = f->proxy_port};
    for (size_t i = 0; i < descriptors.clone_count; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%.*s", (int)beginnings[i].size, beginnings[i].data);
        clones[i] = (arcp__broker_clone){.path = beginnings[i], .fd = make_clone(path)};
        assert_true(clones[i].fd >= 0);
    }
    if (f->views >= 0) {
        descriptors.views = fcntl(f->views, F_DUPFD_CLOEXEC, 0);
        descriptors.views_read = make_clone("views");
    }
    arcp__broker *broker = NULL;
    const int buffer = 1 << 20;
    (void)setsockopt(control[1], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    assert_int_equal(arcp__broker_new(&f->plan, control[1], &broker), 0);
    assert_int_equal(arcp__broker_start(broker, &descriptors), 0);
    assert_int_equal(waitpid(child, &f->status, 0), child);
    arcp__broker_finish(broker);
    (void)umask(022);
    read_denials(f, control[0]);
    (void)close(control[0]);
    (void)close(control[1]);
}

bool fixture_was_denied(const fixture *f, const char *capability, const char *name, int count)
{
    char wanted[1024];
    const char *path = *name == '/' ? name : fixture_path(f, name);
    (void)snprintf(wanted, sizeof wanted, "\"capability\":\"%s\",\"target\":\"%s\",", capability,
                   path);
    char number[32];
    (void)snprintf(number, sizeof number, "\"count\":%d}}\n", count);
    for (const char *at = strstr(f->denials, wanted); at != NULL; at = strstr(at + 1, wanted)) {
        const char *end = strchr(at, '\n');
        if (end != NULL &&
            (count == 0 || strncmp(end + 1 - strlen(number), number, strlen(number)) == 0)) {
            return true;
        }
    }
    return false;
}
