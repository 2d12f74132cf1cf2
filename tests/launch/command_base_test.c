/* What is granted for the sake of a command, on a made-up host: the test's child changes its root.
 */
#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arcp/buf.h>

#include "launch/command_base.h"
#include "support/remove_tree.h"

#define TREE_MAX  8
#define WORDS_MAX 6

typedef struct command_row {
    const char *name;
    /* "x PATH [CONTENT]": a program; "f PATH": a file; "d PATH": a directory; "l PATH TARGET" */
    const char *tree[TREE_MAX];
    const char *argv[WORDS_MAX];
    const char *path; /* NULL: /usr/bin */
    const char *home; /* NULL: /home/you */
    const char *cwd;  /* NULL: / */
    bool has_words;
    const char *want; /* status and paths */
} command_row;

static const command_row rows[] = {
    {"a program of the system needs nothing more", {"x /usr/bin/ls"}, {"ls"}, .want = "0"},
    {"nor does one of /usr/local, whose configuration stays hidden",
     {"x /usr/local/bin/tool", "d /usr/local/lib", "d /usr/local/etc"},
     {"/usr/local/bin/tool"},
     .want = "0"},
    {"one in /bin, which leads to /usr/bin",
     {"x /usr/bin/ls", "l /bin usr/bin"},
     {"/bin/ls"},
     .want = "0"},
    {"but one of /usr/local/etc",
     {"x /usr/local/etc/hook"},
     {"/usr/local/etc/hook"},
     .want = "0 /usr/local/etc"},
    {"an installation is granted by its lib",
     {"x /opt/tool/bin/run", "d /opt/tool/lib"},
     {"/opt/tool/bin/run"},
     .want = "0 /opt/tool"},
    {"by lib64", {"x /opt/t/bin/x", "d /opt/t/lib64"}, {"/opt/t/bin/x"}, .want = "0 /opt/t"},
    {"by libexec", {"x /opt/t/sbin/x", "d /opt/t/libexec"}, {"/opt/t/sbin/x"}, .want = "0 /opt/t"},
    {"by share", {"x /opt/t/shims/x", "d /opt/t/share"}, {"/opt/t/shims/x"}, .want = "0 /opt/t"},
    {"by pyvenv.cfg",
     {"x /opt/t/bin/x", "f /opt/t/pyvenv.cfg"},
     {"/opt/t/bin/x"},
     .want = "0 /opt/t"},
    {"what looks like none is not",
     {"x /opt/tool/bin/run", "d /opt/tool/etc"},
     {"/opt/tool/bin/run"},
     .want = "0 /opt/tool/bin"},
    {"another directory's name makes no installation",
     {"x /opt/tool/lib/run"},
     {"/opt/tool/lib/run"},
     .want = "0 /opt/tool/lib"},
    {"/srv/bin/agent is no reason to read /srv",
     {"x /srv/bin/agent", "d /srv/lib", "f /srv/secret"},
     {"/srv/bin/agent"},
     .want = "0 /srv/bin"},
    {"a program right below /srv is granted alone",
     {"x /srv/agent", "f /srv/secret"},
     {"/srv/agent"},
     .want = "0 /srv/agent"},
    {"one in / too", {"x /agent"}, {"/agent"}, .want = "0 /agent"},
    {"~/bin is no reason to read HOME",
     {"x /home/you/bin/x", "d /home/you/lib"},
     {"/home/you/bin/x"},
     .want = "0 /home/you/bin"},
    {"~/.local/bin is no reason to read ~/.local",
     {"x /home/you/.local/bin/x", "d /home/you/.local/share"},
     {"/home/you/.local/bin/x"},
     .want = "0 /home/you/.local/bin"},
    {"nor ~/.cargo/bin for ~/.cargo",
     {"x /home/you/.cargo/bin/x", "d /home/you/.cargo/share"},
     {"/home/you/.cargo/bin/x"},
     .want = "0 /home/you/.cargo/bin"},
    {"nor ~/.config/bin for ~/.config",
     {"x /home/you/.config/bin/x", "d /home/you/.config/share"},
     {"/home/you/.config/bin/x"},
     .want = "0 /home/you/.config/bin"},
    {"another user's ~/.local is an installation like any other",
     {"x /home/them/.local/bin/x", "d /home/them/.local/share"},
     {"/home/them/.local/bin/x"},
     .want = "0 /home/them/.local"},
    {"a program in HOME is granted alone",
     {"x /home/you/x"},
     {"/home/you/x"},
     .want = "0 /home/you/x"},
    {"one in ~/.config too",
     {"x /home/you/.config/x"},
     {"/home/you/.config/x"},
     .want = "0 /home/you/.config/x"},
    {"a directory that holds HOME is not granted",
     {"x /data/homes/bin/x", "d /data/homes/lib", "d /data/homes/you"},
     {"/data/homes/bin/x"},
     .home = "/data/homes/you",
     .want = "0 /data/homes/bin"},
    {"not by its other name either",
     {"x /data/homes/bin/x", "d /data/homes/lib", "d /data/homes/you", "l /home /data/homes"},
     {"/data/homes/bin/x"},
     .home = "/home/you",
     .want = "0 /data/homes/bin"},
    {"an installation below HOME is granted",
     {"x /home/you/.nvm/v20/bin/node", "d /home/you/.nvm/v20/lib"},
     {"node"},
     .path = "/usr/bin:/home/you/.nvm/v20/bin",
     .want = "0 /home/you/.nvm/v20"},
    {"a link is granted as found and as resolved",
     {"l /home/you/bin/x /opt/t/bin/x", "x /opt/t/bin/x", "d /opt/t/lib"},
     {"/home/you/bin/x"},
     .want = "0 /home/you/bin /opt/t"},
    {"and so are the links between",
     {"l /home/you/bin/x ../link/x", "l /home/you/link/x /opt/t/bin/x", "x /opt/t/bin/x"},
     {"/home/you/bin/x"},
     .want = "0 /home/you/bin /home/you/link /opt/t/bin"},
    {"a directory that is a link",
     {"l /opt/now /opt/v5", "x /opt/v5/bin/x", "d /opt/v5/lib"},
     {"/opt/now/bin/x"},
     .want = "0 /opt/now /opt/v5"},
    {"links in a circle end", {"l /opt/a/x y", "l /opt/a/y x"}, {"/opt/a/x"}, .want = "NOT_FOUND"},
    {"a relative name",
     {"x /home/you/src/build/x"},
     {"./build//x"},
     .cwd = "/home/you/src",
     .want = "0 /home/you/src/build"},
    {"a name with .. counts as resolved",
     {"x /opt/a/b/x", "l /opt/l /opt/a/b", "x /opt/x"},
     {"/opt/l/../b/x"},
     .want = "0 /opt/a/b"},
    {"the interpreter of a script",
     {"x /opt/s/run #!/opt/py/bin/python3 -u", "x /opt/py/bin/python3", "d /opt/py/lib"},
     {"/opt/s/run"},
     .want = "0 /opt/s /opt/py"},
    {"the program that env finds",
     {"x /opt/s/run #!/usr/bin/env -S A=1 node -x", "x /usr/bin/env", "x /opt/n/bin/node",
      "d /opt/n/lib"},
     {"/opt/s/run"},
     .path = "/opt/n/bin",
     .want = "0 /opt/s /opt/n"},
    {"env with a program that is nowhere",
     {"x /opt/s/run #!/usr/bin/env node", "x /usr/bin/env"},
     {"/opt/s/run"},
     .want = "0 /opt/s"},
    {"a script whose interpreter is itself",
     {"x /opt/s/run #!/opt/s/run"},
     {"/opt/s/run"},
     .want = "0 /opt/s"},
    {"an interpreter that is absent",
     {"x /opt/s/run #!/opt/none/bin/sh"},
     {"/opt/s/run"},
     .want = "0 /opt/s /opt/none/bin"},
    {"words of a command line do not count",
     {"x /usr/bin/python3", "f /opt/agent/main.py"},
     {"python3", "/opt/agent/main.py"},
     .want = "0"},
    {"words of a configuration do: the first file gives its directory",
     {"x /usr/bin/python3", "f /opt/agent/main.py"},
     {"python3", "-u", "/opt/agent/main.py"},
     .has_words = true,
     .want = "0 /opt/agent"},
    {"later ones only themselves",
     {"x /usr/bin/python3", "f /opt/agent/main.py", "f /etc/ssl/private/k"},
     {"python3", "/opt/agent/main.py", "--key", "/etc/ssl/private/k"},
     .has_words = true,
     .want = "0 /opt/agent /etc/ssl/private/k"},
    {"also behind a file of the system",
     {"x /usr/bin/python3", "f /usr/lib/main.py", "f /etc/ssl/private/k"},
     {"python3", "/usr/lib/main.py", "/etc/ssl/private/k"},
     .has_words = true,
     .want = "0 /etc/ssl/private/k"},
    {"a first file right below a directory of the root is granted alone",
     {"x /usr/bin/cat", "f /srv/one"},
     {"cat", "/srv/one"},
     .has_words = true,
     .want = "0 /srv/one"},
    {"a directory is granted itself",
     {"x /usr/bin/ls", "d /data"},
     {"ls", "/data/"},
     .has_words = true,
     .want = "0 /data"},
    {"but neither / nor HOME nor what holds it",
     {"x /usr/bin/ls", "d /home/you"},
     {"ls", "/", "/home/you", "/home"},
     .has_words = true,
     .want = "0"},
    {"names that do not exist, or are relative, are words",
     {"x /usr/bin/ls", "f /opt/x/y"},
     {"ls", "/opt/none", "opt/x/y"},
     .has_words = true,
     .want = "0"},
    {"what is inside another is not named again",
     {"x /usr/bin/ls", "f /opt/a/b/c", "d /opt/a"},
     {"ls", "/opt/a/b/c", "/opt/a"},
     .has_words = true,
     .want = "0 /opt/a"},
    {"a program that is nowhere", {"d /usr/bin"}, {"none"}, .want = "NOT_FOUND"},
    {"an absent path", {"d /usr/bin"}, {"/opt/none"}, .want = "NOT_FOUND"},
    {"a file that is no program", {"f /opt/x"}, {"/opt/x"}, .want = "USAGE"},
    {"a directory", {"d /opt/x"}, {"/opt/x"}, .want = "USAGE"},
    {"an empty name", {"d /opt/x"}, {""}, .want = "NOT_FOUND"},
};

/* ---- the made-up host ---- */

static void make_parents(const char *path)
{
    char parent[4096];
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        (void)snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
        (void)mkdir(parent, 0755);
    }
}

static void make(const char *root, const char *what)
{
    char path[4096];
    char words[4096];
    (void)snprintf(words, sizeof words, "%s", what + 2);
    char *rest = strchr(words, ' ');
    if (rest != NULL) {
        *rest++ = '\0';
    }
    (void)snprintf(path, sizeof path, "%s%s", root, words);
    make_parents(path);
    if (what[0] == 'd') {
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
    } else if (what[0] == 'l') {
        assert_int_equal(symlink(rest, path), 0);
    } else {
        const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, what[0] == 'x' ? 0755 : 0644);
        assert_true(fd >= 0);
        if (rest != NULL) {
            assert_int_equal(write(fd, rest, strlen(rest)), strlen(rest));
        }
        (void)close(fd);
    }
}

/* Writes status and paths. */
static void find(const command_row *row, arcp_buf *out)
{
    const arcp__command_base_query query = {
        .argv = row->argv,
        .path = row->path == NULL ? "/usr/bin" : row->path,
        .home = row->home == NULL ? "/home/you" : row->home,
        .has_words = row->has_words,
    };
    arcp__command_base base;
    arcp_error error = {0};
    const arcp_status status = arcp__command_base_find(&query, &base, &error);
    arcp_buf_append_cstr(out, status == ARCP_OK ? "0" : arcp_status_name(status));
    for (size_t i = 0; i < base.count; i++) {
        arcp_buf_append_format(out, " %s", base.paths[i]);
    }
    arcp__command_base_fini(&base);
}

/* In a child: false when this user cannot change the root directory. */
static bool enter(const char *root, const char *cwd)
{
    if (chroot(root) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(root) != 0)) {
        return false;
    }
    return chdir(cwd == NULL ? "/" : cwd) == 0;
}

static void the_base_of_a_command_is_as_little_as_works(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char root[] = "/tmp/arcp-base-XXXXXX";
        int answer[2];
        char got[4096] = "";
        assert_non_null(mkdtemp(root));
        for (size_t j = 0; j < TREE_MAX && rows[i].tree[j] != NULL; j++) {
            make(root, rows[i].tree[j]);
        }
        assert_int_equal(pipe(answer), 0);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            arcp_buf text = arcp_buf_init();
            if (enter(root, rows[i].cwd)) {
                find(&rows[i], &text);
            } else {
                arcp_buf_append_cstr(&text, "cannot change the root");
            }
            const ssize_t written = write(answer[1], text.data, text.size);
            arcp_buf_fini(&text);
            _exit(written > 0 ? 0 : 1);
        }
        (void)close(answer[1]);
        const ssize_t size = read(answer[0], got, sizeof got - 1);
        got[size < 0 ? 0 : size] = '\0';
        (void)close(answer[0]);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(remove_tree(root), 0);
        if (strcmp(got, "cannot change the root") == 0) {
            print_message("skipped: %s\n", got);
            skip();
        }
        if (strcmp(got, rows[i].want) != 0) {
            fail_msg("%s: %s, not %s", rows[i].name, got, rows[i].want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_base_of_a_command_is_as_little_as_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
