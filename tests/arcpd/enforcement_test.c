/* Which files no agent gets, whatever its lease says. */
#include "arcpd/arcpd.h"
#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <unistd.h>

#include "support/check.h"
#include "support/remove_tree.h"

static char directory[] = "/tmp/arcpd-own-XXXXXX";

static void make_file(const char *name)
{
    char path[96];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
}

/* Whether no agent may read the file, as a sandbox's plan decides it. */
static bool has(const arcp__enforcement_options *options, const char *name)
{
    char path[96];
    arcp_span files[32];
    assert_true(options->own.count <= sizeof files / sizeof *files);
    for (size_t i = 0; i < options->own.count; i++) {
        files[i] = arcp_span_cstr(options->own.items[i]);
    }
    const arcp__sandbox_plan plan = {.own_files = files, .own_file_count = options->own.count};
    const arcp__sandbox_plan whole = {.own = files, .own_count = options->own.count};
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return arcp__sandbox_is_own(&plan, arcp_span_cstr(path)) ||
           arcp__sandbox_is_own(&whole, arcp_span_cstr(path));
}

static void read_config(arcp__config *config, const char *name)
{
    char text[256];
    arcp_error error = {0};
    (void)snprintf(text, sizeof text, "store: 'sqlite:%s/%s.db'\naudit: {path: '%s/%s.jsonl'}\n",
                   directory, name, directory, name);
    arcp__config_init(config);
    check_ok(arcp__config_read_text(config, "test.yaml", arcp_span_cstr(text), &error), &error);
}

static void files_in_use_stay_those_of_arcpd_when_a_reload_names_others(void **state)
{
    static const char *const names[] = {"old.db",    "old.db-wal", "old.jsonl", "new.db",
                                        "new.jsonl", "trace",      "trace.old", "other"};
    char record[96];
    arcp__config running;
    arcp__config fresh;
    arcp__enforcement_options options;
    arcp_error error = {0};
    (void)state;
    assert_non_null(mkdtemp(directory));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        make_file(names[i]);
    }
    read_config(&running, "old");
    read_config(&fresh, "new");
    (void)snprintf(record, sizeof record, "%s/trace", directory);
    const arcp__directories directories = {.state = "/var/lib/arcpd-of-a-test",
                                           .work = "/var/lib/arcpd-of-a-test/jobs"};
    const arcp__files_in_use in_use = {
        .directories = &directories, .config = &running, .record_path = record};
    check_ok(arcp__enforcement_options_init(&options, &fresh, &in_use, &error), &error);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(has(&options, names[i]), strcmp(names[i], "other") != 0);
    }
    arcp__enforcement_options_fini(&options);
    arcp__config_fini(&running);
    arcp__config_fini(&fresh);
    assert_int_equal(remove_tree(directory), 0);
}

/* The certificates that the system trusts are in every sandbox. */
static void certificates_of_the_system_are_not_hidden(void **state)
{
    static const char text[] =
        "tracing: {otlp: {ca_file: /etc/ssl/certs/ca-certificates.crt}}\n"
        "credentials: {http: {ca_file: /srv/ca.pem}}\n"
        "tls: {certificate: /etc/ssl/certs/of-arcpd.pem, key: /etc/ssl/private/of-arcpd.pem}\n";
    static const char *const hidden[] = {"/srv/ca.pem", "/etc/ssl/certs/of-arcpd.pem",
                                         "/etc/ssl/private/of-arcpd.pem"};
    arcp__config config;
    arcp__enforcement_options options;
    arcp_error error = {0};
    (void)state;
    arcp__config_init(&config);
    check_ok(arcp__config_read_text(&config, "test.yaml", arcp_span_cstr(text), &error), &error);
    const arcp__directories directories = {.state = "/var/lib/arcpd-of-a-test",
                                           .work = "/var/lib/arcpd-of-a-test/jobs"};
    const arcp__files_in_use in_use = {.directories = &directories};
    check_ok(arcp__enforcement_options_init(&options, &config, &in_use, &error), &error);
    for (size_t i = 0; i < options.own.count; i++) {
        assert_string_not_equal(options.own.items[i], "/etc/ssl/certs/ca-certificates.crt");
    }
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        size_t j = 0;
        while (j < options.own.count && strcmp(options.own.items[j], hidden[i]) != 0) {
            j++;
        }
        assert_true(j < options.own.count);
    }
    arcp__enforcement_options_fini(&options);
    arcp__config_fini(&config);
}

static void hosts_of_model_providers_are_refused_unless_the_setting_allows_them(void **state)
{
    static const char *const settings[] = {"", "enforce: {allow_direct_models: false}\n",
                                           "enforce: {allow_direct_models: true}\n"};
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char text[400];
        arcp__config config;
        arcp__enforcement_options options;
        arcp_error error = {0};
        (void)snprintf(text, sizeof text,
                       "%smodels: {providers: [{name: a, dialect: openai, url: "
                       "\"https://models.org/v1\", models: [m]}]}\n",
                       settings[i]);
        arcp__config_init(&config);
        check_ok(arcp__config_read_text(&config, "test.yaml", arcp_span_cstr(text), &error),
                 &error);
        const arcp__directories directories = {.state = "/var/lib/arcpd-of-a-test",
                                               .work = "/var/lib/arcpd-of-a-test/jobs"};
        const arcp__files_in_use in_use = {.directories = &directories};
        check_ok(arcp__enforcement_options_init(&options, &config, &in_use, &error), &error);
        if (i == 2) {
            assert_int_equal(options.models.count, 0);
        } else {
            assert_int_equal(options.models.count, 1);
            assert_string_equal(options.options.model_urls[0], "https://models.org/v1");
            assert_null(options.options.model_urls[1]);
        }
        arcp__enforcement_options_fini(&options);
        arcp__config_fini(&config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(certificates_of_the_system_are_not_hidden),
        cmocka_unit_test(hosts_of_model_providers_are_refused_unless_the_setting_allows_them),
        cmocka_unit_test(files_in_use_stay_those_of_arcpd_when_a_reload_names_others),
    };
    return cmocka_run_group_tests_name("arcpd_enforcement", tests, NULL, NULL);
}
