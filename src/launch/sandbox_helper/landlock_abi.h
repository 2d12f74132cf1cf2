/* Landlock's interface to programs, up to version 7: its numbers and structures, by the version
 * that brought them. Our own, because the headers of the oldest system that we build on know
 * version 2. */
#ifndef ARCP_LAUNCH_LANDLOCK_ABI_H
#define ARCP_LAUNCH_LANDLOCK_ABI_H

#include <stdint.h>

/* System calls: the same numbers on all machines. */
enum {
    LANDLOCK_CREATE_RULESET = 444,
    LANDLOCK_ADD_RULE = 445,
    LANDLOCK_RESTRICT_SELF = 446,
};

#define LANDLOCK_ASK_VERSION  1U /* flag of create_ruleset, with NULL and 0 */
#define LANDLOCK_PATH_BENEATH 1  /* type of rule */
#define LANDLOCK_NET_PORT     2  /* type of rule, version 4 */

/* Rights to files. Those with F are of files that are not directories, too. */
#define LANDLOCK_EXECUTE     (1ULL << 0) /* F */
#define LANDLOCK_WRITE_FILE  (1ULL << 1) /* F */
#define LANDLOCK_READ_FILE   (1ULL << 2) /* F */
#define LANDLOCK_READ_DIR    (1ULL << 3)
#define LANDLOCK_REMOVE_DIR  (1ULL << 4)
#define LANDLOCK_REMOVE_FILE (1ULL << 5)
#define LANDLOCK_MAKE_CHAR   (1ULL << 6)
#define LANDLOCK_MAKE_DIR    (1ULL << 7)
#define LANDLOCK_MAKE_REG    (1ULL << 8)
#define LANDLOCK_MAKE_SOCK   (1ULL << 9)
#define LANDLOCK_MAKE_FIFO   (1ULL << 10)
#define LANDLOCK_MAKE_BLOCK  (1ULL << 11)
#define LANDLOCK_MAKE_SYM    (1ULL << 12)
#define LANDLOCK_REFER       (1ULL << 13) /* version 2: link and rename between directories */
#define LANDLOCK_TRUNCATE    (1ULL << 14) /* version 3; F */
#define LANDLOCK_IOCTL_DEV   (1ULL << 15) /* version 5; F */

#define LANDLOCK_BIND_TCP    (1ULL << 0) /* version 4 */
#define LANDLOCK_CONNECT_TCP (1ULL << 1) /* version 4 */

#define LANDLOCK_SCOPE_ABSTRACT_SOCKET (1ULL << 0) /* version 6 */
#define LANDLOCK_SCOPE_SIGNAL          (1ULL << 1) /* version 6 */

/* An older kernel accepts a longer structure whose unknown members are 0. */
typedef struct landlock_ruleset {
    uint64_t handled_access_fs;
    uint64_t handled_access_net; /* version 4 */
    uint64_t scoped;             /* version 6 */
} landlock_ruleset;

typedef struct landlock_path_beneath {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed)) landlock_path_beneath;

typedef struct landlock_net_port {
    uint64_t allowed_access;
    uint64_t port;
} landlock_net_port;

#endif
