/* kill -9 at any moment: everything that was reported as durable is stored, positions have no gap,
 * and a batch is stored as a whole or not at all.
 *
 * A child appends to several streams, with several batches in flight, and writes a note to
 * a pipe for each completion. It is killed after a random number of notes and a random
 * time more. The parent then opens the same file, compares, and starts the next child, which
 * continues from there. The seed is fixed, but the scheduling is not. */
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/store_rig.h"
#include "store/temp_dir.h"

#define KILLS       120
#define STREAMS     5
#define IN_FLIGHT   8
#define RECORDS_MAX 6    /* per stream and batch */
#define TRIM_EVERY  50   /* batches */
#define KEPT        2000 /* records that are not trimmed */

typedef struct note {
    uint32_t stream;
    uint64_t next; /* position: everything below is durable */
} note;

typedef struct child_batch {
    arcp_store_op ops[RECORDS_MAX + 2];
    char texts[RECORDS_MAX][64];
    char tip[32];
    uint32_t stream;
    uint64_t next;
    bool is_busy;
} child_batch;

static char url[700];
static char names[STREAMS][16];
static int notes_fd;

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

/* The content of a record follows from its stream and position. */
static void make_text(uint32_t stream, uint64_t position, char text[64])
{
    snprintf(text, 64, "{\"stream\":%u,\"position\":%llu}", stream, (unsigned long long)position);
}

/* ---- the child ---- */

static child_batch batches[IN_FLIGHT];

static void child_done(void *user, uint64_t id, arcp_status status, const arcp_error *err)
{
    child_batch *batch = &batches[id];
    note reported = {batch->stream, batch->next};
    if (status != ARCP_OK ||
        write(notes_fd, &reported, sizeof reported) != (ssize_t)sizeof reported) {
        _exit(2);
    }
    batch->is_busy = false;
}

/* Where each stream ends, read one after the other. */
static void child_read(void *user, uint64_t id, arcp_status status, uint64_t first,
                       const arcp_span *records, size_t count, const arcp_error *err)
{
    uint64_t *tips = user;
    if (status != ARCP_OK || count != 0) {
        _exit(3);
    }
    tips[id] = first;
}

static size_t fill_batch(child_batch *batch, uint64_t *tips, uint64_t *random, uint64_t serial)
{
    size_t count = 0;
    batch->stream = draw(random, STREAMS);
    for (uint32_t left = 1 + draw(random, RECORDS_MAX); left != 0; left--) {
        const uint64_t position = tips[batch->stream]++;
        make_text(batch->stream, position, batch->texts[count]);
        batch->ops[count] = op_append(names[batch->stream], position, batch->texts[count]);
        count++;
    }
    batch->next = tips[batch->stream];
    /* The same batch writes the stream's end into a row: both or neither. */
    snprintf(batch->tip, sizeof batch->tip, "%llu", (unsigned long long)batch->next);
    batch->ops[count++] = op_put(ARCP_STORE_SESSIONS, names[batch->stream], batch->tip);
    if (serial % TRIM_EVERY == 0 && batch->next > KEPT) {
        batch->ops[count++] = op_trim(names[batch->stream], batch->next - KEPT);
    }
    return count;
}

static void run_child(uint64_t random)
{
    arcp_store *store = NULL;
    uint64_t tips[STREAMS];
    memset(tips, 0xff, sizeof tips);
    if (arcp_store_open(url, &store, NULL) != ARCP_OK) {
        _exit(1);
    }
    arcp_store_callbacks callbacks = {.done = child_done, .read = child_read, .user = tips};
    store->ops->set_callbacks(store, &callbacks);
    for (uint32_t i = 0; i < STREAMS; i++) {
        if (store->ops->read(store, i, arcp_span_cstr(names[i]), UINT64_MAX, 1, 1, NULL) !=
            ARCP_OK) {
            _exit(1);
        }
    }
    while (tips[STREAMS - 1] == UINT64_MAX) {
        store->ops->poll(store);
    }
    for (uint64_t serial = 1;; serial++) {
        child_batch *batch = &batches[serial % IN_FLIGHT];
        while (batch->is_busy) {
            store->ops->poll(store);
        }
        batch->is_busy = true;
        arcp_store_batch asked = {serial % IN_FLIGHT, batch->ops,
                                  fill_batch(batch, tips, &random, serial)};
        if (store->ops->submit(store, &asked, NULL) != ARCP_OK) {
            _exit(4);
        }
    }
}

/* ---- the parent ---- */

/* Reads notes until `enough` came, then for up to `more_us` as they come. */
static void read_notes(int fd, uint32_t enough, uint32_t more_us, uint64_t *reported)
{
    note one;
    for (uint32_t count = 0; count < enough; count++) {
        assert_int_equal(read(fd, &one, sizeof one), sizeof one);
        reported[one.stream] = one.next;
    }
    struct timespec wait = {0, (long)more_us * 1000};
    struct pollfd readable = {.fd = fd, .events = 0}; /* only the time is waited for */
    (void)ppoll(&readable, 1, &wait, NULL);
}

/* Reads the notes that the child wrote before it was killed. */
static void read_last_notes(int fd, uint64_t *reported)
{
    note one;
    while (read(fd, &one, sizeof one) == (ssize_t)sizeof one) {
        reported[one.stream] = one.next;
    }
}

static void check_records(const answer *got, uint32_t stream)
{
    char want[64];
    char *save = NULL;
    uint64_t position = got->first;
    for (char *text = strtok_r(got->text, "|", &save); text != NULL;
         text = strtok_r(NULL, "|", &save)) {
        make_text(stream, position++, want);
        assert_string_equal(text, want);
    }
    assert_int_equal(position, got->first + got->count);
}

static void check_stream(store_rig *rig, uint32_t stream, uint64_t reported)
{
    const uint64_t tip = rig_read(rig, names[stream], UINT64_MAX)->first;
    assert_true(tip >= reported);
    uint64_t next = tip > KEPT ? tip - KEPT : 0;
    while (next < tip) {
        const answer *got = rig_read(rig, names[stream], next);
        assert_int_equal(got->status, ARCP_OK);
        assert_int_equal(got->first, next);
        assert_true(got->count > 0);
        next = got->first + got->count;
        check_records(got, stream);
    }
    assert_int_equal(next, tip);
    char want[64] = "";
    if (tip > 0) {
        snprintf(want, sizeof want, "%s=%llu", names[stream], (unsigned long long)tip);
    }
    check_scan(rig, ARCP_STORE_SESSIONS, names[stream], want);
    rig_forget(rig);
}

static void kill_one(uint64_t *random, uint64_t *reported)
{
    int notes[2];
    assert_int_equal(pipe(notes), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(notes[0]);
        notes_fd = notes[1];
        run_child(*random);
    }
    close(notes[1]);
    /* Now and then while it opens; mostly somewhere in the middle. */
    const uint32_t enough = draw(random, 8) == 0 ? 0 : draw(random, 300);
    read_notes(notes[0], enough, draw(random, 3000), reported);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status)) {
        fail_msg("the child ended by itself with status %d", WEXITSTATUS(status));
    }
    read_last_notes(notes[0], reported);
    close(notes[0]);
}

static void no_reported_commit_is_lost_by_kill_9(void **state)
{
    temp_dir *dir = temp_dir_new();
    uint64_t reported[STREAMS] = {0};
    uint64_t random = 20260513;
    snprintf(url, sizeof url, "%s", temp_dir_join(dir, "sqlite:", "s.db"));
    for (uint32_t i = 0; i < STREAMS; i++) {
        snprintf(names[i], sizeof names[i], "stream-%u", i);
    }
    for (int round = 0; round < KILLS; round++) {
        kill_one(&random, reported);
        store_rig *rig = rig_open(url);
        for (uint32_t i = 0; i < STREAMS; i++) {
            check_stream(rig, i, reported[i]);
        }
        rig_close(rig);
    }
    uint64_t total = 0;
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_true(reported[i] > 0);
        total += reported[i];
    }
    print_message("%d kills, %llu records\n", KILLS, (unsigned long long)total);
    temp_dir_free(dir);
}

/* ---- a torn log ---- */

static void copy_file(const char *from, const char *to, off_t size)
{
    FILE *in = fopen(from, "r");
    FILE *out = fopen(to, "w");
    assert_non_null(in);
    assert_non_null(out);
    for (off_t i = 0; i < size; i++) {
        const int byte = fgetc(in);
        if (byte == EOF) {
            break;
        }
        assert_int_equal(fputc(byte, out), byte);
    }
    assert_int_equal(fclose(in), 0);
    assert_int_equal(fclose(out), 0);
}

/* As after a power failure with a disk that reported a sync too early, or in a truncated copy:
 * complete commits are kept, the torn end is lost, and the start is not refused. */
static void a_torn_log_loses_only_its_end(void **state)
{
    enum { COUNT = 40 };
    temp_dir *dir = temp_dir_new();
    store_rig *rig = rig_open(temp_dir_join(dir, "sqlite:", "s.db"));
    for (uint64_t i = 0; i < COUNT; i++) {
        char text[64];
        make_text(0, i, text);
        check_commit(rig, ARCP_OK, op_append("s", i, text));
    }
    struct stat log;
    struct stat database;
    assert_int_equal(stat(temp_dir_join(dir, "", "s.db-wal"), &log), 0);
    assert_int_equal(stat(temp_dir_join(dir, "", "s.db"), &database), 0);
    uint64_t seen_most = 0;
    for (off_t cut = 0; cut <= log.st_size; cut += 1777) {
        /* While the first one is open, as a crash would leave it. */
        copy_file(temp_dir_join(dir, "", "s.db"), temp_dir_join(dir, "", "copy.db"),
                  database.st_size);
        copy_file(temp_dir_join(dir, "", "s.db-wal"), temp_dir_join(dir, "", "copy.db-wal"), cut);
        store_rig *copy = rig_open(temp_dir_join(dir, "sqlite:", "copy.db"));
        const answer *got = rig_read(copy, "s", 0);
        assert_int_equal(got->status, ARCP_OK);
        assert_int_equal(got->first, 0);
        assert_true(got->count >= seen_most);
        seen_most = got->count;
        check_records(got, 0);
        rig_close(copy);
    }
    assert_true(seen_most > COUNT / 2);
    rig_close(rig);
    temp_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_reported_commit_is_lost_by_kill_9),
        cmocka_unit_test(a_torn_log_loses_only_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
