#include "arcp/temp_tree.h"

#include "support/check.h"
#include "support/remove_tree.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

void temp_tree_make(char *out, size_t room)
{
    (void)snprintf(out, room, "/tmp/arcp-test-XXXXXX");
    assert_non_null(mkdtemp(out));
}

void temp_tree_add(const char *path)
{
    char text[512];
    assert_true(strlen(path) < sizeof text);
    memcpy(text, path, strlen(path) + 1);
    for (char *slash = strchr(text + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(text, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    assert_true(mkdir(text, 0700) == 0 || errno == EEXIST);
}

int temp_tree_remove(const char *path)
{
    return remove_tree(path);
}
