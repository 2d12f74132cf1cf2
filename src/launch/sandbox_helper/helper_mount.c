/* The view of files at level full.
 *
 * Everything is made while the host's tree is still our root. A file system of ours (tmpfs) is
 * mounted over `/`, where no path of ours reaches it, only a descriptor: it holds the directories
 * root (the new root), private (directories that the program may write) and cover. The mounts of
 * the plan are attached below the new root, parents first; then it becomes our root, and the host's
 * tree is gone. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/path.h"
#include "launch/sandbox_helper/helper_open.h"
#include "launch/sandbox_helper/helper_submounts.h"
#include "launch/sandbox_helper/helper_view.h"

#define PAGE_BYTES 4096u

/* ---- the root ---- */

/* Its limit of inodes is one for each page, where the default is half of the machine's pages, and
 * those that the directories of the view need. */
static int make_scratch(const arcp__sandbox_plan *plan)
{
    char size[32];
    char inodes[32];
    const uint64_t of_view = 64 + (uint64_t)plan->mount_count * 16;
    const uint64_t count = plan->limits.scratch_bytes / PAGE_BYTES + of_view;
    (void)snprintf(size, sizeof size, "%" PRIu64, plan->limits.scratch_bytes);
    (void)snprintf(inodes, sizeof inodes, "%" PRIu64, count);
    const int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
    const int fd = context < 0 || fsconfig(context, FSCONFIG_SET_STRING, "size", size, 0) != 0 ||
                           fsconfig(context, FSCONFIG_SET_STRING, "nr_inodes", inodes, 0) != 0 ||
                           fsconfig(context, FSCONFIG_SET_STRING, "mode", "0755", 0) != 0 ||
                           fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0
                       ? -1
                       : fsmount(context, FSMOUNT_CLOEXEC, ARCP__HELPER_TREE);
    const int number = errno;
    if (context >= 0) {
        (void)close(context);
    }
    errno = number;
    return fd;
}

/* Mounts `tree` over "/". Paths go on to begin at what is below it. */
static bool cover_root(int tree)
{
    return tree >= 0 && move_mount(tree, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

static void make_root(arcp__helper_view *view, const arcp__helper *helper)
{
    static const char *const directories[] = {"root", "private", "cover", "cover/directory"};
    const arcp__sandbox_plan *plan = helper->plan;
    struct stat about;
    arcp__helper_begin(ARCP__HELPER_PROPAGATION);
    /* Otherwise what the host mounts later would appear inside. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        arcp__helper_fail(NULL);
    }
    arcp__helper_begin(ARCP__HELPER_ROOT);
    view->mountinfo = arcp__helper_read_mountinfo();
    view->host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (view->mountinfo == NULL || view->host < 0) {
        arcp__helper_fail("/");
    }
    if (plan->has_broker) { /* before anything covers it */
        arcp__helper_give_clones(helper, view->host);
    }
    arcp__helper_begin(ARCP__HELPER_ROOT);
    view->root_is_hosts =
        plan->mount_count != 0 && plan->mounts[0].kind == ARCP__SANDBOX_MOUNT_ROOT;
    if (view->root_is_hosts) { /* the same */
        view->root = arcp__helper_copy(view->host, "",
                                       ARCP__HELPER_TREE |
                                           (plan->mounts[0].is_writable ? 0 : MOUNT_ATTR_RDONLY));
    }
    view->scratch = make_scratch(plan);
    if (!cover_root(view->scratch) || fstat(view->scratch, &about) != 0) {
        arcp__helper_fail("/");
    }
    view->scratch_device = about.st_dev;
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        if (mkdirat(view->scratch, directories[i], 0755) != 0) {
            arcp__helper_fail("/");
        }
    }
    if (mknodat(view->scratch, "cover/file", S_IFREG | 0444, 0) != 0) {
        arcp__helper_fail("/");
    }
    if (!view->root_is_hosts) {
        view->root = open_tree(view->scratch, "root", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    }
    if (!cover_root(view->root)) {
        arcp__helper_fail("/");
    }
}

static void enter_root(const arcp__helper_view *view)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    arcp__helper_begin(ARCP__HELPER_READ_ONLY);
    if (!view->root_is_hosts && mount_setattr(view->root, "", AT_EMPTY_PATH, &attr, sizeof attr)) {
        arcp__helper_fail("/");
    }
    arcp__helper_begin(ARCP__HELPER_PIVOT);
    /* With both names the same, the old root is stacked on the new one, and our file system on the
     * old root: both go, the topmost first. */
    if (fchdir(view->root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 ||
        umount2(".", MNT_DETACH) != 0 || umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) {
        arcp__helper_fail("/");
    }
    /* A mount that is left on the root would not be seen by a path that begins there, but by one
     * that goes up to it. */
    struct statx root;
    struct statx above;
    struct statx wanted;
    if (statx(AT_FDCWD, "/", 0, STATX_MNT_ID, &root) != 0 ||
        statx(AT_FDCWD, "/..", 0, STATX_MNT_ID, &above) != 0 ||
        statx(view->root, "", AT_EMPTY_PATH, STATX_MNT_ID, &wanted) != 0) {
        arcp__helper_fail("/");
    }
    if ((root.stx_mask & STATX_MNT_ID) == 0 || root.stx_mnt_id != wanted.stx_mnt_id ||
        above.stx_mnt_id != wanted.stx_mnt_id) {
        errno = EXDEV;
        arcp__helper_fail("/..");
    }
}

/* ---- mounts ---- */

/* An empty read-only file or directory over what is at `target`. False sets errno. */
static bool cover(const arcp__helper_view *view, arcp_span target)
{
    struct stat about;
    const int place = arcp__helper_target(view, target, ARCP__HELPER_MUST_EXIST);
    if (place < 0 || fstat(place, &about) != 0) {
        return false;
    }
    return arcp__helper_attach(
        arcp__helper_copy(view->scratch, S_ISDIR(about.st_mode) ? "cover/directory" : "cover/file",
                          ARCP__HELPER_TREE | MOUNT_ATTR_RDONLY),
        place);
}

/* Whether the program cannot make what is absent on the host: the place where it would be is
 * read-only, or not the host's. */
static bool is_absent_for_good(const arcp__helper_view *view, arcp_span target)
{
    struct statvfs system;
    struct stat about;
    while (target.size > 1) {
        target = arcp__path_parent(target);
        const int fd = arcp__helper_target(view, target, ARCP__HELPER_MUST_EXIST);
        if (fd >= 0) {
            const bool is_absent =
                fstatvfs(fd, &system) == 0 && fstat(fd, &about) == 0 &&
                ((system.f_flag & ST_RDONLY) != 0 || about.st_dev == view->scratch_device);
            (void)close(fd);
            return is_absent;
        }
    }
    return false;
}

/* Covers file systems of the kernel (proc, sysfs, ...) below a tree that was mounted: as uid 0 much
 * of them is writable without any capability. */
static void cover_kernel_files(const arcp__helper_view *view, const char *source, arcp_span target)
{
    arcp__helper_submounts list = arcp__helper_submounts_of(view->mountinfo, source);
    const bool is_root = strcmp(source, "/") == 0;
    char path[PATH_MAX];
    char type[ARCP__HELPER_TYPE_MAX];
    while (arcp__helper_submounts_next(&list, path, type)) {
        if (is_root &&
            (arcp__path_is_within_cstr(path, "/dev") || arcp__path_is_within_cstr(path, "/proc") ||
             arcp__path_is_within_cstr(path, "/sys"))) {
            continue; /* these are ours */
        }
        arcp_buf inside = arcp_buf_init();
        arcp_buf_append(&inside, arcp_span_first(target, is_root ? 0 : target.size));
        arcp_buf_append_cstr(&inside, path + (is_root ? 0 : strlen(source)));
        const arcp_span span = arcp_span_cstr(arcp_buf_cstr(&inside));
        if (cover(view, span)) {
            arcp__helper_found(ARCP__HELPER_FOUND_COVERS, span, type);
        } else if (errno != ENOENT && errno != EACCES) {
            /* ENOENT: another mount hides it. EACCES: the user may not enter a directory above. */
            arcp__helper_fail_at(span);
        }
        arcp_buf_fini(&inside);
    }
}

/* Puts a link where something was found by way of a link. In a tree of the host's it is there
 * already, and nothing is made. */
static void place_link(const arcp__helper_view *view, const char *path, const char *text)
{
    const char *name = strrchr(path, '/');
    const size_t size = name == path ? 1 : (size_t)(name - path);
    const int fd = arcp__helper_target(view, arcp_span_make(path, size), ARCP__HELPER_IS_DIRECTORY);
    struct stat about;
    /* ELOOP: a component is itself a link that was placed. */
    const bool is_placed =
        fd < 0 ? errno == ELOOP
               : fstat(fd, &about) == 0 &&
                     (about.st_dev != view->scratch_device || symlinkat(text, fd, name + 1) == 0);
    if (!is_placed) {
        arcp__helper_fail(path);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static void report_absent(const arcp__sandbox_mount *mount)
{
    arcp__helper_found(ARCP__HELPER_FOUND_ABSENT, mount->target,
                       mount->kind == ARCP__SANDBOX_MOUNT_TREE ? "directory" : "file");
}

/* Mounts what `fd` is of. False sets errno. */
static bool attach_source(const arcp__helper_view *view, const arcp__sandbox_plan *plan,
                          const arcp__sandbox_mount *mount, int fd, bool is_directory)
{
    const bool is_hosts =
        mount->kind == ARCP__SANDBOX_MOUNT_BASE || mount->kind == ARCP__SANDBOX_MOUNT_TREE;
    if (is_directory && is_hosts && arcp__sandbox_holds_own_file(plan, mount->target)) {
        errno = EINVAL; /* of a tree, which the broker serves: no plan has it */
        return mount->kind == ARCP__SANDBOX_MOUNT_BASE &&
               arcp__helper_mount_around(view, plan, fd, mount->target);
    }
    const int tree =
        arcp__helper_copy(fd, "", ARCP__HELPER_TREE | (mount->is_writable ? 0 : MOUNT_ATTR_RDONLY));
    return tree >= 0 &&
           arcp__helper_attach(tree, arcp__helper_target(view, mount->target,
                                                         is_directory ? ARCP__HELPER_IS_DIRECTORY
                                                                      : ARCP__HELPER_IS_FILE));
}

/* A directory of the lease that turns out to be absent, or a file, loses its source. */
static void mount_source(const arcp__helper_view *view, const arcp__helper *helper, size_t i)
{
    const arcp__sandbox_mount *mount = &helper->plan->mounts[i];
    arcp__helper_source *source = &helper->sources[i];
    const bool is_exact = mount->kind == ARCP__SANDBOX_MOUNT_FILE;
    const bool is_tree = mount->kind == ARCP__SANDBOX_MOUNT_TREE;
    const bool must_be_directory = is_tree || mount->kind == ARCP__SANDBOX_MOUNT_FRESH ||
                                   mount->kind == ARCP__SANDBOX_MOUNT_ETC;
    struct stat about;
    struct statfs system;
    if (source->real == NULL) {
        if (is_exact || is_tree) {
            report_absent(mount);
        }
        return;
    }
    if (source->link != NULL) {
        place_link(view, source->path, source->link);
        return;
    }
    const int fd =
        arcp__helper_open(view->host, source->real + 1,
                          O_PATH | (must_be_directory ? O_DIRECTORY : 0), RESOLVE_NO_SYMLINKS);
    if (fd < 0 && (errno == ENOTDIR || errno == ENOENT) && is_tree &&
        arcp__helper_tree_can_be_absent(helper->plan)) {
        report_absent(mount);
        source->real = NULL;
        return;
    }
    if (fd < 0 || fstat(fd, &about) != 0 || fstatfs(fd, &system) != 0) {
        arcp__helper_fail(source->path);
    }
    if (arcp__helper_is_kernel_type((uint64_t)system.f_type) ||
        arcp__helper_is_in_kernel_mount(view->mountinfo, source->real)) {
        errno = EPERM;
        arcp__helper_fail(source->path);
    }
    /* A literal pattern grants a file. A directory would show all that is in it, and a device or a
     * socket would be more than a file. */
    if ((is_exact && !S_ISREG(about.st_mode)) ||
        (!S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))) {
        report_absent(mount);
        (void)close(fd);
        return;
    }
    if (!attach_source(view, helper->plan, mount, fd, S_ISDIR(about.st_mode))) {
        arcp__helper_fail_at(mount->target);
    }
    (void)close(fd);
    if (S_ISDIR(about.st_mode)) {
        cover_kernel_files(view, source->real, mount->target);
    }
}

static void mount_private(arcp__helper_view *view, arcp_span target)
{
    char name[32];
    const bool is_shared = arcp_span_ends_with(target, ARCP_SPAN_LITERAL("/tmp")) ||
                           arcp_span_ends_with(target, ARCP_SPAN_LITERAL("/shm"));
    (void)snprintf(name, sizeof name, "private/%u", view->private_count++);
    if (mkdirat(view->scratch, name, 0755) != 0 ||
        fchmodat(view->scratch, name, is_shared ? 01777 : 0755, 0) != 0 ||
        !arcp__helper_attach(open_tree(view->scratch, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC),
                             arcp__helper_target(view, target, ARCP__HELPER_IS_DIRECTORY))) {
        arcp__helper_fail_at(target);
    }
}

/* Binds what is at `target` on itself: a mount point cannot be renamed or removed. */
static bool pin(const arcp__helper_view *view, arcp_span target, uint64_t attributes)
{
    const int place = arcp__helper_target(view, target, ARCP__HELPER_MUST_EXIST);
    return place >= 0 && arcp__helper_attach(arcp__helper_copy(place, "", attributes), place);
}

static arcp_span join(arcp_buf *buf, arcp_span directory, const char *name)
{
    arcp_buf_clear(buf);
    arcp_buf_append(buf, directory);
    arcp_buf_append_cstr(buf, name);
    return arcp_span_cstr(arcp_buf_cstr(buf));
}

/* The kind (S_IFMT) of what is at `path`, no link followed; 0: nothing. */
static mode_t kind_of(const arcp__helper_view *view, arcp_span path)
{
    struct stat about;
    const int fd = arcp__helper_target(view, path, ARCP__HELPER_MUST_EXIST);
    if (fd < 0 ? errno != ENOENT : fstat(fd, &about) != 0) {
        arcp__helper_fail_at(path);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd < 0 ? 0 : about.st_mode & S_IFMT;
}

/* Makes configuration and hooks in the directory `git` read-only. False when one of them is absent,
 * because the program could make it. */
static bool protect_parts(const arcp__helper_view *view, arcp_span git, bool *has_link)
{
    static const char *const parts[] = {"/config", "/hooks"};
    arcp_buf part = arcp_buf_init();
    bool is_whole = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const arcp_span path = join(&part, git, parts[i]);
        const mode_t kind = kind_of(view, path);
        *has_link = *has_link || kind == S_IFLNK;
        is_whole = is_whole && kind != 0;
        if (kind != 0 && !pin(view, path, MOUNT_ATTR_RDONLY)) {
            arcp__helper_fail_at(path);
        }
    }
    arcp_buf_fini(&part);
    return is_whole;
}

/* Protects `target`/.git, which git outside trusts: programs that hooks and configuration name run
 * there. Renaming .git would undo what is below it, therefore it is bound on itself first. What a
 * link leads to can be in the tree, and is not protected. */
static void protect_git(const arcp__helper_view *view, const arcp__sandbox_plan *plan,
                        arcp_span target)
{
    arcp_buf git = arcp_buf_init();
    const arcp_span path = join(&git, target, "/.git");
    const mode_t kind = kind_of(view, path);
    const bool commits = plan->protect == ARCP__SANDBOX_PROTECT_COMMITS && kind == S_IFDIR;
    bool has_link = kind == S_IFLNK;
    bool is_protected = false;
    if (commits) {
        if (!pin(view, path, 0)) {
            arcp__helper_fail_at(path);
        }
        is_protected = protect_parts(view, path, &has_link);
    }
    if (kind != 0 && kind != S_IFLNK && !is_protected && !pin(view, path, MOUNT_ATTR_RDONLY)) {
        arcp__helper_fail_at(path);
    }
    if (kind != 0) {
        const char *const how = is_protected ? "commits" : "strict";
        arcp__helper_found(ARCP__HELPER_FOUND_GIT, path, has_link ? "link" : how);
    }
    arcp_buf_fini(&git);
}

/* ---- the plan ---- */

/* Whether `path` is at or below the target of a mount that became a link: what is there is reached,
 * and protected, by its real name. */
static bool is_linked(const arcp__helper *helper, arcp_span path)
{
    const arcp__sandbox_plan *plan = helper->plan;
    for (size_t i = 0; i < plan->mount_count; i++) {
        const arcp_span link = plan->mounts[i].target;
        if (helper->sources[i].link != NULL && arcp_span_starts_with(path, link) &&
            (path.size == link.size || path.data[link.size] == '/')) {
            return true;
        }
    }
    return false;
}

/* Whether `path` is at or below a directory of the lease that is absent. What is not there needs no
 * protection against being renamed. */
static bool is_in_absent_tree(const arcp__helper *helper, arcp_span path)
{
    const arcp__sandbox_plan *plan = helper->plan;
    for (size_t i = 0; i < plan->mount_count; i++) {
        const arcp_span tree = plan->mounts[i].target;
        if (plan->mounts[i].kind == ARCP__SANDBOX_MOUNT_TREE && helper->sources[i].real == NULL &&
            arcp_span_starts_with(path, tree) &&
            (path.size == tree.size || path.data[tree.size] == '/')) {
            return true;
        }
    }
    return false;
}

static void mount_one(arcp__helper_view *view, const arcp__helper *helper, size_t i)
{
    const arcp__sandbox_mount *mount = &helper->plan->mounts[i];
    switch (mount->kind) {
    case ARCP__SANDBOX_MOUNT_ROOT: /* is there; it is the first (make_root) */
        if (i != 0) {
            arcp__helper_begin(ARCP__HELPER_MOUNT);
            errno = EINVAL;
            arcp__helper_fail_at(mount->target);
        }
        break;
    case ARCP__SANDBOX_MOUNT_BASE:
    case ARCP__SANDBOX_MOUNT_ETC:
    case ARCP__SANDBOX_MOUNT_TREE:
    case ARCP__SANDBOX_MOUNT_FILE:
    case ARCP__SANDBOX_MOUNT_FRESH:
        arcp__helper_begin(ARCP__HELPER_MOUNT);
        mount_source(view, helper, i);
        break;
    case ARCP__SANDBOX_MOUNT_PRIVATE:
        arcp__helper_begin(ARCP__HELPER_PRIVATE);
        mount_private(view, mount->target);
        break;
    case ARCP__SANDBOX_MOUNT_PIN:
        arcp__helper_begin(ARCP__HELPER_PIN);
        if (!is_linked(helper, mount->target) && !pin(view, mount->target, 0) &&
            !is_in_absent_tree(helper, mount->target)) {
            arcp__helper_fail_at(mount->target);
        }
        break;
    case ARCP__SANDBOX_MOUNT_GIT:
        arcp__helper_begin(ARCP__HELPER_GIT);
        if (!is_linked(helper, mount->target) && !is_in_absent_tree(helper, mount->target)) {
            protect_git(view, helper->plan, mount->target);
        }
        break;
    case ARCP__SANDBOX_MOUNT_COVER:
        arcp__helper_begin(ARCP__HELPER_COVER);
        if (!is_linked(helper, mount->target) && !cover(view, mount->target) &&
            ((errno != ENOENT && errno != ENOTDIR) || !is_absent_for_good(view, mount->target))) {
            arcp__helper_fail_at(mount->target);
        }
        break;
    case ARCP__SANDBOX_MOUNT_KIND_COUNT:
        break;
    }
}

bool arcp__helper_mount(const arcp__helper *helper)
{
    const arcp__sandbox_plan *plan = helper->plan;
    arcp__helper_view view = {.host = -1, .scratch = -1, .root = -1};
    make_root(&view, helper);
    if (plan->has_broker) {
        arcp__helper_give_views(helper, &view);
    }
    const uint32_t has_pid_max = plan->abilities.values[ARCP__SANDBOX_ABILITY_PID_MAX];
    const bool proc_is_outer =
        arcp__helper_proc(&view, has_pid_max != 0 && getuid() == 0 ? plan->limits.pids : 0);
    arcp__helper_dev(&view, plan->has_terminal);
    arcp__helper_certificates(&view, helper->view.ca_certificate);
    if (view.root_is_hosts) {
        arcp__helper_begin(ARCP__HELPER_COVER);
        cover_kernel_files(&view, "/", ARCP_SPAN_LITERAL("/"));
        if (!cover(&view, ARCP_SPAN_LITERAL("/sys")) && errno != ENOENT) {
            arcp__helper_fail("/sys");
        }
    }
    for (size_t i = 0; i < plan->mount_count; i++) {
        mount_one(&view, helper, i);
    }
    arcp__helper_replace_bundles(&view, helper->view.ca_certificate);
    if (plan->has_broker) {
        arcp__helper_make_beginnings(&view, plan);
    }
    arcp__helper_begin(ARCP__HELPER_CWD);
    const int cwd = arcp__helper_target(&view, plan->cwd, ARCP__HELPER_IS_DIRECTORY);
    if (cwd < 0 && errno != ELOOP) { /* a link that was placed leads there */
        arcp__helper_fail_at(plan->cwd);
    }
    if (cwd >= 0) {
        (void)close(cwd);
    }
    enter_root(&view);
    if (plan->has_broker) {
        arcp__helper_give(helper, ARCP__HELPER_WORD_ROOT, ARCP_SPAN_LITERAL(""), dup(view.root));
    }
    (void)close(view.host);
    (void)close(view.scratch);
    (void)close(view.root);
    return proc_is_outer;
}
