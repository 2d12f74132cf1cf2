/* A runtime inside a program: sessions, jobs, event log, agents, on the program's loop.
 *
 * Everything here is called on the loop's thread, except what agent.h says of agents. */
#ifndef ARCP_RUNTIME_H
#define ARCP_RUNTIME_H

#include <arcp/agent.h>
#include <arcp/enforce.h>
#include <arcp/lease.h>
#include <arcp/settings.h>
#include <arcp/submit_policy.h>
#include <arcp/sys/launcher.h>
#include <arcp/sys/provisioner.h>
#include <arcp/sys/store.h>
#include <arcp/sys/transport.h>
#include <arcp/token.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uv_loop_s;
typedef struct arcp_runtime arcp_runtime;

typedef enum arcp_log_level {
    ARCP_LOG_DEBUG = 0,
    ARCP_LOG_INFO = 1,
    ARCP_LOG_WARN = 2,
    ARCP_LOG_ERROR = 3,
    ARCP_LOG_AUDIT = 4 /* the text is a JSON object: one decision */
} arcp_log_level;

typedef struct arcp_runtime_options {
    size_t struct_size;
    const char *name;              /* in the welcome; NULL: "arcpd" */
    const char *version;           /* NULL: the library's */
    const arcp_settings *settings; /* copied; NULL: the defaults, lowered by
                                      arcp_settings_fit_memory if the store is not durable */
    arcp_store *store;             /* taken over, also on failure; NULL: memory */
    const char *work_directory;    /* each job gets a directory below it, in one of this
                                      runtime's own, so that runtimes may share it; NULL: none,
                                      and relative paths are denied */
    /* Takes one line of the log. `fields` is a JSON object with the line's subject (job_id, agent,
     * principal, ...), or "" if it has none. Both are borrowed during the call. NULL: no log. */
    void (*log)(void *user, arcp_log_level level, const char *text, const char *fields);
    void *log_user;
    size_t agent_threads; /* most threads for blocking agents; 0: 64 */
    /* How agents that are programs are started. Taken over when the runtime is made, and freed with
     * it. NULL: directly, on this machine. */
    arcp_launcher *launcher;
    size_t token_requests_max; /* tokens that are verified at the same time; 0: 1024 */
    /* Issues the upstream credentials of jobs (§9.8); taken over, also on failure. NULL: jobs get
     * none. Credentials are offered only with a durable store. */
    arcp_provisioner *provisioner;
    /* The file of the key that encrypts credentials in the store, created with mode 0600 if it does
     * not exist; required with a provisioner. */
    const char *credential_key_file;
    /* Keeps the audit log ahead of what peers see. Called when a batch is submitted to the store
     * (`must_wait` false), and when it is durable, before its effects are sent (`must_wait` true):
     * when the second call returns, all records that `log` received as ARCP_LOG_AUDIT before the
     * first call must be kept. NULL: `log` itself keeps them. */
    void (*audit_barrier)(void *user, bool must_wait);
    void *audit_barrier_user;
    /* Called with each trace span when it has ended: a session's part in a job, a job, a request to
     * the provisioner (docs/tracing.md). `json` is one object of OTLP's `spans`, borrowed during
     * the call, which must not block. NULL: no spans are made. */
    void (*trace_span)(void *user, arcp_span json);
    void *trace_span_user;
    /* Whether each agent that is a program gets a cgroup of its own below this program's, where one
     * can be made. All processes that it starts are then killed when its job has ended, also those
     * that left its process group. */
    bool makes_cgroups;
    /* Called once, on the loop's thread, when an allocation failed inside the runtime, or when
     * another process has taken its store over (ARCP_E_FENCED). The runtime
     * has closed its connections (1011) by then; it stores nothing more and ignores its agents. The
     * program frees it after this call has returned, and makes another one from the same store,
     * which restores the sessions and jobs. May be NULL: arcp_runtime_is_ready then reports the
     * failure. */
    void (*failed)(void *user);
    void *failed_user;
    /* Called with the bytes of a trace for `arcp replay`, in their order: the calls of the
     * runtime's engine and their outcomes. They are borrowed during the call, which must not call
     * the runtime. A trace has everything that clients, agents and upstreams send, also tokens and
     * credentials. The decisions of callback agents and of a submit policy cannot be played back: a
     * replay ends at the first one. When an allocation of the recording fails, it ends, and `log`
     * gets an error line. NULL: nothing is recorded. */
    void (*record)(void *user, arcp_span bytes);
    void *record_user;
    /* Agents that are programs run in sandboxes made from their leases; needs a work directory.
     * Copied. NULL: they are not confined. */
    const arcp_enforce_options *enforce;
} arcp_runtime_options;

static inline arcp_runtime_options arcp_runtime_options_init(void)
{
    arcp_runtime_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

/* Makes a runtime (`options` NULL: the defaults) and restores the sessions and jobs of its store.
 * It runs the loop until the store has been read; the runtime has no listeners and connections yet.
 * SIGPIPE is ignored from then on if it had its default action. The caller stops and frees *out.
 * ARCP_E_CORRUPT, ARCP_E_IO, ARCP_E_NO_MEMORY; ARCP_E_USAGE for options or a vtable of another
 * release: then nothing is taken over. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_new(struct uv_loop_s *loop,
                                                      const arcp_runtime_options *options,
                                                      arcp_runtime **out, arcp_error *err);

/* Frees a runtime that has stopped (arcp_runtime_stop), or that never had a listener or a
 * connection. NULL is accepted. */
ARCP_API void arcp_runtime_free(arcp_runtime *runtime);

/* Sets the verifiers of tokens, in place of the previous ones, and takes them over, also on
 * failure. They are called in this order until one accepts the token; without verifiers every token
 * is refused. Open sessions continue. ARCP_E_NO_MEMORY: the previous ones stay. ARCP_E_USAGE for a
 * vtable of another release: the previous ones stay, and none is taken over. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_set_token_verifiers(
    arcp_runtime *runtime, arcp_token_verifier *const *verifiers, size_t count, arcp_error *err);

/* Registers an agent that is a callback, for jobs submitted from now on; it replaces one of the
 * same name and version. The strings are copied; `user` must live as long as the runtime.
 * ARCP_E_USAGE for an agent of a newer release or without `run`, ARCP_E_INVALID_REQUEST for a name
 * or version that §7.5 does not allow, ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_register(arcp_runtime *runtime,
                                                           const arcp_agent *agent,
                                                           arcp_error *err);

/* An agent that is a program; what it reads and writes is in arcp-agent(7). */
typedef struct arcp_process_agent {
    size_t struct_size;
    const char *name;
    const char *version; /* NULL: none */
    bool is_default;
    const char *const *command; /* argv, NULL-terminated */
    bool is_plain;              /* mode: plain */
    size_t warm;                /* processes started in advance, at most 4096; not with is_plain */
    const char *const *env;     /* NAME=VALUE, or NAME to pass ours; NULL-terminated; may be NULL */
    const char *cwd;            /* NULL: a fresh directory per job */
    const char *user;           /* to run as; NULL: this program's user */
    bool stderr_in_errors;      /* the details of a failure have the last 2 KiB of stderr */
    size_t max_jobs;            /* running at the same time; 0: no limit of its own */
    const arcp_launch_limit *limits; /* resource limits; may be NULL */
    size_t limit_count;
    /* The members below have no effect in a runtime that does not confine agents. */
    bool confine;            /* each job of the agent runs in a sandbox */
    const char *const *base; /* absolute paths that it may read and execute, beside what its command
                                needs and arcp_enforce_options.base; NULL-terminated; may be NULL */
    arcp_protect protect;
    arcp_enforce_min min;
    uint32_t pids; /* processes and threads of a job; 0: the setting enforce.pids */
    arcp_enforce_tls tls;
    /* Memory of all processes of a job together; 0: no limit. */
    uint64_t memory_bytes;
    /* Processor time of all processes of a job together, in percent of one processor; 0: no limit.
     */
    uint32_t cpu_percent;
    /* Its jobs get no gateways for models and tools; has an effect in any runtime. */
    bool without_gateways;
    /* Jobs beyond max_jobs are refused; else they wait until one ends (settings jobs.queue_*). */
    bool without_queue;
    /* mode: serve: at most so many processes, each of which runs many jobs at the same time; not
     * with is_plain, and without warm. 0: a process for each job, and the members below have no
     * effect. At most ARCP_SERVED_PROCESSES_MAX. */
    size_t processes;
    /* Jobs of one process; from 1 to ARCP_SERVED_CONCURRENCY_MAX. max_jobs is at most processes *
     * concurrency. */
    size_t concurrency;
    uint64_t jobs_per_process;     /* after which a process is replaced; 0: never */
    uint64_t process_memory_bytes; /* above which a process is replaced; 0: never */
    const arcp_lease *lease; /* of the sandboxes of its processes; a reference is taken; NULL: an
                                empty one. The leases of jobs decide what a process asks about. */
} arcp_process_agent;

#define ARCP_SERVED_PROCESSES_MAX   256
#define ARCP_SERVED_CONCURRENCY_MAX 10000

static inline arcp_process_agent arcp_process_agent_init(void)
{
    arcp_process_agent agent;
    memset(&agent, 0, sizeof agent);
    agent.struct_size = sizeof agent;
    agent.confine = true;
    return agent;
}

/* Registers an agent that is a program, as arcp_runtime_register does a callback; everything in
 * `agent` is copied. ARCP_E_USAGE for an agent of a newer release or with an empty command,
 * ARCP_E_INVALID_REQUEST for a name or version that §7.5 does not allow, ARCP_E_NO_MEMORY. A
 * program that cannot be started is noticed only when a job or a warm process starts: the job
 * fails, or the log reports it. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_register_process(arcp_runtime *runtime,
                                                                   const arcp_process_agent *agent,
                                                                   arcp_error *err);

/* Removes all agents, so that others can be registered (reload). Running jobs continue. Queued jobs
 * of agents that are not registered again before the loop goes on end with AGENT_NOT_AVAILABLE. */
ARCP_API void arcp_runtime_clear_agents(arcp_runtime *runtime);

/* Listens at ws://HOST:PORT/PATH or wss://...; port 0 picks a free one. *url_out (may be NULL) is
 * the URL with the real port, valid until the runtime stops. `options` (may be NULL) are borrowed
 * during the call. ARCP_E_USAGE for a URL or options that are not valid, ARCP_E_IO when the system
 * refuses the address, ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_listen(arcp_runtime *runtime, const char *url,
                                                         const arcp_listen_options *options,
                                                         const char **url_out, arcp_error *err);

typedef struct arcp_serve_options {
    size_t struct_size;
    const char *principal; /* the peer becomes this principal, with any token; NULL: tokens are
                              verified. Borrowed during the call only. */
    /* Both may be NULL, and are called on the loop's thread, never from inside another call.
     * `input_over`: the peer sends nothing more but still reads (arcp_open_stdio); the runtime
     * closes the connection when the jobs of its session have ended and all responses are sent. */
    void (*input_over)(void *user);
    void (*closed)(void *user); /* the connection is closed; no call follows */
    void *user;
    arcp_role role; /* of the peer, with `principal` */
} arcp_serve_options;

static inline arcp_serve_options arcp_serve_options_init(void)
{
    arcp_serve_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

/* Serves a connection that exists (stdio, memory), and takes it over, also on failure. `options`
 * may be NULL. ARCP_E_USAGE for options of a newer release, or a vtable of another one; only in the
 * latter case the connection is not taken over. ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_serve(arcp_runtime *runtime,
                                                        arcp_connection *connection,
                                                        const arcp_serve_options *options,
                                                        arcp_error *err);

/* Replaces the settings by a copy of these (reload). Limits apply to later requests and events. */
ARCP_API void arcp_runtime_set_settings(arcp_runtime *runtime, const arcp_settings *settings);
/* Removes all policies, so that others can be added (reload). Running jobs keep their leases. */
ARCP_API void arcp_runtime_clear_policies(arcp_runtime *runtime);
/* Upper bounds for the leases of jobs whose principal and agent match the globs; all policies that
 * match apply. */
typedef struct arcp_policy {
    size_t struct_size;
    const char *principal_glob;
    const char *agent_glob;
    const arcp_lease *ceiling; /* a reference is kept; NULL: no ceiling */
    /* Whether capabilities that the ceiling does not name stay as they were requested, as for a
     * ceiling that only has a budget; otherwise they are removed. */
    bool leaves_others_open;
    uint64_t max_lifetime_sec; /* from the submit; 0: no bound */
} arcp_policy;

/* All principals, all agents, no bound. */
static inline arcp_policy arcp_policy_init(void)
{
    arcp_policy policy;
    memset(&policy, 0, sizeof policy);
    policy.struct_size = sizeof policy;
    policy.principal_glob = "*";
    policy.agent_glob = "*";
    return policy;
}

/* Adds a policy for later jobs (docs/leases.md, Narrowing by policy); its strings are copied.
 * ARCP_E_USAGE for a policy of a newer release, ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_add_policy(arcp_runtime *runtime,
                                                             const arcp_policy *policy,
                                                             arcp_error *err);
/* Sets the program's own decision about every later job, which is called after the policies above
 * were applied (submit_policy.h); NULL: none. Running jobs are not affected. */
ARCP_API void arcp_runtime_set_submit_policy(arcp_runtime *runtime, arcp_submit_policy_fn decide,
                                             void *user);
/* Removes all rules for peer profiles (reload). Later sessions have the default profile of their
 * SDK, or that of a rule that is added after this call; existing sessions keep theirs. */
ARCP_API void arcp_runtime_clear_peer_profiles(arcp_runtime *runtime);
/* Adds a rule: later sessions whose client name and principal match the globs (NULL: any) get their
 * responses in the form of `profile`. Of several rules that match, the last one applies. The
 * strings are copied. ARCP_E_USAGE for a profile that does not exist, ARCP_E_NO_MEMORY.
 * docs/protocol.md, Peer profiles. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_add_peer_profile(arcp_runtime *runtime,
                                                                   const char *client_glob,
                                                                   const char *principal_glob,
                                                                   const char *profile,
                                                                   arcp_error *err);
/* Reads the certificates of all listeners again, for later connections. ARCP_E_USAGE names a file
 * that cannot be used: its listener keeps the previous ones. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_reload_tls(arcp_runtime *runtime,
                                                             arcp_error *err);

/* Replaces arcp_runtime_options.enforce for later jobs (reload); `options` are copied, NULL: later
 * agents are not confined. It runs arcp-sandbox to find out what this host can enforce, and waits
 * for it (some 20 ms). ARCP_E_USAGE for options that are not valid or of a newer release,
 * ARCP_E_NOT_FOUND without the program arcp-sandbox, ARCP_E_NO_MEMORY: the previous ones stay. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_set_enforcement(
    arcp_runtime *runtime, const arcp_enforce_options *options, arcp_error *err);

/* Reports whether the records of ARCP_LOG_AUDIT cannot be kept (at first they can). While they
 * cannot and the setting audit.on_failure is deny, submits, delegations, subscriptions and gated
 * operations are refused with INTERNAL_ERROR (retryable). */
ARCP_API void arcp_runtime_set_audit_failing(arcp_runtime *runtime, bool failing);

/* Stops the runtime. It accepts no new connections and jobs; running jobs get
 * shutdown.grace_sec, then they end with INTERNAL_ERROR. Everything is stored, and sent to
 * connected peers for at most 5 s after the last job's end. Then `stopped` is called on the loop,
 * once. A second call ends the running jobs at once, and its `stopped` is ignored. The runtime
 * keeps its loop alive (uv_run) until it is freed; `stopped` may free it. */
ARCP_API void arcp_runtime_stop(arcp_runtime *runtime, void (*stopped)(void *user), void *user);

/* Reaps child processes that have exited and that no other code waits for, so that they do not
 * remain as zombies; the runtime reaps its agents itself. To be called on SIGCHLD, by programs that
 * adopt orphan processes (PR_SET_CHILD_SUBREAPER, or process 1) and start no children of their
 * own. */
ARCP_API void arcp_runtime_reap_orphans(arcp_runtime *runtime);

/* Figures for programs and tests; counters begin at 0 with the runtime. */
typedef struct arcp_runtime_stats {
    size_t struct_size;
    uint64_t sessions; /* open, connected or not */
    uint64_t sessions_connected;
    uint64_t jobs_running;
    uint64_t jobs_kept;               /* ended, and can still be listed */
    uint64_t events;                  /* counter */
    uint64_t denials;                 /* counter */
    uint64_t batches;                 /* counter: submitted to the store */
    uint64_t credentials_outstanding; /* that are valid or may be valid */
    uint64_t credentials_stuck;       /* outstanding ones whose revocation failed repeatedly */
} arcp_runtime_stats;

static inline arcp_runtime_stats arcp_runtime_stats_init(void)
{
    arcp_runtime_stats stats;
    memset(&stats, 0, sizeof stats);
    stats.struct_size = sizeof stats;
    return stats;
}

/* Fills what the struct has room for. */
ARCP_API void arcp_runtime_get_stats(const arcp_runtime *runtime, arcp_runtime_stats *out);

/* Appends the metrics in Prometheus' text format 0.0.4, with a bounded number of samples
 * (docs/metrics.md). ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_write_metrics(const arcp_runtime *runtime,
                                                                arcp_buf *out);

/* Appends a JSON object: mode ("on" or "off"), what `arcp doctor --json` says of this host (level,
 * abilities) if it is on, and for each agent that is a program whether it is confined.
 * ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_write_enforcement(const arcp_runtime *runtime,
                                                                    arcp_buf *out);

/* Appends the state of the runtime for people: its links, sessions, subscriptions, jobs,
 * credentials, batches and queues, and what each of them waits for. One JSON object per line, at
 * most `lines_max` of each `kind`; the last line counts the objects without a line. It has ids,
 * names, addresses, sizes and times, and no secret. ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_write_state(arcp_runtime *runtime,
                                                              size_t lines_max, arcp_buf *out);

/* Whether the runtime accepts sessions and jobs: it has not failed and is not stopping, and its
 * store (and, with audit.on_failure: deny, its audit log) can be written. *why is the reason if it
 * does not (static), else NULL. */
ARCP_API bool arcp_runtime_is_ready(const arcp_runtime *runtime, const char **why);

#ifdef __cplusplus
}
#endif
#endif
