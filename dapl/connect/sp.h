/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service points: what public, reserved, common and socket ones share is struct dapl_sp. */
#ifndef DAPL_SP_H
#define DAPL_SP_H

#include <stdarg.h>

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
	DAT_CONN_QUAL conn_qual; /* 0: not chosen yet by the transport; under obj.ia->lock */
	/* A request arrived, by the rules of tp_upcalls.conn_request. */
	int (*arrive)(struct dapl_sp *sp, struct tp_conn *conn, const struct tp_conn_request *req);
	/* Starts listening; NULL: on conn_qual. 0 or a negative errno. */
	int (*listen)(struct dapl_sp *sp, struct dapl_ia *ia);
};

struct dapl_psp {
	struct dapl_sp sp;
	DAT_PSP_FLAGS flags;
};

struct dapl_csp {
	struct dapl_sp sp;
	DAT_COMM comm;
	struct sockaddr_storage addr; /* as given; a query fills in port 0 (CSP-3); obj.ia->lock */
};

/* One of a socket as well, which is the same from the request on. */
struct dapl_rsp {
	struct dapl_sp sp;
	struct dapl_ep *ep; /* NULL: the provider makes one (RSP-3) */
	struct dapl_cr *cr; /* arrived, on its way to the consumer; under obj.ia->lock */
	bool spent;	    /* ditto (RSP-5) */
	bool over;	    /* ditto: no request came, which the consumer is to be told (IWX-12) */
	struct tp_task task;
};

/* The tp_upcalls.conn_request and .listener_over of the core. */
int dapl_sp_request(void *listener_owner, struct tp_conn *conn, const struct tp_conn_request *req);
void dapl_sp_over(void *listener_owner);

/* Gives it a request; one of datagrams is a public service point's alone (IBX-67). */
int dapl_sp_arrive(struct dapl_sp *sp, struct tp_conn *conn, const struct tp_conn_request *req);

/* IA and EVD of the handles that every creation has first; the EVD counts one more user. */
DAT_RETURN dapl_sp_parts(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE evd_handle, struct dapl_ia **ia,
			 struct dapl_evd **evd);
/*
 * Puts a new service point, with everything but listener and obj filled in, into the IA's list and
 * starts listening; conn_qual 0 asks for any qualifier. Frees it where that fails.
 */
DAT_RETURN dapl_sp_listen(struct dapl_sp *sp, const struct dapl_class *class, struct dapl_ia *ia);
void dapl_sp_unlisten(struct dapl_sp *sp);
/* The dapl_class.end of a service point without more than that. */
void dapl_sp_end(struct dapl_object *obj);
bool dapl_sp_uses(struct dapl_object *obj, const struct dapl_object *part);
void dapl_sp_describe(struct dapl_object *obj, FILE *out);
/* What it listens on, or did. */
DAT_CONN_QUAL dapl_sp_qual(struct dapl_sp *sp);
/* The service point of an IA that listens on conn_qual, entered (dapl_object_enter); NULL: none. */
struct dapl_sp *dapl_sp_find(struct dapl_ia *ia, DAT_CONN_QUAL conn_qual);
/* PSP-9: can the transport listen on it? */
bool dapl_sp_qual_ok(const struct dapl_ia *ia, DAT_CONN_QUAL conn_qual);

/*
 * Reserves the EP and starts listening, for a new RSP that has its EVD, its EP and how to listen.
 * Frees it where that fails.
 */
DAT_RETURN dapl_rsp_start(struct dapl_rsp *rsp, const struct dapl_class *class, struct dapl_ia *ia);
/* The dapl_class.end and .in_way of RSP and SSP. */
void dapl_rsp_end(struct dapl_object *obj);
bool dapl_rsp_in_way(const struct dapl_object *obj);

/* The macros of dat_iw_extensions.h of the same names. */
DAT_RETURN dapl_ext_ssp_create(DAT_HANDLE ia, va_list args);
DAT_RETURN dapl_ext_ssp_free(DAT_HANDLE ssp);
DAT_RETURN dapl_ext_ssp_query(DAT_HANDLE ssp, va_list args);

extern const struct dapl_class dapl_psp_class, dapl_rsp_class, dapl_csp_class, dapl_ssp_class;

#endif
