/* The pool of values, each used once, also over restarts; and rules for upstreams' errors. */
#include "provisioner/static_provisioner.h"

#include "provisioner/provision_rig.h"
#include "store/temp_dir.h"
#include "support/check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const values[] = {"sk-a", "sk-b", "sk-a", "sk-c"}; /* one of them twice */
static const arcp__upstream_rule rules[] = {
    {400, "Budget_Exceeded", ARCP_E_BUDGET_EXHAUSTED},
    {403, NULL, ARCP_E_PERMISSION_DENIED},
    {0, "no such model", ARCP_E_PERMISSION_DENIED},
};

static arcp_status make(provision_rig *rig, const temp_dir *dir, arcp_error *err)
{
    arcp_provisioner *made = NULL;
    arcp__static_provisioner_options options = {
        .loop = &rig->loop,
        .upstream = {.terms = {.struct_size = sizeof options.upstream.terms},
                     .endpoint = "https://gw.example/v1",
                     .profile = "openai",
                     .error_rules = rules,
                     .error_rule_count = 3},
        .values = values,
        .value_count = 4,
        .used_file = temp_dir_join(dir, "", "used")};
    provision_rig_begin(rig);
    const arcp_status status = arcp__static_provisioner_new(&options, &made, err);
    if (status == ARCP_OK) {
        provision_rig_take(rig, made);
    }
    return status;
}

static void start(provision_rig *rig, const temp_dir *dir)
{
    arcp_error error = {0};
    check_ok(make(rig, dir, &error), &error);
}

static const provision_answer *issue(provision_rig *rig)
{
    return provision_rig_call(rig, PROVISION_ISSUE, (arcp_provision_request){0});
}

/* What a provisioner that has just started gives. */
static void check_next(const temp_dir *dir, const char *value)
{
    provision_rig rig;
    start(&rig, dir);
    assert_string_equal(issue(&rig)->value, value);
    provision_rig_end(&rig);
}

static void each_value_is_given_once(void **state)
{
    provision_rig rig;
    temp_dir *dir = temp_dir_new();
    (void)state;
    start(&rig, dir);
    const provision_answer *first = issue(&rig);
    assert_int_equal(first->outcome, ARCP_PROVISION_DONE);
    assert_string_equal(first->value, "sk-a");
    assert_string_equal(first->endpoint, "https://gw.example/v1");
    assert_string_equal(first->profile, "openai");
    assert_string_equal(issue(&rig)->value, "sk-b");
    assert_string_equal(issue(&rig)->value, "sk-c");
    const provision_answer *none = issue(&rig);
    assert_int_equal(none->outcome, ARCP_PROVISION_REFUSED);
    assert_string_equal(none->message, "the pool of credentials is exhausted");
    provision_rig_end(&rig);
    temp_dir_free(dir);
}

static void used_values_stay_used_over_restarts(void **state)
{
    temp_dir *dir = temp_dir_new();
    (void)state;
    check_next(dir, "sk-a");
    check_next(dir, "sk-b");
    temp_dir_free(dir);
}

static void a_line_that_a_crash_cut_off_is_ignored(void **state)
{
    temp_dir *dir = temp_dir_new();
    (void)state;
    check_next(dir, "sk-a");
    const int fd = open(temp_dir_join(dir, "", "used"), O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "0123456789", 10), 10);
    (void)close(fd);
    check_next(dir, "sk-b");
    check_next(dir, "sk-c");
    temp_dir_free(dir);
}

static void the_file_has_no_value(void **state)
{
    provision_rig rig;
    temp_dir *dir = temp_dir_new();
    struct stat facts;
    char text[256] = "";
    (void)state;
    start(&rig, dir);
    (void)issue(&rig);
    provision_rig_end(&rig);
    const char *path = temp_dir_join(dir, "", "used");
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    const int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, text, sizeof text - 1), 65);
    (void)close(fd);
    assert_null(strstr(text, "sk-"));
    temp_dir_free(dir);
}

static void without_a_place_to_write_no_value_is_given(void **state)
{
    provision_rig rig;
    arcp_error error = {0};
    temp_dir *dir = temp_dir_new();
    (void)state;
    assert_int_equal(symlink("/dev/null", temp_dir_join(dir, "", "used")), 0);
    assert_int_equal(make(&rig, dir, &error), ARCP_E_IO);
    rig.provisioner = NULL;
    provision_rig_end(&rig);
    temp_dir_free(dir);
}

static void revoking_is_done_and_gives_nothing_back(void **state)
{
    provision_rig rig;
    temp_dir *dir = temp_dir_new();
    (void)state;
    start(&rig, dir);
    (void)issue(&rig);
    assert_int_equal(
        provision_rig_call(&rig, PROVISION_REVOKE, (arcp_provision_request){0})->outcome,
        ARCP_PROVISION_DONE);
    assert_string_equal(issue(&rig)->value, "sk-b");
    provision_rig_end(&rig);
    temp_dir_free(dir);
}

static void calls_under_way_are_given_up_with_the_provisioner(void **state)
{
    provision_rig rig;
    temp_dir *dir = temp_dir_new();
    (void)state;
    start(&rig, dir);
    const uint64_t first = provision_rig_ask(&rig, PROVISION_ISSUE, (arcp_provision_request){0});
    const uint64_t second = provision_rig_ask(&rig, PROVISION_ISSUE, (arcp_provision_request){0});
    provision_rig_end(&rig);
    assert_int_equal(rig.answers[first].count, 0);
    assert_int_equal(rig.answers[second].count, 0);
    temp_dir_free(dir);
}

static arcp_status translated(const provision_rig *rig, int status, const char *text)
{
    arcp_upstream_error error = {sizeof error, status, arcp_span_cstr(text)};
    return rig->provisioner->ops->translate_error(rig->provisioner, &error);
}

/* [arcp:9.6-12] */
static void the_first_rule_that_fits_translates_an_error(void **state)
{
    provision_rig rig;
    temp_dir *dir = temp_dir_new();
    (void)state;
    start(&rig, dir);
    assert_int_equal(translated(&rig, 400, "{\"error\":\"budget_exceeded\"}"),
                     ARCP_E_BUDGET_EXHAUSTED);
    assert_int_equal(translated(&rig, 401, "budget_exceeded"), ARCP_OK);
    assert_int_equal(translated(&rig, 403, ""), ARCP_E_PERMISSION_DENIED);
    assert_int_equal(translated(&rig, 0, "there is no such MODEL"), ARCP_E_PERMISSION_DENIED);
    assert_int_equal(translated(&rig, 0, "budget_exceeded"), ARCP_OK);
    provision_rig_end(&rig);
    temp_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_is_given_once),
        cmocka_unit_test(used_values_stay_used_over_restarts),
        cmocka_unit_test(a_line_that_a_crash_cut_off_is_ignored),
        cmocka_unit_test(the_file_has_no_value),
        cmocka_unit_test(without_a_place_to_write_no_value_is_given),
        cmocka_unit_test(revoking_is_done_and_gives_nothing_back),
        cmocka_unit_test(calls_under_way_are_given_up_with_the_provisioner),
        cmocka_unit_test(the_first_rule_that_fits_translates_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
