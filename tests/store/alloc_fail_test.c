/* Allocations that fail in memory and in SQLite (store_alloc.h). */
#include "store/store_alloc.h"
#include "store/temp_dir.h"

static arcp_status open_memory(void *user, arcp_store **out, arcp_error *err)
{
    return arcp_store_open("memory:", out, err);
}

static void memory_survives_each_allocation_that_fails(void **state)
{
    alloc_fail_each(&(alloc_store){.open = open_memory, .stride = 1});
}

static temp_dir *dir;

static void clear(void *user)
{
    temp_dir_free(dir);
    dir = temp_dir_new();
}

static arcp_status open_sqlite(void *user, arcp_store **out, arcp_error *err)
{
    return arcp_store_open(temp_dir_join(dir, "sqlite:", "s.db"), out, err);
}

static void sqlite_survives_each_allocation_that_fails(void **state)
{
    alloc_fail_each(&(alloc_store){.open = open_sqlite, .clear = clear, .stride = 1});
    temp_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_survives_each_allocation_that_fails),
        cmocka_unit_test(sqlite_survives_each_allocation_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
