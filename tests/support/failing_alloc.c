#include "support/failing_alloc.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "support/check.h"

/* A scenario that needs more allocations than this does not end. */
#define SWEEP_MAX 100000u

static atomic_size_t allocations;
static atomic_size_t live;
static atomic_size_t fail_at; /* counts as `allocations` does; 0: none fails */
static atomic_bool fail_all_after;
static atomic_bool fired;

/* The linker's names for the wrapped functions and for the wrappers. */
void *__real_arcp__alloc(size_t size);
void *__real_arcp__alloc_array(size_t count, size_t size);
void *__real_arcp__realloc(void *memory, size_t size);
void *__real_arcp__realloc_array(void *memory, size_t count, size_t size);
char *__real_arcp__copy_cstr(const char *data, size_t size);
void __real_arcp__free(void *memory);
void *__wrap_arcp__alloc(size_t size);
void *__wrap_arcp__alloc_array(size_t count, size_t size);
void *__wrap_arcp__realloc(void *memory, size_t size);
void *__wrap_arcp__realloc_array(void *memory, size_t count, size_t size);
char *__wrap_arcp__copy_cstr(const char *data, size_t size);
void __wrap_arcp__free(void *memory);
void __wrap_arcp__free_pointer(void *memory_pointer);
void __wrap_arcp_free(void *memory);

static bool must_fail(void)
{
    size_t now = atomic_fetch_add(&allocations, 1) + 1;
    size_t at = atomic_load(&fail_at);
    if (at == 0 || now < at || (now > at && !atomic_load(&fail_all_after))) {
        return false;
    }
    atomic_store(&fired, true);
    return true;
}

static void *count_block(void *block)
{
    if (block != NULL) {
        atomic_fetch_add(&live, 1);
    }
    return block;
}

void *__wrap_arcp__alloc(size_t size)
{
    return must_fail() ? NULL : count_block(__real_arcp__alloc(size));
}

void *__wrap_arcp__alloc_array(size_t count, size_t size)
{
    return must_fail() ? NULL : count_block(__real_arcp__alloc_array(count, size));
}

void *__wrap_arcp__realloc(void *memory, size_t size)
{
    if (must_fail()) {
        return NULL;
    }
    void *block = __real_arcp__realloc(memory, size);
    return memory == NULL ? count_block(block) : block;
}

void *__wrap_arcp__realloc_array(void *memory, size_t count, size_t size)
{
    if (must_fail()) {
        return NULL;
    }
    void *block = __real_arcp__realloc_array(memory, count, size);
    return memory == NULL ? count_block(block) : block;
}

char *__wrap_arcp__copy_cstr(const char *data, size_t size)
{
    return must_fail() ? NULL : count_block(__real_arcp__copy_cstr(data, size));
}

void __wrap_arcp__free(void *memory)
{
    if (memory != NULL) {
        atomic_fetch_sub(&live, 1);
    }
    __real_arcp__free(memory);
}

void __wrap_arcp__free_pointer(void *memory_pointer)
{
    void **memory = memory_pointer;
    __wrap_arcp__free(*memory);
    *memory = NULL;
}

void __wrap_arcp_free(void *memory)
{
    __wrap_arcp__free(memory);
}

void failing_alloc_arm(size_t nth, failing_alloc_mode mode)
{
    atomic_store(&fired, false);
    atomic_store(&fail_all_after, mode == FAILING_ALLOC_ALL_AFTER);
    atomic_store(&fail_at, atomic_load(&allocations) + nth);
}

bool failing_alloc_disarm(void)
{
    atomic_store(&fail_at, 0);
    return atomic_load(&fired);
}

size_t failing_alloc_live(void)
{
    return atomic_load(&live);
}

size_t failing_alloc_count(void)
{
    return atomic_load(&allocations);
}

/* One run; whether an allocation failed in it. */
static bool run_once(failing_alloc_body body, void *user, size_t nth, failing_alloc_mode mode)
{
    arcp_error err = {0};
    size_t before = failing_alloc_live();
    failing_alloc_arm(nth, mode);
    arcp_status status = body(user, &err);
    bool failed = failing_alloc_disarm();
    if (failing_alloc_live() != before) {
        fail_msg("with allocation %zu failing: %zu blocks before, %zu after", nth, before,
                 failing_alloc_live());
    }
    if (failed && status != ARCP_E_NO_MEMORY) {
        fail_msg("with allocation %zu failing: %s (%s), want NO_MEMORY", nth,
                 arcp_status_name(status), err.message);
    }
    if (!failed) {
        check_ok(status, &err);
    }
    return failed;
}

size_t failing_alloc_sweep(failing_alloc_body body, void *user)
{
    for (size_t nth = 1; nth <= SWEEP_MAX; nth++) {
        bool failed = run_once(body, user, nth, FAILING_ALLOC_ONE);
        if (!failed) {
            return nth - 1;
        }
        (void)run_once(body, user, nth, FAILING_ALLOC_ALL_AFTER);
    }
    fail_msg("the scenario makes more than %u allocations", SWEEP_MAX);
    return 0;
}
