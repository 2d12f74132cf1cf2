/* The contract of include/arcp/sys/store.h over a real PostgreSQL. */
#include "store/postgres_open.h"
#include "store/postgres_rig.h"
#include "store/store_suite.h"

static store_rig *open_postgres(void *user, void **place)
{
    const pg_rig *server = user;
    pg_rig_clear(server);
    arcp__postgres_options options = pg_options(server, "n1", "home");
    arcp_store *store = NULL;
    arcp_error err = {0};
    options.answer_ms = options.patience_ms = 0;
    check_ok(arcp__pg_store_open(&options, &store, &err), &err);
    return rig_new(store);
}

int main(void)
{
    pg_rig *server = pg_rig_new(false);
    if (server == NULL) {
        return 0;
    }
    const suite_backend backend = {
        .name = "postgres", .is_durable = true, .open = open_postgres, .user = server};
    const int failures = suite_run(&backend);
    pg_rig_free(server);
    return failures == 0 ? 0 : 1;
}
