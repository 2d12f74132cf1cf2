#include "session/view.h"

#define LIMIT_DEFAULT  100u
#define PAGE_BYTES_MAX 1048576u
#define OVERHEAD_BYTES 128u /* of the page around its rows, with a cursor */

arcp__view_listing arcp__view_listing_begin(arcp__sessions *sessions, const arcp__view_call *call,
                                            const char *rows, uint64_t limit)
{
    const size_t frame_max = arcp__frame_payload_max(sessions->context) - OVERHEAD_BYTES;
    arcp__view_listing listing = {.sessions = sessions,
                                  .call = call,
                                  .out = arcp_buf_init(),
                                  .limit = limit == 0 ? LIMIT_DEFAULT : limit,
                                  .bytes_max =
                                      frame_max < PAGE_BYTES_MAX ? frame_max : PAGE_BYTES_MAX};
    arcp_buf_append_format(&listing.out, "{\"%s\":[", rows);
    return listing;
}

bool arcp__view_listing_add(arcp__view_listing *listing, arcp_buf *row)
{
    listing->is_full =
        listing->shown == listing->limit ||
        (listing->shown != 0 && listing->out.size + row->size + 1 > listing->bytes_max);
    if (!listing->is_full) {
        arcp_buf_append(&listing->out,
                        listing->shown == 0 ? ARCP__NOTHING : ARCP_SPAN_LITERAL(","));
        arcp_buf_append(&listing->out, arcp_buf_span(row));
        listing->out.failed = listing->out.failed || row->failed;
        listing->shown++;
    }
    arcp__context_give_buf(listing->sessions->context, row);
    return !listing->is_full;
}

void arcp__view_listing_answer(arcp__view_listing *listing, const char *last)
{
    arcp_buf_append_cstr(&listing->out, "],\"next_cursor\":");
    if (listing->is_full) {
        arcp_json_quote(arcp_span_cstr(last), &listing->out);
    } else {
        arcp_buf_append_cstr(&listing->out, "null");
    }
    arcp_buf_append_byte(&listing->out, '}');
    arcp__view_answer(listing->sessions, listing->call, &listing->out);
    arcp_buf_fini(&listing->out);
}
