/* The keyed hash, and tables that survive running out of memory. */
#include "support/check.h"

#include "base/hash.h"
#include "support/failing_alloc.h"

typedef struct vector {
    uint64_t key[2];
    size_t size;
    uint64_t want;
} vector;

/* The bytes 0, 1, 2, ... as CPython 3.11 hashes them with PYTHONHASHSEED 0 and 1. */
static const vector vectors[] = {
    {{0, 0}, 1, 0x68a914128e01e473},
    {{0, 0}, 7, 0x2f098ab0c751325a},
    {{0, 0}, 8, 0xead411e67ebe2eea},
    {{0, 0}, 9, 0x75927f9d95124362},
    {{0, 0}, 15, 0xf30eb725bb91c9ea},
    {{0, 0}, 16, 0x8972188433a5c5b7},
    {{0, 0}, 23, 0x37332b1389daa4ff},
    {{0, 0}, 63, 0x385d3e39e5f37359},
    {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 1, 0xecd3e5afcecda4b9},
    {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 7, 0xfd15e78052a69ddf},
    {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 8, 0xc0b5739e7e28dd01},
    {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 9, 0x208a1a5a0cbbf778},
    {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 15, 0xfa87985f39e97a53},
    {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 16, 0x12e9d283f9f37002},
    {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 23, 0xf7cea028f939ae8c},
    {{0xaed66ce184be2329, 0xebe9bbf1f1499052}, 63, 0x542052345bc68274},
};

static void the_function_is_siphash_1_3(void **state)
{
    (void)state;
    unsigned char bytes[64];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)i;
    }
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        print_message("  %zu bytes\n", vectors[i].size);
        assert_true(arcp__siphash(vectors[i].key, bytes, vectors[i].size) == vectors[i].want);
    }
}

static void equal_bytes_have_equal_hashes(void **state)
{
    (void)state;
    char first[64];
    char second[65];
    for (size_t size = 0; size <= 64; size++) {
        memset(first, 'k', sizeof first);
        memset(second, 'k', sizeof second);
        /* Also at another alignment. */
        assert_true(arcp__hash_bytes(first, size) == arcp__hash_bytes(second + 1, size));
    }
}

static void every_bit_and_the_length_count(void **state)
{
    (void)state;
    unsigned char bytes[40] = {0};
    for (size_t size = 1; size <= sizeof bytes; size++) {
        const uint64_t base = arcp__hash_bytes(bytes, size);
        assert_true(arcp__hash_bytes(bytes, size - 1) != base);
        for (size_t bit = 0; bit < size * 8; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_true(arcp__hash_bytes(bytes, size) != base);
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
    }
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* 100 000 keys that differ in a number only: no two share 64 bits, and their low 16 bits
 * fill the table as evenly as chance would (a bucket of 65 536 gets 1.5 on average; more
 * than 20 has a probability below 1e-12). */
static void similar_keys_spread(void **state)
{
    (void)state;
    enum { KEYS = 100000, BUCKETS = 65536 };
    uint64_t *hashes = calloc(KEYS, sizeof *hashes);
    unsigned char *buckets = calloc(BUCKETS, 1);
    assert_non_null(hashes);
    assert_non_null(buckets);
    for (size_t i = 0; i < KEYS; i++) {
        char key[32];
        const int size = snprintf(key, sizeof key, "job_%zu", i);
        hashes[i] = arcp__hash_bytes(key, (size_t)size);
        assert_true(++buckets[hashes[i] % BUCKETS] <= 20);
    }
    qsort(hashes, KEYS, sizeof *hashes, compare_u64);
    for (size_t i = 1; i < KEYS; i++) {
        assert_true(hashes[i] != hashes[i - 1]);
    }
    free(buckets);
    free(hashes);
}

typedef struct entry {
    int key;
    UT_hash_handle hh;
} entry;

/* Fills a table of 100; reports the first element that could not be added. */
static arcp_status fill_table(void *user, arcp_error *err)
{
    (void)user;
    entry *table = NULL;
    arcp_status status = ARCP_OK;
    for (int key = 0; key < 100 && status == ARCP_OK; key++) {
        entry *added = arcp__alloc(sizeof *added);
        if (added == NULL) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
            break;
        }
        added->key = key;
        HASH_ADD_INT(table, key, added);
        if (!ARCP__HASH_ADDED(added)) {
            arcp__free(added);
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    int found = 0;
    for (int key = 0; key < 100; key++) {
        const entry *one = NULL;
        HASH_FIND_INT(table, &key, one);
        found += one != NULL && one->key == key;
    }
    if (found != (int)HASH_COUNT(table) || (status == ARCP_OK && found != 100)) {
        status = ARCP_E_CORRUPT;
    }
    entry *one = NULL;
    entry *next = NULL;
    HASH_ITER (hh, table, one, next) {
        HASH_DEL(table, one);
        arcp__free(one);
    }
    return status;
}

/* How many allocations a run makes depends on the key: buckets double when one becomes full. When
 * there is no memory for more buckets, uthash continues with full ones, which is success. */
static void a_table_keeps_what_it_has_when_memory_runs_out(void **state)
{
    (void)state;
    size_t refused = 0;
    for (size_t nth = 1;; nth++) {
        const size_t before = failing_alloc_live();
        arcp_error err = {0};
        failing_alloc_arm(nth, FAILING_ALLOC_ONE);
        const arcp_status status = fill_table(NULL, &err);
        const bool failed = failing_alloc_disarm();
        assert_int_equal(failing_alloc_live(), before);
        if (!failed) {
            check_ok(status, &err);
            break;
        }
        assert_true(status == ARCP_E_NO_MEMORY || status == ARCP_OK);
        refused += status == ARCP_E_NO_MEMORY;
    }
    /* At least the hundred elements, the table and its buckets. */
    assert_true(refused >= 102);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_function_is_siphash_1_3),
        cmocka_unit_test(equal_bytes_have_equal_hashes),
        cmocka_unit_test(every_bit_and_the_length_count),
        cmocka_unit_test(similar_keys_spread),
        cmocka_unit_test(a_table_keeps_what_it_has_when_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
