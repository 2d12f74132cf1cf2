#include "process/process_rig.h"

#include <stdio.h>
#include <unistd.h>

#include <utlist.h>

#include "process/process_state.h"

#define PATIENCE_MS 60000

static void on_watchdog(uv_timer_t *timer)
{
    process_rig *rig = timer->data;
    rig->late = true;
}

void process_rig_start(process_rig *rig, uint32_t kill_after_ms, uint32_t drain_ms)
{
    static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    static const char *const argv[] = {"/bin/true", NULL};
    arcp__process_table_options options = {
        .kill_after_ms = kill_after_ms, .drain_ms = drain_ms, .orphan_ms = 50};
    uv_loop_t first; /* libuv opens what all loops share with the first one */
    assert_int_equal(uv_loop_init(&first), 0);
    assert_int_equal(uv_loop_close(&first), 0);
    *rig = (process_rig){.descriptors = open_descriptors()};
    rig->spec.argv = argv;
    rig->spec.env = environment;
    rig->spec.line_bytes_max = 4096;
    make_temporary(rig->base);
    assert_int_equal(uv_loop_init(&rig->loop), 0);
    (void)uv_timer_init(&rig->loop, &rig->watchdog);
    uv_unref((uv_handle_t *)&rig->watchdog);
    rig->watchdog.data = rig;
    arcp_sandbox_launcher_options launcher = arcp_sandbox_launcher_options_init();
    launcher.sandbox = ARCP_BINARY_DIR "/bin/arcp-sandbox";
    check_ok(arcp_launcher_new_sandbox(&launcher, &options.launcher, &rig->error), &rig->error);
    options.loop = &rig->loop;
    options.work_directory = rig->base;
    check_ok(arcp__process_table_new(&options, &rig->table, &rig->error), &rig->error);
    rig->run = arcp__process_table_directory(rig->table);
}

size_t process_rig_running(const process_rig *rig)
{
    const arcp__agent_process *at = NULL;
    size_t count = 0;
    DL_COUNT(rig->table->processes, at, count);
    return count;
}

void process_rig_step(process_rig *rig, const char *what)
{
    (void)uv_timer_start(&rig->watchdog, on_watchdog, PATIENCE_MS, 0);
    uv_ref((uv_handle_t *)&rig->watchdog);
    (void)uv_run(&rig->loop, UV_RUN_ONCE);
    uv_unref((uv_handle_t *)&rig->watchdog);
    (void)uv_timer_stop(&rig->watchdog);
    if (rig->late) {
        fail_msg("waited a minute for: %s", what);
    }
}

void process_rig_stop(process_rig *rig)
{
    arcp__process_table_free(rig->table);
    uv_close((uv_handle_t *)&rig->watchdog, NULL);
    (void)uv_run(&rig->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    assert_false(has_children());
    assert_int_equal(open_descriptors(), rig->descriptors);
    assert_int_equal(entries_of(rig->base), 0);
    remove_temporary(rig->base);
}

/* ---- the owner ---- */

static void append_line(arcp_buf *to, arcp_span line)
{
    arcp_buf_append(to, line);
    arcp_buf_append_byte(to, '\n');
}

static void on_started(void *user, arcp_status status, const char *why)
{
    process_owner *owner = user;
    assert_int_equal(owner->starts++, 0);
    owner->started = status;
    (void)snprintf(owner->why, sizeof owner->why, "%s", why);
}

static void on_line(void *user, arcp_span line)
{
    process_owner *owner = user;
    assert_int_equal(owner->exits, 0);
    append_line(&owner->lines, line);
    owner->line_count++;
}

static void on_line_refused(void *user, arcp_status why)
{
    process_owner *owner = user;
    owner->refusals++;
    owner->refused = why;
}

static void on_output(void *user, arcp_span bytes)
{
    process_owner *owner = user;
    assert_int_equal(owner->exits, 0);
    arcp_buf_append(&owner->output, bytes);
    owner->longest_output = bytes.size > owner->longest_output ? bytes.size : owner->longest_output;
}

static void on_log(void *user, arcp_span line)
{
    process_owner *owner = user;
    assert_int_equal(owner->exits, 0);
    append_line(&owner->logs, line);
}

static void on_exited(void *user, const arcp_process_exit *end, arcp_span tail)
{
    process_owner *owner = user;
    owner->exits++;
    owner->end = *end;
    arcp_buf_append(&owner->tail, tail);
}

arcp__agent_process_callbacks process_owner_callbacks(process_owner *owner)
{
    return (arcp__agent_process_callbacks){
        .started = on_started,
        .line = on_line,
        .line_refused = on_line_refused,
        .output = on_output,
        .log = on_log,
        .exited = on_exited,
        .user = owner,
    };
}

void process_rig_run(process_rig *rig, process_owner *owner, const char *const *argv)
{
    arcp__agent_process_callbacks callbacks = process_owner_callbacks(owner);
    *owner = (process_owner){0};
    rig->spec.argv = argv;
    check_ok(
        arcp__agent_process_start(rig->table, &rig->spec, &callbacks, &owner->process, &rig->error),
        &rig->error);
    run_until(rig, owner->starts != 0);
    assert_int_equal(owner->started, ARCP_OK);
}

void process_rig_run_shell(process_rig *rig, process_owner *owner, const char *script)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    process_rig_run(rig, owner, argv);
}

void process_owner_fini(process_owner *owner)
{
    arcp__agent_process_free(owner->process);
    owner->process = NULL;
    arcp_buf_fini(&owner->lines);
    arcp_buf_fini(&owner->output);
    arcp_buf_fini(&owner->logs);
    arcp_buf_fini(&owner->tail);
}
