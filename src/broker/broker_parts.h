/* A call as it is decided, without its program: pure. And denials. */
#ifndef ARCP_BROKER_BROKER_PARTS_H
#define ARCP_BROKER_BROKER_PARTS_H

#include <sys/types.h>

#include "broker/broker.h"
#include "broker/broker_class.h"

/* ---- a call, as it is decided ---- */

typedef enum arcp__broker_operation {
    ARCP__BROKER_OPEN,
    ARCP__BROKER_UNLINK,
    ARCP__BROKER_RMDIR,
    ARCP__BROKER_MKDIR,
    ARCP__BROKER_RENAME, /* path to other */
    ARCP__BROKER_TRUNCATE,
    ARCP__BROKER_LINK, /* other is the new name of path */
    ARCP__BROKER_SYMLINK,
    ARCP__BROKER_MKNOD,
    ARCP__BROKER_STAT,
    ARCP__BROKER_ACCESS,
    ARCP__BROKER_READLINK,
    ARCP__BROKER_CHDIR,
    ARCP__BROKER_XATTR, /* reads attributes */
    ARCP__BROKER_OWNER, /* changes mode, owner, times or attributes (level landlock) */
    ARCP__BROKER_CONNECT,
    ARCP__BROKER_EXECUTE, /* a command that is only watched */
    ARCP__BROKER_OPERATION_COUNT
} arcp__broker_operation;

/* What a call asks for beside its operation. */
enum {
    ARCP__BROKER_TO_READ = 1,
    ARCP__BROKER_TO_WRITE = 2,
    ARCP__BROKER_TO_EXECUTE = 4, /* access */
    ARCP__BROKER_CREATE = 8,
    ARCP__BROKER_EXCLUSIVE = 16,
    ARCP__BROKER_TEMPORARY = 32,  /* a file without a name */
    ARCP__BROKER_NO_FOLLOW = 64,  /* a symbolic link at the end is not followed */
    ARCP__BROKER_DIRECTORY = 128, /* the name must be that of a directory */
};

typedef struct arcp__broker_call {
    arcp__broker_operation operation;
    uint32_t flags;
    arcp_span path;  /* absolute and canonical, as the program sees it */
    arcp_span other; /* RENAME, LINK: likewise */
} arcp__broker_call;

typedef enum arcp__broker_type {
    ARCP__BROKER_REGULAR,
    ARCP__BROKER_A_DIRECTORY,
    ARCP__BROKER_A_LINK,
    ARCP__BROKER_SPECIAL, /* devices, pipes, sockets; files of file systems of the kernel's own */
} arcp__broker_type;

/* Looks at a name, with what was found. */
typedef struct arcp__broker_fact {
    bool is_known;
    int error; /* 0: it is there */
    arcp__broker_type type;
    bool is_writable; /* for the broker's user, if nothing else forbids it; absent: its directory */
    arcp_span real;   /* the name without symbolic links */
} arcp__broker_fact;

typedef enum arcp__broker_look {
    ARCP__BROKER_LOOK_INSIDE, /* path, as the program sees it */
    ARCP__BROKER_LOOK_HOST,   /* path, on the host */
    ARCP__BROKER_LOOK_PARENT, /* path on the host; only its directory must be there */
    ARCP__BROKER_LOOK_OTHER,  /* other on the host, likewise */
    ARCP__BROKER_LOOK_COUNT
} arcp__broker_look;

typedef struct arcp__broker_facts {
    arcp__broker_fact looks[ARCP__BROKER_LOOK_COUNT];
} arcp__broker_facts;

typedef enum arcp__broker_kind {
    ARCP__BROKER_CONTINUE, /* the kernel decides */
    ARCP__BROKER_FAIL,     /* with `error` */
    ARCP__BROKER_LOOK,     /* at `look`; then decide again */
    ARCP__BROKER_SERVE,    /* the broker carries it out, on the real names of the facts */
    ARCP__BROKER_LIST,     /* the broker gives a listing of the directory */
} arcp__broker_kind;

typedef struct arcp__broker_answer {
    arcp__broker_kind kind;
    int error;
    arcp__broker_look look;
    /* FAIL: a denial, to be reported. */
    bool is_denial;
    bool is_write;    /* fs.write; else fs.read */
    arcp_span target; /* points into the call or the facts */
} arcp__broker_answer;

/* Decides. Pure: the same arguments give the same answer. Never SERVE or LIST without that the name
 * as given and the real name are both what the lease admits. */
arcp__broker_answer arcp__broker_decide(const arcp__broker_classes *classes,
                                        const arcp__broker_call *call,
                                        const arcp__broker_facts *facts);

/* ---- denials ---- */

typedef struct arcp__broker_denials arcp__broker_denials;

#define ARCP__BROKER_DENIALS_MAX 1024

/* NULL: out of memory. `control`: borrowed, or -1. */
arcp__broker_denials *arcp__broker_denials_new(int control);
/* Counts a denial, and reports it when it is new. Any thread. */
void arcp__broker_denials_add(arcp__broker_denials *denials, const char *capability,
                              arcp_span target, pid_t pid);
/* Forgets all, reported or not. */
void arcp__broker_denials_clear(arcp__broker_denials *denials);
/* Reports the counts that the reader does not know. */
void arcp__broker_denials_flush(arcp__broker_denials *denials);
/* Flushes and frees. NULL is accepted. */
void arcp__broker_denials_free(arcp__broker_denials *denials);

#endif
