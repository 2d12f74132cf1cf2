/* Includes cmocka, after the headers that it needs. */
#ifndef ARCP_TESTS_CHECK_H
#define ARCP_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arcp/error.h>
#include <arcp/span.h>

#ifdef __clang_analyzer__
/* The analyzer does not know that a failed assertion does not return. */
#undef assert_non_null
#define assert_non_null(pointer)                                                                   \
    do {                                                                                           \
        if ((pointer) == NULL) {                                                                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)
#endif

/* The distance between the steps that a test of all steps takes: 1, or ARCP_TEST_STRIDE, for tools
 * under which a step takes fifty times as long. */
static inline size_t test_stride(void)
{
    const char *text = getenv("ARCP_TEST_STRIDE");
    size_t stride = text == NULL ? 1 : strtoul(text, NULL, 10);
    return stride == 0 ? 1 : stride;
}

/* Each row of a table as a test by itself. A row begins with its name, a C string; `check` gets
 * it as its state. Returns how many failed. */
static inline int run_rows(const void *rows, size_t count, size_t size, CMUnitTestFunction check)
{
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    if (tests == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        const char *row = (const char *)rows + i * size;
        const char *name;
        memcpy(&name, row, sizeof name);
        tests[i] = (struct CMUnitTest){.name = name[0] == '\0' ? "(empty)" : name,
                                       .test_func = check,
                                       .initial_state = (void *)row};
    }
    const int failed = _cmocka_run_group_tests("rows", tests, count, NULL, NULL);
    free(tests);
    return failed;
}

/* Fails with the error's own message when `status` is not ARCP_OK. */
#define check_ok(status, err)                                                                      \
    do {                                                                                           \
        arcp_status check_ok_status = (status);                                                    \
        if (check_ok_status != ARCP_OK) {                                                          \
            fail_msg("%s: %s", arcp_status_name(check_ok_status), (err)->message);                 \
        }                                                                                          \
    } while (0)

/* Fails unless the span holds exactly the bytes of the C string. */
#define check_span(span, text)                                                                     \
    do {                                                                                           \
        arcp_span check_span_value = (span);                                                       \
        const char *check_span_text = (text);                                                      \
        if (!arcp_span_equal_cstr(check_span_value, check_span_text)) {                            \
            fail_msg("got \"%.*s\", want \"%s\"", (int)check_span_value.size,                      \
                     check_span_value.size ? check_span_value.data : "", check_span_text);         \
        }                                                                                          \
    } while (0)

#endif
