/* A program that gets its lease when it runs: once, from the process that started it, and nothing
 * before. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <arcp/lease.h>

#include "launch/launcher_control.h"
#include "launch/sandbox_fixture.h"

/* Says what it can read, once without the lease and then once for each line of its input. */
static const char script_format[] =
    "T=%s/tree; look() { for i in a b; do cat $T/$i.txt 2>/dev/null || echo no; done; echo .; }; "
    "look; while read -r x; do look; done";

enum { PATIENCE_SECONDS = 60 };

typedef struct late {
    sandbox_fixture *f;
    arcp_process *process;
    int control, input, output;
    arcp__sandbox_plan *waiting;
} late;

typedef struct plan_words {
    const char *lease; /* @ is the directory of the test */
    const char *own;   /* below it */
    bool is_cold;
} plan_words;

static arcp__sandbox_plan *make_plan(sandbox_fixture *f, const plan_words *words)
{
    char text[512] = "";
    char own[128];
    arcp_lease *lease = NULL;
    arcp__sandbox_plan *plan = NULL;
    for (const char *at = words->lease; *at != '\0'; at++) {
        const size_t size = strlen(text);
        (void)snprintf(text + size, sizeof text - size, "%.*s", *at == '@' ? 64 : 1,
                       *at == '@' ? f->directory : at);
    }
    (void)snprintf(own, sizeof own, "%s/%s", f->directory, words->own);
    const arcp_span owns[] = {arcp_span_cstr(own)};
    check_ok(arcp_lease_parse(arcp_span_cstr(text), arcp_span_cstr(""), NULL, &lease, &f->error),
             &f->error);
    arcp__sandbox_request request = {
        .lease = lease,
        .origin = ARCP__SANDBOX_ORIGIN_JOB,
        .may_be_late = !words->is_cold,
        .cwd = ARCP_SPAN_LITERAL("/usr"),
        .home = ARCP_SPAN_LITERAL("/home/agent"),
        .own = owns,
        .own_count = 1,
        .protect = ARCP__SANDBOX_PROTECT_COMMITS,
        .limits = {.scratch_bytes = 1u << 20, .pids = 64},
        .abilities = f->plan.abilities,
        .min = ARCP__SANDBOX_VERDICT_UNDER,
    };
    check_ok(arcp__sandbox_plan_new(&request, &plan, &f->error), &f->error);
    assert_int_equal(plan->is_late, !words->is_cold);
    arcp_lease_unref(lease);
    return plan;
}

static int seal(const arcp__sandbox_plan *plan, bool is_sealed)
{
    arcp_buf text = arcp_buf_init();
    const int fd = memfd_create("lease", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    arcp__sandbox_plan_encode(plan, &text);
    assert_int_equal(write(fd, text.data, text.size), (ssize_t)text.size);
    assert_true(!is_sealed || fcntl(fd, F_ADD_SEALS,
                                    F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0);
    arcp_buf_fini(&text);
    return fd;
}

/* Sends a text with copies of a descriptor. */
static void send_text(const late *one, const char *text, int fd, size_t copies)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof fd)];
    } extra = {.header = {.cmsg_len = CMSG_LEN(copies * sizeof fd),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS}};
    const union { /* sendmsg changes nothing there */
        const char *from;
        void *to;
    } bytes = {text};
    struct iovec part = {.iov_base = bytes.to, .iov_len = strlen(text)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    for (size_t i = 0; i < copies; i++) {
        memcpy(CMSG_DATA(&extra.header) + i * sizeof fd, &fd, sizeof fd);
    }
    if (copies != 0) {
        message.msg_control = &extra;
        message.msg_controllen = CMSG_SPACE(copies * sizeof fd);
    }
    assert_int_equal(sendmsg(one->control, &message, MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void send_plan(const late *one, const plan_words *words, bool is_sealed)
{
    arcp__sandbox_plan *plan = make_plan(one->f, words);
    const int fd = seal(plan, is_sealed);
    send_text(one, ARCP__LAUNCH_LEASE_TEXT, fd, 1);
    (void)close(fd);
    arcp__sandbox_plan_free(plan);
}

/* Waits for a record that has the word, and keeps all of them. False: the other end was closed. */
static bool await_record(const late *one, const char *word)
{
    static char record[65536];
    for (;;) {
        const ssize_t size = recv(one->control, record, sizeof record - 1, 0);
        if (size <= 0) {
            return false;
        }
        record[size] = '\0';
        arcp_buf_append_cstr(&one->f->records, record);
        if (strstr(record, word) != NULL) {
            return true;
        }
    }
}

/* The next look of the program: what it read of both files. "": it has ended. */
static const char *next_look(const late *one)
{
    static char text[256];
    size_t size = 0;
    while (size < 2 || strcmp(text + size - 2, ".\n") != 0) {
        const ssize_t got = read(one->output, text + size, 1);
        if (got <= 0) {
            return "";
        }
        text[++size] = '\0';
    }
    return text;
}

static const char *look_again(const late *one)
{
    assert_int_equal(write(one->input, "\n", 1), 1);
    return next_look(one);
}

static const plan_words nothing = {.lease = "{}", .own = "own"};
static const plan_words reads_a = {.lease = "{\"fs.read\":[\"@/tree/a*\"]}", .own = "own"};
static const plan_words reads_b = {.lease = "{\"fs.read\":[\"@/tree/b*\"]}", .own = "own"};

static void start_with(sandbox_fixture *f, late *one, const plan_words *words)
{
    char script[512];
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    int in[2];
    int out[2];
    alarm(PATIENCE_SECONDS);
    if (!arcp__sandbox_has_broker(sandbox_abilities())) {
        (void)fprintf(stderr, "NOT RUN: this host has no broker\n");
        skip();
    }
    (void)snprintf(script, sizeof script, script_format, f->directory);
    sandbox_outside("echo A > %s/tree/a.txt; echo B > %s/tree/b.txt; mkdir %s/own", f->directory,
                    f->directory, f->directory);
    *one = (late){.f = f, .waiting = make_plan(f, words)};
    f->plan = *one->waiting;
    f->plan.mounts = f->mounts; /* the fixture sorts them */
    f->plan.rules = f->rules;
    memcpy(f->mounts, one->waiting->mounts, f->plan.mount_count * sizeof *f->mounts);
    memcpy(f->rules, one->waiting->rules, f->plan.rule_count * sizeof *f->rules);
    assert_true(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    f->spec.stdin_fd = in[0];
    f->spec.stdout_fd = f->spec.stderr_fd = out[1];
    f->confinement.etc = "/usr/share"; /* any directory */
    one->process = sandbox_start(f, argv, &one->control);
    (void)close(in[0]);
    (void)close(out[1]);
    one->input = in[1];
    one->output = out[0];
}

static void start(sandbox_fixture *f, late *one)
{
    start_with(f, one, &nothing);
}

/* Ends it; returns its status. */
static int finish(late *one)
{
    arcp_process_exit end = arcp_process_exit_init();
    (void)close(one->input);
    (void)await_record(one, "nothing has this word");
    (void)close(one->control);
    (void)close(one->output);
    wait_for_exit(one->process);
    assert_true(one->process->ops->take_exit(one->process, &end));
    one->process->ops->free(one->process);
    arcp__sandbox_plan_free(one->waiting);
    arcp_buf_append_byte(&one->f->records, '\0');
    alarm(0);
    return end.by_signal ? 128 + end.code : end.code;
}

static void a_program_has_nothing_before_its_lease_and_then_what_it_grants(void **state)
{
    late one;
    start(*state, &one);
    assert_string_equal(next_look(&one), "no\nno\n.\n");
    assert_string_equal(look_again(&one), "no\nno\n.\n");
    send_plan(&one, &reads_a, true);
    assert_true(await_record(&one, "leased"));
    assert_string_equal(look_again(&one), "A\nno\n.\n");
    assert_int_equal(finish(&one), 0);
}

static void a_second_lease_changes_nothing(void **state)
{
    late one;
    start(*state, &one);
    assert_string_equal(next_look(&one), "no\nno\n.\n");
    send_plan(&one, &reads_a, true);
    assert_true(await_record(&one, "leased"));
    send_plan(&one, &reads_b, true);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(look_again(&one), "A\nno\n.\n");
    }
    assert_int_equal(finish(&one), 0);
    assert_null(strstr(strstr(one.f->records.data, "leased") + 1, "leased"));
}

/* The thread of the broker takes the message when it comes to it: the program looks until then. */
static const char *look_until_it_has_nothing(const late *one)
{
    const char *seen;
    do {
        seen = look_again(one);
    } while (*seen != '\0' && strcmp(seen, "no\nno\n.\n") != 0);
    return seen;
}

static void a_lease_that_is_revoked_grants_nothing_any_more(void **state)
{
    late one;
    start(*state, &one);
    assert_string_equal(next_look(&one), "no\nno\n.\n");
    send_plan(&one, &reads_a, true);
    assert_true(await_record(&one, "leased"));
    assert_string_equal(look_again(&one), "A\nno\n.\n");
    send_text(&one, ARCP__LAUNCH_REVOKE_TEXT, -1, 0);
    assert_string_equal(look_until_it_has_nothing(&one), "no\nno\n.\n");
    send_plan(&one, &reads_a, true);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(look_again(&one), "no\nno\n.\n");
    }
    assert_int_equal(finish(&one), 0);
    assert_non_null(strstr(one.f->records.data, "a.txt")); /* denied, and reported */
}

static void a_lease_of_the_start_is_revoked_too(void **state)
{
    late one;
    start_with(*state, &one, &(plan_words){.lease = reads_a.lease, .own = "own", .is_cold = true});
    assert_string_equal(next_look(&one), "A\nno\n.\n");
    send_text(&one, ARCP__LAUNCH_REVOKE_TEXT, -1, 0);
    assert_string_equal(look_until_it_has_nothing(&one), "no\nno\n.\n");
    assert_int_equal(finish(&one), 0);
}

static void what_was_denied_before_the_lease_is_reported_again_after_it(void **state)
{
    late one;
    sandbox_fixture *f = *state;
    start(f, &one);
    assert_string_equal(next_look(&one), "no\nno\n.\n");
    send_plan(&one, &reads_a, true);
    assert_true(await_record(&one, "leased"));
    const size_t before = f->records.size;
    assert_string_equal(look_again(&one), "A\nno\n.\n");
    assert_int_equal(finish(&one), 0);
    const char *after = f->records.data + before;
    assert_non_null(strstr(after, "b.txt"));
    assert_null(strstr(after, "a.txt"));
}

/* ---- messages that are not its lease ---- */

static void send_other_text(const late *one)
{
    const int fd = seal(one->waiting, true);
    send_text(one, "{\"lease\":false}", fd, 1);
    (void)close(fd);
}

static void send_longer_text(const late *one)
{
    const int fd = seal(one->waiting, true);
    send_text(one, ARCP__LAUNCH_LEASE_TEXT " ", fd, 1);
    (void)close(fd);
}

static void send_revoke_with_file(const late *one)
{
    const int fd = seal(one->waiting, true);
    send_text(one, ARCP__LAUNCH_REVOKE_TEXT, fd, 1);
    (void)close(fd);
}

static void send_no_file(const late *one)
{
    send_text(one, ARCP__LAUNCH_LEASE_TEXT, -1, 0);
}

static void send_two_files(const late *one)
{
    arcp__sandbox_plan *plan = make_plan(one->f, &reads_a);
    const int fd = seal(plan, true);
    send_text(one, ARCP__LAUNCH_LEASE_TEXT, fd, 2);
    (void)close(fd);
    arcp__sandbox_plan_free(plan);
}

static void send_open_file(const late *one)
{
    send_plan(one, &reads_a, false);
}

static void send_ordinary_file(const late *one)
{
    const int fd = open(sandbox_path(one->f, "tree/a.txt"), O_RDONLY | O_CLOEXEC);
    send_text(one, ARCP__LAUNCH_LEASE_TEXT, fd, 1);
    (void)close(fd);
}

static void send_no_plan(const late *one)
{
    const int fd = memfd_create("lease", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(write(fd, "{}", 2), 2);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
    send_text(one, ARCP__LAUNCH_LEASE_TEXT, fd, 1);
    (void)close(fd);
}

static void send_other_plan(const late *one)
{
    send_plan(one, &(plan_words){.lease = reads_a.lease, .own = "other"}, true);
}

static void send_cold_plan(const late *one)
{
    send_plan(one, &(plan_words){.lease = reads_a.lease, .own = "own", .is_cold = true}, true);
}

static void a_message_that_is_not_its_lease_ends_the_sandbox(void **state)
{
    static void (*const sends[])(const late *one) = {
        send_other_text, send_longer_text,   send_revoke_with_file, send_no_file,    send_two_files,
        send_open_file,  send_ordinary_file, send_no_plan,          send_other_plan, send_cold_plan,
    };
    sandbox_fixture *f = *state;
    for (size_t i = 0; i < sizeof sends / sizeof sends[0]; i++) {
        late one;
        if (i != 0) {
            sandbox_outside("rm -r %s/own", f->directory);
        }
        arcp_buf_clear(&f->records);
        start(f, &one);
        assert_string_equal(next_look(&one), "no\nno\n.\n");
        sends[i](&one);
        assert_false(await_record(&one, "leased"));
        const int code = finish(&one);
        if (code != 125 || strstr(f->records.data, "{\"failed\":\"lease\"") == NULL) {
            fail_msg("row %zu: status %d, %s", i, code, f->records.data);
        }
    }
}

/* The process that started it ends: no lease comes, and nothing else does. */
static void without_a_lease_a_program_runs_on_with_nothing(void **state)
{
    late one;
    start(*state, &one);
    assert_string_equal(next_look(&one), "no\nno\n.\n");
    assert_int_equal(shutdown(one.control, SHUT_WR), 0);
    assert_string_equal(look_again(&one), "no\nno\n.\n");
    assert_int_equal(finish(&one), 0);
}

/* A program that ends while its lease is on the way: no crash, and its own status. */
static void a_lease_may_come_at_the_end(void **state)
{
    sandbox_fixture *f = *state;
    for (int i = 0; i < 20; i++) {
        late one;
        if (i != 0) {
            sandbox_outside("rm -r %s/own", f->directory);
        }
        start(f, &one);
        assert_string_equal(next_look(&one), "no\nno\n.\n");
        arcp__sandbox_plan *plan = make_plan(f, &reads_a);
        const int fd = seal(plan, true);
        send_text(&one, ARCP__LAUNCH_LEASE_TEXT, fd, 1);
        (void)close(fd); /* finish closes the program's input at once */
        arcp__sandbox_plan_free(plan);
        assert_int_equal(finish(&one), 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        SANDBOX_TEST(a_program_has_nothing_before_its_lease_and_then_what_it_grants),
        SANDBOX_TEST(a_second_lease_changes_nothing),
        SANDBOX_TEST(a_lease_that_is_revoked_grants_nothing_any_more),
        SANDBOX_TEST(a_lease_of_the_start_is_revoked_too),
        SANDBOX_TEST(what_was_denied_before_the_lease_is_reported_again_after_it),
        SANDBOX_TEST(a_message_that_is_not_its_lease_ends_the_sandbox),
        SANDBOX_TEST(without_a_lease_a_program_runs_on_with_nothing),
        SANDBOX_TEST(a_lease_may_come_at_the_end),
    };
    if (argc != 2 || !sandbox_use_user(argv[1])) {
        (void)fprintf(stderr, "NOT RUN: the tests are not run by root\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
