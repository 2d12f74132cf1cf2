/* Responses to the submits of a session are sent in the order of the submits, whatever type of
 * frame they are: job.accepted, a numbered job.error or a session.error. Clients of several SDKs
 * match them by order. */
#include "engine/patient_store.h"
#include "engine/scene.h"

#include "support/check.h"

#include "base/alloc.h"
#include "store/temp_dir.h"

#define SUBMITS 20
#define REFUSED 4 /* of them: each fifth */

/* When the submits become durable, and when the client reads. */
typedef enum pace_kind {
    AT_ONCE,       /* each submit is durable before the next one comes */
    ONE_BATCH,     /* all of them in one late batch */
    MANY_BATCHES,  /* one batch each, committed after all submits were read */
    SLOW_CLIENT,   /* its link is full when it submits, and it reads one frame at a time */
    SLOW_AND_LATE, /* both */
    SQLITE_LATE    /* one batch, written by a thread */
} pace_kind;
static const char *const pace_names[] = {"at once",     "one batch",     "many batches",
                                         "slow client", "slow and late", "sqlite"};
#define PACES (sizeof pace_names / sizeof pace_names[0])

static const char *const profiles[] = {"draft", "ts", "go", "python", "csharp", "java", "ruby"};
#define PROFILES (sizeof profiles / sizeof profiles[0])

typedef struct order_row {
    char name[64];
    const char *profile;
    pace_kind pace;
} order_row;

/* ---- what comes ---- */

typedef struct answers {
    arcp_json json;
    arcp_buf scratch;
    char order[1024];  /* the ids of the submits that were answered, in this order */
    char opened[4096]; /* the jobs that were accepted */
    unsigned ended;    /* of these: refused submits of a profile that accepts them */
} answers;

static arcp_span text_of(answers *a, arcp_json_ref object, const char *name)
{
    const arcp_json_ref ref = arcp_json_member(&a->json, object, arcp_span_cstr(name));
    return arcp_json_string(&a->json, ref, &a->scratch);
}

static void append(char *text, size_t size, arcp_span word)
{
    const size_t used = strlen(text);
    assert_true(used + word.size + 2 < size);
    (void)snprintf(text + used, size - used, "%.*s ", (int)word.size, word.data);
}

/* Requests of these tests are s0, s1, ...; a job's events come after its job.accepted. */
static void look(answers *a, const char *frame)
{
    arcp_json_limits limits = arcp_json_limits_init();
    arcp_buf_clear(&a->scratch);
    assert_true(arcp_buf_reserve(&a->scratch, 4096));
    assert_int_equal(arcp_json_scan(&a->json, arcp_span_cstr(frame), &limits, NULL), ARCP_OK);
    const arcp_json_ref payload =
        arcp_json_member(&a->json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
    const arcp_span type = text_of(a, ARCP_JSON_ROOT, "type");
    const arcp_span request = text_of(a, payload, "request_id");
    const arcp_span job = text_of(a, ARCP_JSON_ROOT, "job_id");
    const bool is_opened =
        job.size != 0 && memmem(a->opened, strlen(a->opened), job.data, job.size) != NULL;
    if (is_opened && arcp_span_equal_cstr(type, "job.error")) {
        a->ended++;
    } else if (arcp_span_starts_with(request, ARCP_SPAN_LITERAL("s"))) {
        append(a->order, sizeof a->order, request);
    }
    if (arcp_span_equal_cstr(type, "job.accepted")) {
        append(a->opened, sizeof a->opened, job);
    } else if (arcp_span_equal_cstr(type, "job.event") && !is_opened) {
        fail_msg("an event of a job that was not accepted yet: %s", frame);
    }
}

static void read_all(answers *a, engine_rig *rig, rig_client *client)
{
    *a = (answers){.json = ARCP__JSON_INIT, .scratch = arcp_buf_init()};
    for (char *frame = rig_read(rig, client); frame != NULL; frame = rig_read(rig, client)) {
        look(a, frame);
        arcp__free(frame);
    }
    arcp__json_fini(&a->json);
    arcp_buf_fini(&a->scratch);
}

static void assert_order(const answers *a, const char *wanted)
{
    if (strcmp(a->order, wanted) != 0) {
        fail_msg("answered: %s\n  asked:    %s", a->order, wanted);
    }
}

static void assert_answered(engine_rig *rig, rig_client *client, const char *wanted)
{
    answers got;
    read_all(&got, rig, client);
    assert_order(&got, wanted);
}

static void assert_all_in_order(const order_row *row, engine_rig *rig, rig_client *client)
{
    answers got;
    char wanted[sizeof(((answers *)NULL)->order)] = "";
    for (int i = 0; i < SUBMITS; i++) {
        char id[8];
        (void)snprintf(id, sizeof id, "s%d", i);
        append(wanted, sizeof wanted, arcp_span_cstr(id));
    }
    read_all(&got, rig, client);
    assert_order(&got, wanted);
    assert_int_equal(got.ended, strcmp(row->profile, "python") == 0 ? REFUSED : 0);
}

/* ---- what is asked ---- */

static void submit(engine_rig *rig, rig_client *client, const char *id, const char *payload)
{
    char frame[512];
    (void)snprintf(frame, sizeof frame,
                   "{\"arcp\":\"1.1\",\"id\":\"%s\",\"type\":\"job.submit\",\"payload\":%s}", id,
                   payload);
    rig_send(rig, client, frame);
}

/* Each fifth names an agent that does not exist. */
static void submit_twenty(engine_rig *rig, rig_client *client)
{
    for (int i = 0; i < SUBMITS; i++) {
        char id[8];
        (void)snprintf(id, sizeof id, "s%d", i);
        submit(rig, client, id, i % 5 == 3 ? "{\"agent\":\"nobody\"}" : "{\"agent\":\"echo\"}");
    }
}

/* A link accepts 64 KiB of events before its peer reads. */
static void fill_link(engine_rig *rig, rig_client *client)
{
    char line[9000];
    client->slow = true;
    submit(rig, client, "filler", "{\"agent\":\"echo\"}");
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    for (int i = 0; i < 12; i++) {
        rig_agent_writes(rig, rig_agent_last(rig), line);
    }
    assert_true(client->unsent > 60000);
}

static void write_each(scene *s)
{
    s->disk.is_held = false;
    while (disk_write(&s->disk) || disk_report(&s->disk)) {
        rig_run(&s->rig);
    }
    rig_run(&s->rig);
}

/* ---- 20 submits for each profile and pace ---- */

static void play_scene(const order_row *row)
{
    scene *s = scene_begin(NULL);
    engine_rig *rig = &s->rig;
    rig_profile(rig, "*", "*", row->profile);
    rig_send(rig, s->client, HELLO_PLAIN);
    if (row->pace == SLOW_CLIENT || row->pace == SLOW_AND_LATE) {
        fill_link(rig, s->client);
    }
    rig->hold_store = row->pace == ONE_BATCH || row->pace == SLOW_AND_LATE;
    s->disk.is_held = row->pace == MANY_BATCHES;
    submit_twenty(rig, s->client);
    rig->hold_store = false;
    rig_run(rig);
    write_each(s);
    assert_all_in_order(row, rig, s->client);
    scene_end(s);
}

static void play_sqlite(const order_row *row)
{
    engine_rig *rig = arcp__alloc(sizeof *rig);
    patient_store store;
    temp_dir *dir = temp_dir_new();
    assert_non_null(rig);
    patient_open(&store, temp_dir_join(dir, "sqlite:", "store.db"));
    rig_begin(rig, NULL);
    rig->store = &store.store;
    rig_open(rig);
    rig_profile(rig, "*", "*", row->profile);
    rig_client *client = rig_connect(rig, "a");
    rig_send(rig, client, HELLO_PLAIN);
    rig->hold_store = true;
    submit_twenty(rig, client);
    rig->hold_store = false;
    rig_run(rig);
    assert_all_in_order(row, rig, client);
    rig_stop(rig);
    arcp__free(rig);
    temp_dir_free(dir);
}

static void twenty_submits_with_refusals_between_them(void **state)
{
    const order_row *row = *state;
    if (row->pace == SQLITE_LATE) {
        play_sqlite(row);
    } else {
        play_scene(row);
    }
}

/* ---- what else comes between them ---- */

#define ECHO   "{\"agent\":\"echo\"}"
#define NOBODY "{\"agent\":\"nobody\"}"
#define KEYED  "{\"agent\":\"echo\",\"idempotency_key\":\"k\"}"
#define REUSED "{\"agent\":\"echo\",\"idempotency_key\":\"k\",\"input\":1}"

static scene *begin_late(void)
{
    scene *s = scene_begin(NULL);
    rig_send(&s->rig, s->client, HELLO_PLAIN);
    s->rig.hold_store = true;
    return s;
}

static void is_durable(scene *s)
{
    s->rig.hold_store = false;
    rig_run(&s->rig);
}

static void repeats_and_used_keys_keep_their_places(void **state)
{
    (void)state;
    scene *s = begin_late();
    submit(&s->rig, s->client, "s0", KEYED);
    submit(&s->rig, s->client, "s1", REUSED);
    submit(&s->rig, s->client, "s2", KEYED);
    submit(&s->rig, s->client, "s3", NOBODY);
    submit(&s->rig, s->client, "s0", KEYED); /* the same request: its response again */
    submit(&s->rig, s->client, "s4", ECHO);
    is_durable(s);
    assert_answered(&s->rig, s->client, "s0 s1 s2 s3 s0 s4 ");
    scene_end(s);
}

/* Its events come after it, too; read_all checks it. */
static void a_child_is_announced_in_its_place(void **state)
{
    (void)state;
    static const char delegate[] =
        "{\"type\":\"delegate\",\"id\":\"d\",\"payload\":{\"agent\":\"echo\"}}";
    scene *s = scene_begin(NULL);
    engine_rig *rig = &s->rig;
    rig_send(rig, s->client, HELLO_PLAIN);
    submit(rig, s->client, "parent",
           "{\"agent\":\"echo\",\"lease_request\":{\"agent.delegate\":[\"*\"]}}");
    rig_agent *parent = rig_agent_last(rig);
    rig->hold_store = true;
    submit(rig, s->client, "s0", NOBODY);
    rig_agent_writes(rig, parent, delegate);
    submit(rig, s->client, "s1", ECHO);
    is_durable(s);
    unsigned number = 0;
    unsigned refused = 0;
    unsigned announced = 0;
    unsigned accepted = 0;
    for (char *frame = rig_read(rig, s->client); frame != NULL; frame = rig_read(rig, s->client)) {
        number++;
        refused = strstr(frame, "\"request_id\":\"s0\"") != NULL ? number : refused;
        announced = strstr(frame, "\"parent_job_id\"") != NULL ? number : announced;
        accepted = strstr(frame, "\"request_id\":\"s1\"") != NULL ? number : accepted;
        assert_true(strstr(frame, "child_job_id") == NULL || announced != 0);
        arcp__free(frame);
    }
    assert_true(refused != 0 && refused < announced && announced < accepted);
    scene_end(s);
}

static void requests_are_answered_before_the_session_is_closed(void **state)
{
    (void)state;
    scene *s = begin_late();
    submit(&s->rig, s->client, "s0", NOBODY);
    submit(&s->rig, s->client, "s1", ECHO);
    rig_send(&s->rig, s->client, FRAME("s2", "session.close", "{}"));
    submit(&s->rig, s->client, "s3", ECHO); /* a closed session sends no more requests */
    is_durable(s);
    assert_answered(&s->rig, s->client, "s0 s1 s2 ");
    assert_null(s->client->link);
    assert_int_equal(s->client->close_code, 1000);
    scene_end(s);
}

static void a_replayed_refusal_is_not_overtaken(void **state)
{
    (void)state;
    char resume[512];
    char session[40];
    char token[80];
    scene *s = begin_late();
    engine_rig *rig = &s->rig;
    is_durable(s);
    char *welcome = rig_read(rig, s->client);
    assert_int_equal(
        sscanf(strstr(welcome, "\"session_id\":\""), "\"session_id\":\"%39[^\"]", session), 1);
    assert_int_equal(
        sscanf(strstr(welcome, "\"resume_token\":\""), "\"resume_token\":\"%79[^\"]", token), 1);
    arcp__free(welcome);
    submit(rig, s->client, "s0", NOBODY);
    rig_restart(rig);
    rig_client *again = rig_connect(rig, "a1");
    rig->hold_store = true;
    (void)snprintf(
        resume, sizeof resume,
        "{\"arcp\":\"1.1\",\"id\":\"r\",\"type\":\"session.hello\",\"payload\":{\"auth\":{"
        "\"scheme\":\"bearer\",\"token\":\"t-alice\"},\"resume\":{\"session_id\":\"%s\","
        "\"resume_token\":\"%s\",\"last_event_seq\":0}}}",
        session, token);
    rig_send(rig, again, resume);
    submit(rig, again, "s1", ECHO);
    is_durable(s);
    assert_answered(rig, again, "s0 s1 ");
    scene_end(s);
}

static void a_refusal_has_the_trace_of_its_request(void **state)
{
    (void)state;
    static const char trace[] = "\"trace_id\":\"0af7651916cd43dd8448eb211c80319c\"";
    scene *s = scene_begin(NULL);
    engine_rig *rig = &s->rig;
    rig_send(rig, s->client, HELLO_PLAIN);
    (void)scene_takes(s, "");
    rig_send(rig, s->client,
             "{\"arcp\":\"1.1\",\"id\":\"s0\",\"type\":\"job.submit\",\"trace_id\":"
             "\"0AF7651916CD43DD8448EB211C80319C\",\"payload\":{\"agent\":\"nobody\"}}");
    assert_int_equal(scene_takes(s, trace), 1);
    rig_send(rig, s->client,
             "{\"arcp\":\"1.1\",\"id\":\"s1\",\"type\":\"job.cancel\",\"extensions\":{"
             "\"x-vendor.opentelemetry.tracecontext\":{\"traceparent\":"
             "\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"}},"
             "\"payload\":{\"job_id\":\"job_x\"}}");
    assert_int_equal(scene_takes(s, trace), 1);
    rig_send(rig, s->client,
             "{\"arcp\":\"1.1\",\"id\":\"s2\",\"type\":\"job.submit\",\"trace_id\":\"odd\","
             "\"payload\":{\"agent\":\"nobody\"}}");
    assert_int_equal(scene_takes(s, "\"trace_id\""), 0);
    rig_profile(rig, "*", "*", "go");
    rig_client *other = rig_connect(rig, "b1");
    rig_send(rig, other, HELLO_PLAIN);
    rig_send(rig, other,
             "{\"arcp\":\"1.1\",\"id\":\"s0\",\"type\":\"job.submit\",\"trace_id\":"
             "\"0af7651916cd43dd8448eb211c80319c\",\"payload\":{\"agent\":\"nobody\"}}");
    s->client = other;
    assert_int_equal(scene_takes(s, trace), 1);
    scene_end(s);
}

/* Profile ts: its client gives up every job it has not had the end of at a session.error. */
static void a_query_s_refusal_does_not_overtake_the_end_of_a_job(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    engine_rig *rig = &s->rig;
    rig_profile(rig, "*", "*", "ts");
    rig_send(rig, s->client, HELLO_WITH("\"subscribe\""));
    fill_link(rig, s->client);
    rig_agent_writes(rig, rig_agent_last(rig), "{\"type\":\"job.result\",\"payload\":{}}");
    rig_send(rig, s->client, FRAME("q", "job.subscribe", "{\"job_id\":\"job_x\"}"));
    assert_int_equal(scene_takes(s, "session.error"), 0);
    rig_send(rig, s->client, FRAME("r", "job.subscribe", "{\"job_id\":\"job_x\"}"));
    assert_int_equal(scene_takes(s, "session.error"), 1);
    scene_end(s);
}

/* The same with profile python, for every request, and the made-up job.accepted is repeated
 * whole. */
static void a_lone_refusal_does_not_overtake_the_end_of_a_job(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    engine_rig *rig = &s->rig;
    rig_profile(rig, "*", "*", "python");
    rig_send(rig, s->client, HELLO_PLAIN);
    fill_link(rig, s->client);
    rig_agent_writes(rig, rig_agent_last(rig), "{\"type\":\"job.result\",\"payload\":{}}");
    submit(rig, s->client, "s0", NOBODY);
    assert_answered(rig, s->client, "s0 ");
    submit(rig, s->client, "s1", NOBODY);
    assert_int_equal(scene_takes(s, "\"s1\""), 0); /* others may come */
    rig_clock(rig, ARCP_NS_PER_SEC);
    assert_int_equal(scene_takes(s, "session.error"), 1);
    submit(rig, s->client, "s0", NOBODY);
    assert_int_equal(scene_takes(s, "\"code\":\"AGENT_NOT_AVAILABLE\""), 1);
    scene_end(s);
}

/* A client that closes, or is disconnected, sends no more requests. */
static void a_lone_refusal_does_not_wait_once_its_session_closes(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    engine_rig *rig = &s->rig;
    rig_profile(rig, "*", "*", "python");
    rig_client *other = rig_connect(rig, "b1");
    rig_send(rig, other, HELLO_PLAIN);
    submit(rig, other, "s0", NOBODY);
    rig_drop(rig, other);
    rig_clock(rig, ARCP_NS_PER_SEC);
    rig_send(rig, s->client, HELLO_PLAIN);
    submit(rig, s->client, "s0", NOBODY);
    rig_send(rig, s->client, FRAME("s1", "session.close", "{}"));
    rig_run(rig);
    assert_answered(rig, s->client, "s0 s1 ");
    assert_null(s->client->link);
    scene_end(s);
}

/* A client that does not read its responses is not read either. */
static void answers_that_wait_for_a_refusal_are_bounded(void **state)
{
    (void)state;
    scene *s = scene_begin(NULL);
    engine_rig *rig = &s->rig;
    rig_send(rig, s->client, HELLO_PLAIN);
    fill_link(rig, s->client);
    submit(rig, s->client, "s0", NOBODY);
    unsigned asked = 0;
    while (!s->client->paused && asked < 100000) {
        char id[16];
        (void)snprintf(id, sizeof id, "k%u", asked++);
        submit(rig, s->client, id, KEYED);
    }
    assert_true(s->client->paused);
    assert_true(asked > 100);
    while (s->client->paused && s->client->frames != NULL) {
        arcp__free(rig_read(rig, s->client));
    }
    assert_false(s->client->paused);
    scene_end(s);
}

int main(void)
{
    static order_row rows[PROFILES * PACES];
    static struct CMUnitTest tests[PROFILES * PACES + 9] = {
        cmocka_unit_test(repeats_and_used_keys_keep_their_places),
        cmocka_unit_test(a_child_is_announced_in_its_place),
        cmocka_unit_test(requests_are_answered_before_the_session_is_closed),
        cmocka_unit_test(a_replayed_refusal_is_not_overtaken),
        cmocka_unit_test(a_refusal_has_the_trace_of_its_request),
        cmocka_unit_test(a_query_s_refusal_does_not_overtake_the_end_of_a_job),
        cmocka_unit_test(a_lone_refusal_does_not_overtake_the_end_of_a_job),
        cmocka_unit_test(a_lone_refusal_does_not_wait_once_its_session_closes),
        cmocka_unit_test(answers_that_wait_for_a_refusal_are_bounded),
    };
    size_t count = 9;
    for (size_t i = 0; i < PROFILES; i++) {
        for (size_t pace = 0; pace < PACES; pace++, count++) {
            order_row *row = &rows[i * PACES + pace];
            *row = (order_row){.profile = profiles[i], .pace = (pace_kind)pace};
            (void)snprintf(row->name, sizeof row->name, "%s, %s", profiles[i], pace_names[pace]);
            tests[count] =
                (struct CMUnitTest){.name = row->name,
                                    .test_func = twenty_submits_with_refusals_between_them,
                                    .initial_state = row};
        }
    }
    return _cmocka_run_group_tests("answer order", tests, count, NULL, NULL);
}
