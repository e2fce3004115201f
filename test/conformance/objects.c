/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "objects.h"

static bool make_pz(struct ct_object *o)
{
	o->handle = ct_pz(o->ia->ia);
	return true;
}

static bool make_evd(struct ct_object *o)
{
	o->handle = ct_evd(o->ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	return true;
}

static bool make_cno(struct ct_object *o)
{
	o->handle = ct_cno(o->ia->ia);
	return true;
}

static bool make_lmr(struct ct_object *o)
{
	o->pz = ct_pz(o->ia->ia);
	ct_mem_open(&o->mem, o->ia->ia, o->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	o->handle = o->mem.lmr;
	/* Freed as the object, not with the memory. */
	o->mem.lmr = DAT_HANDLE_NULL;
	return true;
}

static bool make_ep(struct ct_object *o)
{
	expect_ok(dat_ep_create(o->ia->ia, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				DAT_HANDLE_NULL, NULL, &o->handle));
	return true;
}

static bool make_psp(struct ct_object *o)
{
	DAT_CONN_QUAL qual;

	o->evd = ct_evd(o->ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	expect_ok(dat_psp_create_any(o->ia->ia, &qual, o->evd, DAT_PSP_CONSUMER_FLAG, &o->handle));
	return true;
}

/* A reserved service point cannot choose its qualifier: one that was free a moment ago has to do.
 */
static DAT_RETURN reserve(struct ct_object *o)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;

	expect_ok(dat_psp_create_any(o->ia->ia, &qual, o->evd, DAT_PSP_CONSUMER_FLAG, &psp));
	expect_ok(dat_psp_free(psp));
	return dat_rsp_create(o->ia->ia, qual, o->ep, o->evd, &o->handle);
}

static bool make_rsp(struct ct_object *o)
{
	DAT_RETURN rc = DAT_CONN_QUAL_IN_USE;

	o->pz = ct_pz(o->ia->ia);
	o->evd = ct_evd(o->ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	expect_ok(dat_ep_create(o->ia->ia, o->pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				NULL, &o->ep));
	for (int i = 0; i < 10 && DAT_GET_TYPE(rc) == DAT_CONN_QUAL_IN_USE; i++)
		rc = reserve(o);
	expect_ok(rc);
	return true;
}

/* Service point and dispatcher go at once: a request outlives both (CR-1). */
static bool make_cr(struct ct_object *o)
{
	DAT_EVD_HANDLE evd = ct_evd(o->ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	ct_open(&o->peer_ia);
	ct_end_open(&o->peer, o->peer_ia.ia, NULL);
	expect_ok(dat_psp_create_any(o->ia->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	expect_ok(dat_ep_connect(o->peer.ep, o->ia->attr.ia_address_ptr, qual, DAT_TIMEOUT_INFINITE,
				 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	ct_next(evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	o->handle = event.event_data.cr_arrival_event_data.cr_handle;
	expect_ok(dat_psp_free(psp));
	expect_ok(dat_evd_free(evd));
	return true;
}

static DAT_RETURN reject(DAT_CR_HANDLE cr)
{
	return dat_cr_reject(cr, 0, NULL);
}

static bool supported(DAT_RETURN rc)
{
	if (DAT_GET_TYPE(rc) == DAT_MODEL_NOT_SUPPORTED || DAT_GET_TYPE(rc) == DAT_NOT_IMPLEMENTED)
		return false;
	expect_ok(rc);
	return true;
}

static bool make_rmr(struct ct_object *o)
{
	o->pz = ct_pz(o->ia->ia);
	return supported(dat_rmr_create(o->pz, &o->handle));
}

static bool make_srq(struct ct_object *o)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };

	o->pz = ct_pz(o->ia->ia);
	return supported(dat_srq_create(o->ia->ia, o->pz, &attr, &o->handle));
}

#if DAT_VERSION_MAJOR > 1
static bool make_csp(struct ct_object *o)
{
	DAT_COMM comm = { .domain = o->ia->attr.ia_address_ptr->sa_family, .type = SOCK_STREAM };
	struct sockaddr_storage address;
	DAT_RETURN rc;
	socklen_t len =
		comm.domain == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

	memset(&address, 0, sizeof(address));
	memcpy(&address, o->ia->attr.ia_address_ptr, len);
	o->evd = ct_evd(o->ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	rc = dat_csp_create(o->ia->ia, &comm, (DAT_IA_ADDRESS_PTR)&address, o->evd, &o->handle);
	if (ct_has_ports(o->ia->attr.ia_address_ptr))
		return supported(rc);
	expect_type(rc, DAT_COMM_NOT_SUPPORTED);
	return false;
}
#endif

const struct ct_kind ct_kinds[] = {
	{ "PZ", DAT_HANDLE_TYPE_PZ, DAT_INVALID_HANDLE_PZ, make_pz, dat_pz_free },
	{ "LMR", DAT_HANDLE_TYPE_LMR, DAT_INVALID_HANDLE_LMR, make_lmr, dat_lmr_free },
	{ "EVD", DAT_HANDLE_TYPE_EVD, DAT_INVALID_HANDLE_EVD_REQUEST, make_evd, dat_evd_free },
	{ "CNO", DAT_HANDLE_TYPE_CNO, DAT_INVALID_HANDLE_CNO, make_cno, dat_cno_free },
	{ "EP", DAT_HANDLE_TYPE_EP, DAT_INVALID_HANDLE_EP, make_ep, dat_ep_free },
	{ "PSP", DAT_HANDLE_TYPE_PSP, DAT_INVALID_HANDLE_PSP, make_psp, dat_psp_free },
	{ "RSP", DAT_HANDLE_TYPE_RSP, DAT_INVALID_HANDLE_RSP, make_rsp, dat_rsp_free },
	{ "CR", DAT_HANDLE_TYPE_CR, DAT_INVALID_HANDLE_CR, make_cr, reject },
	{ "RMR", DAT_HANDLE_TYPE_RMR, DAT_INVALID_HANDLE_RMR, make_rmr, dat_rmr_free },
	{ "SRQ", DAT_HANDLE_TYPE_SRQ, DAT_INVALID_HANDLE_SRQ, make_srq, dat_srq_free },
#if DAT_VERSION_MAJOR > 1
	{ "CSP", DAT_HANDLE_TYPE_CSP, DAT_INVALID_HANDLE_CSP, make_csp, dat_csp_free },
#endif
	{ NULL, DAT_HANDLE_TYPE_EXTENSION_BASE, 0, NULL, NULL },
};

bool ct_object_make(struct ct_object *object, const struct ct_kind *kind, struct ct_ia *ia)
{
	memset(object, 0, sizeof(*object));
	object->kind = kind;
	object->ia = ia;
	if (kind->make(object)) {
		assert_non_null(object->handle);
		return true;
	}
	object->handle = DAT_HANDLE_NULL;
	ct_object_cleanup(object);
	return false;
}

void ct_object_destroy(struct ct_object *object)
{
	expect_ok(object->kind->destroy(object->handle));
	object->handle = DAT_HANDLE_NULL;
}

void ct_object_cleanup(struct ct_object *object)
{
	if (object->handle != DAT_HANDLE_NULL)
		ct_object_destroy(object);
	if (object->ep != DAT_HANDLE_NULL)
		expect_ok(dat_ep_free(object->ep));
	if (object->mem.base != NULL)
		ct_mem_close(&object->mem);
	if (object->pz != DAT_HANDLE_NULL)
		expect_ok(dat_pz_free(object->pz));
	if (object->evd != DAT_HANDLE_NULL)
		expect_ok(dat_evd_free(object->evd));
	if (object->peer_ia.ia != DAT_HANDLE_NULL) {
		ct_end_close(&object->peer);
		ct_close(&object->peer_ia);
	}
	memset(object, 0, sizeof(*object));
}
