arcp_fuzz(web_message_fuzz SOURCES web_message_fuzz.c NEEDS arcp_web)
