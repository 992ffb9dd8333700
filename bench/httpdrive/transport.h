/* SPDX-License-Identifier: Apache-2.0
 * The four things a connection does with the network, plain or TLS. Results: bytes moved, 0 for the
 * end of the stream, or a negative errno; -EAGAIN means later, -EPROTO a damaged TLS stream. */
#ifndef HTTPDRIVE_TRANSPORT_H
#define HTTPDRIVE_TRANSPORT_H

#include "plan.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/types.h>

/* One thread's side of TLS. */
struct tls_side {
    SSL_CTX *context;     /* NULL when the target is not https */
    SSL_SESSION *session; /* to resume, when asked for */
};

bool tls_side_init(struct tls_side *t, const struct plan *p, char *error, size_t error_size);
void tls_side_free(struct tls_side *t);
/* A TLS connection on a connected socket; NULL without memory. */
SSL *tls_open(struct tls_side *t, const struct plan *p, int fd);
/* 1 when the handshake is complete, else as above. */
int tls_handshake(SSL *ssl);
/* The reason of the last TLS failure of this thread, as static text. */
const char *tls_reason(SSL *ssl);
/* "TLSv1.3,TLS_AES_256_GCM_SHA384,2048,256" and "X25519 253 bits" */
void tls_describe(SSL *ssl, char *protocol, size_t protocol_size, char *key, size_t key_size);
ssize_t tls_send(SSL *ssl, const char *bytes, size_t n);
ssize_t tls_recv(SSL *ssl, char *bytes, size_t n);

/* Begins to connect; the socket, or a negative errno. */
int transport_connect(const struct plan *p, const struct address *to, const struct address *from);

static inline ssize_t transport_send(int fd, SSL *ssl, const char *bytes, size_t n)
{
    ssize_t sent;

    if (ssl)
        return tls_send(ssl, bytes, n);
    sent = send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? -errno : sent;
}

static inline ssize_t transport_recv(int fd, SSL *ssl, char *bytes, size_t n)
{
    ssize_t got;

    if (ssl)
        return tls_recv(ssl, bytes, n);
    got = recv(fd, bytes, n, MSG_DONTWAIT);
    return got < 0 ? -errno : got;
}

/* Lets transport_wait() sleep on this socket; all other calls go on not to wait. False when the
 * system does not allow it. */
bool transport_may_wait(int fd, nsec longest);

/* Sleeps until bytes come, the stream ends, or the longest time has passed: -EAGAIN. Plain sockets
 * only. */
static inline ssize_t transport_wait(int fd, char *bytes, size_t n)
{
    ssize_t got = recv(fd, bytes, n, 0);

    return got < 0 ? -errno : got;
}

#endif
