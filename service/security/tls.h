// The certificate that the service shows to its clients, and those it asks of them, read again while it
// serves.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Paths of PEM files: the certificate with its chain, its private key, and the authorities whose certificates
// clients must show, or NULL when they need none. The texts must stay.
struct tls_files {
    const char *certificate;
    const char *key;
    const char *client_authorities;
};

// Reads the files; handshakes that begin from now on use what they say. A second call replaces the first; for
// one thread at a time, while others serve. False with one line in `error` when a file is not what it must
// be: then everything stays as it was.
bool tls_load(const struct tls_files *files, char *error, size_t error_size);

// What a handshake calls for the certificate (a gnutls_certificate_retrieve_function2), after tls_load. From
// any thread.
typedef void (*tls_callback)(void);
tls_callback tls_identity(void);

// The authorities as text (PEM), as they were when first loaded, for the hint that the handshake gives; NULL
// when clients need no certificate.
const char *tls_authorities(void);

// Whether the client of this session (a gnutls_session_t) showed a certificate for clients that is good by
// now. From any thread.
bool tls_client_is_known(void *session);

// Forgets everything. After the last session.
void tls_unload(void);
