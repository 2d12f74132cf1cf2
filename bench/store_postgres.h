/* A store in PostgreSQL to measure: ARCP_BENCH_POSTGRES has the URL of its database. */
#ifndef ARCP_BENCH_STORE_POSTGRES_H
#define ARCP_BENCH_STORE_POSTGRES_H

#include <arcp/sys/store.h>

/* NULL: there is none to measure. */
const char *bench_postgres_url(void);
arcp_status bench_open_postgres(const char *url, arcp_store **out, arcp_error *err);

#endif
