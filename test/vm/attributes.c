/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Everything that a program can read: attributes of adapter, provider and endpoints, named
 * attributes, and what each query answers. Uses what release 2.1.10 exports only, so that it runs
 * on either one's libraries.
 *
 *   attributes objects IA
 *   attributes server IA                 prints "ready" when it listens
 *   attributes client IA SERVER-ADDRESS
 */
#include "attributes.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world world;

/* ---- Lines ---- */

void tell(const char *where, const char *name, const char *format, ...)
{
	va_list args;

	printf("%s.%s ", where, name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

void tell_number(const char *where, const char *name, long long value)
{
	tell(where, name, "%lld", value);
}

void tell_return(const char *where, DAT_RETURN rc)
{
	const char *major = "?", *minor = "?";

	dat_strerror(rc, &major, &minor);
	tell(where, "return", "%s", rc ? major : "DAT_SUCCESS");
}

void tell_handle(const char *where, const char *name, DAT_HANDLE handle, DAT_HANDLE given)
{
	tell(where, name, "%s", !handle ? "null" : handle == given ? "given" : "other");
}

static bool same_host(const void *one, const void *other)
{
	const struct sockaddr_in *a = one, *b = other;

	return a && b && a->sin_family == AF_INET && b->sin_family == AF_INET &&
	       a->sin_addr.s_addr == b->sin_addr.s_addr;
}

void tell_address(const char *where, const char *name, DAT_IA_ADDRESS_PTR address)
{
	const struct sockaddr_in *in = (const void *)address;
	char text[INET6_ADDRSTRLEN] = "";

	if (!in)
		tell(where, name, "null");
	else if (same_host(in, world.address))
		tell(where, name, "own");
	else if (same_host(in, world.peer))
		tell(where, name, "peer");
	else if (in->sin_family == AF_INET)
		tell(where, name, "%s", inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)));
	else
		tell(where, name, "family %d", in->sin_family);
}

void must(const char *what, DAT_RETURN rc)
{
	const char *major = "?", *minor = "?";

	if (rc == DAT_SUCCESS)
		return;
	dat_strerror(rc, &major, &minor);
	printf("failed: %s: %s %s\n", what, major, minor);
	exit(1);
}

/* ---- Dispatchers ---- */

static void tell_evd(const char *where, DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	memset(&param, 0, sizeof(param));
	tell_return(where, dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	tell_handle(where, "ia_handle", param.ia_handle, world.ia);
	NUMBER(where, param, evd_qlen);
	tell(where, "evd_state", "0x%x", param.evd_state);
	tell_handle(where, "cno_handle", param.cno_handle, DAT_HANDLE_NULL);
	tell(where, "evd_flags", "0x%x", param.evd_flags);
}

static void dispatchers(void)
{
	static const struct {
		const char *name;
		DAT_COUNT qlen;
		int flags;
	} kinds[] = {
		{ "evd.dto-1", 1, DAT_EVD_DTO_FLAG },
		{ "evd.dto-5", 5, DAT_EVD_DTO_FLAG },
		{ "evd.dto-100", 100, DAT_EVD_DTO_FLAG },
		{ "evd.bind-5", 5, DAT_EVD_RMR_BIND_FLAG },
		{ "evd.dto+bind-5", 5, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG },
		{ "evd.cr-5", 5, DAT_EVD_CR_FLAG },
		{ "evd.conn-5", 5, DAT_EVD_CONNECTION_FLAG },
		{ "evd.software-5", 5, DAT_EVD_SOFTWARE_FLAG },
		{ "evd.async-5", 5, DAT_EVD_ASYNC_FLAG },
		{ "evd.default-5", 5, DAT_EVD_DEFAULT_FLAG },
		{ "evd.dto+conn-5", 5, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG },
		{ "evd.cr+conn-5", 5, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG },
	};
	DAT_EVD_HANDLE evd;
	DAT_RETURN rc;
	char where[64];
	size_t i;

	tell_evd("evd.async-of-ia", world.async_evd);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(where, sizeof(where), "%s.create", kinds[i].name);
		rc = dat_evd_create(world.ia, kinds[i].qlen, NULL, (DAT_EVD_FLAGS)kinds[i].flags,
				    &evd);
		tell_return(where, rc);
		if (rc)
			continue;
		tell_evd(kinds[i].name, evd);
		must("dat_evd_free", dat_evd_free(evd));
	}
}

/* What the calls that change the state make of it. */
static void evd_states(void)
{
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;

	must("dat_evd_create", dat_evd_create(world.ia, 5, NULL, DAT_EVD_DTO_FLAG, &evd));
	tell_return("evd.disable", dat_evd_disable(evd));
	tell_evd("evd.disabled", evd);
	tell_return("evd.enable", dat_evd_enable(evd));
	tell_return("evd.unwaitable", dat_evd_set_unwaitable(evd));
	tell_evd("evd.unwaitable-now", evd);
	tell_return("evd.clear-unwaitable", dat_evd_clear_unwaitable(evd));
	must("dat_evd_free", dat_evd_free(evd));
	must("dat_cno_create", dat_cno_create(world.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	must("dat_evd_create", dat_evd_create(world.ia, 5, cno, DAT_EVD_DTO_FLAG, &evd));
	tell_evd("evd.cno", evd);
	must("dat_evd_free", dat_evd_free(evd));
	must("dat_cno_free", dat_cno_free(cno));
}

/* ---- Endpoints ---- */

/* Ports of a connection are the kernel's choice. */
static void tell_port(const char *where, const char *name, DAT_PORT_QUAL port)
{
	tell(where, name, "%s", port ? "a port" : "0");
}

void tell_ep(const char *where, DAT_EP_HANDLE ep, DAT_PZ_HANDLE pz, DAT_SRQ_HANDLE srq)
{
	DAT_EP_PARAM param;
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;
	char name[64];

	memset(&param, 0, sizeof(param));
	tell_return(where, dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	tell_handle(where, "ia_handle", param.ia_handle, world.ia);
	NUMBER(where, param, ep_state);
	tell_address(where, "local_ia_address_ptr", param.local_ia_address_ptr);
	tell_port(where, "local_port_qual", param.local_port_qual);
	tell_address(where, "remote_ia_address_ptr", param.remote_ia_address_ptr);
	tell_port(where, "remote_port_qual", param.remote_port_qual);
	tell_handle(where, "pz_handle", param.pz_handle, pz);
	tell_handle(where, "recv_evd_handle", param.recv_evd_handle, world.recv_evd);
	tell_handle(where, "request_evd_handle", param.request_evd_handle, world.req_evd);
	tell_handle(where, "connect_evd_handle", param.connect_evd_handle, world.conn_evd);
	tell_handle(where, "srq_handle", param.srq_handle, srq);
	snprintf(name, sizeof(name), "%s.status", where);
	tell_return(name, dat_ep_get_status(ep, &state, &recv_idle, &request_idle));
	tell_number(name, "state", state);
	tell_number(name, "recv_idle", recv_idle);
	tell_number(name, "request_idle", request_idle);
}

static void tell_ep_attr(const char *ep_name, DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;
	const DAT_EP_ATTR *attr = &param.ep_attr;
	char where[64];

	memset(&param, 0, sizeof(param));
	must("dat_ep_query", dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	snprintf(where, sizeof(where), "%s.attr", ep_name);
#define N(field) NUMBER(where, *attr, field);
	N(service_type)
	N(max_message_size)
	N(max_rdma_size)
	N(qos)
	N(recv_completion_flags)
	N(request_completion_flags)
	N(max_recv_dtos)
	N(max_request_dtos)
	N(max_recv_iov)
	N(max_request_iov)
	N(max_rdma_read_in)
	N(max_rdma_read_out)
	N(srq_soft_hw)
	N(max_rdma_read_iov)
	N(max_rdma_write_iov)
#undef N
	tell_named(where, "transport_specific", attr->ep_transport_specific_count,
		   attr->ep_transport_specific);
	tell_named(where, "provider_specific", attr->ep_provider_specific_count,
		   attr->ep_provider_specific);
}

static void one_ep(const char *where, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
		   DAT_EVD_HANDLE req_evd, DAT_EVD_HANDLE conn_evd, const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep;
	DAT_RETURN rc;
	char name[64];

	rc = dat_ep_create(world.ia, pz, recv_evd, req_evd, conn_evd, attr, &ep);
	snprintf(name, sizeof(name), "%s.create", where);
	tell_return(name, rc);
	if (rc)
		return;
	tell_ep(where, ep, pz, DAT_HANDLE_NULL);
	tell_ep_attr(where, ep);
	must("dat_ep_free", dat_ep_free(ep));
}

static void endpoints(void)
{
	DAT_EP_ATTR attr;

	one_ep("ep.default", world.pz, world.recv_evd, world.req_evd, world.conn_evd, NULL);
	one_ep("ep.bare", world.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL);
	one_ep("ep.no-conn", world.pz, world.recv_evd, world.req_evd, DAT_HANDLE_NULL, NULL);
	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_recv_dtos = 5;
	attr.max_request_dtos = 7;
	attr.max_recv_iov = 1;
	attr.max_request_iov = 3;
	one_ep("ep.asked", world.pz, world.recv_evd, world.req_evd, world.conn_evd, &attr);
	attr.max_message_size = 4096;
	attr.max_rdma_size = 65536;
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	attr.max_rdma_read_in = 2;
	attr.max_rdma_read_out = 3;
	attr.max_rdma_read_iov = 1;
	attr.max_rdma_write_iov = 2;
	one_ep("ep.all-asked", world.pz, world.recv_evd, world.req_evd, world.conn_evd, &attr);
}

/* ---- The other objects ---- */

static void tell_srq(const char *where, DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM param;

	memset(&param, 0, sizeof(param));
	tell_return(where, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	tell_handle(where, "ia_handle", param.ia_handle, world.ia);
	tell_handle(where, "pz_handle", param.pz_handle, world.pz);
	NUMBER(where, param, srq_state);
	NUMBER(where, param, max_recv_dtos);
	NUMBER(where, param, max_recv_iov);
	NUMBER(where, param, low_watermark);
	NUMBER(where, param, available_dto_count);
	NUMBER(where, param, outstanding_dto_count);
}

static void shared_queue(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 5, .max_recv_iov = 3, .low_watermark = 0 };
	DAT_COUNT allocated = -7, span = -7;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	DAT_RETURN rc;

	rc = dat_srq_create(world.ia, world.pz, &attr, &srq);
	tell_return("srq.create", rc);
	if (rc)
		return;
	tell_srq("srq", srq);
	rc = dat_ep_create_with_srq(world.ia, world.pz, world.recv_evd, world.req_evd,
				    world.conn_evd, srq, NULL, &ep);
	tell_return("ep.srq.create", rc);
	if (!rc) {
		tell_ep("ep.srq", ep, world.pz, srq);
		tell_ep_attr("ep.srq", ep);
		tell_return("ep.srq.recv-query", dat_ep_recv_query(ep, &allocated, &span));
		tell_number("ep.srq.recv-query", "allocated", allocated);
		tell_number("ep.srq.recv-query", "span", span);
		must("dat_ep_free", dat_ep_free(ep));
	}
	tell_return("srq.set-lw.call", dat_srq_set_lw(srq, 2));
	tell_srq("srq.set-lw", srq);
	tell_return("srq.resize.call", dat_srq_resize(srq, 20));
	tell_srq("srq.resize", srq);
	must("dat_srq_free", dat_srq_free(srq));
}

/* Keys and addresses: what is not 0. */
static void tell_present(const char *where, const char *name, unsigned long long value)
{
	tell(where, name, "%s", value ? "not 0" : "0");
}

static void one_lmr(const char *where, int rights)
{
	static char memory[10000] __attribute__((aligned(4096)));
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context = 0;
	DAT_RMR_CONTEXT rmr_context = 0;
	DAT_LMR_PARAM param;
	DAT_VADDR address = 0;
	DAT_VLEN size = 0;
	DAT_RETURN rc;

	region.for_va = memory + 100;
	rc = dat_lmr_create(world.ia, DAT_MEM_TYPE_VIRTUAL, region, 5000, world.pz,
			    (DAT_MEM_PRIV_FLAGS)rights, DAT_VA_TYPE_VA, &lmr, &lmr_context,
			    &rmr_context, &size, &address);
	tell_return(where, rc);
	if (rc)
		return;
	tell_present(where, "created-lmr_context", lmr_context);
	tell_present(where, "created-rmr_context", rmr_context);
	tell_number(where, "created-size", (long long)size);
	tell_number(where, "created-offset",
		    (long long)(address - (DAT_VADDR)(DAT_UVERYLONG)memory));
	memset(&param, 0, sizeof(param));
	must("dat_lmr_query", dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	tell_handle(where, "ia_handle", param.ia_handle, world.ia);
	tell_handle(where, "pz_handle", param.pz_handle, world.pz);
	NUMBER(where, param, mem_type);
	NUMBER(where, param, length);
	tell(where, "mem_priv", "0x%x", param.mem_priv);
	NUMBER(where, param, va_type);
	tell_present(where, "lmr_context", param.lmr_context);
	tell_present(where, "rmr_context", param.rmr_context);
	NUMBER(where, param, registered_size);
	tell_number(where, "registered_offset",
		    (long long)(param.registered_address - (DAT_VADDR)(DAT_UVERYLONG)memory));
	must("dat_lmr_free", dat_lmr_free(lmr));
}

static void memory(void)
{
	DAT_PZ_PARAM pz;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;
	DAT_RETURN rc;

	memset(&pz, 0, sizeof(pz));
	tell_return("pz", dat_pz_query(world.pz, DAT_PZ_FIELD_ALL, &pz));
	tell_handle("pz", "ia_handle", pz.ia_handle, world.ia);
	one_lmr("lmr.all", DAT_MEM_PRIV_ALL_FLAG);
	one_lmr("lmr.local", DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	one_lmr("lmr.read", DAT_MEM_PRIV_LOCAL_READ_FLAG);
	one_lmr("lmr.none", DAT_MEM_PRIV_NONE_FLAG);
	rc = dat_rmr_create(world.pz, &rmr);
	tell_return("rmr.create", rc);
	if (rc)
		return;
	memset(&param, 0, sizeof(param));
	tell_return("rmr", dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	tell_handle("rmr", "ia_handle", param.ia_handle, world.ia);
	tell_handle("rmr", "pz_handle", param.pz_handle, world.pz);
	tell_present("rmr", "lmr_context", param.lmr_triplet.lmr_context);
	NUMBER("rmr", param, mem_priv);
	tell_present("rmr", "rmr_context", param.rmr_context);
	NUMBER("rmr", param, rmr_scope);
	NUMBER("rmr", param, va_type);
	must("dat_rmr_free", dat_rmr_free(rmr));
}

static void service_points(void)
{
	DAT_CONN_QUAL qual = 0;
	DAT_PSP_HANDLE psp;
	DAT_PSP_PARAM param;
	DAT_RSP_HANDLE rsp;
	DAT_RSP_PARAM rsp_param;
	DAT_EP_HANDLE ep;
	DAT_RETURN rc;

	must("dat_psp_create_any",
	     dat_psp_create_any(world.ia, &qual, world.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	memset(&param, 0, sizeof(param));
	tell_return("psp", dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	tell_handle("psp", "ia_handle", param.ia_handle, world.ia);
	tell("psp", "conn_qual", "%s", param.conn_qual == qual && qual ? "given" : "other");
	tell_handle("psp", "evd_handle", param.evd_handle, world.cr_evd);
	NUMBER("psp", param, psp_flags);
	must("dat_psp_free", dat_psp_free(psp));
	must("dat_ep_create", dat_ep_create(world.ia, world.pz, world.recv_evd, world.req_evd,
					    world.conn_evd, NULL, &ep));
	rc = dat_rsp_create(world.ia, qual, ep, world.cr_evd, &rsp);
	tell_return("rsp.create", rc);
	if (!rc) {
		memset(&rsp_param, 0, sizeof(rsp_param));
		tell_return("rsp", dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &rsp_param));
		tell_handle("rsp", "ia_handle", rsp_param.ia_handle, world.ia);
		tell("rsp", "conn_qual", "%s", rsp_param.conn_qual == qual ? "given" : "other");
		tell_handle("rsp", "evd_handle", rsp_param.evd_handle, world.cr_evd);
		tell_handle("rsp", "ep_handle", rsp_param.ep_handle, ep);
		tell_ep("ep.reserved", ep, world.pz, DAT_HANDLE_NULL);
		must("dat_rsp_free", dat_rsp_free(rsp));
	}
	must("dat_ep_free", dat_ep_free(ep));
}

/* ---- The program ---- */

static void start(char *name)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR ia;

	world.name = name;
	must("dat_ia_open", dat_ia_open(name, 8, &world.async_evd, &world.ia));
	memset(&ia, 0, sizeof(ia));
	memset(&provider, 0, sizeof(provider));
	must("dat_ia_query", dat_ia_query(world.ia, NULL, DAT_IA_FIELD_ALL, &ia,
					  DAT_PROVIDER_FIELD_ALL, &provider));
	world.address = ia.ia_address_ptr;
	world.max_private = provider.max_private_data_size;
	must("dat_pz_create", dat_pz_create(world.ia, &world.pz));
#define EVD(evd, flag)         \
	must("dat_evd_create", \
	     dat_evd_create(world.ia, 256, NULL, DAT_EVD_##flag##_FLAG, &world.evd))
	EVD(cr_evd, CR);
	EVD(conn_evd, CONNECTION);
	EVD(recv_evd, DTO);
	EVD(req_evd, DTO);
#undef EVD
}

static void stop(void)
{
	must("dat_evd_free", dat_evd_free(world.req_evd));
	must("dat_evd_free", dat_evd_free(world.recv_evd));
	must("dat_evd_free", dat_evd_free(world.conn_evd));
	must("dat_evd_free", dat_evd_free(world.cr_evd));
	must("dat_pz_free", dat_pz_free(world.pz));
	must("dat_ia_close", dat_ia_close(world.ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void objects(void)
{
	adapter();
	dispatchers();
	evd_states();
	endpoints();
	shared_queue();
	memory();
	service_points();
}

int main(int argc, char **argv)
{
	const char *part = argc > 2 ? argv[1] : "";

	setlinebuf(stdout);
	if (strcmp(part, "objects") && strcmp(part, "server") && strcmp(part, "client")) {
		fprintf(stderr, "usage: attributes objects|server|client IA [SERVER-ADDRESS]\n");
		return 2;
	}
	start(argv[2]);
	if (!strcmp(part, "objects"))
		objects();
	else if (!strcmp(part, "server"))
		serve();
	else if (argc > 3)
		call(argv[3]);
	stop();
	printf("done\n");
	return 0;
}
