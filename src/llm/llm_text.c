/* One token for each byte of ASCII holds for tokenizers that merge bytes. It does not hold where a
 * text is normalised before: some characters then become many. A normaliser does not touch ASCII,
 * so other bytes count more. */
#include "llm/llm_call.h"

/* An escape \uXXXX stands for a character of three bytes at most; where a provider shows a model
 * the JSON itself, it is six characters of ASCII. */
#define ESCAPE_BYTES 3
#define ESCAPE_SIZE  6

uint64_t arcp__llm_text_tokens(arcp_span text, uint64_t other_tokens_per_byte)
{
    uint64_t ascii = 0;
    uint64_t others = 0;
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if (byte >= 0x80) {
            others++;
        } else if (byte != '\\' || i + 1 == text.size) {
            ascii++;
        } else if (text.data[i + 1] != 'u') {
            ascii += 2;
            i++;
        } else {
            if (other_tokens_per_byte * ESCAPE_BYTES > ESCAPE_SIZE) {
                others += ESCAPE_BYTES;
            } else {
                ascii += ESCAPE_SIZE;
            }
            i += text.size - i > ESCAPE_SIZE ? ESCAPE_SIZE - 1 : text.size - i - 1;
        }
    }
    uint64_t sum = 0;
    return __builtin_mul_overflow(others, other_tokens_per_byte, &sum) ||
                   __builtin_add_overflow(sum, ascii, &sum)
               ? UINT64_MAX
               : sum;
}
