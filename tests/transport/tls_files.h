/* Certificates for tests, created in a temporary folder. */
#ifndef ARCP_TESTS_TLS_FILES_H
#define ARCP_TESTS_TLS_FILES_H

typedef struct tls_files {
    char directory[64];
    char ca[96];          /* the authority */
    char other_ca[96];    /* one that signed nothing */
    char certificate[96]; /* for localhost, 127.0.0.1 and ::1, signed by the authority */
    char key[96];
    char wrong_name[96]; /* for elsewhere.example */
    char wrong_name_key[96];
    char expired[96];
    char expired_key[96];
} tls_files;

void tls_files_make(tls_files *files);
void tls_files_remove(tls_files *files);

/* Replaces certificate and key by new ones with this serial number. */
void tls_files_renew(tls_files *files, long serial);

/* One set for all tests of a program, with its group setup and teardown for cmocka. */
extern tls_files test_tls_files;
int tls_files_setup(void **state);
int tls_files_teardown(void **state);

#endif
