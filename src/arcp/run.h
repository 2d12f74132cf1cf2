/* `arcp run`: a command in a sandbox. What the options ask for, the plan, the process, and what is
 * reported of it. */
#ifndef ARCP_ARCP_RUN_H
#define ARCP_ARCP_RUN_H

#include <sys/types.h>
#include <termios.h>

#include <arcp/lease.h>

#include "base/arena.h"
#include "cli/cli.h"
#include "core/job_port.h"
#include "launch/cgroups.h"
#include "launch/command_base.h"
#include "launch/sandbox_host.h"
#include "sandbox/sandbox.h"

#define ARCP__RUN_PIDS_MAX      4194304 /* the kernel's */
#define ARCP__RUN_TEMPORARY_MAX 3u

struct arcp__run_learn;
typedef struct arcp__run_gateways arcp__run_gateways;

typedef struct arcp__run {
    arcp__program *program;
    arcp__arena arena;        /* of the texts below */
    const char *cwd;          /* the directory that `arcp run` was started in */
    const char *home;         /* the user's, and HOME inside */
    const char *account_home; /* of the user's account: protected, too */
    const char
        *cwd_kept; /* why the current directory is not read; NULL: it is, or not by default */
    arcp_lease *lease;
    arcp__command_base base; /* of the command */
    arcp__own_paths own;     /* with `cache` */
    arcp__sandbox_request request;
    arcp__sandbox_plan *plan;
    const char *cache; /* directory of prepared files: ~/.cache/arcp, or one for this run */
    arcp_buf etc;      /* the directory that is /etc inside; empty: none is needed */
    const char *temporary[ARCP__RUN_TEMPORARY_MAX]; /* made for this run, removed after it */
    const char **env;               /* of the command: NAME=VALUE, NULL-terminated; in the arena */
    size_t kept_back;               /* variables of our environment that are not passed */
    uint64_t max_runtime_sec;       /* 0: none */
    const arcp_span *private_hosts; /* names that may lead to private addresses; in the arena */
    size_t private_host_count;
    arcp__cgroups *cgroups;        /* for limits; NULL: none are set in a cgroup */
    bool is_learning;              /* the command is watched, not confined (run_learn.h) */
    struct arcp__run_learn *learn; /* what was seen of it; NULL: it is confined */
    arcp__run_gateways *gateways;  /* to models and tools (run_gateways.h); NULL: none */
} arcp__run;

/* ---- abilities.c: what a host can do for sandboxes ---- */

/* Tries it on this host. ARCP_E_NOT_FOUND without arcp-sandbox, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__abilities_find(arcp__sandbox_abilities *out, arcp_error *err);

/* What a host of this level ("full" or "landlock") has with this release. ARCP_E_USAGE for another
 * name. */
ARCP_MUST_CHECK arcp_status arcp__abilities_of_level(const char *level,
                                                     arcp__sandbox_abilities *out, arcp_error *err);

/* ---- agent_plan.c: the sandbox that an agent of arcpd would have ---- */

typedef struct arcp__agent_query {
    const arcp_lease *lease;
    const char *cwd;                      /* absolute; NULL: a directory made for the job */
    const char *const *command;           /* its words, NULL-terminated; NULL: not known */
    const arcp__sandbox_request *request; /* abilities, and what the operator chose */
    const char *const *bases;             /* absolute paths; NULL-terminated; NULL: none */
} arcp__agent_query;

/* ARCP_E_NOT_FOUND or ARCP_E_USAGE for a command that cannot be started. The caller frees *out. */
ARCP_MUST_CHECK arcp_status arcp__agent_plan(const arcp__agent_query *query,
                                             arcp__sandbox_plan **out, arcp_error *err);

/* ---- doctor_agents.c ---- */

typedef struct arcp__agents_query {
    const char *path; /* of arcpd's configuration */
    arcp__sandbox_abilities abilities;
    bool is_json;
} arcp__agents_query;

/* Appends a line for each agent, and for each policy that gives it a max_lease. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__doctor_agents(const arcp__agents_query *query, arcp_buf *out,
                                                arcp_error *err);

/* ---- run_lease.c: the lease, from --read, --write, --fetch, --lease, --grant, ... ---- */

/* Sets cwd, home and account_home. ARCP_E_IO, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__run_place(arcp__run *run, arcp_error *err);

/* The same, and the lease. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__run_lease(arcp__run *run, int64_t now_wall_ns, arcp_error *err);

/* The user's home directory in canonical form: HOME, else that of the account. NULL when out of
 * memory. */
const char *arcp__run_home(arcp__arena *arena);
/* That of the account, whatever HOME says; /home/agent when it has none. */
const char *arcp__run_account_home(arcp__arena *arena);

/* The canonical form of a path that may be relative to `cwd`; NULL: it has none, and the error says
 * why, beginning with the option (without dashes). */
ARCP_MUST_CHECK const char *arcp__run_path(arcp__arena *arena, const char *cwd, const char *option,
                                           const char *path, arcp_error *err);

/* ---- run_fetch.c ---- */

/* The pattern of net.fetch for a value of --fetch: without a scheme it is https, and without a path
 * it is all of the host. NULL: the error says why, ARCP_E_USAGE or ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK const char *arcp__run_fetch_pattern(arcp__arena *arena, const char *given,
                                                    arcp_error *err);

/* Sets private_hosts from --private-host. ARCP_E_USAGE, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__run_private_hosts(arcp__run *run, arcp_error *err);

/* ---- run_environment.c ---- */

/* Sets env and kept_back from the plan, our environment and --env. ARCP_E_USAGE, ARCP_E_NO_MEMORY.
 */
ARCP_MUST_CHECK arcp_status arcp__run_environment(arcp__run *run, arcp_error *err);

/* ---- run_request.c: all that the plan is made from, beside the lease ---- */

/* The user's cache directory for ARCP. NULL when out of memory. */
const char *arcp__run_cache(arcp__arena *arena, const char *home);

/* Sets tls_terminate from a value of --tls (NULL: not given). ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__run_tls(arcp__sandbox_request *request, const char *given,
                                          arcp_error *err);

/* Capabilities that --min does not apply to, and what a sandbox may use. */
void arcp__run_defaults(arcp__sandbox_request *request);

/* Adds the files of ARCP itself, which no lease grants, to run->own and to the request. Place,
 * cache and gateways are known. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__run_own(arcp__run *run, arcp_error *err);

/* Completes run->request from the options, after the lease, but for abilities and bases.
 * ARCP_E_USAGE, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__run_request(arcp__run *run, arcp_error *err);

/* The bases of run->request: of the command, found before, and of --base. The abilities are known.
 * ARCP_E_USAGE, ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__run_bases(arcp__run *run, arcp_error *err);

/* ---- run_limits.c: limits that a cgroup sets ---- */

/* Takes --memory and --pids. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__run_read_limits(arcp__run *run, arcp_error *err);

/* Finds which of them a cgroup can set. The abilities are known. */
void arcp__run_find_cgroups(arcp__run *run);

/* The cgroups of one process. */
typedef struct arcp__run_cgroup {
    unsigned number; /* 0: none */
    int directory_fd;
    int fds[ARCP__CGROUP_LIMITS];
} arcp__run_cgroup;

/* Takes a cgroup with the limits of the plan, if it has any. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__run_cgroup_take(const arcp__run *run, arcp__run_cgroup *out,
                                                  arcp_error *err);
/* The process has been started, or could not be. */
void arcp__run_cgroup_close(arcp__run_cgroup *cgroup);

/* ---- run_terminal.c: the terminal of the command ---- */

/* While the command has the terminal, its process group is the foreground group. Then programs of
 * our own group cannot read from it, such as a pager that gets the command's output: in a pipeline
 * the command gets the terminal only when it has asked for it. */
typedef struct arcp__run_terminal {
    int fd;         /* -1: none that could be given */
    pid_t ours;     /* our process group */
    pid_t group;    /* the command's */
    bool is_wanted; /* by the command */
    bool is_given;
    bool has_theirs;
    struct termios our_modes, their_modes; /* at the last change */
} arcp__run_terminal;

/* `fd`: standard input when the command gets it and it is a terminal, else -1. */
void arcp__run_terminal_init(arcp__run_terminal *terminal, int fd);

/* Whether our group is the foreground group. */
bool arcp__run_terminal_is_ours(const arcp__run_terminal *terminal);

/* Gives the terminal to the command if it is wanted, with the modes that it had when it was taken
 * back; does nothing while we are in the background. */
void arcp__run_terminal_give(arcp__run_terminal *terminal, pid_t group);

/* Takes the terminal back, and restores the modes that it had when it was given. */
void arcp__run_terminal_take(arcp__run_terminal *terminal);

/* ---- run_report.c: reports of a run, on standard error and in the file of --report ---- */

#define ARCP__RUN_DENIALS_MAX  1024
#define ARCP__RUN_COSTS_MAX    16
#define ARCP__RUN_CURRENCY_MAX 32u /* bytes, with a NUL */

/* Why the command ended. */
typedef enum arcp__run_end {
    ARCP__RUN_EXITED,
    ARCP__RUN_SIGNALLED,
    ARCP__RUN_NOT_STARTED, /* a step of the set-up failed, or there is no program inside */
    ARCP__RUN_EXPIRED,
    ARCP__RUN_TIMED_OUT,
} arcp__run_end;

typedef struct arcp__run_result {
    arcp__run_end end;
    int code; /* exit status, or the signal's number */
    int64_t runtime_ms;
    bool has_run_out; /* the kernel has killed a process at the limit of memory */
    /* A thread still looks up a name for the network: exit() would wait for it. */
    bool is_busy;
} arcp__run_result;

typedef struct arcp__run_denial {
    arcp_span capability, target; /* the target with \xNN for what cannot be shown */
    arcp_span reason;             /* of our layers; empty: the lease lacks it */
    uint64_t count;
    uint64_t written;   /* of these, in the file; only those of our layers are written by us */
    const char *layer;  /* "egress", "gateway"; NULL: arcp-sandbox has reported it */
    bool has_no_option; /* none would allow it */
} arcp__run_denial;

/* What calls through the gateways have cost in one currency. */
typedef struct arcp__run_cost {
    char currency[ARCP__RUN_CURRENCY_MAX];
    arcp_decimal amount;
} arcp__run_cost;

typedef struct arcp__run_report {
    const arcp__run *run;
    int file;           /* of --report; -1: none */
    bool is_incomplete; /* the file could not be written: said once */
    arcp__arena arena;
    arcp__run_denial denials[ARCP__RUN_DENIALS_MAX];
    size_t denial_count;
    uint64_t more;                    /* denials beyond those */
    uint64_t model_calls, tool_calls; /* through the gateways */
    arcp__run_cost costs[ARCP__RUN_COSTS_MAX];
    size_t cost_count;
    bool is_running; /* the record `running` has arrived */
    /* Why the command was not started, or was ended by us: the record `failed`, or the network. */
    arcp_buf failure;
} arcp__run_report;

/* Opens the file of --report. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__run_report_open(arcp__run_report *report, const arcp__run *run,
                                                  arcp_error *err);
void arcp__run_report_close(arcp__run_report *report);

/* Before the start: lines of the plan that are not exact. */
void arcp__run_report_plan(arcp__run_report *report);

/* A record of arcp-sandbox: `running`, `denied` or `failed`, as JSON. Others are ignored. */
void arcp__run_report_record(arcp__run_report *report, arcp_span record);

/* What the network of the sandbox, or a gateway, refused. */
typedef struct arcp__run_refusal {
    arcp_span capability, target; /* the bytes of the target may be any */
    const char *reason;           /* one line, which is printed unless is_lacking */
    const char *layer;            /* static */
    bool is_lacking;              /* the lease does not grant it */
    bool has_no_option;           /* none would allow it */
} arcp__run_refusal;

void arcp__run_report_refusal(arcp__run_report *report, const arcp__run_refusal *refusal);

/* After the end: the summary with the options that would allow what was denied. */
void arcp__run_report_end(arcp__run_report *report, const arcp__run_result *result);

/* The file of --report gets a line; arcp_buf_fini is called for it. */
void arcp__run_report_write(arcp__run_report *report, arcp_buf *line);

/* run_calls.c: what a call through a gateway has led to. */
void arcp__run_report_message(arcp__run_report *report, const arcp__job_message *message);

/* run_calls.c: says at the end how many calls there were, and what they cost of the lease's
 * budget. */
void arcp__run_report_calls(const arcp__run_report *report);

/* run_calls.c: the same in the record of the end. */
void arcp__run_report_put_calls(const arcp__run_report *report, arcp_json_writer *writer);

/* run_suggest.c: appends the options that would allow what was denied, shortest first; nothing for
 * targets that an option cannot name. */
void arcp__run_suggest(const arcp__run_report *report, arcp_buf *out);

/* ---- run_temporary.c ---- */

/* Makes a directory for this run, which is removed after it. NULL: the error says why. */
const char *arcp__run_temporary(arcp__run *run, arcp_error *err);

/* ---- run_process.c ---- */

/* Starts the command and waits for its end. ARCP_E_IO and others: it was not started. */
ARCP_MUST_CHECK arcp_status arcp__run_process(arcp__run *run, arcp__run_report *report,
                                              arcp__run_result *out, arcp_error *err);

#endif
