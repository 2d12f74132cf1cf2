/* Every script of tests/scripts, each as a named test. */
#include <dirent.h>

#include "engine/story.h"
#include "support/check.h"

static void run(void **state)
{
    story_run_in_memory(*state);
}

int main(void)
{
    struct dirent **entries = NULL;
    static struct CMUnitTest tests[512];
    size_t count = 0;
    int found = scandir(ARCP_SOURCE_DIR "/tests/scripts", &entries, NULL, alphasort);
    for (int at = 0; at < found && count < 512; at++) {
        const char *name = entries[at]->d_name;
        const char *dot = strrchr(name, '.');
        if (dot != NULL && strcmp(dot, ".story") == 0) {
            char *path = NULL;
            if (asprintf(&path, "%s/tests/scripts/%s", ARCP_SOURCE_DIR, name) < 0) {
                return 1;
            }
            tests[count++] = (struct CMUnitTest){.name = path + strlen(ARCP_SOURCE_DIR) + 15,
                                                 .test_func = run,
                                                 .initial_state = path};
        }
        free(entries[at]);
    }
    free(entries);
    if (count == 0) {
        (void)fprintf(stderr, "no stories found\n");
        return 1;
    }
    int failed = _cmocka_run_group_tests("stories", tests, count, NULL, NULL);
    for (size_t at = 0; at < count; at++) {
        free(tests[at].initial_state);
    }
    return failed;
}
