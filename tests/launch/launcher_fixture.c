#include "launch/launcher_fixture.h"

#include <fcntl.h>
#include <unistd.h>

int fixture_set_up(void **state)
{
    static fixture f;
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "LANG=C", NULL};
    static const char *const describe[] = {PROBE, "describe", NULL};
    arcp_direct_launcher_options options = arcp_direct_launcher_options_init();
    f = (fixture){.spec = arcp_launch_spec_init()};
    options.helper = HELPER;
    f.spec.argv = describe;
    f.spec.env = environment;
    make_temporary(f.directory);
    f.descriptors = open_descriptors();
    *state = &f;
    return arcp_launcher_new_direct(&options, &f.launcher, &f.error) == ARCP_OK ? 0 : -1;
}

int fixture_tear_down(void **state)
{
    fixture *f = *state;
    arcp_launcher_free(f->launcher);
    arcp_buf_fini(&f->output);
    assert_int_equal(open_descriptors(), f->descriptors);
    assert_false(has_children());
    remove_temporary(f->directory);
    return 0;
}

void fixture_run(fixture *f)
{
    check_ok(run_program(f->launcher, &f->spec, &f->output, &f->end, &f->error), &f->error);
}

void fixture_run_shell(fixture *f, const char *script)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    f->spec.argv = argv;
    arcp_buf_clear(&f->output);
    fixture_run(f);
}

arcp_process *fixture_start(fixture *f, const char *const *argv)
{
    arcp_process *process = NULL;
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    f->spec.argv = argv;
    f->spec.stdin_fd = f->spec.stdout_fd = f->spec.stderr_fd = nothing;
    check_ok(f->launcher->ops->start(f->launcher, &f->spec, &process, &f->error), &f->error);
    (void)close(nothing);
    return process;
}

void fixture_check_line(const fixture *f, const char *prefix, const char *want)
{
    const char *found = line_after(&f->output, prefix);
    if (found == NULL || strcmp(found, want) != 0) {
        fail_msg("%s: got \"%s\", want \"%s\" in:\n%s", prefix, found, want, f->output.data);
    }
}
