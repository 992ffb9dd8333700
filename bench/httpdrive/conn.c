/* SPDX-License-Identifier: Apache-2.0
 * One connection: a state machine with one function for each kind of event. It says how a request
 * ended (record_end) and asks its worker what to do next (worker_next); it knows no schedule.
 *
 * A socket is given to epoll once, edge-triggered. An event therefore has to be used up: read until
 * the socket is empty. A short read means empty, unless the peer has closed its side too.
 *
 *   CLOSED -> CONNECTING -> [TUNNEL ->] [HANDSHAKE ->] SENDING -> WAITING -> READING -> IDLE
 *                                                          ^                             |
 *                                                          +----- the next request ------+
 *
 * From every state a failure leads to end(), which alone decides whether the connection can be
 * kept. What it does next is decided later in the turn (worker.c); but a request that is sent again
 * opens a new socket at once: after a call that can lose the connection, a function may not touch
 * it again without looking (see conn_event). w->now is the time of the last look at the clock; it
 * is looked at once for each read, since a look costs as much as parsing a line. */
#include "engine.h"

#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#define READABLE   (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)
#define CLOSING    (EPOLLRDHUP | EPOLLHUP | EPOLLERR)
#define RETRY_UNIX NSEC_PER_MSEC
/* A handshake that took this long has lost a packet, most often since a listen queue was full. */
#define SLOW_CONNECT (900 * NSEC_PER_MSEC)

static void open_socket(struct worker *w, struct conn *c);
static void push(struct worker *w, struct conn *c);
static void receive(struct worker *w, struct conn *c);

void conn_close(struct worker *w, struct conn *c)
{
    bool opened = c->state > CONN_CONNECTING;

    if (c->fd < 0)
        return;
    if (c->ssl) {
        /* OpenSSL does not resume the session of a connection that was not shut down, even when the
         * server closed it first and there is nobody left to tell. */
        if (c->state > CONN_HANDSHAKE && c->peer_closed)
            SSL_set_shutdown(c->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        else if (c->state > CONN_HANDSHAKE)
            SSL_shutdown(c->ssl);
        SSL_free(c->ssl);
        c->ssl = NULL;
    }
    close(c->fd);
    if (opened)
        record_closed(w, c);
    c->fd = -1;
    c->state = CONN_CLOSED;
}

/* The request of this connection has ended. */
static void end(struct worker *w, struct conn *c, enum outcome o, int number, const char *reason)
{
    const struct options *options = &w->plan->options;
    bool connected = c->state > CONN_HANDSHAKE;

    list_remove(c);
    if (outcome_answered(o))
        c->served++;
    record_end(w, c, o, number, reason);
    if (!outcome_answered(o) || c->response.close || c->peer_closed || !options->keepalive ||
        (options->per_connection && c->served >= options->per_connection)) {
        conn_close(w, c);
    } else {
        c->stats->kept_alive++;
        c->state = CONN_IDLE;
    }
    if (!connected)
        c->backoff++;
    worker_next(w, c);
}

/* The class of a failure to connect. Those that are not listed are mostly the machine's own: no
 * port or descriptor is left, or the source address is not its own. */
static enum outcome connect_outcome(int number)
{
    switch (number) {
    case ECONNREFUSED:
    case ENOENT: /* of a UNIX socket */
        return OUTCOME_REFUSED;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
        return OUTCOME_UNREACHABLE;
    case ETIMEDOUT:
        return OUTCOME_TIMEOUT_CONNECT;
    default:
        return OUTCOME_CONNECT;
    }
}

/* This address does not answer: try the next one, or give up. */
static void connect_failed(struct worker *w, struct conn *c, int number)
{
    c->addresses_tried++;
    conn_close(w, c);
    if (c->addresses_tried < w->plan->address_count) {
        c->address = (c->address + 1) % w->plan->address_count;
        open_socket(w, c);
        return;
    }
    end(w, c, connect_outcome(number), number, NULL);
}

/* The connection ended before the answer did. number: errno, 0 for an orderly close. */
static void lost(struct worker *w, struct conn *c, int number)
{
    enum outcome o;

    if (c->state == CONN_READING) {
        const char *where = c->response.state <= RESPONSE_HEADERS ? "closed within the head"
                                                                  : "closed within the body";
        o = number ? OUTCOME_RESET_IN : OUTCOME_SHORT_BODY;
        end(w, c, o, number, number ? NULL : where);
        return;
    }
    if (c->served > 0 && !c->resent && w->plan->may_resend) {
        /* The server closed a kept-alive connection just when it was used (RFC 9112, 9.3.1). */
        c->resent = true;
        c->stats->resent++;
        c->sent_bytes = 0;
        c->sent = 0;
        conn_close(w, c);
        c->addresses_tried = 0;
        open_socket(w, c);
        return;
    }
    /* On a fresh connection nothing excuses it. */
    if (c->served > 0) {
        o = OUTCOME_REUSED_CLOSED;
    } else {
        o = number ? OUTCOME_RESET_BEFORE : OUTCOME_CLOSED_BEFORE;
    }
    end(w, c, o, number, NULL);
}

/* The connection stands and the request is whole in memory: off it goes. */
static void send_request(struct worker *w, struct conn *c)
{
    c->state = CONN_SENDING;
    push(w, c);
}

/* One step of the TLS handshake, which may take several events. */
static void handshake(struct worker *w, struct conn *c)
{
    int status = tls_handshake(c->ssl);

    if (status == -EAGAIN)
        return;
    w->now = clock_now();
    if (status != 1) {
        const char *reason = status == 0         ? "closed during the handshake"
                             : status == -EPROTO ? tls_reason(c->ssl)
                                                 : NULL;
        end(w, c, OUTCOME_TLS, reason ? 0 : -status, reason);
        return;
    }
    hist_record(c->stats->times[TIME_TLS], w->now - c->connecting);
    if (SSL_session_reused(c->ssl))
        c->stats->tls_resumed++;
    if (!atomic_exchange(&w->run->first.tls_claimed, true))
        tls_describe(c->ssl, w->run->first.tls, sizeof(w->run->first.tls), w->run->first.tls_key,
                     sizeof(w->run->first.tls_key));
    send_request(w, c);
}

/* TLS has a clock of its own: its time begins when the TCP connection, or the tunnel, stands. */
static void start_tls(struct worker *w, struct conn *c)
{
    c->connecting = w->now;
    c->state = CONN_HANDSHAKE;
    c->ssl = tls_open(&w->tls, w->plan, c->fd);
    if (!c->ssl) {
        end(w, c, OUTCOME_TLS, ENOMEM, NULL);
        return;
    }
    handshake(w, c);
}

/* The tunnel, if there is one, stands. */
static void connected(struct worker *w, struct conn *c)
{
    hist_record(c->stats->times[TIME_CONNECT], w->now - c->connecting);
    c->backoff = 0;
    if (w->plan->url.tls) {
        start_tls(w, c);
    } else {
        send_request(w, c);
    }
}

/* Explains connect times of 1 s and 3 s: the kernel had to send its SYN again. */
static void note_retransmits(struct conn *c)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);

    if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_total_retrans)
        c->stats->connect_retransmits++;
}

/* TCP stands. With a proxy in between and https, the tunnel comes first. */
static void tcp_established(struct worker *w, struct conn *c)
{
    w->now = clock_now();
    record_opened(w);
    /* Asked only then: it costs a system call. */
    if (w->now - c->connecting > SLOW_CONNECT)
        note_retransmits(c);
    if (c->address != atomic_load_explicit(&w->run->preferred_address, memory_order_relaxed))
        atomic_store(&w->run->preferred_address, c->address);
    if (!w->plan->tunnel) {
        connected(w, c);
        return;
    }
    c->state = CONN_TUNNEL;
    response_start(&c->response, true);
    if (transport_send(c->fd, NULL, w->plan->tunnel, w->plan->tunnel_length) !=
        (ssize_t)w->plan->tunnel_length)
        end(w, c, OUTCOME_PROXY, 0, "the request for a tunnel was not taken");
}

/* The proxy's answer to CONNECT. What could follow it in the same read belongs to the TLS
 * server, which never speaks first, so nothing is lost with the buffer. */
static void tunnel_event(struct worker *w, struct conn *c, uint32_t events)
{
    ssize_t got;

    if (!(events & READABLE))
        return;
    got = transport_recv(c->fd, NULL, w->buffer, sizeof(w->buffer));
    if (got == -EAGAIN)
        return;
    w->now = clock_now();
    if (got <= 0) {
        end(w, c, OUTCOME_PROXY, got ? (int)-got : 0, got ? NULL : "closed before its answer");
        return;
    }
    response_feed(&c->response, w->buffer, (size_t)got, NULL);
    if (c->response.state == RESPONSE_FAILED ||
        (c->response.state == RESPONSE_DONE && c->response.status / 100 != 2)) {
        end(w, c, OUTCOME_PROXY, 0, "the proxy refused the tunnel");
    } else if (c->response.state == RESPONSE_DONE) {
        response_start(&c->response, w->plan->head_request);
        connected(w, c);
    }
}

/* Tells epoll of a socket, or changes what is waited for. Writability is asked for only while it
 * is needed: with it, every new connection would bring an event that says nothing. */
static bool watch(struct worker *w, struct conn *c, int operation, bool out)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET | (out ? EPOLLOUT : 0),
                            .data.ptr = c};

    c->watches_out = out;
    return epoll_ctl(w->epoll_fd, operation, c->fd, &e) == 0;
}

/* On a loopback interface a connection stands when connect() returns, and the request can be sent
 * at once, which spares a turn of the loop. True when the state has been dealt with. */
static bool send_eagerly(struct worker *w, struct conn *c)
{
    const struct target *t = c->target;
    ssize_t sent;

    if (!w->eager || w->plan->url.tls || w->plan->tunnel)
        return false;
    w->now = clock_now(); /* before sending: the answer may come before the call returns */
    sent = transport_send(c->fd, NULL, t->bytes, t->length);
    if (sent == -EAGAIN) {
        w->eager = false;
        return false;
    }
    if (sent < 0 && sent != -ECONNRESET && sent != -EPIPE) {
        connect_failed(w, c, (int)-sent);
        return true;
    }
    record_opened(w);
    c->state = CONN_WAITING;
    if (sent < 0) {
        lost(w, c, (int)-sent);
        return true;
    }
    hist_record(c->stats->times[TIME_CONNECT], w->now - c->connecting);
    c->backoff = 0;
    c->sent = w->now;
    c->sent_bytes = (size_t)sent;
    c->stats->bytes_sent += (size_t)sent;
    if (c->sent_bytes < t->length)
        c->state = CONN_SENDING;
    if (!watch(w, c, EPOLL_CTL_ADD, c->state == CONN_SENDING))
        end(w, c, OUTCOME_CONNECT, errno, NULL);
    return true;
}

/* The listen queue of a UNIX socket is full, and there is no event for "it has room again". */
static void connect_later(struct worker *w, struct conn *c)
{
    list_remove(c);
    list_insert(&w->parked, c, w->now + RETRY_UNIX);
    c->pending = true;
    w->conns_pending++;
}

void conn_resume(struct worker *w, struct conn *c)
{
    nsec deadline = c->begun + w->plan->options.timeout;

    c->pending = false;
    w->conns_pending--;
    list_insert(&w->busy, c, deadline);
    if (w->now < deadline) {
        open_socket(w, c);
    } else {
        conn_expire(w, c);
    }
}

/* Begins to connect for the request that this connection has. The address is the one that worked
 * last, or the next one after a failure (connect_failed). */
static void open_socket(struct worker *w, struct conn *c)
{
    const struct plan *p = w->plan;
    const struct address *from = NULL;
    int fd;

    /* In turns, so that each source's ports last equally long. */
    if (p->source_count)
        from = &p->sources[w->next_source++ % p->source_count];
    c->connecting = w->now;
    c->served = 0;
    c->peer_closed = false;
    c->sleepable = false;
    c->stats->connect_attempts++;
    fd = transport_connect(p, &p->addresses[c->address], from);
    if (fd == -EAGAIN) {
        connect_later(w, c);
        return;
    }
    if (fd < 0) {
        connect_failed(w, c, -fd);
        return;
    }
    c->fd = fd;
    c->state = CONN_CONNECTING;
    if (!send_eagerly(w, c) && !watch(w, c, EPOLL_CTL_ADD, true))
        connect_failed(w, c, errno);
}

/* Gives a request to a connection that is open and idle, or closed. Its deadline begins here, so
 * that connecting is part of it. */
void conn_begin(struct worker *w, struct conn *c, nsec due, bool has_due)
{
    c->begun = w->now;
    c->due = due;
    c->has_due = has_due;
    c->resent = false;
    c->slept = false;
    c->sent = c->first = 0;
    c->sent_bytes = 0;
    c->body_sum = 0;
    c->body_differs = false;
    response_start(&c->response, w->plan->head_request);
    record_start(w, c);
    list_insert(&w->busy, c, w->now + w->plan->options.timeout);
    if (c->fd >= 0) {
        send_request(w, c);
        return;
    }
    c->addresses_tried = 0;
    c->address = atomic_load_explicit(&w->run->preferred_address, memory_order_relaxed);
    open_socket(w, c);
}

/* Sends what is left of the request. */
static void push(struct worker *w, struct conn *c)
{
    const struct target *t = c->target;

    if (!c->sent)
        c->sent = w->now;
    while (c->sent_bytes < t->length) {
        ssize_t sent =
            transport_send(c->fd, c->ssl, t->bytes + c->sent_bytes, t->length - c->sent_bytes);
        if (sent == -EAGAIN) {
            if (!c->watches_out)
                watch(w, c, EPOLL_CTL_MOD, true);
            return;
        }
        if (sent < 0) {
            /* An answer may have come before the connection was closed: look first. */
            c->peer_closed = true;
            receive(w, c);
            return;
        }
        c->sent_bytes += (size_t)sent;
        c->stats->bytes_sent += (size_t)sent;
    }
    if (c->state == CONN_SENDING)
        c->state = CONN_WAITING;
}

/* The parser's reasons as outcomes. */
static void fault(struct worker *w, struct conn *c)
{
    static const enum outcome outcomes[] = {
        [RESPONSE_FINE] = OUTCOME_BAD_HEAD,
        [RESPONSE_BAD_HEAD] = OUTCOME_BAD_HEAD,
        [RESPONSE_HEAD_TOO_LONG] = OUTCOME_HEAD_TOO_LONG,
        [RESPONSE_BAD_CHUNK] = OUTCOME_BAD_CHUNK,
    };
    end(w, c, outcomes[c->response.fault], 0, c->response.reason);
}

/* Gives bytes to the parser; true when they ended the request. */
static bool take(struct worker *w, struct conn *c, size_t n)
{
    size_t used;

    c->stats->bytes_received += n;
    /* It may still be SENDING: a server may answer before it has read everything. */
    if (c->state != CONN_READING) {
        c->state = CONN_READING;
        c->first = w->now;
        record_first_byte(w, c);
    }
    w->reading = c;
    used = response_feed(&c->response, w->buffer, n, &w->hooks);
    if (c->response.state < RESPONSE_DONE)
        return false;
    if (c->response.state == RESPONSE_FAILED) {
        fault(w, c);
    } else if (used < n) {
        end(w, c, OUTCOME_EXCESS, 0, "bytes after the end of the answer");
    } else {
        if (c->sent_bytes < c->target->length)
            c->response.close = true; /* answered before the whole request was sent */
        end(w, c, record_judge(w, c), 0, NULL);
    }
    return true;
}

/* The stream is over: by an orderly close (0) or an error. */
static void stream_end(struct worker *w, struct conn *c, int number)
{
    c->peer_closed = true;
    if (number == 0 && c->state == CONN_READING && response_closed(&c->response)) {
        end(w, c, record_judge(w, c), 0, NULL);
    } else if (number == EPROTO) {
        end(w, c, OUTCOME_TLS, 0, tls_reason(c->ssl));
    } else {
        lost(w, c, number);
    }
}

/* Takes what a read brought, at w->now. True when there may be more. An error of the system is
 * looked at after the bytes that came before it: the answer may be whole. */
static bool received(struct worker *w, struct conn *c, ssize_t got)
{
    if (got <= 0) {
        stream_end(w, c, got == -EAGAIN ? ECONNRESET : (int)-got);
        return false;
    }
    if (take(w, c, (size_t)got))
        return false;
    return (size_t)got == sizeof(w->buffer) || c->peer_closed || c->ssl;
}

/* Reads until nothing is left or the request has ended. */
static void receive(struct worker *w, struct conn *c)
{
    ssize_t got;

    do {
        got = transport_recv(c->fd, c->ssl, w->buffer, sizeof(w->buffer));
        if (got == -EAGAIN && !c->peer_closed)
            return;
        w->now = clock_now();
    } while (received(w, c, got));
}

/* A thread that waits for one answer only need not ask epoll which one has come: reading can wait
 * itself, which spares a third of the system calls. A fresh connection is not worth the two calls
 * that make its socket ready, TLS wants to read by itself, and an answer that did not come within
 * one sleep is left to epoll, so that a thread does not wake up again and again for nothing. */
bool conn_may_sleep(struct conn *c)
{
    if (c->ssl || c->slept || c->served == 0 || c->state < CONN_WAITING ||
        c->sent_bytes < c->target->length)
        return false;
    if (!c->sleepable)
        c->sleepable = transport_may_wait(c->fd, CONN_SLEEP);
    return c->sleepable;
}

/* The bytes leave an edge in epoll that is no longer true; the kernel looks again before it reports
 * one. */
void conn_sleep(struct worker *w, struct conn *c)
{
    ssize_t got = transport_wait(c->fd, w->buffer, sizeof(w->buffer));

    w->woken = w->now = clock_now();
    if (got == -EAGAIN || got == -EINTR) {
        c->slept = true;
    } else if (received(w, c, got)) {
        receive(w, c);
    }
}

/* The first event of a socket: it is connected, or it failed to. It may already bring more,
 * which this edge will not report again: a server that closes at once, for example. */
static void connect_event(struct worker *w, struct conn *c, uint32_t events)
{
    int number = 0;
    socklen_t size = sizeof(number);

    if (events & (EPOLLERR | EPOLLHUP)) {
        getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &number, &size);
        w->now = clock_now();
        connect_failed(w, c, number ? number : ECONNRESET);
        return;
    }
    if (!(events & EPOLLOUT))
        return;
    c->peer_closed = events & EPOLLRDHUP;
    tcp_established(w, c);
    if (c->state == CONN_WAITING && (events & READABLE))
        receive(w, c);
}

/* Nothing was asked, so this is a close, a message nobody waits for, or a TLS ticket. */
static void idle_event(struct worker *w, struct conn *c, uint32_t events)
{
    if (!(events & READABLE))
        return;
    if (c->ssl && !(events & CLOSING) && tls_recv(c->ssl, w->buffer, sizeof(w->buffer)) == -EAGAIN)
        return;
    c->peer_closed = true;
    conn_close(w, c);
    list_remove(c);
    worker_rest(w, c);
}

void conn_event(struct worker *w, struct conn *c, uint32_t events)
{
    int fd = c->fd;

    if ((events & CLOSING) && c->state != CONN_CONNECTING)
        c->peer_closed = true;
    switch (c->state) {
    case CONN_CLOSED:
        break;
    case CONN_CONNECTING:
        connect_event(w, c, events);
        break;
    case CONN_TUNNEL:
        tunnel_event(w, c, events);
        break;
    case CONN_HANDSHAKE:
        handshake(w, c);
        break;
    case CONN_IDLE:
        idle_event(w, c, events);
        break;
    case CONN_SENDING:
    case CONN_WAITING:
    case CONN_READING:
        if ((events & EPOLLOUT) && c->sent_bytes < c->target->length)
            push(w, c);
        /* Sending may have ended this request and begun the next one elsewhere. */
        if ((events & READABLE) && c->fd == fd && c->state >= CONN_SENDING)
            receive(w, c);
        break;
    }
}

/* The deadline has passed; the state says which phase took too long. */
void conn_expire(struct worker *w, struct conn *c)
{
    static const enum outcome outcomes[] = {
        [CONN_CLOSED] = OUTCOME_TIMEOUT_CONNECT, [CONN_CONNECTING] = OUTCOME_TIMEOUT_CONNECT,
        [CONN_TUNNEL] = OUTCOME_TIMEOUT_CONNECT, [CONN_HANDSHAKE] = OUTCOME_TIMEOUT_CONNECT,
        [CONN_IDLE] = OUTCOME_TIMEOUT_ANSWER,    [CONN_SENDING] = OUTCOME_TIMEOUT_SEND,
        [CONN_WAITING] = OUTCOME_TIMEOUT_ANSWER, [CONN_READING] = OUTCOME_TIMEOUT_BODY,
    };
    end(w, c, outcomes[c->state], 0, NULL);
}
