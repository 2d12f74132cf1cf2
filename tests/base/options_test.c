/* Structs that may grow (src/base/options.h, docs/decisions/0010). */
#include "support/check.h"

#include "base/options.h"

/* The structs of this release, and those of an older and a newer one. */
typedef struct sample {
    size_t struct_size;
    const char *name;
    uint64_t limit;
} sample;
typedef struct older_sample {
    size_t struct_size;
    const char *name;
} older_sample;
typedef struct newer_sample {
    sample known;
    bool strict;
} newer_sample;

static arcp_status take(const void *given, sample *out, arcp_error *err)
{
    *out = (sample){sizeof *out, "default", 7};
    return arcp__options_take(out, given, sizeof *out, "sample", err);
}

static void this_releases_struct_is_taken_whole(void **state)
{
    arcp_error err = {0};
    const sample given = {sizeof given, "given", 9};
    sample out;
    (void)state;
    check_ok(take(&given, &out, &err), &err);
    assert_string_equal(out.name, "given");
    assert_int_equal(out.limit, 9);
}

static void no_struct_means_the_defaults(void **state)
{
    arcp_error err = {0};
    sample out;
    (void)state;
    check_ok(take(NULL, &out, &err), &err);
    assert_string_equal(out.name, "default");
    assert_int_equal(out.limit, 7);
}

static void an_older_releases_struct_is_completed_by_defaults(void **state)
{
    arcp_error err = {0};
    const older_sample given = {sizeof given, "given"};
    sample out;
    (void)state;
    check_ok(take(&given, &out, &err), &err);
    assert_int_equal(out.struct_size, sizeof out);
    assert_string_equal(out.name, "given");
    assert_int_equal(out.limit, 7);
}

static void a_newer_releases_struct_is_refused(void **state)
{
    arcp_error err = {0};
    const newer_sample given = {{sizeof given, "given", 9}, true};
    sample out;
    (void)state;
    assert_int_equal(take(&given, &out, &err), ARCP_E_USAGE);
    assert_string_equal(err.message,
                        "sample: struct_size is 32, and 24 in this release of the library: the "
                        "program was compiled for a newer one, or did not begin with "
                        "sample_init()");
}

static void a_size_that_no_release_has_is_refused(void **state)
{
    const size_t sizes[] = {
        0, 1, sizeof(size_t), sizeof(size_t) + 1, sizeof(sample) - 1, sizeof(sample) + 1};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        arcp_error err = {0};
        char message[128];
        const sample given = {sizes[i], "given", 9};
        sample out;
        assert_int_equal(take(&given, &out, &err), ARCP_E_USAGE);
        assert_string_equal(out.name, "default");
        (void)snprintf(message, sizeof message,
                       "sample: struct_size is %zu, which no release has: begin with "
                       "sample_init()",
                       sizes[i]);
        assert_string_equal(err.message, message);
    }
}

static void a_result_is_written_as_far_as_the_programs_struct_goes(void **state)
{
    const sample ours = {sizeof ours, "ours", 9};
    newer_sample newer = {{sizeof newer, "before", 1}, true};
    struct {
        older_sample known;
        uint64_t beyond;
    } older = {{sizeof older.known, "before"}, 5};
    (void)state;
    arcp__options_give(&older, &ours, sizeof ours);
    assert_int_equal(older.known.struct_size, sizeof older.known);
    assert_string_equal(older.known.name, "ours");
    assert_int_equal(older.beyond, 5);
    arcp__options_give(&newer, &ours, sizeof ours);
    assert_int_equal(newer.known.struct_size, sizeof newer);
    assert_int_equal(newer.known.limit, 9);
    assert_true(newer.strict);
    older.known = (older_sample){0, "before"};
    arcp__options_give(&older, &ours, sizeof ours);
    assert_string_equal(older.known.name, "before");
}

static void a_vtable_has_what_is_required_and_nothing_unknown(void **state)
{
    const size_t required = ARCP__END_OF(sample, name);
    const struct {
        size_t size;
        bool is_good;
    } rows[] = {
        {0, false},
        {required - 1, false},
        {required, true},
        {sizeof(sample) - 1, true},
        {sizeof(sample), true},
        {sizeof(sample) + 1, false},
        {sizeof(sample) + 8, false},
    };
    arcp_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const sample ops = {rows[i].size, "name", 0};
        print_message("  %zu\n", rows[i].size);
        assert_int_equal(arcp__vtable_check(&ops, required, sizeof ops, "sample_ops", &err),
                         rows[i].is_good ? ARCP_OK : ARCP_E_USAGE);
    }
    assert_string_equal(
        err.message,
        "sample_ops: struct_size is 32, and this release of the library knows 16 to 24");
    assert_int_equal(arcp__vtable_check(NULL, required, sizeof(sample), "sample_ops", &err),
                     ARCP_E_USAGE);
    assert_string_equal(err.message, "sample_ops is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_releases_struct_is_taken_whole),
        cmocka_unit_test(no_struct_means_the_defaults),
        cmocka_unit_test(an_older_releases_struct_is_completed_by_defaults),
        cmocka_unit_test(a_newer_releases_struct_is_refused),
        cmocka_unit_test(a_size_that_no_release_has_is_refused),
        cmocka_unit_test(a_result_is_written_as_far_as_the_programs_struct_goes),
        cmocka_unit_test(a_vtable_has_what_is_required_and_nothing_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
