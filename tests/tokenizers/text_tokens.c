/* Prints for each line of standard input, which is JSON, how many tokens it can be at most: in the
 * APIs of OpenAI, and in that of Anthropic. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "llm/llm_call.h"

int main(void)
{
    const uint64_t openai = arcp__llm_policy_init(ARCP__LLM_ROUTE_CHAT).other_tokens_per_byte;
    const uint64_t anthropic =
        arcp__llm_policy_init(ARCP__LLM_ROUTE_MESSAGES).other_tokens_per_byte;
    char *line = NULL;
    size_t room = 0;
    ssize_t size = 0;
    while ((size = getline(&line, &room, stdin)) > 0) {
        const arcp_span text = arcp_span_make(line, (size_t)size - (line[size - 1] == '\n'));
        (void)printf("%" PRIu64 " %" PRIu64 "\n", arcp__llm_text_tokens(text, openai),
                     arcp__llm_text_tokens(text, anthropic));
    }
    free(line);
    return 0;
}
