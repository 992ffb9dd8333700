/* SPDX-License-Identifier: Apache-2.0
 * Runs a fuzzer's kept inputs without libFuzzer: the files of tests/fuzz/corpus/CORPUS,
 * and every beginning of each, since cut input is what parsers meet most. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <string.h>

/* Each beginning lies in a block of its own size, so that a sanitizer sees a read beyond it. */
static void run_beginnings(const unsigned char *bytes, size_t length)
{
    size_t n;

    for (n = 0; n <= length; n++) {
        unsigned char *copy = malloc(n ? n : 1);

        memcpy(copy, bytes, n);
        LLVMFuzzerTestOneInput(copy, n);
        free(copy);
    }
}

static int run_file(const char *path)
{
    static unsigned char bytes[65536];
    FILE *f = fopen(path, "rb");
    size_t length;

    if (!f) {
        perror(path);
        return 0;
    }
    length = fread(bytes, 1, sizeof(bytes), f);
    fclose(f);
    run_beginnings(bytes, length);
    return 1;
}

int main(void)
{
    const char *srcdir = getenv("srcdir");
    char folder[4096], path[8192];
    struct dirent *entry;
    int files = 0;
    DIR *dir;

    snprintf(folder, sizeof(folder), "%s/tests/fuzz/corpus/" CORPUS, srcdir ? srcdir : ".");
    dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        files += run_file(path);
    }
    if (dir)
        closedir(dir);
    printf("%d inputs and their beginnings\n", files);
    return files > 0 ? 0 : 1;
}
