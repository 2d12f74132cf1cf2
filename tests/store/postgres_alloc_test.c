/* Allocations that fail in a store in PostgreSQL (store_alloc.h); libpq's own do not. */
#include "store/postgres_open.h"
#include "store/postgres_rig.h"
#include "store/store_alloc.h"

static pg_rig *server;
static int stride = 7;

static void clear(void *user)
{
    pg_rig_clear(server);
}

static arcp_status open_it(void *user, arcp_store **out, arcp_error *err)
{
    arcp__postgres_options options = pg_options(server, "n1", "home");
    options.answer_ms = options.patience_ms = 0;
    return arcp__pg_store_open(&options, out, err);
}

static void postgres_survives_allocations_that_fail(void **state)
{
    alloc_fail_each(&(alloc_store){.open = open_it, .clear = clear, .stride = stride});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(postgres_survives_allocations_that_fail),
    };
    stride = argc > 1 ? (int)strtol(argv[1], NULL, 10) : stride;
    server = pg_rig_new(false);
    if (server == NULL) {
        return PG_RIG_SKIPPED;
    }
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    pg_rig_free(server);
    return failures;
}
