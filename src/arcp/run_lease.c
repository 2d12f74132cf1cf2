#include "arcp/run.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcp/command.h"
#include "base/alloc.h"
#include "base/path.h"
#include "base/utf8.h"
#include "core/target.h"

#define PRIVATE_HOME "/home/agent"

/* ---- paths ---- */

/* The canonical form of an absolute path; NULL: it has none, or memory ran out. */
static const char *canonical_of(arcp__arena *arena, const char *path, arcp_deny_reason *reason)
{
    arcp_target_scratch *scratch = arcp__alloc(sizeof *scratch);
    arcp_span canonical = {NULL, 0};
    *reason = scratch == NULL
                  ? ARCP_DENY_NONE
                  : arcp__target_canonicalise(ARCP__CAPABILITY_FS_READ, arcp_span_make(NULL, 0),
                                              arcp_span_cstr(path), scratch, &canonical);
    const char *copy = canonical.size == 0 ? NULL : arcp__arena_copy(arena, canonical).data;
    arcp__free(scratch);
    return copy;
}

const char *arcp__run_path(arcp__arena *arena, const char *cwd, const char *option,
                           const char *path, arcp_error *err)
{
    arcp_buf joined = arcp_buf_init();
    arcp_deny_reason reason = ARCP_DENY_EMPTY;
    const char *canonical = NULL;
    arcp_buf_append_format(&joined, "%s%s%s", path[0] == '/' ? "" : cwd, path[0] == '/' ? "" : "/",
                           path);
    const char *text = arcp_buf_cstr(&joined);
    if (text != NULL && path[0] != '\0') {
        canonical = canonical_of(arena, text, &reason);
    }
    if (canonical == NULL && reason == ARCP_DENY_NONE) {
        (void)arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    } else if (canonical == NULL) {
        (void)arcp_error_set(err, ARCP_E_USAGE, "--%s %.200s: %s", option, path,
                             arcp_deny_reason_text(reason));
    }
    arcp_buf_fini(&joined);
    return canonical;
}

const char *arcp__run_account_home(arcp__arena *arena)
{
    arcp_deny_reason reason;
    const struct passwd *user = getpwuid(geteuid());
    const char *home = user == NULL ? NULL : user->pw_dir;
    const char *canonical =
        home == NULL || home[0] != '/' ? NULL : canonical_of(arena, home, &reason);
    return canonical == NULL || strcmp(canonical, "/") == 0
               ? canonical_of(arena, PRIVATE_HOME, &reason)
               : canonical;
}

const char *arcp__run_home(arcp__arena *arena)
{
    arcp_deny_reason reason;
    const char *home = getenv("HOME");
    const char *canonical =
        home == NULL || home[0] != '/' ? NULL : canonical_of(arena, home, &reason);
    return canonical == NULL || strcmp(canonical, "/") == 0 ? arcp__run_account_home(arena)
                                                            : canonical;
}

/* ---- grants of the options ---- */

typedef struct grants {
    arcp__run *run;
    arcp__lease_grant *rows;
    size_t count;
    bool has_cwd; /* an option grants the current directory */
} grants;

static void add(grants *g, const char *capability, const char *pattern)
{
    g->rows[g->count++] = (arcp__lease_grant){arcp_span_cstr(capability), pattern};
}

/* `path` with `/` `**` behind it. */
static const char *tree_of(grants *g, const char *path, arcp_error *err)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_format(&text, "%s/**", strcmp(path, "/") == 0 ? "" : path);
    const char *copy =
        text.failed ? NULL : arcp__arena_copy(&g->run->arena, arcp_buf_span(&text)).data;
    arcp_buf_fini(&text);
    if (copy == NULL) {
        (void)arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    return copy;
}

/* The pattern for a path that was given to --read or --write. */
static const char *pattern_of(grants *g, const char *option, const char *given, arcp_error *err)
{
    struct stat about;
    const char *path = arcp__run_path(&g->run->arena, g->run->cwd, option, given, err);
    if (path == NULL) {
        return NULL;
    }
    g->has_cwd = g->has_cwd || arcp__path_is_within_cstr(g->run->cwd, path);
    const bool is_there = stat(path, &about) == 0;
    if (!arcp__utf8_is_valid(arcp_span_cstr(path))) {
        (void)arcp_error_set(err, ARCP_E_USAGE,
                             "--%s %.200s: a name in a lease must be UTF-8; its directory can be "
                             "granted",
                             option, given);
        return NULL;
    }
    if (is_there && strchr(path, '*') != NULL) {
        (void)arcp_error_set(err, ARCP_E_USAGE,
                             "--%s %.200s: there is such a file, but in a lease * stands for any "
                             "name; its directory can be granted",
                             option, given);
        return NULL;
    }
    return is_there && S_ISDIR(about.st_mode) ? tree_of(g, path, err) : path;
}

static arcp_status add_paths(grants *g, arcp_error *err)
{
    const arcp__arguments *arguments = &g->run->program->arguments;
    for (size_t i = 0; i < arguments->counts[ARCP__OPTION_RUN_READ]; i++) {
        const char *pattern =
            pattern_of(g, "read", arguments->values[ARCP__OPTION_RUN_READ][i], err);
        if (pattern == NULL) {
            return err->status;
        }
        add(g, "fs.read", pattern);
    }
    for (size_t i = 0; i < arguments->counts[ARCP__OPTION_RUN_WRITE]; i++) {
        const char *pattern =
            pattern_of(g, "write", arguments->values[ARCP__OPTION_RUN_WRITE][i], err);
        if (pattern == NULL) {
            return err->status;
        }
        add(g, "fs.read", pattern);
        add(g, "fs.write", pattern);
    }
    return ARCP_OK;
}

/* What the gateways ask for. */
static void add_calls(grants *g)
{
    const arcp__arguments *arguments = &g->run->program->arguments;
    for (size_t i = 0; i < arguments->counts[ARCP__OPTION_RUN_MODEL]; i++) {
        add(g, "model.use", arguments->values[ARCP__OPTION_RUN_MODEL][i]);
    }
    for (size_t i = 0; i < arguments->counts[ARCP__OPTION_RUN_TOOL]; i++) {
        add(g, "tool.call", arguments->values[ARCP__OPTION_RUN_TOOL][i]);
    }
}

static arcp_status add_urls(grants *g, arcp_error *err)
{
    const arcp__arguments *arguments = &g->run->program->arguments;
    for (size_t i = 0; i < arguments->counts[ARCP__OPTION_RUN_FETCH]; i++) {
        const char *pattern = arcp__run_fetch_pattern(
            &g->run->arena, arguments->values[ARCP__OPTION_RUN_FETCH][i], err);
        if (pattern == NULL) {
            return err->status;
        }
        add(g, "net.fetch", pattern);
    }
    return ARCP_OK;
}

/* Why the current directory must not be read by default; NULL: it may be. */
static const char *reason_to_keep(const arcp__run *run)
{
    /* HOME may name another directory, for instance under sudo. */
    const char *const homes[] = {run->home, run->account_home};
    if (strcmp(run->cwd, "/") == 0) {
        return "it is /";
    }
    for (size_t i = 0; i < 2; i++) {
        char resolved[PATH_MAX];
        if (realpath(homes[i], resolved) == NULL) {
            (void)snprintf(resolved, sizeof resolved, "%s", homes[i]);
        }
        if (strcmp(run->cwd, homes[i]) == 0 || strcmp(run->cwd, resolved) == 0) {
            return "it is your home directory";
        }
        if (arcp__path_is_within_cstr(homes[i], run->cwd) ||
            arcp__path_is_within_cstr(resolved, run->cwd)) {
            return "it holds your home directory";
        }
    }
    if (strchr(run->cwd, '*') != NULL || !arcp__utf8_is_valid(arcp_span_cstr(run->cwd))) {
        return "a lease cannot express its name";
    }
    return NULL;
}

static arcp_status add_cwd(grants *g, arcp_error *err)
{
    arcp__run *run = g->run;
    if (arcp__has(&run->program->arguments, ARCP__OPTION_RUN_LEASE) || g->has_cwd) {
        return ARCP_OK;
    }
    run->cwd_kept = reason_to_keep(run);
    if (run->cwd_kept != NULL) {
        return ARCP_OK;
    }
    const char *pattern = tree_of(g, run->cwd, err);
    if (pattern == NULL) {
        return err->status;
    }
    add(g, "fs.read", pattern);
    return ARCP_OK;
}

/* ---- the lease ---- */

static arcp_status parse(arcp__run *run, const grants *g, int64_t now_wall_ns, arcp_error *err)
{
    const arcp__lease_source source = {
        .lease = ARCP__OPTION_RUN_LEASE,
        .grant = ARCP__OPTION_RUN_GRANT,
        .budget = ARCP__OPTION_RUN_BUDGET,
        .expires_in = ARCP__OPTION_RUN_EXPIRES_IN,
        .expires_at = ARCP__OPTION_RUN_EXPIRES_AT,
        .grants = g->rows,
        .grant_count = g->count,
    };
    arcp_buf lease = arcp_buf_init();
    arcp_buf constraints = arcp_buf_init();
    arcp_status status = arcp__lease_request(&run->program->arguments, &source, now_wall_ns, &lease,
                                             &constraints, err);
    if (status == ARCP_OK) {
        status = arcp_lease_parse(lease.size == 0 ? ARCP_SPAN_LITERAL("{}") : arcp_buf_span(&lease),
                                  arcp_buf_span(&constraints), NULL, &run->lease, err);
        status = status == ARCP_E_INVALID_REQUEST ? ARCP_E_USAGE : status;
        err->status = status;
    }
    arcp_buf_fini(&lease);
    arcp_buf_fini(&constraints);
    return status;
}

arcp_status arcp__run_place(arcp__run *run, arcp_error *err)
{
    char here[PATH_MAX];
    if (getcwd(here, sizeof here) == NULL || here[0] != '/') {
        return arcp_error_set(err, ARCP_E_IO, "the current directory cannot be found: %s",
                              strerror(errno));
    }
    run->cwd = arcp__arena_copy(&run->arena, arcp_span_cstr(here)).data;
    run->home = arcp__run_home(&run->arena);
    run->account_home = arcp__run_account_home(&run->arena);
    return run->cwd != NULL && run->home != NULL && run->account_home != NULL
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

arcp_status arcp__run_lease(arcp__run *run, int64_t now_wall_ns, arcp_error *err)
{
    const arcp__arguments *arguments = &run->program->arguments;
    grants g = {.run = run};
    arcp_status status = arcp__run_place(run, err);
    if (status != ARCP_OK) {
        return status;
    }
    /* --read, --write (two each), --fetch, --model, --tool, and the current directory. */
    g.rows = arcp__alloc_array(
        arguments->counts[ARCP__OPTION_RUN_READ] + 2 * arguments->counts[ARCP__OPTION_RUN_WRITE] +
            arguments->counts[ARCP__OPTION_RUN_FETCH] + arguments->counts[ARCP__OPTION_RUN_MODEL] +
            arguments->counts[ARCP__OPTION_RUN_TOOL] + 1,
        sizeof *g.rows);
    if (g.rows == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    status = add_paths(&g, err);
    if (status == ARCP_OK) {
        status = add_cwd(&g, err);
    }
    if (status == ARCP_OK) {
        status = add_urls(&g, err);
        add_calls(&g);
    }
    if (status == ARCP_OK) {
        status = arcp__run_private_hosts(run, err);
    }
    if (status == ARCP_OK) {
        status = parse(run, &g, now_wall_ns, err);
    }
    arcp__free(g.rows);
    return status;
}
