#include "launch/sandbox_fixture.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

bool sandbox_use_user(const char *user)
{
    if (strcmp(user, "nobody") != 0 || geteuid() != 0) {
        return strcmp(user, "nobody") == 0 || geteuid() == 0;
    }
    return setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 &&
           setresuid(65534, 65534, 65534) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

const arcp__sandbox_abilities *sandbox_abilities(void)
{
    static arcp__sandbox_abilities abilities;
    static bool is_probed;
    if (is_probed) {
        return &abilities;
    }
    sandbox_probe(&abilities);
    is_probed = true;
    return &abilities;
}

void sandbox_needs(arcp__sandbox_level level)
{
    const arcp__sandbox_level has = arcp__sandbox_level_of(sandbox_abilities());
    if (has < level) {
        (void)fprintf(stderr, "NOT RUN: this host's level is %s, the test needs %s\n",
                      arcp__sandbox_level_name(has), arcp__sandbox_level_name(level));
        skip();
    }
}

/* ---- the plan ---- */

static const char *keep(sandbox_fixture *f, const char *text)
{
    assert_true(f->text_count < sizeof f->texts / sizeof f->texts[0]);
    char *kept = f->texts[f->text_count++];
    assert_true(snprintf(kept, sizeof f->texts[0], "%s", text) < (int)sizeof f->texts[0]);
    return kept;
}

const char *sandbox_path(sandbox_fixture *f, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", f->directory, name);
    return keep(f, path);
}

void sandbox_mount(sandbox_fixture *f, arcp__sandbox_mount_kind kind, const char *source,
                   const char *target, bool is_writable)
{
    assert_true(f->plan.mount_count < sizeof f->mounts / sizeof f->mounts[0]);
    f->mounts[f->plan.mount_count++] =
        (arcp__sandbox_mount){.kind = kind,
                              .source = arcp_span_cstr(source == NULL ? "" : keep(f, source)),
                              .target = arcp_span_cstr(keep(f, target)),
                              .is_writable = is_writable};
}

static void add_rule(sandbox_fixture *f, const char *path, bool is_writable, bool is_file,
                     arcp__sandbox_class class)
{
    const uint32_t execute = class == ARCP__SANDBOX_CLASS_SYSTEM ? 0 : ARCP__SANDBOX_EXECUTE;
    const uint32_t write = is_writable ? ARCP__SANDBOX_WRITE : 0;
    assert_true(f->plan.rule_count < sizeof f->rules / sizeof f->rules[0]);
    f->rules[f->plan.rule_count++] = (arcp__sandbox_rule){
        .path = arcp_span_cstr(keep(f, path)),
        .rights = ARCP__SANDBOX_READ | execute | write,
        .is_file = is_file,
        .class = class,
    };
}

void sandbox_grant(sandbox_fixture *f, arcp__sandbox_mount_kind kind, const char *path,
                   bool is_writable)
{
    sandbox_mount(f, kind, path, path, is_writable);
    add_rule(f, path, is_writable, kind == ARCP__SANDBOX_MOUNT_FILE, ARCP__SANDBOX_CLASS_LEASE);
}

static void make_plan(sandbox_fixture *f)
{
    static const char *const bases[] = {"/bin", "/lib", "/lib64", "/sbin", "/usr"};
    static const char *const private[] = {"/dev/shm", "/home/agent", "/tmp"};
    f->plan = (arcp__sandbox_plan){
        .origin = ARCP__SANDBOX_ORIGIN_JOB,
        .level = arcp__sandbox_level_of(sandbox_abilities()),
        .abilities = *sandbox_abilities(),
        .min = ARCP__SANDBOX_VERDICT_UNDER,
        .mounts = f->mounts,
        .rules = f->rules,
        .cwd = arcp_span_cstr(f->tree),
        .home = ARCP_SPAN_LITERAL("/home/agent"),
        .tmp = ARCP_SPAN_LITERAL("/tmp"),
        .protect = ARCP__SANDBOX_PROTECT_COMMITS,
        .limits = {.scratch_bytes = 1u << 20, .pids = 64},
    };
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        sandbox_mount(f, ARCP__SANDBOX_MOUNT_BASE, bases[i], bases[i], false);
        add_rule(f, bases[i], false, false, ARCP__SANDBOX_CLASS_BASE);
    }
    /* At level landlock these would be the host's. */
    const bool is_full = f->plan.level == ARCP__SANDBOX_LEVEL_FULL;
    for (size_t i = 0; is_full && i < sizeof private / sizeof *private; i++) {
        sandbox_mount(f, ARCP__SANDBOX_MOUNT_PRIVATE, NULL, private[i], true);
        add_rule(f, private[i], true, false, ARCP__SANDBOX_CLASS_PRIVATE);
    }
    add_rule(f, "/dev", true, false, ARCP__SANDBOX_CLASS_SYSTEM);
    add_rule(f, "/proc", false, false, ARCP__SANDBOX_CLASS_SYSTEM);
    sandbox_grant(f, ARCP__SANDBOX_MOUNT_TREE, f->tree, true);
}

int sandbox_set_up(void **state)
{
    static sandbox_fixture f;
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "HOME=/home/agent", "LANG=C",
                                              NULL};
    arcp_sandbox_launcher_options options = arcp_sandbox_launcher_options_init();
    f = (sandbox_fixture){.spec = arcp_launch_spec_init(), .confinement = arcp_confinement_init()};
    options.sandbox = SANDBOX;
    options.agent_exec = HELPER;
    make_temporary(f.directory);
    (void)snprintf(f.tree, sizeof f.tree, "%s/tree", f.directory);
    assert_int_equal(chmod(f.directory, 0755), 0);
    assert_int_equal(mkdir(f.tree, 0755), 0);
    (void)sandbox_abilities();
    make_plan(&f);
    f.spec.env = environment;
    f.descriptors = open_descriptors();
    *state = &f;
    return arcp_launcher_new_sandbox(&options, &f.launcher, &f.error) == ARCP_OK ? 0 : -1;
}

int sandbox_tear_down(void **state)
{
    sandbox_fixture *f = *state;
    arcp_launcher_free(f->launcher);
    arcp_buf_fini(&f->output);
    arcp_buf_fini(&f->records);
    assert_int_equal(open_descriptors(), f->descriptors);
    assert_false(has_children());
    remove_temporary(f->directory);
    return 0;
}

/* Parents first: a slash comes before all other bytes. */
static int compare_paths(arcp_span a, arcp_span b)
{
    const size_t shared = a.size < b.size ? a.size : b.size;
    size_t i = 0;
    while (i < shared && a.data[i] == b.data[i]) {
        i++;
    }
    if (i == shared) {
        return a.size == b.size ? 0 : a.size < b.size ? -1 : 1;
    }
    return (a.data[i] == '/' ? 0 : (unsigned char)a.data[i]) -
           (b.data[i] == '/' ? 0 : (unsigned char)b.data[i]);
}

static int compare_mounts(const void *left, const void *right)
{
    const arcp__sandbox_mount *a = left;
    const arcp__sandbox_mount *b = right;
    const int order = compare_paths(a->target, b->target);
    return order != 0 ? order : (int)a->kind - (int)b->kind;
}

static int compare_rules(const void *left, const void *right)
{
    const arcp__sandbox_rule *a = left;
    const arcp__sandbox_rule *b = right;
    return compare_paths(a->path, b->path);
}

/* ---- running ---- */

arcp_process *sandbox_start_on(sandbox_fixture *f, const char *const *argv, int control)
{
    arcp_process *process = NULL;
    arcp_buf text = arcp_buf_init();
    qsort(f->mounts, f->plan.mount_count, sizeof *f->mounts, compare_mounts);
    qsort(f->rules, f->plan.rule_count, sizeof *f->rules, compare_rules);
    arcp__sandbox_plan_encode(&f->plan, &text);
    assert_int_equal(arcp_buf_status(&text), ARCP_OK);
    f->confinement.plan = arcp_buf_span(&text);
    f->confinement.control_fd = control;
    f->spec.confinement = &f->confinement;
    f->spec.argv = argv;
    check_ok(f->launcher->ops->start(f->launcher, &f->spec, &process, &f->error), &f->error);
    arcp_buf_fini(&text);
    return process;
}

arcp_process *sandbox_start(sandbox_fixture *f, const char *const *argv, int *control)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    arcp_process *process = sandbox_start_on(f, argv, pair[1]);
    (void)close(pair[1]);
    *control = pair[0];
    return process;
}

static void read_records(sandbox_fixture *f, int control)
{
    static char record[65536];
    ssize_t size;
    while ((size = recv(control, record, sizeof record, 0)) > 0) {
        arcp_buf_append(&f->records, arcp_span_make(record, (size_t)size));
        arcp_buf_append_byte(&f->records, '\n');
    }
    arcp_buf_append_byte(&f->records, '\0');
}

void sandbox_run(sandbox_fixture *f, const char *script)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    const bool has_stdin = f->spec.stdin_fd >= 0;
    int out[2];
    int control = -1;
    arcp_buf_clear(&f->output);
    arcp_buf_clear(&f->records);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    if (!has_stdin) {
        f->spec.stdin_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    f->spec.stdout_fd = out[1];
    f->spec.stderr_fd = out[1];
    arcp_process *process = sandbox_start(f, argv, &control);
    (void)close(out[1]);
    if (!has_stdin) {
        (void)close(f->spec.stdin_fd);
        f->spec.stdin_fd = -1;
    }
    read_all(out[0], &f->output);
    arcp_buf_append_byte(&f->output, '\0');
    read_records(f, control);
    (void)close(out[0]);
    (void)close(control);
    wait_for_exit(process);
    f->end = arcp_process_exit_init();
    assert_true(process->ops->take_exit(process, &f->end));
    process->ops->free(process);
}

void sandbox_expect(sandbox_fixture *f, const char *script, int code)
{
    sandbox_run(f, script);
    if (!f->end.is_known || f->end.by_signal || f->end.code != code) {
        fail_msg("%s: %s %d, want %d\n%s%s", script, f->end.by_signal ? "signal" : "status",
                 f->end.code, code, f->output.data, f->records.data);
    }
}

void sandbox_check_output(const sandbox_fixture *f, const char *want)
{
    if (strcmp(f->output.data, want) != 0) {
        fail_msg("got \"%s\", want \"%s\"", f->output.data, want);
    }
}

void sandbox_refuses(sandbox_fixture *f, const char *step)
{
    char want[64];
    sandbox_expect(f, "echo escaped", 125);
    (void)snprintf(want, sizeof want, "{\"failed\":\"%s\"", step);
    if (strstr(f->records.data, want) == NULL || strstr(f->output.data, "escaped") != NULL) {
        fail_msg("want a failure of %s, got %s%s", step, f->records.data, f->output.data);
    }
}

void sandbox_outside(const char *format, ...)
{
    char command[2048];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    run_shell(command);
}
