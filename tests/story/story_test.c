/* Every script of tests/scripts, each as a named test: in memory, or with the arguments
 * ARCPD AGENT on a real arcpd. */
#include <dirent.h>

#include "story/story.h"
#include "support/check.h"

static const char *arcpd;
static const char *agent;

static void play(void **state)
{
    story_stage stage;
    if (arcpd == NULL) {
        story_stage_memory_begin(&stage);
        story_play(&stage, *state);
        story_stage_memory_end(&stage);
    } else {
        story_stage_arcpd_begin(&stage, arcpd, agent);
        story_play(&stage, *state);
        story_stage_arcpd_end(&stage);
    }
}

/* Time cannot be set on a real arcpd. */
static bool has_clock(const char *path)
{
    char line[4096];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        found = found || strncmp(line, "clock ", 6) == 0 || strncmp(line, "wall ", 5) == 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[512];
    struct dirent **entries = NULL;
    size_t count = 0;
    if (argc > 2) {
        arcpd = argv[1];
        agent = argv[2];
    }
    const char *only = argc > 3 ? argv[3] : "";
    int found = scandir(ARCP_SOURCE_DIR "/tests/scripts", &entries, NULL, alphasort);
    for (int at = 0; at < found && count < 512; at++) {
        const char *name = entries[at]->d_name;
        const char *dot = strrchr(name, '.');
        char *path = NULL;
        if (dot != NULL && strcmp(dot, ".story") == 0 && strstr(name, only) != NULL &&
            asprintf(&path, "%s/tests/scripts/%s", ARCP_SOURCE_DIR, name) >= 0) {
            if (arcpd != NULL && has_clock(path)) {
                free(path);
                free(entries[at]);
                continue;
            }
            tests[count++] = (struct CMUnitTest){
                .name = strrchr(path, '/') + 1, .test_func = play, .initial_state = path};
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
