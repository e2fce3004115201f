// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The same in a program that runs code on its stacks. */
#define CODE_ON_STACKS
#include "test/unit/core_thread.c"
