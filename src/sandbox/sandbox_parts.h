/* The inside of src/sandbox: a compilation, and what its files share. */
#ifndef ARCP_SANDBOX_SANDBOX_PARTS_H
#define ARCP_SANDBOX_SANDBOX_PARTS_H

#include "base/arena.h"
#include "base/path.h"
#include "core/lease_work.h"
#include "core/url_pattern.h"
#include "sandbox/sandbox.h"
#include "json/json.h"

#define ARCP__SANDBOX_READ_RIGHTS (ARCP__SANDBOX_READ | ARCP__SANDBOX_EXECUTE)
#define ARCP__SANDBOX_ALL_RIGHTS  (ARCP__SANDBOX_READ_RIGHTS | ARCP__SANDBOX_WRITE)

/* What a line of fs.read or fs.write asks for. */
typedef enum arcp__sandbox_wish_kind {
    ARCP__SANDBOX_WISH_DEAD,    /* no canonical path matches */
    ARCP__SANDBOX_WISH_SYSTEM,  /* at or below /proc, /sys or /dev */
    ARCP__SANDBOX_WISH_CWD,     /* relative to a directory that cannot be part of a pattern */
    ARCP__SANDBOX_WISH_TREE,    /* a directory and all below it */
    ARCP__SANDBOX_WISH_FILE,    /* one name */
    ARCP__SANDBOX_WISH_PATTERN, /* any other */
} arcp__sandbox_wish_kind;

typedef struct arcp__sandbox_wish {
    arcp__sandbox_wish_kind kind;
    arcp__capability capability;
    arcp_span pattern; /* absolute */
    arcp_span path;    /* the tree, the file, or the pattern's literal directory */
    uint32_t line;
    uint32_t place; /* of a tree or a file */
} arcp__sandbox_wish;

/* Why a path is a place; several may apply. */
enum {
    ARCP__PLACE_READ_TREE = 1,
    ARCP__PLACE_WRITE_TREE = 2,
    ARCP__PLACE_READ_FILE = 4,
    ARCP__PLACE_WRITE_FILE = 8,
    ARCP__PLACE_BASE = 16,        /* of the request */
    ARCP__PLACE_SYSTEM_BASE = 32, /* of the table */
    ARCP__PLACE_HIDDEN = 64,
    ARCP__PLACE_ETC = 128,
    ARCP__PLACE_PRIVATE = 256,
    ARCP__PLACE_FRESH = 512,
    ARCP__PLACE_OWN = 1024,
    ARCP__PLACE_COVER = 2048,
};

/* What is mounted where a path is. */
typedef enum arcp__sandbox_ground {
    ARCP__GROUND_NONE,   /* the sandbox's own root */
    ARCP__GROUND_HOST,   /* something of the host's */
    ARCP__GROUND_OURS,   /* a private place or the fresh directory */
    ARCP__GROUND_SEALED, /* a directory of ours in which no further mount can be */
} arcp__sandbox_ground;

/* What holds at a place and below it, until a place below changes it. */
typedef struct arcp__sandbox_context {
    bool is_own;
    bool is_fresh;
    bool is_private;   /* below a private place: a rule gives all rights */
    bool is_base;      /* a rule of the base gives reading */
    bool is_writable;  /* the mount is */
    uint32_t lease;    /* rights that the lease's trees have here */
    uint32_t mount_at; /* the place where the mount is */
    arcp__sandbox_ground ground;
} arcp__sandbox_context;

#define ARCP__PLACE_NONE UINT32_MAX

/* A path at which something begins. */
typedef struct arcp__sandbox_spot {
    arcp_span path;
    uint32_t flags;
    uint32_t wish;       /* before places are merged; ARCP__PLACE_NONE: none */
    uint32_t parent;     /* the nearest place above */
    bool holds_own;      /* something of the runtime's is below */
    bool holds_own_file; /* a file of the runtime's is, which no mount covers for good */
    bool holds_base;     /* a base that stays read-only is below */
    bool is_refused;     /* the tree or base cannot be granted at this level */
    /* The kernel cannot grant it without granting more: a tree that holds a file of the runtime's;
     * a tree or file that may be written and not read, in a private place. */
    bool is_brokered;
    arcp__sandbox_context now;
} arcp__sandbox_spot;

typedef struct arcp__sandbox_compile {
    const arcp__sandbox_request *request;
    arcp__sandbox_plan draft; /* its arrays are those below */
    arcp__arena arena;        /* texts that are made */
    arcp__lease_work work;
    bool has_root;   /* a line grants the whole tree, and the level can do so */
    bool has_hidden; /* something is granted in a directory that the base hides */
    bool has_etc;    /* something is granted in /etc, so that it is the host's */
    bool is_hidden;  /* the hidden directory is covered, or all may read it */

    arcp__sandbox_line *lines;
    size_t line_count, line_capacity;
    arcp__sandbox_wish *wishes;
    size_t wish_count, wish_capacity;
    arcp__sandbox_spot *spots;
    size_t spot_count, spot_capacity;
    arcp__sandbox_mount *mounts;
    size_t mount_count, mount_capacity;
    arcp__sandbox_rule *rules;
    size_t rule_count, rule_capacity;
    arcp_span *reads, *writes;
    size_t read_count, read_capacity, write_count, write_capacity;
    arcp_span *hosts; /* patterns of net.fetch that grant all of a host over TLS */
    size_t host_count, host_capacity;
    uint16_t *ports;
    size_t port_count, port_capacity;
    bool has_failed; /* out of memory */
} arcp__sandbox_compile;

/* ---- paths (sandbox_paths.c) ---- */

/* Directories before what they hold, and all that a directory holds together. */
int arcp__sandbox_compare_paths(arcp_span a, arcp_span b);
/* Whether the path is at or below /proc, /sys or /dev. */
bool arcp__sandbox_is_system(arcp_span path);
/* NULL when the bytes are an absolute canonical path in UTF-8; else what they are not. Static. */
const char *arcp__sandbox_path_fault(arcp_span path);
/* Whether a pattern of fs.read or fs.write can match the path, or something below it. */
bool arcp__sandbox_pattern_meets(arcp_span pattern, arcp_span path);
/* The same for what is the runtime's own. */
bool arcp__sandbox_pattern_meets_own(const arcp__sandbox_plan *plan, arcp_span pattern);

/* ---- the arrays of a compilation (sandbox_compile.c) ---- */

/* Add an element; without memory compile->has_failed is set. */
void arcp__sandbox_add_line(arcp__sandbox_compile *compile, const arcp__sandbox_line *line);
void arcp__sandbox_add_wish(arcp__sandbox_compile *compile, const arcp__sandbox_wish *wish);
void arcp__sandbox_add_mount(arcp__sandbox_compile *compile, arcp__sandbox_mount_kind kind,
                             arcp_span source, arcp_span target, bool is_writable);
void arcp__sandbox_add_rule(arcp__sandbox_compile *compile, arcp_span path, uint32_t rights,
                            arcp__sandbox_class class);
void arcp__sandbox_add_spot(arcp__sandbox_compile *compile, arcp_span path, uint32_t flags,
                            uint32_t wish);
/* False: there are ARCP__SANDBOX_PORTS_MAX others, or it is one of the two of every network. */
bool arcp__sandbox_add_port(arcp__sandbox_compile *compile, uint16_t port);
void arcp__sandbox_add_host(arcp__sandbox_compile *compile, arcp_span pattern);
/* A pattern that the broker decides by. */
void arcp__sandbox_add_pattern(arcp__sandbox_compile *compile, arcp__capability capability,
                               arcp_span pattern);

void arcp__sandbox_compile_fini(arcp__sandbox_compile *compile);

/* ---- steps of a compilation ---- */

/* sandbox_fs.c: reads all lines of fs.read and fs.write as wishes, and judges them. */
void arcp__sandbox_read_wish(arcp__sandbox_compile *compile, arcp__capability capability,
                             arcp_span pattern, uint32_t line);
void arcp__sandbox_judge_wish(arcp__sandbox_compile *compile, const arcp__sandbox_wish *wish);
/* Whether a pattern of fs.read or fs.write is the whole tree. */
bool arcp__sandbox_is_root(arcp_span pattern);
/* Whether no canonical target matches. */
bool arcp__sandbox_is_dead(arcp__sandbox_compile *compile, arcp__capability capability,
                           arcp_span pattern);

/* sandbox_late.c: whether the lines allow that the program gets its lease when it runs. Asked when
 * all are judged. */
bool arcp__sandbox_can_be_late(const arcp__sandbox_compile *compile);
/* The places that are the sandbox's own at level full, whatever the lease says. */
#define ARCP__SANDBOX_PRIVATE_PLACES                                                               \
    {                                                                                              \
        "/tmp", "/var/tmp", "/run", "/dev/shm"                                                     \
    }

/* sandbox_mounts.c: the mounts and rules of all spots. */
void arcp__sandbox_lay_out(arcp__sandbox_compile *compile);
/* The orders of a plan's mounts and rules. */
int arcp__sandbox_compare_mounts(const void *left, const void *right);
int arcp__sandbox_compare_rules(const void *left, const void *right);

/* sandbox_net.c: gives the command of `arcp run` a network though its lease may grant nothing
 * there: what it asks for is denied, and the person who runs it sees that. */
void arcp__sandbox_add_network(arcp__sandbox_compile *compile);
/* Notes whether the line grants all of a host, judges it, and adds its port. */
void arcp__sandbox_read_url(arcp__sandbox_compile *compile, arcp_span pattern);
void arcp__sandbox_judge_url(arcp__sandbox_compile *compile, uint32_t at);
/* sandbox_host.c: HOST_CASE, HOST_NEVER, HOST_RESERVED, PORT_NEVER: no connection leads there;
 * HOST_PROXY: only one that names it to the explicit proxy does; NONE: nothing is in the way. */
arcp__sandbox_note arcp__sandbox_judge_host(const arcp__url_parts *parts);
/* sandbox_line.c: the lines of a report. */
void arcp__sandbox_read_lines(arcp__sandbox_compile *compile);
void arcp__sandbox_judge_lines(arcp__sandbox_compile *compile);

/* ---- plans ---- */

/* A copy in one allocation; NULL when out of memory. */
ARCP_MUST_CHECK arcp__sandbox_plan *arcp__sandbox_plan_pack(const arcp__sandbox_plan *draft);

/* The abilities as one value. */
void arcp__sandbox_abilities_write(const arcp__sandbox_abilities *abilities,
                                   arcp_json_writer *writer);
/* The members of an object in an index, as arcp__sandbox_abilities_decode. */
ARCP_MUST_CHECK arcp_status arcp__sandbox_abilities_read(const arcp_json *json,
                                                         arcp_json_ref object,
                                                         arcp__sandbox_abilities *out,
                                                         arcp_error *err);

/* ---- verdicts of lines, for sandbox_fs and sandbox_net ---- */

static inline arcp__sandbox_line arcp__sandbox_judged(arcp__sandbox_verdict verdict,
                                                      arcp__sandbox_mechanism mechanism,
                                                      arcp__sandbox_note note)
{
    return (arcp__sandbox_line){.verdict = verdict, .mechanism = mechanism, .note = note};
}

#define ARCP__SANDBOX_EXACT(mechanism, note)                                                       \
    arcp__sandbox_judged(ARCP__SANDBOX_VERDICT_EXACT, ARCP__SANDBOX_MECHANISM_##mechanism,         \
                         ARCP__SANDBOX_NOTE_##note)
#define ARCP__SANDBOX_UNDER(mechanism, note)                                                       \
    arcp__sandbox_judged(ARCP__SANDBOX_VERDICT_UNDER, ARCP__SANDBOX_MECHANISM_##mechanism,         \
                         ARCP__SANDBOX_NOTE_##note)
#define ARCP__SANDBOX_REFUSED(note)                                                                \
    arcp__sandbox_judged(ARCP__SANDBOX_VERDICT_REFUSED, ARCP__SANDBOX_MECHANISM_NONE,              \
                         ARCP__SANDBOX_NOTE_##note)

#endif
