/* A PostgreSQL server of Debian's package for a test: in a temporary directory, on a Unix socket.
 * As root it runs as user `postgres`, because it refuses root. */
#ifndef ARCP_TESTS_PG_RIG_H
#define ARCP_TESTS_PG_RIG_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <sys/types.h>

/* The exit status of a test without a server, which ctest shows as skipped. */
#define PG_RIG_SKIPPED 77

typedef struct pg_rig {
    char path[256]; /* of the directory: `data`, and the socket */
    char url[512];  /* of the database `arcp` */
    pid_t pid;      /* of the server; 0: it is stopped */
    bool is_durable;
} pg_rig;

/* Makes a cluster and starts its server. NULL: there is no PostgreSQL here, which is reported on
 * standard output. With `is_durable` fsync is on. */
pg_rig *pg_rig_new(bool is_durable);
void pg_rig_free(pg_rig *rig); /* NULL is accepted */

/* Start the server and wait until it answers; stop it at once, with all its processes (kill -9). */
void pg_rig_start(pg_rig *rig);
void pg_rig_kill(pg_rig *rig);

/* Makes the cluster a standby of another one, which waits for it from then on, and starts it. Its
 * server must not run. */
void pg_rig_follow(pg_rig *rig, const pg_rig *primary);
/* Makes a standby the primary; it waits for no standby. */
void pg_rig_promote(const pg_rig *rig);

/* Stops (SIGSTOP) or continues all processes of the server. */
void pg_rig_signal_all(const pg_rig *rig, int number);

/* Runs a statement as the server's superuser; fails the test if that fails. The value of the first
 * column of the first row, or "" without one; valid until the next call. */
const char *pg_rig_run(const pg_rig *rig, const char *sql);
/* The same, as a number. */
long pg_rig_number(const pg_rig *rig, const char *sql);
/* The same in database `postgres`, for what cannot be done in `arcp` itself. */
const char *pg_rig_run_outside(const pg_rig *rig, const char *sql);
/* Makes the database empty. */
void pg_rig_clear(const pg_rig *rig);

#endif
