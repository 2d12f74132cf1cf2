/* In a build without libpq. */
#include "store_postgres.h"

const char *bench_postgres_url(void)
{
    return NULL;
}

arcp_status bench_open_postgres(const char *url, arcp_store **out, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_USAGE, "built without libpq");
}
