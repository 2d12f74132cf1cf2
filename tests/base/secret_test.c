/* Secrets compare as bytes do, and are wiped when they are freed. */
#include "support/check.h"

#include <arcp/secret.h>

#include "support/failing_alloc.h"

typedef struct pair {
    const char *name;
    arcp_span a;
    arcp_span b;
    bool equal;
} pair;

static void equal_means_the_same_bytes_and_the_same_length(void **state)
{
    (void)state;
    const pair pairs[] = {
        {"the same", ARCP_SPAN_LITERAL("token"), ARCP_SPAN_LITERAL("token"), true},
        {"nothing and nothing", ARCP_SPAN_LITERAL(""), {NULL, 0}, true},
        {"the first byte", ARCP_SPAN_LITERAL("token"), ARCP_SPAN_LITERAL("Token"), false},
        {"the last byte", ARCP_SPAN_LITERAL("token"), ARCP_SPAN_LITERAL("tokeN"), false},
        {"one byte less", ARCP_SPAN_LITERAL("token"), ARCP_SPAN_LITERAL("toke"), false},
        {"one byte more", ARCP_SPAN_LITERAL("token"), ARCP_SPAN_LITERAL("tokens"), false},
        {"a repetition", ARCP_SPAN_LITERAL("ab"), ARCP_SPAN_LITERAL("abab"), false},
        {"nothing and something", ARCP_SPAN_LITERAL(""), ARCP_SPAN_LITERAL("a"), false},
        {"nothing and a NUL byte", ARCP_SPAN_LITERAL(""), ARCP_SPAN_LITERAL("\0"), false},
        {"something and nothing", ARCP_SPAN_LITERAL("a"), ARCP_SPAN_LITERAL(""), false},
        {"a difference behind a NUL byte", ARCP_SPAN_LITERAL("a\0b"), ARCP_SPAN_LITERAL("a\0c"),
         false},
        {"a difference of 256 in length", ARCP_SPAN_LITERAL(""),
         arcp_span_make((char[256]){0}, 256), false},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const pair *row = &pairs[i];
        print_message("  %s\n", row->name);
        arcp_secret *secret = arcp_secret_new(row->a);
        assert_non_null(secret);
        assert_int_equal(arcp_secret_equal(secret, row->b), row->equal);
        assert_int_equal(arcp_bytes_equal_constant_time(row->a, row->b), row->equal);
        assert_int_equal(arcp_bytes_equal_constant_time(row->b, row->a), row->equal);
        arcp_secret_free(secret);
    }
}

static void every_differing_bit_is_noticed(void **state)
{
    (void)state;
    char bytes[40];
    memset(bytes, 0x5a, sizeof bytes);
    arcp_secret *secret = arcp_secret_new(arcp_span_make(bytes, sizeof bytes));
    assert_non_null(secret);
    for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        assert_false(arcp_secret_equal(secret, arcp_span_make(bytes, sizeof bytes)));
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
    }
    assert_true(arcp_secret_equal(secret, arcp_span_make(bytes, sizeof bytes)));
    arcp_secret_free(secret);
}

static void a_secret_is_a_copy_of_its_own(void **state)
{
    (void)state;
    char token[] = "token";
    arcp_secret *secret = arcp_secret_new(arcp_span_cstr(token));
    assert_non_null(secret);
    arcp_wipe(token, sizeof token);
    assert_memory_equal(token, "\0\0\0\0\0\0", sizeof token);
    check_span(arcp_secret_reveal(secret), "token");
    arcp_secret_free(secret);
    arcp_secret_free(NULL);
    arcp_wipe(NULL, 0);
}

static arcp_status keep_one(void *user, arcp_error *err)
{
    (void)user;
    arcp_secret *secret = arcp_secret_new(ARCP_SPAN_LITERAL("token"));
    const arcp_status status =
        secret == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
    arcp_secret_free(secret);
    return status;
}

static void without_memory_there_is_no_secret(void **state)
{
    (void)state;
    assert_int_equal(failing_alloc_sweep(keep_one, NULL), 1);
    assert_null(arcp_secret_new(arcp_span_make("x", SIZE_MAX)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_means_the_same_bytes_and_the_same_length),
        cmocka_unit_test(every_differing_bit_is_noticed),
        cmocka_unit_test(a_secret_is_a_copy_of_its_own),
        cmocka_unit_test(without_memory_there_is_no_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
