/* Leases made of what was seen. */
#include "support/check.h"

#include <stdlib.h>

#include <arcp/lease_explain.h>

#include "sandbox/sandbox_learn.h"

#define SPAN(text) ARCP_SPAN_LITERAL(text)

/* Words: r, w or f for the capability, l for all names of a directory, t for all below it, k for a
 * program, m for a file that was made or replaced, h for a whole host; then the target. The program
 * was started in /place. */
typedef struct learn_row {
    const char *name;
    const char *seen;
    const char *lease;
    bool is_exact;
} learn_row;

static const learn_row rows[] = {
    {"nothing", "", "{}", false},
    {"single files", "r /srv/a/x r /srv/a/y w /srv/b/z",
     "{'fs.read':['/srv/a/x','/srv/a/y'],'fs.write':['/srv/b/z']}", false},
    {"a file that was seen twice", "r /srv/a/x r /srv/a/x", "{'fs.read':['/srv/a/x']}", false},
    {"four names of one suffix", "r /srv/a/1.c r /srv/a/2.c r /srv/a/3.c r /srv/a/4.c",
     "{'fs.read':['/srv/a/1.c','/srv/a/2.c','/srv/a/3.c','/srv/a/4.c']}", false},
    {"five names of one suffix", "r /srv/a/1.c r /srv/a/2.c r /srv/a/3.c r /srv/a/4.c r /srv/a/5.c",
     "{'fs.read':['/srv/a/*.c']}", false},
    {"five names of one suffix, exactly",
     "r /srv/a/1.c r /srv/a/2.c r /srv/a/3.c r /srv/a/4.c r /srv/a/5.c",
     "{'fs.read':['/srv/a/1.c','/srv/a/2.c','/srv/a/3.c','/srv/a/4.c','/srv/a/5.c']}", true},
    {"five names of one suffix and another",
     "r /srv/a/1.c r /srv/a/2.c r /srv/a/3.c r /srv/a/4.c r /srv/a/5.c r /srv/a/b.h",
     "{'fs.read':['/srv/a/*.c','/srv/a/b.h']}", false},
    {"five names of several suffixes",
     "r /srv/a/1.c r /srv/a/2.h r /srv/a/3 r /srv/a/4.o r /srv/a/.e", "{'fs.read':['/srv/a/*']}",
     false},
    {"two directories that were folded",
     "r /srv/a/b/1 r /srv/a/b/2 r /srv/a/b/3 r /srv/a/b/4 r /srv/a/b/5 "
     "r /srv/a/c/1 r /srv/a/c/2 r /srv/a/c/3 r /srv/a/c/4 r /srv/a/c/5",
     "{'fs.read':['/srv/a/b/*','/srv/a/c/*']}", false},
    {"three directories that were folded",
     "r /srv/a/b/1 r /srv/a/b/2 r /srv/a/b/3 r /srv/a/b/4 r /srv/a/b/5 "
     "r /srv/a/c/1 r /srv/a/c/2 r /srv/a/c/3 r /srv/a/c/4 r /srv/a/c/5 "
     "r /srv/a/d/1 r /srv/a/d/2 r /srv/a/d/3 r /srv/a/d/4 r /srv/a/d/5 r /srv/a/x",
     "{'fs.read':['/srv/a/**']}", false},
    {"a directory below the root", "r /srv/1 r /srv/2 r /srv/3 r /srv/4 r /srv/5",
     "{'fs.read':['/srv/1','/srv/2','/srv/3','/srv/4','/srv/5']}", false},
    {"HOME", "r /home/u/1 r /home/u/2 r /home/u/3 r /home/u/4 r /home/u/5",
     "{'fs.read':['/home/u/1','/home/u/2','/home/u/3','/home/u/4','/home/u/5']}", false},
    {"a directory in HOME", "r /home/u/p/1 r /home/u/p/2 r /home/u/p/3 r /home/u/p/4 r /home/u/p/5",
     "{'fs.read':['/home/u/p/*']}", false},
    {"a directory whose name begins like HOME",
     "r /home/ux/1 r /home/ux/2 r /home/ux/3 r /home/ux/4 r /home/ux/5",
     "{'fs.read':['/home/ux/*']}", false},
    {"a directory that was only listed", "rl /srv/a", "{'fs.read':['/srv/a/*']}", false},
    {"a directory that was only listed, exactly", "rl /srv/a", "{}", true},
    {"a directory that was listed, and a file in it", "rl /srv/a r /srv/a/x",
     "{'fs.read':['/srv/a/*']}", false},
    {"a directory that was listed, and files below it", "rl /srv/a r /srv/a/b/x r /srv/a/y",
     "{'fs.read':['/srv/a/*','/srv/a/b/x']}", false},
    {"three directories that were listed", "rl /srv/a rl /srv/a/b rl /srv/a/c rl /srv/a/d",
     "{'fs.read':['/srv/a/**']}", false},
    {"a directory with all below it", "rt /srv/a r /srv/a/x rk /srv/a/b/p r /srv/b",
     "{'fs.read':['/srv/a/**','/srv/b']}", false},
    {"HOME with all below it", "wt /home/u w /home/u/x", "{'fs.write':['/home/u/x']}", false},
    {"programs in a directory that was listed", "rl /srv/a rk /srv/a/p r /srv/a/q",
     "{'fs.read':['/srv/a/*','/srv/a/p']}", false},
    {"a program among five names of one suffix",
     "r /srv/a/1.c r /srv/a/2.c r /srv/a/3.c rk /srv/a/4.c r /srv/a/5.c",
     "{'fs.read':['/srv/a/*.c','/srv/a/4.c']}", false},
    {"a program and five names of other suffixes",
     "r /srv/a/1.c r /srv/a/2.d rk /srv/a/3.c r /srv/a/4 r /srv/a/5 r /srv/a/6.c",
     "{'fs.read':['/srv/a/*','/srv/a/3.c']}", false},
    {"the current directory, right below the root", "rl /place r /place/x rl /data",
     "{'fs.read':['/place/*']}", false},
    {"a directory with secrets", "rl /home/u/.ssh r /home/u/.ssh/id r /home/u/.ssh/config",
     "{'fs.read':['/home/u/.ssh/config','/home/u/.ssh/id']}", false},
    {"a directory that holds secrets",
     "rt /home/u/.config r /home/u/.config/a/b rl "
     "/home/u/.config/a",
     "{'fs.read':['/home/u/.config/a/*']}", false},
    {"directories that programs share", "rl /home/u/.cache rl /var/lib rl /var/lib/a",
     "{'fs.read':['/var/lib/a/*']}", false},
    {"HOME that was only listed", "rl /home/u", "{}", false},
    {"a directory that was made, and a file in it", "w /srv/a/d w /srv/a/d/x",
     "{'fs.write':['/srv/a/d','/srv/a/d/x']}", false},
    {"a file that was replaced, or made", "wm /srv/a/x", "{'fs.write':['/srv/a/x*']}", false},
    {"the same, exactly", "wm /srv/a/x", "{'fs.write':['/srv/a/x']}", true},
    {"a program that was replaced", "wm /srv/a/x rk /srv/a/x wk /srv/a/x",
     "{'fs.read':['/srv/a/x'],'fs.write':['/srv/a/x']}", false},
    {"a file with secrets that was replaced", "wm /home/u/.ssh/id rm /home/u/.ssh/id",
     "{'fs.read':['/home/u/.ssh/id'],'fs.write':['/home/u/.ssh/id']}", false},
    {"a file in HOME that was replaced", "wm /home/u/.profile", "{'fs.write':['/home/u/.profile']}",
     false},
    {"files in shared directories that were replaced",
     "wm /home/u/.config/a wm /home/u/.config/a/b wm /var/lib/c wm /srv/d",
     "{'fs.write':['/home/u/.config/a','/home/u/.config/a/b*','/srv/d','/var/lib/c']}", false},
    {"a whole host", "fh https://h.example/ f https://h.example/a fh https://i.example:444/",
     "{'net.fetch':['https://h.example/**','https://i.example:444/**']}", false},
    {"requests", "f http://h.example/a/1 f http://h.example/a/2?q=1/2 f http://h.example/",
     "{'net.fetch':['http://h.example/','http://h.example/a/1','http://h.example/a/2?q=1/2']}",
     false},
    {"five requests of one directory",
     "f http://h.example/a/1 f http://h.example/a/2 f http://h.example/a/3 f http://h.example/a/4 "
     "f http://h.example/a/5",
     "{'net.fetch':['http://h.example/a/*']}", false},
    {"five requests of the host's root",
     "f http://h.example/1 f http://h.example/2 f http://h.example/3 f http://h.example/4 "
     "f http://h.example/5 f http://i.example/1",
     "{'net.fetch':['http://h.example/*','http://i.example/1']}", false},
    {"a query with slashes among five requests",
     "f http://h.example/a/1 f http://h.example/a/2 f http://h.example/a/3 f http://h.example/a/4 "
     "f http://h.example/a/5 f http://h.example/a/6?x=/y",
     "{'net.fetch':['http://h.example/a/*','http://h.example/a/6?x=/y']}", false},
};

static void add_words(arcp__sandbox_learn *learn, const char *seen)
{
    char *copy = strdup(seen);
    char *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        arcp_error err = {0};
        const char *target = strtok_r(NULL, " ", &rest);
        const arcp__capability capability = word[0] == 'r'   ? ARCP__CAPABILITY_FS_READ
                                            : word[0] == 'w' ? ARCP__CAPABILITY_FS_WRITE
                                                             : ARCP__CAPABILITY_NET_FETCH;
        const uint32_t as = word[1] == 'l'   ? ARCP__SANDBOX_LEARN_NAMES
                            : word[1] == 't' ? ARCP__SANDBOX_LEARN_TREE
                            : word[1] == 'k' ? ARCP__SANDBOX_LEARN_KEEP
                            : word[1] == 'm' ? ARCP__SANDBOX_LEARN_LOOSE
                            : word[1] == 'h' ? ARCP__SANDBOX_LEARN_HOST
                                             : ARCP__SANDBOX_LEARN_ONE;
        check_ok(arcp__sandbox_learn_add(learn, capability, arcp_span_cstr(target), as, &err),
                 &err);
    }
    free(copy);
}

static arcp__sandbox_learn *new_learn(bool is_exact)
{
    const arcp__sandbox_learn_options options = {
        .home = SPAN("/home/u"), .cwd = SPAN("/place"), .is_exact = is_exact};
    arcp__sandbox_learn *learn = NULL;
    arcp_error err = {0};
    check_ok(arcp__sandbox_learn_new(&options, &learn, &err), &err);
    return learn;
}

static void rows_fold_as_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arcp__sandbox_learn *learn = new_learn(rows[i].is_exact);
        arcp_lease *lease = NULL;
        arcp_buf text = arcp_buf_init();
        arcp_buf lint = arcp_buf_init();
        arcp_error err = {0};
        add_words(learn, rows[i].seen);
        check_ok(arcp__sandbox_learn_lease(learn, &lease, &err), &err);
        arcp_lease_format(lease, &text);
        for (size_t j = 0; j < text.size; j++) {
            text.data[j] = text.data[j] == '"' ? '\'' : text.data[j];
        }
        if (strcmp(arcp_buf_cstr(&text), rows[i].lease) != 0) {
            fail_msg("%s: %s, not %s", rows[i].name, text.data, rows[i].lease);
        }
        (void)arcp_lease_lint(lease, (arcp_time){0}, false, &lint);
        if (strstr(arcp_buf_cstr(&lint), "dead") != NULL) {
            fail_msg("%s: %s", rows[i].name, arcp_buf_cstr(&lint));
        }
        arcp_buf_fini(&lint);
        arcp_buf_fini(&text);
        arcp_lease_unref(lease);
        arcp__sandbox_learn_free(learn);
    }
}

static void a_target_that_no_pattern_names_alone_is_refused(void **state)
{
    static char text[4096];
    arcp_error err = {0};
    arcp__sandbox_learn *learn = new_learn(false);
    (void)state;
    memset(text, 'a', sizeof text);
    text[0] = '/';
    assert_int_equal(arcp__sandbox_learn_add(learn, ARCP__CAPABILITY_FS_READ, SPAN("/srv/*"),
                                             ARCP__SANDBOX_LEARN_ONE, &err),
                     ARCP_E_USAGE);
    assert_int_equal(arcp__sandbox_learn_add(learn, ARCP__CAPABILITY_FS_READ, SPAN("/srv/\xff"),
                                             ARCP__SANDBOX_LEARN_ONE, &err),
                     ARCP_E_USAGE);
    assert_int_equal(arcp__sandbox_learn_add(learn, ARCP__CAPABILITY_FS_READ,
                                             arcp_span_make(text, 4094), ARCP__SANDBOX_LEARN_ONE,
                                             &err),
                     ARCP_E_USAGE);
    check_ok(arcp__sandbox_learn_add(learn, ARCP__CAPABILITY_FS_READ, arcp_span_make(text, 4093),
                                     ARCP__SANDBOX_LEARN_ONE, &err),
             &err);
    arcp__sandbox_learn_free(learn);
}

static void targets_are_limited_in_number_and_bytes(void **state)
{
    char text[4096];
    arcp_error err = {0};
    arcp_status status = ARCP_OK;
    size_t added = 0;
    arcp__sandbox_learn *learn = new_learn(false);
    (void)state;
    for (; status == ARCP_OK; added++) {
        (void)snprintf(text, sizeof text, "/srv/a/%zu", added);
        status = arcp__sandbox_learn_add(learn, ARCP__CAPABILITY_FS_READ, arcp_span_cstr(text),
                                         ARCP__SANDBOX_LEARN_ONE, &err);
    }
    assert_int_equal(status, ARCP_E_LIMIT);
    assert_int_equal(added, ARCP__SANDBOX_LEARN_MAX + 1);
    arcp__sandbox_learn_free(learn);

    learn = new_learn(false);
    for (status = ARCP_OK, added = 0; status == ARCP_OK; added++) {
        (void)snprintf(text, sizeof text, "/%4080zu", added);
        status = arcp__sandbox_learn_add(learn, ARCP__CAPABILITY_FS_READ, arcp_span_cstr(text),
                                         ARCP__SANDBOX_LEARN_ONE, &err);
    }
    assert_int_equal(status, ARCP_E_LIMIT);
    assert_in_range(added, 3900, 4200);
    arcp__sandbox_learn_free(learn);
}

static void what_is_seen_again_and_again_is_no_new_target(void **state)
{
    arcp_error err = {0};
    arcp__sandbox_learn *learn = new_learn(false);
    (void)state;
    for (size_t i = 0; i < 2 * (ARCP__SANDBOX_LEARN_BYTES_MAX / strlen("/srv/a/x")); i++) {
        check_ok(arcp__sandbox_learn_add(learn, ARCP__CAPABILITY_FS_READ, SPAN("/srv/a/x"),
                                         ARCP__SANDBOX_LEARN_ONE, &err),
                 &err);
    }
    arcp__sandbox_learn_free(learn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_fold_as_they_say),
        cmocka_unit_test(a_target_that_no_pattern_names_alone_is_refused),
        cmocka_unit_test(targets_are_limited_in_number_and_bytes),
        cmocka_unit_test(what_is_seen_again_and_again_is_no_new_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
