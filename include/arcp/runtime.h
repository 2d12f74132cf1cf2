/* A runtime inside a program: sessions, jobs, event log, agents, on the program's loop.
 *
 * Everything here is called on the loop's thread, except what agent.h says of agents. */
#ifndef ARCP_RUNTIME_H
#define ARCP_RUNTIME_H

#include <arcp/agent.h>
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
    const arcp_settings *settings; /* copied; NULL: the defaults, for a store that does not
                                      last as arcp_settings_fit_memory lowers them */
    arcp_store *store;             /* taken over, also on failure; NULL: memory */
    const char *work_directory;    /* where jobs get their directories (in one of this
                                      run's); may be shared; NULL: none, and relative
                                      paths are denied */
    /* One line. `fields` is a JSON object that says what the line is about (job_id, agent,
     * principal, ...), or "" where it is about nothing of these. Both are borrowed. */
    void (*log)(void *user, arcp_log_level level, const char *text, const char *fields);
    void *log_user;
    size_t agent_threads; /* at most, for blocking agents; 0: 64 */
    /* How agents that are programs are started; taken over when the runtime is made, freed
     * with it. NULL: directly, on this machine. */
    arcp_launcher *launcher;
    size_t token_questions_max; /* tokens being verified at the same time; 0: 1024 */
    /* Where jobs' upstream credentials come from (§9.8); taken over, also on failure. NULL:
     * none. Offered only with a durable store. */
    arcp_provisioner *provisioner;
    /* The key (mode 0600, made when missing) under which values are sealed in the store;
     * needed with a provisioner. */
    const char *credential_key_file;
    /* Called when a batch goes to the store (`must_wait` false), and before what it made
     * durable is shown to anybody (true): records that `log` was given as ARCP_LOG_AUDIT before
     * the first call are to be kept when the second one returns. NULL: they are. */
    void (*audit_barrier)(void *user, bool must_wait);
    void *audit_barrier_user;
    /* Called with each trace span that is over: of a session's part in a job, a job, a call to
     * the provisioner (docs/tracing.md). `json` is one object of OTLP's `spans`, borrowed during
     * the call, which must not wait for anybody. NULL: no spans are made. */
    void (*trace_span)(void *user, arcp_span json);
    void *trace_span_user;
    /* Whether each agent that is a program gets a cgroup of its own below this program's, where
     * that can be done: what it starts then ends with its job, whatever it does to hide. */
    bool makes_cgroups;
    /* Called once, on the loop's thread, when an allocation failed inside the runtime. The runtime
     * has closed its connections (1011) by then; it stores nothing more and ignores its agents. The
     * program frees it after this call has returned and makes another one from the same store,
     * which takes up the sessions and jobs. May be NULL: arcp_runtime_is_ready then reports the
     * failure. */
    void (*failed)(void *user);
    void *failed_user;
    /* Called with the bytes of a trace for `arcp replay`, in their order: the calls of the
     * runtime's engine and their outcomes. They are borrowed during the call, which must not call
     * the runtime. A trace holds everything that clients, agents and upstreams send, tokens and
     * credentials too. The decisions of callback agents and of a submit policy cannot be played
     * back: a replay ends at the first. NULL: nothing is recorded. */
    void (*record)(void *user, arcp_span bytes);
    void *record_user;
} arcp_runtime_options;

static inline arcp_runtime_options arcp_runtime_options_init(void)
{
    arcp_runtime_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

/* Makes a runtime (`options` NULL: the defaults) and takes up what its store holds; reading it is
 * finished when this returns (it runs the loop until then, before anything else is attached to the
 * runtime). SIGPIPE is ignored from then on when it had its default action. ARCP_E_CORRUPT,
 * ARCP_E_IO, ARCP_E_NO_MEMORY; ARCP_E_USAGE for options of a newer release, or
 * a vtable that is not of this one: then nothing is taken over. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_new(struct uv_loop_s *loop,
                                                      const arcp_runtime_options *options,
                                                      arcp_runtime **out, arcp_error *err);

/* Frees a runtime that was stopped (see stop), or that nothing was attached to. */
ARCP_API void arcp_runtime_free(arcp_runtime *runtime);

/* Who may come in: a token is put to each verifier in turn until one accepts it. Replaces
 * those that were there before; takes all of these over, also on failure. Without any,
 * everybody is refused. Sessions that are open go on. ARCP_E_NO_MEMORY: the old ones stay.
 * ARCP_E_USAGE for a vtable of another release: the old ones stay, and none is taken over. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_set_token_verifiers(
    arcp_runtime *runtime, arcp_token_verifier *const *verifiers, size_t count, arcp_error *err);

/* Offers an agent that is a callback, for jobs submitted from now on. The strings are copied;
 * `user` has to live as long as the runtime. A name and version that are there already are
 * replaced for new jobs. ARCP_E_USAGE for an agent of a newer release or without a
 * `run`, ARCP_E_INVALID_REQUEST for a name or version of another form than §7.5 has,
 * ARCP_E_NO_MEMORY. */
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
    size_t warm;                /* processes kept started for the next jobs; not with is_plain */
    const char *const *env;     /* NAME=VALUE, or NAME to pass ours; NULL-terminated; may be NULL */
    const char *cwd;            /* NULL: a fresh directory per job */
    const char *user;           /* NULL: ours */
    bool stderr_in_errors;      /* the last 2 KiB, in the details of its failures */
    size_t max_jobs;            /* at once; 0: no limit of its own */
    const arcp_launch_limit *limits; /* resource limits; may be NULL */
    size_t limit_count;
} arcp_process_agent;

static inline arcp_process_agent arcp_process_agent_init(void)
{
    arcp_process_agent agent;
    memset(&agent, 0, sizeof agent);
    agent.struct_size = sizeof agent;
    return agent;
}

/* The same for a program; everything in `agent` is copied. ARCP_E_USAGE also for an empty
 * command. That the program can be started is seen when a job is (or, with `warm`, a process
 * of those kept: the log says so). */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_register_process(arcp_runtime *runtime,
                                                                   const arcp_process_agent *agent,
                                                                   arcp_error *err);

/* Forgets every agent, so that others can be registered (reload); running jobs go on. */
ARCP_API void arcp_runtime_clear_agents(arcp_runtime *runtime);

/* Listens on ws://HOST:PORT/PATH or wss://...; port 0 picks one. The URL with the real port is
 * written to `url_out` (may be NULL); it lives until the runtime stops. `options` are borrowed
 * during the call. ARCP_E_USAGE for a URL or options that cannot be, ARCP_E_IO when the address
 * cannot be had, ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_listen(arcp_runtime *runtime, const char *url,
                                                         const arcp_listen_options *options,
                                                         const char **url_out, arcp_error *err);

typedef struct arcp_serve_options {
    size_t struct_size;
    const char *principal; /* any token is accepted for it; NULL: tokens are verified. Borrowed
                              during the call only. */
    /* Both may be NULL, and are called on the loop's thread, never from within a call of the
     * program's. The peer sends nothing more and still reads (arcp_open_stdio): the connection is
     * closed when its session's jobs have ended and all that was asked for has been answered. */
    void (*input_over)(void *user);
    void (*closed)(void *user); /* the connection is gone; nothing follows */
    void *user;
} arcp_serve_options;

static inline arcp_serve_options arcp_serve_options_init(void)
{
    arcp_serve_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    return options;
}

/* Serves a connection that exists (stdio, memory); it is taken over, also on failure. `options` may
 * be NULL. ARCP_E_USAGE for options of a newer release; for a vtable that is not of this one too,
 * and then the connection is not taken over. ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_serve(arcp_runtime *runtime,
                                                        arcp_connection *connection,
                                                        const arcp_serve_options *options,
                                                        arcp_error *err);

/* Replaces the settings (reload; copied). Limits apply to what comes from now on. */
ARCP_API void arcp_runtime_set_settings(arcp_runtime *runtime, const arcp_settings *settings);
/* Forgets every policy, so that others can be added (reload); running jobs keep their leases. */
ARCP_API void arcp_runtime_clear_policies(arcp_runtime *runtime);
/* What jobs can be given at most where both globs match; every row that matches applies. */
typedef struct arcp_policy {
    size_t struct_size;
    const char *principal_glob;
    const char *agent_glob;
    const arcp_lease *ceiling; /* a reference is kept; NULL: no ceiling */
    /* What the ceiling does not name stays as it was asked for: right for one that has a budget
     * only. Otherwise it falls away. */
    bool leaves_others_open;
    uint64_t max_lifetime_sec; /* from the submit; 0: no bound */
} arcp_policy;

/* Everybody, every agent, no bound. */
static inline arcp_policy arcp_policy_init(void)
{
    arcp_policy policy;
    memset(&policy, 0, sizeof policy);
    policy.struct_size = sizeof policy;
    policy.principal_glob = "*";
    policy.agent_glob = "*";
    return policy;
}

/* Narrows what jobs can be given (docs/leases.md, Narrowing by policy). ARCP_E_USAGE for a policy
 * of a newer release, ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_add_policy(arcp_runtime *runtime,
                                                             const arcp_policy *policy,
                                                             arcp_error *err);
/* The program's own say about every job, after the policies above (submit_policy.h); NULL:
 * none. Asked from now on; what runs is not touched. */
ARCP_API void arcp_runtime_set_submit_policy(arcp_runtime *runtime, arcp_submit_policy_fn ask,
                                             void *user);
/* Sessions that begin from now on have their SDK's default profile, or one that is added after
 * this; existing sessions keep theirs. */
ARCP_API void arcp_runtime_clear_peer_profiles(arcp_runtime *runtime);
/* Sessions whose client name and principal match the globs (NULL: any) are answered in the
 * form of `profile`; the rule added last is looked at first. ARCP_E_USAGE for a profile
 * that does not exist. docs/protocol.md, Peer profiles. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_add_peer_profile(arcp_runtime *runtime,
                                                                   const char *client_glob,
                                                                   const char *principal_glob,
                                                                   const char *profile,
                                                                   arcp_error *err);
/* Reads certificates again, where a listener has any, for connections from now on. ARCP_E_USAGE
 * names a file that cannot be used: that listener goes on with the old ones. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_reload_tls(arcp_runtime *runtime,
                                                             arcp_error *err);

/* Says whether the records of ARCP_LOG_AUDIT can be kept (they can, until this says
 * otherwise). While they cannot and the setting audit.on_failure is deny, nothing is granted:
 * submits, delegations, subscriptions and gates answer INTERNAL_ERROR (retryable). */
ARCP_API void arcp_runtime_set_audit_failing(arcp_runtime *runtime, bool failing);

/* Stops: no new connections or jobs, running jobs get shutdown.grace_sec, then end as
 * INTERNAL_ERROR; everything is written, and sent to who is there and reads, for 5 s after the last
 * end; then `stopped` is called on the loop, once. Called again before that, the grace is over at
 * once, and `stopped` stays what it was. The runtime stays on its loop until it is freed, which
 * `stopped` is the place for: a loop that waits for everything on it (uv_run) does not end before.
 */
ARCP_API void arcp_runtime_stop(arcp_runtime *runtime, void (*stopped)(void *user), void *user);

/* Waits for children of this process that have ended and that no other code waits for, so
 * that they do not stay as zombies; agents are left to the runtime. For programs that adopt
 * orphans (PR_SET_CHILD_SUBREAPER, or process 1) and start no children of their own: on
 * SIGCHLD. */
ARCP_API void arcp_runtime_reap_orphans(arcp_runtime *runtime);

/* Figures for programs and tests; counters begin at 0 with the runtime. */
typedef struct arcp_runtime_stats {
    size_t struct_size;
    uint64_t sessions; /* open, connected or not */
    uint64_t sessions_connected;
    uint64_t jobs_running;
    uint64_t jobs_kept;               /* ended, and still there to be looked at */
    uint64_t events;                  /* grows */
    uint64_t denials;                 /* grows */
    uint64_t batches;                 /* grows: commits that were asked of the store */
    uint64_t credentials_outstanding; /* issued, or perhaps issued, and not known to be dead */
    uint64_t credentials_stuck;       /* of these: revoking failed several times */
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

/* Appends figures as Prometheus reads them (text format 0.0.4), of a bounded number of
 * samples. ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_write_metrics(const arcp_runtime *runtime,
                                                                arcp_buf *out);

/* Appends the state of the runtime for people: its links, sessions, subscriptions, jobs,
 * credentials, batches and queues, and what each of them waits for. One JSON object per line, of
 * each `kind` at most `lines_max`; the last line counts the objects without a line. It holds ids,
 * names, addresses, sizes and times, and no secret. ARCP_E_NO_MEMORY. */
ARCP_API ARCP_MUST_CHECK arcp_status arcp_runtime_write_state(arcp_runtime *runtime,
                                                              size_t lines_max, arcp_buf *out);

/* Whether sessions and jobs are taken: it is not stopping and can record what it does. `why`
 * says why not (static). */
ARCP_API bool arcp_runtime_is_ready(const arcp_runtime *runtime, const char **why);

#ifdef __cplusplus
}
#endif
#endif
