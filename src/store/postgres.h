/* `postgres://...`: a store in PostgreSQL, for its module arcp-store-postgres and the programs that
 * load it. Schema: postgres_schema.c. */
#ifndef ARCP_STORE_POSTGRES_H
#define ARCP_STORE_POSTGRES_H

#include <arcp/sys/store.h>

#include "store/sqlite_check.h"

#define ARCP__POSTGRES_SCHEME "postgres://"
/* The symbol in the module: a `const arcp__postgres`. */
#define ARCP__POSTGRES_MODULE "arcp-store-postgres"
#define ARCP__POSTGRES_SYMBOL "arcp__store_by_postgres"

/* Begins as zero, except for `url`, `node` and `home`. All is copied. */
typedef struct arcp__postgres_options {
    const char *url;  /* without a password, which a passfile has */
    const char *node; /* name of this process's node, unique in the database */
    /* A random text that one process at a time can have: the caller holds the lock that guards it.
     * What an earlier process with this text owned is taken over at once. */
    const char *home;
    uint64_t lease_ms;    /* a node whose beat has not changed for so long is dead; 0: 15 s */
    uint64_t patience_ms; /* without success until batches fail; 0: 12 s */
    uint64_t answer_ms;   /* until a connection that does not answer is closed; 0: 5 s */
} arcp__postgres_options;

typedef struct arcp__postgres {
    /* Connects, creates the schema in an empty database, and takes the store over. ARCP_E_EXISTS:
     * in use by another node. ARCP_E_USAGE: not a URL, or the schema is not ours. ARCP_E_IO. Blocks
     * until it is known that another node is dead (lease_ms). */
    arcp_status (*open)(const arcp__postgres_options *options, arcp_store **out, arcp_error *err);
    /* Calls `row` with each row of a table, in the order of the keys, while a node may have the
     * store open. ARCP_E_IO, ARCP_E_USAGE, ARCP_E_CORRUPT. */
    arcp_status (*each_row)(const char *url, arcp_store_table table,
                            void (*row)(void *user, arcp_span key, arcp_span value), void *user,
                            arcp_error *err);
    /* Verifies all checksums; `print` gets a line for each fault. Errors as for each_row. */
    arcp_status (*check)(const char *url, arcp__sqlite_damage_fn print, void *user,
                         arcp__sqlite_found *found, arcp_error *err);
    /* Whether the URL can be used: ARCP_E_USAGE says why not. Does not connect. */
    arcp_status (*check_url)(const char *url, arcp_error *err);
} arcp__postgres;

extern ARCP_API const arcp__postgres arcp__store_by_postgres;

#endif
