/* What was seen of a command, as a lease. */
#include "sandbox_rig.h"
#include "support/check.h"

#include <stdlib.h>

#include "sandbox/sandbox_uses.h"

/* The command was started in /home/u/code, with HOME /home/u.
 *
 * Words: a use with + for a directory and ! for a new name, then the path, LINK=REAL, or for rename
 * and make FROM>TO (make: TO is the hard link). At the end only the paths in `left` are there. */
typedef struct uses_row {
    const char *name;
    const char *seen;
    const char *lease;
    const char *left;
} uses_row;

static const uses_row rows[] = {
    {"a file that is read", "read /srv/a", "{'fs.read':['/srv/a']}", ""},
    {"a file that is read and written", "read /srv/a/b write /srv/a/b",
     "{'fs.read':['/srv/a/b'],'fs.write':['/srv/a/b']}", ""},
    {"a link, and what it leads to", "read /srv/a/l=/data/x", "{'fs.read':['/data/x','/srv/a/l']}",
     ""},
    {"what every sandbox has",
     "read /usr/lib/x execute /usr/bin/cat read /etc/passwd list /usr/bin "
     "read /etc/ssl/certs/x look /usr/share/y",
     "{}", ""},
    {"other files of /etc", "read /etc/gitconfig look /etc/absent",
     "{'fs.read':['/etc/gitconfig']}", ""},
    {"a program", "execute /opt/x/run read /opt/x/run", "{'fs.read':['/opt/x/run']}", ""},
    {"a program among names that are folded",
     "read /opt/x/a read /opt/x/b read /opt/x/c read /opt/x/d execute /opt/x/run",
     "{'fs.read':['/opt/x/*','/opt/x/run']}", ""},
    {"a directory that is listed", "list /srv/a/b", "{'fs.read':['/srv/a/b/*']}", ""},
    {"a directory that is only entered", "enter /srv/a/b", "{'fs.read':['/srv/a/b/*']}", ""},
    {"HOME", "enter /home/u", "{}", ""},
    {"a directory that is asked for", "look+ /srv/a/b", "{}", ""},
    {"one below the current directory", "look+ /home/u/code/b", "{'fs.read':['/home/u/code/b/*']}",
     ""},
    {"one in which a file is read", "enter /home/u/code/b read /home/u/code/b/c/x",
     "{'fs.read':['/home/u/code/b/c/x']}", ""},

    /* questions */
    {"a file that is asked for", "look /srv/a/x", "{}", ""},
    {"in the current directory", "look /home/u/code/x", "{'fs.read':['/home/u/code/x']}", ""},
    {"beside one that is used", "look /srv/a/x read /srv/a/y",
     "{'fs.read':['/srv/a/x','/srv/a/y']}", ""},
    {"beside one that is used, in HOME", "look /home/u/.git-credentials read /home/u/.gitconfig",
     "{'fs.read':['/home/u/.gitconfig']}", ""},
    {"above one that is used", "look /srv/a/x read /srv/a/b/y", "{'fs.read':['/srv/a/b/y']}", ""},
    {"whether it can be executed", "check /home/u/code/x list /home/u/code",
     "{'fs.read':['/home/u/code/*','/home/u/code/x']}", ""},

    /* what the command makes */
    {"a file that is left", "create /srv/a/x", "{'fs.write':['/srv/a/x*']}", "/srv/a/x"},
    {"a file that is left and read again", "create /srv/a/x read /srv/a/x",
     "{'fs.read':['/srv/a/x*'],'fs.write':['/srv/a/x*']}", "/srv/a/x"},
    {"a file that is removed again", "create /srv/a/x123 write /srv/a/x123 remove /srv/a/x123",
     "{'fs.write':['/srv/a/*']}", ""},
    {"a file that is removed again, where nothing is folded", "create /srv/x remove /srv/x",
     "{'fs.write':['/srv/x']}", ""},
    {"a file that takes the place of another", "create /srv/a/t rename /srv/a/t>/srv/a/x",
     "{'fs.write':['/srv/a/*']}", "/srv/a/x"},
    {"a file that is removed", "remove /srv/a/x", "{'fs.write':['/srv/a/x*']}", ""},
    {"a file that is removed and made again", "read /srv/a/x remove /srv/a/x create /srv/a/x",
     "{'fs.read':['/srv/a/x*'],'fs.write':['/srv/a/x*']}", "/srv/a/x"},
    {"a file that gets another name", "rename! /srv/a/x>/srv/a/y",
     "{'fs.write':['/srv/a/x*','/srv/a/y*']}", "/srv/a/y"},
    {"a directory that gets another name", "rename!+ /srv/a/x>/srv/a/y",
     "{'fs.read':['/srv/a/**'],'fs.write':['/srv/a/**']}", "/srv/a/y"},
    {"a directory with files", "create+ /srv/a/d create /srv/a/d/x read /srv/a/d/x",
     "{'fs.read':['/srv/a/**'],'fs.write':['/srv/a/**']}", "/srv/a/d /srv/a/d/x"},
    {"a directory where nothing is folded", "create+ /srv/d create /srv/d/x",
     "{'fs.read':['/srv/d/*'],'fs.write':['/srv/d','/srv/d/*']}", "/srv/d /srv/d/x"},
    {"a program that it runs", "create /srv/a/p owner /srv/a/p execute /srv/a/p",
     "{'fs.read':['/srv/a/**'],'fs.write':['/srv/a/**']}", "/srv/a/p"},
    {"a link", "make /srv/a/l", "{'fs.read':['/srv/a/**'],'fs.write':['/srv/a/**']}", "/srv/a/l"},
    {"a hard link to another directory", "make /srv/a/b/l>/srv/a/c/x",
     "{'fs.read':['/srv/a/**'],'fs.write':['/srv/a/**']}", "/srv/a/b/l"},
    {"a file without a name", "make+ /srv/a/b",
     "{'fs.read':['/srv/a/b/**'],'fs.write':['/srv/a/b/**']}", ""},
    {"the mode of a file", "owner /srv/a/x", "{'fs.write':['/srv/a/x']}", ""},
    {"the mode of a directory", "owner+ /srv/a/x",
     "{'fs.read':['/srv/a/x/**'],'fs.write':['/srv/a/x/**']}", ""},
    {"a socket of the host", "connect /var/x/socket", "{'fs.write':['/var/x/socket']}", ""},

    /* private directories */
    {"temporary files",
     "create /tmp/x write /tmp/x read /tmp/x remove /tmp/x create+ /tmp/d create "
     "/tmp/d/y list /tmp",
     "{}", ""},
    {"temporary files that are left", "create /tmp/x create+ /tmp/d create /tmp/d/y", "{}",
     "/tmp/x /tmp/d /tmp/d/y"},
    {"files of /tmp that were there", "read /tmp/a/x write /tmp/y",
     "{'fs.read':['/tmp/a/x'],'fs.write':['/tmp/y']}", ""},
    {"a directory of others in /tmp", "list /tmp/a look /tmp/a/x enter /tmp/a", "{}", ""},
    {"temporary files beside one that was there",
     "read /tmp/a/x create /tmp/a/t remove /tmp/a/t list /tmp/a",
     "{'fs.read':['/tmp/a/x'],'fs.write':['/tmp/a/*']}", ""},
    {"configuration below HOME", "read /home/u/.config/tool/rc look /home/u/.bashrc list /home/u",
     "{'fs.read':['/home/u/.config/tool/rc']}", ""},
    {"a key", "read /home/u/.ssh/id", "{'fs.read':['/home/u/.ssh/id']}", ""},
    {"a new directory for a cache", "create+ /home/u/.cache/tool create /home/u/.cache/tool/x",
     "{}", "/home/u/.cache/tool /home/u/.cache/tool/x"},
    {"a cache that was there", "read /home/u/.cache/tool/a create /home/u/.cache/tool/b",
     "{'fs.read':['/home/u/.cache/tool/a'],'fs.write':['/home/u/.cache/tool/b*']}",
     "/home/u/.cache/tool/b"},

    /* what no lease grants */
    {"files of the runtime", "read /var/lib/arcp/x write /var/lib/arcp/y", "{}", ""},
    {"files of the kernel", "read /proc/self/maps write /dev/null", "{}", ""},
    {"names with a star", "read /srv/a/x* list /srv/a/y*", "{}", ""},
    {"names that no pattern can be", "unknown \\xff", "{}", ""},
};

static const char *left; /* of the row */

static bool is_there(const char *path)
{
    const size_t size = strlen(path);
    for (const char *at = left; at != NULL && *at != '\0'; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, path, size) == 0 && (at[size] == ' ' || at[size] == '\0')) {
            return true;
        }
    }
    return false;
}

static arcp__sandbox_use use_of(const char *word)
{
    char text[64];
    arcp_buf room[3] = {arcp_buf_init(), arcp_buf_init(), arcp_buf_init()};
    arcp__sandbox_seen seen = {.use = ARCP__SANDBOX_USE_COUNT};
    (void)snprintf(text, sizeof text, "{\"seen\":\"%.*s\",\"path\":\"/\"}",
                   (int)strcspn(word, "+!"), word);
    if (!arcp__sandbox_seen_decode(arcp_span_cstr(text), room, &seen)) {
        fail_msg("%s is no use", word);
    }
    for (size_t i = 0; i < 3; i++) {
        arcp_buf_fini(&room[i]);
    }
    return seen.use;
}

static void add_words(arcp__sandbox_uses *uses, const char *seen)
{
    char *copy = strdup(seen);
    char *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        char *path = strtok_r(NULL, " ", &rest);
        char *other = strchr(path, '>');
        char *real = strchr(path, '=');
        arcp__sandbox_seen one = {.use = use_of(word),
                                  .is_directory = strchr(word, '+') != NULL,
                                  .is_new = strchr(word, '!') != NULL};
        if (other != NULL) {
            *other = '\0';
            one.other = arcp_span_cstr(other + 1);
        }
        if (real != NULL) {
            *real = '\0';
            one.real = arcp_span_cstr(real + 1);
        }
        one.path = arcp_span_cstr(path);
        arcp__sandbox_uses_add(uses, &one);
    }
    free(copy);
}

typedef struct rig {
    arcp_lease *none;
    arcp__sandbox_plan *plan;
    arcp__sandbox_uses *uses;
    arcp__sandbox_learn *learn;
} rig;

static void rig_open(rig *r)
{
    static const arcp_span own[] = {{"/var/lib/arcp", 13}};
    arcp_error err = {0};
    check_ok(arcp_lease_parse(ARCP_SPAN_LITERAL("{}"), (arcp_span){NULL, 0}, NULL, &r->none, &err),
             &err);
    arcp__sandbox_request request = rig_request(r->none);
    request.origin = ARCP__SANDBOX_ORIGIN_RUN;
    request.own = own;
    request.own_count = 1;
    r->plan = rig_plan(&request);
    const arcp__sandbox_uses_options options = {.plan = r->plan, .cwd = request.cwd};
    const arcp__sandbox_learn_options folding = {.home = request.home, .cwd = request.cwd};
    check_ok(arcp__sandbox_uses_new(&options, &r->uses, &err), &err);
    check_ok(arcp__sandbox_learn_new(&folding, &r->learn, &err), &err);
}

static void rig_close(rig *r)
{
    arcp__sandbox_uses_free(r->uses);
    arcp__sandbox_learn_free(r->learn);
    arcp__sandbox_plan_free(r->plan);
    arcp_lease_unref(r->none);
}

static void rows_make_the_leases_that_they_say(void **state)
{
    size_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rig r;
        arcp_lease *lease = NULL;
        arcp_buf text = arcp_buf_init();
        arcp_error err = {0};
        rig_open(&r);
        add_words(r.uses, rows[i].seen);
        left = rows[i].left;
        check_ok(arcp__sandbox_uses_finish(r.uses, is_there, r.learn, &err), &err);
        check_ok(arcp__sandbox_learn_lease(r.learn, &lease, &err), &err);
        arcp_lease_format(lease, &text);
        for (size_t k = 0; k < text.size; k++) {
            text.data[k] = text.data[k] == '"' ? '\'' : text.data[k];
        }
        if (strcmp(arcp_buf_cstr(&text), rows[i].lease) != 0) {
            print_error("%s: %s, not %s\n", rows[i].name, text.data, rows[i].lease);
            wrong++;
        }
        arcp_buf_fini(&text);
        arcp_lease_unref(lease);
        rig_close(&r);
    }
    assert_int_equal(wrong, 0);
}

static void take_outcome(void *user, arcp_span name, arcp__sandbox_outcome outcome)
{
    arcp_buf *out = user;
    static const char *const names[ARCP__SANDBOX_OUTCOME_COUNT] = {
        "none", "read", "write", "both", "private", "own", "unnamed", "port", "looked"};
    arcp_buf_append_format(out, "%s %s\n", names[outcome], name.data);
}

static void every_name_has_its_outcome(void **state)
{
    rig r;
    arcp_buf text = arcp_buf_init();
    arcp_error err = {0};
    (void)state;
    rig_open(&r);
    add_words(r.uses,
              "read /srv/a/r write /srv/a/w read /srv/a/b write /srv/a/b create /tmp/p read "
              "/var/lib/arcp/o read /srv/a/s* port 7777 look /data/l read /usr/x "
              "unknown \\xff");
    left = "/tmp/p";
    check_ok(arcp__sandbox_uses_finish(r.uses, is_there, r.learn, &err), &err);
    arcp__sandbox_uses_each(r.uses, take_outcome, &text);
    assert_string_equal(arcp_buf_cstr(&text), "none /data\n"
                                              "looked /data/l\n"
                                              "none /srv/a\n"
                                              "both /srv/a/b\n"
                                              "read /srv/a/r\n"
                                              "unnamed /srv/a/s*\n"
                                              "write /srv/a/w\n"
                                              "none /tmp\n"
                                              "private /tmp/p\n"
                                              "none /usr\n"
                                              "none /usr/x\n"
                                              "own /var/lib/arcp\n"
                                              "own /var/lib/arcp/o\n"
                                              "port 7777\n"
                                              "unnamed \\xff\n");
    arcp_buf_fini(&text);
    rig_close(&r);
}

static void names_beyond_the_limit_are_counted(void **state)
{
    rig r;
    char path[64];
    (void)state;
    rig_open(&r);
    for (size_t i = 0; i < ARCP__SANDBOX_USES_MAX + 7; i++) {
        (void)snprintf(path, sizeof path, "/srv/a/%zu", i);
        const arcp__sandbox_seen seen = {.use = ARCP__SANDBOX_USE_READ,
                                         .path = arcp_span_cstr(path)};
        arcp__sandbox_uses_add(r.uses, &seen);
        /* The directory is a name, too. */
        assert_int_equal(arcp__sandbox_uses_lost(r.uses),
                         i + 1 < ARCP__SANDBOX_USES_MAX ? 0 : i + 2 - ARCP__SANDBOX_USES_MAX);
    }
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_make_the_leases_that_they_say),
        cmocka_unit_test(every_name_has_its_outcome),
        cmocka_unit_test(names_beyond_the_limit_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
