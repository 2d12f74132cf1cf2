/* How a link is closed whose peer sends a frame that is no envelope: with 1007 if its bytes are not
 * UTF-8, and only then. */
#include "base/alloc.h"
#include "engine/frames.h"
#include "story/engine_rig.h"
#include "support/check.h"

static const struct {
    const char *name;
    const char *frame;
    int close_code;
} rows[] = {
    {"a name twice", "{\"a\":1,\"a\":2}", 1008},
    {"a name twice that is UTF-8 by name", "{\"UTF-8\":1,\"UTF-8\":2}", 1008},
    {"a version that is UTF-8 by name",
     "{\"arcp\":\"UTF-8\",\"id\":\"x\",\"type\":\"session.hello\"}", 1008},
    {"no JSON", "not json", 1008},
    {"half a surrogate pair", "{\"a\":\"\\ud800\"}", 1008},
    {"a byte that no character has", "{\"a\":\"\xff\"}", 1007},
    {"an overlong form", "{\"a\":\"\xc0\xaf\"}", 1007},
    {"half a character", "{\"a\":\"\xc3", 1007},
    {"such a byte in a name", "{\"\xff\":1}", 1007},
    {"such a byte outside of strings", "{\"a\":1}\xff", 1007},
};

static void only_invalid_utf_8_is_closed_as_invalid_utf_8(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int is_open = 0; is_open < 2; is_open++) {
            static engine_rig rig;
            rig_start(&rig, NULL);
            rig_client *client = rig_connect(&rig, "a");
            if (is_open) {
                rig_send(&rig, client, HELLO_WITH("\"list_jobs\""));
                arcp__free(rig_take(client));
            }
            rig_send(&rig, client, rows[i].frame);
            if (client->close_code != rows[i].close_code) {
                fail_msg("%s closes %d", rows[i].name, client->close_code);
            }
            rig_stop(&rig);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_invalid_utf_8_is_closed_as_invalid_utf_8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
