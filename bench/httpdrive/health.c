/* SPDX-License-Identifier: Apache-2.0
 * Reads what the kernel tells of threads, of the machine and of a process tree; see health.h.
 *
 * CPU time of other processes comes from their CPU clocks, which count in nanoseconds and include
 * threads that have ended; /proc/PID/stat counts in ticks of 10 ms, which would be a tenth of a
 * short measurement. Children that ended in between are found in what their parent has waited for,
 * so a server that replaces its processes during the run loses nothing. */
#include "health.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reads a small file of /proc; false when it is not there. */
static bool slurp(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    /* Files of /proc are made at the first read, so that one read sees one moment. */
    n = read(fd, out, size - 1);
    close(fd);
    if (n < 0)
        return false;
    out[n] = '\0';
    return true;
}

/* Of the calling thread: its CPU clock can be read by itself only. */
void health_thread(struct thread_sample *s)
{
    char path[64], text[128];
    unsigned long long ran, waited;

    s->wall = clock_now();
    s->cpu = clock_read(CLOCK_THREAD_CPUTIME_ID);
    s->delay = -1;
    snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", (long)syscall(SYS_gettid));
    if (slurp(path, text, sizeof(text)) && sscanf(text, "%llu %llu", &ran, &waited) == 2)
        s->delay = (nsec)waited;
}

/* The first line of /proc/stat; ticks, which is enough for shares of a second or more. */
void health_machine(struct health_sample *s)
{
    unsigned long long v[8] = {0};
    char text[512];

    memset(s, 0, sizeof(*s));
    s->known = slurp("/proc/stat", text, sizeof(text)) &&
               sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2],
                      &v[3], &v[4], &v[5], &v[6], &v[7]) >= 5;
    for (int i = 0; i < 8; i++)
        s->total += v[i];
    s->idle = v[3] + v[4];
    s->steal = v[7];
}

/* httpd and others write their pid to a file, which is how a number that changes is best named. */
bool health_pid(const char *text, pid_t *out, char *error, size_t error_size)
{
    char content[64], path[64];
    char *end;
    long pid;

    if (text[strspn(text, "0123456789")]) {
        if (!slurp(text, content, sizeof(content))) {
            snprintf(error, error_size, "HD040: --server-pid %s: %s", text, strerror(errno));
            return false;
        }
    } else {
        snprintf(content, sizeof(content), "%s", text);
    }
    pid = strtol(content, &end, 10);
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    if (end == content || pid <= 0 || access(path, R_OK)) {
        snprintf(error, error_size, "HD040: --server-pid %s: no such process", text);
        return false;
    }
    *out = (pid_t)pid;
    return true;
}

/* What is read of /proc/PID/stat */
struct process {
    pid_t pid, parent;
    unsigned long long waited_ticks; /* CPU of ended children */
    bool inside;
};

/* The name in /proc/PID/stat may hold anything: what counts follows its last bracket. */
static bool read_process(struct process *p, pid_t pid)
{
    char path[64], text[1024];
    const char *after;
    long long ended_user, ended_system;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (!slurp(path, text, sizeof(text)) || !(after = strrchr(text, ')')))
        return false;
    if (sscanf(after + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %lld %lld",
               &p->parent, &ended_user, &ended_system) != 3)
        return false;
    p->pid = pid;
    p->waited_ticks = (unsigned long long)(ended_user + ended_system);
    p->inside = false;
    return true;
}

/* All processes of the machine; the caller frees them. */
static struct process *read_processes(size_t *count)
{
    DIR *directory = opendir("/proc");
    struct process *all = NULL, *grown;
    struct dirent *entry;
    size_t n = 0, room = 0;

    while (directory && (entry = readdir(directory))) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid <= 0)
            continue;
        if (n == room) {
            room = room ? room * 2 : 256;
            if (!(grown = realloc(all, room * sizeof(*all))))
                break;
            all = grown;
        }
        if (read_process(&all[n], pid))
            n++;
    }
    if (directory)
        closedir(directory);
    *count = n;
    return all;
}

/* The list is in no order, so it is gone through until nothing is added. */
static void mark_tree(struct process *all, size_t count, pid_t root)
{
    bool grew = true;

    for (size_t i = 0; i < count; i++)
        all[i].inside = all[i].pid == root;
    while (grew) {
        grew = false;
        for (size_t i = 0; i < count; i++) {
            for (size_t k = 0; !all[i].inside && k < count; k++) {
                if (all[k].inside && all[k].pid == all[i].parent)
                    grew = all[i].inside = true;
            }
        }
    }
}

/* Proportional: a page that n processes share counts as 1/n in each, so that they add up. 0 when
 * the kernel or the rights do not allow it. */
static uint64_t pss_of(pid_t pid)
{
    char path[64], text[2048];
    const char *line;
    unsigned long long kib = 0;

    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    if (slurp(path, text, sizeof(text)) && (line = strstr(text, "\nPss:")))
        sscanf(line, "\nPss: %llu", &kib);
    return kib * 1024;
}

void health_tree(struct tree_sample *s, pid_t root, bool with_memory)
{
    size_t count;
    struct process *all = read_processes(&count);
    /* Ended children are told in ticks of 10 ms only; a server that makes many short-lived ones is
     * measured less well. */
    nsec tick = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
    clockid_t clock;

    memset(s, 0, sizeof(*s));
    mark_tree(all, count, root);
    for (size_t i = 0; i < count; i++) {
        if (!all[i].inside || clock_getcpuclockid(all[i].pid, &clock))
            continue;
        s->known = true;
        s->processes++;
        /* Precise to the nanosecond, with the threads that have ended. */
        s->cpu += clock_read(clock) + (nsec)all[i].waited_ticks * tick;
        if (with_memory)
            s->pss_bytes += pss_of(all[i].pid);
    }
    free(all);
}
