#include "support/check.h"

#include <unistd.h>

#include "arcp/captured_run.h"
#include "arcp/command.h"

int capture_begin(FILE *stream, FILE **file)
{
    *file = tmpfile();
    assert_non_null(*file);
    (void)fflush(stream);
    const int saved = dup(fileno(stream));
    assert_true(saved >= 0);
    assert_true(dup2(fileno(*file), fileno(stream)) >= 0);
    return saved;
}

void capture_end(FILE *stream, int saved, FILE *file, char *text, size_t size)
{
    (void)fflush(stream);
    assert_true(dup2(saved, fileno(stream)) >= 0);
    (void)close(saved);
    rewind(file);
    const size_t got = fread(text, 1, size - 1, file);
    text[got] = '\0';
    (void)fclose(file);
}

captured_run run_captured(const char *command, const char *const words[CAPTURED_WORDS_MAX])
{
    static captured_run result;
    char *argv[CAPTURED_WORDS_MAX + 3] = {(char *)"arcp", (char *)command};
    int argc = 2;
    for (size_t i = 0; i < CAPTURED_WORDS_MAX && words[i] != NULL; i++) {
        argv[argc++] = (char *)words[i];
    }
    FILE *out = NULL;
    FILE *err = NULL;
    const int saved_out = capture_begin(stdout, &out);
    const int saved_err = capture_begin(stderr, &err);
    result.status = arcp__main(argc, argv);
    capture_end(stdout, saved_out, out, result.out, sizeof result.out);
    capture_end(stderr, saved_err, err, result.err, sizeof result.err);
    return result;
}
