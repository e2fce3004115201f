/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tools/info/devices.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/info/out.h"

/* ---- sysfs ---- */

/* The first line of a file; "" if it cannot be read. */
static char *read_line(const char *folder, const char *name)
{
	char *path = info_printf("%s/%s", folder, name), text[256] = "";
	FILE *file = fopen(path, "re");

	if (file) {
		if (!fgets(text, sizeof(text), file))
			text[0] = '\0';
		fclose(file);
	}
	free(path);
	text[strcspn(text, "\n")] = '\0';
	return info_printf("%s", text);
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* The names in a folder; 0 if there is none. */
static int list(const char *folder, struct dirent ***names)
{
	int num = scandir(folder, names, visible, versionsort);

	if (num < 0)
		*names = NULL;
	return num < 0 ? 0 : num;
}

static void free_list(struct dirent **names, int num)
{
	int i;

	for (i = 0; i < num; i++)
		free(names[i]);
	free(names);
}

/* ---- Ports ---- */

static void add_netdev(struct info_port *port, const char *name)
{
	size_t i;

	for (i = 0; i < port->num_netdevs; i++)
		if (!strcmp(port->netdevs[i], name))
			return;
	if (!*name)
		return;
	port->netdevs =
		info_realloc(port->netdevs, (port->num_netdevs + 1) * sizeof(*port->netdevs));
	port->netdevs[port->num_netdevs++] = info_printf("%s", name);
}

/* Software devices name the interface that they are on; others have GIDs, each of an interface. */
static void find_netdevs(struct info_port *port, const char *device, const char *folder)
{
	char *gids = info_printf("%s/gid_attrs/ndevs", folder), *name;
	struct dirent **names;
	int i, num;

	name = read_line(device, "parent");
	add_netdev(port, name);
	free(name);
	num = list(gids, &names);
	for (i = 0; i < num; i++) {
		name = read_line(gids, names[i]->d_name);
		add_netdev(port, name);
		free(name);
	}
	free_list(names, num);
	free(gids);
}

/* Interfaces of the same adapter, for a port that named none: told apart by their own port. */
static void find_siblings(struct info_port *port, const char *device)
{
	char *folder = info_printf("%s/device/net", device), *sibling, *text;
	struct dirent **names;
	int i, num = list(folder, &names);

	for (i = 0; i < num; i++) {
		sibling = info_printf("%s/%s", folder, names[i]->d_name);
		text = read_line(sibling, "dev_port");
		if (strtoul(text, NULL, 0) + 1 == port->number)
			add_netdev(port, names[i]->d_name);
		free(text);
		free(sibling);
	}
	free_list(names, num);
	free(folder);
}

static enum info_device_kind kind_of(const char *device)
{
	char *text = read_line(device, "node_type");
	long type = strtol(text, NULL, 10);

	free(text);
	return type == 1 ? INFO_DEVICE_CA : type == 4 ? INFO_DEVICE_RNIC : INFO_DEVICE_OTHER;
}

static void fill_port(struct info_port *port, const char *device, const char *folder)
{
	char *state = read_line(folder, "state");

	port->kind = kind_of(device);
	port->active = strstr(state, "ACTIVE");
	free(state);
	find_netdevs(port, device, folder);
	if (!port->num_netdevs)
		find_siblings(port, device);
}

static void add_ports(const char *class, const char *name, struct info_port **ports, size_t *num)
{
	char *device = info_printf("%s/%s", class, name);
	char *folder = info_printf("%s/ports", device), *path;
	struct dirent **numbers;
	int i, num_numbers = list(folder, &numbers);

	for (i = 0; i < num_numbers; i++) {
		path = info_printf("%s/%s", folder, numbers[i]->d_name);
		*ports = info_realloc(*ports, (*num + 1) * sizeof(**ports));
		(*ports)[*num] = (struct info_port){
			.device = info_printf("%s", name),
			.number = (unsigned int)strtoul(numbers[i]->d_name, NULL, 10),
		};
		fill_port(&(*ports)[(*num)++], device, path);
		free(path);
	}
	free_list(numbers, num_numbers);
	free(folder);
	free(device);
}

size_t info_devices(const char *sysfs, struct info_port **ports)
{
	char *class = info_printf("%s/class/infiniband", sysfs);
	struct dirent **names;
	int i, num_names = list(class, &names);
	size_t num = 0;

	*ports = NULL;
	for (i = 0; i < num_names; i++)
		add_ports(class, names[i]->d_name, ports, &num);
	free_list(names, num_names);
	free(class);
	return num;
}

void info_devices_free(struct info_port *ports, size_t num)
{
	size_t i, j;

	for (i = 0; i < num; i++) {
		for (j = 0; j < ports[i].num_netdevs; j++)
			free(ports[i].netdevs[j]);
		free(ports[i].netdevs);
		free(ports[i].device);
	}
	free(ports);
}
