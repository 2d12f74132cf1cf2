/* The certificates that a program trusts where TLS is terminated: those of the host, and that of
 * its sandbox's authority. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "launch/sandbox_helper/helper_open.h"
#include "launch/sandbox_helper/helper_view.h"

#define BUNDLE_BYTES_MAX ((size_t)16 << 20)
#define DIRECTORY        "certificates"       /* in the private file system */
#define IN_TMP           "/arcp-certificates" /* level landlock: the directory in TMPDIR */

/* Programs that read the system's certificates need none of these in a prepared /etc. Others do:
 * Node.js and requests bring certificates of their own, as do programs that were built with another
 * OpenSSL; and /etc is the host's at level landlock, and when the lease grants it. */
static const struct {
    const char *name;
    const char *file;
} variables[] = {{"NODE_EXTRA_CA_CERTS", ARCP__SANDBOX_CA_FILE},
                 {"SSL_CERT_FILE", ARCP__SANDBOX_CA_BUNDLE},
                 {"REQUESTS_CA_BUNDLE", ARCP__SANDBOX_CA_BUNDLE},
                 {"GIT_SSL_CAINFO", ARCP__SANDBOX_CA_BUNDLE}};

enum { VARIABLES = sizeof variables / sizeof variables[0] };

/* ---- files ---- */

/* The host's, of Debian, Fedora, openSUSE and Alpine. */
static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

/* Adds the certificates that the host trusts, from the first file that is there; all users may read
 * it. Without one only the authority is trusted. */
static bool append_bundle(int host, int to)
{
    char chunk[65536];
    struct stat about;
    size_t left = BUNDLE_BYTES_MAX;
    int from = -1;
    for (size_t i = 0; i < sizeof bundles / sizeof *bundles && from < 0; i++) {
        from = arcp__helper_open(host, bundles[i] + 1, O_RDONLY | O_NONBLOCK, RESOLVE_IN_ROOT);
    }
    if (from < 0) {
        return true;
    }
    bool is_written = fstat(from, &about) == 0 && S_ISREG(about.st_mode);
    ssize_t size = 0;
    while (is_written && left > 0 &&
           (size = read(from, chunk, left < sizeof chunk ? left : sizeof chunk)) > 0) {
        is_written = arcp__write_all(to, arcp_span_make(chunk, (size_t)size));
        left -= (size_t)size;
    }
    is_written = is_written && size >= 0 && arcp__write_all(to, ARCP_SPAN_LITERAL("\n"));
    (void)close(from);
    return is_written;
}

static bool write_file(int host, int directory, const char *name, const char *certificate)
{
    const bool has_bundle = strcmp(name, ARCP__SANDBOX_CA_BUNDLE) == 0;
    const int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    const bool is_written = fd >= 0 && (!has_bundle || append_bundle(host, fd)) &&
                            arcp__write_all(fd, arcp_span_cstr(certificate));
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_written;
}

/* Makes the directory with both files. False sets errno. */
static bool make_directory(int host, int at, const char *name, const char *certificate)
{
    const int directory = mkdirat(at, name, 0755) != 0
                              ? -1
                              : openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const bool is_made = directory >= 0 &&
                         write_file(host, directory, ARCP__SANDBOX_CA_FILE, certificate) &&
                         write_file(host, directory, ARCP__SANDBOX_CA_BUNDLE, certificate);
    if (directory >= 0) {
        (void)close(directory);
    }
    return is_made;
}

void arcp__helper_certificates(const arcp__helper_view *view, const char *certificate)
{
    const arcp_span target = ARCP_SPAN_LITERAL(ARCP__SANDBOX_CA_DIRECTORY);
    if (certificate[0] == '\0') {
        return;
    }
    arcp__helper_begin(ARCP__HELPER_CERTIFICATES);
    if (!make_directory(view->host, view->scratch, DIRECTORY, certificate) ||
        !arcp__helper_attach(
            arcp__helper_copy(view->scratch, DIRECTORY,
                              ARCP__HELPER_TREE | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC),
            arcp__helper_target(view, target, ARCP__HELPER_IS_DIRECTORY))) {
        arcp__helper_fail(ARCP__SANDBOX_CA_DIRECTORY);
    }
}

void arcp__helper_replace_bundles(const arcp__helper_view *view, const char *certificate)
{
    if (certificate[0] == '\0') {
        return;
    }
    arcp__helper_begin(ARCP__HELPER_CERTIFICATES);
    for (size_t i = 0; i < sizeof bundles / sizeof *bundles; i++) {
        const arcp_span target = arcp_span_cstr(bundles[i]);
        struct stat about;
        const int place = arcp__helper_target(view, target, ARCP__HELPER_MUST_EXIST);
        if (place < 0) {
            continue; /* absent, or a link: in a prepared /etc, or to another one of them */
        }
        if (fstat(place, &about) != 0 || !S_ISREG(about.st_mode)) {
            (void)close(place);
        } else if (!arcp__helper_attach(arcp__helper_copy(view->scratch,
                                                          DIRECTORY "/" ARCP__SANDBOX_CA_BUNDLE,
                                                          ARCP__HELPER_TREE | MOUNT_ATTR_RDONLY),
                                        place)) {
            arcp__helper_fail_at(target);
        }
    }
}

/* ---- the environment ---- */

static bool has_variable(char *const *env, const char *name)
{
    const size_t size = strlen(name);
    for (; *env != NULL; env++) {
        if (strncmp(*env, name, size) == 0 && (*env)[size] == '=') {
            return true;
        }
    }
    return false;
}

static void add_variables(arcp__helper *helper, const char *directory)
{
    static char texts[VARIABLES][PATH_MAX + 64];
    size_t count = 0;
    while (helper->child.env[count] != NULL) {
        count++;
    }
    char **all = arcp__alloc_array(count + VARIABLES + 1, sizeof *all);
    if (all == NULL) {
        errno = ENOMEM;
        arcp__helper_fail(NULL);
    }
    memcpy(all, helper->child.env, count * sizeof *all);
    for (size_t i = 0; i < VARIABLES; i++) {
        if (!has_variable(helper->child.env, variables[i].name)) {
            (void)snprintf(texts[i], sizeof texts[i], "%s=%s/%s", variables[i].name, directory,
                           variables[i].file);
            all[count++] = texts[i];
        }
    }
    helper->child.env = all; /* the last element is NULL */
}

void arcp__helper_trust(arcp__helper *helper)
{
    const bool is_full = helper->plan->level == ARCP__SANDBOX_LEVEL_FULL;
    const arcp_span tmp = helper->plan->tmp;
    const char *certificate = helper->view.ca_certificate;
    char directory[PATH_MAX] = ARCP__SANDBOX_CA_DIRECTORY;
    arcp__helper_begin(ARCP__HELPER_CERTIFICATES);
    if (certificate[0] == '\0') {
        return;
    }
    if (!is_full) {
        const int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (snprintf(directory, sizeof directory, "%.*s" IN_TMP, (int)tmp.size, tmp.data) >=
            (int)sizeof directory) {
            errno = ENAMETOOLONG;
            arcp__helper_fail_at(tmp);
        }
        if (host < 0 || !make_directory(host, AT_FDCWD, directory, certificate)) {
            arcp__helper_fail(directory);
        }
        (void)close(host);
    }
    add_variables(helper, directory);
}
