/* Hexadecimal digits (src/base/hex.h). */
#include "support/check.h"

#include "base/hex.h"

static void every_byte_has_its_digit_value_or_none(void **state)
{
    static const char lower[] = "0123456789abcdef";
    static const char upper[] = "0123456789ABCDEF";
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        int want = -1;
        for (int value = 0; value < 16; value++) {
            want = byte == lower[value] || byte == upper[value] ? value : want;
        }
        assert_int_equal(arcp__hex_value((unsigned char)byte), want);
    }
}

static void bytes_are_written_in_lower_case_and_nothing_behind_them(void **state)
{
    static const uint8_t bytes[] = {0x00, 0x9a, 0xff};
    char out[8] = "-------";
    (void)state;
    arcp__hex_format(bytes, sizeof bytes, out);
    assert_string_equal(out, "009aff-");
    arcp__hex_format(bytes, 0, out);
    assert_string_equal(out, "009aff-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_has_its_digit_value_or_none),
        cmocka_unit_test(bytes_are_written_in_lower_case_and_nothing_behind_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
