/* CRC-32C: the values of RFC 3720 (appendix B.4), and both ways of computing it agree. */
#include "base/crc32c.h"

#include <string.h>

#include "support/check.h"

static void known_values_come_out(void **state)
{
    uint8_t bytes[4][32];
    for (size_t i = 0; i < 32; i++) {
        bytes[0][i] = 0;
        bytes[1][i] = 0xff;
        bytes[2][i] = (uint8_t)i;
        bytes[3][i] = (uint8_t)(31 - i);
    }
    static const uint32_t want[4] = {0x8a9136aa, 0x62a8ab43, 0x46dd794e, 0x113fdb5c};
    for (size_t row = 0; row < 4; row++) {
        assert_int_equal(arcp__crc32c(0, bytes[row], 32), want[row]);
        assert_int_equal(arcp__crc32c_by_table(0, bytes[row], 32), want[row]);
    }
    assert_int_equal(arcp__crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(arcp__crc32c(0, NULL, 0), 0);
}

static void pieces_and_the_whole_agree_at_every_length_and_alignment(void **state)
{
    uint8_t bytes[80];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 37 + 11);
    }
    for (size_t begin = 0; begin < 8; begin++) {
        for (size_t size = 0; size <= 64; size++) {
            const uint32_t want = arcp__crc32c_by_table(0, bytes + begin, size);
            assert_int_equal(arcp__crc32c(0, bytes + begin, size), want);
            for (size_t cut = 0; cut <= size; cut++) {
                const uint32_t first = arcp__crc32c(0, bytes + begin, cut);
                assert_int_equal(arcp__crc32c(first, bytes + begin + cut, size - cut), want);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values_come_out),
        cmocka_unit_test(pieces_and_the_whole_agree_at_every_length_and_alignment),
    };
    return cmocka_run_group_tests_name("base_crc32c", tests, NULL, NULL);
}
