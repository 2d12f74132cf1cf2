/* An agent that asks the gate for operations that its lease does not allow: as many as its input
 * says, 64 at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE 64u

int main(void)
{
    static const char question[] =
        "{\"type\":\"authorize\",\"id\":\"1\",\"payload\":{\"capability\":\"fs.read\","
        "\"target\":\"/etc/passwd\"}}\n";
    static char line[65536];
    if (fgets(line, sizeof line, stdin) == NULL) {
        return 1;
    }
    const char *events = strstr(line, "\"events\":");
    unsigned long left = events == NULL ? 0 : strtoul(events + strlen("\"events\":"), NULL, 10);
    while (left > 0) {
        const unsigned long now = left < AT_ONCE ? left : AT_ONCE;
        for (unsigned long i = 0; i < now; i++) {
            (void)fputs(question, stdout);
        }
        (void)fflush(stdout);
        for (unsigned long i = 0; i < now; i++) {
            if (fgets(line, sizeof line, stdin) == NULL) {
                return 1;
            }
        }
        left -= now;
    }
    (void)puts("{\"type\":\"job.result\",\"payload\":{\"result\":null}}");
    return fflush(stdout) == 0 ? 0 : 1;
}
