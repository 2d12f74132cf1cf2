#include "record/record.h"

#include "record/recorder_put.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/hash.h"
#include "record/format.h"

/* The owner's pointer to a link, or to a job with an agent. */
typedef struct handle {
    uint64_t number;
    void *object; /* arcp__link, arcp__job */
    void *user;   /* a link's: what effects have of it */
    UT_hash_handle hh, hh_user, hh_number;
} handle;

typedef struct handles {
    handle *by_object, *by_user, *by_number;
    uint64_t count; /* ever */
} handles;

struct arcp__recorder {
    arcp__record_write_fn write;
    void *user;
    arcp_buf out; /* whole records, and the one being written */
    handles links, jobs;
    bool is_eager, failed;
    /* What the engine's options had. */
    arcp__random_fn random;
    void *random_user;
    arcp__credential_options credentials;
    arcp__agent_hosts hosts;
};

/* ---- fields ---- */

/* Of an outcome: enough to find a difference, and to show it. */
#define BEGINNING_BYTES_MAX 256u

static void put_digest(arcp_buf *out, arcp_span text)
{
    static const uint64_t key[2] = {0, 0};
    arcp__recorder_put_number(out, text.size);
    arcp__recorder_put_number(out, text.size == 0 ? 0 : arcp__siphash(key, text.data, text.size));
    arcp__recorder_put_text(out, arcp_span_first(text, BEGINNING_BYTES_MAX));
}

static void put_u32(char *out, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) {
        out[i] = (char)(uint8_t)(value >> (8 * i));
    }
}

/* ---- links and jobs ---- */

/* Each handle is in all three tables, but for one that could not be added. */
static void drop_handle(handles *all, handle *dropped)
{
    if (dropped == NULL) {
        return;
    }
    if (dropped->hh.tbl != NULL) {
        assert(all->by_object != NULL);
        HASH_DELETE(hh, all->by_object, dropped);
    }
    if (dropped->hh_number.tbl != NULL) {
        assert(all->by_number != NULL);
        HASH_DELETE(hh_number, all->by_number, dropped);
    }
    if (dropped->hh_user.tbl != NULL) {
        assert(all->by_user != NULL);
        HASH_DELETE(hh_user, all->by_user, dropped);
    }
    arcp__free(dropped);
}

static void add_handle(arcp__recorder *recorder, handles *all, void *object, void *user)
{
    handle *added = arcp__alloc(sizeof *added);
    if (added == NULL) {
        recorder->failed = true;
        return;
    }
    *added = (handle){.number = ++all->count, .object = object, .user = user};
    HASH_ADD(hh, all->by_object, object, sizeof added->object, added);
    HASH_ADD(hh_number, all->by_number, number, sizeof added->number, added);
    HASH_ADD(hh_user, all->by_user, user, sizeof added->user, added);
    if (added->hh.tbl == NULL || added->hh_number.tbl == NULL || added->hh_user.tbl == NULL) {
        recorder->failed = true;
        drop_handle(all, added);
    }
}

static handle *find_object(const handles *all, void *object)
{
    handle *found = NULL;
    HASH_FIND(hh, all->by_object, &object, sizeof object, found);
    return found;
}

static uint64_t number_of(const handles *all, void *object)
{
    const handle *found = object == NULL ? NULL : find_object(all, object);
    return found == NULL ? 0 : found->number;
}

static void drop_handles(handles *all)
{
    while (all->by_object != NULL) {
        drop_handle(all, all->by_object);
    }
    *all = (handles){.count = 0};
}

static void *object_of(const handles *all, uint64_t number)
{
    const handle *found = NULL;
    HASH_FIND(hh_number, all->by_number, &number, sizeof number, found);
    return found == NULL ? NULL : found->object;
}

arcp__link *arcp__recorder_link(const arcp__recorder *recorder, uint64_t number)
{
    return object_of(&recorder->links, number);
}

arcp__job *arcp__recorder_job(const arcp__recorder *recorder, uint64_t number)
{
    return object_of(&recorder->jobs, number);
}

static void put_all_settings(arcp_buf *out, const arcp_settings *settings)
{
#define ARCP_SETTING_NUMBER(group, key, initial, minimum, maximum, text)                           \
    arcp__recorder_put_number(out, settings->group##_##key);
#define ARCP_SETTING_CHOICE(group, key, initial, words, text)                                      \
    arcp__recorder_put_number(out, settings->group##_##key);
#include <arcp/settings.def>
#undef ARCP_SETTING_NUMBER
#undef ARCP_SETTING_CHOICE
}

static void put_cstrs(arcp_buf *out, const char *const *texts, size_t count)
{
    arcp__recorder_put_number(out, count);
    for (size_t i = 0; i < count; i++) {
        arcp__recorder_put_text(out, arcp_span_cstr(texts[i]));
    }
}

/* ---- what a kind of call has more (engine/call.def) ---- */

static void put_nothing(arcp__recorder *recorder, const arcp__call *call)
{
    (void)recorder;
    (void)call;
}

static void put_options(arcp__recorder *recorder, const arcp__call *call)
{
    arcp_buf *out = &recorder->out;
    const arcp__engine_options *options = call->what;
    const arcp__credential_options *credentials = &options->credentials;
    const arcp_provisioner_terms *terms = credentials->terms;
    arcp__recorder_put_text(out, arcp_span_cstr(options->runtime_name));
    arcp__recorder_put_text(out, arcp_span_cstr(options->runtime_version));
    put_all_settings(out, &options->settings);
    arcp__recorder_put_number(out, options->store_is_durable);
    arcp__recorder_put_text(out, options->work_directory);
    arcp__recorder_put_number(out, options->worker_keep_sec);
    arcp__recorder_put_number(out, options->makes_spans);
    arcp__recorder_put_number(out, options->has_no_log);
    arcp__recorder_put_number(out, options->hosts.admit != NULL);
    arcp__recorder_put_text(out, arcp_span_cstr(credentials->provisioner));
    arcp__recorder_put_number(out, (uint64_t)credentials->can_measure |
                                       (uint64_t)credentials->can_keep << 1);
    arcp__recorder_put_number(out, credentials->translate != NULL);
    arcp__recorder_put_number(out, terms != NULL);
    if (terms != NULL) {
        put_cstrs(out, terms->agents, terms->agent_count);
        arcp__recorder_put_number(out, terms->models != NULL);
        put_cstrs(out, terms->models, terms->models == NULL ? 0 : terms->model_count);
        arcp__recorder_put_text(out, arcp_span_cstr(terms->currency));
        arcp__recorder_put_number(out, terms->enforces);
    }
}

static void put_settings(arcp__recorder *recorder, const arcp__call *call)
{
    put_all_settings(&recorder->out, call->what);
}

static void put_policy(arcp__recorder *recorder, const arcp__call *call)
{
    arcp__recorder_put_policy(&recorder->out, call);
}

static void put_schedules(arcp__recorder *recorder, const arcp__call *call)
{
    arcp__recorder_put_schedules(&recorder->out, call);
}

static void put_hooks(arcp__recorder *recorder, const arcp__call *call)
{
    arcp__recorder_put_hooks(&recorder->out, call);
}

static void put_worker_intro(arcp__recorder *recorder, const arcp__call *call)
{
    arcp__recorder_put_worker_intro(&recorder->out, call);
}

static void put_link_options(arcp__recorder *recorder, const arcp__call *call)
{
    arcp_buf *out = &recorder->out;
    const arcp__link_options *link = call->what;
    arcp__recorder_put_number(out, link->is_local);
    arcp__recorder_put_number(out, link->is_encrypted);
    arcp__recorder_put_number(out, link->waited_ms);
    arcp__recorder_put_number(out, (uint64_t)link->role);
    arcp__recorder_put_text(out, link->principal);
    arcp__recorder_put_text(out, arcp_span_cstr(link->peer));
}

static void put_records(arcp__recorder *recorder, const arcp__call *call)
{
    const arcp_span *records = call->what;
    for (uint64_t i = 0; i < call->numbers[3]; i++) {
        arcp__recorder_put_text(&recorder->out, records[i]);
    }
}

static void put_result(arcp__recorder *recorder, const arcp__call *call)
{
    arcp_buf *out = &recorder->out;
    const arcp_provision_result *result = call->what;
    const arcp_span texts[] = {arcp_span_cstr(result->message),
                               result->upstream_id,
                               result->value,
                               result->scheme,
                               result->endpoint,
                               result->profile,
                               result->spent};
    arcp__recorder_put_number(out, result->call_id);
    arcp__recorder_put_number(out, (uint64_t)result->outcome);
    arcp__recorder_put_number(out, (uint64_t)result->status);
    arcp__recorder_put_number(out, result->lifetime_sec);
    arcp__recorder_put_number(out, result->replaced);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        arcp__recorder_put_text(out, texts[i]);
    }
}

static void put_request(arcp__recorder *recorder, const arcp__call *call)
{
    arcp_buf *out = &recorder->out;
    const arcp_provision_request *request = call->what;
    const arcp_span texts[] = {request->alias,  request->credential_id, request->upstream_id,
                               request->value,  request->job_id,        request->principal,
                               request->agent,  request->trace_id,      request->traceparent,
                               request->budget, request->expires_at};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        put_digest(out, texts[i]);
    }
    arcp__recorder_put_number(out, request->ttl_sec);
    arcp__recorder_put_number(out, request->has_models);
    arcp__recorder_put_number(out, request->model_count);
    for (size_t i = 0; i < request->model_count; i++) {
        arcp__recorder_put_text(out, request->models[i]);
    }
}

static void put_batch(arcp__recorder *recorder, const arcp__call *call)
{
    arcp_buf *out = &recorder->out;
    const arcp_store_batch *batch = call->what;
    arcp__recorder_put_number(out, batch != NULL);
    if (batch == NULL) {
        return;
    }
    arcp__recorder_put_number(out, batch->id);
    arcp__recorder_put_number(out, batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        const arcp_store_op *op = &batch->ops[i];
        arcp__recorder_put_number(out, (uint64_t)op->kind);
        arcp__recorder_put_number(out, (uint64_t)op->table);
        arcp__recorder_put_number(out, op->position);
        arcp__recorder_put_text(out, op->key);
        put_digest(out, op->value);
    }
}

static void put_effect(arcp__recorder *recorder, const arcp__call *call)
{
    arcp_buf *out = &recorder->out;
    const arcp__effect *effect = call->what;
    const handle *link = NULL;
    arcp__recorder_put_number(out, effect != NULL);
    if (effect == NULL) {
        return;
    }
    if (effect->kind == ARCP__EFFECT_START_AGENT) {
        add_handle(recorder, &recorder->jobs, effect->job, effect->job);
    }
    HASH_FIND(hh_user, recorder->links.by_user, &effect->link_user, sizeof effect->link_user, link);
    arcp__recorder_put_number(out, (uint64_t)effect->kind);
    arcp__recorder_put_number(out, link == NULL ? 0 : link->number);
    arcp__recorder_put_number(out, number_of(&recorder->jobs, effect->job));
    put_digest(out, effect->text);
    arcp__recorder_put_number(out, effect->id);
    arcp__recorder_put_number(out, effect->from);
    arcp__recorder_put_number(out, effect->count_max);
    arcp__recorder_put_number(out, effect->bytes_max);
    arcp__recorder_put_number(out, (uint64_t)effect->close_code);
    arcp__recorder_put_number(out, (uint64_t)effect->level);
    put_digest(out, effect->fields);
    arcp__recorder_put_number(out, (uint64_t)effect->reason);
    arcp__recorder_put_number(out, (uint64_t)effect->grace_ms);
    if (effect->kind == ARCP__EFFECT_FORGET_AGENT) {
        drop_handle(&recorder->jobs, find_object(&recorder->jobs, effect->job));
    }
}

static void put_admit_answer(arcp__recorder *recorder, const arcp__call *call)
{
    arcp_buf *out = &recorder->out;
    const arcp__admit_answer *answer = call->what;
    arcp__recorder_put_number(out, (uint64_t)answer->status);
    arcp__recorder_put_number(out, answer->is_shown);
    bool has_failed = false; /* for lack of memory: that decides, too */
    for (size_t i = 0; i < ARCP__ADMIT_TEXTS; i++) {
        has_failed = has_failed || answer->texts[i].failed;
    }
    arcp__recorder_put_number(out, has_failed);
    for (size_t i = 0; i < ARCP__ADMIT_TEXTS; i++) {
        arcp__recorder_put_text(out, arcp_buf_span(&answer->texts[i]));
    }
}

static void (*const put_more[])(arcp__recorder *recorder, const arcp__call *call) = {
#define ARCP_CALL(id, name, more) put_##more,
#include "engine/call.def"
#undef ARCP_CALL
};

/* ---- records ---- */

static void flush(arcp__recorder *recorder)
{
    if (!recorder->failed && recorder->out.size != 0) {
        recorder->write(recorder->user, arcp_buf_span(&recorder->out));
        arcp_buf_clear(&recorder->out);
    }
}

static void on_call(void *user, const arcp__call *call)
{
    arcp__recorder *recorder = user;
    arcp_buf *out = &recorder->out;
    const size_t begin = out->size;
    if (recorder->failed) {
        return;
    }
    if (call->kind == ARCP__CALL_LINK && call->link != NULL) {
        add_handle(recorder, &recorder->links, call->link,
                   ((const arcp__link_options *)call->what)->user);
    }
    if (call->kind == ARCP__CALL_CLAIM && call->job != NULL &&
        find_object(&recorder->jobs, call->job) == NULL) { /* it was started before the trace */
        add_handle(recorder, &recorder->jobs, call->job, call->job);
    }
    arcp_buf_append(out, arcp_span_make("\0\0\0\0\0\0\0\0\0\0\0\0", ARCP__RECORDING_HEAD_SIZE));
    arcp__recorder_put_number(out, (uint64_t)call->kind);
    arcp__recorder_put_number(out, (uint64_t)call->now.wall_ns);
    arcp__recorder_put_number(out, (uint64_t)call->now.mono_ns);
    arcp__recorder_put_number(out, number_of(&recorder->links, call->link));
    arcp__recorder_put_number(out, number_of(&recorder->jobs, call->job));
    for (size_t i = 0; i < ARCP__CALL_NUMBERS; i++) {
        arcp__recorder_put_number(out, call->numbers[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        arcp__recorder_put_text(out, call->texts[i]);
    }
    put_more[call->kind](recorder, call);
    if (call->kind == ARCP__CALL_DISCONNECT) {
        drop_handle(&recorder->links, find_object(&recorder->links, call->link));
    }
    if (call->kind == ARCP__CALL_AGENT_REFUSED) { /* START_AGENT comes again */
        drop_handle(&recorder->jobs, find_object(&recorder->jobs, call->job));
    }
    const size_t size = out->size - begin - ARCP__RECORDING_HEAD_SIZE;
    recorder->failed = recorder->failed || out->failed || size > UINT32_MAX;
    if (recorder->failed) {
        return;
    }
    char *head = out->data + begin;
    put_u32(head, (uint32_t)size);
    put_u32(head + 4, arcp__crc32c(0, head, 4));
    put_u32(head + 8, arcp__crc32c(0, head + ARCP__RECORDING_HEAD_SIZE, size));
    if (recorder->is_eager || arcp__call_is_input(call->kind)) {
        flush(recorder); /* before the call is carried out: it may be the last */
    }
}

/* ---- what the engine calls ---- */

static void draw(void *user, void *out, size_t size)
{
    arcp__recorder *recorder = user;
    recorder->random(recorder->random_user, out, size);
    on_call(recorder, &(arcp__call){.kind = ARCP__CALL_RANDOM, .texts = {{out, size}}});
}

static bool record_text(arcp__recorder *recorder, arcp__call_kind kind, bool is_done,
                        const arcp_buf *out, size_t from)
{
    on_call(recorder, &(arcp__call){.kind = kind,
                                    .numbers = {is_done},
                                    .texts = {arcp_span_from(arcp_buf_span(out), from)}});
    return is_done;
}

static bool seal(void *user, arcp_span alias, arcp_span value, arcp_buf *out)
{
    arcp__recorder *recorder = user;
    const size_t from = out->size;
    const bool is_done = recorder->credentials.seal(recorder->credentials.user, alias, value, out);
    return record_text(recorder, ARCP__CALL_SEAL, is_done, out, from);
}

static bool unseal(void *user, arcp_span alias, arcp_span sealed, arcp_buf *out)
{
    arcp__recorder *recorder = user;
    const size_t from = out->size;
    const bool is_done =
        recorder->credentials.unseal(recorder->credentials.user, alias, sealed, out);
    return record_text(recorder, ARCP__CALL_UNSEAL, is_done, out, from);
}

static arcp_status translate(void *user, const arcp_upstream_error *error)
{
    arcp__recorder *recorder = user;
    const arcp_status status = recorder->credentials.translate(recorder->credentials.user, error);
    on_call(recorder, &(arcp__call){.kind = ARCP__CALL_TRANSLATE, .numbers = {(uint64_t)status}});
    return status;
}

static void admit(void *user, const arcp__admit_request *request, arcp__admit_answer *answer)
{
    arcp__recorder *recorder = user;
    recorder->hosts.admit(recorder->hosts.user, request, answer);
    on_call(recorder, &(arcp__call){.kind = ARCP__CALL_ADMIT, .what = answer});
}

static void release(void *user, void *plan)
{
    const arcp__recorder *recorder = user;
    recorder->hosts.release(recorder->hosts.user, plan);
}

/* The reports of a host are decisions of other threads, which a player cannot repeat. */
typedef struct foreign_sink {
    arcp__recorder *recorder;
    struct arcp__job *job;
    const arcp__settle_sink *sink;
} foreign_sink;

static void pass_message(void *user, const struct arcp__job_message *message)
{
    const foreign_sink *to = user;
    on_call(to->recorder, &(arcp__call){.kind = ARCP__CALL_FOREIGN, .job = to->job});
    to->sink->message(to->sink->user, message);
}

static void pass_denial(void *user, const struct arcp__denial *denial)
{
    const foreign_sink *to = user;
    on_call(to->recorder, &(arcp__call){.kind = ARCP__CALL_FOREIGN, .job = to->job});
    to->sink->denied(to->sink->user, denial);
}

static void settle(void *user, struct arcp__job *job, const arcp__settle_sink *sink)
{
    arcp__recorder *recorder = user;
    foreign_sink to = {recorder, job, sink};
    const arcp__settle_sink own = {pass_message, pass_denial, &to};
    recorder->hosts.settle(recorder->hosts.user, job, &own);
}

/* ---- life ---- */

arcp__recorder *arcp__recorder_new(arcp__record_write_fn write, void *user, bool is_eager)
{
    arcp__recorder *recorder = arcp__alloc(sizeof *recorder);
    if (recorder == NULL) {
        return NULL;
    }
    recorder->write = write;
    recorder->user = user;
    recorder->is_eager = is_eager;
    recorder->out.secret = true;
    arcp_buf_append_cstr(&recorder->out, ARCP__RECORDING_MAGIC);
    arcp_buf_append_cstr(&recorder->out, arcp__build_identity);
    arcp_buf_append_byte(&recorder->out, '\n');
    recorder->failed = recorder->out.failed;
    flush(recorder);
    return recorder;
}

void arcp__recorder_free(arcp__recorder *recorder)
{
    if (recorder == NULL) {
        return;
    }
    flush(recorder);
    drop_handles(&recorder->links);
    drop_handles(&recorder->jobs);
    arcp_buf_fini(&recorder->out);
    arcp__free(recorder);
}

void arcp__recorder_attach(arcp__recorder *recorder, arcp__engine_options *options)
{
    drop_handles(&recorder->links);
    drop_handles(&recorder->jobs);
    recorder->random = options->random;
    recorder->random_user = options->random_user;
    recorder->credentials = options->credentials;
    recorder->hosts = options->hosts;
    options->record = on_call;
    options->record_user = recorder;
    options->random = draw;
    options->random_user = recorder;
    options->credentials.user = recorder;
    options->credentials.seal = options->credentials.seal == NULL ? NULL : seal;
    options->credentials.unseal = options->credentials.unseal == NULL ? NULL : unseal;
    options->credentials.translate = options->credentials.translate == NULL ? NULL : translate;
    options->hosts = (arcp__agent_hosts){
        .admit = options->hosts.admit == NULL ? NULL : admit,
        .release = options->hosts.release == NULL ? NULL : release,
        .user = recorder,
        .settle = options->hosts.settle == NULL ? NULL : settle,
        /* `usage`, `memory_bytes` and `enforcement` are not recorded, so they are not asked: a
         * player could not repeat what they say. */
    };
}

bool arcp__recorder_has_failed(const arcp__recorder *recorder)
{
    return recorder->failed;
}
