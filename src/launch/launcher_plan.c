#include "launch/launcher_plan.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/libexec.h"
#include "launch/launch.h"

#define OOM_SCORE_MAX 1000L /* of the kernel */

/* Whether it is a regular file that we may execute. */
static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

/* ---- the program ---- */

static const char *value_of(const char *const *env, const char *name)
{
    const size_t size = strlen(name);
    for (const char *const *pair = env; pair != NULL && *pair != NULL; pair++) {
        if (strncmp(*pair, name, size) == 0 && (*pair)[size] == '=') {
            return *pair + size + 1;
        }
    }
    return NULL;
}

arcp_status arcp__launch_find(const char *name, const char *path, char out[ARCP__LAUNCH_PATH_MAX],
                              arcp_error *err)
{
    char here[4096] = "";
    if (name == NULL || name[0] == '\0') {
        return arcp_error_set(err, ARCP_E_USAGE, "the command is empty");
    }
    if (strchr(name, '/') != NULL) {
        const bool is_relative = name[0] != '/';
        if (is_relative && getcwd(here, sizeof here) == NULL) {
            return arcp_error_set(err, ARCP_E_IO, "cannot get the current directory: %s",
                                  strerror(errno));
        }
        const int written =
            snprintf(out, ARCP__LAUNCH_PATH_MAX, "%s%s%s", here, is_relative ? "/" : "", name);
        return written > 0 && written < ARCP__LAUNCH_PATH_MAX
                   ? ARCP_OK
                   : arcp_error_set(err, ARCP_E_USAGE, "the program's path is too long: %s", name);
    }
    if (path == NULL) {
        path = "/usr/local/bin:/usr/bin:/bin";
    }
    while (*path != '\0') {
        const size_t size = strcspn(path, ":");
        const int written = snprintf(out, ARCP__LAUNCH_PATH_MAX, "%.*s/%s", (int)size, path, name);
        if (path[0] == '/' && written > 0 && written < ARCP__LAUNCH_PATH_MAX && is_program(out)) {
            return ARCP_OK;
        }
        path += size + (path[size] == ':');
    }
    return arcp_error_set(err, ARCP_E_USAGE, "the program %s is not in PATH", name);
}

/* ---- the user ---- */

static arcp_status find_user(arcp__launch_plan *plan, const char *user, arcp_error *err)
{
    char buffer[16384];
    struct passwd entry;
    struct passwd *found = NULL;
    const int number = getpwnam_r(user, &entry, buffer, sizeof buffer, &found);
    if (number != 0) {
        return arcp_error_set(err, ARCP_E_IO, "the user \"%s\" cannot be looked up: %s", user,
                              strerror(number));
    }
    if (found == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "there is no user \"%s\"", user);
    }
    int count = ARCP__LAUNCH_GROUPS_MAX;
    if (getgrouplist(user, found->pw_gid, plan->groups, &count) < 0) {
        return arcp_error_set(err, ARCP_E_IO, "the user \"%s\" is in more than %d groups", user,
                              ARCP__LAUNCH_GROUPS_MAX);
    }
    plan->child.switch_user = true;
    plan->child.uid = found->pw_uid;
    plan->child.gid = found->pw_gid;
    plan->child.groups = plan->groups;
    plan->child.group_count = (size_t)count;
    return ARCP_OK;
}

arcp_status arcp__launch_check(const char *const *argv, const char *const *env, const char *user,
                               arcp_error *err)
{
    arcp__launch_plan plan = {.orders_fd = -1};
    arcp_status status = arcp__launch_find(argv[0], value_of(env, "PATH"), plan.program, err);
    if (status != ARCP_OK) {
        return status;
    }
    if (access(plan.program, F_OK) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "the program %s: %s", plan.program,
                              strerror(errno));
    }
    if (!is_program(plan.program)) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s is not an executable file", plan.program);
    }
    return user == NULL ? ARCP_OK : find_user(&plan, user, err);
}

/* ---- the helper ----
 *
 * After a vfork, a child that has changed its user would still run in our memory. That user could
 * stop it there, and so suspend us. Therefore a separate program changes the user and does
 * everything that follows. */

arcp_status arcp__launch_plan_use(arcp__launch_plan *plan, const arcp__launch_helper *helper,
                                  arcp_error *err)
{
    static char *const nothing[] = {NULL};
    const char *path = helper->path;
    const bool is_there =
        path == NULL ? arcp__libexec_find(helper->name, &plan->helper_path) : is_program(path);
    if (path != NULL) {
        arcp_buf_append(&plan->helper_path, arcp_span_make(path, strlen(path) + 1));
    }
    if (plan->helper_path.failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (!is_there) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s needs the program %s, which does not exist",
                              helper->purpose, path != NULL ? path : helper->name);
    }
    const arcp_status status =
        arcp__launch_orders_write(&plan->child, &helper->view, &plan->orders_fd, err);
    if (status != ARCP_OK) {
        return status;
    }
    plan->helper_argv[0] = plan->helper_path.data;
    plan->child = (arcp__launch_child){
        .program = plan->helper_path.data,
        .argv = plan->helper_argv,
        .env = nothing,
        .parent = plan->child.parent,
        .error_fd = -1,
        .oom_score = plan->child.oom_score,
    };
    plan->files.from[ARCP__LAUNCH_ORDERS_FD] = plan->orders_fd;
    plan->files.count = ARCP__LAUNCH_ORDERS_FD + 1;
    return ARCP_OK;
}

/* ---- the plan ---- */

/* The caller's score with what the spec, which can be of an older release, adds. */
static void find_oom_score(const arcp_launch_spec *spec, arcp__launch_plan *plan)
{
    char text[16];
    if (spec->struct_size < ARCP__END_OF(arcp_launch_spec, oom_score_more) ||
        spec->oom_score_more == 0) {
        return;
    }
    const int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    arcp__close(fd);
    if (size <= 0) {
        return;
    }
    text[size] = '\0';
    const long score = strtol(text, NULL, 10) + spec->oom_score_more;
    (void)snprintf(plan->oom_score, sizeof plan->oom_score, "%ld",
                   score < OOM_SCORE_MAX ? score : OOM_SCORE_MAX);
    plan->child.oom_score = plan->oom_score;
}

arcp_status arcp__launch_plan_init(arcp__launch_plan *plan, const arcp_launch_spec *spec,
                                   const char *agent_exec, arcp_error *err)
{
    /* execve changes neither array, whatever its prototype says. */
    union {
        const char *const *from;
        char *const *to;
    } argv = {spec->argv}, env = {spec->env};
    static char *const nothing[] = {NULL};
    *plan = (arcp__launch_plan){.orders_fd = -1, .sandbox_fd = -1};
    plan->files = (arcp__launch_files){
        .from = {spec->stdin_fd, spec->stdout_fd, spec->stderr_fd, -1, -1, -1, -1},
        .count = ARCP__LAUNCH_ERRORS_FD + 1,
        .cgroup = spec->cgroup_fd,
        .cgroups = spec->cgroup_fds,
        .cgroup_count = spec->cgroup_fd_count,
    };
    plan->child = (arcp__launch_child){
        .program = plan->program,
        .argv = argv.to,
        .env = spec->env == NULL ? nothing : env.to,
        .cwd = spec->cwd,
        .limits = spec->limits,
        .limit_count = spec->limit_count,
        .parent = getpid(),
        .error_fd = -1,
    };
    find_oom_score(spec, plan);
    arcp_status status =
        arcp__launch_find(spec->argv[0], value_of(spec->env, "PATH"), plan->program, err);
    if (status == ARCP_OK && spec->user != NULL) {
        status = find_user(plan, spec->user, err);
    }
    if (status == ARCP_OK && spec->user != NULL && !arcp__launch_is_confined(spec)) {
        const arcp__launch_helper helper = {
            .name = "arcp-agent-exec", .path = agent_exec, .purpose = "running as another user"};
        status = arcp__launch_plan_use(plan, &helper, err);
        plan->files.keeps_errors = true;
    }
    return status;
}

void arcp__launch_plan_fini(arcp__launch_plan *plan)
{
    arcp__close(plan->orders_fd);
    arcp__close(plan->sandbox_fd);
    arcp_buf_fini(&plan->helper_path);
}
