#pragma once
#include <fcntl.h>
#include <microhttpd.h>
#include <string.h>
#include <sys/socket.h>

// Swift cannot call microhttpd's variadic functions. These functions wrap them.

typedef struct souk_mhd_settings {
    unsigned int flags;
    unsigned int connections;
    unsigned int idle_seconds;
    size_t memory_per_connection;
    const char *private_key;
    const char *certificate;
    /// A GnuTLS priority string.
    const char *tls_priorities;
    void *context;
    MHD_AccessHandlerCallback access;
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback connection;
    void *(*request_line)(void *context, const char *target, struct MHD_Connection *connection);
} souk_mhd_settings;

/// Leaves percent-escapes undecoded.
static inline size_t souk_mhd_keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

static inline struct MHD_Daemon *souk_mhd_start(const souk_mhd_settings *settings) {
    struct MHD_OptionItem options[16];
    int count = 0;
    options[count++] = (struct MHD_OptionItem){MHD_OPTION_CONNECTION_LIMIT, settings->connections, NULL};
    options[count++] = (struct MHD_OptionItem){MHD_OPTION_CONNECTION_TIMEOUT, settings->idle_seconds, NULL};
    options[count++] =
        (struct MHD_OptionItem){MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)settings->memory_per_connection, NULL};
    // Turns off microhttpd's strict checks, which answer in HTML or not at all. HTTPListener checks the requests.
    options[count++] = (struct MHD_OptionItem){MHD_OPTION_STRICT_FOR_CLIENT, 0, NULL};
    options[count++] =
        (struct MHD_OptionItem){MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)&souk_mhd_keep_escapes, NULL};
    options[count++] = (struct MHD_OptionItem){
        MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)settings->request_line, settings->context};
    options[count++] = (struct MHD_OptionItem){
        MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)settings->completed, settings->context};
    options[count++] = (struct MHD_OptionItem){
        MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)settings->connection, settings->context};
    if (settings->private_key != NULL) {
        options[count++] =
            (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)settings->private_key};
        options[count++] =
            (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)settings->certificate};
        options[count++] =
            (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)settings->tls_priorities};
    }
    options[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return MHD_start_daemon(
        settings->flags, 0, NULL, NULL, settings->access, settings->context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

static inline unsigned int souk_mhd_flags(int uses_tls) {
    unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET;
    return uses_tls ? flags | MHD_USE_TLS : flags;
}

/// Returns the context that the connection callback stored for this connection.
static inline void *souk_mhd_connection_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

static inline int souk_mhd_connection_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

/// Returns the number of bytes of the request line and the header section.
static inline size_t souk_mhd_header_size(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info == NULL ? 0 : info->header_size;
}

/// Whether microhttpd is older than 1.0. It then writes NUL into the receive buffer after each string of a request.
static inline int souk_mhd_parses_in_place(void) { return MHD_get_version()[0] == '0'; }

/// Turns off chunked encoding. The end of the connection then ends a response of unknown length.
static inline void souk_mhd_forbid_chunks(struct MHD_Response *response) {
    MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}

#ifdef __linux__
// glibc declares accept4 only with _GNU_SOURCE.
int accept4(int listening, struct sockaddr *address, socklen_t *length, int flags);
#endif

/// Accepts a connection. Child processes do not inherit its socket, which is non-blocking on Linux.
static inline int souk_accept(int listening, struct sockaddr *address, socklen_t *length) {
#ifdef __linux__
    return accept4(listening, address, length, SOCK_CLOEXEC | SOCK_NONBLOCK);
#else
    int accepted = accept(listening, address, length);
    if (accepted >= 0) fcntl(accepted, F_SETFD, FD_CLOEXEC);
    return accepted;
#endif
}

static inline enum MHD_Result souk_mhd_tls_available(void) {
    return MHD_is_feature_supported(MHD_FEATURE_TLS);
}
