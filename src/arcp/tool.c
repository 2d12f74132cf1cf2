#include "arcp/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/libexec.h"
#include "cli/cli.h"

static bool find(const char *name, arcp_buf *path)
{
    arcp_buf program = ARCP_BUF_INIT;
    arcp_buf_append_format(&program, "arcp-%s", name);
    arcp_buf_append_byte(&program, '\0');
    bool found = !program.failed && arcp__libexec_find(program.data, path);
    path->failed = path->failed || program.failed;
    arcp_buf_fini(&program);
    return found;
}

bool arcp__tool_exec(int argc, char **argv, int at)
{
    arcp_buf path = ARCP_BUF_INIT;
    char **words = NULL;
    bool found = find(argv[at], &path);
    if (found) {
        words = arcp__alloc_array((size_t)argc, sizeof(*words));
    }
    if (words != NULL) {
        words[0] = path.data;
        memcpy(words + 1, argv + 1, (size_t)(at - 1) * sizeof(*words));
        memcpy(words + at, argv + at + 1, (size_t)(argc - at) * sizeof(*words)); /* with the NULL */
        (void)execv(path.data, words);
    }
    if (found) {
        (void)fprintf(stderr, "arcp %s: %s cannot be run: %s\n", argv[at], path.data,
                      words == NULL ? "out of memory" : strerror(errno));
    }
    arcp__free(words);
    arcp_buf_fini(&path);
    return found;
}

int arcp__tool_missing(arcp__program *program)
{
    const char *name = arcp__commands[program->arguments.command].name;
    arcp_buf places = ARCP_BUF_INIT;
    (void)find(name, &places);
    arcp__screen_format(&program->screen,
                        "arcp %s: the program arcp-%s is not installed; it was looked for in %.*s",
                        name, name, (int)places.size, places.size == 0 ? "" : places.data);
    arcp_buf_fini(&places);
    return ARCP__EXIT_ERROR;
}
