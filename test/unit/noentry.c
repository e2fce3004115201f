/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A library that is no provider: dat.conf entries that name it must fail with a message. */
int noentry_marker(void);

__attribute__((visibility("default"))) int noentry_marker(void)
{
	return 1;
}
