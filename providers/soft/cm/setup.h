/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What setting up has in common on both sides: the MPA frames (RFC 5044 section 7.1, RFC 6581), and
 * what is negotiated by them. All on the loop, but that no other thread knows a connection that is
 * being made.
 */
#ifndef SOFT_SETUP_H
#define SOFT_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "providers/soft/cm/conn_state.h"
#include "providers/soft/wire/mpa.h"

struct soft_conn;
struct soft_dev;
struct soft_link;
struct soft_listener;
struct soft_qp;

/* Of a connection before its data phase. */
struct soft_setup {
	size_t in_have, out_size, out_sent;
	uint8_t in[WIRE_MPA_FRAME_MAX], out[WIRE_MPA_FRAME_MAX];
	uint8_t revision;
	bool p2p, enhanced;
	uint16_t peer_ird, peer_ord;
	/* Active */
	bool tcp_only;	/* shared memory was tried in vain */
	bool by_socket; /* of the program: there is no other attempt */
	uint64_t remote_qual;
	struct sockaddr_storage remote;
	/* Passive */
	struct soft_listener *listener; /* half open: whose */
	bool offers_write, offers_read; /* what the peer can confirm by */
	int err; /* why the accepted connection fails, as its timer is to tell */
};

/* A connection that is to be set up, or NULL. */
struct soft_conn *soft_setup_alloc(struct soft_dev *dev, enum soft_conn_state state);
/* Gives it the link. */
void soft_setup_link(struct soft_conn *conn, struct soft_link *link,
		     void (*ready)(struct soft_link *link, uint32_t events),
		     void (*expired)(struct soft_link *link));
/* Both ends' names, as far as the link knows them. */
void soft_setup_names(struct soft_conn *conn);
/* Gives the peer the time of option handshake, and says that it did not do. */
void soft_setup_timeout(struct soft_conn *conn);
void soft_setup_late(struct soft_conn *conn);

/* Builds the frame to be sent, with what this side asks for or grants. */
void soft_setup_build(struct soft_conn *conn, const struct soft_mpa_frame *frame);
/* 1 once the frame is out, 0 if not all of it, or a negative errno. */
int soft_setup_send(struct soft_conn *conn);
/*
 * 1 once a whole frame is in, 0 if not, -ENODATA if the peer ended, or a negative errno. Reads no
 * further.
 */
int soft_setup_recv(struct soft_conn *conn, bool reply);

/* Whether this side takes FPDUs that are larger than a segment of TCP, and says so. */
bool soft_setup_wants_large(const struct soft_conn *conn);

/* Whether this side asks for a CRC. */
bool soft_setup_wants_crc(const struct soft_conn *conn);
/* What both sides have agreed on; asked: the peer asks for one. */
void soft_setup_crc(struct soft_conn *conn, bool asked);
/* A number of reads as frames have it. */
uint16_t soft_setup_depth(uint32_t reads);
/* Reads that this side may have in flight, those that prove what it sent included. */
uint32_t soft_setup_reads_out(const struct soft_qp *qp);
/* Ditto, and that the peer accepts (EP-77). */
uint32_t soft_setup_limit(const struct soft_conn *conn, uint32_t reads);
/* Prepares the outgoing side for ird reads of the peer at one time. */
int soft_setup_tx(struct soft_conn *conn, uint32_t ird);
/* Set-up is over: tells the core, and opens the connection unless that ended it. */
void soft_setup_done(struct soft_conn *conn, enum soft_conn_cause cause, const void *data,
		     uint32_t len);

#endif
