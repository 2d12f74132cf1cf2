#include "support/failing_alloc.h"

#include <malloc.h>
#include <stdatomic.h>

#include "support/check.h"

/* A scenario that needs more allocations than this does not end. */
#define SWEEP_MAX 100000u

static atomic_size_t allocations;
static atomic_size_t live;
static atomic_size_t fail_at; /* counts as `allocations` does; 0: none fails */
static atomic_bool fail_all_after;
static atomic_bool fired;
static failing_alloc_watcher watcher;
static void *watcher_user;

/* The linker's names for what is wrapped, and for what wraps it. */
#define REAL(function)    __asm__("__real_" #function)
#define WRAPPER(function) __asm__("__wrap_" #function)

void *real_alloc(size_t size) REAL(arcp__alloc);
void *real_alloc_array(size_t count, size_t size) REAL(arcp__alloc_array);
void *real_realloc(void *memory, size_t size) REAL(arcp__realloc);
void *real_realloc_array(void *memory, size_t count, size_t size) REAL(arcp__realloc_array);
char *real_copy_cstr(const char *data, size_t size) REAL(arcp__copy_cstr);
void real_free(void *memory) REAL(arcp__free);
void real_public_free(void *memory) REAL(arcp_free);

void *wrapped_alloc(size_t size) WRAPPER(arcp__alloc);
void *wrapped_alloc_array(size_t count, size_t size) WRAPPER(arcp__alloc_array);
void *wrapped_realloc(void *memory, size_t size) WRAPPER(arcp__realloc);
void *wrapped_realloc_array(void *memory, size_t count, size_t size) WRAPPER(arcp__realloc_array);
char *wrapped_copy_cstr(const char *data, size_t size) WRAPPER(arcp__copy_cstr);
void wrapped_free(void *memory) WRAPPER(arcp__free);
void wrapped_public_free(void *memory) WRAPPER(arcp_free);

static bool must_fail(void)
{
    const size_t now = atomic_fetch_add(&allocations, 1) + 1;
    const size_t failing = atomic_load(&fail_at);
    if (failing == 0 || now < failing || (now > failing && !atomic_load(&fail_all_after))) {
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

static void show(void *memory)
{
    if (watcher != NULL && memory != NULL) {
        watcher(watcher_user, memory, malloc_usable_size(memory));
    }
}

/* A realloc that always moves, into bytes that were never used before. */
static void *move(void *memory, size_t size)
{
    char *block = real_alloc(size);
    const size_t had = memory == NULL ? 0 : malloc_usable_size(memory);
    if (block != NULL && memory != NULL) {
        memcpy(block, memory, had < size ? had : size);
        show(memory);
        real_free(memory);
    }
    return block;
}

void *wrapped_alloc(size_t size)
{
    return must_fail() ? NULL : count_block(real_alloc(size));
}

void *wrapped_alloc_array(size_t count, size_t size)
{
    return must_fail() ? NULL : count_block(real_alloc_array(count, size));
}

void *wrapped_realloc(void *memory, size_t size)
{
    if (must_fail()) {
        return NULL;
    }
    void *block = watcher == NULL ? real_realloc(memory, size) : move(memory, size);
    return memory == NULL ? count_block(block) : block;
}

void *wrapped_realloc_array(void *memory, size_t count, size_t size)
{
    if (must_fail()) {
        return NULL;
    }
    const bool moves = watcher != NULL && (size == 0 || count <= SIZE_MAX / size);
    void *block = moves ? move(memory, count * size) : real_realloc_array(memory, count, size);
    return memory == NULL ? count_block(block) : block;
}

char *wrapped_copy_cstr(const char *data, size_t size)
{
    return must_fail() ? NULL : count_block(real_copy_cstr(data, size));
}

static void count_freed(void *memory)
{
    show(memory);
    if (memory != NULL) {
        atomic_fetch_sub(&live, 1);
    }
}

void wrapped_free(void *memory)
{
    count_freed(memory);
    real_free(memory);
}

void wrapped_public_free(void *memory)
{
    count_freed(memory);
    real_public_free(memory);
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

void failing_alloc_watch(failing_alloc_watcher new_watcher, void *user)
{
    watcher = new_watcher;
    watcher_user = user;
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
    const size_t before = failing_alloc_live();
    failing_alloc_arm(nth, mode);
    const arcp_status status = body(user, &err);
    const bool failed = failing_alloc_disarm();
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
        const bool failed = run_once(body, user, nth, FAILING_ALLOC_ONE);
        if (!failed) {
            return nth - 1;
        }
        (void)run_once(body, user, nth, FAILING_ALLOC_ALL_AFTER);
    }
    fail_msg("the scenario makes more than %u allocations", SWEEP_MAX);
    return 0;
}
