arcp_fuzz(llm_prices_fuzz SOURCES llm_prices_fuzz.c NEEDS arcp_llm)
arcp_fuzz(llm_call_fuzz SOURCES llm_call_fuzz.c NEEDS arcp_llm)
arcp_fuzz(llm_answer_fuzz SOURCES llm_answer_fuzz.c NEEDS arcp_llm)
