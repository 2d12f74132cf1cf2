#include "arcp/run.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arcp/command.h"
#include "base/digits.h"

#define SCRATCH_BYTES ((uint64_t)256 << 20)
#define PIDS          512

void arcp__run_defaults(arcp__sandbox_request *request)
{
    /* Their effects on files and network are bounded all the same. */
    static const arcp_span exempt[] = {
        {"tool.call", 9}, {"model.use", 9}, {"cost.budget", 11}, {"x-vendor.", 9}};
    request->exempt = exempt;
    request->exempt_count = sizeof exempt / sizeof exempt[0];
    request->min = ARCP__SANDBOX_VERDICT_UNDER;
    request->limits = (arcp__sandbox_limits){.scratch_bytes = SCRATCH_BYTES, .pids = PIDS};
}

/* ---- files of ARCP itself ---- */

typedef struct path_list {
    arcp__arena *arena;
    arcp_span *paths;
    size_t count;
    bool failed;
} path_list;

/* Adds a path and, when links lead to it, its other name. */
static void add_path(path_list *list, const char *path)
{
    char resolved[PATH_MAX];
    const char *const names[] = {path, realpath(path, resolved)};
    for (size_t i = 0; i < 2 && names[i] != NULL; i++) {
        size_t j = 0;
        while (j < list->count && !arcp_span_equal_cstr(list->paths[j], names[i])) {
            j++;
        }
        if (j == list->count) {
            list->paths[list->count] = arcp__arena_copy(list->arena, arcp_span_cstr(names[i]));
            list->failed = list->failed || list->paths[list->count].data == NULL;
            list->count++;
        }
    }
}

static const struct {
    const char *variable; /* names a directory */
    const char *below_home;
} places[] = {{"XDG_CACHE_HOME", "/.cache"},
              {"XDG_CONFIG_HOME", "/.config"},
              {"XDG_STATE_HOME", "/.local/state"}};
#define PLACES (sizeof places / sizeof places[0])

/* Our directory in one of the places, by its variable or below HOME. NULL: it is not set, or memory
 * ran out. */
static const char *place_of(arcp__arena *arena, size_t row, const char *home, bool by_variable)
{
    const char *given = getenv(places[row].variable);
    char path[PATH_MAX];
    if (by_variable && (given == NULL || given[0] != '/')) {
        return NULL;
    }
    (void)snprintf(path, sizeof path, "%s%s/arcp", by_variable ? given : home,
                   by_variable ? "" : places[row].below_home);
    return arcp__run_path(arena, "/", "", path, NULL);
}

const char *arcp__run_cache(arcp__arena *arena, const char *home)
{
    const char *path = place_of(arena, 0, home, true);
    return path != NULL ? path : place_of(arena, 0, home, false);
}

const arcp_span *arcp__run_own(arcp__run *run, size_t *count)
{
    static const char *const system[] = {"/etc/arcp", "/var/lib/arcp"};
    path_list list = {.arena = &run->arena};
    /* The cache, three for each place, two of the system; each has at most two names. */
    list.paths = arcp__arena_take(list.arena, 2 * (1 + 3 * PLACES + 2) * sizeof *list.paths);
    if (list.paths == NULL) {
        return NULL;
    }
    add_path(&list, run->cache);
    for (size_t i = 0; i < PLACES; i++) {
        const char *const paths[] = {place_of(list.arena, i, run->home, false),
                                     place_of(list.arena, i, run->account_home, false),
                                     place_of(list.arena, i, run->home, true)};
        for (size_t j = 0; j < sizeof paths / sizeof paths[0]; j++) {
            if (paths[j] != NULL) {
                add_path(&list, paths[j]);
            }
        }
    }
    for (size_t i = 0; i < sizeof system / sizeof system[0]; i++) {
        add_path(&list, system[i]);
    }
    *count = list.count;
    return list.failed ? NULL : list.paths;
}

/* ---- the base ---- */

/* Whether a tree of the lease's fs.read has the path already: then it can be executed there, and as
 * a base it would be read-only in a tree that may be written. Without namespaces a base takes
 * nothing from a tree, and the tree may be refused. */
static bool is_read(const arcp__run *run, const char *path)
{
    if (arcp__sandbox_level_of(&run->request.abilities) != ARCP__SANDBOX_LEVEL_FULL) {
        return false;
    }
    for (size_t i = 0; i < arcp_lease_capability_count(run->lease); i++) {
        if (!arcp_span_equal_cstr(arcp_lease_capability_name(run->lease, i), "fs.read")) {
            continue;
        }
        for (size_t j = 0; j < arcp_lease_pattern_count(run->lease, i); j++) {
            const arcp_span pattern = arcp_lease_pattern(run->lease, i, j);
            char tree[PATH_MAX];
            if (pattern.size < 3 || pattern.size >= sizeof tree ||
                memchr(pattern.data, '*', pattern.size) != pattern.data + pattern.size - 2 ||
                memcmp(pattern.data + pattern.size - 3, "/**", 3) != 0) {
                continue;
            }
            const size_t size = pattern.size == 3 ? 1 : pattern.size - 3;
            memcpy(tree, pattern.data, size);
            tree[size] = '\0';
            if (arcp__run_is_within(path, tree)) {
                return true;
            }
        }
    }
    return false;
}

arcp_status arcp__run_bases(arcp__run *run, arcp_error *err)
{
    const arcp__arguments *arguments = &run->program->arguments;
    const size_t given = arguments->counts[ARCP__OPTION_RUN_BASE];
    arcp_span *bases = arcp__arena_take(&run->arena, (run->base.count + given + 1) * sizeof *bases);
    size_t count = 0;
    if (bases == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < run->base.count; i++) {
        if (!is_read(run, run->base.paths[i])) {
            bases[count++] = arcp_span_cstr(run->base.paths[i]);
        }
    }
    for (size_t i = 0; i < given; i++) {
        const char *text = arguments->values[ARCP__OPTION_RUN_BASE][i];
        const char *path = arcp__run_path(&run->arena, run->cwd, "base", text, err);
        if (path == NULL) {
            return err->status;
        }
        if (access(path, F_OK) != 0) {
            return arcp_error_set(err, ARCP_E_USAGE, "--base %.200s: there is no such file", text);
        }
        bases[count++] = arcp_span_cstr(path);
    }
    run->request.bases = bases;
    run->request.base_count = count;
    return ARCP_OK;
}

/* ---- the rest ---- */

static arcp_status read_min(arcp__run *run, arcp_error *err)
{
    static const arcp__sandbox_verdict verdicts[] = {
        ARCP__SANDBOX_VERDICT_EXACT, ARCP__SANDBOX_VERDICT_UNDER, ARCP__SANDBOX_VERDICT_ADVISORY};
    const char *given = arcp__value(&run->program->arguments, ARCP__OPTION_RUN_MIN);
    for (size_t i = 0; given != NULL && i < sizeof verdicts / sizeof verdicts[0]; i++) {
        if (strcmp(arcp__sandbox_verdict_name(verdicts[i]), given) == 0) {
            run->request.min = verdicts[i];
            given = NULL;
        }
    }
    return given == NULL
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE,
                                "--min: '%.64s' is not one of exact, under, advisory", given);
}

arcp_status arcp__run_tls(arcp__sandbox_request *request, const char *given, arcp_error *err)
{
    request->tls_terminate = given != NULL && strcmp(given, "terminate") == 0;
    if (given != NULL && !request->tls_terminate && strcmp(given, "tunnel") != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "--tls: '%.64s' is not one of tunnel, terminate",
                              given);
    }
    return ARCP_OK;
}

static arcp_status read_protect(arcp__run *run, arcp_error *err)
{
    const arcp__arguments *arguments = &run->program->arguments;
    const char *given = arcp__value(arguments, ARCP__OPTION_RUN_PROTECT);
    const bool is_off = arcp__has(arguments, ARCP__OPTION_RUN_NO_PROTECT);
    run->request.protect = ARCP__SANDBOX_PROTECT_STRICT;
    if (given != NULL && is_off) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--protect and --no-protect cannot be given together");
    }
    if (is_off) {
        run->request.protect = ARCP__SANDBOX_PROTECT_NONE;
    } else if (given != NULL && strcmp(given, "commits") == 0) {
        run->request.protect = ARCP__SANDBOX_PROTECT_COMMITS;
    } else if (given != NULL && strcmp(given, "strict") != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "--protect: '%.64s' is not one of strict, commits",
                              given);
    }
    return ARCP_OK;
}

arcp_status arcp__run_request(arcp__run *run, arcp_error *err)
{
    const arcp__arguments *arguments = &run->program->arguments;
    const char *max_runtime = arcp__value(arguments, ARCP__OPTION_RUN_MAX_RUNTIME);
    arcp__sandbox_request *request = &run->request;
    arcp__run_defaults(request);
    request->lease = run->lease;
    request->origin = ARCP__SANDBOX_ORIGIN_RUN;
    request->cwd = arcp_span_cstr(run->cwd);
    request->home = arcp_span_cstr(run->home);
    request->own = arcp__run_own(run, &request->own_count);
    request->has_terminal =
        !arcp__has(arguments, ARCP__OPTION_RUN_NO_TTY) && isatty(STDIN_FILENO) != 0;
    if (request->own == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (arcp__run_tls(request, arcp__value(arguments, ARCP__OPTION_RUN_TLS), err) != ARCP_OK ||
        read_min(run, err) != ARCP_OK || read_protect(run, err) != ARCP_OK ||
        arcp__run_read_limits(run, err) != ARCP_OK ||
        (max_runtime != NULL &&
         arcp__seconds_parse("max-runtime", max_runtime, &run->max_runtime_sec, err) != ARCP_OK)) {
        return err->status;
    }
    return ARCP_OK;
}
