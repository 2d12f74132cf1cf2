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

static void on_log(void *user, pid_t pid, arcp_span line)
{
    served_rig *rig = user;
    arcp_buf_append_format(&rig->logged, "%d %.*s\n", (int)pid, (int)line.size, line.data);
}

static void on_report(void *user, bool is_error, const char *text)
{
    served_rig *rig = user;
    (void)is_error;
    arcp_buf_append_format(&rig->reports, "%s\n", text);
}

void served_rig_start(served_rig *rig)
{
    (void)signal(SIGPIPE, SIG_IGN);
    *rig = (served_rig){.logged = arcp_buf_init(), .reports = arcp_buf_init()};
    process_rig_start(&rig->rig, 100, 100);
    rig->rig.spec.argv = command;
    rig->rig.spec.cwd = rig->rig.run;
    rig->rig.spec.makes_cwd = true;
    rig->options = (arcp__served_options){.table = rig->rig.table,
                                          .processes = 1,
                                          .concurrency = 100,
                                          .spec = &rig->rig.spec,
                                          .log = on_log,
                                          .report = on_report,
                                          .user = rig};
}

void served_rig_open(served_rig *rig)
{
    check_ok(arcp__served_new(&rig->options, &rig->served, &rig->rig.error), &rig->rig.error);
}

void served_rig_stop(served_rig *rig)
{
    arcp__served_free(rig->served);
    rig->served = NULL;
    process_rig_stop(&rig->rig);
    arcp_buf_fini(&rig->logged);
    arcp_buf_fini(&rig->reports);
}

/* ---- jobs ---- */

/* After a timer a round of the loop would wait for something else. */
static void end_round(const served_job *job)
{
    uv_stop(&job->rig->rig.loop);
}

static void on_started(void *user, arcp_status status, const char *why)
{
    served_job *job = user;
    (void)why;
    end_round(job);
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
    end_round(job);
    assert_int_equal(job->ends++, 0);
    job->how = how;
    if (exit != NULL) {
        job->exit = *exit;
    }
}

static const arcp__served_events events = {
    .started = on_started, .line = on_line, .ended = on_ended};

void served_rig_begin(served_rig *rig, served_job *job, const char *id, const char *line)
{
    *job = (served_job){.rig = rig, .lines = arcp_buf_init()};
    check_ok(arcp__served_job_new(rig->served, id, &events, job, &job->job, &rig->rig.error),
             &rig->rig.error);
    arcp__served_job_write(job->job, arcp_span_cstr(line));
}

void served_rig_hold(served_rig *rig, served_job *job, const char *id)
{
    served_rig_begin(rig, job, id, SERVED_HOLD);
    served_until(rig, served_job_has(job, "\"pid\""));
    const char *pid = strstr(arcp_buf_cstr(&job->lines), "\"pid\":\"") + 7;
    (void)snprintf(job->pid, sizeof job->pid, "%.*s", (int)strcspn(pid, "\""), pid);
}

void served_job_fini(served_job *job)
{
    arcp__served_job_free(job->job);
    job->job = NULL;
    arcp_buf_fini(&job->lines);
}

bool served_rig_has(const arcp_buf *text, const char *part)
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
    return served_rig_has(&job->lines, text);
}
