/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program as users have it, compiled with any release's headers: without an argument it lists the adapters; with
 * one it opens that adapter, asks what it is and closes it.
 */
#include <stdio.h>
#include <stdlib.h>

#include <dat2/udat.h>

#define MAX_ADAPTERS 128

static void must(DAT_RETURN rc, const char *what)
{
	if (rc == DAT_SUCCESS)
		return;
	fprintf(stderr, "%s: 0x%x\n", what, (unsigned int)rc);
	exit(EXIT_FAILURE);
}

static void list(void)
{
	static DAT_PROVIDER_INFO info[MAX_ADAPTERS];
	DAT_PROVIDER_INFO *infos[MAX_ADAPTERS];
	DAT_COUNT count = 0, i;

	for (i = 0; i < MAX_ADAPTERS; i++)
		infos[i] = &info[i];
	must(dat_registry_list_providers(MAX_ADAPTERS, &count, infos),
	     "dat_registry_list_providers");
	for (i = 0; i < count; i++)
		printf("%s\n", info[i].ia_name);
}

static void look(char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR provider;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;

	must(dat_ia_open(name, 8, &async, &ia), "dat_ia_open");
	must(dat_ia_query(ia, &async, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider),
	     "dat_ia_query");
	printf("%s %s\n", attr.adapter_name, provider.provider_name);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		look(argv[1]);
	else
		list();
	return 0;
}
