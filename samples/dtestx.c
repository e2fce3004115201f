/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The InfiniBand extension: RDMA Write with immediate data, compare-and-swap, fetch-and-add,
 * counters, and asking an adapter for its attributes without opening it. What the adapter lacks is
 * said and left out. Options: dtestx(1).
 */
#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample.h"

#include <dat/dat_ib_extensions.h>

#define PORT 45250
/* The bits travel as they lie in memory, whatever the byte orders are (IBX-50). */
#define IMMEDIATE htonl(0x12345678u)

struct options {
	const char *adapter, *host;
	size_t size;
	bool query, counters;
};

/* The first 8 bytes of either side's buffer are for atomics; what is written follows. */
struct work {
	struct options opt;
	struct side side;
	struct buffer data;
	struct region mine, theirs;
	bool immediate, swap, add; /* what the adapter can do */
	bool met;		   /* a message has been exchanged */
};

/* Attributes are looked up by name, and "TRUE" means yes (IBX-117). */
static bool has(const DAT_PROVIDER_ATTR *attr, const char *name)
{
	int i;

	for (i = 0; i < attr->num_provider_specific_attr; i++)
		if (!strcmp(attr->provider_specific_attr[i].name, name))
			return !strcmp(attr->provider_specific_attr[i].value, "TRUE");
	return false;
}

static void learn(struct work *w)
{
	DAT_PROVIDER_ATTR attr;
	DAT_EVD_HANDLE async;

	must(dat_ia_query(w->side.ia, &async, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr),
	     "dat_ia_query");
	w->immediate = has(&attr, DAT_IB_ATTR_IMMED_DATA);
	w->swap = has(&attr, DAT_IB_ATTR_CMP_AND_SWAP);
	w->add = has(&attr, DAT_IB_ATTR_FETCH_AND_ADD);
}

/* An adapter without the extension does not know the right to atomics. */
static DAT_MEM_PRIV_FLAGS rights(const struct work *w)
{
	uint32_t all = DAT_MEM_PRIV_ALL_FLAG;

	return (DAT_MEM_PRIV_FLAGS)(w->swap || w->add ? all | DAT_IB_MEM_PRIV_REMOTE_ATOMIC : all);
}

static void query_only(const char *adapter)
{
	DAT_PROVIDER_ATTR attr;
	DAT_IA_ATTR ia_attr;
	DAT_HANDLE query = DAT_HANDLE_NULL;
	int i;

	must(dat_ib_open_query((DAT_NAME_PTR)adapter, &query, DAT_IA_FIELD_ALL, &ia_attr,
			       DAT_PROVIDER_FIELD_ALL, &attr),
	     "dat_ib_open_query");
	printf("adapter %s, vendor %s, %d endpoints\n", ia_attr.adapter_name, ia_attr.vendor_name,
	       ia_attr.max_eps);
	for (i = 0; i < attr.num_provider_specific_attr; i++)
		printf("%s = %s\n", attr.provider_specific_attr[i].name,
		       attr.provider_specific_attr[i].value);
	must(dat_ib_close_query(query), "dat_ib_close_query");
}

/* The extension part of the completion of a request, or of a receive, that must have succeeded. */
static DAT_IB_EXTENSION_EVENT_DATA complete(struct work *w, DAT_EVD_HANDLE evd,
					    DAT_IB_EXT_TYPE type)
{
	DAT_EVENT event = side_expect(&w->side, evd, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	DAT_IB_EXTENSION_EVENT_DATA data;

	memcpy(&data, event.event_extension_data, sizeof(data));
	if (event.event_data.dto_completion_event_data.status || data.status)
		die("extension operation failed: status %d",
		    event.event_data.dto_completion_event_data.status);
	if (data.type != type)
		die("extension type %d instead of %d", data.type, type);
	return data;
}

/*
 * Ordinary messages keep the sides in step. The first one is the connecting side's: on iWARP
 * nothing else may be sent before it (RFC 5044 section 7.1.2).
 */
static void meet(struct work *w)
{
	bool answer = !w->opt.host && !w->met;

	w->met = true;
	if (answer)
		side_complete(&w->side, w->side.recv_evd, 2);
	post_send(w->side.ep, &w->data, 8, 8, 1);
	side_complete(&w->side, w->side.request_evd, 1);
	if (!answer)
		side_complete(&w->side, w->side.recv_evd, 2);
	post_recv(w->side.ep, &w->data, 16, 8, 2);
}

static void write_immediate(struct work *w)
{
	DAT_LMR_TRIPLET here = buffer_part(&w->data, 24, w->opt.size);
	DAT_RMR_TRIPLET there = region_part(&w->theirs, 24 + w->opt.size, w->opt.size);
	DAT_DTO_COOKIE cookie = { .as_64 = 3 };
	DAT_IB_EXTENSION_EVENT_DATA data;

	memset(w->data.base + 24, 0x5a, w->opt.size);
	must(dat_ib_post_rdma_write_immed(w->side.ep, 1, &here, cookie, &there, IMMEDIATE,
					  DAT_COMPLETION_DEFAULT_FLAG),
	     "dat_ib_post_rdma_write_immed");
	complete(w, w->side.request_evd, DAT_IB_RDMA_WRITE_IMMED);
	data = complete(w, w->side.recv_evd, DAT_IB_RDMA_WRITE_IMMED_DATA);
	if (data.val.immed.data != IMMEDIATE)
		die("immediate data 0x%x instead of 0x%x", data.val.immed.data, IMMEDIATE);
	if (w->data.base[24 + 2 * w->opt.size - 1] != 0x5a)
		die("the immediate arrived before the data");
	post_recv(w->side.ep, &w->data, 16, 8, 2);
	printf("RDMA write with immediate data: %zu bytes and 0x%x\n", w->opt.size, IMMEDIATE);
}

/* The peer's first 8 bytes hold 0x100 when this begins. */
static void atomics(struct work *w, bool swap)
{
	DAT_LMR_TRIPLET here = buffer_part(&w->data, 24, 8);
	DAT_RMR_TRIPLET there = region_part(&w->theirs, 0, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 4 };
	uint64_t *mine = (uint64_t *)w->data.base, before, after = swap ? 0x777 : 0x142;

	*mine = 0x100;
	meet(w);
	if (swap)
		must(dat_ib_post_cmp_and_swap(w->side.ep, 0x100, after, &here, cookie, &there,
					      DAT_COMPLETION_DEFAULT_FLAG),
		     "dat_ib_post_cmp_and_swap");
	else
		must(dat_ib_post_fetch_and_add(w->side.ep, 0x42, &here, cookie, &there,
					       DAT_COMPLETION_DEFAULT_FLAG),
		     "dat_ib_post_fetch_and_add");
	complete(w, w->side.request_evd, swap ? DAT_IB_CMP_AND_SWAP : DAT_IB_FETCH_AND_ADD);
	memcpy(&before, w->data.base + 24, sizeof(before));
	meet(w); /* the peer's has been done as well */
	if (before != 0x100 || *mine != after)
		die("atomic: 0x%llx before and 0x%llx after, instead of 0x100 and 0x%llx",
		    (unsigned long long)before, (unsigned long long)*mine,
		    (unsigned long long)after);
	printf("%s: 0x100 became 0x%llx\n", swap ? "compare and swap" : "fetch and add",
	       (unsigned long long)after);
}

static void run(struct work *w)
{
	meet(w);
	if (w->immediate)
		write_immediate(w);
	else
		printf("the adapter has no immediate data\n");
	if (w->swap)
		atomics(w, true);
	if (w->add)
		atomics(w, false);
	if (!w->swap || !w->add)
		printf("the adapter lacks atomics\n");
	meet(w);
	if (!w->opt.counters)
		return;
	must(dat_ib_print_counters(w->side.ep, DCNT_EP_ALL_COUNTERS, 0), "dat_ib_print_counters");
	must(dat_ib_print_counters(w->side.request_evd, DCNT_EVD_ALL_COUNTERS, 0),
	     "dat_ib_print_counters");
	must(dat_ib_print_counters(w->side.ia, DCNT_IA_ALL_COUNTERS, 0), "dat_ib_print_counters");
}

static const char usage[] =
	"usage: dtestx [-vpqc] [-u] [-m] [-U endpoints] [-P adapter] [-b bytes] [-s | -h host]";

static struct options parse(int argc, char **argv)
{
	struct options opt = { .adapter = "soft-lo", .size = 64 };
	int c;

	answer_about(argc, argv, usage);
	while ((c = getopt(argc, argv, "vmpqcuU:P:b:sh:")) != -1)
		switch (c) {
		case 'p':
			opt.counters = true;
			break;
		case 'q':
			opt.query = true;
			break;
		case 'u':
		case 'U':
		case 'm':
			die("this program does not try unreliable datagrams");
		case 'P':
			opt.adapter = optarg;
			break;
		case 'b':
			opt.size = number_of(optarg, UINT_MAX, usage);
			break;
		case 's':
		case 'c':
		case 'v':
			break;
		case 'h':
			opt.host = optarg;
			break;
		default:
			die("%s", usage);
		}
	if (optind < argc || !opt.size || opt.size > 1u << 30)
		die("%s", usage);
	return opt;
}

int main(int argc, char **argv)
{
	struct work w = { .opt = parse(argc, argv) };

	if (w.opt.query) {
		query_only(w.opt.adapter);
		return 0;
	}
	side_open(&w.side, w.opt.adapter, false, 64);
	w.side.ep = side_endpoint(&w.side, 16);
	learn(&w);
	/* An atomic's result has 8 bytes. */
	buffer_register(&w.data, &w.side, 24 + (w.opt.size < 4 ? 8 : 2 * w.opt.size), rights(&w));
	w.mine = buffer_region(&w.data);
	post_recv(w.side.ep, &w.data, 16, 8, 2);
	post_recv(w.side.ep, &w.data, 16, 8, 2);
	if (w.opt.host) {
		side_connect(&w.side, w.opt.host, PORT, &w.mine, &w.theirs);
	} else {
		side_listen(&w.side, PORT);
		side_accept(&w.side, &w.mine, &w.theirs);
	}
	if (w.theirs.size != w.data.size)
		die("the peer's -b is %llu", (unsigned long long)(w.theirs.size - 24) / 2);
	run(&w);
	side_disconnect(&w.side);
	buffer_free(&w.data);
	side_close(&w.side);
	printf("%s PASSED\n", w.opt.host ? "client" : "server");
	return 0;
}
