/* The language of stories: lines, macros, variables, and which frame matches an expectation. */
#include "support/check.h"

#include "story/story.h"

/* A stage that records what is sent, and receives the texts that a test gives it. */
typedef struct fake {
    arcp_buf sent; /* one frame to a line */
    const char *texts[4];
    bool is_connected;
    int64_t now_ns;
} fake;

static const char *text_at(void *user, const char *name, unsigned index)
{
    const fake *f = user;
    (void)name;
    return index < 4 ? f->texts[index] : NULL;
}

static void remove_text(void *user, const char *name, unsigned index)
{
    fake *f = user;
    (void)name;
    for (; index < 3; index++) {
        f->texts[index] = f->texts[index + 1];
    }
    f->texts[3] = NULL;
}

static bool is_connected(void *user, const char *name)
{
    const fake *f = user;
    (void)name;
    return f->is_connected;
}

static bool connect_client(void *user, const char *name)
{
    fake *f = user;
    f->is_connected = true;
    arcp_buf_append_format(&f->sent, "connect %s\n", name);
    return true;
}

static bool send_frame(void *user, const char *name, const char *frame)
{
    fake *f = user;
    arcp_buf_append_format(&f->sent, "%s: %s\n", name, frame);
    return true;
}

/* Client a is closed with 1000, b is open. */
static bool await_close(void *user, const char *name, int *code)
{
    (void)user;
    *code = 1000;
    return name[0] == 'a';
}

static void drop(void *user, const char *name)
{
    fake *f = user;
    (void)name;
    f->is_connected = false;
    f->now_ns += INT64_C(5000000000);
}

static int64_t now(void *user)
{
    const fake *f = user;
    return f->now_ns;
}

static bool play_own(arcp__story *story, char *rest)
{
    fake *f = story->stage->user;
    arcp_buf_append_format(&f->sent, "own <%s>\n", rest);
    return true;
}

static const arcp__story_verb verbs[] = {{"own", play_own}, {NULL, NULL}};

/* A story, the texts that it receives, and the expected outcome. */
typedef struct story_row {
    const char *name, *text;
    arcp__story_order order;
    const char *texts[4];
    const char *sent;
    unsigned line; /* where it fails; 0: it passes */
    const char *why;
} story_row;

#define PONG  "{\"type\":\"session.pong\"}"
#define EVENT "{\"type\":\"job.event\",\"event_seq\":7}"

static const story_row rows[] = {
    {.name = "comments and empty lines have no effect", .text = "# a> x\n\n#\n", .sent = ""},
    {.name = "a client that sends is connected first",
     .text = "a> {\"n\":1}\na> no frame",
     .sent = "connect a\na: {\"n\":1}\na: no frame\n"},
    {.name = "a line that begins with white space continues the one before",
     .text = "a> {\"n\":1,\n    \"m\":\n\t2}\n",
     .sent = "connect a\na: {\"n\":1,\"m\":2}\n"},
    {.name = "a message is an envelope around its payload",
     .text = "a> job.cancel #c {\"job_id\":\"j\"}\na> session.close #d",
     .sent = "connect a\n"
             "a: {\"arcp\":\"1.1\",\"id\":\"c\",\"type\":\"job.cancel\","
             "\"payload\":{\"job_id\":\"j\"}}\n"
             "a: {\"arcp\":\"1.1\",\"id\":\"d\",\"type\":\"session.close\",\"payload\":{}}\n"},
    {.name = "a received value can be sent",
     .text = "a< session.pong {\"payload\":{\"n\":\"$n\"}}\na> [$n,\"$n\"]\n",
     .texts = {"{\"type\":\"session.pong\",\"payload\":{\"n\":\"x\"}}"},
     .sent = "connect a\na: [\"x\",\"x\"]\n"},
    {.name = "a forgotten variable gets a new value",
     .text = "a< {\"n\":\"$n\"}\nforget n m\na< {\"n\":\"$n\"}\na> [$n]",
     .texts = {"{\"n\":1}", "{\"n\":2}"},
     .sent = "connect a\na: [2]\n"},
    {.name = "an instant keeps its value",
     .text = "a> [$now,$in_2s]\ndrop a\na> [$now,$in_2s,$ago_1s]",
     .sent = "connect a\na: [\"1970-01-01T00:00:00.000Z\",\"1970-01-01T00:00:02.000Z\"]\n"
             "connect a\na: [\"1970-01-01T00:00:00.000Z\",\"1970-01-01T00:00:02.000Z\","
             "\"1970-01-01T00:00:04.000Z\"]\n"},
    {.name = "verbs of the stage get the rest of the line",
     .text = "own b  c",
     .sent = "own <b  c>\n"},
    {.name = "a macro's parameters are replaced, the last one by the rest of the line",
     .text = "two b x\nown z\n",
     .sent = "own <b, x!>\nown <AX $x_b b1>\nown <z>\n"},
    {.name = "a macro plays macros",
     .text = "one b x y z",
     .sent = "own <b, y z!>\nown <AX $x_b b1>\nown <x>\n"},
    {.name = "a macro ends with a line of its own",
     .text = "last b",
     .sent = "own <b end>\nown <>\n"},
    {.name = "a client is one letter",
     .text = "connect ab",
     .sent = "",
     .line = 1,
     .why = "\"ab\" is not a client (one letter, a to z)"},
    {.name = "the next frame must match",
     .text = "# none\na< session.pong\n",
     .texts = {EVENT, PONG},
     .sent = "",
     .line = 2,
     .why = "the next message is \"job.event\", must be session.pong"},
    {.name = "a member must match",
     .text = "a< job.event {\"event_seq\":8}",
     .texts = {EVENT},
     .sent = "",
     .line = 1,
     .why = "event_seq is 7, must be 8"},
    {.name = "any received frame may match, and the others are left",
     .text = "a< session.pong\na< job.event {\"event_seq\":7}",
     .order = ARCP__STORY_ANY,
     .texts = {EVENT, PONG},
     .sent = ""},
    {.name = "no received frame matches",
     .text = "a< session.welcome",
     .order = ARCP__STORY_ANY,
     .texts = {EVENT, PONG},
     .sent = "",
     .line = 1,
     .why = "none of the received frames matches session.welcome {}"},
    {.name = "events are skipped and removed",
     .text = "a< session.welcome\na< job.event",
     .order = ARCP__STORY_SKIPPING,
     .texts = {EVENT, "{\"type\":\"session.welcome\"}"},
     .sent = "",
     .line = 2,
     .why = "nothing was received, must be job.event"},
    {.name = "other frames are not skipped",
     .text = "a< session.welcome",
     .order = ARCP__STORY_SKIPPING,
     .texts = {EVENT, "{\"type\":\"session.error\"}"},
     .sent = "",
     .line = 1,
     .why = "the next message is \"session.error\", must be session.welcome"},
    {.name = "a code must be one of those given",
     .text = "a refused X_Y|Z\na refused X",
     .texts = {"{\"type\":\"job.error\",\"payload\":{\"code\":\"Z\"}}",
               "{\"type\":\"session.error\",\"payload\":{\"code\":\"X_Y\"}}"},
     .sent = "",
     .line = 2,
     .why = "payload.code is \"X_Y\", must be X"},
    {.name = "a connection that is not closed",
     .text = "a< close 1000\nb< close 1000",
     .sent = "",
     .line = 2,
     .why = "the connection is still open"},
    {.name = "another close code",
     .text = "a< close 1000\na< close 1001",
     .sent = "",
     .line = 2,
     .why = "closed with 1000"},
    {.name = "nothing does not match a frame",
     .text = "a< nothing",
     .texts = {PONG},
     .sent = "",
     .line = 1,
     .why = "unexpected frame: " PONG},
    {.name = "an unknown word",
     .text = "own 1\n\nfrown a\nown 2",
     .sent = "own <1>\n",
     .line = 3,
     .why = "a line cannot begin with frown"},
    {.name = "an unknown verb of a client",
     .text = "a frowns",
     .sent = "",
     .line = 1,
     .why = "unknown verb frowns after a client"},
    {.name = "a variable without a value",
     .text = "a> [$n]",
     .sent = "connect a\n",
     .line = 1,
     .why = "a variable has no value: [$n]"},
    {.name = "an error in a macro is reported at the line that plays it",
     .text = "own 1\nbad b",
     .sent = "own <1>\n",
     .line = 2,
     .why = "a line cannot begin with frown"},
};

static const char macros[] = "define two A BC\n"
                             "own A, BC!\n"
                             "own AX $x_A A1\n"
                             "end\n"
                             "define one A BC DEF\n"
                             "two A DEF\n"
                             "own BC\n"
                             "end\n"
                             "define bad A\nfrown A\nend\n"
                             "define last A\nown A end\nown\nend\n";

static void a_story_has_the_expected_outcome(void **state)
{
    const story_row *row = *state;
    static arcp__story story;
    fake f = {.texts = {row->texts[0], row->texts[1], row->texts[2], row->texts[3]}};
    const arcp__story_stage stage = {.user = &f,
                                     .clients = {row->order, text_at, remove_text},
                                     .verbs = verbs,
                                     .macros = macros,
                                     .is_connected = is_connected,
                                     .connect = connect_client,
                                     .send = send_frame,
                                     .await_close = await_close,
                                     .drop = drop,
                                     .now = now};
    arcp__story_init(&story, &stage);
    const bool passed = arcp__story_play(&story, arcp_span_cstr(row->text));
    arcp_buf_append_byte(&f.sent, '\0');
    arcp_buf_append_byte(&story.why, '\0');
    assert_string_equal(f.sent.data, row->sent);
    assert_string_equal(story.why.data, row->why == NULL ? "" : row->why);
    assert_int_equal(passed ? 0 : story.line, row->line);
    arcp__story_fini(&story);
    arcp_buf_fini(&f.sent);
}

int main(void)
{
    struct CMUnitTest tests[sizeof rows / sizeof rows[0]];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tests[i] = (struct CMUnitTest){.name = rows[i].name,
                                       .test_func = a_story_has_the_expected_outcome,
                                       .initial_state = (void *)&rows[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
