// The certificate that the service shows to its clients, and those it asks of them, read again while it
// serves.
#include "security/tls.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAIN = 16, KEY_ID = 64 };

// What was read at one time. Sessions refer to it for as long as they last, so none is freed before the end.
struct identity {
    struct identity *older;
    gnutls_pcert_st chain[CHAIN];
    unsigned chain_size;
    gnutls_privkey_t key;
    gnutls_x509_trust_list_t authorities;
};

static struct identity *_Atomic current;
static char *first_authorities; // PEM

// --- reading ---------------------------------------------------------------------------------------------

static bool complain(char *error, size_t size, const char *file, const char *what)
{
    snprintf(error, size, "%s %s", file, what);
    return false;
}

static bool take_chain(struct identity *identity, const gnutls_datum_t *pem, uint8_t *id, size_t *id_size)
{
    gnutls_x509_crt_t *list = NULL;
    unsigned size = 0;
    if (gnutls_x509_crt_list_import2(&list, &size, pem, GNUTLS_X509_FMT_PEM,
                                     GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED) < 0)
        return false;
    unsigned chain_size = size;
    bool good = size > 0 && size <= CHAIN &&
                gnutls_x509_crt_get_key_id(list[0], GNUTLS_KEYID_USE_SHA256, id, id_size) == 0 &&
                gnutls_pcert_import_x509_list(identity->chain, list, &chain_size, 0) == 0;
    for (unsigned i = 0; i < size; i++)
        gnutls_x509_crt_deinit(list[i]);
    gnutls_free(list);
    identity->chain_size = good ? chain_size : 0;
    return good;
}

static bool take_key(struct identity *identity, const gnutls_datum_t *pem, uint8_t *id, size_t *id_size)
{
    gnutls_x509_privkey_t key;
    if (gnutls_x509_privkey_init(&key) < 0)
        return false;
    if (gnutls_x509_privkey_import2(key, pem, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN) < 0 ||
        gnutls_x509_privkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, id, id_size) < 0 ||
        gnutls_privkey_init(&identity->key) < 0) {
        gnutls_x509_privkey_deinit(key);
        return false;
    }
    if (gnutls_privkey_import_x509(identity->key, key, GNUTLS_PRIVKEY_IMPORT_AUTO_RELEASE) == 0)
        return true;
    gnutls_x509_privkey_deinit(key);
    return false;
}

static bool take_authorities(struct identity *identity, const gnutls_datum_t *pem)
{
    return gnutls_x509_trust_list_init(&identity->authorities, 0) == 0 &&
           gnutls_x509_trust_list_add_trust_mem(identity->authorities, pem, NULL, GNUTLS_X509_FMT_PEM, 0, 0) >
               0;
}

static bool read_file(const char *path, gnutls_datum_t *out)
{
    *out = (gnutls_datum_t){0};
    return gnutls_load_file(path, out) == 0;
}

static void forget_file(gnutls_datum_t *file)
{
    if (file->data)
        gnutls_memset(file->data, 0, file->size);
    gnutls_free(file->data);
    file->data = NULL;
}

static bool read_pair(struct identity *identity, const struct tls_files *files, char *error,
                      size_t error_size)
{
    gnutls_datum_t certificate = {0}, key = {0};
    uint8_t ids[2][KEY_ID];
    size_t sizes[2] = {KEY_ID, KEY_ID};
    bool good = false;
    if (!read_file(files->certificate, &certificate))
        complain(error, error_size, files->certificate, "cannot be read");
    else if (!read_file(files->key, &key))
        complain(error, error_size, files->key, "cannot be read");
    else if (!take_chain(identity, &certificate, ids[0], &sizes[0]))
        complain(error, error_size, files->certificate,
                 "is no certificate in PEM, followed by its chain in order");
    else if (!take_key(identity, &key, ids[1], &sizes[1]))
        complain(error, error_size, files->key, "is no private key in PEM without a passphrase");
    else if (sizes[0] != sizes[1] || memcmp(ids[0], ids[1], sizes[0]) != 0)
        complain(error, error_size, files->key, "is not the key of the certificate");
    else
        good = true;
    forget_file(&certificate);
    forget_file(&key);
    return good;
}

static bool read_authorities(struct identity *identity, const char *path, char *error, size_t error_size)
{
    gnutls_datum_t file;
    if (!read_file(path, &file))
        return complain(error, error_size, path, "cannot be read");
    bool good = take_authorities(identity, &file);
    if (!good)
        complain(error, error_size, path, "has no certificates in PEM");
    else if (!first_authorities)
        first_authorities = strndup((const char *)file.data, file.size);
    gnutls_free(file.data);
    return good;
}

static void identity_free(struct identity *identity)
{
    for (unsigned i = 0; i < identity->chain_size; i++)
        gnutls_pcert_deinit(&identity->chain[i]);
    if (identity->key)
        gnutls_privkey_deinit(identity->key);
    if (identity->authorities)
        gnutls_x509_trust_list_deinit(identity->authorities, 1);
    free(identity);
}

bool tls_load(const struct tls_files *files, char *error, size_t error_size)
{
    struct identity *identity = calloc(1, sizeof *identity);
    if (!identity)
        abort();
    if (!read_pair(identity, files, error, error_size) ||
        (files->client_authorities &&
         !read_authorities(identity, files->client_authorities, error, error_size))) {
        identity_free(identity);
        return false;
    }
    identity->older = atomic_load(&current);
    atomic_store(&current, identity);
    return true;
}

void tls_unload(void)
{
    struct identity *identity = atomic_exchange(&current, NULL);
    while (identity) {
        struct identity *older = identity->older;
        identity_free(identity);
        identity = older;
    }
    free(first_authorities);
    first_authorities = NULL;
}

// --- serving ---------------------------------------------------------------------------------------------

static int give_identity(gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count,
                         const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                         gnutls_pcert_st **chain, unsigned *chain_size, gnutls_privkey_t *key)
{
    (void)session;
    (void)authorities;
    (void)authority_count;
    (void)algorithms;
    (void)algorithm_count;
    struct identity *identity = atomic_load(&current);
    *chain = identity->chain;
    *chain_size = identity->chain_size;
    *key = identity->key;
    return 0;
}

tls_callback tls_identity(void)
{
    return (tls_callback)give_identity;
}

const char *tls_authorities(void)
{
    return first_authorities;
}

// The client's certificates as it sent them; gives how many were taken.
static unsigned import_peers(const gnutls_datum_t *peers, unsigned count, gnutls_x509_crt_t *list)
{
    unsigned taken = 0;
    for (; taken < count && taken < CHAIN; taken++) {
        if (gnutls_x509_crt_init(&list[taken]) < 0)
            return taken;
        if (gnutls_x509_crt_import(list[taken], &peers[taken], GNUTLS_X509_FMT_DER) < 0) {
            gnutls_x509_crt_deinit(list[taken]);
            return taken;
        }
    }
    return taken;
}

bool tls_client_is_known(void *session)
{
    struct identity *identity = atomic_load(&current);
    unsigned count = 0, verdict = ~0U;
    const gnutls_datum_t *peers = gnutls_certificate_get_peers(session, &count);
    if (!peers || !count || !identity->authorities)
        return false;
    gnutls_x509_crt_t list[CHAIN];
    unsigned taken = import_peers(peers, count, list);
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
    bool good = taken > 0 && gnutls_x509_trust_list_verify_crt2(identity->authorities, list, taken, &purpose,
                                                                1, 0, &verdict, NULL) == 0;
    for (unsigned i = 0; i < taken; i++)
        gnutls_x509_crt_deinit(list[i]);
    return good && verdict == 0;
}
