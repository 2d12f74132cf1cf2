#include "door/door.h"

#include <openssl/evp.h>

size_t arcp__door_shard(arcp_span principal, size_t count)
{
    unsigned char digest[EVP_MAX_MD_SIZE] = {0};
    unsigned size = 0;
    uint64_t first = 0;
    if (count > 1 &&
        EVP_Digest(principal.data, principal.size, digest, &size, EVP_sha256(), NULL) != 1) {
        abort(); /* OpenSSL has no SHA-256, or no memory: no shard is the right one */
    }
    for (size_t i = 0; i < 8; i++) {
        first = first << 8 | digest[i];
    }
    return count > 1 ? (size_t)(first % count) : 0;
}

arcp_status arcp__door_new(const arcp__engine_options *options, arcp__engine **out, arcp_error *err)
{
    const arcp__engine_options door = {.runtime_name = options->runtime_name,
                                       .runtime_version = options->runtime_version,
                                       .settings = options->settings,
                                       .random = options->random,
                                       .random_user = options->random_user,
                                       .has_no_log = options->has_no_log,
                                       .now = options->now,
                                       .is_door = true,
                                       .is_one_of_many = true};
    return arcp__engine_new(&door, out, err);
}

bool arcp__door_pass(arcp__engine *door, arcp__engine *shard, arcp_time now,
                     const arcp__handover *what, const arcp__authentication *by, arcp__link **out)
{
    arcp__link_options options = what->options;
    bool takes_more = false;
    if (by != NULL) {
        options.principal = by->principal;
        options.role = by->role;
        options.by = by;
    }
    arcp__link *link = arcp__engine_connect(shard, now, &options);
    *out = link;
    if (link == NULL) {
        return false;
    }
    takes_more = arcp__engine_receive(shard, now, link, what->hello);
    if (what->has_next_frame) {
        takes_more = arcp__engine_receive(shard, now, link, what->next_frame);
    }
    if (what->input_is_over) {
        arcp__engine_input_over(shard, now, link);
    }
    arcp__engine_disconnect(door, now, what->link);
    return takes_more;
}
