/* The agent of jobs_bench: answers its start with a result; if its input is a number, it first asks
 * the gate this many times, one request after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    static char line[65536];
    static const char question[] =
        "{\"type\":\"authorize\",\"id\":\"1\",\"payload\":{\"capability\":"
        "\"fs.read\",\"target\":\"/srv/data/reports/2026/summary.csv\"}}\n";
    static const char result[] = "{\"type\":\"job.result\",\"payload\":{\"result\":1}}\n";
    if (fgets(line, sizeof line, stdin) == NULL) {
        return 1;
    }
    const char *input = strstr(line, "\"input\":");
    const unsigned long long questions = input == NULL ? 0 : strtoull(input + 8, NULL, 10);
    for (unsigned long long i = 0; i < questions; i++) {
        if (write(STDOUT_FILENO, question, sizeof question - 1) != sizeof question - 1 ||
            fgets(line, sizeof line, stdin) == NULL || strstr(line, "\"re\"") == NULL) {
            return 2;
        }
    }
    return write(STDOUT_FILENO, result, sizeof result - 1) == sizeof result - 1 ? 0 : 3;
}
