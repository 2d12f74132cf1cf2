/* The symbol of the module arcp-store-postgres. */
#include "store/postgres_connection.h"
#include "store/postgres_open.h"

const arcp__postgres arcp__store_by_postgres = {
    .open = arcp__pg_store_open,
    .each_row = arcp__pg_store_each_row,
    .check = arcp__pg_store_check,
    .check_url = arcp__pg_check_url,
};
