/* Layout: DIRECTORY/etc-XXXXXX/etc is what is seen, DIRECTORY/etc-XXXXXX/sources what it was made
 * from: a line for its user and this release, then one for each row of the table and each file or
 * directory that was copied, with what stat said of it. A prepared directory is complete when it
 * has its name: it is made as new-XXXXXX and renamed. */
#include "launch/sandbox_etc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/directory.h"
#include "sandbox/sandbox.h"

#define FILE_BYTES_MAX 16777216
#define DEPTH_MAX      16
#define REPLACED_SEC   604800 /* how long a directory stays that has been replaced */
#define MADE_VERSION   4u     /* raised when the text of a file that is made changes */

static const char *const copied[] = {
#define COPIED_ETC(path)    path,
#define COPIED_SECRET(path) path,
#define COPIED_MOUNT(path)
#define COPIED_HIDDEN(path)
#define COPIED_PART(path)
#define COPIED_MADE(path)
#define COPIED_DEVICE(path)
#define ARCP_SANDBOX_BASE(kind, path) COPIED_##kind(path)
#include "sandbox/sandbox_base.def"
#undef ARCP_SANDBOX_BASE
};

/* A directory that is being made. */
typedef struct preparation {
    int etc; /* descriptor */
    arcp_buf sources;
    arcp_error *err;
} preparation;

static arcp_status failed(preparation *making, const char *path)
{
    return arcp_error_set(making->err, ARCP_E_IO, "%s cannot be prepared for sandboxes: %s", path,
                          strerror(errno));
}

/* ---- what it is made from ---- */

static void append_source(arcp_buf *to, const char *path, const struct stat *about)
{
    if (about == NULL) {
        arcp_buf_append_format(to, "- %s\n", path);
        return;
    }
    arcp_buf_append_format(to, "%lld.%09ld %lld %llu %o %s\n", (long long)about->st_mtim.tv_sec,
                           about->st_mtim.tv_nsec, (long long)about->st_size,
                           (unsigned long long)about->st_ino, (unsigned)about->st_mode, path);
}

/* Whether each line of `sources` is what stat says now. */
static bool is_current(arcp_span sources)
{
    arcp_buf now = arcp_buf_init();
    bool result = true;
    while (result && sources.size != 0) {
        char path[PATH_MAX];
        struct stat about;
        const char *end = memchr(sources.data, '\n', sources.size);
        const arcp_span line =
            end == NULL ? sources : arcp_span_first(sources, (size_t)(end - sources.data));
        const char *slash = memchr(line.data, '/', line.size);
        const size_t size = slash == NULL ? 0 : line.size - (size_t)(slash - line.data);
        if (end == NULL || size == 0 || size >= sizeof path) {
            result = false;
            break;
        }
        memcpy(path, slash, size);
        path[size] = '\0';
        arcp_buf_clear(&now);
        append_source(&now, path, lstat(path, &about) == 0 ? &about : NULL);
        result = arcp_span_equal(arcp_buf_span(&now), arcp_span_first(sources, line.size + 1));
        sources = arcp_span_from(sources, line.size + 1);
    }
    arcp_buf_fini(&now);
    return result;
}

/* Reads a file that begins with `head`. Of another one only the first part is read. */
static bool read_file(int fd, arcp_span head, arcp_buf *out)
{
    char chunk[16384];
    ssize_t got;
    while ((got = read(fd, chunk, sizeof chunk)) > 0 && out->size <= FILE_BYTES_MAX) {
        arcp_buf_append(out, arcp_span_make(chunk, (size_t)got));
        if (!arcp_span_starts_with(arcp_buf_span(out), head)) {
            return false;
        }
    }
    return got == 0 && !out->failed;
}

/* ---- copying ---- */

/* Whether it has a URL with a password, SCHEME://USER:PASSWORD@HOST. */
static bool has_password(arcp_span text)
{
    const char *separator;
    while (text.size != 0 && (separator = memmem(text.data, text.size, "://", 3)) != NULL) {
        bool has_colon = false;
        text = arcp_span_from(text, (size_t)(separator - text.data) + 3);
        for (size_t i = 0; i < text.size && strchr("/?# \t\r\n\"'<>", text.data[i]) == NULL; i++) {
            if (text.data[i] == '@' && has_colon) {
                return true;
            }
            has_colon = has_colon || text.data[i] == ':';
        }
    }
    return false;
}

static arcp_status write_file(preparation *making, int at, const char *name, arcp_span text)
{
    const int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    const bool written = fd >= 0 && fchmod(fd, 0644) == 0 && arcp__write_all(fd, text);
    const arcp_status status = written ? ARCP_OK : failed(making, name);
    arcp__close(fd);
    return status;
}

/* A file that cannot be read, or must not be, is left out. */
static arcp_status copy_file(preparation *making, const char *path, int to, const char *name)
{
    struct stat about;
    arcp_buf text = arcp_buf_init();
    arcp_status status = ARCP_OK;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    /* What was opened is asked again: only what every user may read. */
    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
        (about.st_mode & S_IROTH) != 0 && about.st_size <= FILE_BYTES_MAX &&
        read_file(fd, (arcp_span){NULL, 0}, &text) && !has_password(arcp_buf_span(&text))) {
        status = write_file(making, to, name, arcp_buf_span(&text));
        /* Programs compare it with the time of what they made of the file: Python its cache. */
        const struct timespec times[] = {about.st_atim, about.st_mtim};
        if (status == ARCP_OK && utimensat(to, name, times, AT_SYMLINK_NOFOLLOW) != 0) {
            status = failed(making, name);
        }
    }
    arcp__close(fd);
    arcp_buf_fini(&text);
    return status;
}

/* Opens a directory, which is made when it is absent; whatever the umask, every user may read it.
 */
static int make_directory(int at, const char *name)
{
    const int fd = mkdirat(at, name, 0755) == 0 || errno == EEXIST
                       ? openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                       : -1;
    if (fd >= 0 && fchmod(fd, 0755) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static arcp_status copy(preparation *making, const char *path, int to, const char *name, int depth);

static arcp_status copy_directory(preparation *making, const char *path, int to, const char *name,
                                  int depth)
{
    const int made = make_directory(to, name);
    if (made < 0) {
        return failed(making, path);
    }
    DIR *entries = depth > DEPTH_MAX ? NULL : arcp__directory_entries(AT_FDCWD, path);
    arcp_status status = ARCP_OK;
    const struct dirent *entry;
    while (status == ARCP_OK && entries != NULL && (entry = readdir(entries)) != NULL) {
        char below[PATH_MAX];
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strchr(entry->d_name, '\n') == NULL &&
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name) < (int)sizeof below) {
            status = copy(making, below, made, entry->d_name, depth + 1);
        }
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    (void)close(made);
    return status;
}

static arcp_status copy_link(preparation *making, const char *path, int to, const char *name)
{
    char text[PATH_MAX];
    const ssize_t size = readlink(path, text, sizeof text - 1);
    if (size < 0) {
        return ARCP_OK;
    }
    text[size] = '\0';
    return symlinkat(text, to, name) == 0 ? ARCP_OK : failed(making, path);
}

/* Copies what is at `path`, and notes it; nothing when it is absent. */
static arcp_status copy(preparation *making, const char *path, int to, const char *name, int depth)
{
    struct stat about;
    if (lstat(path, &about) != 0) {
        append_source(&making->sources, path, NULL);
        return ARCP_OK;
    }
    /* A link below a directory cannot change without its directory. */
    if (depth == 0 || !S_ISLNK(about.st_mode)) {
        append_source(&making->sources, path, &about);
    }
    if (S_ISLNK(about.st_mode)) {
        return copy_link(making, path, to, name);
    }
    if (S_ISDIR(about.st_mode) && (about.st_mode & (S_IROTH | S_IXOTH)) == (S_IROTH | S_IXOTH)) {
        return copy_directory(making, path, to, name, depth);
    }
    return S_ISREG(about.st_mode) ? copy_file(making, path, to, name) : ARCP_OK;
}

/* Copies a row of the table with the directories above it, which every user must be able to enter.
 */
static arcp_status copy_row(preparation *making, const char *root, const char *row)
{
    char path[PATH_MAX];
    char above[PATH_MAX];
    struct stat about;
    if (snprintf(path, sizeof path, "%s%s", root, row) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return failed(making, row);
    }
    int at = dup(making->etc);
    const char *name = path + strlen(root) + strlen("/etc/");
    for (const char *slash = strchr(name, '/'); slash != NULL && at >= 0;
         slash = strchr(name, '/')) {
        char part[NAME_MAX + 1];
        (void)snprintf(above, sizeof above, "%.*s", (int)(slash - path), path);
        if (lstat(above, &about) != 0 || !S_ISDIR(about.st_mode) ||
            (about.st_mode & S_IXOTH) == 0) {
            append_source(&making->sources, path, lstat(path, &about) == 0 ? &about : NULL);
            (void)close(at);
            return ARCP_OK;
        }
        (void)snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
        const int next = make_directory(at, part);
        (void)close(at);
        at = next;
        name = slash + 1;
    }
    if (at < 0) {
        return failed(making, path);
    }
    const arcp_status status = copy(making, path, at, name, 0);
    (void)close(at);
    return status;
}

/* ---- files that are made ---- */

static arcp_status make_files(preparation *making, const arcp__sandbox_etc *request,
                              const char *user, const char *group)
{
    arcp_buf passwd = arcp_buf_init();
    arcp_buf groups = arcp_buf_init();
    const char *home = strpbrk(request->home, ":\n") == NULL ? request->home : "/";
    arcp_buf_append_format(&passwd, "root:x:0:0:root:%s:/bin/sh\n",
                           request->uid == 0 ? home : "/root");
    arcp_buf_append_cstr(&groups, "root:x:0:\n");
    if (request->uid != 65534) {
        arcp_buf_append_cstr(&passwd,
                             "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
    }
    if (request->gid != 65534) {
        arcp_buf_append_cstr(&groups, "nogroup:x:65534:\n");
    }
    if (request->uid != 0) {
        arcp_buf_append_format(&passwd, "%s:x:%u:%u::%s:/bin/sh\n", user, (unsigned)request->uid,
                               (unsigned)request->gid, home);
    }
    if (request->gid != 0) {
        arcp_buf_append_format(&groups, "%s:x:%u:\n", group, (unsigned)request->gid);
    }
    const struct {
        const char *name;
        arcp_span text;
    } files[] = {
        {"passwd", arcp_buf_span(&passwd)},
        {"group", arcp_buf_span(&groups)},
        {"hostname", ARCP_SPAN_LITERAL("arcp\n")},
        {"hosts",
         ARCP_SPAN_LITERAL("127.0.0.1 localhost arcp\n::1 localhost ip6-localhost arcp\n")},
        /* Nothing answers there when the sandbox has no network: look-ups fail at once. */
        {"resolv.conf", ARCP_SPAN_LITERAL("nameserver 127.0.0.1\n")},
        {"nsswitch.conf", ARCP_SPAN_LITERAL("passwd: files\ngroup: files\nshadow: files\n"
                                            "hosts: files dns\nnetworks: files\n"
                                            "protocols: files\nservices: files\n")},
    };
    arcp_status status = ARCP_OK;
    for (size_t i = 0; status == ARCP_OK && i < sizeof files / sizeof *files; i++) {
        status = write_file(making, making->etc, files[i].name, files[i].text);
    }
    arcp_buf_fini(&passwd);
    arcp_buf_fini(&groups);
    return status;
}

/* ---- certificates ---- */

/* Opens the directory that a path below the prepared one is in; with `makes` the directories of it
 * that are absent are made. -1: it is absent, or an error. *name is the last part. */
static int open_above(const preparation *making, const char *path, bool makes, const char **name)
{
    int at = dup(making->etc);
    for (const char *slash = strchr(path, '/'); slash != NULL && at >= 0;
         slash = strchr(path, '/')) {
        char part[NAME_MAX + 1];
        (void)snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        const int next = makes ? make_directory(at, part)
                               : openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        (void)close(at);
        at = next;
        path = slash + 1;
    }
    *name = path;
    return at;
}

/* Puts a link in place of what may be there. With `adds` also where nothing is. */
static arcp_status place_link(preparation *making, const char *path, const char *to, bool adds)
{
    const char *name = NULL;
    struct stat about;
    arcp_status status = ARCP_OK;
    const int at = open_above(making, path, adds, &name);
    if (at < 0) {
        return adds ? failed(making, path) : ARCP_OK;
    }
    const bool is_there = fstatat(at, name, &about, AT_SYMLINK_NOFOLLOW) == 0;
    if ((is_there && unlinkat(at, name, 0) != 0) ||
        ((is_there || adds) && symlinkat(to, at, name) != 0)) {
        status = failed(making, path);
    }
    (void)close(at);
    return status;
}

/* Lets programs that read the system's certificates trust the authority of their sandbox, which
 * each sandbox has at the same path. */
static arcp_status trust(preparation *making, const char *link)
{
    /* Of Debian, Fedora, openSUSE and Alpine. The first is made where the host has none. */
    static const char *const bundles[] = {"ssl/certs/ca-certificates.crt",
                                          "pki/tls/certs/ca-bundle.crt",
                                          "pki/tls/certs/ca-bundle.trust.crt",
                                          "pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                          "ssl/ca-bundle.pem",
                                          "ssl/cert.pem"};
    char path[sizeof "ssl/certs/" + 64];
    (void)snprintf(path, sizeof path, "ssl/certs/%s", link);
    arcp_status status =
        place_link(making, path, ARCP__SANDBOX_CA_DIRECTORY "/" ARCP__SANDBOX_CA_FILE, true);
    for (size_t i = 0; status == ARCP_OK && i < sizeof bundles / sizeof *bundles; i++) {
        status = place_link(making, bundles[i],
                            ARCP__SANDBOX_CA_DIRECTORY "/" ARCP__SANDBOX_CA_BUNDLE, i == 0);
    }
    return status;
}

/* ---- directories ---- */

static void remove_below(int at, const char *name, int depth)
{
    DIR *entries = depth > DEPTH_MAX + 4 ? NULL : arcp__directory_entries(at, name);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(dirfd(entries), entry->d_name, 0) != 0) {
            remove_below(dirfd(entries), entry->d_name, depth + 1);
        }
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    (void)unlinkat(at, name, AT_REMOVEDIR);
}

/* Looks among what is prepared for a directory of this user that is current. Removes old ones. */
static bool find(int directory, arcp_span head, char name[NAME_MAX + 1])
{
    bool is_found = false;
    DIR *entries = arcp__directory_entries(directory, ".");
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        const bool is_new = strncmp(entry->d_name, "new-", 4) == 0;
        char path[NAME_MAX + 16];
        struct stat about;
        if (!is_new && strncmp(entry->d_name, "etc-", 4) != 0) {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/sources", entry->d_name);
        arcp_buf text = arcp_buf_init();
        const int fd = openat(directory, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        const bool is_of_user = fd >= 0 && read_file(fd, head, &text);
        const arcp_span sources = arcp_buf_span(&text);
        arcp__close(fd);
        if (!is_found && !is_new && is_of_user && sources.size >= head.size &&
            is_current(arcp_span_from(sources, head.size))) {
            (void)snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
            /* Its time is that of its last use. */
            (void)utimensat(directory, entry->d_name, NULL, AT_SYMLINK_NOFOLLOW);
            is_found = true;
        } else if (fstatat(directory, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
                   about.st_mtim.tv_sec + REPLACED_SEC < time(NULL)) {
            remove_below(directory, entry->d_name, 0);
        }
        arcp_buf_fini(&text);
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    return is_found;
}

static arcp_status make(int directory, const arcp__sandbox_etc *request, const char *const names[2],
                        arcp_span head, char name[NAME_MAX + 1], arcp_error *err)
{
    char path[PATH_MAX];
    preparation making = {.etc = -1, .sources = arcp_buf_init(), .err = err};
    if (snprintf(path, sizeof path, "%s/new-XXXXXX", request->directory) >= (int)sizeof path ||
        mkdtemp(path) == NULL) {
        return failed(&making, request->directory);
    }
    const char *made = path + strlen(request->directory) + 1;
    const int parent = make_directory(directory, made);
    arcp_status status = ARCP_OK;
    making.etc = parent < 0 ? -1 : make_directory(parent, "etc");
    if (making.etc < 0) {
        status = failed(&making, path);
    }
    arcp_buf_append(&making.sources, head);
    for (size_t i = 0; status == ARCP_OK && i < sizeof copied / sizeof *copied; i++) {
        status = copy_row(&making, request->root == NULL ? "" : request->root, copied[i]);
    }
    status = status == ARCP_OK ? make_files(&making, request, names[0], names[1]) : status;
    if (status == ARCP_OK && request->ca_link != NULL) {
        status = trust(&making, request->ca_link);
    }
    if (status == ARCP_OK && making.sources.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    status = status == ARCP_OK
                 ? write_file(&making, parent, "sources", arcp_buf_span(&making.sources))
                 : status;
    (void)snprintf(name, NAME_MAX + 1, "etc-%s", made + strlen("new-"));
    if (status == ARCP_OK && renameat(directory, made, directory, name) != 0) {
        status = failed(&making, path);
    }
    if (status != ARCP_OK) {
        remove_below(directory, made, 0);
    }
    arcp__close(making.etc);
    arcp__close(parent);
    arcp_buf_fini(&making.sources);
    return status;
}

arcp_status arcp__sandbox_etc_directory(arcp_span base, arcp_buf *path, arcp_error *err)
{
    struct stat about;
    arcp_buf_append(path, base);
    arcp_buf_append_format(path, "/etc-%u",
                           (unsigned)geteuid()); /* other users may share the base */
    const char *name = arcp_buf_cstr(path);
    if (name == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if ((mkdir(name, 0700) == 0 && chmod(name, 0711) != 0) || lstat(name, &about) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "the directory %s cannot be made: %s", name,
                              strerror(errno));
    }
    if (!S_ISDIR(about.st_mode) || about.st_uid != geteuid() ||
        (about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return arcp_error_set(err, ARCP_E_IO,
                              "%s is not a directory that only the user of this program can change",
                              name);
    }
    return ARCP_OK;
}

/* Which start of the host this is. */
static void append_boot(arcp_buf *head)
{
    arcp_buf text = arcp_buf_init();
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read_file(fd, ARCP_SPAN_LITERAL(""), &text)) {
        arcp_buf_append(head, arcp_buf_span(&text));
    }
    arcp__close(fd);
    arcp_buf_fini(&text);
}

/* Another release copies and makes other files: what it has prepared is not ours. */
static uint32_t release_mark(void)
{
    uint32_t mark = MADE_VERSION;
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        mark = arcp__crc32c(mark, copied[i], strlen(copied[i]) + 1);
    }
    return mark;
}

arcp_status arcp__sandbox_etc_prepare(const arcp__sandbox_etc *request, arcp_buf *path,
                                      arcp_error *err)
{
    char user_buffer[4096];
    char group_buffer[4096];
    struct passwd user_entry;
    struct group group_entry;
    struct passwd *user = NULL;
    struct group *group = NULL;
    char name[NAME_MAX + 1];
    const int directory = open(request->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0) {
        return arcp_error_set(err, ARCP_E_IO, "%s cannot be opened: %s", request->directory,
                              strerror(errno));
    }
    (void)getpwuid_r(request->uid, &user_entry, user_buffer, sizeof user_buffer, &user);
    (void)getgrgid_r(request->gid, &group_entry, group_buffer, sizeof group_buffer, &group);
    const char *const names[2] = {user == NULL ? "agent" : user->pw_name,
                                  group == NULL ? "agent" : group->gr_name};
    arcp_buf head = arcp_buf_init();
    arcp_buf_append_format(&head, "%u %u %s %s %s %s %08x\n", (unsigned)request->uid,
                           (unsigned)request->gid, names[0], names[1], request->home,
                           request->ca_link == NULL ? "-" : request->ca_link,
                           (unsigned)release_mark());
    append_boot(&head);
    arcp_status status =
        head.failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
    if (status == ARCP_OK && !find(directory, arcp_buf_span(&head), name)) {
        status = make(directory, request, names, arcp_buf_span(&head), name, err);
    }
    if (status == ARCP_OK) {
        arcp_buf_append_format(path, "%s/%s/etc", request->directory, name);
        status = path->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
    }
    arcp_buf_fini(&head);
    (void)close(directory);
    return status;
}
