/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The device's running counters, as the kernel shows them in sysfs. */
#include <errno.h>
#include <stdio.h>

#include "providers/verbs/map.h"
#include "providers/verbs/device.h"

/* One number of a port's folder; false: the device has none of that name. */
static bool read_one(const struct vrb_dev *dev, const char *folder, const char *name,
		     uint64_t *value)
{
	unsigned long long number;
	char path[192];
	bool found;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/%s/%s", dev->ibdev,
		 dev->port, folder, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	found = fscanf(file, "%llu", &number) == 1;
	fclose(file);
	if (found)
		*value = number;
	return found;
}

int vrb_dev_counters(struct tp_device *base, enum tp_counters group, uint64_t *value, uint32_t num)
{
	const struct vrb_counters *names = vrb_map_counters(group);
	const struct vrb_dev *dev = vrb_dev(base);
	int found = 0;
	uint32_t i;

	for (i = 0; i < num && i < names->num; i++)
		if (names->name[i] && read_one(dev, names->folder, names->name[i], &value[i]))
			found++;
	return found ? found : -EOPNOTSUPP;
}
