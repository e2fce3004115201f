/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* This host: versions, RDMA devices and what they need of the kernel, memory that may be locked. */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/info/devices.h"
#include "tools/info/doctor.h"
#include "tools/info/out.h"

/* Below this a registration of ordinary size fails. */
#define MEMLOCK_ENOUGH (64u << 20)

/* The file behind a library's name, whose own name has the version; "" where there is none. */
static void library_file(const char *name, char *path)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map;

	path[0] = '\0';
	if (library && !dlinfo(library, RTLD_DI_LINKMAP, &map) && !realpath(map->l_name, path))
		path[0] = '\0';
}

void doctor_versions(struct doctor *doctor)
{
	char verbs[PATH_MAX], dat[PATH_MAX];
	struct utsname kernel;

	uname(&kernel);
	library_file("libdat2.so.2", dat);
	library_file("libibverbs.so.1", verbs);
	doctor_say(doctor, DOCTOR_OK, "versions", "udapl %s (%s), %s, %s %s", PACKAGE_VERSION,
		   *dat ? dat : "libdat2 in a place of its own", *verbs ? verbs : "no libibverbs",
		   kernel.sysname, kernel.release);
}

/* ---- RDMA devices ---- */

static bool module_there(const struct doctor *doctor, const char *name)
{
	char *path = info_printf("%s/module/%s", doctor->options->sysfs, name);
	bool there = !access(path, F_OK);

	free(path);
	return there;
}

static void check_module(struct doctor *doctor, const char *name)
{
	if (module_there(doctor, name))
		return;
	doctor_say(doctor, DOCTOR_BAD, "modules", "the kernel module %s is not loaded", name);
	doctor_mend(doctor, "modprobe %s, and put it into /etc/modules-load.d", name);
}

static void check_rdma_cm(struct doctor *doctor)
{
	static const char path[] = "/dev/infiniband/rdma_cm";

	if (!access(path, R_OK | W_OK) || !module_there(doctor, "rdma_ucm"))
		return;
	doctor_say(doctor, DOCTOR_BAD, "modules", "%s cannot be opened: %s", path, strerror(errno));
	doctor_mend(doctor, errno == ENOENT
				    ? "let udev make it, or mount a /dev that has it"
				    : "give the user the right to read and write it (udev rules "
				      "of rdma-core)");
}

void doctor_devices(struct doctor *doctor)
{
	struct info_port *ports;
	size_t i, num = info_devices(doctor->options->sysfs, &ports);

	for (i = 0; i < num; i++) {
		doctor_say(doctor, ports[i].active ? DOCTOR_OK : DOCTOR_NOTE, "devices",
			   "%s port %u is %s, on %s", ports[i].device, ports[i].number,
			   ports[i].active ? "active" : "not active: link or subnet manager",
			   ports[i].num_netdevs ? ports[i].netdevs[0] : "no interface");
	}
	if (num) {
		check_module(doctor, "ib_uverbs");
		check_module(doctor, "rdma_ucm");
		check_rdma_cm(doctor);
	} else {
		doctor_say(doctor, DOCTOR_OK, "devices",
			   "no RDMA device: the software provider it is");
	}
	info_devices_free(ports, num);
}

/* ---- Memory ---- */

void doctor_memory(struct doctor *doctor)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY) {
		doctor_say(doctor, DOCTOR_OK, "memory", "may be locked without limit");
		return;
	}
	if (doctor->over_tcp || limit.rlim_cur >= MEMLOCK_ENOUGH) {
		doctor_say(doctor, DOCTOR_OK, "memory", "%llu KiB may be locked%s",
			   (unsigned long long)limit.rlim_cur >> 10,
			   doctor->over_tcp ? ", and the software provider locks none" : "");
		return;
	}
	doctor_say(doctor, doctor->adapter ? DOCTOR_BAD : DOCTOR_NOTE, "memory",
		   "only %llu KiB may be locked, and an RDMA device locks what is registered",
		   (unsigned long long)limit.rlim_cur >> 10);
	doctor_mend(doctor, "ulimit -l unlimited, or memlock in /etc/security/limits.conf or "
			    "LimitMEMLOCK= of the service");
}
