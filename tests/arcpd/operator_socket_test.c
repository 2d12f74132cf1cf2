/* arcpd.sock: whom it serves, and what is in its place. As root, this process takes the user of
 * arcpd, of root and of another user in turns: the kernel tells a peer's effective user. */
#include "support/check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "arcpd/arcpd.h"
#include "stream/local_socket.h"

#define DAEMON_USER 65534u
#define OTHER_USER  65533u
#define PATIENCE_MS 20000
#define CONFINED    "agents: [{name: a, command: [sh]}]\n"
#define UNCONFINED  "agents: [{name: a, command: [sh], confine: false}]\n"
#define HELLO                                                                                      \
    "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"client\":{\"name\":" \
    "\"t\",\"version\":\"1\"},\"auth\":{\"scheme\":\"bearer\",\"token\":\"any\"},"                 \
    "\"capabilities\":{\"features\":[]}}}\n"

typedef struct rig {
    uv_loop_t loop;
    arcp_runtime *runtime;
    arcp__operator_socket at;
    arcp__logger logger;
    char directory[256];
    uid_t user; /* arcpd's */
    bool is_root, stopped;
    char audit[4096];
} rig;

static void be(const rig *r, uid_t user)
{
    if (r->is_root) {
        assert_int_equal(seteuid(0), 0);
        assert_int_equal(seteuid(user), 0);
    }
}

static void on_log(void *user, arcp_log_level level, const char *text, const char *fields)
{
    rig *r = user;
    (void)fields;
    if (level == ARCP_LOG_AUDIT) {
        const size_t used = strlen(r->audit);
        (void)snprintf(r->audit + used, sizeof r->audit - used, "%s\n", text);
    }
}

static void on_stopped(void *user)
{
    ((rig *)user)->stopped = true;
}

static void open_with(rig *r, const char *yaml)
{
    arcp__config config;
    arcp_error error = {0};
    arcp__config_init(&config);
    check_ok(arcp__config_read_text(&config, "test.yaml", arcp_span_cstr(yaml), &error), &error);
    arcp__operator_socket_open(&r->at, &r->loop, &config);
    arcp__config_fini(&config);
}

static void reload_with(rig *r, const char *yaml)
{
    arcp__config config;
    arcp_error error = {0};
    arcp__config_init(&config);
    check_ok(arcp__config_read_text(&config, "test.yaml", arcp_span_cstr(yaml), &error), &error);
    arcp__operator_socket_reload(&r->at, &config);
    arcp__config_fini(&config);
}

static void begin(rig *r)
{
    arcp_runtime_options options = arcp_runtime_options_init();
    arcp_error error = {0};
    *r = (rig){.user = geteuid(), .is_root = geteuid() == 0, .directory = "/tmp/arcp-sock-XXXXXX"};
    assert_non_null(mkdtemp(r->directory));
    if (r->is_root) {
        r->user = DAEMON_USER;
        assert_int_equal(chown(r->directory, DAEMON_USER, (gid_t)-1), 0);
        assert_int_equal(chmod(r->directory, 0711), 0);
    }
    be(r, r->user);
    assert_int_equal(uv_loop_init(&r->loop), 0);
    options.log = on_log;
    options.log_user = r;
    check_ok(arcp_runtime_new(&r->loop, &options, &r->runtime, &error), &error);
    r->logger.level = ARCP_LOG_AUDIT;
    r->at.runtime = r->runtime;
    r->at.logger = &r->logger;
    r->at.frame_bytes_max = 1u << 20;
    r->at.fd = -1;
    (void)snprintf(r->at.path, sizeof r->at.path, "%s/arcpd.sock", r->directory);
}

static void end(rig *r)
{
    be(r, r->user);
    arcp__operator_socket_close(&r->at);
    arcp_runtime_stop(r->runtime, on_stopped, r);
    while (!r->stopped) {
        (void)uv_run(&r->loop, UV_RUN_ONCE);
    }
    arcp_runtime_free(r->runtime);
    (void)uv_run(&r->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&r->loop), 0);
    be(r, 0);
    (void)unlink(r->at.path);
    (void)rmdir(r->directory);
}

static mode_t mode_of(const rig *r)
{
    struct stat about;
    assert_int_equal(lstat(r->at.path, &about), 0);
    assert_true(S_ISSOCK(about.st_mode));
    return about.st_mode & 07777;
}

/* What the peer reads, up to its first line or the end: "" when its connection was only closed. */
static const char *ask_as(rig *r, uid_t user)
{
    static char line[4096];
    arcp_error error = {0};
    int fd = -1;
    size_t used = 0;
    be(r, user);
    const arcp_status status = arcp__local_socket_connect(r->at.path, &fd, &error);
    be(r, r->user);
    if (status != ARCP_OK) {
        (void)snprintf(line, sizeof line, "%s", error.message);
        return line;
    }
    (void)!send(fd, HELLO, sizeof HELLO - 1, MSG_NOSIGNAL);
    const int64_t deadline = (int64_t)(uv_hrtime() / 1000000) + PATIENCE_MS;
    bool is_over = false;
    while (!is_over) {
        assert_true((int64_t)(uv_hrtime() / 1000000) < deadline);
        (void)uv_run(&r->loop, UV_RUN_NOWAIT);
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, 1) == 1) {
            const ssize_t got = read(fd, line + used, sizeof line - 1 - used);
            is_over = got <= 0;
            used += got > 0 ? (size_t)got : 0;
        }
        is_over = is_over || memchr(line, '\n', used) != NULL;
    }
    line[used] = '\0';
    (void)close(fd);
    while (r->at.connections != 0) {
        (void)uv_run(&r->loop, UV_RUN_ONCE);
    }
    return line;
}

static void expect(const char *got, const char *word)
{
    if (strstr(got, word) == NULL) {
        fail_msg("want %s in %s", word, got);
    }
}

static void arcpds_own_user_and_root_are_local_operator(void **state)
{
    rig r;
    (void)state;
    begin(&r);
    open_with(&r, CONFINED);
    assert_int_equal(mode_of(&r), 0600);
    expect(ask_as(&r, r.user), "session.welcome");
    expect(r.audit, "\"principal\":\"local-operator\"");
    expect(r.audit, "\"role\":\"operator\"");
    if (r.is_root) {
        expect(ask_as(&r, 0), "session.welcome");
    }
    end(&r);
}

/* Even when the file's mode was changed. */
static void another_user_is_refused_by_the_kernels_word(void **state)
{
    rig r;
    (void)state;
    begin(&r);
    open_with(&r, CONFINED);
    if (r.is_root) {
        expect(ask_as(&r, OTHER_USER), "Permission denied");
        assert_int_equal(chmod(r.at.path, 0777), 0);
        assert_string_equal(ask_as(&r, OTHER_USER), "");
        assert_string_equal(r.audit, "");
    }
    end(&r);
}

static void an_agent_of_arcpds_user_without_a_sandbox_closes_it_for_this_user(void **state)
{
    static const struct {
        const char *yaml;
        bool is_closed;
    } rows[] = {
        {"", false},
        {CONFINED, false},
        {UNCONFINED, true},
        {"enforce: {mode: off}\n" CONFINED, true},
        {"enforce: {mode: off}\n", false},
        {"enforce: {min: advisory}\n" CONFINED, true},
        {"enforce: {min: under}\n" CONFINED, false},
        {"agents: [{name: a, command: [sh], min: advisory}]\n", true},
        {"agents: [{name: a, command: [sh], confine: false, user: daemon}]\n", false},
        {"agents: [{name: a, command: [sh], confine: false, user: no-such-user}]\n", true},
        {"tools: {servers: [{name: t, command: [sh], confine: false}]}\n", true},
        {"tools: {servers: [{name: t, command: [sh]}]}\n", false},
        {"enforce: {mode: off}\ntools: {servers: [{name: t, command: [sh]}]}\n", true},
        {"agents: [{name: a, command: [sh]}, {name: b, command: [sh], confine: false}]\n", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rig r;
        begin(&r);
        open_with(&r, rows[i].yaml);
        assert_int_equal(mode_of(&r), rows[i].is_closed ? 0 : 0600);
        if (r.is_root) {
            expect(ask_as(&r, 0), "session.welcome");
            expect(ask_as(&r, r.user), rows[i].is_closed ? "Permission denied" : "session.welcome");
        }
        r.audit[0] = '\0';
        if (rows[i].is_closed) { /* the agent, which owns the file, may change its mode */
            assert_int_equal(chmod(r.at.path, 0777), 0);
            if (r.user != 0) {
                expect(ask_as(&r, r.user), "PERMISSION_DENIED");
                assert_string_equal(r.audit, "");
            }
        }
        end(&r);
    }
}

static void a_user_that_is_arcpds_own_does_not_count(void **state)
{
    rig r;
    arcp__config config;
    arcp_error error = {0};
    (void)state;
    begin(&r);
    arcp__config_init(&config);
    check_ok(arcp__config_read_text(
                 &config, "test.yaml",
                 ARCP_SPAN_LITERAL("agents: [{name: mine, command: [sh], confine: false, user: "
                                   "nobody}]\n"),
                 &error),
             &error);
    const char *name = arcp__operator_socket_intruder(&config);
    if (r.is_root) { /* the test is arcpd */
        assert_string_equal(name, "mine");
        be(&r, 0);
        assert_null(arcp__operator_socket_intruder(&config));
    }
    arcp__config_fini(&config);
    end(&r);
}

/* Processes of the agent may still run when a reload has confined it. */
static void closed_by_a_reload_it_stays_closed_for_this_user(void **state)
{
    rig r;
    (void)state;
    begin(&r);
    open_with(&r, CONFINED);
    reload_with(&r, CONFINED);
    assert_int_equal(mode_of(&r), 0600);
    reload_with(&r, UNCONFINED);
    assert_int_equal(mode_of(&r), 0);
    reload_with(&r, CONFINED);
    assert_int_equal(mode_of(&r), 0);
    if (r.is_root) {
        expect(ask_as(&r, r.user), "Permission denied");
        expect(ask_as(&r, 0), "session.welcome");
    }
    end(&r);
}

static void put_link(const rig *r, const char *to)
{
    assert_int_equal(symlink(to, r->at.path), 0);
}

static void what_is_in_its_place_is_replaced_and_links_are_not_followed(void **state)
{
    char victim[300];
    struct stat about;
    rig r;
    (void)state;
    begin(&r);
    (void)snprintf(victim, sizeof victim, "%s/victim", r.directory);
    const int fd = open(victim, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, "text", 4), 4);
    (void)close(fd);
    put_link(&r, victim);
    open_with(&r, CONFINED);
    assert_int_equal(mode_of(&r), 0600);
    assert_int_equal(stat(victim, &about), 0);
    assert_true(S_ISREG(about.st_mode) && about.st_size == 4 && (about.st_mode & 0777) == 0644);
    assert_int_equal(unlink(victim), 0);
    end(&r);
    /* The socket of an arcpd that was killed. */
    begin(&r);
    int stale = -1;
    assert_int_equal(arcp__local_socket_listen(r.at.path, 0777, &stale, NULL), ARCP_OK);
    (void)close(stale);
    open_with(&r, CONFINED);
    assert_int_equal(mode_of(&r), 0600);
    expect(ask_as(&r, r.user), "session.welcome");
    end(&r);
}

static void a_directory_in_its_place_stays_and_arcpd_serves_without_it(void **state)
{
    struct stat about;
    rig r;
    (void)state;
    begin(&r);
    assert_int_equal(mkdir(r.at.path, 0700), 0);
    open_with(&r, CONFINED);
    assert_int_equal(r.at.fd, -1);
    reload_with(&r, UNCONFINED);
    assert_int_equal(stat(r.at.path, &about), 0);
    assert_true(S_ISDIR(about.st_mode) && (about.st_mode & 0777) == 0700);
    assert_int_equal(rmdir(r.at.path), 0);
    end(&r);
}

/* Another process of this user has put a socket of its own there. */
static void a_file_that_is_not_its_own_is_not_changed_and_not_removed(void **state)
{
    rig r;
    int other = -1;
    (void)state;
    begin(&r);
    open_with(&r, CONFINED);
    assert_int_equal(arcp__local_socket_listen(r.at.path, 0755, &other, NULL), ARCP_OK);
    reload_with(&r, UNCONFINED);
    assert_int_equal(mode_of(&r), 0755);
    arcp__operator_socket_close(&r.at);
    assert_int_equal(mode_of(&r), 0755);
    (void)close(other);
    end(&r);
}

static void a_path_that_is_longer_than_an_address_is_used_nevertheless(void **state)
{
    rig r;
    char deep[230];
    (void)state;
    begin(&r);
    memset(deep, 'd', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    (void)snprintf(r.at.path, sizeof r.at.path, "%s/%s", r.directory, deep);
    assert_int_equal(mkdir(r.at.path, 0711), 0);
    (void)snprintf(r.at.path, sizeof r.at.path, "%s/%s/arcpd.sock", r.directory, deep);
    open_with(&r, CONFINED);
    assert_int_equal(mode_of(&r), 0600);
    expect(ask_as(&r, r.user), "session.welcome");
    arcp__operator_socket_close(&r.at);
    assert_int_equal(access(r.at.path, F_OK), -1);
    (void)snprintf(r.at.path, sizeof r.at.path, "%s/%s", r.directory, deep);
    assert_int_equal(rmdir(r.at.path), 0);
    end(&r);
}

static void the_socket_goes_with_arcpd(void **state)
{
    rig r;
    (void)state;
    begin(&r);
    open_with(&r, CONFINED);
    arcp__operator_socket_close(&r.at);
    assert_int_equal(access(r.at.path, F_OK), -1);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arcpds_own_user_and_root_are_local_operator),
        cmocka_unit_test(another_user_is_refused_by_the_kernels_word),
        cmocka_unit_test(an_agent_of_arcpds_user_without_a_sandbox_closes_it_for_this_user),
        cmocka_unit_test(a_user_that_is_arcpds_own_does_not_count),
        cmocka_unit_test(closed_by_a_reload_it_stays_closed_for_this_user),
        cmocka_unit_test(what_is_in_its_place_is_replaced_and_links_are_not_followed),
        cmocka_unit_test(a_directory_in_its_place_stays_and_arcpd_serves_without_it),
        cmocka_unit_test(a_file_that_is_not_its_own_is_not_changed_and_not_removed),
        cmocka_unit_test(a_path_that_is_longer_than_an_address_is_used_nevertheless),
        cmocka_unit_test(the_socket_goes_with_arcpd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
