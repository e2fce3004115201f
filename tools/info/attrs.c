/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tools/info/attrs.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tools/info/out.h"

enum kind {
	TEXT,	 /* char[256] */
	COUNT,	 /* DAT_COUNT */
	U32,	 /* DAT_UINT32 */
	ADDRESS, /* DAT_VADDR */
	BOOLEAN, /* DAT_BOOLEAN */
	CHOICE,	 /* one of names, by its place */
	FLAGS,	 /* several of names, by their bit; zero: the name of 0 */
};

struct field {
	const char *name;
	size_t offset;
	enum kind kind;
	const char *const *names; /* ends with NULL */
	const char *zero;
};

/* ---- Records ---- */

/* json is the record's now. */
static void record_json(FILE *out, const char *group, const char *name, const char *text,
			struct json_object *json)
{
	fprintf(out, "%s%c%s%c%s%c%s%c", group, 0, name, 0, text, 0,
		json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN), 0);
	json_object_put(json);
}

static void record(FILE *out, const char *group, const char *name, const char *text)
{
	record_json(out, group, name, text, info_json_text(text));
}

static void record_number(FILE *out, const char *group, const char *name, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	record_json(out, group, name, text, json_object_new_int64(value));
}

static void record_bool(FILE *out, const char *group, const char *name, DAT_BOOLEAN value)
{
	if (value == DAT_TRUE || value == DAT_FALSE)
		record_json(out, group, name, value ? "yes" : "no", json_object_new_boolean(value));
	else
		record_number(out, group, name, (int64_t)value);
}

/* The name at a place of a list; NULL beyond its end. */
static const char *name_at(const char *const *names, uint32_t place)
{
	while (*names && place) {
		names++;
		place--;
	}
	return *names;
}

static void record_choice(FILE *out, const char *group, const struct field *field, uint32_t value)
{
	const char *name = name_at(field->names, value);

	if (name)
		record(out, group, field->name, name);
	else
		record_number(out, group, field->name, value);
}

static void record_flags(FILE *out, const char *group, const struct field *field, uint32_t value)
{
	struct json_object *json = json_object_new_array();
	const char *name, *separator = "";
	char number[16], *text = NULL;
	size_t size;
	FILE *t = info_text_file(&text, &size);
	uint32_t bit;

	for (bit = 0; bit < 32; bit++) {
		if (!(value & (uint32_t)1 << bit))
			continue;
		name = name_at(field->names, bit);
		snprintf(number, sizeof(number), "bit %u", bit);
		fprintf(t, "%s%s", separator, name ? name : number);
		json_object_array_add(json, info_json_text(name ? name : number));
		separator = ", ";
	}
	fclose(t);
	record_json(out, group, field->name, *text ? text : field->zero, json);
	free(text);
}

static void record_field(FILE *out, const char *group, const struct field *field, const void *base)
{
	const char *at = (const char *)base + field->offset;
	char text[257];
	uint64_t address;
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	switch (field->kind) {
	case TEXT:
		snprintf(text, sizeof(text), "%.255s", at);
		record(out, group, field->name, text);
		break;
	case COUNT:
		record_number(out, group, field->name, (int32_t)value);
		break;
	case U32:
		record_number(out, group, field->name, value);
		break;
	case ADDRESS:
		memcpy(&address, at, sizeof(address));
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
		record(out, group, field->name, text);
		break;
	case BOOLEAN:
		record_bool(out, group, field->name, (DAT_BOOLEAN)value);
		break;
	case CHOICE:
		record_choice(out, group, field, value);
		break;
	case FLAGS:
		record_flags(out, group, field, value);
		break;
	}
}

/* VND-5, VND-6: the value is the address of a function. */
static int is_function(const DAT_NAMED_ATTR *attr)
{
	return !strcmp(attr->name, "debug_query") || !strcmp(attr->name, "debug_modify");
}

static void record_named(FILE *out, const char *group, const DAT_NAMED_ATTR *attr, DAT_COUNT num)
{
	DAT_COUNT i;

	for (i = 0; attr && i < num; i++) {
		if (!attr[i].name)
			continue;
		if (is_function(&attr[i]))
			record(out, group, attr[i].name, "(function)");
		else if (attr[i].value)
			record(out, group, attr[i].name, attr[i].value);
		else
			record_json(out, group, attr[i].name, "", NULL);
	}
}

/* ---- The adapter ---- */

#define IA(member, kind)                                                 \
	{                                                                \
#member, offsetof(DAT_IA_ATTR, member), kind, NULL, NULL \
	}

static const char *const extensions[] = { "none", "ib", "iw", NULL };

static const struct field ia_fields[] = {
	IA(adapter_name, TEXT),
	IA(vendor_name, TEXT),
	IA(hardware_version_major, U32),
	IA(hardware_version_minor, U32),
	IA(firmware_version_major, U32),
	IA(firmware_version_minor, U32),
	IA(max_eps, COUNT),
	IA(max_dto_per_ep, COUNT),
	IA(max_rdma_read_per_ep_in, COUNT),
	IA(max_rdma_read_per_ep_out, COUNT),
	IA(max_evds, COUNT),
	IA(max_evd_qlen, COUNT),
	IA(max_iov_segments_per_dto, COUNT),
	IA(max_lmrs, COUNT),
	IA(max_lmr_block_size, U32),
	IA(max_lmr_virtual_address, ADDRESS),
	IA(max_pzs, COUNT),
	IA(max_message_size, U32),
	IA(max_rdma_size, U32),
	IA(max_rmrs, COUNT),
	IA(max_rmr_target_address, ADDRESS),
	IA(max_srqs, COUNT),
	IA(max_ep_per_srq, COUNT),
	IA(max_recv_per_srq, COUNT),
	IA(max_iov_segments_per_rdma_read, COUNT),
	IA(max_iov_segments_per_rdma_write, COUNT),
	IA(max_rdma_read_in, COUNT),
	IA(max_rdma_read_out, COUNT),
	IA(max_rdma_read_per_ep_in_guaranteed, BOOLEAN),
	IA(max_rdma_read_per_ep_out_guaranteed, BOOLEAN),
	IA(zb_supported, BOOLEAN),
	{ "extension_supported", offsetof(DAT_IA_ATTR, extension_supported), CHOICE, extensions,
	  NULL },
	IA(extension_version, COUNT),
};

static void record_address(FILE *out, const struct sockaddr *addr)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (addr && addr->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)addr)->sin_addr,
			  text, sizeof(text));
	else if (addr && addr->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr,
			  text, sizeof(text));
	else if (addr)
		snprintf(text, sizeof(text), "address family %d", addr->sa_family);
	record_json(out, "ia", "ia_address", *text ? text : "none",
		    *text ? info_json_text(text) : NULL);
}

void info_attrs_ia(FILE *out, const DAT_IA_ATTR *attr)
{
	size_t i;

	for (i = 0; i < sizeof(ia_fields) / sizeof(ia_fields[0]); i++) {
		record_field(out, "ia", &ia_fields[i], attr);
		if (ia_fields[i].offset == offsetof(DAT_IA_ATTR, firmware_version_minor))
			record_address(out, attr->ia_address_ptr);
	}
	record_named(out, "transport", attr->transport_attr, attr->num_transport_attr);
	record_named(out, "vendor", attr->vendor_attr, attr->num_vendor_attr);
}

/* ---- The provider ---- */

#define PROVIDER(member, kind, names, zero)                                     \
	{                                                                       \
#member, offsetof(DAT_PROVIDER_ATTR, member), kind, names, zero \
	}

static const char *const mem_types[] = { "lmr", "shared_virtual", NULL };
static const char *const owners[] = { "consumer", "provider_nomod", "provider_mod", NULL };
static const char *const qos[] = { "high_throughput", "low_latency", "economy", "premium", NULL };
static const char *const completion_flags[] = {
	"suppress",	 "solicited_wait",	 "unsignalled", "barrier_fence",
	"evd_threshold", "lmr_invalidate_fence", NULL,
};
static const char *const ep_creators[] = { "never", "ifasked", "always", NULL };
static const char *const pz_supports[] = { "unique", "shareable", NULL };
static const char *const watermarks[] = { "srq_low", "ep_soft_high", "ep_hard_high", NULL };
static const char *const srq_infos[] = { "available_dto_count", "outstanding_dto_count", NULL };
static const char *const recv_infos[] = { "nbufs_allocated", "bufs_alloc_span", NULL };
static const char *const scopes[] = { "ep", "pz", "any", NULL };
static const char *const balancing[] = { "intercomm", "intracomm", NULL };

static const struct field provider_fields[] = {
	PROVIDER(provider_name, TEXT, NULL, NULL),
	PROVIDER(provider_version_major, U32, NULL, NULL),
	PROVIDER(provider_version_minor, U32, NULL, NULL),
	PROVIDER(dapl_version_major, U32, NULL, NULL),
	PROVIDER(dapl_version_minor, U32, NULL, NULL),
	PROVIDER(lmr_mem_types_supported, FLAGS, mem_types, "virtual"),
	PROVIDER(iov_ownership_on_return, CHOICE, owners, NULL),
	PROVIDER(dat_qos_supported, FLAGS, qos, "best_effort"),
	PROVIDER(completion_flags_supported, FLAGS, completion_flags, "none"),
	PROVIDER(is_thread_safe, BOOLEAN, NULL, NULL),
	PROVIDER(max_private_data_size, COUNT, NULL, NULL),
	PROVIDER(supports_multipath, BOOLEAN, NULL, NULL),
	PROVIDER(ep_creator, CHOICE, ep_creators, NULL),
	PROVIDER(pz_support, CHOICE, pz_supports, NULL),
	PROVIDER(optimal_buffer_alignment, U32, NULL, NULL),
	PROVIDER(srq_supported, BOOLEAN, NULL, NULL),
	PROVIDER(srq_watermarks_supported, FLAGS, watermarks, "none"),
	PROVIDER(srq_ep_pz_difference_supported, BOOLEAN, NULL, NULL),
	PROVIDER(srq_info_supported, FLAGS, srq_infos, "none"),
	PROVIDER(ep_recv_info_supported, FLAGS, recv_infos, "none"),
	PROVIDER(lmr_sync_req, BOOLEAN, NULL, NULL),
	PROVIDER(dto_async_return_guaranteed, BOOLEAN, NULL, NULL),
	PROVIDER(rdma_write_for_rdma_read_req, BOOLEAN, NULL, NULL),
	PROVIDER(rdma_read_lmr_rmr_context_exposure, BOOLEAN, NULL, NULL),
	PROVIDER(rmr_scope_supported, CHOICE, scopes, NULL),
	PROVIDER(is_signal_safe, BOOLEAN, NULL, NULL),
	PROVIDER(ha_supported, BOOLEAN, NULL, NULL),
	PROVIDER(ha_loadbalancing, FLAGS, balancing, "none"),
};

/* IA-65: rows and columns of the matrix. For people, the pairs that cannot share a dispatcher. */
static void record_merging(FILE *out, const DAT_PROVIDER_ATTR *attr)
{
	static const char *const streams[] = { "software",   "cr",	 "dto",
					       "connection", "rmr_bind", "async" };
	struct json_object *json = json_object_new_array(), *line;
	char *text = NULL;
	size_t size;
	FILE *t = info_text_file(&text, &size);
	int row, column;

	for (row = 0; row < 6; row++) {
		line = json_object_new_array();
		json_object_array_add(json, line);
		for (column = 0; column < 6; column++) {
			int merges = attr->evd_stream_merging_supported[row][column] != DAT_FALSE;

			json_object_array_add(line, json_object_new_boolean(merges));
			if (!merges && column >= row)
				fprintf(t, "%s%s+%s", ftell(t) ? ", " : "all but ", streams[row],
					streams[column]);
		}
	}
	fclose(t);
	record_json(out, "provider", "evd_stream_merging_supported", *text ? text : "all", json);
	free(text);
}

void info_attrs_provider(FILE *out, const DAT_PROVIDER_ATTR *attr)
{
	size_t i;

	for (i = 0; i < sizeof(provider_fields) / sizeof(provider_fields[0]); i++) {
		if (provider_fields[i].offset == offsetof(DAT_PROVIDER_ATTR, srq_supported))
			record_merging(out, attr);
		record_field(out, "provider", &provider_fields[i], attr);
	}
	record_named(out, "specific", attr->provider_specific_attr,
		     attr->num_provider_specific_attr);
}
