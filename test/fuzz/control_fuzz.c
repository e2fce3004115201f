/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer harness for the control socket of a program that has an adapter open with objects of
 * each kind, some of them connected; the seeds are in test/fuzz/seeds/control.
 *
 * An input's first byte has bits of enum manner, the rest is what is said. Who is answered hears
 * "ok" or why not, in whole lines; the program goes on, with the objects and sockets it had.
 */
#include "test/fuzz/insist.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <sanitizer/lsan_interface.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define DATS_WEAK
#include "dat/dats.h"
#include "dat/internal.h"
#include "test/fuzz/watch.h"

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data);

enum manner {
	DIRECTLY = 1, /* one line, without the socket */
	IN_PIECES = 2,
	NO_LISTENER = 4, /* the answer is not waited for */
};

enum {
	PATIENCE_S = 20,
	MICROSECONDS = PATIENCE_S * 1000000,
	PIECE = 5,
	OFTEN = 256,
};

static char ia_name[] = "soft0";
static unsigned sockets;

#define works(call) insist((call) == DAT_SUCCESS)

/* ---- The program ---- */

static DAT_EVENT next_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	works(dat_evd_wait(evd, MICROSECONDS, 1, &event, &more));
	insist(event.event_number == number);
	return event;
}

static void connect_two(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE dto)
{
	DAT_EVD_HANDLE requests, connections;
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	DAT_EP_HANDLE active, passive;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;

	works(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests));
	works(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &connections));
	works(dat_psp_create_any(ia, &qual, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	works(dat_ep_create(ia, pz, dto, dto, connections, NULL, &active));
	works(dat_ep_create(ia, pz, dto, dto, connections, NULL, &passive));
	works(dat_ep_connect(active, (DAT_IA_ADDRESS_PTR)&to, qual, MICROSECONDS, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = next_event(requests, DAT_CONNECTION_REQUEST_EVENT);
	works(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, passive, 0, NULL));
	next_event(connections, DAT_CONNECTION_EVENT_ESTABLISHED);
	next_event(connections, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void write_conf(void)
{
	static const char text[] = "dapl { drain = 7 }\nia \"soft0\" { handoff = 7 }\n";
	int fd = memfd_create("dapl.conf", MFD_CLOEXEC);
	char path[64];

	insist(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("DAPL_CONF", path, 1);
}

static void open_all(void)
{
	DAT_PROVIDER_INFO info = { .dapl_version_major = 2, .is_thread_safe = DAT_TRUE };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, dto;
	DAT_CNO_HANDLE cno;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_IA_HANDLE ia;

	strcpy(info.ia_name, ia_name);
	dat_provider_init(&info, "lo");
	works(dat_ia_openv(ia_name, 8, &async, &ia, 2, 0, DAT_TRUE));
	works(dat_pz_create(ia, &pz));
	works(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	works(dat_evd_create(ia, 64, cno, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &dto));
	works(dat_ep_create(ia, pz, dto, dto, DAT_HANDLE_NULL, NULL, &ep));
	connect_two(ia, pz, dto);
}

static unsigned count_sockets(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[64];
	unsigned n = 0;

	insist(dir);
	while ((entry = readdir(dir)))
		n += readlinkat(dirfd(dir), entry->d_name, target, sizeof(target)) > 7 &&
		     !memcmp(target, "socket:", 7);
	closedir(dir);
	return n;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	watch_start();
	setenv("DAT_OVERRIDE", "/dev/null", 1);
	setenv("DAT_TRACE_DEST", "none", 1);
	write_conf();
	__lsan_disable(); /* handles lie where it does not look */
	open_all();
	__lsan_enable();
	sockets = count_sockets();
	return 0;
}

/* ---- Who asks ---- */

static void check_answer(const char *text, size_t len)
{
	insist(len && text[len - 1] == '\n');
	insist(!strncmp(text, "ok\n", 3) || !strncmp(text, "error: ", 7));
}

static void directly(const uint8_t *data, size_t size)
{
	char line[DATS_CONTROL_LINE], *text = NULL;
	size_t len = size < sizeof(line) ? size : sizeof(line) - 1;
	FILE *out = open_memstream(&text, &len);
	int rc;

	insist(out);
	memcpy(line, data, len);
	line[len] = '\0';
	rc = dats_control_run(line, out);
	insist(rc <= 0);
	insist(!fclose(out));
	insist(!len || text[len - 1] == '\n');
	free(text);
}

static int dial(void)
{
	struct timeval patience = { .tv_sec = PATIENCE_S };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int n = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, DATS_CONTROL_NAME,
			 (long)getpid());

	insist(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	insist(!connect(fd, (struct sockaddr *)&addr,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)));
	return fd;
}

/* All that is answered; a line that was too long is not read to its end. */
static size_t hear(int fd, char *answer, size_t size)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = recv(fd, answer + len, size - 1 - len, 0);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	insist(!n || errno == ECONNRESET);
	answer[len] = '\0';
	return len;
}

static void by_socket(const uint8_t *data, size_t size, unsigned manner)
{
	static char answer[1 << 20];
	size_t piece, len;
	int fd = dial();

	for (; size; data += piece, size -= piece) {
		piece = manner & IN_PIECES && size > PIECE ? PIECE : size;
		if (send(fd, data, piece, MSG_NOSIGNAL) < 0)
			break;
	}
	shutdown(fd, SHUT_WR);
	if (!(manner & NO_LISTENER)) {
		len = hear(fd, answer, sizeof(answer));
		if (len)
			check_answer(answer, len);
	}
	close(fd);
}

/* Two of the three endpoints are connected, as from the start. */
static void check_program(void)
{
	size_t len = 0, connected = 0;
	char *text = NULL, *at;
	FILE *out = open_memstream(&text, &len);
	unsigned now;
	int tries;

	insist(out && !dats_control_run("objects", out) && !fclose(out));
	for (at = text; (at = strstr(at, "\tstate=CONNECTED")); at++)
		connected++;
	insist(connected == 2);
	free(text);
	/* The last client's may not be closed yet, or not even be accepted. */
	for (tries = 0; (now = count_sockets()) != sockets && tries < PATIENCE_S * 1000; tries++)
		usleep(1000);
	insist(now == sockets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned runs;

	if (!size)
		return 0;
	watch_begin();
	if (data[0] & DIRECTLY)
		directly(data + 1, size - 1);
	else
		by_socket(data + 1, size - 1, data[0]);
	if (!(runs++ % OFTEN))
		check_program();
	watch_end();
	return 0;
}
