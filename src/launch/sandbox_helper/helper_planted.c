/* What a program leaves for the git of others: a repository, or files in one by which git finds
 * another configuration, that were not there before. What is absent cannot be covered; therefore it
 * is reported afterwards. Looked at on the host, by the monitor: before the start and after the
 * end. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "launch/sandbox_helper/helper.h"
#include "json/json_put.h"

static const char *const names[] = {".git", ".git/commondir", ".git/config.worktree"};

enum { NAME_COUNT = sizeof names / sizeof *names };

/* The host's path of one of the names for the mount `i`; false: it is no tree with a protected .git
 * at its root. */
static bool path_of(const arcp__helper *helper, size_t i, size_t name, char out[PATH_MAX])
{
    const arcp__sandbox_plan *plan = helper->plan;
    const arcp__sandbox_mount *mount = &plan->mounts[i];
    if (mount->kind != ARCP__SANDBOX_MOUNT_GIT) {
        return false;
    }
    for (size_t j = 0; j < plan->mount_count; j++) {
        if (plan->mounts[j].kind != ARCP__SANDBOX_MOUNT_GIT && helper->sources[j].real != NULL &&
            arcp_span_equal(plan->mounts[j].target, mount->target)) {
            return snprintf(out, PATH_MAX, "%s/%s", helper->sources[j].real, names[name]) <
                   PATH_MAX;
        }
    }
    return false;
}

static bool is_there(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0;
}

void arcp__helper_look_for_git(arcp__helper *helper)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < helper->plan->mount_count; i++) {
        for (size_t name = 0; name < NAME_COUNT; name++) {
            if (path_of(helper, i, name, path) && is_there(path)) {
                helper->sources[i].git |= 1u << name;
            }
        }
    }
}

bool arcp__helper_has_git(const arcp__helper *helper, size_t mount)
{
    return helper->sources != NULL && (helper->sources[mount].git & 1u) != 0; /* names[0] */
}

void arcp__helper_report_planted(const arcp__helper *helper)
{
    char path[PATH_MAX];
    arcp_buf record = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&record);
    size_t count = 0;
    arcp__put_array(&writer, "planted");
    for (size_t i = 0; i < helper->plan->mount_count; i++) {
        for (size_t name = 0; name < NAME_COUNT; name++) {
            if ((helper->sources[i].git & (1u << name)) == 0 && path_of(helper, i, name, path) &&
                is_there(path) && count++ < ARCP__HELPER_REPORT_MAX && record.size < 60000) {
                arcp_json_write_cstr(&writer, path);
            }
        }
    }
    arcp_json_end_array(&writer);
    arcp_json_end_object(&writer);
    if (count != 0) {
        arcp__helper_send_record(&record);
    }
    arcp_buf_fini(&record);
}
