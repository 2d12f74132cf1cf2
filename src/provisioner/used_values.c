#include "provisioner/used_values.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"

#define LINE_SIZE (ARCP__USED_SUM_SIZE + 1)

static arcp_status failed(const char *path, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_IO, "%s: %s", path, strerror(errno));
}

/* A line that was cut off by a crash was never relied upon: nothing was handed out for it. */
static bool drop_torn_line(int fd)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return false;
    }
    off_t whole = facts.st_size - facts.st_size % LINE_SIZE;
    return whole == facts.st_size || ftruncate(fd, whole) == 0;
}

arcp_status arcp__used_values_open(const char *path, arcp__used_values *out, arcp_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return failed(path, err);
    }
    if (!drop_torn_line(fd) || fsync(fd) != 0) {
        arcp_status status = failed(path, err);
        (void)close(fd);
        return status;
    }
    out->fd = fd;
    return ARCP_OK;
}

void arcp__used_values_close(arcp__used_values *self)
{
    if (self->fd >= 0) {
        (void)close(self->fd);
        self->fd = -1;
    }
}

void arcp__used_value_sum(arcp_span value, char out[ARCP__USED_SUM_SIZE])
{
    unsigned char sum[SHA256_DIGEST_LENGTH];
    (void)SHA256((const unsigned char *)value.data, value.size, sum);
    arcp__hex_format(sum, sizeof(sum), out);
}

arcp_status arcp__used_values_read(const arcp__used_values *self,
                                   void (*each)(void *user, const char *sum), void *user,
                                   arcp_error *err)
{
    char line[LINE_SIZE];
    for (off_t at = 0;; at += LINE_SIZE) {
        ssize_t size = pread(self->fd, line, sizeof(line), at);
        if (size < 0) {
            return failed("the file of used values", err);
        }
        if (size < (ssize_t)sizeof(line)) {
            return ARCP_OK;
        }
        each(user, line);
    }
}

bool arcp__used_values_add(const arcp__used_values *self, const char *sum)
{
    char line[LINE_SIZE];
    memcpy(line, sum, ARCP__USED_SUM_SIZE);
    line[ARCP__USED_SUM_SIZE] = '\n';
    ssize_t size = write(self->fd, line, sizeof(line));
    if (size == (ssize_t)sizeof(line)) {
        return fdatasync(self->fd) == 0;
    }
    /* A part of a line would shift all later ones. */
    (void)drop_torn_line(self->fd);
    return false;
}
