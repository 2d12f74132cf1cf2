/* Lines of an agent: each line of the input is one line of its standard output. Whatever they are,
 * the frames for the job's client keep every promise of tests/engine/watch.h, and the job ends
 * once. */
#include <stdlib.h>
#include <string.h>

#include "engine/play.h"
#include "lines.h"

#define LINES_MAX 64

static void start_job(play *p)
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
    rig_client *client = rig_connect(&p->rig, "a1");
    rig_send(&p->rig, client, hello);
    rig_send(&p->rig, client, submit);
    play_look(p);
    require(p->watch.job_count == 1 && rig_agent_last(&p->rig) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    play *p = malloc(sizeof *p);
    require(p != NULL);
    play_begin_bytes(p, data, size);
    start_job(p);
    const rig_agent *agent = &p->rig.agents[0];
    arcp_span rest = arcp_span_make((const char *)data, size);
    for (unsigned count = 0; rest.size != 0 && count < LINES_MAX && !agent->forgotten; count++) {
        const arcp_span line = take_line(&rest);
        p->watch.step++;
        arcp__engine_agent_line(p->rig.engine, p->rig.now, agent->job, 0, line);
        rig_run(&p->rig);
        play_look(p);
    }
    play_settle(p);
    play_end(p);
    free(p);
    return 0;
}
