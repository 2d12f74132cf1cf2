/* Lines of an agent: each line of the input is one line of its standard output. Whatever they are,
 * the frames for the job's client keep every promise of tests/engine/watch.h, and the job ends
 * once. */
#include <stdlib.h>
#include <string.h>

#include "engine/play.h"
#include "lines.h"

#define LINES_MAX 64

static void start_job(play *self)
{
    static const char hello[] =
        "{\"arcp\":\"1.1\",\"id\":\"h\",\"type\":\"session.hello\",\"payload\":{\"auth\":{"
        "\"scheme\":"
        "\"bearer\",\"token\":\"t-alice\"},\"capabilities\":{\"encodings\":[\"json\"],\"features\":"
        "["
        "\"subscribe\",\"cost.budget\",\"progress\",\"result_chunk\",\"lease_expires_at\"]}}}";
    static const char submit[] =
        "{\"arcp\":\"1.1\",\"id\":\"s\",\"type\":\"job.submit\",\"payload\":{\"agent\":\"echo\","
        "\"lease_request\":{\"tool.call\":[\"web.*\"],\"fs.read\":[\"/srv/"
        "**\"],\"agent.delegate\":["
        "\"**\"],\"cost.budget\":[\"USD:5\"]}}}";
    rig_client *client = rig_connect(&self->rig, "a1");
    rig_send(&self->rig, client, hello);
    rig_send(&self->rig, client, submit);
    play_look(self);
    require(self->watch.job_count == 1 && rig_agent_last(&self->rig) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    play *self = malloc(sizeof *self);
    require(self != NULL);
    play_begin_bytes(self, data, size);
    start_job(self);
    rig_agent *agent = &self->rig.agents[0];
    arcp_span rest = arcp_span_make((const char *)data, size);
    for (unsigned count = 0; rest.size != 0 && count < LINES_MAX && !agent->forgotten; count++) {
        arcp_span line = take_line(&rest);
        self->watch.step++;
        arcp__engine_agent_line(self->rig.engine, self->rig.now, agent->job, line);
        rig_run(&self->rig);
        play_look(self);
    }
    play_settle(self);
    play_end(self);
    free(self);
    return 0;
}
