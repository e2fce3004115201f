/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ia.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROVIDERS 64
#define ASYNC_QLEN    64

int dt_ia_first(struct dt_actor *actor, char *name)
{
	DAT_PROVIDER_INFO *infos = calloc(MAX_PROVIDERS, sizeof(*infos));
	DAT_PROVIDER_INFO *list[MAX_PROVIDERS];
	DAT_COUNT count = 0;
	DAT_RETURN ret;
	int result = 0;

	if (!infos)
		return dt_fail(actor, "no memory");
	for (int i = 0; i < MAX_PROVIDERS; i++)
		list[i] = &infos[i];
	ret = dat_registry_list_providers(MAX_PROVIDERS, &count, list);
	/* More entries than asked for is no obstacle: the first is all that is wanted. */
	if (ret != DAT_SUCCESS && !count)
		result = dt_fail_dat(actor, ret, "dat_registry_list_providers");
	else if (!count)
		result = dt_fail(actor, "the static registry has no entry: give a device with -D");
	else
		snprintf(name, DAT_NAME_MAX_LENGTH, "%s", infos[0].ia_name);
	free(infos);
	return result;
}

int dt_ia_open(struct dt_actor *actor, struct dt_ia *ia, const char *name)
{
	char error[96];
	DAT_RETURN ret;

	memset(ia, 0, sizeof(*ia));
	ia->async_evd = DAT_HANDLE_NULL;
	ret = dat_ia_open((DAT_NAME_PTR)name, ASYNC_QLEN, &ia->async_evd, &ia->handle);
	if (ret != DAT_SUCCESS) {
		ia->handle = DAT_HANDLE_NULL;
		return dt_fail(actor, "Could not open %s (%s)", name,
			       dt_strerror(ret, error, sizeof(error)));
	}
	ret = dat_ia_query(ia->handle, &ia->async_evd, DAT_IA_FIELD_ALL, &ia->attr,
			   DAT_PROVIDER_FIELD_ALL, &ia->provider);
	if (ret != DAT_SUCCESS) {
		dt_fail_dat(actor, ret, "dat_ia_query");
		dat_ia_close(ia->handle, DAT_CLOSE_ABRUPT_FLAG);
		ia->handle = DAT_HANDLE_NULL;
		return -1;
	}
	dt_debug(1, "%s: IA %s opened", actor->who, name);
	return 0;
}

void dt_ia_report_async(const struct dt_actor *actor, const struct dt_ia *ia)
{
	DAT_EVENT event;

	if (!ia->handle)
		return;
	while (dat_evd_dequeue(ia->async_evd, &event) == DAT_SUCCESS)
		dt_warn(actor, "asynchronous event %s, reason %d",
			dt_event_name(event.event_number),
			event.event_data.asynch_error_event_data.reason);
}

int dt_ia_close(struct dt_actor *actor, struct dt_ia *ia)
{
	DAT_RETURN ret;

	if (!ia->handle)
		return 0;
	ret = dat_ia_close(ia->handle, DAT_CLOSE_GRACEFUL_FLAG);
	if (ret != DAT_SUCCESS) {
		dt_fail_dat(actor, ret, "dat_ia_close (graceful)");
		ret = dat_ia_close(ia->handle, DAT_CLOSE_ABRUPT_FLAG);
		if (ret != DAT_SUCCESS)
			dt_fail_dat(actor, ret, "dat_ia_close (abrupt)");
		ia->handle = DAT_HANDLE_NULL;
		return -1;
	}
	ia->handle = DAT_HANDLE_NULL;
	return 0;
}

static void address_print(const struct sockaddr *address, char *text, socklen_t size)
{
	socklen_t length = address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							  : sizeof(struct sockaddr_in);

	if (getnameinfo(address, length, text, size, NULL, 0, NI_NUMERICHOST))
		snprintf(text, size, "?");
}

void dt_ia_print(const struct dt_ia *ia)
{
	const DAT_IA_ATTR *attr = &ia->attr;
	const DAT_PROVIDER_ATTR *provider = &ia->provider;
	char address[NI_MAXHOST] = "?";

	if (attr->ia_address_ptr)
		address_print((const struct sockaddr *)attr->ia_address_ptr, address,
			      sizeof(address));
	printf("*****  DAPL  Characteristics  *****\n"
	       "Provider: %s  Version %u.%u  DAPL %u.%u\n"
	       "Adapter: %s by %s Version %u.%u\n"
	       "Supporting:\n"
	       "\t%d EPs with %d DTOs and %d RDMA/RDs each\n"
	       "\t%d EVDs of up to %d entries\n"
	       "\tIOVs of up to %d elements\n"
	       "\t%d LMRs (and %d RMRs) of up to 0x%lx bytes\n"
	       "\tMaximum MTU 0x%lx bytes, RDMA 0x%lx bytes\n"
	       "\tMaximum Private data size %d bytes\n"
	       "\tLocal IP address %s\n"
	       "***********************************\n",
	       provider->provider_name, provider->provider_version_major,
	       provider->provider_version_minor, provider->dapl_version_major,
	       provider->dapl_version_minor, attr->adapter_name, attr->vendor_name,
	       attr->hardware_version_major, attr->hardware_version_minor, attr->max_eps,
	       attr->max_dto_per_ep, attr->max_rdma_read_per_ep_out, attr->max_evds,
	       attr->max_evd_qlen, attr->max_iov_segments_per_dto, attr->max_lmrs, attr->max_rmrs,
	       (unsigned long)attr->max_lmr_block_size, (unsigned long)attr->max_message_size,
	       (unsigned long)attr->max_rdma_size, provider->max_private_data_size, address);
	fflush(stdout);
}

void dt_address_print(const struct sockaddr_storage *address, char *text)
{
	address_print((const struct sockaddr *)address, text, NI_MAXHOST);
}

int dt_resolve(struct dt_actor *actor, const char *host, int family,
	       struct sockaddr_storage *address)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_family = family };
	struct addrinfo *found = NULL;
	int error;

	error = getaddrinfo(host, NULL, &hints, &found);
	if (error) {
		hints.ai_family = AF_UNSPEC;
		error = getaddrinfo(host, NULL, &hints, &found);
	}
	if (error)
		return dt_fail(actor, "getaddrinfo (%s) failed (%s)", host, gai_strerror(error));
	memset(address, 0, sizeof(*address));
	memcpy(address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}
