/* `arcp run`: starts a command in a sandbox made from a lease, without a runtime. Whatever cannot
 * be set up ends with 125; the command never runs unconfined. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcp/command.h"
#include "arcp/run.h"
#include "arcp/run_gateways.h"
#include "arcp/run_learn.h"
#include "launch/sandbox_etc.h"
#include "process/process.h"
#include "stream/tls_ca.h"

/* Prints the error; returns the exit status for a run that did not begin. */
static int refuse(arcp__program *program, const arcp_error *err, int exit_status)
{
    if (exit_status == ARCP__EXIT_USAGE) {
        return arcp__program_usage(program, err);
    }
    arcp__program_print_error(program, err);
    arcp__program_say(program, "%s", err->message);
    return exit_status;
}

/* Only the command line is at fault for usage; all else is that the sandbox cannot be made. */
static int exit_of_refusal(arcp_status status)
{
    return status == ARCP_E_USAGE ? ARCP__EXIT_USAGE : ARCP__EXIT_NOT_CONFINED;
}

/* ---- directories of ours on the host ---- */

/* Where the /etc of sandboxes is prepared: in the user's cache, or, for a user who can have none,
 * for this run only. */
static arcp_status find_cache(arcp__run *run, arcp_error *err)
{
    run->cache = arcp__run_cache(&run->arena, run->home);
    if (run->cache != NULL && !arcp__make_directories(run->cache)) {
        run->cache = arcp__run_temporary(run, err);
        return run->cache == NULL ? err->status : ARCP_OK;
    }
    return run->cache == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

/* At level landlock HOME and /tmp of the command are directories of the host. */
static arcp_status make_scratch(arcp__run *run, arcp_error *err)
{
    static const char *const names[] = {"home", "tmp"};
    char below[PATH_MAX + 8];
    if (arcp__sandbox_level_of(&run->request.abilities) != ARCP__SANDBOX_LEVEL_LANDLOCK) {
        return ARCP_OK;
    }
    const char *path = arcp__run_temporary(run, err);
    for (size_t i = 0; i < 2 && path != NULL; i++) {
        (void)snprintf(below, sizeof below, "%s/%s", path, names[i]);
        if (mkdir(below, 0700) != 0) {
            return arcp_error_set(err, ARCP_E_IO, "%.200s cannot be made: %s", below,
                                  strerror(errno));
        }
    }
    run->request.scratch = arcp_span_cstr(path);
    return path == NULL ? err->status : ARCP_OK;
}

/* The directory that is /etc inside, when the plan has one. */
static arcp_status prepare_etc(arcp__run *run, arcp_error *err)
{
    const arcp__sandbox_plan *plan = run->plan;
    const arcp__sandbox_etc etc = {.directory = run->cache,
                                   .uid = geteuid(),
                                   .gid = getegid(),
                                   .home = plan->home.data,
                                   .ca_link =
                                       arcp__sandbox_terminates(plan) ? ARCP__TLS_CA_LINK : NULL};
    if (!arcp__sandbox_needs_etc(plan)) {
        return ARCP_OK;
    }
    const arcp_status status = arcp__sandbox_etc_prepare(&etc, &run->etc, err);
    return status != ARCP_OK || arcp_buf_cstr(&run->etc) != NULL
               ? status
               : arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}

/* ---- preparing ---- */

/* What the command line says, and the program of the command. Returns 0, or the exit status. */
static int read_command_line(arcp__run *run, arcp_error *err)
{
    const int64_t now_wall_ns = arcp__now_wall_ns();
    arcp_status status =
        run->is_learning ? arcp__run_learn_lease(run, err) : arcp__run_lease(run, now_wall_ns, err);
    if (status != ARCP_OK) {
        return exit_of_refusal(status);
    }
    if (arcp_lease_expires_wall_ns(run->lease) <= now_wall_ns) {
        (void)arcp_error_set(err, ARCP_E_LEASE_EXPIRED, "the lease has expired");
        return ARCP__EXIT_DENIED;
    }
    const arcp__command_base_query query = {
        .argv = run->program->arguments.words,
        .path = getenv("PATH"),
        .home = run->home,
    };
    status = arcp__command_base_find(&query, &run->base, err);
    if (status != ARCP_OK) {
        return status == ARCP_E_NOT_FOUND ? ARCP__EXIT_NO_PROGRAM
               : status == ARCP_E_USAGE   ? ARCP__EXIT_NOT_EXECUTABLE
                                          : ARCP__EXIT_NOT_CONFINED;
    }
    if (find_cache(run, err) != ARCP_OK) {
        return ARCP__EXIT_NOT_CONFINED;
    }
    status = arcp__run_gateways_read(run, err);
    if (status == ARCP_OK) {
        status = arcp__run_request(run, err);
    }
    return status == ARCP_OK ? 0 : exit_of_refusal(status);
}

/* Returns 0, or the exit status for a plan that must not be started. */
static int check_plan(const arcp__sandbox_plan *plan, arcp_error *err)
{
    switch (plan->refusal) {
    case ARCP__SANDBOX_REFUSAL_NONE:
        return 0;
    case ARCP__SANDBOX_REFUSAL_LEVEL:
        (void)arcp_error_set(err, ARCP_E_AGENT_NOT_AVAILABLE,
                             "this host cannot confine a command (see `arcp doctor`)");
        return ARCP__EXIT_NOT_CONFINED;
    case ARCP__SANDBOX_REFUSAL_LINE:
    case ARCP__SANDBOX_REFUSAL_COUNT:
        break;
    }
    const arcp__sandbox_line *line = &plan->lines[plan->refused_line];
    arcp_buf text = arcp_buf_init();
    arcp__append_safe(&text, line->capability, 64);
    arcp_buf_append_byte(&text, ' ');
    arcp__append_safe(&text, line->pattern, 200);
    arcp_buf_append_format(&text, " is %s: %s; --min %s does not accept that",
                           arcp__sandbox_verdict_name(line->verdict),
                           arcp__sandbox_note_text(line->note),
                           arcp__sandbox_verdict_name(plan->min));
    (void)arcp_error_set(err, ARCP_E_PERMISSION_DENIED, "%.*s", (int)text.size,
                         text.size == 0 ? "" : text.data);
    arcp_buf_fini(&text);
    return ARCP__EXIT_DENIED;
}

/* What the host can do, the plan, and what it needs of the host. Returns 0, or the exit status. */
static int make_plan(arcp__run *run, arcp_error *err)
{
    if (arcp__abilities_find(&run->request.abilities, err) != ARCP_OK ||
        (!run->is_learning && make_scratch(run, err) != ARCP_OK)) {
        return ARCP__EXIT_NOT_CONFINED;
    }
    arcp__run_find_cgroups(run);
    arcp_status status = arcp__run_bases(run, err);
    if (status == ARCP_OK) {
        status = arcp__run_gateways_make(run, err);
    }
    if (status != ARCP_OK) {
        return exit_of_refusal(status);
    }
    status = run->is_learning ? arcp__run_learn_new(run, err)
                              : arcp__sandbox_plan_new(&run->request, &run->plan, err);
    if (status != ARCP_OK) {
        return exit_of_refusal(status);
    }
    const int refused = check_plan(run->plan, err);
    if (refused != 0) {
        return refused;
    }
    if (arcp__sandbox_make_own(run->plan, err) != ARCP_OK || prepare_etc(run, err) != ARCP_OK) {
        return ARCP__EXIT_NOT_CONFINED;
    }
    return arcp__run_environment(run, err) == ARCP_OK ? 0 : exit_of_refusal(err->status);
}

/* ---- running ---- */

static int exit_of(const arcp__run_result *result)
{
    switch (result->end) {
    case ARCP__RUN_EXITED:
    case ARCP__RUN_NOT_STARTED:
        return result->code;
    case ARCP__RUN_SIGNALLED:
        return 128 + result->code;
    case ARCP__RUN_EXPIRED:
        return ARCP__EXIT_DENIED;
    case ARCP__RUN_TIMED_OUT:
        break;
    }
    return ARCP__EXIT_TIMED_OUT;
}

/* Says what the reader may not expect. */
static void say_first(arcp__run *run, arcp__run_report *report)
{
    arcp__program *program = run->program;
    if (run->is_learning) {
        /* Also with --quiet: the command must not be taken for a confined one. */
        arcp__program_say(program, "learning: nothing is confined; what the "
                                   "command does is allowed, and written down");
        return;
    }
    if (run->cwd_kept != NULL && !program->is_quiet) {
        arcp__program_say(program,
                          "the current directory is not read, because %s; --read . "
                          "grants it",
                          run->cwd_kept);
    }
    if (run->plan->level == ARCP__SANDBOX_LEVEL_LANDLOCK && !program->is_quiet) {
        arcp__program_say(program, "level landlock: names and sizes of all files can be seen "
                                   "(see `arcp doctor`)");
    }
    arcp__run_report_plan(report);
}

static int execute(arcp__run *run, bool *is_busy)
{
    arcp__program *program = run->program;
    arcp__run_report report;
    arcp__run_result result = {0};
    arcp_error err = {0};
    if (arcp__run_report_open(&report, run, &err) != ARCP_OK) {
        return refuse(program, &err, ARCP__EXIT_USAGE);
    }
    say_first(run, &report);
    int exit_status = ARCP__EXIT_NOT_CONFINED;
    if (arcp__run_process(run, &report, &result, &err) == ARCP_OK) {
        arcp__run_report_end(&report, &result);
        exit_status = exit_of(&result);
        if (run->is_learning && result.end != ARCP__RUN_NOT_STARTED &&
            !arcp__run_learn_end(run, exit_status != 0)) {
            exit_status = ARCP__EXIT_ERROR;
        }
        *is_busy = result.is_busy;
    } else {
        exit_status = refuse(program, &err, ARCP__EXIT_NOT_CONFINED);
    }
    arcp__run_report_close(&report);
    return exit_status;
}

int arcp__command_run(arcp__program *program)
{
    arcp__run run = {.program = program};
    arcp_error err = {0};
    bool is_busy = false;
    if (getenv(ARCP__SANDBOX_MARK) != NULL) {
        (void)arcp_error_set(&err, ARCP_E_IO,
                             "this is a sandbox already, and a sandbox cannot make another");
        return refuse(program, &err, ARCP__EXIT_NOT_CONFINED);
    }
    run.is_learning =
        program->arguments.is_lease_learn || arcp__has(&program->arguments, ARCP__OPTION_RUN_LEARN);
    if (arcp__has(&program->arguments, ARCP__OPTION_RUN_EXACT) && !run.is_learning) {
        (void)arcp_error_set(&err, ARCP_E_USAGE, "--exact is for --learn");
        return refuse(program, &err, ARCP__EXIT_USAGE);
    }
    if (!arcp__program_open_descriptors()) {
        return ARCP__EXIT_NOT_CONFINED;
    }
    int exit_status = read_command_line(&run, &err);
    if (exit_status == 0) {
        exit_status = make_plan(&run, &err);
    }
    exit_status = exit_status == 0 ? execute(&run, &is_busy) : refuse(program, &err, exit_status);
    for (size_t i = 0; i < ARCP__RUN_TEMPORARY_MAX && run.temporary[i] != NULL; i++) {
        arcp__directory_remove(run.temporary[i]);
    }
    arcp__cgroups_close(run.cgroups);
    arcp_buf_fini(&run.etc);
    arcp__run_learn_free(run.learn);
    arcp__run_gateways_free(&run);
    arcp__sandbox_plan_free(run.plan);
    arcp__own_paths_fini(&run.own);
    arcp__command_base_fini(&run.base);
    arcp_lease_unref(run.lease);
    arcp__arena_fini(&run.arena);
    if (is_busy) {
        _exit(exit_status);
    }
    return exit_status;
}
