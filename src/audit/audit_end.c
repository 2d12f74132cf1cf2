#include "audit/audit_end.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"

/* Longer than any line: what peers chose is cut (src/log/audit.c). */
#define WINDOW_BYTES ((uint64_t)1 << 20)

static arcp_status read_window(int fd, uint64_t size, arcp_buf *out, arcp_error *err)
{
    uint64_t at = size > WINDOW_BYTES ? size - WINDOW_BYTES : 0;
    char chunk[16384];
    while (at < size) {
        ssize_t got = pread(fd, chunk, sizeof(chunk), (off_t)at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return arcp_error_set(err, ARCP_E_IO, "the end of the audit file cannot be read: %s",
                                  got == 0 ? "it became shorter" : strerror(errno));
        }
        arcp_buf_append(out, arcp_span_make(chunk, (size_t)got));
        at += (uint64_t)got;
    }
    return out->failed ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory") : ARCP_OK;
}

static const char *last_line_feed(arcp_span text)
{
    return text.size == 0 ? NULL : memrchr(text.data, '\n', text.size);
}

/* The last line that is one: a power failure may leave several behind it that are none. */
static void read_last_line(arcp_span window, arcp__audit_end *out)
{
    arcp_span lines = window;
    for (const char *feed = last_line_feed(lines); feed != NULL; feed = last_line_feed(lines)) {
        lines = arcp_span_first(lines, (size_t)(feed - lines.data));
        const char *before = last_line_feed(lines);
        arcp_span line =
            before == NULL ? lines : arcp_span_from(lines, (size_t)(before - lines.data) + 1);
        arcp__audit_line_view view;
        if (arcp__audit_line_read(line, &view)) {
            out->head.seq = view.seq;
            memcpy(out->head.hash, view.hash.data, sizeof(out->head.hash));
            arcp_buf_append(&out->torn, arcp_span_from(window, lines.size + 1));
            return;
        }
    }
    out->is_foreign = last_line_feed(window) != NULL;
    arcp_buf_append(&out->torn, window);
}

/* A write that was cut off right before its line feed wrote a whole line. */
static void take_unended(arcp__audit_end *out)
{
    char hash[ARCP__AUDIT_HASH_SIZE];
    arcp__audit_line_view view;
    if (out->is_foreign || !arcp__audit_line_read(arcp_buf_span(&out->torn), &view) ||
        view.seq != out->head.seq + 1) {
        return;
    }
    arcp__audit_line_hash(out->head.hash, &view, hash);
    if (memcmp(hash, view.hash.data, sizeof(hash)) == 0) {
        out->head.seq = view.seq;
        memcpy(out->head.hash, hash, sizeof(hash));
        out->is_unended = true;
        arcp_buf_clear(&out->torn);
    }
}

arcp_status arcp__audit_end_read(int fd, arcp__audit_end *out, arcp_error *err)
{
    struct stat about;
    arcp_buf window = ARCP_BUF_INIT;
    *out = (arcp__audit_end){.torn = ARCP_BUF_INIT};
    arcp__audit_head_init(&out->head);
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        return arcp_error_set(err, ARCP_E_IO, "the audit file is no regular file");
    }
    out->size = (uint64_t)about.st_size;
    arcp_status status = read_window(fd, out->size, &window, err);
    if (status == ARCP_OK) {
        read_last_line(arcp_buf_span(&window), out);
        take_unended(out);
        if (out->torn.failed) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    arcp_buf_fini(&window);
    return status;
}

void arcp__audit_end_fini(arcp__audit_end *end)
{
    arcp_buf_fini(&end->torn);
}

/* ---- files beside it ---- */

static bool is_sibling(const char *entry, arcp_span name)
{
    arcp_span text = arcp_span_cstr(entry);
    return text.size > name.size + 1 && arcp_span_starts_with(text, name) &&
           (text.data[name.size] == '.' || text.data[name.size] == '-');
}

static void look_at(int directory, const char *entry, arcp__audit_head *out)
{
    arcp__audit_end end;
    int fd = openat(directory, entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return;
    }
    if (arcp__audit_end_read(fd, &end, NULL) == ARCP_OK && end.head.seq > out->seq) {
        *out = end.head;
    }
    arcp__audit_end_fini(&end);
    (void)close(fd);
}

void arcp__audit_end_of_siblings(const char *path, arcp__audit_head *out)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    arcp_span name = arcp_span_cstr(slash == NULL ? path : slash + 1);
    arcp__audit_head_init(out);
    arcp__directory_of(path, folder);
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory)) {
        if (is_sibling(entry->d_name, name)) {
            look_at(dirfd(directory), entry->d_name, out);
        }
    }
    (void)closedir(directory);
}
