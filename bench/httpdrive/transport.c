/* SPDX-License-Identifier: Apache-2.0
 * Sockets and TLS; see transport.h.
 *
 * One SSL_CTX for each thread: OpenSSL 3 takes locks within a context, and threads that share one
 * wait for each other. Sessions are kept by the thread that got them, the newest one only, which is
 * what a browser does too.
 *
 * OpenSSL keeps its errors in a queue of the thread. It is emptied before each call, so that the
 * reason given for a failure is that failure's own. */
#include "transport.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* 0, or a negative errno. The connect is under way when it returns. */
static int set_up(int fd, const struct plan *p, const struct address *to,
                  const struct address *from)
{
    int one = 1, size = (int)p->options.window;

    /* One small request a connection is sent at once anyway; do not spend a call on it. */
    if (to->as.any.sa_family != AF_UNIX && (p->options.keepalive || p->large || p->url.tls))
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (size && (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) ||
                 setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size))))
        return -errno;
    if (from) {
        /* The port is chosen by connect(), which knows the target: one source address then has all
         * its ports for each target instead of for all of them together. */
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
        if (bind(fd, &from->as.any, from->length))
            return -errno;
    }
    if (connect(fd, &to->as.any, to->length) && errno != EINPROGRESS)
        return -errno;
    return 0;
}

int transport_connect(const struct plan *p, const struct address *to, const struct address *from)
{
    int fd = socket(to->as.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int status;

    if (fd < 0)
        return -errno;
    status = set_up(fd, p, to, from);
    if (status == 0)
        return fd;
    close(fd);
    return status;
}

/* The socket itself becomes a blocking one; MSG_DONTWAIT keeps the other calls as they were. */
bool transport_may_wait(int fd, nsec longest)
{
    struct timeval time = {longest / NSEC_PER_SEC, longest % NSEC_PER_SEC / NSEC_PER_USEC};

    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) == 0 &&
           fcntl(fd, F_SETFL, 0) == 0;
}

/* Called by OpenSSL for each ticket of the server. The newest one is kept: TLS 1.3 tickets are
 * meant to be used once. */
static int keep_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls_side *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

    SSL_SESSION_free(t->session);
    t->session = session;
    return 1; /* the reference is ours now */
}

/* One version exactly, as ab's -f; 0 means no bound to OpenSSL. */
static bool set_protocol(SSL_CTX *context, const char *name)
{
    static const struct {
        const char *name;
        int version;
    } known[] = {{"ALL", 0},
                 {"TLS1", TLS1_VERSION},
                 {"TLS1.0", TLS1_VERSION},
                 {"TLS1.1", TLS1_1_VERSION},
                 {"TLS1.2", TLS1_2_VERSION},
                 {"TLS1.3", TLS1_3_VERSION}};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (strcasecmp(name, known[i].name) == 0)
            return SSL_CTX_set_min_proto_version(context, known[i].version) &&
                   SSL_CTX_set_max_proto_version(context, known[i].version);
    }
    return false;
}

/* The first reason in this thread's queue of OpenSSL errors. Always false. */
static bool refuse(char *error, size_t size, const char *what, const char *value)
{
    unsigned long code = ERR_get_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;

    /* OpenSSL has no words for errors of the system. */
    if (ERR_SYSTEM_ERROR(code))
        reason = strerror(ERR_GET_REASON(code));
    snprintf(error, size, "HD030: %s '%s': %s", what, value, reason ? reason : "not known");
    return false;
}

static bool set_up_context(SSL_CTX *context, const struct options *o, char *error, size_t size)
{
    static const unsigned char alpn[] = "\x08http/1.1";

    /* Many servers close without a farewell. Whether the answer was whole is told by its own
     * framing. */
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    /* A request that is sent in pieces may be continued from where it lies. Without RELEASE_BUFFERS
     * each idle connection would hold 34 KB. */
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_protos(context, alpn, sizeof(alpn) - 1);
    if (o->tls_protocol && !set_protocol(context, o->tls_protocol))
        return refuse(error, size, "-f", o->tls_protocol);
    if (o->tls_ciphers && !SSL_CTX_set_cipher_list(context, o->tls_ciphers))
        return refuse(error, size, "-Z", o->tls_ciphers);
    /* -E: one file holds the certificate, those above it, and the key. */
    if (o->tls_certificate &&
        (SSL_CTX_use_certificate_chain_file(context, o->tls_certificate) != 1 ||
         SSL_CTX_use_PrivateKey_file(context, o->tls_certificate, SSL_FILETYPE_PEM) != 1))
        return refuse(error, size, "-E", o->tls_certificate);
    if (o->tls_ca && SSL_CTX_load_verify_locations(context, o->tls_ca, NULL) != 1)
        return refuse(error, size, "--tls-ca", o->tls_ca);
    if (o->tls_verify && !o->tls_ca)
        SSL_CTX_set_default_verify_paths(context);
    SSL_CTX_set_verify(context, o->tls_verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
    return true;
}

/* Each thread has a context of its own: OpenSSL 3 takes locks on what connections share. */
bool tls_side_init(struct tls_side *t, const struct plan *p, char *error, size_t error_size)
{
    memset(t, 0, sizeof(*t));
    if (!p->url.tls)
        return true;
    t->context = SSL_CTX_new(TLS_client_method());
    if (!t->context)
        return refuse(error, error_size, "TLS", "context");
    SSL_CTX_set_app_data(t->context, t);
    if (p->options.tls_resume) {
        /* OpenSSL's own cache is of no use to a client, and locks. */
        SSL_CTX_set_session_cache_mode(t->context,
                                       SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(t->context, keep_session);
    } else {
        SSL_CTX_set_session_cache_mode(t->context, SSL_SESS_CACHE_OFF);
    }
    return set_up_context(t->context, &p->options, error, error_size);
}

void tls_side_free(struct tls_side *t)
{
    SSL_SESSION_free(t->session);
    SSL_CTX_free(t->context);
    memset(t, 0, sizeof(*t));
}

SSL *tls_open(struct tls_side *t, const struct plan *p, int fd)
{
    SSL *ssl = SSL_new(t->context);
    const char *name = p->options.tls_name ? p->options.tls_name : p->url.host;
    unsigned char address[16];
    bool literal = p->url.literal_v6 || inet_pton(AF_INET, name, address) == 1;

    if (!ssl || !SSL_set_fd(ssl, fd)) {
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_connect_state(ssl);
    if (plan_server_name(p))
        SSL_set_tlsext_host_name(ssl, plan_server_name(p));
    /* The name is checked by OpenSSL within the handshake, against names or addresses of the
     * certificate. */
    if (p->options.tls_verify &&
        !(literal ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name)
                  : SSL_set1_host(ssl, name))) {
        SSL_free(ssl);
        return NULL;
    }
    /* Offered only: the server may refuse it, which shows in `tls_resumed`. */
    if (t->session)
        SSL_set_session(ssl, t->session);
    return ssl;
}

/* What a failed call of OpenSSL means in the terms of transport.h. */
static int tls_failure(SSL *ssl, int result)
{
    /* SSL_get_error() may change it. */
    int system = errno;

    switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        /* Without an errno the peer has closed below TLS. */
        return system ? -system : 0;
    default:
        return -EPROTO;
    }
}

int tls_handshake(SSL *ssl)
{
    int result;

    /* SSL_get_error() looks at the thread's queue, which has to hold nothing older. */
    ERR_clear_error();
    errno = 0;
    result = SSL_do_handshake(ssl);
    return result == 1 ? 1 : tls_failure(ssl, result);
}

/* Static, all of it: reasons are kept after the connection has gone. */
const char *tls_reason(SSL *ssl)
{
    long verified = SSL_get_verify_result(ssl);
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    if (verified != X509_V_OK && SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE)
        return X509_verify_cert_error_string(verified);
    return reason ? reason : "the TLS stream is damaged";
}

/* As ab prints them. The third number is the size of the certificate's key. */
void tls_describe(SSL *ssl, char *protocol, size_t protocol_size, char *key, size_t key_size)
{
    X509 *certificate = SSL_get1_peer_certificate(ssl);
    EVP_PKEY *exchange = NULL;
    int bits = certificate ? EVP_PKEY_get_bits(X509_get0_pubkey(certificate)) : 0;

    snprintf(protocol, protocol_size, "%s,%s,%d,%d", SSL_get_version(ssl), SSL_get_cipher_name(ssl),
             bits, SSL_get_cipher_bits(ssl, NULL));
    if (SSL_get_peer_tmp_key(ssl, &exchange)) {
        char group[40] = "";
        if (!EVP_PKEY_get_group_name(exchange, group, sizeof(group), NULL))
            snprintf(group, sizeof(group), "%s", EVP_PKEY_get0_type_name(exchange));
        snprintf(key, key_size, "%s %d bits", group, EVP_PKEY_get_bits(exchange));
        EVP_PKEY_free(exchange);
    }
    X509_free(certificate);
}

ssize_t tls_send(SSL *ssl, const char *bytes, size_t n)
{
    size_t sent;
    int result;

    ERR_clear_error();
    errno = 0;
    result = SSL_write_ex(ssl, bytes, n, &sent);
    if (result == 1)
        return (ssize_t)sent;
    result = tls_failure(ssl, result);
    /* An orderly close while sending is a failure to send. */
    return result ? result : -EPIPE;
}

ssize_t tls_recv(SSL *ssl, char *bytes, size_t n)
{
    size_t got;
    int result;

    ERR_clear_error();
    errno = 0;
    result = SSL_read_ex(ssl, bytes, n, &got);
    return result == 1 ? (ssize_t)got : tls_failure(ssl, result);
}
