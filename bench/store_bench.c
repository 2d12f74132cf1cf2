/* Durable appends and replay, against plain write + fdatasync of the same bytes.
 *
 * Records have 300 bytes. An append counts when its completion was delivered: it is on
 * disk then. `append N, S streams` keeps up to 8192 records in flight in batches of N,
 * spread over S streams in turn, as a loaded runtime does. After the table come latencies:
 * one batch in flight, and a steady 150 000 records per second.
 *
 * With ARCP_BENCH_POSTGRES=postgres://... the same is measured on that database, which has to be
 * for this purpose only.
 *
 * Files go to $TMPDIR (/tmp), which should be on the disk to measure. */
#include <arcp/sys/store.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "store_postgres.h"

#define RECORD_BYTES   300
#define IN_FLIGHT_MAX  8192 /* records */
#define STREAMS_MAX    100
#define REPLAY_RECORDS 200000
#define REPLAY_SLOWLY  20000   /* where each record had a commit of its own */
#define LOG_BYTES      4194304 /* in the file of a plain log */
#define READ_RECORDS   4096
#define READ_BYTES     1048576
#define PACED_RATE     150000 /* records per second */
#define PACED_TICK_NS  1000000

static char directory[256];
static char record[RECORD_BYTES + 1];

static void die(const char *what)
{
    fprintf(stderr, "store_bench: %s\n", what);
    exit(1);
}

/* ---- a store and what is in flight ---- */

typedef struct batch_slot {
    arcp_store_op *ops; /* into the store's `ops` */
    int64_t submitted_ns;
    struct batch_slot *next_free;
} batch_slot;

typedef struct bench_store {
    const char *scheme; /* "sqlite:", "memory:" or "postgres:" */
    char path[300];
    size_t per_batch;
    size_t streams;
    arcp_store *store;
    sem_t woken;
    char keys[STREAMS_MAX][32];
    uint64_t next[STREAMS_MAX];
    size_t turn; /* which stream gets the next record */
    batch_slot *slots;
    batch_slot *free_slots;
    arcp_store_op *ops;
    uint64_t submitted; /* batches */
    uint64_t delivered;
    uint64_t read_next;
    size_t read_count;
    int64_t *latencies; /* of each batch, when wanted */
} bench_store;

static void on_wake(void *user)
{
    bench_store *bench = user;
    sem_post(&bench->woken);
}

static void on_done(void *user, uint64_t id, arcp_status status, const arcp_error *err)
{
    bench_store *bench = user;
    if (status != ARCP_OK) {
        die(err->message);
    }
    batch_slot *slot = (batch_slot *)(uintptr_t)id; /* NOLINT(performance-no-int-to-ptr) */
    if (bench->latencies != NULL) {
        bench->latencies[bench->delivered] = bench_now_ns() - slot->submitted_ns;
    }
    bench->delivered++;
    slot->next_free = bench->free_slots;
    bench->free_slots = slot;
}

static void on_read(void *user, uint64_t id, arcp_status status, uint64_t first,
                    const arcp_span *records, size_t count, const arcp_error *err)
{
    bench_store *bench = user;
    if (status != ARCP_OK) {
        die(err->message);
    }
    if (count != 0 && records[count - 1].size != RECORD_BYTES) {
        die("a record came back with another size");
    }
    bench->read_next = first + count;
    bench->read_count = count;
    bench->delivered++;
}

static void on_scan(void *user, uint64_t id, arcp_status status, const arcp_store_row *rows,
                    size_t count, bool last, const arcp_error *err)
{
    die("nothing was scanned");
}

static void wait_for(bench_store *bench, uint64_t delivered)
{
    while (bench->delivered < delivered) {
        if (!bench->store->ops->poll(bench->store) && bench->delivered < delivered) {
            sem_wait(&bench->woken);
        }
    }
}

static void close_store(bench_store *bench);

/* One process owns a store in PostgreSQL, so the one that was open is closed. */
static arcp_status open_postgres(bench_store *bench, arcp_error *err)
{
    static bench_store *open;
    if (open != NULL) {
        close_store(open);
    }
    open = bench;
    return bench_open_postgres(bench_postgres_url(), &bench->store, err);
}

static void open_store(bench_store *bench)
{
    static unsigned serial;
    char url[320];
    arcp_error err = {0};
    const bool is_postgres = strcmp(bench->scheme, "postgres:") == 0;
    if (strcmp(bench->scheme, "sqlite:") == 0) {
        snprintf(bench->path, sizeof bench->path, "%s/bench-%u.db", directory, serial);
    }
    serial++;
    snprintf(url, sizeof url, "%s%s", bench->scheme, bench->path);
    const arcp_status status =
        is_postgres ? open_postgres(bench, &err) : arcp_store_open(url, &bench->store, &err);
    if (status != ARCP_OK) {
        die(err.message);
    }
    sem_init(&bench->woken, 0, 0);
    arcp_store_callbacks callbacks = {on_done, on_read, on_scan, on_wake, bench};
    bench->store->ops->set_callbacks(bench->store, &callbacks);
    for (size_t i = 0; i < STREAMS_MAX; i++) {
        /* A database keeps the streams of earlier runs. */
        snprintf(bench->keys[i], sizeof bench->keys[i], "s_%08x%06x%010zu",
                 (unsigned)(bench_now_ns() >> 10), serial, i);
    }
    const size_t count = IN_FLIGHT_MAX / bench->per_batch;
    bench->slots = calloc(count, sizeof *bench->slots);
    bench->ops = calloc(IN_FLIGHT_MAX, sizeof *bench->ops);
    if (bench->slots == NULL || bench->ops == NULL) {
        die("out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        bench->slots[i].ops = bench->ops + i * bench->per_batch;
        bench->slots[i].next_free = bench->free_slots;
        bench->free_slots = &bench->slots[i];
    }
}

static void close_store(bench_store *bench)
{
    if (bench->store != NULL) {
        arcp_store_close(bench->store);
        (void)unlink(bench->path); /* before it is written back, which would slow other cases */
        sem_destroy(&bench->woken);
        free(bench->slots);
        free(bench->ops);
        bench->free_slots = NULL;
        memset(bench->next, 0, sizeof bench->next);
        bench->store = NULL;
    }
}

static void submit(bench_store *bench, size_t count, int64_t now_ns)
{
    batch_slot *slot = bench->free_slots;
    bench->free_slots = slot->next_free;
    for (size_t i = 0; i < count; i++) {
        const size_t stream = bench->turn;
        bench->turn = bench->turn + 1 == bench->streams ? 0 : bench->turn + 1;
        slot->ops[i] = (arcp_store_op){.kind = ARCP_STORE_APPEND,
                                       .position = bench->next[stream]++,
                                       .key = arcp_span_cstr(bench->keys[stream]),
                                       .value = arcp_span_make(record, RECORD_BYTES)};
    }
    slot->submitted_ns = now_ns;
    arcp_error err = {0};
    arcp_store_batch batch = {(uint64_t)(uintptr_t)slot, slot->ops, count};
    if (bench->store->ops->submit(bench->store, &batch, &err) != ARCP_OK) {
        die(err.message);
    }
    bench->submitted++;
}

/* ---- cases ---- */

/* Sets the rate of what was done since `began_ns`: opening a store in PostgreSQL, and filling it,
 * takes longer than a short run. */
static void set_rate(uint64_t records, int64_t began_ns)
{
    bench_set_value((double)records * 1e9 / (double)(bench_now_ns() - began_ns));
}

static void run_appends(void *state, uint64_t iterations)
{
    bench_store *bench = state;
    if (bench->store == NULL) {
        open_store(bench);
    }
    const int64_t began_ns = bench_now_ns();
    for (uint64_t done = 0; done < iterations; done++) {
        if (bench->free_slots == NULL) {
            wait_for(bench, bench->delivered + 1);
        }
        submit(bench, bench->per_batch, 0);
    }
    wait_for(bench, bench->submitted);
    set_rate(iterations * bench->per_batch, began_ns);
}

typedef struct bench_file {
    size_t per_batch;
    bool is_log; /* has its size, and is written over and over from its beginning */
    int fd;
    char *bytes;
} bench_file;

static void open_file(bench_file *file, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "%s/plain-%zu-%d", directory, file->per_batch, file->is_log);
    file->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    file->bytes = calloc(1, size);
    if (file->fd < 0 || file->bytes == NULL) {
        die("no file to write to");
    }
    for (size_t done = 0; file->is_log && done < LOG_BYTES; done += size) {
        if (write(file->fd, file->bytes, size) != (ssize_t)size) {
            die(strerror(errno));
        }
    }
}

/* Appends to a file, as a log without an index would; or overwrites a log, as `sqlite:` does. */
static void run_write(void *state, uint64_t iterations)
{
    bench_file *file = state;
    const size_t size = file->per_batch * (RECORD_BYTES + 1);
    size_t offset = 0;
    if (file->fd < 0) {
        open_file(file, size);
    }
    if (!file->is_log && ftruncate(file->fd, 0) != 0) {
        die(strerror(errno));
    }
    for (uint64_t done = 0; done < iterations; done++) {
        if (pwrite(file->fd, file->bytes, size, (off_t)offset) != (ssize_t)size ||
            fdatasync(file->fd) != 0) {
            die(strerror(errno));
        }
        offset = file->is_log && offset + 2 * size > LOG_BYTES ? 0 : offset + size;
    }
}

/* Fills the store once: `per_batch` records become durable together. */
static void fill(bench_store *bench, uint64_t records)
{
    open_store(bench);
    for (uint64_t count = 0; count < records; count += bench->per_batch) {
        submit(bench, bench->per_batch, 0);
        wait_for(bench, bench->submitted);
    }
}

/* One iteration reads the whole stream. */
static void run_replay(void *state, uint64_t iterations)
{
    bench_store *bench = state;
    const uint64_t records = bench->per_batch == 1 ? REPLAY_SLOWLY : REPLAY_RECORDS;
    if (bench->store == NULL) {
        fill(bench, records);
    }
    arcp_error err = {0};
    const int64_t began_ns = bench_now_ns();
    for (uint64_t done = 0; done < iterations; done++) {
        bench->read_next = 0;
        do {
            if (bench->store->ops->read(bench->store, 0, arcp_span_cstr(bench->keys[0]),
                                        bench->read_next, READ_RECORDS, READ_BYTES,
                                        &err) != ARCP_OK) {
                die(err.message);
            }
            wait_for(bench, ++bench->submitted);
        } while (bench->read_count != 0);
        if (bench->read_next != records) {
            die("the replay was not complete");
        }
    }
    set_rate(iterations * records, began_ns);
}

/* ---- latencies ---- */

static int compare_ns(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void print_latency(const char *name, bench_store *bench, uint64_t count, double seconds,
                          uint64_t records, bool json)
{
    qsort(bench->latencies, count, sizeof *bench->latencies, compare_ns);
    const uint64_t middle = count / 2;
    const uint64_t late = count * 99 / 100;
    const double p50 = (double)bench->latencies[middle] / 1e6;
    const double p99 = (double)bench->latencies[late] / 1e6;
    const double max = (double)bench->latencies[count - 1] / 1e6;
    if (json) {
        printf("{\"bench\":\"store\",\"case\":\"%s\",\"unit\":\"ms\",\"p50\":%.4g,\"p99\":%.4g,"
               "\"max\":%.4g,\"batches\":%" PRIu64 ",\"records_per_second\":%.6g}\n",
               name, p50, p99, max, count, (double)records / seconds);
    } else {
        printf("%-40s  p50 %7.3f ms  p99 %7.3f ms  max %7.3f ms  %9.0f records/s\n", name, p50, p99,
               max, (double)records / seconds);
    }
}

/* A store each of whose batches is timed. */
static void open_measured(bench_store *bench, uint64_t count)
{
    open_store(bench);
    bench->latencies = calloc(count, sizeof *bench->latencies);
    if (bench->latencies == NULL) {
        die("out of memory");
    }
}

/* One batch in flight: how long until its events may be sent. */
static void measure_single(size_t per_batch, size_t streams, uint64_t count, bool json)
{
    bench_store bench = {.scheme = "sqlite:", .per_batch = per_batch, .streams = streams};
    char name[64];
    snprintf(name, sizeof name, "latency, %zu a batch, %zu stream%s", per_batch, streams,
             streams == 1 ? "" : "s");
    open_measured(&bench, count);
    const int64_t began_ns = bench_now_ns();
    for (uint64_t i = 0; i < count; i++) {
        submit(&bench, per_batch, bench_now_ns());
        wait_for(&bench, i + 1);
    }
    const double seconds = (double)(bench_now_ns() - began_ns) / 1e9;
    print_latency(name, &bench, count, seconds, count * per_batch, json);
    close_store(&bench);
    free(bench.latencies);
}

/* Submits a batch every millisecond, whether or not the earlier ones are complete. */
static void measure_paced(size_t streams, double seconds, bool json)
{
    const size_t per_batch = PACED_RATE / 1000;
    const uint64_t count = (uint64_t)(seconds * 1000);
    bench_store bench = {.scheme = "sqlite:", .per_batch = per_batch, .streams = streams};
    char name[64];
    snprintf(name, sizeof name, "latency at %d/s, %zu stream%s", PACED_RATE, streams,
             streams == 1 ? "" : "s");
    open_measured(&bench, count);
    const int64_t began_ns = bench_now_ns();
    for (uint64_t i = 0; i < count; i++) {
        const int64_t due_ns = began_ns + (int64_t)i * PACED_TICK_NS;
        struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
        while (bench_now_ns() < due_ns || bench.free_slots == NULL) {
            if (!bench.store->ops->poll(bench.store)) {
                if (bench.free_slots == NULL) {
                    sem_wait(&bench.woken);
                } else if (sem_clockwait(&bench.woken, CLOCK_MONOTONIC, &due) != 0) {
                    continue;
                }
            }
        }
        submit(&bench, per_batch, due_ns);
    }
    wait_for(&bench, count);
    const double took = (double)(bench_now_ns() - began_ns) / 1e9;
    print_latency(name, &bench, count, took, count * per_batch, json);
    close_store(&bench);
    free(bench.latencies);
}

static void measure_latencies(bool json, bool quick)
{
    static const size_t sizes[] = {1, 16, 256, 1024};
    for (size_t streams = 1; streams <= STREAMS_MAX; streams *= 100) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            measure_single(sizes[i], streams, quick ? 20 : 2000, json);
        }
    }
    measure_paced(1, quick ? 0.05 : 3, json);
    measure_paced(STREAMS_MAX, quick ? 0.05 : 3, json);
}

/* ---- the program ---- */

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    return remove(path);
}

static bench_file files[] = {{.per_batch = 1, .fd = -1},
                             {.per_batch = 16, .fd = -1},
                             {.per_batch = 256, .fd = -1},
                             {.per_batch = 1024, .fd = -1},
                             {.per_batch = 1, .is_log = true, .fd = -1}};

static bench_store stores[] = {
    {.scheme = "sqlite:", .per_batch = 1, .streams = 1},
    {.scheme = "sqlite:", .per_batch = 16, .streams = 1},
    {.scheme = "sqlite:", .per_batch = 256, .streams = 1},
    {.scheme = "sqlite:", .per_batch = 1024, .streams = 1},
    {.scheme = "sqlite:", .per_batch = 1, .streams = 100},
    {.scheme = "sqlite:", .per_batch = 16, .streams = 100},
    {.scheme = "sqlite:", .per_batch = 256, .streams = 100},
    {.scheme = "sqlite:", .per_batch = 1024, .streams = 100},
    {.scheme = "memory:", .per_batch = 256, .streams = 100},
    {.scheme = "sqlite:", .per_batch = 1, .streams = 1},
    {.scheme = "sqlite:", .per_batch = 200, .streams = 1},
    {.scheme = "memory:", .per_batch = 200, .streams = 1},
    {.scheme = "postgres:", .per_batch = 1, .streams = 100},
    {.scheme = "postgres:", .per_batch = 16, .streams = 100},
    {.scheme = "postgres:", .per_batch = 256, .streams = 100},
    {.scheme = "postgres:", .per_batch = 1024, .streams = 100},
    {.scheme = "postgres:", .per_batch = 200, .streams = 1},
};

#define POSTGRES_CASES 5u /* the last ones, here and below */

#define UNIT "records/s"
#define WRITE_CASE(n, at)                                                                          \
    {                                                                                              \
        "write + fdatasync, " #n " a time", NULL, run_write, &files[at], n, UNIT, 0                \
    }
/* A fixed number, and a multiple of what is in flight: short runs would not show how
 * batches share commits. */
#define RECORDS_PER_RUN 40960
#define APPEND_CASE(n, text, at)                                                                   \
    {                                                                                              \
        "append " #n " a batch, " text, "write + fdatasync, " #n " a time", run_appends,           \
            &stores[at], n, UNIT, RECORDS_PER_RUN / (n)                                            \
    }

static const bench_case cases[] = {
    WRITE_CASE(1, 0),
    WRITE_CASE(16, 1),
    WRITE_CASE(256, 2),
    WRITE_CASE(1024, 3),
    {"overwrite + fdatasync, 1 a time", "write + fdatasync, 1 a time", run_write, &files[4], 1,
     UNIT, 0},
    APPEND_CASE(1, "1 stream", 0),
    APPEND_CASE(16, "1 stream", 1),
    APPEND_CASE(256, "1 stream", 2),
    APPEND_CASE(1024, "1 stream", 3),
    APPEND_CASE(1, "100 streams", 4),
    APPEND_CASE(16, "100 streams", 5),
    APPEND_CASE(256, "100 streams", 6),
    APPEND_CASE(1024, "100 streams", 7),
    APPEND_CASE(256, "100 streams, memory", 8),
    {"replay, written one by one", NULL, run_replay, &stores[9], REPLAY_SLOWLY, UNIT, 0},
    {"replay, written 200 at a time", NULL, run_replay, &stores[10], REPLAY_RECORDS, UNIT, 0},
    {"replay, memory", NULL, run_replay, &stores[11], REPLAY_RECORDS, UNIT, 0},
    APPEND_CASE(1, "100 streams, postgres", 12),
    APPEND_CASE(16, "100 streams, postgres", 13),
    APPEND_CASE(256, "100 streams, postgres", 14),
    APPEND_CASE(1024, "100 streams, postgres", 15),
    {"replay, written 200 at a time, postgres", NULL, run_replay, &stores[16], REPLAY_RECORDS, UNIT,
     0},
};

/* Returns the argument after the option, "" if there is none; NULL without the option. */
static const char *find_flag(char **argv, const char *flag)
{
    for (char **word = argv; *word != NULL; word++) {
        if (strcmp(*word, flag) == 0) {
            return word[1] != NULL ? word[1] : "";
        }
    }
    return NULL;
}

static void clean_up(void)
{
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        close_store(&stores[i]);
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (files[i].fd >= 0) {
            close(files[i].fd);
            free(files[i].bytes);
        }
    }
    (void)nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(int argc, char **argv)
{
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/arcp-store-bench-XXXXXX",
             base != NULL ? base : "/tmp");
    if (mkdtemp(directory) == NULL) {
        die("no directory to write to");
    }
    memset(record, 'r', RECORD_BYTES);
    /* --filter latency: only the latencies after the table. */
    const char *filter = find_flag(argv, "--filter");
    const bool only_latencies = filter != NULL && strncmp(filter, "latency", 7) == 0;
    int status = 0;
    if (!only_latencies) {
        const size_t count = sizeof cases / sizeof cases[0];
        status = bench_main(argc, argv, "store", cases,
                            bench_postgres_url() == NULL ? count - POSTGRES_CASES : count);
    }
    if (status == 0 && find_flag(argv, "--list") == NULL && find_flag(argv, "--help") == NULL &&
        (filter == NULL || only_latencies)) {
        measure_latencies(find_flag(argv, "--json") != NULL, find_flag(argv, "--quick") != NULL);
    }
    clean_up();
    return status;
}
