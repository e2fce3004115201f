/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What dat-info --doctor has found on the way to another host. */
#ifndef INFO_DOCTOR_H
#define INFO_DOCTOR_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "tools/info/info.h"
#include "tools/info/registry.h"

#define DOCTOR_ADDRESS 64 /* characters */

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_NOTE, /* worth knowing, or cannot be told */
	DOCTOR_BAD,  /* in the way */
};

struct doctor_line {
	enum doctor_state state;
	const char *about;
	char *text, *remedy; /* remedy: NULL if there is none */
};

struct doctor {
	const struct info_options *options;
	struct info_registry registry;
	struct doctor_line *lines;
	size_t num_lines, num_bad;
	struct sockaddr_storage peer, local;
	char peer_text[DOCTOR_ADDRESS], local_text[DOCTOR_ADDRESS];
	char netdev[IF_NAMESIZE];	/* which leads to the peer */
	const struct info_entry *entry; /* of dat.conf, with the address `local`; NULL: none */
	const char *adapter;		/* its name */
	bool over_tcp;			/* its provider is the software one */
	bool answers_pings, tcp_open;
};

/* Each adds a line; the remedy is that of the last one. */
void doctor_say(struct doctor *doctor, enum doctor_state state, const char *about, const char *fmt,
		...) __attribute__((format(printf, 4, 5)));
void doctor_mend(struct doctor *doctor, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- This host (doctor_host.c) ---- */

void doctor_versions(struct doctor *doctor);
void doctor_devices(struct doctor *doctor);
void doctor_memory(struct doctor *doctor);

/* ---- The way (doctor_net.c); false: there is no going on ---- */

/* Address of the peer, route, interface and the address that it gives this host. */
bool doctor_route(struct doctor *doctor);
void doctor_mtu(struct doctor *doctor);
void doctor_port(struct doctor *doctor);

/* ---- The adapter (doctor_dat.c) ---- */

/* Opens those of dat.conf and finds the one that has this host's address. */
void doctor_adapters(struct doctor *doctor);
/* Connects with it, and asks who is there. */
void doctor_connect(struct doctor *doctor);

#endif
