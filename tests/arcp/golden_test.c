/* The exact output of the commands in a pipe, plain and with --json. */
#include "arcp/fixture.h"

#define STATUS_LINE "{\"kind\":\"status\",\"ts\":\"TIME\",\"body\":{\"phase\":\"running\"}}\n"
#define LOG_LINE                                                                                   \
    "{\"kind\":\"log\",\"ts\":\"TIME\",\"body\":{\"level\":\"info\",\"message\":\"working\"}}\n"
#define RESULT_LINE                                                                                \
    "{\"final_status\":\"success\",\"result\":\"hello\",\"completed_at\":\"TIME\","                \
    "\"job_id\":\"job_...\"}\n"
#define CANCELLED_LINE                                                                             \
    "{\"final_status\":\"cancelled\",\"code\":\"CANCELLED\",\"message\":\"the job was cancelled\"" \
    ",\"retryable\":false,\"completed_at\":\"TIME\",\"job_id\":\"job_...\"}\n"

#define UNTIL_ERR (-1)
/* A job that is cancelled before its agent runs has other events. */
#define AWAIT_THE_AGENT                                                                            \
    {                                                                                              \
        "the agent waits", {"watch", "JOB", "--from-start"}, UNTIL_ERR, "", "waiting"              \
    }

/* The rows run in order with one runtime; JOB stands for the last printed job id. */
static const struct golden {
    const char *name;
    const char *words[8];
    int exit_status; /* UNTIL_ERR: the command is ended when it has printed `err` */
    const char *out, *err;
} goldens[] = {
    {"submit",
     {"submit", "hello"},
     0,
     "hello\n",
     "accepted  job_... hello@1.0.0\nstatus    running\nlog       working\n"},
    {"submit, quietly", {"submit", "hello", "--quiet"}, 0, "hello\n", ""},
    {"submit as JSON",
     {"submit", "hello", "--json"},
     0,
     STATUS_LINE LOG_LINE RESULT_LINE,
     "accepted  job_... hello@1.0.0\n"},
    {"a refusal",
     {"submit", "nobody"},
     1,
     "",
     "error: AGENT_NOT_AVAILABLE: there is no agent \"nobody\"\n"},
    {"a refusal as JSON",
     {"submit", "nobody", "--json"},
     1,
     "{\"code\":\"AGENT_NOT_AVAILABLE\",\"message\":\"there is no agent \\\"nobody\\\"\","
     "\"retryable\":false}\n",
     "error: AGENT_NOT_AVAILABLE: there is no agent \"nobody\"\n"},
    {"watch an ended job", {"watch", "JOB"}, 0, "hello\n", ""},
    {"submit and detach", {"submit", "hello", "--detach", "--quiet"}, 0, "job_...\n", ""},
    {"watch from the start",
     {"watch", "JOB", "--from-start"},
     0,
     "hello\n",
     "status    running\nlog       working\n"},
    {"watch from the start as JSON",
     {"watch", "JOB", "--from-start", "--json"},
     0,
     STATUS_LINE LOG_LINE RESULT_LINE,
     ""},
    {"watch an ended job as JSON", {"watch", "JOB", "--json"}, 0, RESULT_LINE, ""},
    {"submit and detach, as JSON",
     {"submit", "wait", "--detach", "--quiet", "--json"},
     0,
     "{\"request_id\":\"msg_...\",\"reply_to\":\"msg_...\",\"job_id\":\"job_...\","
     "\"agent\":\"wait\",\"lease\":{},\"accepted_at\":\"TIME\",\"trace_id\":\"TRACE\"}\n",
     ""},
    AWAIT_THE_AGENT,
    {"cancel as JSON",
     {"cancel", "JOB", "--json"},
     0,
     "{\"job_id\":\"job_...\",\"cancelled\":true}\n",
     ""},
    {"watch a cancelled job",
     {"watch", "JOB", "--json"},
     5,
     CANCELLED_LINE,
     "error: CANCELLED: the job was cancelled\n"},
    {"jobs", {"jobs", "--agent", "wait", "-o", "name"}, 0, "job_...\n", ""},
    {"submit without output", {"submit", "bench", "--quiet"}, 0, "0\n", ""},
    {"jobs as JSON",
     {"jobs", "--agent", "bench", "--status", "success", "--json"},
     0,
     "{\"job_id\":\"job_...\",\"agent\":\"bench\",\"status\":\"success\",\"lease\":{},"
     "\"parent_job_id\":null,\"created_at\":\"TIME\",\"submitted_at\":\"TIME\","
     "\"trace_id\":\"TRACE\",\"last_event_seq\":2}\n",
     ""},
    {"no jobs", {"jobs", "--agent", "count"}, 0, "", "no jobs\n"},
    {"submit and detach again", {"submit", "wait", "--detach", "--quiet"}, 0, "job_...\n", ""},
    AWAIT_THE_AGENT,
    {"cancel",
     {"cancel", "JOB", "--reason", "enough"},
     0,
     "",
     "cancelling job_...\n       its agent may run until a grace period ends (arcpd: 30 s by "
     "default)\n"},
    {"cancel nobody's",
     {"cancel", "job_x"},
     1,
     "",
     "error: JOB_NOT_FOUND: there is no job \"job_x\"\n"},
    {"cancel nobody's as JSON",
     {"cancel", "job_x", "--json", "--quiet"},
     1,
     "{\"code\":\"JOB_NOT_FOUND\",\"message\":\"there is no job \\\"job_x\\\"\","
     "\"retryable\":false,\"details\":{\"job_id\":\"job_x\"}}\n",
     "error: JOB_NOT_FOUND: there is no job \"job_x\"\n"},
    {"no runtime",
     {"jobs", "--url", "ws://127.0.0.1:1/arcp", "--json"},
     3,
     "{\"code\":\"IO\",\"message\":\"cannot connect to 127.0.0.1:1: connection refused\","
     "\"retryable\":true}\n",
     "error: IO: cannot connect to 127.0.0.1:1: connection refused\n"},
};

static void note_job(const process *p, char job[64])
{
    const arcp_buf *texts[] = {&p->out, &p->err};
    for (size_t row = 0; row < 2; row++) {
        const arcp_buf *text = texts[row];
        const char *found = text->size == 0 ? NULL : memmem(text->data, text->size, "job_0", 5);
        if (found != NULL && text->size - (size_t)(found - text->data) >= 30) {
            memcpy(job, found, 30);
            job[30] = '\0';
            return;
        }
    }
}

static void the_pipe_and_json_output_is_unchanged(void **state)
{
    char job[64] = "";
    for (size_t row = 0; row < sizeof goldens / sizeof goldens[0]; row++) {
        const char *words[9] = {NULL};
        process p;
        print_message("  %s\n", goldens[row].name);
        for (size_t i = 0; i < 8 && goldens[row].words[i] != NULL; i++) {
            const bool is_job = strcmp(goldens[row].words[i], "JOB") == 0;
            words[i] = is_job ? job : goldens[row].words[i];
        }
        if (goldens[row].exit_status == UNTIL_ERR) {
            fixture_start(*state, &p, words);
            process_await(&p, true, goldens[row].err);
            process_fini(&p);
            continue;
        }
        fixture_run(*state, &p, goldens[row].exit_status, words);
        check_output(&p, goldens[row].out);
        check_errors(&p, goldens[row].err);
        note_job(&p, job);
        process_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pipe_and_json_output_is_unchanged),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
