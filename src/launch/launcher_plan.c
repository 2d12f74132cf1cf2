#include "launch/launcher_plan.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/libexec.h"
#include "launch/launch.h"

#define HELPER_NAME "arcp-agent-exec"

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

/* Finds the program as execvp would, but in the child's PATH and before the child exists. */
static arcp_status find_program(arcp__launch_plan *plan, const char *const *argv,
                                const char *const *env, arcp_error *err)
{
    const char *name = argv[0];
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
        const int written = snprintf(plan->program, sizeof plan->program, "%s%s%s", here,
                                     is_relative ? "/" : "", name);
        return written > 0 && (size_t)written < sizeof plan->program
                   ? ARCP_OK
                   : arcp_error_set(err, ARCP_E_USAGE, "the program's path is too long: %s", name);
    }
    const char *path = value_of(env, "PATH");
    if (path == NULL) {
        path = "/usr/local/bin:/usr/bin:/bin";
    }
    while (*path != '\0') {
        const size_t size = strcspn(path, ":");
        const int written =
            snprintf(plan->program, sizeof plan->program, "%.*s/%s", (int)size, path, name);
        if (path[0] == '/' && written > 0 && (size_t)written < sizeof plan->program &&
            is_program(plan->program)) {
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
    const arcp_status status = find_program(&plan, argv, env, err);
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

static void append_text(arcp_buf *to, const char *text)
{
    arcp_buf_append(to, arcp_span_make(text, strlen(text) + 1));
}

/* Appends a NULL-terminated list and returns its length. */
static size_t append_texts(arcp_buf *to, char *const *texts)
{
    size_t count = 0;
    for (; texts[count] != NULL; count++) {
        append_text(to, texts[count]);
    }
    return count;
}

/* Writes the helper's orders to a memfd. They are not passed as arguments, which every user can
 * read, nor is the agent's environment passed as the helper's, because it could name libraries to
 * load while the helper is still root. */
static arcp_status write_orders(arcp__launch_plan *plan, arcp_error *err)
{
    const arcp__launch_child *child = &plan->child;
    arcp__launch_orders orders;
    arcp_buf texts = arcp_buf_init();
    if (child->limit_count > ARCP__LAUNCH_LIMITS_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "an agent can have at most %d resource limits",
                              ARCP__LAUNCH_LIMITS_MAX);
    }
    append_text(&texts, child->cwd == NULL ? "" : child->cwd);
    append_text(&texts, child->program);
    memset(&orders, 0, sizeof orders); /* including padding */
    orders.struct_size = sizeof orders;
    orders.argc = append_texts(&texts, child->argv);
    orders.env_count = append_texts(&texts, child->env);
    orders.parent = child->parent;
    orders.uid = child->uid;
    orders.gid = child->gid;
    orders.group_count = (uint32_t)child->group_count;
    orders.limit_count = child->limit_count;
    memcpy(orders.groups, child->groups, child->group_count * sizeof *child->groups);
    if (child->limit_count != 0) {
        memcpy(orders.limits, child->limits, child->limit_count * sizeof *child->limits);
    }
    arcp_status status = ARCP_OK;
    plan->orders_fd = memfd_create("orders", MFD_CLOEXEC);
    if (texts.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    } else if (plan->orders_fd < 0 ||
               !arcp__write_all(plan->orders_fd,
                                arcp_span_make((const char *)&orders, sizeof orders)) ||
               !arcp__write_all(plan->orders_fd, arcp_buf_span(&texts))) {
        status =
            arcp_error_set(err, ARCP_E_IO, "the orders for " HELPER_NAME " cannot be written: %s",
                           strerror(errno));
    }
    arcp_buf_fini(&texts);
    return status;
}

static arcp_status use_helper(arcp__launch_plan *plan, const char *given, arcp_error *err)
{
    static char *const nothing[] = {NULL};
    const bool is_there =
        given == NULL ? arcp__libexec_find(HELPER_NAME, &plan->helper_path) : is_program(given);
    if (given != NULL) {
        append_text(&plan->helper_path, given);
    }
    if (plan->helper_path.failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (!is_there) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "running as another user needs the program %s, which does not exist",
                              given != NULL ? given : HELPER_NAME);
    }
    const arcp_status status = write_orders(plan, err);
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
    };
    plan->files.from[ARCP__LAUNCH_ORDERS_FD] = plan->orders_fd;
    plan->files.count = ARCP__LAUNCH_ORDERS_FD + 1;
    plan->files.keep = true;
    return ARCP_OK;
}

/* ---- the plan ---- */

arcp_status arcp__launch_plan_init(arcp__launch_plan *plan, const arcp_launch_spec *spec,
                                   const char *helper, arcp_error *err)
{
    /* execve changes neither array, whatever its prototype says. */
    union {
        const char *const *from;
        char *const *to;
    } argv = {spec->argv}, env = {spec->env};
    static char *const nothing[] = {NULL};
    *plan = (arcp__launch_plan){.orders_fd = -1};
    plan->files = (arcp__launch_files){
        .from = {spec->stdin_fd, spec->stdout_fd, spec->stderr_fd, -1, -1},
        .count = ARCP__LAUNCH_ERRORS_FD + 1,
        .cgroup = spec->cgroup_fd,
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
    arcp_status status = find_program(plan, spec->argv, spec->env, err);
    if (status == ARCP_OK && spec->user != NULL) {
        status = find_user(plan, spec->user, err);
        status = status == ARCP_OK ? use_helper(plan, helper, err) : status;
    }
    return status;
}

void arcp__launch_plan_fini(arcp__launch_plan *plan)
{
    arcp__close(plan->orders_fd);
    arcp_buf_fini(&plan->helper_path);
}
