/* The served agent of jobs_bench (mode: serve): answers each job.start with a result. It looks for
 * the id where arcpd writes it, and writes the answers to all lines of one read at once. */
#include <string.h>
#include <unistd.h>

#define ID_AT    11u /* after {"job_id":" */
#define ID_BYTES 64u

static char input[1 << 20], output[1 << 20];

/* Appends the answer to a line that is a job.start; returns the bytes of output. */
static size_t answer(const char *line, const char *end, size_t at)
{
    static const char head[] = "{\"job_id\":\"";
    static const char tail[] = "\",\"type\":\"job.result\",\"payload\":{\"result\":1}}\n";
    const char *id = line + ID_AT;
    const char *quote = (size_t)(end - line) <= ID_AT ? NULL : memchr(id, '"', (size_t)(end - id));
    if (quote == NULL || (size_t)(quote - id) > ID_BYTES ||
        memmem(quote, (size_t)(end - quote), "\"job.start\"", 11) == NULL) {
        return at;
    }
    memcpy(output + at, head, sizeof head - 1);
    at += sizeof head - 1;
    memcpy(output + at, id, (size_t)(quote - id));
    at += (size_t)(quote - id);
    memcpy(output + at, tail, sizeof tail - 1);
    return at + sizeof tail - 1;
}

static int write_all(size_t size)
{
    for (size_t at = 0; at < size;) {
        const ssize_t written = write(STDOUT_FILENO, output + at, size - at);
        if (written <= 0) {
            return 1;
        }
        at += (size_t)written;
    }
    return 0;
}

int main(void)
{
    size_t kept = 0; /* bytes of a line that is not complete */
    ssize_t got = 0;
    while ((got = read(STDIN_FILENO, input + kept, sizeof input - kept)) > 0) {
        const char *rest = input;
        const char *end = NULL;
        size_t written = 0;
        kept += (size_t)got;
        while ((end = memchr(rest, '\n', (size_t)(input + kept - rest))) != NULL) {
            written = answer(rest, end, written);
            rest = end + 1;
            if (written > sizeof output / 2) {
                if (write_all(written) != 0) {
                    return 1;
                }
                written = 0;
            }
        }
        if (write_all(written) != 0) {
            return 1;
        }
        kept -= (size_t)(rest - input);
        memmove(input, rest, kept);
    }
    return 0;
}
