#include "sandbox_starts.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arcp/lease.h>

#include "launch/sandbox_etc.h"
#include "support/remove_tree.h"

#define HELPER ARCP_BINARY_DIR "/bin/arcp-sandbox"

static arcp_launcher *launcher;
static char directory[] = "/tmp/arcp-bench-XXXXXX";
static arcp_buf etc;
static arcp__sandbox_abilities found;

void must(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "bench of sandboxes: %s failed\n", what);
        exit(1);
    }
}

static arcp__sandbox_abilities probe(void)
{
    char text[4096];
    arcp_error error = {0};
    arcp__sandbox_abilities abilities = {{0}};
    FILE *pipe = popen(HELPER " --probe", "re"); /* NOLINT(cert-env33-c): a path of the build */
    must(pipe != NULL, "the probe");
    const size_t size = fread(text, 1, sizeof text, pipe);
    must(pclose(pipe) == 0 && arcp__sandbox_abilities_decode(arcp_span_make(text, size), &abilities,
                                                             &error) == ARCP_OK,
         "the probe");
    return abilities;
}

const arcp__sandbox_abilities *starts_begin(void)
{
    arcp_error error = {0};
    arcp_sandbox_launcher_options options = arcp_sandbox_launcher_options_init();
    found = probe();
    options.sandbox = HELPER;
    must(mkdtemp(directory) != NULL, "mkdtemp");
    must(arcp_launcher_new_sandbox(&options, &launcher, &error) == ARCP_OK, error.message);
    const arcp__sandbox_etc request = {
        .directory = directory, .uid = getuid(), .gid = getgid(), .home = "/home/agent"};
    must(arcp__sandbox_etc_prepare(&request, &etc, &error) == ARCP_OK, error.message);
    return &found;
}

void starts_end(void)
{
    must(remove_tree(directory) == 0, "removing the directory");
    arcp_buf_fini(&etc);
    arcp_launcher_free(launcher);
}

const char *starts_directory(void)
{
    return directory;
}

const char *starts_etc(void)
{
    return arcp_buf_cstr(&etc);
}

arcp_buf starts_plan(arcp__sandbox_level level, const char *pattern, bool is_silent)
{
    arcp_error error = {0};
    arcp_lease *lease = NULL;
    arcp__sandbox_plan *plan = NULL;
    arcp__sandbox_abilities abilities = found;
    arcp_buf text = arcp_buf_init();
    arcp_buf out = arcp_buf_init();
    if (level == ARCP__SANDBOX_LEVEL_LANDLOCK) {
        abilities.values[ARCP__SANDBOX_ABILITY_USERNS] = 0;
    }
    if (arcp__sandbox_level_of(&abilities) != level) {
        return out;
    }
    for (const char *at = pattern; *at != '\0'; at++) {
        if (*at == '@') {
            arcp_buf_append_cstr(&text, directory);
        } else {
            arcp_buf_append_byte(&text, *at);
        }
    }
    must(arcp_lease_parse(arcp_buf_span(&text), arcp_span_cstr(""), NULL, &lease, &error) ==
             ARCP_OK,
         error.message);
    const arcp__sandbox_request request = {
        .lease = lease,
        .origin = ARCP__SANDBOX_ORIGIN_JOB,
        .cwd = arcp_span_cstr(directory),
        .home = ARCP_SPAN_LITERAL("/home/agent"),
        .protect = ARCP__SANDBOX_PROTECT_COMMITS,
        .limits = {.scratch_bytes = 268435456, .pids = 512},
        .abilities = abilities,
        .min = ARCP__SANDBOX_VERDICT_UNDER,
        .is_silent = is_silent,
    };
    must(arcp__sandbox_plan_new(&request, &plan, &error) == ARCP_OK, error.message);
    arcp__sandbox_plan_encode(plan, &out);
    arcp__sandbox_plan_free(plan);
    arcp_lease_unref(lease);
    arcp_buf_fini(&text);
    return out;
}

started starts_start(const start_case *one, int out)
{
    static const char *const command[] = {"/bin/true", NULL};
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    static int null = -1;
    arcp_error error = {0};
    arcp_launch_spec spec = arcp_launch_spec_init();
    arcp_confinement confinement = arcp_confinement_init();
    started made = {.control = -1};
    int pair[2] = {-1, -1};
    if (null < 0) {
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
    }
    spec.argv = one->argv != NULL ? one->argv : command;
    spec.env = env;
    spec.cwd = directory;
    spec.stdin_fd = spec.stderr_fd = null;
    spec.stdout_fd = out < 0 ? null : out;
    if (one->plan.size != 0) {
        must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
        confinement.plan = arcp_buf_span(&one->plan);
        confinement.etc = arcp_buf_cstr(&etc);
        confinement.control_fd = pair[1];
        spec.confinement = &confinement;
        made.control = pair[0];
    }
    must(launcher->ops->start(launcher, &spec, &made.process, &error) == ARCP_OK, error.message);
    if (pair[1] >= 0) {
        (void)close(pair[1]);
    }
    return made;
}

void starts_forget(started *one)
{
    one->process->ops->free(one->process);
    if (one->control >= 0) {
        (void)close(one->control);
    }
}

void starts_wait(started *one, arcp_process_exit *end)
{
    arcp_process_exit ended = arcp_process_exit_init();
    struct pollfd waited = {.fd = one->process->exit_fd, .events = POLLIN};
    (void)poll(&waited, 1, -1);
    must(one->process->ops->take_exit(one->process, &ended) && !ended.by_signal && ended.code == 0,
         "the program");
    if (end != NULL) {
        *end = ended;
    }
    starts_forget(one);
}
