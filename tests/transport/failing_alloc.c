#include "transport/failing_alloc.h"

#include "base/alloc.h"

static size_t fail_at;
static size_t asked;
static bool fail_on;

void failing_alloc_arm(size_t n, bool all)
{
    fail_at = n;
    fail_on = all;
    asked = 0;
}

size_t failing_alloc_count(void)
{
    return asked;
}

static bool fails(void)
{
    asked++;
    return fail_at != 0 && (asked == fail_at || (fail_on && asked > fail_at));
}

/* The linker's names (--wrap). */
/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
void *__real_arcp__alloc(size_t size);
void *__real_arcp__alloc_array(size_t count, size_t size);
void *__real_arcp__realloc(void *memory, size_t size);
void *__real_arcp__realloc_array(void *memory, size_t count, size_t size);
char *__real_arcp__copy_cstr(const char *data, size_t size);
void *__wrap_arcp__alloc(size_t size);
void *__wrap_arcp__alloc_array(size_t count, size_t size);
void *__wrap_arcp__realloc(void *memory, size_t size);
void *__wrap_arcp__realloc_array(void *memory, size_t count, size_t size);
char *__wrap_arcp__copy_cstr(const char *data, size_t size);

void *__wrap_arcp__alloc(size_t size)
{
    return fails() ? NULL : __real_arcp__alloc(size);
}

void *__wrap_arcp__alloc_array(size_t count, size_t size)
{
    return fails() ? NULL : __real_arcp__alloc_array(count, size);
}

void *__wrap_arcp__realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_arcp__realloc(memory, size);
}

void *__wrap_arcp__realloc_array(void *memory, size_t count, size_t size)
{
    return fails() ? NULL : __real_arcp__realloc_array(memory, count, size);
}

char *__wrap_arcp__copy_cstr(const char *data, size_t size)
{
    return fails() ? NULL : __real_arcp__copy_cstr(data, size);
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */
