/* How far a run of plain characters goes: many bytes are looked at together. */
#include "support/check.h"

#include "json/json_plain.h"

#define LONGEST 50u

static bool is_plain(unsigned byte)
{
    return byte >= 0x20 && byte <= 0x7f && byte != '"' && byte != '\\';
}

static void check_run(const unsigned char *bytes, size_t size, size_t want)
{
    const size_t found = (size_t)(arcp__json_skip_plain(bytes, bytes + size) - bytes);
    if (found != want) {
        fail_msg("of %zu bytes %zu are plain, not %zu", size, want, found);
    }
    assert_int_equal(arcp__json_is_all_plain(bytes, size), want == size);
}

static void a_run_ends_at_the_first_byte_that_is_not_plain(void **state)
{
    unsigned char bytes[LONGEST];
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        for (size_t size = 0; size <= LONGEST; size++) {
            for (size_t place = 0; place < size; place++) {
                memset(bytes, 'a', sizeof bytes);
                bytes[place] = (unsigned char)byte;
                check_run(bytes, size, is_plain(byte) ? size : place);
            }
        }
    }
}

static void the_first_byte_that_is_not_plain_counts(void **state)
{
    static const unsigned char others[] = {0x00, 0x1f, '"', '\\', 0x80, 0xff, 'z'};
    unsigned char bytes[LONGEST];
    (void)state;
    for (size_t first = 0; first < sizeof others; first++) {
        for (size_t second = 0; second < sizeof others; second++) {
            for (size_t place = 0; place + 1 < LONGEST; place++) {
                memset(bytes, ' ', sizeof bytes);
                bytes[place] = others[first];
                bytes[place + 1] = others[second];
                const size_t want = !is_plain(others[first])    ? place
                                    : !is_plain(others[second]) ? place + 1
                                                                : LONGEST;
                check_run(bytes, LONGEST, want);
            }
        }
    }
}

static void bytes_behind_the_end_do_not_count(void **state)
{
    unsigned char bytes[LONGEST];
    (void)state;
    for (size_t size = 0; size < LONGEST; size++) {
        memset(bytes, 'a', sizeof bytes);
        memset(bytes + size, '"', sizeof bytes - size);
        check_run(bytes, size, size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_ends_at_the_first_byte_that_is_not_plain),
        cmocka_unit_test(the_first_byte_that_is_not_plain_counts),
        cmocka_unit_test(bytes_behind_the_end_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
