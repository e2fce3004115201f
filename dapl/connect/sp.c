/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What all service points share. */
#include "dapl/connect/sp.h"

#include <ctype.h>
#include <errno.h>

#include "dapl/base/status.h"
#include "dapl/connect/addr.h"
#include "dapl/object/counters.h"
#include "dapl/object/entries.h"
#include "dapl/object/ia.h"
#include "trace/log.h"

int dapl_sp_arrive(struct dapl_sp *sp, struct tp_conn *conn, const struct tp_conn_request *req)
{
	if (req->ud && !dapl_object_is(&sp->obj, DAPL_TYPE_PSP))
		return -ECONNREFUSED;
	return sp->arrive(sp, conn, req);
}

int dapl_sp_request(void *listener_owner, struct tp_conn *conn, const struct tp_conn_request *req)
{
	struct dapl_sp *sp = listener_owner;
	struct dapl_ia *ia = sp->obj.ia; /* an RSP may be gone afterwards */
	int err;

	dapl_trace(conn_request, DAPL_TRC_NORMAL, sp, "qualifier=%llu bytes=%u",
		   (unsigned long long)dapl_sp_qual(sp), req->private_data_len);
	dapl_count(ia, DCNT_IA_CM_REQ_RX);
	err = dapl_sp_arrive(sp, conn, req);
	if (err)
		dapl_count_cm_error(ia, DCNT_IA_CM_ERR_REJ_TX);
	return err;
}

bool dapl_sp_qual_ok(const struct dapl_ia *ia, DAT_CONN_QUAL conn_qual)
{
	return conn_qual && dapl_addr_wire_qual(ia, conn_qual) <= ia->attr->max_conn_qual;
}

DAT_RETURN dapl_sp_parts(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE evd_handle, struct dapl_ia **ia,
			 struct dapl_evd **evd)
{
	*ia = dapl_ia_get(ia_handle);
	if (!*ia)
		return DAPL_BAD_HANDLE(IA);
	*evd = dapl_evd_use(evd_handle, *ia, DAT_EVD_CR_FLAG);
	return *evd ? DAT_SUCCESS : DAPL_BAD_HANDLE(EVD_CR);
}

static DAT_RETURN start(struct dapl_sp *sp, struct dapl_ia *ia, DAT_CONN_QUAL conn_qual)
{
	const struct dapl_cm_ops *cm = ia->dev->transport->cm;
	int err;

	/* First: a request may arrive, and end an RSP's listening, before listen has returned. */
	dapl_object_use(&sp->evd->obj);
	if (sp->listen)
		err = sp->listen(sp, ia);
	else
		err = cm->listen(ia->dev, dapl_addr_wire_qual(ia, conn_qual), sp, &sp->listener);
	if (!err) {
		dapl_count(ia, DCNT_IA_CM_LISTEN);
		pthread_mutex_lock(&ia->lock);
		if (!sp->conn_qual)
			sp->conn_qual = sp->listener->conn_qual;
		sp->listening = sp->listener; /* an RSP may be done with it already */
		pthread_mutex_unlock(&ia->lock);
		return DAT_SUCCESS;
	}
	dapl_object_unuse(&sp->evd->obj);
	if (dapl_addr_wire_qual(ia, conn_qual) != conn_qual)
		dapl_err("%s: not listening on qualifier %llu, which is port %llu of this adapter",
			 ia->entry->info.ia_name, (unsigned long long)conn_qual,
			 (unsigned long long)dapl_addr_wire_qual(ia, conn_qual));
	if (err == -EADDRNOTAVAIL && !conn_qual)
		return dapl_fail(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE);
	if (err == -EINVAL)
		return DAPL_BAD_ARG(sp->listen ? 3 : 2); /* the socket, the qualifier */
	return dapl_status(err, DAT_RESOURCE_DEVICE);
}

DAT_RETURN dapl_sp_listen(struct dapl_sp *sp, const struct dapl_class *class, struct dapl_ia *ia)
{
	DAT_CONN_QUAL conn_qual = sp->conn_qual;
	DAT_RETURN rc = DAPL_BAD_HANDLE(IA);

	/* Listed first: a request may arrive before listen has returned. */
	if (!dapl_ia_add(ia, &sp->obj, class, UINT32_MAX))
		goto release;
	rc = start(sp, ia, conn_qual);
	if (!rc)
		return DAT_SUCCESS;
	dapl_ia_remove(&sp->obj);
release:
	dapl_object_release(&sp->obj);
	return rc;
}

DAT_CONN_QUAL dapl_sp_qual(struct dapl_sp *sp)
{
	DAT_CONN_QUAL conn_qual;

	pthread_mutex_lock(&sp->obj.ia->lock);
	conn_qual = sp->conn_qual ? sp->conn_qual : sp->listener->conn_qual;
	pthread_mutex_unlock(&sp->obj.ia->lock);
	return conn_qual;
}

void dapl_sp_unlisten(struct dapl_sp *sp)
{
	struct dapl_ia *ia = sp->obj.ia;
	struct tp_listener *listener;

	pthread_mutex_lock(&ia->lock); /* the program and the loop may both want to stop an RSP */
	listener = sp->listener;
	if (listener && !sp->conn_qual) /* start may not have come to that yet */
		sp->conn_qual = listener->conn_qual;
	sp->listener = NULL;
	sp->listening = false;
	pthread_mutex_unlock(&ia->lock);
	if (!listener)
		return;
	ia->dev->transport->cm->unlisten(listener);
	dapl_object_unuse(&sp->evd->obj);
}

void dapl_sp_end(struct dapl_object *obj)
{
	dapl_object_wait_left(obj); /* a request may be handed off to it, and go to its EVD */
	dapl_sp_unlisten(container_of(obj, struct dapl_sp, obj));
}

bool dapl_sp_uses(struct dapl_object *obj, const struct dapl_object *part)
{
	return &container_of(obj, struct dapl_sp, obj)->evd->obj == part;
}

void dapl_sp_describe(struct dapl_object *obj, FILE *out)
{
	struct dapl_sp *sp = container_of(obj, struct dapl_sp, obj);

	const char *c;

	for (c = obj->class->name; *c; c++)
		fputc(tolower(*c), out);
	fprintf(out, "\tia=%lu\tsp=%p\tqual=%llu\tevd=%p\tlistening=%d\n",
		(unsigned long)dapl_ia_handle(obj->ia), (void *)sp,
		(unsigned long long)sp->conn_qual, (void *)sp->evd, sp->listening);
}

static bool listens_on(struct dapl_object *obj, enum dapl_type type, DAT_CONN_QUAL conn_qual)
{
	const struct dapl_sp *sp = container_of(obj, struct dapl_sp, obj);

	if (type != DAPL_TYPE_PSP && type != DAPL_TYPE_RSP && type != DAPL_TYPE_CSP)
		return false;
	return sp->listening && sp->conn_qual == conn_qual && dapl_object_enter(obj, type);
}

struct dapl_sp *dapl_sp_find(struct dapl_ia *ia, DAT_CONN_QUAL conn_qual)
{
	struct dapl_object *obj;

	pthread_mutex_lock(&ia->lock);
	for (obj = ia->objects; obj; obj = obj->next)
		if (listens_on(obj, atomic_load(&obj->type), conn_qual))
			break;
	pthread_mutex_unlock(&ia->lock);
	return obj ? container_of(obj, struct dapl_sp, obj) : NULL;
}
