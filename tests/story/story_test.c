/* Plays every script of tests/scripts as a test of its own: in memory; with --volatile, in memory
 * on a store that is not durable; with the arguments ARCPD AGENT, on a real arcpd. */
#include <dirent.h>

#include "story/stage.h"
#include "support/check.h"

static const char *arcpd;
static const char *agent;
static bool is_volatile;

static void play(void **state)
{
    story_stage stage;
    if (arcpd == NULL) {
        story_stage_memory_begin(&stage, is_volatile);
        story_play(&stage, *state);
        story_stage_memory_end(&stage);
    } else {
        story_stage_arcpd_begin(&stage, arcpd, agent);
        story_play(&stage, *state);
        story_stage_arcpd_end(&stage);
    }
}

static bool has_line(const char *path, const char *begin)
{
    char line[4096];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        found = found || strncmp(line, begin, strlen(begin)) == 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

/* The clock of a real arcpd cannot be set, nor what its sandboxes answer nor its agents; a volatile
 * store is empty after a restart; and with several shards (src/arcpd/many_shards.h) some answers
 * are others. */
static bool is_for_another_stage(const char *path)
{
    return (arcpd != NULL && (has_line(path, "clock ") || has_line(path, "wall ") ||
                              has_line(path, "host ") || has_line(path, "agents "))) ||
           (is_volatile && has_line(path, "restart")) ||
           (arcpd != NULL && getenv("ARCPD_SHARDS") != NULL && has_line(path, "# One shard: "));
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
    is_volatile = argc == 2 && strcmp(argv[1], "--volatile") == 0;
    const char *only = argc > 3 ? argv[3] : "";
    const int found = scandir(ARCP_SOURCE_DIR "/tests/scripts", &entries, NULL, alphasort);
    for (int i = 0; i < found && count < 512; i++) {
        const char *name = entries[i]->d_name;
        const char *dot = strrchr(name, '.');
        char *path = NULL;
        if (dot != NULL && strcmp(dot, ".story") == 0 && strstr(name, only) != NULL &&
            asprintf(&path, "%s/tests/scripts/%s", ARCP_SOURCE_DIR, name) >= 0) {
            if (is_for_another_stage(path)) {
                free(path);
                free(entries[i]);
                continue;
            }
            tests[count++] = (struct CMUnitTest){
                .name = strrchr(path, '/') + 1, .test_func = play, .initial_state = path};
        }
        free(entries[i]);
    }
    free(entries);
    if (count == 0) {
        (void)fprintf(stderr, "no stories found\n");
        return 1;
    }
    const int failed = _cmocka_run_group_tests("stories", tests, count, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        free(tests[i].initial_state);
    }
    return failed;
}
