/* One call while it is carried out, and the broker itself. */
#ifndef ARCP_BROKER_BROKER_TASK_H
#define ARCP_BROKER_BROKER_TASK_H

#include <linux/seccomp.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include <arcp/gate.h>

#include "base/thread.h"
#include "broker/broker_parts.h"
#include "sandbox/sandbox_syscall.h"

enum {
    ARCP__BROKER_PATH_MAX = 4096,
    ARCP__BROKER_THREADS = 4,
    ARCP__BROKER_RECENT = 4096,
};

typedef struct arcp__broker_views arcp__broker_views;
typedef struct arcp__broker_connects arcp__broker_connects;

/* Immutable after the start but for what has a lock of its own, and the classes. */
struct arcp__broker {
    const arcp__sandbox_plan *plan; /* by which it was started */
    /* Of that plan; of the one with the lease that came late, or NULL; and of what is left when the
     * lease is revoked, or NULL. None is freed before the end, because tasks use them. */
    arcp__broker_classes *first_classes, *lease_classes, *revoked_classes;
    arcp__sandbox_plan *revoked_plan;
    _Atomic(const arcp__broker_classes *) classes; /* for the next task: one of them */
    arcp__broker_denials *denials;
    arcp__broker_views *views; /* NULL: no listings */
    arcp__broker_connects *connects;
    int listener, root, sockets;
    uint16_t proxy_port;
    int control;                                  /* borrowed; -1: none */
    _Atomic uint64_t recent[ARCP__BROKER_RECENT]; /* of records of a command that is watched */
    int host;                                     /* O_PATH: the `/` of this process */
    arcp__broker_clone *clones;                   /* owned, with their descriptors */
    size_t clone_count;
    size_t request_bytes, response_bytes; /* of the kernel's structures */
    _Atomic unsigned waiting; /* threads that are about to take a call, or wait for one */
    pthread_mutex_t change;   /* of renames: no directory takes the place of a file meanwhile */
    pthread_mutex_t lock;     /* of: */
    pthread_cond_t ended;
    pthread_t threads[ARCP__BROKER_THREADS];
    size_t thread_count;
    size_t running; /* threads, those of connects included */
};

/* A thread has one task at a time. */
typedef struct arcp__broker_task {
    arcp__broker *broker;
    const arcp__broker_classes *classes; /* one decision is by one lease */
    struct seccomp_notif *request;
    arcp__sandbox_syscall syscall;
    arcp__broker_call call;
    arcp__broker_facts facts;
    /* O_PATH descriptors of what was looked at: the file, or its directory for PARENT and OTHER; -1
     * where there is none. Closed after the answer. */
    int found[ARCP__BROKER_LOOK_COUNT];
    int open_flags; /* OPEN: as the program gave them */
    uint32_t rename_flags;
    mode_t mode; /* OPEN, MKDIR */
    /* A name is relative to a listing, which is an empty directory elsewhere for the kernel. */
    bool begins_at_view;
    bool is_answered;
    char raw[ARCP__BROKER_PATH_MAX];
    arcp_target_scratch joined[2]; /* of call.path and call.other, before they are canonical */
    arcp_target_scratch canonical[2];
    char real[ARCP__BROKER_LOOK_COUNT][2 * ARCP__BROKER_PATH_MAX];
} arcp__broker_task;

/* ---- answers (broker_answer.c): exactly one for each request ---- */

void arcp__broker_task_continue(arcp__broker_task *task);
void arcp__broker_task_fail(arcp__broker_task *task, int error); /* > 0 */
void arcp__broker_task_return(arcp__broker_task *task, int64_t value);
/* Gives the program a copy of the descriptor, as the call's result. */
void arcp__broker_task_give(arcp__broker_task *task, int fd);
/* Whether the program still waits for the answer; then the thread's number is its own. */
bool arcp__broker_task_is_valid(const arcp__broker_task *task);
/* Counts a denial of this call. */
void arcp__broker_task_report(arcp__broker_task *task, const char *capability, arcp_span target);

/* Counts a thread of the broker's; arcp__broker_finish waits for all. */
void arcp__broker_enter(arcp__broker *broker);
void arcp__broker_leave(arcp__broker *broker);

/* ---- reading the call (broker_call.c) ---- */

/* Reads the arguments. False: the kernel decides, because there is no name, or none that can be
 * read. */
bool arcp__broker_task_read(arcp__broker_task *task);

/* Makes a name that the program gave canonical: name 0 is call.path, 1 is call.other. `directory`:
 * what a relative one begins at; AT_FDCWD is the current directory. False: the kernel decides. */
bool arcp__broker_task_name(arcp__broker_task *task, int directory, arcp_span given, int which);

/* Sets call.path to the file of a descriptor of the program. False: it has no canonical name. */
bool arcp__broker_task_descriptor(arcp__broker_task *task, int descriptor);

/* Whether the call is one that arcp__broker_task_read can read, and that is decided by its names.
 */
bool arcp__broker_knows(arcp__sandbox_syscall syscall);

/* ---- the program's memory (broker_memory.c) ---- */

/* Reads `size` bytes of the thread's memory. Returns 0 or an errno. */
int arcp__broker_memory_read(pid_t thread, uint64_t address, void *out, size_t size);

/* Reads a path with its NUL into `out`, which has room for ARCP__BROKER_PATH_MAX bytes; *size is
 * without the NUL. Returns 0, ENAMETOOLONG, or what process_vm_readv failed with. */
int arcp__broker_memory_path(pid_t thread, uint64_t address, char *out, size_t *size);

/* Writes into the memory of the program that waits, and of no other. Returns 0 or an errno. */
int arcp__broker_memory_write(arcp__broker_task *task, uint64_t address, const void *data,
                              size_t size);

/* ---- names on the host (broker_look.c) ---- */

/* Fills task->facts.looks[look] and task->found[look]. */
void arcp__broker_look_at(arcp__broker_task *task, arcp__broker_look look);

/* The same for a descriptor that is in task->found[look] already. False: it has no name. */
bool arcp__broker_look_at_open(arcp__broker_task *task, arcp__broker_look look);

/* Opens beneath a directory without following anything; -1 and errno. */
int arcp__broker_open_beneath(int directory, const char *path, int flags, mode_t mode);

/* The last name of the path of a fact, which is not the root; ends with a NUL. */
const char *arcp__broker_leaf(const arcp__broker_fact *fact);

/* Whether both descriptors are of one file. */
bool arcp__broker_is_same(int a, int b);

/* The mode of a new file or directory, by the program's umask (broker_open.c). */
mode_t arcp__broker_mode_of(const arcp__broker_task *task);

/* ---- carrying out: each answers the task ---- */

void arcp__broker_serve_open(arcp__broker_task *task);
/* OPEN of what the kernel grants, by a name that begins at a listing. */
void arcp__broker_serve_inside(arcp__broker_task *task);
void arcp__broker_serve_change(arcp__broker_task *task);
/* Of the file of a look. */
void arcp__broker_serve_stat(arcp__broker_task *task, arcp__broker_look look);
void arcp__broker_serve_list(arcp__broker_task *task);

/* ---- listings (broker_view.c) ---- */

/* Takes both descriptors. NULL: no memory. */
arcp__broker_views *arcp__broker_views_new(int writable, int readable);
void arcp__broker_views_free(arcp__broker_views *views);
/* The file system of the sandbox's own directories. */
dev_t arcp__broker_views_device(const arcp__broker_views *views);
/* Whether the directory is a listing; then writes the name of the directory that it lists. */
bool arcp__broker_views_find(arcp__broker_views *views, const struct stat *directory, char *out,
                             size_t *size);

/* ---- connect (broker_connect.c) ---- */

arcp__broker_connects *arcp__broker_connects_new(void); /* NULL: no memory */
void arcp__broker_connects_free(arcp__broker_connects *connects);
void arcp__broker_serve_connect(arcp__broker_task *task);
void arcp__broker_serve_listen(arcp__broker_task *task);
/* A duplicate of a descriptor of the program that waits; a negative errno. */
int arcp__broker_take_descriptor(const arcp__broker_task *task, int number);

/* ---- a command that is only watched (broker_observe.c) ---- */

/* Writes down what the call does, and lets the kernel carry it out. */
void arcp__broker_observe(arcp__broker_task *task);

/* The interpreter of a program, of its first line or of its ELF header: absolute, with a NUL.
 * False: it has none (broker_program.c). */
bool arcp__broker_interpreter(int program, char *out, size_t room);

/* ---- mode, owner, times, attributes (broker_owner.c) ---- */

enum {
    ARCP__BROKER_NO_ARGUMENT = -1,
    ARCP__BROKER_FROM_HERE = -2, /* the name is relative to the current directory */
};

/* Which arguments of a call hold the file that it changes. */
typedef struct arcp__broker_file_arguments {
    int directory; /* a descriptor; FROM_HERE */
    int path;      /* NO_ARGUMENT: `directory` is the file */
    int flags;     /* AT_ flags; NO_ARGUMENT */
    bool stays;    /* a link at the end is not followed */
} arcp__broker_file_arguments;

/* False: the call does not change mode, owner, times or attributes. */
bool arcp__broker_owner_arguments(arcp__sandbox_syscall syscall, arcp__broker_file_arguments *out);
bool arcp__broker_changes_owner(arcp__sandbox_syscall syscall);
void arcp__broker_serve_owner(arcp__broker_task *task);

#endif
