#include "launch/proc_stat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arcp/buf.h>

#include "base/directory.h"

#define ENVIRON_BYTES_MAX 4194304u

static int open_of(pid_t pid, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static ssize_t read_some(int fd, char *to, size_t size)
{
    ssize_t got;
    do {
        got = read(fd, to, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* ---- stat ---- */

bool arcp__proc_stat_parse(const char *text, arcp__proc_stat *out)
{
    /* The second field is the program's name in parentheses. It may itself contain parentheses, so
     * the last one of the line closes it. */
    const char *close = strrchr(text, ')');
    if (close == NULL || close[1] != ' ' || close[2] == '\0') {
        return false;
    }
    arcp__proc_stat found = {.pid = (pid_t)strtol(text, NULL, 10), .state = close[2]};
    const char *rest = close + 3;
    long long number = 0;
    for (int field = 4; field <= 22; field++) {
        char *end = NULL;
        number = strtoll(rest, &end, 10);
        if (end == rest) {
            return false;
        }
        rest = end;
        found.parent = field == 4 ? (pid_t)number : found.parent;
        found.group = field == 5 ? (pid_t)number : found.group;
    }
    if (found.pid <= 0) {
        return false;
    }
    found.started = (uint64_t)number;
    *out = found;
    return true;
}

bool arcp__proc_stat_read(pid_t pid, arcp__proc_stat *out)
{
    char text[1024];
    const int fd = open_of(pid, "stat");
    if (fd < 0) {
        return false;
    }
    const ssize_t size = read_some(fd, text, sizeof text - 1);
    (void)close(fd);
    if (size <= 0) {
        return false;
    }
    text[size] = '\0';
    return arcp__proc_stat_parse(text, out);
}

/* Calls `each` for the children of `parent`; 0: for all processes. */
static void for_each_process(pid_t parent, arcp__proc_fn each, void *user)
{
    DIR *entries = opendir("/proc");
    if (entries == NULL) {
        return;
    }
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        arcp__proc_stat found;
        char *rest = NULL;
        const long pid = strtol(entry->d_name, &rest, 10);
        if (pid > 0 && *rest == '\0' && arcp__proc_stat_read((pid_t)pid, &found) &&
            (parent == 0 || found.parent == parent)) {
            each(user, &found);
        }
    }
    (void)closedir(entries);
}

void arcp__proc_each(arcp__proc_fn each, void *user)
{
    for_each_process(0, each, user);
}

void arcp__proc_each_child(arcp__proc_fn each, void *user)
{
    const pid_t parent = getpid();
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)parent);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        for_each_process(parent, each, user); /* the kernel does not have this list */
        return;
    }
    char word[16];
    arcp__proc_stat found;
    while (fscanf(file, "%15s", word) == 1) {
        if (arcp__proc_stat_read((pid_t)strtol(word, NULL, 10), &found) && found.parent == parent) {
            each(user, &found);
        }
    }
    (void)fclose(file);
}

/* ---- environment and directory ---- */

bool arcp__proc_variable(pid_t pid, const char *name, char *out, size_t size)
{
    char chunk[4096];
    arcp_buf text = arcp_buf_init();
    const size_t name_size = strlen(name);
    bool found = false;
    const int fd = open_of(pid, "environ");
    ssize_t got = fd < 0 ? 0 : read_some(fd, chunk, sizeof chunk);
    while (got > 0 && text.size < ENVIRON_BYTES_MAX) {
        arcp_buf_append(&text, arcp_span_make(chunk, (size_t)got));
        got = read_some(fd, chunk, sizeof chunk);
    }
    arcp__close(fd);
    arcp_buf_append_byte(&text, '\0');
    for (size_t offset = 0; !text.failed && offset < text.size && !found;
         offset += strlen(text.data + offset) + 1) {
        const char *pair = text.data + offset;
        found = strncmp(pair, name, name_size) == 0 && pair[name_size] == '=' &&
                strlen(pair + name_size + 1) < size;
        if (found) {
            memcpy(out, pair + name_size + 1, strlen(pair + name_size + 1) + 1);
        }
    }
    arcp_buf_fini(&text);
    return found;
}

bool arcp__proc_is_inside(pid_t pid, arcp_span directory)
{
    char path[64];
    char target[4096];
    (void)snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    const ssize_t size = readlink(path, target, sizeof target);
    const arcp_span cwd = arcp_span_make(target, size < 0 ? 0 : (size_t)size);
    return directory.size != 0 && arcp_span_starts_with(cwd, directory) &&
           (cwd.size == directory.size || cwd.data[directory.size] == '/' ||
            cwd.data[directory.size] == ' '); /* " (deleted)" */
}
