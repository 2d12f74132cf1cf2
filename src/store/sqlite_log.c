/* SQLite's recovery silently ends at the first frame that does not match its checksum. That is
 * right at the end of the log, which a power failure can tear, and wrong in the middle, where
 * damage hides all later commits. The log itself shows which of the two it is.
 *
 * A log is a header (32 bytes: magic, version, page size, count of checkpoints, two salts, two
 * words of checksum) and frames (24 bytes: page, size of the database in pages if it ends a
 * commit or 0, both salts, two words of checksum; then the page). A frame's checksum continues that
 * of the frame before it; its salts are the header's. Frames with other salts were written before
 * the log was restarted. <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>
 *
 * After a power failure: the header was synced before the first frame was written, and the frames
 * of a commit were synced before any frame of the next commit was written. So only the frames of
 * the last commit can be torn. The following cases are damage:
 *
 *  - an invalid header, unless the whole log is zeros;
 *  - a frame with only one of the two salts;
 *  - after the first bad frame, a frame that ends a commit, followed by one whose checksum
 * continues it: the second was written after the first, and everything before it, was synced.
 *
 * Anything else looks like a torn end, which SQLite discards. */
#include "store/sqlite_log.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define HEADER_BYTES       32u
#define FRAME_HEADER_BYTES 24u
#define MAGIC              0x377f0682u /* the last bit: words of checksums are big-endian */
#define FORMAT             3007000u
#define PAGE_BYTES_MAX     65536u

typedef struct checksum {
    uint32_t words[2];
} checksum;

typedef struct log_file {
    char path[PATH_MAX + 8];
    int fd;
    uint64_t bytes;
    bool is_big_endian;
    uint32_t page_bytes;
    uint32_t salts[2];
    checksum sum; /* of all frames so far */
    uint8_t *frame;
} log_file;

/* The header of a frame. */
typedef struct frame_header {
    bool has_salts;
    bool ends_commit;
    checksum stored;
} frame_header;

static uint32_t word_at(const uint8_t *bytes, size_t index)
{
    uint32_t word;
    memcpy(&word, bytes + 4 * index, sizeof word);
    return be32toh(word);
}

static checksum add_bytes(const log_file *log, checksum sum, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += 8) {
        uint32_t pair[2];
        memcpy(pair, bytes + i, sizeof pair);
        sum.words[0] += (log->is_big_endian ? be32toh(pair[0]) : le32toh(pair[0])) + sum.words[1];
        sum.words[1] += (log->is_big_endian ? be32toh(pair[1]) : le32toh(pair[1])) + sum.words[0];
    }
    return sum;
}

static bool is_same(checksum left, checksum right)
{
    return left.words[0] == right.words[0] && left.words[1] == right.words[1];
}

/* False (ARCP_E_IO) on failure, also if the file has become shorter. */
static bool read_at(const log_file *log, uint64_t offset, uint8_t *out, size_t size,
                    arcp_error *err)
{
    for (size_t done = 0; done < size;) {
        const ssize_t got = pread(log->fd, out + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            (void)arcp_error_set(err, ARCP_E_IO, "%s: cannot be read: %s", log->path,
                                 got < 0 ? strerror(errno) : "it ends early");
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

static arcp_status damaged(const log_file *log, uint64_t offset, const char *what, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT,
                          "%s: damaged: %s at offset %llu; commits after it would be lost",
                          log->path, what, (unsigned long long)offset);
}

/* ---- the header ---- */

static bool take_header(log_file *log, const uint8_t *bytes)
{
    const uint32_t magic = word_at(bytes, 0);
    log->is_big_endian = (magic & 1) != 0;
    log->page_bytes = word_at(bytes, 2);
    log->salts[0] = word_at(bytes, 4);
    log->salts[1] = word_at(bytes, 5);
    log->sum = add_bytes(log, (checksum){{0, 0}}, bytes, 24);
    return (magic & ~1u) == MAGIC && word_at(bytes, 1) == FORMAT && log->page_bytes >= 512 &&
           log->page_bytes <= PAGE_BYTES_MAX && (log->page_bytes & (log->page_bytes - 1)) == 0 &&
           is_same(log->sum, (checksum){{word_at(bytes, 6), word_at(bytes, 7)}});
}

/* Whether the log is all zeros: then its header was never synced, and no frame was written. False
 * if it cannot be read, too. */
static bool is_blank(const log_file *log, arcp_error *err)
{
    uint8_t bytes[4096];
    for (uint64_t offset = 0; offset < log->bytes; offset += sizeof bytes) {
        const uint64_t left = log->bytes - offset;
        const size_t size = left < sizeof bytes ? (size_t)left : sizeof bytes;
        if (!read_at(log, offset, bytes, size, err)) {
            return false;
        }
        for (size_t i = 0; i < size; i++) {
            if (bytes[i] != 0) {
                return false;
            }
        }
    }
    return true;
}

/* ---- frames ---- */

static arcp_status check_frames(const log_file *log, arcp_error *err)
{
    const uint8_t *frame = log->frame;
    const uint64_t size = FRAME_HEADER_BYTES + log->page_bytes;
    uint64_t bad_at = 0; /* offset of the first bad frame; 0: none yet */
    frame_header before = {.stored = log->sum};
    for (uint64_t offset = HEADER_BYTES; offset + size <= log->bytes; offset += size) {
        if (!read_at(log, offset, log->frame, size, err)) {
            return err->status;
        }
        const bool has_first = word_at(frame, 2) == log->salts[0];
        const bool has_second = word_at(frame, 3) == log->salts[1];
        const frame_header header = {.has_salts = has_first && has_second,
                                     .ends_commit = word_at(frame, 1) != 0,
                                     .stored = {{word_at(frame, 4), word_at(frame, 5)}}};
        checksum sum = add_bytes(log, before.stored, frame, 8);
        sum = add_bytes(log, sum, frame + FRAME_HEADER_BYTES, log->page_bytes);
        const bool follows =
            header.has_salts && word_at(frame, 0) != 0 && is_same(sum, header.stored);
        if (bad_at == 0 && !follows) {
            if (has_first != has_second) {
                return damaged(log, offset, "the frame", err);
            }
            bad_at = offset;
        } else if (bad_at != 0 && follows && before.has_salts && before.ends_commit) {
            return damaged(log, bad_at, "the frame", err);
        }
        before = header;
    }
    return ARCP_OK;
}

static arcp_status check_open(log_file *log, arcp_error *err)
{
    uint8_t header[HEADER_BYTES];
    struct stat info;
    if (fstat(log->fd, &info) != 0) {
        return arcp_error_set(err, ARCP_E_IO, "%s: cannot be checked: %s", log->path,
                              strerror(errno));
    }
    log->bytes = (uint64_t)info.st_size;
    if (!S_ISREG(info.st_mode) || log->bytes < HEADER_BYTES) {
        return ARCP_OK; /* not a log; SQLite reports it if it is not usable */
    }
    if (!read_at(log, 0, header, sizeof header, err)) {
        return err->status;
    }
    if (!take_header(log, header)) {
        if (is_blank(log, err)) {
            return ARCP_OK;
        }
        return err->status != ARCP_OK ? err->status : damaged(log, 0, "the header", err);
    }
    log->frame = arcp__alloc(FRAME_HEADER_BYTES + log->page_bytes);
    if (log->frame == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory to check %s", log->path);
    }
    const arcp_status status = check_frames(log, err);
    arcp__free(log->frame);
    return status;
}

arcp_status arcp__sqlite_log_check(const char *path, arcp_error *err)
{
    log_file log = {.fd = -1};
    char resolved[PATH_MAX]; /* the log is beside the file, not beside a link to it */
    if (err->status != ARCP_OK) {
        return err->status;
    }
    snprintf(log.path, sizeof log.path, "%s-wal",
             realpath(path, resolved) != NULL ? resolved : path);
    log.fd = open(log.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (log.fd < 0) {
        return errno == ENOENT ? ARCP_OK
                               : arcp_error_set(err, ARCP_E_IO, "%s: cannot be opened: %s",
                                                log.path, strerror(errno));
    }
    const arcp_status status = check_open(&log, err);
    close(log.fd);
    return status;
}
