/* The parts of the daemon, except its configuration (arcpd/config.h). */
#ifndef ARCP_ARCPD_ARCPD_H
#define ARCP_ARCPD_ARCPD_H

#include <pthread.h>
#include <uv.h>

#include <arcp/error.h>
#include <arcp/json.h>
#include <arcp/runtime.h>
#include <arcp/sys/launcher.h>
#include <arcp/token.h>

#include "arcpd/audit_tail.h"
#include "arcpd/config.h"
#include "audit/audit_log.h"
#include "dashboard/dashboard.h"
#include "identity/identity.h"
#include "store/postgres.h"
#include "tracing/span_exporter.h"
#include "web/server.h"

/* ---- gateways.c ---- */

/* Opens the gateways if models are configured. If they are open already, they get the new
 * configuration. The loop's thread. ARCP_E_USAGE, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__gateways_apply(arcp_runtime *runtime, const arcp__config *config,
                                                 arcp_error *err);

/* ---- config_schedules.c ---- */

/* Gives the runtime the configured schedules. The loop's thread. ARCP_E_USAGE, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__schedules_apply(arcp_runtime *runtime, const arcp__config *config,
                                                  arcp_error *err);

/* ---- trusted_path.c ---- */

/* arcpd trusts only files that no user except root and its own can change, like sshd with
 * StrictModes. A file, and each directory above it up to the root, must belong to one of these two
 * and not be writable by others. Two exceptions: a directory with mode 1777 (/tmp), since its
 * entries are checked as well, and a group that has no member except the owner. Symbolic links,
 * also of directories and of further links, are checked like directories, and followed.
 *
 * Nothing is opened for reading, so that a FIFO cannot block. Files that the parent process has
 * opened (/dev/stdin, /dev/fd/N) are not checked, nor is /dev/null. */

typedef enum arcp__trusted_kind {
    ARCP__TRUSTED_FILE,     /* a regular file that others cannot change */
    ARCP__TRUSTED_SECRET,   /* the same, and not world-readable (its group may read it) */
    ARCP__TRUSTED_DIRECTORY /* a directory in which others cannot create or rename anything */
} arcp__trusted_kind;

/* `what` begins the message: "token_file". For a path that does not exist only the directories
 * above it are checked, since a file may be created there; opening it reports that it is missing.
 * ARCP_E_USAGE: the message names the path, the problem and how to fix it. */
ARCP_MUST_CHECK arcp_status arcp__trusted_path_check(const char *what, const char *path,
                                                     arcp__trusted_kind kind, arcp_error *err);

/* ---- config_check.c ---- */

/* A file that the configuration names. */
typedef arcp_status (*arcp__config_file_fn)(void *user, const char *key, const char *path,
                                            arcp__trusted_kind kind, arcp_error *err);
/* Calls `each` for every such file until a call fails, and returns its status. */
ARCP_MUST_CHECK arcp_status arcp__config_each_file(const arcp__config *config,
                                                   arcp__config_file_fn each, void *user,
                                                   arcp_error *err);

/* ---- directories.c: the state directory and the work directories of jobs ---- */

typedef struct arcp__directories {
    char state[3072]; /* $STATE_DIRECTORY, else $XDG_STATE_HOME/arcp, else ~/.local/state/arcp */
    char work[3200];  /* its subdirectory `work`; /var/lib/arcp/work if agents have other users and
                         the state directory is in a home directory that these cannot enter */
    char
        closed[3200]; /* the first directory above `work` that other users cannot enter; "": none */
} arcp__directories;

/* Finds the directories and creates missing ones. The state directory is for its owner only; if
 * agents have users of their own, these may pass through it to `work`, but list neither.
 * ARCP_E_USAGE if others can change the state directory, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__directories_find(arcp__directories *out, bool has_other_users,
                                                   arcp_error *err);

/* Sets `state` only, and creates and changes nothing. ARCP_E_USAGE if others can change it. */
ARCP_MUST_CHECK arcp_status arcp__directories_check(arcp__directories *out, arcp_error *err);

/* Resolves a name relative to the directory; an absolute one is copied. False: it is too long. */
ARCP_MUST_CHECK bool arcp__path_in(const char *directory, const char *name, char *out, size_t size);

/* Appends the URL of the store, NUL-terminated: the configured one, or arcp.db in the state
 * directory. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__store_url(const arcp__config *config,
                                            const arcp__directories *directories, arcp_buf *out,
                                            arcp_error *err);

/* ARCP_E_USAGE when the URL names a file that others can change or read, or a store in PostgreSQL
 * that cannot be used. */
ARCP_MUST_CHECK arcp_status arcp__store_check_trust(const char *url, arcp_error *err);

/* ---- postgres_store.c ---- */

/* Whether the store is one in PostgreSQL. */
bool arcp__postgres_is_named(const char *url);
/* Loads the module. ARCP_E_USAGE: it cannot be loaded. */
ARCP_MUST_CHECK arcp_status arcp__postgres_load(const arcp__postgres **out, arcp_error *err);
/* Loads it, and checks the URL. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__postgres_check_url(const char *url, arcp_error *err);
/* Opens the store as the node of this host; the state directory is locked until the process ends.
 * ARCP_E_EXISTS: another process has the state directory or the store. */
ARCP_MUST_CHECK arcp_status arcp__postgres_open(const char *url, const char *directory,
                                                arcp_store **out, arcp_error *err);

/* ---- arguments.c ---- */

/* The command line. SIGHUP reads it again from a copy, because the tokens in argv, which other
 * users can see, are wiped. */

typedef struct arcp__arguments {
    const char *config_path; /* points into argv; NULL: no file */
    bool only_checks;        /* --check-config */
    bool only_checks_store;  /* --check-store */
    bool wants_help, wants_version;
    const char *record_path; /* of argv; NULL: nothing is recorded */
    uint64_t record_bytes;   /* at most */
} arcp__arguments;

extern const char arcp__arcpd_help[]; /* what --help prints */

/* Reads the options that decide what arcpd does. ARCP_E_USAGE names an unknown option, one whose
 * value is missing or superfluous, or an argument that is not an option. */
ARCP_MUST_CHECK arcp_status arcp__arguments_read(int argc, char **argv, arcp__arguments *out,
                                                 arcp_error *err);

/* Applies the other options to the configuration, which they override: the first --listen replaces
 * all listeners of the file. `argv` has passed arcp__arguments_read. ARCP_E_USAGE names the option
 * whose value is invalid. */
ARCP_MUST_CHECK arcp_status arcp__arguments_apply(int argc, char **argv, arcp__config *config,
                                                  arcp_error *err);

/* A copy of the arguments; NULL when out of memory. */
char **arcp__arguments_copy(int argc, char *const *argv);
/* Wipes the copy (NULL is accepted) and frees it. */
void arcp__arguments_free(int argc, char **copy);

/* Overwrites the values of --token in argv, which every user can see in /proc. */
void arcp__arguments_wipe(int argc, char *const *argv);

/* ---- tokens.c ---- */

/* Authentication: the token verifiers that the configuration asks for, and whether they suffice for
 * the addresses that arcpd listens on. */

typedef struct arcp__verifiers {
    arcp_token_verifier **items; /* the array and the verifiers are owned */
    size_t count;
} arcp__verifiers;

void arcp__verifiers_fini(arcp__verifiers *verifiers);
/* Moves the verifiers to the runtime, even on failure. Keys of browsers for what the configuration
 * does not accept any more end. */
ARCP_MUST_CHECK arcp_status arcp__verifiers_install(arcp__verifiers *verifiers,
                                                    const arcp__config *config,
                                                    arcp_runtime *runtime, arcp_error *err);

/* Whether tokens, or keys to verify them, are configured. */
bool arcp__config_has_tokens(const arcp__config *config);

/* Creates the configured verifiers and reads the files that they need. On failure `out` is
 * unchanged. If no tokens are configured and authentication is enabled, the token in
 * `state_directory`/token (created with mode 0600 if missing) is accepted as `local`. */
ARCP_MUST_CHECK arcp_status arcp__verifiers_make(const arcp__config *config,
                                                 const char *state_directory, arcp__verifiers *out,
                                                 arcp_error *err);
/* Checks that the configured verifiers can be created. Changes no file. */
ARCP_MUST_CHECK arcp_status arcp__verifiers_check(const arcp__config *config,
                                                  arcp__token_facts *facts, arcp_error *err);
/* What warnings need to know about the tokens. */
arcp__token_facts arcp__verifiers_facts(const arcp__verifiers *verifiers);

/* Whether the address of a ws:// or wss:// URL is loopback. */
bool arcp__listen_is_loopback(const char *text);
/* Addresses that are not loopback need configured tokens. ARCP_E_USAGE names the URL. */
ARCP_MUST_CHECK arcp_status arcp__listen_is_safe(const arcp__config *config,
                                                 const arcp__text_list *listen, arcp_error *err);

/* ---- config_warnings.c ---- */

/* Warnings about configurations that are allowed but risky, or that will fail later: at start, at a
 * reload and with --check-config. */

/* `text` is one line without a line feed. */
typedef void (*arcp__config_warn_fn)(void *user, const char *text);

typedef enum arcp__config_moment {
    ARCP__CONFIG_START, /* or reload; the runtime itself reports agents that it cannot start */
    ARCP__CONFIG_CHECK
} arcp__config_moment;

/* Calls `warn` for each warning. Reads files and users, and changes nothing. */
void arcp__config_warn(const arcp__config *config, const arcp__token_facts *tokens,
                       arcp__config_moment moment, arcp__config_warn_fn warn, void *user);

/* ---- problem.c ---- */

/* Writes "FILE:LINE: KEY: MESSAGE" as {"file", "line", "key", "message"}; what is missing is left
 * out. */
void arcp__problem_write(arcp_json_writer *writer, const char *text);

/* ---- checks.c: --check-config and --check-store ---- */

/* Checks the files that the configuration names, and prints it. */
ARCP_MUST_CHECK arcp_status arcp__check_config(const arcp__config *config, arcp_error *err);

/* Prints a line for each damaged item of the store, or a summary of an undamaged one.
 * ARCP_E_CORRUPT: there was damage. ARCP_E_EXISTS: a process has the store open. ARCP_E_USAGE: it
 * is a memory: store. ARCP_E_IO. A store in PostgreSQL may be open. */
ARCP_MUST_CHECK arcp_status arcp__check_store(const arcp__config *config, arcp_error *err);

/* ---- logger.c: logs to standard error, decisions to the audit trail ---- */

typedef struct arcp__audit_trail arcp__audit_trail;

typedef struct arcp__logger {
    int level;
    arcp__log_format format;
    arcp__audit_trail *audit; /* NULL: none */
    uint64_t lost;            /* lines dropped since the last line that was written */
} arcp__logger;

/* Writes one line to standard error; `user` is the logger. If that is a pipe or socket that is not
 * read, lines are dropped and counted so that no job is delayed. The count precedes the next line
 * that is written. */
void arcp__logger_log(void *user, arcp_log_level level, const char *text);
/* The same with fields: a JSON object, or "". In JSON they are members of the line. In text they
 * precede the message as [name=value ...], with quotes around a value that contains blanks, quotes,
 * brackets, = or \, so that text from agents and peers cannot imitate them. */
void arcp__logger_log_fields(void *user, arcp_log_level level, const char *text,
                             const char *fields);
void arcp__logger_format(arcp__logger *logger, arcp_log_level level, const char *format, ...)
    ARCP_PRINTF(3, 4);

/* ---- dashboards.c ---- */

/* The dashboards of the listeners. */
typedef struct arcp__dashboards {
    arcp__dashboard **items;
    size_t count;
    arcp_buf addresses; /* of their pages, a line each */
    char path[4096];    /* of the file that has them; "" until it is written */
} arcp__dashboards;

/* Has the listener of `url` serve a dashboard if the configuration says so: sets the pages in
 * `options`. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__dashboards_add(arcp__dashboards *dashboards,
                                                 const arcp__config *config, const char *url,
                                                 arcp_listen_options *options, arcp_error *err);
/* After that listener was opened: its URL has the actual port. */
void arcp__dashboards_note(arcp__dashboards *dashboards, const arcp__config *config,
                           const char *text);
/* Writes the addresses of the pages into the file `page` of the state directory, for `arcp ui`;
 * without any, removes that file. What fails is logged. */
void arcp__dashboards_announce(arcp__dashboards *dashboards, const char *state_directory,
                               arcp__logger *logger);
/* After the runtime was freed, which closes the listeners. Removes the file. */
void arcp__dashboards_free(arcp__dashboards *dashboards);

/* Whether the configured dashboard can be served. ARCP_E_USAGE names the key. */
ARCP_MUST_CHECK arcp_status arcp__dashboards_check(const arcp__config *config, arcp_error *err);

/* ---- notice.c ---- */

/* A thread uses a notice to tell the loop that it has begun to fail, and why, or that it works
 * again. */
typedef struct arcp__notice {
    uv_async_t async;
    void (*changed)(void *user, const char *why);
    void *user;
    pthread_mutex_t lock; /* guards the members below */
    bool fails;
    char why[256];
} arcp__notice;

/* `changed` is called on the loop's thread with the reason that was sent last; NULL: the thread
 * works. `of` names the sender in an error message. */
ARCP_MUST_CHECK arcp_status arcp__notice_open(arcp__notice *notice, uv_loop_t *loop, const char *of,
                                              void (*changed)(void *user, const char *why),
                                              void *user, arcp_error *err);
/* `user` is the notice. May be called on any thread. */
void arcp__notice_send(void *user, const char *why);
/* No thread may send any more. The loop must run once before the memory is released. */
void arcp__notice_close(arcp__notice *notice);

/* ---- audit_trail.c ---- */

/* Connects the runtime with the audit log: passes the runtime's records to the file, and tells the
 * runtime whether the file can be written. */

struct arcp__audit_trail {
    arcp__audit_log *log;  /* NULL: there is no audit log */
    arcp_runtime *runtime; /* NULL: not attached */
    arcp__logger *logger;
    bool is_failing;       /* as last reported to the runtime */
    bool must_record;      /* audit.on_failure is deny */
    int64_t quiet_till_ns; /* until when a slow file is not logged again */
    arcp__audit_tail tail; /* the last lines, also without a log */
    arcp__notice notice;
};

/* Opens the audit log unless it is disabled. A relative path is relative to `directory`. */
ARCP_MUST_CHECK arcp_status arcp__audit_trail_open(arcp__audit_trail *trail, uv_loop_t *loop,
                                                   const arcp__config *config,
                                                   const char *directory, arcp__logger *logger,
                                                   arcp_error *err);

/* Sets the runtime that is notified when records can be written or no longer; NULL: none. */
void arcp__audit_trail_attach(arcp__audit_trail *trail, arcp_runtime *runtime);

/* Appends a record of the runtime. */
void arcp__audit_trail_append(arcp__audit_trail *trail, const char *record);

/* A runtime's audit_barrier; `user` is the trail. */
void arcp__audit_trail_barrier(void *user, bool must_wait);

/* Records which tokens, agents and policies are in effect from now on, or why a reload was refused
 * (`refusal`). `cause` is "start", "SIGHUP" or "operator". */
void arcp__audit_trail_policy(arcp__audit_trail *trail, const char *cause,
                              const arcp__config *config, const arcp_error *refusal);

/* Applies new settings, and opens the file again in case it has been moved away (SIGHUP). */
void arcp__audit_trail_reload(arcp__audit_trail *trail, const arcp_settings *settings);

/* Writes the queued records and closes the file. */
void arcp__audit_trail_close(arcp__audit_trail *trail);

/* ---- credentials.c: creates the provisioner that `credentials:` configures ---- */

/* Borrowed by the provisioner, which must be freed first. */
typedef struct arcp__credentials {
    char key_file[4096];
    char used_file[4096];
    void *module;           /* from dlopen */
    arcp_provisioner *keys; /* of the gateways, or NULL; the runtime's */
} arcp__credentials;

/* *out is NULL for `none`. The provisioner borrows the strings of `config`, which a reload does not
 * change. `directory` is the state directory. Errors are those of the provisioners, and
 * ARCP_E_USAGE for a file that cannot be read or a module that cannot be loaded. */
ARCP_MUST_CHECK arcp_status arcp__credentials_open(arcp__credentials *credentials,
                                                   const arcp__config_credentials *config,
                                                   struct uv_loop_s *loop, const char *directory,
                                                   arcp_provisioner **out, arcp_error *err);
/* Lets the provisioner `gateway` issue keys; after the gateways were opened. */
void arcp__credentials_connect(const arcp__credentials *credentials, arcp_runtime *runtime);
/* Called after the provisioner was freed and the loop has run. */
void arcp__credentials_close(arcp__credentials *credentials);

/* ---- service.c ---- */

/* The agents, policies and peer profiles of the configuration. */

/* Replaces the runtime's agents, policies and peer profiles by those of `config`; existing jobs and
 * sessions are not affected. Agents get the limit `files` unless the configuration sets another.
 * After an error a part has been replaced: offer another configuration, or stop. */
ARCP_MUST_CHECK arcp_status arcp__service_offer(arcp_runtime *runtime, const arcp__config *config,
                                                const arcp_launch_limit *files, arcp_error *err);

/* ---- enforcement.c ---- */

/* The confinement of agents as the configuration says, with the files of arcpd kept from them. */
typedef struct arcp__enforcement_options {
    arcp_enforce_options options;
    arcp__text_list own;
    arcp__text_list models;
} arcp__enforcement_options;

/* Files of arcpd that a configuration which is being read does not name. */
typedef struct arcp__files_in_use {
    const arcp__directories *directories;
    const arcp__config *config; /* whose store and audit log are open; NULL: the new one's */
    const char *record_path;    /* of --record; NULL: nothing is recorded */
} arcp__files_in_use;

/* What the configuration says for the runtime: the result borrows from it. Call fini in any case.
 * ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__enforcement_options_init(arcp__enforcement_options *out,
                                                           const arcp__config *config,
                                                           const arcp__files_in_use *in_use,
                                                           arcp_error *err);
void arcp__enforcement_options_fini(arcp__enforcement_options *options);

/* Applies it (reload): for jobs that begin afterwards. */
ARCP_MUST_CHECK arcp_status arcp__enforcement_apply(arcp_runtime *runtime,
                                                    const arcp__config *config,
                                                    const arcp__files_in_use *in_use,
                                                    arcp_error *err);

/* ---- trace_export.c ---- */

/* Passes spans from the runtime to the module that exports them. */

typedef struct arcp__trace_export {
    arcp__span_exporter *exporter; /* NULL: not configured */
    void *module;
    uint64_t flush_ms;
    arcp__logger *logger;
    bool is_dropping; /* that spans are dropped has been logged */
    arcp__notice notice;
} arcp__trace_export;

/* Loads and starts the module if an endpoint is configured. The strings of config->tracing, which a
 * reload does not change, are borrowed until it is closed. ARCP_E_USAGE: the module cannot be
 * loaded, or a header is invalid. */
ARCP_MUST_CHECK arcp_status arcp__trace_export_open(arcp__trace_export *traces, uv_loop_t *loop,
                                                    const arcp__config *config,
                                                    arcp__logger *logger, arcp_error *err);

/* A runtime's trace_span; `user` is the arcp__trace_export. */
void arcp__trace_export_add(void *user, arcp_span json);

/* Sends the queued spans, for tracing.otlp.flush_ms at most. */
void arcp__trace_export_close(arcp__trace_export *traces);

/* ---- record.c ---- */

/* Where --record writes. */
typedef struct arcp__record {
    const char *path;         /* borrowed; NULL: nothing is recorded */
    int fd;                   /* -1: it has ended */
    uint64_t bytes_remaining; /* that it may still have */
    arcp__logger *logger;
} arcp__record;

/* Makes the file, if there is to be one; an older one becomes FILE.old. ARCP_E_USAGE. */
ARCP_MUST_CHECK arcp_status arcp__record_open(arcp__record *record,
                                              const arcp__arguments *arguments,
                                              arcp__logger *logger, arcp_error *err);
/* A runtime's `record`; `user` is the arcp__record. What fails ends the trace, and is logged. */
void arcp__record_write(void *user, arcp_span bytes);
/* When the runtime is freed. */
void arcp__record_close(arcp__record *record);

/* ---- state_dump.c ---- */

/* Writes state.jsonl into the state directory on SIGUSR1. */
typedef struct arcp__state_dump {
    arcp_runtime *runtime; /* NULL: about to be freed */
    arcp__logger *logger;
    char path[4096];
    uv_signal_t signal;
    uv_work_t work;     /* writes `text` */
    arcp_buf text;      /* the loop's, but while the work is under way */
    arcp_status status; /* of the work, which owns it meanwhile */
    arcp_error error;   /* of the work, which owns it meanwhile */
    int pid_fd;         /* holds the lock on arcpd.pid; -1: another arcpd has it */
    bool is_open, is_writing, is_requested_again;
} arcp__state_dump;

/* Begins to handle SIGUSR1. A failure is logged. */
void arcp__state_dump_open(arcp__state_dump *dump, uv_loop_t *loop, const char *directory,
                           arcp_runtime *runtime, arcp__logger *logger);
/* Call this before the runtime is freed; the memory must stay valid as long as the process. */
void arcp__state_dump_close(arcp__state_dump *dump);

/* ---- operator_socket.c: arcpd.sock in the state directory, for operators of this machine ---- */

#define ARCP__LOCAL_OPERATOR "local-operator" /* the principal of its peers */

/* Zeroed, but for path, runtime, logger and frame_bytes_max. */
typedef struct arcp__operator_socket {
    char path[4096];
    arcp_runtime *runtime;
    arcp__logger *logger;
    size_t frame_bytes_max;
    int fd; /* -1: not open */
    uv_poll_t poll;
    uv_timer_t retry;
    unsigned connections;
    bool is_for_root; /* not for arcpd's own user */
    ino_t inode;      /* of the file at `path` */
    dev_t device;
} arcp__operator_socket;

/* The first agent or server of tools that may run as arcpd's user without a sandbox; NULL: there is
 * none. */
const char *arcp__operator_socket_intruder(const arcp__config *config);

/* Listens. What fails is logged: arcpd serves without the socket. */
void arcp__operator_socket_open(arcp__operator_socket *at, uv_loop_t *loop,
                                const arcp__config *config);
/* Looks at the agents of a new configuration. */
void arcp__operator_socket_reload(arcp__operator_socket *at, const arcp__config *config);
/* Its connections are the runtime's. The loop has to run once more. */
void arcp__operator_socket_close(arcp__operator_socket *at);

/* ---- listeners.c ---- */

#define ARCP__PASSED_SOCKETS_MAX 64u

/* Listening sockets that arcpd was started with. */
typedef struct arcp__passed_sockets {
    int fds[ARCP__PASSED_SOCKETS_MAX]; /* -1: a listener has it */
    size_t count;
    bool has_more; /* than that */
} arcp__passed_sockets;

/* Reads LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES (sd_listen_fds(3)), and removes them from the
 * environment, so that no child takes the sockets for its own. */
void arcp__passed_sockets_find(arcp__passed_sockets *sockets);
/* Opens the listeners of `listen`, each with the passed socket at its address or else a new one,
 * and appends their URLs to the ready line. ARCP_E_USAGE for a passed socket that no listener
 * takes. */
ARCP_MUST_CHECK arcp_status arcp__listeners_open(arcp_runtime *runtime, const arcp__config *config,
                                                 arcp__passed_sockets *sockets,
                                                 arcp__dashboards *dashboards, arcp_buf *ready,
                                                 arcp_error *err);

/* ---- status.c ---- */

/* The HTTP server for /metrics, /healthz, /readyz and /enforcement, and arcpd's own metrics. It
 * serves GET and HEAD without TLS and authentication, so it belongs on loopback or behind a proxy
 * that has both.
 */

#define ARCP__STATUS_CONNECTIONS_MAX 32u
#define ARCP__STATUS_HEAD_BYTES_MAX  8192u

typedef struct arcp__status {
    arcp__web_server *server; /* NULL: not configured */
    const arcp_runtime *runtime;
    const arcp__audit_trail *audit;
    const arcp__trace_export *traces;
    char store_path[4096]; /* of the database; "": none */
    int64_t started_wall_ns;
    bool reload_failed; /* the last reload was refused */
} arcp__status;

/* Parses the ADDRESS:PORT of http.listen. ARCP_E_USAGE says what is expected. */
ARCP_MUST_CHECK arcp_status arcp__status_listen_parse(const char *listen, arcp__authority *out,
                                                      arcp_error *err);

/* Listens on http.listen, if it is configured. `directory` is the state directory, in which the
 * default store is. */
ARCP_MUST_CHECK arcp_status arcp__status_open(arcp__status *status, uv_loop_t *loop,
                                              const arcp__config *config, const char *directory,
                                              arcp_error *err);
void arcp__status_close(arcp__status *status);

#endif
