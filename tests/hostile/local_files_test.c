/* Files and users of the machine that arcpd runs on: files that others can change are refused,
 * symbolic links are not followed, and an agent with a user of its own can use its work directory
 * and read no files of arcpd. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arcpd/daemon.h"
#include "arcpd/wire.h"
#include "support/check.h"

static void make_file(const daemon_state *d, const char *name, const char *text, mode_t mode)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", d->directory, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* Each @ of the text is the directory. */
static void put_directory(const char *text, const char *directory, char *out, size_t size)
{
    size_t used = 0;
    for (; *text != '\0' && used + 1 < size; text++) {
        used += *text == '@' ? (size_t)snprintf(out + used, size - used, "%s", directory) : 1;
        if (*text != '@') {
            out[used - 1] = *text;
        }
    }
    assert_true(used < size);
    out[used] = '\0';
}

static void check_refused(daemon_state *d, int exit_status, const char *why)
{
    daemon_launch(d);
    assert_false(daemon_await(d));
    assert_int_equal(d->exit_status, exit_status);
    char *errors = daemon_errors(d);
    if (strstr(errors, why) == NULL) {
        fail_msg("want \"%s\" in \"%s\"", why, errors);
    }
    free(errors);
}

/* --check-config reports the same, and creates nothing. */
static void check_config_refused(const daemon_state *d, const char *why)
{
    char command[512];
    char text[4096];
    (void)snprintf(command, sizeof command,
                   "STATE_DIRECTORY=%s " ARCP_BINARY_DIR "/bin/arcpd --check-config %s%s "
                   "--store sqlite:%s 2>&1",
                   d->directory, d->options.config == NULL ? "/dev/null" : d->directory,
                   d->options.config == NULL ? "" : "/arcpd.yaml", d->store);
    FILE *output = popen(command, "re"); /* NOLINT(cert-env33-c): words of this file */
    assert_non_null(output);
    text[fread(text, 1, sizeof text - 1, output)] = '\0';
    const int status = pclose(output);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) != 2 || strstr(text, why) == NULL) {
        fail_msg("--check-config: want \"%s\" in \"%s\" (%d)", why, text, WEXITSTATUS(status));
    }
}

static void files_that_others_can_change_are_refused_at_the_start(void **state)
{
    static const struct {
        const char *name, *config, *file, *text;
        mode_t mode;
        int exit_status;
        const char *why;
    } rows[] = {
        {"state directory", NULL, "", "", 0777, 2, "can be changed by other users (mode 0777)"},
        {"configuration", "log: {level: info}\n", "arcpd.yaml", "", 0666, 2,
         "/arcpd.yaml can be changed by other users (mode 0666)"},
        {"store", NULL, "arcp.db", "", 0666, 1, "/arcp.db can be changed by other users"},
        {"store that can be read", NULL, "arcp.db", "", 0644, 1,
         "/arcp.db is a secret but world-readable"},
        {"token file", "token_file: @/tokens\n", "tokens", "secret-of-dave=dave\n", 0666, 2,
         "token_file: /"},
        {"token file that can be read", "token_file: @/tokens\n", "tokens", "secret=dave\n", 0644,
         2, "/tokens is a secret but world-readable"},
        {"TLS key", "tls: {certificate: @/key, key: @/key}\n", "key", "x", 0644, 2, "tls.key: /"},
        {"key of JWTs", "jwt: [{algorithm: HS256, key_file: @/key}]\n", "key",
         "0123456789abcdef0123456789abcdef", 0602, 2, "jwt[0].key_file: /"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        daemon_state d;
        char config[512];
        print_message("%s\n", rows[i].name);
        daemon_begin(&d, NULL);
        if (rows[i].config != NULL) {
            put_directory(rows[i].config, d.directory, config, sizeof config);
            d.options.config = config;
        }
        if (rows[i].file[0] == '\0') {
            assert_int_equal(chmod(d.directory, rows[i].mode), 0);
        } else {
            make_file(&d, rows[i].file, rows[i].text, rows[i].mode);
        }
        check_refused(&d, rows[i].exit_status, rows[i].why);
        check_config_refused(&d, rows[i].why);
        daemon_end(&d);
    }
}

static void a_check_of_the_configuration_makes_no_directory(void **state)
{
    char command[256];
    char directory[64];
    daemon_state d;
    (void)state;
    daemon_begin(&d, NULL);
    (void)snprintf(directory, sizeof directory, "%.40s/state", d.directory);
    (void)snprintf(command, sizeof command,
                   "STATE_DIRECTORY=%s " ARCP_BINARY_DIR
                   "/bin/arcpd --check-config /dev/null >/dev/null 2>&1",
                   directory);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): words of this file */
    assert_int_equal(access(directory, F_OK), -1);
    daemon_end(&d);
}

/* As root it would change the mode of any directory. */
static void a_symbolic_link_as_work_directory_is_refused(void **state)
{
    char victim[] = "/tmp/arcp-victim-XXXXXX";
    char link[128];
    struct stat about;
    daemon_state d;
    (void)state;
    assert_non_null(mkdtemp(victim));
    assert_int_equal(chmod(victim, 0755), 0);
    daemon_begin(&d, NULL);
    (void)snprintf(link, sizeof link, "%s/work", d.directory);
    assert_int_equal(symlink(victim, link), 0);
    check_refused(&d, 1, "/work cannot be used: not a directory");
    assert_int_equal(stat(victim, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0755);
    assert_int_equal(unlink(link), 0);
    daemon_end(&d);
    assert_int_equal(rmdir(victim), 0);
}

/* ---- agents with a user of their own ---- */

static void check_other_user(daemon_state *d)
{
    wire w;
    wire_session session;
    daemon_start(d);
    wire_open(&w, d->port);
    wire_hello(&w, "t-alice", &session);
    wire_send(&w, "{\"arcp\":\"1.1\",\"id\":\"1\",\"type\":\"job.submit\",\"payload\":{\"agent\":"
                  "\"other\"}}");
    const arcp_span result = wire_await_type(&w, "job.result");
    static const char want[] = "user nobody works yes lists no reads no gains no";
    if (memmem(result.data, result.size, want, strlen(want)) == NULL) {
        fail_msg("want \"%s\" in %.*s", want, (int)result.size, result.data);
    }
    wire_close(&w);
    assert_int_equal(daemon_stop(d), 0);
}

/* The user may have no access to the file of the script, so the script is passed as text. */
static char *other_user_config(void)
{
    static char text[4096];
    char script[2048] = "";
    FILE *file = fopen(ARCP_SOURCE_DIR "/tests/hostile/agents/other_user.sh", "re");
    assert_non_null(file);
    const size_t size = fread(script, 1, sizeof script - 1, file);
    assert_true(size > 0 && size < sizeof script - 1);
    assert_int_equal(fclose(file), 0);
    size_t used =
        (size_t)snprintf(text, sizeof text,
                         "agents:\n- name: other\n  user: nobody\n  command:\n  - /bin/sh\n"
                         "  - -c\n  - |\n    ");
    for (const char *from = script; *from != '\0' && used + 8 < sizeof text; from++) {
        text[used++] = *from;
        if (*from == '\n') {
            used += (size_t)snprintf(text + used, sizeof text - used, "    ");
        }
    }
    text[used] = '\0';
    return text;
}

static void an_agent_with_a_user_of_its_own_works_in_the_default_directories(void **state)
{
    daemon_state d;
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    daemon_begin(&d, &(daemon_options){.config = other_user_config()});
    check_other_user(&d);
    daemon_end(&d);
}

static void a_closed_home_directory_does_not_stop_an_agent(void **state)
{
    daemon_state d;
    (void)state;
    if (geteuid() != 0 || strncmp(ARCP_BINARY_DIR, "/var/lib/", 9) == 0 ||
        system("unshare -m true 2>/dev/null") != 0) { /* NOLINT(cert-env33-c): words of this file */
        print_message("no mount namespace can be had here\n");
        skip();
    }
    daemon_begin(&d, &(daemon_options){
                         .config = other_user_config(),
                         .program = ARCP_SOURCE_DIR "/tests/hostile/agents/closed_home.sh",
                         .environment = "ARCPD=" ARCP_BINARY_DIR "/bin/arcpd",
                     });
    check_other_user(&d);
    daemon_end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_others_can_change_are_refused_at_the_start),
        cmocka_unit_test(a_check_of_the_configuration_makes_no_directory),
        cmocka_unit_test(a_symbolic_link_as_work_directory_is_refused),
        cmocka_unit_test(an_agent_with_a_user_of_its_own_works_in_the_default_directories),
        cmocka_unit_test(a_closed_home_directory_does_not_stop_an_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
