arcp_fuzz(worker_frame_fuzz SOURCES worker_frame_fuzz.c NEEDS arcp_worker)
