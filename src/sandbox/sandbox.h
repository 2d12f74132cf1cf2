/* The plan of a sandbox: which lines of a lease a host enforces, how exactly, and by what.
 *
 * A plan is compiled from a lease, the configuration of the agent, and what the host can do. The
 * program arcp-sandbox gets it as text and carries it out literally. What the host cannot express
 * is granted less, never more: every line has a verdict, and a note that says why it is not exact.
 *
 * Pure: no file is looked at, no clock, no global. The same request gives the same bytes. Any
 * thread. */
#ifndef ARCP_SANDBOX_SANDBOX_H
#define ARCP_SANDBOX_SANDBOX_H

#include <arcp/buf.h>
#include <arcp/error.h>
#include <arcp/gate.h>
#include <arcp/lease.h>

#include "core/capability.h"

/* What arcp-sandbox found that it can do here: 0 is no, 1 yes, a number where the row says so. */
typedef enum arcp__sandbox_ability {
#define ARCP_SANDBOX_ABILITY(id, name, kind, lost, remedy) ARCP__SANDBOX_ABILITY_##id,
#include "sandbox/sandbox_ability.def"
#undef ARCP_SANDBOX_ABILITY
    ARCP__SANDBOX_ABILITY_COUNT
} arcp__sandbox_ability;

typedef struct arcp__sandbox_abilities {
    uint32_t values[ARCP__SANDBOX_ABILITY_COUNT];
} arcp__sandbox_abilities;

typedef enum arcp__sandbox_level {
    ARCP__SANDBOX_LEVEL_NONE = 0, /* nothing can be started confined */
    ARCP__SANDBOX_LEVEL_LANDLOCK, /* no namespaces of its own */
    ARCP__SANDBOX_LEVEL_FULL,
    ARCP__SANDBOX_LEVEL_COUNT
} arcp__sandbox_level;

/* The order is that of enforce.min: a line is admitted when its verdict is not above the minimum;
 * REFUSED counts as UNDER there. */
typedef enum arcp__sandbox_verdict {
#define ARCP_SANDBOX_VERDICT(id, name, text) ARCP__SANDBOX_VERDICT_##id,
#include "sandbox/sandbox_verdict.def"
#undef ARCP_SANDBOX_VERDICT
    ARCP__SANDBOX_VERDICT_COUNT
} arcp__sandbox_verdict;

typedef enum arcp__sandbox_mechanism {
#define ARCP_SANDBOX_MECHANISM(id, name, text) ARCP__SANDBOX_MECHANISM_##id,
#include "sandbox/sandbox_mechanism.def"
#undef ARCP_SANDBOX_MECHANISM
    ARCP__SANDBOX_MECHANISM_COUNT
} arcp__sandbox_mechanism;

/* Why a line is not exact, or what a reader must know; NONE has no text. */
typedef enum arcp__sandbox_note {
#define ARCP_SANDBOX_NOTE(id, name, text) ARCP__SANDBOX_NOTE_##id,
#include "sandbox/sandbox_note.def"
#undef ARCP_SANDBOX_NOTE
    ARCP__SANDBOX_NOTE_COUNT
} arcp__sandbox_note;

/* What is started. */
typedef enum arcp__sandbox_origin {
    ARCP__SANDBOX_ORIGIN_JOB, /* an agent's process, for one job */
    ARCP__SANDBOX_ORIGIN_RUN, /* the command of `arcp run` */
    /* A command that is not confined: what it does is written down, to make a lease for it. The
     * plan must not be used for anything else. */
    ARCP__SANDBOX_ORIGIN_LEARN,
    ARCP__SANDBOX_ORIGIN_COUNT
} arcp__sandbox_origin;

/* Whether the `.git` at the root of a writable tree is protected. */
typedef enum arcp__sandbox_protect {
    ARCP__SANDBOX_PROTECT_NONE,
    ARCP__SANDBOX_PROTECT_COMMITS, /* hooks and config are read-only; commit works */
    ARCP__SANDBOX_PROTECT_STRICT,  /* the whole .git is read-only */
    ARCP__SANDBOX_PROTECT_COUNT
} arcp__sandbox_protect;

/* Limits that a cgroup of the process can have. */
enum {
    ARCP__SANDBOX_LIMIT_MEMORY = 1,
    ARCP__SANDBOX_LIMIT_CPU = 2,
    ARCP__SANDBOX_LIMIT_PIDS = 4,
    ARCP__SANDBOX_LIMITS_ALL = 7
};

/* 0: not limited. */
typedef struct arcp__sandbox_limits {
    uint64_t scratch_bytes; /* /tmp, HOME and /dev/shm together */
    uint64_t memory_bytes;  /* without a cgroup: the data of each process (RLIMIT_DATA) */
    uint32_t cpu_percent;   /* of one processor; only a cgroup limits it */
    uint32_t pids;
    uint32_t by_cgroup; /* ARCP__SANDBOX_LIMIT_...: set by the starter, in a cgroup */
} arcp__sandbox_limits;

/* Processes and threads of arcp-sandbox itself, which a cgroup counts, too. */
#define ARCP__SANDBOX_OWN_PIDS 6

/* Those of the limits that nothing but a cgroup can hold on a host with these abilities, as bits:
 * namespaces limit the number of processes, but not everywhere. */
unsigned arcp__sandbox_cgroup_limits(const arcp__sandbox_limits *limits,
                                     const arcp__sandbox_abilities *abilities);

#define ARCP__SANDBOX_EXEMPT_MAX 32

/* Inside, at level full, where TLS is terminated: a directory with the certificate of the job's
 * authority, and with those that the host trusts and that one. In /dev, which is never the host's.
 */
#define ARCP__SANDBOX_CA_DIRECTORY "/dev/arcp"
#define ARCP__SANDBOX_CA_FILE      "ca.pem"
#define ARCP__SANDBOX_CA_BUNDLE    "ca-certificates.crt"

/* Listeners of every sandbox that has a network, beside those of its plan's ports. */
#define ARCP__SANDBOX_PORT_DNS   53
#define ARCP__SANDBOX_PORT_PROXY 3128 /* CONNECT, and requests in absolute form */
/* Each is a descriptor of the process that serves them. */
#define ARCP__SANDBOX_PORTS_MAX 256

/* Everything is borrowed during the call. Paths are absolute and canonical (no `.`, `..`, empty
 * segment or slash at the end), and are UTF-8. */
typedef struct arcp__sandbox_request {
    const arcp_lease *lease;
    arcp__sandbox_origin origin;
    arcp_span cwd;     /* of relative patterns and of the program, on the host */
    bool cwd_is_fresh; /* made for this job: writable, seen as /job at level full */
    arcp_span home;    /* HOME inside; a system directory stands for /home/agent */
    /* Level landlock: a directory of the host that was made for this sandbox, with the writable
     * directories `home` and `tmp` in it. Empty: HOME and TMPDIR cannot be written at that level.
     */
    arcp_span scratch;
    /* Files and directories that the program may read and execute whatever its lease says: what its
     * command needs (launch finds these) and what the operator added. */
    const arcp_span *bases;
    size_t base_count;
    /* The runtime's own files and directories: never granted. Each as it is given and, where that
     * differs, as it is resolved on the host. */
    const arcp_span *own;
    size_t own_count;
    /* Those of `own` that are no directories. Another file can take the name of a file at any time,
     * and what was mounted over the old one does not cover the new one. So no directory that holds
     * one of them is mounted. Names that are made of such a file's name and a suffix that begins
     * with '.', '-' or '~' are the runtime's own, too: rotated logs, journals, backups. */
    const arcp_span *own_files;
    size_t own_file_count;
    /* URL that the job's credential is for, http or https: its host and port can be reached as if
     * net.fetch named them. Empty: there is none. */
    arcp_span endpoint;
    arcp__sandbox_protect protect;
    arcp__sandbox_limits limits;
    arcp__sandbox_abilities abilities;
    arcp__sandbox_verdict min; /* EXACT, UNDER or ADVISORY: lines below it refuse the plan */
    /* Capabilities that `min` does not apply to; one that ends with '.' is a prefix. */
    const arcp_span *exempt;
    size_t exempt_count;
    /* Egress terminates TLS to hosts that the lease grants in part, and the program trusts its
     * certificates. */
    bool tls_terminate;
    /* The lease is that of one job of a process that runs others, too, whose sandbox is not made
     * for it: of files and of the network only what the program asks about is decided. */
    bool is_shared;
    /* The program may be started before its lease is known (arcp__sandbox_plan.is_late), if the
     * lease can be enforced in that way, and `min` accepts it. */
    bool may_be_late;
    /* Hosts that no connection leads to, because models there are called by the gateway: as URLs
     * have them, with a port where only that one counts. */
    const arcp_span *model_hosts;
    size_t model_host_count;
    /* A gateway for models, and one for tools. With one
     * of them the sandbox has a network even if its lease has no net.fetch. */
    bool has_model_gateway, has_tool_gateway;
    /* The program goes on when its lease has expired, or when a budget is used up, and only what
     * the runtime decides ends then. */
    bool outlasts_expiry, outlasts_budget;
    bool has_terminal; /* stdin is one: /dev/tty is there */
    bool hides;        /* what is not granted does not exist, also where it could be denied */
    bool is_silent;    /* what the kernel denies by itself is not reported */
} arcp__sandbox_request;

/* Sets min, the exempt capabilities (a static list) and the limits to what they are unless an
 * operator chooses otherwise. */
void arcp__sandbox_request_defaults(arcp__sandbox_request *request);

/* The lines of a report, in the order of the lease; then those that the operator gave. */
typedef struct arcp__sandbox_line {
    arcp_span capability; /* "base" and "limit" for lines that are not of the lease */
    arcp_span pattern;
    arcp__sandbox_verdict verdict;
    arcp__sandbox_mechanism mechanism;
    arcp__sandbox_note note;
} arcp__sandbox_line;

/* How a path of the host gets into the view (level full). In the order in which they are mounted,
 * parents first. The helper makes /proc and /dev itself, before all others but ROOT. */
typedef enum arcp__sandbox_mount_kind {
    ARCP__SANDBOX_MOUNT_ROOT, /* the host's whole tree is the root (a lease of `/` `**`) */
    ARCP__SANDBOX_MOUNT_BASE, /* of the host's system: a link is copied, absence is accepted */
    ARCP__SANDBOX_MOUNT_ETC,  /* the prepared /etc; made by the helper's starter */
    ARCP__SANDBOX_MOUNT_TREE, /* a directory that the lease grants; only that of a job may be
                                 absent: reported */
    ARCP__SANDBOX_MOUNT_FILE, /* a file that the lease grants; absent, or a directory: reported */
    ARCP__SANDBOX_MOUNT_PRIVATE, /* an empty directory of the scratch file system */
    ARCP__SANDBOX_MOUNT_FRESH,   /* the job's own directory */
    ARCP__SANDBOX_MOUNT_PIN,     /* a directory bound on itself, so that it cannot be renamed */
    ARCP__SANDBOX_MOUNT_GIT,     /* the protection of TARGET/.git, when there is one */
    ARCP__SANDBOX_MOUNT_COVER,   /* an empty read-only file or directory over what is there; nothing
                                    where there is nothing to cover */
    ARCP__SANDBOX_MOUNT_KIND_COUNT
} arcp__sandbox_mount_kind;

typedef struct arcp__sandbox_mount {
    arcp__sandbox_mount_kind kind;
    arcp_span source; /* on the host; empty when the sandbox makes it */
    arcp_span target; /* inside */
    bool is_writable;
} arcp__sandbox_mount;

/* Rights of a Landlock rule. */
enum {
    ARCP__SANDBOX_READ = 1,    /* open files and list directories */
    ARCP__SANDBOX_EXECUTE = 2, /* execute files */
    ARCP__SANDBOX_WRITE = 4,   /* write, truncate, create, remove, rename */
};

/* What a path is to a sandbox. */
typedef enum arcp__sandbox_class {
    ARCP__SANDBOX_CLASS_OUTSIDE, /* nothing of the plan is there */
    ARCP__SANDBOX_CLASS_OWN,     /* the runtime's own: denied, whatever the lease says */
    ARCP__SANDBOX_CLASS_SYSTEM,  /* /proc, /sys, /dev */
    ARCP__SANDBOX_CLASS_BASE,    /* what programs need */
    ARCP__SANDBOX_CLASS_PRIVATE, /* a private place, or the job's fresh directory */
    ARCP__SANDBOX_CLASS_LEASE,   /* a directory or a file that the lease grants */
    ARCP__SANDBOX_CLASS_COUNT
} arcp__sandbox_class;

/* The path is one inside the sandbox; an absent one is skipped. The rights are of it and of
 * everything below it. A rule of a literal pattern is of a file: Landlock cannot grant a directory
 * without all that is in it, so a directory at that path gets nothing. */
typedef struct arcp__sandbox_rule {
    arcp_span path;
    uint32_t rights;
    bool is_file;
    arcp__sandbox_class class; /* who gave it: LEASE, BASE, PRIVATE or SYSTEM */
} arcp__sandbox_rule;

/* Why the plan must not be started. */
typedef enum arcp__sandbox_refusal {
    ARCP__SANDBOX_REFUSAL_NONE,
    ARCP__SANDBOX_REFUSAL_LEVEL, /* the host's level is NONE: AGENT_NOT_AVAILABLE */
    ARCP__SANDBOX_REFUSAL_LINE,  /* a line is below the minimum: PERMISSION_DENIED */
    ARCP__SANDBOX_REFUSAL_COUNT
} arcp__sandbox_refusal;

/* Immutable. One allocation holds all arrays and texts; a NUL follows each text. */
typedef struct arcp__sandbox_plan {
    arcp__sandbox_origin origin;
    arcp__sandbox_level level;
    arcp__sandbox_abilities abilities; /* of the request: the helper uses no other */
    arcp__sandbox_refusal refusal;
    size_t refused_line; /* REFUSAL_LINE: index in lines */
    arcp__sandbox_verdict min;
    const arcp__sandbox_line *lines;
    size_t line_count;
    /* The first of lines: those of the lease, and one "credential", whose pattern is the host and
     * port of request.endpoint; `min` does not apply to it. */
    size_t lease_line_count;
    const arcp__sandbox_mount *mounts;
    size_t mount_count;
    const arcp__sandbox_rule *rules; /* directories before what they hold */
    size_t rule_count;
    /* What the broker decides by: absolute patterns, those of trees and files included. */
    const arcp_span *reads, *writes;
    size_t read_count, write_count;
    const arcp_span *own; /* of the request, as own_files */
    size_t own_count;
    const arcp_span *own_files;
    size_t own_file_count;
    /* TCP ports that egress listens on inside, without the two of every network; none: no network
     * at all. At most ARCP__SANDBOX_PORTS_MAX, ascending. */
    const uint16_t *ports;
    size_t port_count;
    /* Level landlock: the network is a proxy on a port of the host's loopback interface, which is
     * all that the program can connect to. Then there are no ports. */
    bool has_proxy;
    bool has_broker; /* the broker decides by reads and writes what the kernel does not grant */
    /* No mount and no rule is of the lease: the broker serves all of it, so that a program can be
     * started before its lease is known. Its network has the ports of every network. */
    bool is_late;
    bool hides; /* of the request, as is_silent */
    bool is_silent;
    arcp_span cwd;   /* inside; an empty read-only directory when no mount brings it */
    arcp_span home;  /* HOME inside */
    arcp_span tmp;   /* TMPDIR inside */
    arcp_span fresh; /* the job's own directory inside; empty: it has none */
    arcp__sandbox_protect protect;
    arcp__sandbox_limits limits;
    bool has_terminal;
} arcp__sandbox_plan;

/* Compiles. ARCP_E_NO_MEMORY, ARCP_E_USAGE for a path that is not canonical. A plan that is refused
 * is ARCP_OK: ask plan->refusal. The caller frees *out. */
ARCP_MUST_CHECK arcp_status arcp__sandbox_plan_new(const arcp__sandbox_request *request,
                                                   arcp__sandbox_plan **out, arcp_error *err);
void arcp__sandbox_plan_free(arcp__sandbox_plan *plan); /* NULL is accepted */

/* The plan as a versioned JSON text, for arcp-sandbox, and back. decode(encode(x)) = x, and
 * encode(decode(t)) = t for every text that decode accepts. ARCP_E_INVALID_REQUEST names the member
 * that is wrong; ARCP_E_NO_MEMORY. */
void arcp__sandbox_plan_encode(const arcp__sandbox_plan *plan, arcp_buf *out);
ARCP_MUST_CHECK arcp_status arcp__sandbox_plan_decode(arcp_span text, arcp__sandbox_plan **out,
                                                      arcp_error *err);

/* ---- a lease that comes when the program runs (plans that are late) ---- */

/* The plan by which a program is started before it has the lease of `plan`, which is late: the
 * same without a lease. ARCP_E_NO_MEMORY. The caller frees *out. */
ARCP_MUST_CHECK arcp_status arcp__sandbox_plan_before_lease(const arcp__sandbox_plan *plan,
                                                            arcp__sandbox_plan **out,
                                                            arcp_error *err);

/* Whether a program that was started by `waiting`, which has no lease, may get the lease of `plan`:
 * both are late, and differ in nothing else but the directories that were made for each. */
ARCP_MUST_CHECK bool arcp__sandbox_plan_takes(const arcp__sandbox_plan *waiting,
                                              const arcp__sandbox_plan *plan);

/* The plan of the program once it has the lease, which it takes: what `waiting` has made, what
 * `plan` grants, and the job's directory by the name that it has in `plan`. ARCP_E_NO_MEMORY. The
 * caller frees *out. */
ARCP_MUST_CHECK arcp_status arcp__sandbox_plan_with_lease(const arcp__sandbox_plan *waiting,
                                                          const arcp__sandbox_plan *plan,
                                                          arcp__sandbox_plan **out,
                                                          arcp_error *err);

/* The pattern of net.fetch that the job's credential brings; empty: none, or it is refused here. */
arcp_span arcp__sandbox_credential(const arcp__sandbox_plan *plan);

/* Whether a line of the plan needs TLS to be terminated: then the sandbox needs an authority. */
ARCP_MUST_CHECK bool arcp__sandbox_terminates(const arcp__sandbox_plan *plan);

/* Whether the path is one of the runtime's own, or below one. */
ARCP_MUST_CHECK bool arcp__sandbox_is_own(const arcp__sandbox_plan *plan, arcp_span path);

/* Whether a file of the runtime's is below the directory, and in no directory that is the runtime's
 * as a whole. */
ARCP_MUST_CHECK bool arcp__sandbox_holds_own_file(const arcp__sandbox_plan *plan,
                                                  arcp_span directory);

/* Whether the kernel grants what the pattern of fs.read or fs.write matches: all below a directory
 * that is mounted, or that a rule is of. The broker serves all other patterns. */
ARCP_MUST_CHECK bool arcp__sandbox_is_kernels(const arcp__sandbox_plan *plan,
                                              arcp__capability capability, arcp_span pattern);

/* The paths of a plan, prepared for many questions. Borrows the plan. Any number of threads. */
typedef struct arcp__sandbox_paths arcp__sandbox_paths;

/* ARCP_E_NO_MEMORY. The caller frees *out. */
ARCP_MUST_CHECK arcp_status arcp__sandbox_paths_new(const arcp__sandbox_plan *plan,
                                                    arcp__sandbox_paths **out, arcp_error *err);
void arcp__sandbox_paths_free(arcp__sandbox_paths *paths); /* NULL is accepted */

/* What mounts and rules make of a canonical absolute path, links apart. */
typedef struct arcp__sandbox_place {
    arcp__sandbox_class class;
    uint32_t rights;       /* what the kernel grants, for whatever reason */
    uint32_t lease_rights; /* what it grants because of the lease */
} arcp__sandbox_place;

arcp__sandbox_place arcp__sandbox_paths_find(const arcp__sandbox_paths *paths, arcp_span path);

/* Whether a pattern of the lease grants reading (capability FS_READ) or writing (FS_WRITE) the
 * path: what the broker may carry out when the kernel does not grant it. */
ARCP_MUST_CHECK bool arcp__sandbox_paths_grant(const arcp__sandbox_paths *paths,
                                               arcp__capability capability, arcp_span path);

/* ---- what every program needs (sandbox_base.def) ---- */

typedef enum arcp__sandbox_base_kind {
    ARCP__SANDBOX_BASE_MOUNT,  /* level full: bound, a link is copied */
    ARCP__SANDBOX_BASE_HIDDEN, /* below a MOUNT row, and not part of the base */
    ARCP__SANDBOX_BASE_PART,   /* what a MOUNT row holds that is not hidden */
    ARCP__SANDBOX_BASE_ETC, /* copied into the prepared /etc; readable where /etc is the host's */
    ARCP__SANDBOX_BASE_SECRET, /* copied into the prepared /etc without passwords in it */
    ARCP__SANDBOX_BASE_MADE,   /* made anew in the prepared /etc; else as ETC */
    ARCP__SANDBOX_BASE_DEVICE, /* level landlock: read and written */
    ARCP__SANDBOX_BASE_KIND_COUNT
} arcp__sandbox_base_kind;

typedef struct arcp__sandbox_base_row {
    arcp__sandbox_base_kind kind;
    const char *path; /* absolute; a file or a directory, or absent */
} arcp__sandbox_base_row;

/* The table; static. */
const arcp__sandbox_base_row *arcp__sandbox_base_rows(size_t *count);

/* The table of `arcp lease explain --enforce` (columns, then the last line with level and counts),
 * and the same as the members of an object in JSON: level, lines, base, limits, min, runs. Bytes of
 * patterns that are not printable are escaped as \xNN. */
void arcp__sandbox_report_table(const arcp__sandbox_plan *plan, arcp_buf *out);
void arcp__sandbox_report_json(const arcp__sandbox_plan *plan, arcp_buf *out);
/* Parts of it: how many lines of the lease have which verdict, "3 exact, 1 refused" (nothing
 * without lines); the lines of the lease as an array of objects, all or those that are not exact;
 * the paths that the operator gave as an array. */
void arcp__sandbox_report_counts(const arcp__sandbox_plan *plan, arcp_buf *out);
void arcp__sandbox_report_lines(const arcp__sandbox_plan *plan, bool only_inexact, arcp_buf *out);
void arcp__sandbox_report_base(const arcp__sandbox_plan *plan, arcp_buf *out);
/* How many lines of the lease are not exact. */
size_t arcp__sandbox_inexact_count(const arcp__sandbox_plan *plan);

/* The abilities as text: the JSON object that `arcp-sandbox --probe` prints, {"userns": 1, ...}.
 * decode accepts missing members as 0 and unknown ones (of another release);
 * ARCP_E_INVALID_REQUEST.
 */
void arcp__sandbox_abilities_encode(const arcp__sandbox_abilities *abilities, arcp_buf *out);
ARCP_MUST_CHECK arcp_status arcp__sandbox_abilities_decode(arcp_span text,
                                                           arcp__sandbox_abilities *out,
                                                           arcp_error *err);
/* What `arcp doctor --json` says of a host: the members level and abilities (name, value and, for
 * one that is missing, what is lost and what it needs) of the object that the writer has begun. */
void arcp__sandbox_abilities_explain(const arcp__sandbox_abilities *abilities,
                                     arcp_json_writer *writer);
/* Takes away what a list names ("userns,notify", the value of ARCP_SANDBOX_WITHOUT; NULL: nothing).
 * Can only narrow. False: a name is unknown. */
ARCP_MUST_CHECK bool arcp__sandbox_abilities_remove(arcp__sandbox_abilities *abilities,
                                                    const char *names);
arcp__sandbox_level arcp__sandbox_level_of(const arcp__sandbox_abilities *abilities);
/* Whether what a broker needs is there. */
bool arcp__sandbox_has_broker(const arcp__sandbox_abilities *abilities);
/* Whether programs can have a network by a proxy at level landlock: Landlock denies other ports,
 * and the broker, which connects for the program, other addresses. */
bool arcp__sandbox_has_proxy(const arcp__sandbox_abilities *abilities);

const char *arcp__sandbox_level_name(arcp__sandbox_level level);       /* "full"; static */
const char *arcp__sandbox_verdict_name(arcp__sandbox_verdict verdict); /* "exact"; static */
const char *arcp__sandbox_note_text(arcp__sandbox_note note); /* a sentence, or ""; static */
const char *arcp__sandbox_ability_name(arcp__sandbox_ability ability); /* "userns"; static */

#endif
