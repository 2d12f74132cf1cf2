/* A disk that fails on request: SQLite's default VFS with injected faults, and a memory allocator
 * for SQLite with injected failures. May be used on any thread. */
#ifndef ARCP_TESTS_FAULT_VFS_H
#define ARCP_TESTS_FAULT_VFS_H

#include <stdbool.h>

/* The operations that fail. */
typedef enum fault_file { FAULT_ANY_FILE, FAULT_DATABASE, FAULT_LOG } fault_file;
typedef enum fault_kind {
    FAULT_WRITE_FULL, /* writes and truncations: no space left */
    FAULT_WRITE,      /* writes and truncations: I/O error */
    FAULT_SYNC,
    FAULT_READ,
    FAULT_MEMORY /* an allocation of SQLite */
} fault_kind;

/* Makes it the default; once, before SQLite is used. */
void fault_vfs_install(void);

/* From now on `after` operations of the kind succeed, then `count` fail. */
void fault_vfs_arm(fault_file file, fault_kind kind, int after, int count);
/* Ends the faults. Returns how many operations failed since fault_vfs_arm. */
int fault_vfs_heal(void);

/* Whether something was written to a log that was not synced since. */
bool fault_vfs_log_is_dirty(void);

#endif
