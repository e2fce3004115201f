/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An end that is no library, the active or the passive one: it knows MPA, DDP and RDMAP well enough
 * to be listened to, and then says what it likes, or from some frame on nothing at all. Its frames
 * are mostly right, each with something wrong at times.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/sim/libc.h"
#include "test/sim/life.h"
#include "test/sim/net.h"

enum {
	FRAME_MAX = 2048,
	MUTE_US = 200000000,
};

struct frame {
	uint8_t at[FRAME_MAX];
	uint32_t length;
	uint32_t right; /* bytes at its beginning that stay as they are */
};

static void put(struct frame *frame, uint64_t value, uint32_t bytes)
{
	while (bytes--)
		frame->at[frame->length++] = (uint8_t)(value >> 8 * bytes);
}

static uint32_t crc32c(const uint8_t *at, uint32_t length)
{
	uint32_t sum = ~0u;

	while (length--) {
		sum ^= *at++;
		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? 0x82f63b78u : 0);
	}
	return ~sum;
}

/* Something else in its place, at times. */
static uint64_t maybe(uint64_t value)
{
	return sim_random(12) ? value : sim_random(2) ? sim_random64() : value + 1 - sim_random(3);
}

static void spoil(struct frame *frame)
{
	uint32_t at = sim_random(frame->length);

	if (!sim_random(10) && at >= frame->right)
		frame->at[at] = (uint8_t)sim_random(256);
}

/* ---- Frames ---- */

static void build_first(struct frame *frame, const char *kind, uint64_t life)
{
	bool second = sim_random(2);

	frame->length = frame->right = 0;
	memcpy(frame->at, kind, 16);
	frame->length = 16;
	put(frame, maybe(world.crc ? 0x40 : 0) | (second ? 0x10 : 0), 1);
	put(frame, maybe(second ? 2 : 1), 1);
	put(frame, maybe(second ? 12 : 8), 2);
	if (second) {
		put(frame, maybe(0x8004), 2);
		put(frame, maybe(0xc004), 2);
	}
	memcpy(frame->at + frame->length, &life, sizeof(life));
	frame->length += sizeof(life);
	spoil(frame);
}

static void begin_fpdu(struct frame *frame, uint8_t ddp, uint8_t opcode)
{
	frame->length = frame->right = 0;
	put(frame, 0, 2);
	put(frame, maybe(ddp | 1), 1);
	put(frame, maybe(0x40 | opcode), 1);
}

static void end_fpdu(struct frame *frame)
{
	uint64_t length = frame->right ? frame->length - 2 : maybe(frame->length - 2);
	uint32_t sum;

	frame->at[0] = (uint8_t)(length >> 8);
	frame->at[1] = (uint8_t)length;
	while (frame->length % 4)
		put(frame, 0, 1);
	spoil(frame);
	sum = world.crc ? crc32c(frame->at, frame->length) : 0;
	sum = (uint32_t)maybe(sum);
	memcpy(frame->at + frame->length, &sum, sizeof(sum));
	frame->length += 4;
}

static void put_payload(struct frame *frame, uint32_t most)
{
	for (uint32_t left = sim_random(most); left; left--)
		put(frame, sim_random(256), 1);
}

/* Its numbers go up by one for each message, where it keeps to that. */
static void build_untagged(struct frame *frame, uint32_t msn[3])
{
	static const uint8_t opcodes[] = { 3, 3, 3, 4, 5, 6, 1, 7, 8, 10 };
	uint8_t opcode = opcodes[sim_random(sizeof(opcodes))];
	uint32_t queue = opcode == 1 || opcode == 8 ? 1 : opcode == 7 ? 2 : 0;

	begin_fpdu(frame, sim_random(4) ? 0x40 : 0, opcode);
	put(frame, sim_random64(), 4);
	put(frame, maybe(queue), 4);
	put(frame, maybe(++msn[queue]), 4);
	put(frame, maybe(0), 4);
	if (opcode == 1) { /* of a read: where to, how much, from where */
		put(frame, sim_random64(), 4);
		put(frame, sim_random64(), 8);
		put(frame, sim_random(4096), 4);
		put(frame, sim_random64(), 4);
		put(frame, sim_random64(), 8);
	} else {
		put_payload(frame, 400);
	}
	end_fpdu(frame);
}

/* A write to what is there for it, or a response that nobody has asked for. */
static void build_tagged(struct frame *frame, const struct end *victim)
{
	bool valid = sim_random(3);
	uint64_t at = (uintptr_t)victim->memory->target[sim_random(TARGETS)];
	uint32_t header;

	begin_fpdu(frame, 0xc0, sim_random(4) ? 0 : 2);
	put(frame, valid ? victim->host->remote_key : sim_random64() & 0xffffff00, 4);
	put(frame, valid ? at : sim_random64(), 8);
	header = frame->length;
	put_payload(frame, valid ? FRAME_MAX / 4 : 400);
	/* What is right about it stays so: all memory of the host has one tag. */
	frame->at[3] = (uint8_t)(0x40 | (frame->at[3] & 2));
	frame->right = valid ? header : 0;
	end_fpdu(frame);
}

/* ---- What it does ---- */

static bool say(int fd, const struct frame *frame)
{
	uint32_t length = sim_random(40) ? frame->length : sim_random(frame->length);

	return send(fd, frame->at, length, MSG_NOSIGNAL) >= 0 || errno == EAGAIN;
}

static int call(const struct pair *pair)
{
	struct sockaddr_in to;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (fd < 0)
		sim_fail("no descriptor for a liar");
	memcpy(&to, &pair->end[1].host->address, sizeof(to));
	to.sin_port = htons((uint16_t)pair->qual);
	bind(fd, (struct sockaddr *)&pair->end[1].host->address, sizeof(to));
	connect(fd, (struct sockaddr *)&to, sizeof(to));
	usleep(100 + sim_random(3 * sim_plan.delay_us + 1000));
	return fd;
}

static void listen_to(int fd)
{
	uint8_t nowhere[FRAME_MAX];

	if (sim_random(2))
		(void)!recv(fd, nowhere, sizeof(nowhere), 0);
}

/* So many frames, and its peer may wait for more than any time limit. */
static void lie(const struct end *self, int fd, uint64_t life)
{
	const struct end *victim = &self->pair->end[!self->which];
	uint32_t steps = sim_random(20), msn[3] = { 0 };
	bool mute = !sim_random(4), goes_on = true;
	struct frame frame;

	if (mute)
		steps = sim_random(4);
	if (!mute || steps--) {
		build_first(&frame, self->which ? "MPA ID Rep Frame" : "MPA ID Req Frame", life);
		goes_on = say(fd, &frame);
		usleep(sim_random(2 * sim_plan.delay_us + 100000));
	} else {
		steps = 0;
	}
	while (steps-- && goes_on) {
		listen_to(fd);
		if (sim_random(2))
			build_untagged(&frame, msn);
		else
			build_tagged(&frame, victim);
		goes_on = say(fd, &frame);
		usleep(sim_random(1u << sim_random(18)));
	}
	if (mute)
		usleep(sim_random(MUTE_US));
}

static void hang_up(int fd)
{
	struct linger reset = { .l_onoff = 1 };

	if (sim_random(3) == 0)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	/* Some say nothing more for a while, but stay. */
	if (sim_random(4) == 0)
		usleep(sim_random(60000000));
	close(fd);
}

void *life_liar(void *arg)
{
	struct pair *pair = arg;
	int fd;

	while (world.lives_begun < world.lives && !world.dead && !world.leaves) {
		life_begin(pair);
		pair->life.excused = true;
		pair->end[0].busy = true;
		fd = call(pair);
		lie(&pair->end[0], fd, pair->life.id);
		hang_up(fd);
		life_await_passive(pair);
		judge_life(pair);
		pair->end[0].busy = false;
	}
	pair->quit = true;
	return NULL;
}

static int take_calls(const struct pair *pair)
{
	struct sockaddr_in at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	memcpy(&at, &pair->end[1].host->address, sizeof(at));
	at.sin_port = htons((uint16_t)pair->qual);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 8))
		sim_fail("a liar cannot listen");
	return fd;
}

/* Who calls meanwhile hears nothing. */
void *life_false_answers(void *arg)
{
	struct pair *pair = arg;
	int listener = take_calls(pair), fd;

	while (!pair->quit && !life_lost(pair->end[0].host) && !life_lost(pair->end[1].host)) {
		fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
		if (fd < 0) {
			usleep(1000 + sim_random(20000));
			continue;
		}
		usleep(sim_random(3 * sim_plan.delay_us + 1000));
		lie(&pair->end[1], fd, pair->life.id);
		hang_up(fd);
	}
	close(listener);
	return NULL;
}
