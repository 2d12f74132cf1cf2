/* Runs a command of `arcp` in this process and captures what it prints. */
#ifndef ARCP_TESTS_ARCP_CAPTURED_RUN_H
#define ARCP_TESTS_ARCP_CAPTURED_RUN_H

#include <stdio.h>

enum { CAPTURED_WORDS_MAX = 12 };

typedef struct captured_run {
    int status;
    char out[8192];
    char err[4096];
} captured_run;

/* Runs `arcp COMMAND WORDS...`; the words end with NULL. */
captured_run run_captured(const char *command, const char *const words[CAPTURED_WORDS_MAX]);

/* Redirects a stream into an unnamed file; returns the descriptor that restores it. */
int capture_begin(FILE *stream, FILE **file);
/* Restores the stream and reads what was written. */
void capture_end(FILE *stream, int saved, FILE *file, char *text, size_t size);

#endif
