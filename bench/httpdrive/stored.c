/* SPDX-License-Identifier: Apache-2.0
 * Reads a result back from its JSON; see stored.h and docs/httpdrive-json.md. Counts in the file
 * are not trusted: an index out of range is refused, not used. */
#include "output.h"
#include "request.h"
#include "stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Later formats may mean other things by the same names; see docs/httpdrive-json.md. */
#define FORMAT 1

/* Seconds in the file, nanoseconds here. Nonsense becomes 0. */
static nsec get_time(const struct json_node *parent, const char *key)
{
    double seconds = json_get_number(parent, key, 0);

    return seconds > 0 && seconds < 9e9 ? (nsec)(seconds * 1e9) : 0;
}

/* For fields that are arrays. Other texts stay in the document. */
static void copy_text(char *out, size_t size, const struct json_node *parent, const char *key)
{
    const char *text = json_get_text(parent, key);

    snprintf(out, size, "%s", text ? text : "");
}

/* Of the options, those that reports show and merging compares. */
static void read_options(struct options *o, const struct json_node *node)
{
    options_init(o);
    o->url = json_get_text(node, "url");
    o->method = json_get_text(node, "method");
    o->proxy = json_get_text(node, "proxy");
    o->verify = json_get_text(node, "verify");
    o->keepalive = json_get_bool(node, "keepalive");
    o->http10 = json_get_bool(node, "http10");
    o->connections = json_get_count(node, "connections");
    o->threads = json_get_count(node, "threads");
    o->requests = json_get_count(node, "requests");
    o->per_connection = json_get_count(node, "per_connection");
    o->duration = get_time(node, "seconds");
    /* null, in a closed loop, reads as 0. */
    o->rate = json_get_number(node, "rate", 0);
    o->poisson = json_get_bool(node, "poisson");
    o->seed = json_get_count(node, "seed");
    o->timeout = get_time(node, "timeout_seconds");
    o->drain = get_time(node, "drain_seconds");
    o->ramp = get_time(node, "ramp_seconds");
    o->warmup_time = get_time(node, "warmup_seconds");
    o->warmup_requests = json_get_count(node, "warmup_requests");
    o->warmup_auto = json_get_bool(node, "warmup_auto");
    o->segment = json_get_count(node, "segment");
    o->segments = json_get_count(node, "segments");
}

/* As much of a plan as the reports read. The paths are copies: plan_free() frees them. */
static bool read_plan(struct stored *s, const struct json_node *root)
{
    const struct json_node *target = json_member(root, "target");
    const struct json_node *list = json_member(root, "targets");
    struct plan *p = &s->plan;
    unsigned i = 0;

    read_options(&p->options, json_member(root, "options"));
    p->options.label = json_get_text(root, "label");
    p->options.tally = json_get_text(json_member(root, "tally"), "header");
    p->rate = p->options.rate;
    p->requests = p->options.requests;
    copy_text(p->url.host, sizeof(p->url.host), target, "host");
    copy_text(p->address_text, sizeof(p->address_text), target, "address");
    p->url.port = (unsigned)json_get_count(target, "port");
    p->url.tls =
        json_get_text(target, "scheme") && !strcmp(json_get_text(target, "scheme"), "https");
    p->target_count = 1;
    /* With one URL the list is empty, and the target says which it was. */
    for (const struct json_node *n = list ? list->first : NULL; n; n = n->next)
        p->target_count = ++i;
    p->targets = calloc(p->target_count, sizeof(*p->targets));
    if (!p->targets)
        return false;
    p->targets[0].path = strdup(json_get_text(target, "path") ? json_get_text(target, "path") : "");
    i = 0;
    for (const struct json_node *n = list ? list->first : NULL; n; n = n->next, i++) {
        free(p->targets[i].path);
        p->targets[i].path = strdup(json_get_text(n, "path") ? json_get_text(n, "path") : "");
        p->targets[i].weight = json_get_number(n, "weight", 1);
    }
    return p->targets[0].path != NULL;
}

/* [[index, count], ...] into an array of counts; false when an index lies outside. */
static bool read_buckets(const struct json_node *list, uint64_t *buckets, size_t size)
{
    if (!list || list->kind != JSON_ARRAY)
        return false;
    for (const struct json_node *n = list->first; n; n = n->next) {
        const struct json_node *index = n->kind == JSON_ARRAY ? n->first : NULL;
        /* Every bucket comes with its count, and inside of the array. */
        if (!index || !index->next || index->count >= size)
            return false;
        buckets[index->count] += index->next->count;
    }
    return true;
}

static bool read_histogram(struct hist *h, const struct json_node *node)
{
    if (!node)
        return true; /* a version that did not measure it */
    h->count = json_get_count(node, "count");
    h->min = (int64_t)json_get_count(node, "min");
    h->max = (int64_t)json_get_count(node, "max");
    /* Doubles with all their digits: deviations are small differences of these. */
    h->sum = json_get_number(node, "sum", 0);
    h->sum_squares = json_get_number(node, "sum_squares", 0);
    return read_buckets(json_member(node, "buckets"), h->buckets, HIST_BUCKETS);
}

/* The buckets have to ascend: merging relies on it. */
static bool read_second(struct second *s, const struct json_node *node)
{
    const struct json_node *list = json_member(node, "buckets");
    size_t room = 0, n = 0;

    s->completed = json_get_count(node, "completed");
    s->failed = json_get_count(node, "failed");
    s->bytes = json_get_count(node, "bytes");
    s->opened = json_get_count(node, "opened");
    s->connections = json_get_count(node, "connections");
    s->max = (int64_t)json_get_count(node, "max_ns");
    /* Counted first, so that the list is as long as it has to be: an hour is 3,600 of them. */
    for (const struct json_node *b = list ? list->first : NULL; b; b = b->next)
        room++;
    s->buckets = room ? calloc(room, sizeof(*s->buckets)) : NULL;
    if (room && !s->buckets)
        return false;
    for (const struct json_node *b = list ? list->first : NULL; b; b = b->next) {
        const struct json_node *index = b->first;
        if (!index || !index->next || index->count >= SERIES_BUCKETS ||
            (n && index->count <= s->buckets[n - 1].index))
            return false;
        s->buckets[n++] = (struct bucket){(uint32_t)index->count, (uint32_t)index->next->count};
    }
    s->bucket_count = n;
    return true;
}

/* The list is as long as the run was, in seconds. */
static bool read_series(struct series *s, const struct json_node *node)
{
    const struct json_node *list = json_member(node, "seconds");
    size_t i = 0;

    for (const struct json_node *n = list ? list->first : NULL; n; n = n->next, i++) {
        /* Filled in order, as series_second() wants it */
        struct second *second = series_second(s, i);
        if (!second || !read_second(second, n))
            return false;
    }
    return true;
}

/* Names that this version does not know are left out, and the conservation law will tell. */
static void read_outcomes(struct stats *s, const struct json_node *root)
{
    const struct json_node *status = json_member(root, "status");

    for (int i = 0; i < OUTCOMES; i++)
        s->outcomes[i] = json_get_count(json_member(root, "outcomes"), outcome_name(i));
    for (const struct json_node *n = status ? status->first : NULL; n; n = n->next) {
        int code = n->key ? atoi(n->key) : 0;
        if (code > 0 && code < STATUS_CODES)
            s->status[code] = n->count;
    }
}

/* The errno of that name; 0 when it has another meaning here, or none. */
static int errno_of(const char *name)
{
    for (int number = 1; name && number < 200; number++) {
        if (strcmp(name, output_errno_name(number)) == 0)
            return number;
    }
    return 0;
}

/* Reasons without an errno keep pointing into the document. */
static void read_errors(struct stats *s, const struct json_node *root)
{
    const struct json_node *errors = json_member(root, "errors");

    for (const struct json_node *n = errors ? errors->first : NULL; n; n = n->next) {
        const char *name = json_get_text(n, "outcome");
        int outcome = 0, number = errno_of(json_get_text(n, "errno"));
        while (outcome < OUTCOMES && !(name && !strcmp(name, outcome_name(outcome))))
            outcome++;
        /* A kind of another version is left out here; its count is in no outcome either. */
        if (outcome < OUTCOMES)
            stats_error(s, outcome, number, number ? NULL : json_get_text(n, "reason"),
                        json_get_count(n, "count"));
    }
    s->errors_unlisted = json_get_count(root, "errors_unlisted");
}

/* What the report calls by the same names. */
static void read_counters(struct stats *s, const struct json_node *root)
{
    const struct json_node *requests = json_member(root, "requests");
    const struct json_node *connections = json_member(root, "connections");
    const struct json_node *bytes = json_member(root, "bytes");
    const struct json_node *loop = json_member(root, "open_loop");

    /* Members that are missing read as 0, which the laws below would not forgive where it matters.
     */
    s->started = json_get_count(requests, "started");
    s->completed_in_time = json_get_count(requests, "completed_in_time");
    s->in_flight = json_get_count(requests, "in_flight");
    s->oldest_in_flight = get_time(requests, "oldest_in_flight_seconds");
    s->resent = json_get_count(requests, "resent");
    s->interim = json_get_count(requests, "interim_answers");
    s->connect_attempts = json_get_count(connections, "attempts");
    s->connections_carried = json_get_count(connections, "carried");
    s->connections_opened = json_get_count(connections, "opened");
    s->connections_closed = json_get_count(connections, "closed");
    s->connections_alive = json_get_count(connections, "alive");
    s->connections_unanswered = json_get_count(connections, "unanswered");
    s->kept_alive = json_get_count(connections, "kept_alive_requests");
    s->connect_retransmits = json_get_count(connections, "retransmits");
    s->tls_resumed = json_get_count(connections, "tls_resumed");
    s->bytes_received = json_get_count(bytes, "received");
    s->bytes_body = json_get_count(bytes, "body");
    s->bytes_sent = json_get_count(bytes, "sent");
    s->scheduled = json_get_count(loop, "scheduled");
    s->late = json_get_count(loop, "late");
    s->unsent = json_get_count(loop, "unsent");
}

/* The last check is the conservation law: a file that breaks it was not written by this program. */
static bool read_stats(struct stats *s, const struct json_node *root)
{
    const struct json_node *histograms = json_member(root, "histograms");
    const struct json_node *tally = json_member(json_member(root, "tally"), "values");
    /* Other buckets could not be added to ours. */
    bool fine = json_get_count(histograms, "sub_buckets") == HIST_SUB;

    read_counters(s, root);
    read_outcomes(s, root);
    read_errors(s, root);
    for (int i = 0; i < TIMES && fine; i++)
        fine = read_histogram(s->times[i], json_member(histograms, phase_time_name(i)));
    fine = fine &&
           read_histogram(s->per_connection, json_member(histograms, "requests_per_connection"));
    for (const struct json_node *n = tally ? tally->first : NULL; n && fine; n = n->next)
        /* The text stays in the document; the tally copies it. */
        fine = n->count == 0 || tally_add(&s->tally, n->key, strlen(n->key), n->count);
    return fine && read_series(&s->series, json_member(root, "series")) && stats_conserved(s);
}

/* What stands beside the counters. */
static void read_result(struct result *r, const struct json_node *root)
{
    const struct json_node *client = json_member(root, "client");
    const struct json_node *target = json_member(root, "target");
    const struct json_node *machine = json_member(root, "machine");
    const struct json_node *reasons = json_member(client, "reasons");

    r->started_epoch = json_get_number(root, "started_epoch", 0);
    r->seconds = json_get_number(root, "seconds", 0);
    r->wall_seconds = json_get_number(root, "wall_seconds", 0);
    copy_text(r->ended_by, sizeof(r->ended_by), root, "ended_by");
    r->warmup_seconds = json_get_number(json_member(root, "warmup"), "seconds", 0);
    r->warmup.started = json_get_count(json_member(root, "warmup"), "started");
    copy_text(r->server, sizeof(r->server), target, "server");
    copy_text(r->tls, sizeof(r->tls), target, "tls");
    /* No number stands where there was no answer. */
    r->have_first = json_member(target, "document_length") &&
                    json_member(target, "document_length")->kind == JSON_NUMBER;
    r->first_length = json_get_count(target, "document_length");
    r->first_status = (unsigned)json_get_count(target, "status");
    r->cpu_seconds = json_get_number(client, "cpu_seconds", 0);
    r->busy = json_get_number(client, "busy", 0);
    r->delay = json_get_number(client, "run_queue_delay", -1);
    r->waits_per_request = json_get_number(client, "waits_per_request", 0);
    r->machine_idle = json_get_number(machine, "idle", -1);
    r->machine_steal = json_get_number(machine, "steal", -1);
    r->clock_error = json_get_number(machine, "clock_error_seconds", -1);
    r->client_bound = json_get_bool(client, "bound");
    for (const struct json_node *n = reasons ? reasons->first : NULL; n; n = n->next) {
        if (r->bound_reason_count < BOUND_REASONS && n->kind == JSON_TEXT)
            snprintf(r->bound_reasons[r->bound_reason_count++], WARNING_TEXT, "%s", n->text);
    }
}

/* From the tree to plan and result. */
static bool interpret(struct stored *s, char *error, size_t error_size)
{
    const struct json_node *root = s->document.root;
    const struct json_node *server = json_member(root, "server");

    if (!json_get_text(root, "httpdrive") || json_get_count(root, "format") != FORMAT) {
        snprintf(error, error_size, "HD060: %s: no result of httpdrive in format %d", s->file,
                 FORMAT);
        return false;
    }
    if (!read_plan(s, root) || !stats_init(&s->result.stats, s->plan.target_count) ||
        !stats_init(&s->result.warmup, 1)) {
        snprintf(error, error_size, "HD001: out of memory");
        return false;
    }
    s->result.plan = &s->plan;
    read_result(&s->result, root);
    if (!read_stats(&s->result.stats, root)) {
        snprintf(error, error_size, "HD061: %s: its numbers do not fit together", s->file);
        return false;
    }
    /* Only the difference was written: it is laid on a beginning of 0. */
    if (server && server->kind == JSON_OBJECT) {
        s->result.have_tree = s->result.tree_before.known = s->result.tree_after.known = true;
        s->result.tree_after.cpu = get_time(server, "cpu_seconds");
        s->result.tree_after.processes = (unsigned)json_get_count(server, "processes");
        s->result.tree_after.pss_bytes = json_get_count(server, "pss_bytes");
        s->result.tree_pid = (pid_t)json_get_count(server, "pid");
    }
    copy_text(s->host, sizeof(s->host), json_member(root, "machine"), "host");
    return true;
}

bool stored_read(struct stored *s, const char *file, char *error, size_t error_size)
{
    struct buffer text = {0};
    char reason[200];
    bool fine;

    memset(s, 0, sizeof(*s));
    s->file = file;
    if (!buffer_read_file(&text, file)) {
        snprintf(error, error_size, "HD060: %s: %s", file, strerror(errno));
        return false;
    }
    fine = json_parse(&s->document, text.bytes, text.length, reason, sizeof(reason));
    if (!fine)
        snprintf(error, error_size, "HD060: %s: %s", file, reason);
    free(text.bytes);
    fine = fine && interpret(s, error, error_size);
    if (!fine)
        stored_free(s);
    return fine;
}

void stored_free(struct stored *s)
{
    result_free(&s->result);
    plan_free(&s->plan);
    json_free(&s->document);
}
