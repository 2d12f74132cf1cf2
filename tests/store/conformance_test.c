/* One suite, every back end: the contract of include/arcp/sys/store.h. */
#include "store/store_suite.h"
#include "store/temp_dir.h"

static store_rig *open_memory(void *user, void **place)
{
    return rig_open("memory:");
}

static store_rig *open_sqlite(void *user, void **place)
{
    temp_dir *dir = temp_dir_new();
    *place = dir;
    return rig_open(temp_dir_join(dir, "sqlite:", "store.db"));
}

static void close_sqlite(void *place)
{
    temp_dir_free(place);
}

int main(void)
{
    static const suite_backend backends[] = {
        {.name = "memory", .open = open_memory},
        {.name = "sqlite", .is_durable = true, .open = open_sqlite, .close = close_sqlite},
    };
    int failures = 0;
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        failures += suite_run(&backends[i]);
    }
    return failures == 0 ? 0 : 1;
}
