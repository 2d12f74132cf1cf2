/* arcp-sandbox: makes the sandbox of a plan and starts one program in it.
 *
 * Two processes of ours. The monitor (helper_monitor) stays outside, with the host's view and the
 * job's user. Init (helper_init) is pid 1 inside: it makes the view of files (helper_mount), drops
 * what it could do, confines itself as the program is confined, and forks the program. At level
 * landlock there are no namespaces: the same child confines itself and becomes the program.
 *
 * A step that fails ends the process that noticed it, and with it the sandbox, with status 125;
 * there is no way around a step. The steps are made by one thread in each process, so that the
 * current one is a global; that which takes a late lease (helper_lease) has its own. */
#ifndef ARCP_LAUNCH_HELPER_H
#define ARCP_LAUNCH_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/broker.h"
#include "launch/launcher_child.h"
#include "launch/launcher_orders.h"
#include "sandbox/sandbox.h"

typedef enum arcp__helper_stage {
#define ARCP_LAUNCH_STAGE(id, name, text) ARCP__HELPER_##id,
#include "launch/launch_stage.def"
#undef ARCP_LAUNCH_STAGE
    ARCP__HELPER_STAGE_COUNT
} arcp__helper_stage;

enum {
    ARCP__HELPER_FAILED = 125,   /* the sandbox could not be made */
    ARCP__HELPER_NO_EXEC = 126,  /* the program cannot be executed */
    ARCP__HELPER_NOT_FOUND = 127 /* or is not there */
};

#define ARCP__HELPER_BATCH      253 /* descriptors of a datagram: SCM_MAX_FD of the kernel */
#define ARCP__HELPER_REPORT_MAX 100 /* entries of a list in the record of what was found */

/* How the source of a mount (or the target of a cover) was found on the host. */
typedef struct arcp__helper_source {
    const char *path; /* as given, NUL-terminated */
    const char *real; /* the same without symbolic links; NULL: it is absent */
    const char *link; /* the text of the link that stands for it inside; NULL: it is mounted */
    unsigned git;     /* of a GIT mount: what was there before the start (helper_planted) */
} arcp__helper_source;

/* Level landlock: the listener through which the program has a network. Another program of this
 * host can connect to it, so that each request must carry the secret. */
typedef struct arcp__helper_proxy {
    uint16_t port; /* of 127.0.0.1; 0: there is none */
    char secret[33];
} arcp__helper_proxy;

typedef struct arcp__helper {
    arcp__launch_child child;
    arcp__launch_view view; /* `etc` was prepared on the host */
    uid_t operator_uid;     /* of the process that started us */
    uid_t uid;              /* of the program; inside they are not known before they are mapped */
    gid_t gid;
    const arcp__sandbox_plan *plan;
    arcp__helper_source *sources; /* of plan->mounts; level full */
    int channel;                  /* of init to the monitor, or the other end */
    arcp__helper_proxy proxy;
} arcp__helper;

/* ---- helper_certificates ---- */

/* Has the program trust the certificate of its orders, if there is one: sets the variables by which
 * programs find it and that its environment does not have. At level landlock, makes the files. */
void arcp__helper_trust(arcp__helper *helper);

/* ---- helper_main ---- */

/* Reads a plan from a sealed file, which it closes; the step that has begun fails if there is none
 * that can be carried out. */
const arcp__sandbox_plan *arcp__helper_read_plan(int fd);

/* Gives back what the set-up has used of the stack of the first thread, which waits from now on. */
void arcp__helper_drop_stack(void);

/* ---- helper_lease ---- */

/* Of a plan whose lease the broker serves: starts the thread that takes a late lease, once, and its
 * end, from ARCP__LAUNCH_CONTROL_FD. */
void arcp__helper_lease_await(const arcp__helper *helper, arcp__broker *broker);
/* Ends changes of the broker, which is about to be freed. */
void arcp__helper_lease_end(void);

/* ---- helper_report ---- */

/* Begins a step: a failure from now on is one of it. */
void arcp__helper_begin(arcp__helper_stage stage);

/* Reports that the current step failed, with errno and the path that it was about (NULL: none), on
 * ARCP__LAUNCH_CONTROL_FD, and exits. */
_Noreturn void arcp__helper_fail(const char *path);
/* The same with a span. */
_Noreturn void arcp__helper_fail_at(arcp_span path);

/* What is found while the sandbox is made, for the record `running`. Lists are cut at
 * ARCP__HELPER_REPORT_MAX. */
typedef enum arcp__helper_list {
    ARCP__HELPER_FOUND_LINKS,  /* `text` is the real path */
    ARCP__HELPER_FOUND_ABSENT, /* granted, and not there or of another kind; `text` is what is
                                  expected there: "file", "directory" */
    ARCP__HELPER_FOUND_GIT,    /* `text` is how it is protected: "commits", "strict", or "link" */
    ARCP__HELPER_FOUND_COVERS, /* file systems of the kernel that are covered; `text` is their type
                                */
    ARCP__HELPER_FOUND_COUNT
} arcp__helper_list;

void arcp__helper_found(arcp__helper_list list, arcp_span path, const char *text);
/* Sends the record. */
void arcp__helper_report_running(bool proc_is_outer);

/* Sends the record that says that the lease has come; may wait until it is read. */
void arcp__helper_report_leased(void);

/* Sends a record, an object of JSON, unless memory ran out while it was written. Never waits. */
void arcp__helper_send_record(const arcp_buf *record);

/* ---- the parts ---- */

/* What git outside would find, before the program runs; then what is new (helper_planted). */
void arcp__helper_look_for_git(arcp__helper *helper);
/* Whether the .git of a GIT mount was there before the start. */
bool arcp__helper_has_git(const arcp__helper *helper, size_t mount);
void arcp__helper_report_planted(const arcp__helper *helper);

/* Whether a directory of the lease may be absent: then its line grants nothing, and is reported.
 * The lease of a job comes from a client, which cannot look at the host; that of `arcp run` from
 * the person who wrote the name. */
static inline bool arcp__helper_tree_can_be_absent(const arcp__sandbox_plan *plan)
{
    return plan->origin == ARCP__SANDBOX_ORIGIN_JOB;
}

/* Finds the sources of the plan's mounts as the job's user, before the namespaces hide who owns
 * what (helper_source). At level landlock nothing is mounted: it looks which paths of the lease are
 * absent. */
void arcp__helper_find_sources(arcp__helper *helper);

/* Makes the sandbox's own network, and hands its listeners over on ARCP__LAUNCH_CONTROL_FD
 * (helper_net). */
void arcp__helper_net(const arcp__helper *helper);

/* Makes helper->proxy, hands its listener over with the secret, and tells the program of both by
 * variables of its environment (helper_proxy). */
void arcp__helper_proxy_open(arcp__helper *helper);

/* Hands sockets over, at most ARCP__HELPER_BATCH, and closes them here (helper_net). `secret` is
 * that of a proxy, or NULL. */
void arcp__helper_hand_over(const int *fds, size_t count, const char *secret, bool has_more);

/* Makes the view of files and moves into it (helper_mount). Returns whether /proc is the outer
 * one. */
bool arcp__helper_mount(const arcp__helper *helper);

/* Of the child that the monitor made: never returns (helper_init). */
_Noreturn void arcp__helper_init(arcp__helper *helper);

/* Starts init and waits for it; returns the exit status or ends by the program's signal
 * (helper_monitor). */
int arcp__helper_monitor(arcp__helper *helper);

/* ---- helper_channel ---- */

/* What init tells the monitor, one datagram each. The descriptors are for the broker (broker.h). */
typedef enum arcp__helper_word {
    ARCP__HELPER_WORD_CLONE, /* a descriptor, and the path of the directory */
    ARCP__HELPER_WORD_ROOT,  /* a descriptor, as the next three */
    ARCP__HELPER_WORD_VIEWS,
    ARCP__HELPER_WORD_VIEWS_READ,
    ARCP__HELPER_WORD_SOCKETS,
    ARCP__HELPER_WORD_READY,   /* everything is confined; with the filter's listener if there is one
                                */
    ARCP__HELPER_WORD_STOPPED, /* the program has stopped */
    ARCP__HELPER_WORD_EXITED   /* the program has ended, as `code` and `by_signal` say */
} arcp__helper_word;

typedef struct arcp__helper_message {
    arcp__helper_word word;
    int code;
    bool by_signal;
    char path[4096]; /* CLONE; only as long as it is, it is sent */
} arcp__helper_message;

/* Sends it with a descriptor (-1: none). False sets errno. */
bool arcp__helper_tell(int channel, const arcp__helper_message *message, int fd);
/* Tells the monitor a descriptor that the broker needs, and closes it; -1 fails. */
void arcp__helper_give(const arcp__helper *helper, arcp__helper_word word, arcp_span path, int fd);
/* Waits for the next one; *fd is the caller's, or -1. False: there will be none. */
bool arcp__helper_hear(int channel, arcp__helper_message *message, int *fd);

#endif
