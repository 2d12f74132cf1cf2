#include "arcp/arcpd_run.h"

#include "support/check.h"

#include <signal.h>

#include "arcp/temp_tree.h"

static const char *const foreign[] = {"ARCP_URL",        "ARCP_TOKEN",      "ARCP_CONTEXT",
                                      "STATE_DIRECTORY", "XDG_CONFIG_HOME", "NO_COLOR",
                                      "TRACEPARENT",     "TRACESTATE"};

void arcpd_run_begin(arcpd_run *run)
{
    char state[96];
    *run = (arcpd_run){.daemon = {.pid = 0}};
    for (size_t row = 0; row < sizeof foreign / sizeof foreign[0]; row++) {
        assert_int_equal(unsetenv(foreign[row]), 0);
    }
    temp_tree_make(run->directory, sizeof run->directory);
    (void)snprintf(state, sizeof state, "%s/state", run->directory);
    assert_int_equal(setenv("XDG_STATE_HOME", state, 1), 0);
    assert_int_equal(setenv("HOME", run->directory, 1), 0);
}

void arcpd_run_configure(const arcpd_run *run, const char *yaml)
{
    char path[96];
    (void)snprintf(path, sizeof path, "%s/arcpd.yaml", run->directory);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(yaml, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void arcpd_run_start(arcpd_run *run, unsigned port, const char *const *words)
{
    static const char program[] = ARCP_BINARY_DIR "/bin/arcpd";
    char config[96];
    char listen[64];
    const char *all[64] = {program, "--config", config, "--listen", listen};
    size_t count = 5;
    if (run->is_bare) {
        all[count++] = "--enforce";
        all[count++] = "off";
    }
    (void)snprintf(config, sizeof config, "%s/arcpd.yaml", run->directory);
    (void)snprintf(listen, sizeof listen, "ws://127.0.0.1:%u/arcp", port);
    for (; *words != NULL; words++) {
        assert_true(count < sizeof all / sizeof all[0] - 1);
        all[count++] = *words;
    }
    process_start(&run->daemon, all, NULL, NULL);
    process_await(&run->daemon, false, "\n");
    assert_int_equal(sscanf(run->daemon.out.data, "arcpd: ready %127s", run->url), 1);
    run->port = (unsigned short)strtoul(run->url + strlen("ws://127.0.0.1:"), NULL, 10);
}

int arcpd_run_stop(arcpd_run *run, int signal_number, int wanted)
{
    process_signal(&run->daemon, signal_number);
    const int exit_status = process_finish(&run->daemon);
    if (exit_status != wanted) {
        print_error("arcpd ended with %d:\n%.*s\n", exit_status, (int)run->daemon.err.size,
                    run->daemon.err.size ? run->daemon.err.data : "");
    }
    process_fini(&run->daemon);
    run->daemon = (process){.pid = 0};
    return exit_status;
}

int arcpd_run_end(arcpd_run *run)
{
    const bool well = run->daemon.pid == 0 || arcpd_run_stop(run, SIGTERM, 0) == 0;
    return temp_tree_remove(run->directory) == 0 && well ? 0 : -1;
}
