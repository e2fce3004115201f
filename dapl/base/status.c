/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/status.h"

#include <errno.h>

#include "trace/log.h"

DAT_RETURN dapl_status(int err, DAT_RETURN_SUBTYPE resource)
{
	switch (-err) {
	case 0:
		return DAT_SUCCESS;
	case ENOMEM:
		return DAPL_NO_RESOURCE(MEMORY);
	case EMFILE:
	case ENFILE:
	case ENOSPC:
	case EAGAIN:
	case ENOBUFS:
		return dapl_fail(DAT_INSUFFICIENT_RESOURCES, resource);
	case EOPNOTSUPP:
	case ENOSYS: /* of the kernel, or of a filter of calls */
		return DAPL_NO_MODEL;
	case EADDRINUSE:
		return dapl_fail(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
	case EADDRNOTAVAIL:
	case ENODEV:
	case ENXIO:
		return dapl_fail(DAT_INVALID_ADDRESS, DAT_NO_SUBTYPE);
	case EAFNOSUPPORT:
		return dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	case ENETUNREACH:
	case EHOSTUNREACH:
		return dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	case EACCES:
	case EPERM:
		return dapl_fail(DAT_PRIVILEGES_VIOLATION, DAT_NO_SUBTYPE);
	default:
		dapl_internal_error("a transport answered what has no DAT code");
		return dapl_fail(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	}
}
