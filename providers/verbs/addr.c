/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <infiniband/ib.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "dapl/base/fd.h"
#include "providers/verbs/fork.h"

/* ---- Text ---- */

void vrb_addr_set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

static void copy_gid(struct sockaddr_in6 *to, const struct sockaddr_ib *from)
{
	to->sin6_family = AF_INET6;
	memcpy(&to->sin6_addr, &from->sib_addr, sizeof(to->sin6_addr));
}

void vrb_addr_copy(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	if (from->sa_family == AF_IB) {
		copy_gid((struct sockaddr_in6 *)to, (const struct sockaddr_ib *)from);
		return;
	}
	memcpy(to, from,
	       from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in));
	vrb_addr_set_port(to, 0);
}

const char *vrb_addr_text(const struct sockaddr_storage *addr, char text[VRB_ADDR_TEXT])
{
	char host[INET6_ADDRSTRLEN] = "?";
	uint16_t port;

	if (addr->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)addr)->sin6_addr, host,
			  sizeof(host));
		port = ((const struct sockaddr_in6 *)addr)->sin6_port;
	} else {
		inet_ntop(AF_INET, &((const struct sockaddr_in *)addr)->sin_addr, host,
			  sizeof(host));
		port = ((const struct sockaddr_in *)addr)->sin_port;
	}
	snprintf(text, VRB_ADDR_TEXT, "%s port %u", host, ntohs(port));
	return text;
}

/* ---- What an entry means ---- */

/* Doubled at each power of two. */
int vrb_addr_add(struct vrb_wanted *list, const struct sockaddr *addr)
{
	struct sockaddr_storage *more = list->addr;

	if (!(list->num & (list->num - 1))) {
		more = realloc(more, (list->num ? 2 * (size_t)list->num : 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		list->addr = more;
	}
	vrb_addr_copy(&list->addr[list->num++], addr);
	return 0;
}

static bool link_local(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/* The addresses of one interface, or of all, IPv4 first and those of the link alone last. */
static int add_interfaces(struct vrb_wanted *list, const char *name)
{
	struct ifaddrs *all, *i;
	int round, rc = 0;

	if (getifaddrs(&all))
		return -errno;
	for (round = 0; round < 3; round++)
		for (i = all; i && !rc; i = i->ifa_next) {
			if (!i->ifa_addr || (name && strcmp(i->ifa_name, name)))
				continue;
			if (round == 0 ? i->ifa_addr->sa_family == AF_INET
				       : i->ifa_addr->sa_family == AF_INET6 &&
						 link_local(i->ifa_addr) == (round == 2))
				rc = vrb_addr_add(list, i->ifa_addr);
		}
	freeifaddrs(all);
	return rc;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr_storage *b)
{
	if (!a || a->sa_family != b->ss_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return a->sa_family == AF_INET6 &&
	       IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
				  &((const struct sockaddr_in6 *)b)->sin6_addr);
}

void vrb_addr_interface(const struct sockaddr_storage *addr, char *name, size_t size)
{
	struct ifaddrs *all, *i;

	*name = 0;
	if (getifaddrs(&all))
		return;
	for (i = all; i && !*name; i = i->ifa_next)
		if (same_address(i->ifa_addr, addr))
			snprintf(name, size, "%s", i->ifa_name);
	freeifaddrs(all);
}

static int add_host(struct vrb_wanted *list, const char *name)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all, *i;
	int rc = getaddrinfo(name, NULL, &hints, &all);

	if (rc)
		return rc == EAI_MEMORY ? -ENOMEM : -ENODEV;
	for (i = all; i && !rc; i = i->ai_next)
		if (i->ai_family == AF_INET || i->ai_family == AF_INET6)
			rc = vrb_addr_add(list, i->ai_addr);
	freeaddrinfo(all);
	return rc;
}

static bool is_verbs_device(const char *name)
{
	struct ibv_device **all = VRB_GLOBAL(ibv_get_device_list(NULL));
	bool found = false;
	int i;

	for (i = 0; all && all[i] && !found; i++)
		found = !strcmp(ibv_get_device_name(all[i]), name);
	if (all)
		ibv_free_device_list(all);
	return found;
}

int vrb_addr_list(struct vrb_wanted *wanted)
{
	errno = 0;
	if (if_nametoindex(wanted->what))
		return add_interfaces(wanted, wanted->what);
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		return -errno;
	wanted->by_device = is_verbs_device(wanted->what);
	if (wanted->by_device)
		return add_interfaces(wanted, NULL);
	return add_host(wanted, wanted->what);
}

#define BLANKS " \t"

int vrb_addr_split(const char *params, char *name, size_t size, uint8_t *port)
{
	size_t len;
	char *end;
	long n;

	params += strspn(params, BLANKS);
	len = strcspn(params, BLANKS);
	if (!len || len >= size)
		return -EINVAL;
	memcpy(name, params, len);
	name[len] = '\0';
	params += len + strspn(params + len, BLANKS);
	n = strtol(params, &end, 0);
	if (strcspn(end, BLANKS) || n < 0 || n > UINT8_MAX)
		return -EINVAL;
	*port = (uint8_t)n;
	return 0;
}

int vrb_addr_parse(const char *params, struct vrb_wanted *wanted)
{
	memset(wanted, 0, sizeof(*wanted));
	return vrb_addr_split(params, wanted->what, sizeof(wanted->what), &wanted->port);
}

/*
 * The libraries below do not say when they find nothing because they can open nothing. Beside the
 * device's own they have so many descriptors open at a time at most.
 */
#define SPARE 8

int vrb_addr_errno(int rc)
{
	int fd[SPARE], num = 0;

	while (num < SPARE && (fd[num] = dapl_fd_own(eventfd(0, EFD_CLOEXEC))) >= 0)
		num++;
	if (num < SPARE)
		rc = -errno;
	while (num > 0)
		dapl_fd_close(fd[--num]);
	return rc;
}
