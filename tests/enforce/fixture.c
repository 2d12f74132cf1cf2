/* Trees of files, and what has changed in them. */
#include "enforce/fixture.h"

#include <err.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

void fixture_become(uid_t user)
{
    if (geteuid() == 0 && user != 0 &&
        (setgroups(0, NULL) != 0 || setresgid(user, user, user) != 0 ||
         setresuid(user, user, user) != 0)) {
        err(1, "cannot become user %u", user);
    }
}

/* The kinds of things in the tree; TOKEN is a file with the secret. */
enum { DIRECTORY, PLAIN, TOKEN, SCRIPT, LINK };

static const struct entry {
    const char *name;
    int kind;
    const char *content; /* of LINK: the target; @ is the tree's directory */
} entries[] = {
    {"read", DIRECTORY, NULL},
    {"read/file", PLAIN, "granted\n"},
    {"read/script", SCRIPT, "#!/bin/sh\necho granted\n"},
    {"read/interpreted", SCRIPT, "#!@/outside/interpreter\n"},
    {"read/sub", DIRECTORY, NULL},
    {"read/sub/file", PLAIN, "granted\n"},
    {"read/relative", LINK, "../outside/secret"},
    {"read/absolute", LINK, "@/outside/secret"},
    {"read/directory", LINK, "@/outside"},
    {"read/inside", LINK, "file"},
    {"write", DIRECTORY, NULL},
    {"write/file", PLAIN, "granted\n"},
    {"write/sub", DIRECTORY, NULL},
    {"write/outside", LINK, "@/outside/plain"},
    {"write/.git", DIRECTORY, NULL},
    {"write/.git/HEAD", PLAIN, "ref: refs/heads/main\n"},
    {"write/.git/config", PLAIN, "[core]\n\tbare = false\n"},
    {"write/.git/hooks", DIRECTORY, NULL},
    {"write/.git/hooks/pre-commit", SCRIPT, "#!/bin/sh\n"},
    {"write/.git/objects", DIRECTORY, NULL},
    {"write/.git/refs", DIRECTORY, NULL},
    {"outside", DIRECTORY, NULL},
    {"outside/secret", TOKEN, NULL},
    {"outside/plain", PLAIN, "plain\n"},
    {"outside/directory", DIRECTORY, NULL},
    {"outside/directory/file", TOKEN, NULL},
    {"outside/empty", DIRECTORY, NULL},
    {"files", DIRECTORY, NULL},
    {"files/one", PLAIN, "granted\n"},
    {"files/two", TOKEN, NULL},
    {"mixed", DIRECTORY, NULL},
    {"mixed/file", PLAIN, "granted\n"},
    {"mixed/sub", DIRECTORY, NULL},
    {"mixed/sub/file", PLAIN, "granted\n"},
    {"home", DIRECTORY, NULL},
    {"home/notes", PLAIN, "granted\n"},
    {"home/.ssh", DIRECTORY, NULL},
    {"home/.ssh/id_ed25519", TOKEN, NULL},
    {"home/.config", DIRECTORY, NULL},
    {"home/.config/arcp", DIRECTORY, NULL},
    {"home/.config/arcp/token", TOKEN, NULL},
    {"home/.local", DIRECTORY, NULL},
    {"home/.local/state", DIRECTORY, NULL},
    {"home/.local/state/arcp", DIRECTORY, NULL},
    {"home/.local/state/arcp/store", TOKEN, NULL},
    {"home/.cache", DIRECTORY, NULL},
    {"home/.cache/arcp", DIRECTORY, NULL},
};

/* The text with @ replaced by the directory. */
static void expand(const char *dir, const char *text, char out[PATH_MAX])
{
    const char *at = strchr(text, '@');
    const int head = at == NULL ? (int)strlen(text) : (int)(at - text);
    (void)snprintf(out, PATH_MAX, "%.*s%s%s", head, text, at == NULL ? "" : dir,
                   at == NULL ? "" : at + 1);
}

static void make(const char *dir, const struct entry *entry, const char *token)
{
    char path[PATH_MAX];
    char content[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", dir, entry->name);
    expand(dir, entry->content == NULL ? token : entry->content, content);
    if (entry->kind == DIRECTORY) {
        if (mkdir(path, 0755) != 0) {
            err(1, "mkdir %s", path);
        }
    } else if (entry->kind == LINK) {
        if (symlink(content, path) != 0) {
            err(1, "symlink %s", path);
        }
    } else {
        const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                            entry->kind == SCRIPT ? 0755 : 0644);
        if (fd < 0 || write(fd, content, strlen(content)) != (ssize_t)strlen(content) ||
            close(fd) != 0) {
            err(1, "write %s", path);
        }
    }
}

void fixture_make(const char *dir, uid_t user, const char *token)
{
    char path[PATH_MAX];
    if (mkdir(dir, 0755) != 0 || (geteuid() == 0 && chown(dir, user, user) != 0)) {
        err(1, "mkdir %s", dir);
    }
    const bool changes = geteuid() == 0 && user != 0;
    if (changes && (setegid(user) != 0 || seteuid(user) != 0)) {
        err(1, "seteuid");
    }
    (void)umask(022);
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        make(dir, &entries[i], token);
    }
    /* Names tell something too. */
    (void)snprintf(path, sizeof path, "%s/outside/%s", dir, token);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    (void)snprintf(path, sizeof path, "%s/outside/fifo", dir);
    if (fd < 0 || close(fd) != 0 || mkfifo(path, 0644) != 0) {
        err(1, "make %s", path);
    }
    if (changes && (seteuid(0) != 0 || setegid(0) != 0)) {
        err(1, "seteuid");
    }
}

/* nftw has no argument for its callback. */
static uint64_t digest;
static size_t digest_root;

static void add(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        digest = (digest ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    }
}

static void add_content(const char *path, const struct stat *about)
{
    char bytes[4096];
    ssize_t got = 0;
    if (S_ISLNK(about->st_mode)) {
        got = readlink(path, bytes, sizeof bytes);
    } else if (S_ISREG(about->st_mode)) {
        const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        got = fd < 0 ? 0 : read(fd, bytes, sizeof bytes);
        (void)(fd < 0 ? 0 : close(fd));
    }
    add(bytes, got < 0 ? 0 : (size_t)got);
    got = llistxattr(path, bytes, sizeof bytes);
    add(bytes, got < 0 ? 0 : (size_t)got);
}

static bool is_below(const char *path, const char *tree)
{
    const size_t size = strlen(tree);
    return strncmp(path, tree, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

static int visit(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)type;
    (void)where;
    const char *name = path + digest_root;
    const bool is_free = (is_below(name, "/write") && !is_below(name, "/write/.git")) ||
                         is_below(name, "/mixed/sub") || is_below(name, "/home/.cache");
    const bool is_danger =
        S_ISCHR(about->st_mode) || S_ISBLK(about->st_mode) ||
        (!S_ISDIR(about->st_mode) && (about->st_mode & (S_ISUID | S_ISGID)) != 0);
    if (is_free) {
        /* A .git that was moved away or replaced is seen by the parts that are gone. */
        add(name, is_danger ? strlen(name) : 0);
        return 0;
    }
    /* Members one by one: the structure has padding, and a time of access. */
    add(name, strlen(name));
    add(&about->st_mode, sizeof about->st_mode);
    add(&about->st_uid, sizeof about->st_uid);
    add(&about->st_nlink, sizeof about->st_nlink);
    add(&about->st_size, S_ISDIR(about->st_mode) ? 0 : sizeof about->st_size);
    add(&about->st_mtim, sizeof about->st_mtim);
    add(&about->st_ctim, sizeof about->st_ctim);
    add_content(path, about);
    return 0;
}

uint64_t fixture_digest(const char *dir)
{
    digest = 0xcbf29ce484222325u;
    digest_root = strlen(dir);
    (void)nftw(dir, visit, 16, FTW_PHYS | FTW_MOUNT);
    return digest;
}
