#include "store/store_model.h"

#define STREAMS     4
#define KEYS        6
#define RECORDS_MAX 400
#define OPS_FEW     6
#define OPS_MAX     150 /* in one batch of twenty */
#define BATCHES_MAX 5
#define ROUNDS      60

typedef struct model_stream {
    uint32_t records[RECORDS_MAX];
    uint64_t next;
    uint64_t trim; /* records below this position may have been deleted */
} model_stream;

typedef struct model {
    model_stream streams[STREAMS];
    uint32_t rows[2][KEYS]; /* 0: not there */
} model;

typedef struct random_batch {
    arcp_store_op ops[OPS_MAX];
    size_t count;
    uint32_t values[OPS_MAX];
    char texts[OPS_MAX][16];
    uint64_t id;
    arcp_status want;
} random_batch;

static const char *const stream_names[STREAMS] = {"s", "sess/1", "t", "sess/2"};
static const char *const key_names[KEYS] = {"a", "a/1", "a/2", "b", "c", "\xc3\xa4"};
static const arcp_store_table tables[2] = {ARCP_STORE_JOBS, ARCP_STORE_SUBSCRIPTIONS};

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

static size_t index_of(const char *const *names, const char *name)
{
    size_t i = 0;
    while (strcmp(names[i], name) != 0) {
        i++;
    }
    return i;
}

static void model_apply_row(model *to, const arcp_store_op *op, uint32_t value)
{
    uint32_t *row = &to->rows[op->table == tables[1]][index_of(key_names, op->key.data)];
    *row = op->kind == ARCP_STORE_DELETE ? 0 : value;
}

static arcp_status model_apply_stream(model *to, const arcp_store_op *op, uint32_t value)
{
    model_stream *stream = &to->streams[index_of(stream_names, op->key.data)];
    if (op->kind == ARCP_STORE_DROP) {
        *stream = (model_stream){{0}, 0, 0};
    } else if (op->kind == ARCP_STORE_TRIM) {
        const uint64_t trim = op->position < stream->next ? op->position : stream->next;
        stream->trim = trim > stream->trim ? trim : stream->trim;
    } else if (op->position != stream->next) {
        return ARCP_E_CORRUPT;
    } else {
        stream->records[stream->next++] = value;
    }
    return ARCP_OK;
}

/* All or nothing. */
static arcp_status model_apply(model *to, const random_batch *batch)
{
    const model before = *to;
    for (size_t i = 0; i < batch->count; i++) {
        const arcp_store_op *op = &batch->ops[i];
        if (op->kind == ARCP_STORE_PUT || op->kind == ARCP_STORE_DELETE) {
            model_apply_row(to, op, batch->values[i]);
        } else if (model_apply_stream(to, op, batch->values[i]) != ARCP_OK) {
            *to = before;
            return ARCP_E_CORRUPT;
        }
    }
    return ARCP_OK;
}

/* An operation, right more often than not, for the state that `ahead` will be in. After the first
 * few of a batch it is right: of the long ones too many would fail. */
static void draw_op(uint64_t *state, model *ahead, random_batch *batch)
{
    static uint32_t serial;
    const size_t index = batch->count++;
    batch->values[index] = ++serial;
    snprintf(batch->texts[index], sizeof batch->texts[index], "v%u", serial);
    const char *key = key_names[draw(state, KEYS)];
    const char *name = stream_names[draw(state, STREAMS)];
    const arcp_store_table table = tables[draw(state, 2)];
    model_stream *stream = &ahead->streams[index_of(stream_names, name)];
    const uint32_t what = draw(state, 100);
    const bool may_fail = index < OPS_FEW;
    if (what < 60 && stream->next < RECORDS_MAX) {
        const uint64_t position = stream->next + (draw(state, 100) == 0 && may_fail);
        batch->ops[index] = op_append(name, position, batch->texts[index]);
        stream->next++;
    } else if (what < 68) {
        batch->ops[index] = op_trim(name, draw(state, (uint32_t)stream->next + 3));
    } else if (what < 70) {
        batch->ops[index] = op_drop(name);
        stream->next = 0;
    } else if (what < 90) {
        batch->ops[index] = op_put(table, key, batch->texts[index]);
    } else {
        batch->ops[index] = op_delete(table, key);
    }
}

static void check_stream(store_rig *rig, const model_stream *stream, const char *name)
{
    char want[16];
    const answer *got = rig_read(rig, name, 0);
    assert_int_equal(got->status, ARCP_OK);
    assert_true(got->first <= stream->trim);
    assert_int_equal(got->first + got->count, stream->next);
    char *save = NULL;
    uint64_t position = got->first;
    for (char *text = strtok_r(got->text, "|", &save); text != NULL;
         text = strtok_r(NULL, "|", &save)) {
        snprintf(want, sizeof want, "v%u", stream->records[position++]);
        assert_string_equal(text, want);
    }
    assert_int_equal(position, stream->next);
}

static void check_state(store_rig *rig, const model *want)
{
    for (size_t i = 0; i < STREAMS; i++) {
        check_stream(rig, &want->streams[i], stream_names[i]);
    }
    for (size_t table = 0; table < 2; table++) {
        char rows[KEYS * 32] = "";
        size_t size = 0;
        for (size_t i = 0; i < KEYS; i++) {
            if (want->rows[table][i] != 0) {
                size += (size_t)snprintf(rows + size, sizeof rows - size, "%s%s=v%u",
                                         size == 0 ? "" : "|", key_names[i], want->rows[table][i]);
            }
        }
        check_scan(rig, tables[table], "", rows);
    }
    rig_forget(rig);
}

/* Submits several batches and then checks their results. */
static void run_round(store_rig *rig, uint64_t *state, model *truth)
{
    static random_batch batches[BATCHES_MAX];
    const size_t count = 1 + draw(state, BATCHES_MAX);
    model ahead = *truth;
    arcp_status failed = ARCP_OK;
    for (size_t i = 0; i < count; i++) {
        random_batch *batch = &batches[i];
        batch->count = 0;
        const uint32_t most = draw(state, 20) == 0 ? OPS_MAX : OPS_FEW;
        for (size_t ops = 1 + draw(state, most); ops != 0; ops--) {
            draw_op(state, &ahead, batch);
        }
        batch->want = failed != ARCP_OK ? failed : model_apply(truth, batch);
        failed = batch->want == ARCP_E_CORRUPT ? ARCP_E_CORRUPT : failed;
        ahead = *truth;
    }
    for (size_t i = 0; i < count; i++) {
        batches[i].id = rig_submit(rig, batches[i].ops, batches[i].count);
    }
    for (size_t i = 0; i < count; i++) {
        const answer *got = rig_wait(rig, batches[i].id);
        if (got->status != batches[i].want) {
            fail_msg("batch %zu of %zu: %s (%s), want %s", i, count, arcp_status_name(got->status),
                     got->message, arcp_status_name(batches[i].want));
        }
    }
}

void model_run_seed(uint64_t seed, const model_store *store)
{
    static model truth;
    truth = (model){.rows = {{0}}};
    uint64_t state = seed;
    print_message("seed %llu, %s\n", (unsigned long long)seed, store->name);
    store_rig *rig = store->open(store->user, seed);
    for (int round = 0; round < ROUNDS; round++) {
        run_round(rig, &state, &truth);
        if (draw(&state, 4) == 0) {
            check_state(rig, &truth);
        }
        if (store->restarts && draw(&state, 20) == 0) {
            rig_close(rig);
            rig = store->open(store->user, seed);
        }
    }
    check_state(rig, &truth);
    rig_close(rig);
}
