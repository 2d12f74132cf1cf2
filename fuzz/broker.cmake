arcp_fuzz(broker_path_fuzz SOURCES broker_path_fuzz.c NEEDS arcp_broker)
