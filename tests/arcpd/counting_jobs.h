/* A real arcpd with a worker, and jobs that count: each says its lines 0, 1, 2, ... once and in
 * order, over restarts of arcpd. For tests of workers. */
#ifndef ARCP_TESTS_ARCPD_COUNTING_JOBS_H
#define ARCP_TESTS_ARCPD_COUNTING_JOBS_H

#include <sys/types.h>

#include "arcpd/daemon.h"
#include "arcpd/wire.h"

#define COUNTING_JOBS_MAX 200u
/* arcpd starts the worker, and running jobs get no grace. */
#define COUNTING_CONFIG "workers: {local: spawn, keep_sec: 60}\nshutdown: {grace_sec: 0}\n"

typedef struct counting_job {
    char id[40];
    uint64_t lines; /* that have come, each once and in order */
    bool has_ended;
} counting_job;

typedef struct counting_rig {
    daemon_state daemon;
    wire wire;
    wire_session session;
    uint64_t last_seq;
    pid_t worker; /* that has joined last; 0: not known */
    counting_job jobs[COUNTING_JOBS_MAX];
    size_t count, ended;
    uint64_t lines;  /* of all jobs */
    uint64_t events; /* that each job writes */
} counting_rig;

void counting_open(counting_rig *r, uint64_t events);
void counting_open_with(counting_rig *r, const daemon_options *daemon, uint64_t events);
/* Stops arcpd and the worker. */
void counting_close(counting_rig *r);
/* Starts arcpd, which does not run, and resumes the session. */
void counting_begin_again(counting_rig *r);

/* Starts arcp-worker, which arcpd does not start (workers.local: external). */
pid_t counting_start_worker(const counting_rig *r);
/* SIGTERM, and waits. */
void counting_end_worker(pid_t worker);
/* The path of the socket on which arcpd awaits it. */
void counting_find_socket(const counting_rig *r, char path[128]);

/* The process of the worker that has joined last; it need not have since arcpd was started. */
pid_t counting_worker(counting_rig *r);
/* Waits until one has joined, for which it submits a job. */
pid_t counting_await_worker(counting_rig *r);

/* Submits a job that pauses after each line. */
void counting_submit(counting_rig *r, unsigned pause_us);
/* Takes note of a job, whose submit has been accepted. */
void counting_add(counting_rig *r, arcp_span accepted);
/* Whether the frame has an event_seq, which must be the next one. */
bool counting_take_seq(counting_rig *r, arcp_span frame);
/* Checks one frame. */
void counting_take(counting_rig *r, arcp_span frame);
/* Reads until this many lines of all jobs have come, or all jobs have ended. */
void counting_take_until(counting_rig *r, uint64_t lines);
/* Reads until the first job has ended with an error. */
arcp_span counting_take_error(counting_rig *r);
/* Reads until the last job has ended, or (false) waits for a worker. */
bool counting_ends(counting_rig *r);

#endif
