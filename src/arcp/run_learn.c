#include "arcp/run_learn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcp/command.h"
#include "base/alloc.h"
#include "base/directory.h"
#include "base/path.h"
#include "sandbox/sandbox_uses.h"

#include <arcp/lease_explain.h>

#define NAME_SHOWN_MAX 512
#define LINES_MAX      100

struct arcp__run_learn {
    arcp__sandbox_plan *bare; /* of the same command, with a lease that grants nothing */
    arcp__sandbox_uses *uses;
    arcp__sandbox_learn *learn;
    arcp_lease *all; /* the lease that the command has meanwhile */
    int file;        /* of --learn; -1: standard output */
    size_t lines;    /* printed */
};

/* ---- before the command ---- */

arcp_status arcp__run_learn_lease(arcp__run *run, arcp_error *err)
{
    const arcp__arguments *arguments = &run->program->arguments;
    if (arguments->is_lease_learn && arcp__has(arguments, ARCP__OPTION_RUN_LEARN)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--learn is an option of arcp run; arcp lease learn prints the "
                              "lease");
    }
    for (arcp__option i = 0; i < ARCP__OPTION_COUNT; i++) {
        if (arcp__options[i].command == ARCP__COMMAND_RUN && arcp__has(arguments, i) &&
            !arcp__option_is_for_learning(i)) {
            return arcp_error_set(err, ARCP_E_USAGE,
                                  "--%s cannot be given when a lease is learnt: the command is not "
                                  "confined",
                                  arcp__options[i].name);
        }
    }
    arcp_status status = arcp__run_place(run, err);
    if (status == ARCP_OK) {
        status = arcp__run_private_hosts(run, err);
    }
    return status == ARCP_OK ? arcp_lease_parse(ARCP_SPAN_LITERAL("{}"), (arcp_span){NULL, 0}, NULL,
                                                &run->lease, err)
                             : status;
}

/* Everything, with the ports that connections are seen on: those of --fetch, of the web, of ssh and
 * of git. */
static arcp_status make_all(arcp__run *run, arcp__run_learn *learn, arcp_error *err)
{
    const arcp__arguments *arguments = &run->program->arguments;
    arcp_lease_builder *builder = arcp_lease_builder_new();
    if (builder == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    arcp_lease_allow(builder, "fs.read", "/**");
    arcp_lease_allow(builder, "fs.write", "/**");
    arcp_lease_allow(builder, "net.fetch", "**");
    arcp_lease_allow(builder, "net.fetch", "ssh://*:22/**");
    arcp_lease_allow(builder, "net.fetch", "git://*:9418/**");
    for (size_t i = 0; i < arguments->counts[ARCP__OPTION_RUN_FETCH]; i++) {
        const char *pattern =
            arcp__run_fetch_pattern(&run->arena, arguments->values[ARCP__OPTION_RUN_FETCH][i], err);
        if (pattern == NULL) {
            arcp_lease_builder_free(builder);
            return err->status;
        }
        arcp_lease_allow(builder, "net.fetch", pattern);
    }
    return arcp_lease_build(builder, &learn->all, err);
}

/* The plan of the same command in a sandbox; where none can be made, on another host. */
static arcp_status make_bare(const arcp__run *run, arcp__run_learn *learn, arcp_error *err)
{
    arcp__sandbox_request request = run->request;
    if (arcp__sandbox_level_of(&request.abilities) == ARCP__SANDBOX_LEVEL_NONE) {
        const arcp_status status = arcp__abilities_of_level("full", &request.abilities, err);
        if (status != ARCP_OK) {
            return status;
        }
    }
    return arcp__sandbox_plan_new(&request, &learn->bare, err);
}

static arcp_status make_plan(arcp__run *run, arcp__run_learn *learn, arcp_error *err)
{
    arcp__sandbox_request request = run->request;
    arcp_status status = make_all(run, learn, err);
    if (status != ARCP_OK) {
        return status == ARCP_E_INVALID_REQUEST
                   ? arcp_error_set(err, ARCP_E_USAGE, "--fetch: %s", arcp_status_text(status))
                   : status;
    }
    request.lease = learn->all;
    request.origin = ARCP__SANDBOX_ORIGIN_LEARN;
    request.bases = NULL;
    request.own = request.own_files = NULL;
    request.base_count = request.own_count = request.own_file_count = 0;
    request.protect = ARCP__SANDBOX_PROTECT_NONE;
    request.min = ARCP__SANDBOX_VERDICT_ADVISORY;
    request.limits.pids = 0;
    return arcp__sandbox_plan_new(&request, &run->plan, err);
}

/* Whether files below the current directory are the user's own as a whole. */
static bool is_cwd_shared(const arcp__run *run)
{
    return arcp__path_is_within_cstr(run->home, run->cwd) ||
           arcp__path_is_within_cstr(run->account_home, run->cwd);
}

static arcp_status make_parts(const arcp__run *run, arcp__run_learn *learn, arcp_error *err)
{
    const arcp__sandbox_uses_options uses = {
        .plan = learn->bare, .cwd = arcp_span_cstr(run->cwd), .cwd_is_shared = is_cwd_shared(run)};
    const arcp__sandbox_learn_options options = {
        .home = arcp_span_cstr(run->home),
        .cwd = arcp_span_cstr(run->cwd),
        .is_exact = arcp__has(&run->program->arguments, ARCP__OPTION_RUN_EXACT)};
    const arcp_status status = arcp__sandbox_uses_new(&uses, &learn->uses, err);
    return status == ARCP_OK ? arcp__sandbox_learn_new(&options, &learn->learn, err) : status;
}

/* The file is written at the end: the command may read the lease that is there. */
static arcp_status open_file(const arcp__run *run, arcp__run_learn *learn, arcp_error *err)
{
    const char *path = arcp__value(&run->program->arguments, ARCP__OPTION_RUN_LEARN);
    if (path == NULL) {
        return ARCP_OK;
    }
    learn->file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644);
    return learn->file >= 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "--learn %.200s: %s", path, strerror(errno));
}

arcp_status arcp__run_learn_new(arcp__run *run, arcp_error *err)
{
    if (!arcp__sandbox_has_broker(&run->request.abilities) ||
        run->request.abilities.values[ARCP__SANDBOX_ABILITY_SECCOMP] == 0) {
        return arcp_error_set(err, ARCP_E_AGENT_NOT_AVAILABLE,
                              "this host cannot show what a command does: that needs seccomp user "
                              "notification (Linux 5.19) and process_vm_readv (see `arcp doctor`)");
    }
    arcp__run_learn *learn = arcp__alloc(sizeof *learn);
    if (learn == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    learn->file = -1;
    run->learn = learn;
    arcp_status status = open_file(run, learn, err);
    if (status == ARCP_OK) {
        status = make_bare(run, learn, err);
    }
    if (status == ARCP_OK) {
        status = make_parts(run, learn, err);
    }
    if (status == ARCP_OK) {
        status = make_plan(run, learn, err);
    }
    if (status == ARCP_OK) { /* of the network, too */
        arcp_lease_unref(run->lease);
        run->lease = arcp_lease_ref(learn->all);
    }
    return status;
}

void arcp__run_learn_free(arcp__run_learn *learn)
{
    if (learn == NULL) {
        return;
    }
    arcp__close(learn->file);
    arcp__sandbox_uses_free(learn->uses);
    arcp__sandbox_learn_free(learn->learn);
    arcp__sandbox_plan_free(learn->bare);
    arcp_lease_unref(learn->all);
    arcp__free(learn);
}

/* ---- while it runs ---- */

bool arcp__run_learn_record(arcp__run_learn *learn, arcp_span record)
{
    arcp_buf room[3] = {arcp_buf_init(), arcp_buf_init(), arcp_buf_init()};
    arcp__sandbox_seen seen;
    const bool is_seen = arcp__sandbox_seen_decode(record, room, &seen);
    if (is_seen) {
        arcp__sandbox_uses_add(learn->uses, &seen);
    }
    for (size_t i = 0; i < 3; i++) {
        arcp_buf_fini(&room[i]);
    }
    return is_seen;
}

void arcp__run_learn_url(arcp__run_learn *learn, arcp_span url, bool is_host)
{
    arcp_error err = {0};
    if (arcp__sandbox_learn_add(learn->learn, ARCP__CAPABILITY_NET_FETCH, url,
                                is_host ? ARCP__SANDBOX_LEARN_HOST : ARCP__SANDBOX_LEARN_ONE,
                                &err) != ARCP_OK) {
        const arcp__sandbox_seen seen = {.use = ARCP__SANDBOX_USE_UNKNOWN, .path = url};
        arcp__sandbox_uses_add(learn->uses, &seen);
    }
}

/* ---- after its end: the table ---- */

static void say(const arcp__run *run, const char *word, int color, arcp_span name, const char *why)
{
    arcp__program *program = run->program;
    const arcp__line_style style = arcp__program_style(program, 0);
    arcp_buf text = arcp_buf_init();
    arcp_buf line = arcp_buf_init();
    if (program->is_quiet || run->learn->lines++ >= LINES_MAX) {
        return;
    }
    arcp__append_safe(&text, name, NAME_SHOWN_MAX);
    arcp_buf_append_format(&text, "%s%s", why[0] == '\0' ? "" : ": ", why);
    arcp__plain_line(&style, word, color, arcp_buf_span(&text), &line);
    arcp__screen_line(&program->screen, arcp_buf_span(&line));
    arcp_buf_fini(&text);
    arcp_buf_fini(&line);
}

static const struct {
    const char *word;
    const char *why;
    bool is_missing; /* it is not in the lease */
} outcomes[ARCP__SANDBOX_OUTCOME_COUNT] = {
    [ARCP__SANDBOX_OUTCOME_READ] = {"read", "", false},
    [ARCP__SANDBOX_OUTCOME_WRITE] = {"write", "", false},
    [ARCP__SANDBOX_OUTCOME_BOTH] = {"both", "", false},
    [ARCP__SANDBOX_OUTCOME_PRIVATE] =
        {"private", "made where a sandbox has a directory of its own, which ends with it", true},
    [ARCP__SANDBOX_OUTCOME_OWN] = {"never", "a file of ARCP itself, which no lease grants", true},
    [ARCP__SANDBOX_OUTCOME_UNNAMED] = {"left out", "no pattern is this name alone", true},
    [ARCP__SANDBOX_OUTCOME_PORT] =
        {"left out", "a connection to this port was refused; --fetch SCHEME://HOST:PORT opens it",
         true},
    [ARCP__SANDBOX_OUTCOME_LOOKED_AT] = {"looked", "", false},
};

/* First what is missing in the lease. */
static void say_missing(void *user, arcp_span name, arcp__sandbox_outcome outcome)
{
    if (outcomes[outcome].is_missing) {
        say(user, outcomes[outcome].word, ARCP__COLOR_YELLOW, name, outcomes[outcome].why);
    }
}

static void say_used(void *user, arcp_span name, arcp__sandbox_outcome outcome)
{
    if (outcomes[outcome].word != NULL && !outcomes[outcome].is_missing &&
        outcome != ARCP__SANDBOX_OUTCOME_LOOKED_AT) {
        say(user, outcomes[outcome].word, 0, name, "");
    }
}

static void say_all(arcp__run *run)
{
    const arcp__run_learn *learn = run->learn;
    const uint64_t lost = arcp__sandbox_uses_lost(learn->uses);
    arcp__sandbox_uses_each(learn->uses, say_missing, run);
    arcp__sandbox_uses_each(learn->uses, say_used, run);
    if (learn->lines > LINES_MAX && !run->program->is_quiet) {
        arcp__program_say(run->program, "%zu more names were used", learn->lines - LINES_MAX);
    }
    if (lost != 0) {
        arcp__program_say(run->program,
                          "the command used too many names; %llu uses were not written "
                          "down, and the lease lacks them",
                          (unsigned long long)lost);
    }
    if (run->plan->port_count == 0) {
        arcp__program_say(run->program, "this host has no network namespaces, so the lease "
                                        "has no net.fetch (see `arcp doctor`)");
    }
}

/* ---- after its end: the lease ---- */

/* A pattern a line, for people. */
static void write_lines(const arcp_lease *lease, arcp_buf *out)
{
    arcp_buf_append_cstr(out, "{");
    for (size_t i = 0; i < arcp_lease_capability_count(lease); i++) {
        arcp_buf_append_cstr(out, i == 0 ? "\n  " : ",\n  ");
        arcp_json_quote(arcp_lease_capability_name(lease, i), out);
        arcp_buf_append_cstr(out, ": [");
        for (size_t j = 0; j < arcp_lease_pattern_count(lease, i); j++) {
            arcp_buf_append_cstr(out, j == 0 ? "\n    " : ",\n    ");
            arcp_json_quote(arcp_lease_pattern(lease, i, j), out);
        }
        arcp_buf_append_cstr(out, "\n  ]");
    }
    arcp_buf_append_cstr(out, arcp_lease_capability_count(lease) == 0 ? "}\n" : "\n}\n");
}

static bool is_there(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0;
}

/* No pattern may grant nothing. */
static arcp_status check_lint(const arcp_lease *lease, arcp_error *err)
{
    arcp_buf lint = arcp_buf_init();
    (void)arcp_lease_lint(lease, (arcp_time){0}, false, &lint);
    const char *text = arcp_buf_cstr(&lint);
    const bool is_dead =
        text != NULL && (strncmp(text, "dead:", 5) == 0 || strstr(text, "\ndead:") != NULL);
    arcp_buf_fini(&lint);
    return is_dead ? arcp_error_set(err, ARCP_E_INTERNAL_ERROR,
                                    "a pattern of the lease that was learnt grants nothing")
                   : ARCP_OK;
}

/* `is_json`: the lease is on one line. */
static arcp_status make_lease(arcp__run_learn *learn, bool is_json, arcp_buf *out, size_t *patterns,
                              arcp_error *err)
{
    arcp_lease *lease = NULL;
    arcp_status status = arcp__sandbox_uses_finish(learn->uses, is_there, learn->learn, err);
    if (status == ARCP_OK) {
        status = arcp__sandbox_learn_lease(learn->learn, &lease, err);
    }
    if (status == ARCP_OK) {
        status = check_lint(lease, err);
    }
    if (status == ARCP_OK) {
        for (size_t i = 0; i < arcp_lease_capability_count(lease); i++) {
            *patterns += arcp_lease_pattern_count(lease, i);
        }
        if (is_json) {
            arcp_lease_format(lease, out);
            arcp_buf_append_byte(out, '\n');
        } else {
            write_lines(lease, out);
        }
        status = arcp_buf_status(out);
    }
    arcp_lease_unref(lease);
    return status;
}

/* Replaces the file by the text. */
static bool write_file(const arcp__run *run, arcp_span text)
{
    if (ftruncate(run->learn->file, 0) == 0 && arcp__write_all(run->learn->file, text)) {
        return true;
    }
    arcp__program_say(run->program, "--learn: %s", strerror(errno));
    return false;
}

bool arcp__run_learn_end(arcp__run *run, bool has_failed)
{
    arcp__program *program = run->program;
    arcp_buf text = arcp_buf_init();
    arcp_error err = {0};
    size_t patterns = 0;
    bool is_written = false;
    const bool is_json = program->is_json && run->learn->file < 0;
    if (make_lease(run->learn, is_json, &text, &patterns, &err) != ARCP_OK) {
        arcp__program_say(program, "no lease was learnt: %s",
                          err.message[0] == '\0' ? arcp_status_text(err.status) : err.message);
        arcp_buf_fini(&text);
        return false;
    }
    say_all(run);
    if (has_failed) {
        arcp__program_say(program, "the command failed: the lease has what it used until then");
    }
    if (!program->is_quiet) {
        arcp__program_say(program, "the lease has %zu pattern%s; read it before you use it",
                          patterns, patterns == 1 ? "" : "s");
    }
    if (run->learn->file >= 0) {
        is_written = write_file(run, arcp_buf_span(&text));
        arcp_buf_fini(&text);
    } else {
        is_written = arcp__program_print_buf(program, &text);
    }
    return is_written;
}
