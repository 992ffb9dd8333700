/* SPDX-License-Identifier: Apache-2.0
 * What the options mean, worked out once before the threads start: addresses, the bytes of every
 * request, what counts as success. Read-only afterwards, shared by all threads. */
#ifndef HTTPDRIVE_PLAN_H
#define HTTPDRIVE_PLAN_H

#include "options.h"
#include "stats.h"
#include "url.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un local;
    } as;
    socklen_t length; /* of the member in use */
};

/* One kind of request. */
struct target {
    char *bytes; /* head and body as sent */
    size_t length;
    size_t head_length; /* of these, before the body */
    char *path;         /* for reports; owned */
    double weight;      /* as given, 1 by default */
    double up_to;       /* sum of the weights to here, as a share of all */
};

struct plan {
    struct options options; /* with this machine's share of connections and threads */
    struct url url;         /* the first one: all targets have its scheme, host and port */
    char authority[300];    /* Host header */
    struct target *targets; /* owned; at least one */
    unsigned target_count;
    struct address *addresses; /* where to connect: the server's or the proxy's */
    unsigned address_count;
    char address_text[128];  /* the first one, for reports */
    bool local;              /* the server, or the proxy, shares this machine */
    unsigned connect_port;   /* its port; 0 of a UNIX socket */
    struct address *sources; /* owned; NULL: any */
    unsigned source_count;
    char *tunnel; /* CONNECT request, or NULL */
    size_t tunnel_length;
    bool head_request;                /* answers have no body */
    bool may_resend;                  /* the method is idempotent */
    bool large;                       /* a request does not fit one segment */
    bool expected[STATUS_CODES];      /* statuses that are no failure */
    bool verify_length, verify_first; /* against the first answer */
    char *verify_body;                /* content of --verify FILE */
    size_t verify_size;
    uint64_t requests; /* this machine's share; 0: no bound */
    double rate;       /* of all machines */
};

/* False when something is wrong; `error` names it. */
bool plan_make(struct plan *p, const struct options *o, char *error, size_t error_size);
void plan_free(struct plan *p);
const char *plan_method(const struct plan *p);
/* The name that TLS asks the server for (SNI); NULL: none. */
const char *plan_server_name(const struct plan *p);
/* Where connections go, in words: "the proxy 10.0.0.1 port 3128". */
void plan_peer(const struct plan *p, char *out, size_t size);

#endif
