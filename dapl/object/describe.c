/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/object/describe.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "dapl/transport.h"

#define PATIENCE_NS 5000000

bool dapl_describe_lock(struct dapl_lock *lock)
{
	return dapl_lock_until(lock, dapl_now() + PATIENCE_NS);
}

void dapl_describe_text(const char *text, FILE *out)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, out);
}

void dapl_describe_addr(const char *key, const struct sockaddr_storage *addr, uint64_t qual,
			FILE *out)
{
	bool v6 = addr->ss_family == AF_INET6;
	const void *at = v6 ? (const void *)&((const struct sockaddr_in6 *)addr)->sin6_addr
			    : (const void *)&((const struct sockaddr_in *)addr)->sin_addr;
	char host[INET6_ADDRSTRLEN] = "";

	if (v6 || addr->ss_family == AF_INET)
		inet_ntop(addr->ss_family, at, host, sizeof(host));
	if (qual)
		fprintf(out, v6 ? "\t%s=[%s]:%llu" : "\t%s=%s:%llu", key, host,
			(unsigned long long)qual);
	else
		fprintf(out, "\t%s=%s", key, host);
}
