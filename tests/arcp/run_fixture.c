#include "arcp/run_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arcp/temp_tree.h"

static void path_of(const run_fixture *f, const char *name, char out[512])
{
    (void)snprintf(out, 512, "%s/%s", f->root, name);
}

void run_fixture_write(const run_fixture *f, const char *name, const char *text)
{
    char path[512];
    char parent[512];
    path_of(f, name, path);
    (void)snprintf(parent, sizeof parent, "%s", path);
    *strrchr(parent, '/') = '\0';
    temp_tree_add(parent);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
}

bool run_fixture_has(const run_fixture *f, const char *name)
{
    char path[512];
    path_of(f, name, path);
    return access(path, F_OK) == 0;
}

/* NAME=VALUE of the fixture and of the caller, NULL-terminated. */
typedef struct variables {
    char own[4][600];
    const char *all[RUN_ENVIRONMENT_MAX];
} variable_list;

static void set_variables(const run_fixture *f, const char *const *more, variable_list *out)
{
    size_t count = 4;
    (void)snprintf(out->own[0], sizeof out->own[0], "ARCP=%s", f->arcp);
    (void)snprintf(out->own[1], sizeof out->own[1], "HOME=%s/home", f->root);
    (void)snprintf(out->own[2], sizeof out->own[2], "ROOT=%s", f->root);
    (void)snprintf(out->own[3], sizeof out->own[3], "LC_ALL=C");
    for (size_t i = 0; i < count; i++) {
        out->all[i] = out->own[i];
    }
    for (; more != NULL && *more != NULL; more++) {
        assert_true(count < RUN_ENVIRONMENT_MAX - 1);
        out->all[count++] = *more;
    }
    out->all[count] = NULL;
}

static void shell_words(const run_fixture *f, const char *script, char room[8192],
                        const char *words[4])
{
    const int size = snprintf(room, 8192, "cd %s/project && %s", f->root, script);
    assert_true(size > 0 && size < 8192);
    words[0] = "/bin/bash";
    words[1] = "-c";
    words[2] = room;
    words[3] = NULL;
}

int run_fixture_shell(const run_fixture *f, process *p, const char *script,
                      const char *const *environment)
{
    char room[8192];
    const char *words[4];
    variable_list variables;
    set_variables(f, environment, &variables);
    shell_words(f, script, room, words);
    process_start(p, words, variables.all, NULL);
    return process_finish(p);
}

void run_fixture_shell_on_terminal(const run_fixture *f, process *p, const char *script,
                                   const char *const *environment)
{
    char room[8192];
    const char *words[4];
    variable_list variables;
    set_variables(f, environment, &variables);
    shell_words(f, script, room, words);
    process_start_on_terminal(p, words, variables.all, 100);
}

void run_fixture_mask(const run_fixture *f, const arcp_buf *text, arcp_buf *out)
{
    const size_t size = strlen(f->root);
    for (size_t i = 0; i < text->size;) {
        if (text->size - i >= size && memcmp(text->data + i, f->root, size) == 0) {
            arcp_buf_append_cstr(out, "$ROOT");
            i += size;
        } else {
            arcp_buf_append_byte(out, text->data[i++]);
        }
    }
}

int run_fixture_begin(void **state)
{
    static run_fixture f;
    static const char *const unset[] = {
        "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",      "TMPDIR",
        "ARCP_SANDBOX",    "NO_COLOR",       "ARCP_SANDBOX_WITHOUT"};
    for (size_t i = 0; i < sizeof unset / sizeof unset[0]; i++) {
        assert_int_equal(unsetenv(unset[i]), 0);
    }
    temp_tree_make(f.root, sizeof f.root);
    (void)snprintf(f.arcp, sizeof f.arcp, "%s/bin/arcp", ARCP_BINARY_DIR);
    run_fixture_write(&f, "home/secret", "secret\n");
    run_fixture_write(&f, "project/here", "here\n");
    run_fixture_write(&f, "data/one", "one\n");
    process p;
    static const char *const levels[] = {"full", "landlock", "", "", "none"};
    const int status = run_fixture_shell(&f, &p, "\"$ARCP\" doctor", NULL);
    assert_true(status == 0 || status == 1 || status == 4);
    (void)snprintf(f.level, sizeof f.level, "%s", levels[status]);
    process_fini(&p);
    if (strcmp(f.level, "full") != 0) {
        print_message("this host has level %s: tests of level full are skipped\n", f.level);
    }
    *state = &f;
    return 0;
}

int run_fixture_end(void **state)
{
    const run_fixture *f = *state;
    return temp_tree_remove(f->root);
}
