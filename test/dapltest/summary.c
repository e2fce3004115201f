/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "config.h"

#include "summary.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "link.h"
#include "report.h"

static struct {
	char adapter[256], vendor[256], address[NI_MAXHOST], server[DT_VERSION_TEXT];
} met;

void dt_summary_met(const struct dt_ia *ia, const char *version)
{
	const struct sockaddr *addr = ia->attr.ia_address_ptr;
	struct sockaddr_storage address = { 0 };

	snprintf(met.adapter, sizeof(met.adapter), "%s", ia->attr.adapter_name);
	snprintf(met.vendor, sizeof(met.vendor), "%s", ia->attr.vendor_name);
	snprintf(met.server, sizeof(met.server), "%s", version);
	memcpy(&address, addr,
	       addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in));
	dt_address_print(&address, met.address);
}

static void print_when(void)
{
	time_t now = time(NULL);
	char text[64] = "";
	struct tm utc;

	if (gmtime_r(&now, &utc))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &utc);
	dt_say("date     %s", text);
}

static void print_hosts(const struct dt_params *params)
{
	struct utsname host;

	uname(&host);
	dt_say("host     %s: %s %s, %s, %ld processors", host.nodename, host.sysname, host.release,
	       host.machine, sysconf(_SC_NPROCESSORS_ONLN));
	dt_say("program  dapltest (" PACKAGE_NAME ") " PACKAGE_VERSION);
	if (!*met.adapter) {
		dt_say("adapter  %s; %s was not reached", params->ia_name, params->server);
		return;
	}
	dt_say("adapter  %s: %s, %s, at %s", params->ia_name, met.adapter, met.vendor, met.address);
	dt_say("server   %s, port %llu: %s", params->server, (unsigned long long)params->port,
	       *met.server ? met.server : "an older dapltest");
}

void dt_summary_print(const struct dt_params *params, const struct dt_verdict *verdicts, size_t num)
{
	dt_say("\n---- dapltest --regress: a summary to send ----");
	print_when();
	print_hosts(params);
	dt_say("options  %s", params->quick ? "--quick" : "none");
	for (size_t i = 0; i < num; i++)
		dt_say("%-10s %-6s %8.2f s%s%s", verdicts[i].name, verdicts[i].ok ? "ok" : "FAILED",
		       verdicts[i].seconds, verdicts[i].ok ? "" : "  ", verdicts[i].reason);
	dt_say("---- end of summary ----");
}
