#include "store_postgres.h"

#include <stdlib.h>

#include "store/postgres.h"

const char *bench_postgres_url(void)
{
    return getenv("ARCP_BENCH_POSTGRES");
}

arcp_status bench_open_postgres(const char *url, arcp_store **out, arcp_error *err)
{
    const arcp__postgres_options options = {.url = url, .node = "bench", .home = "bench"};
    return arcp__store_by_postgres.open(&options, out, err);
}
