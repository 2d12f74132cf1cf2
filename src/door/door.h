/* The door of a runtime with several shards. A principal lives in one shard, and its name is not
 * known before its token is verified. Until then a link belongs to the door: an engine without a
 * store, agents or sessions, which bounds and refuses peers as any engine does.
 *
 *     a hello came ── its token is verified ──> the link leaves for its principal's shard
 *          │ it is not valid, there is no hello in time, it is no hello
 *          v
 *     refused here
 *
 * The shard gets the hello, without its token, the frame behind it, and what is left of the time
 * for a hello. It trusts the door for who the peer is. With one shard there is no door: links
 * belong to the shard from the start. docs/decisions/0039-shards.md */
#ifndef ARCP_DOOR_DOOR_H
#define ARCP_DOOR_DOOR_H

#include "engine/engine.h"

/* The shard, from 0 on, of a principal: the first 8 bytes of its name's SHA-256, as a big-endian
 * number, modulo `count`. Stores depend on it: it must not change. */
size_t arcp__door_shard(arcp_span principal, size_t count);

/* Makes a door with the settings, the texts and the sources of `options`. ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__door_new(const arcp__engine_options *options, arcp__engine **out,
                                           arcp_error *err);

/* Moves a link from the door to a shard. `by`: how its token was verified; NULL: the token is a
 * browser's, and the shard verifies it. *out is its link there; false: it takes no more frames for
 * now, as arcp__engine_receive. *out is NULL when out of memory or when the shard has failed: the
 * owner closes the connection. */
bool arcp__door_pass(arcp__engine *door, arcp__engine *shard, arcp_time now,
                     const arcp__handover *what, const arcp__authentication *by, arcp__link **out);

#endif
