/* Random batches, in memory and in SQLite (store_model.h). */
#include "store/store_model.h"
#include "store/temp_dir.h"

#define SEEDS_MEMORY 300
#define SEEDS_SQLITE 60

static store_rig *open_memory(void *user, uint64_t seed)
{
    return rig_open("memory:");
}

static store_rig *open_sqlite(void *user, uint64_t seed)
{
    char name[32];
    snprintf(name, sizeof name, "%llu.db", (unsigned long long)seed);
    return rig_open(temp_dir_join(user, "sqlite:", name));
}

static void memory_agrees_with_the_model(void **state)
{
    const model_store store = {.name = "memory", .open = open_memory};
    for (uint64_t seed = 1; seed <= SEEDS_MEMORY; seed++) {
        model_run_seed(seed, &store);
    }
}

static void sqlite_agrees_with_the_model_across_restarts(void **state)
{
    temp_dir *dir = temp_dir_new();
    const model_store store = {
        .name = "sqlite", .restarts = true, .open = open_sqlite, .user = dir};
    for (uint64_t seed = 1; seed <= SEEDS_SQLITE; seed++) {
        model_run_seed(seed, &store);
    }
    temp_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_agrees_with_the_model),
        cmocka_unit_test(sqlite_agrees_with_the_model_across_restarts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
