/* The contract of include/arcp/sys/store.h over a real PostgreSQL, and random batches against a
 * model. With an argument only the model runs, with so many seeds. */
#include "store/postgres_open.h"
#include "store/postgres_rig.h"
#include "store/store_model.h"
#include "store/store_suite.h"

static pg_rig *server;
static unsigned seeds = 3;

/* With the usual times: a batch of 64 MiB takes long on a busy machine. */
static store_rig *open_it(void)
{
    arcp__postgres_options options = pg_options(server, "n1", "home");
    arcp_store *store = NULL;
    arcp_error err = {0};
    options.answer_ms = options.patience_ms = 0;
    check_ok(arcp__pg_store_open(&options, &store, &err), &err);
    return rig_new(store);
}

static store_rig *open_empty(void *user, void **place)
{
    pg_rig_clear(server);
    return open_it();
}

static store_rig *open_seed(void *user, uint64_t seed)
{
    uint64_t *newest = user;
    if (*newest != seed) {
        pg_rig_clear(server);
        *newest = seed;
    }
    return open_it();
}

static void postgres_agrees_with_the_model_across_restarts(void **state)
{
    uint64_t newest = 0;
    const model_store store = {
        .name = "postgres", .restarts = true, .open = open_seed, .user = &newest};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        model_run_seed(seed, &store);
    }
}

int main(int argc, char **argv)
{
    static const suite_backend backend = {
        .name = "postgres", .is_durable = true, .open = open_empty};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(postgres_agrees_with_the_model_across_restarts),
    };
    server = pg_rig_new(false);
    if (server == NULL) {
        return PG_RIG_SKIPPED;
    }
    seeds = argc > 1 ? (unsigned)atoi(argv[1]) : seeds;
    int failures = argc > 1 ? 0 : suite_run(&backend);
    failures += cmocka_run_group_tests(tests, NULL, NULL);
    pg_rig_free(server);
    return failures == 0 ? 0 : 1;
}
