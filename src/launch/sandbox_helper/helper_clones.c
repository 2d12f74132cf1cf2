/* What the broker needs of the view of files: copies of the host's mounts, the directories that
 * patterns begin with, and one for listings. */
#include <errno.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/path.h"
#include "broker/broker.h"
#include "launch/sandbox_helper/helper_open.h"
#include "launch/sandbox_helper/helper_view.h"

/* Opens a directory of the host, without links in its path. */
static int open_directory(int host, arcp_span path)
{
    char text[PATH_MAX];
    (void)snprintf(text, sizeof text, "%.*s", (int)path.size, path.data);
    return path.size == 1
               ? dup(host)
               : arcp__helper_open(host, text + 1, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
}

void arcp__helper_give_clones(const arcp__helper *helper, int host)
{
    arcp_span beginnings[ARCP__BROKER_CLONES_MAX] = {{NULL, 0}};
    const size_t count = arcp__broker_beginnings(helper->plan, beginnings);
    arcp__helper_begin(ARCP__HELPER_BROKER);
    for (size_t i = 0; i < count; i++) {
        /* Of what is absent, or reached by a link, the nearest directory above that is there. */
        arcp_span path = beginnings[i];
        int fd = open_directory(host, path);
        while (fd < 0 && path.size != 1) {
            path = arcp__path_parent(path);
            fd = open_directory(host, path);
        }
        if (fd < 0) {
            arcp__helper_fail("/");
        }
        arcp__helper_give(helper, ARCP__HELPER_WORD_CLONE, path,
                          arcp__helper_copy(fd, "", ARCP__HELPER_TREE | MOUNT_ATTR_RDONLY));
        (void)close(fd);
    }
}

void arcp__helper_make_beginnings(const arcp__helper_view *view, const arcp__sandbox_plan *plan)
{
    for (size_t i = 0; i < plan->read_count; i++) {
        const arcp_span pattern = plan->reads[i];
        const arcp_span beginning = pattern.size == 0 ? pattern : arcp__broker_beginning(pattern);
        /* A whole directory is mounted; one that is absent must not seem to be there. */
        const bool is_mounted = arcp__sandbox_is_kernels(plan, ARCP__CAPABILITY_FS_READ, pattern);
        if (pattern.size == 0 || pattern.data[0] != '/' || is_mounted) {
            continue;
        }
        const int fd = arcp__helper_target(view, beginning, ARCP__HELPER_IS_DIRECTORY);
        if (fd >= 0) {
            (void)close(fd);
        }
    }
}

void arcp__helper_give_views(const arcp__helper *helper, const arcp__helper_view *view)
{
    arcp__helper_begin(ARCP__HELPER_BROKER);
    if (mkdirat(view->scratch, "views", 0755) != 0) {
        arcp__helper_fail(NULL);
    }
    arcp__helper_give(helper, ARCP__HELPER_WORD_VIEWS, ARCP_SPAN_LITERAL(""),
                      arcp__helper_copy(view->scratch, "views", ARCP__HELPER_TREE));
    arcp__helper_give(
        helper, ARCP__HELPER_WORD_VIEWS_READ, ARCP_SPAN_LITERAL(""),
        arcp__helper_copy(view->scratch, "views", ARCP__HELPER_TREE | MOUNT_ATTR_RDONLY));
}
