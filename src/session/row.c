#include "session/session_state.h"

#define SESSION(member, kind) ARCP__MEMBER(arcp__session_row, member, #member, kind)
#define INDEX(member, kind)   ARCP__MEMBER(arcp__index_record, member, #member, kind)

static const arcp__member session_rows[] = {
    {SESSION(session_id, STRING), .required = true},
    {SESSION(principal, STRING), .required = true},
    {SESSION(anonymous, BOOL)},
    {SESSION(client, TEXT)},
    {SESSION(client_version, TEXT)},
    {SESSION(features, COUNT)},
    {SESSION(created_at, INSTANT), .required = true},
    {SESSION(token_hash, HASH), .required = true},
    {SESSION(previous_token_hash, HASH)},
    {SESSION(acked_seq, COUNT)},
};
const arcp__members arcp__session_members = ARCP__MEMBERS(session_rows);

static const arcp__member index_rows[] = {
    {INDEX(seq, COUNT), .required = true},
    {INDEX(count, COUNT), .required = true},
    {INDEX(stream, STRING), .required = true},
    {INDEX(position, COUNT)},
    {INDEX(bytes, COUNT)},
    {INDEX(total, COUNT)},
};
const arcp__members arcp__index_members = ARCP__MEMBERS(index_rows);
