/* The text of the wall clock's time is kept for a millisecond, and no longer. */
#include "support/check.h"

#include "base/timestamp.h"
#include "context/context.h"

static void the_text_is_that_of_the_time(void **state)
{
    (void)state;
    static const int64_t times[] = {0,
                                    999999,
                                    1000000,
                                    INT64_C(1795552212345678901),
                                    INT64_C(1795552212345999999),
                                    INT64_C(1795552212346000000),
                                    INT64_C(1795552212345000000),
                                    -1,
                                    1};
    arcp__context context = {0};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char want[ARCP__TIMESTAMP_SIZE];
        char text[ARCP__TIMESTAMP_SIZE];
        arcp__timestamp_format(times[i], want);
        arcp__context_set_time(&context, (arcp_time){.wall_ns = times[i]});
        for (int again = 0; again < 2; again++) {
            memset(text, '?', sizeof text);
            arcp__context_format_now(&context, text);
            assert_memory_equal(text, want, sizeof text);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_that_of_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
