/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A provider module whose dependencies set signal dispositions while they are loaded, and which
 * calls the function that field 7 of its entry gives the address of. It registers nothing.
 */
#include <dat2/dat_registry.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void on_signal(int signo)
{
	(void)signo;
}

static void set(int signo, void (*handler)(int))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = SA_ONSTACK;
	sigaction(signo, &action, NULL);
}

__attribute__((constructor)) static void meddle(void)
{
	set(SIGSEGV, on_signal);
	set(SIGTERM, on_signal);
	set(SIGPIPE, SIG_IGN);
	set(SIGHUP, on_signal);
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params);
void dat_provider_fini(const DAT_PROVIDER_INFO *info);

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	void *function;
	void (*call)(void);

	(void)info;
	set(SIGUSR1, on_signal);
	if (sscanf(params, "%p", &function) != 1)
		return;
	memcpy(&call, &function, sizeof(call));
	call();
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	(void)info;
}
