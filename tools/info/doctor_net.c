/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The way to the peer: its address, the route, what passes, and who answers at the port. */
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tools/info/doctor.h"

enum {
	PORT_MS = 3000, /* how long a port may be silent */
	PING_MS = 300,	/* and how long an answer to a ping may take; each is sent twice */
	SMALL_PING = 100,
	LARGEST_PACKET = 65535,
	IPV4_HEADER = 20,
	IPV6_HEADER = 40,
	ICMP_HEADER = 8,
};

static socklen_t length_of(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in);
}

static void set_port(struct sockaddr_storage *addr, unsigned int port)
{
	/* The port lies in the same place in both. */
	((struct sockaddr_in *)(void *)addr)->sin_port = htons((uint16_t)port);
}

static void text_of(const struct sockaddr_storage *addr, char *text)
{
	if (getnameinfo((const struct sockaddr *)addr, length_of(addr), text, DOCTOR_ADDRESS, NULL,
			0, NI_NUMERICHOST))
		snprintf(text, DOCTOR_ADDRESS, "?");
}

/* ---- Address and route ---- */

static bool same_address(const struct sockaddr *a, const struct sockaddr_storage *b)
{
	char x[DOCTOR_ADDRESS], y[DOCTOR_ADDRESS];
	struct sockaddr_storage copy = { 0 };

	if (!a || a->sa_family != b->ss_family)
		return false;
	memcpy(&copy, a, length_of(b));
	text_of(&copy, x);
	text_of(b, y);
	return !strcmp(x, y);
}

static void find_netdev(struct doctor *doctor)
{
	struct ifaddrs *list, *at;

	if (getifaddrs(&list))
		return;
	for (at = list; at; at = at->ifa_next)
		if (same_address(at->ifa_addr, &doctor->local))
			snprintf(doctor->netdev, sizeof(doctor->netdev), "%s", at->ifa_name);
	freeifaddrs(list);
}

/* Nothing is sent: the kernel chooses the route, and with it this host's address. */
static int choose_route(struct doctor *doctor, const struct addrinfo *to)
{
	int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
	socklen_t length = sizeof(doctor->local);

	memcpy(&doctor->peer, to->ai_addr, to->ai_addrlen);
	text_of(&doctor->peer, doctor->peer_text);
	set_port(&doctor->peer, doctor->options->port);
	if (fd < 0 || connect(fd, (struct sockaddr *)&doctor->peer, to->ai_addrlen) ||
	    getsockname(fd, (struct sockaddr *)&doctor->local, &length))
		err = errno;
	if (fd >= 0)
		close(fd);
	set_port(&doctor->local, 0);
	return err;
}

/* IPv4 before others: adapters have that address where their interface has both. */
static bool first_route(struct doctor *doctor, const struct addrinfo *list)
{
	const struct addrinfo *at;
	int err = 0, others;

	for (others = 0; others < 2; others++)
		for (at = list; at; at = at->ai_next) {
			if ((at->ai_family != AF_INET) != others)
				continue;
			err = choose_route(doctor, at);
			if (!err)
				return true;
		}
	doctor_say(doctor, DOCTOR_BAD, "route", "no route to %s: %s", doctor->peer_text,
		   strerror(err));
	doctor_mend(doctor,
		    "bring up the interface that leads there and give it an address (ip "
		    "addr, ip route get %s)",
		    doctor->peer_text);
	return false;
}

bool doctor_route(struct doctor *doctor)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const char *host = doctor->options->host;
	struct addrinfo *list;
	int err = getaddrinfo(host, NULL, &hints, &list);
	bool found;

	if (err) {
		doctor_say(doctor, DOCTOR_BAD, "address", "%s has no address: %s", host,
			   gai_strerror(err));
		doctor_mend(doctor, "give its address, or put it into /etc/hosts or DNS");
		return false;
	}
	found = first_route(doctor, list);
	freeaddrinfo(list);
	if (!found)
		return false;
	text_of(&doctor->local, doctor->local_text);
	find_netdev(doctor);
	doctor_say(doctor, DOCTOR_OK, "address", "%s is %s", host, doctor->peer_text);
	doctor_say(doctor, DOCTOR_OK, "route", "by %s, from %s",
		   *doctor->netdev ? doctor->netdev : "an interface unknown", doctor->local_text);
	return true;
}

/* ---- What passes ---- */

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

static int open_ping(const struct doctor *doctor)
{
	bool six = doctor->peer.ss_family == AF_INET6;
	int probe = six ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE;
	struct sockaddr_storage peer = doctor->peer;
	int protocol = six ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	int fd = socket(peer.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, protocol);

	if (fd < 0 && errno == EACCES)
		fd = socket(peer.ss_family, SOCK_RAW | SOCK_CLOEXEC, protocol);
	set_port(&peer, 0);
	if (fd < 0)
		return -1;
	/* Whole, whatever the kernel believes of the path. */
	if (connect(fd, (struct sockaddr *)&peer, length_of(&peer)) ||
	    setsockopt(fd, six ? IPPROTO_IPV6 : IPPROTO_IP,
		       six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &probe, sizeof(probe))) {
		close(fd);
		return -1;
	}
	return fd;
}

static uint16_t checksum(const uint8_t *bytes, size_t length)
{
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	if (length & 1)
		sum += (uint32_t)bytes[length - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

/* Whether an answer of that length comes, which tells it from late ones of other lengths. */
static bool answer_comes(int fd, size_t length, const struct icmphdr *asked)
{
	int64_t until = now_ms() + PING_MS, left;
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	static uint8_t in[LARGEST_PACKET];
	ssize_t n;

	while ((left = until - now_ms()) > 0 && poll(&wait, 1, (int)left) > 0) {
		n = recv(fd, in, sizeof(in), MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false; /* such as: a router says that it is too large */
		/* A raw socket gives IPv4's header too, and the request where the peer is here. */
		if ((size_t)n == length && in[0] != asked->type)
			return true;
		if ((size_t)n == length + IPV4_HEADER && in[IPV4_HEADER] != asked->type)
			return true;
	}
	return false;
}

/* Whether an IP packet of that size gets there and back. */
static bool ping(const struct doctor *doctor, int fd, size_t size)
{
	bool six = doctor->peer.ss_family == AF_INET6;
	size_t length = size - (six ? IPV6_HEADER : IPV4_HEADER);
	static uint8_t out[LARGEST_PACKET];
	struct icmphdr head = { .type = six ? ICMP6_ECHO_REQUEST : ICMP_ECHO };
	int tries;

	head.un.echo.id = htons((uint16_t)getpid());
	head.un.echo.sequence = htons((uint16_t)size);
	memcpy(out, &head, sizeof(head));
	if (!six) { /* of ICMPv6 the kernel does it */
		head.checksum = checksum(out, length);
		memcpy(out, &head, sizeof(head));
	}
	for (tries = 0; tries < 2; tries++) {
		if (send(fd, out, length, MSG_DONTWAIT) < 0)
			return false;
		if (answer_comes(fd, length, &head))
			return true;
	}
	return false;
}

static size_t netdev_mtu(const struct doctor *doctor)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = { 0 };
	size_t mtu = 0;

	memcpy(ifr.ifr_name, doctor->netdev, sizeof(ifr.ifr_name));
	if (fd >= 0 && !ioctl(fd, SIOCGIFMTU, &ifr))
		mtu = (size_t)ifr.ifr_mtu;
	if (fd >= 0)
		close(fd);
	return mtu < LARGEST_PACKET ? mtu : LARGEST_PACKET;
}

/* Small packets pass, of the interface's size none: the largest that do. */
static void find_mtu(struct doctor *doctor, int fd, size_t mtu)
{
	size_t passes = SMALL_PING, fails = mtu, middle;

	while (fails - passes > 1) {
		middle = (passes + fails) / 2;
		if (ping(doctor, fd, middle))
			passes = middle;
		else
			fails = middle;
	}
	doctor_say(doctor, DOCTOR_BAD, "MTU",
		   "%s has an MTU of %zu bytes, but no packet above %zu gets there and back whole",
		   doctor->netdev, mtu, passes);
	doctor_mend(doctor,
		    "give both hosts and all between them the same MTU (here: ip link set "
		    "%s mtu %zu)",
		    doctor->netdev, passes);
}

void doctor_mtu(struct doctor *doctor)
{
	size_t mtu = netdev_mtu(doctor);
	int fd = open_ping(doctor);

	doctor->answers_pings = fd >= 0 && ping(doctor, fd, SMALL_PING);
	if (!doctor->answers_pings)
		doctor_say(doctor, DOCTOR_NOTE, "MTU", "cannot be told: %s",
			   fd < 0 ? "this user may not ping (net.ipv4.ping_group_range)"
				  : "no answer to pings");
	else if (!mtu)
		doctor_say(doctor, DOCTOR_NOTE, "MTU", "cannot be told: the interface is unknown");
	else if (mtu <= SMALL_PING || ping(doctor, fd, mtu))
		doctor_say(doctor, DOCTOR_OK, "MTU", "packets of %zu bytes pass whole", mtu);
	else
		find_mtu(doctor, fd, mtu);
	if (fd >= 0)
		close(fd);
}

/* ---- Who answers at the port ---- */

/* 0, or the errno of what came instead of a connection. */
static int try_port(const struct doctor *doctor)
{
	int fd = socket(doctor->peer.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	socklen_t length = sizeof(int);
	int err = 0;

	if (fd < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)&doctor->peer, length_of(&doctor->peer))) {
		err = errno;
		if (err == EINPROGRESS && poll(&wait, 1, PORT_MS) == 1)
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &length);
	}
	close(fd);
	return err;
}

static void silent_port(struct doctor *doctor)
{
	unsigned int port = doctor->options->port;

	if (doctor->answers_pings) {
		doctor_say(doctor, DOCTOR_BAD, "port",
			   "TCP to port %u gets no answer, though %s answers pings: a firewall "
			   "drops it",
			   port, doctor->peer_text);
		doctor_mend(doctor,
			    "let it through on %s and between (nft list ruleset, iptables "
			    "-S): TCP ports from %u on, or those of the program",
			    doctor->peer_text, port);
		return;
	}
	doctor_say(doctor, DOCTOR_BAD, "port",
		   "neither TCP to port %u nor pings get an answer: %s is down, or a firewall "
		   "drops all",
		   port, doctor->peer_text);
	doctor_mend(doctor, "see whether the host is up, and let TCP port %u through", port);
}

static void other_answer(struct doctor *doctor, int err)
{
	unsigned int port = doctor->options->port;

	doctor_say(doctor, DOCTOR_BAD, "port", "TCP to port %u of %s fails: %s", port,
		   doctor->peer_text, strerror(err));
	if (err == EHOSTUNREACH && !doctor->answers_pings)
		doctor_mend(doctor, "see whether the host is up and in this network: nobody has "
				    "that address, or a firewall says so");
	else
		doctor_mend(doctor, "a firewall refuses it: let TCP port %u through", port);
}

void doctor_port(struct doctor *doctor)
{
	unsigned int port = doctor->options->port;
	int err = try_port(doctor);

	doctor->tcp_open = !err;
	if (doctor->adapter && !doctor->over_tcp && err) {
		doctor_say(doctor, DOCTOR_NOTE, "port", "TCP to port %u: %s; %s does not need it",
			   port, strerror(err), doctor->adapter);
		return;
	}
	switch (err) {
	case 0:
		doctor_say(doctor, DOCTOR_OK, "port", "TCP port %u is open", port);
		break;
	case ECONNREFUSED:
		doctor_say(doctor, DOCTOR_BAD, "port", "nobody listens at TCP port %u of %s", port,
			   doctor->peer_text);
		doctor_mend(doctor,
			    "start the program there, or to try: dapltest -T S -D ADAPTER "
			    "-n %u; --port N asks for another port",
			    port);
		break;
	case EINPROGRESS:
	case ETIMEDOUT:
		silent_port(doctor);
		break;
	default:
		other_answer(doctor, err);
	}
}
