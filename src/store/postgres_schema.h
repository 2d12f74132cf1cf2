/* The schema of the database, and its owner. */
#ifndef ARCP_STORE_POSTGRES_SCHEMA_H
#define ARCP_STORE_POSTGRES_SCHEMA_H

#include "store/postgres_connection.h"

/* Creates schema `arcp` with one shard in a database that has none. ARCP_E_USAGE: another program's
 * schema, one of a newer version, or one with several shards. */
arcp_status arcp__pg_schema_open(arcp__pg *pg, arcp_error *err);
/* The same, but nothing is created: ARCP_E_USAGE if there is no schema. */
arcp_status arcp__pg_schema_check(arcp__pg *pg, arcp_error *err);

#endif
