#include "process/served_rig.h"

#include <signal.h>
#include <stdio.h>

static const char script[] =
    "while read -r line; do id=${line#*'\"job_id\":\"'}; id=${id%%'\"'*}; case $line in\n"
    "*'\"run\":'*) line=${line#*'\"run\":'}; eval \"${line%'}'}\";;\n"
    "*'\"hold\"'*) printf '{\"job_id\":\"%s\",\"pid\":\"%s\"}\\n' \"$id\" $$;;\n"
    "*'\"end\"'*) printf '{\"job_id\":\"%s\",\"type\":\"job.result\"}\\n' \"$id\";;\n"
    "*'\"exit\"'*) exit 3;;\n"
    "*'\"stops\"'*) exec sleep 1000;;\n"
    "*'\"say\"'*) line=${line#*'\"say\":'}; printf '%s\\n' \"${line%'}'}\";;\n"
    "esac; done";
static const char *const command[] = {"/bin/sh", "-c", script, NULL};

served_rig rig;
served_job jobs[8];

static void on_log(void *user, pid_t pid, arcp_span line)
{
    (void)user;
    arcp_buf_append_format(&rig.logged, "%d %.*s\n", (int)pid, (int)line.size, line.data);
}

static void on_report(void *user, bool is_error, const char *text)
{
    (void)user;
    (void)is_error;
    arcp_buf_append_format(&rig.reports, "%s\n", text);
}

int served_set_up(void **state)
{
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    memset(jobs, 0, sizeof jobs);
    rig = (served_rig){.logged = arcp_buf_init(), .reports = arcp_buf_init()};
    process_rig_start(&rig.rig, 100, 100);
    rig.rig.spec.argv = command;
    rig.rig.spec.cwd = rig.rig.run;
    rig.rig.spec.makes_cwd = true;
    rig.options = (arcp__served_options){.table = rig.rig.table,
                                         .processes = 1,
                                         .concurrency = 100,
                                         .spec = &rig.rig.spec,
                                         .log = on_log,
                                         .report = on_report};
    return 0;
}

int served_tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        served_job_fini(&jobs[i]);
    }
    arcp__served_free(rig.served);
    rig.served = NULL;
    process_rig_stop(&rig.rig);
    arcp_buf_fini(&rig.logged);
    arcp_buf_fini(&rig.reports);
    return 0;
}

void served_open(void)
{
    check_ok(arcp__served_new(&rig.options, &rig.served, &rig.rig.error), &rig.rig.error);
}

/* ---- jobs ---- */

/* After a timer a round of the loop would wait for something else. */
static void end_round(void)
{
    uv_stop(&rig.rig.loop);
}

static void on_started(void *user, arcp_status status, const char *why)
{
    served_job *job = user;
    (void)why;
    end_round();
    assert_int_equal(job->starts++, 0);
    job->started = status;
}

static void on_line(void *user, arcp_span line)
{
    served_job *job = user;
    assert_int_equal(job->ends, 0);
    arcp_buf_append(&job->lines, line);
    arcp_buf_append_byte(&job->lines, '\n');
}

static void on_ended(void *user, arcp__served_end how, const arcp_process_exit *exit)
{
    served_job *job = user;
    end_round();
    assert_int_equal(job->ends++, 0);
    job->how = how;
    if (exit != NULL) {
        job->exit = *exit;
    }
}

static const arcp__served_events events = {
    .started = on_started, .line = on_line, .ended = on_ended};

arcp_status served_try(served_job *job, const char *id)
{
    *job = (served_job){.lines = arcp_buf_init()};
    return arcp__served_job_new(rig.served, id, &events, job, &job->job, &rig.rig.error);
}

void served_begin(served_job *job, const char *id, const char *line)
{
    check_ok(served_try(job, id), &rig.rig.error);
    served_write(job, line);
}

void served_hold(served_job *job, const char *id)
{
    served_begin(job, id, SERVED_HOLD);
    served_until(served_job_has(job, "\"pid\""));
    const char *pid = strstr(arcp_buf_cstr(&job->lines), "\"pid\":\"") + 7;
    (void)snprintf(job->pid, sizeof job->pid, "%.*s", (int)strcspn(pid, "\""), pid);
}

void served_write(served_job *job, const char *line)
{
    arcp__served_job_write(job->job, arcp_span_cstr(line));
}

void served_end(served_job *job)
{
    served_write(job, SERVED_END);
    served_until(job->ends != 0);
    assert_int_equal(job->how, ARCP__SERVED_DONE);
}

void served_job_fini(served_job *job)
{
    arcp__served_job_free(job->job);
    job->job = NULL;
    arcp_buf_fini(&job->lines);
}

bool served_has(const arcp_buf *text, const char *part)
{
    arcp_buf copy = arcp_buf_init();
    arcp_buf_append(&copy, arcp_buf_span(text));
    const char *found = arcp_buf_cstr(&copy);
    const bool has = found != NULL && strstr(found, part) != NULL;
    arcp_buf_fini(&copy);
    return has;
}

bool served_job_has(const served_job *job, const char *text)
{
    return served_has(&job->lines, text);
}
