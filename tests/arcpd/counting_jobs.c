#include "arcpd/counting_jobs.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/process_support.h"
#include "worker/worker_core.h"
#include "worker/worker_place.h"

void counting_open_with(counting_rig *r, const daemon_options *daemon, uint64_t events)
{
    *r = (counting_rig){.events = events};
    daemon_begin(&r->daemon, daemon);
    daemon_start(&r->daemon);
    wire_open(&r->wire, r->daemon.port);
    wire_hello(&r->wire, "t-alice", &r->session);
}

void counting_open(counting_rig *r, uint64_t events)
{
    static const daemon_options options = {.config = COUNTING_CONFIG};
    counting_open_with(r, &options, events);
}

pid_t counting_worker(counting_rig *r)
{
    static const char said[] = "a worker has joined: process ";
    char *errors = daemon_errors(&r->daemon);
    for (const char *at = strstr(errors, said); at != NULL; at = strstr(at + 1, said)) {
        r->worker = number_in(at + strlen(said));
    }
    free(errors);
    assert_true(r->worker > 0);
    return r->worker;
}

void counting_close(counting_rig *r)
{
    const pid_t worker = counting_worker(r);
    wire_close(&r->wire);
    (void)daemon_stop(&r->daemon);
    (void)kill(worker, SIGTERM);
    wait_for_end(worker);
    daemon_end(&r->daemon);
}

static counting_job *find(counting_rig *r, arcp_span id)
{
    for (size_t i = 0; i < r->count; i++) {
        if (arcp_span_equal_cstr(id, r->jobs[i].id)) {
            return &r->jobs[i];
        }
    }
    fail_msg("a frame of an unknown job");
    return NULL;
}

bool counting_take_seq(counting_rig *r, arcp_span frame)
{
    const uint64_t seq = wire_seq(frame);
    if (seq == 0) {
        return false;
    }
    assert_int_equal(seq, r->last_seq + 1);
    r->last_seq = seq;
    return true;
}

void counting_take(counting_rig *r, arcp_span frame)
{
    if (!counting_take_seq(r, frame)) {
        return;
    }
    counting_job *of = find(r, wire_text(frame, "job_id"));
    uint64_t number = 0;
    if (wire_is(frame, "job.result")) {
        assert_int_equal(of->lines, r->events);
        assert_false(of->has_ended);
        of->has_ended = true;
        r->ended++;
    } else if (wire_is(frame, "job.error")) {
        fail_msg("%s has failed: %.*s", of->id, (int)frame.size, frame.data);
    } else if (wire_is(frame, "job.event") && wire_number(wire_text(frame, "message"), &number)) {
        assert_int_equal(number, of->lines);
        of->lines++;
        r->lines++;
    }
}

void counting_add(counting_rig *r, arcp_span accepted)
{
    const arcp_span id = wire_text(accepted, "job_id");
    (void)snprintf(r->jobs[r->count++].id, sizeof r->jobs[0].id, "%.*s", (int)id.size, id.data);
}

void counting_submit(counting_rig *r, unsigned pause_us)
{
    wire_send(&r->wire,
              "{\"arcp\":\"1.1\",\"id\":\"s%zu\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
              "\"load\",\"input\":{\"events\":%llu,\"bytes\":20,\"pause_us\":%u,\"end\":\"result\""
              "}}}",
              r->count, (unsigned long long)r->events, pause_us);
    arcp_span frame = wire_await(&r->wire);
    while (!wire_is(frame, "job.accepted")) {
        counting_take(r, frame);
        frame = wire_await(&r->wire);
    }
    counting_add(r, frame);
}

void counting_take_until(counting_rig *r, uint64_t lines)
{
    while (r->lines < lines && r->ended < r->count) {
        counting_take(r, wire_await(&r->wire));
    }
}

pid_t counting_await_worker(counting_rig *r)
{
    counting_submit(r, 0);
    counting_take_until(r, UINT64_MAX);
    return counting_worker(r);
}

void counting_begin_again(counting_rig *r)
{
    wire_close(&r->wire);
    daemon_start(&r->daemon);
    wire_open(&r->wire, r->daemon.port);
    wire_resume(&r->wire, "t-alice", &r->session, r->last_seq);
}

arcp_span counting_take_error(counting_rig *r)
{
    arcp_span frame = wire_await(&r->wire);
    while (!wire_is(frame, "job.error")) {
        frame = wire_await(&r->wire);
    }
    r->last_seq = wire_seq(frame);
    r->jobs[0].has_ended = true;
    r->ended++;
    return frame;
}

bool counting_ends(counting_rig *r)
{
    const char *id = r->jobs[r->count - 1].id;
    for (;;) {
        const arcp_span frame = wire_await(&r->wire);
        const bool is_last = arcp_span_equal_cstr(wire_text(frame, "job_id"), id);
        counting_take(r, frame);
        if (is_last && wire_is(frame, "job.result")) {
            return true;
        }
        if (is_last && arcp_span_equal_cstr(wire_text(frame, "phase"), "queued")) {
            return false;
        }
    }
}

/* ---- a worker of the test's own ---- */

pid_t counting_start_worker(const counting_rig *r)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const int log = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(log, STDERR_FILENO);
        (void)execl(ARCP_BINARY_DIR "/bin/arcp-worker", "arcp-worker", "--local",
                    r->daemon.directory, (char *)NULL);
        _exit(127);
    }
    return pid;
}

void counting_end_worker(pid_t worker)
{
    assert_int_equal(kill(worker, SIGTERM), 0);
    assert_int_equal(waitpid(worker, NULL, 0), worker);
}

void counting_find_socket(const counting_rig *r, char path[128])
{
    char store[ARCP__WORKER_ID_MAX + 1];
    DIR *entries = opendir(r->daemon.directory);
    assert_non_null(entries);
    const struct dirent *entry = readdir(entries);
    while (entry != NULL && !arcp__worker_store_of(entry->d_name, store)) {
        entry = readdir(entries);
    }
    assert_non_null(entry);
    (void)snprintf(path, 128, "%s/%s", r->daemon.directory, entry->d_name);
    (void)closedir(entries);
}
