/* What the daemon is made of, beside its configuration. */
#ifndef ARCP_ARCPD_ARCPD_H
#define ARCP_ARCPD_ARCPD_H

#include <pthread.h>
#include <uv.h>

#include <arcp/error.h>
#include <arcp/runtime.h>
#include <arcp/sys/launcher.h>
#include <arcp/token.h>

#include "arcpd/config.h"
#include "audit/audit_log.h"
#include "identity/identity.h"
#include "tracing/span_exporter.h"
#include "web/server.h"

/* ---- module.c: what is loaded only when it is configured ---- */

/* Loads NAME.so from where it was installed, or beside this program in a build tree, and finds
 * its one function: `function` points to a pointer to it. *module is for arcp__module_close.
 * ARCP_E_USAGE: it cannot be loaded; the message begins with `key`, which asks for it. */
ARCP_MUST_CHECK arcp_status arcp__module_open(const char *name, const char *symbol, const char *key,
                                              void **module, void *function, arcp_error *err);
void arcp__module_close(void *module); /* NULL is accepted */

/* Whether what lies in the directory can be loaded: it belongs to root, to us or to the owner of
 * this program, and not everybody may write to it. */
bool arcp__module_directory_is_safe(const char *path);

/* ---- trusted_path.c ---- */

/* Which files arcpd believes: those that nobody can change but root and its own user, as sshd's
 * StrictModes wants them. A file, and each directory above it up to the root, must belong to one of
 * these two and be writable by no others; a directory of mode 1777 (/tmp) passes, since what
 * stands in it is checked as well, and so does a group that has no member but the owner. Of a
 * symbolic link the link and the directories above it are checked like what it leads to.
 *
 * Nothing is opened for reading, so that no FIFO can block. What the starting program has opened
 * itself (/dev/stdin, /dev/fd/N) is not looked at, nor is /dev/null. */

typedef enum arcp__trusted_kind {
    ARCP__TRUSTED_FILE,     /* a regular file that others cannot change */
    ARCP__TRUSTED_SECRET,   /* nor read; a group may */
    ARCP__TRUSTED_DIRECTORY /* others cannot make or rename anything in it */
} arcp__trusted_kind;

/* `what` begins the message: "token_file". Of a path that does not exist the directories above it
 * are checked, since a file may be made there; that it is missing is said by who opens it.
 * ARCP_E_USAGE names the path, what is wrong with it and how to mend that. */
ARCP_MUST_CHECK arcp_status arcp__trusted_path_check(const char *what, const char *path,
                                                     arcp__trusted_kind kind, arcp_error *err);

/* ---- directories.c: where arcpd keeps what it must remember, and where its jobs work ---- */

typedef struct arcp__directories {
    char state[3072];  /* $STATE_DIRECTORY, else $XDG_STATE_HOME/arcp, else ~/.local/state/arcp */
    char work[3200];   /* its subdirectory `work`, or, for agents of other users that cannot enter
                          a home directory, /var/lib/arcp/work */
    char closed[3200]; /* on the way to `work`, closed to other users; "": none */
} arcp__directories;

/* Finds them and makes what is missing. The state directory is for its owner only; where agents
 * have users of their own, these may pass through it to `work`, and list neither. ARCP_E_USAGE when
 * others can change it (trusted_path.h), ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__directories_find(arcp__directories *out, bool has_other_users,
                                                   arcp_error *err);

/* The same without making or changing anything: only `state` is named, and refused where others can
 * change it. */
ARCP_MUST_CHECK arcp_status arcp__directories_look(arcp__directories *out, arcp_error *err);

/* A name that begins with / as it is, any other in the directory. False: it is too long. */
ARCP_MUST_CHECK bool arcp__path_in(const char *directory, const char *name, char *out, size_t size);

/* Appends the URL of the store, the configuration's or that of arcp.db in the state directory, and
 * an end of string. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__store_url(const arcp__config *config,
                                            const arcp__directories *directories, arcp_buf *out,
                                            arcp_error *err);

/* ARCP_E_USAGE when the URL names a file that others can change or read. */
ARCP_MUST_CHECK arcp_status arcp__store_check_trust(const char *url, arcp_error *err);

/* ---- arguments.c ---- */

/* The command line. Its tokens are copied and wiped where other users could see them; what
 * SIGHUP reads again is the copy. */

typedef struct arcp__arguments {
    const char *config_path; /* of argv; NULL: no file */
    bool only_checks;        /* --check-config */
    bool only_checks_store;  /* --check-store */
    bool wants_help, wants_version;
    const char *record_path; /* of argv; NULL: nothing is recorded */
    uint64_t record_bytes;   /* at most */
} arcp__arguments;

extern const char arcp__arcpd_help[]; /* what --help prints */

/* What decides how to begin. ARCP_E_USAGE names a flag that there is not, that lacks its value
 * or has none to take, and a word that belongs to no flag. */
ARCP_MUST_CHECK arcp_status arcp__arguments_look(int argc, char **argv, arcp__arguments *out,
                                                 arcp_error *err);

/* The flags into the configuration; they win over what it has: the first --listen replaces all
 * of the file's. `argv` has passed arcp__arguments_look. ARCP_E_USAGE names the flag. */
ARCP_MUST_CHECK arcp_status arcp__arguments_apply(int argc, char **argv, arcp__config *config,
                                                  arcp_error *err);

/* A copy of the arguments; NULL when out of memory. */
char **arcp__arguments_copy(int argc, char *const *argv);
/* Wipes the copy (NULL is accepted) and frees it. */
void arcp__arguments_free(int argc, char **copy);

/* Overwrites the values of --token in argv, which every user can see in /proc. */
void arcp__arguments_wipe(int argc, char *const *argv);

/* ---- tokens.c ---- */

/* Who may come in: the verifiers of tokens that the configuration asks for, and whether
 * they are enough for where we listen. */

typedef struct arcp__verifiers {
    arcp_token_verifier **items; /* owned, and so are they */
    size_t count;
} arcp__verifiers;

void arcp__verifiers_fini(arcp__verifiers *verifiers);
/* The runtime takes them over in any case. */
ARCP_MUST_CHECK arcp_status arcp__verifiers_give(arcp__verifiers *verifiers, arcp_runtime *runtime,
                                                 arcp_error *err);

/* Whether the operator gave tokens, or a way to verify them. */
bool arcp__config_has_tokens(const arcp__config *config);

/* Reads every file that the configuration names for tokens. On failure `out` is untouched.
 * Without tokens of the operator's, and with authentication, the one in `state_directory`/
 * token is taken (made with mode 0600 when it is not there) for the principal `local`. */
ARCP_MUST_CHECK arcp_status arcp__verifiers_make(const arcp__config *config,
                                                 const char *state_directory, arcp__verifiers *out,
                                                 arcp_error *err);
/* Whether the configured ones can be made, and what they have; makes nothing on disk. */
ARCP_MUST_CHECK arcp_status arcp__verifiers_check(const arcp__config *config,
                                                  arcp__token_facts *facts, arcp_error *err);
arcp__token_facts arcp__verifiers_look(const arcp__verifiers *verifiers);

/* Whether a ws:// or wss:// URL always means this machine. */
bool arcp__listen_is_loopback(const char *text);
/* Beyond loopback only with tokens of the operator's own. ARCP_E_USAGE names the URL. */
ARCP_MUST_CHECK arcp_status arcp__listen_is_safe(const arcp__config *config,
                                                 const arcp__text_list *listen, arcp_error *err);

/* ---- config_warnings.c ---- */

/* What is allowed and a risk, or would fail later: said at the start, at a reload and by
 * --check-config. */

/* One line without its end. */
typedef void (*arcp__config_warn_fn)(void *user, const char *text);

typedef enum arcp__config_moment {
    ARCP__CONFIG_START, /* and a reload: the runtime itself says what it cannot start */
    ARCP__CONFIG_CHECK
} arcp__config_moment;

/* Calls `warn` for each warning. `tokens` are those of the configuration's verifiers. Looks at
 * files and users, and changes nothing. */
void arcp__config_warn(const arcp__config *config, const arcp__token_facts *tokens,
                       arcp__config_moment moment, arcp__config_warn_fn warn, void *user);

/* ---- checks.c: what arcpd does instead of running: --check-config and --check-store ---- */

/* Prints the configuration. */
ARCP_MUST_CHECK arcp_status arcp__check_config(const arcp__config *config, arcp_error *err);

/* Prints a line for each damage of the store, or one that says what was found whole.
 * ARCP_E_CORRUPT: there was damage. ARCP_E_EXISTS while a process has the store, ARCP_E_USAGE when
 * none is kept, ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__check_store(const arcp__config *config, arcp_error *err);

/* ---- logger.c: logs to standard error, decisions to the audit trail ---- */

typedef struct arcp__audit_trail arcp__audit_trail;

typedef struct arcp__logger {
    int level;
    arcp__log_format format;
    arcp__audit_trail *audit; /* NULL: none */
    uint64_t lost;            /* lines, since one could be written */
} arcp__logger;

/* One line to standard error; `user` is the logger. Where that is a pipe or a socket whose reader
 * does not read, lines are dropped and counted rather than waited for: nobody's jobs stand still
 * for it. The next line that is written has the number before it. */
void arcp__logger_log(void *user, arcp_log_level level, const char *text);
/* The same with fields: a JSON object, or "". As JSON they are members of the line; as text they
 * stand before the message as [name=value ...], a value in quotes if it has blanks, quotes,
 * brackets, = or \, so that nothing that an agent or a peer says can imitate them. */
void arcp__logger_log_fields(void *user, arcp_log_level level, const char *text,
                             const char *fields);
void arcp__logger_say(arcp__logger *logger, arcp_log_level level, const char *format, ...)
    ARCP_PRINTF(3, 4);

/* ---- notice.c ---- */

/* What a thread says to the loop: that it begins to fail, and why, or that it works again. */
typedef struct arcp__notice {
    uv_async_t async;
    void (*changed)(void *user, const char *why);
    void *user;
    pthread_mutex_t lock; /* for what follows */
    bool fails;
    char why[256];
} arcp__notice;

/* `changed` gets the last that was sent, on the loop's thread; NULL: it works. `of`: whose it is,
 * for people. */
ARCP_MUST_CHECK arcp_status arcp__notice_open(arcp__notice *notice, uv_loop_t *loop, const char *of,
                                              void (*changed)(void *user, const char *why),
                                              void *user, arcp_error *err);
/* `user` is the notice. Any thread. */
void arcp__notice_send(void *user, const char *why);
/* Nobody sends any more. The memory stays until the loop ran. */
void arcp__notice_close(arcp__notice *notice);

/* ---- audit_trail.c ---- */

/* arcpd's side of the audit log: from the runtime's records to the file, and back what the
 * file's state means for the runtime. */

struct arcp__audit_trail {
    arcp__audit_log *log;  /* NULL: there is none */
    arcp_runtime *runtime; /* NULL: nobody is told */
    arcp__logger *logger;
    bool is_failing; /* as the runtime was told */
    arcp__notice notice;
};

/* Opens the log, if the configuration names one, relative to `directory`. */
ARCP_MUST_CHECK arcp_status arcp__audit_trail_open(arcp__audit_trail *trail, uv_loop_t *loop,
                                                   const arcp__config *config,
                                                   const char *directory, arcp__logger *logger,
                                                   arcp_error *err);

/* Who is told when records cannot be kept; NULL: nobody any more. */
void arcp__audit_trail_attach(arcp__audit_trail *trail, arcp_runtime *runtime);

/* Takes a record of the runtime. */
void arcp__audit_trail_append(arcp__audit_trail *trail, const char *record);

/* A runtime's audit_barrier; `user` is the trail. */
void arcp__audit_trail_barrier(void *user, bool must_wait);

/* Records what tokens, agents and policies the daemon works with from now on, or why a
 * reload was refused (`refusal`). `cause`: start, or SIGHUP. */
void arcp__audit_trail_policy(arcp__audit_trail *trail, const char *cause,
                              const arcp__config *config, const arcp_error *refusal);

/* New settings; and the file may have been moved away (SIGHUP). */
void arcp__audit_trail_reload(arcp__audit_trail *trail, const arcp_settings *settings);

/* Writes what is left and closes the file. */
void arcp__audit_trail_close(arcp__audit_trail *trail);

/* ---- credentials.c: from the configuration's part `credentials:` to a provisioner ---- */

/* What a provisioner borrows. It must live longer than the provisioner. */
typedef struct arcp__credentials {
    char key_file[4096];
    char used_file[4096];
    void *module; /* of dlopen */
} arcp__credentials;

/* *out is NULL for `none`. The provisioner borrows what `config` points to: a reload leaves that in
 * effect. `directory` is the state directory. Errors as the provisioners have them, and
 * ARCP_E_USAGE for a file that cannot be read or a module that is not there. */
ARCP_MUST_CHECK arcp_status arcp__credentials_open(arcp__credentials *self,
                                                   const arcp__config_credentials *config,
                                                   struct uv_loop_s *loop, const char *directory,
                                                   arcp_provisioner **out, arcp_error *err);
/* After the provisioner was freed and the loop ran. */
void arcp__credentials_close(arcp__credentials *self);

/* ---- service.c ---- */

/* What the configuration lets the runtime offer, and to whom: agents, policies and peer
 * profiles. */

/* Offers what `config` says, and nothing else from now on; jobs and sessions that exist keep what
 * they have. Agents get `files`, unless the configuration says otherwise. On an error a part is
 * offered: offer another configuration, or end. */
ARCP_MUST_CHECK arcp_status arcp__service_offer(arcp_runtime *runtime, const arcp__config *config,
                                                const arcp_launch_limit *files, arcp_error *err);

/* ---- trace_export.c ---- */

/* arcpd's side of spans: from the runtime to the module that sends them. */

typedef struct arcp__trace_export {
    arcp__span_exporter *exporter; /* NULL: not configured */
    void *module;
    uint64_t flush_ms;
    arcp__logger *logger;
    bool is_dropping; /* it was said that spans find no room */
    arcp__notice notice;
} arcp__trace_export;

/* Loads the module and starts it, if an endpoint is configured. What config->tracing points to is
 * borrowed until it is closed: a reload leaves that as it is. ARCP_E_USAGE: no module, or a header
 * is wrong. */
ARCP_MUST_CHECK arcp_status arcp__trace_export_open(arcp__trace_export *self, uv_loop_t *loop,
                                                    const arcp__config *config,
                                                    arcp__logger *logger, arcp_error *err);

/* A runtime's trace_span; `user` is the arcp__trace_export. */
void arcp__trace_export_add(void *user, arcp_span json);

/* Sends what is left, within tracing.otlp.flush_ms. */
void arcp__trace_export_close(arcp__trace_export *self);

/* ---- record.c ---- */

/* Where --record writes. */
typedef struct arcp__record {
    const char *path; /* borrowed; NULL: nothing is recorded */
    int fd;           /* -1: it has ended */
    uint64_t left;    /* bytes that it may still have */
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

/* What SIGUSR1 asks for: state.jsonl in the state directory. */
typedef struct arcp__state_dump {
    arcp_runtime *runtime; /* NULL: none any more */
    arcp__logger *logger;
    char path[4096];
    uv_signal_t signal;
    uv_work_t work;     /* writes `text` */
    arcp_buf text;      /* the loop's, but while the work is under way */
    arcp_status status; /* of the work; likewise */
    arcp_error error;   /* likewise */
    int pid_fd;         /* holds the lock on arcpd.pid; -1: another arcpd has it */
    bool is_open, is_writing, is_asked_again;
} arcp__state_dump;

/* Begins to handle SIGUSR1. A failure is logged. */
void arcp__state_dump_open(arcp__state_dump *dump, uv_loop_t *loop, const char *directory,
                           arcp_runtime *runtime, arcp__logger *logger);
/* Before the runtime is freed; the memory stays until the loop ran. */
void arcp__state_dump_close(arcp__state_dump *dump);

/* ---- status.c ---- */

/* What arcpd tells those who watch it, besides the runtime's own figures, and /metrics, /healthz
 * and /readyz, where they get it: GET and HEAD only, no TLS, no authentication, so that it belongs
 * on loopback or behind what has both. */

#define ARCP__STATUS_CONNECTIONS_MAX 32u
#define ARCP__STATUS_HEAD_BYTES_MAX  8192u

typedef struct arcp__status {
    arcp__web_server *server; /* NULL: not configured */
    const arcp_runtime *runtime;
    const arcp__audit_trail *audit;
    const arcp__trace_export *traces;
    char store_path[4096]; /* of the database; empty: none */
    int64_t started_wall_ns;
    bool reload_failed; /* the last one */
} arcp__status;

/* ADDRESS:PORT, as http.listen has to be written. ARCP_E_USAGE says what would be right. */
ARCP_MUST_CHECK arcp_status arcp__status_listen_parse(const char *listen, arcp__authority *out,
                                                      arcp_error *err);

/* Listens where http.listen says, if it does. `directory`: the state's, where the default store
 * is. */
ARCP_MUST_CHECK arcp_status arcp__status_open(arcp__status *status, uv_loop_t *loop,
                                              const arcp__config *config, const char *directory,
                                              arcp_error *err);
void arcp__status_close(arcp__status *status);

#endif
