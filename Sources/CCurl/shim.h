#pragma once
#include <curl/curl.h>

// Swift cannot call libcurl's setters, which are variadic. These functions wrap them.

static inline CURLcode souk_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode souk_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode souk_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode souk_curl_set_bytes(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode souk_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

typedef size_t (*souk_curl_callback)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode souk_curl_set_callback(
    CURL *handle, CURLoption function, souk_curl_callback callback, CURLoption data, void *context) {
    CURLcode code = curl_easy_setopt(handle, function, callback);
    return code == CURLE_OK ? curl_easy_setopt(handle, data, context) : code;
}

/// Allows only http and https URLs.
static inline CURLcode souk_curl_allow_only_http(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static inline CURLMcode souk_curl_multi_set_long(CURLM *handle, CURLMoption option, long value) {
    return curl_multi_setopt(handle, option, value);
}

/// Returns the finished transfer of a message; `NULL` for a message of another kind.
static inline CURL *souk_curl_finished(const CURLMsg *message, CURLcode *result) {
    if (message->msg != CURLMSG_DONE) return NULL;
    *result = message->data.result;
    return message->easy_handle;
}

static const size_t souk_curl_write_pause = CURL_WRITEFUNC_PAUSE;
static const size_t souk_curl_read_pause = CURL_READFUNC_PAUSE;
static const size_t souk_curl_read_abort = CURL_READFUNC_ABORT;
