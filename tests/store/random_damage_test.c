/* Damages a store's files at random and reads the store: every read returns what was written, or an
 * error that names the damage. The only loss without an error is the end of the log, as after a
 * power failure: then the content is that after an earlier commit.
 *
 * ARCP_TEST_DAMAGES=2000 sets the number of damages (200), ARCP_TEST_SEED=7 the first seed. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store_rig.h"
#include "store/temp_dir.h"

#define COMMITS 160
#define STREAMS 6
#define KEYS    24
#define OPS_MAX 12
#define TABLES  3
#define PAGE    4096

static const arcp_store_table tables[TABLES] = {ARCP_STORE_SESSIONS, ARCP_STORE_JOBS,
                                                ARCP_STORE_META};

typedef struct random_source {
    uint64_t state;
} random_source;

static uint32_t draw(random_source *random, uint32_t below)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random->state >> 33) % below;
}

/* ---- the written content ----
 *
 * Content follows from names and versions: a row of version v of a key, a record at a position of
 * the n-th life of a stream. After each commit: */
typedef struct snapshot {
    uint32_t rows[TABLES][KEYS]; /* version; 0: not there */
    uint32_t versions;
    uint32_t life[STREAMS]; /* 0: never there */
    uint64_t next[STREAMS];
    uint64_t trim[STREAMS];
} snapshot;

static snapshot history[COMMITS + 1];

static size_t text_size(uint32_t a, uint32_t b)
{
    const uint32_t mixed = (a * 2654435761u) ^ (b * 40503u);
    return mixed % 7 == 0 ? 6000 + mixed % 9000 : 20 + mixed % 300;
}

/* The caller frees it. */
static char *make_text(const char *kind, uint32_t which, uint32_t life, uint64_t position)
{
    const size_t size = text_size(which + life * 31, (uint32_t)position);
    char *text = malloc(size + 1);
    assert_non_null(text);
    const int begin = snprintf(text, size + 1, "{\"%s\":%u,\"life\":%u,\"at\":%llu}", kind, which,
                               life, (unsigned long long)position);
    for (size_t i = (size_t)begin; i < size; i++) {
        text[i] = (char)('a' + (i * 7 + which + position) % 26);
    }
    text[size] = '\0';
    return text;
}

static void make_name(char out[16], const char *prefix, uint32_t which)
{
    snprintf(out, 16, "%s%u", prefix, which);
}

/* ---- writing ---- */

typedef struct writing {
    arcp_store_op ops[OPS_MAX];
    char names[OPS_MAX][16];
    char *texts[OPS_MAX];
    size_t count;
} writing;

static arcp_store_op *add_op(writing *batch, const char *prefix, uint32_t which, char *text)
{
    const size_t i = batch->count++;
    make_name(batch->names[i], prefix, which);
    batch->texts[i] = text;
    batch->ops[i] = (arcp_store_op){.key = arcp_span_cstr(batch->names[i])};
    if (text != NULL) {
        batch->ops[i].value = arcp_span_cstr(text);
    }
    return &batch->ops[i];
}

static void add_row(writing *batch, snapshot *now, random_source *random)
{
    const uint32_t table = draw(random, TABLES);
    const uint32_t key = draw(random, KEYS);
    uint32_t *version = &now->rows[table][key];
    if (*version != 0 && draw(random, 4) == 0) {
        *version = 0;
        arcp_store_op *op = add_op(batch, "k", key, NULL);
        op->kind = ARCP_STORE_DELETE;
        op->table = tables[table];
        return;
    }
    *version = ++now->versions;
    arcp_store_op *op = add_op(batch, "k", key, make_text("row", table * 100 + key, *version, 0));
    op->kind = ARCP_STORE_PUT;
    op->table = tables[table];
}

static void add_to_stream(writing *batch, snapshot *now, random_source *random)
{
    const uint32_t stream = draw(random, STREAMS);
    const uint32_t choice = draw(random, 40);
    if (choice == 0 && now->next[stream] != 0) {
        add_op(batch, "s", stream, NULL)->kind = ARCP_STORE_DROP;
        now->next[stream] = 0;
        now->trim[stream] = 0;
        now->life[stream]++;
        return;
    }
    if (choice < 4 && now->next[stream] > 3) {
        arcp_store_op *op = add_op(batch, "s", stream, NULL);
        op->kind = ARCP_STORE_TRIM;
        op->position = draw(random, (uint32_t)now->next[stream]);
        if (op->position > now->trim[stream]) {
            now->trim[stream] = op->position;
        }
        return;
    }
    const uint64_t position = now->next[stream]++;
    arcp_store_op *op =
        add_op(batch, "s", stream, make_text("record", stream, now->life[stream], position));
    op->kind = ARCP_STORE_APPEND;
    op->position = position;
}

static void write_commit(store_rig *rig, size_t commit, random_source *random)
{
    writing batch = {.count = 0};
    history[commit] = history[commit - 1];
    const uint32_t count = 1 + draw(random, OPS_MAX);
    while (batch.count < count) {
        if (draw(random, 3) == 0) {
            add_row(&batch, &history[commit], random);
        } else {
            add_to_stream(&batch, &history[commit], random);
        }
    }
    if (rig != NULL) {
        assert_int_equal(rig_commit(rig, batch.ops, batch.count), ARCP_OK);
        rig_forget(rig);
    }
    for (size_t i = 0; i < batch.count; i++) {
        free(batch.texts[i]);
    }
}

/* ---- the model stores ---- */

typedef struct original {
    const char *name;
    char *database;
    size_t database_bytes;
    char *log; /* NULL after a clean stop */
    size_t log_bytes;
} original;

static char *read_file(const char *path, size_t *size)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        *size = 0;
        return NULL;
    }
    char *bytes = malloc((size_t)info.st_size + 1);
    FILE *file = fopen(path, "re");
    assert_true(bytes != NULL && file != NULL);
    *size = fread(bytes, 1, (size_t)info.st_size, file);
    assert_int_equal(*size, info.st_size);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

static void take_original(const temp_dir *dir, const char *name, original *out)
{
    out->name = name;
    out->database = read_file(temp_dir_join(dir, "", "s.db"), &out->database_bytes);
    out->log = read_file(temp_dir_join(dir, "", "s.db-wal"), &out->log_bytes);
    assert_non_null(out->database);
}

/* The content that would have been written, without a store. */
static void write_all(const char *url, size_t first, size_t last, random_source *random)
{
    store_rig *rig = url == NULL ? NULL : rig_open(url);
    for (size_t commit = first; commit <= last; commit++) {
        write_commit(rig, commit, random);
    }
    if (rig != NULL && last != COMMITS) {
        rig_close(rig);
    }
}

/* One that was stopped, taken up and killed, so that database and log both have content, and the
 * same after a clean stop. */
static void make_originals(const temp_dir *dir, original *killed, original *stopped)
{
    random_source random = {42};
    const char *url = temp_dir_join(dir, "sqlite:", "s.db");
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        write_all(url, 1, COMMITS * 2 / 3, &random);
        write_all(url, COMMITS * 2 / 3 + 1, COMMITS, &random);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    write_all(NULL, 1, COMMITS, &random);
    take_original(dir, "killed", killed);
    rig_close(rig_open(url));
    take_original(dir, "stopped", stopped);
    assert_true(killed->log != NULL && killed->log_bytes > (size_t)50 * PAGE);
    assert_null(stopped->log);
}

static void put_file(const char *path, const char *bytes, size_t size)
{
    (void)unlink(path);
    if (bytes != NULL) {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, size, file), size);
        assert_int_equal(fclose(file), 0);
    }
}

/* ---- damage ---- */

typedef struct damage {
    bool is_of_log;
    char what[160];
} damage;

static void damage_bytes(random_source *random, char *bytes, size_t *size, damage *out)
{
    size_t offset = ((size_t)draw(random, 1u << 30) << 10 | draw(random, 1024)) % *size;
    size_t page = offset / PAGE * PAGE;
    const size_t other = draw(random, (uint32_t)(*size / PAGE)) * (size_t)PAGE;
    const size_t room = *size - offset;
    const char *name = "";
    switch (draw(random, 8)) {
    case 0:
        bytes[offset] = (char)(bytes[offset] ^ 1 << draw(random, 8));
        name = "a bit";
        break;
    case 1:
        bytes[offset] = (char)draw(random, 256);
        name = "a byte";
        break;
    case 2:
        for (size_t i = 0; i < 8 && i < room; i++) {
            bytes[offset + i] = (char)draw(random, 256);
        }
        name = "8 bytes";
        break;
    case 3:
        offset = offset / 512 * 512;
        memset(bytes + offset, 0, *size - offset < 512 ? *size - offset : 512);
        name = "512 zeros";
        break;
    case 4: /* the header at the beginning of a page describes the rest of it */
        offset = page + draw(random, 12);
        offset = offset < *size ? offset : page;
        bytes[offset] = (char)(bytes[offset] ^ 1 << draw(random, 8));
        name = "a bit of a page's header";
        break;
    case 5:
        memmove(bytes + page, bytes + other, *size - page < PAGE ? *size - page : PAGE);
        name = "a page that holds another";
        break;
    case 6: {
        char swapped[PAGE];
        page = page + PAGE <= *size ? page : 0;
        memcpy(swapped, bytes + page, PAGE);
        memcpy(bytes + page, bytes + other, PAGE);
        memcpy(bytes + other, swapped, PAGE);
        name = "two pages swapped";
        break;
    }
    default:
        *size = offset;
        name = "cut";
        break;
    }
    snprintf(out->what, sizeof out->what, "%s of %s at %zu (page %zu, other %zu)", name,
             out->is_of_log ? "the log" : "the database", offset, page / PAGE, other / PAGE);
}

/* ---- reading ---- */

typedef enum verdict { SAME, NAMED, CUT, WRONG } verdict;

#define PARTS (STREAMS + TABLES)

/* The result of reading each stream and each table; without text: an error. */
typedef struct part {
    uint64_t first;
    size_t count;
    char *text;
} part;

static bool stream_fits(const part *got, uint32_t stream, const snapshot *then)
{
    const uint64_t end = got->first + got->count;
    if (end != then->next[stream] || (got->count == 0 && end != 0) ||
        (got->count != 0 && got->first > then->trim[stream])) {
        return false;
    }
    const char *rest = got->text;
    bool fits = true;
    for (uint64_t position = got->first; fits && position < end; position++) {
        char *want = make_text("record", stream, then->life[stream], position);
        const size_t size = strlen(want);
        fits = strncmp(rest, want, size) == 0 && (rest[size] == '|' || rest[size] == '\0');
        rest += size + (rest[size] == '|');
        free(want);
    }
    return fits && *rest == '\0';
}

static bool row_fits(const char **rest, uint32_t table, uint32_t key, const snapshot *then)
{
    const uint32_t version = then->rows[table][key];
    if (version == 0) {
        return true;
    }
    char name[16];
    make_name(name, "k", key);
    char *value = make_text("row", table * 100 + key, version, 0);
    const size_t name_size = strlen(name);
    const size_t size = strlen(value);
    bool fits = strncmp(*rest, name, name_size) == 0 && (*rest)[name_size] == '=' &&
                strncmp(*rest + name_size + 1, value, size) == 0;
    if (fits) {
        *rest += name_size + 1 + size;
        fits = **rest == '|' || **rest == '\0';
        *rest += **rest == '|';
    }
    free(value);
    return fits;
}

/* Keys come in the order of their bytes: k0, k1, k10, k11, ... k2, k20 ... */
static bool table_fits(const part *got, uint32_t table, const snapshot *then)
{
    const char *rest = got->text;
    bool fits = true;
    for (uint32_t key = 0; fits && key < KEYS && key < 10; key++) {
        fits = row_fits(&rest, table, key, then);
        for (uint32_t more = key * 10; fits && key != 0 && more < key * 10 + 10 && more < KEYS;
             more++) {
            fits = row_fits(&rest, table, more, then);
        }
    }
    return fits && *rest == '\0';
}

/* The newest commit that all parts fit; -1: none. */
static int newest_fit(const part *parts)
{
    for (int commit = COMMITS; commit >= 0; commit--) {
        bool fits = true;
        for (uint32_t i = 0; fits && i < PARTS; i++) {
            fits = parts[i].text == NULL ||
                   (i < STREAMS ? stream_fits(&parts[i], i, &history[commit])
                                : table_fits(&parts[i], i - STREAMS, &history[commit]));
        }
        if (fits) {
            return commit;
        }
    }
    return -1;
}

static void read_part(store_rig *rig, uint32_t which, part *out, char *message, size_t size)
{
    char name[16];
    make_name(name, "s", which);
    const answer *got = which < STREAMS
                            ? rig_read(rig, name, 0)
                            : rig_wait(rig, rig_ask_scan(rig, tables[which - STREAMS], ""));
    *out = (part){.first = got->first, .count = got->count};
    if (got->status == ARCP_OK) {
        out->text = strdup(got->text == NULL ? "" : got->text);
        assert_non_null(out->text);
    } else {
        snprintf(message, size, "%s", got->message);
        assert_true(message[0] != '\0');
    }
    rig_forget(rig);
}

/* `newest` becomes the commit that what was read fits; `message` what names the damage, if
 * anything does. */
static verdict read_store(const char *url, int *newest, char *message, size_t size)
{
    arcp_store *store = NULL;
    arcp_error err = {0};
    *newest = COMMITS;
    if (arcp_store_open(url, &store, &err) != ARCP_OK) {
        snprintf(message, size, "%s", err.message);
        return err.message[0] == '\0' ? WRONG : NAMED;
    }
    store_rig *rig = rig_new(store);
    part parts[PARTS];
    for (uint32_t i = 0; i < PARTS; i++) {
        read_part(rig, i, &parts[i], message, size);
    }
    rig_close(rig);
    *newest = newest_fit(parts);
    for (uint32_t i = 0; i < PARTS; i++) {
        free(parts[i].text);
    }
    if (*newest < 0) {
        return WRONG;
    }
    return message[0] != '\0' ? NAMED : *newest == COMMITS ? SAME : CUT;
}

/* ---- the campaign ---- */

typedef struct tally {
    unsigned same;
    unsigned named;
    unsigned cut;
    unsigned cut_commits_max; /* without the damages that made the file shorter */
} tally;

static void damage_once(const temp_dir *dir, const original *from, uint64_t seed, tally *out)
{
    random_source random = {seed * 7919 + 1};
    (void)draw(&random, 2);
    damage what = {.is_of_log = from->log != NULL && draw(&random, 3) != 0};
    size_t size = what.is_of_log ? from->log_bytes : from->database_bytes;
    const size_t before = size;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    memcpy(bytes, what.is_of_log ? from->log : from->database, size);
    damage_bytes(&random, bytes, &size, &what);
    put_file(temp_dir_join(dir, "", "d.db-shm"), NULL, 0);
    put_file(temp_dir_join(dir, "", "d.db"), what.is_of_log ? from->database : bytes,
             what.is_of_log ? from->database_bytes : size);
    put_file(temp_dir_join(dir, "", "d.db-wal"), what.is_of_log ? bytes : from->log,
             what.is_of_log ? size : from->log_bytes);
    free(bytes);
    char message[ARCP_ERROR_MESSAGE_MAX] = "";
    int newest = 0;
    const verdict got =
        read_store(temp_dir_join(dir, "sqlite:", "d.db"), &newest, message, sizeof message);
    const unsigned lost = (unsigned)(COMMITS - newest);
    const bool is_cut = size < before;
    /* The last commit, and perhaps the one before it: sqlite_log.c says why. */
    if (got == WRONG || (got == CUT && (!what.is_of_log || (!is_cut && lost > 2)))) {
        fail_msg("seed %llu, %s, %s: %s, fits commit %d of %d (%s)", (unsigned long long)seed,
                 from->name, what.what, got == CUT ? "lost without a word" : "wrong content",
                 newest, COMMITS, message);
    }
    out->same += got == SAME;
    out->named += got == NAMED;
    out->cut += got == CUT;
    if (got == CUT && !is_cut && lost > out->cut_commits_max) {
        out->cut_commits_max = lost;
    }
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

static void damaged_content_is_never_returned(void **state)
{
    temp_dir *dir = temp_dir_new();
    original originals[2];
    const uint64_t count = number_of("ARCP_TEST_DAMAGES", 200 / test_stride());
    const uint64_t first = number_of("ARCP_TEST_SEED", 1);
    make_originals(dir, &originals[0], &originals[1]);
    for (size_t i = 0; i < COUNT_OF(originals); i++) {
        tally all = {0};
        for (uint64_t seed = first + i; seed < first + count; seed += 2) {
            damage_once(dir, &originals[i], seed, &all);
        }
        print_message("%s, seeds %llu to %llu: %u without effect, %u named, %u a log without its "
                      "end (at most %u commits where the file was not cut)\n",
                      originals[i].name, (unsigned long long)first,
                      (unsigned long long)(first + count - 1), all.same, all.named, all.cut,
                      all.cut_commits_max);
        assert_true(count < 100 || (all.named > 0 && all.same > 0));
        free(originals[i].database);
        free(originals[i].log);
    }
    temp_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_content_is_never_returned),
    };
    return cmocka_run_group_tests_name("store_random_damage", tests, NULL, NULL);
}
