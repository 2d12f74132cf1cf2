#include "base/libexec.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool arcp__libexec_find(const char *name, arcp_buf *out)
{
    char self[4096];
    const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    self[size < 0 ? 0 : size] = '\0';
    char *slash = strrchr(self, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    const struct {
        const char *directory; /* NULL: unknown, without /proc */
        const char *below;
    } places[] = {{slash == NULL ? NULL : self, ""},
                  {slash == NULL ? NULL : self, "/../libexec/arcp"},
                  {ARCP_LIBEXEC_DIRECTORY, ""}};
    const size_t start = out->size;
    arcp_buf missing = arcp_buf_init();
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i].directory == NULL) {
            continue;
        }
        arcp_buf_append_format(out, "%s%s/%s", places[i].directory, places[i].below, name);
        arcp_buf_append_byte(out, '\0');
        struct stat about;
        const char *path = out->data + start;
        if (out->failed ||
            (stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0)) {
            arcp_buf_fini(&missing);
            return !out->failed;
        }
        out->size = start;
        arcp_buf_append_format(&missing, "%s%s%s", missing.size == 0 ? "" : ", ",
                               places[i].directory, places[i].below);
    }
    arcp_buf_append(out, arcp_buf_span(&missing));
    out->failed = out->failed || missing.failed;
    arcp_buf_fini(&missing);
    return false;
}
