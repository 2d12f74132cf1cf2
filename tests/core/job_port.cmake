arcp_test(job_port_test SOURCES job_port_test.c gate_rig.c NEEDS arcp_core)
