/* The directory that is seen as /etc. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/sandbox_etc.h"
#include "support/check.h"
#include "support/process_support.h"

typedef struct fixture {
    char directory[64];
    arcp__sandbox_etc request;
    arcp_buf path;
    arcp_error error;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){.path = arcp_buf_init()};
    make_temporary(f.directory);
    f.request = (arcp__sandbox_etc){
        .directory = f.directory, .uid = 4321, .gid = 4322, .home = "/home/agent"};
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    arcp_buf_fini(&f->path);
    remove_temporary(f->directory);
    return 0;
}

static const char *prepare(fixture *f)
{
    arcp_buf_clear(&f->path);
    check_ok(arcp__sandbox_etc_prepare(&f->request, &f->path, &f->error), &f->error);
    return arcp_buf_cstr(&f->path);
}

/* Runs a command in a directory. */
static void check_command(const char *directory, const char *text)
{
    char command[1024];
    (void)snprintf(command, sizeof command, "set -e; cd %s; %s", directory, text);
    run_shell(command);
}

static void it_has_the_users_of_the_sandbox_only(void **state)
{
    const char *path = prepare(*state);
    check_command(path, "test \"$(cut -d: -f1,3,4,6 passwd)\" = 'root:0:0:/root\n"
                        "nobody:65534:65534:/nonexistent\nagent:4321:4322:/home/agent'");
    check_command(path, "test \"$(cut -d: -f1,3 group)\" = 'root:0\nnogroup:65534\nagent:4322'");
    check_command(path,
                  "test \"$(cat hostname)\" = arcp; grep -q localhost hosts; grep -q 127.0.0.1 "
                  "resolv.conf; grep -q ^hosts: nsswitch.conf");
}

static void it_has_what_programs_need_and_no_other_file_of_the_host(void **state)
{
    const char *path = prepare(*state);
    check_command(path, "cmp ld.so.cache /etc/ld.so.cache; test \"$(readlink alternatives/awk)\" = "
                        "\"$(readlink /etc/alternatives/awk)\"; test -d ssl/certs; cmp services "
                        "/etc/services");
    check_command(path, "for name in shadow gshadow sudoers machine-id ssl/private ssh; do "
                        "! test -e $name || exit 1; done");
    check_command(path, "cd ..; test -z \"$(find . ! -perm -o+r ! -type l)\"");
}

static void copies_have_the_times_of_the_files(void **state)
{
    check_command(prepare(*state), "for f in debian_version ld.so.conf ld.so.cache; do "
                                   "test ! -f /etc/$f -o \"$(stat -c %Y $f)\" = "
                                   "\"$(stat -c %Y /etc/$f)\"; done");
}

static void it_is_made_once_for_a_user_and_a_home(void **state)
{
    fixture *f = *state;
    char first[256];
    (void)snprintf(first, sizeof first, "%s", prepare(f));
    assert_string_equal(prepare(f), first);
    assert_int_equal(entries_of(f->directory), 1);
    f->request.home = "/home/other";
    assert_string_not_equal(prepare(f), first);
    f->request.home = "/home/agent";
    f->request.uid = 4323;
    assert_string_not_equal(prepare(f), first);
    f->request.uid = 4321;
    assert_string_equal(prepare(f), first);
}

/* Where TLS is terminated, the sandbox has the files that the links lead to. */
static void the_authority_of_a_sandbox_is_trusted_by_links(void **state)
{
    fixture *f = *state;
    char root[80];
    char plain[256];
    (void)snprintf(root, sizeof root, "%s/root", f->directory);
    check_command(
        f->directory,
        "mkdir -p root/etc/ssl/certs root/etc/pki/tls/certs; cd root/etc; "
        "echo host >ssl/certs/ca-certificates.crt; echo host >pki/tls/certs/ca-bundle.crt; "
        "echo other >ssl/certs/other.pem");
    f->request.root = root;
    (void)snprintf(plain, sizeof plain, "%s", prepare(f));
    check_command(plain, "test \"$(cat ssl/certs/ca-certificates.crt)\" = host");
    f->request.ca_link = "01234567.0";
    const char *path = prepare(f);
    assert_string_not_equal(path, plain);
    check_command(path,
                  "test \"$(readlink ssl/certs/01234567.0)\" = /dev/arcp/ca.pem; for name in "
                  "ssl/certs/ca-certificates.crt pki/tls/certs/ca-bundle.crt; do "
                  "test \"$(readlink $name)\" = /dev/arcp/ca-certificates.crt || exit 1; done; "
                  "! test -e ssl/cert.pem; test \"$(cat ssl/certs/other.pem)\" = other");
    f->request.ca_link = NULL;
    assert_string_equal(prepare(f), plain);
}

static void a_host_without_certificates_has_the_links(void **state)
{
    fixture *f = *state;
    char root[80];
    (void)snprintf(root, sizeof root, "%s/root", f->directory);
    check_command(f->directory, "mkdir -p root/etc");
    f->request.root = root;
    f->request.ca_link = "01234567.0";
    check_command(prepare(f), "test \"$(cd ssl/certs; ls -A | tr '\\n' ' ')\" = "
                              "'01234567.0 ca-certificates.crt '");
}

/* What it was made from is in the file `sources`: as if one of them had changed since. */
static void it_is_made_anew_when_a_file_of_the_host_has_changed(void **state)
{
    fixture *f = *state;
    char first[256];
    (void)snprintf(first, sizeof first, "%s", prepare(f));
    check_command(first, "cd ..; grep -q ' /etc/services$' sources; sed -i 's,^\\([0-9]*\\)\\(.*"
                         "/etc/services\\)$,1\\2,' sources");
    const char *second = prepare(f);
    assert_string_not_equal(second, first);
    assert_int_equal(access(first, F_OK), 0); /* sandboxes may use it */
    check_command(first, "touch -d '8 days ago' ..");
    (void)prepare(f);
    assert_int_equal(access(first, F_OK), -1);
    assert_int_equal(entries_of(f->directory), 1);
}

static void it_is_made_anew_by_another_release(void **state)
{
    fixture *f = *state;
    char first[256];
    (void)snprintf(first, sizeof first, "%s", prepare(f));
    check_command(first, "cd ..; grep -q '^[0-9]* [0-9]* .* [0-9a-f]\\{8\\}$' sources; "
                         "sed -i '1s/ [0-9a-f]*$/ 00000000/' sources");
    assert_string_not_equal(prepare(f), first);
}

/* What was written shortly before the power failed may be cut. */
static void it_is_made_anew_after_a_start_of_the_host(void **state)
{
    fixture *f = *state;
    char first[256];
    (void)snprintf(first, sizeof first, "%s", prepare(f));
    check_command(first, "cd ..; grep -q \"^$(cat /proc/sys/kernel/random/boot_id)$\" sources; "
                         "sed -i '2s/^./x/' sources");
    assert_string_not_equal(prepare(f), first);
}

static void its_directory_is_one_that_no_other_user_can_change(void **state)
{
    fixture *f = *state;
    const arcp_span base = arcp_span_cstr(f->directory);
    arcp_buf_clear(&f->path);
    check_ok(arcp__sandbox_etc_directory(base, &f->path, &f->error), &f->error);
    const char *path = arcp_buf_cstr(&f->path);
    arcp_buf again = arcp_buf_init();
    check_ok(arcp__sandbox_etc_directory(base, &again, &f->error), &f->error);
    assert_string_equal(arcp_buf_cstr(&again), path);
    assert_int_equal(chmod(path, 0731), 0);
    arcp_buf_clear(&again);
    assert_int_equal(arcp__sandbox_etc_directory(base, &again, &f->error), ARCP_E_IO);
    assert_non_null(strstr(f->error.message, path));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/etc", path), 0);
    arcp_buf_clear(&again);
    assert_int_equal(arcp__sandbox_etc_directory(base, &again, &f->error), ARCP_E_IO);
    arcp_buf_fini(&again);
}

static void it_is_readable_by_all_whatever_the_umask(void **state)
{
    const mode_t mask = umask(077);
    const char *path = prepare(*state);
    (void)umask(mask);
    check_command(path,
                  "cd ..; test -z \"$(find . ! -perm -o+r ! -type l)\"; test -z \"$(find . -perm "
                  "/022 ! -type l)\"");
}

static void a_home_that_would_be_more_than_one_field_is_left_out(void **state)
{
    fixture *f = *state;
    f->request.home = "/x:/bin/sh\nroot2::0:0";
    check_command(prepare(f), "! grep -q root2 passwd; test \"$(wc -l < passwd)\" = 3");
}

static void what_not_every_user_may_read_and_passwords_are_left_out(void **state)
{
    fixture *f = *state;
    char host[80];
    char prepared[80];
    (void)snprintf(host, sizeof host, "%s/host", f->directory);
    (void)snprintf(prepared, sizeof prepared, "%s/prepared", f->directory);
    check_command(
        f->directory,
        "mkdir -p prepared host/etc/apt/sources.list.d host/etc/ssl/certs host/etc/fonts/x "
        "host/etc/perl; cd host/etc; echo a > services; echo b > protocols; chmod 0640 "
        "protocols; echo c > perl/x; chmod 0750 perl; echo d > ssl/certs/x; chmod 0710 ssl; "
        "echo e > fonts/x/y; mkfifo fonts/z; ln -s /etc/shadow fonts/l; cd apt; "
        "echo 'deb https://u:p@h/ x' > sources.list; "
        "echo 'deb https://h/u:p@x y' > sources.list.d/a; "
        "echo 'deb https://u@h:1/ y' > sources.list.d/b; "
        "echo 'x y://:z@' > sources.list.d/c");
    f->request.root = host;
    f->request.directory = prepared;
    check_command(prepare(f),
                  "test \"$(find . ! -type d | grep -v -e passwd -e group -e host -e "
                  "resolv -e nsswitch | sort | tr '\n' ' ')\" = './apt/sources.list.d/a "
                  "./apt/sources.list.d/b ./fonts/l ./fonts/x/y ./services '; "
                  "test \"$(cat services)\" = a; test \"$(readlink fonts/l)\" = "
                  "/etc/shadow");
}

static void a_directory_that_is_absent_is_named(void **state)
{
    fixture *f = *state;
    f->request.directory = "/absent/for/a/test";
    assert_int_equal(arcp__sandbox_etc_prepare(&f->request, &f->path, &f->error), ARCP_E_IO);
    assert_non_null(strstr(f->error.message, "/absent/for/a/test"));
}

#define ETC_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        ETC_TEST(it_has_the_users_of_the_sandbox_only),
        ETC_TEST(it_has_what_programs_need_and_no_other_file_of_the_host),
        ETC_TEST(the_authority_of_a_sandbox_is_trusted_by_links),
        ETC_TEST(a_host_without_certificates_has_the_links),
        ETC_TEST(copies_have_the_times_of_the_files),
        ETC_TEST(it_is_made_once_for_a_user_and_a_home),
        ETC_TEST(it_is_made_anew_when_a_file_of_the_host_has_changed),
        ETC_TEST(it_is_made_anew_by_another_release),
        ETC_TEST(it_is_made_anew_after_a_start_of_the_host),
        ETC_TEST(its_directory_is_one_that_no_other_user_can_change),
        ETC_TEST(it_is_readable_by_all_whatever_the_umask),
        ETC_TEST(a_home_that_would_be_more_than_one_field_is_left_out),
        ETC_TEST(what_not_every_user_may_read_and_passwords_are_left_out),
        ETC_TEST(a_directory_that_is_absent_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
