/* SPDX-License-Identifier: Apache-2.0
 * Reports for other programs: a CSV line for each second, and HdrHistogram's two formats.
 *
 * The interval log is HdrHistogram's V2 format: a line for each second holds a packed histogram,
 * and its tools add the logs of several machines. With two significant digits its buckets are
 * exactly those of the series, so nothing is rounded anew. The text format lists percentiles for
 * its plotter. */
#include "output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Begin of each second in seconds since 1970, so that it can be laid beside a server's log. */
void output_csv(const struct result *r, FILE *out)
{
    const struct series *s = &r->stats.series;

    fputs("second,epoch,completed,failed,bytes,opened,connections,p50_ms,p99_ms,max_ms\n", out);
    for (size_t i = 0; i < s->count; i++) {
        const struct second *t = &s->seconds[i];
        fprintf(out, "%zu,%.3f,%llu,%llu,%llu,%llu,%llu,%.6f,%.6f,%.6f\n", i,
                r->started_epoch + (double)i, (unsigned long long)t->completed,
                (unsigned long long)t->failed, (unsigned long long)t->bytes,
                (unsigned long long)t->opened, (unsigned long long)t->connections,
                (double)second_percentile(t, 50) / 1e6, (double)second_percentile(t, 99) / 1e6,
                (double)t->max / 1e6);
    }
}

/* Five steps for each halving of the distance to 100 %, as HdrHistogram's plotter expects. */
void output_hgrm(const struct result *r, FILE *out)
{
    const struct hist *h = r->stats.times[TIME_RESPONSE];
    double total = (double)h->count, level = 0;

    fputs("       Value     Percentile TotalCount 1/(1-Percentile)\n\n", out);
    /* Steps get finer towards 100 %, until less than one sample lies above. */
    while (h->count && level < 1 - 0.5 / total) {
        double ticks = 5 * pow(2, floor(log2(1 / (1 - level))) + 1);
        fprintf(out, "%12.6f %14.12f %10.0f %14.2f\n",
                (double)hist_percentile(h, level * 100) / 1e6, level, ceil(level * total - 1e-9),
                1 / (1 - level));
        level += 1 / ticks;
    }
    if (h->count)
        fprintf(out, "%12.6f %14.12f %10llu\n", (double)h->max / 1e6, 1.0,
                (unsigned long long)h->count);
    fprintf(out, "#[Mean    = %12.6f, StdDeviation   = %12.6f]\n", hist_mean(h) / 1e6,
            hist_sd(h) / 1e6);
    fprintf(out, "#[Max     = %12.6f, Total count    = %12llu]\n", (double)h->max / 1e6,
            (unsigned long long)h->count);
    fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", HIST_EXPONENTS, 2 * HIST_SUB);
}

/* The last so many bytes of a number; returns what follows them. */
static unsigned char *big_endian(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--)
        *at++ = (unsigned char)(value >> (8 * i));
    return at;
}

/* Signed numbers, small ones short: zig-zag, then 7 bits a byte (the ninth byte has 8). */
static unsigned char *zigzag(unsigned char *at, int64_t value)
{
    uint64_t v = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    int used;

    for (used = 0; v >= 0x80 && used < 8; used++) {
        *at++ = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    *at++ = (unsigned char)v;
    return at;
}

#define HLOG_HEAD       40
#define HLOG_COOKIE     0x1c849313u
#define HLOG_COMPRESSED 0x1c849314u
#define HLOG_DIGITS     2 /* 1/128: exactly the buckets of the series */

/* HdrHistogram's V2 encoding of one second; the buckets have the same borders as its own. */
static size_t encode_second(const struct second *s, unsigned char *out)
{
    unsigned char *at = out + HLOG_HEAD;
    uint32_t next = 0;
    double ratio = 1;
    uint64_t bits;

    /* A run of empty buckets is one negative number. */
    for (size_t i = 0; i < s->bucket_count; i++) {
        if (s->buckets[i].index > next)
            at = zigzag(at, -(int64_t)(s->buckets[i].index - next));
        at = zigzag(at, s->buckets[i].count);
        next = s->buckets[i].index + 1;
    }
    /* Cookie, length of the counts, offset 0, digits, lowest and highest value that can be told
     * apart, ratio of integer to double values. */
    memcpy(&bits, &ratio, sizeof(bits));
    big_endian(out, HLOG_COOKIE, 4);
    big_endian(out + 4, (uint64_t)(at - out) - HLOG_HEAD, 4);
    big_endian(out + 8, 0, 4);
    big_endian(out + 12, HLOG_DIGITS, 4);
    big_endian(out + 16, 1, 8);
    big_endian(out + 24, UINT64_C(1) << 40, 8);
    big_endian(out + 32, bits, 8);
    return (size_t)(at - out);
}

/* RFC 4648, with padding. */
static void print_base64(const unsigned char *in, size_t n, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        unsigned second = i + 1 < n ? in[i + 1] : 0, third = i + 2 < n ? in[i + 2] : 0;
        unsigned bits = (unsigned)in[i] << 16 | second << 8 | third;
        putc(digits[bits >> 18], out);
        putc(digits[bits >> 12 & 63], out);
        putc(i + 1 < n ? digits[bits >> 6 & 63] : '=', out);
        putc(i + 2 < n ? digits[bits & 63] : '=', out);
    }
}

/* One line of the log: a histogram, packed, with its place in time. */
static bool print_interval(const struct second *s, double begin, double length, FILE *out)
{
    size_t room = HLOG_HEAD + s->bucket_count * 18 + 1;
    unsigned char *plain = malloc(room), *packed = malloc(compressBound(room) + 8);
    uLongf packed_size = compressBound(room);
    bool fine = plain && packed &&
                compress2(packed + 8, &packed_size, plain, encode_second(s, plain), 9) == Z_OK;

    if (fine) {
        big_endian(packed, HLOG_COMPRESSED, 4);
        big_endian(packed + 4, packed_size, 4);
        fprintf(out, "%.3f,%.3f,%.3f,", begin, length, (double)s->max / 1e6);
        print_base64(packed, packed_size + 8, out);
        putc('\n', out);
    }
    free(plain);
    free(packed);
    return fine;
}

/* Times count from StartTime; merging tools align several logs by it. */
void output_hlog(const struct result *r, FILE *out)
{
    const struct series *s = &r->stats.series;

    fprintf(out,
            "#[Histogram log format version 1.3]\n"
            "#[StartTime: %.3f (seconds since epoch)]\n"
            "#[BaseTime: %.3f (seconds since epoch)]\n"
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
            "\"Interval_Compressed_Histogram\"\n",
            r->started_epoch, r->started_epoch);
    for (size_t i = 0; i < s->count; i++) {
        double left = r->wall_seconds - (double)i;
        if (!print_interval(&s->seconds[i], (double)i, left < 1 && left > 0 ? left : 1, out))
            fputs("httpdrive: HD001: out of memory\n", stderr);
    }
}
