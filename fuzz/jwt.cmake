arcp_fuzz(jwt_fuzz SOURCES jwt_fuzz.c NEEDS arcp_identity PkgConfig::CRYPTO)
