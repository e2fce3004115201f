/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat-info --generate: a dat.conf for the interfaces and RDMA devices of this host. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tools/info/devices.h"
#include "tools/info/info.h"
#include "tools/info/out.h"

#define SOFT_LIB     "libdaplsoft.so.2"
#define SOFT_VERSION "udapl.1.0"
#define OFA_LIB	     "libdaplofa.so.2"
#define OFA_VERSION  "dapl.2.0"
#define SCM_LIB	     "libdaploscm.so.2"
#define UCM_LIB	     "libdaploucm.so.2"

/* One line to be. */
struct line {
	char *name, *params;
	const char *lib, *version;
	const char *off; /* why it is written as a comment; NULL: it is not */
	const char *title;
};

struct lines {
	struct line *list;
	size_t num;
};

static void add(struct lines *lines, const struct line *line)
{
	lines->list = info_realloc(lines->list, (lines->num + 1) * sizeof(*lines->list));
	lines->list[lines->num++] = *line;
}

/* ---- Interfaces ---- */

static bool usable(const struct sockaddr *addr)
{
	return addr && (addr->sa_family == AF_INET || addr->sa_family == AF_INET6);
}

/* Why the software provider would not open it; NULL: it would. */
static const char *why_off(const struct ifaddrs *all, const char *name)
{
	const struct ifaddrs *i;
	bool up = false, address = false;

	for (i = all; i; i = i->ifa_next) {
		if (strcmp(i->ifa_name, name))
			continue;
		up = up || (i->ifa_flags & IFF_UP);
		address = address || usable(i->ifa_addr);
	}
	if (!up)
		return "is down";
	return address ? NULL : "has no address";
}

static bool add_interfaces(struct lines *lines)
{
	struct if_nameindex *names = if_nameindex(), *i;
	struct ifaddrs *all = NULL;
	struct line line = { .lib = SOFT_LIB,
			     .version = SOFT_VERSION,
			     .title = "The software provider, on each interface of this host." };

	if (!names || getifaddrs(&all)) {
		fprintf(stderr, "dat-info: interfaces of this host: %s\n", strerror(errno));
		if (names)
			if_freenameindex(names);
		return false;
	}
	for (i = names; i->if_name; i++) {
		line.name = info_printf("soft-%s", i->if_name);
		line.params = info_printf("%s", i->if_name);
		line.off = why_off(all, i->if_name);
		add(lines, &line);
	}
	freeifaddrs(all);
	if_freenameindex(names);
	return true;
}

/* ---- RDMA devices ---- */

static void add_rdma_cm(struct lines *lines, const struct info_port *port)
{
	struct line line = { .lib = OFA_LIB,
			     .version = OFA_VERSION,
			     .title = "RDMA devices, connected by rdma_cm." };
	size_t i;

	for (i = 0; i < port->num_netdevs; i++) {
		line.name = info_printf("ofa-v2-%s", port->netdevs[i]);
		line.params = info_printf("%s 0", port->netdevs[i]);
		line.off = port->active ? NULL : "belongs to a port that is not active";
		add(lines, &line);
	}
}

/* Names of release 2.1.10 for these devices, which programs have in their settings. */
static void add_by_port(struct lines *lines, const struct info_port *port, const char *lib,
			const char *suffix, const char *title)
{
	struct line line = { .lib = lib, .version = OFA_VERSION, .title = title };

	if (port->kind != INFO_DEVICE_CA)
		return;
	line.name = info_printf("ofa-v2-%s-%u%s", port->device, port->number, suffix);
	line.params = info_printf("%s %u", port->device, port->number);
	line.off = port->active ? NULL : "is a port that is not active";
	add(lines, &line);
}

static void add_devices(struct lines *lines, const char *sysfs)
{
	struct info_port *ports;
	size_t num = info_devices(sysfs, &ports), i;

	for (i = 0; i < num; i++)
		if (ports[i].kind != INFO_DEVICE_OTHER)
			add_rdma_cm(lines, &ports[i]);
	for (i = 0; i < num; i++)
		add_by_port(lines, &ports[i], SCM_LIB, "",
			    "The same by port, connected over sockets.");
	for (i = 0; i < num; i++)
		add_by_port(lines, &ports[i], UCM_LIB, "u",
			    "The same by port, connected by datagrams.");
	info_devices_free(ports, num);
}

/* ---- Output ---- */

/* Whether a line above that is in force has the name. */
static bool same_name(const struct lines *lines, size_t index)
{
	size_t i;

	for (i = 0; i < index; i++)
		if (!lines->list[i].off && !strcmp(lines->list[i].name, lines->list[index].name))
			return true;
	return false;
}

/* "text", with what dat.conf needs escaped. */
static char *quote(const char *text)
{
	char *quoted = info_alloc(2 * strlen(text) + 3, 1), *to = quoted;

	*to++ = '"';
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	*to = '"';
	return quoted;
}

static void print_lines(const struct lines *lines)
{
	const struct line *line;
	char *name, *params;
	size_t i;

	puts("# Written by dat-info --generate. The fields are explained in dat.conf(5).");
	for (i = 0; i < lines->num; i++) {
		line = &lines->list[i];
		if (!i || strcmp(line->title, line[-1].title))
			printf("\n# %s\n", line->title);
		name = strpbrk(line->name, "\"\\# ") ? quote(line->name)
						     : info_printf("%s", line->name);
		params = quote(line->params);
		if (line->off)
			printf("# %s %s:\n#", line->params, line->off);
		else if (same_name(lines, i))
			printf("# the name stands above already:\n#");
		printf("%s u2.0 nonthreadsafe default %s %s %s \"\"\n", name, line->lib,
		       line->version, params);
		free(name);
		free(params);
	}
}

static void json_lines(const struct lines *lines)
{
	struct json_object *json = info_json_object(), *list = info_json_list(json, "entries"),
			   *item;
	const struct line *line;
	size_t i;

	for (i = 0; i < lines->num; i++) {
		line = &lines->list[i];
		item = info_json_item(list);
		info_json_string(item, "name", line->name);
		info_json_string(item, "library", line->lib);
		info_json_string(item, "provider_version", line->version);
		info_json_string(item, "parameters", line->params);
		info_json_string(item, "off",
				 line->off	       ? line->off
				 : same_name(lines, i) ? "the name stands above already"
						       : NULL);
	}
	info_json_print(json);
}

int info_generate(const struct info_options *options)
{
	struct lines lines = { .list = NULL };
	bool complete = add_interfaces(&lines);
	size_t i;

	add_devices(&lines, options->sysfs);
	if (options->json)
		json_lines(&lines);
	else
		print_lines(&lines);
	for (i = 0; i < lines.num; i++) {
		free(lines.list[i].name);
		free(lines.list[i].params);
	}
	free(lines.list);
	return complete ? INFO_OK : INFO_FAIL;
}
