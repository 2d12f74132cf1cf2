#include "runtime/confined_fixture.h"

#include <stdlib.h>

runtime_rig rig;
arcp__sandbox_level level;
bool has_broker, makes_cgroups;
char data[256];

arcp_enforce_options confined_options(void)
{
    arcp_enforce_options enforce = arcp_enforce_options_init();
    enforce.sandbox = SANDBOX;
    return enforce;
}

static void look_at_host(void)
{
    arcp__sandbox_abilities abilities;
    sandbox_probe(&abilities);
    level = arcp__sandbox_level_of(&abilities);
    has_broker = arcp__sandbox_has_broker(&abilities);
}

void confined_needs_a_level(void)
{
    if (level == ARCP__SANDBOX_LEVEL_NONE) {
        print_message("this host cannot confine programs\n");
        skip();
    }
}

void confined_write_file(const char *name, const char *text)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", data, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void confined_start(const arcp_settings *settings, const arcp_enforce_options *enforce)
{
    arcp_runtime_options runtime = arcp_runtime_options_init();
    runtime_rig_begin(&rig);
    runtime.settings = settings;
    runtime.enforce = enforce;
    runtime.makes_cgroups = makes_cgroups;
    runtime_rig_open(&rig, &runtime);
}

int confined_set_up(void **state)
{
    (void)state;
    arcp_settings settings;
    const arcp_enforce_options enforce = confined_options();
    look_at_host();
    (void)snprintf(data, sizeof data, ARCP_BINARY_DIR "/confined-XXXXXX");
    assert_non_null(mkdtemp(data));
    confined_write_file("granted", "the data\n");
    confined_write_file("other", "a secret\n");
    arcp__settings_default(&settings);
    settings.jobs_cancel_grace_ms = 50;
    confined_start(&settings, &enforce);
    return 0;
}

int confined_tear_down(void **state)
{
    (void)state;
    runtime_rig_stop(&rig);
    makes_cgroups = false;
    remove_temporary(data);
    assert_false(has_children());
    return 0;
}

void confined_submit(const char *agent, const char *lease)
{
    char request[1024];
    char filled[900];
    char *to = filled;
    for (const char *at = lease; *at != '\0';) {
        if (strncmp(at, "%s", 2) == 0) {
            to += snprintf(to, (size_t)(filled + sizeof filled - to), "%s", data);
            at += 2;
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
    (void)snprintf(request, sizeof request, ",\"lease_request\":{%s}", filled);
    runtime_rig_submit(&rig, agent, request);
}
