/* `arcp` against a real arcpd: what it prints, how it exits, what it leaves. */
#include "arcp/world.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcp/cutting_proxy.h"
#include "arcp/temp_tree.h"

/* ---- results ---- */

static void a_string_result_is_printed_as_it_is(void **state)
{
    process p;
    world_run(*state, &p, 0, WORDS("submit", "hello"));
    check_output(&p, "hello\n");
    check_errors(&p, "accepted  job_... hello@1.0.0\nstatus    running\nlog       working\n");
    process_fini(&p);
}

static void every_kind_of_event_has_a_line_and_other_results_are_json(void **state)
{
    process p;
    world_run(*state, &p, 0,
              WORDS("submit", "events", "--budget", "USD:5.00", "--grant", "tool.call=**"));
    check_output(&p, "{\"n\":1.50}\n");
    check_errors(&p, "accepted  job_... events, USD 5.00\n"
                     "status    running\n"
                     "warning   careful\n"
                     "thought   hm\n"
                     "progress  1/4 files a.c\n"
                     "metric    cost.inference 0.5 USD\n"
                     "budget    USD 4.5 of 5.00\n"
                     "artifact  file:///r.md text/markdown 12 bytes\n"
                     "x-vendor.test.thing {\"a\":1}\n");
    process_fini(&p);
}

static void json_is_one_payload_per_line_and_the_end_last(void **state)
{
    process p;
    world_run(*state, &p, 0, WORDS("submit", "hello", "--json", "--quiet"));
    check_output(&p, "{\"kind\":\"status\",\"ts\":\"TIME\",\"body\":{\"phase\":\"running\"}}\n"
                     "{\"kind\":\"log\",\"ts\":\"TIME\",\"body\":{\"level\":\"info\","
                     "\"message\":\"working\"}}\n"
                     "{\"final_status\":\"success\",\"result\":\"hello\",\"completed_at\":\"TIME\","
                     "\"job_id\":\"job_...\"}\n");
    check_errors(&p, "");
    process_fini(&p);
}

static void inputs_come_from_the_line_a_file_or_standard_input(void **state)
{
    world *w = *state;
    process p;
    char path[96];
    char option[100];
    snprintf(path, sizeof(path), "%s/input.json", w->directory);
    snprintf(option, sizeof(option), "@%s", path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs("{ \"from\" : \"file\" }", file) >= 0);
    fclose(file);
    world_run(w, &p, 0, WORDS("submit", "echo", "--input", option, "--quiet"));
    assert_non_null(strstr(p.out.data, "\"input\":{\"from\":\"file\"}"));
    process_fini(&p);
    world_start_with(w, &p, WORDS("submit", "echo", "--input", "-", "--quiet"), NULL, "[1, 2]");
    assert_int_equal(process_finish(&p), 0);
    assert_non_null(strstr(p.out.data, "\"input\":[1,2]"));
    process_fini(&p);
}

static void the_lease_and_the_trace_reach_the_agent(void **state)
{
    process p;
    world_start_with(
        *state, &p,
        WORDS("submit", "echo", "--grant", "fs.read=/srv/**", "--lease",
              "{\"tool.call\":[\"a.*\"]}", "--expires-at", "2199-01-01T00:00:00Z", "--quiet"),
        (const char *const[]){"TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                              NULL},
        NULL);
    assert_int_equal(process_finish(&p), 0);
    assert_non_null(
        strstr(p.out.data, "\"lease\":{\"tool.call\":[\"a.*\"],\"fs.read\":[\"/srv/**\"]}"));
    assert_non_null(strstr(p.out.data, "\"expires_at\":\"2199-01-01T00:00:00Z\""));
    assert_non_null(strstr(p.out.data, "\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\""));
    process_fini(&p);
}

static void check_stream(const char *bytes, size_t size)
{
    assert_int_equal(size, 300000);
    for (size_t at = 0; at < size; at++) {
        if (bytes[at] != 'a' + (char)(at / 1000 % 26)) {
            fail_msg("byte %zu is %c", at, bytes[at]);
        }
    }
}

static void streamed_results_go_straight_to_standard_output(void **state)
{
    process p;
    world_run(*state, &p, 0, WORDS("submit", "stream", "--quiet"));
    check_stream(p.out.data, p.out.size);
    process_fini(&p);
}

static void results_go_to_a_file_and_replace_what_was_there(void **state)
{
    world *w = *state;
    process p;
    char path[96];
    static char bytes[400000];
    snprintf(path, sizeof(path), "%s/result", w->directory);
    world_run(w, &p, 0, WORDS("submit", "stream", "--quiet", "--output", path));
    assert_int_equal(p.out.size, 0);
    process_fini(&p);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    check_stream(bytes, fread(bytes, 1, sizeof(bytes), file));
    fclose(file);
    world_run(w, &p, 0, WORDS("submit", "hello", "--quiet", "--output", path));
    process_fini(&p);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof(bytes), file), 5);
    assert_memory_equal(bytes, "hello", 5);
    fclose(file);
    /* A job that fails leaves the file alone. */
    world_run(w, &p, 1, WORDS("submit", "nobody", "--quiet", "--output", path));
    process_fini(&p);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_size, 5);
}

static void with_json_a_refusal_is_the_last_line(void **state)
{
    process p;
    world_run(*state, &p, 1, WORDS("submit", "nobody", "--json", "--quiet"));
    assert_int_equal(strncmp(p.out.data, "{\"code\":\"AGENT_NOT_AVAILABLE\",\"message\":\"", 41),
                     0);
    process_fini(&p);
}

/* ---- cancelling ---- */

static unsigned count_session_files(const world *w)
{
    char path[128];
    unsigned count = 0;
    snprintf(path, sizeof(path), "%s/state/arcp/sessions", w->directory);
    DIR *entries = opendir(path);
    assert_non_null(entries);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        count += strstr(entry->d_name, ".json") != NULL;
    }
    closedir(entries);
    return count;
}

/* Calls `each` for the path of every session's file; returns how many there were. */
static unsigned each_session_file(const world *w, void (*each)(const char *path))
{
    char folder[128];
    char path[512];
    unsigned count = 0;
    snprintf(folder, sizeof(folder), "%s/state/arcp/sessions", w->directory);
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        size_t size = strlen(entry->d_name);
        if (size > 5 && strcmp(entry->d_name + size - 5, ".json") == 0) {
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            each(path);
            count++;
        }
    }
    closedir(entries);
    return count;
}

static void remove_file(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

static unsigned remove_session_files(const world *w)
{
    return each_session_file(w, remove_file);
}

/* Another resume token of the same length. */
static void spoil_file(const char *path)
{
    char text[4096];
    FILE *file = fopen(path, "r+e");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof(text) - 1, file);
    text[size] = '\0';
    char *token = strstr(text, "\"resume_token\":\"");
    assert_non_null(token);
    memset(token + 16, 'x', strcspn(token + 16, "\""));
    rewind(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void spoil_session_files(const world *w)
{
    assert_int_equal(each_session_file(w, spoil_file), 1);
}

static void ctrl_c_once_asks_for_the_cancellation(void **state)
{
    process p;
    world_start(*state, &p, WORDS("submit", "wait"));
    process_await(&p, true, "log       waiting\n");
    process_signal(&p, SIGINT);
    assert_int_equal(process_finish(&p), 5);
    assert_non_null(strstr(p.err.data, "asking for the job to be cancelled"));
    assert_non_null(strstr(p.err.data, "error: CANCELLED"));
    process_fini(&p);
    assert_int_equal(count_session_files(*state), 0);
}

static void ctrl_c_leaves_a_watch_and_the_job_goes_on(void **state)
{
    process submitter;
    process watcher;
    char job[64];
    world_start(*state, &submitter, WORDS("submit", "wait"));
    process_await(&submitter, true, "log       waiting\n");
    assert_int_equal(sscanf(submitter.err.data, "accepted %63s", job), 1);
    world_start(*state, &watcher, WORDS("watch", job, "--from-start"));
    process_await(&watcher, true, "log       waiting\n");
    process_signal(&watcher, SIGINT);
    assert_int_equal(process_finish(&watcher), 130);
    assert_non_null(strstr(watcher.err.data, "left; the job goes on"));
    process_fini(&watcher);
    process_signal(&submitter, SIGINT);
    assert_int_equal(process_finish(&submitter), 5);
    process_fini(&submitter);
}

static void ctrl_c_twice_leaves(void **state)
{
    process p;
    world_start(*state, &p, WORDS("submit", "stubborn"));
    process_await(&p, true, "log       never mind\n");
    process_signal(&p, SIGINT);
    process_await(&p, true, "asking for the job to be cancelled");
    process_signal(&p, SIGINT);
    assert_int_equal(process_finish(&p), 130);
    assert_non_null(strstr(p.err.data, "left; the job goes on: arcp watch job_"));
    process_fini(&p);
    assert_int_equal(remove_session_files(*state), 1);
}

/* A saved session that the runtime no longer knows is of no use; then the runtime says who may
 * cancel. */
static void a_cancel_without_the_session_is_the_runtimes_to_refuse(void **state)
{
    process p;
    char job[64];
    world_run(*state, &p, 0, WORDS("submit", "wait", "--max-runtime", "2", "--detach", "--quiet"));
    assert_int_equal(sscanf(p.out.data, "%63s", job), 1);
    process_fini(&p);
    spoil_session_files(*state);
    world_run(*state, &p, 4, WORDS("cancel", job));
    check_errors(
        &p, "error: PERMISSION_DENIED: only the session that submitted the job may cancel it\n");
    process_fini(&p);
    assert_int_equal(count_session_files(*state), 0);
    world_run(*state, &p, 6, WORDS("watch", job));
    process_fini(&p);
}

static void a_cancel_of_another_process_borrows_the_session(void **state)
{
    process submitter;
    process canceller;
    char job[64];
    world_start(*state, &submitter, WORDS("submit", "wait"));
    process_await(&submitter, true, "log       waiting\n");
    assert_int_equal(sscanf(submitter.err.data, "accepted %63s", job), 1);
    world_run(*state, &canceller, 0, WORDS("cancel", job, "--reason", "enough"));
    process_fini(&canceller);
    assert_int_equal(process_finish(&submitter), 5);
    assert_non_null(strstr(submitter.err.data, "resumed   the connection is back"));
    process_fini(&submitter);
    assert_int_equal(count_session_files(*state), 0);
}

/* [arcp:7.7-1] */
static void a_detached_job_is_watched_listed_and_cancelled(void **state)
{
    process p;
    char job[64];
    world_run(*state, &p, 0, WORDS("submit", "wait", "--detach", "--quiet"));
    check_output(&p, "job_...\n");
    assert_int_equal(sscanf(p.out.data, "%63s", job), 1);
    process_fini(&p);
    assert_int_equal(count_session_files(*state), 1);

    process watcher;
    world_start(*state, &watcher, WORDS("watch", job, "--from-start"));
    process_await(&watcher, true, "log       waiting\n");

    world_run(*state, &p, 0, WORDS("jobs", "--status", "running", "--json"));
    assert_non_null(strstr(p.out.data, job));
    process_fini(&p);
    world_run(*state, &p, 0, WORDS("cancel", job));
    process_fini(&p);
    assert_int_equal(process_finish(&watcher), 5);
    process_fini(&watcher);
    world_run(*state, &p, 5, WORDS("watch", job));
    check_errors(&p, "error: CANCELLED: the job was cancelled\n");
    process_fini(&p);
}

/* ---- watching what has ended ---- */

static void a_finished_job_is_shown_from_its_start_or_its_end_only(void **state)
{
    process p;
    char job[64];
    world_run(*state, &p, 0, WORDS("submit", "hello"));
    assert_int_equal(sscanf(p.err.data, "accepted %63s", job), 1);
    process_fini(&p);
    world_run(*state, &p, 0, WORDS("watch", job));
    check_output(&p, "hello\n");
    check_errors(&p, "");
    process_fini(&p);
    world_run(*state, &p, 0, WORDS("watch", job, "--from-start"));
    check_output(&p, "hello\n");
    check_errors(&p, "status    running\nlog       working\n");
    process_fini(&p);
}

static void a_key_finds_the_first_job_again(void **state)
{
    process first;
    process second;
    world_run(*state, &first, 0, WORDS("submit", "hello", "--idempotency-key", "once"));
    world_run(*state, &second, 0, WORDS("submit", "hello", "--idempotency-key", "once"));
    assert_memory_equal(first.err.data, second.err.data, 40);
    check_output(&second, "hello\n");
    process_fini(&second);
    world_run(*state, &second, 1,
              WORDS("submit", "hello", "--idempotency-key", "once", "--input", "2"));
    assert_non_null(strstr(second.err.data, "DUPLICATE_KEY"));
    process_fini(&first);
    process_fini(&second);
}

/* ---- the rest ---- */

static void agents_and_jobs_are_listed(void **state)
{
    process p;
    world_run(*state, &p, 0, WORDS("agents"));
    check_output(
        &p, "hello@1.0.0\nevents\ncount\nstream\nwait\nfail\necho\nprogress\nparent\nstubborn\n"
            "family\nbench\n");
    process_fini(&p);
    world_run(*state, &p, 0, WORDS("agents", "--json"));
    static const char first[] =
        "{\"name\":\"hello\",\"versions\":[\"1.0.0\"],\"default\":\"1.0.0\"}\n";
    assert_int_equal(strncmp(p.out.data, first, strlen(first)), 0);
    process_fini(&p);
    world_run(*state, &p, 0, WORDS("submit", "hello", "--quiet"));
    process_fini(&p);
    world_run(*state, &p, 0, WORDS("jobs", "--agent", "hello", "--since", "1h", "--all"));
    assert_int_equal(strncmp(p.out.data, "JOB ", 4), 0);
    assert_non_null(strstr(p.out.data, "hello@1.0.0\n"));
    process_fini(&p);
    world_run(*state, &p, 0, WORDS("jobs", "--agent", "nobody"));
    check_output(&p, "");
    process_fini(&p);
}

static void ping_names_the_runtime_and_the_time(void **state)
{
    process p;
    world_run(*state, &p, 0, WORDS("ping"));
    arcp_buf_append_byte(&p.out, '\0');
    assert_int_equal(strncmp(p.out.data, "arcpd ", 6), 0);
    const char *time = strstr(p.out.data, ": ");
    assert_non_null(time);
    char *rest = NULL;
    assert_true(strtod(time + 2, &rest) >= 0);
    assert_string_equal(rest, " ms\n");
    process_fini(&p);
}

static void a_token_is_not_seen_among_the_processes(void **state)
{
    world *w = *state;
    process p;
    char path[96];
    char token[256] = "";
    char line[1024] = "";
    snprintf(path, sizeof(path), "%s/state/arcp/token", w->directory);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(token, sizeof(token), file));
    fclose(file);
    token[strcspn(token, "\n")] = '\0';
    world_start(w, &p, WORDS("submit", "wait", "--token", token));
    process_await(&p, true, "log       waiting\n");
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)p.pid);
    file = fopen(path, "re");
    assert_non_null(file);
    size_t size = fread(line, 1, sizeof(line), file);
    fclose(file);
    assert_non_null(memmem(line, size, "--token", 7));
    assert_null(memmem(line, size, token, strlen(token)));
    process_signal(&p, SIGINT);
    assert_int_equal(process_finish(&p), 5);
    process_fini(&p);
}

/* ---- the configuration file ---- */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The daemon's own token, as a person would keep it for another machine. */
static void keep_token(const world *w, const char *path)
{
    char from[96];
    char token[256];
    snprintf(from, sizeof(from), "%s/state/arcp/token", w->directory);
    FILE *file = fopen(from, "re");
    assert_non_null(file);
    assert_non_null(fgets(token, sizeof(token), file));
    assert_int_equal(fclose(file), 0);
    write_file(path, token);
}

static void profiles_say_where_and_who(void **state)
{
    world *w = *state;
    process p;
    char path[128];
    char token[96];
    char text[1024];
    snprintf(token, sizeof(token), "%s/prod.token", w->directory);
    keep_token(w, token);
    snprintf(path, sizeof(path), "%s/.config/arcp", w->directory);
    temp_tree_add(path);
    snprintf(path, sizeof(path), "%s/.config/arcp/config.yaml", w->directory);
    snprintf(text, sizeof(text),
             "profiles:\n"
             "  prod: {url: '%s', token_file: %s}\n"
             "  pass: {url: '%s', token_command: [cat, %s]}\n"
             "  wrong: {url: '%s', token: wrong}\n"
             "  nowhere: {url: 'ws://127.0.0.1:1/arcp', token_file: %s}\n",
             w->url, token, w->url, token, w->url, token);
    write_file(path, text);
    assert_int_equal(unsetenv("ARCP_URL"), 0);
    /* Where the daemon has not left its token for its user. */
    char other[128];
    snprintf(other, sizeof(other), "XDG_STATE_HOME=%s/other", w->directory);
    const char *const elsewhere[] = {other, NULL};
    static const struct {
        const char *profile;
        int exit_status;
    } rows[] = {{"prod", 0}, {"pass", 0}, {"wrong", 3}, {"nowhere", 3}, {"other", 2}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        print_message("  %s\n", rows[row].profile);
        world_start_with(w, &p, WORDS("submit", "hello", "--quiet", "--profile", rows[row].profile),
                         elsewhere, NULL);
        assert_int_equal(process_finish(&p), rows[row].exit_status);
        check_output(&p, rows[row].exit_status == 0 ? "hello\n" : "");
        process_fini(&p);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(setenv("ARCP_URL", w->url, 1), 0);
}

static void a_runtime_can_be_a_command(void **state)
{
    process p;
    char url[1024];
    snprintf(url, sizeof(url),
             "stdio:%s/bin/arcpd --stdio --store memory: --agent 'hello=sh %s/tests/arcp/agents/"
             "hello.sh'",
             ARCP_BINARY_DIR, ARCP_SOURCE_DIR);
    world_run(*state, &p, 0, WORDS("submit", "hello", "--quiet", "--url", url));
    check_output(&p, "hello\n");
    process_fini(&p);
}

static void a_reader_that_leaves_is_no_crash(void **state)
{
    process p;
    world_start(*state, &p, WORDS("submit", "stream", "--quiet"));
    close(p.output);
    p.output = -1;
    assert_int_equal(process_finish(&p), 1);
    process_fini(&p);
}

/* ---- delegation ---- */

static void delegated_jobs_are_shown_below_their_parent(void **state)
{
    process p;
    world_run(*state, &p, 0, WORDS("submit", "parent", "--grant", "agent.delegate=hello*"));
    arcp_buf_append_byte(&p.err, '\0');
    arcp_buf_append_byte(&p.out, '\0');
    assert_non_null(strstr(p.err.data, "\n  child     hello@1.0.0 job_"));
    assert_non_null(strstr(p.err.data, "\ndelegate  hello@1.0.0 job_"));
    assert_non_null(strstr(p.err.data, "\n  log       working\n"));
    assert_non_null(strstr(p.err.data, "\n  ended     success\n"));
    assert_non_null(strstr(p.out.data, "\"result\":\"hello\""));
    process_fini(&p);
}

static void delegated_jobs_are_no_part_of_the_json(void **state)
{
    process p;
    world_run(*state, &p, 0,
              WORDS("submit", "parent", "--grant", "agent.delegate=hello*", "--json", "--quiet"));
    arcp_buf_append_byte(&p.out, '\0');
    assert_non_null(strstr(p.out.data, "\"kind\":\"delegate\""));
    assert_null(strstr(p.out.data, "working"));
    process_fini(&p);
}

/* ---- a runtime that goes and comes back ---- */

/* [arcp:7.7-2] */
static void a_runtime_that_is_killed_and_comes_back_is_resumed(void **state)
{
    world *w = *state;
    world other = {0};
    process p;
    char store[128];
    memcpy(other.directory, w->directory, sizeof(other.directory));
    snprintf(store, sizeof(store), "sqlite:%s/killed.db", w->directory);
    world_start_daemon(&other, store, 0);
    world_start(&other, &p, WORDS("submit", "wait"));
    process_await(&p, true, "log       waiting\n");
    process_signal(&other.daemon, SIGKILL);
    assert_int_equal(process_finish(&other.daemon), 128 + SIGKILL);
    process_fini(&other.daemon);
    process_await(&p, true, "waiting   the connection was lost");
    world_start_daemon(&other, store, other.port);
    assert_int_equal(process_finish(&p), 1);
    arcp_buf_append_byte(&p.err, '\0');
    assert_non_null(strstr(p.err.data, "resumed   the connection is back"));
    assert_non_null(strstr(p.err.data, "error: INTERNAL_ERROR"));
    process_fini(&p);
    process_signal(&other.daemon, SIGTERM);
    assert_int_equal(process_finish(&other.daemon), 0);
    process_fini(&other.daemon);
    assert_int_equal(setenv("ARCP_URL", w->url, 1), 0);
}

/* ---- load ---- */

/* The number behind "name": in one line of JSON. */
static double number_of(const process *p, const char *name)
{
    char key[64];
    snprintf(key, sizeof(key), "\"%s\":", name);
    const char *at = memmem(p->out.data, p->out.size, key, strlen(key));
    if (at == NULL) {
        fail_msg("there is no %s in %.*s", name, (int)p->out.size, p->out.data);
    }
    return strtod(at + strlen(key), NULL);
}

static void bench_counts_jobs_events_and_sessions(void **state)
{
    process p;
    world_run(*state, &p, 0,
              WORDS("bench", "--json", "--sessions", "3", "--in-flight", "7", "--idle", "40",
                    "--jobs", "50", "--warmup", "0", "--input",
                    "{\"events\":20,\"result_bytes\":1000}"));
    arcp_buf_append_byte(&p.out, '\0');
    assert_int_equal(number_of(&p, "jobs"), 50);
    assert_int_equal(number_of(&p, "failed"), 0);
    assert_int_equal(number_of(&p, "idle_lost"), 0);
    assert_int_equal(number_of(&p, "idle_sessions"), 40);
    assert_int_equal(number_of(&p, "samples"), number_of(&p, "jobs"));
    /* Each job says status, 20 lines, a chunk and its end; a few more may be under way. */
    double events = number_of(&p, "events");
    assert_true(events >= 50 * 23 && events <= 57 * 23);
    assert_true(number_of(&p, "result_bytes") >= 50000);
    assert_true(number_of(&p, "jobs_per_sec") > 0);
    process_fini(&p);
}

static void bench_holds_idle_sessions_without_a_job(void **state)
{
    process p;
    world_run(*state, &p, 0,
              WORDS("bench", "--json", "--sessions", "0", "--idle", "5", "--duration", "50ms",
                    "--warmup", "0"));
    arcp_buf_append_byte(&p.out, '\0');
    assert_int_equal(number_of(&p, "sessions"), 0);
    assert_int_equal(number_of(&p, "idle_sessions"), 5);
    assert_int_equal(number_of(&p, "idle_lost"), 0);
    assert_int_equal(number_of(&p, "jobs"), 0);
    assert_true(number_of(&p, "seconds") > 0);
    process_fini(&p);
}

static void bench_that_fails_says_with_what(void **state)
{
    process p;
    world_run(*state, &p, 1, WORDS("bench", "--agent", "nobody", "--jobs", "5"));
    check_errors(&p, "error: AGENT_NOT_AVAILABLE: there is no agent \"nobody\"\n");
    process_fini(&p);
    world_run(*state, &p, 1,
              WORDS("bench", "--jobs", "5", "--warmup", "0", "--input", "{\"exit\":3}"));
    arcp_buf_append_byte(&p.err, '\0');
    assert_non_null(strstr(p.err.data, "INTERNAL_ERROR"));
    process_fini(&p);
    world_run(*state, &p, 3, WORDS("bench", "--url", "ws://127.0.0.1:1/arcp"));
    process_fini(&p);
}

static void ctrl_c_ends_a_bench_with_what_it_has(void **state)
{
    process p;
    world_start_on_terminal(*state, &p, WORDS("bench", "--duration", "1h", "--warmup", "0"),
                            (const char *const[]){"TERM=xterm", "LC_ALL=C", NULL}, 100);
    process_await(&p, false, "measuring: ");
    assert_int_equal(write(p.output, "\003", 1), 1);
    assert_int_equal(process_finish(&p), 0);
    arcp_buf_append_byte(&p.out, '\0');
    assert_non_null(strstr(p.out.data, "(interrupted)"));
    process_fini(&p);
}

/* ---- a bad network ---- */

static void a_connection_that_is_cut_again_and_again_loses_and_doubles_nothing(void **state)
{
    world *w = *state;
    cutting_proxy proxy;
    process p;
    char url[64];
    cutting_proxy_start(&proxy, w->port, 10000, 30000);
    snprintf(url, sizeof(url), "ws://127.0.0.1:%u/arcp", (unsigned)proxy.port);
    world_run(w, &p, 0, WORDS("submit", "count", "--json", "--quiet", "--url", url));
    unsigned cuts = atomic_load(&proxy.cuts);
    cutting_proxy_stop(&proxy);
    assert_true(cuts >= 3);
    const char *at = p.out.data;
    for (unsigned n = 0; n < 400; n++) {
        char expected[64];
        snprintf(expected, sizeof(expected), "\"body\":{\"name\":\"n\",\"value\":%u}}\n", n);
        const char *found = strstr(at, "\"body\":{\"name\":\"n\"");
        assert_non_null(found);
        assert_int_equal(strncmp(found, expected, strlen(expected)), 0);
        at = found + strlen(expected);
    }
    assert_null(strstr(at, "\"kind\""));
    assert_non_null(strstr(at, "\"result\":400"));
    process_fini(&p);
}

static void a_stream_over_a_bad_network_is_whole(void **state)
{
    world *w = *state;
    cutting_proxy proxy;
    process p;
    char url[64];
    cutting_proxy_start(&proxy, w->port, 20000, 60000);
    snprintf(url, sizeof(url), "ws://127.0.0.1:%u/arcp", (unsigned)proxy.port);
    world_run(w, &p, 0, WORDS("submit", "stream", "--quiet", "--url", url));
    assert_true(atomic_load(&proxy.cuts) >= 3);
    cutting_proxy_stop(&proxy);
    check_stream(p.out.data, p.out.size);
    process_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_string_result_is_printed_as_it_is),
        cmocka_unit_test(every_kind_of_event_has_a_line_and_other_results_are_json),
        cmocka_unit_test(json_is_one_payload_per_line_and_the_end_last),
        cmocka_unit_test(inputs_come_from_the_line_a_file_or_standard_input),
        cmocka_unit_test(the_lease_and_the_trace_reach_the_agent),
        cmocka_unit_test(streamed_results_go_straight_to_standard_output),
        cmocka_unit_test(results_go_to_a_file_and_replace_what_was_there),
        cmocka_unit_test(with_json_a_refusal_is_the_last_line),
        cmocka_unit_test(ctrl_c_once_asks_for_the_cancellation),
        cmocka_unit_test(ctrl_c_leaves_a_watch_and_the_job_goes_on),
        cmocka_unit_test(ctrl_c_twice_leaves),
        cmocka_unit_test(a_cancel_without_the_session_is_the_runtimes_to_refuse),
        cmocka_unit_test(a_cancel_of_another_process_borrows_the_session),
        cmocka_unit_test(a_detached_job_is_watched_listed_and_cancelled),
        cmocka_unit_test(a_finished_job_is_shown_from_its_start_or_its_end_only),
        cmocka_unit_test(a_key_finds_the_first_job_again),
        cmocka_unit_test(agents_and_jobs_are_listed),
        cmocka_unit_test(ping_names_the_runtime_and_the_time),
        cmocka_unit_test(a_token_is_not_seen_among_the_processes),
        cmocka_unit_test(profiles_say_where_and_who),
        cmocka_unit_test(a_runtime_can_be_a_command),
        cmocka_unit_test(a_reader_that_leaves_is_no_crash),
        cmocka_unit_test(delegated_jobs_are_shown_below_their_parent),
        cmocka_unit_test(delegated_jobs_are_no_part_of_the_json),
        cmocka_unit_test(a_runtime_that_is_killed_and_comes_back_is_resumed),
        cmocka_unit_test(bench_counts_jobs_events_and_sessions),
        cmocka_unit_test(bench_holds_idle_sessions_without_a_job),
        cmocka_unit_test(bench_that_fails_says_with_what),
        cmocka_unit_test(ctrl_c_ends_a_bench_with_what_it_has),
        cmocka_unit_test(a_connection_that_is_cut_again_and_again_loses_and_doubles_nothing),
        cmocka_unit_test(a_stream_over_a_bad_network_is_whole),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
