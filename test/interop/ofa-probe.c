/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists dat.conf and opens one IA that is expected to fail, twice; for ofa-module.sh. */
#include <dat/udat.h>

#include <stdio.h>

static DAT_RETURN try_open(char *name)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN rc = dat_ia_open(name, 8, &evd, &ia);

	if (rc == DAT_SUCCESS)
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return rc;
}

int main(int argc, char **argv)
{
	DAT_PROVIDER_INFO info = { "", 0, 0, DAT_FALSE }, *list[1] = { &info };
	const char *major = "?", *minor = "?";
	DAT_COUNT num = 0;
	DAT_RETURN rc;

	if (argc != 2 || dat_registry_list_providers(1, &num, list) != DAT_SUCCESS)
		return 2;
	printf("list: %d %s\n", num, info.ia_name);
	rc = try_open(argv[1]);
	dat_strerror(rc, &major, &minor);
	printf("open: %s %s (0x%x)\n", major, minor, rc);
	printf("again: %s\n", try_open(argv[1]) == rc ? "same" : "different");
	return 0;
}
