#include "launch/command_base.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "base/path.h"
#include "launch/sandbox_host.h"

#define LINKS_MAX        16
#define INTERPRETERS_MAX 4 /* the kernel follows no more */
#define HEAD_BYTES       256

typedef struct finder {
    const arcp__command_base_query *query;
    char homes[2][PATH_MAX]; /* HOME as given and as resolved; empty: unknown */
    arcp__command_base *out;
    bool failed; /* out of memory */
} finder;

/* ---- paths, by their text ---- */

/* Drops empty segments and `.`; false for a path with `..`, whose meaning depends on links, and for
 * one that is not absolute or too long. */
static bool clean(const char *path, char out[PATH_MAX])
{
    size_t size = 0;
    if (path[0] != '/') {
        return false;
    }
    while (*path != '\0') {
        path += strspn(path, "/");
        const size_t segment = strcspn(path, "/");
        if (segment == 2 && strncmp(path, "..", 2) == 0) {
            return false;
        }
        if (segment != 0 && !(segment == 1 && path[0] == '.')) {
            if (size + 1 + segment >= PATH_MAX) {
                return false;
            }
            out[size++] = '/';
            memcpy(out + size, path, segment);
            size += segment;
        }
        path += segment;
    }
    size += size == 0 ? 1 : 0;
    out[0] = '/';
    out[size] = '\0';
    return true;
}

/* The directory of a clean path, without a slash at its end. */
static void directory_of(const char *path, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    const size_t size = slash == path ? 1 : (size_t)(slash - path);
    memmove(out, path, size);
    out[size] = '\0';
}

/* Every sandbox has it. */
static bool is_system(const char *path)
{
    static const char *const directories[] = {"/usr",   "/bin",   "/sbin",  "/lib",
                                              "/lib32", "/lib64", "/libx32"};
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        if (arcp__path_is_within_cstr(path, directories[i])) {
            return !arcp__path_is_within_cstr(path, "/usr/local/etc");
        }
    }
    return false;
}

/* Whether a directory that a program happens to be in may be granted for its sake. */
static bool may_be_granted(const finder *f, const char *directory)
{
    static const char *const below_home[] = {"/.local", "/.cargo", "/.config"};
    if (strchr(directory + 1, '/') == NULL) { /* `/`, or right below it */
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        const char *home = f->homes[i];
        const size_t size = strlen(home);
        if (size == 0) {
            continue;
        }
        if (arcp__path_is_within_cstr(home, directory)) {
            return false;
        }
        for (size_t j = 0; j < sizeof below_home / sizeof below_home[0]; j++) {
            if (strncmp(directory, home, size) == 0 &&
                strcmp(directory + size, below_home[j]) == 0) {
                return false;
            }
        }
    }
    return true;
}

/* ---- the list ---- */

static void add(finder *f, const char *path)
{
    arcp__command_base *out = f->out;
    if (is_system(path)) {
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++) {
        if (arcp__path_is_within_cstr(path, out->paths[i])) {
            return; /* then none was removed before: no path of the list is inside another */
        }
        if (arcp__path_is_within_cstr(out->paths[i], path)) {
            arcp__free(out->paths[i]);
        } else {
            out->paths[kept++] = out->paths[i];
        }
    }
    out->count = kept;
    char **grown = arcp__realloc_array(out->paths, kept + 1, sizeof *grown);
    char *copy = arcp__copy_cstr(path, strlen(path));
    out->paths = grown == NULL ? out->paths : grown;
    if (grown == NULL || copy == NULL) {
        arcp__free(copy);
        f->failed = true;
        return;
    }
    grown[out->count++] = copy;
}

/* Whether the directory looks like the prefix of an installation. */
static bool is_prefix(const char *directory)
{
    static const char *const names[] = {"lib", "lib64", "libexec", "share", "pyvenv.cfg"};
    char path[PATH_MAX + 16];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        if (access(path, F_OK) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds the place of a program, whose path is clean. */
static void add_place(finder *f, const char *path)
{
    char directory[PATH_MAX];
    char prefix[PATH_MAX];
    if (is_system(path)) {
        return;
    }
    directory_of(path, directory);
    const char *name = strrchr(directory, '/') + 1;
    if (strcmp(name, "bin") == 0 || strcmp(name, "sbin") == 0 || strcmp(name, "shims") == 0) {
        directory_of(directory, prefix);
        if (may_be_granted(f, prefix) && is_prefix(prefix)) {
            add(f, prefix);
            return;
        }
    }
    add(f, may_be_granted(f, directory) ? directory : path);
}

/* ---- programs ---- */

/* Replaces a path by what it is a symbolic link to; false if it is none. */
static bool follow_link(char path[PATH_MAX])
{
    char target[PATH_MAX];
    char directory[PATH_MAX];
    char resolved[PATH_MAX];
    char joined[2 * PATH_MAX];
    const ssize_t size = readlink(path, target, sizeof target - 1);
    if (size <= 0) {
        return false;
    }
    target[size] = '\0';
    directory_of(path, directory);
    if (target[0] != '/' && realpath(directory, resolved) == NULL) {
        return false;
    }
    (void)snprintf(joined, sizeof joined, "%s/%s", target[0] == '/' ? "" : resolved, target);
    /* `..` of the target: the directory must be looked up. */
    if (clean(joined, path)) {
        return true;
    }
    char *name = strrchr(joined, '/');
    *name++ = '\0';
    if (realpath(joined, resolved) == NULL) {
        return false;
    }
    (void)snprintf(target, sizeof target, "%s", name);
    (void)snprintf(joined, sizeof joined, "%s/%s", resolved, target);
    return clean(joined, path);
}

/* Splits the first line of a script, after `#!`, into the interpreter and its argument (which may
 * be empty). False: it is none. */
static bool read_interpreter(const char *path, char head[HEAD_BYTES], char **interpreter,
                             char **argument)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t size = fd < 0 ? -1 : pread(fd, head, HEAD_BYTES - 1, 0);
    arcp__close(fd);
    if (size < 3 || head[0] != '#' || head[1] != '!') {
        return false;
    }
    head[size] = '\0';
    head[strcspn(head, "\n")] = '\0';
    char *at = head + 2 + strspn(head + 2, " \t");
    *interpreter = at;
    at += strcspn(at, " \t");
    *argument = at + strspn(at, " \t");
    *at = '\0';
    return **interpreter == '/';
}

/* The program that `env` would start: the first word of its argument that is neither an option nor
 * an assignment. NULL: none. */
static const char *program_of_env(char *argument)
{
    char *rest = NULL;
    for (const char *word = strtok_r(argument, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (word[0] != '-' && strchr(word, '=') == NULL) {
            return word;
        }
    }
    return NULL;
}

/* Adds the places of a program as found, of the links that lead to it, and of the program itself;
 * then its interpreter's. */
static void add_program(finder *f, const char *found)
{
    char path[PATH_MAX] = "";
    char next[ARCP__LAUNCH_PATH_MAX];
    char head[HEAD_BYTES];
    char *interpreter = NULL;
    char *argument = NULL;
    (void)snprintf(next, sizeof next, "%s", found);
    for (int depth = 0; depth <= INTERPRETERS_MAX; depth++) {
        if (clean(next, path)) {
            int links = 0;
            do {
                add_place(f, path);
            } while (links++ < LINKS_MAX && follow_link(path));
        }
        if (realpath(next, path) == NULL) {
            return;
        }
        add_place(f, path);
        if (!read_interpreter(path, head, &interpreter, &argument)) {
            return;
        }
        const char *name = strrchr(interpreter, '/') + 1;
        if (strcmp(name, "env") == 0) {
            name = program_of_env(argument);
            if (name == NULL || arcp__launch_find(name, f->query->path, next, NULL) != ARCP_OK) {
                return;
            }
        } else {
            (void)snprintf(next, sizeof next, "%s", interpreter);
        }
    }
}

/* ---- words ---- */

static void add_words(finder *f)
{
    bool has_file = false;
    for (const char *const *word = f->query->argv + 1; *word != NULL; word++) {
        char path[PATH_MAX] = "";
        char directory[PATH_MAX];
        struct stat about;
        if (!clean(*word, path) || arcp__path_is_within_cstr(path, "/proc") ||
            arcp__path_is_within_cstr(path, "/sys") || arcp__path_is_within_cstr(path, "/dev") ||
            stat(path, &about) != 0) {
            continue;
        }
        if (S_ISDIR(about.st_mode)) {
            const bool holds_home =
                (f->homes[0][0] != '\0' && arcp__path_is_within_cstr(f->homes[0], path)) ||
                (f->homes[1][0] != '\0' && arcp__path_is_within_cstr(f->homes[1], path));
            if (strcmp(path, "/") != 0 && !holds_home) {
                add(f, path);
            }
        } else if (S_ISREG(about.st_mode)) {
            directory_of(path, directory);
            add(f,
                !has_file && !is_system(path) && may_be_granted(f, directory) ? directory : path);
            has_file = true;
        }
    }
}

arcp_status arcp__command_base_find(const arcp__command_base_query *query, arcp__command_base *out,
                                    arcp_error *err)
{
    finder f = {.query = query, .out = out};
    struct stat about;
    arcp_error why = {0};
    *out = (arcp__command_base){.paths = NULL};
    if (query->home != NULL && clean(query->home, f.homes[0]) &&
        realpath(query->home, f.homes[1]) == NULL) {
        f.homes[1][0] = '\0';
    }
    if (arcp__launch_find(query->argv[0], query->path, out->program, &why) != ARCP_OK) {
        return arcp_error_set(err, ARCP_E_NOT_FOUND, "%s", why.message);
    }
    if (stat(out->program, &about) != 0) {
        return arcp_error_set(err, errno == EACCES ? ARCP_E_USAGE : ARCP_E_NOT_FOUND, "%s: %s",
                              out->program, strerror(errno));
    }
    if (!S_ISREG(about.st_mode) || access(out->program, X_OK) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s is not an executable file", out->program);
    }
    add_program(&f, out->program);
    if (query->has_words) {
        add_words(&f);
    }
    return f.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

void arcp__command_base_fini(arcp__command_base *base)
{
    for (size_t i = 0; i < base->count; i++) {
        arcp__free(base->paths[i]);
    }
    arcp__free(base->paths);
    *base = (arcp__command_base){.paths = NULL};
}
