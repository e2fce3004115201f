/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names and texts of return codes, all from the two lists below. */
#include "dat/strerror.h"

/* Code, text. DAT_EXTENSION_BASE and what lies above it belong to extensions (REG-56). */
#define DAT_ERROR_TYPES(X)                                                         \
	X(DAT_SUCCESS, "success")                                                  \
	X(DAT_ABORT, "the wait was ended because the object is going away")        \
	X(DAT_CONN_QUAL_IN_USE, "the connection qualifier is in use")              \
	X(DAT_INSUFFICIENT_RESOURCES, "a resource is exhausted")                   \
	X(DAT_INTERNAL_ERROR, "internal or device failure")                        \
	X(DAT_INVALID_HANDLE, "not the handle of a live object of the right kind") \
	X(DAT_INVALID_PARAMETER, "a parameter is out of range")                    \
	X(DAT_INVALID_STATE, "the object's state does not allow it")               \
	X(DAT_LENGTH_ERROR, "a length does not fit")                               \
	X(DAT_MODEL_NOT_SUPPORTED, "the provider does not support this variant")   \
	X(DAT_PROVIDER_NOT_FOUND, "no provider serves the request")                \
	X(DAT_PRIVILEGES_VIOLATION, "memory privileges do not allow it")           \
	X(DAT_PROTECTION_VIOLATION, "the protection zone does not match")          \
	X(DAT_QUEUE_EMPTY, "the queue is empty")                                   \
	X(DAT_QUEUE_FULL, "the queue is full")                                     \
	X(DAT_TIMEOUT_EXPIRED, "the time is over")                                 \
	X(DAT_PROVIDER_ALREADY_REGISTERED, "the provider is registered already")   \
	X(DAT_PROVIDER_IN_USE, "an adapter of the provider is open")               \
	X(DAT_INVALID_ADDRESS, "the address cannot be used")                       \
	X(DAT_INTERRUPTED_CALL, "a signal ended the wait")                         \
	X(DAT_CONN_QUAL_UNAVAILABLE, "no connection qualifier is free")            \
	X(DAT_RESERVED_LMR, "the memory region is reserved")                       \
	X(DAT_PORT_IN_USE, "the port is in use")                                   \
	X(DAT_COMM_NOT_SUPPORTED, "the communicator is not supported")             \
	X(DAT_NOT_IMPLEMENTED, "the provider does not have this call")

#define DAT_ERROR_SUBTYPES(X)                                                                      \
	X(DAT_NO_SUBTYPE, "")                                                                      \
	X(DAT_SUB_INTERRUPTED, "interrupted")                                                      \
	X(DAT_RESOURCE_MEMORY, "host memory")                                                      \
	X(DAT_RESOURCE_DEVICE, "device resources")                                                 \
	X(DAT_RESOURCE_TEP, "transport endpoints")                                                 \
	X(DAT_RESOURCE_TEVD, "completion queues or channels")                                      \
	X(DAT_RESOURCE_PROTECTION_DOMAIN, "protection domains")                                    \
	X(DAT_RESOURCE_MEMORY_REGION, "memory regions")                                            \
	X(DAT_RESOURCE_ERROR_HANDLER, "error handlers")                                            \
	X(DAT_RESOURCE_CREDITS, "RDMA Read depth")                                                 \
	X(DAT_RESOURCE_SRQ, "shared receive queues")                                               \
	X(DAT_INVALID_HANDLE_IA, "interface adapter")                                              \
	X(DAT_INVALID_HANDLE_EP, "endpoint")                                                       \
	X(DAT_INVALID_HANDLE_LMR, "local memory region")                                           \
	X(DAT_INVALID_HANDLE_RMR, "remote memory region")                                          \
	X(DAT_INVALID_HANDLE_PZ, "protection zone")                                                \
	X(DAT_INVALID_HANDLE_PSP, "public service point")                                          \
	X(DAT_INVALID_HANDLE_RSP, "reserved service point")                                        \
	X(DAT_INVALID_HANDLE_CR, "connection request")                                             \
	X(DAT_INVALID_HANDLE_CNO, "consumer notification object")                                  \
	X(DAT_INVALID_HANDLE_EVD_CR, "event dispatcher for connection requests")                   \
	X(DAT_INVALID_HANDLE_EVD_REQUEST, "event dispatcher, or the one for requests")             \
	X(DAT_INVALID_HANDLE_EVD_RECV, "event dispatcher for receives")                            \
	X(DAT_INVALID_HANDLE_EVD_CONN, "event dispatcher for connections")                         \
	X(DAT_INVALID_HANDLE_EVD_ASYNC, "event dispatcher for asynchronous errors")                \
	X(DAT_INVALID_HANDLE_SRQ, "shared receive queue")                                          \
	X(DAT_INVALID_HANDLE_CSP, "common service point")                                          \
	X(DAT_INVALID_HANDLE1, "handle 1")                                                         \
	X(DAT_INVALID_HANDLE2, "handle 2")                                                         \
	X(DAT_INVALID_HANDLE3, "handle 3")                                                         \
	X(DAT_INVALID_HANDLE4, "handle 4")                                                         \
	X(DAT_INVALID_HANDLE5, "handle 5")                                                         \
	X(DAT_INVALID_HANDLE6, "handle 6")                                                         \
	X(DAT_INVALID_HANDLE7, "handle 7")                                                         \
	X(DAT_INVALID_HANDLE8, "handle 8")                                                         \
	X(DAT_INVALID_HANDLE9, "handle 9")                                                         \
	X(DAT_INVALID_HANDLE10, "handle 10")                                                       \
	X(DAT_INVALID_ARG1, "argument 1")                                                          \
	X(DAT_INVALID_ARG2, "argument 2")                                                          \
	X(DAT_INVALID_ARG3, "argument 3")                                                          \
	X(DAT_INVALID_ARG4, "argument 4")                                                          \
	X(DAT_INVALID_ARG5, "argument 5")                                                          \
	X(DAT_INVALID_ARG6, "argument 6")                                                          \
	X(DAT_INVALID_ARG7, "argument 7")                                                          \
	X(DAT_INVALID_ARG8, "argument 8")                                                          \
	X(DAT_INVALID_ARG9, "argument 9")                                                          \
	X(DAT_INVALID_ARG10, "argument 10")                                                        \
	X(DAT_INVALID_STATE_EP_UNCONNECTED, "the endpoint is unconnected")                         \
	X(DAT_INVALID_STATE_EP_ACTCONNPENDING, "the endpoint is connecting")                       \
	X(DAT_INVALID_STATE_EP_PASSCONNPENDING, "the endpoint is being accepted")                  \
	X(DAT_INVALID_STATE_EP_TENTCONNPENDING, "the endpoint belongs to a connection request")    \
	X(DAT_INVALID_STATE_EP_CONNECTED, "the endpoint is connected")                             \
	X(DAT_INVALID_STATE_EP_DISCONNECTED, "the endpoint is disconnected")                       \
	X(DAT_INVALID_STATE_EP_RESERVED, "the endpoint is reserved for a service point")           \
	X(DAT_INVALID_STATE_EP_COMPLPENDING, "the endpoint is completing its connection")          \
	X(DAT_INVALID_STATE_EP_DISCPENDING, "the endpoint is disconnecting")                       \
	X(DAT_INVALID_STATE_EP_PROVIDERCONTROL,                                                    \
	  "the endpoint is under the control of the provider")                                     \
	X(DAT_INVALID_STATE_EP_NOTREADY, "the endpoint lacks what the call needs")                 \
	X(DAT_INVALID_STATE_EP_RECV_WATERMARK, "the receive watermark of the endpoint")            \
	X(DAT_INVALID_STATE_EP_PZ, "the protection zone of the endpoint")                          \
	X(DAT_INVALID_STATE_EP_EVD_REQUEST, "the request event dispatcher of the endpoint")        \
	X(DAT_INVALID_STATE_EP_EVD_RECV, "the receive event dispatcher of the endpoint")           \
	X(DAT_INVALID_STATE_EP_EVD_CONNECT, "the connection event dispatcher of the endpoint")     \
	X(DAT_INVALID_STATE_EP_UNCONFIGURED, "the endpoint is not configured")                     \
	X(DAT_INVALID_STATE_EP_UNCONFRESERVED, "the endpoint is reserved but not configured")      \
	X(DAT_INVALID_STATE_EP_UNCONFPASSIVE, "the endpoint is being accepted but not configured") \
	X(DAT_INVALID_STATE_EP_UNCONFTENTATIVE,                                                    \
	  "the endpoint belongs to a connection request but is not configured")                    \
	X(DAT_INVALID_STATE_CNO_IN_USE, "the notification object is in use")                       \
	X(DAT_INVALID_STATE_CNO_DEAD, "the notification object is gone")                           \
	X(DAT_INVALID_STATE_EVD_OPEN, "the event dispatcher is open")                              \
	X(DAT_INVALID_STATE_EVD_ENABLED, "the event dispatcher is enabled")                        \
	X(DAT_INVALID_STATE_EVD_DISABLED, "the event dispatcher is disabled")                      \
	X(DAT_INVALID_STATE_EVD_WAITABLE, "the event dispatcher is waitable")                      \
	X(DAT_INVALID_STATE_EVD_UNWAITABLE, "the event dispatcher is unwaitable")                  \
	X(DAT_INVALID_STATE_EVD_IN_USE, "the event dispatcher is in use")                          \
	X(DAT_INVALID_STATE_EVD_CONFIG_NOTIFY,                                                     \
	  "the event dispatcher is configured for notification")                                   \
	X(DAT_INVALID_STATE_EVD_CONFIG_SOLICITED,                                                  \
	  "the event dispatcher is configured for solicited events")                               \
	X(DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD,                                                  \
	  "the event dispatcher is configured for a threshold")                                    \
	X(DAT_INVALID_STATE_EVD_WAITER, "a thread waits on the event dispatcher")                  \
	X(DAT_INVALID_STATE_EVD_ASYNC, "the event dispatcher is for asynchronous errors")          \
	X(DAT_INVALID_STATE_IA_IN_USE, "objects of the interface adapter are left")                \
	X(DAT_INVALID_STATE_LMR_IN_USE, "the memory region is in use")                             \
	X(DAT_INVALID_STATE_LMR_FREE, "the memory region is free")                                 \
	X(DAT_INVALID_STATE_PZ_IN_USE, "the protection zone is in use")                            \
	X(DAT_INVALID_STATE_PZ_FREE, "the protection zone is free")                                \
	X(DAT_INVALID_STATE_SRQ_OPERATIONAL, "the shared receive queue is operational")            \
	X(DAT_INVALID_STATE_SRQ_ERROR, "the shared receive queue is in error")                     \
	X(DAT_INVALID_STATE_SRQ_IN_USE, "the shared receive queue is in use")                      \
	X(DAT_INVALID_STATE_SRQ_SHUTDOWN, "the shared receive queue is shutting down")             \
	X(DAT_PRIVILEGES_READ, "local read")                                                       \
	X(DAT_PRIVILEGES_WRITE, "local write")                                                     \
	X(DAT_PRIVILEGES_RDMA_READ, "RDMA Read")                                                   \
	X(DAT_PRIVILEGES_RDMA_WRITE, "RDMA Write")                                                 \
	X(DAT_PROTECTION_READ, "local read")                                                       \
	X(DAT_PROTECTION_WRITE, "local write")                                                     \
	X(DAT_PROTECTION_RDMA_READ, "RDMA Read")                                                   \
	X(DAT_PROTECTION_RDMA_WRITE, "RDMA Write")                                                 \
	X(DAT_INVALID_ADDRESS_UNSUPPORTED, "its family is not supported")                          \
	X(DAT_INVALID_ADDRESS_UNREACHABLE, "it cannot be reached")                                 \
	X(DAT_INVALID_ADDRESS_MALFORMED, "it is malformed")                                        \
	X(DAT_NAME_NOT_REGISTERED, "the name is unknown or its library does not load")             \
	X(DAT_MAJOR_NOT_FOUND, "the name exists with other major versions only")                   \
	X(DAT_MINOR_NOT_FOUND, "the name exists with smaller minor versions only")                 \
	X(DAT_THREAD_SAFETY_NOT_FOUND, "the name exists with the other thread safety only")

struct error_name {
	DAT_UINT32 code;
	const char *name, *text;
};

#define ERROR_NAME(code, text) { code, #code, text },

/* clang-format off */
static const struct error_name types[] = { DAT_ERROR_TYPES(ERROR_NAME) };
static const struct error_name subtypes[] = { DAT_ERROR_SUBTYPES(ERROR_NAME) };
/* clang-format on */

#define NUM_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct error_name *find(const struct error_name *names, size_t num, DAT_UINT32 code)
{
	size_t i;

	for (i = 0; i < num; i++)
		if (names[i].code == code)
			return &names[i];
	return NULL;
}

static const struct error_name *find_type(DAT_RETURN value)
{
	return find(types, NUM_OF(types), DAT_GET_TYPE(value));
}

static const struct error_name *find_subtype(DAT_RETURN value)
{
	return find(subtypes, NUM_OF(subtypes), DAT_GET_SUBTYPE(value));
}

DAT_RETURN dat_strerror(DAT_RETURN value, const char **major_message, const char **minor_message)
{
	const struct error_name *type = find_type(value), *subtype = find_subtype(value);

	if (!type || !subtype)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!major_message)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	*major_message = type->name;
	if (minor_message)
		*minor_message = subtype->code ? subtype->name : "";
	return DAT_SUCCESS;
}

const char *dat_type_text(DAT_RETURN value)
{
	const struct error_name *type = find_type(value);

	return type ? type->text : "code of an extension";
}

const char *dat_subtype_text(DAT_RETURN value)
{
	const struct error_name *subtype = find_subtype(value);

	return subtype ? subtype->text : "";
}
