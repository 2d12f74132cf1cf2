#include "arcp/run.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arcp/command.h"
#include "arcp/run_gateways.h"
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

arcp_status arcp__run_own(arcp__run *run, arcp_error *err)
{
    static const char *const system[] = {"/etc/arcp", "/var/lib/arcp"};
    arcp__own_paths_add(&run->own, run->cache, true);
    for (size_t i = 0; i < PLACES; i++) {
        const char *const paths[] = {place_of(&run->arena, i, run->home, false),
                                     place_of(&run->arena, i, run->account_home, false),
                                     place_of(&run->arena, i, run->home, true)};
        for (size_t j = 0; j < sizeof paths / sizeof paths[0]; j++) {
            if (paths[j] != NULL) {
                arcp__own_paths_add(&run->own, paths[j], true);
            }
        }
    }
    for (size_t i = 0; i < sizeof system / sizeof system[0]; i++) {
        arcp__own_paths_add(&run->own, system[i], true);
    }
    arcp__run_gateways_own(run);
    arcp__own_paths_set(&run->own, &run->request);
    return run->own.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

/* ---- the base ---- */

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
        if (!arcp__sandbox_reads_base(&run->request, run->base.paths[i])) {
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
    arcp__sandbox_request *request = &run->request;
    arcp__run_defaults(request);
    request->lease = run->lease;
    request->origin = ARCP__SANDBOX_ORIGIN_RUN;
    request->cwd = arcp_span_cstr(run->cwd);
    request->home = arcp_span_cstr(run->home);
    request->has_terminal =
        !arcp__has(arguments, ARCP__OPTION_RUN_NO_TTY) && isatty(STDIN_FILENO) != 0;
    if (arcp__run_own(run, err) != ARCP_OK ||
        arcp__run_tls(request, arcp__value(arguments, ARCP__OPTION_RUN_TLS), err) != ARCP_OK ||
        read_min(run, err) != ARCP_OK || read_protect(run, err) != ARCP_OK ||
        arcp__run_read_limits(run, err) != ARCP_OK ||
        arcp__seconds_option(arguments, ARCP__OPTION_RUN_MAX_RUNTIME, &run->max_runtime_sec, err) !=
            ARCP_OK) {
        return err->status;
    }
    return ARCP_OK;
}
