/* Bytes both ways, each way until its sender has ended and all of it was written. */
#include "egress/egress_parts.h"

/* Passes on what was received: all of it at once, without a copy. */
static bool move(arcp__egress_side *from, arcp__egress_side *to)
{
    bool has_moved = false;
    if (from->in.size > 0 && (to->is_broken || to->out.size + to->busy == 0)) {
        const arcp_buf spare = to->out;
        to->out = from->in;
        from->in = spare;
        arcp__loop_share_give_buffer(from->share, &from->in);
        has_moved = true;
    }
    if (from->has_ended && from->in.size == 0 && !to->finishes) {
        to->finishes = true;
        has_moved = true;
    }
    return has_moved;
}

bool arcp__egress_tunnel_step(arcp__egress_connection *c)
{
    const bool up = move(&c->client, &c->server);
    const bool down = move(&c->server, &c->client);
    const bool is_over = c->client.is_finished && c->server.is_finished && c->client.has_ended &&
                         c->server.has_ended;
    if (is_over || (c->server.is_broken && arcp__egress_side_is_flushed(&c->client) &&
                    c->server.in.size == 0)) {
        arcp__egress_connection_close(c);
        return true;
    }
    return up || down;
}
