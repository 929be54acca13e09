#pragma once
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/cms.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/obj_mac.h>
#include <openssl/objects.h>
#include <openssl/ocsp.h>
#include <openssl/opensslv.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Swift cannot call function-like macros and variadic functions. These functions wrap the ones that Souk needs.

static inline long souk_bio_contents(BIO *bio, char **contents) { return BIO_get_mem_data(bio, contents); }
static inline void souk_openssl_free(void *pointer) { OPENSSL_free(pointer); }
static inline EVP_PKEY *souk_generate_key(const char *curve) { return EVP_EC_gen(curve); }
static inline EVP_PKEY *souk_generate_rsa_key(unsigned int bits) { return EVP_RSA_gen(bits); }
static inline EVP_PKEY *souk_generate_ed25519_key(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"); }
static inline STACK_OF(X509) *souk_x509_stack(X509 **certificates, int count) {
    STACK_OF(X509) *stack = sk_X509_new_null();
    for (int index = 0; stack && index < count; index++) {
        if (!sk_X509_push(stack, certificates[index])) { sk_X509_free(stack); return NULL; }
    }
    return stack;
}
static inline void souk_x509_stack_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }
static inline int souk_x509_stack_count(const STACK_OF(X509) *stack) { return sk_X509_num(stack); }
static inline X509 *souk_x509_stack_element(const STACK_OF(X509) *stack, int index) { return sk_X509_value(stack, index); }
static inline int souk_print_name(BIO *bio, const X509_NAME *name) {
    return X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) >= 0;
}
static inline int souk_text_stack_count(const STACK_OF(OPENSSL_STRING) *stack) { return sk_OPENSSL_STRING_num(stack); }
static inline const char *souk_text_stack_element(const STACK_OF(OPENSSL_STRING) *stack, int index) {
    return sk_OPENSSL_STRING_value(stack, index);
}
