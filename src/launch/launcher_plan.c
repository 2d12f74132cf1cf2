#include "launch/launcher_plan.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/launch.h"

#define GROUPS_MAX 1024

static arcp_status no_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

bool arcp__launch_is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

static arcp_status keep(arcp__launch_plan *plan, const char *text, const char **out,
                        arcp_error *err)
{
    arcp_span copy = arcp__arena_copy(&plan->arena, arcp_span_make(text, strlen(text) + 1));
    if (copy.data == NULL) {
        return no_memory(err);
    }
    *out = copy.data;
    return ARCP_OK;
}

/* ---- the program ---- */

static const char *value_of(const char *const *env, const char *name)
{
    size_t size = strlen(name);
    for (const char *const *at = env; at != NULL && *at != NULL; at++) {
        if (strncmp(*at, name, size) == 0 && (*at)[size] == '=') {
            return *at + size + 1;
        }
    }
    return NULL;
}

/* The child changes its directory before it becomes the program. */
static arcp_status absolute_path(arcp__launch_plan *plan, const char *name, arcp_error *err)
{
    char here[4096];
    char whole[8192];
    if (name[0] == '/') {
        return keep(plan, name, &plan->program, err);
    }
    if (getcwd(here, sizeof(here)) == NULL) {
        return arcp_error_set(err, ARCP_E_IO, "the current directory has no name: %s",
                              strerror(errno));
    }
    int written = snprintf(whole, sizeof(whole), "%s/%s", here, name);
    if (written < 0 || (size_t)written >= sizeof(whole)) {
        return arcp_error_set(err, ARCP_E_USAGE, "the program's path is too long: %s", name);
    }
    return keep(plan, whole, &plan->program, err);
}

/* As execvp would, but with the child's PATH and before it exists. */
static arcp_status find_program(arcp__launch_plan *plan, const arcp_launch_spec *spec,
                                arcp_error *err)
{
    const char *name = spec->argv[0];
    if (name == NULL || name[0] == '\0') {
        return arcp_error_set(err, ARCP_E_USAGE, "the command is empty");
    }
    if (strchr(name, '/') != NULL) {
        return absolute_path(plan, name, err);
    }
    const char *path = value_of(spec->env, "PATH");
    if (path == NULL) {
        path = "/usr/local/bin:/usr/bin:/bin";
    }
    while (*path != '\0') {
        size_t size = strcspn(path, ":");
        char whole[4096];
        int written = snprintf(whole, sizeof(whole), "%.*s/%s", (int)size, path, name);
        if (path[0] == '/' && written > 0 && (size_t)written < sizeof(whole) &&
            arcp__launch_is_program(whole)) {
            return keep(plan, whole, &plan->program, err);
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
    int number = getpwnam_r(user, &entry, buffer, sizeof(buffer), &found);
    if (number != 0) {
        return arcp_error_set(err, ARCP_E_IO, "the user \"%s\" cannot be looked up: %s", user,
                              strerror(number));
    }
    if (found == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "there is no user \"%s\"", user);
    }
    gid_t *groups = arcp__arena_take(&plan->arena, GROUPS_MAX * sizeof(*groups));
    int count = GROUPS_MAX;
    if (groups == NULL) {
        return no_memory(err);
    }
    if (getgrouplist(user, found->pw_gid, groups, &count) < 0) {
        return arcp_error_set(err, ARCP_E_IO, "the user \"%s\" is in more than %d groups", user,
                              GROUPS_MAX);
    }
    plan->child.switch_user = true;
    plan->child.uid = found->pw_uid;
    plan->child.gid = found->pw_gid;
    plan->child.groups = groups;
    plan->child.group_count = (size_t)count;
    return ARCP_OK;
}

arcp_status arcp__launch_check(const char *const *argv, const char *const *env, const char *user,
                               arcp_error *err)
{
    arcp_launch_spec spec = ARCP_LAUNCH_SPEC_INIT;
    arcp__launch_plan plan = {.env_fd = -1};
    spec.argv = argv;
    spec.env = env;
    arcp_status status = find_program(&plan, &spec, err);
    if (status == ARCP_OK && access(plan.program, F_OK) != 0) {
        status =
            arcp_error_set(err, ARCP_E_USAGE, "the program %s: %s", plan.program, strerror(errno));
    } else if (status == ARCP_OK && !arcp__launch_is_program(plan.program)) {
        status =
            arcp_error_set(err, ARCP_E_USAGE, "%s is no file that we may execute", plan.program);
    } else if (status == ARCP_OK && user != NULL) {
        status = find_user(&plan, user, err);
    }
    arcp__launch_plan_fini(&plan);
    return status;
}

/* ---- the plan ---- */

static arcp_status fill_child(arcp__launch_plan *plan, const arcp_launch_spec *spec,
                              arcp_error *err)
{
    /* execve changes neither array, whatever its prototype says. */
    union {
        const char *const *from;
        char *const *to;
    } argv = {spec->argv}, env = {spec->env};
    static char *const nothing[] = {NULL};
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
    return spec->user == NULL ? ARCP_OK : find_user(plan, spec->user, err);
}

arcp_status arcp__launch_plan_init(arcp__launch_plan *plan, const arcp_launch_spec *spec,
                                   const char *helper, arcp_error *err)
{
    *plan = (arcp__launch_plan){.env_fd = -1};
    plan->files = (arcp__launch_files){
        .from = {spec->stdin_fd, spec->stdout_fd, spec->stderr_fd, -1, -1},
        .count = ARCP__LAUNCH_ERRORS_FD + 1,
        .cgroup = spec->cgroup_fd,
    };
    arcp_status status = find_program(plan, spec, err);
    if (status == ARCP_OK) {
        status = fill_child(plan, spec, err);
    }
    if (status == ARCP_OK && plan->child.switch_user) {
        status = arcp__launch_plan_use_helper(plan, helper, err);
    }
    return status;
}

void arcp__launch_plan_fini(arcp__launch_plan *plan)
{
    if (plan->env_fd >= 0) {
        (void)close(plan->env_fd);
    }
    arcp__arena_fini(&plan->arena);
}
