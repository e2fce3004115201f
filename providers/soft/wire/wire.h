/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What goes over the wire, byte by byte: MPA (RFC 5044, RFC 6581), DDP (RFC 5041), RDMAP (RFC
 * 5040, RFC 7306). All numbers are big endian but the CRC, whose bytes soft_crc32c gives in host
 * order of a little endian value.
 */
#ifndef SOFT_WIRE_H
#define SOFT_WIRE_H

#include <endian.h>
#include <stdint.h>

#define WIRE_PACKED __attribute__((packed))

/* ---- MPA start-up frames (RFC 5044 section 7.1.1, RFC 6581 section 6) ---- */

#define WIRE_MPA_KEY_REQUEST "MPA ID Req Frame"
#define WIRE_MPA_KEY_REPLY   "MPA ID Rep Frame"

enum {
	WIRE_MPA_KEY = 16,
	WIRE_MPA_MARKERS = 0x80,  /* the sender of the frame requires markers in what it receives */
	WIRE_MPA_CRC = 0x40,	  /* prefers CRCs */
	WIRE_MPA_REJECT = 0x20,	  /* replies only */
	WIRE_MPA_ENHANCED = 0x10, /* revision 2: struct wire_mpa_enhanced leads the private data */
	/*
	 * Takes FPDUs that are larger than a segment of TCP. RFC 5044 reserves the bit, and has
	 * receivers not look at it; Linux' soft-iWARP means the same by it (MPA_RR_FLAG_GSO_EXP).
	 */
	WIRE_MPA_LARGE = 0x08,
	WIRE_MPA_PD_MAX = 512, /* private data, enhanced words included */
};

struct wire_mpa_frame {
	uint8_t key[WIRE_MPA_KEY];
	uint8_t flags;
	uint8_t revision;
	uint16_t pd_length;
} WIRE_PACKED;

/* RFC 6581 section 9. */
enum {
	WIRE_MPA_P2P = 0x8000,	     /* in ird, A: peer-to-peer model */
	WIRE_MPA_RTR_SEND = 0x4000,  /* in ird, B: zero-length Send as ready-to-receive */
	WIRE_MPA_RTR_WRITE = 0x8000, /* in ord, C: zero-length RDMA Write */
	WIRE_MPA_RTR_READ = 0x4000,  /* in ord, D: zero-length RDMA Read */
	WIRE_MPA_DEPTH = 0x3fff,     /* the depth itself; all ones: not negotiated */
};

struct wire_mpa_enhanced {
	uint16_t ird;
	uint16_t ord;
} WIRE_PACKED;

enum {
	WIRE_MPA_FRAME_MAX = sizeof(struct wire_mpa_frame) + WIRE_MPA_PD_MAX,
	WIRE_MPA_PD_CONSUMER = WIRE_MPA_PD_MAX - sizeof(struct wire_mpa_enhanced),
};

/* ---- MPA FPDU (RFC 5044 sections 4.1 to 4.3) ---- */

enum {
	WIRE_MPA_LENGTH = 2, /* the ULPDU_Length field */
	WIRE_MPA_CRC_SIZE = 4,
	WIRE_MPA_TRAILER_MAX = 3 + WIRE_MPA_CRC_SIZE, /* pad and CRC */
	WIRE_MPA_MARKER = 4,
	WIRE_MPA_MARKER_INTERVAL = 512,
	WIRE_MPA_MIN_MULPDU = 128,
	WIRE_MPA_MAX_MULPDU = 65532, /* 16 bits of length, and no pad */
};

/* ---- DDP segment headers (RFC 5041 section 4) with the RDMAP control field (RFC 5040 section 4.1)
 * ---- */

enum {
	WIRE_DDP_TAGGED = 0x80,
	WIRE_DDP_LAST = 0x40,
	WIRE_DDP_VERSION = 0x03, /* mask */
	WIRE_DDP_V1 = 0x01,
	WIRE_RDMAP_VERSION = 0xc0, /* mask */
	WIRE_RDMAP_V1 = 0x40,
	WIRE_RDMAP_V0 = 0x00, /* of the RDMA Consortium; valid too (RFC 5040 section 4.1) */
	WIRE_RDMAP_OPCODE = 0x0f,
};

struct wire_ddp_tagged {
	uint8_t ddp;
	uint8_t rdmap;
	uint32_t stag;
	uint64_t to;
} WIRE_PACKED;

struct wire_ddp_untagged {
	uint8_t ddp;
	uint8_t rdmap;
	uint32_t invalidate_stag;
	uint32_t qn;
	uint32_t msn;
	uint32_t mo;
} WIRE_PACKED;

enum {
	WIRE_DDP_TAGGED_SIZE = sizeof(struct wire_ddp_tagged),
	WIRE_DDP_UNTAGGED_SIZE = sizeof(struct wire_ddp_untagged),
};

/* RFC 5040 section 4.1, figure 4. */
enum {
	WIRE_OP_WRITE = 0,
	WIRE_OP_READ_REQUEST = 1,
	WIRE_OP_READ_RESPONSE = 2,
	WIRE_OP_SEND = 3,
	WIRE_OP_SEND_INVALIDATE = 4,
	WIRE_OP_SEND_SE = 5,
	WIRE_OP_SEND_SE_INVALIDATE = 6,
	WIRE_OP_TERMINATE = 7,
	/* RFC 7306 section 4.1, figure 2. */
	WIRE_OP_IMMEDIATE = 8,
	WIRE_OP_IMMEDIATE_SE = 9,
	WIRE_OP_ATOMIC_REQUEST = 10,
	WIRE_OP_ATOMIC_RESPONSE = 11,
};

enum {
	WIRE_QN_SEND = 0,
	WIRE_QN_READ = 1,
	WIRE_QN_TERMINATE = 2,
	WIRE_QN_ATOMIC = 3, /* responses */
	WIRE_QN_COUNT = 4,
};

/* RFC 5040 section 4.4. */
struct wire_read_request {
	uint32_t sink_stag;
	uint64_t sink_to;
	uint32_t size;
	uint32_t source_stag;
	uint64_t source_to;
} WIRE_PACKED;

/* RFC 7306 section 5.2.1, figure 4. */
struct wire_atomic_request {
	uint32_t code; /* the low four bits */
	uint32_t id;
	uint32_t stag;
	uint64_t to;
	uint64_t data, mask; /* to add or swap */
	uint64_t compare, compare_mask;
} WIRE_PACKED;

enum {
	WIRE_ATOMIC_CODE = 0x0f,
	WIRE_ATOMIC_FETCH_ADD = 0,
	WIRE_ATOMIC_CMP_SWAP = 2,
};

/* RFC 7306 section 5.2.2, figure 6. */
struct wire_atomic_response {
	uint32_t id;
	uint64_t value;
} WIRE_PACKED;

enum {
	WIRE_IMMEDIATE_SIZE = 8, /* RFC 7306 section 6.2 */
};

/* RFC 5040 section 4.8; the headers of the offending segment follow as hdrct says. */
struct wire_terminate {
	uint8_t layer_etype;
	uint8_t code;
	uint8_t hdrct;
	uint8_t reserved;
} WIRE_PACKED;

enum {
	WIRE_TERM_LENGTH = 0x80, /* M: the DDP segment length is valid */
	WIRE_TERM_DDP = 0x40,	 /* D: the DDP header is there */
	WIRE_TERM_RDMA = 0x20,	 /* R: the RDMA header is there */
};

enum {
	WIRE_LAYER_RDMAP = 0,
	WIRE_LAYER_DDP = 1,
	WIRE_LAYER_MPA = 2,
};

/* RFC 5040 section 4.8, figure 9. */
enum {
	WIRE_RDMAP_CATASTROPHIC = 0,
	WIRE_RDMAP_PROTECTION = 1,
	WIRE_RDMAP_OPERATION = 2,
};

enum {
	WIRE_PROT_STAG = 0x00,
	WIRE_PROT_BOUNDS = 0x01,
	WIRE_PROT_ACCESS = 0x02,
	WIRE_PROT_STREAM = 0x03,
	WIRE_PROT_WRAP = 0x04,
	WIRE_PROT_INVALIDATE = 0x09,
	WIRE_OPER_VERSION = 0x05,
	WIRE_OPER_OPCODE = 0x06,
	WIRE_OPER_STREAM = 0x07,
	WIRE_OPER_INVALIDATE = 0x09,
};

/* RFC 5041 section 7.2. */
enum {
	WIRE_DDP_CATASTROPHIC = 0,
	WIRE_DDP_ETYPE_TAGGED = 1,
	WIRE_DDP_ETYPE_UNTAGGED = 2,
};

enum {
	WIRE_TAGGED_STAG = 0x00,
	WIRE_TAGGED_BOUNDS = 0x01,
	WIRE_TAGGED_STREAM = 0x02,
	WIRE_TAGGED_WRAP = 0x03,
	WIRE_TAGGED_VERSION = 0x04,
	WIRE_UNTAGGED_QN = 0x01,
	WIRE_UNTAGGED_NO_BUFFER = 0x02,
	WIRE_UNTAGGED_MSN = 0x03,
	WIRE_UNTAGGED_MO = 0x04,
	WIRE_UNTAGGED_TOO_LONG = 0x05,
	WIRE_UNTAGGED_VERSION = 0x06,
};

/* RFC 5044 section 8, RFC 6581 section 8; error type 0 of the MPA layer. */
enum {
	WIRE_MPA_ERR_CLOSED = 1,
	WIRE_MPA_ERR_CRC = 2,
	WIRE_MPA_ERR_MARKER = 3,
	WIRE_MPA_ERR_STARTUP = 4,
	WIRE_MPA_ERR_CATASTROPHIC = 5,
	WIRE_MPA_ERR_IRD = 6,
	WIRE_MPA_ERR_RTR = 7,
};

#endif
