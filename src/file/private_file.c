#include "file/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/random.h"

#define READ_BYTES 4096u

static arcp_status io_failed(const arcp__private_file *file, const char *what, int number,
                             arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_IO, "%s %s cannot be %s: %s", file->what, file->path, what,
                          strerror(number));
}

/* ---- reading ---- */

static arcp_status check(const arcp__private_file *file, int fd, arcp_error *err)
{
    struct stat about;
    if (fstat(fd, &about) != 0) {
        return io_failed(file, "read", errno, err);
    }
    if (!S_ISREG(about.st_mode)) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s %s is not a regular file", file->what,
                              file->path);
    }
    if ((about.st_mode & file->closed_to) != 0) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              (file->closed_to & 070) != 0
                                  ? "%s %s must be a file that only its owner can read (chmod 600)"
                                  : "%s %s is a secret that everybody may read (chmod o= it)",
                              file->what, file->path);
    }
    if (file->must_be_ours && about.st_uid != geteuid()) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s %s belongs to another user", file->what,
                              file->path);
    }
    return ARCP_OK;
}

static arcp_status read_all(const arcp__private_file *file, int fd, arcp_buf *out, arcp_error *err)
{
    for (size_t left = file->bytes_max; left != 0;) {
        const size_t room = left < READ_BYTES ? left : READ_BYTES;
        if (!arcp_buf_reserve(out, room)) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
        const ssize_t got = read(fd, out->data + out->size, room);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return io_failed(file, "read", errno, err);
        }
        if (got == 0) {
            break;
        }
        out->size += (size_t)got;
        left -= (size_t)got;
    }
    return ARCP_OK;
}

arcp_status arcp__private_file_read(const arcp__private_file *file, arcp_buf *out, arcp_error *err)
{
    const int fd =
        open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (file->may_be_link ? 0 : O_NOFOLLOW));
    if (fd < 0 && errno == ENOENT) {
        return arcp_error_set(err, ARCP_E_NOT_FOUND, "%s %s cannot be read: %s", file->what,
                              file->path, strerror(ENOENT));
    }
    if (fd < 0) {
        return io_failed(file, "read", errno, err);
    }
    arcp_status status = check(file, fd, err);
    if (status == ARCP_OK) {
        status = read_all(file, fd, out, err);
    }
    (void)close(fd);
    return status;
}

/* ---- writing ---- */

/* Writes the text to a new file in the same directory and stores its name in `fresh`. The name is
 * random: where others may create files too, they can neither put something there before nor
 * prevent the writing. */
static arcp_status write_fresh(const arcp__private_file *file, arcp_span text, bool is_durable,
                               char fresh[4096], arcp_error *err)
{
    uint64_t random = 0;
    arcp__random(&random, sizeof random);
    const int size = snprintf(fresh, 4096, "%s.new%016" PRIx64, file->path, random);
    if (size < 0 || size >= 4096) {
        return arcp_error_set(err, ARCP_E_USAGE, "%s: the path is too long", file->what);
    }
    const int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return io_failed(file, "made", errno, err);
    }
    const int number = arcp__write_all(fd, text) && (!is_durable || fsync(fd) == 0) ? 0 : errno;
    (void)close(fd);
    if (number != 0) {
        (void)unlink(fresh);
        return io_failed(file, "written", number, err);
    }
    return ARCP_OK;
}

arcp_status arcp__private_file_replace(const arcp__private_file *file, arcp_span text,
                                       arcp_error *err)
{
    char fresh[4096];
    arcp_status status = write_fresh(file, text, false, fresh, err);
    if (status == ARCP_OK && rename(fresh, file->path) != 0) {
        status = io_failed(file, "written", errno, err);
        (void)unlink(fresh);
    }
    return status;
}

/* link() never replaces an existing file, as rename() would: when two processes create the file,
 * the first one wins. Some file systems have no links. */
static bool put_in_place(const char *fresh, const char *path)
{
    if (link(fresh, path) == 0 || errno == EEXIST) {
        return true;
    }
    return (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS) && rename(fresh, path) == 0;
}

arcp_status arcp__private_file_make(const arcp__private_file *file, arcp_span text, arcp_error *err)
{
    char fresh[4096];
    arcp_status status = write_fresh(file, text, true, fresh, err);
    if (status != ARCP_OK) {
        return status;
    }
    status = put_in_place(fresh, file->path) ? ARCP_OK : io_failed(file, "made", errno, err);
    (void)unlink(fresh);
    (void)arcp__directory_sync(file->path);
    return status;
}

arcp_status arcp__private_file_read_or_make(const arcp__private_file *file, arcp_span initial,
                                            arcp_buf *out, arcp_error *err)
{
    arcp_status status = arcp__private_file_read(file, out, err);
    if (status != ARCP_E_NOT_FOUND) {
        return status;
    }
    status = arcp__private_file_make(file, initial, err);
    return status == ARCP_OK ? arcp__private_file_read(file, out, err) : status;
}
