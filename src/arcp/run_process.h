/* The parts of a running `arcp run`: a loop that waits for signals, for the end of the command, for
 * what arcp-sandbox reports, and for time. One thread; everything is called from the loop. */
#ifndef ARCP_ARCP_RUN_PROCESS_H
#define ARCP_ARCP_RUN_PROCESS_H

#include <signal.h>

#include <uv.h>

#include "arcp/run.h"
#include "egress/egress.h"
#include "launch/launcher_control.h"
#include "stream/tls_ca.h"

/* Output of the command that goes through us, with --no-tty. */
typedef struct arcp__run_relay {
    uv_poll_t poll;
    int from; /* -1: none, or ended */
    int to;
    arcp_buf held; /* the beginning of a character */
} arcp__run_relay;

enum { ARCP__RUN_RELAYS = 2 };

typedef struct arcp__running {
    arcp__run *run;
    arcp__run_cgroup cgroup;
    arcp__run_report *report;
    arcp_process *process;
    arcp_process_exit end; /* when has_ended */
    uv_loop_t loop;
    uv_poll_t control_poll, signals_poll, exit_poll;
    uv_timer_t timer;
    arcp__launch_control control; /* records of arcp-sandbox, and the sockets of its network */
    int signals;                  /* a signalfd */
    arcp_authority *authority;    /* of the command */
    arcp__tls_ca *ca;             /* NULL: TLS stays closed, or egress has it */
    arcp__egress *egress;         /* NULL: the sandbox has no network, or not yet */
    arcp__egress_job *network;    /* NULL: likewise, or it is closed */
    arcp__run_terminal terminal;
    arcp__run_relay relays[ARCP__RUN_RELAYS];
    arcp_time begun;
    int64_t max_runtime_ns, kill_mono_ns;
    unsigned kill_calls; /* of arcp__sandbox_kill */
    bool is_expired, is_timed_out, has_ended;
    bool is_without_network; /* though it should have one: it was killed */
    bool is_busy;            /* something of the network is left that would have to be waited for */
} arcp__running;

/* ---- run_loop.c ---- */

/* Waits until the command has ended, and takes all that it has written and reported. ARCP_E_IO when
 * something cannot be watched: the command may still run. The loop must have been initialised. */
ARCP_MUST_CHECK arcp_status arcp__run_loop(arcp__running *running, arcp_error *err);

/* Takes over the control socket of arcp-sandbox. */
void arcp__run_control_init(arcp__running *running, int fd);

/* Closes what is on the loop, and the loop; sets is_busy. */
void arcp__run_loop_fini(arcp__running *running);

/* Begins to watch a descriptor for input; `user` becomes poll->data. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__run_watch(uv_loop_t *loop, uv_poll_t *poll, int fd,
                                            uv_poll_cb callback, void *user, arcp_error *err);

/* Ends that, if it was begun; the descriptor may be closed now. The memory of `poll` is the loop's
 * until arcp__run_loop_fini. */
void arcp__run_unwatch(uv_poll_t *poll);

/* ---- run_signal.c: signals and stops ---- */

/* The signals that are read from running->signals: blocked, so that nothing else gets them. */
void arcp__run_signals(sigset_t *set);

void arcp__run_send(const arcp__running *running, int number);

/* Continues the command, in the foreground if we are. */
void arcp__run_proceed(arcp__running *running);

/* Takes the signals that have arrived. */
void arcp__run_take_signals(arcp__running *running);

/* ---- run_relay.c ---- */

/* Makes the pipe of a relay to this descriptor; returns the command's end, or -1 with errno. */
int arcp__run_relay_open(arcp__run_relay *relay, int to);

/* Begins to pass on what arrives. ARCP_E_IO. Nothing is done for a relay without a pipe. */
ARCP_MUST_CHECK arcp_status arcp__run_relay_start(uv_loop_t *loop, arcp__run_relay *relay,
                                                  arcp_error *err);

/* Passes on all that is there, without waiting. */
void arcp__run_relay_drain(arcp__run_relay *relay);

void arcp__run_relay_fini(arcp__run_relay *relay);

/* ---- run_time.c: the end of the lease, and --max-runtime ---- */

/* Watches both, from now on. */
void arcp__run_time_start(arcp__running *running);

/* Kills the command with all that it has started. */
void arcp__run_kill(arcp__running *running);

/* ---- run_network.c ---- */

/* Serves the sockets of the sandbox, which are owned from now on. When that fails the command is
 * killed: it must not run with less than its lease says. */
void arcp__run_network_open(arcp__running *running, const int *sockets, size_t count);

/* The network cannot be served: the command is killed, and was "not started". */
void arcp__run_network_fail(arcp__running *running, const char *reason);

/* Closes every connection at once. */
void arcp__run_network_close(arcp__running *running);

#endif
