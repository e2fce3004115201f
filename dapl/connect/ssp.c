/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Socket service points, of the iWARP extension: reserved ones that wait on one TCP socket. */
#include <stdarg.h>

#include <dat/dat_iw_extensions.h>

#include "dapl/base/status.h"
#include "dapl/connect/sp.h"
#include "dapl/endpoint/ep.h"
#include "dapl/object/ia.h"

struct dapl_ssp {
	struct dapl_rsp rsp;
	DAT_IW_SOCKET socket; /* the number, for a query: the program may have closed it */
	const void *message;  /* valid during the creation */
	DAT_COUNT len;
};

const struct dapl_class dapl_ssp_class = {
	.name = "SSP",
	.type = DAPL_TYPE_SSP,
	.handle_type = (DAT_HANDLE_TYPE)DAT_IW_HANDLE_TYPE_SSP,
	.bad_handle = DAT_INVALID_HANDLE1, /* extensions have no subtypes */
	.fields = DAT_IW_SSP_FIELD_ALL,
	.end = dapl_rsp_end,
	.in_way = dapl_rsp_in_way,
	.uses = dapl_sp_uses,
	.describe = dapl_sp_describe,
};

static int listen_on_socket(struct dapl_sp *sp, struct dapl_ia *ia)
{
	struct dapl_ssp *ssp = container_of(sp, struct dapl_ssp, rsp.sp);

	return ia->dev->transport->socket->listen(ia->dev, ssp->socket, ssp->message,
						  (uint32_t)ssp->len, sp, &sp->listener);
}

/* What dat_extension_op was given, counted from its handle (IBX-14). */
struct creation {
	DAT_HANDLE ia_handle;
	DAT_IW_SOCKET socket;
	DAT_EP_HANDLE ep_handle;
	DAT_EVD_HANDLE evd_handle;
	const void *message;
	DAT_COUNT len;
	DAT_IW_SSP_HANDLE *out;
};

/* Where it succeeds, the EVD counts one more user. */
static DAT_RETURN check(const struct creation *arg, struct dapl_ia **ia, struct dapl_ep **ep,
			struct dapl_evd **evd)
{
	*ia = dapl_ia_get(arg->ia_handle);
	if (!*ia)
		return DAPL_BAD_HANDLE(IA);
	if (!(*ia)->dev->transport->socket)
		return DAPL_NOT_IMPLEMENTED; /* IWX-3 */
	*ep = arg->ep_handle ? dapl_object_arg(arg->ep_handle, DAPL_TYPE_EP) : NULL;
	if (arg->ep_handle && (!*ep || (*ep)->obj.ia != *ia || (*ep)->qp.ud))
		return DAPL_BAD_HANDLE(EP);
	*evd = dapl_evd_use(arg->evd_handle, *ia, DAT_EVD_CR_FLAG);
	return *evd ? DAT_SUCCESS : DAPL_BAD_HANDLE(EVD_CR);
}

static DAT_RETURN create_on(const struct creation *arg, struct dapl_ia *ia, struct dapl_ep *ep,
			    struct dapl_evd *evd)
{
	struct dapl_ssp *ssp;
	DAT_RETURN rc;

	if (arg->len < 0)
		return DAPL_BAD_ARG(7);
	if (arg->len && !arg->message)
		return DAPL_BAD_ARG(6);
	if (!arg->out)
		return DAPL_BAD_ARG(8);
	ssp = dapl_object_alloc(sizeof(*ssp));
	if (!ssp)
		return DAPL_NO_RESOURCE(MEMORY);
	ssp->rsp.sp.listen = listen_on_socket;
	ssp->rsp.sp.evd = evd;
	ssp->rsp.ep = ep;
	ssp->socket = arg->socket;
	ssp->message = arg->message;
	ssp->len = arg->len;
	rc = dapl_rsp_start(&ssp->rsp, &dapl_ssp_class, ia);
	if (rc)
		return rc;
	*arg->out = ssp;
	return DAT_SUCCESS;
}

static DAT_RETURN create(const struct creation *arg)
{
	struct dapl_evd *evd;
	struct dapl_ep *ep;
	struct dapl_ia *ia;
	DAT_RETURN rc;

	rc = check(arg, &ia, &ep, &evd);
	if (rc)
		return rc;
	rc = create_on(arg, ia, ep, evd);
	dapl_object_unuse(&evd->obj);
	return rc;
}

DAT_RETURN dapl_ext_ssp_create(DAT_HANDLE ia_handle, va_list args)
{
	struct creation arg = { .ia_handle = ia_handle };

	arg.socket = va_arg(args, DAT_IW_SOCKET);
	arg.ep_handle = va_arg(args, DAT_EP_HANDLE);
	arg.evd_handle = va_arg(args, DAT_EVD_HANDLE);
	arg.message = va_arg(args, DAT_PVOID);
	arg.len = va_arg(args, DAT_COUNT);
	arg.out = va_arg(args, DAT_IW_SSP_HANDLE *);
	return create(&arg);
}

/* Of an adapter without the extension no handle is one (IWX-3). */
static DAT_RETURN refuse(DAT_HANDLE handle)
{
	const struct dapl_class *class;
	struct dapl_object *obj = dapl_object_any(handle, &class);

	return obj && !obj->ia->dev->transport->socket
		       ? DAPL_NOT_IMPLEMENTED
		       : dapl_fail(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

DAT_RETURN dapl_ext_ssp_query(DAT_HANDLE handle, va_list args)
{
	DAT_IW_SSP_PARAM_MASK mask = va_arg(args, DAT_IW_SSP_PARAM_MASK);
	DAT_IW_SSP_PARAM *param = va_arg(args, DAT_IW_SSP_PARAM *);
	struct dapl_ssp *ssp = dapl_object_arg(handle, DAPL_TYPE_SSP);
	bool spent;

	if (!ssp)
		return refuse(handle);
	if ((uint32_t)mask & ~(uint32_t)DAT_IW_SSP_FIELD_ALL)
		return DAPL_BAD_ARG(3);
	if (!param)
		return mask ? DAPL_BAD_ARG(4) : DAT_SUCCESS;
	pthread_mutex_lock(&ssp->rsp.sp.obj.ia->lock);
	spent = ssp->rsp.spent;
	pthread_mutex_unlock(&ssp->rsp.sp.obj.ia->lock);
	*param = (DAT_IW_SSP_PARAM){
		.ia_handle = dapl_ia_handle(ssp->rsp.sp.obj.ia),
		.socket_id = ssp->socket,
		.evd_handle = ssp->rsp.sp.evd,
		.ep_handle = ssp->rsp.ep,
		.ssp_state =
			spent ? DAT_IW_SSP_STATE_NON_OPERATIONAL : DAT_IW_SSP_STATE_OPERATIONAL,
	};
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ext_ssp_free(DAT_HANDLE handle)
{
	if (!dapl_object_arg(handle, DAPL_TYPE_SSP))
		return refuse(handle);
	return dapl_ia_free(handle, &dapl_ssp_class);
}
