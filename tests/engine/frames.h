/* Frames as a client of an engine in memory writes them. */
#ifndef ARCP_TESTS_FRAMES_H
#define ARCP_TESTS_FRAMES_H

#define FRAME(id, type, payload)                                                                   \
    "{\"arcp\":\"1.1\",\"id\":\"" id "\",\"type\":\"" type "\",\"payload\":" payload "}"
/* Of the principal, with features such as "\"ack\",\"subscribe\"". */
#define HELLO_OF(principal, features)                                                              \
    FRAME("h", "session.hello",                                                                    \
          "{\"auth\":{\"scheme\":\"bearer\",\"token\":\"t-" principal "\"},\"capabilities\":{"     \
          "\"encodings\":[\"json\"],\"features\":[" features "]}}")
#define HELLO_WITH(features) HELLO_OF("alice", features)
#define HELLO_PLAIN          HELLO_WITH("")

#endif
