/* Runs each named file, and each file in a named folder, through a fuzz target once: the corpus as
 * a regression test, for compilers without libFuzzer. */
#include "entry.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    struct stat about;
    if (fstat(fileno(file), &about) != 0 || about.st_size < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        fclose(file);
        return -1;
    }
    /* Exactly as long as the input, so that a sanitizer detects the first byte read beyond it. */
    const size_t size = (size_t)about.st_size;
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (data == NULL || fread(data, 1, size, file) != size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        free(data);
        fclose(file);
        return -1;
    }
    fclose(file);
    /* Named first, so that the log of a crash ends with the input's name. */
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

/* The number of inputs that ran, or -1. */
static long replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    long count = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        char name[4096];
        const int length = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof name || replay_file(name) != 0) {
            closedir(folder);
            return -1;
        }
        count++;
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    long count = 0;
    for (int i = 1; i < argc; i++) {
        struct stat about;
        long ran = -1;
        if (stat(argv[i], &about) != 0) {
            fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
        } else if (S_ISDIR(about.st_mode)) {
            ran = replay_folder(argv[i]);
        } else {
            ran = replay_file(argv[i]) == 0 ? 1 : -1;
        }
        if (ran < 0) {
            return 1;
        }
        count += ran;
    }
    printf("%ld inputs\n", count);
    /* A corpus that is empty or misnamed would make a test that cannot fail. */
    return count > 0 ? 0 : 1;
}
