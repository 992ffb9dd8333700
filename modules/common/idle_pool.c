/* SPDX-License-Identifier: Apache-2.0
 * A pool of idle interpreters. */
#include "modules/common/idle_pool.h"
