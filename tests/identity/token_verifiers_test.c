/* The verifiers that come with the runtime, called without a runtime. */
#include "support/check.h"

#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arcp/time.h>
#include <arcp/token.h>

#include "base/alloc.h"
#include "identity/identity.h"
#include "support/failing_alloc.h"
#include "support/jwt_maker.h"

typedef struct verdict {
    unsigned count;
    arcp_status status;
    bool is_anonymous;
    arcp_role role;
    char principal[300];
    char why[300];
} verdict;

static void on_response(void *user, const arcp_token_response *response)
{
    verdict *into = user;
    into->count++;
    into->status = response->status;
    into->is_anonymous = response->is_anonymous;
    into->role = response->role;
    (void)snprintf(into->principal, sizeof into->principal, "%.*s", (int)response->principal.size,
                   response->principal.size == 0 ? "" : response->principal.data);
    (void)snprintf(into->why, sizeof into->why, "%s", response->why == NULL ? "" : response->why);
}

static verdict verify(arcp_token_verifier *verifier, arcp_span token)
{
    verdict got = {0};
    arcp_token_request *request =
        arcp__token_request_new(token, 1700000000 * ARCP_NS_PER_SEC, on_response, &got);
    assert_non_null(request);
    verifier->ops->verify(verifier, request);
    assert_int_equal(got.count, 1);
    return got;
}

static void expect(arcp_token_verifier *verifier, const char *token, const char *principal)
{
    const verdict got = verify(verifier, arcp_span_cstr(token));
    assert_string_equal(got.principal, principal == NULL ? "" : principal);
    assert_int_equal(got.status, principal == NULL ? ARCP_E_UNAUTHENTICATED : ARCP_OK);
    assert_true(principal != NULL || got.why[0] != '\0');
    assert_true(token[0] == '\0' || strstr(got.why, token) == NULL);
}

static void a_table_knows_its_tokens_and_nothing_else(void **state)
{
    const arcp_token_row rows[] = {{"t1", "alice"}, {"t2", "bob"}, {"t3", "alice"}};
    arcp_token_verifier *table = NULL;
    arcp_error error = {0};
    (void)state;
    check_ok(arcp_token_verifier_new_table(rows, 3, &table, &error), &error);
    expect(table, "t1", "alice");
    expect(table, "t2", "bob");
    expect(table, "t3", "alice");
    expect(table, "t1 ", NULL);
    expect(table, "t11", NULL);
    expect(table, "T1", NULL);
    expect(table, "", NULL);
    assert_int_equal(verify(table, arcp_span_make("t1\0", 3)).status, ARCP_E_UNAUTHENTICATED);
    arcp_token_verifier_free(table);
    check_ok(arcp_token_verifier_new_table(NULL, 0, &table, &error), &error);
    expect(table, "t1", NULL);
    expect(table, "", NULL);
    arcp_token_verifier_free(table);
}

static void a_table_has_no_empty_token_and_no_odd_principal(void **state)
{
    char name[ARCP_PRINCIPAL_BYTES_MAX + 2] = {0};
    arcp_token_verifier *table = NULL;
    arcp_error error = {0};
    (void)state;
    memset(name, 'x', ARCP_PRINCIPAL_BYTES_MAX);
    arcp_token_row row = {"t", name};
    check_ok(arcp_token_verifier_new_table(&row, 1, &table, &error), &error);
    arcp_token_verifier_free(table);
    name[ARCP_PRINCIPAL_BYTES_MAX] = 'x';
    assert_int_equal(arcp_token_verifier_new_table(&row, 1, &table, &error), ARCP_E_USAGE);
    row = (arcp_token_row){"", "alice"};
    assert_int_equal(arcp_token_verifier_new_table(&row, 1, &table, &error), ARCP_E_USAGE);
    row = (arcp_token_row){"t", ""};
    assert_int_equal(arcp_token_verifier_new_table(&row, 1, &table, &error), ARCP_E_USAGE);
}

static void write_file(char path[64], const char *text, mode_t mode)
{
    (void)snprintf(path, 64, "/tmp/arcp-tokens-XXXXXX");
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(file, mode), 0);
    assert_int_equal(close(file), 0);
}

static void a_file_has_a_token_a_line(void **state)
{
    char path[64];
    arcp_token_verifier *table = NULL;
    arcp_error error = {0};
    (void)state;
    write_file(path, "# who may come in\n\nt1=alice\r\nwith=equals==bob\n  \nlast=carol", 0600);
    check_ok(arcp_token_verifier_new_file(path, &table, &error), &error);
    expect(table, "t1", "alice");
    expect(table, "with=equals=", "bob");
    expect(table, "last", "carol");
    expect(table, "# who may come in", NULL);
    arcp_token_verifier_free(table);
    assert_int_equal(unlink(path), 0);
}

static void a_line_of_the_file_may_end_with_a_role(void **state)
{
    char path[64];
    arcp_token_verifier *table = NULL;
    arcp_error error = {0};
    (void)state;
    write_file(path,
               "t1=alice role=viewer\n"
               "t2=acme:ops:bob \t role=operator \r\n"
               "t3=role:operator\n"
               "t4=carol\n"
               "a b=c=dora role=operator\n",
               0600);
    check_ok(arcp_token_verifier_new_file(path, &table, &error), &error);
    expect(table, "t1", "alice");
    expect(table, "t2", "acme:ops:bob");
    expect(table, "a b=c", "dora");
    assert_int_equal(verify(table, ARCP_SPAN_LITERAL("t1")).role, ARCP_ROLE_VIEWER);
    assert_int_equal(verify(table, ARCP_SPAN_LITERAL("t2")).role, ARCP_ROLE_OPERATOR);
    assert_int_equal(verify(table, ARCP_SPAN_LITERAL("t3")).role, ARCP_ROLE_NONE);
    assert_int_equal(verify(table, ARCP_SPAN_LITERAL("t4")).role, ARCP_ROLE_NONE);
    assert_int_equal(verify(table, ARCP_SPAN_LITERAL("a b=c")).role, ARCP_ROLE_OPERATOR);
    assert_int_equal(verify(table, ARCP_SPAN_LITERAL("t1=alice")).status, ARCP_E_UNAUTHENTICATED);
    arcp_token_verifier_free(table);
    assert_int_equal(unlink(path), 0);
}

static void a_role_that_does_not_exist_is_refused_with_its_line(void **state)
{
    static const char *const texts[] = {"t1=alice\nt2=bob role=none\n",
                                        "t1=alice\nt2=bob role=Operator\n",
                                        "t1=alice\nt2=bob role=\n", "t1=alice\nt2=bob role=admin\n",
                                        "t1=alice\nt2=bob role=viewer2\n"};
    char path[64];
    char want[160];
    arcp_token_verifier *table = NULL;
    arcp_error error = {0};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        write_file(path, texts[i], 0600);
        assert_int_equal(arcp_token_verifier_new_file(path, &table, &error), ARCP_E_USAGE);
        (void)snprintf(want, sizeof want, "%s:2: the role of a token must be viewer or operator",
                       path);
        assert_string_equal(error.message, want);
        assert_int_equal(unlink(path), 0);
    }
    write_file(path, "t1 role=viewer\n", 0600);
    assert_int_equal(arcp_token_verifier_new_file(path, &table, &error), ARCP_E_USAGE);
    assert_int_equal(unlink(path), 0);
    assert_null(table);
}

static void an_invalid_file_is_named_with_its_line(void **state)
{
    static const char *const texts[] = {"t1=alice\nsecret\n", "t1=alice\n=bob\n",
                                        "t1=alice\nt2=\n"};
    char path[64];
    char want[160];
    arcp_token_verifier *table = NULL;
    arcp_error error = {0};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        write_file(path, texts[i], 0600);
        assert_int_equal(arcp_token_verifier_new_file(path, &table, &error), ARCP_E_USAGE);
        (void)snprintf(want, sizeof want,
                       "%s:2: a line must be TOKEN=PRINCIPAL or TOKEN=PRINCIPAL role=ROLE", path);
        assert_string_equal(error.message, want);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(arcp_token_verifier_new_file(path, &table, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "cannot be read"));
    assert_int_equal(arcp_token_verifier_new_file("/tmp", &table, &error), ARCP_E_USAGE);
    assert_string_equal(error.message, "token file /tmp cannot be read to its end: Is a directory");
    assert_null(table);
}

static void every_anonymous_peer_gets_its_own_principal(void **state)
{
    arcp_token_verifier *verifier = NULL;
    arcp_error error = {0};
    (void)state;
    check_ok(arcp_token_verifier_new_anonymous(&verifier, &error), &error);
    const verdict first = verify(verifier, arcp_span_make(NULL, 0));
    const verdict second = verify(verifier, arcp_span_cstr("anything"));
    assert_int_equal(first.status, ARCP_OK);
    assert_true(first.is_anonymous && second.is_anonymous);
    assert_memory_equal(first.principal, "anonymous-", 10);
    assert_int_equal(strlen(first.principal), 10 + 22);
    assert_string_not_equal(first.principal, second.principal);
    arcp_token_verifier_free(verifier);
}

static void a_jwt_verifier_responds_with_the_principal_or_the_reason(void **state)
{
    char path[64];
    arcp_jwt_options options = arcp_jwt_options_init();
    arcp_token_verifier *verifier = NULL;
    arcp_error error = {0};
    (void)state;
    write_file(path, JWT_SECRET "\r\n", 0640);
    options.key_file = path;
    check_ok(arcp_token_verifier_new_jwt(&options, &verifier, &error), &error);
    char *token = jwt_hs256("{\"sub\":\"alice\",\"exp\":1700000001}");
    expect(verifier, token, "alice");
    token[strlen(token) - 1] ^= 1;
    expect(verifier, token, NULL);
    free(token);
    arcp_token_verifier_free(verifier);
    assert_int_equal(unlink(path), 0);
}

static void an_unusable_key_file_is_named(void **state)
{
    char path[64];
    arcp_jwt_options options = arcp_jwt_options_init();
    arcp_token_verifier *verifier = NULL;
    arcp_error error = {0};
    (void)state;
    options.key_file = path;
    write_file(path, JWT_SECRET, 0604);
    assert_int_equal(arcp_token_verifier_new_jwt(&options, &verifier, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, "everybody may read"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(arcp_token_verifier_new_jwt(&options, &verifier, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "cannot be read"));
    options.key_file = "/tmp";
    assert_int_equal(arcp_token_verifier_new_jwt(&options, &verifier, &error), ARCP_E_USAGE);
    /* One line feed at the end is removed, and the key is too short without it. */
    write_file(path, "0123456789abcdef0123456789abcde\n", 0600);
    options.key_file = path;
    assert_int_equal(arcp_token_verifier_new_jwt(&options, &verifier, &error), ARCP_E_USAGE);
    assert_non_null(strstr(error.message, "has 31"));
    assert_null(strstr(error.message, "0123456789abcdef"));
    assert_int_equal(unlink(path), 0);
    assert_null(verifier);
}

static void key_files_have_a_size_limit(void **state)
{
    static const size_t sizes[] = {65536, 65537};
    char path[64];
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        arcp_jwt_options options = arcp_jwt_options_init();
        arcp_token_verifier *verifier = NULL;
        arcp_error error = {0};
        char *text = malloc(sizes[i] + 1);
        assert_non_null(text);
        memset(text, 'k', sizes[i]);
        text[sizes[i]] = '\0';
        write_file(path, text, 0600);
        options.key_file = path;
        assert_int_equal(arcp_token_verifier_new_jwt(&options, &verifier, &error),
                         i == 0 ? ARCP_OK : ARCP_E_USAGE);
        arcp_token_verifier_free(verifier);
        free(text);
        assert_int_equal(unlink(path), 0);
    }
}

/* ---- pipes ---- */

typedef struct pipe_file {
    char path[32];
    int file;
    pid_t writer;
} pipe_file;

/* A path as a shell's <(...) makes it, of a pipe whose writer writes more after its first text was
 * read. */
static void pipe_file_open(pipe_file *p, const char *first, const char *then)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    p->writer = fork();
    assert_true(p->writer >= 0);
    if (p->writer == 0) {
        int unread = 1;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        bool ok = write(ends[1], first, strlen(first)) == (ssize_t)strlen(first);
        while (ok && unread != 0) {
            (void)sched_yield();
            ok = ioctl(ends[1], FIONREAD, &unread) == 0;
        }
        ok = ok && write(ends[1], then, strlen(then)) == (ssize_t)strlen(then);
        _exit(ok ? 0 : 1);
    }
    (void)close(ends[1]);
    p->file = ends[0];
    (void)snprintf(p->path, sizeof p->path, "/dev/fd/%d", p->file);
}

static void pipe_file_close(pipe_file *p)
{
    int status = -1;
    assert_int_equal(waitpid(p->writer, &status, 0), p->writer);
    assert_int_equal(status, 0);
    (void)close(p->file);
}

static void a_token_file_may_be_a_pipe_with_a_slow_writer(void **state)
{
    arcp_token_verifier *verifier = NULL;
    arcp_error error = {0};
    pipe_file p;
    (void)state;
    pipe_file_open(&p, "t1=alice\nt2=b", "ob\n");
    check_ok(arcp_token_verifier_new_file(p.path, &verifier, &error), &error);
    expect(verifier, "t1", "alice");
    expect(verifier, "t2", "bob");
    arcp_token_verifier_free(verifier);
    pipe_file_close(&p);
}

/* ---- memory ---- */

static arcp_status make_and_ask(void *user, arcp_error *err)
{
    const char *token = user;
    const arcp_token_row row = {"t1", "alice"};
    arcp_jwt_options options = arcp_jwt_options_init();
    arcp_token_verifier *verifiers[2] = {NULL, NULL};
    verdict got = {0};
    options.key = ARCP_SPAN_LITERAL(JWT_SECRET);
    options.issuer = "i";
    options.key_id = NULL;
    arcp_status status = arcp_token_verifier_new_table(&row, 1, &verifiers[0], err);
    if (status == ARCP_OK) {
        status = arcp_token_verifier_new_jwt(&options, &verifiers[1], err);
    }
    arcp_token_request *request = NULL;
    if (status == ARCP_OK) {
        request = arcp__token_request_new(arcp_span_cstr(token), 1700000000 * ARCP_NS_PER_SEC,
                                          on_response, &got);
        status = request == NULL ? ARCP_E_NO_MEMORY : ARCP_OK;
    }
    if (request != NULL) {
        verifiers[1]->ops->verify(verifiers[1], request);
        /* Without memory the token cannot be verified, so it is refused. */
        status = got.status == ARCP_E_INTERNAL_ERROR ? ARCP_E_NO_MEMORY : got.status;
    }
    arcp_token_verifier_free(verifiers[0]);
    arcp_token_verifier_free(verifiers[1]);
    return status;
}

static void without_memory_no_token_is_accepted(void **state)
{
    char *token = jwt_hs256("{\"sub\":\"al\\u0069ce\",\"exp\":1700000001,\"iss\":\"i\"}");
    (void)state;
    assert_true(failing_alloc_sweep(make_and_ask, token) > 10);
    free(token);
}

/* ---- what keys of browsers stand for ---- */

static void take_identity(void *user, uint64_t auth_id, arcp_status status,
                          const arcp__identity *identity)
{
    arcp__identity *into = user;
    (void)auth_id;
    assert_int_equal(status, ARCP_OK);
    into->origin = identity->origin;
}

static void ignore_wake(void *user)
{
    (void)user;
}

/* The origin of an accepted token. The verifiers are then the authenticator's. */
static arcp__authenticator *origin_of(arcp_token_verifier *verifier, const char *token,
                                      arcp__identity *out)
{
    const arcp__authenticator_owner owner = {
        .answered = take_identity, .wake = ignore_wake, .user = out};
    arcp_error error = {0};
    arcp__authenticator *authenticator = arcp__authenticator_new(&owner, 4);
    check_ok(arcp__authenticator_set(authenticator, &verifier, 1, &error), &error);
    arcp__authenticator_verify(authenticator, 1, arcp_span_cstr(token), "peer",
                               1700000000 * ARCP_NS_PER_SEC);
    assert_true(arcp__authenticator_take(authenticator));
    return authenticator;
}

static arcp_token_verifier *table_of(const char *token, const char *principal, arcp_role role)
{
    const arcp__token_row row = {token, principal, role};
    arcp_token_verifier *table = NULL;
    arcp_error error = {0};
    check_ok(arcp__token_table_new(&row, 1, &table, &error), &error);
    return table;
}

static void a_configured_token_is_known_while_it_names_the_same_principal_and_role(void **state)
{
    static const struct {
        const char *token, *principal;
        arcp_role role;
        bool is_known;
    } rows[] = {{"t1", "alice", ARCP_ROLE_VIEWER, true},
                {"t2", "alice", ARCP_ROLE_VIEWER, false},
                {"t1", "bob", ARCP_ROLE_VIEWER, false},
                {"t1", "alice", ARCP_ROLE_NONE, false},
                {"t1", "alice", ARCP_ROLE_OPERATOR, false}};
    arcp__identity identity = {.role = ARCP_ROLE_NONE};
    arcp_error error = {0};
    (void)state;
    arcp__authenticator *authenticator =
        origin_of(table_of("t1", "alice", ARCP_ROLE_VIEWER), "t1", &identity);
    assert_int_equal(identity.origin.expires_wall_ns, 0);
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        arcp_token_verifier *table = table_of(rows[row].token, rows[row].principal, rows[row].role);
        check_ok(arcp__authenticator_set(authenticator, &table, 1, &error), &error);
        assert_int_equal(
            arcp__authenticator_knows(authenticator, &identity.origin, "alice", ARCP_ROLE_VIEWER),
            rows[row].is_known);
    }
    arcp__authenticator_close(authenticator);
}

#define OTHER_KEY   "0123456789abcdef0123456789abcdeF"
#define EXPIRES_SEC INT64_C(1700000100)

static arcp_token_verifier *jwt_of(const char *secret, const char *issuer, uint64_t leeway_sec)
{
    arcp_jwt_options options = arcp_jwt_options_init();
    arcp_token_verifier *verifier = NULL;
    arcp_error error = {0};
    options.algorithm = ARCP_JWT_HS256;
    options.key = arcp_span_cstr(secret);
    options.issuer = issuer;
    options.leeway_sec = leeway_sec;
    check_ok(arcp_token_verifier_new_jwt(&options, &verifier, &error), &error);
    return verifier;
}

static void a_signed_token_is_known_while_its_rules_and_key_are_the_same(void **state)
{
    static const struct {
        const char *secret, *issuer;
        uint64_t leeway_sec;
        bool is_known;
    } rows[] = {{JWT_SECRET, "https://a", 7, true},
                {OTHER_KEY, "https://a", 7, false},
                {JWT_SECRET, "https://b", 7, false},
                {JWT_SECRET, NULL, 7, false},
                {JWT_SECRET, "https://a", 8, false}};
    arcp__identity identity = {.role = ARCP_ROLE_NONE};
    arcp_error error = {0};
    (void)state;
    char *token = jwt_hs256("{\"sub\":\"alice\",\"exp\":1700000100,\"iss\":\"https://a\"}");
    arcp__authenticator *authenticator =
        origin_of(jwt_of(JWT_SECRET, "https://a", 7), token, &identity);
    assert_int_equal(identity.origin.expires_wall_ns, (EXPIRES_SEC + 7) * ARCP_NS_PER_SEC);
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        arcp_token_verifier *verifier =
            jwt_of(rows[row].secret, rows[row].issuer, rows[row].leeway_sec);
        check_ok(arcp__authenticator_set(authenticator, &verifier, 1, &error), &error);
        assert_int_equal(
            arcp__authenticator_knows(authenticator, &identity.origin, "alice", ARCP_ROLE_NONE),
            rows[row].is_known);
    }
    arcp__authenticator_close(authenticator);
    free(token);
}

static void accept_any(void *user, arcp_token_request *request)
{
    arcp_token_response response = arcp_token_response_init();
    response.status = ARCP_OK;
    response.principal = ARCP_SPAN_LITERAL("alice");
    response.expires_wall_ns = 5;
    (void)user;
    arcp_token_request_respond(request, &response);
}

static void what_the_embedding_program_accepts_is_not_known_later(void **state)
{
    arcp__identity identity = {.role = ARCP_ROLE_NONE};
    arcp_token_verifier *verifier = NULL;
    arcp_error error = {0};
    (void)state;
    check_ok(arcp_token_verifier_new_callback(accept_any, NULL, NULL, &verifier, &error), &error);
    arcp__authenticator *authenticator = origin_of(verifier, "t", &identity);
    assert_int_equal(identity.origin.expires_wall_ns, 5);
    assert_false(
        arcp__authenticator_knows(authenticator, &identity.origin, "alice", ARCP_ROLE_NONE));
    arcp__authenticator_close(authenticator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configured_token_is_known_while_it_names_the_same_principal_and_role),
        cmocka_unit_test(a_signed_token_is_known_while_its_rules_and_key_are_the_same),
        cmocka_unit_test(what_the_embedding_program_accepts_is_not_known_later),
        cmocka_unit_test(a_table_knows_its_tokens_and_nothing_else),
        cmocka_unit_test(a_table_has_no_empty_token_and_no_odd_principal),
        cmocka_unit_test(a_file_has_a_token_a_line),
        cmocka_unit_test(a_line_of_the_file_may_end_with_a_role),
        cmocka_unit_test(a_role_that_does_not_exist_is_refused_with_its_line),
        cmocka_unit_test(an_invalid_file_is_named_with_its_line),
        cmocka_unit_test(every_anonymous_peer_gets_its_own_principal),
        cmocka_unit_test(a_jwt_verifier_responds_with_the_principal_or_the_reason),
        cmocka_unit_test(an_unusable_key_file_is_named),
        cmocka_unit_test(key_files_have_a_size_limit),
        cmocka_unit_test(a_token_file_may_be_a_pipe_with_a_slow_writer),
        cmocka_unit_test(without_memory_no_token_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
