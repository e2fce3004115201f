/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service points: what public, reserved and common ones share is struct dapl_sp. */
#ifndef DAPL_SP_H
#define DAPL_SP_H

#include "dapl/event/evd.h"
#include "dapl/object/object.h"
#include "dapl/transport.h"

struct dapl_cr;
struct dapl_ep;

struct dapl_sp {
	struct dapl_object obj;
	struct tp_listener *listener; /* NULL: not listening any more */
	bool listening;		      /* as others may know it; under obj.ia->lock */
	struct dapl_evd *evd;
	DAT_CONN_QUAL conn_qual; /* 0: the transport's choice, not told yet; under obj.ia->lock */
	/* A request arrived, by the rules of tp_upcalls.conn_request. */
	int (*arrive)(struct dapl_sp *sp, struct tp_conn *conn, const struct tp_conn_request *req);
};

struct dapl_psp {
	struct dapl_sp sp;
	DAT_PSP_FLAGS flags;
};

struct dapl_csp {
	struct dapl_sp sp;
	DAT_COMM comm;
	struct sockaddr_storage addr; /* as given; port 0 until told (CSP-3), under obj.ia->lock */
};

struct dapl_rsp {
	struct dapl_sp sp;
	struct dapl_ep *ep; /* NULL: the provider makes one (RSP-3) */
	struct dapl_cr *cr; /* arrived, on its way to the consumer; under obj.ia->lock */
	bool spent;	    /* ditto (RSP-5) */
	struct tp_task task;
};

/* The tp_upcalls.conn_request of the core. */
int dapl_sp_request(void *listener_owner, struct tp_conn *conn, const struct tp_conn_request *req);

/* Starts listening; conn_qual 0 asks for any qualifier. */
DAT_RETURN dapl_sp_listen(struct dapl_sp *sp, struct dapl_ia *ia, struct dapl_evd *evd,
			  DAT_CONN_QUAL conn_qual);
void dapl_sp_unlisten(struct dapl_sp *sp);
/* The dapl_class.end of a service point without more than that. */
void dapl_sp_end(struct dapl_object *obj);
/* What it listens on, or did. */
DAT_CONN_QUAL dapl_sp_qual(struct dapl_sp *sp);
/* The service point of an IA that listens on conn_qual, entered (dapl_object_enter); NULL: none. */
struct dapl_sp *dapl_sp_find(struct dapl_ia *ia, DAT_CONN_QUAL conn_qual);
/*
 * Under which qualifier the transport knows it. Those beyond a 16-bit port number are mapped onto
 * one as release 2.1.10 does it, so that programs that use them run and meet their old peers; in
 * strict mode they stay what they are: not expressible (PSP-9, EP-71).
 */
DAT_CONN_QUAL dapl_sp_wire_qual(const struct dapl_ia *ia, DAT_CONN_QUAL conn_qual);
/* PSP-9: can the transport listen on it? */
bool dapl_sp_qual_ok(const struct dapl_ia *ia, DAT_CONN_QUAL conn_qual);

/*
 * A request becomes a CR that is announced at once, with an EP made for it or NULL. As
 * tp_upcalls.conn_request.
 */
int dapl_sp_hand_over(struct dapl_sp *sp, struct tp_conn *conn, const struct tp_conn_request *req,
		      struct dapl_ep *ep);

/* An EP in T for a request whose service point leaves that to the provider (PSP-7); NULL: no
 * memory. */
struct dapl_ep *dapl_sp_make_ep(struct dapl_ia *ia);
/* The EP of a request that comes to nothing: an RSP's is the consumer's again, a made one goes
 * (CR-18). */
void dapl_sp_unmake_ep(struct dapl_ep *ep);

extern const struct dapl_class dapl_psp_class, dapl_rsp_class, dapl_csp_class;

DAT_RETURN dapl_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL conn_qual, DAT_EVD_HANDLE evd,
			   DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN dapl_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *conn_qual, DAT_EVD_HANDLE evd,
			       DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN dapl_psp_query(DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param);
DAT_RETURN dapl_psp_free(DAT_PSP_HANDLE psp);

DAT_RETURN dapl_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL conn_qual, DAT_EP_HANDLE ep,
			   DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp);
DAT_RETURN dapl_rsp_query(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param);
DAT_RETURN dapl_rsp_free(DAT_RSP_HANDLE rsp);

DAT_RETURN dapl_csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			   DAT_EVD_HANDLE evd, DAT_CSP_HANDLE *csp);
DAT_RETURN dapl_csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param);
DAT_RETURN dapl_csp_free(DAT_CSP_HANDLE csp);

#endif
