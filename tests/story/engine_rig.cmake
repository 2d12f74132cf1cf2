# The engine in memory, for tests and fuzzers.
set(engine_rig_sources engine_rig.c rig_effects.c rig_peers.c rig_text.c)
list(TRANSFORM engine_rig_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
