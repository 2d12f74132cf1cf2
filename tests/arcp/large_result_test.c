/* The largest result that the default limits allow, streamed into a file while the connection is
 * cut and resumed: it must be complete, and neither program may hold it in memory. Prints the
 * memory peaks. */
#include "arcp/fixture.h"

#include <signal.h>
#include <unistd.h>

#include "arcp/cutting_proxy.h"

/* Sanitizers keep freed memory: with them no memory is compared, and an eighth is enough. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#define SHARE        8
#else
#define IS_SANITIZED false
#define SHARE        1
#endif
#define SMALL_BYTES  ((size_t)32 * 1024 * 1024 / SHARE)
#define LARGE_BYTES  ((size_t)256 * 1024 * 1024 / SHARE)
#define RECORD_BYTES 32
/* Limited queues (16 MiB unread in the client; 8 MiB unsent and 16 MiB unstored in the daemon, and
 * pages of replayed events), and copies of buffers that grow, whatever the size of the result: 54
 * to 75 MiB in the client. Holding it would take 256 MiB. */
#define CLIENT_MAX_KIB (96L * 1024)
#define DAEMON_MAX_KIB (128L * 1024)

/* The peak memory of a running program. */
static long peak_kib(pid_t pid)
{
    char path[64];
    char line[256];
    long peak = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            peak = strtol(line + 6, NULL, 10);
            break;
        }
    }
    fclose(file);
    assert_true(peak > 0);
    return peak;
}

/* The agent writes records that contain their own offset (bench_agent.c). */
static void write_record(size_t offset, char *out)
{
    for (int digit = RECORD_BYTES - 2; digit >= 0; digit--) {
        out[digit] = (char)('0' + offset % 10);
        offset /= 10;
    }
    out[RECORD_BYTES - 1] = '.';
}

static void check_file(const char *path, size_t size)
{
    static char bytes[1 << 20];
    char record[RECORD_BYTES];
    size_t offset = 0;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t got = fread(bytes, 1, sizeof bytes, file);
    while (got != 0) {
        assert_int_equal(got % RECORD_BYTES, 0);
        for (size_t i = 0; i < got; i += RECORD_BYTES, offset += RECORD_BYTES) {
            write_record(offset, record);
            if (memcmp(record, bytes + i, RECORD_BYTES) != 0) {
                fail_msg("found at byte %zu: %.32s", offset, bytes + i);
            }
        }
        got = fread(bytes, 1, sizeof bytes, file);
    }
    fclose(file);
    assert_int_equal(offset, size);
}

/* Runs one job into a file; returns the peak of `arcp`. */
static long fetch(const fixture *f, const char *url, size_t size)
{
    process p;
    char path[96];
    char input[96];
    snprintf(path, sizeof path, "%s/result", f->directory);
    snprintf(input, sizeof input, "{\"result_bytes\":%zu}", size);
    fixture_run(f, &p, 0,
                WORDS("submit", "bench", "--input", input, "--output", path, "--url", url));
    const long peak = p.max_rss_kib;
    assert_int_equal(p.out.size, 0);
    process_fini(&p);
    check_file(path, size);
    assert_int_equal(unlink(path), 0);
    return peak;
}

static void a_result_of_256_mib_is_streamed_without_being_held_in_memory(void **state)
{
    const fixture *f = *state;
    cutting_proxy proxy;
    cutting_proxy_start(&proxy, f->port, 50000000 / SHARE, 90000000 / SHARE);
    const long small = fetch(f, proxy.tcp.url, SMALL_BYTES);
    const long daemon_small = peak_kib(f->daemon.pid);
    const unsigned cuts_before = atomic_load(&proxy.cuts);
    const long large = fetch(f, proxy.tcp.url, LARGE_BYTES);
    const long daemon_large = peak_kib(f->daemon.pid);
    const unsigned cuts = atomic_load(&proxy.cuts) - cuts_before;
    cutting_proxy_stop(&proxy);
    print_message("peak memory: arcp %ld KiB for %zu MiB, %ld KiB for %zu MiB; arcpd %ld KiB, "
                  "then %ld KiB; the connection was cut %u times\n",
                  small, SMALL_BYTES >> 20, large, LARGE_BYTES >> 20, daemon_small, daemon_large,
                  cuts);
    assert_true(cuts >= 2);
    assert_true(IS_SANITIZED || large < CLIENT_MAX_KIB);
    assert_true(IS_SANITIZED || daemon_large < DAEMON_MAX_KIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_of_256_mib_is_streamed_without_being_held_in_memory),
    };
    return cmocka_run_group_tests(tests, fixture_begin_durable, fixture_end);
}
