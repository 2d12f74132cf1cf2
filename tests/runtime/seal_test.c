/* Sealing: a sealed value reveals nothing, and opens only complete, with its key and label. */
#include "runtime/seal.h"

#include "store/temp_dir.h"
#include "support/check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define VALUE "sk-live-0123456789"

static arcp__seal *open_seal(const char *path)
{
    arcp__seal *seal = NULL;
    arcp_error error = {0};
    check_ok(arcp__seal_open(path, &seal, &error), &error);
    return seal;
}

static bool opens(const arcp__seal *seal, const char *label, arcp_span sealed)
{
    arcp_buf out = arcp_buf_init();
    const bool opened = arcp__seal_open_value(seal, arcp_span_cstr(label), sealed, &out) &&
                        arcp_span_equal_cstr(arcp_buf_span(&out), VALUE);
    arcp_buf_fini(&out);
    return opened;
}

static void a_sealed_value_opens_only_as_it_was_sealed(void **state)
{
    temp_dir *dir = temp_dir_new();
    arcp__seal *seal = open_seal(temp_dir_join(dir, "", "key"));
    arcp__seal *other = open_seal(temp_dir_join(dir, "", "other"));
    arcp_buf sealed = arcp_buf_init();
    arcp_buf again = arcp_buf_init();
    (void)state;
    assert_true(arcp__seal_close_value(seal, ARCP_SPAN_LITERAL("cred_1"), ARCP_SPAN_LITERAL(VALUE),
                                       &sealed));
    assert_true(arcp__seal_close_value(seal, ARCP_SPAN_LITERAL("cred_1"), ARCP_SPAN_LITERAL(VALUE),
                                       &again));
    assert_null(memmem(sealed.data, sealed.size, "live", 4));
    assert_false(arcp_span_equal(arcp_buf_span(&sealed), arcp_buf_span(&again)));
    assert_true(opens(seal, "cred_1", arcp_buf_span(&sealed)));
    assert_false(opens(seal, "cred_2", arcp_buf_span(&sealed)));
    assert_false(opens(other, "cred_1", arcp_buf_span(&sealed)));
    for (size_t i = 0; i < sealed.size; i++) {
        const char kept = sealed.data[i];
        sealed.data[i] = kept == 'A' ? 'B' : 'A';
        assert_false(opens(seal, "cred_1", arcp_buf_span(&sealed)) && i + 1 < sealed.size);
        sealed.data[i] = kept;
        assert_false(opens(seal, "cred_1", arcp_span_first(arcp_buf_span(&sealed), i)));
    }
    arcp_buf_fini(&sealed);
    arcp_buf_fini(&again);
    arcp__seal_free(seal);
    arcp__seal_free(other);
    temp_dir_free(dir);
}

static void the_key_file_is_created_once_and_readable_by_its_owner_only(void **state)
{
    temp_dir *dir = temp_dir_new();
    const char *path = temp_dir_join(dir, "", "key");
    struct stat facts;
    arcp_buf sealed = arcp_buf_init();
    (void)state;
    arcp__seal *seal = open_seal(path);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_int_equal(facts.st_size, 32);
    assert_true(
        arcp__seal_close_value(seal, ARCP_SPAN_LITERAL("x"), ARCP_SPAN_LITERAL(VALUE), &sealed));
    arcp__seal_free(seal);
    seal = open_seal(path);
    assert_true(opens(seal, "x", arcp_buf_span(&sealed)));
    arcp__seal_free(seal);
    arcp_buf_fini(&sealed);
    temp_dir_free(dir);
}

static void check_refused(const char *path, arcp_status status)
{
    arcp__seal *seal = NULL;
    arcp_error error = {0};
    assert_int_equal(arcp__seal_open(path, &seal, &error), status);
    assert_null(seal);
    assert_non_null(strstr(error.message, path));
}

static void a_key_file_that_others_can_read_or_that_is_invalid_is_refused(void **state)
{
    temp_dir *dir = temp_dir_new();
    const char *path = temp_dir_join(dir, "", "key");
    (void)state;
    arcp__seal_free(open_seal(path));
    assert_int_equal(chmod(path, 0640), 0);
    check_refused(path, ARCP_E_USAGE);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(truncate(path, 31), 0);
    check_refused(path, ARCP_E_USAGE);
    assert_int_equal(truncate(path, 33), 0);
    check_refused(path, ARCP_E_USAGE);
    const char *link = temp_dir_join(dir, "", "link");
    assert_int_equal(symlink(path, link), 0);
    check_refused(link, ARCP_E_IO);
    temp_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sealed_value_opens_only_as_it_was_sealed),
        cmocka_unit_test(the_key_file_is_created_once_and_readable_by_its_owner_only),
        cmocka_unit_test(a_key_file_that_others_can_read_or_that_is_invalid_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
