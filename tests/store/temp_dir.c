#include "store/temp_dir.h"

#include <unistd.h>

#include "support/check.h"
#include "support/remove_tree.h"

temp_dir *temp_dir_new(void)
{
    temp_dir *dir = calloc(1, sizeof *dir);
    assert_non_null(dir);
    const char *base = getenv("TMPDIR");
    snprintf(dir->path, sizeof dir->path, "%s/arcp-store-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(dir->path));
    return dir;
}

void temp_dir_free(temp_dir *dir)
{
    if (dir != NULL) {
        (void)remove_tree(dir->path);
        free(dir);
    }
}

const char *temp_dir_join(const temp_dir *dir, const char *prefix, const char *name)
{
    static char texts[8][600];
    static unsigned turn;
    char *text = texts[turn++ % 8];
    snprintf(text, sizeof texts[0], "%s%s/%s", prefix, dir->path, name);
    return text;
}
