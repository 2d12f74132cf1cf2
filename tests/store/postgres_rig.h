/* A store in the PostgreSQL of a test. */
#ifndef ARCP_TESTS_STORE_POSTGRES_RIG_H
#define ARCP_TESTS_STORE_POSTGRES_RIG_H

#include "store/postgres.h"
#include "store/store_rig.h"
#include "support/pg_rig.h"

/* Options for a node of that name, with short times: a lease of 1 s, 2 s of patience. */
arcp__postgres_options pg_options(const pg_rig *server, const char *node, const char *home);

/* Opens a store; fails the test when that fails. */
store_rig *pg_open(const pg_rig *server, const char *node, const char *home);
/* Fails the test unless opening fails with a status, and a message that has `part`. */
void pg_check_refused(const arcp__postgres_options *options, arcp_status status, const char *part);

#endif
