/* The functions of the module's table (postgres.h), for it and for tests. */
#ifndef ARCP_STORE_POSTGRES_OPEN_H
#define ARCP_STORE_POSTGRES_OPEN_H

#include "store/postgres.h"

arcp_status arcp__pg_store_open(const arcp__postgres_options *options, arcp_store **out,
                                arcp_error *err);
arcp_status arcp__pg_store_each_row(const char *url, arcp_store_table table,
                                    void (*row)(void *user, arcp_span key, arcp_span value),
                                    void *user, arcp_error *err);
arcp_status arcp__pg_store_check(const char *url, arcp__sqlite_damage_fn print, void *user,
                                 arcp__sqlite_found *found, arcp_error *err);

#endif
