arcp_fuzz(worker_frame_fuzz SOURCES worker_frame_fuzz.c NEEDS arcp_worker)
arcp_fuzz(worker_core_fuzz SOURCES worker_core_fuzz.c NEEDS arcp_worker)
