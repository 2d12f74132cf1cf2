/* Starting through arcp-agent-exec.
 *
 * A child of vfork that has changed its user still runs in our memory: whoever is that
 * user could stop it there, and us with it. So the change is left to a program of its own.
 * It gets what to do as words, and the agent's environment through a descriptor: not as its
 * own environment, which may name libraries to load while it is still root, and not as
 * words, which everybody can read. */
#include "launch/launcher_plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <arcp/buf.h>

#include "base/libexec.h"

#define HELPER_NAME  "arcp-agent-exec"
#define OPTION_WORDS 16 /* at most, without limits */

/* ---- the environment ---- */

static bool write_all(int fd, arcp_span bytes)
{
    while (bytes.size != 0) {
        ssize_t written = write(fd, bytes.data, bytes.size);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        bytes = arcp_span_from(bytes, (size_t)written);
    }
    return true;
}

/* NAME=VALUE with a NUL behind each, in a file that nobody else can name. */
static arcp_status write_environment(arcp__launch_plan *plan, arcp_error *err)
{
    arcp_buf text = ARCP_BUF_INIT;
    for (char *const *at = plan->child.env; *at != NULL; at++) {
        arcp_buf_append(&text, arcp_span_make(*at, strlen(*at) + 1));
    }
    arcp_status status = ARCP_OK;
    if (text.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    } else {
        plan->env_fd = memfd_create("environment", MFD_CLOEXEC);
        if (plan->env_fd < 0 || !write_all(plan->env_fd, arcp_buf_span(&text)) ||
            lseek(plan->env_fd, 0, SEEK_SET) != 0) {
            status = arcp_error_set(err, ARCP_E_IO, "the environment cannot be passed on: %s",
                                    strerror(errno));
        }
    }
    arcp_buf_fini(&text);
    return status;
}

/* ---- the words ---- */

typedef struct words {
    arcp__arena *arena;
    char **items;
    size_t count;
    bool failed;
} words;

static void add(words *to, const char *text)
{
    arcp_span copy = arcp__arena_copy(to->arena, arcp_span_make(text, strlen(text) + 1));
    union {
        const char *from;
        char *to;
    } word = {copy.data};
    to->failed = to->failed || copy.data == NULL;
    to->items[to->count++] = word.to;
    to->items[to->count] = NULL;
}

static void add_user(words *to, const arcp__launch_child *child)
{
    arcp_buf text = ARCP_BUF_INIT;
    arcp_buf_append_format(&text, "%u:%u:", (unsigned)child->uid, (unsigned)child->gid);
    for (size_t at = 0; at < child->group_count; at++) {
        arcp_buf_append_format(&text, "%s%u", at == 0 ? "" : ",", (unsigned)child->groups[at]);
    }
    arcp_buf_append_byte(&text, '\0');
    add(to, "--user");
    if (text.failed) {
        to->failed = true;
    } else {
        add(to, text.data);
    }
    arcp_buf_fini(&text);
}

static void add_limit(words *to, const arcp_launch_limit *limit)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%d:%llu:%llu", limit->resource,
                   (unsigned long long)limit->soft, (unsigned long long)limit->hard);
    add(to, "--limit");
    add(to, text);
}

static bool make_words(arcp__launch_plan *plan, const char *helper, words *to)
{
    const arcp__launch_child *child = &plan->child;
    size_t argc = 0;
    char parent[16];
    while (child->argv[argc] != NULL) {
        argc++;
    }
    to->arena = &plan->arena;
    to->items = arcp__arena_take(&plan->arena, (OPTION_WORDS + 2 * child->limit_count + argc) *
                                                   sizeof(*to->items));
    if (to->items == NULL) {
        return false;
    }
    (void)snprintf(parent, sizeof(parent), "%d", (int)child->parent);
    add(to, helper);
    add(to, "--parent");
    add(to, parent);
    add_user(to, child);
    for (size_t at = 0; at < child->limit_count; at++) {
        add_limit(to, &child->limits[at]);
    }
    if (child->cwd != NULL) {
        add(to, "--cwd");
        add(to, child->cwd);
    }
    add(to, "--");
    add(to, child->program);
    for (size_t at = 0; at < argc; at++) {
        add(to, child->argv[at]);
    }
    return !to->failed;
}

arcp_status arcp__launch_plan_use_helper(arcp__launch_plan *plan, const char *given,
                                         arcp_error *err)
{
    static char *const nothing[] = {NULL};
    arcp_buf path = ARCP_BUF_INIT;
    words argv = {0};
    arcp_status status = ARCP_OK;
    bool is_there =
        given == NULL ? arcp__libexec_find(HELPER_NAME, &path) : arcp__launch_is_program(given);
    if (path.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    } else if (!is_there) {
        status = arcp_error_set(err, ARCP_E_USAGE,
                                "running as another user needs the program %s, which is not there",
                                given != NULL ? given : HELPER_NAME);
    } else {
        status = write_environment(plan, err);
    }
    if (status == ARCP_OK && !make_words(plan, given != NULL ? given : path.data, &argv)) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_buf_fini(&path);
    if (status != ARCP_OK) {
        return status;
    }
    plan->child = (arcp__launch_child){
        .program = argv.items[0],
        .argv = argv.items,
        .env = nothing,
        .parent = plan->child.parent,
        .error_fd = -1,
    };
    plan->files.from[ARCP__LAUNCH_ENV_FD] = plan->env_fd;
    plan->files.count = ARCP__LAUNCH_ENV_FD + 1;
    plan->files.keep = true;
    plan->has_helper = true;
    return ARCP_OK;
}
