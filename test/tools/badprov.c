/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A provider that misbehaves as its dat.conf entry's seventh field says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat/udat.h>
#include <dat/dat_registry.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data);
EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info);

static struct {
	const DAT_PROVIDER *provider;
} ia;

static DAT_PROVIDER table;
static char how[64];

static void __attribute__((noreturn)) hang(void)
{
	for (;;)
		pause();
}

static DAT_RETURN open_ia(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			  DAT_IA_HANDLE *handle)
{
	(void)name;
	(void)qlen;
	if (!strcmp(how, "crash-open"))
		abort();
	if (!strcmp(how, "hang-open"))
		hang();
	if (!strcmp(how, "refuse"))
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_DEVICE;
	if (!strcmp(how, "odd-code"))
		return DAT_CLASS_ERROR | 0x0ead0000;
	ia.provider = &table;
	*evd = DAT_EVD_OUT_OF_SCOPE;
	*handle = &ia;
	return DAT_SUCCESS;
}

static DAT_RETURN query_ia(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *evd, DAT_IA_ATTR_MASK ia_mask,
			   DAT_IA_ATTR *attr, DAT_PROVIDER_ATTR_MASK provider_mask,
			   DAT_PROVIDER_ATTR *provider_attr)
{
	static DAT_NAMED_ATTR named[] = { { "text\001", "a \"quoted\"\tvalue" },
					  { "debug_query", (char *)(size_t)8 },
					  { "nothing", NULL },
					  { "wild", (char *)(size_t)16 } };

	(void)handle;
	(void)evd;
	memset(attr, 0, sizeof(*attr));
	if (provider_mask)
		memset((void *)provider_attr, 0, sizeof(*provider_attr));
	if (!ia_mask) /* libdat2 itself asks for little */
		return DAT_SUCCESS;
	memset(attr->adapter_name, 'x', sizeof(attr->adapter_name)); /* no NUL */
	attr->extension_supported = (DAT_EXTENSION)77;
	attr->vendor_attr = named;
	attr->num_vendor_attr = !strcmp(how, "wild-attr") ? 4 : 3;
	provider_attr->completion_flags_supported = (DAT_COMPLETION_FLAGS)0x80000041;
	return DAT_SUCCESS;
}

static DAT_RETURN close_ia(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	(void)handle;
	(void)flags;
	if (!strcmp(how, "hang-close"))
		hang();
	return DAT_SUCCESS;
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
	snprintf(how, sizeof(how), "%s", instance_data);
	if (!strcmp(how, "crash"))
		abort();
	if (!strcmp(how, "exit"))
		exit(7);
	if (!strcmp(how, "hang"))
		hang();
	if (!strcmp(how, "chatty"))
		puts("a word on standard output");
	if (!strcmp(how, "absent"))
		return;
	table.device_name = info->ia_name;
	table.ia_open_func = open_ia;
	table.ia_query_func = query_ia;
	table.ia_close_func = close_ia;
	dat_registry_add_provider(&table, info);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	dat_registry_remove_provider(&table, info);
}
