/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* From the parameters of a dat.conf entry to an address of this host. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dapl/base/fd.h"
#include "providers/soft/base/addr.h"
#include "trace/log.h"

enum {
	NAME_MAX_LEN = 255,
	ANY_PORT = 9, /* nothing is sent there */
};

/* All addresses of this host, or those of many: bind takes both, and an adapter has one. */
static bool of_several(const struct sockaddr *addr)
{
	uint32_t four;

	if (addr->sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(
			&((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr);
	four = ntohl(((const struct sockaddr_in *)(const void *)addr)->sin_addr.s_addr);
	return four == INADDR_ANY || four == INADDR_BROADCAST || IN_MULTICAST(four);
}

void soft_addr_copy(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	if (from->sa_family == AF_INET6) {
		memcpy(to, from, sizeof(struct sockaddr_in6));
		((struct sockaddr_in6 *)to)->sin6_port = 0;
		((struct sockaddr_in6 *)to)->sin6_flowinfo = 0;
	} else {
		memcpy(to, from, sizeof(struct sockaddr_in));
		((struct sockaddr_in *)to)->sin_port = 0;
	}
}

static bool is_loopback(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	return ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET6)
		return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
					  &((const struct sockaddr_in6 *)b)->sin6_addr);
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

socklen_t soft_addr_len(const void *addr)
{
	return ((const struct sockaddr *)addr)->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								      : sizeof(struct sockaddr_in);
}

uint16_t soft_addr_port(const struct sockaddr_storage *addr)
{
	return ntohs(addr->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)addr)->sin6_port
						 : ((const struct sockaddr_in *)addr)->sin_port);
}

void soft_addr_set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

bool soft_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return same_address(a, b) && soft_addr_port(a) == soft_addr_port(b);
}

/*
 * Who talks to an address of his own host has that one himself, unless he has chosen another; to
 * be able to bind it says less: a host may allow that of any address.
 */
bool soft_addr_same_host(const struct sockaddr_storage *own, const struct sockaddr_storage *other)
{
	struct sockaddr_storage to, from = { 0 };
	socklen_t len = sizeof(from);
	bool same = false;
	int fd;

	if (is_loopback(other) || same_address(own, other))
		return true;
	soft_addr_copy(&to, (const struct sockaddr *)other);
	if (to.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&to)->sin6_port = htons(ANY_PORT);
	else
		((struct sockaddr_in *)&to)->sin_port = htons(ANY_PORT);
	fd = dapl_fd_own(socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return false;
	if (!connect(fd, (struct sockaddr *)&to,
		     to.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in)) &&
	    !getsockname(fd, (struct sockaddr *)&from, &len))
		same = same_address(&from, other);
	dapl_fd_close(fd);
	return same;
}

/* How well an address of a netdev suits: IPv4 first, then IPv6 that others can reach. */
static int rank(const struct sockaddr *addr)
{
	if (!addr)
		return 0;
	if (addr->sa_family == AF_INET)
		return 3;
	if (addr->sa_family != AF_INET6)
		return 0;
	return IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr)
		       ? 1
		       : 2;
}

/* 0, -EADDRNOTAVAIL if the netdev has no address, -ENODEV if there is none of that name. */
static int by_netdev(const char *name, struct sockaddr_storage *addr)
{
	struct ifaddrs *list, *ifa;
	int best = 0;

	if (!if_nametoindex(name))
		return -ENODEV;
	if (getifaddrs(&list))
		return -errno;
	for (ifa = list; ifa; ifa = ifa->ifa_next)
		if (!strcmp(ifa->ifa_name, name) && rank(ifa->ifa_addr) > best) {
			best = rank(ifa->ifa_addr);
			soft_addr_copy(addr, ifa->ifa_addr);
		}
	freeifaddrs(list);
	return best ? 0 : -EADDRNOTAVAIL;
}

int soft_addr_bindable(const struct sockaddr_storage *addr)
{
	socklen_t len = addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						    : sizeof(struct sockaddr_in);
	int fd = dapl_fd_own(socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)), rc = 0;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)addr, len))
		rc = -errno;
	dapl_fd_close(fd);
	return rc;
}

/* An address or the name of a host. */
static int by_name(const char *name, struct sockaddr_storage *addr)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list, *ai;
	int rc;

	rc = getaddrinfo(name, NULL, &hints, &list);
	if (rc)
		return rc == EAI_MEMORY			     ? -ENOMEM
		       : rc == EAI_SYSTEM && errno == EMFILE ? -EMFILE
							     : -ENODEV;
	rc = -EADDRNOTAVAIL;
	for (ai = list; ai && rc; ai = ai->ai_next) {
		if (!rank(ai->ai_addr) || of_several(ai->ai_addr))
			continue;
		soft_addr_copy(addr, ai->ai_addr);
		rc = soft_addr_bindable(addr);
	}
	freeaddrinfo(list);
	return rc;
}

static int loopback(struct sockaddr_storage *addr)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	soft_addr_copy(addr, (struct sockaddr *)&in);
	return soft_addr_bindable(addr);
}

int soft_addr_resolve(const char *ia_name, const char *params, struct sockaddr_storage *addr)
{
	size_t len = strcspn(params += strspn(params, " \t"), " \t");
	char name[NAME_MAX_LEN + 1];
	int rc;

	if (len > NAME_MAX_LEN) {
		dapl_err("%s: address of %zu characters: the limit is %d", ia_name, len,
			 NAME_MAX_LEN);
		return -EINVAL;
	}
	memcpy(name, params, len);
	name[len] = '\0';
	if (!len || !strcmp(name, "lo")) {
		strcpy(name, "lo");
		rc = loopback(addr);
	} else {
		rc = by_netdev(name, addr);
		if (rc == -ENODEV)
			rc = by_name(name, addr);
	}
	if (rc == -ENODEV)
		dapl_err("%s: \"%s\" is no network device, address or host name of this host",
			 ia_name, name);
	else if (rc)
		dapl_err("%s: address of \"%s\" cannot be used: %s", ia_name, name,
			 dapl_strerror(-rc));
	return rc;
}

const char *soft_addr_text(const void *addr, uint64_t qual, char buf[SOFT_ADDR_TEXT])
{
	const struct sockaddr *sa = addr;
	char host[INET6_ADDRSTRLEN] = "?";

	if (sa->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)addr)->sin_addr, host,
			  sizeof(host));
	else if (sa->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)addr)->sin6_addr, host,
			  sizeof(host));
	snprintf(buf, SOFT_ADDR_TEXT, sa->sa_family == AF_INET6 ? "[%s]:%llu" : "%s:%llu", host,
		 (unsigned long long)qual);
	return buf;
}
